"""Total orders of the active applications, and greedy filling of the link in such an order (000 §4.1).

Applications are ordered by a key, lowest first. Ties go to the earlier posting, then to the lower index. Yields compare in
steps of 1 / YIELD_GRAIN and times in nanoseconds, so that rounding errors decide nothing and independent implementations
agree.
"""

from __future__ import annotations

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import step
from penstock.numeric.tolerances import TIME_GRAIN, YIELD_GRAIN
from penstock.policies.view import View

SHORT = 24
"""Up to this many applications are sorted by insertion, which takes 70 ns for 10; heapsort takes 150 ns."""


@step
def progressed(view: View, i: int) -> float:
    """P_i of application i of `view`, in seconds; sorts applications as their yields do if all have the same release."""
    return float(view.progress[i])


@step
def yield_now(view: View, i: int) -> float:
    """y_i(t) = progress / (t − τ_i) of application i of `view` (000 eq. 6); 1 at the instant of release."""
    elapsed = view.now - view.release[i]
    if elapsed <= 0.0:
        return 1.0
    return float(progressed(view, i) / elapsed)


@step
def rounded_yield(view: View, i: int) -> float:
    """The yield of application i of `view` as orders compare it, in steps of 1 / YIELD_GRAIN."""
    return float(np.rint(yield_now(view, i) * YIELD_GRAIN))


@step
def rounded_time(seconds: float) -> float:
    """A time of so many `seconds` as orders compare it, in nanoseconds."""
    return float(np.rint(seconds * TIME_GRAIN))


@step
def precedes(view: View, keys: Floats, i: int, j: int) -> bool:
    """Whether i comes before j in `view`: lower entry of `keys`, then earlier posting, then lower index."""
    if keys[i] != keys[j]:
        return bool(keys[i] < keys[j])
    return earlier(view, i, j)


@step
def earlier(view: View, i: int, j: int) -> bool:
    """Whether i posted before j in `view`, or at the same time with the lower index."""
    if view.posted[i] != view.posted[j]:
        return bool(view.posted[i] < view.posted[j])
    return bool(view.application[i] < view.application[j])


@step
def first(view: View, keys: Floats) -> int:
    """The application of `view` that comes first by its `keys`."""
    best = 0
    for i in range(1, len(keys)):
        if precedes(view, keys, i, best):
            best = i
    return best


@step
def _sift_down(view: View, keys: Floats, root: int, size: int) -> None:
    """Restore the heap in view.order, first in order on top, below `root`."""
    heap = view.order
    moved = heap[root]
    child = 2 * root + 1
    while child < size:
        if child + 1 < size and precedes(view, keys, heap[child + 1], heap[child]):
            child += 1
        if not precedes(view, keys, heap[child], moved):
            break
        heap[root] = heap[child]
        root = child
        child = 2 * root + 1
    heap[root] = moved


@step
def sort(view: View, keys: Floats) -> None:
    """Write all applications to view.order, lowest of the `keys` first. Heapsort, time n log n; few are inserted singly."""
    size = len(keys)
    if size <= SHORT:
        sort_few(view, keys)
        return
    for i in range(size):
        view.order[i] = i
    # The top of the heap is moved behind it, again and again: the result is in reverse order and is turned round below.
    root, last = size // 2, size
    while last > 1:
        if root > 0:  # the heap is being made
            root -= 1
        else:
            last -= 1
            view.order[0], view.order[last] = view.order[last], view.order[0]
        _sift_down(view, keys, root, last)
    for place in range(size // 2):
        view.order[place], view.order[size - 1 - place] = view.order[size - 1 - place], view.order[place]


@step
def sort_few(view: View, keys: Floats) -> None:
    """Do the same as `sort`, for the `keys` of `view`, by insertion only: time n², and half the time to compile."""
    for moved in range(len(keys)):
        place = moved
        while place > 0 and precedes(view, keys, moved, view.order[place - 1]):
            view.order[place] = view.order[place - 1]
            place -= 1
        view.order[place] = moved


@step
def serve_one(view: View, keys: Floats, rates: Floats) -> None:
    """Give the link to one application of `view` until its operation is complete, as `rates` in bytes/s. Time n.

    It is the one that holds the link, or else the first in the order of the `keys`.
    """
    if not keep_holder(view, rates):
        serve_first(view, keys, rates)


@step
def keep_holder(view: View, rates: Floats) -> bool:
    """Leave the link to the application of `view` that holds it, as `rates` in bytes/s.

    Returns:
        False if none holds it; then no rates are written.
    """
    for i in range(len(rates)):
        if view.rate[i] > 0.0:
            serve(view, i, rates)
            return True
    return False


@step
def serve_first(view: View, keys: Floats, rates: Floats) -> None:
    """Give the link to the application of `view` with the lowest of the `keys`, even if another holds it. Time n.

    It writes `rates` in bytes/s.
    """
    serve(view, first(view, keys), rates)


@step
def serve(view: View, served: int, rates: Floats) -> None:
    """Give the link to the application `served` of `view` alone, as `rates` in bytes/s."""
    for i in range(len(rates)):
        rates[i] = 0.0
    rates[served] = view.cap[served]


@step
def fill(view: View, keys: Floats, rates: Floats) -> None:
    """Give each application of `view` its cap in the order of the `keys`, until the link is full (000 §4.1, FCFS).

    It writes `rates` in bytes/s. Time n, and log n for each further application served: if the first can use the whole link,
    the others get nothing.
    """
    leader = first(view, keys)
    serve(view, leader, rates)
    left = view.bandwidth - view.cap[leader]
    if left > 0.0:
        fill_rest(view, keys, rates, left)


@step
def fill_rest(view: View, keys: Floats, rates: Floats, left: float) -> None:
    """Give the bandwidth `left`, in bytes/s, to the applications of `view` that have none, in the order of the `keys`.

    It writes `rates`. Time n for a heap, and log n for each application served. Searching for the first few one by one would
    be 10 ns faster for 10 applications, but take 1.5 times as long to compile.
    """
    size = len(rates)
    waiting = 0
    for i in range(size):
        if rates[i] == 0.0:
            view.order[waiting] = i
            waiting += 1
    root = waiting // 2
    while left > 0.0 and waiting > 0:
        if root > 0:  # the heap is being made
            root -= 1
        else:
            following = view.order[0]
            rates[following] = min(view.cap[following], left)
            left -= rates[following]
            waiting -= 1
            view.order[0] = view.order[waiting]
        _sift_down(view, keys, root, waiting)


@step
def fill_after(view: View, leader: int, rates: Floats) -> None:
    """Give the `leader` its cap and the rest to the others in the order of view.order, as `rates` in bytes/s."""
    serve(view, leader, rates)
    left = view.bandwidth - view.cap[leader]
    for i in view.order:
        if left <= 0.0:
            break
        if i != leader:
            rates[i] = min(view.cap[i], left)
            left -= rates[i]
