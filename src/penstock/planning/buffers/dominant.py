"""Dominant schedules (004 §3.4, Theorem 1): rates that are constant between events are enough.

Take any schedule, and give every flow between two events its mean rate. At the events all is as it was, so that everybody is
as fast; between them contents are straight lines, so that nobody needs more of the buffer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.model import Workload
from penstock.planning.buffers.busy import one_period
from penstock.planning.buffers.contents import Contents
from penstock.planning.buffers.demand import Demand, Operations, demand
from penstock.planning.buffers.dynamic import dynamic_program
from penstock.planning.buffers.flow import Flow
from penstock.planning.buffers.plan import OPTIMAL, STATIC, Plan
from penstock.planning.buffers.ranges import summed
from penstock.planning.buffers.sizing import size
from penstock.planning.buffers.solver import solve
from penstock.planning.buffers.static import static_program
from penstock.planning.buffers.strands import Steps, strands_of
from penstock.planning.buffers.transfers import Question
from penstock.policies.view import Floats


def averaged(plan: Plan) -> Plan:
    """The plan with constant rates from each event of its workload to the next; its size and shares stay."""
    events = demand(plan.workload, capped=plan.demand.capped).events
    return replace(
        plan,
        written=tuple(_averaged(flow, events) for flow in plan.written),
        read=tuple(_averaged(flow, events) for flow in plan.read),
    )


def wandering(workload: Workload, mode: str, seed: int, *, pieces: int = 3, room: float = 1.5) -> Plan:
    """A schedule of stretch 1 whose rates change at will between events, for a small workload without B_BB that has one.

    The times between events are cut into `pieces` at random dates; what moves in each is a random vertex of all that a
    buffer of `room` times the smallest size allows. The size is what that takes.
    """
    random = np.random.default_rng(seed)
    best = size(workload, mode)
    assert best.size is not None, best.obstacle
    asked = _finer(best.demand, pieces, random)
    strands, parts = strands_of(asked, one_period(asked))
    steps = Steps.of(asked, strands)
    question = Question(asked, one_period(asked), strands, parts, steps, np.zeros(len(asked.begin)), None)
    sizing = (static_program if mode == STATIC else dynamic_program)(question)
    cost, high = np.zeros(sizing.program.columns), sizing.program.high.copy()
    cost[sizing.moved] = random.normal(size=len(sizing.moved))
    high[sizing.size] = room * best.size / sizing.unit + 1e-6
    found = solve(replace(sizing.program, cost=cost, high=high))
    contents = Contents.of(asked, strands, steps, found.x[sizing.moved] * sizing.unit)
    shares = contents.shares(asked) if mode == STATIC else None
    filling = contents.filling(asked, shares)
    written, read = contents.flows(asked)
    peaks = contents.peaks(len(asked.begin))
    return Plan(asked, mode, OPTIMAL, best.effort, filling.size, shares, peaks, filling, written, read)


def _averaged(flow: Flow, events: Floats) -> Flow:
    dates = np.union1d(events, flow.dates[flow.dates > events[-1]])
    return Flow(dates, flow.at(dates))


def _finer(asked: Demand, pieces: int, random: np.random.Generator) -> Demand:
    """The demand with more events: each interval is cut into `pieces` at random dates."""
    cuts = asked.events[:-1, None] + asked.lengths[:, None] * random.uniform(0.1, 0.9, (len(asked.lengths), pieces - 1))
    events = np.unique(np.concatenate([asked.events, cuts.ravel()]))
    place = np.searchsorted(events, asked.events)

    def moved(operations: Operations) -> Operations:
        return replace(operations, start=place[operations.start], stop=place[operations.stop], events=events)

    return replace(
        asked,
        events=events,
        shifts=summed(place, asked.shifts, len(events)),
        begin=place[asked.begin],
        end=place[asked.end],
        reads=moved(asked.reads),
        writes=moved(asked.writes),
    )
