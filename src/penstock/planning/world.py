"""Worlds: where the jobs of a batch run, and the record of what they have done.

A scheduler starts jobs, lets time pass to the next end of a job or to a date, and decides again. It does not know whether
the world is the engine or a prediction, in which every job takes its time alone.

A `Meter` reads the engine where a batch run stops anyway, so the run is not disturbed. *Executed* are node-seconds of
progress: work and transfers, each transfer counted as its time alone (001 §III.D.2.c: a node executes while its job
computes or does I/O, is delayed while the job waits for I/O, and is idle otherwise).
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
from penstock.renamed import old_names

__getattr__ = old_names(__name__, Predicted="PredictedWorld", PredictedWorlds="PredictedWorldFactory", Worlds="WorldFactory")

MOST_READINGS: Final = 2_000
"""Of one I/O node. A reading of 24,000 jobs takes 0.2 ms; beyond this number every other reading is dropped."""


class World(Protocol):
    """Some jobs on one I/O node, numbered among themselves from 0; `penstock.engine.Run` is one."""

    @property
    def now(self) -> float:
        """The date in seconds."""

    def start(self, index: int) -> None:
        """Start a held job now."""

    def advance(self, until: float = math.inf) -> tuple[int, ...]:
        """Go on to the next end of a job, at most to the date `until`, and return the numbers of the ended jobs."""


class WorldFactory(Protocol):
    """Opens worlds, one after the other for each I/O node, and records what happens in them."""

    def open(self, io_node: int, jobs: Sequence[int], held: int, begin: float) -> World:
        """Open a world at the date `begin` for these jobs; the last `held` of them wait to be started, the others start."""

    def stopped(self, since: float, ended: int, last: bool) -> None:
        """Note that time has passed in the latest world, whose date 0 is `since`, and that so many jobs have `ended`.

        With `last`, this world is over.
        """


class PredictedWorld:
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
        """Go on to the next end of a job, at most to the date `until`, and return the numbers of the ended jobs."""
        if not self._ends or self._ends[0][0] > until:
            self.now = until if math.isfinite(until) else self.now
            return ()
        self.now = self._ends[0][0]
        ended = []
        while self._ends and self._ends[0][0] == self.now:
            ended.append(heapq.heappop(self._ends)[1])
        return tuple(sorted(ended))


class PredictedWorldFactory:
    """Opens predicted worlds and records nothing."""

    def __init__(self, jobs: Jobs) -> None:
        self._seconds = jobs.seconds.tolist()

    def open(self, io_node: int, jobs: Sequence[int], held: int, begin: float) -> PredictedWorld:  # noqa: ARG002
        """Open a predicted world for these jobs."""
        return PredictedWorld([self._seconds[job] for job in jobs], held, begin)

    def stopped(self, since: float, ended: int, last: bool) -> None:
        """Record nothing."""


@dataclass(frozen=True, eq=False)
class Progress:
    """Node-seconds executed and bytes moved since the begin, at these dates; exact there, linear between them."""

    date: Floats
    executed: Floats
    moved: Floats

    def at(self, dates: Floats) -> tuple[Floats, Floats]:
        """Node-seconds executed and bytes moved until other dates."""
        return np.interp(dates, self.date, self.executed), np.interp(dates, self.date, self.moved)

    @classmethod
    def total(cls, parts: Sequence[Progress]) -> Progress:
        """The sum over several I/O nodes."""
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
