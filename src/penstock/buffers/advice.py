"""How large a burst buffer, and who gets which part: what `penstock buffer` says.

Without a size or a stretch, the smallest buffer with which nobody is slowed down. With a size, the smallest stretch that the
search finds; with a stretch, the smallest size. Beside each: what one more terabyte would buy, by fair sharing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

import numpy as np

from penstock.buffers.check import check_plan
from penstock.buffers.execute import execute_plan as carried_out
from penstock.buffers.lower_bounds import Backlog, largest_backlog, size_bound, stretch_bound
from penstock.buffers.plan import DYNAMIC, OPTIMAL, STATIC, BufferPlan
from penstock.buffers.search import BufferStrategy, Found, measures, parts_of, smallest_size, smallest_stretch, strategies
from penstock.buffers.sizing import size as smallest_buffer
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats

MORE: Final = 1e12
"""One more terabyte, in bytes."""
LARGEST: Final = 3.0
"""Sizes are tried up to this many times the one with which nobody is slowed down (004 §7)."""

Shown = Callable[[Iterable[BufferStrategy]], Iterable[BufferStrategy]]


@dataclass(frozen=True)
class Verified:
    """A plan held against its workload, by other code than made it, and carried out event by event."""

    holds: bool
    """Whether all constraints are kept."""
    worst: str
    """The constraint that is nearest to its limit or past it."""
    excess: float
    """By how much it is passed, over what rounding allows: above 1 it is broken."""
    stretch: float
    """The largest stretch of the plan carried out."""

    @classmethod
    def of(cls, plan: BufferPlan) -> Verified:
        """Check and carry out the plan."""
        checked = check_plan(plan)
        worst = checked.worst
        return cls(checked.holds, worst.constraint, worst.amount / worst.allowed, carried_out(plan).max_stretch)


@dataclass(frozen=True)
class Advice:
    """What is known of a workload's buffer."""

    workload: Workload
    plans: dict[str, BufferPlan]
    """The smallest buffer for a stretch of 1, by mode."""
    verified: dict[str, Verified]
    """By mode: the plan held against the workload, and carried out; for those that there are."""
    asked_size: float | None = None
    asked_stretch: float | None = None
    found: tuple[Found, ...] = ()
    """What the search found, the best first; nothing without a size or a stretch."""
    bound: float | None = None
    """No strategy has a smaller stretch with the asked size, or a smaller size with the asked stretch."""
    fair: dict[str, tuple[Found, Found]] = field(default_factory=dict)
    """By mode: fair sharing with the size of `size_of`, and with one terabyte more."""

    @property
    def searches(self) -> bool:
        """Whether a size or a stretch above 1 was asked for."""
        return self.asked_size is not None or self.asked_stretch is not None

    @property
    def feasible(self) -> bool:
        """Whether there is a buffer with which nobody is slowed down."""
        return all(plan.status == OPTIMAL for plan in self.plans.values())

    def size_of(self, mode: str) -> float | None:
        """The size that is spoken of: the asked one, the one found for the asked stretch, or that of a stretch of 1; None if
        there is none.
        """
        if self.asked_size is not None:
            return self.asked_size
        if self.asked_stretch is not None:
            return next((one.size for one in self.found if one.strategy.mode == mode), None)
        return self.plans[mode].size

    def shares(self) -> Floats | None:
        """Who gets how many bytes of a static buffer of that size, in proportion to the plan's shares."""
        plan = self.plans.get(STATIC)
        size = self.size_of(STATIC) if plan is not None else None
        if plan is None or size is None or plan.status != OPTIMAL:
            return None
        return size * parts_of(plan)

    def backlog(self) -> Backlog | None:
        """Where applications only write: the most that piles up, which is the size of a dynamic buffer (004 §6.3)."""
        asked = next(iter(self.plans.values())).demand
        return largest_backlog(asked) if self.feasible and len(asked.writes) and not len(asked.reads) else None

    def to_dict(self) -> dict[str, Any]:
        """The advice as ``--json`` prints it."""
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
    """The advice for the modes. `tried` are the strategies of a search; `shown` goes over them, for a progress display."""
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
    return replace(advice, fair={mode: _fair(workload, mode, sizes[mode], parts, capped=capped) for mode in sizes})


def _ceiling(plan: BufferPlan) -> float:
    """The largest size that is tried for a stretch: some times that of a stretch of 1, all data where there is none."""
    if plan.size is not None:
        return LARGEST * plan.size
    return float(plan.demand.writes.volume.sum() + plan.demand.reads.volume.sum())


def parts_for(workload: Workload, plans: dict[str, BufferPlan], *, capped: bool = False) -> Floats:
    """Who gets which part of a static buffer: in proportion to the plan's shares (004 §7.1), equal where there is none."""
    plan = plans.get(STATIC) or smallest_buffer(workload, STATIC, capped=capped)
    if plan.status != OPTIMAL:
        return np.full(len(workload.applications), 1.0 / len(workload.applications))
    return parts_of(plan)


def stretch_by_size(
    workload: Workload, modes: Sequence[str], sizes: Sequence[float], parts: Floats, *, capped: bool = False
) -> dict[str, list[Found]]:
    """Fair sharing with buffers of these sizes, by mode (004 Figure 8)."""
    return {
        mode: [Found(fair, size, fair.run(workload, size, parts, capped=capped)) for size in sizes]
        for mode in modes
        for fair in (BufferStrategy(mode),)
    }


def _fair(workload: Workload, mode: str, size: float, parts: Floats, *, capped: bool) -> tuple[Found, Found]:
    fair = BufferStrategy(mode)
    at, more = (Found(fair, one, fair.run(workload, one, parts, capped=capped)) for one in (size, size + MORE))
    return at, more
