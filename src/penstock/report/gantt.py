"""A schedule drawn: jobs over the nodes of each I/O node, the use of its bandwidth below, and the utilization over time.

A schedule says how many nodes a job has, not which. It is drawn on the smallest gap between running jobs that is large
enough, or on several where none is. Dotted lines are the starts of packs, hatched jobs were backfilled.

The jobs of a whole machine are too many to be drawn one by one. Its use over time is drawn instead: nodes that jobs have,
what they execute, bandwidth, and jobs that wait.
"""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from penstock.numeric.tolerances import SAME_SHARE, SHORTEST_AXIS_S
from penstock.report.binning import Bins, means
from penstock.report.figures import COLOURS, STYLE, Page, check_suffix, encoded, kind_of, printable, write_picture
from penstock.report.format_units import duration

if TYPE_CHECKING:
    from penstock.engine import Trace
    from penstock.planning.machine_run import MachineRun
    from penstock.planning.schedule import Schedule

MOST_LABELS: Final = 60
"""Jobs that have their names on them."""
MOST_SHAPES: Final = 4_000
"""Beyond, shapes are pixels also in an SVG, without edges and hatches (5,000 jobs: 3 s, not 18), and bandwidth is means."""
MOST_BINS: Final = 600
MOST_IO_NODES: Final = 16
"""Panels; of more I/O nodes the first are drawn, and the title says so."""
_TIMES: Final = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


class Box(NamedTuple):
    """A job on the nodes `low` to `high`, the last not included, from `start` to `end` in seconds."""

    job: int
    start: float
    end: float
    low: int
    high: int


def write_gantt(path: Path, schedule: Schedule, title: str) -> None:
    """Draw the `schedule` under a `title` into the file `path`, which ends in one of `report.figures.SUFFIXES`."""
    check_suffix(path)
    caption = "Jobs over nodes, use of bandwidth, utilization. Dotted: starts of packs. Hatched: backfilled."
    page = Page(printable(title), _subtitle(schedule), "gantt", caption)
    write_picture(path, draw(schedule, title, kind_of(path)), page)


def draw(schedule: Schedule, title: str, kind: str) -> bytes:
    """The `schedule` drawn under a `title`, as the bytes of an svg or png file (`kind`); the same for the same schedule."""
    with mpl.rc_context({**STYLE, "hatch.linewidth": 0.4}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph", category=UserWarning)  # a name in a script the font lacks
        return encoded(_figure(schedule, title), kind)


def boxes(schedule: Schedule, io_node: int) -> Iterator[Box]:
    """The jobs of the I/O node `io_node` of a `schedule` as boxes over its nodes, a job in one or more pieces."""
    outcome, sizes = schedule.outcome, schedule.jobs.nodes
    mine = np.flatnonzero(outcome.io_node == io_node)
    free = [(0, schedule.machine.nodes)]
    busy: list[tuple[float, int, list[tuple[int, int]]]] = []
    # Of those that start at one date, who takes no time comes first and has gone when the others come.
    lasts = outcome.end[mine] > outcome.start[mine]
    for job in mine[np.lexsort((mine, lasts, outcome.start[mine]))].tolist():
        start, end = float(outcome.start[job]), float(outcome.end[job])
        while busy and busy[0][0] <= start:
            free = _merged(free, heapq.heappop(busy)[2])
        taken, free = _take(free, int(sizes[job]))
        heapq.heappush(busy, (end, job, taken))
        for low, high in taken:
            yield Box(job, start, end, low, high)


def _take(free: list[tuple[int, int]], count: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Take `count` of the free nodes; returns what was taken and what is left."""
    gaps = [(high - low, low) for low, high in free if high - low >= count]
    best = min(gaps)[1] if gaps else None
    taken, left = [], []
    for low, high in free:
        if best not in (None, low):
            left.append((low, high))
            continue
        middle = min(high, low + count)
        count -= middle - low
        taken += [(low, middle)] if middle > low else []
        left += [(middle, high)] if high > middle else []
    return taken, left


def _merged(free: list[tuple[int, int]], more: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """All intervals, sorted, those that touch joined."""
    joined: list[tuple[int, int]] = []
    for low, high in sorted(free + more):
        if joined and joined[-1][1] == low:
            joined[-1] = (joined[-1][0], high)
        else:
            joined.append((low, high))
    return joined


def _subtitle(schedule: Schedule) -> str:
    packs = f", {schedule.packs_run} packs" if schedule.packs_run is not None else ""
    return f"{schedule.strategy.label}, {schedule.policy}: {len(schedule.jobs):,} jobs{packs}"


def _figure(schedule: Schedule, title: str) -> Figure:
    shown = min(schedule.machine.io_nodes, MOST_IO_NODES)
    ratios = [*([3.0, 1.0] * shown if schedule.trace is not None else [3.0] * shown), 1.3]
    figure = Figure(figsize=(9.2, 0.6 + 0.62 * sum(ratios) + 0.3 * len(ratios)), layout="constrained")
    panels: list[Axes] = list(figure.subplots(len(ratios), 1, sharex=True, height_ratios=ratios, squeeze=False)[:, 0])
    size, unit = _scale(schedule)
    rest = schedule.machine.io_nodes - shown
    more = f" (I/O nodes 1 to {shown}, {rest} more not shown)" if rest else ""
    panels[0].set_title(printable(f"{title}: {_subtitle(schedule)}{more}"), loc="left", fontsize=9)
    for io_node in range(shown):
        mine = panels[2 * io_node : 2 * io_node + 2] if schedule.trace is not None else panels[io_node : io_node + 1]
        _draw_nodes(mine[0], schedule, io_node, size)
        if schedule.trace is not None:
            _bandwidth(mine[1], schedule, schedule.trace, io_node, size)
    _utilization(panels[-1], schedule, size)
    panels[-1].set_xlabel(f"time ({unit})")
    panels[-1].set_xlim(schedule.begin / size, max(schedule.end, schedule.begin + SHORTEST_AXIS_S) / size)
    figure.align_ylabels(panels)
    return figure


def draw_nodes(axes: Axes, schedule: Schedule, io_node: int = 0) -> None:
    """Draw on `axes` the jobs of the I/O node `io_node` of a `schedule` over its compute nodes and over time."""
    size, unit = _scale(schedule)
    _draw_nodes(axes, schedule, io_node, size)
    axes.set(
        xlabel=f"time ({unit})", xlim=(schedule.begin / size, max(schedule.end, schedule.begin + SHORTEST_AXIS_S) / size)
    )


def _scale(schedule: Schedule) -> tuple[float, str]:
    """The unit of time for a drawing: its seconds and its name."""
    return next(((size, unit) for size, unit in _TIMES if schedule.makespan >= 3.0 * size), _TIMES[-1])


def _draw_nodes(axes: Axes, schedule: Schedule, io_node: int, size: float) -> None:
    """Jobs over nodes."""
    placed = list(boxes(schedule, io_node))
    hatched = schedule.outcome.backfilled & (len(placed) <= MOST_SHAPES)
    width = 0.4 if len(placed) <= MOST_SHAPES else 0.0
    for hatch in (False, True):
        some = [box for box in placed if bool(hatched[box.job]) == hatch]
        corners = [_rectangle(box.start / size, box.end / size, box.low, box.high) for box in some]
        colours = [_colour(box.job) for box in some]
        _add(axes, corners, colours, edgecolor="white", hatch="////" if hatch else None, linewidth=width)
    largest = {box.job: box for box in sorted(placed, key=lambda box: box.high - box.low)}
    if len(largest) <= MOST_LABELS:
        for box in largest.values():
            _label(axes, box, schedule, size)
    for pack in schedule.packs:
        if pack.io_node == io_node:
            axes.axvline(pack.start / size, color="#cc0000", linestyle=":", linewidth=0.9)
    axes.set_ylim(0, schedule.machine.nodes)
    axes.set_ylabel("nodes" if schedule.machine.io_nodes == 1 else f"nodes of\nI/O node {io_node + 1}")


def _label(axes: Axes, box: Box, schedule: Schedule, size: float) -> None:
    """The name of a job, where there is room for it."""
    wide = (box.end - box.start) / schedule.makespan if schedule.makespan > 0.0 else 0.0
    name = printable(schedule.jobs.names[box.job])
    if wide * 100 >= len(name) and box.high - box.low >= 0.06 * schedule.machine.nodes:
        middle = ((box.start + box.end) / 2 / size, (box.low + box.high) / 2)
        axes.text(*middle, name, ha="center", va="center", fontsize=7, color="black", clip_on=True)


def _bandwidth(axes: Axes, schedule: Schedule, trace: Trace, io_node: int, size: float) -> None:
    """Who has how much of the bandwidth, or beyond MOST_SHAPES segments how much of it is used."""
    chosen = np.flatnonzero((schedule.outcome.io_node[trace.application] == io_node) & (trace.rate > 0.0))
    mine = trace.rows(chosen)
    if len(chosen) <= MOST_SHAPES:
        shapes = list(_stacked(mine, schedule.machine.bandwidth))
        corners = [_rectangle(begin / size, end / size, low, high) for _, begin, end, low, high in shapes]
        _add(axes, corners, [_colour(job) for job, *_ in shapes])
    else:
        bins = Bins(schedule.begin, schedule.end, MOST_BINS)
        rate, _ = means(np.zeros(len(chosen), np.int64), 1, mine, bins)
        axes.stairs(rate[0] / schedule.machine.bandwidth, bins.edges / size, fill=True, color=COLOURS[0])
    axes.set_ylim(0, 1.05)
    axes.set_yticks([0.0, 1.0])
    axes.set_ylabel("I/O")


def _stacked(trace: Trace, bandwidth: float) -> Iterator[tuple[int, float, float, float, float]]:
    """Job, begin, end, and the share of the bandwidth from and to, the segments that overlap piled on each other."""
    order = np.lexsort((trace.application, trace.begin))
    rows = zip(*(column[order].tolist() for column in trace[:4]), strict=True)
    piles: list[tuple[float, float, float]] = []  # end, from, to
    for job, begin, end, rate in rows:
        piles = [pile for pile in piles if pile[0] > begin]
        low, share = 0.0, rate / bandwidth
        for _, bottom, top in sorted(piles, key=lambda pile: pile[1]):
            if bottom - low >= share - SAME_SHARE:
                break
            low = top
        low = min(low, max(0.0, 1.0 - share))  # where no gap is wide enough
        piles.append((end, low, low + share))
        yield job, begin, end, low, low + share


def _utilization(axes: Axes, schedule: Schedule, size: float) -> None:
    """Cumulative, and in a sliding window."""
    line = schedule.over_time()
    axes.plot(line.date / size, line.window_utilization, color=COLOURS[4], linewidth=1.0, label="sliding window")
    axes.plot(line.date / size, line.utilization, color="black", linewidth=1.2, label="since the start")
    if schedule.trace is None:
        axes.plot(line.date / size, line.window_bandwidth, color=COLOURS[1], linewidth=1.0, label="bandwidth used")
    axes.set_ylim(0, 1.05)
    axes.set_ylabel("utilization")
    axes.grid(alpha=0.3)
    axes.legend(loc="best", fontsize=7, ncols=3)


def _rectangle(left: float, right: float, bottom: float, top: float) -> list[tuple[float, float]]:
    return [(left, bottom), (left, top), (right, top), (right, bottom)]


def _add(axes: Axes, corners: Sequence[Any], colours: Sequence[str], **style: Any) -> None:
    if corners:
        many = len(corners) > MOST_SHAPES
        axes.add_collection(PolyCollection(corners, facecolors=colours, rasterized=many, **style), autolim=False)


def _colour(job: int) -> str:
    return COLOURS[job % len(COLOURS)]


_LINES: Final = (("nodes", "nodes in use"), ("executed", "computing or transferring"), ("bandwidth", "bandwidth used"))
_UNITS: Final = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


def draw_use(axes: Axes, run: MachineRun) -> None:
    """Draw parts of nodes and bandwidth in use over the time of a `run` on `axes`; the steady state is shaded."""
    size, unit = _time_unit(run)
    line = run.over_time()
    for (column, label), colour in zip(_LINES, COLOURS, strict=False):
        axes.step(
            (line.date - run.begin) / size, getattr(line, column), where="pre", color=colour, label=label, linewidth=0.9
        )
    if run.steady is not None:
        begin, end = ((date - run.begin) / size for date in (run.steady.begin, run.steady.end))
        axes.axvspan(begin, end, color=COLOURS[-1], alpha=0.15, label="steady state", linewidth=0)
    axes.set(xlim=(0.0, max(run.makespan, SHORTEST_AXIS_S) / size), ylim=(0.0, 1.02), ylabel="part", xlabel=unit)
    axes.legend(fontsize=7, loc="lower center", ncols=4)


def draw_waiting(axes: Axes, run: MachineRun) -> None:
    """Draw on `axes` how many jobs of a `run` wait, over its time."""
    size, unit = _time_unit(run)
    line = run.over_time()
    axes.step((line.date - run.begin) / size, line.waiting, where="post", color=COLOURS[5], linewidth=0.9)
    axes.set(xlim=(0.0, max(run.makespan, SHORTEST_AXIS_S) / size), ylabel="jobs that wait", xlabel=unit)
    axes.set_ylim(bottom=0.0)


def draw_hours(axes: Axes, run: MachineRun) -> None:
    """Draw on `axes` where the node-hours of a `run` went, as one bar."""
    left = 0.0
    for name, colour in zip(("computing", "transferring", "delayed", "idle"), COLOURS, strict=False):
        hours = float(getattr(run, name))
        axes.barh([0], [hours], left=left, color=colour if name != "idle" else COLOURS[-1], label=f"{name} {hours:,.0f}")
        left += hours
    axes.set(yticks=[], xlabel="node-hours", xlim=(0.0, max(left, SHORTEST_AXIS_S)))
    axes.legend(fontsize=7, ncols=4, loc="upper center")


def write_use(path: Path, run: MachineRun, title: str) -> None:
    """Draw a `run` under a `title` into the file `path`, which ends in one of `report.figures.SUFFIXES`."""
    check_suffix(path)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(9.2, 6.4), layout="constrained")
        hours, use, waiting = figure.subplots(3, 1, height_ratios=(1.0, 3.0, 1.6))
        figure.suptitle(f"{printable(title)}: {run.scheduler}, {printable(run.policy)}")
        draw_hours(hours, run)
        draw_use(use, run)
        draw_waiting(waiting, run)
        picture = encoded(figure, kind_of(path))
    subtitle = f"{run.scheduler}, {printable(run.policy)}: {run.jobs:,} jobs in {duration(run.makespan)}"
    caption = "Node-hours by use; parts of the nodes and of the bandwidth in use; jobs that wait."
    write_picture(path, picture, Page(printable(title), subtitle, "machine", caption))


def _time_unit(run: MachineRun) -> tuple[float, str]:
    """The unit of the axis of time, in seconds, and its name."""
    return next(((size, unit) for size, unit in _UNITS if run.makespan >= 3.0 * size), _UNITS[-1])
