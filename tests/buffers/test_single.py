"""The buffer of one application: by construction, by linear program, and as the size of a workload of one (claim B4)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.buffers import alone, alone_by_program, check_plan, full_speed_timeline, least_written, most_read, size
from penstock.model import Workload
from tests.buffers.instances import applications, workloads
from tests.naive.profiles import examples


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
