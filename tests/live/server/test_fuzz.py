"""A coordinator under a flood of wrong messages: it refuses each with the right code, and nobody else notices.

    python -m tests.live.server.test_fuzz --messages 1000000 [--seed 1]

One peer after another sends what must not be sent, mixed with what may be, in pieces of any size, and hangs up as it likes;
what it must be answered is known beforehand. Meanwhile an honest application does coordinated I/O on its own connection.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import socket
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from penstock.live.core.events import Refused, RegisterEvent
from penstock.live.protocol import (
    INVALID,
    MALFORMED,
    MESSAGE_BYTES,
    OUT_OF_ORDER,
    OVERSIZED,
    UNEXPECTED,
    UNKNOWN,
    VERSION,
    VERSION_UNKNOWN,
    Error,
    Forgotten,
    Inform,
    Registered,
    decode_reply,
)
from penstock.live.server.peer import MOST_ERRORS, UNREAD_BYTES
from penstock.live.server.server import Server
from penstock.live.server.settings import ServerSettings
from tests.live.server.program import Task, check
from tests.live.server.serving import Program, Serving
from tests.naive.profiles import LONG

ENOUGH_MESSAGES = 100_000
"""In so many messages memory comes to rest."""
MESSAGES, OPERATIONS = (ENOUGH_MESSAGES, 30) if LONG else (40_000, 10)
"""How many messages the flood has, at least, and how many operations the honest application does meanwhile."""
B = 4_000_000.0
LEASE = 2.0
CAP = B / 50_000.0
"""bytes/s that a peer which is not honest asks for: those of a lease together cannot take a tenth of B."""
MOVES = ("honest", "transferring")
LEAST = 0.9 * B
"""bytes/s that the honest application has at least while it moves data."""
GROWTH = 16 * 2**20
"""Bytes that memory may grow by in a long run: the flood has sent more than that by then."""
SOON = 20.0

VALID: dict[str, dict[str, Any]] = {
    "register": {"version": VERSION, "job": "flood", "bandwidth": CAP},
    "join": {"version": VERSION, "application": 1, "key": "0" * 32},
    "inform": {"operation": 1, "volume": 1e6, "rounds": 4},
    "report": {"operation": 1, "moved": 10.0},
    "yielded": {"grant": 1},
    "release": {"operation": 1},
    "leave": {},
    "beat": {},
    "control": {"version": VERSION, "command": "policy"},
}
NUMBERS = ("seq", "version", "application", "operation", "volume", "rounds", "moved", "grant", "bandwidth")


def _refuse(name: str) -> None:
    raise ValueError(name)


def seq_in(line: bytes) -> int:
    """The number that a line uses up though it is no message: one that can be read; else 0."""
    try:
        found = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return 0
    seq = found.get("seq") if isinstance(found, dict) else None
    return seq if type(seq) is int and 0 <= seq <= 2**53 else 0


@dataclass
class Peer:
    """One connection: what it sends, line by line, and the codes of the errors that it must get, in their order."""

    draw: random.Random
    seq: int = 0
    is_registered: bool = False
    operation: int = 0
    is_under_way: bool = False
    lines: list[bytes] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)

    def say(self, kind: str, code: str | None = None, **fields: Any) -> None:
        self.seq += self.draw.choice((1, 1, 1, 7))
        self.raw(self.encoded(kind, seq=self.seq, **fields), code)

    def raw(self, line: bytes, code: str | None) -> None:
        self.lines.append(line)
        if code is not None:
            self.codes.append(code)
        if code == MALFORMED:
            self.seq = max(self.seq, seq_in(line))

    def encoded(self, kind: str, **fields: Any) -> bytes:
        return json.dumps({"type": kind, **VALID[kind], **fields}).encode()

    def some(self) -> bytes:
        """A message whose form is right."""
        return self.encoded(self.draw.choice(list(VALID)), seq=self.seq + 1)

    # What may be sent

    def register(self) -> None:
        self.say("register", nodes=self.draw.choice((1, 10**9)), job=self.draw.choice(("flood", "π 🙂", "é" * 200)))
        self.is_registered = True

    def right(self) -> None:
        """What an application does."""
        if not self.is_registered:
            self.register()
        elif not self.is_under_way:
            self.operation += self.draw.choice((1, 1, 1000))
            self.is_under_way = True
            self.say("inform", operation=self.operation, volume=self.draw.choice((1.0, 1e21)), moved=1e21)
        else:
            self.draw.choice((self.report, self.release, self.beat))()

    def report(self) -> None:
        self.say("report", operation=self.operation, moved=self.draw.choice((0.0, 3.0, 1e21)))

    def release(self) -> None:
        self.is_under_way = False
        self.say("release", operation=self.operation)

    def beat(self) -> None:
        self.say("beat")

    # What must not be sent

    def noise(self) -> None:
        data = self.draw.randbytes(self.draw.randrange(60)).replace(b"\n", b"")
        self.raw(data, MALFORMED)

    def truncated(self) -> None:
        line = self.some()
        self.raw(line[: self.draw.randrange(len(line))], MALFORMED)

    def trailing(self) -> None:
        self.raw(self.some() + self.draw.choice((b"}", b",", b"\0", b"{}", b"\xff")), MALFORMED)

    def wrong_type(self) -> None:
        message = json.loads(self.some())
        name = self.draw.choice([key for key in message if key not in ("type", "lead")])
        message[name] = self.draw.choice(([], {}, True, {"": []}, [[[]]]))
        self.raw(json.dumps(message).encode(), MALFORMED)

    def missing(self) -> None:
        message = json.loads(self.some())
        del message[self.draw.choice(("seq", "type"))]
        self.raw(json.dumps(message).encode(), MALFORMED)

    def out_of_range(self) -> None:
        message = json.loads(self.some())
        name = self.draw.choice([key for key in message if key in NUMBERS])
        number = self.draw.choice(("-1", "1e400", "-1e-300", "9" * 400, "NaN", "Infinity", "1e31", "1" + "0" * 31))
        message[name] = "here"
        self.raw(json.dumps(message).replace('"here"', number).encode(), MALFORMED)

    def nested(self) -> None:
        depth = self.draw.choice((2000, 5000))
        inner = self.draw.choice((b"[" * depth + b"]" * depth, b'{"a":' * depth + b"1" + b"}" * depth))
        line = self.draw.choice((inner, self.some()[:-1] + b', "more": ' + inner + b"}", b"[" * depth))
        if len(line) < MESSAGE_BYTES:
            self.raw(line, MALFORMED)

    def unknown_kind(self) -> None:
        kind = self.draw.choice(("grant", "registered", "error", "Register", "", "__init__"))
        self.raw(json.dumps({"type": kind, "seq": self.seq + 1}).encode(), MALFORMED)

    def replayed(self) -> None:
        if self.seq:
            kind = self.draw.choice(list(VALID))
            self.raw(
                self.encoded(kind, seq=self.draw.choice((0, self.seq, self.draw.randrange(self.seq + 1)))), OUT_OF_ORDER
            )

    def too_early(self) -> None:
        if not self.is_registered:
            self.say(self.draw.choice(("inform", "report", "yielded", "release", "leave", "beat")), UNEXPECTED)

    def of_another(self) -> None:
        """Operations and grants that are not, or are no more."""
        if not self.is_registered:
            return
        other = self.operation + self.draw.choice((1, 2**40))
        self.say(self.draw.choice(("report", "release")), UNEXPECTED, operation=other)
        self.say("yielded", INVALID, grant=2**53 - self.draw.randrange(9))
        if self.operation and not self.is_under_way:
            self.say("inform", OUT_OF_ORDER, operation=self.draw.randint(1, self.operation))
            self.say("report", UNEXPECTED, operation=self.operation)
        if self.is_under_way:
            self.say("inform", INVALID, operation=self.operation, volume=12345.0)
        else:
            self.say("inform", INVALID, operation=self.operation + 1, volume=self.draw.choice((0.0, 5e-324)))

    def introduced_wrongly(self) -> None:
        """Again, as another one, in another version, or as what cannot be."""
        if self.is_registered:
            self.say(self.draw.choice(("register", "join")), UNEXPECTED)
            return
        key = self.draw.choice(("", "0" * 32, "é" * 512, f"{self.draw.getrandbits(128):032x}"))
        self.say("join", UNKNOWN, application=self.draw.choice((0, 1, 2, 2**53)), key=key, operation=self.draw.randrange(3))
        self.say("register", VERSION_UNKNOWN, version=self.draw.choice((0, 3, 2**53)))
        self.say("register", INVALID, bandwidth=self.draw.choice((0.0, 5e-324)))
        self.say("register", INVALID, elapsed=1.0, progress=1e10)
        self.say("register", INVALID, job=self.draw.choice(("\0", "a\x1b[2J", "\u202e")))

    def ordered_wrongly(self) -> None:
        if self.is_registered:
            command, argument = self.draw.choice(
                (("", ""), ("Stop", ""), ("policy", "periodic-johnson"), ("policy", "é"), ("forget", "-1"))
            )
            self.say("control", INVALID, command=command, argument=argument)

    WRONGS = (
        noise,
        truncated,
        trailing,
        wrong_type,
        missing,
        out_of_range,
        nested,
        unknown_kind,
        replayed,
        too_early,
        of_another,
        introduced_wrongly,
        ordered_wrongly,
    )

    def fill(self, errors: int) -> None:
        """Messages of all kinds, until so many of them are wrong."""
        while len(self.codes) < errors:
            (self.draw.choice(self.WRONGS) if self.draw.random() < 0.9 else Peer.right)(self)


class Flood:
    """Peers one after another, and what has come of it."""

    def __init__(self, path: Path, seed: int) -> None:
        self.path = path
        self.draw = random.Random(seed)
        self.messages = 0
        self.bytes = 0
        self.peers = 0
        self.refused: Counter[str] = Counter()
        self._open: list[socket.socket] = []

    def close(self) -> None:
        for connection in self._open:
            connection.close()

    def next_peer(self) -> None:
        """One connection from beginning to end, and its answers compared."""
        peer = Peer(self.draw)
        self.peers += 1
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(SOON)
            connection.connect(str(self.path))
            way = self.draw.random()
            if way < 0.02:
                self.hang_about(connection.dup())
                return
            peer.fill(self.draw.choice((5, 60, MOST_ERRORS - 10)))
            if way < 0.06:
                peer.fill(MOST_ERRORS)
                peer.lines += [b"x"] * 20  # nobody reads these
                del peer.codes[MOST_ERRORS:]
            elif way < 0.12:
                long = self.draw.choice((MESSAGE_BYTES, MESSAGE_BYTES + 1, 50_000))
                peer.raw(self.draw.choice((b"x" * long, b" " * long + peer.some())), OVERSIZED)
            self.send(connection, b"\n".join(peer.lines) + b"\n", of_bytes=way > 0.99)
            with suppress(OSError):  # where it was cut off
                connection.shutdown(socket.SHUT_WR)
            self.compare(peer, self.answers(connection))

    def hang_about(self, connection: socket.socket) -> None:
        """Stay, say nothing or half of something, read nothing; and the oldest of those hangs up."""
        said = self.draw.choice((b"", b"{", b"x" * 1000, b'{"type":"beat","seq":1}\n'))
        connection.sendall(said)
        self.refused[UNEXPECTED] += said.endswith(b"\n")
        if self.draw.random() < 0.5:
            connection.shutdown(self.draw.choice((socket.SHUT_RD, socket.SHUT_WR)))
        self._open.append(connection)
        if len(self._open) > 30:
            self._open.pop(0).close()

    def send(self, connection: socket.socket, data: bytes, *, of_bytes: bool) -> None:
        """In pieces of any size."""
        if of_bytes:
            for index in range(3000):
                connection.send(data[index : index + 1])
            data = data[3000:]
        first = 0
        while first < len(data):
            most = self.draw.choice((7, 1000, 60_000))
            try:
                sent = connection.send(data[first : first + self.draw.randint(1, most)])
            except (BrokenPipeError, ConnectionResetError):
                return  # cut off, as it should be; the answers say whether it should
            first += sent
            self.bytes += sent

    def answers(self, connection: socket.socket) -> list[Error]:
        data = b""
        with suppress(ConnectionResetError):
            while part := connection.recv(65536):
                data += part
        replies = [decode_reply(line) for line in data.split(b"\n")[:-1]]
        return [reply for reply in replies if isinstance(reply, Error)]

    def compare(self, peer: Peer, errors: list[Error]) -> None:
        codes = [error.code for error in errors]
        shorter = min(len(codes), len(peer.codes))
        at = next((index for index in range(shorter) if codes[index] != peer.codes[index]), shorter)
        assert codes == peer.codes, f"{errors[at : at + 1]} for {peer.codes[at : at + 1]}"
        assert all(error.text.isprintable() or "\0" in error.text for error in errors)
        self.messages += len(peer.lines)
        self.refused.update(codes)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where sockets can be: pytest's own folders have names too long for one."""
    with TemporaryDirectory() as name:
        yield Path(name)


@dataclass
class Outcome:
    """What has come of a flood."""

    flood: Flood
    grown: int
    """Bytes by which the memory of the coordinator has grown since a third of the way."""
    slowness: float
    """How many times longer than alone the operations of the honest application took; depends on the machine's load."""


def run(folder: Path, messages: int, operations: int, seconds: float, seed: int = 1) -> Outcome:
    """Send a coordinator so many messages or more, while an honest application does so many operations.

    Args:
        folder: Where the files of the coordinator are.
        messages: How many messages there are, at least.
        operations: How many operations the honest application does.
        seconds: By when both must be done.
        seed: Decides what is sent.
    """
    limits = ["--message-rate", "1000000", "--message-rate-per-user", "10000000", "--keep", f"{LEASE:g} s"]
    task = Task(str(folder / "penstock.sock"), "honest", str(folder / "file"), 7, operations, 1_024_000, 50, patience=SOON)
    sizes: list[tuple[int, int]] = []
    seen = 0
    with Serving(folder, "--bandwidth", f"{B:.0f} B/s", "--lease", f"{LEASE:g} s", *limits) as serving:
        flood = Flood(serving.socket, seed)
        with Program(task, folder / "honest.log") as honest:
            end = time.monotonic() + seconds
            while flood.messages < messages or honest.process.poll() is None:
                flood.next_peer()
                if flood.peers % 50 == 0:
                    state = serving.state()
                    assert state["granted"] <= B * (1.0 + 1e-9)
                    assert sum(one["rate"] for one in state["applications"]) <= B * (1.0 + 1e-9)
                    moving = [one["rate"] for one in state["applications"] if (one["job"], one["state"]) == MOVES]
                    assert all(rate >= LEAST for rate in moving), moving
                    seen += len(moving)
                    sizes.append((serving.resident_bytes(), flood.bytes))
                assert time.monotonic() < end, "the honest one does not come to its end"
            assert honest.wait() == 0
        flood.close()
        state = serving.state()
        assert serving.stop() == 0
    oversized = flood.refused.pop(OVERSIZED)  # the connection is refused there, not a message
    assert state["refused_messages"] == flood.refused.total()
    assert oversized > 0
    assert set(flood.refused) == {MALFORMED, OUT_OF_ORDER, UNEXPECTED, UNKNOWN, INVALID, VERSION_UNKNOWN}
    assert state["fault"] is None
    assert state["journal_failure"] is None
    assert seen > 0
    slowness = unharmed(task, honest.told)
    first, sent = sizes[len(sizes) // 3]
    grown, more = max(size for size, _ in sizes) - first, flood.bytes - sent
    # The books of a peer take a quarter of what it sends, until they are forgotten; what else stays of it would show.
    assert grown < more / 2, f"{first} bytes grew by {grown} while {more} came"
    if messages >= ENOUGH_MESSAGES:
        # Books are kept for a lease after the lease: their number, and so the memory, has come to rest in the first third.
        assert grown < GROWTH, f"{first} bytes grew by {grown}"
        assert more > GROWTH
    return Outcome(flood, grown, slowness)


@pytest.mark.long
def test_a_flood_of_wrong_messages_harms_nobody(folder: Path) -> None:
    run(folder, MESSAGES, OPERATIONS, 300.0)


def unharmed(task: Task, told: list[dict[str, Any]]) -> float:
    """Check that its bytes are right, and that it was paced and coordinated throughout under one number.

    Returns how many times longer its operations took than they take alone.
    """
    assert check(task) == task.operations * task.volume
    operations = [one for one in told if one["what"] == "operation"]
    assert len(operations) == task.operations
    assert all(one["coordinated"] for one in operations)
    assert len({one["application"] for one in operations}) == 1
    slowness = sum(one["at"] - one["begun"] for one in operations) / (task.operations * task.volume / B)
    assert slowness > 0.95, "it was not paced"
    return float(slowness)


def test_a_long_answer_reaches_who_asked(folder: Path) -> None:
    """With so many applications the state is longer than what a peer may leave unread of many answers."""
    with Serving(folder, "--bandwidth", "1 MB/s") as serving:
        peers = [socket.socket(socket.AF_UNIX) for _ in range(700)]
        try:
            for number, peer in enumerate(peers):
                peer.settimeout(SOON)
                peer.connect(str(serving.socket))
                peer.sendall(b'{"type":"register","seq":1,"version":1,"job":"%s"}\n' % (b"%d" % number * 60)[:200])
            for peer in peers:
                assert b"registered" in peer.recv(4096)
            state = serving.state()
        finally:
            for peer in peers:
                peer.close()
    assert len(json.dumps(state)) > 4 * UNREAD_BYTES
    assert len(state["applications"]) == len(peers)


def test_what_a_forgotten_application_says_is_refused(folder: Path) -> None:
    """Also in the moment before it is told so."""

    async def story() -> None:
        server = Server(ServerSettings(bandwidth=1e6, socket=str(folder / "socket"), journal=str(folder / "journal")))
        ready = asyncio.Event()
        running = asyncio.create_task(server.run(ready.set))
        await ready.wait()
        reader, writer = await asyncio.open_unix_connection(folder / "socket")
        writer.write(b'{"type":"register","seq":1,"version":1,"job":"a"}\n')
        registered = decode_reply(await reader.readline())
        assert isinstance(registered, Registered)
        (peer,) = (one for one in server.connections.peers if one.client is not None)
        server.control.answer("forget", "a")
        with pytest.raises(Refused, match="is forgotten") as refused:
            server.handle(peer, Inform(2, 1, 100.0))
        assert refused.value.code == UNKNOWN
        assert isinstance(decode_reply(await reader.readline()), Forgotten)
        assert server.core.pending.size == 0
        writer.close()
        server.stop()
        await running

    asyncio.run(story())


def test_what_the_journal_missed_is_written_when_it_can_be(folder: Path) -> None:
    async def story() -> None:
        server = Server(ServerSettings(bandwidth=1e6, socket=str(folder / "socket"), journal=str(folder / "journal")))
        database, server.journal._database = server.journal._database, sqlite3.connect(":memory:")
        server.core.enter(server.now(), RegisterEvent("a"))
        await asyncio.sleep(0)
        assert server.journal.failure is not None
        server.journal._database.close()
        server.journal._database = database
        server.core.enter(server.now(), RegisterEvent("b"))
        async with asyncio.timeout(20.0):
            while server.journal.failure:  # it tries again by itself
                await asyncio.sleep(0.01)
        assert server.journal.failure is None
        assert [application.job for application in server.journal.load()[1]] == ["a", "b"]
        server.journal.close()

    asyncio.run(story())


def main() -> None:
    """The command: a long flood, and what came of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.live.server.test_fuzz", description="Flood a coordinator.")
    parser.add_argument("--messages", type=int, default=1_000_000, metavar="N", help="how many, at least (default: 1000000)")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    options = parser.parse_args()
    operations = max(10, options.messages // 10_000)
    begun = time.monotonic()
    with TemporaryDirectory() as name:
        outcome = run(Path(name), options.messages, operations, options.messages / 100.0 + 300.0, options.seed)
    flood = outcome.flood
    refused = ", ".join(f"{code} {count:,}" for code, count in sorted(flood.refused.items()))
    sys.stdout.write(
        f"{flood.messages:,} messages of {flood.peers:,} peers, {flood.bytes:,} bytes, in {time.monotonic() - begun:.0f} s\n"
        f"refused as they must be: {refused}\n"
        f"{operations} operations of an honest application took {outcome.slowness:.2f} times as long as alone;"
        f" memory grew by {outcome.grown / 1e6:.1f} MB\n"
    )


if __name__ == "__main__":
    main()
