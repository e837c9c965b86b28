"""Preemptive earliest due date first on the link: whether pieces of I/O with heads and due dates can all be in time.

The rule is optimal on one machine (Jackson 1955, Horn 1974): if it is late, every schedule is. Rates that add up to B are
equivalent to one machine of speed B whose time is divided finely enough.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import types

from penstock.engine.chain import pop, push
from penstock.engine.state import ENTRIES_TYPE, Records, new_entries
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import call_interruptibly, kernel
from penstock.numeric.tolerances import DUE_DATE_LATE
from penstock.theory.link_demand import LinkDemand


def _late(
    application: Ints,
    head: Floats,
    offset: Floats,
    length: Floats,
    share: Floats,
    strands: Floats,
    target: Floats,
    due: Floats,
    heap: Records,
    left: Floats,
    tolerance: float,
) -> bool:
    """Whether some piece is late; pieces in the order of their heads, the last two arrays are room for one entry a piece.

    Application i must have done the first `target[i]` dedicated seconds of its chain at the date `due[i]`. Time n log n.
    """
    size = 0
    now = -np.inf
    for k in range(len(head) + 1):
        until = head[k] if k < len(head) else np.inf
        while size > 0 and now < until:
            top = heap[0].index
            if now + left[top] > until:
                left[top] -= until - now
                now = until
            else:
                now += left[top]
                if now > heap[0].time + tolerance:
                    return True
                pop(heap, size)
                size -= 1
        if k < len(head):
            now = max(now, until)
            i = application[k]
            # What comes from here to the target; of an operation that ends there, other transfers may be further.
            ahead = target[i] - offset[k]
            part = min(length[k], strands[i] * ahead - (strands[i] - 1.0) * length[k])
            if part > 0.0:
                left[k] = part * share[k]
                push(heap, size, due[i] - max(0.0, ahead - length[k]), k)
                size += 1
    return False


@cache
def compiled_late() -> Callable[..., Any]:
    """`_late`, compiled."""
    floats, ints = types.float64[::1], types.int64[::1]
    arrays = (ints, *[floats] * 7, ENTRIES_TYPE, floats)
    return kernel(_late, types.boolean(*arrays, types.float64), "the bound on yields")


class DueDates:
    """Due dates that a demand can or cannot meet."""

    def __init__(self, wanted: LinkDemand) -> None:
        self._wanted = wanted
        order = np.argsort(wanted.head, kind="stable")
        columns = (wanted.application, wanted.head, wanted.offset, wanted.length, wanted.share)
        self._pieces = tuple(np.ascontiguousarray(column[order]) for column in columns)
        self._room = new_entries(len(order)), np.zeros(len(order))
        # Earliest due date first is late by the most that any interval is asked for over what it offers. If every interval
        # offers some slack more, a completion that is late by no more than the slack counts as in time.
        self._tolerance = DUE_DATE_LATE * max(1.0, float(np.abs(wanted.start + wanted.chain).max()))

    def can_be_met(self, target: Floats, due: Floats) -> bool:
        """False if no schedule lets every application i do `target[i]` dedicated seconds of its chain by the date `due[i]`.

        True proves nothing: the delays of an application are taken one by one, as if its next operation could make up for
        this one. Within rounding the answer is True.
        """
        wanted = self._wanted
        if np.any((target >= 0.0) & (wanted.start + target > due + self._tolerance)):
            return False
        slack = self._tolerance + wanted.slack
        return not call_interruptibly(compiled_late(), *self._pieces, wanted.strands, target, due, *self._room, slack)


def bisect(holds: Callable[[float], bool], low: float, high: float, precision: float) -> tuple[float, float]:
    """Where a condition that holds up to some value, and not above it, changes.

    Args:
        holds: the condition.
        low: a value at which it holds.
        high: a value at which it does not.
        precision: largest distance of the two values returned.

    Returns:
        A value at which it holds and a larger one at which it does not.

    Example:
        >>> low, high = bisect(lambda x: x * x <= 2.0, 0.0, 2.0, 1e-9)
        >>> round(low, 6)
        1.414214
    """
    while high - low > precision:
        middle = (low + high) / 2.0
        if holds(middle):
            low = middle
        else:
            high = middle
    return low, high
