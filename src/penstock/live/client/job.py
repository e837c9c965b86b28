"""The client for programs with blocking I/O: `Job` and its operations, `IO`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from penstock.live.client import file_calls
from penstock.live.client.errors import UsageError
from penstock.live.client.member import Member
from penstock.live.client.transfer import check_integer, rounds_of


class Job(Member):
    """An application whose I/O is coordinated, from its creation to `leave`.

    If no coordinator answers within `patience` seconds, it goes on without one, and joins again when one answers. A `Job` is
    a context manager that leaves at the end of its block.

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
        AddressError: If the address or the token cannot be used.

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
        """Announce an operation.

        Args:
            volume: Bytes that it will move.
            rounds: In how many rounds; it can be paused between two of them. Default: rounds of 16 MiB.

        Returns:
            The operation, a context manager that ends it.
        """
        return IO(self, volume, rounds_of(volume, rounds))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the announced step may access the I/O system.

        Args:
            timeout: Seconds to wait at most; None for no limit.

        Returns:
            Whether it may.
        """
        self._step("wait")
        link = self._link
        end = None if timeout is None else link.clock() + timeout
        try:
            while True:
                with link.lock:
                    if self._turn():
                        return True
                    now = link.clock()
                    if end is not None and now >= end:
                        self._gate.stop_waiting(now)
                        return False
                    delay = self._gate.delay(now)
                    link.changed.wait(delay if end is None else min(delay, end - now))
        finally:
            link.speak()

    def leave(self) -> None:
        """End the application and its operation, if it has one."""
        if not self._closed:
            self._link.leave(self._farewell())


class IO:
    """One operation of a job: reads and writes through it are paced, paused and counted. Made by `Job.io`.

    Args:
        job: The job.
        volume: Bytes that the operation moves.
        rounds: Number of rounds, between which it can be paused.
    """

    def __init__(self, job: Job, volume: int, rounds: int) -> None:
        self._job = job
        self._link, self._gate = job._link, job._gate
        self._one = threading.Lock()
        self._operation = job._begin("io", volume, rounds, self)

    def __enter__(self) -> IO:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """End the operation, complete or not."""
        if self._job._io is self:
            self._job._end()

    def write(self, file: Any, data: Any) -> int:
        """Write all of the data to a file (an object with `write`, or a file descriptor); returns the number of bytes."""
        view = file_calls.bytes_of(data)
        return self.move(len(view), file_calls.writer(file, view))

    def read(self, file: Any, size: int) -> bytes:
        """Read `size` bytes from a file, or fewer at its end."""
        check_integer("size", size, 0)
        parts: list[bytes] = []

        def part(_at: int, size: int) -> int:
            parts.append(file_calls.read(file, size))
            return len(parts[-1])

        self.move(size, part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readinto(self, file: Any, buffer: Any) -> int:
        """Read into the buffer until it is full or the file ends; returns the number of bytes."""
        view = file_calls.bytes_of(buffer)
        return self.move(len(view), lambda at, size: file_calls.read_into(file, view[at : at + size]))

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
                        self._job._settle(self)
                        size = 0

    def _turn(self, left: int, whole_rounds: bool) -> tuple[int, float]:
        """Wait until data may move; how many bytes, and the date."""
        job, link, gate = self._job, self._link, self._gate
        waited, now = False, link.clock()
        job._settle(self)
        with link.lock:
            while job._io is self and (delay := gate.delay(now)) > 0.0:
                link.changed.wait(delay)
                waited, now = True, link.clock()
            if job._io is not self:
                raise UsageError("io: the operation is closed; expected job.io(…) anew")
            size = gate.open(left, whole_rounds=whole_rounds)
        if waited:
            link.speak()
        return size, now
