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
from penstock.theory.delta import STRATEGIES

if TYPE_CHECKING:
    from penstock.theory.delta import Delta

NAMED: Final = dict(zip(STRATEGIES, COLOURS, strict=False))
LINES: Final = ("-", "--")
"""Of A and of B."""


def colours_of(names: Sequence[str]) -> dict[str, str]:
    """A colour for each strategy, the same for the same one wherever it can be."""
    others = [colour for colour in COLOURS if colour not in NAMED.values()]
    found: dict[str, str] = {}
    for name in names:
        plain = name.partition(":")[0]  # with a parameter it is still the same strategy, unless that is there too
        known = NAMED.get(name if plain in names else plain)
        found[name] = known or others[len(found) % len(others)]
    return found


def write_delta(path: Path, graph: Delta, title: str) -> None:
    """Draw the graph into a file whose suffix is one of `figures.SUFFIXES`."""
    check_suffix(path)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12.0, 4.2), layout="constrained")
        left, right = figure.subplots(1, 2)
        draw_delta(left, graph.dt, graph.times, "I/O time, s")
        draw_delta(right, graph.dt, graph.factors, "interference factor")
        left.legend(fontsize=7)
        figure.suptitle(printable(title))
        picture = encoded(figure, kind_of(path))
    caption = "I/O time (left) and interference factor (right) of A (solid) and B (dashed), which posts dt after A."
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
