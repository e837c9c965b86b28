"""What is run for paper 000 at three scales: the campaigns of §6, and the instances of Table 2.

Table 2 has lower bounds of competitive ratios. Each is measured on an instance made for it, as m grows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final

from penstock.campaign import Campaign, Cell
from penstock.engine import Result, simulate
from penstock.policies import REGISTRY, expand, find
from penstock.policies.policy import SHARING
from penstock.theory.adversaries import LAST_LISTED_FIRST, against, in_step, late_comer, one_behind

POLICIES: Final = (
    "fair-share",
    "fcfs",
    "set-10",
    "greedy-yield",
    "greedy-com",
    "look-ahead-greedy-yield",
    "periodic-greedy-yield",
    "best-next-event",
)
"""The eight strategies, in the order of the paper's Table 2."""
YIELD_DRIVEN: Final = ("greedy-yield", "periodic-greedy-yield", "look-ahead-greedy-yield", "best-next-event")
OTHERS: Final = ("fair-share", "fcfs", "set-10", "greedy-com")

PRESSURES: Final = (0.2, 0.5, 0.8, 0.9, 1.0, 1.1)
"""W_GOAL of Figure 2."""
SORTED_AT: Final = (0.5, 0.8, 1.1)
"""W_GOAL of Figures 3 and 4."""
OTHER_PARAMETERS: Final[Mapping[str, tuple[float, ...]]] = {
    "small": (0, 10, 20, 30, 40),
    "sigma": (0.1, 0.3, 0.5, 0.7),
    "noise": (0.0, 0.25, 0.5, 0.75),
}
"""n_small, σ and ν of §6.2.2's last paragraph, each varied alone; the paper does not print its values."""
OTHERS_AT: Final = (0.5, 0.8, 1.1)
"""W_GOAL at which those are varied: low, high, and saturated."""
WORKLOADS: Final = ("nersc", "trilab")
MACHINES: Final = ("cielo", *(f"M_{k}" for k in range(1, 11)))


@dataclass(frozen=True)
class RevisitingScale:
    """Synthetic traces per point, traces for the other parameters, schedules per machine, windows per schedule."""

    traces: int
    others: int
    schedules: int
    windows: int
    sizes: tuple[int, ...]
    """Numbers of applications m of the instances of Table 2."""
    machines: tuple[str, ...] = MACHINES


SCALES: Final[Mapping[str, RevisitingScale]] = {
    "smoke": RevisitingScale(
        traces=2, others=2, schedules=2, windows=4, sizes=(4, 8, 16), machines=("cielo", "M_2", "M_5", "M_10")
    ),
    "quick": RevisitingScale(traces=20, others=5, schedules=8, windows=20, sizes=(4, 8, 16, 32, 64)),
    "paper": RevisitingScale(traces=200, others=200, schedules=100, windows=20, sizes=(4, 8, 16, 32, 64, 128)),
}

_BASE: Final[dict[str, Any]] = {"small": 20, "sigma": 0.5, "noise": 0.5}


def pressure(scale: RevisitingScale) -> Campaign:
    """Figures 2 to 4: traces at each W_GOAL with ν = σ = 0.5 and 20 applications of each size.

    `scale` says how many traces are run for each value.
    """
    return _synthetic("pressure", [{"pressure": value, **_BASE} for value in PRESSURES], scale.traces)


def other_parameters(scale: RevisitingScale) -> Campaign:
    """§6.2.2, impact of the other parameters: one varied at a time.

    `scale` says how many traces are run for each value.
    """
    varied = {
        tuple(sorted({"pressure": pressure, **_BASE, name: value}.items()))
        for pressure in OTHERS_AT
        for name, values in OTHER_PARAMETERS.items()
        for value in values
    }
    return _synthetic("other-parameters", [dict(parameters) for parameters in sorted(varied)], scale.others)


def apex(scale: RevisitingScale) -> Campaign:
    """Figures 5 to 10: the longest windows of schedules on Cielo and its scaled machines.

    `scale` says which machines, and how many schedules and windows of each.
    """
    cells = [
        Cell("apex", {"workload": workload, "machine": machine, "count": scale.windows}, seed, policy)
        for workload in WORKLOADS
        for machine in scale.machines
        for seed in range(scale.schedules)
        for policy in POLICIES
    ]
    return Campaign("apex", tuple(cells))


STARTS: Final = ("cut", "fresh", "history")
"""The other ways in which applications enter a window; "lead" is what the campaign "apex" has."""


def starts(scale: RevisitingScale) -> Campaign:
    """R9 under the other starts: a few machines, the policies that the claim is about.

    `scale` says how many schedules and windows; half of the schedules are enough here.
    """
    cells = [
        Cell("apex", {"workload": workload, "machine": machine, "count": scale.windows, "start": start}, seed, policy)
        for start in STARTS
        for workload in WORKLOADS
        for machine in (name for name in scale.machines if name in ("cielo", "M_2", "M_5", "M_10"))
        for seed in range(max(2, scale.schedules // 2))
        for policy in POLICIES
        if policy != "greedy-yield"
    ]
    return Campaign("starts", tuple(cells))


def _synthetic(name: str, points: list[dict[str, Any]], traces: int) -> Campaign:
    cells = [Cell("synthetic", point, seed, policy) for point in points for seed in range(traces) for policy in POLICIES]
    return Campaign(name, tuple(cells))


ANY: Final = "any strategy"
"""Measured as the best of all policies that share the link: none of them knows the future."""
PRINTED_EXAMPLE: Final = 2
"""The one example that the paper prints."""
SMALL: Final = 1e-6
"""ε of the examples."""
SLACK: Final = 0.02
"""A ratio may fall short of its limit by this part, for the ε and the cycles that are finite."""

UNBOUNDED: Final = 1e4
"""From this ratio on, at ε = 1e-6, an entry counts as ∞: it grows as 1/ε."""
TOP: Final = 1e8
"""Where the figure draws larger ratios."""

RATIO_OBJECTIVES: Final = {"min_yield": "MinYield", "efficiency": "Efficiency", "utilization": "Utilization"}
LIMITS: Final[Mapping[str, Callable[[int], float]]] = {
    "m": lambda m: float(m),
    "m/4": lambda m: m / 4.0,
    "2": lambda m: 2.0 - 1.0 / m,
    "∞": lambda _: math.inf,
}


@dataclass(frozen=True)
class RatioEntry:
    """A number of the table: strategy, objective, the bound as printed and the example that proves it."""

    policy: str
    objective: str
    bound: str
    example: int

    def __str__(self) -> str:
        ours = "on an instance of ours" if self.bound in LIMITS else "not printed"
        whose = "" if self.example == PRINTED_EXAMPLE else f", {ours}"
        return f"{self.policy}, {RATIO_OBJECTIVES[self.objective]}: {self.bound} (Example {self.example}{whose})"


def _entries() -> tuple[RatioEntry, ...]:
    found = []
    for policy in (*POLICIES, ANY):
        lowest = {
            "fair-share": ("m", 1),
            "periodic-greedy-yield": ("2", 4),
            "best-next-event": ("m/2 − 4", 6),
            ANY: ("3/2", 5),
        }.get(policy, ("∞", 2))
        efficiency = ("m/4", 2) if policy in ("fair-share", "greedy-com", ANY) else ("m", 3)
        found += [RatioEntry(policy, "min_yield", *lowest), RatioEntry(policy, "efficiency", *efficiency)]
        found.append(RatioEntry(policy, "utilization", "∞", 2))
    return tuple(found)


ENTRIES: Final = _entries()
BUILT: Final = tuple(entry for entry in ENTRIES if entry.bound in LIMITS)
"""Those with an instance in `penstock.theory.adversaries`."""


def competitive_ratios(sizes: Sequence[int]) -> dict[RatioEntry, list[float]]:
    """The ratio of the best schedule known to the strategy's, for each entry that has an instance and each m.

    `sizes` are the values of m.
    """
    return {entry: [_ratio(entry, m) for m in sizes] for entry in BUILT}


def _ratio(entry: RatioEntry, m: int) -> float:
    if entry.policy == ANY:
        return min(_ratio(replace(entry, policy=policy), m) for policy in expand([SHARING]))
    best, reached = _runs(entry.policy, entry.example, m)
    value: float = getattr(reached, entry.objective)
    most = max(float(getattr(result, entry.objective)) for result in best)
    return most / value if value > 0.0 else math.inf


@cache
def _runs(policy: str, example: int, m: int) -> tuple[tuple[Result, ...], Result]:
    """The best schedules known of the example, and the strategy's."""
    if example == 2:
        workload = against(REGISTRY[policy], m, SMALL)
        # Category A one by one is best for efficiency and utilization; shared equally, no yield is 0 (000 §5).
        ordered = sorted(workload.applications, key=lambda application: -len(application.phases))
        one_by_one = replace(workload, applications=tuple(ordered))
        return (simulate(one_by_one, LAST_LISTED_FIRST), simulate(workload, "fair-share")), simulate(workload, policy)
    if example == 4:
        workload = in_step(m, cycles=max(64, 4 * m))
        fine = find(f"{policy}:delta={1.0 / (20 * m)}")
        return (simulate(workload, "fcfs"),), simulate(workload, fine)
    workload = late_comer(m, SMALL) if example == 1 else one_behind(m, SMALL)
    return (simulate(workload, LAST_LISTED_FIRST),), simulate(workload, policy)
