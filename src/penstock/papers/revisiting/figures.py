"""The figures of paper 000, §6, as the paper draws them, and Table 2 as a figure.

The first paragraph of a figure's docstring is its caption.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from penstock.numeric.arrays import Floats
from penstock.papers.drawing import COLOURS, binned, boxes, colour_of, common_legend, lanes, panels, plain_ticks
from penstock.papers.reproducing import Results
from penstock.papers.revisiting.experiments import (
    MACHINES,
    OTHER_PARAMETERS,
    OTHERS_AT,
    POLICIES,
    PRESSURES,
    RATIO_OBJECTIVES,
    SORTED_AT,
    TOP,
    UNBOUNDED,
    WORKLOADS,
    RatioEntry,
)
from penstock.theory.adversaries import two_categories

OBJECTIVES: Final = (("min_yield", "min-yield"), ("efficiency", "efficiency"), ("utilization", "utilization"))


def figure_1() -> Figure:
    """Figure 1: Example 2 with m = 10 and ε = 1/5. The schedule that completes the initial I/O of category A (left) and that
    of category B (right), one application after the other.
    """
    figure, axes = panels(1, 2)
    for panel, starved, title in zip(axes, (range(5), range(5, 10)), ("category A first", "category B first"), strict=True):
        workload = two_categories(10, 0.2, starved)
        named = tuple(replace(one, name=f"A{index}") for index, one in enumerate(workload.applications, 1))
        lanes(panel, replace(workload, applications=named), "fcfs")
        panel.set(title=title, xlim=(0.0, 1.0))
    common_legend(figure)
    return figure


PARAMETERS: Final = {"small": "n_small", "sigma": "σ", "noise": "ν"}


def figure_b_1(results: Results) -> Figure:
    """Figure B.1: min-yield by n_small, σ and ν (columns), each varied alone, at three W_GOAL (rows); means and 95 %
    intervals.

    `results` are the rows of the campaign "other-parameters".
    """
    figure, axes = panels(len(OTHERS_AT), len(PARAMETERS), share_y=True)
    for place, (pressure, name) in enumerate(itertools.product(OTHERS_AT, PARAMETERS)):
        panel, values = axes[place], OTHER_PARAMETERS[name]
        for policy in results.compared(POLICIES):
            point = {"small": 20, "sigma": 0.5, "noise": 0.5, "pressure": pressure}
            found = [results.where(policy, **{**point, name: value}).estimate("min_yield") for value in values]
            margins = np.nan_to_num([one.margin for one in found])
            means = [one.value for one in found]
            panel.errorbar(values, means, yerr=margins, color=colour_of(policy), label=policy, capsize=1.5, elinewidth=0.6)
        if name == "small":
            panel.set_ylabel(f"min-yield, W_GOAL {pressure}")
        if pressure == OTHERS_AT[-1]:
            panel.set_xlabel(PARAMETERS[name])
    common_legend(figure)
    return figure


def figure_2(results: Results) -> Figure:
    """Figure 2: impact of the aimed I/O pressure W_GOAL on the three objectives.

    `results` are the rows of the campaign "pressure".
    """
    figure, axes = panels(1, 3)
    policies = results.compared(POLICIES)
    width = 0.8 / len(policies)
    for panel, (column, name) in zip(axes, OBJECTIVES, strict=True):
        for number, policy in enumerate(policies):
            places = [group + (number - (len(policies) - 1) / 2) * width for group in range(len(PRESSURES))]
            samples = [results.where(policy, pressure=pressure).column(column) for pressure in PRESSURES]
            boxes(panel, places, samples, colour_of(policy), policy, 0.8 * width)
        panel.set_xticks(range(len(PRESSURES)), [str(pressure) for pressure in PRESSURES])
        panel.set(xlabel="W_GOAL", ylabel=name)
    common_legend(figure)
    return figure


def sorted_yields(results: Results, policy: str, pressure: float, by: str) -> Floats:
    """The mean yield of the application at each rank when they are sorted by `by`, over all traces (000 §6.2.2).

    `results` are the rows of the campaign "pressure". `policy` and `pressure` (W_GOAL) choose the traces; `by` is a column
    with one value per application.
    """
    ranked = ranked_yields(results, policy, pressure, by)
    return np.asarray(ranked.mean(axis=0)) if len(ranked) else np.empty(0)


def ranked_yields(results: Results, policy: str, pressure: float, by: str) -> np.ndarray:
    """The yield at each rank (columns) in each trace (rows); arguments as for `sorted_yields`. No columns without traces."""
    rows = results.where(policy, pressure=pressure)
    ranked = [yields[np.argsort(keys)] for yields, keys in zip(rows.lists("yields"), rows.lists(by), strict=True)]
    return np.array(ranked) if ranked else np.empty((0, 0))


def _sorted_figure(results: Results, by: str, name: str) -> Figure:
    figure, axes = panels(1, len(SORTED_AT), share_y=True)
    for panel, pressure in zip(axes, SORTED_AT, strict=True):
        for policy in results.compared(POLICIES):
            yields = sorted_yields(results, policy, pressure, by)
            panel.plot(range(1, len(yields) + 1), yields, color=colour_of(policy), label=policy, linewidth=1.1)
        panel.set(title=f"W_GOAL = {pressure}", xlabel=f"applications by {name}", ylabel="mean yield")
    common_legend(figure)
    return figure


def figure_3(results: Results) -> Figure:
    """Figure 3: yields sorted by iteration size ω.

    `results` are the rows of the campaign "pressure".
    """
    return _sorted_figure(results, "mean_iterations", "iteration size ω")


def figure_4(results: Results) -> Figure:
    """Figure 4: yields sorted by I/O fraction φ.

    `results` are the rows of the campaign "pressure".
    """
    return _sorted_figure(results, "io_fractions", "I/O fraction φ")


def figure_5(results: Results) -> Figure:
    """Figure 5: min-yield of fair-share on the APEX windows, by I/O pressure and machine.

    `results` are the rows of the campaign "apex".
    """
    figure, axes = panels(1, 2, share_y=True)
    shades = np.linspace(0.1, 0.95, len(MACHINES))
    for panel, workload in zip(axes, WORKLOADS, strict=True):
        for shade, machine in zip(shades, MACHINES, strict=True):
            chosen = results.where("fair-share", workload=workload, machine=machine)
            colour = _viridis(shade)
            panel.scatter(chosen.column("pressure"), chosen.column("min_yield"), s=6, color=colour, label=machine)
        panel.set(title=workload.upper(), xlabel="I/O pressure W", ylabel="min-yield of fair-share")
    common_legend(figure)
    return figure


def _viridis(shade: float) -> tuple[float, float, float, float]:
    from matplotlib import colormaps

    red, green, blue, alpha = colormaps["viridis"](shade)
    return red, green, blue, alpha


def ratios(results: Results, policy: str, workload: str) -> tuple[Floats, Floats]:
    """The pressure of each window, and the min-yield of `policy` over fair-share's there.

    `results` are the rows of the campaign "apex". `workload` is nersc or trilab.
    """
    fair, chosen = results.where("fair-share", workload=workload).beside(results.where(policy, workload=workload))
    reference = fair.column("min_yield")
    keep = reference > 0.0
    return fair.column("pressure")[keep], chosen.column("min_yield")[keep] / reference[keep]


def _ratio_figure(results: Results, workload: str) -> Figure:
    policies = results.compared(POLICIES)
    figure, axes = panels(-(-len(policies) // 4), 4, share_y=True)
    for panel, policy in zip(axes, policies, strict=False):
        pressures, values = ratios(results, policy, workload)
        panel.axhline(1.0, color=COLOURS["fair-share"], linewidth=0.8)
        panel.scatter(pressures, values, s=5, color=colour_of(policy))
        panel.set(title=policy, xlabel="I/O pressure W")
    for panel in axes[::4]:
        panel.set_ylabel("min-yield / fair-share's")
    for panel in axes[len(policies) :]:
        panel.set_axis_off()
    return figure


def figure_6(results: Results) -> Figure:
    """Figure 6: min-yield as a ratio to fair-share's, NERSC.

    `results` are the rows of the campaign "apex".
    """
    return _ratio_figure(results, "nersc")


def figure_7(results: Results) -> Figure:
    """Figure 7: min-yield as a ratio to fair-share's, TRILAB.

    `results` are the rows of the campaign "apex".
    """
    return _ratio_figure(results, "trilab")


def _binned_figure(results: Results, column: str, name: str) -> Figure:
    figure, axes = panels(1, 2)
    for panel, workload in zip(axes, WORKLOADS, strict=True):
        for policy in results.compared(POLICIES):
            chosen = results.where(policy, workload=workload)
            binned(panel, chosen.column("pressure"), chosen.column(column), colour_of(policy), policy)
        panel.set(title=workload.upper(), xlabel="I/O pressure W", ylabel=name)
    common_legend(figure)
    return figure


def figure_8(results: Results) -> Figure:
    """Figure 8: efficiency, mean and standard deviation in 25 intervals of the I/O pressure.

    `results` are the rows of the campaign "apex".
    """
    return _binned_figure(results, "efficiency", "efficiency")


def figure_9(results: Results) -> Figure:
    """Figure 9: utilization, likewise.

    `results` are the rows of the campaign "apex".
    """
    return _binned_figure(results, "utilization", "utilization")


def figure_10(results: Results) -> Figure:
    """Figure 10: seconds to simulate a window, likewise, on a logarithmic scale; a bar that reaches down to zero goes on to
    the lower edge. Seconds depend on the machine and on what else it does.

    `results` are the rows of the campaign "apex".
    """
    figure = _binned_figure(results, "seconds", "seconds in the engine")
    for panel in figure.axes:
        panel.set_yscale("log")
    return figure


def figure_table_2(measured: Mapping[RatioEntry, Sequence[float]], sizes: Sequence[int]) -> Figure:
    """Table 2: the ratio of the best schedule known to each strategy's on the instances made against it, as m grows. What is
    above the dotted line, here with ε = 1e-6, grows without bound as ε falls. Lines that coincide hide each other.

    `measured` has the ratios of each entry, one for each of the `sizes` m.
    """
    figure, axes = panels(1, 3)
    for panel, (objective, title) in zip(axes, RATIO_OBJECTIVES.items(), strict=True):
        for entry, ratios in measured.items():
            if entry.objective == objective:
                heights = [min(ratio, TOP) for ratio in ratios]
                colour = COLOURS.get(entry.policy, "#7f3fbf")
                panel.plot(sizes, heights, marker="o", markersize=3, color=colour, label=entry.policy)
        panel.set(title=title, xlabel="applications m", ylabel="ratio", xscale="log", yscale="log")
        if objective == "efficiency":
            plain_ticks(panel.yaxis)
        else:
            if any(max(ratios) > TOP for entry, ratios in measured.items() if entry.objective == objective):
                panel.text(0.03, 0.83, "at the top: ∞", transform=panel.transAxes)
            panel.axhline(UNBOUNDED, color="#555555", linewidth=0.8, linestyle=":")
            panel.set_ylim(0.9, 2 * TOP)
        panel.set_xticks(list(sizes), [str(m) for m in sizes])
        panel.minorticks_off()
    common_legend(figure)
    return figure


EXAMPLES: Final[Mapping[str, Callable[[], Figure]]] = {"figure1": figure_1}
"""For each figure of an example what draws it."""
FIGURES: Final[Mapping[str, tuple[str, Callable[[Results], Figure]]]] = {
    "figure2": ("pressure", figure_2),
    "figure3": ("pressure", figure_3),
    "figure4": ("pressure", figure_4),
    "figure5": ("apex", figure_5),
    "figure6": ("apex", figure_6),
    "figure7": ("apex", figure_7),
    "figure8": ("apex", figure_8),
    "figure9": ("apex", figure_9),
    "figure10": ("apex", figure_10),
    "figureB.1": ("other-parameters", figure_b_1),
}
"""For each figure the campaign it is drawn from, and how."""
