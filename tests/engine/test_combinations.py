"""Runs of every combination of parts against the one slow twin, and the laws they obey."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import assume, given

from penstock.engine import Buffering, Result, Run
from penstock.model.application import READ
from tests.naive import laws
from tests.naive.combinations import Combination, combinations
from tests.naive.compare import close
from tests.naive.machine import NaiveResult, NaiveRun
from tests.naive.profiles import examples


def run(case: Combination, **options) -> Result:
    buffer = False
    if case.tier:
        buffer = Buffering(case.pool, case.shares, case.threshold, case.capped)
    return Run(
        case.workload,
        case.name,
        placement=case.placement,
        buffer=buffer,
        repeat=case.repeat,
        to_the_end=case.to_the_end,
        trace=True,
        check=True,
        **options,
    ).finish()


def assert_twins(case: Combination, found: Result, twin: NaiveResult) -> None:
    """Every measure equals that of the slow twin."""
    assert found.end == close(twin.end)
    assert list(found.yields) == close(twin.yields)
    assert found.min_yield == close(twin.min_yield)
    assert found.efficiency == close(twin.efficiency)
    assert found.utilization == close(twin.utilization)
    assert list(found.occupancy) == close(twin.occupancy)
    assert found.idle_time == close(twin.idle_time)
    for mine, other in zip(found.applications, twin.applications, strict=True):
        for name in ("progress", "worked", "transferred", "io_seconds", "earliest"):
            assert getattr(mine, name) == close(getattr(other, name)), name
        if case.policy != "best-next-event":  # whether a rate is 0 or 1e-17 is a matter of rounding there
            assert mine.waiting == close(other.waiting)
        assert twin.edge or mine.operations == other.operations
        assert twin.edge or mine.end == (None if other.end is None else close(other.end))
        if mine.slowdown is not None and other.slowdown is not None and mine.io_seconds > 1e-3:
            assert mine.allocation_slowdown == close(other.allocation_slowdown)
            assert mine.slowdown == close(other.slowdown)
    if found.buffer is not None:
        for name in ("direct_written", "drained", "direct_read", "prefetched"):
            assert list(getattr(found.buffer, name)) == close([getattr(a, name) for a in twin.applications]), name
        assert list(found.buffer.peaks) == close(twin.peaks)
        assert_same_contents(found, twin)
    elif not twin.edge:
        assert found.events == twin.events


def assert_same_contents(found: Result, twin: NaiveResult) -> None:
    """What each application has in the buffer at every date of the twin."""
    dates = np.array([date for date, _ in twin.history])
    for index in range(len(found.applications)):
        contents = [float(rows[index].q + rows[index].p) for _, rows in twin.history]
        np.testing.assert_allclose(found.buffer.fill.content(index, dates), contents, rtol=1e-7, atol=1e-7)


def assert_laws(case: Combination, found: Result) -> None:
    """Conservation, feasibility and room, from the traces alone."""
    workload, trace = case.workload, found.trace
    names = {READ: "read"}
    columns = (column.tolist() for column in trace)
    rows = [(a, b, e, r, s, names.get(d, "write")) for a, b, e, r, s, d in zip(*columns, strict=True)]
    laws.assert_rows_are_apart(rows, found.begin, found.end)
    given = workload.platform.degradation
    parts = given.upto(99).tolist() if given is not None else [1.0] * 99
    degradation = None if case.tier else lambda count: parts[count - 1]
    laws.assert_feasible(rows, laws.Bounds.of(workload, case.placement), degradation)
    applications = found.applications
    laws.assert_progress(
        workload,
        [a.progress for a in applications],
        [a.end for a in applications],
        found.end,
        [a.worked for a in applications],
    )
    if found.buffer is None:
        moved = {}
        for who, begin, end, rate, _, _ in rows:
            moved[who] = moved.get(who, 0.0) + (end - begin) * rate
        assert [moved.get(i, 0.0) for i in range(len(applications))] == close([a.transferred for a in applications])
        return
    buffer, indices = found.buffer, range(len(applications))
    volumes = {(i, "write"): float(buffer.direct_written[i] + buffer.drained[i]) for i in indices}
    volumes |= {(i, "read"): float(buffer.direct_read[i] + buffer.prefetched[i]) for i in indices}
    laws.assert_rows_add_up(rows, volumes)
    fill = buffer.fill
    dates = fill.dates
    out, into = [], []
    for index in indices:
        own = fill.application == index
        for contents, column in ((out, fill.outgoing), (into, fill.incoming)):
            contents.append(np.interp(dates, fill.date[own], column[own], left=0.0) if own.any() else np.zeros(len(dates)))
    outgoing, incoming = np.transpose(out).tolist(), np.transpose(into).tolist()
    laws.assert_room(outgoing, incoming, case.spaces)
    given = workload.platform.buffer
    bound = given.bandwidth if given is not None and given.bandwidth is not None else math.inf
    laws.assert_inflow(dates.tolist(), outgoing, incoming, bound)


def check(case: Combination) -> None:
    twin = NaiveRun(case.workload, case.policy, **case.options).run()
    assume(not twin.endless)
    found = run(case)
    assert_laws(case, found)
    assume(not twin.doubtful)
    assert_twins(case, found, twin)


@examples(600)
@given(combinations(tier=False, resources=False))
def test_a_link_equals_the_slow_twin(case):
    check(case)


@examples(600)
@given(combinations(tier=False, resources=True))
def test_resources_equal_the_slow_twin(case):
    check(case)


@examples(600)
@given(combinations(tier=True, resources=False))
def test_buffers_equal_the_slow_twin(case):
    check(case)


@examples(600)
@given(combinations(tier=True, resources=True))
def test_buffers_before_resources_equal_the_slow_twin(case):
    check(case)
