"""Plots of results.

- Runs and campaigns: policies beside each other, yields, rates over time, means with their errors.
- Δ-graphs as in 003: I/O times and interference factors of two applications by dt, with one colour for each strategy.
- A burst buffer: its contents over time, and the stretch by its size (004 Figures 6 to 8).
- I/O resources: who is on which, and how busy each one is (002 §III.C.2).

I/O resources have one bar each: the parts are the I/O ratios of the applications on it, alone; the line is the part of the
time that the resource was moving data in the run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from penstock.model import InputError, Workload
from penstock.planning.placement.allocation import Characteristics
from penstock.report import format_units
from penstock.report.binning import Bins, means
from penstock.report.figures import COLOURS, STYLE, Page, check_suffix, encoded, kind_of, printable, write_picture
from penstock.report.objectives import BOUNDED, COSTS, OBJECTIVES
from penstock.testbed.live_runs import UNCOORDINATED, simulated_as
from penstock.theory.interference import STRATEGIES

if TYPE_CHECKING:
    from penstock.buffers.advice import BufferTrial
    from penstock.buffers.plan import BufferPlan
    from penstock.engine import Result, Trace
    from penstock.planning.placement.planner import Proposal
    from penstock.testbed.live_runs import LiveDelta
    from penstock.theory import Bounds
    from penstock.theory.interference import Delta


TITLES: Final = {**OBJECTIVES, **COSTS}
MOST_COLOURED: Final = 20
"""Applications that have names or colours of their own; of more, the rates of the others are drawn together."""
BINS: Final = 600


def draw_comparison(
    axes: Axes, results: Sequence[Result], bounds: Bounds | None, measures: Sequence[str] = tuple(OBJECTIVES)
) -> None:
    """Draw a group of bars for each policy, one bar per measure; dashed lines are upper bounds for any schedule.

    Args:
        axes: where to draw.
        results: one run per policy.
        bounds: the upper bounds, if they are known.
        measures: attributes of a run.
    """
    places = np.arange(len(results))
    width = 0.8 / len(measures)
    for index, measure in enumerate(measures):
        offset = (index - (len(measures) - 1) / 2) * width
        heights = [getattr(result, measure) for result in results]
        colour = COLOURS[index % len(COLOURS)]
        axes.bar(places + offset, heights, width, color=colour, label=TITLES.get(measure, measure))
        if bounds is not None and measure in BOUNDED:
            axes.axhline(getattr(bounds, measure), color=colour, linestyle="--", linewidth=0.8)
    axes.set_xticks(places, [printable(result.policy) for result in results], rotation=30, ha="right")
    axes.legend(fontsize=7)


def draw_node_hours(
    axes: Axes, names: Sequence[str], values: Sequence[float], ends: Sequence[tuple[float, float] | None], label: str
) -> None:
    """Draw node-hours as horizontal bars, the first one at the top.

    Args:
        axes: where to draw.
        names: what the bars are of.
        values: the node-hours.
        ends: the ends of the interval of each; None where there is none.
        label: what is drawn.
    """
    places = np.arange(len(names))
    axes.barh(places, values, color=COLOURS[0])
    for place, pair in zip(places, ends, strict=True):
        if pair is not None:
            axes.plot(pair, [place, place], color="black", linewidth=1.0, marker="|")
    axes.set_yticks(places, [printable(name) for name in names])
    axes.invert_yaxis()
    axes.set_xlabel(label)


def draw_yields(axes: Axes, results: Sequence[Result]) -> None:
    """Draw on `axes` the yields of the applications in each of the `results`, from the lowest to the highest."""
    for index, result in enumerate(results):
        ordered = np.sort(result.yields)
        parts = np.arange(1, len(ordered) + 1) / len(ordered)
        colour = COLOURS[index % len(COLOURS)]
        axes.step(ordered, parts, where="post", color=colour, marker=".", markersize=4, label=printable(result.policy))
    axes.set(xlabel="yield", ylabel="part of the applications with at most that yield", ylim=(0.0, 1.02))
    axes.legend(fontsize=7)


def draw_rates(axes: Axes, trace: Trace, names: Sequence[str], begin: float, end: float, bins: int = BINS) -> None:
    """Draw the mean rates of the applications over time, piled on each other.

    Args:
        axes: where to draw.
        trace: the rates, in bytes/s.
        names: those of the applications, by position.
        begin: the first date, in seconds.
        end: the last date, in seconds.
        bins: over how many bins of time the means are taken.
    """
    edges = Bins(begin, end, bins)
    moved = np.bincount(trace.application, trace.rate * (trace.end - trace.begin), minlength=len(names))
    own = np.sort(np.argsort(-moved, kind="stable")[:MOST_COLOURED])
    group = np.full(len(names), len(own), np.int64)
    group[own] = np.arange(len(own))
    labels = [printable(names[index]) for index in own] + (["others"] if len(own) < len(names) else [])
    rates, _ = means(group[trace.application], len(labels), trace, edges)
    middles = (edges.edges[1:] + edges.edges[:-1]) / 2.0
    colours = [COLOURS[index % len(COLOURS)] for index in range(len(labels))]
    axes.stackplot(middles, rates, labels=labels, colors=colours, step="mid")
    axes.set(xlabel="time, s", ylabel="rate, bytes/s", xlim=(begin, end))
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def draw_summary(axes: Axes, rows: Sequence[Mapping[str, Any]], by: Sequence[str], measure: str) -> None:
    """Draw the mean of a measure with its standard error: a line for each combination of what is no number, else bars.

    Args:
        axes: where to draw.
        rows: those of a summary.
        by: what they are grouped by. The first that is a number with several values is the axis of the lines.
        measure: which one is drawn.
    """
    x = next((name for name in by if _is_axis(rows, name)), None)
    if x is None:
        _draw_bars(axes, rows, by, measure)
        return
    others = [name for name in by if name != x]
    lines: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        if row[f"{measure}_mean"] is not None:
            lines.setdefault(_label(row, others), []).append(row)
    for index, (label, members) in enumerate(lines.items()):
        ordered = sorted(members, key=lambda row: float(row[x]))
        axes.errorbar(
            [float(row[x]) for row in ordered],
            [row[f"{measure}_mean"] for row in ordered],
            yerr=[row[f"{measure}_se"] or 0.0 for row in ordered],
            color=COLOURS[index % len(COLOURS)],
            marker=".",
            capsize=2,
            linewidth=1.0,
            label=label or None,
        )
    axes.set(xlabel=printable(x), ylabel=TITLES.get(measure, measure))
    if any(lines):
        axes.legend(fontsize=7)


def write_summary(
    path: Path, rows: Sequence[Mapping[str, Any]], by: Sequence[str], measures: Sequence[str], title: str
) -> None:
    """Draw each measure of a summary into a file.

    Args:
        path: the file, which ends in one of `report.figures.SUFFIXES`.
        rows: those of the summary.
        by: what they are grouped by.
        measures: which ones are drawn, beside each other.
        title: the heading.
    """
    check_suffix(path)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(max(6.0, 4.2 * len(measures)), 4.0), layout="constrained")
        for axes, measure in zip(figure.subplots(1, len(measures), squeeze=False)[0], measures, strict=True):
            draw_summary(axes, rows, by, measure)
        figure.suptitle(printable(title))
        picture = encoded(figure, kind_of(path))
    caption = "Means over the rows of a campaign; bars are standard errors of the mean."
    write_picture(path, picture, Page(printable(title), "campaign", "summary", caption))


def _is_axis(rows: Sequence[Mapping[str, Any]], name: str) -> bool:
    """Whether the values are numbers, and more than one."""
    values = [row[name] for row in rows]
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return numbers and len(set(values)) > 1


def _draw_bars(axes: Axes, rows: Sequence[Mapping[str, Any]], by: Sequence[str], measure: str) -> None:
    known = [row for row in rows if row[f"{measure}_mean"] is not None]
    places = np.arange(len(known))
    errors = [row[f"{measure}_se"] or 0.0 for row in known]
    axes.bar(places, [row[f"{measure}_mean"] for row in known], 0.8, yerr=errors, capsize=2, color=COLOURS[0])
    axes.set_xticks(places, [_label(row, by) for row in known], rotation=30, ha="right")
    axes.set(ylabel=TITLES.get(measure, measure))


def _label(row: Mapping[str, Any], names: Sequence[str]) -> str:
    """What a line or a bar stands for: the policy by its name, others as name=value."""
    words = [f"{row[name]}" if name == "policy" else f"{name}={_short(row[name])}" for name in names]
    return printable(", ".join(words))


def _short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


NAMED: Final = dict(zip(STRATEGIES, COLOURS, strict=False))
LINES: Final = ("-", "--")
MARKS: Final = ("o", "s")
BARE_MARKS: Final = ("x", "+")
"""Of A and of B; live without a coordinator the last."""


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """A colour for each strategy of these `names`, the same for the same one wherever it can be."""
    others = [colour for colour in COLOURS if colour not in NAMED.values()]
    found: dict[str, str] = {}
    for name in names:
        plain = name.partition(":")[0]  # with a parameter it is still the same strategy, unless that is there too
        known = NAMED.get(name if plain in names else plain)
        found[name] = known or others[len(found) % len(others)]
    return found


def write_delta(path: Path, graph: Delta, title: str, live: LiveDelta | None = None) -> None:
    """Draw a `graph` under a `title`, with `live` points over it, into the file `path` (see `report.figures.SUFFIXES`)."""
    check_suffix(path)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12.0, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        draw_delta(left, graph.dt, graph.times, "I/O time, s")
        draw_delta(right, graph.dt, graph.factors, "interference factor")
        if live is not None:
            alone = np.array(graph.pair.alone())
            mark_live(left, live, live.times)
            mark_live(right, live, {name: times / alone for name, times in live.times.items()})
            figure.legend(*left.get_legend_handles_labels(), loc="outside right upper", fontsize=7)
        else:
            left.legend(fontsize=7)
        figure.suptitle(printable(title))
        picture = encoded(figure, kind_of(path))
    caption = "I/O time (left) and interference factor (right) of A (solid) and B (dashed), which posts dt after A."
    if live is not None:
        caption += " Lines are simulated, marks are live; crosses without a coordinator."
    write_picture(path, picture, Page(printable(title), "Δ-graph", "delta", caption))


def draw_delta(axes: Axes, dt: np.ndarray, values: Mapping[str, np.ndarray], label: str, members: str = "AB") -> None:
    """Draw one value of A and B, or of one of them, by dt for each strategy.

    Args:
        axes: where to draw.
        dt: seconds from A's posting to B's.
        values: for each strategy a row for each dt, with the values of A and B.
        label: what they are, for the axis.
        members: ``A``, ``B`` or both.
    """
    colours = colours_of(list(values))
    for name, rows in values.items():
        for index, member in enumerate("AB"):
            if member in members:
                line = LINES[index]
                axes.plot(dt, rows[:, index], line, color=colours[name], linewidth=1.2, label=f"{printable(name)}, {member}")
    axes.set(xlabel="dt, s", ylabel=label)


def mark_live(axes: Axes, live: LiveDelta, values: Mapping[str, np.ndarray]) -> None:
    """Mark measured values of A and B by dt, in the colour of the line they should be on.

    Args:
        axes: where to draw.
        live: the measured times, for their dt.
        values: for each strategy a row for each dt, with what to mark of A and B.
    """
    colours = colours_of([simulated_as(name) for name in values])
    named: set[str] = set()
    for name, rows in values.items():
        bare = name == UNCOORDINATED
        for index, mark in enumerate(BARE_MARKS if bare else MARKS):
            label = f"live {'without a coordinator' if bare else 'coordinated'}, {'AB'[index]}"
            axes.plot(
                live.dt,
                rows[:, index],
                mark,
                color=colours[simulated_as(name)],
                markersize=6 if bare else 4,
                fillstyle="none",
                label=None if label in named else label,
            )
            named.add(label)


TB: Final = 1e12
HOUR: Final = 3600.0
MODES: Final = {"static": COLOURS[0], "dynamic": COLOURS[1]}


def write_filling(
    path: Path, plans: Mapping[str, BufferPlan], curves: Mapping[str, Sequence[BufferTrial]], title: str
) -> None:
    """Draw the content of the buffer over time, and the stretch by its size, into a file.

    Args:
        path: the file, which ends in one of `report.figures.SUFFIXES`.
        plans: the plans by mode.
        curves: runs with buffers of several sizes, by mode.
        title: the heading.
    """
    check_suffix(path)
    with mpl.rc_context(STYLE):
        picture = encoded(_draw_filling_figure(plans, curves, printable(title)), kind_of(path))
    caption = "Left: content of the buffer over time in each plan. Right: stretch under fair sharing by size of the buffer."
    write_picture(path, picture, Page(printable(title), "burst buffer", "filling", caption))


def _draw_filling_figure(plans: Mapping[str, BufferPlan], curves: Mapping[str, Sequence[BufferTrial]], title: str) -> Figure:
    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_fillings(left, plans)
    left.set(title="the plan for a stretch of 1")
    draw_stretches(right, plans, curves)
    right.set(title="fair sharing")
    figure.suptitle(title)
    return figure


def draw_fillings(axes: Axes, plans: Mapping[str, BufferPlan]) -> None:
    """Draw on `axes` the content of the buffer over time in each of the `plans`, in TB."""
    for mode, plan in plans.items():
        draw_filling(axes, plan, MODES[mode])
    axes.set(xlabel="hours", ylabel="TB in the buffer")
    axes.legend(fontsize=7)


def draw_stretches(axes: Axes, plans: Mapping[str, BufferPlan], curves: Mapping[str, Sequence[BufferTrial]]) -> None:
    """Draw the largest and the mean stretch under fair sharing by size of the buffer, in TB.

    Args:
        axes: where to draw.
        plans: the plans by mode; dashed lines are their sizes.
        curves: runs with buffers of several sizes, by mode.
    """
    for mode, found in curves.items():
        sizes = [one.size / TB for one in found]
        axes.plot(sizes, [one.stretch for one in found], color=MODES[mode], marker=".", label=f"{mode}, largest")
        means = [one.replay.mean_stretch for one in found]
        axes.plot(sizes, means, color=MODES[mode], linestyle=":", label=f"{mode}, mean")
        size = plans[mode].size
        if size is not None:
            axes.axvline(size / TB, color=MODES[mode], linewidth=0.7, linestyle="--")
    axes.set(xlabel="size of the buffer, TB", ylabel="stretch")
    axes.legend(fontsize=7)


def draw_filling(axes: Axes, plan: BufferPlan, colour: str) -> None:
    """Draw on `axes`, in a `colour`, the content of a `plan`'s buffer over time, its size, and what its shares take."""
    if plan.filling is None or plan.size is None:
        return
    filling = plan.filling
    hours = filling.dates / HOUR
    axes.plot(hours, filling.content / TB, color=colour, linewidth=0.8, label=f"{plan.mode}: content")
    if plan.shares is not None:
        both = np.column_stack([filling.before, filling.after]).ravel() / TB
        axes.plot(np.repeat(hours, 2), both, color=colour, linewidth=0.6, alpha=0.5, label=f"{plan.mode}: shares")
    axes.axhline(
        plan.size / TB, color=colour, linewidth=0.8, linestyle="--", label=f"{plan.mode}: {format_units.volume(plan.size)}"
    )


MOST_NAMED: Final = 24
"""Applications in the legend; of more, those with the largest I/O ratios."""


def write_occupancy(path: Path, proposal: Proposal, workload: Workload, title: str) -> None:
    """Draw the occupancy of the I/O resources into a file.

    Args:
        path: the file, which ends in one of `report.figures.SUFFIXES`.
        proposal: who uses which resources.
        workload: the applications.
        title: the heading.

    Raises:
        InputError: where applications have no curves.
    """
    check_suffix(path)
    try:
        known = _known_curves(workload)
    except InputError as error:
        raise error.in_file(str(path)) from None
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(max(7.0, min(24.0, 0.35 * known.resources + 4.0)), 4.0), layout="constrained")
        axes = figure.subplots()
        draw_occupancy(axes, proposal, workload)
        axes.set(title=f"{printable(title)}: {proposal.name}")
        picture = encoded(figure, kind_of(path))
    caption = "Bars: I/O ratios of the applications on each resource, alone. Line: occupancy in the run."
    write_picture(path, picture, Page(printable(title), proposal.name, "occupancy", caption))


def _known_curves(workload: Workload) -> Characteristics:
    known = Characteristics.of(workload)
    if known.curves is None:
        raise InputError("", "without the curves of all applications there is no occupancy to draw; expected curves")
    return known


def draw_occupancy(axes: Axes, proposal: Proposal, workload: Workload) -> None:
    """Draw the I/O ratios of the applications on each resource, alone, and the occupancy of the resources in the run.

    Args:
        axes: where to draw.
        proposal: who uses which resources.
        workload: the applications.

    Raises:
        InputError: where applications have no curves.
    """
    known = _known_curves(workload)
    names = [printable(application.name) for application in workload.applications]
    counts = np.array([len(used) for used in proposal.placement])
    ratios = known.at(known.io_ratio, counts)
    named = set(np.argsort(-ratios, kind="stable")[:MOST_NAMED].tolist())
    bottom = np.zeros(known.resources)
    for index, used in enumerate(proposal.placement):
        here = np.array(used)
        label = names[index] if index in named else None
        colour = COLOURS[index % len(COLOURS)]
        axes.bar(
            here, ratios[index], bottom=bottom[here], width=0.9, color=colour, edgecolor="white", linewidth=0.4, label=label
        )
        bottom[here] += ratios[index]
    if proposal.result is not None:
        edges = np.arange(known.resources + 1) - 0.5
        axes.stairs(proposal.result.occupancy, edges, color="black", linewidth=1.4, label="occupancy in the run")
    axes.axhline(1.0, color="#cf222e", linewidth=0.8, linestyle="--")
    axes.set(
        xlabel="I/O resource",
        ylabel="part of the time",
        xlim=(-0.6, known.resources - 0.4),
    )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7, ncols=1 + len(named) // 18, frameon=False)
