"""What the ranks of a file tell each other: that all do the same, what went wrong, what rank 0 decided.

Every collective call of a file begins with `agree`. A rank that cannot take part says so there, before anybody is inside a
call of MPI that would wait for it, and all ranks raise the same error. So do ranks that are in different calls.
"""

from __future__ import annotations

import os
import pickle
import time
import zlib
from array import array
from typing import Any, Final

from penstock.client.errors import UsageError
from penstock.mpi.library import MPI

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
