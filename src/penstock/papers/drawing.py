"""How the papers' figures are drawn: one colour per policy, colour-blind safe, and the papers' kinds of plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from penstock.engine import simulate
from penstock.model import Workload
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import LAST_EDGE
from penstock.policies.policy import Policy

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
COLUMN, PAGE = 3.5, 7.2
"""The widths of a column and of a page in print, in inches. Figures are drawn at these, so that their texts can be read."""
ROW_INCHES: Final = {1: 2.5, 2: 2.4, 3: 2.1}
"""The height of a row of so many panels; of more, ROW."""
ROW: Final = 1.75

mpl.rcParams.update(
    {
        "svg.hashsalt": "penstock",
        "font.size": 7.5,
        "axes.titlesize": 7.5,
        "legend.fontsize": 7,
        "legend.handlelength": 1.5,
        "lines.linewidth": 1.2,
        "lines.markersize": 4,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "axes.axisbelow": True,
    }
)


def colour_of(policy: str, colours: Mapping[str, str] = COLOURS) -> str:
    """The colour of a policy: as in `colours`, or one of its own for a user's policy."""
    return colours.get(policy) or SPARE[sum(policy.encode()) % len(SPARE)]


def short_name(policy: str) -> str:
    """The name of a `policy` in a figure: of a user's, ``file.py:function`` without the folders.

    Example:
        >>> short_name("../mine/turns.py:longest"), short_name("fcfs")
        ('turns.py:longest', 'fcfs')
    """
    return policy.rpartition("/")[2]


def mark_blank(figure: Figure, why: str) -> None:
    """Say on its face, with `why`, which panel of the `figure` shows no data: no lines, marks, bars, areas or texts.

    Lines across a panel do not count as data.
    """
    panels = [panel for panel in figure.axes if panel.axison and panel.get_label() != "<colorbar>"]
    blank = [panel for panel in panels if not _shown(panel)]
    for panel in blank:
        panel.text(0.5, 0.5, why, ha="center", va="center", transform=panel.transAxes)
        if len(blank) == len(panels):
            panel.set(xscale="linear", yscale="linear")  # a logarithmic axis without values cannot be drawn
    if not figure.axes:
        figure.text(0.5, 0.5, why, ha="center")


def _shown(panel: Axes) -> bool:
    lines = (
        line
        for line in panel.lines
        if all(line.get_transform().contains_branch_seperately(panel.transData)) and np.size(line.get_xdata())
    )
    marks = (marks for marks in panel.collections if len(marks.get_paths()) and np.size(marks.get_offsets()))
    return bool(panel.patches or panel.images or panel.texts) or any(True for _ in lines) or any(True for _ in marks)


def panels(rows: int, columns: int, *, share_y: bool = False, share_x: bool = False) -> tuple[Figure, list[Axes]]:
    """A figure of `rows` times `columns` panels, row by row, as wide as a column or a page in print.

    With `share_y` they have one scale of y, with `share_x` one of x.
    """
    size = (COLUMN if columns == 1 else PAGE, ROW_INCHES.get(columns, ROW) * rows + 0.3)
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, sharey=share_y, sharex=share_x)
    return figure, list(axes.ravel())


def plain_ticks(axis: Axis) -> None:
    """Write the ticks of a logarithmic `axis` at 1, 2 and 5 times powers of ten, as plain numbers."""
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_locator(NullLocator())


def common_legend(figure: Figure, title: str | None = None) -> None:
    """One legend for all panels of the `figure`, below them, where it hides nothing; `title` stands above it."""
    handles: dict[str, Any] = {}
    for panel in figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if not handles:
        return
    longest = max(map(len, handles))
    width = figure.get_size_inches()[0]
    columns = int(max(1, min(len(handles), width / (0.45 + 0.056 * longest))))
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=columns, title=title, columnspacing=1.0
    )


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


PHASES: Final = {"work": "#9ecae1", "I/O": "#08519c", "waiting": "#fdae6b"}
"""The colours of what an application does."""


def lanes(panel: Axes, workload: Workload, policy: Policy | str) -> None:
    """What each application does over time: work, I/O as high as its part of the link, and waiting, a lane each.

    Args:
        panel: Where to draw.
        workload: The applications, the first in the topmost lane.
        policy: Shares the link.
    """
    result = simulate(workload, policy, trace=True)
    trace = result.trace
    assert trace is not None
    size = len(workload.applications)
    for lane, application in enumerate(result.applications):
        own = trace.application == lane
        begin, end, high = trace.begin[own], trace.end[own], 0.8 * trace.rate[own] / workload.platform.bandwidth
        bottom = size - lane - 1.0
        stops = [workload.start(workload.applications[lane]), *np.column_stack([begin, end]).ravel(), application.end]
        last = result.end if application.end is None else application.end
        dates = np.array([*stops[:-1], last], np.float64)
        panel.bar(dates[::2], 0.8, np.diff(dates)[::2], bottom, align="edge", color=PHASES["work"], label="work")
        panel.bar(begin, high, end - begin, bottom, align="edge", color=PHASES["I/O"], label="I/O")
        idle = high <= 0.0
        if idle.any():
            panel.bar(begin[idle], 0.8, (end - begin)[idle], bottom, align="edge", color=PHASES["waiting"], label="waiting")
    panel.set_yticks(np.arange(size) + 0.4, [application.name for application in reversed(workload.applications)])
    panel.set(xlabel="time, s", ylim=(-0.1, size))
    panel.grid(visible=False)
