"""Total orders of the active applications, and the greedy filling of the link in such an order (000 §4.1).

Applications are ordered by a key, lowest first; ties go to the earlier posting, then to the lower index. Yields compare
rounded to 1e-12 and times to 1e-9 s, so that a rounding error in the last bit decides nothing and independent
implementations agree.
"""

from __future__ import annotations

import numpy as np

from penstock.policies.compiled import helper, part
from penstock.policies.view import Floats, View

YIELD_GRAIN = 1e12
"""Yields compare in units of 1 / YIELD_GRAIN."""
TIME_GRAIN = 1e9
"""Times compare in units of 1 / TIME_GRAIN seconds."""
MOMENT = 1e-9
"""The shortest time since a release, in seconds, that a policy divides by."""
NO_LOSS = 1e-9
"""An application that has lost no more than this part of its time counts as having lost just that."""


@helper
def yield_now(view: View, i: int) -> float:
    """y_i(t) = progress / (t − τ_i) (000 eq. 6); 1 at the instant of release."""
    elapsed = view.now - view.release[i]
    if elapsed <= 0.0:
        return 1.0
    return float(view.progress[i] / elapsed)


@helper
def rounded_yield(view: View, i: int) -> float:
    """The yield as orders compare it, in units of 1e-12."""
    return float(np.rint(yield_now(view, i) * YIELD_GRAIN))


@part
def precedes(view: View, keys: Floats, i: int, j: int) -> bool:
    """Whether i comes before j: lower key, then earlier posting, then lower index."""
    if keys[i] != keys[j]:
        return bool(keys[i] < keys[j])
    if view.posted[i] != view.posted[j]:
        return bool(view.posted[i] < view.posted[j])
    return bool(view.application[i] < view.application[j])


@part
def _sift_down(view: View, keys: Floats, root: int, size: int) -> None:
    """Restore the heap in view.order, last in order on top, below `root`."""
    heap = view.order
    moved = heap[root]
    child = 2 * root + 1
    while child < size:
        if child + 1 < size and precedes(view, keys, heap[child], heap[child + 1]):
            child += 1
        if not precedes(view, keys, moved, heap[child]):
            break
        heap[root] = heap[child]
        root = child
        child = 2 * root + 1
    heap[root] = moved


@helper
def sort(view: View, keys: Floats) -> None:
    """Write all applications, first in order first, to view.order. Heapsort: time n log n."""
    size = len(keys)
    for i in range(size):
        view.order[i] = i
    for root in range(size // 2 - 1, -1, -1):
        _sift_down(view, keys, root, size)
    for last in range(size - 1, 0, -1):
        view.order[0], view.order[last] = view.order[last], view.order[0]
        _sift_down(view, keys, 0, last)


@part
def first(view: View, keys: Floats) -> int:
    """The application that comes first."""
    best = 0
    for i in range(1, len(keys)):
        if precedes(view, keys, i, best):
            best = i
    return best


@helper
def serve_one(view: View, keys: Floats, rates: Floats) -> None:
    """Give the link to one application until its operation is complete: who holds it, or else the first in the order of the
    keys. Time n.
    """
    served = -1
    for i in range(len(rates)):
        rates[i] = 0.0
        if view.rate[i] > 0.0:
            served = i
    if served < 0:
        served = first(view, keys)
    rates[served] = view.cap[served]


@helper
def serve_first(view: View, keys: Floats, rates: Floats) -> None:
    """Give the link to the first in the order of the keys, whoever has it now. Time n."""
    for i in range(len(rates)):
        rates[i] = 0.0
    served = first(view, keys)
    rates[served] = view.cap[served]


@helper
def rounded_time(seconds: float) -> float:
    """A time as orders compare it, in nanoseconds."""
    return float(np.rint(seconds * TIME_GRAIN))


@helper
def fill(view: View, keys: Floats, rates: Floats) -> None:
    """Give each application in the order of the keys its cap, until the link is full (000 §4.1, FCFS).

    Time n for the first, which is all there is to do where one application can use the whole link; n log n otherwise.
    """
    for i in range(len(rates)):
        rates[i] = 0.0
    leader = first(view, keys)
    rates[leader] = view.cap[leader]
    if view.cap[leader] < view.bandwidth and len(rates) > 1:
        sort(view, keys)
        fill_after(view, leader, rates)


@helper
def fill_after(view: View, leader: int, rates: Floats) -> None:
    """Give the leader its cap and what is left to the others in the order of view.order; all rates are 0 before."""
    rates[leader] = view.cap[leader]
    left = view.bandwidth - view.cap[leader]
    for i in view.order:
        if left <= 0.0:
            break
        if i != leader:
            rates[i] = min(view.cap[i], left)
            left -= rates[i]
