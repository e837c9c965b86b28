"""``penstock pack FILE``: jobs in packs or a list on a machine with I/O nodes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from penstock.cli.output import FILE_HELP, POLICY_HELP, add_json, emit_json, print_table, say, watch
from penstock.cli.used_fields import Case, note_unused

if TYPE_CHECKING:
    from penstock.api.packing import PackResult
    from penstock.planning.schedule import Schedule
    from penstock.planning.together import JobsTogether

MOST_ROWS = 20
MOST_COMPARED = 10
MOST_PAIRS = 10
SETTINGS = ("mapping", "sensibility", "order", "backfill")


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "pack",
        help="schedule jobs in packs, or one by one, with an eye on I/O",
        description="Schedule the applications of a workload as batch jobs on a machine with I/O nodes, in packs or from a "
        "list, with or without backfilling, and run them to their ends (001 chapters III and IV).",
    )
    command.add_argument("file", metavar="FILE", help=f"{FILE_HELP}; without a window")
    command.add_argument(
        "--nodes", metavar="P", type=int, help="compute nodes of an I/O node (default: those of the platform)"
    )
    command.add_argument(
        "--io-nodes", metavar="R", type=int, default=1, help="I/O nodes, each with P nodes and its own link (default: 1)"
    )
    command.add_argument(
        "--mapping",
        metavar="M",
        help="pack: jobs start together; first-fit: packs that ignore I/O; list: one by one on one I/O node (default: pack)",
    )
    command.add_argument(
        "--sensibility",
        metavar="S",
        help="the most I/O load of a pack or of the running jobs: above 0, alpha or inf (default: 1)",
    )
    command.add_argument(
        "--order", metavar="O", help="jobs go into packs by max time, char (iteration) or random (file) (default: max)"
    )
    command.add_argument("--backfill", action="store_true", default=None, help="let jobs go first that delay nobody")
    command.add_argument("--depth", metavar="N", type=int, help="waiting jobs that backfilling looks at (default: 100)")
    command.add_argument(
        "--policy",
        metavar="NAME",
        nargs="+",
        help=f"the policy that shares the bandwidth (default: due-yield; to compare, a few that differ): {POLICY_HELP}",
    )
    command.add_argument(
        "--compare",
        action="store_true",
        help="run all strategies under some policies, and compare the best with the baseline",
    )
    command.add_argument(
        "--together",
        metavar="N",
        type=int,
        nargs="?",
        const=20,
        help="also say which of the N jobs with most I/O should not run together, on the I/O resources and with the buffer "
        "that the platform has (default: 20)",
    )
    command.add_argument("--gantt", metavar="OUT", help="also draw the schedule: a name ending in .svg, .png or .html")
    add_json(command)
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    _refuse_contradictions(options)
    from penstock.api.packing import pack
    from penstock.api.paths import check_output, check_picture

    check_output(options.output)
    check_picture(options.gantt)
    result = pack(
        options.file,
        nodes=options.nodes,
        io_nodes=options.io_nodes,
        **{name: getattr(options, name) for name in SETTINGS},
        depth=options.depth,
        policy=options.policy,
        compare=options.compare,
        together=options.together,
        trace=options.gantt is not None,
        watch=watch,
    )
    together = result.together is not None
    own = together and result.workload.placement is not None
    note_unused("pack", Case(result.workload, result.policy_objects, own_placement=own, on_machine=together))
    if options.json or options.output:
        emit_json(result.to_dict(), options.output)
    else:
        _print(result)
    if options.gantt:
        result.write_gantt(options.gantt)
        sys.stderr.write(f"gantt: {options.gantt}\n")
    return 0


def _refuse_contradictions(options: argparse.Namespace) -> None:
    """Refuse options that would have no effect."""
    if options.compare:
        for name in (*SETTINGS, "gantt"):
            if getattr(options, name) is not None:
                options.parser.error(f"--{name} is for one strategy, and --compare runs all of them; leave one out")
    elif options.depth is not None and not options.backfill:
        options.parser.error("--depth is how far backfilling looks; expected --backfill too")
    if options.mapping == "list" and options.order is not None:
        options.parser.error("--order is for packs, and a list goes by release; leave one out")
    if options.mapping == "first-fit" and options.sensibility is not None:
        options.parser.error(
            "first-fit ignores I/O and has no sensibility; leave --sensibility out, or expected --mapping pack"
        )


def _print(result: PackResult) -> None:
    """Print the packs, or the jobs of a list, and the measures; of a comparison one row per strategy."""
    if result.compared:
        _print_comparison(result)
    else:
        (_print_packs if result.schedule.plan else _print_jobs)(result.schedule)
        print()
        _print_measures(result.schedule, result.baseline)
    if result.together is not None:
        print()
        _print_together(result.together)
    for note in result.notes():
        say(f"note: {note}")
    say(f"recommendation: {result.recommendation}")


def _print_packs(schedule: Schedule) -> None:
    """The packs that ran: what was planned, and what they took."""
    from penstock.report.format_units import duration

    shown = schedule.packs[:MOST_ROWS]
    members = [[*pack.planned.jobs, *pack.joined] for pack in shown]
    columns = {
        "pack": [str(pack.number + 1) for pack in shown],
        "I/O node": [str(pack.io_node + 1) for pack in shown],
        "jobs": [str(len(pack.planned.jobs)) for pack in shown],
        "joined": [str(len(pack.joined)) for pack in shown],
        "nodes": [f"{pack.planned.nodes:,}" for pack in shown],
        "I/O load": [f"{pack.planned.load:.3f}" for pack in shown],
        "predicted": [duration(pack.planned.seconds) for pack in shown],
        "start": [duration(pack.start) for pack in shown],
        "took": [duration(pack.end - pack.start) for pack in shown],
        "max stretch": [f"{schedule.stretch[inside].max():.3f}" for inside in members],
        "who": [_names(schedule, inside) for inside in members],
    }
    if not schedule.strategy.backfill:
        del columns["joined"]
    more = f"the first {MOST_ROWS} of {len(schedule.packs):,} packs" if len(schedule.packs) > MOST_ROWS else None
    print_table(columns, ("who", "start", "I/O node", "joined"), more, wide=("who",))


def _print_jobs(schedule: Schedule) -> None:
    """The jobs in the order of their starts."""
    from penstock.report.format_units import duration

    outcome, jobs = schedule.outcome, schedule.jobs
    shown = outcome.start.argsort(kind="stable")[:MOST_ROWS]
    columns = {
        "job": [jobs.names[job] for job in shown],
        "nodes": [f"{nodes:,}" for nodes in jobs.nodes[shown]],
        "I/O load": [f"{load:.3f}" for load in jobs.load[shown]],
        "predicted": [duration(seconds) for seconds in jobs.seconds[shown]],
        "start": [duration(date) for date in outcome.start[shown]],
        "took": [duration(seconds) for seconds in (outcome.end - outcome.start)[shown]],
        "stretch": [f"{stretch:.3f}" for stretch in schedule.stretch[shown]],
        "waiting": [duration(seconds) for seconds in schedule.waiting[shown]],
        "backfilled": ["yes" if early else "" for early in outcome.backfilled[shown]],
    }
    more = f"the first {MOST_ROWS} of {len(jobs):,} jobs to start" if len(jobs) > MOST_ROWS else None
    print_table(columns, ("waiting", "predicted", "backfilled"), more)


def _print_together(together: JobsTogether) -> None:
    """The pairs of jobs that lose most beside each other, and the jobs that cost all others most."""
    from penstock.planning.node_hours import hours

    pairs = together.pairs[:MOST_PAIRS]
    columns = {
        "not together": [f"{together.names[one.first]}, {together.names[one.second]}" for one in pairs],
        "lost node-hours": [one.lost.text for one in pairs],
    }
    print_table(
        columns, (), f"the worst of {len(together.pairs):,} pairs, each alone on the machine under {together.policy}"
    )
    jobs = together.left_out[:MOST_PAIRS]
    print()
    columns = {
        "without": [together.names[job] for job, _ in jobs],
        "node-hours saved": [hours(cost) for _, cost in jobs],
    }
    print_table(columns, (), f"of {hours(together.lost)} that all jobs lose, started by EASY backfilling")


def _print_measures(schedule: Schedule, baseline: Schedule) -> None:
    """Name and value of each measure."""
    from penstock.planning.node_hours import hours
    from penstock.report.format_units import duration

    whole = schedule.capacity or 1.0
    values = {
        "node-hours lost to I/O": f"{hours(schedule.lost_node_hours)} (baseline: {hours(baseline.lost_node_hours)})",
        "idle beside waiting jobs": f"{hours(schedule.kept_idle)} (baseline: {hours(baseline.kept_idle)})",
        "I/O load α": f"{schedule.io_load:.3f}",
        "packs": _or_none(schedule.packs_run, ","),
        "makespan": duration(schedule.makespan),
        "predicted makespan": duration(schedule.predicted_makespan),
        "largest stretch": f"{schedule.max_stretch:.3f}",
        "mean stretch": f"{schedule.mean_stretch:.3f}",
        "mean of the packs' largest": _or_none(schedule.pack_stretch, ".3f"),
        "mean waiting time": duration(schedule.mean_waiting),
        "longest waiting time": duration(schedule.max_waiting),
        "nodes executing": f"{schedule.executing / whole:.4f}",
        "nodes delayed": f"{schedule.delayed / whole:.4f}",
        "nodes idle": f"{schedule.idle / whole:.4f}",
        "bandwidth used": f"{schedule.bandwidth_used:.4f}",
        "backfilled jobs": f"{schedule.backfilled:,}",
        "I/O events": f"{schedule.events:,}",
        "time": duration(schedule.seconds),
    }
    print_table({schedule.strategy.label: list(values), schedule.policy: list(values.values())})


def _print_comparison(result: PackResult) -> None:
    """One row a strategy and policy: the best few, and the baseline."""
    from penstock.planning.node_hours import hours
    from penstock.report.format_units import duration

    best = sorted(result.schedules, key=lambda one: one.cost)[:MOST_COMPARED]
    schedules = [*best, result.baseline]
    columns = {
        "strategy": [*(one.strategy.label for one in best), f"{result.baseline.strategy.label} (baseline)"],
        "policy": [one.policy for one in schedules],
        "lost node-hours": [hours(one.lost_node_hours) for one in schedules],
        "kept idle": [hours(one.kept_idle) for one in schedules],
        "packs": [_or_none(one.packs_run, ",") for one in schedules],
        "makespan": [duration(one.makespan) for one in schedules],
        "predicted": [duration(one.predicted_makespan) for one in schedules],
        "max stretch": [f"{one.max_stretch:.3f}" for one in schedules],
        "mean": [f"{one.mean_stretch:.3f}" for one in schedules],
        "of packs": [_or_none(one.pack_stretch, ".3f") for one in schedules],
        "waiting": [duration(one.mean_waiting) for one in schedules],
        "executing": [f"{one.utilization:.4f}" for one in schedules],
        "delayed": [f"{one.delayed / (one.capacity or 1.0):.4f}" for one in schedules],
        "idle": [f"{one.idle / (one.capacity or 1.0):.4f}" for one in schedules],
        "time": [duration(one.seconds) for one in schedules],
    }
    more = f"the best {len(best)} of {len(result.schedules)}" if len(best) < len(result.schedules) else None
    optional = ("time", "predicted", "of packs", "idle", "delayed", "waiting", "executing", "packs", "mean", "max stretch")
    print_table(columns, optional, more, wide=("policy",))


def _names(schedule: Schedule, members: Sequence[int], most: int = 3) -> str:
    """The first names and how many more there are."""
    more = f" and {len(members) - most:,} more" if len(members) > most else ""
    return ", ".join(schedule.jobs.names[job] for job in members[:most]) + more


def _or_none(value: float | None, style: str) -> str:
    return "–" if value is None else format(value, style)
