"""What is sent from the application's thread: all of it, in order, once, whatever comes in between."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.live.client import link as links
from penstock.live.client.environment import Unix
from penstock.live.client.link import Link
from penstock.live.protocol import Lines, Release, Report, Request, decode_request, encode
from tests.live.client.test_session import moving


@pytest.fixture
def ends() -> Iterator[tuple[Link, socket.socket]]:
    """A link whose thread was never started, with an operation under way, and the other end of its connection."""
    link = Link(moving(), Unix(Path("/nowhere")), clock=lambda: 1.0)
    bell, ear = socket.socketpair()
    here, there = socket.socketpair()
    for end in (bell, ear, here, there):
        end.setblocking(False)
    link._sockets = [bell, ear, here]
    yield link, there
    for end in (bell, ear, here, there):
        end.close()


def heard(there: socket.socket) -> list[Request]:
    lines, messages = Lines(), []
    while True:
        try:
            messages += [decode_request(line) for line in lines.feed(there.recv(65536)) if line]
        except BlockingIOError:
            return messages


def is_woken(link: Link) -> bool:
    try:
        return bool(link._sockets[1].recv(100))
    except BlockingIOError:
        return False


def test_what_comes_while_the_socket_is_full_is_sent_after_it(ends: tuple[Link, socket.socket]) -> None:
    link, there = ends
    filler = 0
    while True:
        try:
            filler += link._sockets[2].send(b"\n" * 1024)
        except BlockingIOError:
            break
    operation = link.session.operation
    assert operation is not None
    operation.moved = 10
    link.send()
    assert link._out
    assert is_woken(link)
    link.session.end()
    link.send()
    assert heard(there) == []
    link.send()
    messages = heard(there)
    assert [type(message) for message in messages] == [Report, Release]
    assert [message.seq for message in messages] == [messages[0].seq, messages[0].seq + 1]


def test_an_interrupt_begins_the_connection_anew(ends: tuple[Link, socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    link, _ = ends

    def interrupted(_: Request) -> bytes:
        raise KeyboardInterrupt

    monkeypatch.setattr(links, "encode", interrupted)
    link.session.end()
    with pytest.raises(KeyboardInterrupt):
        link.send()
    assert link.session.hang_up == 0.0
    assert is_woken(link)
    monkeypatch.undo()
    link.send()


def test_a_handler_that_sends_too_changes_nothing(ends: tuple[Link, socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    link, there = ends

    def again(message: Any) -> bytes:
        link.send()
        return encode(message)

    monkeypatch.setattr(links, "encode", again)
    link.session.end()
    link.send()
    assert [type(message) for message in heard(there)] == [Release]
