"""The instance that all benchmarks share, and its phases as the flat arrays that foreign programs read."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from penstock.engine import Result
from penstock.model import Workload
from penstock.workloads import Synthetic, synthetic

SEED = 1
PRESSURE = 1.1
SHORT_WINDOW = 20_000.0
"""Seconds in which independent implementations agree to the last digits; these systems are chaotic beyond."""


@dataclass(frozen=True)
class Flat:
    """Chain of application i: kinds[first[i] : first[i + 1]]."""

    first: NDArray[np.int64]
    lead: NDArray[np.float64]
    amounts: NDArray[np.float64]
    kinds: NDArray[np.uint8]


@cache
def instance(horizon: float = 2_000_000.0) -> Workload:
    """20 small, 20 medium and 20 big applications, ν = σ = 0.5, W_GOAL = 1.1 (000 §6.2.1)."""
    return synthetic(Synthetic(PRESSURE, horizon=horizon), SEED)


def flat(workload: Workload) -> Flat:
    """The phases of all applications one behind the other."""
    chains = [application.phases for application in workload.applications]
    return Flat(
        first=np.concatenate([[0], np.cumsum([len(chain) for chain in chains])]).astype(np.int64),
        lead=np.array([application.lead for application in workload.applications]),
        amounts=np.concatenate([chain.amounts for chain in chains]),
        kinds=np.concatenate([chain.kinds for chain in chains]),
    )


def shortened(workload: Workload, end: float) -> Workload:
    """The same applications in a window that ends earlier."""
    return replace(workload, window=(workload.begin, min(end, workload.window[1] if workload.window else end)))


def transferred(result: Result) -> float:
    """Bytes moved by all applications."""
    return sum(application.transferred for application in result.applications)
