"""Drawings of results. Every function takes ``ax`` and returns the Axes it has drawn on, a new one by default.

::

    import matplotlib.pyplot as plt
    import penstock

    found = penstock.compare("demo.json", ["fcfs", "greedy-yield"], trace=True)
    figure, (left, right) = plt.subplots(1, 2)
    penstock.plot.comparison(found, ax=left)
    penstock.plot.rates(found["fcfs"], ax=right)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from penstock.model import InputError
from penstock.report.objectives import OBJECTIVES

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from penstock.api.advising import AdviceResult
    from penstock.api.campaigns import CampaignResult, SummaryResult
    from penstock.api.comparing import ComparisonResult
    from penstock.api.deltas import DeltaResult
    from penstock.api.grouping import GroupsResult
    from penstock.api.operating import MachineResult
    from penstock.api.packing import PackResult
    from penstock.api.placing import PlaceResult
    from penstock.api.runs import SimulationResult
    from penstock.api.sizing import SizingResult

__all__ = [
    "advice",
    "comparison",
    "delta",
    "filling",
    "gantt",
    "groups",
    "machine",
    "occupancy",
    "rates",
    "stretches",
    "summary",
    "yields",
]


def comparison(result: ComparisonResult, measures: Sequence[str] = tuple(OBJECTIVES), *, ax: Axes | None = None) -> Axes:
    """Bars of the measures of each policy; dashed lines are upper bounds for any schedule.

    Args:
        result: what `penstock.compare` returns for one workload.
        measures: attributes of a run, such as ``min_yield``, ``efficiency``, ``utilization`` or ``mean_slowdown``.
        ax: where to draw.

    Returns:
        The Axes.

    Example:
        >>> import penstock
        >>> found = penstock.compare(penstock.generate("demo"), ["fcfs", "greedy-yield"])
        >>> axes = penstock.plot.comparison(found, ["min_yield"])
        >>> [label.get_text() for label in axes.get_xticklabels()]
        ['fcfs', 'greedy-yield']
    """
    from penstock.report.plot import draw_comparison

    with _drawing(ax) as axes:
        draw_comparison(axes, result.runs, result.bounds, measures)
    return axes


def yields(result: ComparisonResult | SimulationResult, *, ax: Axes | None = None) -> Axes:
    """The distribution of the applications' yields under each policy.

    Args:
        result: what `penstock.compare` returns for one workload, or `penstock.simulate`.
        ax: where to draw.

    Returns:
        The Axes.

    Example:
        >>> import penstock
        >>> axes = penstock.plot.yields(penstock.simulate(penstock.generate("demo"), "fcfs"))
        >>> axes.get_xlabel()
        'yield'
    """
    from penstock.engine import Result
    from penstock.report.plot import draw_yields

    with _drawing(ax) as axes:
        draw_yields(axes, [result] if isinstance(result, Result) else result.runs)
    return axes


def rates(result: SimulationResult, *, ax: Axes | None = None) -> Axes:
    """The rates of the applications over time, piled on each other.

    Args:
        result: what `penstock.simulate` returns with ``trace=True``.
        ax: where to draw.

    Returns:
        The Axes.

    Raises:
        InputError: for a run without a trace.

    Example:
        >>> import penstock
        >>> axes = penstock.plot.rates(penstock.simulate(penstock.generate("demo"), "fcfs", trace=True))
        >>> axes.get_ylabel()
        'rate, bytes/s'
    """
    from penstock.report.plot import draw_rates

    if result.trace is None:
        raise InputError("trace", "the run has none; expected penstock.simulate(…, trace=True)")
    with _drawing(ax) as axes:
        names = [application.name for application in result.applications]
        draw_rates(axes, result.trace, names, result.begin, result.end)
    return axes


def gantt(result: PackResult, io_node: int = 0, *, ax: Axes | None = None) -> Axes:
    """The jobs of an I/O node over its compute nodes and over time. Dotted: starts of packs. Hatched: backfilled.

    Args:
        result: what `penstock.pack` returns.
        io_node: which I/O node, from 0.
        ax: where to draw.

    Returns:
        The Axes.

    Example:
        >>> import penstock
        >>> job = penstock.Application.of("a", [("work", 8.0), ("write", 2.0)], nodes=3)
        >>> packed = penstock.pack(penstock.Workload(penstock.Platform(bandwidth=1.0, nodes=4), (job,)))
        >>> penstock.plot.gantt(packed).get_ylabel()
        'nodes'
    """
    from penstock.report.gantt import draw_nodes

    with _drawing(ax) as axes:
        draw_nodes(axes, result.schedule, io_node)
    return axes


def machine(result: MachineResult, *, ax: Axes | None = None) -> Axes:
    """Parts of the nodes and of the bandwidth in use over time; the steady state is shaded.

    Args:
        result: what `penstock.machine` returns.
        ax: where to draw.

    Returns:
        The Axes.

    Example:
        >>> import penstock
        >>> job = penstock.Application.of("a", [("work", 60.0), ("write", 10.0)], nodes=3)
        >>> done = penstock.machine(penstock.Workload(penstock.Platform(bandwidth=1.0, nodes=4), (job,)))
        >>> penstock.plot.machine(done).get_ylabel()
        'part'
    """
    from penstock.report.gantt import draw_use

    with _drawing(ax) as axes:
        draw_use(axes, result.run)
    return axes


def advice(result: AdviceResult, *, ax: Axes | None = None) -> Axes:
    """Node-hours that each answer would save, as bars with their 95 % intervals.

    Args:
        result: what `penstock.advise` returns.
        ax: where to draw.

    Returns:
        The Axes.

    Example:
        >>> import penstock
        >>> job = penstock.Application.of("a", [("work", 3000.0), ("write", 600.0)], recorded=(0.0, 3600.0))
        >>> found = penstock.advise(penstock.Workload(penstock.Platform(bandwidth=1.0, nodes=1), (job,)))
        >>> penstock.plot.advice(found).get_xlabel()
        'node-hours saved'
    """
    from penstock.report.plot import draw_node_hours

    answers = [row for row in result.tables()["answers"] if row["gain"] is not None]
    ends = [None if row["low"] is None else (row["low"], row["high"]) for row in answers]
    names = [f"{row['question']}\n{row['answer']}" for row in answers]
    with _drawing(ax) as axes:
        draw_node_hours(axes, names, [row["gain"] for row in answers], ends, "node-hours saved")
    return axes


def groups(result: GroupsResult, *, ax: Axes | None = None) -> Axes:
    """Node-hours lost to I/O in each way to divide the bandwidth, with and without groups, as bars.

    Args:
        result: what `penstock.groups` returns.
        ax: where to draw.

    Returns:
        The Axes.

    Example:
        >>> import penstock
        >>> jobs = [penstock.Application.of(name, [("work", 9.0), ("write", 1.0)]) for name in "ab"]
        >>> found = penstock.groups(penstock.Workload(penstock.Platform(bandwidth=1.0, nodes=2), tuple(jobs)))
        >>> penstock.plot.groups(found).get_xlabel()
        'node-hours lost to I/O'
    """
    from penstock.report.plot import draw_node_hours

    runs = result.found.runs
    lost = [run.lost_node_hours for run in runs]
    with _drawing(ax) as axes:
        draw_node_hours(axes, [run.name for run in runs], lost, [None] * len(runs), "node-hours lost to I/O")
    return axes


def occupancy(result: PlaceResult, *, ax: Axes | None = None) -> Axes:
    """The I/O ratios of the applications on each I/O resource, and how busy the resource was in the run (002 §III.C.2).

    Args:
        result: what `penstock.place` returns.
        ax: where to draw.

    Returns:
        The Axes.

    Raises:
        InputError: where applications have no curves.

    Example:
        >>> import penstock
        >>> workload = penstock.generate("distributed", load=0.5, applications=6, resources=4)
        >>> placed = penstock.place(workload, allocation="static", horizon=3600.0)
        >>> penstock.plot.occupancy(placed).get_xlabel()
        'I/O resource'
    """
    from penstock.planning.placement.planner import Proposal
    from penstock.report.plot import draw_occupancy

    if not isinstance(result.chosen, Proposal):
        raise InputError("occupancy", "jobs come and go; expected result.write_plot, which draws the machine over time")
    with _drawing(ax) as axes:
        draw_occupancy(axes, result.chosen, result.plan.workload)
    return axes


def filling(result: SizingResult, *, ax: Axes | None = None) -> Axes:
    """The content of the burst buffer over time in each plan (004 Figures 6 and 7).

    Args:
        result: what `penstock.buffer` returns.
        ax: where to draw.

    Returns:
        The Axes.

    Example:
        >>> import penstock
        >>> writer = penstock.Application.of("a", [("work", 10.0), ("write", 40.0)], bandwidth=5.0)
        >>> sized = penstock.buffer(penstock.Workload(penstock.Platform(bandwidth=2.0), (writer,)))
        >>> penstock.plot.filling(sized).get_ylabel()
        'TB in the buffer'
    """
    from penstock.report.plot import draw_fillings

    with _drawing(ax) as axes:
        draw_fillings(axes, result.advice.plans)
    return axes


def stretches(result: SizingResult, *, ax: Axes | None = None) -> Axes:
    """The stretch under fair sharing by size of the burst buffer (004 Figure 8). Runs the workload for each size.

    Args:
        result: what `penstock.buffer` returns.
        ax: where to draw.

    Returns:
        The Axes.

    Example:
        >>> import penstock
        >>> writer = penstock.Application.of("a", [("work", 10.0), ("write", 40.0)], bandwidth=5.0)
        >>> sized = penstock.buffer(penstock.Workload(penstock.Platform(bandwidth=2.0), (writer,)))
        >>> penstock.plot.stretches(sized).get_ylabel()
        'stretch'
    """
    from penstock.report.plot import draw_stretches

    with _drawing(ax) as axes:
        draw_stretches(axes, result.advice.plans, result.stretch_curves())
    return axes


def delta(result: DeltaResult, value: str = "io_time", *, ax: Axes | None = None) -> Axes:
    """A Δ-graph: a value of A (solid) and B (dashed) by dt, for each strategy; marks are live (003 §II.C).

    Args:
        result: what `penstock.delta` returns.
        value: ``io_time``, in seconds, or ``interference``, the factor over the time alone.
        ax: where to draw.

    Returns:
        The Axes.

    Raises:
        InputError: for another value.

    Example:
        >>> import penstock
        >>> pair = penstock.delta(volume=("4 GB", "1 GB"), strategy="serializing", points=5)
        >>> penstock.plot.delta(pair, "interference").get_ylabel()
        'interference factor'
    """
    from penstock.report.plot import draw_delta, mark_live

    if value not in ("io_time", "interference"):
        raise InputError("value", f"{value!r} is unknown; expected io_time or interference")
    graph, is_time = result.drawn(), value == "io_time"
    values, label = (graph.times, "I/O time, s") if is_time else (graph.factors, "interference factor")
    with _drawing(ax) as axes:
        draw_delta(axes, graph.dt, values, label)
        if result.live is not None:
            alone = result.pair.alone()
            scaled = {name: times if is_time else times / alone for name, times in result.live.times.items()}
            mark_live(axes, result.live, scaled)
        axes.legend(fontsize=7)
    return axes


def summary(result: SummaryResult | CampaignResult, measure: str = "min_yield", *, ax: Axes | None = None) -> Axes:
    """The mean of a measure with its standard error, over the first parameter that is a number; a line for each of the rest.

    Args:
        result: what `penstock.campaign` returns, or its ``summary(by=…)``.
        measure: one that the summary has.
        ax: where to draw.

    Returns:
        The Axes.

    Raises:
        InputError: for a measure that the summary does not have.

    Example:
        >>> from penstock.api.campaigns import SummaryResult
        >>> row = {"policy": "fcfs", "min_yield_mean": 0.8, "min_yield_se": 0.1}
        >>> summary(SummaryResult("one", ("policy",), ("min_yield",), (row,))).get_ylabel()
        'min-yield'
    """
    from penstock.api.campaigns import SummaryResult
    from penstock.report.plot import draw_summary

    found = result if isinstance(result, SummaryResult) else result.summary(measures=measure)
    if measure not in found.measures:
        raise InputError("measure", f"{measure!r} is not in the summary; expected one of {', '.join(found.measures)}")
    with _drawing(ax) as axes:
        draw_summary(axes, found.rows, found.by, measure)
    return axes


@contextmanager
def _drawing(given: Axes | None) -> Iterator[Axes]:
    """The Axes to draw on; without one those of a new figure, which a notebook shows. A name may have dollars in it."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    with mpl.rc_context({"text.parse_math": False}):
        yield plt.subplots(layout="constrained")[1] if given is None else given
