"""Results of 004 about small cases, each computed in two independent ways: one application alone, Theorems 1 and 2.

One application alone (004 §5) needs no buffer if it is no faster than the file system. With limits B_w and B_r of their
own, writes and reads do not interfere. Writing as early as possible and prefetching as late as possible then gives the
lowest content of both at every moment (figures 4 and 5): the peak is the largest sum of the two contents, not the sum of
their peaks. With a limit B on both together it takes a linear program. Prefetching may begin at the clock's 0, before the
release. If even that is too late there is no peak.

Theorem 1 (§3.4): rates that are constant between events are enough. Take any schedule, and give every flow between two
events its mean rate. At the events nothing changes, so every application is as fast as before; between them contents are
linear, so no application needs more of the buffer.

Theorem 2: with no buffer, or for a stretch ρ above 1, sizing is as hard as splitting integers into groups of equal sums.
Given integers a_1 … a_m of sum n·B, application k reads a_k bytes, computes for d = (n + 1 − 2ρ) / (ρ − 1) seconds and
writes a_k bytes, at most at a_k bytes/s, on a file system of B bytes/s; all are released at 0. Then C_min = d + 2, a
stretch of ρ means an end by d + n + 1, and without a buffer this is possible exactly if the integers split into n groups
of sum B, which read one after the other. (If B/4 < a_k < B/2 the groups are triples, as in 004; the proof does not need
it.) The construction needs d ≥ n − 1, which is ρ ≤ 2n / (n + 1): then no read is left when the first write can begin.
Here both sides are decided by trying everything, for a few integers: the groups, and the orders in which the reads end.
For a given order the data that move between two such ends are a linear program, with the dates among its columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from penstock.buffers.periods import StrandSteps, one_period, strands_of
from penstock.buffers.plan import STATIC, BufferPlan
from penstock.buffers.program import SizingProblem, dynamic_program, static_program
from penstock.buffers.sizing import Contents, size
from penstock.buffers.solve import Assembly, InfeasibleError, solve_program
from penstock.buffers.timeline import Flow, FullSpeedTimeline, Operations, full_speed_timeline
from penstock.model import Application, InputError, Platform, Workload
from penstock.numeric.arrays import Floats, summed
from penstock.numeric.tolerances import LP_ROOM, PLAN_ROUNDING

MOST_ORDERED: Final = 7
"""How many integers `reachable` takes: 7 have up to 5,040 orders."""


@dataclass(frozen=True, eq=False)
class Single:
    """One application alone at full speed.

    It `writes` and `reads` W∞ and R∞; `written` has gone to the file system and `read` has come from it.
    """

    peak: float | None
    """Largest content in bytes; None if the reads cannot be in time."""
    writes: Flow
    reads: Flow
    written: Flow
    read: Flow


def alone(application: Application, platform: Platform, *, capped: bool = False) -> Single:
    """Compute the buffer that one application needs for itself, by construction (004 §5.2).

    Args:
        application: The application.
        platform: Its limits B_w and B_r count; B must be at least their sum.
        capped: Take its speeds as min(b, B).

    Returns:
        The peak in bytes and the flows.

    Example:
        >>> from penstock.model import Application, Platform
        >>> writer = Application.of("a", [("work", 4.0), ("write", 8.0)], bandwidth=4.0)
        >>> alone(writer, Platform(2.0)).peak
        4.0
    """
    demand = full_speed_timeline(Workload(platform, (application,)), capped=capped)
    writes, reads = demand.flows(demand.writes)[0], demand.flows(demand.reads)[0]
    written, read = writes.throttled(float(demand.write_cap[0])), reads.in_advance(float(demand.read_cap[0]))
    content = writes.at(demand.events) - written.at(demand.events) + read.at(demand.events) - reads.at(demand.events)
    # Between events both contents are convex, so the largest sum is at an event.
    in_time = read.at(demand.events[:1])[0] <= PLAN_ROUNDING * demand.unit
    return Single(float(content.max()) if in_time else None, writes, reads, written, read)


def alone_by_program(application: Application, platform: Platform, *, capped: bool = False) -> float | None:
    """Compute the buffer that one application needs for itself, by the linear program of 004 §5.2.

    Args:
        application: The application.
        platform: Its limits B_w, B_r and B count.
        capped: Take its speeds as min(b, B).

    Returns:
        The peak in bytes; None if reads cannot be in time.

    Example:
        >>> from penstock.model import Application, Platform
        >>> writer = Application.of("a", [("work", 4.0), ("write", 8.0)], bandwidth=4.0)
        >>> round(alone_by_program(writer, Platform(2.0)), 6)
        4.0
    """
    demand = full_speed_timeline(Workload(platform, (application,)), capped=capped)
    unit, seconds, last = demand.unit, demand.lengths, len(demand.events) - 1
    writes, reads = (demand.flows(operations)[0].at(demand.events) / unit for operations in (demand.writes, demand.reads))
    assembly = Assembly()
    peak = assembly.add_columns(np.zeros(1), np.full(1, np.inf))
    w = assembly.add_columns(np.zeros(last + 1), writes)
    total = np.full(last + 1, reads[-1])
    total[0] = reads[0]
    r = assembly.add_columns(reads, total)
    caps = float(demand.write_cap[0]), float(demand.read_cap[0]), platform.bandwidth
    for cap, columns in zip(caps, ((w,), (r,), (w, r)), strict=True):
        rows = assembly.at_most(cap * seconds / unit)
        for column in columns:
            assembly.put(rows, column[1:], 1.0)
            assembly.put(rows, column[:-1], -1.0)
    for column in (w, r):
        rows = assembly.at_most(np.zeros(last))
        assembly.put(rows, column[:-1], 1.0)
        assembly.put(rows, column[1:], -1.0)
    rows = assembly.at_most(reads - writes)
    assembly.put(rows, w, -1.0)
    assembly.put(rows, r, 1.0)
    assembly.put(rows, peak[0], -1.0)
    try:
        return solve_program(assembly.program(peak)).objective * unit
    except InfeasibleError:
        return None


def least_written(demand: FullSpeedTimeline, application: int, size: float) -> Flow:
    """W^S: the least that an application must have written to the file system (004 figure 6).

    Args:
        demand: the workload at full speed.
        application: its position in the workload.
        size: bytes of the buffer that it has for itself.

    Example:
        8 bytes are written from 4 s to 6 s. With a buffer of 6 bytes, and 2 bytes/s of file system, 2 must be out by 6 s.

        >>> from penstock.buffers import full_speed_timeline
        >>> from penstock.model import Application, Platform, Workload
        >>> writer = Application.of("a", [("work", 4.0), ("write", 8.0)], bandwidth=4.0)
        >>> flow = least_written(full_speed_timeline(Workload(Platform(2.0), (writer,))), 0, 6.0)
        >>> float(flow.at(6.0)), float(flow.at(5.0))
        (2.0, 0.0)
    """
    writes = demand.flows(demand.writes)[application]
    beyond = Flow(writes.dates, writes.amounts - size).clipped(0.0, np.inf)
    return beyond.in_advance(float(demand.write_cap[application]))


def most_read(demand: FullSpeedTimeline, application: int, size: float) -> Flow:
    """R^S: the most that an application can have read from the file system (004 figure 7).

    Args:
        demand: the workload at full speed.
        application: its position in the workload.
        size: bytes of the buffer that it has for itself.

    Example:
        8 bytes are read from 4 s to 6 s. A buffer of 6 bytes can hold no more than that by 4 s.

        >>> from penstock.buffers import full_speed_timeline
        >>> from penstock.model import Application, Platform, Workload
        >>> reader = Application.of("a", [("work", 4.0), ("read", 8.0)], bandwidth=4.0)
        >>> flow = most_read(full_speed_timeline(Workload(Platform(2.0), (reader,))), 0, 6.0)
        >>> float(flow.at(4.0)), float(flow.at(6.0))
        (6.0, 8.0)
    """
    reads = demand.flows(demand.reads)[application]
    room = Flow(reads.dates, reads.amounts + size).clipped(0.0, reads.total)
    return room.throttled(float(demand.read_cap[application]))


def averaged(plan: BufferPlan) -> BufferPlan:
    """The `plan` with the mean rates from each event of its workload to the next (Theorem 1); size and shares stay.

    Example:
        >>> from penstock.buffers import check_plan
        >>> from penstock.model import Application, Platform, Workload
        >>> writer = Application.of("a", [("work", 4.0), ("write", 8.0)], bandwidth=4.0)
        >>> plan = wandering(Workload(Platform(2.0), (writer,)), "static", seed=1)
        >>> check_plan(averaged(plan)).holds, averaged(plan).size == plan.size
        (True, True)
    """
    events = full_speed_timeline(plan.workload, capped=plan.demand.capped).events
    return replace(
        plan,
        written=tuple(_averaged(flow, events) for flow in plan.written),
        read=tuple(_averaged(flow, events) for flow in plan.read),
    )


def wandering(workload: Workload, mode: str, seed: int, *, pieces: int = 3, room: float = 1.5) -> BufferPlan:
    """A schedule of stretch 1 whose rates vary between events, for a small feasible workload without B_BB.

    The intervals between events are cut into pieces at random dates. The data that move in each piece are a random vertex of
    all that a buffer of `room` times the smallest size allows. The size of the plan is what they take.

    Args:
        workload: applications and platform.
        mode: "static" or "dynamic".
        seed: of the random numbers.
        pieces: into how many pieces each interval is cut.
        room: size of the buffer, in parts of the smallest one.

    Example:
        >>> from penstock.buffers import check_plan
        >>> from penstock.model import Application, Platform, Workload
        >>> writer = Application.of("a", [("work", 4.0), ("write", 8.0)], bandwidth=4.0)
        >>> plan = wandering(Workload(Platform(2.0), (writer,)), "dynamic", seed=1)
        >>> check_plan(plan).holds, 4.0 <= round(plan.size, 3) <= 1.5 * 4.0
        (True, True)
    """
    random = np.random.default_rng(seed)
    best = size(workload, mode)
    assert best.size is not None, best.obstacle
    demand = _finer(best.demand, pieces, random)
    strands, parts = strands_of(demand, one_period(demand))
    steps = StrandSteps.of(demand, strands)
    problem = SizingProblem(demand, one_period(demand), strands, parts, steps, np.zeros(len(demand.begin)), None)
    sizing = (static_program if mode == STATIC else dynamic_program)(problem)
    cost, high = np.zeros(sizing.program.columns), sizing.program.high.copy()
    cost[sizing.moved] = random.normal(size=len(sizing.moved))
    high[sizing.size] = room * best.size / sizing.unit + LP_ROOM
    found = solve_program(replace(sizing.program, cost=cost, high=high))
    contents = Contents.of(demand, strands, steps, found.x[sizing.moved] * sizing.unit)
    return contents.plan(BufferPlan(demand, mode, best.status, best.effort))


def _averaged(flow: Flow, events: Floats) -> Flow:
    dates = np.union1d(events, flow.dates[flow.dates > events[-1]])
    return Flow(dates, flow.at(dates))


def _finer(demand: FullSpeedTimeline, pieces: int, random: np.random.Generator) -> FullSpeedTimeline:
    """The timeline with more events: each interval is cut into `pieces` at random dates."""
    cuts = demand.events[:-1, None] + demand.lengths[:, None] * random.uniform(0.1, 0.9, (len(demand.lengths), pieces - 1))
    events = np.unique(np.concatenate([demand.events, cuts.ravel()]))
    place = np.searchsorted(events, demand.events)

    def moved(operations: Operations) -> Operations:
        return replace(operations, start=place[operations.start], stop=place[operations.stop], events=events)

    return replace(
        demand,
        events=events,
        shifts=summed(place, demand.shifts, len(events)),
        begin=place[demand.begin],
        end=place[demand.end],
        reads=moved(demand.reads),
        writes=moved(demand.writes),
    )


def instance(integers: Sequence[int], groups: int, stretch: float) -> Workload:
    """The workload of Theorem 2 for these `integers`, in so many `groups`, and a `stretch` above 1."""
    size, seconds = _terms(integers, groups, stretch)
    return Workload(
        Platform(size),
        tuple(
            Application.of(f"a{k}", [("read", a), ("work", seconds), ("write", a)], bandwidth=float(a))
            for k, a in enumerate(integers)
        ),
    )


def split(integers: Sequence[int], groups: int) -> list[list[int]] | None:
    """Split the integers into `groups` groups of equal sums, trying all ways, largest integers first; None if impossible."""
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
    """Whether the workload of Theorem 2 can keep the `stretch` without a buffer, by trying all orders of its reads.

    `integers` and `groups` are those of `instance`.
    """
    size, _ = _terms(integers, groups, stretch)
    if len(integers) > MOST_ORDERED:
        raise InputError("integers", f"{len(integers)} are too many to try all orders; expected {MOST_ORDERED} at most")
    return any(_fits(order, size, groups + 1.0) for order in _orders(sorted(integers)))


def _terms(integers: Sequence[int], groups: int, stretch: float) -> tuple[float, float]:
    """B and d; InputError where the theorem does not apply."""
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
    # Reads move before their ends, writes after them: `mine` are those that can move in the interval before date `to`.
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
            rows = assembly.exactly(np.array([float(order[k])]))
            assembly.put(np.repeat(rows, len(columns)), np.array(columns), 1.0)
    try:
        solve_program(assembly.program(np.zeros(0, np.int64)))
    except InfeasibleError:
        return False
    return True


def _row(assembly: Assembly, entries: dict[int, float], right: float) -> None:
    rows = assembly.at_most(np.array([right]))
    assembly.put(np.repeat(rows, len(entries)), np.array([*entries]), np.array([*entries.values()]))
