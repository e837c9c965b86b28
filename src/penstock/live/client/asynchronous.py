"""The client for asyncio programs: `AsyncJob` and `AsyncIO`, with the surface of `Job` and `IO`.

Waiting and pacing happen in the event loop, file calls in threads. A task that is cancelled ends its operation after the
current slice.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any

from penstock.live.client.access import Access
from penstock.live.client.errors import UsageError
from penstock.live.client.job import buffer_of, data_of, read_from, read_into, writer_to
from penstock.live.client.link import Link
from penstock.live.client.member import Member
from penstock.live.client.transfer import LONGEST_WAIT, check_integer
from penstock.live.protocol import Outlook


class AsyncJob(Member):
    """An application whose I/O is coordinated, like `Job`; use it in one event loop.

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
    """

    async def __aenter__(self) -> AsyncJob:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.leave()

    def io(self, volume: int, rounds: int | None = None) -> AsyncIO:
        """Announce an operation of `volume` bytes, which can be paused between two rounds (default: of 16 MiB)."""
        return AsyncIO(self._access, volume, rounds)

    async def ask(self, volume: int = 0, rounds: int = 1) -> Outlook | None:
        """Ask who does I/O now, and how long `volume` bytes in `rounds` would wait; None as `Job.ask` does."""
        link, question = self._link, None
        self._check_question(volume, rounds)
        end = link.clock() + self._patience
        async with _changes(link) as change:
            while (now := link.clock()) < end and not link.session.uncoordinated(now):
                with link.lock:
                    if question is None and link.session.registered:
                        question = self._question(volume, rounds)
                if question is not None and not question.is_open:
                    return question.answer
                await _next(change, end - now)
        return None

    async def wait(self, timeout: float | None = None) -> bool:
        """Wait until the announced step may access the I/O system, for `timeout` seconds at most; whether it may."""
        self._step("wait")
        link, gate = self._link, self._access.gate
        end = None if timeout is None else link.clock() + timeout
        async with _changes(link) as change:
            while True:
                with link.lock:
                    now = link.clock()
                    if self._turn():
                        return True
                    if end is not None and now >= end:
                        gate.stop_waiting(now)
                        return False
                    delay = gate.delay(now)
                await _next(change, delay if end is None else min(delay, end - now))

    async def leave(self) -> None:
        """End the application and its operation, if it has one."""
        if self._access.closed:
            return
        seconds = self._farewell()
        link = self._link
        async with _changes(link) as change:
            if link.finished:
                return
            link.begin_leaving(seconds)
            end = link.clock() + seconds
            while not link.finished and link.clock() < end:
                await _next(change, end - link.clock())


@asynccontextmanager
async def _changes(link: Link) -> AsyncIterator[asyncio.Event]:
    """An event of this loop that is set whenever the session changes."""
    loop, change = asyncio.get_running_loop(), asyncio.Event()

    def listener() -> None:
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(change.set)

    link.listeners.add(listener)
    try:
        yield change
    finally:
        link.listeners.discard(listener)
        link.speak()


async def _next(change: asyncio.Event, seconds: float) -> None:
    """Wait for the next change, for `seconds` at most."""
    try:
        async with asyncio.timeout(min(max(seconds, 0.0), LONGEST_WAIT)):
            await change.wait()
    except TimeoutError:
        pass
    change.clear()


class AsyncIO:
    """One operation of a job: reads and writes through it are paced, paused and counted. Made by `AsyncJob.io`.

    Args:
        access: The job's side of its operation.
        volume: Bytes that the operation moves.
        rounds: Number of rounds, between which it can be paused; None for rounds of 16 MiB.
    """

    def __init__(self, access: Access, volume: int, rounds: int | None) -> None:
        self._access = access
        self._volume = volume
        self._one = asyncio.Lock()
        self._used = False
        """Something was moved, or was to be moved, through this object."""
        self._operation = access.begin_io(volume, rounds, self)
        self._begun = access.link.clock()
        """When the application could begin to move bytes by other means."""

    async def __aenter__(self) -> AsyncIO:
        try:
            _, self._begun = await self._turn(self._volume)
        except BaseException:
            self.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        if kind is None and not self._used:
            self._access.bypassed(self, self._volume, self._begun)
        self.close()

    def close(self) -> None:
        """End the operation, complete or not."""
        self._access.end(self)

    async def done(self, size: int) -> None:
        """Tell that `size` bytes were moved by other means, as one round, and wait for the next turn; see `IO.done`."""
        check_integer("size", size, 0)
        self._used = True
        if self._access.moved_elsewhere(self, size, self._begun):
            _, self._begun = await self._turn(self._volume)

    async def write(self, file: Any, data: Any) -> int:
        """Write all of the data to a file (an object with `write`, or a file descriptor); returns the number of bytes."""
        view = data_of(data)
        return await self._move(len(view), writer_to(file, view))

    async def read(self, file: Any, size: int) -> bytes:
        """Read `size` bytes from a file, or fewer at its end."""
        check_integer("size", size, 0)
        parts: list[bytes] = []

        def part(_at: int, size: int) -> int:
            parts.append(read_from(file, size))
            return len(parts[-1])

        await self._move(size, part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def readinto(self, file: Any, buffer: Any) -> int:
        """Read into the buffer until it is full or the file ends; returns the number of bytes."""
        view = buffer_of(buffer)
        return await self._move(len(view), lambda at, size: read_into(file, view[at : at + size]))

    async def _move(self, total: int, call: Callable[[int, int], int]) -> int:
        """Move `total` bytes slice by slice; `call` is given position and size and returns the bytes moved, 0 at the end."""
        done, self._used = 0, True
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
        access = self._access
        work = asyncio.ensure_future(asyncio.to_thread(call))
        try:
            return await asyncio.shield(work)
        finally:
            await _ended(work)
            count = 0 if work.cancelled() or work.exception() is not None else work.result()
            if access.gate.onward(self._operation, count, begun, access.link.clock(), 0, False) < 0:
                access.settle(self)

    async def _turn(self, left: int) -> tuple[int, float]:
        """Wait until data may move; how many bytes, and the date."""
        access = self._access
        link, gate = access.link, access.gate
        access.settle(self)
        async with _changes(link) as change:
            while True:
                with link.lock:
                    if not access.holds(self):
                        raise UsageError("io: the operation is closed; expected job.io(…) anew")
                    now = link.clock()
                    delay = gate.delay(now)
                    if delay <= 0.0:
                        return gate.open(left), now
                await _next(change, delay)


async def _ended(work: asyncio.Future[Any]) -> None:
    """Wait for a call that cannot be stopped, even when cancelled: its file must stay open until it returns."""
    while not work.done():
        try:
            await asyncio.wait([work])
        except asyncio.CancelledError:
            continue
