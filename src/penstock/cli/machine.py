"""``penstock machine JOBS``: jobs on a whole machine, from submission to end."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from penstock.cli.output import FILE_HELP, POLICY_HELP, add_json, emit_json, print_table, say, seed, watch
from penstock.cli.used_fields import Case, note_unused

if TYPE_CHECKING:
    from penstock.api.operating import MachineResult
    from penstock.planning.machine_run import MachineRun

MOST_USERS = 10
_SETTINGS = ("scheduler", "policy", "allocation", "placement", "limit", "depth", "order", "seed", "nodes", "resources")


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "machine",
        help="run jobs on a whole machine: batch scheduler, I/O, buffer",
        description="Run jobs on a whole machine: they are submitted, wait, start on nodes, read and write over I/O "
        "resources and through a buffer, under a sharing policy, and end. Prints waits, slowdowns, and node-hours by use.",
    )
    command.add_argument("file", metavar="JOBS", help=f"{FILE_HELP}; without a window")
    command.add_argument(
        "--scheduler",
        metavar="S",
        help="easy, conservative, fcfs, list, list-backfill, packs, packs-backfill, two-group or recorded (default: easy)",
    )
    command.add_argument(
        "--policy", metavar="NAME", help=f"the policy that shares the bandwidth (default: fair-share): {POLICY_HELP}"
    )
    command.add_argument("--nodes", metavar="P", type=int, help="nodes of the machine (default: those of the platform)")
    command.add_argument(
        "--resources", metavar="N", type=int, help="I/O nodes or OSTs (default: those of the platform, or one link)"
    )
    command.add_argument(
        "--allocation",
        metavar="A",
        help="I/O resources of a job: best-bdw, static, n-sys, tcpu, mckp, random, a number or all (default: best-bdw)",
    )
    command.add_argument(
        "--placement",
        metavar="P",
        help="which ones: least-loaded, in-turn, random, or as in the file (default: least-loaded)",
    )
    command.add_argument(
        "--buffer", metavar="SIZE", help="a burst buffer of this size (default: the platform's); none for no buffer"
    )
    command.add_argument(
        "--limit",
        metavar="L",
        type=float,
        help="the most I/O load of running jobs, for list, packs and two-group (default: 1)",
    )
    command.add_argument(
        "--depth", metavar="N", type=int, help="waiting jobs that backfilling looks at (default: all; 100 if conservative)"
    )
    command.add_argument(
        "--order", metavar="O", help="jobs go into packs by max time, char (iteration) or random (default: max)"
    )
    command.add_argument("--kill", action="store_true", help="end a job at its requested time")
    command.add_argument("--seed", type=seed, help="for random allocation and placement (default: 0)")
    command.add_argument(
        "--no-baseline", dest="baseline", action="store_false", help="do not run easy under fair-share beside it"
    )
    command.add_argument("--check", action="store_true", help="check the laws of the engine after every event")
    add_json(command)
    command.add_argument("--html", metavar="OUT", help="also draw the run: a name ending in .html, .svg or .png")
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    from penstock.api.operating import machine
    from penstock.api.paths import check_output, check_picture

    check_output(options.output)
    check_picture(options.html)
    given = {name: getattr(options, name) for name in _SETTINGS if getattr(options, name) is not None}
    buffer = False if options.buffer == "none" else options.buffer
    given |= {name: getattr(options, name) for name in ("kill", "baseline", "check")}
    result = machine(options.file, **given, buffer=buffer, watch=watch)
    note_unused("machine", Case(result.workload, [result.policy_object], own_placement=options.placement == "file"))
    if options.json or options.output:
        emit_json(result.to_dict(), options.output)
    else:
        _print(result)
    if options.html:
        result.write_plot(options.html)
        sys.stderr.write(f"drawn: {options.html}\n")
    return 0


def _print(result: MachineResult) -> None:
    """Print the node-hours, the waits and slowdowns, and the users."""
    run = result.run
    _print_hours(run, result.baseline)
    print()
    _print_measures(run)
    if any(run.jobs_run.users):
        print()
        _print_users(run)
    for note in result.notes():
        say(f"note: {note}")
    say(f"recommendation: {result.recommendation}")


def _print_hours(run: MachineRun, baseline: MachineRun | None) -> None:
    """Where the node-hours went, and where they go in another run, the `baseline`."""
    uses = ("computing", "transferring", "delayed", "idle", "node_hours")
    hours = [float(getattr(run, name)) for name in uses]
    columns = {
        "node-hours": ["computing", "transferring", "delayed by I/O", "idle", "in all"],
        "": [f"{value:,.1f}" for value in hours],
        "part": [f"{value / run.node_hours:.4f}" if run.node_hours else "–" for value in hours],
    }
    if baseline is not None and baseline is not run:
        columns["baseline"] = [f"{getattr(baseline, name):,.1f}" for name in uses]
    print_table(columns)


def _print_measures(run: MachineRun) -> None:
    """Waits, slowdowns, and the use of the machine."""
    from penstock.report.format_units import duration

    steady = run.steady
    span = "none" if steady is None else f"{duration(steady.begin - run.begin)} to {duration(steady.end - run.begin)}"
    rows = {
        "scheduler, policy": f"{run.scheduler}, {run.policy}",
        "jobs, backfilled": f"{run.jobs:,}, {run.backfilled:,}",
        "makespan": duration(run.makespan),
        "wait: mean, median, max": ", ".join(map(duration, (run.mean_wait, run.median_wait, run.max_wait))),
        "slowdown without waiting: mean, max": f"{run.mean_slowdown:.4f}, {run.max_slowdown:.4f}",
        "slowdown with waiting: mean, bounded": f"{run.mean_slowdown_with_waiting:.2f}, {run.mean_bounded_slowdown:.2f}",
        "utilization, bandwidth used": f"{run.utilization:.4f}, {run.bandwidth_used:.4f}",
        "steady state": span,
    }
    if steady is not None:
        rows["there: nodes in use, utilization, bandwidth used"] = (
            f"{steady.nodes:.4f}, {steady.utilization:.4f}, {steady.bandwidth:.4f}"
        )
    print_table({"measure": list(rows), "": list(rows.values())}, wide=("",))


def _print_users(run: MachineRun) -> None:
    """The users with most node-hours."""
    from penstock.report.format_units import duration

    users = run.by_user()
    shown = users[:MOST_USERS]
    columns = {
        "user": [row["user"] or "–" for row in shown],
        "jobs": [f"{row['jobs']:,}" for row in shown],
        "node-hours": [f"{row['node_hours']:,.1f}" for row in shown],
        "delayed": [f"{row['delayed']:,.1f}" for row in shown],
        "mean wait": [duration(row["mean_wait"]) for row in shown],
        "mean slowdown": [f"{row['mean_slowdown']:.4f}" for row in shown],
    }
    more = f"the first {MOST_USERS} of {len(users):,} users" if len(users) > MOST_USERS else None
    print_table(columns, ("mean slowdown",), more)
