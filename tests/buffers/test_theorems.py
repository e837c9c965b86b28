"""One application alone, and Theorems 1 and 2 of 004."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.buffers import (
    alone,
    alone_by_program,
    averaged,
    check_plan,
    execute_plan,
    full_speed_timeline,
    least_written,
    most_read,
    size,
    wandering,
)
from penstock.buffers.theorems import _orders as orders
from penstock.buffers.theorems import instance, reachable, split
from penstock.model import InputError, Workload
from tests.buffers.instances import applications, workloads
from tests.naive.profiles import examples

# ------------------------------------------------------------------ one application alone (claim B4)


def near(value):
    return pytest.approx(value, rel=1e-6, abs=1e-5)


def lonely(phases, **platform):
    workload = applications(phases, **platform)
    return workload.applications[0], workload.platform


def test_the_peak_is_that_of_the_sum():
    # At 4 bytes/s, with 2 each way, a write leaves 4 bytes that are gone 2 s later, and a read needs 4, from 2 s before on.
    # With 2 s or more between the two they cross, 4 together at most; with 1 s they are 4 + 2 at both ends.
    apart = {"bandwidth": 4.0, "read_bandwidth": 2.0, "write_bandwidth": 2.0}
    for pause, expected in ((3.0, 4.0), (2.0, 4.0), (1.0, 6.0), (0.0, 8.0)):
        phases = [("work", 4.0), ("write", 8.0), ("work", pause), ("read", 8.0)]
        found = alone(*lonely(phases, **apart))
        assert found.peak == pytest.approx(expected)
        assert alone_by_program(*lonely(phases, **apart)) == pytest.approx(expected)


def test_the_lines_of_figures_4_and_5():
    found = alone(*lonely([("work", 4.0), ("read", 8.0), ("work", 2.0), ("write", 8.0)]))
    assert found.reads.dates.tolist() == [0.0, 4.0, 6.0]
    assert (found.read.dates.tolist(), found.read.amounts.tolist()) == ([0.0, 2.0, 4.0, 6.0], [0.0, 0.0, 4.0, 8.0])
    assert (found.written.dates.tolist(), found.written.amounts.tolist()) == ([0.0, 8.0, 10.0, 12.0], [0.0, 0.0, 4.0, 8.0])


def test_the_lines_of_figures_6_and_7():
    # b = 4, B = 2; writes of 8 bytes from 4 to 6 and from 8 to 10. With a buffer of 6: 2 bytes must be gone at 6, 10 at 10,
    # of which 8 go from 6 to 10. In all 10 must be through at 10, so writing begins at 5.
    asked = full_speed_timeline(applications([("work", 4.0), ("write", 8.0), ("work", 2.0), ("write", 8.0)]))
    least = least_written(asked, 0, 6.0)
    assert least.at(np.array([4.0, 5.0, 6.0, 10.0, 20.0])).tolist() == pytest.approx([0.0, 0.0, 2.0, 10.0, 10.0])
    # Reads at the same dates: at most 6 more than was read, 2 bytes/s at most from the clock's 0 on.
    asked = full_speed_timeline(applications([("work", 4.0), ("read", 8.0), ("work", 2.0), ("read", 8.0)]))
    most = most_read(asked, 0, 6.0)
    assert most.at(np.array([0.0, 1.0, 3.0, 4.0, 6.0, 8.0, 9.0, 10.0])).tolist() == pytest.approx(
        [0.0, 2.0, 6.0, 6.0, 10.0, 14.0, 16.0, 16.0]
    )


@examples(100)
@given(workloads(most=1), st.floats(1.0, 3.0))
def test_lines_that_keep_to_a_buffer(workload, factor):
    """W^S ≤ what is written as soon as possible, R^S ≥ what is read as late as possible, for a buffer as large as needed."""
    found = alone(workload.applications[0], workload.platform)
    asked = full_speed_timeline(workload)
    assume(found.peak is not None)
    room = factor * found.peak
    dates = np.union1d(asked.events, found.written.dates)
    least, most = least_written(asked, 0, room), most_read(asked, 0, room)
    assert (least.at(dates) <= found.written.at(dates) + 1e-9).all()
    assert (found.writes.at(dates) - least.at(dates) <= room + 1e-9).all()
    assert (most.at(dates) >= found.read.at(dates) - 1e-9).all()
    assert (most.at(dates) - found.reads.at(dates) <= room + 1e-9).all()


@examples(200)
@given(workloads(most=1), st.booleans())
def test_peaks_agree_where_they_must(workload, capped):
    (application,), platform = workload.applications, workload.platform
    built, programmed = alone(application, platform, capped=capped), alone_by_program(application, platform, capped=capped)
    static, dynamic = (size(workload, mode, capped=capped) for mode in ("static", "dynamic"))
    if programmed is None:
        assert static.status == dynamic.status == "infeasible"
        assert built.peak is None
        return
    assert static.size == near(programmed)
    assert dynamic.size == near(programmed)
    assert built.peak <= programmed * (1.0 + 1e-6) + 1e-5  # it takes no notice of B
    asked = full_speed_timeline(workload, capped=capped)
    one_way = not len(asked.reads) or not len(asked.writes)
    if one_way or platform.bandwidth >= platform.read_limit + platform.write_limit:
        assert built.peak == near(programmed)
    if capped and one_way:
        assert built.peak == near(0.0)


@examples(60)
@given(workloads(most=1))
def test_wide_file_systems(workload):
    """With B ≥ B_r + B_w nothing is left to decide."""
    platform = workload.platform
    limits = {"read_bandwidth": platform.read_limit, "write_bandwidth": platform.write_limit}
    wide = replace(platform, bandwidth=sum(limits.values()), **limits)
    plan = size(Workload(wide, workload.applications), "static")
    built = alone(workload.applications[0], wide)
    assert plan.size == (None if built.peak is None else near(built.peak))
    if plan.size is not None:
        assert check_plan(plan).holds


# ------------------------------------------------------------------ Theorem 1 (claim B5)


modes = st.sampled_from(["static", "dynamic"])


@examples(120)
@given(workloads(most=3), modes, st.integers(0, 9))
def test_means_between_events_need_no_more_room(workload, mode, seed):
    assume(size(workload, mode).size is not None)
    before = wandering(workload, mode, seed)
    after = averaged(before)
    assert check_plan(before).holds, check_plan(before).worst
    assert check_plan(after).holds, check_plan(after).worst
    # But for what moves in the microsecond in which dates are one event.
    speeds = sum(application.write_bandwidth + application.read_bandwidth for application in workload.applications)
    assert check_plan(after).size <= before.size * (1.0 + 1e-9) + 1e-6 * speeds
    # At the events all is as it was, and between them rates are constant.
    events = size(workload, mode).demand.events
    for old, new in zip((*before.written, *before.read), (*after.written, *after.read), strict=True):
        assert new.at(events).tolist() == old.at(events).tolist()
        assert set(new.dates) <= {*events, old.dates[-1]}


def test_schedules_wander():
    """Their rates do change between events, or the test above would say nothing."""
    workload = applications([("work", 4.0), ("write", 8.0), ("work", 6.0)], [("work", 5.0), ("write", 8.0), ("work", 6.0)])
    changed = 0
    for seed in range(5):
        before = wandering(workload, "dynamic", seed)
        after = averaged(before)
        dates = before.dates
        gaps = [np.abs(o.at(dates) - n.at(dates)).max() for o, n in zip(before.written, after.written, strict=True)]
        changed += max(gaps) > 0.1
    assert changed >= 3


@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_everybody_is_as_fast(mode):
    phases = [("work", 4.0), ("write", 8.0), ("work", 6.0), ("read", 8.0), ("work", 1.0)]
    workload = applications(phases, [("work", 1.0), *phases])
    for plan in (wandering(workload, mode, 3), averaged(wandering(workload, mode, 3))):
        assert execute_plan(plan).stretch.tolist() == pytest.approx([1.0, 1.0], abs=1e-9)


# ------------------------------------------------------------------ Theorem 2 (claim B6)


SPLIT = [([1, 2, 3], 2), ([3, 3, 2, 2, 2], 2), ([1, 1, 2, 2], 2), ([2, 2, 2], 3), ([1, 2, 2, 3, 4], 3), ([4, 1, 3, 2, 2], 3)]
NOT_SPLIT = [
    ([3, 3, 2], 2),
    ([3, 3, 3, 1], 2),
    ([4, 4, 3, 1], 2),
    ([5, 4, 4, 1], 2),
    ([3, 3, 2, 2, 2], 3),
    ([2, 2, 2, 3], 3),
]


@pytest.mark.parametrize(("integers", "groups"), SPLIT)
def test_integers_that_split(integers, groups):
    found = split(integers, groups)
    assert sorted(a for group in found for a in group) == sorted(integers)
    assert {sum(group) for group in found} == {sum(integers) // groups}
    # The stretch must leave d ≥ n − 1.
    for stretch in (1.05, 2.0 * groups / (groups + 1.0)):
        assert reachable(integers, groups, stretch)


@pytest.mark.parametrize(("integers", "groups"), NOT_SPLIT)
def test_integers_that_do_not(integers, groups):
    assert split(integers, groups) is None
    for stretch in (1.05, 2.0 * groups / (groups + 1.0)):
        assert not reachable(integers, groups, stretch)


def test_all_sets_of_four():
    """Both sides of the theorem on all multisets of four integers up to 4."""
    seen = {True: 0, False: 0}
    for integers in product(range(1, 5), repeat=4):
        if list(integers) == sorted(integers) and 2 * max(integers) <= sum(integers):
            can = split(integers, 2) is not None
            assert reachable(integers, 2, 1.2) == can, integers
            seen[can] += 1
    assert min(seen.values()) > 5


def test_the_instance():
    # n = 2 groups of B = 6, ρ = 1.25: d = (3 − 2.5) / 0.25 = 2; C_min = d + 2, and ρ · C_min = d + n + 1 = 5.
    workload = instance([1, 2, 3, 6], 2, 1.25)
    assert workload.platform.bandwidth == 6.0
    assert full_speed_timeline(workload).least_end.tolist() == [4.0] * 4
    assert [list(a.phases) for a in workload.applications][2] == [("read", 3.0), ("work", 2.0), ("write", 3.0)]
    # Alone nobody needs a buffer.
    assert all(alone(application, workload.platform).peak == 0.0 for application in workload.applications)


def test_orders_of_equal_integers():
    assert sorted(map(tuple, orders([1, 1, 2]))) == [(1, 1, 2), (1, 2, 1), (2, 1, 1)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([3, 1], 2, 1.2), "integers: 3 is more than the sum of a group; expected at most 2"),
        (([1, 0, 1], 2, 1.2), "integers: [1, 0, 1] for 2 groups; expected integers above 0, and 2 groups or more"),
        (([1, 1], 1, 1.2), "integers: [1, 1] for 1 groups; expected integers above 0, and 2 groups or more"),
        (([1, 1], 2, 1.5), "stretch: 1.5 is out of range; expected above 1, up to 1.33333"),
        (([1, 1], 2, 1.0), "stretch: 1.0 is out of range; expected above 1, up to 1.33333"),
        (([1] * 8, 2, 1.2), "integers: 8 are too many to try all orders; expected 7 at most"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(InputError) as caught:
        reachable(*arguments)
    assert str(caught.value) == message
