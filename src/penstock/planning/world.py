"""Where jobs run: in the engine, or in the world as it is predicted, where every job takes its time alone.

A scheduler starts jobs, lets time pass to the next end of one or to a date, and decides again; it does not know in which.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from typing import Protocol

from penstock.planning.jobs import Jobs


class World(Protocol):
    """Some jobs on one I/O node, by their positions among themselves; `penstock.engine.Run` is one."""

    @property
    def now(self) -> float:
        """The date, in seconds."""

    def start(self, index: int) -> None:
        """Start a held job now."""

    def advance(self, until: float = math.inf) -> tuple[int, ...]:
        """Go on to the next end of a job, at most to the date `until`; returns the positions of the ended."""


class Worlds(Protocol):
    """What makes worlds, one after the other for an I/O node, and keeps the books."""

    def open(self, io_node: int, jobs: Sequence[int], held: int, begin: float) -> World:
        """A world at the date `begin` for these jobs; the last `held` of them are held and the others start."""

    def stopped(self, since: float, last: bool) -> None:
        """Time has passed in the latest world, whose date 0 is `since`; the `last` time, it is over."""


class Predicted:
    """A world without contention: job i ends `seconds[i]` after its start; all but the last `held` start at `begin`."""

    def __init__(self, seconds: Sequence[float], held: int, begin: float) -> None:
        self.now = begin
        self._seconds = seconds
        self._ends = [(begin + seconds[index], index) for index in range(len(seconds) - held)]
        heapq.heapify(self._ends)

    def start(self, index: int) -> None:
        """Start a held job now."""
        heapq.heappush(self._ends, (self.now + self._seconds[index], index))

    def advance(self, until: float = math.inf) -> tuple[int, ...]:
        """Go on to the next end of a job, at most to the date `until`; returns the positions of the ended."""
        if not self._ends or self._ends[0][0] > until:
            self.now = until if math.isfinite(until) else self.now
            return ()
        self.now = self._ends[0][0]
        ended = []
        while self._ends and self._ends[0][0] == self.now:
            ended.append(heapq.heappop(self._ends)[1])
        return tuple(sorted(ended))


class PredictedWorlds:
    """Makes predicted worlds; there are no books to keep."""

    def __init__(self, jobs: Jobs) -> None:
        self._seconds = jobs.seconds.tolist()

    def open(self, io_node: int, jobs: Sequence[int], held: int, begin: float) -> Predicted:  # noqa: ARG002
        """A predicted world for these jobs."""
        return Predicted([self._seconds[job] for job in jobs], held, begin)

    def stopped(self, since: float, last: bool) -> None:
        """Nothing to write down."""
