"""Figures II.4 to II.6 and III.4 to III.6 of 001."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.numeric.arrays import Floats
from penstock.papers.dash.experiments import BEST_EFFORT, EIGHT, LIST, ML_NOISES, OPTIMAL, PERIODIC
from penstock.papers.drawing import binned, panels
from penstock.papers.reproducing import Results

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
    """The I/O weight W of the workload of each row: the sum of the parts of their time that are I/O (001 §II.D.3)."""
    return np.array([fractions.sum() for fractions in rows.lists("io_fractions")])


def relative(results: Results, policy: str, to: str, **parameters: object) -> tuple[Floats, Floats]:
    """W, and the makespan over that of another policy, for each workload."""
    ours, theirs = results.where(policy, **parameters).beside(results.where(to, **parameters))
    return weights(ours), ours.column("makespan") / theirs.column("makespan")


def figure_ii_4(results: Results) -> Figure:
    """Figure II.4: makespan of the general case by I/O weight W, relative to best-effort and absolute; binned means."""
    figure, (left, right) = panels(1, 2)
    _relative_to_best_effort(left, results, noise=0.0)
    for policy in (BEST_EFFORT, *LIST, *PERIODIC):
        rows = results.where(policy, noise=0.0)
        binned(right, weights(rows), rows.column("makespan"), COLOURS[policy], policy, BINS)
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
    for policy in (*LIST, *PERIODIC):
        binned(panel, *relative(results, policy, BEST_EFFORT, noise=noise), COLOURS[policy], policy, BINS)
    panel.axhline(1.0, color=COLOURS[BEST_EFFORT], linewidth=0.8)
    panel.set(xlabel="I/O weight W", ylabel="makespan / best-effort")
    panel.legend(fontsize=7)


def figure_ii_6(results: Results) -> Figure:
    """Figure II.6: the machine-learning case, makespan over that of hierarchical round-robin without and with 20 % noise."""
    figure, axes = panels(1, 2, share_y=True)
    for panel, noise in zip(axes, ML_NOISES, strict=True):
        for policy in (BEST_EFFORT, "fifo"):
            binned(panel, *relative(results, policy, OPTIMAL, noise=noise), COLOURS[policy], policy, BINS)
        panel.set(title=f"noise {noise:.0%}", xlabel="I/O weight W", ylabel="makespan / hierarchical round-robin")
        panel.legend(fontsize=7)
    return figure


def stretches(results: Results, policy: str) -> tuple[Floats, np.ndarray]:
    """The numbers of batches, and the stretch of each application (columns) for each (rows)."""
    rows = results.where(policy)
    batches = np.array([parameters["batches"] for parameters in rows.parameters])
    order = np.argsort(batches)
    return batches[order], 1.0 / np.array(list(rows.lists("yields")))[order]


def figure_iii_4(results: Results) -> Figure:
    """Figure III.4: stretch of each of the five applications by the number of iteration batches, for each list policy."""
    figure, axes = panels(2, 4, share_y=True)
    for panel, policy in zip(axes, EIGHT, strict=True):
        batches, values = stretches(results, policy)
        for application in range(values.shape[1]):
            panel.plot(batches, values[:, application], marker=".", label=f"application {application + 1}")
        panel.set(title=policy, xlabel="iteration batches", ylabel="stretch", xscale="log")
    axes[0].legend(fontsize=7)
    return figure


def figure_iii_5(results: Results) -> Figure:
    """Figure III.5: the largest stretch by the number of iteration batches."""
    figure, (panel,) = panels(1, 1)
    for policy in EIGHT:
        batches, values = stretches(results, policy)
        panel.plot(batches, values.max(axis=1), marker=".", color=COLOURS[policy], label=policy)
    panel.set(xlabel="iteration batches", ylabel="max stretch", xscale="log")
    panel.legend(fontsize=7)
    return figure


def figure_iii_6(results: Results) -> Figure:
    """Figure III.6: makespan over that of fifo by the number of iteration batches."""
    figure, (panel,) = panels(1, 1)
    for policy in EIGHT:
        ours, fifo = results.where(policy).beside(results.where("fifo"))
        batches = np.array([parameters["batches"] for parameters in ours.parameters])
        order = np.argsort(batches)
        ratio = ours.column("makespan") / fifo.column("makespan")
        panel.plot(batches[order], ratio[order], marker=".", color=COLOURS[policy], label=policy)
    panel.set(xlabel="iteration batches", ylabel="makespan / fifo", xscale="log")
    panel.legend(fontsize=7)
    return figure


FIGURES: Final[Mapping[str, tuple[str, Callable[[Results], Figure]]]] = {
    "figureII.4": ("general", figure_ii_4),
    "figureII.5": ("general", figure_ii_5),
    "figureII.6": ("machine-learning", figure_ii_6),
    "figureIII.4": ("jacobi", figure_iii_4),
    "figureIII.5": ("jacobi", figure_iii_5),
    "figureIII.6": ("jacobi", figure_iii_6),
}
"""Item → the campaign it needs and what draws it."""
