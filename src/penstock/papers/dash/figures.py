"""The figures of 001 but III.7 and those of chapter IV: examples (I.2, II.2, II.3, III.3, V.1 to V.3), II.4 to II.6 and
III.4 to III.6 on chains, III.8 to III.13 on batches.

Figures on chains are drawn from the `Results` of a campaign, those on batches from `Rows`: what was measured, by trial.
The first paragraph of a figure's docstring is its caption.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.engine import simulate
from penstock.model import Application, Degradation, Platform, Workload
from penstock.numeric.arrays import Floats
from penstock.papers.dash.experiments import (
    BEST_EFFORT,
    EIGHT,
    FIRST_FIT,
    LIST,
    LOAD,
    ML_NOISES,
    ONE,
    OPTIMAL,
    PERIODIC,
    BatchTrial,
    random_set,
)
from penstock.papers.drawing import binned, colour_of, common_legend, lanes, panels, plain_ticks
from penstock.papers.reproducing import Results
from penstock.papers.verdicts import Estimate
from penstock.planning.batch import schedule as batch_schedule
from penstock.planning.partition import best_partition
from penstock.planning.strategy import BatchStrategy
from penstock.report.gantt import draw_nodes
from penstock.theory.chains import hierarchical_round_robin
from penstock.theory.chains import schedule as chain_schedule

Rows = Mapping[BatchTrial, Mapping[str, Any]]
Batch = tuple[Any, int]
"""The parameters and the seed of a batch."""
STRATEGIES: Final[Mapping[str, tuple[BatchStrategy, str, str]]] = {
    "S = 1": (ONE, "fifo", "#0072b2"),
    "S = I/O load": (LOAD, "fifo", "#e69f00"),
    "S = 1, longest-remaining": (ONE, "longest-remaining", "#009e73"),
    "first-fit": (FIRST_FIT, "fifo", "#000000"),
}
COLOURS: Final = {
    "best-effort": "#000000",
    "fifo": "#0072b2",
    "johnson": "#56b4e9",
    "longest-remaining": "#009e73",
    "periodic-fifo": "#d55e00",
    "periodic-johnson": "#e69f00",
    "periodic-most-remain": "#cc79a7",
    "hierarchical-round-robin": "#7f3fbf",
    "lowest-id": "#999999",
    "longest-io": "#d55e00",
    "shortest-io": "#e69f00",
    "shortest-remaining": "#cc79a7",
    "bandwidth-oriented": "#56b4e9",
    "stretch-oriented": "#7f3fbf",
}
BINS: Final = 12


def weights(rows: Results) -> Floats:
    """The I/O weight W of the workload of each of the `rows`: the sum of the I/O parts of their time (001 §II.D.3)."""
    return np.array([fractions.sum() for fractions in rows.lists("io_fractions")])


def relative(results: Results, policy: str, to: str, **parameters: object) -> tuple[Floats, Floats]:
    """W, and the makespan of `policy` over that of the policy `to`, for each workload.

    `results` are the rows of a campaign, of which `parameters` choose the workloads.
    """
    ours, theirs = results.where(policy, **parameters).beside(results.where(to, **parameters))
    return weights(ours), ours.column("makespan") / theirs.column("makespan")


def figure_ii_4(results: Results) -> Figure:
    """Figure II.4: makespan of the general case by I/O weight W, relative to best-effort and absolute; binned means.

    Args:
        results: the runs of chains, by campaign.
    """
    figure, (left, right) = panels(1, 2)
    _relative_to_best_effort(left, results, noise=0.0)
    left.set_title("(a) relative to best-effort")
    right.set_title("(b) absolute")
    for policy in results.compared((BEST_EFFORT, *LIST, *PERIODIC)):
        rows = results.where(policy, noise=0.0)
        binned(right, weights(rows), rows.column("makespan"), colour_of(policy, COLOURS), policy, BINS)
    right.set(xlabel="I/O weight W", ylabel="makespan (s)")
    common_legend(figure)
    return figure


def figure_ii_5(results: Results) -> Figure:
    """Figure II.5: the same relative to best-effort with 20 % and 50 % of noise on every phase.

    Args:
        results: the runs of chains, by campaign.
    """
    figure, axes = panels(1, 2, share_y=True)
    for panel, noise in zip(axes, (0.2, 0.5), strict=True):
        _relative_to_best_effort(panel, results, noise=noise)
        panel.set_title(f"noise {noise:.0%}")
    common_legend(figure)
    return figure


def _relative_to_best_effort(panel: Axes, results: Results, noise: float) -> None:
    for policy in results.compared((*LIST, *PERIODIC)):
        binned(panel, *relative(results, policy, BEST_EFFORT, noise=noise), colour_of(policy, COLOURS), policy, BINS)
    panel.axhline(1.0, color=COLOURS[BEST_EFFORT], linewidth=0.8)
    panel.set(xlabel="I/O weight W", ylabel="makespan / best-effort")


def figure_ii_6(results: Results) -> Figure:
    """Figure II.6: the machine-learning case, makespan over that of hierarchical round-robin without and with 20 % noise.

    Args:
        results: the runs of chains, by campaign.
    """
    figure, axes = panels(1, 2, share_y=True)
    for panel, noise in zip(axes, ML_NOISES, strict=True):
        for policy in results.compared((BEST_EFFORT, "fifo")):
            binned(panel, *relative(results, policy, OPTIMAL, noise=noise), colour_of(policy, COLOURS), policy, BINS)
        panel.set(title=f"noise {noise:.0%}", xlabel="I/O weight W")
    axes[0].set_ylabel("makespan / hierarchical round-robin")
    common_legend(figure)
    return figure


def stretches(results: Results, policy: str) -> tuple[Floats, np.ndarray]:
    """The numbers of batches, and the stretch of each application (columns) for each (rows) under `policy`.

    `results` are the rows of the campaign "jacobi".
    """
    rows = results.where(policy)
    batches = np.array([parameters["batches"] for parameters in rows.parameters])
    order = np.argsort(batches)
    yields = np.array(list(rows.lists("yields"))) if len(rows) else np.empty((0, 1))
    return batches[order], 1.0 / yields[order]


def figure_iii_4(results: Results) -> Figure:
    """Figure III.4: stretch of each of the five applications by the number of iteration batches, for each list policy.

    Args:
        results: the runs of chains, by campaign.
    """
    policies = results.compared(EIGHT)
    figure, axes = panels(-(-len(policies) // 4), 4, share_y=True)
    for panel, policy in zip(axes, policies, strict=False):
        batches, values = stretches(results, policy)
        for application in range(values.shape[1]):
            panel.plot(batches, values[:, application], marker=".", label=f"application {application + 1}")
        panel.set(title=policy, xlabel="iteration batches", ylabel="stretch", xscale="log")
    common_legend(figure)
    return figure


def figure_iii_5(results: Results) -> Figure:
    """Figure III.5: the largest stretch by the number of iteration batches.

    Args:
        results: the runs of chains, by campaign.
    """

    def largest(policy: str) -> tuple[Floats, Floats]:
        batches, values = stretches(results, policy)
        return batches, values.max(axis=1)

    return _by_batches(results, largest, "max stretch")


def figure_iii_6(results: Results) -> Figure:
    """Figure III.6: makespan over that of fifo by the number of iteration batches.

    Args:
        results: the runs of chains, by campaign.
    """

    def over_fifo(policy: str) -> tuple[Floats, Floats]:
        ours, fifo = results.where(policy).beside(results.where("fifo"))
        batches = np.array([parameters["batches"] for parameters in ours.parameters])
        order = np.argsort(batches)
        return batches[order], (ours.column("makespan") / fifo.column("makespan"))[order]

    return _by_batches(results, over_fifo, "makespan / fifo")


def _by_batches(results: Results, line: Callable[[str], tuple[Floats, Floats]], label: str) -> Figure:
    """A `line` for each order by the number of iteration batches."""
    figure, (panel,) = panels(1, 1)
    for policy in results.compared(EIGHT):
        panel.plot(*line(policy), marker=".", color=colour_of(policy, COLOURS), label=policy)
    panel.set(xlabel="iteration batches", ylabel=label, xscale="log")
    common_legend(figure)
    return figure


def chosen(
    rows: Rows, strategy: BatchStrategy, policy: str = "fifo", io_nodes: int = 1
) -> dict[tuple[Any, int], Mapping[str, Any]]:
    """What was measured under a strategy, by batch.

    `rows` are those of an experiment, of which `strategy`, `policy` and the number of `io_nodes` choose.
    """
    return {
        (trial.parameters, trial.seed): row
        for trial, row in rows.items()
        if (trial.strategy, trial.policy, trial.io_nodes) == (strategy, policy, io_nodes)
    }


def ratios(rows: Rows, name: str, measure: str, io_nodes: int = 1) -> tuple[Floats, Floats]:
    """I/O load α of each batch, and a measure over that of first-fit on as many I/O nodes.

    Args:
        rows: Those of the experiment "packs" or "io-nodes".
        name: A name of `strategies`.
        measure: A column of the rows.
        io_nodes: The number of I/O nodes.
    """
    strategy, policy, _ = strategies(rows)[name]
    ours, base = chosen(rows, strategy, policy, io_nodes), chosen(rows, FIRST_FIT, io_nodes=io_nodes)
    loads = np.array([row["io_load"] for row in ours.values()])
    return loads, np.array([row[measure] / base[batch][measure] for batch, row in ours.items()])


def over_loads(batches: Iterable[Batch], values: Floats) -> Estimate:
    """The mean of `values` over α_gen, one for each of the `batches`, with its error over seeds.

    The mean over α_gen is by trapezia, so that it does not depend on how many values a scale has. Batches of one seed are
    not independent of each other.
    """
    points = sorted(
        (seed, dict(parameters)["load"], value) for (parameters, seed), value in zip(batches, values, strict=True)
    )
    means = []
    for _, group in itertools.groupby(points, key=lambda point: point[0]):
        _, loads, found = zip(*group, strict=True)
        means.append(float(np.trapezoid(found, loads)) / (loads[-1] - loads[0]) if len(loads) > 1 else found[0])
    return Estimate.of(means)


def geometric(batches: Iterable[Batch], values: Floats) -> Estimate:
    """The geometric mean of positive `values` over α_gen, one for each of the `batches`, with its standard error."""
    mean = over_loads(batches, np.log(values))
    return Estimate(float(np.exp(mean.value)), float(np.exp(mean.value)) * mean.error)


def strategies(rows: Rows) -> dict[str, tuple[BatchStrategy, str, str]]:
    """`STRATEGIES`, and those of a user's policies in the `rows`: strategy, policy and colour by name."""
    known = {(strategy, policy) for strategy, policy, _ in STRATEGIES.values()}
    found = dict.fromkeys((trial.strategy, trial.policy) for trial in rows)
    added = {f"S = 1, {policy}": (one, policy, colour_of(policy)) for one, policy in found if (one, policy) not in known}
    return {**STRATEGIES, **added}


def _relative(rows: Rows, measure: str, label: str) -> Figure:
    figure, (panel,) = panels(1, 1)
    for name, (_, _, colour) in strategies(rows).items():
        if name != "first-fit":
            panel.plot(*ratios(rows, name, measure), ".", color=colour, label=name)
    panel.axhline(1.0, color="#000000", linewidth=0.8)
    panel.set(xlabel="I/O load α", ylabel=f"{label} / first-fit")
    common_legend(figure)
    return figure


def figure_iii_8(rows: Rows) -> Figure:
    """Figure III.8: makespan over that of first-fit by I/O load α, one I/O node.

    Args:
        rows: the rows of the batches.
    """
    return _relative(rows, "makespan", "makespan")


def figure_iii_9(rows: Rows) -> Figure:
    """Figure III.9: stretch (mean over packs of each pack's largest) over that of first-fit by I/O load α.

    Args:
        rows: the rows of the batches.
    """
    return _relative(rows, "pack_stretch", "stretch")


def figure_iii_10(rows: Rows) -> Figure:
    """Figure III.10: number of packs over that of first-fit by I/O load α.

    Args:
        rows: the rows of the batches.
    """
    return _relative(rows, "packs_run", "packs")


def figure_iii_11(rows: Rows) -> Figure:
    """Figure III.11: makespan over the one predicted without contention, by I/O load α.

    Args:
        rows: the rows of the batches.
    """
    figure, (panel,) = panels(1, 1)
    for name, (strategy, policy, colour) in strategies(rows).items():
        own = chosen(rows, strategy, policy).values()
        panel.plot(
            [r["io_load"] for r in own],
            [r["makespan"] / r["predicted_makespan"] for r in own],
            ".",
            color=colour,
            label=name,
        )
    panel.set(xlabel="I/O load α", ylabel="makespan / predicted", yscale="log")
    plain_ticks(panel.yaxis)
    common_legend(figure)
    return figure


def shares(rows: Rows, name: str) -> dict[str, float]:
    """Mean node time executing, delayed and idle, over the node time of first-fit on the same batch.

    `rows` are those of the experiment "packs", by trial. `name` is one of `strategies`.
    """
    strategy, policy, _ = strategies(rows)[name]
    ours, base = chosen(rows, strategy, policy), chosen(rows, FIRST_FIT)
    return {
        part: float(np.mean([row[part] / base[batch]["capacity"] for batch, row in ours.items()]))
        for part in ("executing", "delayed", "idle")
    }


def figure_iii_12(rows: Rows) -> Figure:
    """Figure III.12: mean node time executing, delayed and idle, over that of first-fit.

    Args:
        rows: the rows of the batches.
    """
    figure, (panel,) = panels(1, 1)
    names = list(strategies(rows))
    places = [name.replace(", ", ",\n") for name in names]
    bottom = np.zeros(len(names))
    for part, colour in (("executing", "#009e73"), ("delayed", "#d55e00"), ("idle", "#999999")):
        heights = np.array([shares(rows, name)[part] for name in names])
        panel.bar(places, heights, bottom=bottom, color=colour, label=part)
        bottom += heights
    panel.set_ylabel("node time / first-fit")
    common_legend(figure)
    return figure


def figure_iii_13(rows: Rows) -> Figure:
    """Figure III.13: makespan of packs (S = 1) over that of first-fit on as many I/O nodes, by I/O load α. Geometric means
    are over α_gen, with a standard error over seeds.

    Args:
        rows: the rows of the batches.
    """
    figure, (panel,) = panels(1, 1)
    for count, colour in ((1, "#0072b2"), (3, "#e69f00"), (5, "#009e73")):
        loads, values = ratios(rows, "S = 1", "makespan", count)
        mean = geometric(chosen(rows, ONE, io_nodes=count), values)
        nodes = f"{count} I/O node{'s' if count > 1 else ''}"
        panel.plot(loads, values, ".", color=colour, label=f"{nodes}: geometric mean {mean:.2f}")
    panel.axhline(1.0, color="#000000", linewidth=0.8)
    panel.set(xlabel="I/O load α", ylabel="makespan / first-fit")
    common_legend(figure)
    return figure


def _two(first: tuple[float, float, int], second: tuple[float, float, int]) -> Figure:
    """Two applications of so many seconds of work and of I/O, so many times, with exclusive access and sharing the link."""
    pair = tuple(
        Application.of(f"application {index}", [("work", work), ("io", io)] * count)
        for index, (work, io, count) in enumerate((first, second), 1)
    )
    workload = Workload(Platform(1.0), pair)
    figure, axes = panels(2, 1, share_x=True)
    for panel, (title, policy) in zip(axes, (("exclusive access", "fifo"), ("fair share", "fair-share")), strict=True):
        lanes(panel, workload, policy)
        panel.set_title(title)
    axes[0].set_xlabel("")
    common_legend(figure)
    return figure


DEGRADATIONS: Final = {"A": (4, 0.02), "B": (4, 0.16), "C": (2, 0.11)}
"""Use cases of §I.A.4: how many at once, and the part of the bandwidth that is lost."""


def figure_i_2() -> Figure:
    """Figure I.2: the sum of the bandwidths of several applications over that of one, use cases A to C. The degradations are
    the thesis' own (its bandwidths are not in the text); the bars are runs of the engine with them.
    """
    figure, (panel,) = panels(1, 1)
    for place, (count, lost) in enumerate(DEGRADATIONS.values()):
        for shift, running in ((-0.2, 1), (0.2, count)):
            platform = Platform(1.0, degradation=Degradation.of({count: 1.0 - lost}))
            members = tuple(Application.of(f"a{index}", [("write", 10.0)]) for index in range(running))
            seconds = simulate(Workload(platform, members), BEST_EFFORT).makespan
            assert seconds is not None
            colour = ("#0072b2", "#e69f00")[running > 1]
            bar = panel.bar(place + shift, 10.0 * running / seconds, 0.36, color=colour)
            bar.set_label(("one application", "several at once (4, 4, 2)")[running > 1])
    panel.set_xticks(range(len(DEGRADATIONS)), [f"use case {name}" for name in DEGRADATIONS])
    panel.set(ylabel="bandwidth over that of one", ylim=(0.0, 1.1))
    common_legend(figure)
    return figure


def figure_ii_2() -> Figure:
    """Figure II.2: two applications of one iteration, with exclusive access and sharing the link: with exclusive access the
    first ends earlier, and the second no later.
    """
    return _two((2.0, 3.0, 1), (2.0, 3.0, 1))


def figure_ii_3() -> Figure:
    """Figure II.3: hierarchical round-robin for J_1 = J_2 = (2.5, 1)^4, J_3 = J_4 = (2.5, 1)^2, J_5 = (2.5, 1); it ends at
    16. Dotted lines: ends of the blocks.
    """
    counts = (4, 4, 2, 2, 1)
    members = tuple(
        Application.of(f"J_{index}", [("work", 2.5), ("io", 1.0)] * count) for index, count in enumerate(counts, 1)
    )
    figure, (panel,) = panels(1, 1)
    lanes(panel, Workload(Platform(1.0), members), OPTIMAL)
    jobs = [[(2.5, 1.0)] * count for count in counts]
    order = hierarchical_round_robin(jobs)
    ends = [end for job, end in zip(order, chain_schedule(jobs, order).end, strict=True) if job == 0]
    for end in ends:
        panel.axvline(end, color="#cc0000", linestyle=":", linewidth=0.9)
    common_legend(figure)
    return figure


def figure_iii_3() -> Figure:
    """Figure III.3: eleven applications in packs on two I/O nodes (top and middle), and the applications of the second pack
    while they share the first I/O node (bottom).
    """
    shapes = [(4, 6), (3, 6), (3, 5), (5, 5), (2, 4), (4, 4), (3, 4), (2, 3), (5, 3), (3, 3), (2, 2)]
    jobs = tuple(
        Application.of(str(index), [("work", 2.4), ("io", 0.6)] * count, nodes=nodes)
        for index, (nodes, count) in enumerate(shapes, 1)
    )
    platform = Platform(1.0, nodes=8)
    done = batch_schedule(Workload(platform, jobs), ONE, io_nodes=2, policy="fifo")
    figure, axes = panels(3, 1)
    for io_node in (0, 1):
        draw_nodes(axes[io_node], done, io_node)
    second = [pack for pack in done.packs if pack.io_node == 0][1]
    lanes(axes[2], Workload(platform, tuple(jobs[job] for job in second.planned.jobs)), "fifo")
    common_legend(figure)
    return figure


def figure_v_1() -> Figure:
    """Figure V.1: two dissimilar applications. With exclusive access the short ones wait for the long ones, and sharing the
    link is better for application 2.
    """
    return _two((6.0, 6.0, 2), (1.0, 0.5, 12))


def figure_v_2() -> Figure:
    """Figure V.2: two similar applications. With exclusive access they wait once and then no more; sharing the link, they
    slow each other down in every iteration.
    """
    return _two((3.0, 2.0, 4), (3.0, 2.0, 4))


def figure_v_3() -> Figure:
    """Figure V.3: a best partition of a set of seven applications, each at its time t and its volume v; a colour a part. The
    parts are contiguous in v.
    """
    applications = random_set(np.random.default_rng(53), 7)
    partition = best_partition(applications)
    figure, (panel,) = panels(1, 1)
    for part in partition.parts:
        times, volumes = ([column[i] for i in part.members] for column in (applications.time, applications.volume))
        members = ", ".join(str(i + 1) for i in part.members)
        panel.plot(times, volumes, "o", label=f"{members}: B_k = {part.bandwidth:.2f} B, stretch {part.stretch:.2f}")
        for i, time, volume in zip(part.members, times, volumes, strict=True):
            panel.annotate(f"{i + 1}", (time, volume), xytext=(3, 2), textcoords="offset points", fontsize=7)
    panel.set(xlabel="time t", ylabel="volume v", xscale="log", yscale="log", title=f"value {partition.value:.2f}")
    panel.margins(0.12)
    common_legend(figure)
    return figure


EXAMPLES: Final[Mapping[str, Callable[[], Figure]]] = {
    "figureI.2": figure_i_2,
    "figureII.2": figure_ii_2,
    "figureII.3": figure_ii_3,
    "figureIII.3": figure_iii_3,
    "figureV.1": figure_v_1,
    "figureV.2": figure_v_2,
    "figureV.3": figure_v_3,
}
"""Item → what draws it from an example."""
CHAIN_FIGURES: Final[Mapping[str, tuple[str, Callable[[Results], Figure]]]] = {
    "figureII.4": ("general", figure_ii_4),
    "figureII.5": ("general", figure_ii_5),
    "figureII.6": ("machine-learning", figure_ii_6),
    "figureIII.4": ("jacobi", figure_iii_4),
    "figureIII.5": ("jacobi", figure_iii_5),
    "figureIII.6": ("jacobi", figure_iii_6),
}
"""Item → the campaign it needs and what draws it."""
BATCH_FIGURES: Final[Mapping[str, tuple[str, Callable[[Rows], Figure]]]] = {
    "figureIII.8": ("packs", figure_iii_8),
    "figureIII.9": ("packs", figure_iii_9),
    "figureIII.10": ("packs", figure_iii_10),
    "figureIII.11": ("packs", figure_iii_11),
    "figureIII.12": ("packs", figure_iii_12),
    "figureIII.13": ("io-nodes", figure_iii_13),
}
"""Item → the experiment it needs and what draws it."""
