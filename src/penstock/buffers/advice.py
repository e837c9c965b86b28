"""Advice on burst buffers: how large, and who gets which part. This is what `penstock buffer` prints.

Without a size or a stretch: the smallest buffer with which no application is slowed down. With a size, the smallest stretch
that the search finds; with a stretch, the smallest size. Beside each: no buffer at all, and what a tenth more would gain
with fair sharing.

**Search.** X-Stretch(S) and X-Buffer-Size(ρ) for ρ > 1 are NP-hard (004 Theorems 2, 3). The search runs strategies, each a
way to divide the buffer and a policy that shares the file system, and the linear program's own plans (`slowed_plans`), and
keeps the best. The result is an upper bound; `lower_bounds` has the bound on the other side.

**Shares never pass the buffer.** Applications that are slowed down live longer than planned, and with those that follow them
their shares can add up to more than the buffer. A static strategy is then run again with smaller shares, until they fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Final

import numpy as np

from penstock.buffers.check import check_plan
from penstock.buffers.lower_bounds import DATES, DURATIONS, Backlog, largest_backlog, size_bound, stretch_bound
from penstock.buffers.plan import DYNAMIC, OPTIMAL, STATIC, BufferPlan, execute_plan, replay_plan
from penstock.buffers.sizing import size as smallest_buffer
from penstock.buffers.slowed_plans import SlowedPlan, plan_for_size, plan_for_stretch
from penstock.buffers.timeline import full_speed_timeline
from penstock.engine import Result
from penstock.engine.machine import most_at_once
from penstock.engine.scenarios import replay
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import PLAN_SLACK, STRETCH_PRECISION
from penstock.policies.policy import Policy
from penstock.renamed import old_names

__getattr__ = old_names(__name__, Found="BufferTrial")

POLICIES: Final = ("best-effort", "fair-share", "fcfs", "set-10", "greedy-yield", "greedy-com", "due-yield")
"""Policies that share the file system in a search, the paper's fair sharing first."""
THRESHOLDS: Final = (0.0, 0.5)
"""Parts of its space that output fills before it is drained."""
PRECISION: Final = 0.01
"""Relative precision of a size."""
DIGITS: Final = 9
"""Decimals of a stretch that count when strategies are compared."""
PLANNED: Final = "plan"
"""What stands in place of a policy where the file system moves what the linear program says."""
FITTINGS: Final = 12
"""Runs of a static strategy until its shares fit; after them the sum of all shares is made to fit."""
STEPS: Final = 16
"""Sizes that are tried at first, from 0 to the largest: a stretch need not fall as the size grows."""


@dataclass(frozen=True)
class BufferStrategy:
    """How a buffer is divided and drained.

    Attributes:
        mode: `static` (shares in proportion to given ones) or `dynamic` (one pool).
        policy: The policy that shares the file system: its name, or a `Policy`.
        threshold: Output is drained once it fills this part of its space.
    """

    mode: str
    policy: Policy | str = "best-effort"
    threshold: float = 0.0

    @property
    def policy_name(self) -> str:
        """The name of the policy."""
        return self.policy if isinstance(self.policy, str) else self.policy.name

    @property
    def label(self) -> str:
        """A short name: ``static, best-effort``, ``dynamic, fcfs, from 50 %``."""
        waiting = f", from {100.0 * self.threshold:g} %" if self.threshold else ""
        return f"{self.mode}, {self.policy_name}{waiting}"

    def run(self, workload: Workload, size: float, parts: Floats, *, capped: bool = False, trace: bool = False) -> Result:
        """Simulate a workload with a buffer divided in this way.

        Args:
            workload: applications and platform.
            size: bytes of the buffer.
            parts: shares of a buffer of size 1, one per application.
            capped: take speeds as min(b_k, B).
            trace: record rates and contents.
        """
        space: dict[str, Any] = {"shares": size * parts} if self.mode == STATIC else {"pool": size}
        return replay(workload, policy=self.policy, threshold=self.threshold, capped=capped, trace=trace, **space)


@dataclass(frozen=True)
class BufferTrial:
    """The run of a strategy with a buffer of `size` bytes."""

    strategy: BufferStrategy
    size: float
    replay: Result
    by: str = DATES
    """How the stretch that counts is measured: by `dates` or by `durations`."""
    shares: Floats | None = None
    """Bytes of each application; None for a pool."""
    fitted: float = 1.0
    """What the shares were multiplied with so that they fit into the buffer at any time."""
    slowed: float = 1.0
    """The stretch that a slowed plan allows; 1 for other strategies."""

    @property
    def stretch(self) -> float:
        """Largest stretch, as it counts."""
        return self.replay.max_duration_stretch if self.by == DURATIONS else self.replay.max_stretch

    @property
    def label(self) -> str:
        """The strategy, and whether applications are slowed down."""
        return self.strategy.label + (", slowed" if self.slowed > 1.0 else "")

    @property
    def lost_node_hours(self) -> float:
        """Node-hours by which applications end later than at full speed."""
        late = self.replay.ends - self.replay.earliest
        return float(sum(a.nodes * max(0.0, s) for a, s in zip(self.replay.applications, late, strict=True))) / 3600.0

    @property
    def shares_at_once(self) -> float | None:
        """The largest sum of the shares of applications that live at one time, in bytes; None for a pool."""
        return None if self.shares is None else living_shares(self.replay, self.shares)

    @property
    def through(self) -> Floats:
        """Bytes of each application that went into the buffer: what wears it."""
        uses = [application.buffer for application in self.replay.applications]
        return np.array([0.0 if use is None else use.drained + use.prefetched for use in uses])

    @property
    def crowded(self) -> bool:
        """Whether more nodes are in use at one time than the machine has."""
        nodes = self.replay.machine_nodes
        return nodes is not None and self.replay.most_nodes > nodes

    def to_dict(self) -> dict[str, Any]:
        """The trial for JSON."""
        return {
            "strategy": self.label,
            "mode": self.strategy.mode,
            "policy": self.strategy.policy_name,
            "threshold": self.strategy.threshold,
            "size": self.size,
            "lost_node_hours": self.lost_node_hours,
            **measures(self.replay),
            "shares_at_once": self.shares_at_once,
            "fitted": self.fitted,
            "most_nodes": self.replay.most_nodes,
            "through": float(self.through.sum()),
        }


def living_shares(run: Result, shares: Floats) -> float:
    """The largest sum, in bytes, of the `shares` of applications that live at one time in a `run`."""
    return float(most_at_once(run.releases, run.ends, shares).total)


def measures(one: Result) -> dict[str, float]:
    """The stretches of the run `one`: by dates, as in the paper's claims, and by durations."""
    return {
        "max_stretch": one.max_stretch,
        "mean_stretch": one.mean_stretch,
        "max_duration_stretch": one.max_duration_stretch,
        "mean_duration_stretch": one.mean_duration_stretch,
    }


def strategies(
    modes: Sequence[str] = (STATIC, DYNAMIC),
    policies: Sequence[Policy | str] = POLICIES,
    thresholds: Sequence[float] = THRESHOLDS,
) -> tuple[BufferStrategy, ...]:
    """All combinations of `modes`, `policies` and `thresholds`, those with the first threshold and policy first."""
    return tuple(
        BufferStrategy(mode, policy, threshold) for threshold in thresholds for policy in policies for mode in modes
    )


def parts_of(plan: BufferPlan) -> Floats:
    """The shares of a static `plan` as parts of its size; all 0 where no application needs a buffer.

    Raises:
        InputError: the plan has no shares.
    """
    if plan.shares is None or plan.size is None:
        raise InputError("plan", f"it is {plan.mode} and {plan.status}; expected a static one with shares")
    return plan.shares / plan.size if plan.size > 0.0 else np.zeros(len(plan.shares))


def smallest_stretch(
    workload: Workload,
    size: float,
    parts: Floats,
    tried: Iterable[BufferStrategy],
    *,
    capped: bool = False,
    by: str = DATES,
) -> list[BufferTrial]:
    """Run strategies with a buffer of a given size: X-Stretch(S) of 004 §3.3.

    Args:
        workload: Applications and platform.
        size: Bytes.
        parts: Shares of a buffer of size 1, one per application (see `parts_of`).
        tried: The strategies.
        capped: Take speeds as min(b_k, B).
        by: How stretches count, by `dates` or by `durations`.

    Returns:
        One trial per strategy, smallest stretch first; strategies whose stretches differ only by rounding stay in order.
    """
    found = [trial(workload, strategy, parts, capped, by, size) for strategy in tried]
    return sorted(found, key=lambda one: round(one.stretch, DIGITS))


def smallest_size(
    workload: Workload,
    stretch: float,
    largest: float,
    parts: Floats,
    tried: Iterable[BufferStrategy],
    *,
    capped: bool = False,
    by: str = DATES,
) -> list[BufferTrial]:
    """Find the smallest buffer with which each strategy reaches a stretch: X-Buffer-Size(ρ) of 004 §3.3.

    A few sizes from 0 to the largest are tried. Between the first that reaches the stretch and the one before it, bisection
    finds the size.

    Args:
        workload: Applications and platform.
        stretch: Largest stretch allowed.
        largest: Bytes of the largest buffer that is tried.
        parts: Shares of a buffer of size 1, one per application (see `parts_of`).
        tried: The strategies.
        capped: Take speeds as min(b_k, B).
        by: How stretches count, by `dates` or by `durations`.

    Returns:
        One trial for each strategy that reaches the stretch, smallest size first.

    Example:
        10 s of work, then 40 bytes at 5 bytes/s on a file system of 2 bytes/s: full speed takes 18 s and 24 bytes of
        buffer. With a stretch of 1.2 the application may end at 21.6 s, and 23.2 bytes have left by then.

        >>> from penstock.buffers import size
        >>> from penstock.model import Application, Platform, Workload
        >>> writer = Application.of("a", [("work", 10.0), ("write", 40.0)], bandwidth=5.0)
        >>> workload = Workload(Platform(2.0), (writer,))
        >>> plan = size(workload)
        >>> best = smallest_size(workload, 1.2, 2.0 * plan.size, parts_of(plan), [BufferStrategy("static")])[0]
        >>> best.strategy.label, 16.8 <= best.size <= 1.01 * 16.8
        ('static, best-effort', True)
    """
    runs = (partial(trial, workload, strategy, parts, capped, by) for strategy in tried)
    found = [reached for run in runs if (reached := _reached(run, stretch, largest)) is not None]
    return sorted(found, key=lambda one: one.size)


def trial(workload: Workload, strategy: BufferStrategy, parts: Floats, capped: bool, by: str, size: float) -> BufferTrial:
    """Run a strategy with a buffer; shares that do not fit into it at some time are made smaller.

    Args:
        workload: applications and platform.
        strategy: how the buffer is divided and drained.
        parts: shares of a buffer of size 1, one per application.
        capped: take speeds as min(b_k, B).
        by: how stretches count, by `dates` or by `durations`.
        size: bytes of the buffer.
    """
    if strategy.mode == DYNAMIC:
        return BufferTrial(strategy, size, strategy.run(workload, size, parts, capped=capped), by)
    fitted = 1.0
    for attempt in range(FITTINGS + 1):
        run = strategy.run(workload, size, fitted * parts, capped=capped)
        most = living_shares(run, size * fitted * parts)
        if most <= size * (1.0 + PLAN_SLACK):
            break
        last = attempt == FITTINGS - 1
        fitted = 1.0 / float(parts.sum()) if last else fitted * size / most
    return BufferTrial(strategy, size, run, by, size * fitted * parts, fitted)


def planned(found: SlowedPlan, mode: str, size: float, workload: Workload, by: str) -> BufferTrial:
    """Run a plan as a strategy: of the buffer of `size` bytes it uses what it needs.

    Args:
        found: the plan, for the workload or for a slowed one.
        mode: `static` or `dynamic`.
        size: bytes of the buffer.
        workload: applications at full speed, against which stretches count.
        by: how they count.
    """
    run = replay_plan(found.plan, found.plan.shares)
    if found.stretch > 1.0:
        earliest = full_speed_timeline(workload, capped=found.plan.demand.capped).least_end.tolist()
        late = (replace(one, earliest=date) for one, date in zip(run.applications, earliest, strict=True))
        run = replace(run, applications=tuple(late))
    return BufferTrial(BufferStrategy(mode, PLANNED), size, run, by, found.plan.shares, slowed=found.stretch)


def _reached(run: Callable[[float], BufferTrial], stretch: float, largest: float) -> BufferTrial | None:
    """The run with the smallest size found that reaches the stretch; None if none does."""
    wanted = stretch * (1.0 + STRETCH_PRECISION)
    below = 0.0
    for size in np.linspace(0.0, largest, STEPS + 1):
        best = run(float(size))
        if best.stretch <= wanted:
            break
        below = float(size)
    else:
        return None
    while best.size - below > max(PRECISION * best.size, PRECISION * largest / STEPS):
        tried = run(0.5 * (below + best.size))
        if tried.stretch <= wanted:
            best = tried
        else:
            below = tried.size
    return best


MORE: Final = 0.1
"""How much more of a buffer is tried, too: a tenth of its size."""
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
    """By mode: runs with fair sharing, with the size of `size_of` and with a tenth more."""
    none: BufferTrial | None = None
    """The run with fair sharing and no buffer."""
    executed: dict[str, BufferTrial] = field(default_factory=dict)
    """By mode: the run of the plan for a stretch of 1."""
    by: str = DATES
    """How stretches count, by `dates` or by `durations`."""

    @property
    def searches(self) -> bool:
        """Whether a size or a stretch above 1 was asked for."""
        return self.asked_size is not None or self.asked_stretch is not None

    @property
    def feasible(self) -> bool:
        """Whether a stretch of 1 is possible with some buffer."""
        return all(plan.status == OPTIMAL for plan in self.plans.values())

    def size_of(self, mode: str) -> float | None:
        """The size in bytes that the advice is about, for a `mode`, "static" or "dynamic"; None if there is none.

        It is the asked size, the size found for the asked stretch, or the smallest size for a stretch of 1.
        """
        if self.asked_size is not None:
            return self.asked_size
        if self.asked_stretch is not None:
            return next((one.size for one in self.found if one.strategy.mode == mode), None)
        return self.plans[mode].size

    @property
    def best(self) -> BufferTrial | None:
        """What is recommended: the best that the search found, or the smaller plan for a stretch of 1."""
        if self.searches:
            return self.found[0] if self.found else None
        return min(self.executed.values(), key=lambda one: one.size, default=None)

    def shares(self) -> Floats | None:
        """Bytes of each application in a static buffer of that size: the best ones found, or in proportion to the plan's."""
        found = next((one.shares for one in self.found if one.strategy.mode == STATIC), None)
        if found is not None:
            return found
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
            "asked": {"size": self.asked_size, "stretch": self.asked_stretch, "by": self.by},
            "bound": self.bound,
            "found": [one.to_dict() for one in self.found],
            "shares": None if (shares := self.shares()) is None else shares.tolist(),
            "fair_sharing": {
                mode: {"size": at.size, **measures(at.replay), "a_tenth_more": measures(more.replay)}
                for mode, (at, more) in self.fair.items()
            },
            "no_buffer": None if self.none is None else self.none.to_dict(),
            "plan_runs": {mode: one.to_dict() for mode, one in self.executed.items()},
            "through": self.through(),
        }

    def through(self) -> list[dict[str, Any]]:
        """For each application the bytes that go through the buffer with what is recommended, which wear it."""
        best = self.best
        if best is None:
            return []
        names = (application.name for application in self.workload.applications)
        return [{"name": name, "bytes": bytes_} for name, bytes_ in zip(names, best.through.tolist(), strict=True)]


def advise(
    workload: Workload,
    modes: Sequence[str] = (STATIC, DYNAMIC),
    *,
    size: float | None = None,
    stretch: float | None = None,
    tried: Sequence[BufferStrategy] | None = None,
    capped: bool = False,
    by: str = DATES,
    shown: Shown = iter,
) -> Advice:
    """Advise on the buffer of a workload: the smallest for a stretch of 1, and what a given size or stretch takes.

    Args:
        workload: Applications and platform.
        modes: Which of `static` and `dynamic`.
        size: Bytes of a given buffer: search the strategy with the smallest stretch.
        stretch: A given stretch, 1 or more: search the smallest size.
        tried: The strategies of the search; by default all of `penstock.buffers.advice.strategies`.
        capped: Take speeds as min(b_k, B).
        by: How stretches count: by `dates` (004 eq. 3), or by `durations` from release to end.
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
    if by not in (DATES, DURATIONS):
        raise InputError("by", f"{by!r} is unknown; expected {DATES} or {DURATIONS}")
    plans = {mode: smallest_buffer(workload, mode, capped=capped) for mode in modes}
    verified = {mode: Verified.of(plan) for mode, plan in plans.items() if plan.status == OPTIMAL}
    advice = Advice(workload, plans, verified, size, stretch if stretch != 1.0 else None, by=by)
    if not advice.feasible and not advice.searches:
        return advice
    parts = parts_for(workload, plans, capped=capped)
    wanted = [strategy for strategy in tried or strategies(modes) if strategy.mode in modes]
    bounded: dict[str, Any] = {"capped": capped, "by": by, "static": list(modes) == [STATIC]}
    if size is not None:
        found = smallest_stretch(workload, size, parts, shown(wanted), capped=capped, by=by)
        found += _plans_of_size(workload, plans, size, found, by)
        found.sort(key=lambda one: round(one.stretch, DIGITS))
        advice = replace(advice, found=tuple(found), bound=stretch_bound(workload, size, **bounded))
    elif advice.asked_stretch is not None:
        largest = max(_ceiling(plan) for plan in plans.values())
        reached = smallest_size(workload, advice.asked_stretch, largest, parts, shown(wanted), capped=capped, by=by)
        reached += _plans_of_stretch(workload, plans, advice.asked_stretch, by)
        reached.sort(key=lambda one: one.size)
        bound = size_bound(workload, advice.asked_stretch, **bounded)
        advice = replace(advice, found=tuple(reached), bound=bound)
    executed = {
        mode: planned(SlowedPlan(1.0, plan), mode, plan.size, workload, by)
        for mode, plan in plans.items()
        if plan.size is not None
    }
    none = trial(workload, BufferStrategy(DYNAMIC), parts, capped, by, 0.0)
    advice = replace(advice, executed=executed, none=none)
    sizes = {mode: size for mode in modes if (size := advice.size_of(mode)) is not None}
    fair = {
        mode: stretch_by_size(workload, [mode], [size, (1.0 + MORE) * size], parts, capped=capped, by=by)
        for mode, size in sizes.items()
    }
    return replace(advice, fair={mode: (at, more) for mode, runs in fair.items() for at, more in runs.values()})


def _plans_of_size(
    workload: Workload, plans: dict[str, BufferPlan], size: float, found: Sequence[BufferTrial], by: str
) -> list[BufferTrial]:
    """The plans that fit into a buffer of this size, as strategies."""
    largest = min((one.stretch for one in found), default=LARGEST)
    made = ((mode, plan_for_size(plan, size, largest, by)) for mode, plan in plans.items())
    return [planned(one, mode, size, workload, by) for mode, one in made if one is not None]


def _plans_of_stretch(workload: Workload, plans: dict[str, BufferPlan], stretch: float, by: str) -> list[BufferTrial]:
    """The plans for a stretch of 1 and those within this stretch that need the smallest buffers, as strategies."""
    made = [(mode, plan_for_stretch(plan, stretch, by)) for mode, plan in plans.items()]
    made += [(mode, SlowedPlan(1.0, plan)) for mode, plan in plans.items() if plan.status == OPTIMAL]
    different = {(mode, one.stretch): one for mode, one in made if one is not None}
    return [planned(one, mode, one.size, workload, by) for (mode, _), one in different.items()]


def _ceiling(plan: BufferPlan) -> float:
    """Largest size that a search tries: a multiple of that for a stretch of 1, or all data where there is none."""
    if plan.size is not None:
        return LARGEST * plan.size
    return float(plan.demand.writes.volume.sum() + plan.demand.reads.volume.sum())


def parts_for(workload: Workload, plans: dict[str, BufferPlan], *, capped: bool = False) -> Floats:
    """Parts of a static buffer: in proportion to the plan's shares (004 §7.1), equal where there is no plan.

    Args:
        workload: applications and platform.
        plans: plans by mode; without a static one, its shares are computed.
        capped: take speeds as min(b_k, B).
    """
    plan = plans.get(STATIC) or smallest_buffer(workload, STATIC, capped=capped)
    if plan.status != OPTIMAL:
        return np.full(len(workload.applications), 1.0 / len(workload.applications))
    return parts_of(plan)


def stretch_by_size(
    workload: Workload,
    modes: Sequence[str],
    sizes: Sequence[float],
    parts: Floats,
    *,
    capped: bool = False,
    by: str = DATES,
) -> dict[str, list[BufferTrial]]:
    """Run a workload with fair sharing and buffers of several sizes, by mode (004 Figure 8).

    Args:
        workload: applications and platform.
        modes: which of `static` and `dynamic`.
        sizes: bytes of the buffers.
        parts: shares of a buffer of size 1, one per application.
        capped: take speeds as min(b_k, B).
        by: how stretches count.
    """
    return {mode: [trial(workload, BufferStrategy(mode), parts, capped, by, size) for size in sizes] for mode in modes}
