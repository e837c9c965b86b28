"""Rows of campaigns made up for tests: every policy does as the paper says it does."""

import itertools
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.campaign import SCHEMA
from penstock.papers.reproducing import Results
from penstock.papers.revisiting.experiments import (
    MACHINES,
    OTHER_PARAMETERS,
    OTHERS_AT,
    POLICIES,
    PRESSURES,
    STARTS,
    WORKLOADS,
    YIELD_DRIVEN,
)

Outcome = dict[str, float]


def table(rows: list[dict[str, Any]]) -> pa.Table:
    """The rows in the schema of campaigns, what is not given filled in."""
    names = SCHEMA.names
    full = [{name: row.get(name) for name in names} for row in rows]
    return pa.Table.from_pylist(full, schema=SCHEMA)


def row(
    policy: str, parameters: dict[str, Any], seed: int, outcome: Outcome, window: int = 0, **more: Any
) -> dict[str, Any]:
    parts = {"policy": policy, "parameters": json.dumps(parameters, sort_keys=True), "seed": seed, "window": window}
    return {"key": f"{policy}{parameters}{seed}", "kind": "made-up", "seconds": 1e-4, **parts, **outcome, **more}


def as_claimed(policy: str, pressure: float) -> Outcome:
    """Objectives that bear out claims R1 to R4 at this pressure."""
    losing = {"fair-share": 0.18, "fcfs": 0.6, "set-10": 0.35, "greedy-com": 0.55}
    slightly = {"look-ahead-greedy-yield": 0.004, "best-next-event": 0.008}
    min_yield = 1.0 - losing.get(policy, 0.1 + slightly.get(policy, 0.0)) * pressure / 1.1
    shift = {"fcfs": -0.1, "greedy-com": 0.05}.get(policy, 0.001)
    if policy in YIELD_DRIVEN and pressure == PRESSURES[-1]:
        shift = -0.01
    if policy == "fair-share":
        shift = 0.0
    efficiency = 1.0 - 0.1 * pressure + shift
    return {"min_yield": min_yield, "efficiency": efficiency, "utilization": efficiency - 0.02}


BY_FRACTION = ("fair-share", "best-next-event", "look-ahead-greedy-yield")


def sorted_yields(policy: str) -> np.ndarray:
    """Yields of 60 applications that bear out R5 and R6, by rank of ω, or of φ for those of `BY_FRACTION`."""
    rank = np.linspace(0.0, 1.0, 60)
    if policy == "fair-share":
        return 0.95 - 0.1 * rank
    if policy == "fcfs":
        return 0.4 + 0.5 * rank
    if policy == "greedy-com":
        return 0.95 - 0.3 * rank
    if policy in ("best-next-event", "look-ahead-greedy-yield"):
        return np.where(rank < 0.16, 0.93, 0.9)
    if policy == "set-10":
        return 0.9 - 0.1 * np.repeat([0, 1, 2], 20) + 0.05 * np.tile(np.linspace(0.0, 1.0, 20), 3)
    return np.full(60, 0.9)


def pressure_results(
    change: Callable[[str, float, Outcome], Outcome] = lambda _policy, _pressure, outcome: outcome,
) -> Results:
    rows = []
    ranks = np.arange(60.0)
    mixed = np.random.default_rng(0).permutation(60)
    for pressure in PRESSURES:
        for policy in POLICIES:
            for seed in range(3):
                outcome = change(policy, pressure, as_claimed(policy, pressure))
                # ω and φ have nothing to do with each other: what follows one is flat by the other.
                orders = (mixed, ranks) if policy in BY_FRACTION else (ranks, mixed)
                omegas, fractions = (order.astype(float) for order in orders)
                lists = {"yields": sorted_yields(policy), "mean_iterations": omegas, "io_fractions": fractions}
                parameters = {"pressure": pressure, "small": 20, "sigma": 0.5, "noise": 0.5}
                rows.append(row(policy, parameters, seed, outcome, **{k: list(v) for k, v in lists.items()}))
    return Results.of(table(rows))


def other_results(seeds: int = 2) -> Results:
    rows = []
    for pressure in OTHERS_AT:
        for name, values in OTHER_PARAMETERS.items():
            for value in values:
                for policy in POLICIES:
                    for seed in range(seeds):
                        drop = 0.1 * value if name == "sigma" and policy in ("fcfs", "set-10") else 0.0
                        parameters = {"pressure": pressure, "small": 20, "sigma": 0.5, "noise": 0.5, name: value}
                        rows.append(row(policy, parameters, seed, {"min_yield": 0.9 + 0.001 * seed - drop}))
    return Results.of(table(rows))


GAINS = {
    "look-ahead-greedy-yield": 0.1,
    "periodic-greedy-yield": 0.09,
    "best-next-event": 0.08,
    "greedy-yield": 0.05,
    "fcfs": 0.02,
    "set-10": 0.02,
}
EFFICIENCY = {"greedy-com": 0.04, "fair-share": 0.0, "look-ahead-greedy-yield": 0.01, "best-next-event": 0.005}
SECONDS = {"look-ahead-greedy-yield": 0.02, "best-next-event": 2.0}


def apex_rows(seeds: int, **more: Any) -> Iterator[dict[str, Any]]:
    """Windows in which everyone does as the paper says; the last one on every machine has nobody in anyone's way."""
    for workload, step, seed, window in itertools.product(WORKLOADS, range(len(MACHINES)), range(seeds), range(8)):
        pressure = 0.12 + 0.01 * window + 0.12 * step
        if workload == "trilab" and step == 0 and window == 4:
            pressure = 1.05  # one window saturates the link of Cielo
        elif workload == "trilab" and step == 0:
            pressure = 0.02
        untouched = workload == "nersc" and window == 4
        slope = 0.1 if workload == "nersc" else 0.3 + 0.001 * seed
        fair = 1.0 if untouched else 1.0 - slope * pressure - 0.001 * seed
        for policy in POLICIES:
            gain = 0.0 if untouched or policy == "fair-share" else GAINS.get(policy, 0.0) + 0.001 * seed
            if policy == "greedy-com":
                gain = -0.1 if workload == "trilab" and pressure > 1.0 else 0.0
            elif policy in ("fcfs", "set-10", "greedy-yield") and workload == "nersc" and window == 0:
                gain = -0.02
            efficiency = 0.95 - 0.1 * pressure + EFFICIENCY.get(policy, -0.02)
            if policy == "periodic-greedy-yield" and workload == "nersc":
                efficiency += 0.03
            outcome = {"min_yield": fair * (1.0 + gain * pressure), "efficiency": efficiency, "pressure": pressure}
            outcome |= {"utilization": efficiency, "decisions": 200 if policy == "periodic-greedy-yield" else 100}
            parameters = {"workload": workload, "machine": MACHINES[step], "count": 5, **more}
            made = row(policy, parameters, seed, outcome, window)
            yield {**made, "seconds": SECONDS.get(policy, 0.001)}


def apex_results(seeds: int = 2) -> Results:
    return Results.of(table(list(apex_rows(seeds))))


def start_results() -> Results:
    return Results.of(table([row for start in STARTS for row in apex_rows(1, start=start)]))
