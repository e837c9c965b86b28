"""The figures of 001: II.4 to II.6 and III.4 to III.6 on chains, III.8 to III.13 and IV.3 to IV.10 on batches, V.3 on
partitions.

Figures on chains are drawn from the `Results` of a campaign, those on batches from `Rows`: what was measured, by trial.
The first paragraph of a figure's docstring is its caption.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.numeric.arrays import Floats
from penstock.papers.dash.experiments import (
    BEST_EFFORT,
    EIGHT,
    FAMILIES,
    FIRST_FIT,
    LIST,
    LOAD,
    MAPPINGS,
    ML_NOISES,
    ONE,
    OPTIMAL,
    PERIODIC,
    BatchTrial,
    random_set,
)
from penstock.papers.drawing import binned, colour_of, panels
from penstock.papers.reproducing import Results
from penstock.planning.partition import best_partition
from penstock.planning.strategy import BatchStrategy

Rows = Mapping[BatchTrial, Mapping[str, Any]]
STRATEGIES: Final[Mapping[str, tuple[BatchStrategy, str, str]]] = {
    "S = 1": (ONE, "fifo", "#0072b2"),
    "S = I/O load": (LOAD, "fifo", "#e69f00"),
    "S = 1, longest-remaining": (ONE, "longest-remaining", "#009e73"),
    "first-fit": (FIRST_FIT, "fifo", "#000000"),
}
MAPPING_COLOURS: Final = {"list": "#000000", "pack max": "#0072b2", "pack random": "#e69f00", "pack char": "#d55e00"}
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
    """Figure II.4: makespan of the general case by I/O weight W, relative to best-effort and absolute; binned means."""
    figure, (left, right) = panels(1, 2)
    _relative_to_best_effort(left, results, noise=0.0)
    for policy in results.compared((BEST_EFFORT, *LIST, *PERIODIC)):
        rows = results.where(policy, noise=0.0)
        binned(right, weights(rows), rows.column("makespan"), colour_of(policy, COLOURS), policy, BINS)
    right.set(xlabel="I/O weight W", ylabel="makespan (s)")
    return figure


def figure_ii_5(results: Results) -> Figure:
    """Figure II.5: the same relative to best-effort with 20 % and 50 % of noise on every phase."""
    figure, axes = panels(1, 2, share_y=True)
    for panel, noise in zip(axes, (0.2, 0.5), strict=True):
        _relative_to_best_effort(panel, results, noise=noise)
        panel.set_title(f"noise {noise:.0%}")
    return figure


def _relative_to_best_effort(panel: Axes, results: Results, noise: float) -> None:
    for policy in results.compared((*LIST, *PERIODIC)):
        binned(panel, *relative(results, policy, BEST_EFFORT, noise=noise), colour_of(policy, COLOURS), policy, BINS)
    panel.axhline(1.0, color=COLOURS[BEST_EFFORT], linewidth=0.8)
    panel.set(xlabel="I/O weight W", ylabel="makespan / best-effort")
    panel.legend(fontsize=7)


def figure_ii_6(results: Results) -> Figure:
    """Figure II.6: the machine-learning case, makespan over that of hierarchical round-robin without and with 20 % noise."""
    figure, axes = panels(1, 2, share_y=True)
    for panel, noise in zip(axes, ML_NOISES, strict=True):
        for policy in results.compared((BEST_EFFORT, "fifo")):
            binned(panel, *relative(results, policy, OPTIMAL, noise=noise), colour_of(policy, COLOURS), policy, BINS)
        panel.set(title=f"noise {noise:.0%}", xlabel="I/O weight W", ylabel="makespan / hierarchical round-robin")
        panel.legend(fontsize=7)
    return figure


def stretches(results: Results, policy: str) -> tuple[Floats, np.ndarray]:
    """The numbers of batches, and the stretch of each application (columns) for each (rows) under `policy`.

    `results` are the rows of the campaign "jacobi".
    """
    rows = results.where(policy)
    batches = np.array([parameters["batches"] for parameters in rows.parameters])
    order = np.argsort(batches)
    return batches[order], 1.0 / np.array(list(rows.lists("yields")))[order]


def figure_iii_4(results: Results) -> Figure:
    """Figure III.4: stretch of each of the five applications by the number of iteration batches, for each list policy."""
    policies = results.compared(EIGHT)
    figure, axes = panels(-(-len(policies) // 4), 4, share_y=True)
    for panel, policy in zip(axes, policies, strict=False):
        batches, values = stretches(results, policy)
        for application in range(values.shape[1]):
            panel.plot(batches, values[:, application], marker=".", label=f"application {application + 1}")
        panel.set(title=policy, xlabel="iteration batches", ylabel="stretch", xscale="log")
    axes[0].legend(fontsize=7)
    return figure


def figure_iii_5(results: Results) -> Figure:
    """Figure III.5: the largest stretch by the number of iteration batches."""
    figure, (panel,) = panels(1, 1)
    for policy in results.compared(EIGHT):
        batches, values = stretches(results, policy)
        panel.plot(batches, values.max(axis=1), marker=".", color=colour_of(policy, COLOURS), label=policy)
    panel.set(xlabel="iteration batches", ylabel="max stretch", xscale="log")
    panel.legend(fontsize=7)
    return figure


def figure_iii_6(results: Results) -> Figure:
    """Figure III.6: makespan over that of fifo by the number of iteration batches."""
    figure, (panel,) = panels(1, 1)
    for policy in results.compared(EIGHT):
        ours, fifo = results.where(policy).beside(results.where("fifo"))
        batches = np.array([parameters["batches"] for parameters in ours.parameters])
        order = np.argsort(batches)
        ratio = ours.column("makespan") / fifo.column("makespan")
        panel.plot(batches[order], ratio[order], marker=".", color=colour_of(policy, COLOURS), label=policy)
    panel.set(xlabel="iteration batches", ylabel="makespan / fifo", xscale="log")
    panel.legend(fontsize=7)
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
        name: A name of `STRATEGIES`.
        measure: A column of the rows.
        io_nodes: The number of I/O nodes.
    """
    strategy, policy, _ = STRATEGIES[name]
    ours, base = chosen(rows, strategy, policy, io_nodes), chosen(rows, FIRST_FIT, io_nodes=io_nodes)
    loads = np.array([row["io_load"] for row in ours.values()])
    return loads, np.array([row[measure] / base[batch][measure] for batch, row in ours.items()])


def _relative(rows: Rows, measure: str, label: str) -> Figure:
    figure, (panel,) = panels(1, 1)
    for name in ("S = 1", "S = I/O load", "S = 1, longest-remaining"):
        loads, values = ratios(rows, name, measure)
        panel.plot(loads, values, ".", color=STRATEGIES[name][2], label=name)
    panel.axhline(1.0, color="#000000", linewidth=0.8)
    panel.set(xlabel="I/O load α", ylabel=f"{label} / first-fit")
    panel.legend(fontsize=7)
    return figure


def figure_iii_8(rows: Rows) -> Figure:
    """Figure III.8: makespan over that of first-fit by I/O load α, one I/O node."""
    return _relative(rows, "makespan", "makespan")


def figure_iii_9(rows: Rows) -> Figure:
    """Figure III.9: stretch (mean over packs of each pack's largest) over that of first-fit by I/O load α."""
    return _relative(rows, "pack_stretch", "stretch")


def figure_iii_10(rows: Rows) -> Figure:
    """Figure III.10: number of packs over that of first-fit by I/O load α."""
    return _relative(rows, "packs_run", "packs")


def figure_iii_11(rows: Rows) -> Figure:
    """Figure III.11: makespan over the one predicted without contention, by I/O load α."""
    figure, (panel,) = panels(1, 1)
    for name in ("first-fit", "S = I/O load", "S = 1"):
        strategy, policy, colour = STRATEGIES[name]
        own = chosen(rows, strategy, policy).values()
        panel.plot(
            [r["io_load"] for r in own],
            [r["makespan"] / r["predicted_makespan"] for r in own],
            ".",
            color=colour,
            label=name,
        )
    panel.set(xlabel="I/O load α", ylabel="makespan / predicted", yscale="log")
    panel.legend(fontsize=7)
    return figure


def shares(rows: Rows, name: str) -> dict[str, float]:
    """Mean node time executing, delayed and idle, over the node time of first-fit on the same batch.

    `rows` are those of the experiment "packs", by trial. `name` is one of `STRATEGIES`.
    """
    strategy, policy, _ = STRATEGIES[name]
    ours, base = chosen(rows, strategy, policy), chosen(rows, FIRST_FIT)
    return {
        part: float(np.mean([row[part] / base[batch]["capacity"] for batch, row in ours.items()]))
        for part in ("executing", "delayed", "idle")
    }


def figure_iii_12(rows: Rows) -> Figure:
    """Figure III.12: mean node time executing, delayed and idle, over that of first-fit."""
    figure, (panel,) = panels(1, 1)
    names = ("first-fit", "S = I/O load", "S = 1")
    bottom = np.zeros(len(names))
    for part, colour in (("executing", "#009e73"), ("delayed", "#d55e00"), ("idle", "#999999")):
        heights = np.array([shares(rows, name)[part] for name in names])
        panel.bar(names, heights, bottom=bottom, color=colour, label=part)
        bottom += heights
    panel.set_ylabel("node time / first-fit")
    panel.legend(fontsize=7)
    return figure


def figure_iii_13(rows: Rows) -> Figure:
    """Figure III.13: makespan of packs (S = 1) over that of first-fit on as many I/O nodes, by I/O load α."""
    figure, (panel,) = panels(1, 1)
    for count, colour in ((1, "#0072b2"), (3, "#e69f00"), (5, "#009e73")):
        loads, values = ratios(rows, "S = 1", "makespan", count)
        mean = float(np.exp(np.log(values).mean()))
        panel.plot(
            loads, values, ".", color=colour, label=f"{count} I/O node{'s' if count > 1 else ''}: geometric mean {mean:.2f}"
        )
    panel.axhline(1.0, color="#000000", linewidth=0.8)
    panel.set(xlabel="I/O load α", ylabel="makespan / first-fit")
    panel.legend(fontsize=7)
    return figure


def of_family(rows: Rows, family: str, mapping: str) -> Iterator[tuple[float, Mapping[str, Any]]]:
    """The wanted I/O load and what was measured, for each batch of the family.

    `rows` are those of the experiment "mapping", by trial. `family` is one of `FAMILIES`, `mapping` one of `MAPPINGS`.
    """
    kind, profile = FAMILIES[family]
    for trial, row in rows.items():
        if (trial.kind, dict(trial.parameters).get("profile"), trial.strategy) == (kind, profile, MAPPINGS[mapping]):
            yield trial.wanted, row


def over_time(rows: Rows, family: str, mapping: str, load: float, column: str) -> Floats:
    """The mean over the batches of a `column` over time, at equal parts of each one's makespan.

    `rows` are those of the experiment "mapping", by trial. `family`, `mapping` and the wanted I/O `load` choose the batches.
    """
    columns = [row["over_time"][column] for wanted, row in of_family(rows, family, mapping) if wanted == load]
    return np.asarray(np.mean(columns, axis=0))


def loads_of(rows: Rows) -> list[float]:
    """The wanted I/O loads of the `rows`, in rising order."""
    return sorted({trial.wanted for trial in rows})


def _utilization(rows: Rows, family: str) -> Figure:
    loads = loads_of(rows)
    figure, axes = panels(2, len(loads), share_y=True)
    for row, (column, kind) in enumerate((("utilization", "cumulative"), ("window_utilization", "sliding window"))):
        for number, load in enumerate(loads):
            panel = axes[row * len(loads) + number]
            for mapping in MAPPINGS:
                values = over_time(rows, family, mapping, load, column)
                panel.plot(np.linspace(0.0, 1.0, len(values) + 1)[1:], values, color=MAPPING_COLOURS[mapping], label=mapping)
            panel.set(title=f"load {load:g}, {kind}", xlabel="time / makespan", ylabel="utilization")
    axes[0].legend(fontsize=7)
    return figure


def figure_iv_3(rows: Rows) -> Figure:
    """Figure IV.3: utilization during the execution for I/O loads, MN batches; cumulative and in a sliding window."""
    return _utilization(rows, "MN")


def figure_iv_4(rows: Rows) -> Figure:
    """Figure IV.4: the same for MB batches."""
    return _utilization(rows, "MB")


def figure_iv_5(rows: Rows) -> Figure:
    """Figure IV.5: the same for BU batches."""
    return _utilization(rows, "BU")


def figure_iv_6(rows: Rows) -> Figure:
    """Figure IV.6: the same for NU batches."""
    return _utilization(rows, "NU")


def _stretch(rows: Rows, measure: str, label: str) -> Figure:
    figure, axes = panels(1, len(FAMILIES))
    for panel, family in zip(axes, FAMILIES, strict=True):
        for mapping in MAPPINGS:
            own = [(row["io_load"], row[measure]) for _, row in of_family(rows, family, mapping)]
            panel.plot(*zip(*own, strict=True), ".", color=MAPPING_COLOURS[mapping], markersize=3, alpha=0.6)
            by_load = {
                load: [row[measure] for wanted, row in of_family(rows, family, mapping) if wanted == load]
                for load in loads_of(rows)
            }
            measured = [
                np.mean([row["io_load"] for wanted, row in of_family(rows, family, mapping) if wanted == load])
                for load in by_load
            ]
            means = [np.mean(values) for values in by_load.values()]
            panel.plot(measured, means, color=MAPPING_COLOURS[mapping], label=mapping)
        panel.set(title=family, xlabel="I/O load α", ylabel=label)
    axes[0].legend(fontsize=7)
    return figure


def figure_iv_7(rows: Rows) -> Figure:
    """Figure IV.7: max stretch by the measured I/O load; points are batches, lines means over those of one wanted load."""
    return _stretch(rows, "max_stretch", "max stretch")


def figure_iv_8(rows: Rows) -> Figure:
    """Figure IV.8: mean stretch, likewise."""
    return _stretch(rows, "mean_stretch", "mean stretch")


def figure_iv_9(rows: Rows) -> Figure:
    """Figure IV.9: applications running, nodes and bandwidth used during the execution, MB and MN batches, all loads."""
    figure, axes = panels(2, 3)
    columns = (("running", "applications"), ("nodes", "nodes used"), ("window_bandwidth", "bandwidth used"))
    for row, family in enumerate(("MB", "MN")):
        for number, (column, label) in enumerate(columns):
            panel = axes[3 * row + number]
            for mapping in MAPPINGS:
                values = np.mean([over_time(rows, family, mapping, load, column) for load in loads_of(rows)], axis=0)
                panel.plot(np.linspace(0.0, 1.0, len(values) + 1)[1:], values, color=MAPPING_COLOURS[mapping], label=mapping)
            panel.set(title=family, xlabel="time / makespan", ylabel=label)
    axes[0].legend(fontsize=7)
    return figure


def figure_iv_10(rows: Rows) -> Figure:
    """Figure IV.10: mean stretch against the part of the node time that no job held, MB batches; shade: utilization."""
    figure, axes = panels(1, len(MAPPINGS), share_y=True)
    for panel, mapping in zip(axes, MAPPINGS, strict=True):
        own = [row for _, row in of_family(rows, "MB", mapping)]
        shade = panel.scatter(
            [row["idle"] / row["capacity"] for row in own],
            [row["mean_stretch"] for row in own],
            c=[row["utilization"] for row in own],
            vmin=0.0,
            vmax=1.0,
            s=12,
        )
        panel.set(title=mapping, xlabel="idle node time", ylabel="mean stretch")
    figure.colorbar(shade, ax=axes, label="utilization")
    return figure


def figure_v_3() -> Figure:
    """Figure V.3: a best partition of a set of seven applications, by volume v and load v/t; a colour a part."""
    applications = random_set(np.random.default_rng(53), 7)
    partition = best_partition(applications)
    figure, (panel,) = panels(1, 1)
    for part in partition.parts:
        volumes = [applications.volume[i] for i in part.members]
        loads = [applications.volume[i] / applications.time[i] for i in part.members]
        panel.plot(volumes, loads, "o", label=f"B_k = {part.bandwidth:.2f} B, stretch {part.stretch:.2f}")
    panel.set(xlabel="volume v", ylabel="load v/t", xscale="log", title=f"value {partition.value:.2f}")
    panel.legend(fontsize=7)
    return figure


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
    "figureIV.3": ("mapping", figure_iv_3),
    "figureIV.4": ("mapping", figure_iv_4),
    "figureIV.5": ("mapping", figure_iv_5),
    "figureIV.6": ("mapping", figure_iv_6),
    "figureIV.7": ("mapping", figure_iv_7),
    "figureIV.8": ("mapping", figure_iv_8),
    "figureIV.9": ("mapping", figure_iv_9),
    "figureIV.10": ("mapping", figure_iv_10),
}
"""Item → the experiment it needs and what draws it."""
