"""``penstock why JOB``: explain why an application waits, in words and numbers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from penstock.cli.ctl import add_socket, query_coordinator, told_apart
from penstock.cli.output import add_json, console, emit_json, print_table
from penstock.report.format_units import duration, number, rate, volume


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "why",
        help="explain why a running application waits",
        description="Explain why a running application has its rate, and show what the policy sees of all applications.",
    )
    command.add_argument("job", metavar="JOB", help="name of the job, or number of the application")
    add_socket(command)
    add_json(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    from penstock.api.paths import check_output

    check_output(options.output)
    answer = query_coordinator(options, "why", options.job)
    if options.json or options.output:
        emit_json(answer, options.output)
    else:
        _print(answer)
    return 0


def _print(answer: dict[str, Any]) -> None:
    console().print(answer["reason"], markup=False, highlight=False)
    if answer["forecast"] is not None:
        console().print(
            f"if no other application comes, it goes on in {answer['forecast']:.1f} s", markup=False, highlight=False
        )
    for line in _expected(answer["prediction"]):
        console().print(line, markup=False, highlight=False)
    rows = answer["under_way"]
    if rows:
        columns = {"job": told_apart(rows), "rate": [rate(row["rate"]) for row in rows]}
        columns["target"] = [rate(row["target"]) for row in rows]
        for name in answer["columns"]:
            columns[name] = ["–" if row[name] is None else number(row[name]) for row in rows]
        print_table(columns, optional=answer["columns"][::-1])


def _expected(prediction: dict[str, Any]) -> Iterator[str]:
    """What is expected of the application next, in words; nothing while nothing is known."""
    if prediction["volume"] is None:
        return
    due = "" if prediction["due"] is None else f" in {duration(prediction['due'])}" if prediction["due"] else " now"
    ended = prediction["operations"]
    yield f"expected next: {volume(prediction['volume'])}{due}, after {ended:,} operation{'s' if ended > 1 else ''}"
    if prediction["confidence"]:
        yield f"period: {duration(prediction['period'])}, with a confidence of {prediction['confidence']:.2f}"
    elif prediction["period"] is not None:
        yield f"no period found; the mean iteration takes {duration(prediction['period'])}"
