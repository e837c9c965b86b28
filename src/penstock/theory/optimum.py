"""The best objectives of any schedule of a small workload in which every application can fill the link, b_i = B.

**Orders of priority are enough.** Let S be any schedule up to the end of the window, with any rates. Give every operation
that S completes its completion date in S as due date, and every operation that S leaves unfinished, cut to what S has moved
of it, the end of the window. Serve the posted operation with the earliest due date, with all of B. Then nothing is late.
Suppose the first due date missed is t. What comes before an operation due by t in its chain is due earlier and was done
in time, so that all operations due by t are posted no later than in S. S moves them in time; earliest due date, which is
optimal on one machine for any posting dates, does so too and never looks at those due after t. So no completion is later
than in S, no unfinished operation has moved less, and the rule is an order of priority: a fixed list, in the order of each
chain.

**Efficiency.** Put what S completes first, by due date. The posting dates of what S leaves unfinished and what is left of
the link for them are then given, and what can be moved of them by T_end is a polymatroid: a set of them cannot have more
than the link has free for it. The efficiency is linear in it, so its largest value is at a vertex, where the operations are
served in some order of priority. One that this completes before T_end only adds to the progress. So the best list, with
operations as they are, is the best schedule.

**Minimum yield.** The lowest yield is y or more exactly if each application has done the first
x_i = min(whole chain, y·(T_end − τ_i) − history) of its chain at the date D_i = min(T_end, τ_i + total / y). Cut the chains
there. By the first argument some list of the operations so cut is in time if any schedule is. y is found by bisection; it
is not enough to try lists of the operations as they are, since at T_end the best schedule may have left several unfinished.

Without a window the largest efficiency comes from the smallest makespan, and both objectives from lists of whole
operations.

**Complexity.** The number of lists is the multinomial coefficient of the numbers of operations, and that is also the time at
worst: for 4 applications of 3 operations 369,600, and 30 searches for the yield. Bounds leave most of them out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.model import Application, InputError, Workload
from penstock.model.application import WORK
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import OPTIMUM_LATE, YIELD_PRECISION
from penstock.theory.link_demand import bisect
from penstock.theory.priority_orders import PriorityChains, lowest_cost

MOST_ORDERS: Final = 200_000_000
"""The largest number of orders of priority that a workload may have."""


@dataclass(frozen=True)
class Optimum:
    """The best value of each objective over all schedules; seldom does one schedule reach both."""

    min_yield: float
    """The highest minimum yield, to YIELD_PRECISION from below."""
    efficiency: float
    """The highest efficiency."""


def optimum(workload: Workload) -> Optimum:
    """The best minimum yield and the best efficiency of any schedule of a small workload.

    Args:
        workload: a few applications, each of which can use all of the link.

    Raises:
        InputError: if an application has a cap below B, or there are too many orders of priority to try (MOST_ORDERS).

    Example:
        >>> from penstock import Application, Platform, Workload
        >>> from penstock.theory import optimum
        >>> members = tuple(Application.of(name, [("work", 5.0), ("io", 5.0)]) for name in "ab")
        >>> round(optimum(Workload(Platform(1.0), members)).min_yield, 6)
        0.666667
    """
    _refuse_caps(workload)
    end = workload.window[1] if workload.window else math.inf
    chains = [_Chain.of(workload, application, end) for application in workload.applications]
    _refuse_many(chains)
    return Optimum(_min_yield(chains, end), _efficiency(chains, workload.begin, end))


@dataclass(frozen=True)
class _Chain:
    """One application. Operations that it cannot post before the end of the window are left out."""

    release: float
    start: float
    history: float
    """Progress at the start."""
    nodes: float
    total: float
    """Progress of its whole chain, history included."""
    gap: Floats
    """Work before each operation."""
    length: Floats
    """Seconds of the link that each takes."""
    offset: Floats
    """Dedicated seconds from the start to each."""

    @classmethod
    def of(cls, workload: Workload, application: Application, end: float) -> _Chain:
        """The chain of the application."""
        start, history = workload.start(application), workload.history(application)
        seconds = application.phases.dedicated_seconds(workload.platform.bandwidth)
        begins = application.lead + np.cumsum(seconds) - seconds
        chosen = (application.phases.kinds != WORK) & (seconds > 0.0)
        offset, length = begins[chosen], seconds[chosen]
        gap = offset - np.concatenate([[0.0], (offset + length)[:-1]])
        posted = start + offset < end
        total = history + application.lead + float(seconds.sum())
        return cls(
            application.release,
            start,
            history,
            float(application.nodes),
            total,
            np.maximum(0.0, gap[posted]),
            length[posted],
            offset[posted],
        )

    def cut(self, target: float) -> tuple[Floats, Floats, Floats]:
        """Gaps, lengths and offsets of the first `target` dedicated seconds, and of their end."""
        chosen = self.offset < target
        offset = self.offset[chosen]
        length = np.minimum(self.length[chosen], target - offset)
        done = float(offset[-1] + length[-1]) if len(offset) else 0.0
        return np.append(self.gap[chosen], max(0.0, target - done)), np.append(length, 0.0), np.append(offset, target)


def _arranged(chains: list[_Chain], target: list[float], due: list[float]) -> PriorityChains:
    """The first `target[i]` dedicated seconds of each chain, due then; first the one whose last operation is due first."""
    parts = [(date, chain, chain.cut(seconds)) for chain, seconds, date in zip(chains, target, due, strict=True)]
    parts.sort(key=lambda part: part[0] - part[2][0][-1])
    gap, length, offset = (np.concatenate(columns) for columns in zip(*(cut for _, _, cut in parts), strict=True))
    return PriorityChains(
        first=np.concatenate([[0], np.cumsum([len(cut[0]) for _, _, cut in parts])]).astype(np.int64),
        gap=gap,
        length=length,
        offset=offset,
        start=np.array([chain.start for _, chain, _ in parts]),
        due=np.array([date for date, _, _ in parts]),
        nodes=np.array([chain.nodes for _, chain, _ in parts]),
    )


def _min_yield(chains: list[_Chain], end: float) -> float:
    """The highest lowest yield, to YIELD_PRECISION from below."""
    late = OPTIMUM_LATE * max(1.0, *(abs(chain.start) + chain.total for chain in chains))

    def reachable(lowest: float) -> bool:
        target, due = [], []
        for chain in chains:
            wanted = min(chain.total, lowest * (end - chain.release))
            target.append(max(0.0, wanted - chain.history))
            due.append(min(end, chain.release + chain.total / lowest))
        return lowest_cost(_arranged(chains, target, due), math.inf, late, 0.0) < late

    return 1.0 if reachable(1.0) else bisect(reachable, 0.0, 1.0, YIELD_PRECISION)[0]


def _efficiency(chains: list[_Chain], begin: float, end: float) -> float:
    """The highest efficiency."""
    remaining = [chain.total - chain.history for chain in chains]
    arranged = _arranged(chains, remaining, [0.0] * len(chains))
    nodes = sum(chain.nodes for chain in chains)
    best = lowest_cost(arranged, end, math.inf, -math.inf)
    if math.isfinite(end):
        return -best / (nodes * (end - begin))
    elapsed = best - begin
    return (
        sum(chain.nodes * gain for chain, gain in zip(chains, remaining, strict=True)) / (nodes * elapsed)
        if elapsed > 0.0
        else 1.0
    )


def _refuse_caps(workload: Workload) -> None:
    bandwidth = workload.platform.bandwidth
    for index, application in enumerate(workload.applications):
        cap = application.cap(workload.platform)
        if cap < bandwidth:
            raise InputError(
                f"applications[{index}].bandwidth",
                f"the cap {cap} is below the bandwidth {bandwidth} of the link; expected caps equal to it for an optimum",
            )


def _refuse_many(chains: list[_Chain]) -> None:
    orders, operations = 1, 0
    for chain in chains:
        operations += len(chain.offset)
        orders *= math.comb(operations, len(chain.offset))
        if orders > MOST_ORDERS:
            raise InputError(
                "applications", f"their operations can be put in over {MOST_ORDERS:,} orders; expected fewer for an optimum"
            )
