"""The largest backlog, and bounds on sizes and stretches."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.buffers import (
    execute_plan,
    full_speed_timeline,
    largest_backlog,
    lower_bounds,
    size,
    size_bound,
    stretch_bound,
)
from penstock.buffers.lower_bounds import backlog
from penstock.model import InputError
from tests.buffers.instances import applications, workloads
from tests.buffers.naive import Timeline
from tests.naive.profiles import examples

# ------------------------------------------------------------------ the largest backlog of writes


def test_the_backlog_by_hand():
    # a brings 8 bytes from 4 to 6, b 8 from 7 to 9: 4 are left at 6, 2 at 7, 6 at 9. Reads do not count.
    workload = applications([("work", 4.0), ("write", 8.0), ("read", 8.0)], [("work", 7.0), ("write", 8.0), ("work", 9.0)])
    found = largest_backlog(full_speed_timeline(workload))
    assert (found.size, found.begin, found.end) == (6.0, 4.0, 9.0)
    assert backlog(full_speed_timeline(workload)).tolist() == [0.0, 0.0, 4.0, 2.0, 4.0, 6.0, 0.0]  # at 8 a ends


def test_nothing_is_written():
    found = largest_backlog(full_speed_timeline(applications([("work", 4.0)])))
    assert (found.size, found.begin, found.end) == (0.0, 0.0, 0.0)


@examples(150)
@given(workloads())
def test_the_backlog_against_all_intervals(workload):
    asked, line = full_speed_timeline(workload), Timeline(workload)
    everybody = range(len(workload.applications))
    limit = workload.platform.write_limit
    total = [sum(line.moved(k, "write", date) for k in everybody) for date in asked.events]
    largest = max(
        total[c] - total[a] - limit * (asked.events[c] - asked.events[a]) for c in range(len(total)) for a in range(c + 1)
    )
    found = largest_backlog(asked)
    assert found.size == pytest.approx(largest, abs=1e-5)
    first, last = (list(asked.events).index(date) for date in (found.begin, found.end))
    assert total[last] - total[first] - limit * (found.end - found.begin) == pytest.approx(found.size, abs=1e-5)


# ------------------------------------------------------------------ bounds on size and stretch


def test_by_hand():
    # a and b write 8 bytes from 4 to 6 at 4 bytes/s. At stretch ρ all 16 must be out by 6ρ, when 2 · (6ρ − 4) are gone.
    workload = applications([("work", 4.0), ("write", 8.0)], [("work", 4.0), ("write", 8.0)])
    for stretch in (1.0, 1.25, 1.5, 1.9):
        assert size_bound(workload, stretch) == pytest.approx(16.0 - 2.0 * (6.0 * stretch - 4.0))
    assert size_bound(workload, 2.0) == size_bound(workload, 3.0) == 0.0
    assert stretch_bound(workload, 6.0) == pytest.approx(1.5)
    assert stretch_bound(workload, 0.0) == pytest.approx(2.0)
    assert stretch_bound(workload, 12.0) == stretch_bound(workload, 99.0) == 1.0
    # Capped they write from 4 to 8: the end is 8ρ.
    assert size_bound(workload, 1.0, capped=True) == pytest.approx(8.0)
    assert size_bound(workload, 1.25, capped=True) == pytest.approx(16.0 - 2.0 * 6.0)


def test_the_clock_counts():
    # Released at 100 the same application has 106ρ − 106 s more.
    workload = applications(([("work", 4.0), ("write", 8.0)], {"release": 100.0}))
    assert size_bound(workload, 1.0) == pytest.approx(4.0)
    assert size_bound(workload, 1.01) == pytest.approx(8.0 - 2.0 * (2.0 + 1.06))


def test_writes_of_no_bytes_need_no_buffer():
    # The dates of the phases, added one by one, end by a rounding after the end at full speed.
    workload = applications(([("work", 0.2), ("write", 0.0), ("work", 0.5)], {"release": 0.1}))
    assert size_bound(workload, 1.0) == size_bound(workload, 1.0, static=True) == 0.0
    assert stretch_bound(workload, 0.0) == 1.0


@examples(120)
@given(workloads(), st.sampled_from([1.0, 1.0, 1.01, 1.1, 1.5, 2.0]))
def test_against_all_intervals(workload, stretch):
    """Σ_k W∞_k between a and t − (ρ − 1) · C_min less B_w · (t − a), with a and t at every date that can matter."""
    line, everybody = Timeline(workload), range(len(workload.applications))
    delays = [(stretch - 1.0) * end for end in line.end]
    starts = {start for mine in line.operations for kind, _, start, _ in mine if kind == "write"}
    dues = {stop + delays[k] for k in everybody for kind, _, _, stop in line.operations[k] if kind == "write"}
    largest = 0.0
    for a, t in product(starts, dues):
        if a <= t:
            between = (
                max(0.0, line.moved(k, "write", t - delays[k]) - line.moved(k, "write", min(a, t - delays[k])))
                for k in everybody
            )
            largest = max(largest, sum(between) - workload.platform.write_limit * (t - a))
    demand = full_speed_timeline(workload)
    assert lower_bounds._size_bound(demand, stretch, lower_bounds.DATES) == pytest.approx(largest, abs=1e-4)
    assert size_bound(workload, stretch) >= largest - 1e-4


@examples(80)
@given(workloads(reads=False))
def test_without_stretch_it_is_the_dynamic_size(workload):
    assert size_bound(workload, 1.0) == pytest.approx(largest_backlog(full_speed_timeline(workload)).size, abs=1e-5)


@examples(120)
@given(workloads(most=3), st.floats(0.0, 1.0))
def test_no_run_is_better(workload, factor):
    """A plan carried out with smaller shares: its stretch and the buffer it used."""
    plan = size(workload, "static")
    assume(plan.size is not None and plan.size > 0.0)
    found = execute_plan(plan, factor * plan.shares)
    stretch = max(found.max_stretch, 1.0)
    assert size_bound(workload, stretch) <= found.peak * (1.0 + 1e-6) + 1e-4


@examples(40)
@given(workloads(most=3), st.floats(0.0, 1.2))
def test_the_two_bounds_are_one(workload, factor):
    whole = size_bound(workload, 1.0)
    assume(whole > 0.01)
    stretch = stretch_bound(workload, factor * whole)
    assert (stretch == 1.0) == (factor >= 1.0 - 1e-9)
    assert size_bound(workload, stretch + 1e-6) <= factor * whole * (1.0 + 1e-6) + 1e-6
    if stretch > 1.0 + 1e-6:
        assert size_bound(workload, stretch - 1e-6) >= factor * whole * (1.0 - 1e-6) - 1e-6
    bounds = [size_bound(workload, ratio) for ratio in np.linspace(1.0, 2.0, 6).tolist()]
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda w: size_bound(w, 0.9), "stretch: 0.9 is out of range; expected a number, 1 or more"),
        (lambda w: size_bound(w, math.inf), "stretch: inf is out of range; expected a number, 1 or more"),
        (lambda w: stretch_bound(w, -1.0), "size: -1.0 is out of range; expected a number of bytes, 0 or more"),
    ],
)
def test_what_is_refused(make, message):
    with pytest.raises(InputError) as caught:
        make(applications([("write", 8.0)]))
    assert str(caught.value) == message
