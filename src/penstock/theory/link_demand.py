"""The demand of applications on the link, or on an I/O resource: the input of the bounds.

In dedicated mode an application moves along its chain at one second a second. The part of the chain at *offset* u, in
dedicated seconds from the start, cannot be reached before the date start + u under any schedule. This date is its *head*.

Dedicated time is that of the engine: reads and writes at the speeds of the application, up to the limits of one direction
of the store, or with a buffer at its own speeds. Limits on both directions together, rounds, degradation and the bandwidth
of the buffer slow schedules down further and are ignored: an upper bound without them is one with them too.

**Buffers.** What is written in an interval [a, c] has gone to the store or is in the buffer at c. What is read came from the
store or was in the buffer at a. So at most B·(c − a) + S is written in it, as much read, and both together are at most
B·(c − a) + 2·S. The size of the buffer is *slack*, once for each direction that occurs: a store carries so many of its
seconds more in any interval.

**I/O resources.** On each of its n resources an operation is a transfer of its own, of as many resource-seconds as it takes
alone. So each resource is a link by itself, with the operations of the applications placed there, and a bound that one of
them proves holds for all. Each resource has all the slack of a buffer before them. The progress of an operation under way is
the mean over its n transfers: if it is the part x of the operation, one of them may have moved as little as n·x − (n − 1).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from penstock.engine.buffering import buffered_layout, buffering_of
from penstock.engine.machine import Layout, layout_of
from penstock.engine.setup import Chains, chains_of
from penstock.model import Workload
from penstock.model.phases import READ, WORK
from penstock.numeric.arrays import Floats, Ints

PIECES = 8
"""Pieces an operation is cut into if its application cannot fill the link by itself."""


@dataclass(frozen=True)
class LinkDemand:
    """One entry an application, and one a piece of an I/O operation; pieces are in the order of applications and offsets.

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
    """The demand of a workload on one link, without pieces that no schedule reaches before the end of the window."""
    return next(link_demands(workload, pieces))


def link_demands(
    workload: Workload, pieces: int = PIECES, placement: Sequence[Sequence[int]] | None = None
) -> Iterator[LinkDemand]:
    """The demand on each store: on the link, or on each I/O resource in use; resources with equal demands once."""
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
