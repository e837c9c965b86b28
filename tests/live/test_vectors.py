"""The protocol's test vectors: what any client and any coordinator must make of given lines, whatever they are written in.

`messages.json` has lines and what they say; `refused.json` lines that a coordinator refuses, with the errors in order;
`conversations.json` what a client sends and does when the coordinator says certain things. The client in C passes the same
vectors in tests/native.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest

from penstock.client import Job
from penstock.live.protocol import decode_reply, decode_request, encode
from tests.live.conversing import SOON, Coordinator, converse, vectors
from tests.live.server.running import Raw, running


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

    def _prepare(self, **told: int) -> None:
        assert self._job is not None
        self._job.prepare(**told)

    def _inform(self) -> None:
        assert self._job is not None
        self._job.inform()

    def _release(self, moved: int) -> None:
        assert self._job is not None
        self._job.release(moved)

    def _complete(self) -> None:
        assert self._job is not None
        self._job.complete()

    def _leave(self) -> None:
        assert self._job is not None
        self._job.leave()


@pytest.mark.parametrize("vector", vectors("conversations.json"), ids=lambda vector: vector["about"])
def test_a_client_converses(vector: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PENSTOCK_SOCKET", "PENSTOCK_DISABLE", "PENSTOCK_PATIENCE"):
        monkeypatch.delenv(name, raising=False)
    converse(vector["steps"], Coordinator(folder / "socket"), Application(folder / "socket"))
