"""A collective operation in rounds: rank 0 waits for the turn of each, all move their range of it.

Round k of R goes from ⌊(k−1)·V/R⌋ to ⌊k·V/R⌋ of the V bytes of all ranks (003 §III.C: rounds of collective buffering). A
rank with less to move, or nothing, takes part in every round, as MPI requires of a collective call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from penstock.client import Job
from penstock.mpi.library import MPI
from penstock.mpi.part import Part
from penstock.mpi.ranks import Ranks

Move: TypeAlias = Callable[[Part, int, int, MPI.Status], None]
"""Moves a part's elements from the first number to before the second."""
STOP: Final = -1


class Rounds:
    """One rank's share of an operation of `volume` bytes in all."""

    def __init__(self, ranks: Ranks, part: Part, move: Move, volume: int) -> None:
        self.moved = 0
        """Bytes that this rank has moved."""
        self.failure: BaseException | None = None
        """What went wrong on this rank."""
        self._ranks, self._part, self._move, self._volume = ranks, part, move, volume
        self._at_end = False

    def once(self) -> None:
        """There is nothing to move, and nobody to ask."""
        self._round(0, 0)

    def lead(self, job: Job, rounds: int) -> None:
        """Rank 0: announce the operation, and begin each round when it may."""
        waiting = True  # the others, to be told

        def one(at: int, size: int) -> int:
            nonlocal waiting
            if not waiting:
                return 0
            self._ranks.tell(at, at + size)
            left = self._round(at, at + size)
            waiting = at + size < self._volume
            if not waiting:
                return size
            failed, more = self._ranks.largest_to_first(self.failure is not None, left)
            if failed or not more:
                waiting = False
                self._ranks.tell(STOP, STOP)
            return 0 if failed else size

        try:
            with job.io(self._volume, rounds) as io:
                io.move(self._volume, one, whole=True)
        except BaseException as failure:
            self.failure = failure
            if waiting:
                self._ranks.tell(STOP, STOP)

    def follow(self) -> None:
        """The others: do as rank 0 says."""
        while True:
            at, to = self._ranks.hear()
            if at == STOP:
                return
            left = self._round(at, to)
            if to == self._volume:
                return
            self._ranks.largest_to_first(self.failure is not None, left)

    def _round(self, at: int, to: int) -> bool:
        """Move what is between these places, or learn why not; whether anything is left after it."""
        part = self._part
        first, last = part.passed(at, self._volume), part.passed(to, self._volume)
        if self._at_end:
            last = first
        try:
            status = MPI.Status()
            self._move(part, first, last, status)
            count = status.Get_elements(MPI.BYTE)
            self.moved += count
            self._at_end = self._at_end or count < (last - first) * part.size
        except Exception as failure:
            self.failure = failure
        return last < part.count and not self._at_end
