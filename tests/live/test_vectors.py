"""The protocol's test vectors: what any client and any coordinator must make of given lines, whatever they are written in.

`messages.json` has lines and what they say; `refused.json` lines that a coordinator refuses, with the errors in order;
`conversations.json` what a client sends and does when the coordinator says certain things.
"""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest

from penstock.client import Job
from penstock.live.protocol import Lines, decode_reply, decode_request, encode
from tests.live.server.running import Raw, running

SOON = 60.0
"""Seconds after which what should have happened never will."""
UNASKED = ("beat", "report", "yielded")
"""Messages that a client may send at any time."""
MOST_UNASKED = 100
"""So many of them, and what is expected will not come any more: a client beats while it waits."""


def vectors(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(Path(__file__).with_name("vectors").joinpath(name).read_text(encoding="utf-8"))
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as made:
        yield Path(made)


@pytest.mark.parametrize("vector", vectors("messages.json"), ids=lambda vector: vector["message"]["type"])
def test_messages_say_what_they_say(vector: dict[str, Any]) -> None:
    decode = decode_request if vector["from"] == "application" else decode_reply
    message = decode(vector["line"].encode())
    said = {"type": vector["message"]["type"], **{name: getattr(message, name) for name in message.__struct_fields__}}
    assert msgspec.json.decode(msgspec.json.encode(said)) == vector["message"]
    assert decode(encode(message)) == message


def test_every_kind_of_message_has_a_vector() -> None:
    from penstock.live import protocol

    kinds = {kind.__struct_config__.tag for kind in (*protocol.Request.__args__, *protocol.Reply.__args__)}
    assert {vector["message"]["type"] for vector in vectors("messages.json")} == kinds


@pytest.mark.parametrize("vector", vectors("refused.json"), ids=lambda vector: vector["about"])
def test_a_coordinator_refuses(vector: dict[str, Any], folder: Path) -> None:
    with running(folder) as it, Raw(it.settings.socket) as peer:
        if vector.get("registered"):
            peer.register("honest", version=2)
        for line in vector["lines"]:
            peer.send_bytes(line.encode() + b"\n")
        errors = []
        while len(errors) < len(vector["errors"]):
            error = peer.until("error")
            errors.append([error.get("seq", 0), error["code"]])
        assert errors == vector["errors"]
        assert [found["job"] for found in it.state()["applications"]] == (["honest"] if vector.get("registered") else [])


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


class Application:
    """Makes the calls of a conversation, one after the other, beside the coordinator."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._calls = ThreadPoolExecutor(1)
        self._call: Future[Any] = Future()
        self._job: Job | None = None
        self._io: Any = None
        self.file = io.BytesIO()

    def close(self) -> None:
        with suppress(Exception):
            self._calls.submit(lambda: self._job.leave() if self._job else None).result(SOON)
        self._calls.shutdown()

    def begin_call(self, call: str, arguments: dict[str, Any]) -> None:
        self._call = self._calls.submit(getattr(self, f"_{call}"), **arguments)

    def returned(self) -> Any:
        return self._call.result(SOON)

    def waits(self) -> bool:
        return not self._call.done()

    def _open(self, job: str, nodes: int = 1) -> None:
        self._job = Job(job, nodes=nodes, address=str(self._place), patience=SOON)

    def _begin(self, volume: int, rounds: int) -> None:
        assert self._job is not None
        self._io = self._job.io(volume, rounds=rounds)

    def _write(self, bytes: int) -> int:  # noqa: A002
        written: int = self._io.write(self.file, b"x" * bytes)
        return written

    def _end(self) -> None:
        self._io.close()

    def _leave(self) -> None:
        assert self._job is not None
        self._job.leave()


@contextmanager
def closing(*things: Any) -> Iterator[None]:
    try:
        yield
    finally:
        for thing in things:
            thing.close()


@pytest.mark.parametrize("vector", vectors("conversations.json"), ids=lambda vector: vector["about"])
def test_a_client_converses(vector: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PENSTOCK_SOCKET", "PENSTOCK_DISABLE", "PENSTOCK_PATIENCE"):
        monkeypatch.delenv(name, raising=False)
    coordinator = Coordinator(folder / "socket")
    application = Application(folder / "socket")
    with closing(coordinator, application):
        for step in vector["steps"]:
            match step:
                case {"call": call, **arguments}:
                    application.begin_call(call, arguments)
                case {"receives": message}:
                    coordinator.receive(message)
                case {"sends": message}:
                    coordinator.send(message)
                case {"cuts": True}:
                    coordinator.cut()
                case {"waits": True}:
                    assert application.waits()
                case {"returns": value}:
                    assert application.returned() == value
                case _:
                    raise AssertionError(f"unknown step {step}")
