"""The instances that the benchmarks share, and their phases as the flat arrays that foreign programs read."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from penstock.engine import Result
from penstock.model import Application, Phases, Platform, Workload
from penstock.model.application import IO, WORK
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


@cache
def dense() -> Workload:
    """The same law drawn in another way, so that more happens: 214,000 events in a window, where `instance` has 90,000.

    It is what the yardstick was measured on. The u_i of all I/O fractions are drawn first; then, application by application,
    the iteration ω, the noise of all work phases, that of all volumes, and the lead.
    """
    random = np.random.default_rng(SEED)
    means = np.repeat((1_000.0, 10_000.0, 100_000.0), 20).tolist()
    drawn = random.uniform(size=len(means))
    applications = []
    ends = []
    for index, (mean, share) in enumerate(zip(means, drawn, strict=True)):
        iteration = -1.0
        while iteration <= 0.0:
            iteration = random.normal(mean, 0.5 * mean)
        count = math.ceil(2_000_000.0 / iteration)
        fraction = share * PRESSURE / drawn.sum()
        work = (1.0 + random.uniform(-0.5, 0.5, count)) * ((1.0 - fraction) * iteration)
        volume = (1.0 + random.uniform(-0.5, 0.5, count)) * (fraction * iteration)
        lead = random.uniform(0.0, iteration)
        phases = Phases(np.tile(np.array([WORK, IO], np.uint8), count), np.column_stack((work, volume)).ravel())
        applications.append(Application(f"a{index}", phases, lead=lead))
        ends.append(lead + work.sum() + volume.sum())
    return Workload(Platform(bandwidth=1.0), tuple(applications), (0.0, float(min(ends))))


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


INSTANCES: dict[str, Callable[[float], Workload]] = {
    "the paper's": instance,
    "dense": lambda horizon: shortened(dense(), horizon),
}
"""By name; given the seconds of a horizon, as the draws of the first one depend on it and those of the second do not."""


def transferred(result: Result) -> float:
    """Bytes moved by all applications."""
    return sum(application.transferred for application in result.applications)
