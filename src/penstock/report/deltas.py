"""Δ-graphs drawn as 003 does: I/O times and interference factors of two applications by dt, a colour for a strategy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.report.figures import COLOURS, STYLE, Page, check_suffix, encoded, kind_of, printable, write_picture
from penstock.testbed.live import UNCOORDINATED, simulated_as
from penstock.theory.delta import STRATEGIES

if TYPE_CHECKING:
    from penstock.testbed.live import LiveDelta
    from penstock.theory.delta import Delta

NAMED: Final = dict(zip(STRATEGIES, COLOURS, strict=False))
LINES: Final = ("-", "--")
MARKS: Final = ("o", "s")
BARE_MARKS: Final = ("x", "+")
"""Of A and of B; live without a coordinator the last."""


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """A colour for each strategy, the same for the same one wherever it can be."""
    others = [colour for colour in COLOURS if colour not in NAMED.values()]
    found: dict[str, str] = {}
    for name in names:
        plain = name.partition(":")[0]  # with a parameter it is still the same strategy, unless that is there too
        known = NAMED.get(name if plain in names else plain)
        found[name] = known or others[len(found) % len(others)]
    return found


def write_delta(path: Path, graph: Delta, title: str, live: LiveDelta | None = None) -> None:
    """Draw the graph, and live points over it, into a file whose suffix is one of `figures.SUFFIXES`."""
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
    """Draw one value of A and B, or of one of them, by dt for each strategy."""
    colours = colours_of(list(values))
    for name, rows in values.items():
        for index, member in enumerate("AB"):
            if member in members:
                line = LINES[index]
                axes.plot(dt, rows[:, index], line, color=colours[name], linewidth=1.2, label=f"{printable(name)}, {member}")
    axes.set(xlabel="dt, s", ylabel=label)


def mark_live(axes: Axes, live: LiveDelta, values: Mapping[str, np.ndarray]) -> None:
    """Mark measured values of A and B by dt, in the colour of the line they should be on."""
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
