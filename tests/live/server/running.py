"""A coordinator at work in a thread, and a raw peer that can say anything to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from penstock.live.client.link import ask_coordinator as ask
from penstock.live.server.server import Server
from penstock.live.server.settings import ServerSettings

MB = 1e6
ENOUGH = 60.0
"""Seconds after which something that should happen never will."""


def wait_until(condition: Callable[[], Any], what: str) -> None:
    """Poll until the condition holds."""
    deadline = time.monotonic() + ENOUGH
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


class Running:
    """A server in a thread of its own, with its event loop."""

    def __init__(self, settings: ServerSettings) -> None:
        self.settings = settings
        self.server: Server
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)  # a failed test must not keep pytest from ending

    def __enter__(self) -> Running:
        self._thread.start()
        assert self._ready.wait(3 * ENOUGH)  # the first one on a machine compiles the core
        if self._failure is not None:
            self._thread.join()
            raise self._failure
        return self

    def __exit__(self, *_: object) -> None:
        self.call(self.server.stop)
        self._thread.join(ENOUGH)
        assert not self._thread.is_alive()

    def ask(self, command: str, argument: str = "") -> Any:
        return ask(Path(self.settings.socket), command, argument, ENOUGH)

    def state(self) -> dict[str, Any]:
        return self.ask("state")

    def call(self, function: Any) -> None:
        """Have the function called in the server's thread."""
        self._loop.call_soon_threadsafe(function)

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            self._failure = error
            self._ready.set()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.server = Server(self.settings)
        await self.server.run(self._ready.set)


def settings(folder: Path, **values: Any) -> ServerSettings:
    """For a coordinator whose files are all in the folder."""
    values.setdefault("bandwidth", 100 * MB)
    return ServerSettings(socket=str(folder / "socket"), journal=str(folder / "journal"), **values)


@contextlib.contextmanager
def running(folder: Path, **values: Any) -> Iterator[Running]:
    """A coordinator with these settings while the block runs."""
    with Running(settings(folder, **values)) as it:
        yield it


class Raw:
    """A peer that sends what it is told, byte by byte if need be."""

    def __init__(self, where: str | tuple[str, int]) -> None:
        self.connection = socket.socket(socket.AF_UNIX if isinstance(where, str) else socket.AF_INET)
        self.connection.settimeout(ENOUGH)
        self.connection.connect(where)
        self._stream = self.connection.makefile("rb")
        self.seq = 0

    def __enter__(self) -> Raw:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stream.close()
        self.connection.close()

    def send(self, kind: str, **fields: Any) -> int:
        """Send a message under the next number, which is returned."""
        self.seq += 1
        self.send_bytes(json.dumps({"type": kind, "seq": self.seq, **fields}).encode() + b"\n")
        return self.seq

    def send_bytes(self, data: bytes) -> None:
        self.connection.sendall(data)

    def receive(self) -> dict[str, Any] | None:
        """The next message; None at the end of the connection."""
        try:
            line = self._stream.readline()
        except ConnectionError:
            return None
        return json.loads(line) if line else None

    def until(self, kind: str) -> dict[str, Any]:
        """The next message of that kind; others are passed over."""
        while True:
            message = self.receive()
            assert message is not None, f"the connection ended before a message {kind!r}"
            if message["type"] == kind:
                return message

    def register(self, job: str = "job", **fields: Any) -> dict[str, Any]:
        """Register, and return the answer."""
        self.send("register", **({"version": 1, "job": job} | fields))
        return self.until("registered")

    def granted(self, rate: float) -> dict[str, Any]:
        """Wait for a grant of that rate in bytes/s; grants before it are kept to."""
        while True:
            grant = self.until("grant")
            self.send("yielded", grant=grant["number"])
            if abs(grant["rate"] - rate) <= 1e-6 * rate:
                return grant

    def refused(self) -> str:
        """The code of the error that comes next."""
        return str(self.until("error")["code"])


@contextlib.contextmanager
def with_peers(folder: Path, count: int, **values: Any) -> Iterator[tuple[Any, ...]]:
    """A coordinator with these settings and so many peers on its socket."""
    with running(folder, **values) as it, contextlib.ExitStack() as stack:
        yield it, *[stack.enter_context(Raw(it.settings.socket)) for _ in range(count)]
