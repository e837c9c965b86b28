"""Table 2 and Figures 1 to 8 of 004."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from penstock.buffers.theorems import alone, instance, least_written, most_read
from penstock.buffers.timeline import Flow, full_speed_timeline
from penstock.engine import simulate
from penstock.model import Application, Platform, Workload
from penstock.papers.buffers.experiments import APEX, FACTORS, LOADS, MTBF, PRINTED, BufferRows
from penstock.papers.drawing import common_legend, panels, short_name
from penstock.papers.verdicts import Estimate
from penstock.theory.adversaries import LAST_LISTED_FIRST

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
        panel.set(title=f"load {load:.0%}", ylim=(1.0, None))
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


def figure_1() -> Figure:
    """Figure 1: the platform. Applications move data between their nodes and the file system by a link of bandwidth B, and
    what goes beyond that between their nodes and a burst buffer of size S and bandwidth B_BB.
    """
    figure, (panel,) = panels(1, 1)
    boxes = {"compute\nnodes": (0.0, 0.35), "burst buffer\nof size S": (0.38, 0.75), "file\nsystem": (0.76, 0.35)}
    for words, (left, bottom) in boxes.items():
        panel.add_patch(Rectangle((left, bottom), 0.24, 0.2, facecolor="#deebf7", edgecolor="black"))
        panel.text(left + 0.12, bottom + 0.1, words, ha="center", va="center")
    for begin, end, words, place in (
        ((0.24, 0.42), (0.76, 0.42), "B", (0.5, 0.36)),
        ((0.15, 0.55), (0.38, 0.82), "B_BB", (0.2, 0.72)),
        ((0.62, 0.82), (0.85, 0.55), "part of B", (0.84, 0.72)),
    ):
        panel.annotate("", end, begin, arrowprops={"arrowstyle": "<->"})
        panel.text(*place, words, ha="center")
    panel.set(xlim=(-0.02, 1.02), ylim=(0.25, 1.0))
    panel.set_axis_off()
    return figure


def figure_2() -> Figure:
    """Figure 2: the bandwidth that an application uses for output (top) and for input (bottom): f to and from the file
    system, o and i to and from the buffer.
    """
    figure, axes = panels(2, 1, share_x=True)
    single = alone(EXAMPLE, PLATFORM)
    pairs = ((single.writes, single.written, "f_w", "o_w"), (single.reads, single.read, "f_r", "i_r"))
    for panel, (whole, direct, link, buffer) in zip(axes, pairs, strict=True):
        dates = np.union1d(whole.dates, direct.dates)
        total, rate = (np.diff(flow.at(dates)) / np.diff(dates) for flow in (whole, direct))
        through = np.where(total > 0.0, np.minimum(rate, total), 0.0)
        panel.stairs(through, dates, fill=True, color="#0072b2", label=f"{link}: file system")
        panel.stairs(total, dates, baseline=through, fill=True, color="#e69f00", label=f"{buffer}: buffer")
        panel.set_ylabel("bytes/s")
    axes[1].set_xlabel("time, s")
    common_legend(figure)
    return figure


def figure_3() -> Figure:
    """Figure 3: the schedule of an instance of Theorem 2 made from triplets of equal sums: in each second the reads, and
    d + 1 seconds after that the writes, of a triplet fill the bandwidth B.
    """
    groups = [[5, 4, 3], [6, 4, 2], [5, 5, 2]]
    integers = [integer for group in groups for integer in group]
    hard = instance(integers, len(groups), 1.4)
    reverse = replace(hard, applications=tuple(reversed(hard.applications)))
    trace = simulate(reverse, LAST_LISTED_FIRST, trace=True).trace
    assert trace is not None
    figure, (panel,) = panels(1, 1)
    bottom: dict[float, float] = {}
    for application, begin, end, rate in zip(trace.application, trace.begin, trace.end, trace.rate, strict=True):
        if rate > 0.0:
            at = bottom.get(round(float(begin), 6), 0.0)
            place = len(integers) - 1 - int(application)
            panel.bar(begin, rate, end - begin, at, align="edge", color=GROUPS[place // 3], edgecolor="white", linewidth=0.5)
            bottom[round(float(begin), 6)] = at + float(rate)
    panel.axhline(hard.platform.bandwidth, color="black", linewidth=0.8, linestyle="--", label="B")
    panel.set(xlabel="time", ylabel="bandwidth used")
    common_legend(figure)
    return figure


GROUPS: Final = ("#0072b2", "#e69f00", "#009e73")
"""The colours of the triplets of Figure 3."""


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
    """Figure 8: largest (top) and mean (bottom) stretch of fair sharing with the plan's partition, by size over S_OPT; areas
    from the least to the largest of the sets. Dashed and dotted: the user's policies in place of fair sharing.

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
                for policy, dashes in zip(rows.policies, itertools.cycle(("--", ":", "-.")), strict=False):
                    own = [
                        rows.stretches(load, mtbf, factor, measure=measure, capped=capped, policy=policy).mean()
                        for factor in FACTORS
                    ]
                    panel.plot(
                        FACTORS, own, dashes, color=COLOURS[mtbf], linewidth=1.0, label=f"{mtbf:g} y, {short_name(policy)}"
                    )
            panel.axvline(1.0, color="black", linewidth=0.6, linestyle="--")
            panel.set(title=f"load {load:.0%}", xlabel="size over S_OPT", ylabel=measure.replace("_", " "))
    if capped:
        figure.suptitle("speeds capped at B")
    common_legend(figure, "MTBF")
    return figure


EXAMPLES: Final[Mapping[str, Callable[[], Figure]]] = {
    "figure1": figure_1,
    "figure2": figure_2,
    "figure3": figure_3,
    "figure4": figure_4,
    "figure5": figure_5,
    "figure6": figure_6,
    "figure7": figure_7,
}
"""The figures that are drawn from one example."""
