"""``penstock compare FILE``: one workload under all policies, or some."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.cli.output import (
    FILE_HELP,
    POLICY_HELP,
    add_outputs,
    add_placement,
    bounds_document,
    emit_json,
    emit_report,
    find_bounds,
    find_placement,
    placement_document,
    print_comparison,
    print_notes,
    print_placement,
    run_all,
)
from penstock.cli.used_fields import Case, note_unused

if TYPE_CHECKING:
    from penstock.engine import Result
    from penstock.model import Workload
    from penstock.policies import Policy
    from penstock.theory import Bounds


def configure(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "compare",
        help="run a workload under many policies",
        description="Run a workload under all policies that share the link, or under those named, and compare them with "
        "each other and with what no schedule can pass.",
    )
    command.add_argument("file", metavar="FILE", nargs="?", help=FILE_HELP)
    command.add_argument(
        "--policy",
        metavar="NAME",
        nargs="+",
        action="extend",
        help=f"{POLICY_HELP}; can be repeated; a family, as exclusive, or all (default: sharing)",
    )
    command.add_argument("--no-bound", action="store_true", help="leave out what no schedule can pass, and the gaps to it")
    command.add_argument("--check", action="store_true", help="check the engine's invariants after every event")
    add_placement(command)
    add_outputs(command)
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    names = options.policy or []
    if options.file is None and len(names) > 1:  # the file stood last, where --policy has taken it for a name
        options.file = names.pop()
    if options.file is None:
        options.parser.error("the following arguments are required: FILE")
    from penstock.model.files import read
    from penstock.policies import expand, find
    from penstock.policies.policy import SHARING

    found = [find(name) for name in expand(names or [SHARING])]
    workload = read(options.file)
    policies = _suited(workload, found, names)
    placed = find_placement(workload, options)
    results = run_all(workload, policies, placed, trace=options.html is not None, check=options.check)
    bounds = None if options.no_bound else find_bounds(workload, placed)
    note_unused("compare", Case.of(workload, policies, placed))
    _note_left_out([policy.name for policy in found if policy not in policies])
    if options.json or options.output:
        emit_json({**_document(results, bounds), **placement_document(placed)}, options.output)
    else:
        print_comparison(results, bounds)
        print_placement(placed)
        print_notes(results)
    if options.html:
        emit_report(options.html, workload, results, options.file, bounds)
    return 0


def _suited(workload: Workload, policies: Sequence[Policy], names: Sequence[str]) -> list[Policy]:
    """The policies that can run it: beside buffers and on I/O resources no static orders that only their family names."""
    from penstock.policies.policy import STATIC

    buffer = workload.platform.buffer
    if not workload.on_resources and (buffer is None or buffer.size is None):
        return list(policies)
    return [policy for policy in policies if policy.family != STATIC or policy.name in names]


def _note_left_out(names: Sequence[str]) -> None:
    if names:
        sys.stderr.write(f"note: left out {', '.join(names)}: their orders are those of a link\n")


def _document(results: Sequence[Result], bounds: Bounds | None) -> dict[str, Any]:
    from penstock.report.objectives import gaps

    return {
        "bounds": bounds_document(bounds) if bounds else None,
        "runs": [{**result.to_dict(), "gap": gaps(result, bounds) or None} for result in results],
    }
