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

EVENTS = st.lists(st.tuples(st.sampled_from([None, None, None, 0.0, 1e3, 1e6, 1e9]), st.booleans()), max_size=30)


def picture(gate: Gate) -> list[Any]:
    operation = gate.session.operation
    assert operation is not None
    return [gate.moved, operation.moved, operation.boundary, operation.pausing, operation.rate, operation.unanswered]


def run(swift: bool, events: list[tuple[float | None, bool]]) -> list[list[Any]]:
    """10 rounds of 10 bytes, a grant or none before each slice, of which half may be moved; the short way or not."""
    session = moving(1e9)
    gate, now, number, count, begun = Gate(session), 2.0, 1, 0, 2.0
    seen = []
    for event, half in events:
        now += 0.001
        if event is not None:
            number += 1
            session.receive(Grant(1, number, event), now)
        size = gate.swift(count, begun, now, 1000) if swift else 0
        if not size:
            gate.passed(count, begun, now)
            size = gate.open(1000) if gate.delay(now) <= 0.0 else 0
        begun, count = now, (size + 1) // 2 if half else size
        seen.append([*picture(gate), size])
    return seen


@given(EVENTS)
def test_the_short_way_is_the_long_way(events: list[tuple[float | None, bool]]) -> None:
    assert run(True, events) == run(False, events)


def test_a_pause_stops_at_the_end_of_the_round() -> None:
    session = moving(1e9)
    gate = Gate(session)
    assert gate.delay(2.0) <= 0.0
    assert gate.open(100) == 10
    session.receive(Grant(1, 2, 0.0), 2.1)
    assert gate.delay(2.1) <= 0.0  # the round under way may end
    assert gate.swift(10, 2.1, 2.2, 90) == 0
    assert gate.passed(10, 2.1, 2.2)
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
    assert not gate.passed(100_000, 2.0, 2.0)
    assert gate.delay(2.0) == pytest.approx(0.1 - SLACK)
    assert gate.swift(0, 2.0, 2.05, 900_000, whole=True) == 0


def test_without_an_operation_nothing_is_held() -> None:
    session = moving(1e9)
    session.end()
    gate = Gate(session)
    assert gate.delay(2.0) == -math.inf
    assert gate.open(100) == 100
    assert gate.swift(10, 2.0, 2.0, 10) == 0
    assert not gate.passed(10, 2.0, 2.0)
