"""Placing applications on I/O resources: many small sets under all heuristics, one large set, and how tcpu grows."""

from __future__ import annotations

import time

import numpy as np

from benchmarks.report import Report, Results, verdict
from penstock.engine.scenarios import simulate_placement
from penstock.model import Application, Curve, Platform, Workload
from penstock.planning.placement.allocation import Characteristics, tcpu
from penstock.planning.placement.heuristics import heuristics

SETS = 100
WANTED = 30.0
"""The most seconds for all heuristics on all sets of 40 applications on 20 resources."""


def run(report: Report, *, quick: bool) -> Results:
    """Seconds of each part."""
    generator = np.random.default_rng(1)
    tcpu(Characteristics.of(applications(2, 2, generator)))
    sets = SETS // 10 if quick else SETS
    small = _small(report, [applications(40, 20, generator) for _ in range(sets)])
    large = _large(report, applications(*((100, 200) if quick else (500, 1_000)), generator))
    sizes = ((40, 20), (160, 80), (320, 320)) if quick else ((40, 20), (160, 80), (640, 320), (500, 1_000))
    growth = _growth(report, sizes, generator)
    return {"small": small, "large": large, "growth": growth}


def applications(size: int, resources: int, generator: np.random.Generator, *, rising: bool = False) -> Workload:
    """Applications of 2 to 20 phases in 5,000 s with curves measured at 1, 2, 4 and 8; the more resources, the more I/O.

    `rising` curves are measured at every count and gain with each, which is the most work for tcpu.
    """
    made = []
    for index in range(size):
        phases = int(generator.integers(2, 21))
        ratio = float(generator.uniform(0.0, min(0.9, 1.4 * resources / size)))
        if rising:
            steps = np.cumsum(generator.uniform(0.1, 1.0, resources))
            curve = Curve.of({n + 1: float(rate) for n, rate in enumerate(steps)})
        else:
            curve = Curve.of({n: float(generator.uniform(0.5, 3.0)) for n in (1, 2, 4, 8)})
        volume = 5_000.0 * ratio * float(curve.bandwidths[0]) / phases
        chain = [("work", 5_000.0 * (1.0 - ratio) / phases), ("io", volume)] * phases
        made.append(Application.of(f"a{index}", chain, nodes=int(generator.integers(1, 30)), curve=curve))
    return Workload(Platform(1.0, resources=resources), tuple(made))


def _small(report: Report, workloads: list[Workload]) -> Results:
    simulate_placement(workloads[0], [(0,)] * len(workloads[0].applications))  # compiled before the clock runs
    begun = time.perf_counter()
    engine, events = 0.0, 0
    for workload in workloads:
        known = Characteristics.of(workload)
        for heuristic in heuristics(len(known), known.resources):
            result = simulate_placement(workload, heuristic.place(known))
            engine += result.seconds
            events += result.events
    seconds = time.perf_counter() - begun
    report.show(
        f"All 16 heuristics on {len(workloads)} sets of 40 applications and 20 I/O resources",
        ("runs", "I/O events", "seconds", "in the engine", "events a second there"),
        [
            (
                f"{16 * len(workloads):,}",
                f"{events:,}",
                verdict(seconds, WANTED * len(workloads) / SETS),
                f"{engine:.3g}",
                f"{events / engine:,.3g}",
            )
        ],
    )
    return {"sets": len(workloads), "seconds": seconds, "engine_seconds": engine, "events": events}


def _large(report: Report, workload: Workload) -> Results:
    known = Characteristics.of(workload)
    cells = []
    for heuristic in heuristics(len(known), known.resources):
        begun = time.perf_counter()
        placement = heuristic.place(known)
        placing = time.perf_counter() - begun
        result = simulate_placement(workload, placement)
        seconds = time.perf_counter() - begun - placing
        cells.append({"heuristic": heuristic.name, "placing": placing, "simulating": seconds, "events": result.events})
    report.show(
        f"{len(known):,} applications on {known.resources:,} I/O resources",
        ("heuristic", "seconds to place", "to simulate", "I/O events"),
        [(c["heuristic"], f"{c['placing']:.3g}", f"{c['simulating']:.3g}", f"{c['events']:,}") for c in cells],
    )
    return {"cells": cells}


def _growth(report: Report, sizes: tuple[tuple[int, int], ...], generator: np.random.Generator) -> Results:
    cells = []
    for size, resources in sizes:
        known = Characteristics.of(applications(size, resources, generator, rising=True))
        known.stress, known.cpu_load, known.least_stress  # noqa: B018  (made before the clock runs)
        begun = time.perf_counter()
        counts = tcpu(known)
        seconds = time.perf_counter() - begun
        steps = int((counts - known.least_stress).sum())
        cells.append({"applications": size, "resources": resources, "steps": steps, "seconds": seconds})
    report.show(
        "tcpu on curves that gain with every resource",
        ("applications", "I/O resources", "resources added", "seconds"),
        [(f"{c['applications']:,}", f"{c['resources']:,}", f"{c['steps']:,}", f"{c['seconds']:.3g}") for c in cells],
    )
    return {"cells": cells}
