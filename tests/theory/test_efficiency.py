"""The bound on efficiency against linear programs, all intervals, and in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from penstock.model import Application, Platform, Workload
from penstock.theory.bounds import GRID, Intervals, efficiency_bound
from penstock.theory.link_demand import link_demand
from tests.naive.profiles import examples
from tests.naive.strategies import workloads
from tests.theory import intervals
from tests.theory.small import crowds


def bound(workload, pieces=8):
    return efficiency_bound(link_demand(workload, pieces))


def loss_by_linear_program(workload, begin, end):
    """The least Σ p_i δ_i so that what must be moved between the two dates fits.

    Application i gives up the last δ_i of the dedicated seconds it could have done at `end`, of which what is after `begin`
    counts. What it must move then is a mixture of the corners of its staircase: Σ λ = 1, Σ λ x its progress, Σ λ U what is
    moved; the least is on the lower convex envelope.
    """
    window_end = workload.window[1]
    costs, volumes, owners, constant = [], [], [], 0.0
    for i, m in enumerate(intervals.members_of(workload)):
        idle = max(0.0, window_end - m.start - m.chain)
        low, high = max(0.0, begin - m.start), end - m.start - idle
        if high <= low:
            continue
        corners = {low, high}
        for offset, seconds in m.operations:
            corners |= {x for x in (offset, offset + seconds) if low < x < high}
        constant += m.nodes * high
        for x in sorted(corners):
            costs.append(-m.nodes * x)
            moved = sum(max(0.0, min(x, offset + seconds) - max(low, offset)) for offset, seconds in m.operations)
            volumes.append(moved * m.share)
            owners.append(i)
    if not costs:
        return 0.0
    whole = np.array([[float(owner == i) for owner in owners] for i in sorted(set(owners))])
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    outcome = linprog(costs, [volumes], [end - begin], whole, np.ones(len(whole)), (0, None), "highs", options=options)
    assert outcome.status == 0, outcome.message
    return constant + outcome.fun


@examples(150)
@given(st.one_of(crowds(5, 4, caps=True), workloads()).filter(lambda w: w.window), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_the_loss_of_an_interval_is_that_of_a_linear_program(workload, one, other):
    begin, end = workload.window
    a, c = (begin + part * (end - begin) for part in sorted((one, other)))
    loss = Intervals(link_demand(workload)).loss(a, c)
    assert loss == pytest.approx(loss_by_linear_program(workload, a, c), abs=1e-8, rel=1e-8)


@examples(60)
@given(st.one_of(crowds(5, 4, caps=True), workloads()).filter(lambda w: w.window), st.data())
def test_no_interval_of_the_grid_says_more(workload, data):
    first = data.draw(st.integers(0, GRID - 1))
    last = data.draw(st.integers(first + 1, GRID))
    begin, end = workload.window
    dates = np.linspace(begin, end, GRID + 1)
    members = intervals.members_of(workload)
    gain = sum(m.nodes * min(m.chain, end - m.start) for m in members)
    most = gain - loss_by_linear_program(workload, dates[first], dates[last])
    assert bound(workload) <= most / (sum(m.nodes for m in members) * (end - begin)) + 1e-9


@examples(60)
@given(st.one_of(crowds(5, 4, caps=True), workloads()).filter(lambda w: not w.window), st.sampled_from([1, 2, 8]))
def test_to_the_ends_it_is_what_all_intervals_say(workload, pieces):
    members = intervals.members_of(workload)
    elapsed = intervals.least_makespan(workload, pieces) - min(m.release for m in members)
    expected = sum(m.nodes * m.chain for m in members) / (sum(m.nodes for m in members) * elapsed) if elapsed > 0.0 else 1.0
    assert bound(workload, pieces) == pytest.approx(expected, rel=1e-8)


def posting_at_once(volume, window, nodes, **options):
    """Applications that post one operation at date 0 on a link of bandwidth 1."""
    members = [Application.of(f"a{i}", [("io", volume)], nodes=size, **options) for i, size in enumerate(nodes)]
    return Workload(Platform(1.0), tuple(members), window)


@pytest.mark.parametrize("nodes", [(1, 1), (1, 1, 1), (5, 2, 8)])
def test_the_largest_is_served(nodes):
    # Each could move for the whole window: the best is to serve the one with the most nodes.
    assert bound(posting_at_once(50.0, (0.0, 10.0), nodes)) == pytest.approx(max(nodes) / sum(nodes))
    # 4 s each: the two largest, and 2 s of the next.
    best = sorted(nodes, reverse=True)
    served = 4.0 * best[0] + 4.0 * best[1] + (2.0 * best[2] if len(best) > 2 else 0.0)
    assert bound(posting_at_once(4.0, (0.0, 10.0), nodes)) == pytest.approx(served / (10.0 * sum(nodes)))


def test_the_best_interval_lies_between_the_dates_of_the_grid():
    # Both post at 3.7 and move to the end of the window, 10: one loses 6.3 s. The next date of the grid, 3.75, shows 6.25 s;
    # the last step from there is 10 / (24 · 2⁸) = 0.0016 s.
    members = tuple(Application.of(f"a{i}", [("work", 3.7), ("io", 9.0)]) for i in range(2))
    assert bound(Workload(Platform(1.0), members, (0.0, 10.0))) == pytest.approx(1.0 - 6.3 / 20.0, abs=0.0016 / 20.0)


def test_caps_share_the_link():
    # Three at half of the link each, for the whole window: two of them at a time.
    assert bound(posting_at_once(50.0, (0.0, 10.0), (1, 1, 1), bandwidth=0.5)) == pytest.approx(2.0 / 3.0)


def test_to_the_ends_the_link_is_never_idle():
    # 3 · 4 bytes one after the other: all have gained 4 s in 12 s.
    assert bound(posting_at_once(4.0, None, (3, 1, 2))) == pytest.approx(1.0 / 3.0)


def test_alone_nothing_is_lost():
    alone = Application.of("a0", [("work", 2.0), ("io", 4.0), ("work", 1.0)], lead=1.0, release=-5.0, progress=1.0)
    # 8 s of the 20, whatever was before; all 6 s of the 6; and to the end 8 s in the 13 since the release.
    assert bound(Workload(Platform(1.0), (alone,), (0.0, 20.0))) == pytest.approx(0.4)
    assert bound(Workload(Platform(1.0), (alone,), (0.0, 6.0))) == pytest.approx(1.0)
    fresh = Application.of("a0", [("work", 2.0), ("io", 4.0), ("work", 1.0)], lead=1.0, release=-5.0)
    assert bound(Workload(Platform(1.0), (fresh,))) == pytest.approx(1.0)
