"""The client for programs that block: `Job` and its `IO`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from penstock.live.client import file_calls
from penstock.live.client.errors import UsageError
from penstock.live.client.member import Member
from penstock.live.client.transfer import rounds_of, whole


class Job(Member):
    """An application whose I/O is coordinated, from here to `leave`.

    Where no coordinator answers within `patience` seconds it goes on as if there were none, and rejoins when one does.
    """

    def __enter__(self) -> Job:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.leave()

    def io(self, volume: int, rounds: int | None = None) -> IO:
        """Announce an operation of so many bytes, which may be paused between two rounds (of 16 MiB unless told)."""
        return IO(self, volume, rounds_of(volume, rounds))

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the step that was informed of may access; whether it may, by then."""
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
        """The application ends; what is under way is released."""
        if not self._closed:
            self._link.leave(self._farewell())


class IO:
    """One operation of a job: what is read and written through it is paced, paused and counted."""

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
        """The operation is complete, or given up."""
        if self._job._io is self:
            self._job._end()

    def write(self, file: Any, data: Any) -> int:
        """Write all of the data, to an object with `write` or an open file's number; how many bytes that is."""
        view = file_calls.bytes_of(data)
        return self.move(len(view), file_calls.writer(file, view))

    def read(self, file: Any, size: int) -> bytes:
        """Read so many bytes, or to the end of the file."""
        whole("size", size, 0)
        parts: list[bytes] = []

        def part(_at: int, size: int) -> int:
            parts.append(file_calls.read(file, size))
            return len(parts[-1])

        self.move(size, part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readinto(self, file: Any, buffer: Any) -> int:
        """Read into the buffer until it is full or the file ends; how many bytes that is."""
        view = file_calls.bytes_of(buffer)
        return self.move(len(view), lambda at, size: file_calls.read_into(file, view[at : at + size]))

    def move(self, total: int, call: Callable[[int, int], int], *, whole: bool = False) -> int:
        """Move so many bytes, slice by slice, by a call that is told from where and how many; 0 is the end of the file.

        With `whole` a round is not cut into slices: it goes at once, and the next one when the rate allows for it.
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

    def _turn(self, left: int, whole: bool) -> tuple[int, float]:
        """Wait for the turn of the next slice; how much it is, and when that was."""
        job, link, gate = self._job, self._link, self._gate
        waited, now = False, link.clock()
        job._settle(self)
        with link.lock:
            while job._io is self and (delay := gate.delay(now)) > 0.0:
                link.changed.wait(delay)
                waited, now = True, link.clock()
            if job._io is not self:
                raise UsageError("io: the operation is closed; expected job.io(…) anew")
            size = gate.open(left, whole=whole)
        if waited:
            link.speak()
        return size, now
