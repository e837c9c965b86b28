"""How the ranks of a file work together: they agree on each call, and move a collective operation round by round.

Every collective call of a file starts with `Ranks.agree`. A rank that cannot take part says so there, before the others are
inside an MPI call that would wait for it, and all ranks raise the same error. So do ranks that are in different calls.

A collective operation of V bytes of all ranks has R rounds; round k goes from ⌊(k−1)·V/R⌋ to ⌊k·V/R⌋ (003 §III.C: rounds of
collective buffering). Rank 0 waits for the turn of each round, then all ranks move their range of it. A rank with less to
move, or nothing, takes part in every round, as MPI requires of a collective call.

A `BufferPart` is one rank's part of an operation: a buffer as mpi4py takes it, moved range by range. When m of them are
moved, a rank with n elements has moved ⌊n·m/V⌋ of them, rounded down to complete *grains*. A grain is the smallest number of
elements that makes a whole number of the view's etypes, the unit of positions in an MPI file. At m = V all elements are
moved. So every rank knows its range of each round without a message.
"""

from __future__ import annotations

import math
import operator
import os
import pickle
import time
import zlib
from array import array
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from penstock.live.client import Job
from penstock.live.client.errors import UsageError
from penstock.live.mpi.job_hints import MPI


@dataclass(frozen=True)
class BufferPart:
    """`count` elements of the datatype, from the buffer's element `displacement` on."""

    data: Any
    count: int
    displacement: int
    datatype: MPI.Datatype
    size: int
    """Bytes of data in an element."""
    grain: int
    """Elements that are always moved together."""

    @property
    def volume(self) -> int:
        """Bytes of data."""
        return self.count * self.size

    @property
    def grains(self) -> int:
        """The largest number of pieces that the part can be cut into."""
        return -(-self.count // self.grain)

    def passed(self, moved: int, volume: int) -> int:
        """Elements that are moved when `moved` of the `volume` bytes of all ranks are."""
        return self.count if moved >= volume else self.count * moved // volume // self.grain * self.grain

    def message(self, first: int, last: int) -> list[Any]:
        """The elements `first` … `last` − 1, as mpi4py takes them."""
        return [self.data, (last - first, self.displacement + first), self.datatype]


def part_of(buffer: Any, etype: int, *, reading: bool, in_one_piece: bool) -> BufferPart:
    """The part that a buffer describes.

    Args:
        buffer: What mpi4py accepts. Without an MPI datatype it is moved as bytes, those of an item always together.
        etype: Bytes of the view's etype.
        reading: The buffer must be writable.
        in_one_piece: The part must not be cut.

    Raises:
        UsageError: If the buffer cannot be used.
    """
    data, count, displacement, datatype = _unpacked(buffer)
    item = 1
    if datatype is None:
        view = _view(data, reading)
        item, datatype = view.itemsize, MPI.BYTE
        count = view.nbytes if count is None else _number("count", count) * item
        displacement = _number("displacement", displacement) * item
    elif count is None:
        count = _filling(_view(data, reading), datatype)
    size = datatype.Get_size()
    count, displacement = _number("count", count) if size else 0, _number("displacement", displacement)
    if count * size % etype:
        raise UsageError(f"buffer: {count * size} bytes; expected a whole number of the view's etypes of {etype} bytes")
    grain = max(1, count) if in_one_piece or not count else math.lcm(size * item, etype) // size
    return BufferPart(data, count, displacement, datatype, size, grain)


def _unpacked(buffer: Any) -> tuple[Any, Any, Any, MPI.Datatype | None]:
    """Data, count, displacement and datatype by mpi4py's rules; None for what the buffer does not say."""
    if not isinstance(buffer, list | tuple):
        return buffer, None, 0, None
    match list(buffer):
        case [data, (MPI.Datatype() | str()) as code]:
            count, displacement = None, 0
        case [data, (list() | tuple()) as place, *rest] if len(place) == 2 and len(rest) <= 1:
            (count, displacement), code = place, rest[0] if rest else None
        case [data, count, *rest] if len(rest) <= 1:
            displacement, code = 0, rest[0] if rest else None
        case [data, count, displacement, code]:
            pass
        case _:
            raise UsageError(f"buffer: {len(buffer)} items; expected data, [data, count, datatype] or the like")
    datatype = MPI.Datatype.fromcode(code) if isinstance(code, str) else code
    if not isinstance(datatype, MPI.Datatype | None):
        raise UsageError(f"buffer: {datatype!r} is no datatype; expected an MPI.Datatype or the code of one")
    return data, count, displacement or 0, datatype


def _view(data: Any, reading: bool) -> memoryview:
    try:
        view = memoryview(data)
    except TypeError:
        raise UsageError(f"buffer: {type(data).__name__} is none; expected an array, or [data, count, datatype]") from None
    if not view.contiguous:
        raise UsageError("buffer: the array is not in one piece; expected a contiguous one")
    if reading and view.readonly:
        raise UsageError("buffer: the data cannot be changed; expected memory that can be read into")
    return view


def _filling(view: memoryview, datatype: MPI.Datatype) -> int:
    """How many elements fill the buffer."""
    extent = datatype.Get_extent()[1]
    if view.nbytes and (extent <= 0 or view.nbytes % extent):
        raise UsageError(f"buffer: {view.nbytes} bytes; expected a whole number of datatypes of {extent} bytes, or a count")
    return view.nbytes // extent if view.nbytes else 0


def _number(what: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = -1
    if number < 0:
        raise UsageError(f"buffer: {what} {value!r} is out of range; expected a whole number, 0 or more")
    return number


AWAKE: Final = 0.001
"""Seconds for which a rank that waits for rank 0 polls without sleeping."""
ASLEEP: Final = 0.002
"""Longest sleep between two polls after that, in seconds."""
PART: Final = 0.1
"""Longest sleep as a part of the time waited so far, which bounds the delay."""


class Ranks:
    """The ranks of a file, on a communicator of its own.

    Args:
        comm: The communicator of the file.
    """

    def __init__(self, comm: MPI.Intracomm) -> None:
        self._comm = comm.Dup()
        self.rank = comm.Get_rank()
        self.size = comm.Get_size()

    def free(self) -> None:
        """Free the communicator: the file is closed."""
        self._comm.Free()

    def agree(self, call: str, failure: BaseException | None = None, number: int = 0) -> int:
        """Check that all ranks are in this `call` and none has a `failure`; otherwise all raise.

        Returns their largest `number`.
        """
        code = zlib.crc32(call.encode())
        failed, greatest, least, largest = self.largest(failure is not None, code, -code, number)
        if failed:
            self._raise(failure)
        if greatest != -least:
            raise UsageError(f"{call}: other ranks are in another call; expected the same collective call of all")
        return largest

    def largest(self, *numbers: int) -> list[int]:
        """The largest of each of the `numbers` over all ranks."""
        return self._reduced(MPI.MAX, numbers)

    def largest_to_first(self, *numbers: int) -> list[int]:
        """The largest of each of the `numbers` for rank 0 alone; the other ranks do not wait for each other."""
        mine = array("q", numbers)
        theirs = array("q", mine)
        self._comm.Reduce(mine, theirs, MPI.MAX)
        return theirs.tolist()

    def total(self, number: int) -> int:
        """The sum of a number over all ranks."""
        return self._reduced(MPI.SUM, [number])[0]

    def from_first(self, value: Any) -> Any:
        """The value that rank 0 has."""
        return self._comm.bcast(value)

    def nodes(self) -> int:
        """The number of nodes: ranks that share memory are on one node."""
        node = self._comm.Split_type(MPI.COMM_TYPE_SHARED)
        first = node.Get_rank() == 0
        node.Free()
        return self.total(first)

    def tell(self, at: int, to: int) -> None:
        """Rank 0: tell the others that all move the range from `at` to before `to` next."""
        self._comm.Ibcast(array("q", [at, to])).Wait()

    def hear(self) -> tuple[int, int]:
        """The others: wait for the range that all move next. Rank 0 may wait for its turn: do not keep a core busy."""
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
        """Raise this rank's error, or the one of the first rank that knows what is wrong."""
        known = failure is not None and not _vague(failure)
        mine = 0 if failure is None else self.size - self.rank + self.size * known
        first = -self.largest(mine)[0] % self.size
        sent = self._comm.bcast(_packed(failure) if self.rank == first and failure is not None else None, first)
        if failure is None or (not known and self.rank != first):
            failure = _restored(*sent)
            failure.add_note(f"(on rank {first})")
        raise failure


def _vague(failure: BaseException) -> bool:
    """Whether an error of MPI says only that there is one; MPICH raises such on ranks that hear of another's error."""
    return isinstance(failure, MPI.Exception) and failure.Get_error_class() in (MPI.ERR_OTHER, MPI.ERR_UNKNOWN)


def _packed(failure: BaseException) -> tuple[int, bytes]:
    """An error for sending: its MPI class, the error itself if it can be pickled, else its text."""
    if isinstance(failure, MPI.Exception):
        return failure.Get_error_class(), b""
    try:
        sent = pickle.dumps(failure)
        pickle.loads(sent)  # noqa: S301
    except Exception:
        sent = pickle.dumps(RuntimeError(f"{type(failure).__name__}: {failure}"))
    return 0, sent


def _restored(code: int, sent: bytes) -> BaseException:
    failure: BaseException = MPI.Exception(code) if code else pickle.loads(sent)  # noqa: S301
    return failure


Move: TypeAlias = Callable[[BufferPart, int, int, MPI.Status], None]
"""Moves the elements of a part from the first number up to, but not including, the second."""
STOP: Final = -1


class Rounds:
    """One rank's part in an operation that moves `volume` bytes of all ranks.

    Args:
        ranks: The ranks.
        part: This rank's part.
        move: Moves a range of the part.
        volume: Bytes of all ranks.
    """

    def __init__(self, ranks: Ranks, part: BufferPart, move: Move, volume: int) -> None:
        self.moved = 0
        """Bytes that this rank has moved so far."""
        self.failure: BaseException | None = None
        """What went wrong on this rank."""
        self._ranks, self._part, self._move, self._volume = ranks, part, move, volume
        self._at_end = False

    def once(self) -> None:
        """Make the MPI call once: there is nothing to move on any rank."""
        self._round(0, 0)

    def lead(self, job: Job, rounds: int) -> None:
        """Rank 0: announce the operation to the `job`, and start each of the `rounds` when the coordinator allows it."""
        waiting = True  # the other ranks wait for a range

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
        """The others: move the ranges that rank 0 tells."""
        while True:
            at, to = self._ranks.hear()
            if at == STOP:
                return
            left = self._round(at, to)
            if to == self._volume:
                return
            self._ranks.largest_to_first(self.failure is not None, left)

    def _round(self, at: int, to: int) -> bool:
        """Move this rank's part of the range, or note the failure; whether anything is left after it."""
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
