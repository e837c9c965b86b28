"""Replays beside a burst buffer: time an event, and how it grows with the number of applications."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.report import Report, Results, verdict
from benchmarks.timing import fastest
from penstock.engine import Result
from penstock.engine.scenarios import replay
from penstock.model import Application, Phases, Platform, Workload
from penstock.model.application import READ, WORK, WRITE

SEED = 1
LOAD = 0.8
BANDWIDTH = 160e9
CLASSES = np.array([(65, 16e3, 3200e9), (21, 4e3, 2000e9), (8, 32e3, 44800e9), (6, 30e3, 3750e9)])
"""Frequency, cores and bytes of a checkpoint of the four applications of 004 Table 1; a core has 0.02 GB/s (§7.1)."""
WANTED = 1e6
"""Events a second with 30 applications."""


def run(report: Report, *, quick: bool) -> Results:
    """Events a second for shares and pools of half of what all checkpoints need, and without a buffer."""
    operations = 6_000 if quick else 30_000
    cells = []
    for size, reads in ((30, False), (300, False), (3_000, False), (30, True), (300, True)):
        workload = checkpointing(size, operations // size, reads=reads)
        for name, options in _buffers(workload).items():
            with report.console.status(f"replay: {size} applications, {name}"):
                cells.append(_cell(workload, size, reads, name, options))
    _print(report, cells)
    return {"cells": cells}


def checkpointing(count: int, iterations: int, *, reads: bool = False) -> Workload:
    """Applications of the four classes that all start at 0 and write a checkpoint after each piece of work, which varies by
    15 %, so that together they use LOAD of B; with `reads`, they read a tenth of a checkpoint before each piece of work.
    """
    random = np.random.default_rng(SEED)
    _, cores, volume = CLASSES[random.choice(len(CLASSES), count, p=CLASSES[:, 0] / CLASSES[:, 0].sum())].T
    parts = 3 if reads else 2
    period = volume.sum() * (1.1 if reads else 1.0) / (BANDWIDTH * LOAD)
    applications = []
    for index in range(count):
        amounts = np.empty((iterations, parts))
        amounts[:, -2] = period * random.uniform(0.85, 1.15, iterations)
        amounts[:, -1] = volume[index]
        amounts[:, :-2] = 0.1 * volume[index]
        kinds = np.tile([READ, WORK, WRITE][-parts:], iterations)
        chain = Phases(kinds, amounts.ravel())
        lead = float(random.uniform(0.0, period))
        applications.append(Application(f"a{index}", chain, lead=lead, bandwidth=float(cores[index]) * 0.02e9))
    return Workload(Platform(BANDWIDTH), tuple(applications))


def _buffers(workload: Workload) -> dict[str, dict[str, Any]]:
    halves = np.array([0.5 * application.phases.amounts.max() for application in workload.applications])
    return {
        "shares": {"shares": halves},
        "pool": {"pool": float(halves.sum()) / 4.0},
        "none": {"pool": 0.0},
    }


def _cell(workload: Workload, size: int, reads: bool, name: str, options: dict[str, Any]) -> Results:
    seconds = fastest({name: lambda: replay(workload, **options).seconds}, 3)[name]
    found = replay(workload, **options, trace=True)
    return {
        "applications": size,
        "operations": "reads and writes" if reads else "writes",
        "buffer": name,
        "events": found.events,
        "decisions": found.decisions,
        "seconds": seconds,
        "events_per_second": found.events / seconds,
        "mean_moving": _mean_moving(found),
        "max_stretch": found.max_stretch,
    }


def _mean_moving(found: Result) -> float:
    """How many transfers to and from the I/O system there are after an event, on the mean."""
    assert found.buffer is not None
    assert found.buffer.fill is not None
    fill = found.buffer.fill
    rows = fill.rows(np.lexsort((fill.date, fill.application)))
    moving = (rows.write_rate > 0.0).astype(np.int64) + (rows.read_rate > 0.0)
    first = np.diff(rows.application, prepend=-1) != 0
    change = np.where(first, moving, np.diff(moving, prepend=0))
    _, place = np.unique(rows.date, return_inverse=True)
    return float(np.cumsum(np.bincount(place, change)).mean())


def _print(report: Report, cells: list[Results]) -> None:
    report.show(
        "Replays beside a burst buffer, best-effort (fastest of three)",
        ("applications", "operations", "buffer", "events", "moving at once", "ns an event", "events a second"),
        (
            (
                f"{cell['applications']:,}",
                cell["operations"],
                cell["buffer"],
                f"{cell['events']:,}",
                f"{cell['mean_moving']:.1f}",
                f"{1e9 * cell['seconds'] / cell['events']:,.0f}",
                _rate(cell),
            )
            for cell in cells
        ),
    )


def _rate(cell: Results) -> str:
    if cell["applications"] > 30:
        return f"{cell['events_per_second']:.3g}"
    return verdict(cell["events_per_second"], WANTED, at_least=True)
