"""Scheduling jobs: a batch of many I/O events, and a month of a busy machine as a stream of many jobs."""

from __future__ import annotations

import numpy as np

from benchmarks.report import Report, Results, verdict
from penstock.model import Application, Platform, Workload
from penstock.planning.batch import schedule
from penstock.planning.schedule import Schedule
from penstock.planning.strategy import BatchStrategy
from penstock.workloads import Uniform, uniform
from penstock.workloads.batches import periodic

SEED = 1
BATCH = (
    BatchStrategy("first-fit"),
    BatchStrategy("pack"),
    BatchStrategy("pack", backfill=True),
    BatchStrategy("list", backfill=True),
)
STREAM = (
    BatchStrategy("pack"),
    BatchStrategy("pack", backfill=True),
    BatchStrategy("list"),
    BatchStrategy("list", backfill=True),
)
WANTED = {"batch": 30.0, "stream": 60.0}
"""The most seconds that a strategy may take."""


def run(report: Report, *, quick: bool) -> Results:
    """Seconds and events a second of some strategies on both."""
    iterations, jobs = (1_000, 2_400) if quick else (10_000, 24_000)
    workloads = {"batch": (batch(iterations), BATCH), "stream": (stream(jobs), STREAM)}
    cells = []
    for name, (workload, strategies) in workloads.items():
        for strategy in strategies:
            with report.console.status(f"pack: {name}, {strategy.label}"):
                cells.append(_cell(name, len(workload.applications), schedule(workload, strategy, policy="fifo")))
    _print(report, cells)
    return {"cells": cells}


def batch(iterations: int) -> Workload:
    """500 jobs of `iterations` iterations each, at an I/O load of about 1, for 2,048 nodes (001 §IV.B.4)."""
    drawn = Uniform(1.0, fewest=500, most=500, shortest=iterations, longest=iterations)
    return uniform(drawn, SEED).workload


def stream(count: int, nodes: int = 2048, busy: float = 0.95, iterations: int = 100) -> Workload:
    """Jobs of 1 to 512 nodes and some minutes to a day, released evenly over as long as `busy` of the nodes would take.

    A job on all nodes would spend about half of its time in I/O, a smaller one less in proportion: the I/O load is 0.5.
    """
    random = np.random.default_rng(SEED)
    sizes = 2 ** random.integers(0, 10, count)
    seconds = random.lognormal(8.0, 1.2, count)
    span = float((sizes * seconds).sum()) / (nodes * busy)
    releases = np.sort(random.uniform(0.0, span, count))
    fractions = np.clip(0.5 * sizes / nodes * random.uniform(0.0, 2.0, count), 0.0, 0.9)
    rows = zip(sizes.tolist(), seconds.tolist(), releases.tolist(), fractions.tolist(), strict=True)
    applications = (
        Application(
            f"j{index}",
            periodic(length * (1.0 - fraction) / iterations, length * fraction / iterations, iterations),
            nodes=size,
            release=release,
        )
        for index, (size, length, release, fraction) in enumerate(rows)
    )
    return Workload(Platform(1.0, nodes=nodes), tuple(applications))


def _cell(name: str, jobs: int, found: Schedule) -> Results:
    return {
        "workload": name,
        "jobs": jobs,
        "strategy": found.strategy.label,
        "events": found.events,
        "seconds": found.seconds,
        "engine_seconds": found.engine_seconds,
        "events_per_second": found.events / found.seconds,
        "io_load": found.io_load,
    }


def _print(report: Report, cells: list[Results]) -> None:
    report.show(
        "Packs and lists (one run each)",
        ("workload", "strategy", "jobs", "I/O events", "seconds", "in the engine", "events a second"),
        (
            (
                cell["workload"],
                cell["strategy"],
                f"{cell['jobs']:,}",
                f"{cell['events']:,}",
                verdict(cell["seconds"], WANTED[cell["workload"]]),
                f"{cell['engine_seconds']:.3g}",
                f"{cell['events_per_second']:,.3g}",
            )
            for cell in cells
        ),
    )
