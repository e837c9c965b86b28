"""Table 2 and Figures 4 to 8 of 004."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.buffers.theorems import alone, least_written, most_read
from penstock.buffers.timeline import Flow, full_speed_timeline
from penstock.model import Application, Platform, Workload
from penstock.papers.buffers.experiments import APEX, FACTORS, LOADS, MTBF, PRINTED, BufferRows
from penstock.papers.drawing import common_legend, panels
from penstock.papers.verdicts import Estimate

TABLE_2: Final = {
    0.2: (1.32, 1.31, 1.42, 1.67),
    0.5: (1.33, 1.28, 1.26, 1.47),
    0.8: (1.23, 1.26, 1.25, 1.35),
}
"""What the paper prints, by load, for each MTBF."""
COLOURS: Final = dict(zip(MTBF, ("#0072b2", "#e69f00", "#009e73", "#d55e00"), strict=True))
EXAMPLE: Final = Application.of(
    "example",
    [
        *(("read", 60.0), ("work", 40.0), ("write", 50.0)),
        *(("read", 40.0), ("work", 25.0), ("write", 80.0)),
        *(("read", 90.0), ("work", 60.0), ("write", 40.0)),
    ],
    bandwidth=5.0,
    release=20.0,
)
"""An application that reads and writes faster than the file system, for Figures 4 to 7."""
PLATFORM: Final = Platform(2.0)
SHARE: Final = 60.0
"""The share of Figures 6 and 7, in bytes; the example needs 54 for its writes and for its reads."""


def table_2(rows: BufferRows, walltimes: str = PRINTED, *, capped: bool = False) -> str:
    """Table 2 as Markdown: ours with standard errors, the paper's in brackets.

    `rows` are those of the experiment "sets". `walltimes` and `capped` choose the sets as in `BufferRows.chosen`.
    """
    lines = ["| load | " + " | ".join(f"{mtbf:g} y" for mtbf in MTBF) + " |", "|---" * (len(MTBF) + 1) + "|"]
    for load in LOADS:
        cells = []
        for printed, mtbf in zip(TABLE_2[load], MTBF, strict=True):
            ratios = rows.ratios(load, mtbf, walltimes=walltimes, capped=capped)
            cells.append(f"{Estimate.of(ratios):.2f} ({printed})" if len(ratios) else f"– ({printed})")
        lines.append(f"| {load:.0%} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def tables(rows: BufferRows) -> str:
    """All forms of Table 2 as Markdown.

    `rows` are those of the experiment "sets".
    """
    parts = (
        ("Printed walltimes", table_2(rows, PRINTED)),
        ("Printed walltimes, speeds capped at B", table_2(rows, PRINTED, capped=True)),
        ("APEX walltimes", table_2(rows, APEX)),
    )
    return "\n".join(f"## {title}\n\n{table}" for title, table in parts)


def figure_table_2(rows: BufferRows) -> Figure:
    """Table 2: static over dynamic size for each load and MTBF; bars ours with standard errors, crosses the paper's.

    `rows` are those of the experiment "sets".
    """
    figure, axes = panels(1, len(LOADS), share_y=True)
    for panel, load in zip(axes, LOADS, strict=True):
        found = [Estimate.of(rows.ratios(load, mtbf)) for mtbf in MTBF]
        places = np.arange(len(MTBF))
        panel.bar(places, [one.value for one in found], yerr=[one.error for one in found], color="#56b4e9", capsize=3)
        panel.plot(places, TABLE_2[load], "kx", label="printed in the paper")
        panel.set_xticks(places, [f"{mtbf:g} y" for mtbf in MTBF])
        panel.set(title=f"load {load:.0%}", ylim=(0.9, None))
    axes[0].set_ylabel("static over dynamic size")
    common_legend(figure)
    return figure


def _lines(panel: Axes, solid: Flow, dashed: Flow, title: str, word: str) -> None:
    panel.plot(solid.dates, solid.amounts, "k-", label="at full speed")
    panel.plot(dashed.dates, dashed.amounts, "--", color="#0072b2", label=word)
    panel.set(xlabel="time, s", ylabel="bytes", title=title)
    figure = panel.get_figure()
    assert isinstance(figure, Figure)
    common_legend(figure)


def figure_4() -> Figure:
    """Figure 4: what an application reads at full speed, and what comes from the file system, as late as possible."""
    figure, (panel,) = panels(1, 1)
    single = alone(EXAMPLE, PLATFORM)
    _lines(panel, single.reads, single.read, "reads", "from the file system")
    return figure


def figure_5() -> Figure:
    """Figure 5: what an application writes at full speed, and what goes to the file system, as soon as possible."""
    figure, (panel,) = panels(1, 1)
    single = alone(EXAMPLE, PLATFORM)
    _lines(panel, single.writes, single.written, "writes", "to the file system")
    return figure


def figure_6() -> Figure:
    """Figure 6: writes at full speed, and the least that must have gone to the file system, with a share of the buffer."""
    figure, (panel,) = panels(1, 1)
    asked = full_speed_timeline(Workload(PLATFORM, (EXAMPLE,)))
    _lines(panel, asked.flows(asked.writes)[0], least_written(asked, 0, SHARE), f"share of {SHARE:g} bytes", "at least")
    return figure


def figure_7() -> Figure:
    """Figure 7: reads at full speed, and the most that can have come from the file system, with a share of the buffer."""
    figure, (panel,) = panels(1, 1)
    asked = full_speed_timeline(Workload(PLATFORM, (EXAMPLE,)))
    _lines(panel, asked.flows(asked.reads)[0], most_read(asked, 0, SHARE), f"share of {SHARE:g} bytes", "at most")
    return figure


def figure_8(rows: BufferRows, *, capped: bool = False) -> Figure:
    """Figure 8: largest (top) and mean (bottom) stretch of fair sharing with the plan's partition, by size over S_OPT.

    `rows` are those of the experiment "sets". `capped` chooses the sets whose speeds are min(b_k, B).
    """
    figure, axes = panels(2, len(LOADS))
    for row, measure in enumerate(("max_stretch", "mean_stretch")):
        for column, load in enumerate(LOADS):
            panel = axes[row * len(LOADS) + column]
            for mtbf in MTBF:
                samples = [rows.stretches(load, mtbf, factor, measure=measure, capped=capped) for factor in FACTORS]
                if not len(samples[0]):
                    continue
                means = [float(sample.mean()) for sample in samples]
                panel.plot(FACTORS, means, color=COLOURS[mtbf], label=f"{mtbf:g} y", linewidth=1.2)
                low, high = ([float(edge(sample)) for sample in samples] for edge in (np.min, np.max))
                panel.fill_between(FACTORS, low, high, color=COLOURS[mtbf], alpha=0.12, linewidth=0)
            panel.axvline(1.0, color="black", linewidth=0.6, linestyle="--")
            panel.set(title=f"load {load:.0%}", xlabel="size over S_OPT", ylabel=measure.replace("_", " "))
    common_legend(figure, "MTBF")
    return figure


EXAMPLES: Final[Mapping[str, Callable[[], Figure]]] = {
    "figure4": figure_4,
    "figure5": figure_5,
    "figure6": figure_6,
    "figure7": figure_7,
}
"""The figures that are drawn from one example."""
