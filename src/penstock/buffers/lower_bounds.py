"""Lower bounds on the size of a buffer for a stretch ρ, and on the stretch for a size.

The largest backlog (004 §6.3): the size of a dynamic buffer for writes alone. If the file system always takes what it
can, the data left in the buffer at t are

    Q(t) = max over a ≤ t of Σ_k (W∞_k(t) − W∞_k(a)) − B_w · (t − a),

and no strategy leaves less: in [a, t] at most B_w · (t − a) bytes go through. So a dynamic buffer needs max Q(t). This is
also enough, even where an application alone cannot fill the file system (b_k < B_w). By the minimal cut of the flow from
the applications through the intervals between events, the least content at t is the largest

    Σ_k [W∞_k(t) − W∞_k(u_k) − min(b_k, B_w) · |(u_k, t] ∖ Y|] − B_w · |Y|

over dates u_k and sets Y of intervals. As time goes on more and more u_k are in the past. Once the sum of their caps is
B_w or more, Y should hold all that follows; before that none of them has b_k > B_w, so that W∞_k rises no faster than its
cap and u_k can as well be later. Hence Y = (a, t] and u_k = a. The least content is possible at all t at once
(lexicographically maximal flows, Minieka 1973).

A stretch above 1. Both problems are NP-hard (004 Theorem 2): a search finds strategies, and these bounds stand beside it.
A byte that A_k emits at the date τ at full speed is emitted no sooner under any strategy. If A_k must end by ρ · C_min,
the byte must be emitted by τ + (ρ − 1) · C_min, because the rest takes at least as long as at full speed. (Dates count
from the clock's 0.) At t all bytes that were due have left the applications, and of those emitted after a at most B_w ·
(t − a) are in the file system. So for all a ≤ t

    S ≥ Σ_k W∞_k between a and t − (ρ − 1) · C_min,k, less B_w · (t − a).

With ρ = 1 this is the largest backlog. Reads are left out; the bound stays a bound. The right side is largest with a
where a write begins and t where one is due to end. Writes are cut at these dates, and a tree of maxima over all a takes
in piece after piece in the order of due dates: time n log n for n pieces. By durations, A_k must end by
r_k + ρ · (C_min − r_k), and the same holds with the delay (ρ − 1) · (C_min − r_k).

An application alone. Where b_k > B_w, A_k is held up by its own writes, whatever the others do. With S_k bytes it ends first
if it writes at b_k while it has room and its data always leave at B_w (its reads take as long as at full speed, at least).
The least S_k with which it then ends in time, by bisection, is a bound for any buffer. A static buffer holds the shares of
all applications that live at one time, at least from r_k to C_min, so the largest sum of the least S_k over time is a bound
on its size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numba import types

from penstock.buffers.timeline import FullSpeedTimeline, backlog_after, full_speed_timeline
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import inlined_kernel, kernel
from penstock.numeric.tolerances import STRETCH_PRECISION
from penstock.theory.link_demand import bisect

DATES: Final = "dates"
DURATIONS: Final = "durations"
MEASURED_BY: Final = (DATES, DURATIONS)
"""How stretches count: from the clock's 0 (004 eq. 3), or from the release."""
LARGEST: Final = 2.0**40
"""Bounds on the stretch are not searched above this."""


@dataclass(frozen=True)
class Backlog:
    """The largest backlog: `size` bytes at the date `end`, accumulated since the date `begin`."""

    size: float
    begin: float
    end: float


def largest_backlog(demand: FullSpeedTimeline) -> Backlog:
    """Compute the largest backlog of writes: the size of a dynamic buffer if applications only write (004 §6.3).

    Args:
        demand: The applications at full speed; their reads do not count.

    Returns:
        The backlog in bytes and its dates. Linear time.

    Example:
        >>> from penstock.buffers import full_speed_timeline
        >>> from penstock.model import Application, Platform, Workload
        >>> writer = Application.of("a", [("work", 4.0), ("write", 8.0)], bandwidth=4.0)
        >>> largest_backlog(full_speed_timeline(Workload(Platform(2.0), (writer,))))  # 4 of 8 bytes leave within 2 s
        Backlog(size=4.0, begin=4.0, end=6.0)
    """
    content = backlog(demand)
    last = int(np.argmax(content))
    first = int(np.flatnonzero(content[: last + 1] == 0.0)[-1])
    return Backlog(float(content[last]), float(demand.events[first]), float(demand.events[last]))


def backlog(demand: FullSpeedTimeline) -> Floats:
    """Q at each event of the `demand`, in bytes; reads do not count."""
    room = demand.workload.platform.write_limit * demand.lengths
    return backlog_after(demand.writes.arriving() - room)


def size_bound(workload: Workload, stretch: float, *, capped: bool = False, by: str = DATES, static: bool = False) -> float:
    """Lower bound on the buffer size that keeps every application within a stretch.

    Args:
        workload: Applications and platform.
        stretch: Largest stretch allowed; 1 or more.
        capped: Take speeds as min(b_k, B), as `size` does.
        by: How stretches count, by `dates` (004 eq. 3) or by `durations`.
        static: The bound is for a buffer divided into shares. Otherwise it holds for any.

    Returns:
        Bytes; no strategy needs fewer.

    Raises:
        InputError: The stretch is below 1 or not finite.

    Example:
        At full speed the application ends at 6 s. With a stretch of 1.25 it may end at 7.5 s: 3 bytes more leave in time.

        >>> from penstock.model import Application, Platform, Workload
        >>> writer = Application.of("a", [("work", 4.0), ("write", 8.0)], bandwidth=4.0)
        >>> workload = Workload(Platform(2.0), (writer,))
        >>> size_bound(workload, 1.0), size_bound(workload, 1.25)
        (4.0, 1.0)
    """
    if not 1.0 <= stretch < np.inf:
        raise InputError("stretch", f"{stretch} is out of range; expected a number, 1 or more")
    demand = full_speed_timeline(workload, capped=capped)
    return max(_size_bound(demand, stretch, by), _bound_alone(demand, stretch, by, static))


def stretch_bound(workload: Workload, size: float, *, capped: bool = False, by: str = DATES, static: bool = False) -> float:
    """Lower bound on the largest stretch of any strategy with a buffer of `size` bytes.

    Args:
        workload: Applications and platform.
        size: Bytes, 0 or more.
        capped: Take speeds as min(b_k, B), as `size` does.
        by: How stretches count, by `dates` (004 eq. 3) or by `durations`.
        static: The bound is for a buffer divided into shares. Otherwise it holds for any.

    Returns:
        A stretch, 1 or more.

    Raises:
        InputError: The size is negative or not finite.

    Example:
        Without a buffer the application ends at 8 s instead of 6 s.

        >>> from penstock.model import Application, Platform, Workload
        >>> writer = Application.of("a", [("work", 4.0), ("write", 8.0)], bandwidth=4.0)
        >>> workload = Workload(Platform(2.0), (writer,))
        >>> round(stretch_bound(workload, 0.0), 4), round(stretch_bound(workload, 4.0), 4)
        (1.3333, 1.0)
    """
    if not 0.0 <= size < np.inf:
        raise InputError("size", f"{size} is out of range; expected a number of bytes, 0 or more")
    demand = full_speed_timeline(workload, capped=capped)
    enough = size * (1.0 + STRETCH_PRECISION) + STRETCH_PRECISION * demand.unit

    def too_small(stretch: float) -> bool:
        return _size_bound(demand, stretch, by) > enough or _bound_alone(demand, stretch, by, static, enough) > enough

    if not too_small(1.0):
        return 1.0
    high = 2.0
    while high < LARGEST and too_small(high):
        high *= 2.0
    return bisect(too_small, 1.0, high, STRETCH_PRECISION * high)[0]


def allowance(demand: FullSpeedTimeline, stretch: float, by: str) -> Floats:
    """Seconds by which each application may end later than at full speed.

    Args:
        demand: the applications at full speed.
        stretch: the largest stretch.
        by: `dates` or `durations`.

    Raises:
        InputError: `by` is neither.
    """
    if by not in MEASURED_BY:
        raise InputError("by", f"{by!r} is unknown; expected {' or '.join(MEASURED_BY)}")
    begin = demand.origin if by == DATES else demand.events[demand.begin]
    return np.maximum(0.0, (stretch - 1.0) * (demand.least_end - begin))


def _bound_alone(demand: FullSpeedTimeline, stretch: float, by: str, static: bool, enough: float | None = None) -> float:
    """The bound from applications alone; with `enough` given and no static buffer, only whether it is above that."""
    late = demand.least_end + allowance(demand, stretch, by)
    slow = np.flatnonzero(demand.write_speed > demand.write_cap * (1.0 + STRETCH_PRECISION))
    least = np.zeros(len(late))
    for index in slow.tolist():
        chain = _Chain.of(demand, index)
        if static or enough is None:
            least[index] = chain.least_size(float(late[index]))
        elif chain.end(enough) > float(late[index]) * (1.0 + STRETCH_PRECISION):
            return np.inf
    if not static or not least.any():
        return float(least.max(initial=0.0))
    change = np.zeros(len(demand.events))
    np.add.at(change, demand.begin, least)
    np.add.at(change, demand.end, -least)
    return float(np.cumsum(change).max())


@dataclass(frozen=True)
class _Chain:
    """One application whose writes are faster than the file system: pauses and writes, in seconds and bytes."""

    release: float
    phases: tuple[tuple[bool, float], ...]
    """Whether it writes, and the bytes; or the seconds of work and of reads at full speed."""
    speed: float
    cap: float

    @classmethod
    def of(cls, demand: FullSpeedTimeline, index: int) -> _Chain:
        application = demand.workload.applications[index]
        read = float(demand.read_speed[index])
        phases = [(False, application.lead)]
        for kind, amount in application.phases:
            phases.append(
                (False, amount / read if kind == "read" else amount) if kind in ("work", "read") else (True, amount)
            )
        speed, cap = float(demand.write_speed[index]), float(demand.write_cap[index])
        return cls(float(demand.events[demand.begin[index]]), tuple(phases), speed, cap)

    def end(self, size: float) -> float:
        """The earliest end with `size` bytes."""
        now, content = self.release, 0.0
        for writes, amount in self.phases:
            if not writes:
                now += amount
                content = max(0.0, content - self.cap * amount)
                continue
            filling = min(amount / self.speed, (size - content) / (self.speed - self.cap))
            content += (self.speed - self.cap) * filling
            now += filling + max(0.0, amount - self.speed * filling) / self.cap
        return now

    def least_size(self, late: float) -> float:
        """The least bytes with which it ends by the date `late`, from below."""
        high = max((amount for writes, amount in self.phases if writes), default=0.0)
        if high == 0.0 or self.end(0.0) <= late:
            return 0.0
        while self.end(high) > late + STRETCH_PRECISION * high / self.cap and high < LARGEST * self.speed:
            high *= 2.0
        tolerance = STRETCH_PRECISION * high
        return bisect(lambda size: self.end(size) > late + tolerance / self.cap, 0.0, high, tolerance)[0]


def _size_bound(demand: FullSpeedTimeline, stretch: float, by: str) -> float:
    begin, due, volume = _pieces(demand, allowance(demand, stretch, by))
    starts = np.unique(demand.events[demand.writes.start])
    order = np.argsort(due, kind="stable")
    begin, due, volume = begin[order], due[order], volume[order]
    rate = demand.workload.platform.write_limit
    leaves = 1 << len(starts).bit_length()
    best, more = np.full(2 * leaves, -np.inf), np.zeros(2 * leaves)
    best[leaves : leaves + len(starts)] = rate * (starts - demand.origin)
    before, until = (np.searchsorted(starts, dates, side="right") for dates in (begin, due))
    return float(compiled_largest()(before, until, volume, rate * (due - demand.origin), best, more))


def _pieces(demand: FullSpeedTimeline, delays: Floats) -> tuple[Floats, Floats, Floats]:
    """The writes, cut where any write begins or is due to end: when a piece begins at full speed, when it is due, its bytes.

    A write is due `delays` seconds after its end at full speed.
    """
    writes = demand.writes
    start, stop = demand.events[writes.start], demand.events[writes.stop]
    starts, dues = np.unique(start), np.unique(stop + delays[writes.owner])
    found = [(np.zeros(0), np.zeros(0), np.zeros(0))]
    edges = np.searchsorted(writes.owner, np.arange(len(delays) + 1)).tolist()
    for (first, last), delay in zip(pairwise(edges), delays.tolist(), strict=True):
        if first == last:
            continue
        begin, end = start[first:last], stop[first:last]
        span = np.array([begin[0], end[-1]])
        cuts = starts[slice(*np.searchsorted(starts, span))], dues[slice(*np.searchsorted(dues, span + delay))] - delay
        knots = np.unique(np.concatenate([begin, end, *cuts]))
        place = np.maximum(np.searchsorted(begin, knots[:-1], side="right") - 1, 0)
        inside = (begin[place] <= knots[:-1]) & (knots[:-1] < end[place])
        low, high, place = knots[:-1][inside], knots[1:][inside], place[inside]
        rate = writes.volume[first:last] / (end - begin)
        found.append((low, high + delay, rate[place] * (high - low)))
    begin, due, volume = (np.concatenate(columns) for columns in zip(*found, strict=True))
    return begin, due, volume


@inlined_kernel
def _add(best: Floats, more: Floats, count: int, amount: float) -> None:
    """Add to the first `count` leaves. `best` of a node is the largest leaf below it, without `more` of the nodes above."""
    node = count + len(best) // 2
    while node > 1:
        if node % 2 == 1:
            best[node - 1] += amount
            more[node - 1] += amount
        node //= 2
        best[node] = max(best[2 * node], best[2 * node + 1]) + more[node]


@inlined_kernel
def _largest_of(best: Floats, more: Floats, count: int) -> float:
    """The largest of the first `count` leaves."""
    node = count + len(best) // 2
    largest = -np.inf
    while node > 1:
        if node % 2 == 1:
            largest = max(largest, best[node - 1])
        node //= 2
        largest += more[node]
    return largest


def _largest(before: Ints, until: Ints, volume: Floats, passed: Floats, best: Floats, more: Floats) -> float:
    """The largest right side of the inequality; a leaf is a date a, and pieces come in the order of their due dates t.

    Piece i begins at or after the first `before[i]` leaves, and the first `until[i]` leaves are at or before its due date.
    `passed` are the bytes that the file system takes until that date.
    """
    for node in range(len(best) // 2 - 1, 0, -1):
        best[node] = max(best[2 * node], best[2 * node + 1])
    largest = 0.0
    for i in range(len(volume)):
        _add(best, more, before[i], volume[i])
        largest = max(largest, _largest_of(best, more, until[i]) - passed[i])
    return largest


@cache
def compiled_largest() -> Callable[..., Any]:
    """`_largest`, compiled."""
    floats, ints = types.float64[::1], types.int64[::1]
    return kernel(_largest, types.float64(ints, ints, *[floats] * 4), "the bound on buffers")
