"""Busy periods: when a buffer can be in use at all, which cuts the linear programs of 004 §6 into small ones.

Measure data in seconds: an operation of v bytes takes v / min(b, B) of the file system if it has it for itself. While it
goes on at full speed it asks for max(1, b / B) seconds a second. (B is B_r or B_w, by the direction.)

Take any schedule of stretch 1, cut it at a date t, and on both sides forget what crosses t. Before t nothing is prefetched
for later then, and what can be written earlier is; after t nothing is left to be written from before, and what can be read
later is. That only lowers contents, of all applications at all times. Now let a be the last date before t without any
write content; something is being written then. From a to t the file system is full, or someone writes as fast as it can: in
seconds, it does at least one second a second, of what is asked for in (a, t). So the write content at t, in seconds, is no
more than what is asked for in (a, t) less t − a. Where that is at most 0 for every such a, no write content crosses t. In
the same way, backwards in time, no read content does where what is asked for in (t, c) is c − t at most for every c at which
something is being read. Where both hold the buffer is empty at t in some best schedule, and the problem falls into a part
before t and a part after it.

This does not hold if the bandwidth of the buffer itself is limited: to delay a write may then be what keeps the inflow low.
"""

from __future__ import annotations

import math
from itertools import accumulate
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.planning.buffers.demand import RESOLUTION, Demand, Operations
from penstock.policies.view import Floats, Ints

NOTHING: Final = 1e-9
"""Seconds of backlog that are rounding errors."""


def busy_periods(demand: Demand) -> Ints:
    """The periods, a row each: the events at which it begins and ends. Outside the buffer is empty. Linear time."""
    writing, reading = _asked(demand.writes, demand.write_cap), _asked(demand.reads, demand.read_cap)
    net = (writing + reading - 1.0) * demand.lengths
    in_use = _in_use(net, writing > 0.0) | _in_use(net[::-1], reading[::-1] > 0.0)[::-1]
    return _periods(in_use[1:] | in_use[:-1], ~in_use)


def one_period(demand: Demand) -> Ints:
    """All of the time as one period."""
    return np.array([[0, len(demand.events) - 1]])


def _asked(operations: Operations, cap: Floats) -> Floats:
    """Seconds of the file system that the operations ask for, a second, from each event to the next.

    Operations that alone fit the file system ask for exactly 1: they are counted, so that one alone leaves no backlog.
    """
    span = operations.events[operations.stop] - operations.events[operations.start]
    alone = operations.volume / cap[operations.owner]
    fits = np.abs(alone - span) <= 3.0 * RESOLUTION
    asked = np.zeros(len(operations.events) - 1)
    for chosen, pace in ((fits, np.ones(len(span))), (~fits, alone / span)):
        change, count = np.zeros(len(operations.events)), np.zeros(len(operations.events), np.int64)
        for place, sign in ((operations.start[chosen], 1), (operations.stop[chosen], -1)):
            np.add.at(change, place, sign * pace[chosen])
            np.add.at(count, place, sign)
        asked += np.where(np.cumsum(count)[:-1] > 0, np.cumsum(change)[:-1], 0.0)
    return asked


def _in_use(net: Floats, active: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """At which events something may be left of what is asked for less what is done (`net` of an interval), if that begins
    where the direction is `active`.
    """

    def step(left: float, interval: tuple[float, bool]) -> float:
        change, begins = interval
        return (max(0.0, left) if begins else left) + change

    intervals = zip(net.tolist(), active.tolist(), strict=True)
    left: Floats = np.fromiter(accumulate(intervals, step, initial=-math.inf), np.float64)
    return left > NOTHING


def _periods(busy: NDArray[np.bool_], empty: NDArray[np.bool_]) -> Ints:
    """Runs of `busy` intervals, cut at the events where the buffer is `empty`: a row (first event, last event) each."""
    edge = empty.copy()
    edge[0] = edge[-1] = True
    edge[1:-1] |= busy[1:] != busy[:-1]
    first = np.flatnonzero(busy & edge[:-1])
    last = np.flatnonzero(busy & edge[1:]) + 1
    return np.column_stack([first, last])
