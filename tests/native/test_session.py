"""The session in C and the one of the Python client do the same: same events and dates in, same messages and rates out.

Two differences are meant. The one in C acknowledges only the last of several lower grants, which covers those before it. It
passes a warning of the coordinator on once a minute at most.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
from typing import Any

import msgspec
import pytest

from penstock.live.client.environment import Identity
from penstock.live.client.session import Session
from penstock.live.client.transfer import Gate, Operation
from penstock.live.protocol import Yielded, decode_reply, decode_request
from tests.naive.profiles import LONG
from tests.native.building import built

REGISTERED = {"type": "registered", "seq": 1, "application": 7, "key": "k", "lease": 30, "policy": "fcfs"}
IDENTITY = Identity("job", nodes=4, user="ada", bandwidth=1e9, elapsed=100.0, lead=10.0, whole=500.0)


class InPython:
    """Applies the events to the session of the Python client."""

    def __init__(self) -> None:
        self.session = Session(IDENTITY, 0.0, 0.0)
        self.gate = Gate(self.session)

    def apply(self, event: str, now: float, *rest: Any) -> tuple[list[Any], dict[str, Any]]:
        if event == "new":
            self.session = Session(IDENTITY, rest[0], now, where="here", token="secret")
            self.gate = Gate(self.session)
        paced_to = paced(self.gate, now, *rest) if event == "slice" else {}
        said = self._by_application(event, now, *rest) + self._by_connection(event, now, *rest)
        return said, paced_to | self.state(now)

    def _by_application(self, event: str, now: float, *rest: Any) -> list[Any]:
        session, operation = self.session, self.session.operation
        match event:
            case "begin":
                session.begin(rest[0], rest[1], now)
            case "end":
                session.end()
            case "leave":
                session.leave()
            case "moves":
                assert operation is not None
                operation.in_round = True
            case "moved":
                assert operation is not None
                operation.advance(rest[0])
            case "step":
                assert operation is not None
                operation.begin_step()
            case "stepped":
                assert operation is not None
                operation.end_step()
            case "round_ended":
                return [session.round_ended(now)]
        return []

    def _by_connection(self, event: str, now: float, *rest: Any) -> list[Any]:
        session = self.session
        match event:
            case "connect":
                session.connect(now)
            case "lost":
                session.lost(rest[0], now)
            case "absent":
                session.lost(rest[0], now, absent=True)
            case "patience":
                session.check_patience(now)
            case "send":
                return list(session.send(now))
            case "receive":
                session.receive(decode_reply(rest[0].encode()), now)
        return []

    def state(self, now: float) -> dict[str, Any]:
        session = self.session
        notices, session.notices = [text for _, text in session.notices], []
        told = {
            "rate": session.rate(now),
            "due": session.due(now),
            "outage": session.outage_from(),
            "hang_up": -1.0 if session.hang_up is None else session.hang_up,
            "flags": float(
                "".join(str(int(x)) for x in (session.connected, session.registered, session.leaving, session.left))
            ),
            "notices": notices,
        }
        operation = session.operation
        if operation is not None:
            boundary = -1.0 if math.isinf(operation.boundary) else operation.boundary
            told |= {"moved": operation.moved, "between": float(operation.between_rounds)}
            told |= {"in_round": float(operation.in_round), "boundary": boundary}
        return told


class InC:
    """Has the same events applied by the program `twin`, which AddressSanitizer watches."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [built("asan") / "twin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
        )

    def __enter__(self) -> InC:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate(timeout=60)
        assert self._process.returncode == 0

    def apply(self, event: str, now: float, *rest: Any) -> tuple[list[Any], dict[str, Any]]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(" ".join([event, repr(now), *map(str, rest)]) + "\n")
        self._process.stdin.flush()
        said: list[Any] = []
        told: dict[str, Any] = {"notices": []}
        while (line := self._process.stdout.readline().rstrip("\n")) != ".":
            name, _, value = line.partition(" ")
            if name == "sent":
                said.append(decode_request(value.encode()))
            elif name == "paused":
                said.append(value == "1")
            elif name in ("slice", "delay"):
                told[name] = float(value)
            elif name in ("code", "announced"):
                told[name] = [int(word) for word in value.split()]
            elif name == "notice":
                told["notices"].append(value)
            else:
                assert name == "rate", line
                words = line.split()
                pairs = dict(zip(words[::2], words[1::2], strict=True))
                told |= {key: float(text) for key, text in pairs.items()}
        return said, told


def _members(message: Any) -> dict[str, Any]:
    """All members of a message, also those that are left out because they have their default."""
    return {"type": message.__struct_config__.tag, **msgspec.structs.asdict(message)}


def acknowledged_once(messages: list[Any]) -> list[Any]:
    """The messages with the last only of several acknowledgements in a row."""
    kept: list[Any] = []
    for message in messages:
        if kept and isinstance(message, Yielded) and isinstance(kept[-1], Yielded):
            kept.pop()
        kept.append(message)
    return kept


def unnumbered(message: Any) -> dict[str, Any]:
    said = {"said": message} if isinstance(message, bool) else _members(message)
    said.pop("seq", None)
    return said | {name: round(said[name], 6) for name in ("elapsed", "lead") if name in said}


class Both:
    """Applies the events to both and compares them. Who acknowledges less numbers its messages otherwise."""

    def __init__(self, c: InC) -> None:
        self.c = c
        self.python = InPython()
        self._numbers: dict[int, int] = {}
        """The number in C of a message that Python has sent on this connection."""

    def apply(self, event: str, now: float, *rest: Any) -> None:
        if event in ("connect", "lost", "absent"):
            self._numbers = {}
        said, state = self.python.apply(event, now, *rest)
        said_in_c, state_in_c = self.c.apply(event, now, *(map(self._renumbered, rest) if event == "receive" else rest))
        said, said_in_c, where = acknowledged_once(said), acknowledged_once(said_in_c), (event, now, *rest)
        assert [*map(unnumbered, said_in_c)] == [*map(unnumbered, said)], where
        assert state_in_c.pop("notices") == state.pop("notices"), where
        assert state_in_c == pytest.approx(state, rel=1e-12, abs=1e-9), where
        if event == "send":
            self._numbers |= {ours.seq: theirs.seq for ours, theirs in zip(said, said_in_c, strict=True)}

    def _renumbered(self, line: str) -> str:
        message = json.loads(line)
        return json.dumps(message | {"seq": self._numbers.get(message["seq"], 0)}) if "seq" in message else line


class Life:
    """Draws what may happen next to an application and its coordinator."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        self.now = 0.0
        self.number = 0
        self.seq = 0

    def event(self, session: Session) -> tuple[Any, ...]:
        """The next event; the session tells what is possible."""
        draw = self.draw
        step = draw.choice((0.0, 0.01, 0.05, 0.1, 0.3, 1.0, 2.5)) * draw.random()
        self.now = round(self.now + step, 6)  # the client in C sends microseconds
        choices: list[tuple[Any, ...]] = [("patience",)]
        if session.connected:
            choices += [("lost", draw.choice(("gone", "no such file")))]
        else:
            choices += [("connect",), ("absent", "none")]
        if session.hang_up is None:  # else nothing is sent or read any more
            choices += 2 * [("send",)]
        if session.connected and session.hang_up is None:
            choices += [("receive", json.dumps(self.reply(session))) for _ in range(5)]
        operation = session.operation
        if operation is None:
            choices += 2 * [("begin", draw.choice((0, 1, 7, 100, 10**6, 2**53)), draw.choice((1, 2, 3, 7, 100, 10**9)))]
        else:
            choices += self.accesses(session, operation)
        if draw.random() < 0.002:
            choices = [("leave",)]
        name, *rest = draw.choice(choices)
        return (name, self.now, *rest)

    def accesses(self, session: Session, operation: Operation) -> list[tuple[Any, ...]]:
        draw = self.draw
        part = draw.choice((0, 1, 5, 50, 5000, operation.volume // operation.rounds))
        most = int(min(part, operation.boundary - operation.moved)) if draw.random() < 0.9 else part
        events: list[tuple[Any, ...]] = [("moved", most), ("round_ended",)]
        events += [("end",)] if draw.random() < 0.5 else []
        if session.rate(self.now) > 0.0:
            events += [("moves",)]
        events += [("stepped",)] if operation.stepping else 3 * [("slice", draw.choice((1, 100, 10**5, 10**9)), 0.0)]
        if not operation.stepping and draw.random() < 0.2:
            events += [("step",)]
        return events

    def reply(self, session: Session) -> dict[str, Any]:
        draw, seq = self.draw, self.draw.randint(0, 4)
        self.number += draw.choice((0, 1, 1, 1))
        operation = session.operation.number if session.operation is not None else 1
        grant = {"type": "grant", "operation": operation, "number": self.number + 1}
        code = draw.choice(("unknown", "denied", "invalid", "malformed"))
        replies: list[dict[str, Any]] = [
            REGISTERED | {"lease": draw.choice((0.1, 3, 10, 1000)), "longest_round": draw.choice((None, None, 0, 0.01, 60))},
            *[grant | {"rate": rate} for rate in (0, 0, 1, 5, 1e6, 1e9)],
            {"type": "beat", "seq": seq},
            {"type": "error", "code": code, "text": "no", "seq": seq},
        ]
        if draw.random() < 0.1:
            replies.append({"type": "forgotten", "reason": "lease"})
        return draw.choice(replies)


@pytest.mark.long
def test_both_sessions_do_the_same() -> None:
    lives, events = (400, 300) if LONG else (60, 200)
    with InC() as c:
        for seed in range(lives):
            life, both = Life(random.Random(seed)), Both(c)
            event: tuple[Any, ...] = ("new", 0.0, life.draw.choice((0.0, 0.3, 2.0, 5.0)))
            for _ in range(events):
                both.apply(*event)
                event = life.event(both.python.session)


def told(c: InC, *event: Any) -> dict[str, Any]:
    said, state = c.apply(*event)
    return state | {"said": [message if isinstance(message, bool) else msgspec.to_builtins(message) for message in said]}


def receive(c: InC, now: float, **message: Any) -> dict[str, Any]:
    return told(c, "receive", now, json.dumps(message))


def moving(c: InC, **registered: Any) -> None:
    """A session in the first of ten rounds."""
    c.apply("new", 0.0, 5.0)
    c.apply("connect", 0.0)
    c.apply("send", 0.0)
    receive(c, 0.0, **(REGISTERED | registered))
    c.apply("begin", 0.0, 1000, 10)
    c.apply("send", 0.0)
    receive(c, 0.0, type="grant", operation=1, number=1, rate=100)
    c.apply("moves", 0.0)
    c.apply("moved", 0.0, 50)


def paced(gate: Gate, now: float, left: int, seconds: float) -> dict[str, float]:
    """One slice by the gate of the Python client."""
    gate.settle(now)
    delay = gate.delay(now)
    if delay > 0.0:
        return {"delay": delay}
    size = gate.open(left)
    assert gate.session.operation is not None
    gate.onward(gate.session.operation, size, now, now + seconds, 0, False)
    gate.settle(now + seconds)
    return {"slice": size}


@pytest.mark.parametrize("rate", [1e3, 4e5, 1e6, 12_345_678.9, 1e9])
@pytest.mark.parametrize("rounds", [1, 7, 1000])
def test_both_gates_pace_alike_and_keep_to_the_rate(rate: float, rounds: int) -> None:
    draw, volume, now, moved = random.Random(1), 10**8, 1.0, 0
    with InC() as c:
        both = Both(c)
        for event in [
            ("new", 1.0, 5.0),
            ("connect", 1.0),
            ("receive", 1.0, json.dumps(REGISTERED | {"lease": 1e6})),
            ("begin", 1.0, volume, rounds),
            ("receive", 1.0, json.dumps({"type": "grant", "operation": 1, "number": 1, "rate": rate})),
        ]:
            both.apply(*event)
        for _ in range(300):
            seconds = draw.choice((0.0, 0.0, 1e-4, 0.005, 0.05))
            expected = paced(both.python.gate, now, volume - moved, seconds)
            found = c.apply("slice", now, volume - moved, seconds)[1]
            assert {name: found[name] for name in expected} == pytest.approx(expected, rel=1e-9)
            now += expected.get("delay", seconds)
            moved += int(expected.get("slice", 0))
            assert moved <= rate * (now - 1.0 + 0.03) + 4096
            if moved == volume:
                break
    assert moved > 0


def test_with_no_socket_there_it_does_not_wait_and_says_it_once() -> None:
    with InC() as c:
        c.apply("new", 0.0, 5.0)
        state = told(c, "absent", 0.0, "no such file or directory")
        assert state["notices"] == ["penstock: no coordinator at here (no such file or directory); going on uncoordinated"]
        assert told(c, "begin", 0.1, 100, 1)["rate"] == math.inf
        assert told(c, "absent", 1.0, "no such file or directory")["notices"] == []
        c.apply("connect", 2.0)
        c.apply("send", 2.0)
        receive(c, 2.0, **REGISTERED)
        assert told(c, "send", 2.0)["said"][-1]["type"] == "inform"
        assert receive(c, 2.1, type="grant", operation=1, number=1, rate=5)["rate"] == 5.0


def test_who_was_registered_waits_where_the_socket_is_gone() -> None:
    with InC() as c:
        moving(c)
        assert told(c, "absent", 1.0, "no such file or directory")["rate"] == 100.0
        assert told(c, "patience", 5.9)["rate"] == 100.0
        assert told(c, "patience", 6.1)["rate"] == math.inf


def test_one_acknowledgement_covers_all_lower_grants_before_it() -> None:
    with InC() as c:
        moving(c)
        receive(c, 0.1, type="grant", operation=1, number=2, rate=0)
        receive(c, 0.2, type="grant", operation=1, number=3, rate=0)
        assert told(c, "round_ended", 0.3)["said"] == [True]
        assert [message["grant"] for message in told(c, "send", 0.3)["said"] if message["type"] == "yielded"] == [3]


def test_a_queue_that_nobody_empties_ends_the_connection() -> None:
    with InC() as c:
        moving(c)
        for number in range(2, 40):
            c.apply("end", 1.0)
            c.apply("begin", 1.0, 10 + number, 1)
        state = told(c, "patience", 1.0)
        assert state["hang_up"] == 0.0
        c.apply("lost", 1.0, "hung up")
        c.apply("connect", 1.1)
        (join,) = told(c, "send", 1.1)["said"]
        assert (join["type"], join["operation"]) == ("join", 39)


def test_a_warning_of_the_coordinator_is_passed_on_once_a_minute() -> None:
    with InC() as c:
        moving(c)
        assert receive(c, 1.0, type="warned", text="too\nfast")["notices"] == [
            "penstock: the coordinator at here warns: too fast"
        ]
        assert receive(c, 2.0, type="warned", text="too fast")["notices"] == []
        assert len(receive(c, 61.5, type="warned", text="too fast")["notices"]) == 1
