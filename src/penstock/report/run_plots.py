"""Runs and campaigns drawn: policies beside each other, yields, rates over time, means with their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.report.binning import Bins, means
from penstock.report.objectives import BOUNDED, COSTS, OBJECTIVES
from penstock.report.pictures import COLOURS, STYLE, Page, check_suffix, encoded, kind_of, printable, write_picture

if TYPE_CHECKING:
    from penstock.engine import Result, Trace
    from penstock.theory import Bounds

TITLES: Final = {**OBJECTIVES, **COSTS}
MOST_NAMED: Final = 20
"""Applications that have names or colours of their own; of more, the rates of the others are drawn together."""
BINS: Final = 600


def draw_comparison(
    axes: Axes, results: Sequence[Result], bounds: Bounds | None, measures: Sequence[str] = tuple(OBJECTIVES)
) -> None:
    """A group of bars for each policy, one bar a measure; dashed lines are upper bounds for any schedule."""
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


def draw_yields(axes: Axes, results: Sequence[Result]) -> None:
    """The yields of the applications under each policy, from the lowest to the highest."""
    for index, result in enumerate(results):
        ordered = np.sort(result.yields)
        parts = np.arange(1, len(ordered) + 1) / len(ordered)
        colour = COLOURS[index % len(COLOURS)]
        axes.step(ordered, parts, where="post", color=colour, marker=".", markersize=4, label=printable(result.policy))
    axes.set(xlabel="yield", ylabel="part of the applications with at most that yield", ylim=(0.0, 1.02))
    axes.legend(fontsize=7)


def draw_rates(axes: Axes, trace: Trace, names: Sequence[str], begin: float, end: float, bins: int = BINS) -> None:
    """The mean rates of the applications over time, piled on each other."""
    edges = Bins(begin, end, bins)
    moved = np.bincount(trace.application, trace.rate * (trace.end - trace.begin), minlength=len(names))
    own = np.sort(np.argsort(-moved, kind="stable")[:MOST_NAMED])
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
    """The mean of a measure with its standard error: a line for each combination of what is no number, else bars."""
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
    """Draw each measure of a summary into a file whose suffix is one of `pictures.SUFFIXES`."""
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
