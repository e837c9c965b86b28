"""``penstock advise WORKLOAD|DIR``: the operator's questions, answered from a job list."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from penstock.cli.output import POLICY_HELP, add_outputs, emit_json, print_table, say, seed, watch
from penstock.cli.used_fields import Case, note_unused

if TYPE_CHECKING:
    from penstock.advise.findings import Findings
    from penstock.api.advising import AdviceResult


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "advise",
        help="answer an operator's questions from a job list, on one page",
        description="Answer an operator's questions from a job list: which sharing policy, how many I/O nodes or OSTs, "
        "whether a burst buffer pays, which jobs not together; each in node-hours, where something is random with an "
        "interval. First the recorded starts are replayed. Where predicted and recorded run times are "
        "far apart, it says so and recommends nothing.",
    )
    command.add_argument(
        "file",
        metavar="WORKLOAD|DIR",
        help="workload file (JSON, YAML or Parquet; - reads standard input), the output of sacct, an SWF trace or a Darshan "
        "log; or a folder of them",
    )
    command.add_argument(
        "--policy", metavar="NAME", help=f"the policy that shares the bandwidth today (default: fair-share): {POLICY_HELP}"
    )
    command.add_argument(
        "--policies", metavar="NAME", nargs="+", help="the policies to try in its place (default: a few that are good)"
    )
    command.add_argument(
        "--scheduler",
        metavar="S",
        help="as for penstock machine (default: recorded if all jobs have a recorded start, else easy)",
    )
    command.add_argument(
        "--allocation", metavar="A", help="I/O resources of a job today, as for penstock machine (default: best-bdw)"
    )
    command.add_argument(
        "--placement", metavar="P", help="which ones today, as for penstock machine (default: least-loaded)"
    )
    command.add_argument("--nodes", metavar="P", type=int, help="nodes of the machine (default: those of the platform)")
    command.add_argument(
        "--resources", metavar="N", type=int, help="I/O nodes or OSTs (default: those of the platform, or one link)"
    )
    command.add_argument(
        "--trust",
        metavar="F",
        type=float,
        help="recommend nothing unless median and geometric mean of predicted over recorded run times are within this "
        "factor, and three quarters of the jobs are (default: 1.25)",
    )
    command.add_argument("--seed", type=seed, help="for what is random (default: 0)")
    add_outputs(command)
    command.set_defaults(run=run, parser=command)


_SETTINGS = ("policy", "policies", "scheduler", "allocation", "placement", "nodes", "resources", "trust", "seed")


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    from penstock.api.advising import advise
    from penstock.api.paths import check_output

    check_output(options.output)
    check_output(options.html, (".html",))
    given = {name: getattr(options, name) for name in _SETTINGS if getattr(options, name) is not None}
    result = advise(options.file, **given, watch=watch)
    note_unused("advise", Case(result.workload, result.policies))
    if options.json or options.output:
        emit_json(result.to_dict(), options.output)
    else:
        _print(result)
    if options.html:
        result.write_html(options.html)
        sys.stderr.write(f"written: {options.html}\n")
    return 0


def _print(result: AdviceResult) -> None:
    """Print the sentences, the answers and the backtest."""
    found = result.found
    say(f"{found.headline}.")
    print()
    for sentence in found.summary():
        say(sentence)
    print()
    if found.answers:
        _print_answers(found)
    if found.backtest.groups:
        _print_backtest(found)
    if found.backtest.caution():
        say(f"note: {found.backtest.caution()}")
    for note in found.run.notes:
        say(f"note: {note}")
    say("not modelled: metadata, IOPS, caches, failures")
    print("would help:")
    for text in found.wanted_data():
        say(f"  {text}")


def _print_answers(found: Findings) -> None:
    from penstock.planning.node_hours import hours

    rows = found.answers
    gains = [one.gain for one in rows]
    ends = [None if gain is None else gain.interval for gain in gains]
    columns = {
        "question": [one.question for one in rows],
        "answer": [one.short for one in rows],
        "node-hours saved": ["–" if gain is None else hours(gain.mean) for gain in gains],
        "95 % interval": ["–" if pair is None else " to ".join(map(hours, pair)) for pair in ends],
    }
    print_table(columns, wide=("answer",))
    print()


def _print_backtest(found: Findings) -> None:
    rows = found.backtest.rows()
    columns = {
        "backtest: predicted over recorded": [row["which"] for row in rows],
        "jobs": [f"{row['jobs']:,}" for row in rows],
        "median": [f"{row['median']:.3f}" for row in rows],
        "geometric mean": [f"{row['geometric_mean']:.3f}" for row in rows],
        f"within {found.backtest.factor:g}": [f"{row['within']:.1%}" for row in rows],
        "5 % to 95 %": [f"{row['low']:.3f} to {row['high']:.3f}" for row in rows],
    }
    print_table(columns, ("5 % to 95 %",))
