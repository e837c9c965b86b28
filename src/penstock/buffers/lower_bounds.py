"""The size of a dynamic buffer for writes alone: the largest backlog (004 §6.3).

If the file system always takes what it can, what is left in the buffer at t is

    Q(t) = max over a ≤ t of Σ_k (W∞_k(t) − W∞_k(a)) − B_w · (t − a),

and nobody can leave less: in [a, t] no more than B_w · (t − a) goes through. So a dynamic buffer of max Q(t) is needed. It
is also enough, even where an application alone cannot fill the file system (b_k < B_w). By the minimal cut of the flow
from the applications through the intervals between events, the least content at t is the largest

    Σ_k [W∞_k(t) − W∞_k(u_k) − min(b_k, B_w) · |(u_k, t] ∖ Y|] − B_w · |Y|

over dates u_k and sets Y of intervals. As time goes on more and more have u_k behind them. Once the sum of their caps is B_w
or more, Y should hold all that follows; before that nobody among them has b_k > B_w, so that W∞_k rises no faster than its
cap and u_k can as well be later. Hence Y = (a, t] and u_k = a. The least content can be had at all t at once
(lexicographically maximal flows, Minieka 1973).

What no buffer and no strategy can pass: lower bounds on the size for a stretch ρ, and on the stretch for a size.

Both problems are NP-hard (004 Theorem 2): a search finds strategies, and these bounds stand beside it. A byte that A_k emits
at the date τ at full speed is emitted no sooner under any strategy. If A_k is to end by ρ · C_min, it must be emitted by
τ + (ρ − 1) · C_min, for what follows takes the rest. (Dates count from the clock's 0.) At t all bytes that were due have
left the applications, and of those emitted after a at most B_w · (t − a) are in the file system. So for all a ≤ t

    S ≥ Σ_k W∞_k between a and t − (ρ − 1) · C_min,k, less B_w · (t − a).

With ρ = 1 that is the largest backlog, the size of a dynamic buffer for writes. Reads are left out, which keeps it a bound.

The largest right side has a where a write begins, and t where one is due to end. Writes are cut at these dates, and a tree
of maxima over all a takes in piece after piece in the order of due dates: time n log n for n pieces.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numba import types

from penstock.buffers.timeline import FullSpeedTimeline, Operations, full_speed_timeline, left_over
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import inlined_kernel, kernel
from penstock.numeric.tolerances import STRETCH_PRECISION
from penstock.theory.due_dates import bisect


@dataclass(frozen=True)
class Backlog:
    """The largest backlog: `size` bytes at the date `end`, gathered since the date `begin`."""

    size: float
    begin: float
    end: float


def largest_backlog(demand: FullSpeedTimeline) -> Backlog:
    """The size of a dynamic buffer for the writes of the demand; reads do not count. Linear time."""
    content = backlog(demand)
    last = int(np.argmax(content))
    first = int(np.flatnonzero(content[: last + 1] == 0.0)[-1])
    return Backlog(float(content[last]), float(demand.events[first]), float(demand.events[last]))


def backlog(demand: FullSpeedTimeline) -> Floats:
    """Q at each event, in bytes."""
    room = demand.workload.platform.write_limit * demand.lengths
    return left_over(arriving(demand.writes) - room)


def arriving(operations: Operations) -> Floats:
    """Bytes of the operations from each event to the next."""
    events = operations.events
    rate = operations.volume / (events[operations.stop] - events[operations.start])
    change = np.zeros(len(events))
    np.add.at(change, operations.start, rate)
    np.add.at(change, operations.stop, -rate)
    return np.cumsum(change)[:-1] * np.diff(events)


LARGEST: Final = 2.0**40
"""No bound on the stretch is looked for above this."""


def size_bound(workload: Workload, stretch: float, *, capped: bool = False) -> float:
    """No buffer below this many bytes, static or dynamic, keeps all within the stretch (by dates, 004 eq. 3)."""
    if not 1.0 <= stretch < np.inf:
        raise InputError("stretch", f"{stretch} is out of range; expected a number, 1 or more")
    return _size_bound(full_speed_timeline(workload, capped=capped), stretch)


def stretch_bound(workload: Workload, size: float, *, capped: bool = False) -> float:
    """With a buffer of `size` bytes, static or dynamic, no strategy keeps all within a stretch below this."""
    if not 0.0 <= size < np.inf:
        raise InputError("size", f"{size} is out of range; expected a number of bytes, 0 or more")
    asked = full_speed_timeline(workload, capped=capped)
    enough = size * (1.0 + STRETCH_PRECISION) + STRETCH_PRECISION * asked.unit
    if _size_bound(asked, 1.0) <= enough:
        return 1.0
    high = 2.0
    while high < LARGEST and _size_bound(asked, high) > enough:
        high *= 2.0
    return bisect(lambda stretch: _size_bound(asked, stretch) > enough, 1.0, high, STRETCH_PRECISION * high)[0]


def _size_bound(asked: FullSpeedTimeline, stretch: float) -> float:
    begin, due, volume = _pieces(asked, (stretch - 1.0) * (asked.least_end - asked.origin))
    starts = np.unique(asked.events[asked.writes.start])
    order = np.argsort(due, kind="stable")
    begin, due, volume = begin[order], due[order], volume[order]
    rate = asked.workload.platform.write_limit
    leaves = 1 << len(starts).bit_length()
    best, more = np.full(2 * leaves, -np.inf), np.zeros(2 * leaves)
    best[leaves : leaves + len(starts)] = rate * (starts - asked.origin)
    before, until = (np.searchsorted(starts, dates, side="right") for dates in (begin, due))
    return float(compiled_largest()(before, until, volume, rate * (due - asked.origin), best, more))


def _pieces(asked: FullSpeedTimeline, delays: Floats) -> tuple[Floats, Floats, Floats]:
    """The writes, cut where any write begins or is due to end: from when on a piece is emitted at full speed, when all of
    it is due, and its bytes.
    """
    writes = asked.writes
    start, stop = asked.events[writes.start], asked.events[writes.stop]
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
    """Add to the first `count` leaves: `best` of a node is the largest leaf below it, but for `more` of the nodes above."""
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
    """The largest sum, over pieces in the order of due dates, of what is due by then of all that begins at a leaf or later,
    and the leaf itself, less what has `passed`.

    Piece i begins at or after the first `before[i]` leaves; of its due date the first `until[i]` are not in the future.
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
