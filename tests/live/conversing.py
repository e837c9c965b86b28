"""Conversations of a client and a coordinator: the coordinator's side, and the steps one after the other."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from penstock.live.protocol import Lines

SOON = 60.0
"""Seconds after which what should have happened never will."""
UNASKED = ("beat", "report", "yielded")
"""Messages that a client may send at any time."""
MOST_UNASKED = 100
"""So many of them, and what is expected will not come any more: a client beats while it waits."""


def vectors(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(__file__).with_name("vectors").joinpath(name).read_text(encoding="utf-8"))
    return found


class Coordinator:
    """Says what a conversation tells it to, on one connection after the other."""

    def __init__(self, place: Path) -> None:
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(place))
        self._listener.listen(4)
        self._listener.settimeout(SOON)
        self._connection: socket.socket | None = None
        self._lines = Lines()
        self._heard: list[bytes] = []
        self._seq = 0

    def close(self) -> None:
        self.cut()
        self._listener.close()

    def cut(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection, self._lines, self._heard = None, Lines(), []

    def receive(self, expected: dict[str, Any]) -> None:
        """Read until the client sends a message of this type; all members given must be as given."""
        for _ in range(MOST_UNASKED):
            message = self._message()
            if message["type"] == expected["type"] and message.items() >= expected.items():
                self._seq = message["seq"]
                return
            assert message["type"] in UNASKED, f"{message} came; expected {expected}"
            if message["type"] == "beat":
                self.send(message)
        raise AssertionError(f"only signs of life came; expected {expected}")

    def settle(self) -> None:
        """Wait until the client has applied all that was sent to it.

        What it sent before is read first, so the next beat is younger than what was sent to it. A client applies what has
        arrived between two beats.
        """
        assert self._connection is not None
        self._connection.setblocking(False)
        with suppress(BlockingIOError):
            while data := self._connection.recv(65536):
                self._heard += self._lines.feed(data)
        self._connection.settimeout(SOON)
        for message in map(json.loads, self._heard):
            assert message["type"] in UNASKED, f"{message} came; expected none"
        self._heard.clear()
        for _ in range(2):
            self.receive({"type": "beat"})

    def send(self, message: dict[str, Any]) -> None:
        message = {name: self._seq if value == "$seq" else value for name, value in message.items()}
        assert self._connection is not None
        self._connection.sendall(json.dumps(message).encode() + b"\n")

    def _message(self) -> dict[str, Any]:
        while not self._heard:
            if self._connection is None:
                self._connection, _ = self._listener.accept()
                self._connection.settimeout(SOON)
            try:
                data = self._connection.recv(65536)
            except ConnectionError:
                data = b""
            if data:
                self._heard += self._lines.feed(data)
            else:
                self.cut()  # the client hung up; it will come again
        read = json.loads(self._heard.pop(0))
        assert isinstance(read, dict)
        return read


class Caller(Protocol):
    """Makes the calls of a conversation, one after the other, beside the coordinator."""

    def begin_call(self, call: str, arguments: dict[str, Any]) -> None: ...

    def returned(self) -> Any: ...

    def waits(self) -> bool: ...

    def close(self) -> None: ...


@contextmanager
def closing(*things: Any) -> Iterator[None]:
    try:
        yield
    finally:
        for thing in things:
            thing.close()


def converse(steps: list[dict[str, Any]], coordinator: Coordinator, application: Caller) -> None:
    """Go through the steps; AssertionError where one does not hold."""
    with closing(coordinator, application):
        for step in steps:
            match step:
                case {"call": call, **arguments}:
                    application.begin_call(call, arguments)
                case {"receives": message}:
                    coordinator.receive(message)
                case {"sends": message}:
                    coordinator.send(message)
                case {"cuts": True}:
                    coordinator.cut()
                case {"settles": True}:
                    coordinator.settle()
                case {"waits": True}:
                    assert application.waits()
                case {"returns": value}:
                    assert application.returned() == value
                case _:
                    raise AssertionError(f"unknown step {step}")
