"""How the time of an event grows with the number of applications at equal pressure.

Each cell of the table is one run: warmed up under balance, or the cell's policy where that cannot take over from another, so
that the applications that wait have gathered, then timed under the cell's policy in slices of time that double until the
window or the cell's budget of seconds is used up. As many applications need short windows, the traces are cut so that the
pressure is there from the first second on.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path

import numpy as np

from benchmarks.elsewhere import Elsewhere, elsewhere
from benchmarks.instance import PRESSURE, SEED
from benchmarks.report import Report, Results
from penstock.engine import Result, Run
from penstock.engine.terms import NEVER
from penstock.model import Phases, Workload
from penstock.policies.registry import REGISTRY
from penstock.workloads import Synthetic, synthetic

HORIZONS = {60: 2_000_000.0, 600: 400_000.0, 6_000: 80_000.0, 60_000: 20_000.0}
"""Seconds for each number of applications: long enough for operations to queue, short enough to bound the events."""
WARM_UP = 0.25
"""Part of the window that is run before the clock is."""
FIRST_SLICE = 1e-4
"""Part of the window of the first slice, a few events to a few tens."""


@dataclass(frozen=True)
class Cell:
    """One policy at one number of applications."""

    policy: str
    applications: int
    events: int
    seconds: float
    mean_active: float

    @property
    def ns_per_event(self) -> float:
        """Mean over the events of the cell."""
        return 1e9 * self.seconds / self.events


def run(report: Report, folder: Path, *, quick: bool, against: Path | None = None) -> Results:
    """The table, the plot, and the cells; a table of another tree too."""
    with elsewhere(against) as other:
        cells, before = _cells(report, other, quick=quick)
    _print(report, "Growth: µs an event (mean number of active ones), exponent over the active", cells)
    if before:
        _print(
            report,
            "Growth before: µs an event (mean number of active ones), times this tree's; exponent",
            before,
            beside=cells,
        )
    _plot(cells, folder)
    report.console.print(f"plot: {folder / 'growth.png'}")
    return {
        "cells": [asdict(cell) for cell in cells],
        "exponents": {policy: _exponent(cells, policy) for policy in REGISTRY},
        "before": [asdict(cell) for cell in before],
    }


def _cells(report: Report, other: Elsewhere | None, *, quick: bool) -> tuple[list[Cell], list[Cell]]:
    """All cells, and those of another tree, if there is one."""
    cells, before = [], []
    for size in HORIZONS:
        if quick and size > 6_000:
            continue
        for policy in REGISTRY:
            with report.console.status(f"growth: {policy}, {size:,} applications"):
                this, *others = _fastest(other, size, policy, budget=0.3 if quick else 2.5)
            cells.append(this)
            before += others
    return cells, before


def _fastest(other: Elsewhere | None, size: int, policy: str, budget: float) -> list[Cell]:
    """The fastest of three runs of the cell, or the only one where that has used its budget; and the same of another tree,
    in turn.
    """
    trees = [cell, *([partial(other, cell)] if other else [])]
    turns: list[list[Cell]] = []
    while len(turns) < 3 and sum(turn[0].seconds for turn in turns) < budget / 2:
        turns.append([Cell(**measured(size, policy, budget)) for measured in trees])
    return [min(runs, key=lambda run: run.ns_per_event) for runs in zip(*turns, strict=True)]


def cell(size: int, policy: str, budget: float) -> Results:
    """The fields of one run of a cell."""
    return asdict(_measure(under_pressure(size, HORIZONS[size]), policy, budget))


@lru_cache(maxsize=1)
def under_pressure(size: int, horizon: float) -> Workload:
    """A synthetic trace whose applications go from their lead, uniform over an iteration, straight into I/O.

    Else nobody would post before a whole iteration has passed, which is longer than these windows for the big ones. The
    window is half the horizon, so that hardly anyone ends in it.
    """
    trace = synthetic(Synthetic(PRESSURE, small=size // 3, applications=size, horizon=horizon), SEED)
    applications = tuple(
        replace(application, phases=Phases(application.phases.kinds[1:], application.phases.amounts[1:]))
        for application in trace.applications
    )
    return replace(trace, applications=applications, window=(0.0, horizon / 2))


def _measure(workload: Workload, policy: str, budget: float) -> Cell:
    assert workload.window is not None
    end = workload.window[1]
    # Periodic decisions are counted from the begin of the window, virtual time too, and orders are kept from there on: these
    # warm up by themselves.
    one = REGISTRY[policy]
    alone = one.periodic or one.proportional or getattr(one, "order", None) is not None  # older trees keep no order
    run = Run(workload, policy if alone else "balance")
    _advance(run, WARM_UP * end)
    run.policy = one
    _advance(run, (WARM_UP + FIRST_SLICE) * end)
    before = run.result()
    seconds = _advance_within(run, end, budget)
    after = run.result()
    return Cell(
        policy=policy,
        applications=len(workload.applications),
        events=after.events - before.events,
        seconds=seconds,
        mean_active=(_posted_seconds(after) - _posted_seconds(before)) / (after.end - before.end),
    )


def _advance(run: Run, until: float) -> float:
    """Go on to the date; the seconds in the engine. An older tree stops at every end of an application, and counts it."""
    before = run.result().seconds
    if hasattr(run, "go"):
        run.go(until, NEVER)
    while run.now < until:
        run.advance(until)
    return run.result().seconds - before


def _advance_within(run: Run, end: float, budget: float) -> float:
    """Go on in slices, each as long as all before, while half the budget of seconds is left."""
    begin, part, seconds = run.now, FIRST_SLICE * end, 0.0
    while run.now < end and seconds < budget / 2:
        seconds += _advance(run, min(end, begin + part))
        part *= 2.0
    return seconds


def _posted_seconds(result: Result) -> float:
    """Seconds with an operation posted, of all applications together."""
    return sum(application.waiting + application.transferring for application in result.applications)


def _exponent(cells: list[Cell], policy: str) -> float:
    """p of the best fit of time an event ~ active^p to the cells with 600 applications or more."""
    mine = [cell for cell in cells if cell.policy == policy and cell.applications >= 600]
    active, times = (np.log([getattr(cell, name) for cell in mine]) for name in ("mean_active", "ns_per_event"))
    return float(np.polyfit(active, times, 1)[0])


def _print(report: Report, title: str, cells: list[Cell], beside: list[Cell] | None = None) -> None:
    """The cells; where there are others to see them beside, with the times that these take of those."""
    sizes = sorted({cell.applications for cell in cells})
    found = {(cell.policy, cell.applications): cell for cell in cells}
    others = {(cell.policy, cell.applications): cell for cell in beside or ()}
    report.show(
        title,
        ("policy", *(f"{size:,}" for size in sizes), "exponent"),
        (
            (
                policy,
                *(_text(found[policy, size], others.get((policy, size))) for size in sizes),
                f"{_exponent(cells, policy):.2f}",
            )
            for policy in REGISTRY
        ),
    )


def _text(cell: Cell, other: Cell | None) -> str:
    times = f", {cell.ns_per_event / other.ns_per_event:.2f}" if other else ""
    return f"{cell.ns_per_event / 1e3:,.3g} ({cell.mean_active:,.0f}){times}"


def _plot(cells: list[Cell], folder: Path) -> None:
    """Time of an event over the number of applications and over the number of active ones, both logarithmic."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), sharey=True, layout="constrained")
    for policy in REGISTRY:
        mine = [cell for cell in cells if cell.policy == policy]
        times = [cell.ns_per_event / 1e3 for cell in mine]
        axes[0].loglog([cell.applications for cell in mine], times, marker="o", label=policy)
        axes[1].loglog([cell.mean_active for cell in mine], times, marker="o")
    axes[0].set(xlabel="applications", ylabel="µs an event", title="over all applications")
    axes[1].set(xlabel="active applications (mean)", title="over those that are active")
    for axis in axes:
        axis.grid(alpha=0.3)
    axes[0].legend(fontsize="small")
    folder.mkdir(parents=True, exist_ok=True)
    for extension in ("png", "svg"):
        figure.savefig(folder / f"growth.{extension}", dpi=90)
    plt.close(figure)
