"""Advice on burst buffers: how large, and who gets which part. This is what `penstock buffer` prints.

Without a size or a stretch: the smallest buffer with which no application is slowed down. With a size, the smallest stretch
that the search finds; with a stretch, the smallest size. Beside each: what one more terabyte would gain with fair sharing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np

from penstock.buffers.check import check_plan
from penstock.buffers.execute import execute_plan
from penstock.buffers.lower_bounds import Backlog, largest_backlog, size_bound, stretch_bound
from penstock.buffers.plan import DYNAMIC, OPTIMAL, STATIC, BufferPlan
from penstock.buffers.search import (
    BufferStrategy,
    BufferTrial,
    measures,
    parts_of,
    smallest_size,
    smallest_stretch,
    strategies,
    trial,
)
from penstock.buffers.sizing import size as smallest_buffer
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats

MORE: Final = 1e12
"""Bytes of one more terabyte."""
LARGEST: Final = 3.0
"""Sizes are tried up to this multiple of the one for a stretch of 1 (004 §7)."""

Shown = Callable[[Iterable[BufferStrategy]], Iterable[BufferStrategy]]


@dataclass(frozen=True)
class Verified:
    """The verdict on a plan, by other code than made it: its constraints checked, and the plan executed event by event."""

    holds: bool
    """Whether all constraints hold."""
    worst: str
    """The constraint that is nearest to its allowance, or furthest beyond it."""
    excess: float
    """Violation of that constraint divided by its allowance: above 1 it is broken."""
    stretch: float
    """Largest stretch of the executed plan."""

    @classmethod
    def of(cls, plan: BufferPlan) -> Verified:
        """Check and execute a plan."""
        checked = check_plan(plan)
        worst = checked.worst
        return cls(checked.holds, worst.constraint, worst.amount / worst.allowed, execute_plan(plan).max_stretch)


@dataclass(frozen=True)
class Advice:
    """The answer to: how large a buffer, and who gets which part of it?"""

    workload: Workload
    plans: dict[str, BufferPlan]
    """The smallest buffer for a stretch of 1, by mode."""
    verified: dict[str, Verified]
    """By mode: the verdict on the plan, if there is one."""
    asked_size: float | None = None
    asked_stretch: float | None = None
    found: tuple[BufferTrial, ...] = ()
    """Trials of the search, the best first; empty unless a size or a stretch was asked for."""
    bound: float | None = None
    """Lower bound for any strategy: on the stretch with the asked size, or on the size with the asked stretch."""
    fair: dict[str, tuple[BufferTrial, BufferTrial]] = field(default_factory=dict)
    """By mode: runs with fair sharing, with the size of `size_of` and with one terabyte more."""

    @property
    def searches(self) -> bool:
        """Whether a size or a stretch above 1 was asked for."""
        return self.asked_size is not None or self.asked_stretch is not None

    @property
    def feasible(self) -> bool:
        """Whether a stretch of 1 is possible with some buffer."""
        return all(plan.status == OPTIMAL for plan in self.plans.values())

    def size_of(self, mode: str) -> float | None:
        """The size that the advice is about, in bytes; None if there is none.

        The asked size, the size found for the asked stretch, or the smallest size for a stretch of 1.
        """
        if self.asked_size is not None:
            return self.asked_size
        if self.asked_stretch is not None:
            return next((one.size for one in self.found if one.strategy.mode == mode), None)
        return self.plans[mode].size

    def shares(self) -> Floats | None:
        """Bytes of each application in a static buffer of that size, in proportion to the plan's shares."""
        plan = self.plans.get(STATIC)
        size = self.size_of(STATIC) if plan is not None else None
        if plan is None or size is None or plan.status != OPTIMAL:
            return None
        return size * parts_of(plan)

    def backlog(self) -> Backlog | None:
        """The largest backlog, which is the size of a dynamic buffer (004 §6.3); None if applications also read."""
        demand = next(iter(self.plans.values())).demand
        return largest_backlog(demand) if self.feasible and len(demand.writes) and not len(demand.reads) else None

    def to_dict(self) -> dict[str, Any]:
        """The advice for JSON, as `penstock buffer --json` prints it."""
        return {
            "plans": {mode: plan.to_dict(rates=False) for mode, plan in self.plans.items()},
            "verified": {mode: asdict(verified) for mode, verified in self.verified.items()},
            "backlog": None if (backlog := self.backlog()) is None else asdict(backlog),
            "asked": {"size": self.asked_size, "stretch": self.asked_stretch},
            "bound": self.bound,
            "found": [one.to_dict() for one in self.found],
            "shares": None if (shares := self.shares()) is None else shares.tolist(),
            "fair_sharing": {
                mode: {"size": at.size, **measures(at.replay), "one_more_tb": measures(more.replay)}
                for mode, (at, more) in self.fair.items()
            },
        }


def advise(
    workload: Workload,
    modes: Sequence[str] = (STATIC, DYNAMIC),
    *,
    size: float | None = None,
    stretch: float | None = None,
    tried: Sequence[BufferStrategy] | None = None,
    capped: bool = False,
    shown: Shown = iter,
) -> Advice:
    """Advise on the buffer of a workload: the smallest for a stretch of 1, and what a given size or stretch takes.

    Args:
        workload: Applications and platform.
        modes: Which of `static` and `dynamic`.
        size: Bytes of a given buffer: search the strategy with the smallest stretch.
        stretch: A given stretch, 1 or more: search the smallest size.
        tried: The strategies of the search; by default all of `penstock.buffers.search.strategies`.
        capped: Take speeds as min(b_k, B).
        shown: Iterates over the strategies, for a progress display.

    Returns:
        Plans with the verdicts on them, the trials of the search beside a lower bound, and runs with fair sharing.

    Raises:
        InputError: Both a size and a stretch are given, or one is out of range.

    Example:
        >>> from penstock.model import Application, Platform, Workload
        >>> writer = Application.of("a", [("work", 10.0), ("write", 40.0)], bandwidth=5.0)
        >>> advice = advise(Workload(Platform(2.0), (writer,)), size=10.0)
        >>> round(advice.plans["static"].size, 6)
        24.0
        >>> round(advice.found[0].stretch, 4), round(advice.bound, 4)
        (1.3889, 1.3889)
    """
    if size is not None and stretch is not None:
        raise InputError("size", "a stretch is given too; expected one of them")
    if size is not None and not 0.0 <= size < math.inf:
        raise InputError("size", f"{size} is out of range; expected a number of bytes, 0 or more")
    if stretch is not None and not 1.0 <= stretch < math.inf:
        raise InputError("stretch", f"{stretch} is no stretch; expected 1 or more")
    plans = {mode: smallest_buffer(workload, mode, capped=capped) for mode in modes}
    verified = {mode: Verified.of(plan) for mode, plan in plans.items() if plan.status == OPTIMAL}
    advice = Advice(workload, plans, verified, size, stretch if stretch != 1.0 else None)
    if not advice.feasible and not advice.searches:
        return advice
    parts = parts_for(workload, plans, capped=capped)
    wanted = [strategy for strategy in tried or strategies(modes) if strategy.mode in modes]
    if size is not None:
        found = smallest_stretch(workload, size, parts, shown(wanted), capped=capped)
        advice = replace(advice, found=tuple(found), bound=stretch_bound(workload, size, capped=capped))
    elif advice.asked_stretch is not None:
        largest = max(_ceiling(plan) for plan in plans.values())
        reached = smallest_size(workload, advice.asked_stretch, largest, parts, shown(wanted), capped=capped)
        bound = size_bound(workload, advice.asked_stretch, capped=capped)
        advice = replace(advice, found=tuple(reached), bound=bound)
    sizes = {mode: size for mode in modes if (size := advice.size_of(mode)) is not None}
    fair = {
        mode: stretch_by_size(workload, [mode], [size, size + MORE], parts, capped=capped) for mode, size in sizes.items()
    }
    return replace(advice, fair={mode: (at, more) for mode, runs in fair.items() for at, more in runs.values()})


def _ceiling(plan: BufferPlan) -> float:
    """Largest size that a search tries: a multiple of that for a stretch of 1, or all data where there is none."""
    if plan.size is not None:
        return LARGEST * plan.size
    return float(plan.demand.writes.volume.sum() + plan.demand.reads.volume.sum())


def parts_for(workload: Workload, plans: dict[str, BufferPlan], *, capped: bool = False) -> Floats:
    """Parts of a static buffer: in proportion to the plan's shares (004 §7.1), equal where there is no plan."""
    plan = plans.get(STATIC) or smallest_buffer(workload, STATIC, capped=capped)
    if plan.status != OPTIMAL:
        return np.full(len(workload.applications), 1.0 / len(workload.applications))
    return parts_of(plan)


def stretch_by_size(
    workload: Workload, modes: Sequence[str], sizes: Sequence[float], parts: Floats, *, capped: bool = False
) -> dict[str, list[BufferTrial]]:
    """Runs with fair sharing and buffers of these sizes, by mode (004 Figure 8)."""
    return {mode: [trial(workload, BufferStrategy(mode), parts, capped, size) for size in sizes] for mode in modes}
