"""An upper bound on the efficiency of any schedule.

**The bound.** Let G_i be what A_i gains by T_end in dedicated mode and δ_i ≥ 0 what a schedule leaves it short of that. Take
any interval [a, c] of the window. At c, A_i has done at least the first c − s_i − e_i − δ_i dedicated seconds of its chain,
where e_i = T_end − s_i − G_i is what it can idle for nothing because its chain ends early. Of these, the I/O with a head
after a moved inside the interval. So Σ U_i(c − s_i − e_i − δ_i) ≤ B·(c − a), where U_i(g) is the volume between a − s_i and
g on the chain. The least Σ p_i·δ_i under this one constraint is a lower bound of what every schedule loses.

U_i is a staircase of work (level) and I/O (slope b_i); with its lower convex envelope in its place the problem is a
fractional knapsack: give up the segments with the most volume for a node-second first. Every interval gives a bound and the
best one is kept: all between GRID + 1 dates, then the best interval moved a little while that helps. The loss of one
interval only is counted, since a delay in one may be what avoids another.

Without a window all applications run to their ends, what they gain is given, and the bound comes from the shortest time in
which all can end, by heads and due dates as in `penstock.theory.min_yield`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np
from numba import types

from penstock.policies.compiled import kernel, part
from penstock.policies.view import Floats, Ints
from penstock.theory.demand import Demand
from penstock.theory.due_dates import DueDates, bisect

GRID: Final = 24
"""Between how many parts of the window intervals are tried."""
REFINEMENTS: Final = 8
"""How often the best interval is moved, each time by half as much."""
PRECISION: Final = 1e-9


@part
def _hull(
    offset: Floats,
    length: Floats,
    share: Floats,
    strands: float,
    pieces: tuple[int, int],
    span: tuple[float, float],
    x: Floats,
    y: Floats,
) -> int:
    """The corners (x, y) of the lower convex envelope of the seconds of the link between the offsets of a span; how many.

    The corners of the staircase below which it is not convex are the begins of pieces, and the two ends. A transfer of
    several strands may come last: then it begins late, and is steeper.
    """
    low, high = span
    x[0], y[0] = low, 0.0
    corners, moved = 1, 0.0
    for k in range(pieces[0], pieces[1] + 1):
        here = high
        if k < pieces[1]:
            if offset[k] + length[k] <= low:
                continue
            here = max(offset[k], low)
            if strands > 1.0:
                end = offset[k] + length[k]
                here = end - (end - here) / strands
            here = min(here, high)
        while corners > 1 and (y[corners - 1] - y[corners - 2]) * (here - x[corners - 1]) >= (moved - y[corners - 1]) * (
            x[corners - 1] - x[corners - 2]
        ):
            corners -= 1
        x[corners], y[corners] = here, moved
        corners += 1
        if here >= high:
            break
        moved += (min(offset[k] + length[k], high) - here) * share[k] * strands
    return corners


def _steps(
    first: Ints,
    offset: Floats,
    length: Floats,
    lowest: Floats,
    highest: Floats,
    share: Floats,
    strands: Floats,
    nodes: Floats,
    corner_x: Floats,
    corner_y: Floats,
    price: Floats,
    seconds: Floats,
) -> int:
    """The I/O between the offsets `lowest` and `highest` as steps: `seconds` of the link that can be given up for a `price`
    in node-seconds each; how many there are. The last four arrays are room for one entry a piece and two an application.
    Time n.
    """
    size = 0
    for i in range(len(nodes)):
        if highest[i] <= lowest[i]:
            continue
        pieces, span = (first[i], first[i + 1]), (lowest[i], highest[i])
        corners = _hull(offset, length, share, strands[i], pieces, span, corner_x, corner_y)
        for corner in range(1, corners):
            rise = corner_y[corner] - corner_y[corner - 1]
            if rise > 0.0:
                seconds[size] = rise
                price[size] = (corner_x[corner] - corner_x[corner - 1]) * nodes[i] / rise
                size += 1
    return size


@cache
def compiled_steps() -> Callable[..., Any]:
    """`_steps`, compiled."""
    return kernel(_steps, types.int64(types.int64[::1], *[types.float64[::1]] * 11), "the bound on efficiency")


class Intervals:
    """The loss that each interval of the window proves."""

    def __init__(self, wanted: Demand) -> None:
        self._wanted = wanted
        window = wanted.end - wanted.start
        self.gain = np.minimum(window, wanted.chain)
        self._idle = window - self.gain
        room = len(wanted.offset) + 2 * len(wanted.nodes)
        self._room = tuple(np.zeros(room) for _ in range(4))

    def loss(self, begin: float, end: float) -> float:
        """Node-seconds that every schedule loses for what happens between the two dates."""
        wanted = self._wanted
        lowest = np.maximum(begin - wanted.start, 0.0)
        highest = end - wanted.start - self._idle
        columns = wanted.first, wanted.offset, wanted.length, lowest, highest, wanted.share, wanted.strands, wanted.nodes
        size = compiled_steps()(*columns, *self._room)
        price, seconds = (column[:size] for column in self._room[2:])
        excess = float(seconds.sum()) - (end - begin + wanted.slack)
        if excess <= 0.0:
            return 0.0
        order = np.argsort(price)  # the cheapest is given up first
        seconds = seconds[order]
        before = np.cumsum(seconds) - seconds
        return float(np.clip(excess - before, 0.0, seconds) @ price[order])


def efficiency_bound(wanted: Demand) -> float:
    """No schedule has an efficiency above this."""
    if not np.isfinite(wanted.end):
        return _bound_to_the_end(wanted)
    intervals = Intervals(wanted)
    dates = np.linspace(wanted.begin, wanted.end, GRID + 1)
    tried = {(a, c): intervals.loss(a, c) for k, a in enumerate(dates.tolist()) for c in dates[k + 1 :].tolist()}
    best = max(tried, key=lambda interval: tried[interval])
    loss = tried[best]
    step = float(dates[1] - dates[0])
    for _ in range(REFINEMENTS):
        step /= 2.0
        for a, c in [(best[0] + move * step, best[1] + other * step) for move in (-1, 0, 1) for other in (-1, 0, 1)]:
            if wanted.begin <= a < c <= wanted.end and (moved := intervals.loss(a, c)) > loss:
                best, loss = (a, c), moved
    most = float(np.dot(wanted.nodes, intervals.gain)) - loss
    return min(1.0, most / (float(wanted.nodes.sum()) * (wanted.end - wanted.begin)))


def _bound_to_the_end(wanted: Demand) -> float:
    """Without a window: what all gain, over the shortest time in which all can end."""
    dates = DueDates(wanted)
    alone = float((wanted.start + wanted.chain).max())
    one_by_one = alone + float(np.dot(wanted.length, wanted.share))

    def too_short(end: float) -> bool:
        return not dates.can_be_met(wanted.chain, np.full(len(wanted.nodes), end))

    end = alone
    if too_short(alone):
        end = bisect(too_short, alone, one_by_one, PRECISION * (one_by_one - alone))[0]
    elapsed = end - wanted.begin
    if elapsed <= 0.0:
        return 1.0
    return min(1.0, float(np.dot(wanted.nodes, wanted.chain)) / (float(wanted.nodes.sum()) * elapsed))
