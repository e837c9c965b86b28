"""``penstock compare FILE …``: workloads under all policies, or some."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from penstock.cli.output import (
    FILE_HELP,
    POLICY_HELP,
    add_information,
    add_outputs,
    add_placement,
    emit_json,
    note_crowded,
    note_information,
    note_overcommitted,
    print_comparison,
    print_notes,
    print_placement,
    print_table,
    say,
    watch,
)
from penstock.cli.used_fields import Case, note_unused

if TYPE_CHECKING:
    from penstock.api.comparing import ComparisonResult, ComparisonSeries


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "compare",
        help="run workloads under many policies",
        description="Run a workload under all policies that share the link, or under those named, and compare them with "
        "each other and with upper bounds for any schedule. Of several workloads there is a table each, and means over "
        "all of them.",
    )
    command.add_argument("files", metavar="FILE", nargs="*", help=FILE_HELP)
    command.add_argument(
        "--policy",
        metavar="NAME",
        nargs="+",
        action="extend",
        help=f"{POLICY_HELP}; can be repeated; a family, as exclusive, or all (default: sharing)",
    )
    command.add_argument("--no-bound", action="store_true", help="leave out the upper bounds, and the gaps to them")
    command.add_argument("--check", action="store_true", help="check the engine's invariants after every event")
    add_information(command, several=True)
    add_placement(command)
    add_outputs(command)
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    behind, information = _files_behind(options.information)
    files, policies = _told_apart([*options.files, *behind], options.policy or [])
    if not files:
        options.parser.error("the following arguments are required: FILE")
    if options.html and len(files) > 1:
        options.parser.error(f"--html is the report of one workload, and here are {len(files)} files; expected one")
    from penstock.api.comparing import compare
    from penstock.api.paths import check_output

    for path in (options.output, options.html):
        check_output(path)
    series = compare(
        files,
        policies or None,
        allocation=options.allocation,
        placement=options.placement,
        information=information,
        bound=not options.no_bound,
        trace=options.html is not None,
        check=options.check,
        watch=watch,
    )
    _note(series)
    result = series if len(files) > 1 else series[0]
    if options.json or options.output:
        emit_json(result.to_dict(), options.output)
    else:
        _print(series)
    if options.html:
        series[0].write_html(options.html)
        sys.stderr.write(f"report: {options.html}\n")
    return 0


def _told_apart(files: list[str], names: list[str]) -> tuple[list[str], list[str]]:
    """The files and the policies: files that stand last, --policy has taken for names."""
    behind, policies = _files_behind(names)
    if not files and not behind and len(policies) > 1:
        behind = [policies.pop()]
    return [*files, *behind], policies


def _files_behind(words: list[str]) -> tuple[list[str], list[str]]:
    """The names of files that stand last, and the words before them."""
    from penstock.model.files import SUFFIXES

    kept = list(words)
    behind: list[str] = []
    while len(kept) > 1 and kept[-1].endswith(SUFFIXES):
        behind.insert(0, kept.pop())
    return behind, kept


def _note(series: ComparisonSeries) -> None:
    """Name what files say and no run uses, and the policies that could not run."""
    cases = []
    for one in series.comparisons:
        case = Case.of(one.workload, [run.policy_object for run in one.runs], one.placed)
        note_overcommitted(one.runs)
        note_crowded(one.runs)
        cases.append(replace(case, file=one.opened.path or ""))
    note_unused("compare", *cases)
    left_out = list(dict.fromkeys(name for one in series.comparisons for name in one.left_out))
    if left_out:
        say(f"note: left out {', '.join(left_out)}: their orders are those of a link, made from true values", sys.stderr)


def _print(series: ComparisonSeries) -> None:
    if len(series) == 1:
        _print_one(series[0])
        return
    for one in series.comparisons:
        print(f"{one.opened.path}:")
        _print_one(one)
        print()
    _print_summary(series)


def _print_one(one: ComparisonResult) -> None:
    results = list(one.runs)
    if one.baseline is not None and all(one.baseline is not run for run in results):
        results.append(replace(one.baseline, policy=f"{one.baseline.policy} (baseline)"))
    print_comparison(results, one.bounds)
    print_placement(one.placed)
    print_notes(one.runs)
    note_information(one.runs)
    if one.recommendation is not None:
        say(f"recommendation: {one.recommendation}")


def _print_summary(series: ComparisonSeries) -> None:
    """Means over the workloads, each with its standard deviation."""
    from penstock.report.objectives import OBJECTIVES, text

    rows = series.summary()
    columns = {"policy": [row["policy"] for row in rows], "workloads": [str(row["workloads"]) for row in rows]}
    for name, heading in OBJECTIVES.items():
        columns[heading] = [text(row[f"{name}_mean"]) for row in rows]
        columns[f"± {heading}"] = ["–" if row[f"{name}_std"] is None else text(row[f"{name}_std"]) for row in rows]
    print_table(columns, ("± utilization", "utilization"), f"means over {len(series)} workloads, ± standard deviation")
    if series.recommendation is not None:
        say(f"recommendation: {series.recommendation}")
