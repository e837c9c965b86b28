"""Who is on which I/O resource and how busy each is, drawn (002 §III.C.2).

One bar a resource: the parts are the I/O ratios of the applications on it, alone; the line is the part of the time that the
resource was moving data in the run.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from penstock.model import InputError, Workload
from penstock.planning.placement.characteristics import Characteristics
from penstock.report.figures import COLOURS, STYLE, Page, check_suffix, encoded, kind_of, printable, write_picture

if TYPE_CHECKING:
    from penstock.planning.placement.planner import Proposal

MOST_NAMED: Final = 24
"""Applications in the legend; of more, those with the largest I/O ratios."""


def write_occupancy(path: Path, proposal: Proposal, workload: Workload, title: str) -> None:
    """Draw the proposal into a file whose suffix is one of `figures.SUFFIXES`, by way of a temporary file."""
    check_suffix(path)
    known = Characteristics.of(workload)
    if known.curves is None:
        raise InputError(str(path), "without the curves of all applications there is no occupancy to draw; expected curves")
    names = [printable(application.name) for application in workload.applications]
    with mpl.rc_context(STYLE):
        picture = encoded(_draw(proposal, known, names, printable(title)), kind_of(path))
    caption = "Bars: I/O ratios of the applications on each resource, alone. Line: occupancy in the run."
    write_picture(path, picture, Page(printable(title), proposal.name, "occupancy", caption))


def _draw(proposal: Proposal, known: Characteristics, names: list[str], title: str) -> Figure:
    figure = Figure(figsize=(max(7.0, min(24.0, 0.35 * known.resources + 4.0)), 4.0), layout="constrained")
    axes = figure.subplots()
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
        title=f"{title}: {proposal.name}",
        xlim=(-0.6, known.resources - 0.4),
    )
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), fontsize=7, ncols=1 + len(named) // 18, frameon=False)
    return figure
