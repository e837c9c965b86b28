"""Figures 1, 2 and 5 to 13 of 002."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.model import Curve
from penstock.numeric.arrays import Floats
from penstock.papers.distributed.experiments import BY_LOAD, IN_TURN, UNSURE, Sets
from penstock.papers.drawing import common_legend, panels
from penstock.planning.placement.heuristics import MCKP_SHARED
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
    return allocation if allocation == MCKP_SHARED else f"{allocation} + {placement}"


def _by_class(curves: Sequence[Curve], label: str, resource: str) -> Figure:
    """The curves over their largest bandwidth, a panel for each class."""
    figure, axes = panels(1, len(CLASSES), share_y=True)
    for panel, kind in zip(axes, CLASSES, strict=True):
        chosen = [curve for curve in curves if class_of(curve) == kind]
        for curve in chosen:
            normal = np.array(curve.bandwidths) / curve.largest
            panel.plot(curve.counts, normal, color="#0072b2", alpha=0.35, linewidth=0.8)
        panel.set(xlabel=resource, title=f"{kind}: {len(chosen)} of {len(curves)}", ylim=(0.0, 1.05))
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
        for allocation, colour in COLOURS.items():
            values = sets.of(name_of(allocation, placement), "mean_slowdown")
            _mean_and_range(panel, sets, values, colour, allocation)
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
    """Figure 7: I/O-spread of the placements under best-bdw at three I/O-loads; means and their 95 % intervals.

    `sets` are the rows of one kind of curves.
    """
    figure, (panel,) = panels(1, 1)
    places = (0.2, 0.5, 0.8)
    for placement, colour in PLACEMENTS.items():
        values = sets.of(name_of("best-bdw", placement), "spread")
        samples = [values[sets.near(load)] for load in places]
        filled = [(load, sample) for load, sample in zip(places, samples, strict=True) if len(sample) > 1]
        errors = [1.96 * sample.std(ddof=1) / np.sqrt(len(sample)) for _, sample in filled]
        panel.errorbar(
            [load for load, _ in filled],
            [sample.mean() for _, sample in filled],
            yerr=errors,
            color=colour,
            label=placement,
            capsize=2,
        )
    panel.set(xlabel="I/O-load of n-sys", ylabel="I/O-spread", title=sets.label)
    common_legend(figure)
    return figure


def figure_8(sets: Sets) -> Figure:
    """Figure 8: mean and maximum I/O slowdown of the allocations in a low and a high range of I/O-load(π_sys).

    `sets` are the rows of one kind of curves.
    """
    figure, axes = panels(2, 2)
    for row, (measure, label) in enumerate((("mean_slowdown", "mean"), ("max_slowdown", "max"))):
        for column, (low, high) in enumerate((LOW, HIGH)):
            panel = axes[2 * row + column]
            samples = [sets.of(name_of(allocation), measure)[sets.between(low, high)] for allocation in COLOURS]
            if len(samples[0]):
                panel.boxplot(samples, tick_labels=list(COLOURS), whis=(10, 90), showfliers=False)
            panel.set(yscale="log", ylabel=f"{label} slowdown", title=f"I/O-load {low} to {high}")
            panel.tick_params(axis="x", labelrotation=20, labelsize=7)
    figure.suptitle(sets.label)
    return figure


def figure_9(sets: Sets) -> Figure:
    """Figure 9: the two parts of the I/O slowdown by I/O-load(π_sys), ρ_io and ρ_con; regression of degree 2.

    `sets` are the rows of one kind of curves.
    """
    figure, axes = panels(1, 2)
    grid = np.linspace(float(sets.loads.min()), float(sets.loads.max()), 60)
    parts = (("mean_allocation_slowdown", "ρ_io"), ("mean_congestion_slowdown", "ρ_con"))
    for panel, (measure, label) in zip(axes, parts, strict=True):
        for allocation, colour in COLOURS.items():
            values = sets.of(name_of(allocation), measure)
            panel.plot(sets.loads, values, ".", color=colour, markersize=1.5, alpha=0.3)
            panel.plot(grid, np.polyval(np.polyfit(sets.loads, values, 2), grid), color=colour, label=allocation)
        panel.set(xlabel="I/O-load of n-sys", ylabel=label)
        panel.set_ylim(0.0, 1.05 * float(np.percentile(sets.of(name_of("static"), "mean_slowdown"), 99)))
    common_legend(figure)
    figure.suptitle(sets.label)
    return figure


def figure_10(sets: Sets) -> Figure:
    """Figure 10: Machine-IdleTime of the allocations by I/O-load(π_sys); lower is better.

    `sets` are the rows of one kind of curves.
    """
    figure, (panel,) = panels(1, 1)
    for allocation, colour in COLOURS.items():
        _mean_and_range(panel, sets, sets.of(name_of(allocation), "idle_time"), colour, allocation)
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
        for allocation, colour in COLOURS.items():
            _mean_and_range(panel, sets, sets.of(name_of(allocation), measure), colour, allocation)
        panel.set(xlabel="I/O-load of n-sys", ylabel=label)
    axes[0].set_yscale("log")
    common_legend(figure)
    figure.suptitle(sets.label)
    return figure


def oracle(rows: Sequence[Mapping[str, float]]) -> Figure:
    """Beside the paper: mean slowdown of each heuristic over that of the best of all placements, on small sets.

    `rows` are those of the experiment `small_sets`.
    """
    figure, (panel,) = panels(1, 1)
    names = sorted(rows[0], key=lambda name: float(np.mean([row[name] for row in rows])))
    samples = [[row[name] for row in rows] for name in names]
    panel.boxplot(samples, tick_labels=names, whis=(10, 90), orientation="horizontal", showmeans=True)
    panel.set(xlabel="mean slowdown over the best of all", xscale="log")
    panel.tick_params(axis="y", labelsize=7)
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
