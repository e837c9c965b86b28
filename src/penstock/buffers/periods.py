"""Busy periods: the times in which a buffer can be in use. They cut the linear programs of 004 §6 into small ones.

Measure data in seconds of the file system: an operation of v bytes takes v / min(b, B) seconds if it has the file system
for itself. At full speed it asks for max(1, b / B) seconds per second. (B is B_r or B_w, by the direction.)

Why the buffer is empty between the periods. Take any schedule of stretch 1, cut it at a date t, and on both sides forget
the data that cross t. Before t, prefetch nothing that is read later, and write as early as possible. After t, nothing
from before is left to write, and reads come as late as possible. This only lowers contents, of all applications at all
times. Now let a be the last date before t without any write content; something is being written then. From a to t the
file system is full, or an application writes as fast as it can: it does at least one second of work per second, of what is
asked for in (a, t). So the write content at t, in seconds, is at most what is asked for in (a, t) less t − a. Where that is
at most 0 for every such a, no write content crosses t. Likewise, backwards in time, no read content crosses t where what is
asked for in (t, c) is at most c − t for every c at which something is being read. Where both hold, the buffer is empty at
t in some best schedule, and the problem falls into a part before t and a part after it.

This does not hold if the bandwidth of the buffer itself is limited: delaying a write may then be what keeps the inflow low.

A *strand* is the use that one application makes of the buffer in one direction during one busy period. Written data can
be in the buffer from the start of the first write in the period to the end of the period, read data from the start of the
period to the end of the last read in it. Only there must the linear programs decide how much moves to or from the file
system from one event to the next; elsewhere data go straight through.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from penstock.buffers.timeline import FullSpeedTimeline, Operations, backlog_after
from penstock.numeric.arrays import Floats, Ints, spread
from penstock.numeric.tolerances import PLAN_DATE_S, SAME_TIME_S


def busy_periods(demand: FullSpeedTimeline) -> Ints:
    """The busy periods of the `demand`: a row each, with the events at which it begins and ends. Linear time.

    Outside them the buffer is empty.
    """
    writing, reading = _asked(demand.writes, demand.write_cap), _asked(demand.reads, demand.read_cap)
    net = (writing + reading - 1.0) * demand.lengths
    in_use = _in_use(net, writing > 0.0) | _in_use(net[::-1], reading[::-1] > 0.0)[::-1]
    return _periods(in_use[1:] | in_use[:-1], ~in_use)


def one_period(demand: FullSpeedTimeline) -> Ints:
    """The whole time of the `demand` as one period."""
    return np.array([[0, len(demand.events) - 1]])


def _asked(operations: Operations, cap: Floats) -> Floats:
    """Seconds of the file system that the operations ask for each second, from each event to the next.

    An operation that just fits the file system asks for exactly 1. These are counted apart, so that rounding leaves no
    backlog where one runs alone.
    """
    span = operations.events[operations.stop] - operations.events[operations.start]
    alone = operations.volume / cap[operations.owner]
    fits = np.abs(alone - span) <= 3.0 * PLAN_DATE_S
    asked = np.zeros(len(operations.events) - 1)
    for chosen, pace in ((fits, np.ones(len(span))), (~fits, alone / span)):
        change, count = np.zeros(len(operations.events)), np.zeros(len(operations.events), np.int64)
        for place, sign in ((operations.start[chosen], 1), (operations.stop[chosen], -1)):
            np.add.at(change, place, sign * pace[chosen])
            np.add.at(count, place, sign)
        asked += np.where(np.cumsum(count)[:-1] > 0, np.cumsum(change)[:-1], 0.0)
    return asked


def _in_use(net: Floats, active: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Events at which a backlog may be left, if it begins in an interval in which the direction is `active`.

    `net` is what an interval asks for less what the file system does in it.
    """

    def step(left: float, interval: tuple[float, bool]) -> float:
        change, begins = interval
        return (max(0.0, left) if begins else left) + change

    intervals = zip(net.tolist(), active.tolist(), strict=True)
    left: Floats = np.fromiter(accumulate(intervals, step, initial=-math.inf), np.float64)
    return left > SAME_TIME_S


def _periods(busy: NDArray[np.bool_], empty: NDArray[np.bool_]) -> Ints:
    """Runs of `busy` intervals, cut at the events where the buffer is `empty`: a row (first, last event) each."""
    edge = empty.copy()
    edge[0] = edge[-1] = True
    edge[1:-1] |= busy[1:] != busy[:-1]
    first = np.flatnonzero(busy & edge[:-1])
    last = np.flatnonzero(busy & edge[1:]) + 1
    return np.column_stack([first, last])


@dataclass(frozen=True, eq=False)
class Strands:
    """The strands, sorted by direction (writes first), period and owner; arrays have one entry per strand."""

    period: Ints
    owner: Ints
    reading: NDArray[np.bool_]
    first: Ints
    """Event at which its content may begin to rise from 0."""
    last: Ints
    """Event at which its content is back at 0; writes may leave content at the last event of all, which drains later."""

    def __len__(self) -> int:
        return len(self.period)

    def chosen(self, which: NDArray[np.bool_]) -> Strands:
        """The strands for which `which` is true."""
        return replace(self, **{field.name: getattr(self, field.name)[which] for field in fields(self)})


@dataclass(frozen=True, eq=False)
class StrandParts:
    """Operations cut to the periods: `strand` moves data from event `start` to event `stop`."""

    strand: Ints
    start: Ints
    stop: Ints


def strands_of(demand: FullSpeedTimeline, periods: Ints) -> tuple[Strands, StrandParts]:
    """The strands of the `demand` in the `periods`, and the operations in them."""
    found = [_one_direction(demand, operations, periods) for operations in (demand.writes, demand.reads)]
    (writes, write_parts), (reads, read_parts) = found
    columns = {f.name: np.concatenate([getattr(writes, f.name), getattr(reads, f.name)]) for f in fields(Strands)}
    strand = np.concatenate([write_parts.strand, len(writes) + read_parts.strand])
    start, stop = (np.concatenate([getattr(write_parts, n), getattr(read_parts, n)]) for n in ("start", "stop"))
    return Strands(**columns), StrandParts(strand, start, stop)


def _one_direction(demand: FullSpeedTimeline, operations: Operations, periods: Ints) -> tuple[Strands, StrandParts]:
    begin, end = periods[:, 0], periods[:, 1]
    first_period = np.searchsorted(end, operations.start, side="right")
    which, period = spread(first_period, np.searchsorted(begin, operations.stop, side="left"))
    start = np.maximum(operations.start[which], begin[period])
    stop = np.minimum(operations.stop[which], end[period])
    applications = len(demand.begin)
    keys, strand = np.unique(period * applications + operations.owner[which], return_inverse=True)
    period, owner = keys // applications, keys % applications
    first, last = begin[period], end[period]
    reading = operations is demand.reads
    if reading:
        last = np.zeros(len(keys), np.int64)
        np.maximum.at(last, strand, stop)
    else:
        first = np.full(len(keys), len(demand.events))
        np.minimum.at(first, strand, start)
    return Strands(period, owner, np.full(len(keys), reading), first, last), StrandParts(strand, start, stop)


def undisputed(demand: FullSpeedTimeline, strands: Strands, periods: int) -> NDArray[np.bool_]:
    """Which `strands` of the `demand` have their period for themselves, and lie within the life of their application.

    They need no decision: with writes as early and reads as late as possible, the content is lowest at every moment (004
    §5.2). Nine in ten periods of the workloads of 004 §7 are of this kind. `periods` is the number of periods.
    """
    alone = np.bincount(strands.period, minlength=periods)[strands.period] == 1
    writes = ~strands.reading & (strands.last <= demand.end[strands.owner])
    reads = strands.reading & (strands.first >= demand.begin[strands.owner])
    found: NDArray[np.bool_] = alone & (writes | reads)
    return found


@dataclass(frozen=True, eq=False)
class StrandSteps:
    """The intervals of strands, strand by strand: in each, `strand` begins a step at the event `at`.

    `asked` are the bytes that the application moves at full speed, `most` those that the file system can move for it.
    """

    strand: Ints
    at: Ints
    asked: Floats
    most: Floats

    @classmethod
    def of(cls, demand: FullSpeedTimeline, strands: Strands) -> StrandSteps:
        """The intervals of the `strands` of the `demand`."""
        strand, at = spread(strands.first, strands.last)
        owner, reading = strands.owner[strand], strands.reading[strand]
        asked = demand.cumulated(reading, owner, at + 1) - demand.cumulated(reading, owner, at)
        cap = np.where(reading, demand.read_cap[owner], demand.write_cap[owner])
        return cls(strand, at, asked, cap * demand.spans[at])


def moved_alone(strands: Strands, steps: StrandSteps) -> Floats:
    """Bytes that undisputed strands move in each of their steps: written as soon as possible, read as late as possible."""
    moved = np.zeros(len(steps.strand))
    for mine, order in ((~strands.reading, 1), (strands.reading, -1)):
        chosen = np.flatnonzero(mine[steps.strand])[::order]
        new = np.ones(len(chosen), np.bool_)
        new[1:] = np.diff(steps.strand[chosen]) != 0
        # Every strand begins empty: before its first step goes one that takes all that is left.
        place = np.arange(len(chosen)) + np.cumsum(new)
        net = np.full(len(chosen) + int(new.sum()), -np.inf)
        net[place] = steps.asked[chosen] - steps.most[chosen]
        content = backlog_after(net)
        moved[chosen] = steps.asked[chosen] + content[place] - content[place + 1]
    return moved
