"""What is run for paper 000, §6, at three scales."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock.campaign import Campaign, Cell

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
OTHERS_AT: Final = 0.8
"""W_GOAL at which those are varied: high, and below saturation."""
WORKLOADS: Final = ("nersc", "trilab")
MACHINES: Final = ("cielo", *(f"M_{k}" for k in range(1, 11)))


@dataclass(frozen=True)
class RevisitingScale:
    """How many synthetic traces a point, how many for the other parameters, schedules a machine, windows a schedule."""

    traces: int
    others: int
    schedules: int
    windows: int
    machines: tuple[str, ...] = MACHINES


SCALES: Final[Mapping[str, RevisitingScale]] = {
    "smoke": RevisitingScale(traces=2, others=1, schedules=1, windows=4, machines=("cielo", "M_2", "M_5", "M_10")),
    "quick": RevisitingScale(traces=20, others=5, schedules=4, windows=20),
    "paper": RevisitingScale(traces=200, others=200, schedules=100, windows=20),
}

_BASE: Final[dict[str, Any]] = {"small": 20, "sigma": 0.5, "noise": 0.5}


def pressure(scale: RevisitingScale) -> Campaign:
    """Figures 2 to 4: traces at each W_GOAL with ν = σ = 0.5 and 20 applications of each size."""
    return _synthetic("pressure", [{"pressure": value, **_BASE} for value in PRESSURES], scale.traces)


def other_parameters(scale: RevisitingScale) -> Campaign:
    """§6.2.2, impact of the other parameters: one varied at a time."""
    varied = {
        tuple(sorted({"pressure": OTHERS_AT, **_BASE, name: value}.items()))
        for name, values in OTHER_PARAMETERS.items()
        for value in values
    }
    return _synthetic("other-parameters", [dict(parameters) for parameters in sorted(varied)], scale.others)


def apex(scale: RevisitingScale) -> Campaign:
    """Figures 5 to 10: the longest windows of schedules on Cielo and its scaled machines."""
    cells = [
        Cell("apex", {"workload": workload, "machine": machine, "count": scale.windows}, seed, policy)
        for workload in WORKLOADS
        for machine in scale.machines
        for seed in range(scale.schedules)
        for policy in POLICIES
    ]
    return Campaign("apex", tuple(cells))


def _synthetic(name: str, points: list[dict[str, Any]], traces: int) -> Campaign:
    cells = [Cell("synthetic", point, seed, policy) for point in points for seed in range(traces) for policy in POLICIES]
    return Campaign(name, tuple(cells))


CAMPAIGNS: Final[Mapping[str, Callable[[RevisitingScale], Campaign]]] = {
    "pressure": pressure,
    "other-parameters": other_parameters,
    "apex": apex,
}
