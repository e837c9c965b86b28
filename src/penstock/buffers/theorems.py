"""Dominant schedules (004 §3.4, Theorem 1): rates that are constant between events are enough.

Take any schedule, and give every flow between two events its mean rate. At the events all is as it was, so that everybody is
as fast; between them contents are straight lines, so that nobody needs more of the buffer.

Theorem 2 of 004: with no buffer, or for a stretch ρ above 1, sizing is as hard as splitting integers into equal sums.

Given integers a_1 … a_m of sum n·B, application k reads a_k bytes, computes for d = (n + 1 − 2ρ) / (ρ − 1) seconds and
writes a_k bytes, at a_k bytes/s at most, on a file system of B bytes/s; all are released at 0. Then C_min = d + 2, a
stretch of ρ means an end by d + n + 1, and without a buffer that can be had exactly if the integers split into n groups of
sum B, which read one after the other. (If B/4 < a_k < B/2 the groups are triples, as in 004; the proof does not need it.) It
takes d ≥ n − 1, which is ρ ≤ 2n / (n + 1): then no read is left when the first write can begin.

Both sides are decided here by trying all there is, for a few integers: the groups, and the orders in which the reads end.
For a given order, what moves between two such ends is a linear program, with the dates among its columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from penstock.buffers.periods import StrandSteps, one_period, strands_of
from penstock.buffers.plan import OPTIMAL, STATIC, BufferPlan, Contents
from penstock.buffers.program import Assembly, Question, dynamic_program, static_program
from penstock.buffers.sizing import size
from penstock.buffers.solve import InfeasibleError, solve_program
from penstock.buffers.timeline import Flow, FullSpeedTimeline, Operations, full_speed_timeline
from penstock.model import Application, InputError, Platform, Workload
from penstock.numeric.arrays import Floats, summed
from penstock.numeric.tolerances import LP_ROOM


def averaged(plan: BufferPlan) -> BufferPlan:
    """The plan with constant rates from each event of its workload to the next; its size and shares stay."""
    events = full_speed_timeline(plan.workload, capped=plan.demand.capped).events
    return replace(
        plan,
        written=tuple(_averaged(flow, events) for flow in plan.written),
        read=tuple(_averaged(flow, events) for flow in plan.read),
    )


def wandering(workload: Workload, mode: str, seed: int, *, pieces: int = 3, room: float = 1.5) -> BufferPlan:
    """A schedule of stretch 1 whose rates change at will between events, for a small workload without B_BB that has one.

    The times between events are cut into `pieces` at random dates; what moves in each is a random vertex of all that a
    buffer of `room` times the smallest size allows. The size is what that takes.
    """
    random = np.random.default_rng(seed)
    best = size(workload, mode)
    assert best.size is not None, best.obstacle
    asked = _finer(best.demand, pieces, random)
    strands, parts = strands_of(asked, one_period(asked))
    steps = StrandSteps.of(asked, strands)
    question = Question(asked, one_period(asked), strands, parts, steps, np.zeros(len(asked.begin)), None)
    sizing = (static_program if mode == STATIC else dynamic_program)(question)
    cost, high = np.zeros(sizing.program.columns), sizing.program.high.copy()
    cost[sizing.moved] = random.normal(size=len(sizing.moved))
    high[sizing.size] = room * best.size / sizing.unit + LP_ROOM
    found = solve_program(replace(sizing.program, cost=cost, high=high))
    contents = Contents.of(asked, strands, steps, found.x[sizing.moved] * sizing.unit)
    shares = contents.shares(asked) if mode == STATIC else None
    filling = contents.filling(asked, shares)
    written, read = contents.flows(asked)
    peaks = contents.peaks(len(asked.begin))
    return BufferPlan(asked, mode, OPTIMAL, best.effort, filling.size, shares, peaks, filling, written, read)


def _averaged(flow: Flow, events: Floats) -> Flow:
    dates = np.union1d(events, flow.dates[flow.dates > events[-1]])
    return Flow(dates, flow.at(dates))


def _finer(asked: FullSpeedTimeline, pieces: int, random: np.random.Generator) -> FullSpeedTimeline:
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


MOST_ORDERED: Final = 7
"""How many integers `reachable` takes: 7 have up to 5,040 orders."""


def instance(integers: Sequence[int], groups: int, stretch: float) -> Workload:
    """The applications of Theorem 2."""
    size, seconds = _terms(integers, groups, stretch)
    return Workload(
        Platform(size),
        tuple(
            Application.of(f"a{k}", [("read", a), ("work", seconds), ("write", a)], bandwidth=float(a))
            for k, a in enumerate(integers)
        ),
    )


def split(integers: Sequence[int], groups: int) -> list[list[int]] | None:
    """The integers in `groups` groups of equal sums, or None; all ways are tried, the largest integers first."""
    size, rest = divmod(sum(integers), groups)
    if rest:
        return None
    found: list[list[int]] = [[] for _ in range(groups)]

    def place(left: list[int]) -> bool:
        if not left:
            return True
        for index, group in enumerate(found):
            if sum(group) + left[0] <= size and group not in found[:index]:
                group.append(left[0])
                if place(left[1:]):
                    return True
                group.pop()
        return False

    return found if place(sorted(integers, reverse=True)) else None


def reachable(integers: Sequence[int], groups: int, stretch: float) -> bool:
    """Whether the applications can keep the stretch without a buffer."""
    size, _ = _terms(integers, groups, stretch)
    if len(integers) > MOST_ORDERED:
        raise InputError("integers", f"{len(integers)} are too many to try all orders; expected {MOST_ORDERED} at most")
    return any(_fits(order, size, groups + 1.0) for order in _orders(sorted(integers)))


def _terms(integers: Sequence[int], groups: int, stretch: float) -> tuple[float, float]:
    """B and d; InputError where the theorem says nothing."""
    if groups < 2 or not integers or min(integers) < 1:
        raise InputError(
            "integers", f"{list(integers)} for {groups} groups; expected integers above 0, and 2 groups or more"
        )
    size = sum(integers) / groups
    if max(integers) > size:
        raise InputError("integers", f"{max(integers)} is more than the sum of a group; expected at most {size:g}")
    if not 1.0 < stretch <= 2.0 * groups / (groups + 1.0):
        raise InputError("stretch", f"{stretch} is out of range; expected above 1, up to {2 * groups / (groups + 1):g}")
    return size, (groups + 1.0 - 2.0 * stretch) / (stretch - 1.0)


def _orders(left: list[int]) -> Iterator[list[int]]:
    """All orders of sorted integers; equal ones do not change places."""
    if not left:
        yield []
    for index, a in enumerate(left):
        if index == 0 or a != left[index - 1]:
            for rest in _orders(left[:index] + left[index + 1 :]):
                yield [a, *rest]


def _fits(order: list[int], size: float, last: float) -> bool:
    """Whether reads that end in this order leave time for the writes.

    With t_k the end of read k, writes can begin at t_k + d and must end at d + n + 1: but for d, at `last`.
    """
    count = len(order)
    assembly = Assembly()
    ends = assembly.add_columns(np.zeros(count), np.full(count, last))
    for end, begin in zip(ends[1:], ends[:-1], strict=True):
        _row(assembly, {int(begin): 1.0, int(end): -1.0}, 0.0)
    # Reads move before their ends, writes after them: `mine` are those that can in an interval from one date to another.
    reads = [(k, range(k, count)) for k in range(count)]
    writes = [(k + 1, range(k + 1)) for k in range(count)]
    for intervals in (reads, writes):
        moved: dict[int, list[int]] = {k: [] for k in range(count)}
        for to, mine in intervals:
            columns = assembly.add_columns(np.zeros(len(mine)), np.full(len(mine), np.inf)).tolist()
            seconds = {int(ends[to - 1]): 1.0} if to else {}
            seconds |= {int(ends[to]): -1.0} if to < count else {}
            free = 0.0 if to < count else last
            for k, column in zip(mine, columns, strict=True):
                moved[k].append(column)
                _row(assembly, {column: 1.0} | {c: v * order[k] for c, v in seconds.items()}, free * order[k])
            _row(assembly, dict.fromkeys(columns, 1.0) | {c: v * size for c, v in seconds.items()}, free * size)
        for k, columns in moved.items():
            rows = assembly.equal.add(np.array([float(order[k])]))
            assembly.equal.put(np.repeat(rows, len(columns)), np.array(columns), 1.0)
    try:
        solve_program(assembly.program(np.zeros(0, np.int64)))
    except InfeasibleError:
        return False
    return True


def _row(assembly: Assembly, entries: dict[int, float], right: float) -> None:
    rows = assembly.upper.add(np.array([right]))
    assembly.upper.put(np.repeat(rows, len(entries)), np.array([*entries]), np.array([*entries.values()]))
