"""Theorem 1 of 004: constant rates between events are enough (claim B5)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.buffers import averaged, check_plan, execute_plan, size, wandering
from tests.buffers.instances import applications, workloads
from tests.naive.profiles import examples

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
