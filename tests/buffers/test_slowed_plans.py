"""Plans as strategies of the search: what they promise is so, shares fit, and the bounds are below them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.buffers import full_speed_timeline
from penstock.buffers.advice import PLANNED, BufferStrategy, advise, living_shares, parts_of, strategies, trial
from penstock.buffers.lower_bounds import DATES, DURATIONS, MEASURED_BY, allowance, size_bound, stretch_bound
from penstock.buffers.plan import DYNAMIC, STATIC
from penstock.buffers.sizing import size
from penstock.buffers.slowed_plans import plan_for_size, plan_for_stretch, slowed
from penstock.engine.scenarios import replay
from penstock.model import Application, InputError, Platform, Workload
from tests.buffers.test_search import one_burst, writers
from tests.naive.profiles import examples

FEW = strategies(policies=("best-effort",), thresholds=(0.0,))
measured_by = st.sampled_from(MEASURED_BY)


def ends_at(run, workload, by):
    """Stretches of a run against the workload at full speed."""
    demand = full_speed_timeline(workload)
    since = 0.0 if by == DATES else np.array([one.release for one in workload.applications])
    return (run.ends - since) / (demand.least_end - since)


@examples(25)
@given(writers(), st.floats(0.0, 1.3), st.sampled_from([STATIC, DYNAMIC]), measured_by)
def test_what_is_found_for_a_size(workload, part, mode, by):
    plan = size(workload, mode)
    wanted = part * plan.size
    advice = advise(workload, [mode], size=wanted, tried=FEW, by=by)
    best = advice.found[0]
    if part >= 1.0:
        assert best.stretch == pytest.approx(1.0, abs=1e-6)
        assert best.strategy == BufferStrategy(mode, PLANNED)
        assert best.lost_node_hours == pytest.approx(0.0, abs=1e-6)
    assert advice.bound <= best.stretch * (1.0 + 1e-6)
    for one in advice.found:
        assert one.shares_at_once is None or one.shares_at_once <= wanted * (1.0 + 1e-6)
        assert one.stretch == pytest.approx(ends_at(one.replay, workload, by).max())
        assert one.lost_node_hours >= 0.0
    assert [one.stretch for one in advice.found] == pytest.approx(sorted(one.stretch for one in advice.found), abs=2e-9)


@examples(25)
@given(writers(), st.floats(1.0, 1.5), st.sampled_from([STATIC, DYNAMIC]), measured_by)
def test_what_is_found_for_a_stretch(workload, stretch, mode, by):
    plan = size(workload, mode)
    found = plan_for_stretch(plan, stretch, by)
    # The plan for a stretch of 1 is one of them.
    assert found.size <= plan.size * (1.0 + 1e-9)
    advice = advise(workload, [mode], stretch=stretch, tried=FEW, by=by)
    if stretch == 1.0:
        return
    planned = [one for one in advice.found if one.strategy.policy == PLANNED]
    assert advice.found[0].size <= found.size * (1.0 + 1e-9)
    assert advice.bound <= advice.found[0].size * (1.0 + 1e-6) + 1e-6
    for one in planned:
        assert ends_at(one.replay, workload, by).max() <= stretch * (1.0 + 1e-6)
        assert one.shares_at_once is None or one.shares_at_once <= one.size * (1.0 + 1e-6)


def test_one_burst_by_hand() -> None:
    # It ends at 18·R: by then 2 · (18·R − 10) of 40 bytes have left, if it writes evenly until then.
    plan = size(one_burst(), STATIC)
    assert plan_for_stretch(plan, 1.2, DATES).size == pytest.approx(40.0 - 2.0 * (18.0 * 1.2 - 10.0))
    assert plan_for_size(plan, 24.0, 2.0, DATES).stretch == 1.0
    # 10 bytes: (10 + 30 / 2) / 18; 40 bytes at 40 / 15 bytes/s.
    found = plan_for_size(plan, 10.0, 2.0, DATES)
    assert found.stretch == pytest.approx(25.0 / 18.0, rel=1e-3)
    assert found.size <= 10.0 * (1.0 + 1e-6)
    assert slowed(plan.demand, 25.0 / 18.0, DATES).applications[0].write_bandwidth == pytest.approx(40.0 / 15.0)
    assert plan_for_size(plan, 0.0, 1.1, DATES) is None


def test_by_durations_a_late_application_may_be_less_late() -> None:
    late = replace(one_burst().applications[0], release=100.0)
    demand = full_speed_timeline(Workload(Platform(2.0), (late,)))
    # It ends at 118 at full speed: 10 % of 118 s, or of 18 s.
    assert allowance(demand, 1.1, DATES).tolist() == pytest.approx([11.8])
    assert allowance(demand, 1.1, DURATIONS).tolist() == pytest.approx([1.8])
    with pytest.raises(InputError, match="by: 'hours' is unknown; expected dates or durations"):
        allowance(demand, 1.1, "hours")
    workload = demand.workload
    # By dates 11.8 s more let 2 · 19.8 of 40 bytes leave, by durations 1.8 s more let 2 · 9.8 leave.
    assert size_bound(workload, 1.1) == pytest.approx(40.0 - 2.0 * 19.8)
    assert size_bound(workload, 1.1, by=DURATIONS) == pytest.approx(40.0 - 2.0 * 9.8)
    assert advise(workload, [STATIC], stretch=1.1, by=DURATIONS).found[0].size == pytest.approx(40.0 - 2.0 * 9.8)
    assert stretch_bound(workload, 20.4, by=DURATIONS) == pytest.approx(1.1, rel=1e-6)


@examples(60)
@given(writers(), st.floats(0.0, 12.0), st.floats(1.0, 1.6), measured_by)
def test_the_bound_alone_is_reached_alone(workload, bytes_, stretch, by):
    # Of one application alone, the earliest end with a share is that of a run with it, and the bound is what is needed.
    alone = Workload(workload.platform, workload.applications[:1])
    run = replay(alone, shares=np.array([bytes_]))
    found = stretch_bound(alone, bytes_, by=by)
    assert found == pytest.approx(max(1.0, ends_at(run, alone, by)[0]), rel=1e-5)
    needed = size_bound(alone, stretch, by=by)
    assert ends_at(replay(alone, shares=np.array([needed + 1e-6])), alone, by)[0] <= stretch * (1.0 + 1e-5)


def test_the_shares_of_a_static_buffer_bound_it() -> None:
    # Two bursts at different times of two lives: 24 bytes for each as long as it lives, though never used at one time.
    first = one_burst().applications[0]
    second = Application.of("b", [("work", 60.0), ("write", 40.0)], bandwidth=5.0)
    both = Workload(Platform(2.0), (first, second))
    assert size_bound(both, 1.0, static=True) == pytest.approx(48.0)
    assert size_bound(both, 1.0) == pytest.approx(24.0)
    assert size(both, STATIC).size == pytest.approx(48.0)
    assert stretch_bound(both, 47.0, static=True) > 1.0 == stretch_bound(both, 48.0, static=True)


def test_shares_are_made_smaller_until_they_fit() -> None:
    # a has 24 bytes at its end at 18, and 12 when b comes at 24, with a share of 24: S = 36, and a third of that is asked.
    # With a share of 8 a ends at 26, so that both shares add up to 16; with 6 of 12 bytes each it ends at 10 + 2 + 15.
    a = Application.of("a", [("work", 10.0), ("write", 40.0)], bandwidth=5.0, nodes=3)
    b = Application.of("b", [("work", 10.0), ("write", 40.0)], bandwidth=5.0, nodes=3, release=24.0)
    workload = Workload(Platform(2.0, nodes=4), (a, b))
    plan = size(workload, STATIC)
    assert plan.size == pytest.approx(36.0)
    assert living_shares(replay(workload, shares=np.array([8.0, 8.0])), np.array([8.0, 8.0])) == pytest.approx(16.0)
    found = trial(workload, BufferStrategy(STATIC), parts_of(plan), False, DATES, 12.0)
    assert found.fitted == pytest.approx(0.75)
    assert found.shares.tolist() == pytest.approx([6.0, 6.0])
    assert found.shares_at_once == pytest.approx(12.0)
    assert found.replay.ends.tolist() == pytest.approx([27.0, 51.0])
    assert found.lost_node_hours == pytest.approx(3 * (9.0 + 9.0) / 3600.0)
    # Both hold 3 of 4 nodes for a while.
    assert found.crowded
    assert found.replay.most_nodes == 6


def test_advice_compares_with_no_buffer_and_counts_what_goes_through() -> None:
    advice = advise(one_burst())
    # Without a buffer 40 bytes take 20 s instead of 8, on one node.
    assert advice.none.lost_node_hours == pytest.approx(12.0 / 3600.0)
    assert advice.none.through.tolist() == [0.0]
    best = advice.best
    assert (best.lost_node_hours, best.stretch) == (pytest.approx(0.0, abs=1e-9), pytest.approx(1.0))
    assert advice.through() == [{"name": "a", "bytes": pytest.approx(best.through.sum())}]
    assert 24.0 - 1e-6 <= best.through.sum() <= 40.0 + 1e-6
