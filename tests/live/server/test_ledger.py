"""The ledger of the fault campaign finds what is granted twice, and counts on nothing that an application cannot."""

import json
from typing import Any

import pytest

from tests.live.server import ledger as ledger_module
from tests.live.server.ledger import Ledger, Watch

B, LEASE = 100.0, 10.0


class Wire:
    """A ledger whose clock the test sets, and connections on which it says what passes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(ledger_module.time, "monotonic", lambda: self.now)
        self.ledger = Ledger(B, LEASE)

    def connection(self, number: int, *said: dict[str, Any]) -> Watch:
        """Of application `number`, which registers, or joins if it says so, and says more."""
        watch = Watch(self.ledger)
        if not said or said[0]["type"] != "join":
            self.say(watch, "register")
        for message in said:
            self.say(watch, message.pop("type"), **message)
        self.tell(watch, "registered", application=number)
        return watch

    def say(self, watch: Watch, kind: str, **fields: object) -> None:
        watch.said(json.dumps({"type": kind, **fields}).encode() + b"\n")

    def tell(self, watch: Watch, kind: str, **fields: object) -> None:
        watch.told(json.dumps({"type": kind, **fields}).encode() + b"\n")

    def granted(self, number: int, rate: float) -> Watch:
        """A new application in an operation, with this rate."""
        watch = self.connection(number)
        self.say(watch, "inform", operation=1)
        self.tell(watch, "grant", operation=1, number=1, rate=rate)
        return watch

    @property
    def found(self) -> int:
        return len(self.ledger.wrong(0.0))


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    return Wire(monkeypatch)


def test_what_is_granted_twice_is_found(wire: Wire) -> None:
    wire.granted(1, 60.0)
    wire.granted(2, 40.0)
    assert (wire.found, wire.ledger.most(0.0)) == (0, 1.0)
    wire.granted(3, 1.0)
    assert (wire.found, wire.ledger.most(0.0)) == (1, 1.01)


def test_a_lower_grant_counts_when_it_is_answered(wire: Wire) -> None:
    first = wire.granted(1, 100.0)
    wire.tell(first, "grant", operation=1, number=2, rate=50.0)
    wire.say(first, "yielded", grant=2)
    wire.granted(2, 50.0)
    assert wire.found == 0
    wire.tell(first, "grant", operation=1, number=3, rate=10.0)
    wire.granted(3, 40.0)
    assert wire.found == 1


@pytest.mark.parametrize("kind", ["release", "leave", "forgotten"])
def test_what_has_ended_counts_no_more(wire: Wire, kind: str) -> None:
    first = wire.granted(1, 100.0)
    if kind == "forgotten":
        wire.tell(first, kind)
    else:
        wire.say(first, kind)
    wire.granted(2, 100.0)
    assert wire.found == 0


def test_who_is_told_to_be_forgotten_a_little_later_was_so_before(wire: Wire) -> None:
    first = wire.granted(1, 100.0)
    wire.granted(2, 100.0)
    assert wire.found == 1
    wire.now += 1.0
    wire.tell(first, "forgotten")
    assert wire.found == 0


def test_who_is_cut_off_keeps_its_rate_for_half_a_lease_or_until_the_dates_are_late_by_that(wire: Wire) -> None:
    wire.granted(1, 100.0).ended()
    wire.now += LEASE / 2.0
    wire.granted(2, 1.0)
    assert (wire.found, len(wire.ledger.wrong(0.1))) == (1, 0)
    wire.now += 0.1
    wire.granted(3, 1.0)
    assert wire.found == 1


def test_what_comes_between_join_and_announcement_is_a_grant(wire: Wire) -> None:
    """The coordinator may tell it to use less as soon as it is back; answered is the first of the two."""
    wire.granted(1, 100.0).ended()
    back = wire.connection(1, {"type": "join", "application": 1, "operation": 1})
    wire.tell(back, "grant", operation=1, number=2, rate=50.0)
    wire.say(back, "inform", operation=1)
    wire.tell(back, "grant", operation=1, number=3, rate=50.0)
    wire.say(back, "yielded", grant=2)
    wire.granted(2, 50.0)
    assert wire.found == 0
    wire.granted(3, 1.0)
    assert wire.found == 1


def test_who_is_back_has_a_lease_again_but_not_for_ever(wire: Wire) -> None:
    wire.granted(1, 100.0).ended()
    sure = 0.0
    while True:
        wire.now += LEASE / 4.0
        before = wire.found
        wire.granted(9, 1.0).ended()  # is the first one sure of its rate?
        if wire.found == before:
            break
        sure = wire.now
        back = wire.connection(1, {"type": "join", "application": 1, "operation": 1})
        wire.say(back, "report", operation=1, moved=wire.now)
        back.ended()
    assert sure == 2.5 * LEASE


def test_with_another_operation_nothing_is_left(wire: Wire) -> None:
    wire.granted(1, 100.0).ended()
    wire.connection(1, {"type": "join", "application": 1})
    wire.granted(2, 100.0)
    assert wire.found == 0


def test_an_earlier_connection_can_only_lower(wire: Wire) -> None:
    """What it still carries may be read after the application was back, or before."""
    first = wire.granted(1, 100.0)
    wire.connection(1, {"type": "join", "application": 1, "operation": 1})
    wire.tell(first, "grant", operation=1, number=2, rate=200.0)
    assert wire.found == 0
    wire.say(first, "release", operation=1)
    wire.granted(2, 100.0)
    assert wire.found == 0


def test_over_a_restart_it_keeps_its_rate_for_a_lease(wire: Wire) -> None:
    first = wire.granted(1, 100.0)
    wire.ledger.killed(wire.now)
    first.ended()
    wire.now += 3.0 * LEASE
    wire.ledger.restarted(wire.now)
    wire.now += LEASE
    wire.granted(2, 1.0)
    assert wire.found == 1
    wire.now += 0.1
    wire.granted(3, 1.0)
    assert wire.found == 1


def test_who_is_silent_or_moves_nothing_for_a_lease_counts_no_more(wire: Wire) -> None:
    silent, idle, busy = (wire.granted(number, 30.0) for number in (1, 2, 3))
    wire.now += LEASE * 0.75
    wire.say(idle, "beat")
    wire.say(busy, "report", operation=1, moved=1.0)
    wire.now += LEASE * 0.75
    wire.say(idle, "beat")
    wire.granted(4, 70.0)
    assert wire.found == 0
    wire.granted(5, 1.0)
    assert wire.found == 1
    assert silent is not busy
