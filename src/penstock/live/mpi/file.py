"""`File`: an ``MPI.File`` whose reads and writes are coordinated."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from os import PathLike
from types import TracebackType
from typing import Any, TypeVar

from penstock.live.client import Job
from penstock.live.client.environment import disabled
from penstock.live.client.errors import UsageError
from penstock.live.client.transfer import ROUND_BYTES
from penstock.live.mpi import job_hints
from penstock.live.mpi.job_hints import MPI, Hints
from penstock.live.mpi.ranks import BufferPart, Move, Ranks, Rounds, part_of

Result = TypeVar("Result")


class File(MPI.File):
    """``MPI.File`` with coordinated reads and writes, collective and independent.

    Every rank makes the calls that it would make on an ``MPI.File``. Calls that this class does not define are those of
    ``MPI.File`` and are not coordinated.
    """

    _ranks: Ranks
    _hints: Hints
    _job: Job | None
    """Rank 0 has one, another rank once it does independent I/O."""
    _name: str
    """The application; empty if nothing is coordinated."""
    _nodes: int
    _etype: int
    """Bytes of an etype of the view."""
    _native: bool

    @classmethod
    def Open(  # type: ignore[override]
        cls,
        comm: MPI.Intracomm,
        filename: PathLike[str] | str | bytes,
        amode: int = MPI.MODE_RDONLY,
        info: MPI.Info | None = None,
        *,
        job: Job | None = None,
    ) -> File:
        """Open the file on all ranks.

        Args:
            comm: The ranks.
            filename: The file.
            amode: ``MPI.MODE_…``
            info: Hints of Penstock and of the MPI library; those of rank 0 count.
            job: The application that the file belongs to, given on rank 0. Default: the one that the hints describe.

        Raises:
            UsageError: On all ranks, if an argument of one is wrong.
        """
        ranks = Ranks(comm)
        try:
            told, failure = _tried(lambda: _checked(filename, amode, info, job))
            ranks.agree("Open", failure)
            assert told is not None
            file, failure = _tried(lambda: _opened(cls, comm, filename, amode, info))
            ranks.agree("Open", failure)
            assert file is not None
        except BaseException:
            ranks.free()  # only some ranks may have opened the file, and closing it takes all ranks: it stays open
            raise
        file._present(ranks, told, job)
        return file

    def _present(self, ranks: Ranks, told: Hints, job: Job | None) -> None:
        """Make the application on rank 0, from its hints and environment, and tell the other ranks."""
        self._ranks, self._job = ranks, None
        self._etype, self._native = 1, True
        nodes, failure = ranks.nodes(), None
        if ranks.rank == 0 and not disabled():
            self._job, failure = _tried(lambda: job if job is not None else job_hints.of_all(told, nodes))
        try:
            ranks.agree("Open", failure)
        except BaseException:
            super().Close()
            ranks.free()
            raise
        mine = (told, self._job.name if self._job is not None else "", told.nodes or nodes)
        self._hints, self._name, self._nodes = ranks.from_first(mine)

    def __enter__(self) -> File:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.Close()

    # Calls of all ranks that move no data

    def Close(self) -> None:
        """Close the file; the application stays registered until the program ends."""
        self._alike("Close", super().Close)
        self._ranks.free()

    def Set_view(
        self,
        disp: int = 0,
        etype: MPI.Datatype = MPI.BYTE,
        filetype: MPI.Datatype | None = None,
        datarep: str = "native",
        info: MPI.Info = MPI.INFO_NULL,
    ) -> None:
        """Set which part of the file this rank sees; positions count in etypes from now on.

        Args:
            disp: Where the view begins, in bytes from the start of the file.
            etype: The unit of positions.
            filetype: The pattern of what the rank sees, made of etypes; by default one etype.
            datarep: How data are represented in the file: ``native``, ``internal`` or ``external32``.
            info: Hints for the MPI library.
        """
        call = partial(super().Set_view, disp, etype, filetype, datarep, info)
        self._alike("Set_view", call, lambda: _check_view(disp, etype, filetype, datarep))
        self._etype, self._native = etype.Get_size(), datarep == "native"

    def Set_size(self, size: int) -> None:
        """Set the length of the file to `size` bytes."""
        self._alike("Set_size", partial(super().Set_size, size), lambda: _check_size(size))

    def Preallocate(self, size: int) -> None:
        """Reserve `size` bytes on the disk."""
        self._alike("Preallocate", partial(super().Preallocate, size), lambda: _check_size(size))

    def Sync(self) -> None:
        """Flush what was written to the disk."""
        self._alike("Sync", super().Sync)

    def Get_info(self) -> MPI.Info:
        """The hints in use: the MPI library's, and Penstock's as rank 0 gave them."""
        info = super().Get_info()
        for key, text in self._hints.given().items():
            info.Set(key, text)
        return info

    # Collective transfers

    def Write_at_all(self, offset: int, buf: Any, status: MPI.Status | None = None) -> None:
        """Write `buf` on all ranks, each at its `offset` in etypes; `status` gets what was moved."""
        self._together("Write_at_all", offset, buf, status, super().Write_at_all, super().Write_at)

    def Read_at_all(self, offset: int, buf: Any, status: MPI.Status | None = None) -> None:
        """Read into `buf` on all ranks, each from its `offset` in etypes; `status` gets what was moved."""
        self._together("Read_at_all", offset, buf, status, super().Read_at_all, super().Read_at)

    def Write_all(self, buf: Any, status: MPI.Status | None = None) -> None:
        """Write `buf` on all ranks, each at its file pointer; `status` gets what was moved."""
        self._together("Write_all", None, buf, status, super().Write_all, super().Write)

    def Read_all(self, buf: Any, status: MPI.Status | None = None) -> None:
        """Read into `buf` on all ranks, each from its file pointer; `status` gets what was moved."""
        self._together("Read_all", None, buf, status, super().Read_all, super().Read)

    # Independent transfers

    def Write_at(self, offset: int, buf: Any, status: MPI.Status | None = None) -> None:
        """Write `buf` on this rank alone, at `offset` in etypes; `status` gets what was moved."""
        self._alone("Write_at", offset, buf, status, super().Write_at)

    def Read_at(self, offset: int, buf: Any, status: MPI.Status | None = None) -> None:
        """Read into `buf` on this rank alone, from `offset` in etypes; `status` gets what was moved."""
        self._alone("Read_at", offset, buf, status, super().Read_at)

    def Write(self, buf: Any, status: MPI.Status | None = None) -> None:
        """Write `buf` on this rank alone, at its file pointer; `status` gets what was moved."""
        self._alone("Write", None, buf, status, super().Write)

    def Read(self, buf: Any, status: MPI.Status | None = None) -> None:
        """Read into `buf` on this rank alone, from its file pointer; `status` gets what was moved."""
        self._alone("Read", None, buf, status, super().Read)

    def _together(
        self, name: str, offset: int | None, buf: Any, status: MPI.Status | None, call: Callable[..., None], own: Any
    ) -> None:
        if not self._name:
            call(*_at(offset), buf, status)
            return
        ranks = self._ranks
        part, failure = _tried(lambda: self._part(name, offset, buf, own))
        grains = ranks.agree(name, failure, part.grains if part is not None else 0)
        assert part is not None
        volume = ranks.total(part.volume)
        rounds = Rounds(ranks, part, self._mover(offset, call), volume)
        if volume == 0:
            rounds.once()
        elif self._job is not None and ranks.rank == 0:
            rounds.lead(self._job, min(grains, self._rounds(volume)))
        else:
            rounds.follow()
        ranks.agree(name, rounds.failure)
        if status is not None:
            status.Set_elements(MPI.BYTE, rounds.moved)

    def _alone(self, name: str, offset: int | None, buf: Any, status: MPI.Status | None, call: Callable[..., None]) -> None:
        if not self._name:
            call(*_at(offset), buf, status)
            return
        part = self._part(name, offset, buf, call)
        if self._job is None:
            self._job = job_hints.of_rank(self._hints, self._name, self._nodes, self._ranks.rank)
        move, got, moved = self._mover(offset, call), MPI.Status(), 0

        def one(at: int, size: int) -> int:
            nonlocal moved
            first, last = part.passed(at, part.volume), part.passed(at + size, part.volume)
            if first == last:
                return size
            move(part, first, last, got)
            count = got.Get_elements(MPI.BYTE)
            moved += count
            return size if count == (last - first) * part.size else 0

        with self._job.io(part.volume, None if part.grains > 1 else 1) as io:
            io.move(part.volume, one, whole=part.grains == 1)
        if status is not None:
            status.Set_elements(MPI.BYTE, moved)

    def _part(self, name: str, offset: int | None, buf: Any, own: Callable[..., None]) -> BufferPart:
        """The part of this rank. A call without data shows what MPI refuses, before other ranks wait for this one."""
        in_one_piece = not self._native or self.Get_atomicity()
        part = part_of(buf, self._etype, reading=name.startswith("Read"), in_one_piece=in_one_piece)
        own(*_at(offset), part.message(0, 0))
        return part

    def _mover(self, offset: int | None, call: Callable[..., None]) -> Move:
        if offset is None:
            return lambda part, first, last, status: call(part.message(first, last), status)
        etype, start = self._etype, offset
        return lambda part, first, last, status: call(start + first * part.size // etype, part.message(first, last), status)

    def _rounds(self, volume: int) -> int:
        """How many rounds an operation has: as the hints say, else so many that each fills the collective buffers once."""
        if self._hints.rounds is not None:
            return self._hints.rounds
        return -(-volume // (self._hints.round_bytes or self._buffers()))

    def _buffers(self) -> int:
        """Bytes of the collective buffers of all aggregators, if the MPI library tells (ROMIO does)."""
        info = super().Get_info()
        told = [info.Get(key) or "" for key in ("cb_nodes", "cb_buffer_size")]
        info.Free()
        if not all(text.isdigit() and int(text) > 0 for text in told):
            return self._nodes * ROUND_BYTES
        return int(told[0]) * int(told[1])

    def _alike(self, name: str, call: Callable[[], None], check: Callable[[], None] = lambda: None) -> None:
        """Make a call of all ranks, which fails on all or on none."""
        if not self._name:
            call()
            return
        _, failure = _tried(check)
        self._ranks.agree(name, failure)
        _, failure = _tried(call)
        self._ranks.agree(name, failure)


def _tried(call: Callable[[], Result]) -> tuple[Result | None, Exception | None]:
    """The result of the call, or its error."""
    try:
        return call(), None
    except Exception as failure:
        return None, failure


def _at(offset: int | None) -> tuple[int, ...]:
    return () if offset is None else (offset,)


def _checked(filename: Any, amode: Any, info: Any, job: Any) -> Hints:
    """The hints of this rank; UsageError if an argument is wrong."""
    if not isinstance(filename, PathLike | str | bytes):
        raise UsageError(f"filename {filename!r} is none; expected a path")
    try:
        operator.index(amode)
    except TypeError:
        raise UsageError(f"amode {amode!r} is out of range; expected a sum of MPI.MODE_…") from None
    if not isinstance(job, Job | None):
        raise UsageError(f"job {job!r} is no penstock.client.Job; expected one, or None")
    return job_hints.read(info)


def _opened(cls: type[File], comm: MPI.Intracomm, filename: Any, amode: int, info: MPI.Info | None) -> File:
    rest = job_hints.without(info)
    try:
        return super(File, cls).Open(comm, filename, amode, rest)
    finally:
        rest.Free()


def _check_view(disp: Any, etype: Any, filetype: Any, datarep: Any) -> None:
    if not isinstance(etype, MPI.Datatype) or not isinstance(filetype, MPI.Datatype | None) or not isinstance(datarep, str):
        raise UsageError("Set_view: a wrong argument; expected datatypes of MPI and the name of a representation")
    if operator.index(disp) < 0 and disp != MPI.DISPLACEMENT_CURRENT:
        raise UsageError(f"Set_view: displacement {disp} is out of range; expected 0 or more bytes")
    for datatype in (etype, filetype or etype):
        datatype.Pack_size(1, MPI.COMM_SELF)  # fails if it is not committed
    size, of = etype.Get_size(), (filetype or etype).Get_size()
    if size == 0 or of % size:
        raise UsageError(f"Set_view: a filetype of {of} bytes; expected a whole number of etypes of {size} bytes")


def _check_size(size: Any) -> None:
    if operator.index(size) < 0:
        raise UsageError(f"size {size} is out of range; expected 0 or more bytes")
