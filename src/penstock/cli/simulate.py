"""``penstock simulate FILE --policy NAME``: one workload under one policy."""

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
    print_applications,
    print_comparison,
    print_measures,
    print_notes,
    print_owners,
    print_placement,
    watch,
)
from penstock.cli.used_fields import Case, note_unused

if TYPE_CHECKING:
    from penstock.api.runs import SimulationResult


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "simulate",
        help="run a workload under one policy",
        description="Run a workload under one policy, exactly, event by event, and print what became of each application. "
        "A platform with resources, and curves of the applications, is run on these; a buffer that has a size is used.",
    )
    command.add_argument("file", metavar="FILE", help=FILE_HELP)
    command.add_argument("--policy", metavar="NAME", default="fair-share", help=f"{POLICY_HELP} (default: fair-share)")
    command.add_argument("--check", action="store_true", help="check the engine's invariants after every event")
    add_information(command, several=False)
    add_placement(command)
    add_outputs(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    from penstock.api.paths import check_output
    from penstock.api.runs import simulate

    for path in (options.output, options.html):
        check_output(path)
    result = simulate(
        options.file,
        options.policy,
        allocation=options.allocation,
        placement=options.placement,
        information=options.information,
        trace=options.html is not None,
        check=options.check,
        watch=watch,
    )
    note_overcommitted([result])
    note_crowded([result])
    case = Case.of(result.workload, [result.policy_object], result.placed)
    note_unused("simulate", replace(case, shows_users=True))
    if options.json or options.output:
        emit_json(result.to_dict(), options.output)
    else:
        _print(result)
    if options.html:
        result.write_html(options.html)
        sys.stderr.write(f"report: {options.html}\n")
    return 0


def _print(result: SimulationResult) -> None:
    print_applications(result)
    print_comparison([result])
    print_measures(result)
    print_owners(result.by_owner("user"))
    print_placement(result.placed)
    print_notes([result])
    note_information([result])
