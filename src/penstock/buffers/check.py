"""An independent check of a plan: every constraint of 004 §6 again, from the phases of the applications and nothing else.

Shares nothing with the code that makes plans but the data type: it walks along the phases itself. Errors are in bytes, so
that a rate that is off for a moment weighs what it moves. The allowance is ten times HiGHS' tolerance, plus what moves in
a microsecond, since dates that close are one event.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.buffers.plan import BufferPlan
from penstock.buffers.timeline import Flow
from penstock.model import Application, InputError, Platform
from penstock.model.application import READ, WORK
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import PLAN_DATE_S, PLAN_SLACK


@dataclass(frozen=True)
class Excess:
    """The most by which a constraint is violated, and by how much it may be, in bytes."""

    constraint: str
    amount: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether the violation is within the allowance."""
        return self.amount <= self.allowed


@dataclass(frozen=True)
class PlanCheck:
    """The result of a check: `excesses`, one per constraint, and the `size` that flows and shares take, in bytes."""

    size: float
    excesses: tuple[Excess, ...]

    @property
    def holds(self) -> bool:
        """Whether all constraints hold."""
        return all(excess.holds for excess in self.excesses)

    @property
    def worst(self) -> Excess:
        """The constraint that is nearest to its allowance, or furthest beyond it."""
        return max(self.excesses, key=lambda excess: excess.amount / excess.allowed)


def check_plan(plan: BufferPlan) -> PlanCheck:
    """Check every constraint of 004 §6 on a plan, from the phases of its applications alone.

    Args:
        plan: A plan with a size.

    Returns:
        For each constraint the largest violation beside the allowance, and the size that the plan really takes.

    Raises:
        InputError: The plan is infeasible.

    Example:
        >>> from dataclasses import replace
        >>> from penstock.buffers import size
        >>> from penstock.model import Application, Platform, Workload
        >>> writer = Application.of("a", [("work", 4.0), ("write", 8.0)], bandwidth=4.0)
        >>> plan = size(Workload(Platform(2.0), (writer,)))
        >>> check_plan(plan).holds
        True
        >>> found = check_plan(replace(plan, shares=plan.shares / 2.0))
        >>> found.holds, found.worst.constraint
        (False, 'more content than S_k')
    """
    if plan.size is None:
        raise InputError("plan", f"is {plan.status}; expected one with a size")
    return _Checker(plan).check()


@dataclass(frozen=True, eq=False)
class _Own:
    """One application at full speed: its dates, the data it writes and reads, and its speeds."""

    release: float
    end: float
    writes: Flow
    reads: Flow
    write_speed: float
    read_speed: float

    @classmethod
    def of(cls, application: Application, platform: Platform, capped: bool) -> _Own:
        write, read = application.write_speed(platform), application.read_speed(platform)
        if capped:
            write, read = min(write, platform.write_limit), min(read, platform.read_limit)
        kinds, amounts = application.phases.kinds, application.phases.amounts
        moves_out, moves_in = (kinds != WORK) & (kinds != READ), kinds == READ
        seconds = amounts / np.where(moves_in, read, np.where(moves_out, write, 1.0))
        dates = application.release + application.lead + np.concatenate([[0.0], np.cumsum(seconds)])
        writes, reads = (np.concatenate([[0.0], np.cumsum(amounts * mine)]) for mine in (moves_out, moves_in))
        return cls(application.release, float(dates[-1]), Flow(dates, writes), Flow(dates, reads), write, read)


class _Checker:
    """Goes through the applications one by one and adds up their transfers from each date of the grid to the next."""

    def __init__(self, plan: BufferPlan) -> None:
        self.plan, self.platform = plan, plan.workload.platform
        self.own = [_Own.of(a, self.platform, plan.demand.capped) for a in plan.workload.applications]
        flows = [*plan.written, *plan.read]
        lines = [flow.dates for flow in flows] + [own.writes.dates for own in self.own]
        self.grid = np.unique(np.concatenate([[plan.demand.origin], *lines, [own.release for own in self.own]]))
        self.seconds = np.diff(self.grid)
        self.unit = max([float(np.diff(line.amounts).max()) for own in self.own for line in (own.writes, own.reads)])
        count = len(self.seconds)
        self.moved_out, self.moved_in, self.inflow = np.zeros(count), np.zeros(count), np.zeros(count)
        self.taken = np.zeros((2, count))
        self.excesses: dict[str, Excess] = {}

    def check(self) -> PlanCheck:
        for k in range(len(self.own)):
            self._application(k)
        platform, seconds = self.platform, self.seconds
        self._together("all write more than B_w", self.moved_out - platform.write_limit * seconds)
        self._together("all read more than B_r", self.moved_in - platform.read_limit * seconds)
        self._together("all move more than B", self.moved_out + self.moved_in - platform.bandwidth * seconds)
        if platform.buffer and platform.buffer.bandwidth is not None:
            self._together("more flows in than B_BB", self.inflow - platform.buffer.bandwidth * seconds)
        size = float(self.taken[:, seconds > PLAN_DATE_S].max(initial=0.0))
        self._together("more is taken than S", np.array([size - (self.plan.size or 0.0)]))
        return PlanCheck(size, tuple(self.excesses.values()))

    def _application(self, k: int) -> None:
        own, written, read = self.own[k], self.plan.written[k], self.plan.read[k]
        first = min(own.release, _begins(read))
        low, high = np.searchsorted(self.grid, [first, max(own.end, written.dates[-1])])
        dates, steps = self.grid[low : high + 1], slice(low, high)
        seconds = self.seconds[steps]
        out, into, asked_out, asked_in = (line.at(dates) for line in (written, read, own.writes, own.reads))
        for name, amounts in (
            ("written before it is there", out - asked_out),
            ("not read in time", asked_in - into),
            ("writing falls", -np.diff(out)),
            ("reading falls", -np.diff(into)),
            ("writes more than min(b, B_w)", np.diff(out) - min(own.write_speed, self.platform.write_limit) * seconds),
            ("reads more than min(b, B_r)", np.diff(into) - min(own.read_speed, self.platform.read_limit) * seconds),
            ("not all written", np.array([own.writes.total - written.total])),
            ("not all read, or more", np.abs([own.reads.total - read.total])),
            ("not empty at first", np.array([written.amounts[0], read.amounts[0]])),
        ):
            self._excess(name, amounts, own.write_speed + own.read_speed)
        content = asked_out - out + into - asked_in
        middle = (dates[:-1] + dates[1:]) / 2.0
        alive = (own.release <= middle) & (middle < own.end)
        held = np.array([content[:-1], content[1:]])
        if self.plan.shares is not None:
            share = float(self.plan.shares[k])
            self._excess("more content than S_k", held[:, alive].ravel() - share, own.write_speed + own.read_speed)
            held = np.where(alive, share, held)
        self.taken[:, steps] += held
        self.moved_out[steps] += np.diff(out)
        self.moved_in[steps] += np.diff(into)
        writing, reading = np.diff(asked_out) > 0.0, np.diff(asked_in) > 0.0
        self.inflow[steps] += np.where(writing, np.diff(asked_out) - np.diff(out), 0.0) + np.where(
            reading, 0.0, np.diff(into)
        )

    def _together(self, name: str, amounts: Floats) -> None:
        self._excess(name, amounts, self._most_speed)

    @property
    def _most_speed(self) -> float:
        """Highest sum of the speeds of applications that live at one time, in bytes/s."""
        changes = [(own.release, own.write_speed + own.read_speed) for own in self.own]
        changes += [(own.end + 2.0 * PLAN_DATE_S, -own.write_speed - own.read_speed) for own in self.own]
        return float(np.cumsum([speed for _, speed in sorted(changes)]).max())

    def _excess(self, name: str, amounts: Floats, speed: float) -> None:
        """Keep the largest excess of a constraint, in parts of the allowance."""
        found = Excess(name, float(amounts.max(initial=0.0)), PLAN_SLACK * self.unit + 2.0 * PLAN_DATE_S * speed)
        before = self.excesses.setdefault(name, found)
        if found.amount * before.allowed > before.amount * found.allowed:
            self.excesses[name] = found


def _begins(flow: Flow) -> float:
    """The date at which a flow begins to rise."""
    rising = np.flatnonzero(flow.amounts > 0.0)
    return float(flow.dates[max(0, rising[0] - 1)]) if len(rising) else np.inf
