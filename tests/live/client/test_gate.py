"""What bytes pass: turn, rounds and rate, by themselves."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.live.client.transfer import AHEAD, PAGE, SLACK, Gate, slice_bytes
from penstock.live.protocol import Grant
from tests.live.client.test_session import moving, registered

GRANTS = st.sampled_from([None, None, None, 0.0, 1e3, 1e6, 1e9])
EVENTS = st.lists(st.tuples(GRANTS, GRANTS, st.booleans()), max_size=30)


def picture(gate: Gate) -> list[Any]:
    operation = gate.session.operation
    assert operation is not None
    return [gate.moved, operation.moved, operation.boundary, operation.pausing, operation.rate, operation.unacknowledged]


def run(short: bool, events: list[tuple[float | None, float | None, bool]]) -> list[list[Any]]:
    """7 rounds of 14 or 15 bytes, a grant or none before and in each slice, of which half may be moved; either way."""
    session = registered()
    operation = session.begin(100, 7, 1.0)
    session.send(1.0)
    gate, now, number, count, begun = Gate(session), 2.0, 0, 0, 2.0
    seen = []

    def tell(rate: float | None) -> None:
        nonlocal number
        if rate is not None:
            number += 1
            session.receive(Grant(1, number, rate), now)

    tell(1e9)
    for before, during, half in events:
        now += 0.001
        tell(before)
        size = gate.onward(operation, count, begun, now, 1000 if short else 0, False)
        if size < 0 or not short:
            gate.settle(now)
            size = gate.open(1000) if gate.delay(now) <= 0.0 else 0
        tell(during)
        begun, count = now, (size + 1) // 2 if half else size
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
    assert gate.onward(session.operation, 10, 2.1, 2.2, 90, False) == -1
    assert gate.settle(2.2)
    assert gate.onward(session.operation, 0, 2.2, 2.2, 90, False) == -1
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
    assert gate.open(1_000_000, whole_rounds=True) == 100_000
    assert session.operation is not None
    assert gate.onward(session.operation, 100_000, 2.0, 2.05, 900_000, True) == -1
    assert gate.delay(2.0) == pytest.approx(0.1 - SLACK)
    assert gate.onward(session.operation, 0, 2.1, 2.1, 900_000, True) == 100_000


def test_slices_are_short_where_far_less_is_reached_than_granted() -> None:
    """1 MiB takes 8 s, so the next slice is what takes a quarter of a second; on a fast disk they are those of the rate."""
    session = registered()
    operation = session.begin(10**12, 1, 1.0)
    session.send(1.0)
    session.receive(Grant(1, 1, 1e9), 1.0)
    gate = Gate(session)
    assert gate.delay(2.0) <= 0.0
    assert gate.open(10**12) == 2**20
    assert gate.onward(operation, 2**20, 2.0, 10.0, 10**12, False) == 2**15
    seven_seconds = gate.onward(operation, 2**20, 10.0, 17.0, 10**12, False)
    assert (seven_seconds, 2**20 / 28 // PAGE) == (9 * PAGE, 9), "complete pages, for files opened with O_DIRECT"
    assert gate.onward(operation, 2**15, 17.0, 17.0 + 2**15 / 1e9, 10**12, False) == slice_bytes(1e9)
    session.receive(Grant(1, 2, 1e6), 18.0)
    assert gate.delay(19.0) <= 0.0
    assert gate.open(10**12) == slice_bytes(1e6)


def test_rounds_are_cut_by_the_speed_that_is_reached() -> None:
    session = registered(longest_round=2.0)
    operation = session.begin(10**12, 1, 1.0)
    session.send(1.0)
    session.receive(Grant(1, 1, 1e9), 1.0)
    gate = Gate(session)
    gate.delay(2.0)
    assert operation.boundary == 2e9
    gate.onward(operation, 10**6, 2.0, 3.0, 10**12, True)
    session.receive(Grant(1, 2, 2e9), 3.0)
    gate.delay(3.0)
    assert operation.boundary == 2e6


@given(st.floats(1e3, 1e9), st.floats(1e-9, 1.0), st.integers(1, 1000))
def test_short_rounds_go_several_at_a_time(rate: float, seconds: float, left: int) -> None:
    """A slice of them at most, and so many as take no longer than `AHEAD`, as fast as the last one went."""
    session = registered()
    operation = session.begin(1_000_000, 1000, 1.0)
    session.send(1.0)
    session.receive(Grant(1, 1, rate), 1.0)
    gate = Gate(session)
    assert gate.delay(2.0) <= 0.0
    now = 2.0 + max(seconds, 1000 / rate)  # what the first round owes is paid by then
    size = gate.onward(operation, 1000, 2.0, now, 1000 * left, False)
    assert size == 1000 or size * (now - 2.0) <= 1000 * AHEAD * (1.0 + 1e-9)
    assert size <= max(1000, slice_bytes(rate), PAGE)
    assert 0 < size <= 1000 * left
    assert size % 1000 == 0 or size == min(slice_bytes(rate), 1000)
    gate.onward(operation, size, now, now + 1.0, 0, False)
    assert operation.moved == 1000 + size
    assert operation.between_rounds == (operation.moved % 1000 == 0)
    assert operation.boundary == operation.moved // 1000 * 1000 + 1000 or operation.moved > 999_000


def test_without_an_operation_nothing_is_held() -> None:
    session = moving(1e9)
    session.end()
    gate = Gate(session)
    assert gate.delay(2.0) == -math.inf
    assert gate.open(100) == 100
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
    size = gate.onward(operation, 0, 2.0, 2.0, 10, False)
    if size < 0:
        gate.settle(2.0)
        size = gate.open(10) if gate.delay(2.0) <= 0.0 else 0
    if gate.onward(operation, size, 2.0, 2.0, 0, False) < 0:
        gate.settle(2.0)
    session.__class__ = Watched.__base__
    if Watched.looks < at:
        session.receive(Grant(1, 2, 0.0), 2.0)
    assert gate.delay(2.0) > 0.0
    assert operation.rate == 0.0
    assert [type(message).__name__ for message in session.send(2.0)].count("Yielded") == 1
