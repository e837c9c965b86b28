"""Transfers keep to their rates."""

from hypothesis import given
from hypothesis import strategies as st

from penstock.live.client.transfer import PAGE, SLACK, Pacer, slice_bytes


def run(rate: float, seconds: float, write: float, late: float) -> list[tuple[float, int]]:
    """(date, bytes) of each slice when a write takes `write` seconds and a sleep is `late`."""
    pacer, now, moved = Pacer(), 100.0, []
    pacer.set(rate, now)
    size = slice_bytes(rate)
    while now < 100.0 + seconds:
        if pacer.due > now:
            now = pacer.due + late
            continue
        moved.append((now, size))
        pacer.moved(size, now)
        now += write
    return moved


def most_in_a_second(moved: list[tuple[float, int]]) -> int:
    best = 0
    for begin, _ in moved:
        best = max(best, sum(size for date, size in moved if begin <= date < begin + 1.0))
    return best


@given(st.floats(2e5, 1e10), st.floats(1e-6, 5e-3), st.floats(0.0, 0.015))
def test_within_five_percent_over_any_second(rate: float, write: float, late: float) -> None:
    moved = run(rate, 2.0, write, late)
    assert most_in_a_second(moved) <= 1.05 * rate
    # Sleeps that are late by less than SLACK are made up for.
    assert sum(size for _, size in moved) >= 0.95 * 2.0 * rate


def test_whoever_was_slow_makes_up_for_little() -> None:
    pacer = Pacer()
    pacer.set(1e6, 0.0)
    pacer.moved(PAGE, 0.0)
    assert pacer.due == -SLACK + PAGE / 1e6
    pacer.moved(PAGE, 50.0)
    assert pacer.due == 50.0 - SLACK + PAGE / 1e6


def test_a_debt_of_a_slow_time_is_paid_at_the_higher_rate() -> None:
    pacer = Pacer()
    pacer.set(1.0, 0.0)
    pacer.moved(4000, 0.0)
    assert pacer.due == 4000.0 - SLACK
    pacer.set(1e6, SLACK)  # owed: 4000 − 2·SLACK bytes
    assert abs(pacer.due - (SLACK + (4000.0 - 2 * SLACK) / 1e6)) < 1e-9


def test_a_debt_of_a_fast_time_is_not_stretched() -> None:
    pacer = Pacer()
    pacer.set(1e9, 0.0)
    pacer.moved(10**8, 0.0)
    due = pacer.due
    pacer.set(1.0, 0.0)
    assert pacer.due == due
    pacer.set(float("inf"), 0.0)
    assert pacer.due == 0.0
    pacer.moved(10**12, 0.0)
    assert pacer.due == 0.0


def test_rates_next_to_nothing_stay_numbers() -> None:
    pacer = Pacer()
    pacer.set(5e-324, 0.0)
    pacer.moved(1, 0.0)
    pacer.set(1e9, 1.0)
    assert pacer.due == 1.0


def test_slices_are_whole_pages() -> None:
    assert slice_bytes(1.0) == PAGE
    assert slice_bytes(1e9) == 10**7 // PAGE * PAGE
