"""Upper bounds on the minimum yield and on the efficiency of any schedule of a workload, clairvoyant or not.

The bounds measure how good a policy is: its gap to the bound is at least its gap to the best schedule.

Symbols: application A_i starts at s_i = max(τ_i, window start) with release τ_i and cap b_i; B is the bandwidth, T_end the
end of the window, p_i its nodes. The *offset* u of a piece of I/O is the dedicated seconds of the chain before it.

**Minimum yield.** Suppose a schedule ends with every yield at least y. Application A_i then has a progress of
x_i = min(its entire chain, y·(T_end − τ_i)) at the date D_i = min(T_end, τ_i + x_i / y): either it still runs at T_end, or
it has ended by the date at which its yield falls to y. Take the I/O of the first x_i of its chain, and in it the piece at
offset u.

- Head: what comes before takes at least u seconds, so the piece begins at s_i + u or later.
- Due date: what comes after, up to x_i, takes at least its dedicated time, so the piece ends at D_i minus that or earlier.
- The piece takes b_i / B seconds of the link for each dedicated second.

So the pieces of all applications fit on one preemptive machine, each between its head and its due date. Earliest due date
first is optimal there. If it fails, no schedule reaches y. Feasibility is monotone in y (a lower y asks for shorter
prefixes and leaves later due dates), so bisection finds y. Time n log n for n pieces and each of 30 steps.

**Caps.** The argument holds for any way of cutting operations into pieces. With b_i = B one piece per operation is exact,
because nothing goes faster than B on one machine anyway. With b_i < B one piece per operation ignores the cap. Cut into n
pieces, each has its own head and due date; for n → ∞ the condition is that of energetic reasoning: in no interval [a, c]
may the pieces with a head after a and a due date before c exceed B·(c − a).

**Efficiency.** Let G_i be what A_i gains by T_end in dedicated mode and δ_i ≥ 0 what a schedule leaves it short of that.
Take any interval [a, c] of the window. At c, A_i has done at least the first c − s_i − e_i − δ_i dedicated seconds of its
chain, where e_i = T_end − s_i − G_i is the time it can idle without loss because its chain ends early. The I/O in these
seconds with a head after a moved inside the interval. So Σ U_i(c − s_i − e_i − δ_i) ≤ B·(c − a), where U_i(g) is the volume
between a − s_i and g on the chain. The smallest Σ p_i·δ_i under this constraint is a lower bound on what every schedule
loses.

U_i is level during work and has slope b_i during I/O. With its lower convex envelope instead, the problem is a fractional
knapsack: give up the segments with the most volume for a node-second first. Every interval gives a bound and the best one
is kept: all intervals between GRID + 1 dates, then the best one moved in ever smaller steps while that helps. Only the loss
of one interval counts, since a delay in one may be what avoids another.

Without a window all applications run to their ends. Then the gain is known, and the bound comes from the shortest time in
which all can end, by heads and due dates as above.

**What is given up.** Heads and due dates of one application are taken one by one, as if the next operation could make up
for a delay of this one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

import numpy as np
from numba import types

from penstock.engine.machine import placement_of
from penstock.model import Workload
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import call_interruptibly, inlined_kernel, kernel
from penstock.numeric.tolerances import EFFICIENCY_PRECISION, YIELD_PRECISION
from penstock.theory.link_demand import PIECES, DueDates, LinkDemand, bisect, compiled_late, link_demands

GRID: Final = 24
"""Parts of the window between which intervals are tried."""
REFINEMENTS: Final = 8
"""How often the best interval is moved, each time by half as much as before."""


def min_yield_bound(wanted: LinkDemand, precision: float = YIELD_PRECISION, most: float = 1.0) -> float:
    """An upper bound on the minimum yield of any schedule.

    Args:
        wanted: the demand on one store.
        precision: where bisection ends.
        most: a bound that is known already.
    """
    dates = DueDates(wanted)

    def reachable(lowest: float) -> bool:
        due = np.minimum(wanted.end, wanted.release + wanted.total / lowest)
        target = np.minimum(wanted.total, lowest * (wanted.end - wanted.release)) - wanted.history
        return dates.can_be_met(target, due)

    if reachable(most):
        return most
    return bisect(reachable, 0.0, most, precision)[1]


@inlined_kernel
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

    The staircase is not convex at the beginnings of pieces; these and the two ends are its corners. A transfer of
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
    in node-seconds each; how many there are. The last four arrays are room for one entry per piece and two per application.
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
    """The loss that each interval of the window proves, in node-seconds.

    Args:
        wanted: the demand on one store.
    """

    def __init__(self, wanted: LinkDemand) -> None:
        self._wanted = wanted
        window = wanted.end - wanted.start
        self.gain = np.minimum(window, wanted.chain)
        self._idle = window - self.gain
        room = len(wanted.offset) + 2 * len(wanted.nodes)
        self._room = tuple(np.zeros(room) for _ in range(4))

    def loss(self, begin: float, end: float) -> float:
        """Node-seconds that every schedule loses because of the I/O between the dates `begin` and `end`, in seconds."""
        wanted = self._wanted
        lowest = np.maximum(begin - wanted.start, 0.0)
        highest = end - wanted.start - self._idle
        columns = wanted.first, wanted.offset, wanted.length, lowest, highest, wanted.share, wanted.strands, wanted.nodes
        size = call_interruptibly(compiled_steps(), *columns, *self._room)
        price, seconds = (column[:size] for column in self._room[2:])
        excess = float(seconds.sum()) - (end - begin + wanted.slack)
        if excess <= 0.0:
            return 0.0
        order = np.argsort(price)  # the cheapest is given up first
        seconds = seconds[order]
        before = np.cumsum(seconds) - seconds
        return float(np.clip(excess - before, 0.0, seconds) @ price[order])


def efficiency_bound(wanted: LinkDemand) -> float:
    """An upper bound on the efficiency of any schedule, for the demand `wanted` on one store."""
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


def _bound_to_the_end(wanted: LinkDemand) -> float:
    """Without a window: the gain of all, over the shortest time in which all can end."""
    dates = DueDates(wanted)
    alone = float((wanted.start + wanted.chain).max())
    one_by_one = alone + float(np.dot(wanted.length, wanted.share))

    def too_short(end: float) -> bool:
        return not dates.can_be_met(wanted.chain, np.full(len(wanted.nodes), end))

    end = alone
    if too_short(alone):
        end = bisect(too_short, alone, one_by_one, EFFICIENCY_PRECISION * (one_by_one - alone))[0]
    elapsed = end - wanted.begin
    if elapsed <= 0.0:
        return 1.0
    return min(1.0, float(np.dot(wanted.nodes, wanted.chain)) / (float(wanted.nodes.sum()) * elapsed))


@dataclass(frozen=True)
class Bounds:
    """Upper bounds on the objectives of any schedule of a workload."""

    min_yield: float
    """No schedule has a minimum yield above it."""
    efficiency: float
    """No schedule has an efficiency above it."""
    seconds: float
    """Computing time in seconds."""


def compile_bounds() -> None:
    """Compile what the bounds need, or load it from the cache on disk."""
    compiled_late()
    compiled_steps()


def bounds(
    workload: Workload, pieces: int = PIECES, placement: Sequence[Sequence[int]] | Literal[False] | None = None
) -> Bounds:
    """Upper bounds on the minimum yield and the efficiency of any schedule of a workload.

    Args:
        workload: the applications and their platform. A buffer with a size, or the sum of its shares, counts as one pool.
        pieces: pieces an operation is cut into where its application cannot fill the link; more are slower and tighter.
        placement: the I/O resources that each application uses; by default the workload's own. The bounds then hold for this
            placement. False for one link.

    Raises:
        InputError: for a workload on I/O resources without a placement.

    Example:
        >>> from penstock import Application, Platform, Workload
        >>> from penstock.theory import bounds
        >>> members = tuple(Application.of(name, [("work", 5.0), ("io", 5.0)]) for name in "ab")
        >>> found = bounds(Workload(Platform(1.0), members))
        >>> round(found.min_yield, 6)  # both want the link from 5 s to 10 s; the second ends at 15 s at best
        0.666667
    """
    begun = time.perf_counter()
    lowest = efficiency = 1.0
    for wanted in link_demands(workload, pieces, placement_of(workload, placement)):
        lowest = min_yield_bound(wanted, most=lowest)
        efficiency = min(efficiency, efficiency_bound(wanted))
    return Bounds(lowest, efficiency, time.perf_counter() - begun)
