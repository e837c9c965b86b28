"""``penstock groups FILE``: groups of applications with bandwidth of their own."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from penstock.cli.output import FILE_HELP, add_json, emit_json, print_table, say, watch
from penstock.cli.used_fields import Case, note_unused

if TYPE_CHECKING:
    from penstock.api.grouping import GroupsResult

MOST_GROUPS = 20


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "groups",
        help="find groups of applications with bandwidth of their own",
        description="Put applications of similar volumes into groups, give each group a part of the bandwidth, and run them "
        "with and without groups: all on one link that they share or take turns on, groups that share or take turns "
        "inside, and a part for each application. Prints the groups and the node-hours lost to I/O.",
    )
    command.add_argument("file", metavar="FILE", help=f"{FILE_HELP}; without a window")
    command.add_argument("--shared", metavar="NAME", help="policy where applications share a link (default: fair-share)")
    command.add_argument("--exclusive", metavar="NAME", help="policy where they take turns (default: fifo)")
    add_json(command)
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    from penstock.api.grouping import groups
    from penstock.api.paths import check_output

    check_output(options.output)
    given = {name: getattr(options, name) for name in ("shared", "exclusive") if getattr(options, name) is not None}
    result = groups(options.file, **given, watch=watch)
    note_unused("groups", Case(result.workload, result.policy_objects, shows_users=False))
    if options.json or options.output:
        emit_json(result.to_dict(), options.output)
    else:
        _print(result)
    return 0


def _print(result: GroupsResult) -> None:
    """Print the groups, the ways to divide the bandwidth, and the recommendation."""
    _print_groups(result)
    print()
    _print_ways(result)
    say(f"recommendation: {result.recommendation}")
    idle = len(result.workload.applications) - sum(len(part.members) for part in result.found.partition.parts)
    if idle:
        say(f"note: {idle:,} of {len(result.workload.applications):,} applications have no I/O, and are in no group")


def _print_groups(result: GroupsResult) -> None:
    from penstock.report.format_units import rate, volume

    rows = result.found.rows()
    shown = rows[:MOST_GROUPS]
    columns = {
        "group": [str(row["group"]) for row in shown],
        "applications": [f"{row['applications']:,}" for row in shown],
        "volume of an operation": [f"{volume(row['least_volume'])} to {volume(row['most_volume'])}" for row in shown],
        "bandwidth": [rate(row["bandwidth"]) for row in shown],
        "used": [f"{row['load']:.3f}" for row in shown],
        "value": [f"{row['value']:.3f}" for row in shown],
        "lost if exclusive": [f"{row['lost_exclusive']:,.2f}" for row in shown],
        "lost if shared": [f"{row['lost_shared']:,.2f}" for row in shown],
    }
    more = f"the first {MOST_GROUPS} of {len(rows):,} groups; --json has all" if len(rows) > MOST_GROUPS else None
    print_table(columns, ("value", "used"), more)


def _print_ways(result: GroupsResult) -> None:
    runs = result.found.runs
    columns = {
        "way": [run.name for run in runs],
        "policy": [run.policy for run in runs],
        "links": [f"{run.parts:,}" for run in runs],
        "value": ["–" if run.value is None else f"{run.value:.3f}" for run in runs],
        "node-hours lost to I/O": [f"{run.lost_node_hours:,.2f}" for run in runs],
        "mean stretch": [f"{run.mean_stretch:.4f}" for run in runs],
        "largest": [f"{run.max_stretch:.3f}" for run in runs],
    }
    print_table(columns, ("value", "links"))
