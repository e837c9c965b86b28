"""The use of a machine over time, drawn: nodes that jobs have, what they execute, bandwidth, and jobs that wait."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.numeric.tolerances import SHORTEST_AXIS_S
from penstock.report.figures import COLOURS, STYLE, Page, check_suffix, encoded, kind_of, printable, write_picture
from penstock.report.format_units import duration

if TYPE_CHECKING:
    from penstock.planning.machine_run import MachineRun

_LINES: Final = (("nodes", "nodes in use"), ("executed", "computing or transferring"), ("bandwidth", "bandwidth used"))
_UNITS: Final = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


def draw_use(axes: Axes, run: MachineRun) -> None:
    """Draw parts of nodes and bandwidth in use over the time of a `run` on `axes`; the steady state is shaded."""
    size, unit = _scale(run)
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
    size, unit = _scale(run)
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


def _scale(run: MachineRun) -> tuple[float, str]:
    """The unit of the axis of time, in seconds, and its name."""
    return next(((size, unit) for size, unit in _UNITS if run.makespan >= 3.0 * size), _UNITS[-1])
