"""The client for asyncio programs: `AsyncJob` and `AsyncIO`, with the surface of `Job` and `IO`.

Turns and pacing are waited for in the event loop, file calls are made in threads. Who is cancelled gives up its operation
after the slice that is on its way.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any

from penstock.live.client import file_calls
from penstock.live.client.errors import UsageError
from penstock.live.client.gate import LONGEST_WAIT
from penstock.live.client.member import Member
from penstock.live.client.transfer import rounds_of, whole


class AsyncJob(Member):
    """An application whose I/O is coordinated, from here to `leave`; to be used in one event loop."""

    async def __aenter__(self) -> AsyncJob:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.leave()

    def io(self, volume: int, rounds: int | None = None) -> AsyncIO:
        """Announce an operation of so many bytes, which may be paused between two rounds (of 16 MiB unless told)."""
        return AsyncIO(self, volume, rounds_of(volume, rounds))

    async def wait(self, timeout: float | None = None) -> bool:
        """Wait until the step that was informed of may access; whether it may, by then."""
        self._step("wait")
        link = self._link
        end = None if timeout is None else link.clock() + timeout
        async with self._changes() as change:
            while True:
                with link.lock:
                    now = link.clock()
                    if self._turn():
                        return True
                    if end is not None and now >= end:
                        self._gate.stop_waiting(now)
                        return False
                    delay = self._gate.delay(now)
                await _next(change, delay if end is None else min(delay, end - now))

    async def leave(self) -> None:
        """The application ends; what is under way is released."""
        if self._closed:
            return
        seconds = self._farewell()
        link = self._link
        async with self._changes() as change:
            if link.finished:
                return
            link.begin_leaving(seconds)
            end = link.clock() + seconds
            while not link.finished and link.clock() < end:
                await _next(change, end - link.clock())

    @asynccontextmanager
    async def _changes(self) -> AsyncIterator[asyncio.Event]:
        """An event of this loop that is set whenever something changes."""
        loop, change = asyncio.get_running_loop(), asyncio.Event()

        def listener() -> None:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(change.set)

        self._link.listeners.add(listener)
        try:
            yield change
        finally:
            self._link.listeners.discard(listener)
            self._link.speak()


async def _next(change: asyncio.Event, seconds: float) -> None:
    """Wait for the next change, for so long at most."""
    try:
        async with asyncio.timeout(min(max(seconds, 0.0), LONGEST_WAIT)):
            await change.wait()
    except TimeoutError:
        pass
    change.clear()


class AsyncIO:
    """One operation of a job: what is read and written through it is paced, paused and counted."""

    def __init__(self, job: AsyncJob, volume: int, rounds: int) -> None:
        self._job = job
        self._one = asyncio.Lock()
        self._operation = job._begin("io", volume, rounds, self)

    async def __aenter__(self) -> AsyncIO:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """The operation is complete, or given up."""
        if self._job._io is self:
            self._job._end()

    async def write(self, file: Any, data: Any) -> int:
        """Write all of the data, to an object with `write` or an open file's number; how many bytes that is."""
        view = file_calls.bytes_of(data)
        return await self._move(len(view), file_calls.writer(file, view))

    async def read(self, file: Any, size: int) -> bytes:
        """Read so many bytes, or to the end of the file."""
        whole("size", size, 0)
        parts: list[bytes] = []

        def part(_at: int, size: int) -> int:
            parts.append(file_calls.read(file, size))
            return len(parts[-1])

        await self._move(size, part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def readinto(self, file: Any, buffer: Any) -> int:
        """Read into the buffer until it is full or the file ends; how many bytes that is."""
        view = file_calls.bytes_of(buffer)
        return await self._move(len(view), lambda at, size: file_calls.read_into(file, view[at : at + size]))

    async def _move(self, total: int, call: Callable[[int, int], int]) -> int:
        """Move so many bytes, slice by slice, by a call that is told from where and how many; 0 is the end of the file."""
        done = 0
        async with self._one:
            while done < total:
                size, begun = await self._turn(total - done)
                count = await self._slice(begun, partial(call, done, size))
                if not count:
                    break
                done += count
        return done

    async def _slice(self, begun: float, call: Callable[[], int]) -> int:
        """Move a slice in a thread."""
        job, link = self._job, self._job._link
        work = asyncio.ensure_future(asyncio.to_thread(call))
        try:
            return await asyncio.shield(work)
        finally:
            await _ended(work)
            count = 0 if work.cancelled() or work.exception() is not None else work.result()
            if job._gate.onward(self._operation, count, begun, link.clock(), 0, False) < 0:
                job._settle(self)

    async def _turn(self, left: int) -> tuple[int, float]:
        """Wait for the turn of the next slice; how much it is, and when that was."""
        job = self._job
        link, gate = job._link, job._gate
        async with job._changes() as change:
            while True:
                with link.lock:
                    if job._io is not self:
                        raise UsageError("io: the operation is closed; expected job.io(…) anew")
                    now = link.clock()
                    delay = gate.delay(now)
                    if delay <= 0.0:
                        return gate.open(left), now
                await _next(change, delay)


async def _ended(work: asyncio.Future[Any]) -> None:
    """Wait for what cannot be stopped, also while cancelled: its file must not be closed under it."""
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            continue
