"""Between a client and the coordinator: connections that can be cut and held up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

from tests.live.server.ledger import Ledger, Watch

Place: TypeAlias = Path | tuple[str, int]
Note: TypeAlias = Callable[[bytes], None]


def _ignore(_: bytes) -> None:
    """Nobody watches."""


class Proxy:
    """Listens at one place and passes all on to another, in a thread of its own."""

    def __init__(self, place: Place, target: Place, ledger: Ledger | None = None) -> None:
        self.place = place
        self._ledger = ledger
        self._target = target
        self._loop = asyncio.new_event_loop()
        self._streams: set[asyncio.StreamWriter] = set()
        self._is_open = asyncio.Event()
        self._is_open.set()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        self._listening = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        if not isinstance(self.place, Path):
            self.place = self._listening.sockets[0].getsockname()[:2]
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    @property
    def address(self) -> str:
        """Where clients are to go."""
        return str(self.place) if isinstance(self.place, Path) else f"{self.place[0]}:{self.place[1]}"

    def cut(self) -> None:
        """Drop every connection, with what was on its way."""
        self._call(self._cut)

    def hold_up(self) -> None:
        """Pass nothing on until `let_pass`; connections stay."""
        self._call(self._is_open.clear)

    def let_pass(self) -> None:
        """Pass on what comes."""
        self._call(self._is_open.set)

    def _call(self, what: Callable[[], None]) -> None:
        self._loop.call_soon_threadsafe(what)

    def _cut(self) -> None:
        for stream in self._streams:
            stream.transport.abort()

    async def _listen(self) -> asyncio.Server:
        if isinstance(self.place, Path):
            return await asyncio.start_unix_server(self._pass_on, self.place)
        return await asyncio.start_server(self._pass_on, *self.place)

    async def _end(self) -> None:
        self._listening.close()
        self._is_open.set()
        self._cut()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        streams = [writer]
        watch = Watch(self._ledger) if self._ledger is not None else None
        try:
            if isinstance(self._target, Path):
                other_reader, other_writer = await asyncio.open_unix_connection(self._target)
            else:
                other_reader, other_writer = await asyncio.open_connection(*self._target)
            streams.append(other_writer)
            self._streams.update(streams)
            up = self._way(reader, other_writer, passes=watch.said if watch else _ignore)
            down = self._way(other_reader, writer, comes=watch.told if watch else _ignore)
            await asyncio.wait(map(asyncio.create_task, (up, down)), return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass  # nobody listens there at the moment
        finally:
            self._streams.difference_update(streams)
            for stream in streams:
                stream.transport.abort()
            if watch is not None:
                watch.ended()

    async def _way(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, comes: Note = _ignore, passes: Note = _ignore
    ) -> None:
        """Pass on in one direction; `comes` is told of data when they have come, `passes` just before they are passed on."""
        waiting: asyncio.Queue[bytes] = asyncio.Queue()
        passing = asyncio.create_task(self._pass(waiting, writer, passes))
        try:
            while data := await reader.read(65536):
                comes(data)
                waiting.put_nowait(data)
            waiting.put_nowait(b"")
            await passing
        except OSError:
            pass  # cut
        finally:
            passing.cancel()

    async def _pass(self, waiting: asyncio.Queue[bytes], writer: asyncio.StreamWriter, passes: Note) -> None:
        while data := await waiting.get():
            await self._is_open.wait()
            passes(data)
            writer.write(data)
            await writer.drain()
