"""Figures 1, 2 and 5 to 13 of 002."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.model import Curve
from penstock.numeric.arrays import Floats
from penstock.papers.distributed.experiments import BY_LOAD, IN_TURN, SHARED, UNSURE, Sets, with_policy
from penstock.papers.drawing import SPARE, common_legend, panels, plain_ticks, short_name
from penstock.papers.verdicts import Estimate
from penstock.planning.placement.heuristics import BOTH_STEPS, MCKP_SHARED
from penstock.workloads.curves import CLASSES, class_of

COLOURS: Final = {
    "random": "#999999",
    "static": "#e69f00",
    "best-bdw": "#0072b2",
    "n-sys": "#d55e00",
    "tcpu": "#009e73",
    MCKP_SHARED: "#cc79a7",
}
PLACEMENTS: Final = {BY_LOAD: "#0072b2", IN_TURN: "#e69f00", "random": "#999999"}
LOW, HIGH = (0.2, 0.4), (0.8, 1.0)
"""The two ranges of I/O-load of Figure 8."""


def name_of(allocation: str, placement: str = IN_TURN) -> str:
    """The heuristic's name in the rows: that of its `allocation` and `placement`."""
    return allocation if allocation in BOTH_STEPS else f"{allocation} + {placement}"


def drawn(sets: Sets, placement: str = IN_TURN) -> Iterator[tuple[str, str, str]]:
    """What a figure compares: label, name in the rows, and colour of each allocation, and of best-bdw under each policy that
    a user added.

    `sets` are the rows of one kind of curves, `placement` chooses the resources.
    """
    for allocation, colour in COLOURS.items():
        shown = sets.mckp if allocation == MCKP_SHARED else allocation
        yield shown, name_of(shown, placement), colour
    for policy, colour in zip(sets.policies, itertools.cycle(SPARE), strict=False):
        label = with_policy(SHARED, short_name(policy))
        yield label, with_policy(name_of(SHARED, placement), policy), colour


def _by_class(curves: Sequence[Curve], label: str, resource: str) -> Figure:
    """The curves over their largest bandwidth, a panel for each class."""
    figure, axes = panels(1, len(CLASSES), share_y=True)
    for panel, kind in zip(axes, CLASSES, strict=True):
        chosen = [curve for curve in curves if class_of(curve) == kind]
        for curve in chosen:
            normal = np.array(curve.bandwidths) / curve.largest
            panel.plot(curve.counts, normal, color="#0072b2", alpha=0.35, linewidth=0.8)
        if not chosen:
            panel.text(0.5, 0.5, "none", ha="center", transform=panel.transAxes)
        panel.set(xlabel=resource, title=f"{kind}: {len(chosen)} of {len(curves)}", ylim=(0.0, 1.05))
        panel.set_xlim(0.0, max(curve.counts[-1] for curve in curves) + 1.0)
        panel.set_xticks(curves[0].counts)
    axes[0].set_ylabel("bandwidth over the largest")
    figure.suptitle(label)
    return figure


def _mean_and_range(panel: Axes, sets: Sets, values: Floats, colour: str, label: str) -> None:
    """The mean by I/O-load, and the 10th to 90th percentiles around it."""
    bins = sets.bins()
    middles = [middle for middle, _ in bins]
    low, high = (np.array([np.percentile(values[inside], q) for _, inside in bins]) for q in (10, 90))
    panel.plot(middles, [values[inside].mean() for _, inside in bins], color=colour, label=label, linewidth=1.3)
    panel.fill_between(middles, low, high, color=colour, alpha=0.12, linewidth=0)


def figure_1(curves: Sequence[Curve], label: str) -> Figure:
    """Figure 1: bandwidth over the largest by number of I/O nodes, grouped by behaviour.

    `curves` are those of the applications, and `label` says where they come from.
    """
    return _by_class(curves, label, "I/O nodes")


def figure_2(curves: Sequence[Curve], label: str) -> Figure:
    """Figure 2: bandwidth over the largest by number of OSTs, grouped by behaviour; curves of a stand-in.

    `curves` are those of the applications, and `label` says where they come from.
    """
    return _by_class(curves, label, "OSTs")


def figure_5(sets: Sets) -> Figure:
    """Figure 5: mean I/O slowdown by I/O-load(π_sys) of all combinations; mean and 10th to 90th percentiles.

    `sets` are the rows of one kind of curves.
    """
    figure, axes = panels(1, 3, share_y=True)
    for panel, placement in zip(axes, PLACEMENTS, strict=True):
        for label, name, colour in drawn(sets, placement):
            _mean_and_range(panel, sets, sets.of(name, "mean_slowdown"), colour, label)
        panel.set(xlabel="I/O-load of n-sys", title=placement, yscale="log")
    axes[0].set_ylabel("mean slowdown")
    common_legend(figure)
    figure.suptitle(sets.label)
    return figure


def _spreads(panel: Axes, sets: Sets, chosen: np.ndarray, allocation: str) -> None:
    samples = [sets.of(name_of(allocation, placement), "spread")[chosen] for placement in PLACEMENTS]
    if len(samples[0]):
        panel.boxplot(samples, tick_labels=["clairvoyant", "in turn", "random"], whis=(10, 90), showfliers=False)


def figure_6(sets: Sets) -> Figure:
    """Figure 6: I/O-spread of the placements under three allocations, I/O-load(π_sys) = 0.5 ± 0.05.

    `sets` are the rows of one kind of curves.
    """
    figure, axes = panels(1, 3, share_y=True)
    for panel, allocation in zip(axes, ("best-bdw", "n-sys", "random"), strict=True):
        _spreads(panel, sets, sets.near(0.5), allocation)
        panel.set_title(allocation)
    axes[0].set_ylabel("I/O-spread")
    figure.suptitle(sets.label)
    return figure


def figure_7(sets: Sets) -> Figure:
    """Figure 7: I/O-spread of the placements under best-bdw at three I/O-loads(π_sys), ± 0.05; lines join the means, the
    area around them is their 95 % interval.

    `sets` are the rows of one kind of curves.
    """
    figure, axes = panels(1, 3, share_y=True)
    for panel, load in zip(axes, (0.2, 0.5, 0.8), strict=True):
        chosen = sets.near(load)
        found = [Estimate.of(sets.of(name_of("best-bdw", placement), "spread")[chosen]) for placement in PLACEMENTS]
        if chosen.any():
            means, margins = (np.array(column) for column in zip(*((one.value, one.margin) for one in found), strict=True))
            panel.plot(range(len(found)), means, "o-", color=COLOURS["best-bdw"])
            panel.fill_between(range(len(found)), means - margins, means + margins, color=COLOURS["best-bdw"], alpha=0.2)
        panel.set_xticks(range(len(found)), ["clairvoyant", "in turn", "random"])
        panel.set(title=f"I/O-load {load} ± 0.05", xlim=(-0.4, 2.4))
    axes[0].set(ylabel="I/O-spread", ylim=(0.0, None))
    figure.suptitle(sets.label)
    return figure


def figure_8(sets: Sets) -> Figure:
    """Figure 8: mean and maximum I/O slowdown of the allocations in a low and a high range of I/O-load(π_sys), in
    logarithmic scale from 1; boxes from the 25th to the 75th percentile, whiskers from the 10th to the 90th.

    `sets` are the rows of one kind of curves.
    """
    figure, axes = panels(2, 2, share_x=True)
    for row, (measure, label) in enumerate((("mean_slowdown", "mean"), ("max_slowdown", "max"))):
        for column, (low, high) in enumerate((LOW, HIGH)):
            panel = axes[2 * row + column]
            samples = {name: sets.of(key, measure)[sets.between(low, high)] for name, key, _ in drawn(sets)}
            if sets.between(low, high).any():
                panel.boxplot(list(samples.values()), whis=(10, 90), showfliers=False, manage_ticks=False)
            panel.set_xticks(range(1, len(samples) + 1), list(samples))  # once for the shared axis
            panel.set(yscale="log", title=f"I/O-load {low} to {high}")
            panel.set_ylim(bottom=1.0)
            panel.tick_params(axis="x", labelrotation=20)
            if column == 0:
                panel.set_ylabel(f"{label} I/O slowdown")
    figure.suptitle(sets.label)
    return figure


def _regression(x: Floats, y: Floats, grid: Floats) -> tuple[Floats, Floats]:
    """A polynomial of degree 2 through the points at the places of the `grid`, and half its 95 % interval there."""
    if len(x) < 6:
        return np.full(len(grid), np.nan), np.full(len(grid), np.nan)
    powers, at = np.vander(x, 3), np.vander(grid, 3)
    fitted, *_ = np.linalg.lstsq(powers, y, rcond=None)
    variance = float(np.square(y - powers @ fitted).sum()) / (len(x) - 3)
    spread = np.einsum("ij,jk,ik->i", at, np.linalg.inv(powers.T @ powers) * variance, at)
    return at @ fitted, 1.96 * np.sqrt(np.maximum(spread, 0.0))


def figure_9(sets: Sets) -> Figure:
    """Figure 9: the two parts of the I/O slowdown by I/O-load(π_sys), ρ_io and ρ_con; lines are regressions of degree 2, the
    areas around them their 95 % intervals. What goes beyond the axis, up or down, is named.

    `sets` are the rows of one kind of curves.
    """
    figure, axes = panels(1, 2)
    grid = np.linspace(float(sets.loads.min()), float(sets.loads.max()), 60)
    parts = (("mean_allocation_slowdown", "ρ_io", 1.0), ("mean_congestion_slowdown", "ρ_con", 0.0))
    highest = 1.05 * float(np.percentile(sets.of(name_of("static"), "mean_slowdown"), 99))
    for panel, (measure, label, least) in zip(axes, parts, strict=True):
        beyond, tops = [], [2.0]
        for name, key, colour in drawn(sets):
            line, margin = _regression(sets.loads, sets.of(key, measure), grid)
            panel.plot(grid, line, color=colour, label=name)
            panel.fill_between(grid, line - margin, line + margin, color=colour, alpha=0.2, linewidth=0)
            low, high = np.nanmin(line, initial=np.inf), np.nanmax(line, initial=-np.inf)
            tops.append(min(highest, 1.25 * high))
            beyond += [f"{name} goes on to {high:.0f}"] if high > highest else []
            beyond += [f"the fit of {name} begins at {low:.1f}"] if low < least - 0.05 else []
        panel.text(0.02, 0.97, "\n".join(beyond), transform=panel.transAxes, va="top", fontsize=7)
        panel.set(xlabel="I/O-load of n-sys", ylabel=label, ylim=(least - 0.02 * max(tops), max(tops)))
    common_legend(figure)
    figure.suptitle(sets.label)
    return figure


def by_size(kinds: Sequence[Sets]) -> Figure:
    """Beside the paper: mean I/O slowdown and idle time of the allocations by the number of applications K on 20 I/O nodes,
    I/O-load(π_sys) 0.2 to 0.4; means and 95 % intervals. With K = 40 mckp is our form of it.

    `kinds` are the sets of each kind of curves and each K; those of the first kind are drawn.
    """
    label = kinds[0].label
    chosen = sorted((sets for sets in kinds if sets.label.startswith(label)), key=lambda sets: sets.applications)
    figure, axes = panels(1, 2)
    for panel, (measure, words) in zip(
        axes, (("mean_slowdown", "mean I/O slowdown"), ("idle_time", "idle time")), strict=True
    ):
        for lines in zip(*(tuple(drawn(sets)) for sets in chosen), strict=True):
            found = [
                Estimate.of(sets.of(key, measure)[sets.between(*LOW)])
                for sets, (_, key, _) in zip(chosen, lines, strict=True)
            ]
            places, means = [sets.applications for sets in chosen], [one.value for one in found]
            margins = np.nan_to_num([one.margin for one in found])
            name, _, colour = lines[0]
            panel.errorbar(places, means, yerr=margins, marker="o", color=colour, capsize=2, label=name)
        panel.set_xticks([sets.applications for sets in chosen])
        panel.set(xlabel="applications K", ylabel=words)
    axes[0].set_yscale("log")
    common_legend(figure)
    figure.suptitle(label)
    return figure


def figure_10(sets: Sets) -> Figure:
    """Figure 10: Machine-IdleTime of the allocations by I/O-load(π_sys); lower is better.

    `sets` are the rows of one kind of curves.
    """
    figure, (panel,) = panels(1, 1)
    for name, key, colour in drawn(sets):
        _mean_and_range(panel, sets, sets.of(key, "idle_time"), colour, name)
    panel.set(xlabel="I/O-load of n-sys", ylabel="idle time", title=sets.label)
    common_legend(figure)
    return figure


def figure_11(classes: Mapping[str, Curve], label: str) -> Figure:
    """Figure 11: the one curve that stands for all of a class, by polynomial regression.

    `classes` are the curves by class, and `label` says where they come from.
    """
    figure, (panel,) = panels(1, 1)
    for kind, curve in classes.items():
        panel.plot(curve.counts, curve.bandwidths, marker="o", markersize=3, label=kind)
    panel.set(xlabel="I/O nodes", ylabel="bandwidth over the largest", title=label)
    common_legend(figure)
    return figure


def changes(sets: Sets, heuristic: str) -> Floats:
    """By how much the mean slowdown is larger where the scheduler knew the classes of the curves only, as a part of it.

    `sets` are the rows of one kind of curves. `heuristic` is the name of one in them.
    """
    return sets.of(heuristic, "mean_slowdown", believed=True) / sets.of(heuristic, "mean_slowdown") - 1.0


def figure_12(sets: Sets) -> Figure:
    """Figure 12: three solutions that know the classes of the curves only: change of the mean slowdown, and idle time.

    `sets` are the rows of one kind of curves.
    """
    figure, axes = panels(1, 2)
    for heuristic, colour in zip(UNSURE, ("#009e73", "#0072b2", "#d55e00"), strict=True):
        _mean_and_range(axes[0], sets, 100.0 * changes(sets, heuristic.name), colour, heuristic.name)
        idle = sets.of(heuristic.name, "idle_time", believed=True)
        _mean_and_range(axes[1], sets, idle, colour, heuristic.name)
    axes[0].set(xlabel="I/O-load of n-sys", ylabel="change of the mean slowdown, %")
    axes[1].set(xlabel="I/O-load of n-sys", ylabel="idle time")
    common_legend(figure)
    figure.suptitle(sets.label)
    return figure


def figure_13(sets: Sets) -> Figure:
    """Figure 13: OSTs: mean slowdown and idle time of the allocations by I/O-load(π_sys); curves of a stand-in.

    `sets` are the rows with curves of OSTs.
    """
    figure, axes = panels(1, 2)
    for panel, (measure, label) in zip(axes, (("mean_slowdown", "mean slowdown"), ("idle_time", "idle time")), strict=True):
        for name, key, colour in drawn(sets):
            _mean_and_range(panel, sets, sets.of(key, measure), colour, name)
        panel.set(xlabel="I/O-load of n-sys", ylabel=label)
    axes[0].set_yscale("log")
    common_legend(figure)
    figure.suptitle(sets.label)
    return figure


def oracle(rows: Sequence[Mapping[str, float]]) -> Figure:
    """Beside the paper: mean slowdown of each heuristic over that of the best of all placements, on small sets; whiskers
    from the 10th to the 90th percentile, triangles are means.

    `rows` are those of the experiment `small_sets`.
    """
    figure, (panel,) = panels(1, 1)
    names = sorted(rows[0], key=lambda name: float(np.mean([row[name] for row in rows])))
    samples = [[row[name] for row in rows] for name in names]
    panel.boxplot(samples, tick_labels=names, whis=(10, 90), orientation="horizontal", showmeans=True, showfliers=False)
    panel.set(xlabel="slowdown / best of all", xscale="log")
    plain_ticks(panel.xaxis)
    panel.tick_params(axis="y", labelsize=6.5)
    return figure


OF_SETS: Final[Mapping[str, Callable[[Sets], Figure]]] = {
    "figure5": figure_5,
    "figure6": figure_6,
    "figure7": figure_7,
    "figure8": figure_8,
    "figure9": figure_9,
    "figure10": figure_10,
}
"""The figures that are drawn from sets with curves of I/O nodes."""
