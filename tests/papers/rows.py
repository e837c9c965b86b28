"""Rows of campaigns made up for tests: every policy does as the paper says it does."""

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
    POLICIES,
    PRESSURES,
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


def sorted_yields(policy: str) -> np.ndarray:
    """Yields of 60 applications by rank of ω (and of φ, for fair-share) that bear out R5 and R6."""
    rank = np.linspace(0.0, 1.0, 60)
    if policy == "fcfs":
        return 0.4 + 0.5 * rank
    if policy == "greedy-com":
        return 0.95 - 0.3 * rank
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
                # By φ, fair-share falls with the rank; by ω, an order without relation to φ, it is flat.
                yields = 0.95 - 0.1 * ranks / 60 if policy == "fair-share" else sorted_yields(policy)
                omegas = mixed.astype(float) if policy == "fair-share" else ranks
                lists = {"yields": yields, "mean_iterations": omegas, "io_fractions": ranks}
                parameters = {"pressure": pressure, "small": 20, "sigma": 0.5, "noise": 0.5}
                rows.append(row(policy, parameters, seed, outcome, **{k: list(v) for k, v in lists.items()}))
    return Results.of(table(rows))


def other_results() -> Results:
    rows = []
    for name, values in OTHER_PARAMETERS.items():
        for value in values:
            for policy in POLICIES:
                drop = 0.1 * value if name == "sigma" and policy in ("fcfs", "set-10") else 0.0
                parameters = {"pressure": 0.8, "small": 20, "sigma": 0.5, "noise": 0.5, name: value}
                rows.append(row(policy, parameters, 0, {"min_yield": 0.9 - drop}))
    return Results.of(table(rows))


def apex_rows() -> Iterator[dict[str, Any]]:
    gains = {"look-ahead-greedy-yield": 0.1, "periodic-greedy-yield": 0.09, "best-next-event": 0.08}
    efficiency = {"greedy-com": 0.04, "fair-share": 0.0, "look-ahead-greedy-yield": 0.01, "best-next-event": 0.005}
    for workload in WORKLOADS:
        for step, machine in enumerate(MACHINES):
            for window in range(5):
                pressure = 0.12 + 0.01 * window + 0.125 * step
                fair = 1.0 - (0.1 if workload == "nersc" else 0.3) * pressure
                for policy in POLICIES:
                    outcome = {
                        "min_yield": fair * (1.0 + gains.get(policy, 0.0) * pressure),
                        "efficiency": 0.95 - 0.1 * pressure + efficiency.get(policy, -0.02),
                        "pressure": pressure,
                    }
                    outcome["utilization"] = outcome["efficiency"]
                    yield row(policy, {"workload": workload, "machine": machine, "count": 5}, 0, outcome, window)


def apex_results() -> Results:
    return Results.of(table(list(apex_rows())))
