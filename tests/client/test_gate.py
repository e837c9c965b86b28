"""What bytes pass: turn, rounds and rate, by themselves."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.client.gate import Gate
from penstock.client.pacing import SLACK, slice_bytes
from penstock.client.protocol import Grant
from tests.client.test_session import moving, registered

GRANTS = st.sampled_from([None, None, None, 0.0, 1e3, 1e6, 1e9])
EVENTS = st.lists(st.tuples(GRANTS, GRANTS, st.booleans()), max_size=30)


def picture(gate: Gate) -> list[Any]:
    operation = gate.session.operation
    assert operation is not None
    return [gate.moved, operation.moved, operation.boundary, operation.pausing, operation.rate, operation.unanswered]


def run(swift: bool, events: list[tuple[float | None, float | None, bool]]) -> list[list[Any]]:
    """10 rounds of 10 bytes, a grant or none before and in each slice, of which half may be moved; the short way or not."""
    session = moving(1e9)
    gate, operation, now, number = Gate(session), session.operation, 2.0, 1
    assert operation is not None
    seen = []

    def tell(rate: float | None) -> None:
        nonlocal number
        if rate is not None:
            number += 1
            session.receive(Grant(1, number, rate), now)

    for before, during, half in events:
        now += 0.001
        tell(before)
        size = gate.swift(1000, now) if swift else 0
        if not size:
            gate.settle(now)
            size = gate.open(1000) if gate.delay(now) <= 0.0 else 0
        tell(during)
        if size and (gate.passed(operation, (size + 1) // 2 if half else size, now) or not swift):
            gate.settle(now)
        seen.append([*picture(gate), size])
    return seen


@given(EVENTS)
def test_the_short_way_is_the_long_way(events: list[tuple[float | None, float | None, bool]]) -> None:
    assert run(True, events) == run(False, events)


def test_a_pause_stops_at_the_end_of_the_round() -> None:
    session = moving(1e9)
    gate = Gate(session)
    assert gate.delay(2.0) <= 0.0
    assert gate.open(100) == 10
    session.receive(Grant(1, 2, 0.0), 2.1)
    assert gate.delay(2.1) <= 0.0  # the round under way may end
    assert session.operation is not None
    assert gate.passed(session.operation, 10, 2.1)
    assert gate.settle(2.2)
    assert gate.swift(90, 2.2) == 0
    assert gate.delay(2.2) > 0.0
    assert gate.waited(2.7) == 0.5
    session.receive(Grant(1, 3, 1e9), 2.7)
    assert gate.delay(2.7) <= 0.0
    assert gate.waited(9.0) == 0.5


def test_a_whole_round_goes_at_once_and_is_paid_for_afterwards() -> None:
    session = registered()
    session.begin(1_000_000, 10, 1.0)
    session.send(1.0)
    session.receive(Grant(1, 1, 1e6), 1.0)
    gate = Gate(session)
    assert gate.delay(2.0) <= 0.0
    assert gate.open(1_000_000) == slice_bytes(1e6) < 100_000
    assert gate.open(1_000_000, whole=True) == 100_000
    assert session.operation is not None
    assert not gate.passed(session.operation, 100_000, 2.0)
    assert gate.delay(2.0) == pytest.approx(0.1 - SLACK)
    assert gate.swift(900_000, 2.05, whole=True) == 0
    assert gate.swift(900_000, 2.1, whole=True) == 100_000


def test_without_an_operation_nothing_is_held() -> None:
    session = moving(1e9)
    session.end()
    gate = Gate(session)
    assert gate.delay(2.0) == -math.inf
    assert gate.open(100) == 100
    assert gate.swift(10, 2.0) == 0
    assert not gate.settle(2.0)


@pytest.mark.parametrize("at", range(1, 6))
def test_a_pause_from_another_thread_is_never_missed(at: int) -> None:
    """Wherever in the short way a pause comes, it is kept to at the end of the round at the latest, and answered once."""
    session = moving(1e9)

    class Watched(type(session)):  # type: ignore[misc]
        looks = 0

        def __getattribute__(self, name: str) -> Any:
            if name in ("changes", "operation"):
                Watched.looks += 1
                if Watched.looks == at:
                    session.receive(Grant(1, 2, 0.0), 2.0)
            return super().__getattribute__(name)

    gate = Gate(session)
    assert gate.delay(2.0) <= 0.0
    operation = session.operation
    assert operation is not None
    session.__class__ = Watched
    size = gate.swift(10, 2.0) or (gate.settle(2.0), gate.delay(2.0) <= 0.0 and gate.open(10))[1]
    if size and gate.passed(operation, size, 2.0):
        gate.settle(2.0)
    session.__class__ = Watched.__base__
    if Watched.looks < at:
        session.receive(Grant(1, 2, 0.0), 2.0)
    assert gate.delay(2.0) > 0.0
    assert operation.rate == 0.0
    assert [type(message).__name__ for message in session.send(2.0)].count("Yielded") == 1
