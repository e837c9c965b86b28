"""The demand of applications on the link, or on an I/O resource, and whether it can be met by due dates.

In dedicated mode an application moves along its chain at one second per second. The part of the chain at *offset* u, in
dedicated seconds from the start, cannot be reached before the date start + u under any schedule. This date is its *head*.

Dedicated time is that of the engine: reads and writes at the speeds of the application, up to the limits of one direction
of the store, or with a buffer at its own speeds. Limits on both directions together, rounds, degradation and the bandwidth
of the buffer slow schedules down further and are ignored: an upper bound without them is one with them too.

**Buffers.** What is written in an interval [a, c] has gone to the store or is in the buffer at c. What is read came from the
store or was in the buffer at a. So at most B·(c − a) + S is written in it, as much read, and both together are at most
B·(c − a) + 2·S. The size of the buffer is *slack*, once for each direction that occurs: a store carries this many of its
seconds more in any interval.

**I/O resources.** On each of its n resources an operation is a transfer of its own, of as many resource-seconds as it takes
alone. So each resource is a link by itself, with the operations of the applications placed there, and a bound that one of
them proves holds for all. Each resource has all the slack of a buffer before them. The progress of an operation under way is
the mean over its n transfers: if it is the part x of the operation, one of them may have moved as little as n·x − (n − 1).

**Due dates.** Preemptive earliest due date first tells whether pieces of I/O with heads and due dates can all be in time. It
is optimal on one machine (Jackson 1955, Horn 1974): if it is late, every schedule is. Rates that add up to B are equivalent
to one machine of speed B whose time is divided finely enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numba import types

from penstock.engine.chain import pop, push
from penstock.engine.machine import Layout, buffered_layout, buffering_of, layout_of
from penstock.engine.setup import Chains, chains_of
from penstock.engine.state import ENTRIES_TYPE, Records, new_entries
from penstock.model import Workload
from penstock.model.application import READ, WORK
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import call_interruptibly, kernel
from penstock.numeric.tolerances import DUE_DATE_LATE

PIECES = 8
"""Pieces an operation is cut into if its application cannot fill the link by itself."""


@dataclass(frozen=True)
class LinkDemand:
    """One entry per application, and one per piece of an I/O operation; pieces are in the order of applications and offsets.

    Dates and durations in seconds; `share` is b_i / B, so that a piece of `length` dedicated seconds takes share · length
    seconds of the link.
    """

    release: Floats
    start: Floats
    """When the listed phases begin."""
    history: Floats
    """Progress at the start."""
    chain: Floats
    """Dedicated seconds of all that is listed, the lead included."""
    nodes: Floats
    strands: Floats
    """n: transfers that an operation is made of."""
    begin: float
    end: float
    """Of the window; infinite without one."""
    slack: float
    """Seconds of the link that buffers add to any interval."""

    first: Ints
    """Pieces of application i: first[i] … first[i + 1] − 1."""
    application: Ints
    offset: Floats
    length: Floats
    share: Floats

    @property
    def total(self) -> Floats:
        """Progress of an application that has ended."""
        return self.history + self.chain

    @property
    def head(self) -> Floats:
        """The earliest date of each piece."""
        return self.start[self.application] + self.offset


def link_demand(workload: Workload, pieces: int = PIECES) -> LinkDemand:
    """The demand of a workload on one link, without pieces that no schedule reaches before the end of the window.

    Args:
        workload: the applications and the link.
        pieces: parts into which an operation is cut, if its application cannot fill the link.
    """
    return next(link_demands(workload, pieces))


def link_demands(
    workload: Workload, pieces: int = PIECES, placement: Sequence[Sequence[int]] | None = None
) -> Iterator[LinkDemand]:
    """The demand on each store: on the link, or on each I/O resource in use; resources with equal demands once.

    Args:
        workload: the applications and the platform.
        pieces: parts into which an operation is cut, if its application cannot fill the store.
        placement: for each application the I/O resources it uses; None for one link.
    """
    asked = _Asked.of(workload, placement)
    for members in asked.groups():
        yield asked.demand(members, pieces)


@dataclass(frozen=True, eq=False)
class _Asked:
    """The chains of a workload on its machine, in dedicated seconds."""

    workload: Workload
    layout: Layout
    chains: Chains
    speeds: tuple[Floats, Floats]
    """Units/s of each application when it writes and when it reads."""
    room: float
    """Bytes of the buffer."""

    @classmethod
    def of(cls, workload: Workload, placement: Sequence[Sequence[int]] | None) -> _Asked:
        layout = layout_of(workload, placement)
        buffering = buffering_of(workload, None)
        speeds, room = (layout.write_cap, layout.read_cap), 0.0
        if buffering is not None:
            layout = buffered_layout(layout)
            speeds, room = buffering.speeds(layout), float(buffering.capacity(workload).sum())
        return cls(workload, layout, chains_of(workload, layout, *speeds), speeds, room)

    def groups(self) -> list[list[int]]:
        """The applications on each store; groups that occur on several stores once."""
        if self.layout.placement is None:
            return [list(range(len(self.workload.applications)))]
        on: dict[int, list[int]] = {}
        for index, used in enumerate(self.layout.placement):
            for store in used:
                on.setdefault(store, []).append(index)
        return [list(members) for members in dict.fromkeys(map(tuple, on.values()))]

    def demand(self, members: Sequence[int], pieces: int) -> LinkDemand:
        """The demand of these applications on a store; all others have none there."""
        workload, applications = self.workload, self.workload.applications
        end = workload.window[1] if workload.window else math.inf
        first, here = self.chains.first, set(members)
        seconds = [self.chains.seconds[a:b] for a, b in pairwise(first)]
        parts = [
            self._pieces(index, seconds[index], end, pieces) if index in here else _NONE
            for index in range(len(applications))
        ]
        counts = [len(offset) for offset, _, _ in parts]
        return LinkDemand(
            release=np.array([application.release for application in applications]),
            start=np.array([workload.start(application) for application in applications]),
            history=np.array([workload.history(application) for application in applications]),
            chain=np.array([a.lead + float(own.sum()) for a, own in zip(applications, seconds, strict=True)]),
            nodes=np.array([float(application.nodes) for application in applications]),
            strands=self.layout.counts.astype(np.float64),
            begin=workload.begin,
            end=end,
            slack=self._slack(members),
            first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            application=np.repeat(np.arange(len(applications), dtype=np.int64), counts),
            offset=np.concatenate([offset for offset, _, _ in parts]),
            length=np.concatenate([length for _, length, _ in parts]),
            share=np.concatenate([share for _, _, share in parts]),
        )

    def _slack(self, members: Sequence[int]) -> float:
        """Seconds that the store takes for what is in the buffer, for each direction that there is."""
        if self.room == 0.0:
            return 0.0
        operations = [application.phases.kinds[application.phases.asks] for application in self.workload.applications]
        reading = [bool((operations[index] == READ).any()) for index in members]
        writing = [bool((operations[index] != READ).any()) for index in members]
        slowest = float((self.layout.bytes / self.layout.counts)[list(members)].min()) * self.layout.limits[0]
        return (any(reading) + any(writing)) * self.room / slowest

    def _pieces(self, index: int, seconds: Floats, end: float, count: int) -> tuple[Floats, Floats, Floats]:
        """Offset, length and share of the pieces of its operations that begin before the end of the window."""
        application = self.workload.applications[index]
        reach = end - self.workload.start(application)
        offsets = application.lead + np.cumsum(seconds) - seconds
        kinds = application.phases.kinds
        chosen = (kinds != WORK) & (seconds > 0.0) & (offsets < reach)
        writes, reads = (float(speed[index]) / self.layout.limits[0] for speed in self.speeds)
        share = np.where(kinds[chosen] == READ, reads, writes)
        # An application that can fill the link moves no piece of an operation faster than the link does.
        one_piece = (self.layout.counts[index] > 1) | ((share == 1.0) & (self.room == 0.0))
        counts = np.where(one_piece, 1, count)
        lengths = np.repeat(seconds[chosen] / counts, counts)
        steps = np.arange(len(lengths)) - np.repeat(np.cumsum(counts) - counts, counts)
        return np.repeat(offsets[chosen], counts) + steps * lengths, lengths, np.repeat(share, counts)


_NONE = np.zeros(0), np.zeros(0), np.zeros(0)


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
    """Whether some piece is late; pieces in the order of their heads, the last two arrays are room for one entry per piece.

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
    """Due dates that a demand can or cannot meet.

    Args:
        wanted: the demand on one store.
    """

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
