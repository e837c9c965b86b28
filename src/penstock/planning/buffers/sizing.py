"""The smallest buffer with which nobody is slowed down (004 §6, X-Buffer-Size(1)): the place where the parts come together.

First the applications at full speed; whether their reads can be in time at all; busy periods, and the strands in them. Then
strands alone in their periods are computed, and a linear program decides the others. The smallest S leaves room for many
shares: a second program takes those with the smallest sum.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from penstock.model import InputError, Workload
from penstock.planning.buffers.busy import busy_periods, one_period
from penstock.planning.buffers.contents import Contents
from penstock.planning.buffers.demand import Demand, demand
from penstock.planning.buffers.dynamic import dynamic_program
from penstock.planning.buffers.obstacles import inflow_that_matters, late_read, narrow_buffer
from penstock.planning.buffers.plan import DYNAMIC, INFEASIBLE, OPTIMAL, STATIC, Effort, Plan
from penstock.planning.buffers.solver import InfeasibleError, Solution, solve
from penstock.planning.buffers.static import least_shares, static_program
from penstock.planning.buffers.strands import Parts, Steps, lone, moved_alone, strands_of
from penstock.planning.buffers.transfers import Question
from penstock.policies.view import Floats


def size(workload: Workload, mode: str = STATIC, *, capped: bool = False) -> Plan:
    """The smallest static or dynamic buffer for a stretch of 1, with a plan that shows that it is enough.

    With `capped` speeds are min(b_k, B) (see `demand`). A workload whose reads cannot be in time, whatever the size, gets an
    infeasible plan that says why.
    """
    if mode not in (STATIC, DYNAMIC):
        raise InputError("mode", f"{mode!r} is unknown; expected {STATIC} or {DYNAMIC}")
    clock = _Clock()
    asked = demand(workload, capped=capped)
    plan = Plan(asked, mode, INFEASIBLE, Effort(demand_seconds=clock.lap()), warnings=_warnings(asked))
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


def _question(asked: Demand) -> tuple[Question, Contents]:
    """What the linear program is to decide, and the contents that need none."""
    inflow = inflow_that_matters(asked)
    periods = busy_periods(asked) if inflow is None else one_period(asked)
    strands, parts = strands_of(asked, periods)
    alone = lone(asked, strands, len(periods)) & (inflow is None)
    single = strands.chosen(alone)
    steps = Steps.of(asked, single)
    known = Contents.of(asked, single, steps, moved_alone(single, steps))
    shared = strands.chosen(~alone)
    kept, period = np.unique(shared.period, return_inverse=True)
    shared = replace(shared, period=period)
    number, mine = np.cumsum(~alone) - 1, ~alone[parts.strand]
    parts = Parts(number[parts.strand[mine]], parts.start[mine], parts.stop[mine])
    least = known.shares(asked)
    return Question(asked, periods[kept], shared, parts, Steps.of(asked, shared), least, inflow), known


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
    found = solve(program)
    effort = replace(_with(effort, found), solve_seconds=clock.lap())
    if mode == STATIC:
        found = solve(least_shares(sizing, float(found.x[sizing.size])).program)
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


def _warnings(asked: Demand) -> tuple[str, ...]:
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
