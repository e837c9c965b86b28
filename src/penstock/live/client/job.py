"""The client for programs with blocking I/O: `Job` and its operations, `IO`.

Data move by calls on a file: any object with `write`, `read` or `readinto`, or a file descriptor.
"""

from __future__ import annotations

import errno
import io
import os
import threading
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Any, Final

from penstock.live.client.access import Access
from penstock.live.client.errors import UsageError
from penstock.live.client.member import Member
from penstock.live.client.transfer import check_integer
from penstock.live.protocol import Outlook

_NO_BUFFER: Final = "{}: {} is no {}; expected bytes, or an array"


class StridedBytes:
    """The bytes of an array that is not in one piece, in the order of its elements; a slice of them is a copy.

    Args:
        data: The array.
        view: Its memory.
    """

    def __init__(self, data: Any, view: memoryview) -> None:
        while view.ndim > 1 and len(data) == 1:  # a row is copied at a time: take rows that are not everything
            data, view = data[0], memoryview(data[0])
        self._data = data
        self._size = view.nbytes
        self._row = view.nbytes // len(data)

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, part: slice) -> memoryview:
        begin, end, _ = part.indices(self._size)
        first = begin // self._row
        rows = self._data[first : -(-end // self._row)]
        return memoryview(memoryview(rows).tobytes())[begin - first * self._row : end - first * self._row]


def data_of(data: Any) -> memoryview | StridedBytes:
    """The data as bytes: without a copy if they are in one piece, else copied slice by slice."""
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(_NO_BUFFER.format("write", type(data).__name__, "data")) from None
    if view.c_contiguous and view.nbytes:
        return view.cast("B")
    if not view.nbytes:
        return memoryview(b"")
    if isinstance(data, memoryview) and view.ndim > 1:  # of which Python takes no slices
        return memoryview(view.tobytes())
    return StridedBytes(data, view)


def buffer_of(buffer: Any) -> memoryview:
    """The buffer as bytes, without a copy; UsageError if it is not in one piece."""
    try:
        view = memoryview(buffer)
    except TypeError:
        raise TypeError(_NO_BUFFER.format("readinto", type(buffer).__name__, "buffer")) from None
    if not view.c_contiguous:
        raise UsageError("readinto: the buffer is not in one piece; expected a contiguous one, to copy from afterwards")
    return view.cast("B") if view.nbytes else memoryview(b"")


def writer_to(file: Any, data: memoryview | StridedBytes) -> Callable[[int, int], int]:
    """A function of position and size that writes a part of `data` to `file`.

    It returns how many bytes it has written, at least one.
    """
    put = partial(os.write, file) if isinstance(file, int) else file.write

    def write(at: int, size: int) -> int:
        count: int | None = put(data[at : at + size])
        if count:
            return count
        if count is None and not isinstance(file, io.RawIOBase):
            return size
        raise OSError(errno.EIO, "the file takes no data; expected one that blocks until it does")

    return write


def read_from(file: Any, size: int) -> bytes:
    """Read at most `size` bytes; none only at the end of the file."""
    data = os.read(file, size) if isinstance(file, int) else file.read(size)
    if data is None:
        raise BlockingIOError(errno.EAGAIN, "the file has no data now; expected one that blocks")
    if not isinstance(data, bytes | bytearray | memoryview):
        raise TypeError(f"read: the file gives {type(data).__name__}; expected a file opened in binary mode")
    return bytes(data)


def read_into(file: Any, data: memoryview) -> int:
    """Read from `file` into the buffer `data`; how many bytes, 0 only at the end of the file."""
    count = os.readv(file, [data]) if isinstance(file, int) else file.readinto(data)
    if count is None:
        raise BlockingIOError(errno.EAGAIN, "the file has no data now; expected one that blocks")
    return int(count)


class Job(Member):
    """An application whose I/O is coordinated, from its creation to `leave`.

    If there is no coordinator, or none that answers within `patience` seconds, it goes on without one, and joins when one
    answers. A setting in the environment that cannot be used is logged, and the job goes on uncoordinated. A `Job` is a
    context manager that leaves at the end of its block.

    Args:
        name: The job, as the coordinator shows it. Default: name and number of the Slurm job, else of the program.
        nodes: How many nodes it runs on. Default: those of the Slurm job, else 1.
        bandwidth: The most that it can use, in bytes/s. Default: its nodes times the coordinator's bandwidth of one node.
        lead: Seconds from now on that belong to no iteration, such as a start-up.
        whole: Seconds of its complete run with the I/O system to itself, for policies that need it.
        address: The coordinator's: a path, or host:port. Default: ``PENSTOCK_SOCKET``, else the default socket.
        token_file: A file with the token that a coordinator over TCP asks for. Default: ``PENSTOCK_TOKEN_FILE``.
        patience: Seconds to wait for a coordinator that does not answer. Default: ``PENSTOCK_PATIENCE``, else 5.

    Raises:
        UsageError: If an argument is out of range.
        AddressError: If the argument `address` or `token_file` cannot be used.

    Example:
        >>> import tempfile
        >>> with Job("climate", nodes=64, patience=0.0) as job, tempfile.TemporaryFile() as file:
        ...     with job.io(volume=5, rounds=1) as io:
        ...         io.write(file, b"state")
        5
    """

    def __enter__(self) -> Job:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.leave()

    def io(self, volume: int, rounds: int | None = None) -> IO:
        """Announce an operation; inside a step of the six calls, take part in the operation of the step.

        Args:
            volume: Bytes that it will move.
            rounds: In how many rounds; it can be paused between two of them. Default: rounds of 16 MiB.

        Returns:
            The operation, a context manager that waits for its turn and ends it.
        """
        return IO(self._access, volume, rounds)

    def ask(self, volume: int = 0, rounds: int = 1) -> Outlook | None:
        """Ask the coordinator who does I/O now, and how long an operation would wait, before posting it (003 §III.C).

        Args:
            volume: Bytes of the operation; 0 asks only who does I/O.
            rounds: Its rounds.

        Returns:
            What the coordinator expects, or None if the job is uncoordinated, the coordinator cannot tell (version 1 of the
            protocol), or it does not answer within `patience` seconds.
        """
        link, question = self._link, None
        self._check_question(volume, rounds)
        end = link.clock() + self._patience
        with link.lock:
            while (now := link.clock()) < end and not link.session.uncoordinated(now):
                if question is None and link.session.registered:
                    question = self._question(volume, rounds)
                if question is not None and not question.is_open:
                    return question.answer
                link.changed.wait(end - now)
        return None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the announced step may access the I/O system.

        Args:
            timeout: Seconds to wait at most; None for no limit.

        Returns:
            Whether it may.
        """
        self._step("wait")
        link, gate = self._link, self._access.gate
        end = None if timeout is None else link.clock() + timeout
        try:
            while True:
                with link.lock:
                    if self._turn():
                        return True
                    now = link.clock()
                    if end is not None and now >= end:
                        gate.stop_waiting(now)
                        return False
                    delay = gate.delay(now)
                    link.changed.wait(delay if end is None else min(delay, end - now))
        finally:
            link.speak()

    def leave(self) -> None:
        """End the application and its operation, if it has one."""
        if not self._access.closed:
            self._link.leave(self._farewell())


class IO:
    """One operation of a job: reads and writes through it are paced, paused and counted. Made by `Job.io`.

    As a context manager it waits for its turn at the start of the block. I/O by other means inside the block is one round:
    a pause takes effect at its end, or at the next `done`.

    Args:
        access: The job's side of its operation.
        volume: Bytes that the operation moves.
        rounds: Number of rounds, between which it can be paused; None for rounds of 16 MiB.
    """

    def __init__(self, access: Access, volume: int, rounds: int | None) -> None:
        self._access = access
        self._link, self._gate = access.link, access.gate
        self._volume = volume
        self._one = threading.Lock()
        self._used = False
        """Something was moved, or was to be moved, through this object."""
        self._operation = access.begin_io(volume, rounds, self)
        self._begun = self._link.clock()
        """When the application could begin to move bytes by other means."""

    def __enter__(self) -> IO:
        try:
            _, self._begun = self._turn(self._volume, False)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if kind is None and not self._used:
            self._access.bypassed(self, self._volume, self._begun)
        self.close()

    def close(self) -> None:
        """End the operation, complete or not."""
        self._access.end(self)

    def done(self, size: int) -> None:
        """Tell that `size` bytes were moved by other means since the turn began, and wait for the next turn.

        They count as one round, which ends here: a pause takes effect, and the rate is kept on average. Nothing is waited
        for once the announced volume is moved.
        """
        check_integer("size", size, 0)
        self._used = True
        if self._access.moved_elsewhere(self, size, self._begun):
            _, self._begun = self._turn(self._volume, False)

    def write(self, file: Any, data: Any) -> int:
        """Write all of the data to a file (an object with `write`, or a file descriptor); returns the number of bytes."""
        view = data_of(data)
        return self.move(len(view), writer_to(file, view))

    def read(self, file: Any, size: int) -> bytes:
        """Read `size` bytes from a file, or fewer at its end."""
        check_integer("size", size, 0)
        parts: list[bytes] = []

        def part(_at: int, size: int) -> int:
            parts.append(read_from(file, size))
            return len(parts[-1])

        self.move(size, part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readinto(self, file: Any, buffer: Any) -> int:
        """Read into the buffer until it is full or the file ends; returns the number of bytes."""
        view = buffer_of(buffer)
        return self.move(len(view), lambda at, size: read_into(file, view[at : at + size]))

    def move(self, total: int, call: Callable[[int, int], int], *, whole: bool = False) -> int:
        """Move bytes by a function of your own, slice by slice.

        Args:
            total: How many bytes to move.
            call: Is given the position from which and the number of bytes to move, and returns how many it has moved; 0 at
                the end of the file.
            whole: Do not cut rounds into slices: each round is one call, and the next one starts when the rate allows.

        Returns:
            How many bytes were moved.
        """
        self._used = True
        if total <= 0:
            return 0
        done = 0
        operation, gate, session, clock = self._operation, self._gate, self._link.session, self._link.clock
        with self._one:
            begun = clock()
            size = gate.onward(operation, 0, begun, begun, total, whole)
            while True:
                if size < 0:
                    size, begun = self._turn(total - done, whole)
                if not size:
                    return done
                first, end, left = done, done + size, 0
                seen, step = gate.seen, size if whole else operation.round_in(size)
                try:
                    count = step
                    while done < end and count == step and session.changes == seen:
                        count = call(done, step)
                        done += count
                    left = total - done if count else 0
                finally:
                    now = clock()
                    size = gate.onward(operation, done - first, begun, now, left, whole)
                    begun = now
                    if size < 0 and not left:
                        self._access.settle(self)
                        size = 0

    def _turn(self, left: int, whole_rounds: bool) -> tuple[int, float]:
        """Wait until data may move; how many bytes, and the date."""
        access, link, gate = self._access, self._link, self._gate
        waited, now = False, link.clock()
        access.settle(self)
        with link.lock:
            while access.holds(self) and (delay := gate.delay(now)) > 0.0:
                link.changed.wait(delay)
                waited, now = True, link.clock()
            if not access.holds(self):
                raise UsageError("io: the operation is closed; expected job.io(…) anew")
            size = gate.open(left, whole_rounds=whole_rounds)
        if waited:
            link.speak()
        return size, now
