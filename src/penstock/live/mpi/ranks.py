"""What the ranks of a file tell each other: that all do the same, what went wrong, what rank 0 decided.

Every collective call of a file begins with `agree`. A rank that cannot take part says so there, before anybody is inside a
call of MPI that would wait for it, and all ranks raise the same error. So do ranks that are in different calls.

A collective operation in rounds: rank 0 waits for the turn of each, all move their range of it.

Round k of R goes from ⌊(k−1)·V/R⌋ to ⌊k·V/R⌋ of the V bytes of all ranks (003 §III.C: rounds of collective buffering). A
rank with less to move, or nothing, takes part in every round, as MPI requires of a collective call.
"""

from __future__ import annotations

import os
import pickle
import time
import zlib
from array import array
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from penstock.live.client import Job
from penstock.live.client.errors import UsageError
from penstock.live.mpi.buffer_part import BufferPart
from penstock.live.mpi.jobs import MPI

AWAKE: Final = 0.001
"""Seconds for which one who waits for rank 0 keeps its core."""
ASLEEP: Final = 0.002
"""Seconds for which it then gives the core away at a time, at most,"""
PART: Final = 0.1
"""and of the time it has waited: so much later than it could it goes on."""


class Ranks:
    """A communicator of the file's own."""

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._comm = comm.Dup()
        self.rank = comm.Get_rank()
        self.size = comm.Get_size()

    def free(self) -> None:
        """The file is closed."""
        self._comm.Free()

    def agree(self, call: str, failure: BaseException | None = None, number: int = 0) -> int:
        """All ranks are in this call and none has failed; otherwise all raise. The largest of their numbers."""
        code = zlib.crc32(call.encode())
        failed, greatest, least, largest = self.largest(failure is not None, code, -code, number)
        if failed:
            self._raise(failure)
        if greatest != -least:
            raise UsageError(f"{call}: other ranks are in another call; expected the same collective call of all")
        return largest

    def largest(self, *numbers: int) -> list[int]:
        """The largest of each number over all ranks."""
        return self._reduced(MPI.MAX, numbers)

    def largest_to_first(self, *numbers: int) -> list[int]:
        """The same for rank 0 alone, so that the others do not wait for each other."""
        mine = array("q", numbers)
        theirs = array("q", mine)
        self._comm.Reduce(mine, theirs, MPI.MAX)
        return theirs.tolist()

    def total(self, number: int) -> int:
        """The sum of their numbers."""
        return self._reduced(MPI.SUM, [number])[0]

    def from_first(self, value: Any) -> Any:
        """What rank 0 has."""
        return self._comm.bcast(value)

    def nodes(self) -> int:
        """On how many nodes they are: those that share memory are on one."""
        node = self._comm.Split_type(MPI.COMM_TYPE_SHARED)
        first = node.Get_rank() == 0
        node.Free()
        return self.total(first)

    def tell(self, at: int, to: int) -> None:
        """Rank 0: what all do next."""
        self._comm.Ibcast(array("q", [at, to])).Wait()

    def hear(self) -> tuple[int, int]:
        """The others: what all do next. Rank 0 may be waiting for its turn, so this is not a time to keep a core busy."""
        told = array("q", [0, 0])
        request, begun = self._comm.Ibcast(told), time.monotonic()
        while not request.Test():
            waited = time.monotonic() - begun
            if waited < AWAKE:
                os.sched_yield()
            else:
                time.sleep(min(ASLEEP, PART * waited))
        return told[0], told[1]

    def _reduced(self, operator: MPI.Op, numbers: Any) -> list[int]:
        mine = array("q", numbers)
        theirs = array("q", bytes(8 * len(mine)))
        self._comm.Allreduce(mine, theirs, operator)
        return theirs.tolist()

    def _raise(self, failure: BaseException | None) -> None:
        """The error of the first rank that knows what is wrong, on all ranks that do not."""
        known = failure is not None and not _vague(failure)
        mine = 0 if failure is None else self.size - self.rank + self.size * known
        first = -self.largest(mine)[0] % self.size
        sent = self._comm.bcast(_packed(failure) if self.rank == first and failure is not None else None, first)
        if failure is None or (not known and self.rank != first):
            failure = _unpacked(*sent)
            failure.add_note(f"(on rank {first})")
        raise failure


def _vague(failure: BaseException) -> bool:
    """Whether MPI says nothing but that there is an error; MPICH does where it was told of another rank's."""
    return isinstance(failure, MPI.Exception) and failure.Get_error_class() in (MPI.ERR_OTHER, MPI.ERR_UNKNOWN)


def _packed(failure: BaseException) -> tuple[int, bytes]:
    """An error's class in MPI or itself, if it can be sent, else what it says."""
    if isinstance(failure, MPI.Exception):
        return failure.Get_error_class(), b""
    try:
        sent = pickle.dumps(failure)
        pickle.loads(sent)  # noqa: S301
    except Exception:
        sent = pickle.dumps(RuntimeError(f"{type(failure).__name__}: {failure}"))
    return 0, sent


def _unpacked(code: int, sent: bytes) -> BaseException:
    failure: BaseException = MPI.Exception(code) if code else pickle.loads(sent)  # noqa: S301
    return failure


Move: TypeAlias = Callable[[BufferPart, int, int, MPI.Status], None]
"""Moves a part's elements from the first number to before the second."""
STOP: Final = -1


class Rounds:
    """One rank's share of an operation of `volume` bytes in all."""

    def __init__(self, ranks: Ranks, part: BufferPart, move: Move, volume: int) -> None:
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
