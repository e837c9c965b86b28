"""How the papers' figures are drawn: one colour per policy, colour-blind safe, and the papers' kinds of plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import LAST_EDGE

COLOURS: Final = {
    "fair-share": "#000000",
    "fcfs": "#999999",
    "set-10": "#e69f00",
    "greedy-yield": "#0072b2",
    "greedy-com": "#d55e00",
    "look-ahead-greedy-yield": "#009e73",
    "periodic-greedy-yield": "#56b4e9",
    "best-next-event": "#cc79a7",
}
SPARE: Final = ("#7f3fbf", "#a6761d", "#c40233", "#1b9e77", "#e7298a")
"""Colours for policies that a user adds."""
PANEL_INCHES: Final = (4.6, 3.4)

mpl.rcParams.update(
    {"svg.hashsalt": "penstock", "font.size": 9, "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True}
)


def colour_of(policy: str, colours: Mapping[str, str] = COLOURS) -> str:
    """The colour of a policy: as in `colours`, or one of its own for a user's policy."""
    return colours.get(policy) or SPARE[sum(policy.encode()) % len(SPARE)]


def is_blank(figure: Figure) -> bool:
    """Whether no panel of the `figure` shows data: lines, marks, bars, areas or texts; lines across a panel do not count."""
    return not any(_shown(panel) for panel in figure.axes)


def _shown(panel: Axes) -> bool:
    lines = (
        line
        for line in panel.lines
        if all(line.get_transform().contains_branch_seperately(panel.transData)) and np.size(line.get_xdata())
    )
    marks = (marks for marks in panel.collections if len(marks.get_paths()) and np.size(marks.get_offsets()))
    return bool(panel.patches or panel.images or panel.texts) or any(True for _ in lines) or any(True for _ in marks)


def panels(rows: int, columns: int, *, share_y: bool = False) -> tuple[Figure, list[Axes]]:
    """A figure of `rows` times `columns` panels, row by row; with `share_y` they have one scale of y."""
    figure = Figure(figsize=(PANEL_INCHES[0] * columns, PANEL_INCHES[1] * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=share_y)
    return figure, list(axes.ravel())


def boxes(axes: Axes, positions: Sequence[float], samples: Sequence[Floats], colour: str, label: str, width: float) -> None:
    """Boxplots of the 25th and 75th percentiles, whiskers at the 10th and 90th, the means joined (000 §6.2.2).

    Args:
        axes: Where to draw.
        positions: The place of each box on the x axis.
        samples: The values of each box; one without values is left out.
        colour: The colour of boxes and line.
        label: The label of the line of means.
        width: The width of a box, in units of the x axis.
    """
    chosen = [(place, sample) for place, sample in zip(positions, samples, strict=True) if len(sample)]
    stats: list[dict[str, Any]] = []
    for _, sample in chosen:
        low, first, median, third, high = np.percentile(sample, [10, 25, 50, 75, 90])
        stats.append({"whislo": low, "q1": first, "med": median, "q3": third, "whishi": high, "fliers": []})
    lines = {"color": colour, "linewidth": 0.8}
    places = [place for place, _ in chosen]
    axes.bxp(
        stats,
        positions=places,
        widths=width,
        showfliers=False,
        manage_ticks=False,
        boxprops=lines,
        whiskerprops=lines,
        capprops=lines,
        medianprops=lines,
    )
    axes.plot(places, [float(sample.mean()) for _, sample in chosen], color=colour, linewidth=1.2, label=label)


def binned(axes: Axes, x: Floats, y: Floats, colour: str, label: str, bins: int = 25) -> None:
    """Means and standard deviations over equal intervals of x, at their middles (000 §6.3.5).

    Args:
        axes: Where to draw.
        x: What is divided into intervals, from 0 to its largest value.
        y: A value for each of x.
        colour: The colour of the line.
        label: The label of the line.
        bins: The number of intervals; those without values are left out.
    """
    if not len(x):
        return
    edges = np.linspace(0.0, float(x.max()) + LAST_EDGE, bins + 1)
    which = np.clip(np.digitize(x, edges) - 1, 0, bins - 1)
    filled = np.unique(which)
    middles = (edges[filled] + edges[filled + 1]) / 2.0
    means = np.array([y[which == interval].mean() for interval in filled])
    deviations = np.array([y[which == interval].std() for interval in filled])
    axes.errorbar(middles, means, yerr=deviations, color=colour, label=label, linewidth=1.1, elinewidth=0.5, capsize=1.5)
