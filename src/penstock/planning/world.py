"""What has been executed and moved by when, read off the engine where a batch run stops anyway: so nothing is disturbed.

Executed are node-seconds of progress: work and transfers, each transfer worth its time alone (001 §III.D.2.c: a node
executes while its job computes or does I/O, is delayed while it waits for I/O, and is idle otherwise).

Where jobs run: in the engine, or in the world as it is predicted, where every job takes its time alone.

A scheduler starts jobs, lets time pass to the next end of one or to a date, and decides again; it does not know in which.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np

from penstock.engine import Run
from penstock.numeric.arrays import Floats
from penstock.planning.jobs import Jobs

MOST_READINGS: Final = 2_000
"""Of one I/O node. A reading of 24,000 jobs takes 0.2 ms; when there are too many, every other one goes."""


@dataclass(frozen=True, eq=False)
class Progress:
    """Node-seconds executed and bytes moved since the begin, at these dates; exact there, linear between."""

    date: Floats
    executed: Floats
    moved: Floats

    def at(self, dates: Floats) -> tuple[Floats, Floats]:
        """What has been executed and moved by other dates."""
        return np.interp(dates, self.date, self.executed), np.interp(dates, self.date, self.moved)

    @classmethod
    def total(cls, parts: Sequence[Progress]) -> Progress:
        """The sum of what several I/O nodes have done."""
        dates = np.unique(np.concatenate([part.date for part in parts]))
        executed, moved = (np.sum(column, axis=0) for column in zip(*(part.at(dates) for part in parts), strict=True))
        return cls(dates, executed, moved)


class Meter:
    """Reads the progress of one I/O node, over one run after the other."""

    def __init__(self, begin: float) -> None:
        self._rows = [(begin, 0.0, 0.0)]
        self._before = (0.0, 0.0)
        self._stride = 1
        self._stops = 0

    def read(self, run: Run, nodes: Floats, since: float = 0.0, *, last: bool = False) -> None:
        """Take a reading of a run whose date 0 is `since`; the `last` one of a run is always taken."""
        self._stops += 1
        if self._stops % self._stride and not last:
            return
        done = run.accounts()
        executed, moved = float((nodes * done["progress"]).sum()), float(done["transferred"].sum())
        row = (since + run.now, self._before[0] + executed, self._before[1] + moved)
        if row[0] > self._rows[-1][0]:
            self._rows.append(row)
        else:
            self._rows[-1] = row
        if last:
            self._before = row[1:]
        if len(self._rows) > MOST_READINGS:
            self._rows = self._rows[:-1:2] + self._rows[-1:]
            self._stride *= 2

    def progress(self) -> Progress:
        """All readings."""
        return Progress(*(np.array(column) for column in zip(*self._rows, strict=True)))


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
