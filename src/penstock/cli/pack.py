"""``penstock pack FILE``: jobs in packs or a list on a machine with I/O nodes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.output import FILE_HELP, POLICY_HELP, add_json, console, emit_json

if TYPE_CHECKING:
    from rich.table import Table

    from penstock.planning.schedule import Schedule

MOST_ROWS = 20
MOST_TRACED = 500_000
"""I/O operations whose transfers are drawn; of more only the bandwidth that is used."""
SETTINGS = ("mapping", "sensibility", "order", "backfill")


def configure(commands: Any) -> None:
    """Declare the command."""
    command = commands.add_parser(
        "pack",
        help="schedule jobs in packs, or one by one, with an eye on I/O",
        description="Schedule the applications of a workload as batch jobs on a machine with I/O nodes, in packs or from a "
        "list, with or without backfilling, and run them to their ends (001 chapters III and IV).",
    )
    command.add_argument("file", metavar="FILE", help=f"{FILE_HELP}; without a window")
    command.add_argument("--nodes", metavar="P", type=int, help="compute nodes of an I/O node (those of the platform)")
    command.add_argument(
        "--io-nodes", metavar="R", type=int, default=1, help="I/O nodes, each with P nodes and its own link (1)"
    )
    command.add_argument(
        "--mapping",
        metavar="M",
        help="pack: jobs start together; first-fit: packs that ignore I/O; list: one by one, on one I/O node (pack)",
    )
    command.add_argument(
        "--sensibility", metavar="S", help="the most I/O load of a pack or of the running jobs: above 0, alpha or inf (1)"
    )
    command.add_argument(
        "--order", metavar="O", help="jobs go into packs by max time, char (iteration) or random (file) (max)"
    )
    command.add_argument("--backfill", action="store_true", default=None, help="let jobs go first that delay nobody")
    command.add_argument("--depth", metavar="N", type=int, help="waiting jobs that backfilling looks at (100)")
    command.add_argument(
        "--policy", metavar="NAME", help=f"who has the bandwidth, first in first out if not said: {POLICY_HELP}"
    )
    command.add_argument("--compare", action="store_true", help="run all strategies and compare them")
    command.add_argument("--gantt", metavar="OUT", help="also draw the schedule: a name ending in .svg, .png or .html")
    add_json(command)
    command.set_defaults(run=run, parser=command)


def run(options: argparse.Namespace) -> int:
    """Run the command."""
    _refuse_contradictions(options)
    from penstock.model.files import read
    from penstock.planning.batch import schedule
    from penstock.planning.strategy import DEFAULT_DEPTH, DEFAULT_POLICY, Strategy, comparison

    depth = DEFAULT_DEPTH if options.depth is None else options.depth
    given = {name: getattr(options, name) for name in SETTINGS if getattr(options, name) is not None}
    strategies = comparison(options.io_nodes, depth) if options.compare else (Strategy(**given, depth=depth),)
    workload = read(options.file)
    operations = sum(application.phases.operations for application in workload.applications) if options.gantt else 0
    schedules = [
        schedule(
            workload,
            strategy,
            nodes=options.nodes,
            io_nodes=options.io_nodes,
            policy=options.policy or DEFAULT_POLICY,
            trace=options.gantt is not None and operations <= MOST_TRACED,
        )
        for strategy in strategies
    ]
    if options.json or options.output:
        emit_json(
            {"runs": [one.to_dict() for one in schedules]} if options.compare else schedules[0].to_dict(), options.output
        )
    elif options.compare:
        console().print(_comparison(schedules))
        _print_notes(schedules)
    else:
        _print_one(schedules[0])
    if options.gantt:
        _draw(options.gantt, schedules[0], options.file)
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


def _draw(path: str, schedule: Schedule, source: str) -> None:
    from penstock.report.gantt import write_gantt

    write_gantt(Path(path), schedule, "standard input" if source == "-" else Path(source).name)
    sys.stderr.write(f"gantt: {path}\n")


def _print_one(schedule: Schedule) -> None:
    out = console()
    out.print(_packs(schedule) if schedule.plan else _jobs(schedule))
    out.print()
    out.print(_measures(schedule))
    _print_notes([schedule])


def _packs(schedule: Schedule) -> Table:
    """The packs that ran: what was planned, and what they took."""
    from penstock.report.units import duration

    table = _table("pack", "I/O node", "jobs", "nodes", "I/O load", "predicted", "start", "took", "max stretch")
    table.add_column("who", overflow="ellipsis", no_wrap=True)
    for pack in schedule.packs[:MOST_ROWS]:
        members = [*pack.planned.jobs, *pack.joined]
        table.add_row(
            str(pack.number + 1),
            str(pack.io_node + 1),
            f"{len(pack.planned.jobs)} + {len(pack.joined)}" if schedule.strategy.backfill else str(len(members)),
            f"{pack.planned.nodes:,}",
            f"{pack.planned.load:.3f}",
            duration(pack.planned.seconds),
            duration(pack.start),
            duration(pack.end - pack.start),
            f"{schedule.stretch[members].max():.3f}",
            _names(schedule, members),
        )
    if len(schedule.packs) > MOST_ROWS:
        table.caption = f"the first {MOST_ROWS} of {len(schedule.packs):,} packs"
    return table


def _jobs(schedule: Schedule) -> Table:
    """The jobs in the order of their starts."""
    from rich.text import Text

    from penstock.report.units import duration

    table = _table("job", "nodes", "bandwidth", "predicted", "start", "took", "stretch", "waiting", "backfilled")
    outcome, jobs = schedule.outcome, schedule.jobs
    for job in outcome.start.argsort(kind="stable")[:MOST_ROWS].tolist():
        table.add_row(
            Text(jobs.names[job]),
            f"{jobs.nodes[job]:,}",
            f"{jobs.bandwidth[job] / schedule.machine.bandwidth:.3f}",
            duration(jobs.seconds[job]),
            duration(outcome.start[job]),
            duration(outcome.end[job] - outcome.start[job]),
            f"{schedule.stretch[job]:.3f}",
            duration(schedule.waiting[job]),
            "yes" if outcome.backfilled[job] else "",
        )
    if len(jobs) > MOST_ROWS:
        table.caption = f"the first {MOST_ROWS} of {len(jobs):,} jobs to start; bandwidth is V/T over that of the I/O node"
    return table


def _measures(schedule: Schedule) -> Table:
    """Name and value of each measure."""
    from penstock.report.units import duration

    table = _table(schedule.strategy.label, schedule.policy)
    shares = (
        {name: getattr(schedule, name) / schedule.capacity for name in ("executing", "delayed", "idle")}
        if schedule.capacity
        else {}
    )
    rows = {
        "I/O load α": f"{schedule.io_load:.3f}",
        "packs": "–" if schedule.packs_run is None else f"{schedule.packs_run:,}",
        "makespan": duration(schedule.makespan),
        "predicted makespan": duration(schedule.predicted_makespan),
        "largest stretch": f"{schedule.max_stretch:.3f}",
        "mean stretch": f"{schedule.mean_stretch:.3f}",
        "mean of the packs' largest": "–" if schedule.pack_stretch is None else f"{schedule.pack_stretch:.3f}",
        "mean waiting time": duration(schedule.mean_waiting),
        "longest waiting time": duration(schedule.max_waiting),
        **{f"nodes {name}": f"{share:.4f}" for name, share in shares.items()},
        "bandwidth used": f"{schedule.bandwidth_used:.4f}",
        "backfilled jobs": f"{schedule.backfilled:,}",
        "I/O events": f"{schedule.events:,}",
        "time": duration(schedule.seconds),
    }
    for name, value in rows.items():
        table.add_row(name, value)
    return table


def _comparison(schedules: Sequence[Schedule]) -> Table:
    """One row a strategy."""
    from penstock.report.units import duration

    columns = (
        "packs",
        "makespan",
        "predicted",
        "max stretch",
        "mean",
        "of packs",
        "waiting",
        "executing",
        "delayed",
        "idle",
        "time",
    )
    table = _table("strategy", *columns)
    for one in schedules:
        capacity = one.capacity or 1.0
        table.add_row(
            one.strategy.label,
            "–" if one.packs_run is None else f"{one.packs_run:,}",
            duration(one.makespan),
            duration(one.predicted_makespan),
            f"{one.max_stretch:.3f}",
            f"{one.mean_stretch:.3f}",
            "–" if one.pack_stretch is None else f"{one.pack_stretch:.3f}",
            duration(one.mean_waiting),
            *(f"{amount / capacity:.4f}" for amount in (one.executing, one.delayed, one.idle)),
            duration(one.seconds),
        )
    return table


def _print_notes(schedules: Sequence[Schedule]) -> None:
    """Say what a reader of the figures must know."""
    for note in _notes(schedules):
        print(f"note: {note}")


def _notes(schedules: Sequence[Schedule]) -> Iterator[str]:
    first = schedules[0]
    counts = first.jobs.counts()
    total = f"of {counts['jobs']:,} jobs"
    if counts["without_io"]:
        yield f"{counts['without_io']:,} {total} have no I/O"
    if counts["of_no_length"]:
        yield f"{counts['of_no_length']:,} {total} take no time; their stretch is 1"
    if counts["released_later"]:
        packs = "; a pack waits for the last of its jobs" if any(one.plan for one in schedules) else ""
        yield f"{counts['released_later']:,} {total} are released later than the first{packs}"
    alone = sum(pack.load > first.sensibility for pack in first.plan if len(pack.jobs) == 1)
    if alone:
        yield f"{alone:,} of {len(first.plan):,} packs are one job with more I/O load than the sensibility"
    if len(schedules) > 1 and first.machine.io_nodes > 1:
        yield "list scheduling is left out: it is for one I/O node"


def _names(schedule: Schedule, members: Sequence[int], most: int = 3) -> Any:
    from rich.text import Text

    more = f" and {len(members) - most:,} more" if len(members) > most else ""
    return Text(", ".join(schedule.jobs.names[job] for job in members[:most]) + more)


def _table(name: str, *numbers: str) -> Table:
    from rich.table import Table

    table = Table(header_style="", show_edge=False, pad_edge=False)
    table.add_column(name, overflow="fold")
    for heading in numbers:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
