"""Applications at full speed, and flows as functions of time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.buffers.timeline import Flow, full_speed_timeline
from penstock.numeric.tolerances import PLAN_DATE_S
from tests.buffers.instances import applications, workloads
from tests.buffers.naive import Timeline
from tests.naive.profiles import examples
from tests.planning.instances import quarters

# ------------------------------------------------------------------ flows


@st.composite
def flows(draw):
    """Lines that begin at 0 and rise or stay level."""
    steps = draw(st.lists(st.tuples(quarters(0.25, 4), quarters(0, 8)), min_size=1, max_size=6))
    dates, amounts = np.cumsum([0.0, *(s for s, _ in steps)]), np.cumsum([0.0, *(a for _, a in steps)])
    return Flow(dates, amounts)


def test_as_soon_as_possible_by_hand():
    # 8 bytes from 1 to 3, 2 more from 6 to 7; at 2 bytes/s the first 8 are through at 5, the others with them.
    line = Flow(np.array([0.0, 1.0, 3.0, 6.0, 7.0]), np.array([0.0, 0.0, 8.0, 8.0, 10.0]))
    through = line.throttled(2.0)
    assert through.dates.tolist() == [0.0, 1.0, 3.0, 5.0, 6.0, 7.0]
    assert through.amounts.tolist() == [0.0, 0.0, 4.0, 8.0, 8.0, 10.0]
    slow = line.throttled(1.0)  # the last one waits: 6 are through at 7, and all at 11
    assert slow.dates.tolist() == [0.0, 1.0, 3.0, 6.0, 7.0, 11.0]
    assert slow.amounts.tolist() == [0.0, 0.0, 2.0, 5.0, 6.0, 10.0]


def test_as_late_as_possible_by_hand():
    line = Flow(np.array([0.0, 4.0, 6.0]), np.array([0.0, 0.0, 8.0]))
    ahead = line.in_advance(2.0)
    assert ahead.dates.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert ahead.amounts.tolist() == [0.0, 0.0, 4.0, 8.0]
    assert line.in_advance(1.0).dates.tolist() == [-2.0, 0.0, 4.0, 6.0]  # too late


def test_clipped_by_hand():
    line = Flow(np.array([0.0, 2.0, 3.0, 5.0]), np.array([-2.0, 2.0, 2.0, 6.0]))
    cut = line.clipped(0.0, 3.0)
    assert cut.dates.tolist() == [0.0, 1.0, 2.0, 3.0, 3.5, 5.0]
    assert cut.amounts.tolist() == [0.0, 0.0, 2.0, 2.0, 3.0, 3.0]


@examples(200)
@given(flows(), quarters(0.25, 4))
def test_lines_against_their_definitions(line, rate):
    """min over u ≤ t of line(u) + rate · (t − u), and max over u ≥ t of line(u) − rate · (u − t), at corners and between."""
    end = line.dates[-1] + line.total / rate
    dates = np.union1d(np.linspace(0.0, end, 40), line.dates)
    soon, late = line.throttled(rate), line.in_advance(rate)
    for t in dates:
        before = np.append(line.dates[line.dates <= t], t)
        assert soon.at(np.array([t]))[0] == pytest.approx(np.min(line.at(before) + rate * (t - before)), abs=1e-9)
        after = np.append(line.dates[line.dates >= t], t)
        assert late.at(np.array([t]))[0] == pytest.approx(np.max(line.at(after) - rate * (after - t)), abs=1e-9)
    assert soon.total == late.total == pytest.approx(line.total)
    for found in (soon, late):
        assert (np.diff(found.dates) > 0.0).all()
        assert (found.rates <= rate * (1.0 + 1e-9)).all()


# ------------------------------------------------------------------ applications at full speed


def test_dates_by_hand():
    # b_r = 1 and b_w = 4 on a file system of 2: C_min takes no notice of B.
    phases = [("work", 2.0), ("read", 3.0), ("io", 0.0), ("work", 0.0), ("write", 8.0), ("io", 4.0)]
    asked = full_speed_timeline(applications((phases, {"release": 5.0, "lead": 1.0, "read_bandwidth": 1.0})))
    assert asked.least_end.tolist() == [5.0 + 1.0 + 2.0 + 3.0 + 2.0 + 1.0]
    assert asked.events.tolist() == [0.0, 5.0, 8.0, 11.0, 13.0, 14.0]
    assert (asked.begin.tolist(), asked.end.tolist()) == ([1], [5])
    assert (asked.reads.start.tolist(), asked.reads.stop.tolist(), asked.reads.phase.tolist()) == ([2], [3], [1])
    assert (asked.writes.start.tolist(), asked.writes.stop.tolist()) == ([3, 4], [4, 5])  # io counts as a write
    assert asked.writes.volume.tolist() == [8.0, 4.0]
    assert asked.writes.phase.tolist() == [4, 5]
    assert (asked.read_cap.tolist(), asked.write_cap.tolist()) == ([1.0], [2.0])
    assert asked.flows(asked.writes)[0].at(np.array([0.0, 11.5, 13.0, 99.0])).tolist() == [0.0, 2.0, 8.0, 12.0]


def test_capped_speeds_are_those_of_the_file_system():
    workload = applications([("read", 8.0), ("write", 8.0)], read_bandwidth=1.0)
    assert full_speed_timeline(workload).least_end.tolist() == [4.0]
    assert full_speed_timeline(workload, capped=True).least_end.tolist() == [8.0 / 1.0 + 8.0 / 2.0]


def test_the_load_is_the_largest_mean_of_those_who_run():
    # a moves 8 bytes in 6 s and b 4 in 3 s, from 3 to 6: 8/6 + 4/3 = 8/3 bytes/s of 2.
    workload = applications([("work", 4.0), ("write", 8.0)], ([("work", 2.0), ("read", 4.0)], {"release": 3.0}))
    assert full_speed_timeline(workload).load == pytest.approx(8.0 / 6.0)
    assert full_speed_timeline(applications([("work", 0.0)])).load == 0.0


def test_dates_within_a_microsecond_are_one_event():
    starts = [4.0, 4.0 + 4e-7, 4.0 + 9e-7, 4.0 + 1.8e-6]
    workload = applications(*([("work", start), ("write", 8.0)] for start in starts))
    asked = full_speed_timeline(workload)
    # An event is its first date and what follows within a microsecond; the last one is too far from the first.
    assert asked.events.tolist() == pytest.approx([0.0, 4.0, 4.0 + 1.8e-6, 6.0, 6.0 + 1.8e-6], abs=1e-12)
    assert asked.writes.start.tolist() == [1, 1, 1, 2]
    assert asked.shifts.tolist() == pytest.approx([0.0, 9e-7, 0.0, 9e-7, 0.0], abs=1e-12)
    assert asked.rounding == pytest.approx(1.8e-6)
    assert full_speed_timeline(applications([("work", 4.0), ("write", 8.0)])).rounding == 0.0


def test_operations_of_no_time_keep_their_volume():
    tiny = 4e-8  # a hundredth of a microsecond at 4 bytes/s
    phases = [("write", tiny), ("write", 4.0), ("work", 1.0), ("write", tiny), ("work", 1.0), ("write", tiny)]
    asked = full_speed_timeline(applications(phases))
    assert asked.events.tolist() == pytest.approx([0.0, 1.0, 2.0, 3.0, 3.0 + PLAN_DATE_S], abs=1e-7)
    # The first goes with the one that begins there, the second until the next event, and the last gets an event.
    assert asked.writes.start.tolist() == [0, 2, 3]
    assert asked.writes.stop.tolist() == [1, 3, 4]
    assert asked.writes.volume.tolist() == pytest.approx([4.0 + tiny, tiny, tiny])
    assert asked.rounding == pytest.approx(PLAN_DATE_S, abs=1e-7)


@examples(120)
@given(workloads())
def test_against_a_walk_along_the_phases(workload):
    for capped in (False, True):
        asked, line = full_speed_timeline(workload, capped=capped), Timeline(workload, capped)
        assert asked.least_end.tolist() == pytest.approx(line.end)
        assert asked.events.tolist() == pytest.approx(line.events, abs=1e-9)
        for k in range(len(workload.applications)):
            who = np.full(len(asked.events), k)
            for operations, direction in ((asked.writes, "write"), (asked.reads, "read")):
                expected = [line.moved(k, direction, date) for date in asked.events]
                found = operations.cumulated(who, np.arange(len(who)))
                assert found.tolist() == pytest.approx(expected, abs=1e-5)
                assert asked.flows(operations)[k].at(asked.events).tolist() == pytest.approx(expected, abs=1e-5)
                inside = operations.inside(who[:-1], np.arange(len(who) - 1))
                middles = (asked.events[:-1] + asked.events[1:]) / 2.0
                assert inside.tolist() == [line.inside(k, direction, date) for date in middles]


def test_a_window_moves_the_clock():
    workload = applications(([("work", 4.0), ("write", 8.0)], {"release": 7.0}))
    assert full_speed_timeline(replace(workload, window=(5.0, 8.0))).events.tolist() == [5.0, 7.0, 11.0, 13.0]
