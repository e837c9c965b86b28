"""Figures 1 to 12 of 003, simulated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from penstock.engine import simulate
from penstock.model import Application, Buffer, Platform, Workload
from penstock.numeric.arrays import Floats
from penstock.papers.calciom.experiments import (
    FILES,
    SPLITS,
    CalciomScale,
    Collective,
    Graphs,
    equal,
    files,
    large,
    range_of,
    small,
    split,
)
from penstock.papers.drawing import common_legend, panels
from penstock.report.figures import COLOURS
from penstock.report.plot import NAMED, colours_of, draw_delta
from penstock.theory.interference import Delta, Pair, expected_interference, someone_in_io

SHARE: Final = 0.05
"""E(µ) of §II.B."""
BY_FILE: Final = "interrupting, between files"
SMALL_SIZES: Final = (8, 16, 32, 64, 128, 336)


def figure_1(traces: Mapping[str, Floats], sizes: Mapping[str, tuple[Floats, Floats]]) -> Figure:
    """Figure 1: (a) sizes of jobs: part of the jobs (solid), and of their time (dashed), that have so many nodes or fewer;
    (b) part of the time that so many jobs run at once, and with E(µ) = 5 % the chance that one does I/O.

    `traces` are P(X = n), the part of the time that n jobs run at once, by the name of the trace; `sizes` the nodes and the
    seconds of each job.
    """
    figure, (left, right) = panels(1, 2)
    for (name, chances), colour in zip(traces.items(), COLOURS, strict=False):
        label = f"{name}: {someone_in_io(chances, SHARE):.0%}"
        right.step(np.arange(len(chances)), chances, where="mid", color=colour, linewidth=1.0, label=label)
        nodes, seconds = sizes[name]
        order = np.argsort(nodes)
        for weights, line in ((np.ones(len(nodes)), "-"), (seconds, "--")):
            parts = np.cumsum(weights[order]) / weights.sum()
            left.step(nodes[order], parts, line, where="post", color=colour, linewidth=1.0)
    left.set(xlabel="nodes of a job", ylabel="part of jobs, and of their time", xscale="log", title="(a)", ylim=(0.0, 1.02))
    right.set(xlabel="concurrent jobs", ylabel="part of the time", title="(b)")
    common_legend(figure)
    return figure


def figure_2(scale: CalciomScale, graphs: Graphs) -> Figure:
    """Figure 2: I/O time (left) and interference factor of two equal applications that interfere; dots: proportional sharing
    by hand.

    `scale` says how many values of dt are drawn, `graphs` has them.
    """
    pair = equal()
    figure, axes = panels(1, 2)
    graph = graphs.delta(pair, range_of(pair, scale), ["interfering"])
    draw_delta(axes[0], graph.dt, graph.times, "I/O time, s")
    dots = graph.dt[:: max(1, len(graph.dt) // 20)]
    axes[0].plot(dots, [expected_interference(pair, dt).a for dt in dots.tolist()], "k.", markersize=4, label="A, by hand")
    draw_delta(axes[1], graph.dt, graph.factors, "interference factor")
    common_legend(figure)
    return figure


WRITES: Final = 10
"""Of the first application in Figure 3."""
CACHE: Final = 4.0
"""How many times as fast as the disks a server with room in its cache takes data, Figure 3; the text has no number."""


def figure_3(scale: CalciomScale) -> Figure:
    """Figure 3: throughput of each write of an application that writes every 10 seconds, alone and beside one that writes
    every 7 seconds, with a cache before the disks. What a cache is worth and how large it is are ours.

    `scale` is not used: the figure has no dt.
    """
    del scale
    figure, (panel,) = panels(1, 1)
    volume = 2.0
    alone = volume / CACHE
    second = Application.of("second", [("write", volume), ("work", 7.0 - alone)] * (2 * WRITES), bandwidth=CACHE)

    def writer(count: int) -> Application:
        phases = [phase for _ in range(count) for phase in (("work", 10.0 - alone), ("write", volume))][1:]
        return Application.of("first", phases, bandwidth=CACHE)

    platform = Platform(1.0, buffer=Buffer(size=0.75 * volume))
    writes = range(1, WRITES + 1)
    for others, label, mark in (((), "alone", "k.-"), ((second,), "beside the other", "o-")):
        # A write ends when the application that stops after it does.
        ends = [
            float(simulate(Workload(platform, (writer(count), *others)), "fair-share").applications[0].end or 0.0)
            for count in writes
        ]
        starts = np.append(0.0, np.array(ends[:-1]) + 10.0 - alone)
        panel.plot(writes, volume / (np.array(ends) - starts), mark, label=label)
    panel.set(xlabel="write", ylabel="throughput over that of the disks", ylim=(0.0, None))
    common_legend(figure)
    return figure


def figure_4(scale: CalciomScale) -> Figure:
    """Figure 4: bandwidth of B, of 8 to 336 processes, alone and beside A of 336, both writing from the same moment.

    `scale` is not used: the figure has no dt.
    """
    del scale
    figure, (panel,) = panels(1, 1)
    pairs = [split(336, cores) for cores in SMALL_SIZES]
    alone = [pair.b.volume / pair.alone().b / 1e9 for pair in pairs]
    beside = [pair.b.volume / pair.io_times("interfering", 0.0).b / 1e9 for pair in pairs]
    panel.plot(SMALL_SIZES, alone, "k.-", label="alone")
    panel.plot(SMALL_SIZES, beside, ".-", color=NAMED["interfering"], label="beside A")
    panel.set(xlabel="processes of B", ylabel="bandwidth of B, GB/s", xscale="log", yscale="log")
    panel.set_title(f"8 processes: {alone[0] / beside[0]:.1f} times less")
    common_legend(figure)
    return figure


def figure_5(scale: CalciomScale, policies: Sequence[str] = ()) -> Figure:
    """Figure 5: rates over time of A (solid) and B (dashed) that interfere, are serialized, or of which B interrupts A.

    `scale` is not used: the figure has no dt. `policies` are added.
    """
    del scale
    pair = equal()
    strategies = list(dict.fromkeys(("interfering", "serializing", "interrupting", *policies)))
    figure, axes = panels(-(-len(strategies) // 3), 3, share_y=True)
    for panel, strategy in zip(axes, strategies, strict=False):
        trace = simulate(pair.workload(0.4 * pair.alone().a), strategy, trace=True).trace
        assert trace is not None
        for index, line in enumerate(("-", "--")):
            own = trace.application == index
            dates = np.append(trace.begin[own], trace.end[own][-1])
            rates = np.append(trace.rate[own], 0.0) / 1e9
            panel.step(dates, rates, line, where="post", color=COLOURS[index], label="AB"[index])
        panel.set(title=strategy, xlabel="time, s")
    for panel in axes[len(strategies) :]:
        panel.set_axis_off()
    axes[0].set_ylabel("rate, GB/s")
    common_legend(figure)
    return figure


def figure_6(scale: CalciomScale, graphs: Graphs) -> Figure:
    """Figure 6: interference factors of A (left) and B, of 768 processes in all, that interfere; a colour for each split.

    `scale` says how many values of dt are drawn, `graphs` has them.
    """
    figure, axes = panels(1, 2)
    for (a, b), colour in zip(SPLITS, COLOURS, strict=False):
        pair = split(a, b)
        graph = graphs.delta(pair, range_of(pair, scale), ["interfering"])
        for index, panel in enumerate(axes):
            panel.plot(graph.dt, graph.factors["interfering"][:, index], color=colour, linewidth=1.2, label=f"{a} and {b}")
            panel.set(xlabel="dt, s", ylabel="interference factor", title="AB"[index])
    common_legend(figure)
    return figure


def figure_7(scale: CalciomScale, graphs: Graphs, policies: Sequence[str] = ()) -> Figure:
    """Figure 7: I/O times of two applications that fill the file system (left) or leave room (right), interfering and
    serialized.

    `scale` says how many values of dt are drawn, `graphs` has them; `policies` are added.
    """
    figure, axes = panels(1, 2)
    for panel, (title, pair) in zip(axes, {"2 × 2048 cores": large(), "2 × 1024 cores": small()}.items(), strict=True):
        graph = graphs.delta(pair, range_of(pair, scale), ["interfering", "serializing", *policies])
        draw_delta(panel, graph.dt, graph.times, "I/O time, s")
        panel.set_title(title)
    common_legend(figure)
    return figure


def figure_8(scale: CalciomScale, policies: Sequence[str] = ()) -> Figure:
    """Figure 8: rounds of communication and writing; I/O times interfering and serialized (left), and what interference does
    to the parts of A's operation (right).

    `scale` says how many values of dt are drawn; `policies` are added, and decide anew at each round.
    """
    both = Collective()
    dts = np.linspace(-1.25 * both.seconds, 1.25 * both.seconds, scale.points)
    found = [both.under("interfering", dt) for dt in dts.tolist()]
    figure, axes = panels(1, 2)
    times = {
        "interfering": np.array([times for times, _ in found]),
        "serializing": np.array([both.serializing(dt) for dt in dts.tolist()]),
        **{
            policy: np.array([both.under(policy, dt)[0] for dt in dts.tolist()])
            for policy in policies
            if policy not in ("interfering", "serializing")
        },
    }
    draw_delta(axes[0], dts, times, "I/O time, s")
    writing = np.array([parts.a for _, parts in found])
    axes[1].plot(dts, writing, color=COLOURS[0], label="A, writing")
    axes[1].plot(dts, times["interfering"][:, 0] - writing, color=COLOURS[1], label="A, communicating")
    axes[1].set(xlabel="dt, s", ylabel="time, s", ylim=(0.0, None))
    common_legend(figure)
    return figure


def figure_9(scale: CalciomScale, graphs: Graphs, policies: Sequence[str] = ()) -> Figure:
    """Figure 9: interference factors of A (top) and B, of 768 processes in all, for each split and strategy.

    `scale` says how many values of dt are drawn, `graphs` has them; `policies` are added.
    """
    figure, axes = panels(2, len(SPLITS))
    for column, (a, b) in enumerate(SPLITS):
        pair = split(a, b)
        graph = graphs.delta(pair, range_of(pair, scale), ["interfering", "serializing", *policies])
        late = graphs.delta(pair, range_of(pair, scale, after=True)[1:], ["interrupting"])
        for row, member in enumerate("AB"):
            panel = axes[row * len(SPLITS) + column]
            draw_delta(panel, graph.dt, graph.factors, f"interference factor of {member}", member)
            draw_delta(panel, late.dt, late.factors, f"interference factor of {member}", member)
            panel.set_title(f"A: {a}, B: {b}")
            panel.set(ylabel=f"interference factor of {member}" if column == 0 else "", xlabel="dt, s" if row else "")
    common_legend(figure)
    return figure


def figure_10(scale: CalciomScale, graphs: Graphs, policies: Sequence[str] = ()) -> Figure:
    """Figure 10: interference factors of A, four files, and B, one; interruptions between rounds or between files.

    `scale` says how many values of dt are drawn, `graphs` has them; `policies` are added.
    """
    graph = _files(scale, graphs, policies)
    figure, axes = panels(1, 2)
    for panel, member in zip(axes, "AB", strict=True):
        draw_delta(panel, graph.dt, graph.factors, "interference factor", member)
        panel.set_title(f"App {member}")
    common_legend(figure)
    return figure


def _files(scale: CalciomScale, graphs: Graphs, policies: Sequence[str]) -> Delta:
    """The graph of Figure 10, with interruptions between files as one more strategy."""
    pair = files()
    dts = range_of(pair, scale)
    fine = graphs.delta(pair, dts, ["interfering", "serializing", "interrupting", *policies])
    coarse = graphs.delta(files(FILES), dts, ["interrupting"])
    return replace(fine, times={**fine.times, BY_FILE: coarse.times["interrupting"]})


def figure_11(scale: CalciomScale, graphs: Graphs, policies: Sequence[str] = ()) -> Figure:
    """Figure 11: CPU seconds wasted in I/O, for each core, when the two of Figure 10 interfere and when they are
    coordinated.

    `scale` says how many values of dt are drawn, `graphs` has them; `policies` are added.
    """
    figure, (panel,) = panels(1, 1)
    colours = colours_of(["interfering", "coordinating", *policies])
    for label, pair, strategy, line in (
        ("interfering", files(), "interfering", "-"),
        ("coordinating", files(), "coordinating", "-"),
        ("coordinating, between files", files(FILES), "coordinating", "--"),
        *((policy, files(), policy, "-") for policy in policies),
    ):
        graph = graphs.delta(pair, range_of(pair, scale), [strategy])
        wasted = graph.values("cpu-seconds")[strategy] / (pair.a.nodes + pair.b.nodes)
        panel.plot(graph.dt, wasted, line, color=colours[strategy], linewidth=1.2, label=label)
    panel.set(xlabel="dt, s", ylabel="CPU seconds a core")
    common_legend(figure)
    return figure


def figure_12(scale: CalciomScale, graphs: Graphs, policies: Sequence[str] = ()) -> Figure:
    """Figure 12: sum of the I/O times of two applications that leave room, interfering, serialized, and with the second
    delayed by a quarter, a half or three quarters of what serializing delays it.

    `scale` says how many values of dt are drawn, `graphs` has them; `policies` are added.
    """
    pair = small()
    dts = range_of(pair, scale, after=True)
    graph = graphs.delta(pair, dts, ["interfering", "serializing", "coordinating", *policies])
    figure, (panel,) = panels(1, 1)
    colours = colours_of(list(graph.times))
    for strategy in graph.times:
        panel.plot(graph.dt, graph.values("io-time")[strategy], color=colours[strategy], linewidth=1.2, label=strategy)
    for part, colour in zip((0.25, 0.5, 0.75), COLOURS[4:], strict=False):
        sums = [sum(delayed(pair, dt, part * max(0.0, pair.alone().a - dt))) for dt in dts]
        panel.plot(dts, sums, ":", color=colour, linewidth=1.0, label=f"delayed by {part:.0%}")
    panel.set(xlabel="dt, s", ylabel="sum of I/O times, s")
    common_legend(figure)
    return figure


def delayed(pair: Pair, dt: float, delay: float) -> tuple[float, float]:
    """Seconds of I/O of A and B if B begins later than it could, and then interferes.

    `pair` are the two, `dt` is the time in seconds from A's posting to B's, and `delay` how many seconds later B begins.
    """
    a, b = pair.io_times("interfering", dt + delay)
    return a, b + delay


WITH_GRAPHS: Final = ("figure2", "figure6", "figure7", "figure9", "figure10", "figure11", "figure12")
"""Those that draw Δ-graphs."""
WITH_POLICIES: Final = ("figure5", "figure7", "figure8", "figure9", "figure10", "figure11", "figure12")
"""Those that compare strategies: they take a user's policies, too."""
FIGURES: Final[Mapping[str, Callable[..., Figure]]] = {
    "figure2": figure_2,
    "figure3": figure_3,
    "figure4": figure_4,
    "figure5": figure_5,
    "figure6": figure_6,
    "figure7": figure_7,
    "figure8": figure_8,
    "figure9": figure_9,
    "figure10": figure_10,
    "figure11": figure_11,
    "figure12": figure_12,
}
