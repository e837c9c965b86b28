"""What no schedule can pass, clairvoyant or not: the measure of how good a policy is on a workload."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.engine.machine import placement_of
from penstock.model import Workload
from penstock.theory.demand import PIECES, demands
from penstock.theory.due_dates import compiled_late
from penstock.theory.efficiency import compiled_steps, efficiency_bound
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
    compiled_steps()


def bounds(
    workload: Workload, pieces: int = PIECES, placement: Sequence[Sequence[int]] | Literal[False] | None = None
) -> Bounds:
    """The bounds of the workload. Applications below the link's bandwidth are taken in `pieces` pieces an operation.

    On I/O resources they are those of a `placement`, the workload's own if not given, one link if False: no schedule of
    these applications on these resources has more. A buffer that has a size, or its shares, is taken as a pool.
    """
    begun = time.perf_counter()
    lowest = efficiency = 1.0
    for wanted in demands(workload, pieces, placement_of(workload, placement)):
        lowest = min_yield_bound(wanted, most=lowest)
        efficiency = min(efficiency, efficiency_bound(wanted))
    return Bounds(lowest, efficiency, time.perf_counter() - begun)
