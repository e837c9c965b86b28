"""A coordinator that does what a test tells it: a real socket and a thread that speaks the protocol."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from penstock.live.protocol import (
    Beat,
    Forgotten,
    Grant,
    Inform,
    Join,
    Leave,
    Left,
    Lines,
    Register,
    Registered,
    Reply,
    Request,
    decode_request,
    encode,
)

Kind = TypeVar("Kind", bound=Request)
SOON = 10.0
"""Seconds after which a test gives up waiting for what should happen at once."""


def until(holds: Callable[[], object], seconds: float = SOON) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.005)


class Scripted:
    """Registers whoever comes, answers an Inform with `rate`, and writes down what it hears as (connection, message).

    `answers` maps a kind of request to what is done about it instead.
    """

    def __init__(self, place: Path | tuple[str, int], rate: float = 1e12, lease: float = 3.0) -> None:
        self.place = place
        self.rate = rate
        self.lease = lease
        self.mute = False
        self.answers: dict[type, Callable[[Request], list[Reply]]] = {}
        self.heard: list[tuple[int, Request]] = []
        self.times: list[float] = []
        self._numbers = 0
        self._connections: list[socket.socket] = []
        family = socket.AF_UNIX if isinstance(place, Path) else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        if isinstance(place, Path):
            place.unlink(missing_ok=True)
            self._listener.bind(str(place))
        else:
            self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._listener.bind(place)
            self.place = self._listener.getsockname()[:2]
        self._listener.listen(16)
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    @property
    def address(self) -> str:
        return str(self.place) if isinstance(self.place, Path) else f"{self.place[0]}:{self.place[1]}"

    def __enter__(self) -> Scripted:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.die()

    def die(self) -> None:
        """As one who is killed: all connections end, the address is dead."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()
        for thread in self._threads:
            thread.join(SOON)

    def cut(self) -> None:
        for connection in self._connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [message for _, message in list(self.heard) if isinstance(message, kind)]

    def expect(self, kind: type[Kind], count: int = 1) -> Kind:
        """The count-th message of the kind, as soon as it is there."""
        until(lambda: len(self.of(kind)) >= count)
        return self.of(kind)[count - 1]

    def grant(self, rate: float, operation: int | None = None) -> int:
        """Push a grant to whoever came last; its number."""
        self._numbers += 1
        self.tell(Grant(operation or self.of(Inform)[-1].operation, self._numbers, rate))
        return self._numbers

    def tell(self, message: Reply) -> None:
        self._connections[-1].sendall(encode(message))

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            self._threads.append(
                threading.Thread(target=self._serve, args=(connection, len(self._connections)), daemon=True)
            )
            self._threads[-1].start()

    def _serve(self, connection: socket.socket, number: int) -> None:
        lines = Lines()
        with connection:
            while True:
                try:
                    data = connection.recv(65536)
                    if not data:
                        return
                    for line in lines.feed(data):
                        message = decode_request(line)
                        self.times.append(time.monotonic())
                        self.heard.append((number, message))
                        if not self.mute:
                            for reply in self._replies(message):
                                connection.sendall(encode(reply))
                                if isinstance(reply, Forgotten):
                                    return
                except OSError:
                    return

    def _replies(self, message: Request) -> list[Reply]:
        if type(message) in self.answers:
            return self.answers[type(message)](message)
        match message:
            case Register():
                return [Registered(message.seq, 7, "key-7", self.lease, "fair-share")]
            case Join():
                return [Registered(message.seq, message.application, message.key, self.lease, "fair-share")]
            case Inform():
                self._numbers += 1
                return [Grant(message.operation, self._numbers, self.rate)]
            case Beat():
                return [Beat(message.seq)]
            case Leave():
                return [Left(message.seq)]
            case _:
                return []
