"""What no schedule can pass, clairvoyant or not: the measure of how good a policy is on a workload."""

from __future__ import annotations

import time
from dataclasses import dataclass

from penstock.model import Workload
from penstock.theory.demand import PIECES, demand
from penstock.theory.due_dates import compiled_late
from penstock.theory.efficiency import compiled_least_loss, efficiency_bound
from penstock.theory.min_yield import min_yield_bound


@dataclass(frozen=True)
class Bounds:
    """Upper bounds on the objectives of every schedule of a workload."""

    min_yield: float
    efficiency: float
    seconds: float
    """Time it took."""


def compile_bounds() -> None:
    """Compile what the bounds need, or load it from the cache on disk."""
    compiled_late()
    compiled_least_loss()


def bounds(workload: Workload, pieces: int = PIECES) -> Bounds:
    """The bounds of the workload. Applications below the link's bandwidth are taken in `pieces` pieces an operation."""
    begun = time.perf_counter()
    wanted = demand(workload, pieces)
    lowest = min_yield_bound(wanted)
    efficiency = efficiency_bound(wanted)
    return Bounds(lowest, efficiency, time.perf_counter() - begun)
