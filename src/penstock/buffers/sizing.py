"""The smallest buffer with which no application is slowed down: X-Buffer-Size(1) of 004 §6.

The way to a plan: the applications at full speed (`timeline`), a check that all reads can be in time, busy periods and the
strands in them (`periods`). A strand that is alone in its period needs no decision. A linear program decides the others
(`program`, `solve`), and the contents that follow make the plan (`plan`).

A static buffer has two objectives, one after the other: the smallest S, and among all partitions with that S the smallest
Σ S_k. A first solution minimises both at once, with S weighted more. Its basis is nearly always optimal for S alone, and
for Σ S_k with that S, so that the two solutions that follow cost next to nothing; they make the result exact in any case.

A plan can be infeasible. Writes can always wait in the buffer. Reads cannot: until t at most B_r · t bytes can have
come from the file system, whatever is prefetched, and Σ R∞(t) bytes must have. This is the only obstacle, even where one
application alone cannot fill the file system: it is the backlog of `lower_bounds` backwards in time, which must be gone
at the clock's 0. A limited bandwidth of the buffer itself can be another obstacle.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.buffers.periods import (
    StrandParts,
    Strands,
    StrandSteps,
    busy_periods,
    moved_alone,
    one_period,
    strands_of,
    undisputed,
)
from penstock.buffers.plan import DYNAMIC, INFEASIBLE, OPTIMAL, STATIC, BufferPlan, Effort, Filling, Obstacle
from penstock.buffers.program import SizingProblem, SizingProgram, dynamic_program, least_inflow_program, static_program
from penstock.buffers.solve import InfeasibleError, Solution, Solver, solve_program
from penstock.buffers.timeline import Flow, FullSpeedTimeline, full_speed_timeline
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats, Ints, spread, summed
from penstock.numeric.tolerances import LP_TOLERANCE, PLAN_ROUNDING, PLAN_SLACK

WEIGHT: Final = 1000.0
"""Weight of S beside Σ S_k in the first solution of a static buffer."""


def size(workload: Workload, mode: str = STATIC, *, capped: bool = False) -> BufferPlan:
    """Find the smallest buffer for a stretch of 1, with a plan that shows that it is enough (004 §6).

    Args:
        workload: Applications and platform. Degradation and rounds are refused: the program assumes a link that always
            carries B.
        mode: `static` (each application has a share while it lives) or `dynamic` (one pool).
        capped: Take speeds as min(b_k, B). C_min is then what an application reaches alone without a buffer, and a buffer
            serves contention only.

    Returns:
        An optimal plan with size and shares in bytes; or, if some read cannot be in time with any buffer, an infeasible plan
        whose `obstacle` says why.

    Raises:
        InputError: The mode is unknown, or the workload has a feature that the program does not know.

    Example:
        Two applications write 8 bytes at 4 bytes/s each, at the same time, to a file system that takes 2 bytes/s. Of 16
        bytes, 4 leave within these 2 s.

        >>> from penstock.model import Application, Platform, Workload
        >>> writers = [Application.of(name, [("work", 4.0), ("write", 8.0)], bandwidth=4.0) for name in "ab"]
        >>> plan = size(Workload(Platform(2.0), tuple(writers)))
        >>> plan.status, round(plan.size, 6), round(float(plan.shares.sum()), 6)
        ('optimal', 12.0, 12.0)
    """
    if mode not in (STATIC, DYNAMIC):
        raise InputError("mode", f"{mode!r} is unknown; expected {STATIC} or {DYNAMIC}")
    clock = _StopWatch()
    demand = full_speed_timeline(workload, capped=capped)
    plan = BufferPlan(demand, mode, INFEASIBLE, Effort(demand_seconds=clock.lap()), warnings=_warnings(demand))
    obstacle = late_read(demand)
    if obstacle is not None:
        return replace(plan, obstacle=obstacle)
    problem, contents = _problem(demand)
    effort = replace(plan.effort, build_seconds=clock.lap())
    if len(problem.strands):
        try:
            moved, effort = _decide(problem, mode, effort)
        except InfeasibleError:
            if problem.inflow is None:
                raise
            return replace(plan, obstacle=slow_buffer(problem))
        clock.lap()
        contents = contents.joined(Contents.of(demand, problem.strands, problem.steps, moved))
    plan = contents.plan(plan)
    return replace(plan, effort=replace(effort, plan_seconds=clock.lap()))


def _warnings(demand: FullSpeedTimeline) -> tuple[str, ...]:
    if demand.load <= 1.0:
        return ()
    return (
        f"applications that run together move {demand.load:.3f} of the bandwidth on average: the file system cannot keep "
        "up, and the buffer must hold the difference",
    )


def _problem(demand: FullSpeedTimeline) -> tuple[SizingProblem, Contents]:
    """What the linear program must decide, and the contents of the strands that do not need it."""
    inflow = _inflow_limit(demand)
    periods = busy_periods(demand) if inflow is None else one_period(demand)
    strands, parts = strands_of(demand, periods)
    alone = undisputed(demand, strands, len(periods)) & (inflow is None)
    single = strands.chosen(alone)
    steps = StrandSteps.of(demand, single)
    contents = Contents.of(demand, single, steps, moved_alone(single, steps))
    shared = strands.chosen(~alone)
    kept, period = np.unique(shared.period, return_inverse=True)
    shared = replace(shared, period=period)
    number, mine = np.cumsum(~alone) - 1, ~alone[parts.strand]
    parts = StrandParts(number[parts.strand[mine]], parts.start[mine], parts.stop[mine])
    steps = StrandSteps.of(demand, shared)
    return SizingProblem(demand, periods[kept], shared, parts, steps, contents.shares(demand), inflow), contents


def _decide(problem: SizingProblem, mode: str, effort: Effort) -> tuple[Floats, Effort]:
    """Bytes that each step moves, by linear program."""
    clock = _StopWatch()
    sizing = (static_program if mode == STATIC else dynamic_program)(problem)
    solver = Solver(sizing.program)
    effort = replace(
        effort,
        rows=sizing.program.rows,
        columns=sizing.program.columns,
        nonzeros=sizing.program.nonzeros,
        build_seconds=effort.build_seconds + clock.lap(),
    )
    found = _smallest_size(sizing, solver)
    effort = replace(_with_errors(effort, found), solve_seconds=clock.lap())
    if mode == STATIC:
        found = [_smallest_shares(sizing, solver, found[-1])]
        effort = replace(_with_errors(effort, found), shares_seconds=clock.lap())
    return found[-1].x[sizing.moved] * sizing.unit, effort


def _with_errors(effort: Effort, found: list[Solution]) -> Effort:
    """The effort with the iterations and the errors of more solutions."""
    return replace(
        effort,
        iterations=effort.iterations + sum(one.iterations for one in found),
        gap=max(effort.gap, *(one.gap for one in found)),
        primal_residual=max(effort.primal_residual, *(one.primal_residual for one in found)),
        dual_residual=max(effort.dual_residual, *(one.dual_residual for one in found)),
    )


def _smallest_size(sizing: SizingProgram, solver: Solver) -> list[Solution]:
    """Solutions of which the last has the smallest S."""
    size_alone = sizing.cost(sizing.size)
    if not len(sizing.shares):
        return [solver.minimise(size_alone)]
    return [solver.minimise(WEIGHT * size_alone + sizing.cost(sizing.shares)), solver.minimise(size_alone)]


def _smallest_shares(sizing: SizingProgram, solver: Solver, smallest: Solution) -> Solution:
    """The smallest Σ S_k with the S of the smallest buffer."""
    solver.limit(sizing.size, float(smallest.x[sizing.size]) * (1.0 + PLAN_SLACK) + PLAN_SLACK)
    return solver.minimise(sizing.cost(sizing.shares))


def late_read(demand: FullSpeedTimeline) -> Obstacle | None:
    """The first read of the `demand` that cannot be in time; None if all can. Linear time."""
    limit = demand.workload.platform.read_limit
    needed = np.concatenate([[0.0], np.cumsum(demand.reads.arriving())])
    spare = limit * (demand.events - demand.origin + demand.shifts) - needed
    if spare.min() >= -PLAN_ROUNDING * demand.unit:
        return None
    interval = int(np.argmax(spare < -PLAN_ROUNDING * demand.unit)) - 1
    rate = (needed[interval + 1] - needed[interval]) / demand.lengths[interval]
    date = float(demand.events[interval] + max(spare[interval], 0.0) / (rate - limit))
    reads = demand.reads
    running = np.flatnonzero((reads.start <= interval) & (interval < reads.stop))
    late = int(running[np.argmax(reads.start[running])])
    owner, missing = int(reads.owner[late]), float(-spare.min())
    name = demand.workload.applications[owner].name
    number = late - int(np.searchsorted(reads.owner, owner)) + 1
    phase = int(reads.phase[late])
    message = (
        f"{name}: read {number} (phases[{phase}]) cannot be in time: from date {date:.6g} on more must have been read than "
        f"{limit:.6g} bytes/s give; {missing:.6g} bytes are missing at the worst moment"
    )
    return Obstacle(message, date, application=name, phase=phase, read=number, missing=missing)


def slow_buffer(problem: SizingProblem) -> Obstacle:
    """Where the buffer's own bandwidth leaves the `problem` no solution: how much would be enough, and when it is needed."""
    demand = problem.demand
    most = _most_inflow(demand)
    program, bandwidth, rows = least_inflow_program(problem, most)
    found = solve_program(program)
    date = float(demand.events[int(np.argmax(found.row_duals[rows] < -LP_TOLERANCE))])
    needed = most * float(found.x[bandwidth])
    message = (
        f"the buffer takes {problem.inflow:.6g} bytes/s, too few from date {date:.6g} on; expected at least {needed:.6g}"
    )
    return Obstacle(message, date, needed=needed)


def _inflow_limit(demand: FullSpeedTimeline) -> float | None:
    """B_BB in bytes/s; None if it is not given, or more than can ever flow in."""
    buffer = demand.workload.platform.buffer
    inflow = buffer.bandwidth if buffer else None
    return inflow if inflow is not None and inflow < _most_inflow(demand) else None


def _most_inflow(demand: FullSpeedTimeline) -> float:
    """The most that can ever flow in, in bytes/s."""
    most = float((demand.writes.arriving() / demand.lengths).max()) if len(demand.lengths) else 0.0
    return most + (demand.workload.platform.read_limit if len(demand.reads) else 0.0)


@dataclass(frozen=True, eq=False)
class Contents:
    """Contents of strands at their events, `amount` in bytes; arrays have one entry per strand and event."""

    owner: Ints
    reading: NDArray[np.bool_]
    event: Ints
    amount: Floats

    @classmethod
    def of(cls, demand: FullSpeedTimeline, strands: Strands, steps: StrandSteps, moved: Floats) -> Contents:
        """The contents that follow from the bytes that each of the `steps` of the `strands` of the `demand` has `moved`."""
        strand, event = spread(strands.first, strands.last + 1)
        begins, ends = event == strands.first[strand], event == strands.last[strand]
        change = np.zeros(len(event))
        change[~begins] = np.where(strands.reading[steps.strand], moved - steps.asked, steps.asked - moved)
        amount = np.cumsum(change)
        amount -= amount[begins][strand]
        over = ends & (strands.reading[strand] | (event < len(demand.events) - 1))
        amount[over | (amount < PLAN_ROUNDING * demand.unit)] = 0.0
        return cls(strands.owner[strand], strands.reading[strand], event, amount)

    def joined(self, others: Contents) -> Contents:
        """These contents and the others."""
        return Contents(*(np.concatenate([getattr(self, f.name), getattr(others, f.name)]) for f in fields(self)))

    def plan(self, plan: BufferPlan) -> BufferPlan:
        """The plan with these contents: shares if it is static, size, filling and flows."""
        demand = plan.demand
        shares = self.shares(demand) if plan.mode == STATIC else None
        filling = self.filling(demand, shares)
        written, read = self.flows(demand)
        return replace(
            plan,
            status=OPTIMAL,
            size=filling.size,
            shares=shares,
            peaks=self.peaks(len(demand.begin)),
            filling=filling,
            written=written,
            read=read,
        )

    def peaks(self, applications: int, counted: NDArray[np.bool_] | None = None) -> Floats:
        """Largest content of each of so many `applications`, in bytes, both directions together.

        Only the entries that are `counted` count; by default all do.
        """
        chosen = slice(None) if counted is None else counted
        events = int(self.event.max(initial=0)) + 1
        keys, place = np.unique(self.owner[chosen] * events + self.event[chosen], return_inverse=True)
        both = summed(place, self.amount[chosen], len(keys))
        peaks = np.zeros(applications)
        np.maximum.at(peaks, keys // events, both)
        return peaks

    def shares(self, demand: FullSpeedTimeline) -> Floats:
        """Largest content of each application of the `demand` while it lives: the share that it needs, in bytes."""
        alive = (demand.begin[self.owner] <= self.event) & (self.event <= demand.end[self.owner])
        return self.peaks(len(demand.begin), alive)

    def filling(self, demand: FullSpeedTimeline, shares: Floats | None) -> Filling:
        """The buffer of the `demand` over time; with `shares` in bytes, each is in use while its application lives."""
        events = len(demand.events)
        content = summed(self.event, self.amount, events)
        if shares is None:
            return Filling(demand.events, content, content, content)
        change = np.zeros(events)
        np.add.at(change, demand.begin, shares)
        np.add.at(change, demand.end, -shares)
        living = np.cumsum(change)
        begin, end = demand.begin[self.owner], demand.end[self.owner]
        outside = {
            "before": np.where(self.reading, self.event <= begin, self.event > end),
            "after": np.where(self.reading, self.event < begin, self.event >= end),
        }
        before, after = (summed(self.event[who], self.amount[who], events) for who in outside.values())
        before[1:] += living[:-1]
        return Filling(demand.events, content, before, after + living)

    def flows(self, demand: FullSpeedTimeline) -> tuple[tuple[Flow, ...], tuple[Flow, ...]]:
        """For each application of the `demand` the data written to the file system and read from it.

        These are W∞ − content and R∞ + content.
        """
        written, read = (
            operations.flows(len(demand.begin), self.owner[mine], self.event[mine], sign * self.amount[mine])
            for operations, mine, sign in ((demand.writes, ~self.reading, -1.0), (demand.reads, self.reading, 1.0))
        )
        return _drained(demand, written), read


def _drained(demand: FullSpeedTimeline, written: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """The flows with the rest after the last event: all applications drain evenly, as fast as they can together."""
    total = demand.writes.total(len(written))
    left = total - np.array([flow.total for flow in written])
    left[left < PLAN_ROUNDING * demand.unit] = 0.0
    seconds = max(float(left.sum()) / demand.workload.platform.write_limit, float((left / demand.write_cap).max()))
    if seconds == 0.0:
        return written
    end = demand.events[-1] + seconds
    return tuple(
        Flow(np.append(flow.dates, end), np.append(flow.amounts, total[k])) if left[k] > 0.0 else flow
        for k, flow in enumerate(written)
    )


class _StopWatch:
    """Seconds from lap to lap."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()

    def lap(self) -> float:
        """Seconds since the last lap."""
        begun, self._begun = self._begun, time.perf_counter()
        return self._begun - begun
