"""The client in C passes the protocol's test vectors, as the one in Python does (tests/live/test_vectors.py)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from penstock.live.protocol import decode_request
from tests.live.conversing import SOON, Coordinator, converse, vectors
from tests.native.building import built
from tests.native.driving import Driver

NOT_SENT = {"progress", "group", "credential", "bandwidth of inform", "store"}
"""Optional members of requests that the client in C never sends."""
NOT_READ = {"version", "longest_turn", "addresses", "observing"}
"""Members of `registered` that it ignores, as the one in Python does."""
COUNTING = {"write", "poll", "ready", "moved"}
"""Calls that return a number; the others return nothing in Python, and 0 in C."""
OTHERS = {"ask", "control", "outlook", "answer"}
"""Messages that it neither sends nor asks for."""


def codec(lines: list[str]) -> list[str]:
    told = "".join(f"{line}\n" for line in lines).encode()
    done = subprocess.run([built() / "codec"], input=told, capture_output=True, check=True, timeout=SOON)
    return done.stdout.decode().splitlines()


def test_it_sends_the_requests_of_the_vectors() -> None:
    requests = [vector for vector in vectors("messages.json") if vector["from"] == "application"]
    answers = codec([f"application {vector['line']}" for vector in requests])
    assert len(answers) == len(requests)
    for vector, answer in zip(requests, answers, strict=True):
        message = vector["message"]
        if message["type"] in OTHERS:
            assert answer == "malformed"
            continue
        sent = decode_request(answer.encode())
        for name in sent.__struct_fields__:
            if name in NOT_SENT or f"{name} of {message['type']}" in NOT_SENT:
                continue
            expected = {"version": 2}.get(name, message[name])
            if expected is None and message["type"] == "release":
                expected = 0.0  # it always says how much was moved
            elif name == "moved":
                expected = float(int(expected))  # it moves whole bytes
            assert getattr(sent, name) == expected, (name, answer)


def test_it_reads_the_replies_of_the_vectors() -> None:
    replies = [vector for vector in vectors("messages.json") if vector["from"] == "coordinator"]
    answers = codec([f"coordinator {vector['line']}" for vector in replies])
    for vector, answer in zip(replies, answers, strict=True):
        expected = {name: value for name, value in vector["message"].items() if name not in NOT_READ}
        if expected["type"] in OTHERS:
            expected = {"type": "other"}
        if expected["type"] == "error":
            expected["text"] = f"{expected.pop('code')}: {expected['text']}"
        assert json.loads(answer) == expected


class NativeApplication:
    """The calls of a conversation, made by the driver."""

    def __init__(self, place: Path) -> None:
        self._driver = Driver(built() / "driver", PENSTOCK_SOCKET=str(place))
        self._pending: list[str] = []

    def close(self) -> None:
        try:
            errors = self._driver.errors()
            assert self._driver.process.returncode == 0, errors
        finally:
            self._driver.close()

    def begin_call(self, call: str, arguments: dict[str, Any]) -> None:
        while len(self._pending) > 0:
            self.returned()
        self._pending.append(call)
        match call:
            case "open":
                self._driver.begin("open", arguments["job"], arguments.get("nodes", 1), SOON)
            case "leave":
                self._driver.begin("close")
            case _:
                self._driver.begin(call, *arguments.values())

    def waits(self) -> bool:
        return self._driver.waits()

    def returned(self) -> Any:
        call, number = self._pending.pop(), int(self._driver.answer().split()[0])
        assert number >= 0, (call, number)
        return number if call in COUNTING else None


@pytest.mark.parametrize("vector", vectors("conversations.json"), ids=lambda vector: vector["about"])
def test_it_converses(vector: dict[str, Any], folder: Path) -> None:
    converse(vector["steps"], Coordinator(folder / "socket"), NativeApplication(folder / "socket"))
