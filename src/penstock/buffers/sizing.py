"""When no buffer is large enough for a stretch of 1.

Writes can always wait in the buffer. Reads cannot: until t no more than B_r · t can have come from the file system, whatever
is prefetched, and Σ R∞(t) must have. That is all there is to it, even where an application alone cannot fill the file
system: it is the backlog of `penstock.buffers.lower_bounds` backwards in time, which must be gone at the clock's 0.
A limited bandwidth of the buffer itself can stand in the way too.

The smallest buffer with which nobody is slowed down (004 §6, X-Buffer-Size(1)): the place where the parts come together.

First the applications at full speed; whether their reads can be in time at all; busy periods, and the strands in them. Then
strands alone in their periods are computed, and a linear program decides the others. The smallest S leaves room for many
shares: a second program takes those with the smallest sum.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from penstock.buffers.lower_bounds import arriving
from penstock.buffers.periods import StrandParts, StrandSteps, busy_periods, lone, moved_alone, one_period, strands_of
from penstock.buffers.plan import DYNAMIC, INFEASIBLE, OPTIMAL, STATIC, BufferPlan, Contents, Effort, Obstacle
from penstock.buffers.program import Question, dynamic_program, least_inflow_program, least_shares, static_program
from penstock.buffers.solve import InfeasibleError, Solution, solve_program
from penstock.buffers.timeline import FullSpeedTimeline, full_speed_timeline
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import LP_TOLERANCE, PLAN_ROUNDING


def late_read(demand: FullSpeedTimeline) -> Obstacle | None:
    """The first read that cannot be in time; None if all can. Linear time."""
    limit = demand.workload.platform.read_limit
    needed = np.concatenate([[0.0], np.cumsum(arriving(demand.reads))])
    spare = limit * (demand.events - demand.origin + demand.shifts) - needed
    if spare.min() >= -PLAN_ROUNDING * demand.unit:
        return None
    interval = int(np.argmax(spare < -PLAN_ROUNDING * demand.unit)) - 1
    rate = (needed[interval + 1] - needed[interval]) / demand.lengths[interval]
    date = float(demand.events[interval] + max(spare[interval], 0.0) / (rate - limit))
    reads = demand.reads
    open_ones = np.flatnonzero((reads.start <= interval) & (interval < reads.stop))
    late = int(open_ones[np.argmax(reads.start[open_ones])])
    owner, missing = int(reads.owner[late]), float(-spare.min())
    name = demand.workload.applications[owner].name
    number = late - int(np.searchsorted(reads.owner, owner)) + 1
    phase = int(reads.phase[late])
    message = (
        f"{name}: read {number} (phases[{phase}]) cannot be in time: from date {date:.6g} on more must have been read than "
        f"{limit:.6g} bytes/s give; {missing:.6g} bytes are missing at the worst moment"
    )
    return Obstacle(message, date, application=name, phase=phase, read=number, missing=missing)


def inflow_that_matters(demand: FullSpeedTimeline) -> float | None:
    """B_BB, or None if it is not given or more than can ever flow in."""
    buffer = demand.workload.platform.buffer
    inflow = buffer.bandwidth if buffer else None
    if inflow is None:
        return None
    return inflow if inflow < _most_inflow(demand) else None


def _most_inflow(demand: FullSpeedTimeline) -> float:
    """The most that can ever flow in, in bytes/s."""
    most = float((arriving(demand.writes) / demand.lengths).max()) if len(demand.lengths) else 0.0
    return most + (demand.workload.platform.read_limit if len(demand.reads) else 0.0)


def narrow_buffer(question: Question) -> Obstacle:
    """What is to be said where the buffer's own bandwidth leaves no solution: how much would do, and when it is needed."""
    demand = question.demand
    most = _most_inflow(demand)
    found = solve_program(least_inflow_program(question, most).program)
    # Its rows of inflow are the last ones, one an interval.
    tight = found.upper_duals[-len(demand.lengths) :] < -LP_TOLERANCE
    date = float(demand.events[int(np.argmax(tight))])
    needed = most * float(found.x[-1])
    message = (
        f"the buffer takes {question.inflow:.6g} bytes/s, too few from date {date:.6g} on; expected at least {needed:.6g}"
    )
    return Obstacle(message, date, needed=needed)


def size(workload: Workload, mode: str = STATIC, *, capped: bool = False) -> BufferPlan:
    """The smallest static or dynamic buffer for a stretch of 1, with a plan that shows that it is enough.

    With `capped` speeds are min(b_k, B) (see `demand`). A workload whose reads cannot be in time, whatever the size, gets an
    infeasible plan that says why.
    """
    if mode not in (STATIC, DYNAMIC):
        raise InputError("mode", f"{mode!r} is unknown; expected {STATIC} or {DYNAMIC}")
    clock = _Clock()
    asked = full_speed_timeline(workload, capped=capped)
    plan = BufferPlan(asked, mode, INFEASIBLE, Effort(demand_seconds=clock.lap()), warnings=_warnings(asked))
    obstacle = late_read(asked)
    if obstacle is not None:
        return replace(plan, obstacle=obstacle)
    question, known = _question(asked)
    effort = replace(plan.effort, build_seconds=clock.lap())
    if len(question.strands):
        try:
            moved, effort = _decided(question, mode, effort)
        except InfeasibleError:
            if question.inflow is None:
                raise
            return replace(plan, obstacle=narrow_buffer(question))
        clock.lap()
        known = known.and_those(Contents.of(asked, question.strands, question.steps, moved))
    shares = known.shares(asked) if mode == STATIC else None
    filling = known.filling(asked, shares)
    written, read = known.flows(asked)
    return replace(
        plan,
        status=OPTIMAL,
        effort=replace(effort, plan_seconds=clock.lap()),
        size=filling.size,
        shares=shares,
        peaks=known.peaks(len(asked.begin)),
        filling=filling,
        written=written,
        read=read,
    )


def _question(asked: FullSpeedTimeline) -> tuple[Question, Contents]:
    """What the linear program is to decide, and the contents that need none."""
    inflow = inflow_that_matters(asked)
    periods = busy_periods(asked) if inflow is None else one_period(asked)
    strands, parts = strands_of(asked, periods)
    alone = lone(asked, strands, len(periods)) & (inflow is None)
    single = strands.chosen(alone)
    steps = StrandSteps.of(asked, single)
    known = Contents.of(asked, single, steps, moved_alone(single, steps))
    shared = strands.chosen(~alone)
    kept, period = np.unique(shared.period, return_inverse=True)
    shared = replace(shared, period=period)
    number, mine = np.cumsum(~alone) - 1, ~alone[parts.strand]
    parts = StrandParts(number[parts.strand[mine]], parts.start[mine], parts.stop[mine])
    least = known.shares(asked)
    return Question(asked, periods[kept], shared, parts, StrandSteps.of(asked, shared), least, inflow), known


def _decided(question: Question, mode: str, effort: Effort) -> tuple[Floats, Effort]:
    """What each step moves, in bytes, by linear program."""
    clock = _Clock()
    sizing = (static_program if mode == STATIC else dynamic_program)(question)
    program = sizing.program
    effort = replace(
        effort,
        rows=program.rows,
        columns=program.columns,
        nonzeros=program.nonzeros,
        build_seconds=effort.build_seconds + clock.lap(),
    )
    found = solve_program(program)
    effort = replace(_with(effort, found), solve_seconds=clock.lap())
    if mode == STATIC:
        found = solve_program(least_shares(sizing, float(found.x[sizing.size])).program)
        effort = replace(_with(effort, found), shares_seconds=clock.lap())
    return found.x[sizing.moved] * sizing.unit, effort


def _with(effort: Effort, found: Solution) -> Effort:
    """The effort with the iterations and the errors of one more solution."""
    return replace(
        effort,
        iterations=effort.iterations + found.iterations,
        gap=max(effort.gap, found.gap),
        primal_residual=max(effort.primal_residual, found.primal_residual),
        dual_residual=max(effort.dual_residual, found.dual_residual),
    )


def _warnings(asked: FullSpeedTimeline) -> tuple[str, ...]:
    if asked.load <= 1.0:
        return ()
    return (
        f"those who run together move {asked.load:.3f} of the bandwidth on average: the file system cannot keep up, and the "
        "buffer holds all that it is behind",
    )


class _Clock:
    """Seconds from lap to lap."""

    def __init__(self) -> None:
        self._begun = time.perf_counter()

    def lap(self) -> float:
        """Seconds since the last one."""
        begun, self._begun = self._begun, time.perf_counter()
        return self._begun - begun
