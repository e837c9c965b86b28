"""A burst buffer drawn: what is in it over time, and what its size does to the stretch (004 Figures 6 to 8)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.report import units
from penstock.report.figures import COLOURS, STYLE, Page, check_suffix, encoded, kind_of, printable, write_picture

if TYPE_CHECKING:
    from penstock.planning.buffers.plan import Plan
    from penstock.planning.buffers.search import Found

TB: Final = 1e12
HOUR: Final = 3600.0
MODES: Final = {"static": COLOURS[0], "dynamic": COLOURS[1]}


def write_filling(path: Path, plans: Mapping[str, Plan], curves: Mapping[str, Sequence[Found]], title: str) -> None:
    """Draw the plans and the stretches by size, both by mode, into a file whose suffix is one of `figures.SUFFIXES`."""
    check_suffix(path)
    with mpl.rc_context(STYLE):
        picture = encoded(_draw(plans, curves, printable(title)), kind_of(path))
    caption = "Left: content of the buffer over time in each plan. Right: stretch under fair sharing by size of the buffer."
    write_picture(path, picture, Page(printable(title), "burst buffer", "filling", caption))


def _draw(plans: Mapping[str, Plan], curves: Mapping[str, Sequence[Found]], title: str) -> Figure:
    figure = Figure(figsize=(12.0, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    for mode, plan in plans.items():
        draw_filling(left, plan, MODES[mode])
    left.set(xlabel="hours", ylabel="TB in the buffer", title="the plan for a stretch of 1")
    left.legend(fontsize=7)
    for mode, found in curves.items():
        sizes = [one.size / TB for one in found]
        right.plot(sizes, [one.stretch for one in found], color=MODES[mode], marker=".", label=f"{mode}, largest")
        means = [one.replay.mean_stretch for one in found]
        right.plot(sizes, means, color=MODES[mode], linestyle=":", label=f"{mode}, mean")
        size = plans[mode].size
        if size is not None:
            right.axvline(size / TB, color=MODES[mode], linewidth=0.7, linestyle="--")
    right.set(xlabel="size of the buffer, TB", ylabel="stretch", title="fair sharing")
    right.legend(fontsize=7)
    figure.suptitle(title)
    return figure


def draw_filling(axes: Axes, plan: Plan, colour: str) -> None:
    """The content of the plan's buffer over time, its size, and for a static one what the shares take."""
    if plan.filling is None or plan.size is None:
        return
    filling = plan.filling
    hours = filling.dates / HOUR
    axes.plot(hours, filling.content / TB, color=colour, linewidth=0.8, label=f"{plan.mode}: content")
    if plan.shares is not None:
        both = np.column_stack([filling.before, filling.after]).ravel() / TB
        axes.plot(np.repeat(hours, 2), both, color=colour, linewidth=0.6, alpha=0.5, label=f"{plan.mode}: shares")
    axes.axhline(
        plan.size / TB, color=colour, linewidth=0.8, linestyle="--", label=f"{plan.mode}: {units.volume(plan.size)}"
    )
