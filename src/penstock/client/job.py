"""The client for programs that block: `Job` and its `IO`."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Any

from penstock.client import files
from penstock.client.errors import UsageError
from penstock.client.member import Member
from penstock.client.operation import rounds_of


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
        io = IO(self)
        self._begin("io", volume, rounds_of(volume, rounds), io)
        return io

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the step that was informed of may access; whether it may, by then."""
        self._step("wait")
        link = self._link
        end = None if timeout is None else link.clock() + timeout
        try:
            while True:
                with link.changed:
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

    def __init__(self, job: Job) -> None:
        self._job = job
        self._one = threading.Lock()

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
        view = files.bytes_of(data)
        done = 0
        while done < len(view):
            with self._slice(len(view) - done) as part:
                part.count = files.write(file, view[done : done + part.size])
            done += part.count
        return done

    def read(self, file: Any, size: int) -> bytes:
        """Read so many bytes, or to the end of the file."""
        parts = []
        while size > 0:
            with self._slice(size) as part:
                data = files.read(file, part.size)
                part.count = len(data)
            if not data:
                break
            parts.append(data)
            size -= len(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def readinto(self, file: Any, buffer: Any) -> int:
        """Read into the buffer until it is full or the file ends; how many bytes that is."""
        view = files.bytes_of(buffer)
        done = 0
        while done < len(view):
            with self._slice(len(view) - done) as part:
                part.count = files.read_into(file, view[done : done + part.size])
            if not part.count:
                break
            done += part.count
        return done

    def _slice(self, left: int) -> _Slice:
        return _Slice(self, left)


class _Slice:
    """What is moved at once: entering waits for its turn and says how much that is, leaving counts what was moved."""

    __slots__ = ("_begun", "_io", "_job", "count", "size")

    def __init__(self, io: IO, left: int) -> None:
        self._io = io
        self._job = io._job
        self._begun = 0.0
        self.size = left
        self.count = 0

    def __enter__(self) -> _Slice:
        self._io._one.acquire()
        try:
            self._wait()
        except BaseException:
            self._io._one.release()
            raise
        return self

    def _wait(self) -> None:
        job, link, gate = self._job, self._job._link, self._job._gate
        spoke = False
        with link.changed:
            while True:
                if job._io is not self._io:
                    raise UsageError("io: the operation is closed; expected job.io(…) anew")
                self._begun = link.clock()
                delay = gate.delay(self._begun)
                if delay <= 0.0:
                    break
                link.changed.wait(delay)
                spoke = True
            self.size = gate.open(self.size)
        if spoke:
            link.speak()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        link = self._job._link
        with link.changed:
            answer = self._job._io is self._io and self._job._gate.passed(self.count, self._begun, link.clock())
        self._io._one.release()
        if answer:
            link.wake()
