"""Laws that every run obeys, and the comparison of a run with its slow twin."""

from __future__ import annotations

from itertools import pairwise

import pytest

from penstock.engine import Result
from penstock.model import Workload
from tests.naive.machine import NaiveResult


def close(value):
    """Equal to 1e-9, relative or absolute: amounts are seconds and bytes of the order of 1."""
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def assert_twins(result: Result, twin: NaiveResult, *, split_waiting: bool = True) -> None:
    """Every measure of the run equals that of the slow twin."""
    assert result.end == close(twin.end)
    assert list(result.yields) == close(twin.yields)
    assert result.min_yield == close(twin.min_yield)
    assert result.efficiency == close(twin.efficiency)
    assert result.utilization == close(twin.utilization)
    for mine, other in zip(result.applications, twin.applications, strict=True):
        assert mine.progress == close(other.progress)
        assert mine.worked == close(other.worked)
        assert mine.transferred == close(other.transferred)
        assert mine.waiting + mine.transferring == close(other.waiting + other.transferring)
        if split_waiting:
            assert mine.waiting == close(other.waiting)
            assert mine.transferring == close(other.transferring)
        if twin.edge and (mine.end is None) != (other.end is None):
            # An end on the very end of the window, to the last bit of its date.
            assert result.end == close(mine.end if mine.end is not None else other.end)
        else:
            assert mine.end == (None if other.end is None else close(other.end))
        if not twin.edge:
            assert mine.operations == other.operations
    if not twin.edge:
        assert result.events == twin.events
        assert result.makespan == (None if twin.makespan is None else close(twin.makespan))


def assert_feasible(workload: Workload, result: Result) -> None:
    """Conservation and feasibility, from the trace alone."""
    trace = result.trace
    assert trace is not None
    rows = list(zip(*(column.tolist() for column in trace[:4]), strict=True))
    for index, application in enumerate(workload.applications):
        own = sorted((begin, end, rate) for who, begin, end, rate in rows if who == index)
        account = result.applications[index]
        assert all(begin < end for begin, end, _ in own)
        assert all(first[1] <= second[0] for first, second in pairwise(own)), "segments overlap"
        cap = application.cap(workload.platform)
        assert all(0.0 <= rate <= cap * (1.0 + 1e-12) for _, _, rate in own)
        assert sum((end - begin) * rate for begin, end, rate in own) == close(account.transferred)
        assert sum(end - begin for begin, end, rate in own if rate > 0.0) == close(account.transferring)
        assert sum(end - begin for begin, end, rate in own if rate == 0.0) == close(account.waiting)
        for begin, end, _ in own:
            assert max(workload.begin, application.release) <= begin + 1e-12  # with what else happens on that date
            assert end <= result.end
    dates = sorted({date for _, begin, end, _ in rows for date in (begin, end)})
    for date in dates:
        total = sum(rate for _, begin, end, rate in rows if begin <= date < end)
        assert total <= workload.platform.bandwidth * (1.0 + 1e-12)


def assert_same_rates(result: Result, twin: NaiveResult) -> None:
    """The trace says what the twin's says at any date that is not within a rounding error of a change."""
    rows = list(zip(*(column.tolist() for column in result.trace[:4]), strict=True))
    for who, begin, end, rate, _, _ in twin.trace:
        if end - begin > 1e-6:
            middle = 0.5 * (begin + end)
            found = [r for w, b, e, r in rows if w == who and b <= middle < e]
            assert found == [close(rate)]


def assert_placed_twins(result: Result, twin: NaiveResult) -> None:
    """Every measure of the run on I/O resources equals that of the slow twin."""
    assert result.duration == close(twin.duration)
    assert list(result.occupancy) == close(twin.occupancy)
    assert result.idle_time == close(twin.idle_time)
    for mine, other in zip(result.applications, twin.applications, strict=True):
        assert mine.transferred == close(other.transferred)
        assert mine.io_seconds == close(other.io_seconds)
        if not twin.edge:
            assert mine.operations == other.operations
            assert (mine.slowdown is None) == (other.slowdown is None)
        # Of the first moments of an operation, the last bits of dates are too large a part.
        if mine.slowdown is not None and mine.io_seconds > 1e-3:
            assert mine.allocation_slowdown == close(other.allocation_slowdown)
            assert mine.slowdown == close(other.slowdown)
    if not twin.edge:
        assert (result.events, result.valid) == (twin.events, twin.valid)
