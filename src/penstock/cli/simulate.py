"""``penstock simulate FILE --policy NAME``: one workload under one policy."""

from __future__ import annotations

import argparse
from typing import Any

from penstock.cli.output import (
    FILE_HELP,
    POLICY_HELP,
    add_outputs,
    add_placement,
    emit_json,
    emit_report,
    find_placement,
    placement_document,
    print_applications,
    print_comparison,
    print_measures,
    print_notes,
    print_placement,
    run_all,
)
from penstock.cli.used_fields import Case, note_unused


def configure(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "simulate",
        help="run a workload under one policy",
        description="Run a workload under one policy, exactly, event by event, and print what became of each application. "
        "A platform with resources, and curves of the applications, is run on these; a buffer that has a size is used.",
    )
    command.add_argument("file", metavar="FILE", help=FILE_HELP)
    command.add_argument("--policy", metavar="NAME", default="fair-share", help=f"{POLICY_HELP} (default: fair-share)")
    command.add_argument("--check", action="store_true", help="check the engine's invariants after every event")
    add_placement(command)
    add_outputs(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    from penstock.model.files import read
    from penstock.policies import find

    policy = find(options.policy)
    workload = read(options.file)
    placed = find_placement(workload, options)
    (result,) = run_all(workload, [policy], placed, trace=options.html is not None, check=options.check)
    note_unused("simulate", Case.of(workload, [policy], placed))
    if options.json or options.output:
        emit_json({**result.to_dict(), **placement_document(placed)}, options.output)
    else:
        _print(result, placed)
    if options.html:
        emit_report(options.html, workload, [result], options.file)
    return 0


def _print(result: Any, placed: Any) -> None:
    print_applications(result)
    print_comparison([result])
    print_measures(result)
    print_placement(placed)
    print_notes([result])
