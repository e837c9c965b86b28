"""best-next-event against linear programs and dense scans of horizons."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from scipy.optimize import linprog

from penstock.policies import REGISTRY
from tests.naive.best_next_event import best_next_event, yields_at
from tests.naive.policies import Active, Scene
from tests.naive.profiles import examples
from tests.naive.strategies import rates_of, scenes

POLICY = REGISTRY["best-next-event"]


def lowest_by_linear_program(scene, k, h):
    """The highest lowest yield y at t + h if k completes just then (k None: if nobody must), by HiGHS.

    Variables x_i, y: maximise y; x_i / b_i − y (e_i + h) ≥ −P_i; 0 ≤ x_i ≤ min(b_i h, V_i); x_k = V_k; Σ x_i ≤ B h.
    """
    n = len(scene.active)
    lifted = np.zeros((n, n + 1))
    done = np.zeros(n)
    limits = []
    for i, a in enumerate(scene.active):
        lifted[i, i] = -1.0 / a.cap
        lifted[i, n] = scene.now - a.release + h
        done[i] = a.progress
        most = min(a.cap * h, a.remaining)
        limits.append((most if i == k else 0.0, most))
    total = np.append(np.ones(n), 0.0)
    outcome = linprog(
        np.append(np.zeros(n), -1.0),
        A_ub=np.vstack([lifted, total]),
        b_ub=np.append(done, scene.bandwidth * h),
        bounds=[*limits, (None, None)],
        method="highs",
    )
    return -outcome.fun if outcome.status == 0 else None


def chosen(scene):
    """(horizon, yields, rates) of the policy: its next event is the first completion or the end of the window."""
    rates = rates_of(POLICY, scene)
    ends = [a.remaining / rates[a.index] for a in scene.active if rates[a.index] > 0.0]
    h = min([*ends, scene.window_end - scene.now])
    yields = [(a.progress + rates[a.index] * h / a.cap) / (scene.now - a.release + h) for a in scene.active]
    return h, sorted(yields), rates


def grid(scene, points):
    """Horizons from the first possible completion to where all is done, near the ends closer together."""
    shortest = min(a.remaining / a.cap for a in scene.active)
    longest = 2.0 * sum(a.remaining / a.cap for a in scene.active)
    latest = scene.window_end - scene.now
    dates = {shortest + (longest - shortest) * (i / points) ** 2 for i in range(points + 1)}
    dates |= {a.remaining / a.cap for a in scene.active}
    return sorted(h for h in dates if h <= latest)


def beats(scan, own):
    """Whether the scanned yields are better than the policy's own in lexicographic order.

    Higher at one place by 1e-9 and before that not lower, or higher by 1e-5 where the earlier ones are lower by no more than
    1e-13: at a flat optimum the lowest yield falls with the square of the distance, so a point 3e-7 off is 1e-13 lower and
    may gain 3e-7 elsewhere, and is worse all the same.
    """
    even = True
    for theirs, mine in zip(scan, own, strict=True):
        if theirs > mine + (1e-9 if even else 1e-5):
            return True
        if theirs < mine - 1e-13:
            return False
        even = even and theirs >= mine
    return False


@examples(150)
@given(scenes(most=5))
def test_no_scanned_event_is_better(scene):
    _, own, rates = chosen(scene)
    assert sum(rates.values()) <= scene.bandwidth * (1.0 + 1e-12)
    for horizon in grid(scene, 60):
        for k in range(len(scene.active)):
            outcome = yields_at(scene, k, horizon)
            assert outcome is None or not beats(sorted(outcome[0]), own), (k, horizon, outcome, own)
    if math.isfinite(scene.window_end):
        yields, _ = yields_at(scene, None, scene.window_end - scene.now)
        assert not beats(sorted(yields), own)


@examples(40)
@given(scenes(most=4))
def test_no_linear_program_is_better(scene):
    _, own, _ = chosen(scene)
    latest = scene.window_end - scene.now
    options = [(k, horizon) for horizon in grid(scene, 8) for k in range(len(scene.active))]
    if math.isfinite(latest):
        options.append((None, latest))
    for k, horizon in options:
        a = scene.active[k] if k is not None else None
        if a is not None and a.remaining > min(a.cap, scene.bandwidth) * horizon * (1.0 + 1e-12):
            continue
        lowest = lowest_by_linear_program(scene, k, horizon)
        assert lowest is None or lowest <= own[0] + 1e-7  # HiGHS is exact to 1e-7
        outcome = yields_at(scene, k, horizon)
        if lowest is not None and outcome is not None:
            assert min(outcome[0]) == pytest.approx(lowest, abs=2e-7), "the water-filling of the twin"


@examples(40)
@given(scenes(most=4))
def test_its_rates_are_those_of_the_slow_twin(scene):
    assume(len(scene.active) > 1)
    assert rates_of(POLICY, scene) == pytest.approx(best_next_event(scene), rel=1e-9, abs=1e-9)


@examples(120)
@given(scenes(most=7))
def test_at_its_own_horizon_its_yields_are_the_best(scene):
    """The water-filling at the horizon it chose, for whoever completes there, gives the same yields to 1e-9."""
    h, own, rates = chosen(scene)
    latest = scene.window_end - scene.now
    finishers = [k for k, a in enumerate(scene.active) if rates[a.index] * h >= a.remaining * (1.0 - 1e-12)]
    options = [yields_at(scene, k, h) for k in finishers]
    if h >= latest * (1.0 - 1e-12):
        options.append(yields_at(scene, None, h))
    best = max(sorted(outcome[0]) for outcome in options if outcome is not None)
    if len(scene.active) > 1:
        assert own == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_it_can_leave_bandwidth_idle():
    # a0: 5 of 10 s done, cap 1/2, 4 bytes; a1: 10 of 10 s done, cap 1/2, 1 byte. At its cap a0 has (5 + h) / (10 +
    # h), which grows until it completes at h = 8; but a1, which gains 2 s with its 1 byte, has at most 12 / (10 + h),
    # and is the lowest from h = 7 on: 12/17 each at h = 7. That event comes only if a1 does not complete before: a1
    # gets 1/7, and 5/14 of the link is idle although a1 could use it.
    a0 = Active(0, 4.0, 0.5, 0.0, 5.0, -10.0, 1, 0.0)
    a1 = Active(1, 1.0, 0.5, 0.0, 10.0, -10.0, 1, 0.0)
    scene = Scene([a0, a1], 0.0, 1.0, 100.0)
    assert rates_of(POLICY, scene) == pytest.approx({0: 1 / 2, 1: 1 / 7})
    assert best_next_event(scene) == pytest.approx({0: 1 / 2, 1: 1 / 7})
    assert POLICY.idles, "a policy that may leave bandwidth idle declares it"


def test_where_the_lowest_yield_is_constant_the_earliest_event_is_best():
    # Three applications have done 0.5 of 1 s, a2 is just released; 0.5 bytes each, b = B = 1. If a2 completes after h
    # ≥ 0.5, the others share h − 0.5: yields (0.5 + (h − 0.5) / 3) / (1 + h) = 1/3 whatever h, and a2 has 0.5 / h:
    # best at once, all for a2.
    waiting = [Active(i, 0.5, 1.0, 0.0, 0.5, -1.0, 1, 0.0) for i in (0, 1, 3)]
    scene = Scene([*waiting, Active(2, 0.5, 1.0, 0.0, 0.0, 0.0, 1, 0.0)], 0.0, 1.0)
    assert best_next_event(scene) == pytest.approx({0: 0.0, 1: 0.0, 2: 1.0, 3: 0.0})
    assert rates_of(POLICY, scene) == pytest.approx({0: 0.0, 1: 0.0, 2: 1.0, 3: 0.0})


def test_where_it_becomes_constant_the_earliest_event_is_best():
    # B = 2. If a3 completes after h, 2h − 1/2 are left: a1 and a2, just released, share them and have (h − 1/4) / h, which
    # rises, as long as a0 has more with nothing: 0.75 / (1 + h). All three meet at h = 1/2 with 1/2. From there on they
    # share, and have (2h − 1/2 + 3/2) / (h + h + 2 (1 + h)) = 1/2 whatever h; a3 has (1/2 + 1/3) / (1 + h),
    # which falls. So h = 1/2.
    a0 = Active(0, 0.5, 2.0, 0.0, 0.75, -1.0, 1, 0.0)
    a1 = Active(1, 0.5, 1.0, 0.0, 0.0, 0.0, 1, 0.0)
    a2 = Active(2, 0.5, 1.0, 0.0, 0.0, 0.0, 1, 0.0)
    a3 = Active(3, 0.5, 1.5, 0.0, 0.5, -1.0, 1, 0.0)
    scene = Scene([a0, a1, a2, a3], 0.0, 2.0)
    assert best_next_event(scene) == pytest.approx({0: 0.0, 1: 0.5, 2: 0.5, 3: 1.0})
    assert rates_of(POLICY, scene) == pytest.approx({0: 0.0, 1: 0.5, 2: 0.5, 3: 1.0})


def test_alone():
    scene = Scene([Active(3, 4.0, 0.5, 0.0, 5.0, -10.0, 1, 0.0)], 0.0, 1.0, 2.0)
    assert rates_of(POLICY, scene) == {3: 0.5}


def test_equal_candidates_go_to_the_earlier_posting():
    # Two equal applications of yield 1 with 1 byte each and no window: if one completes after h = 1 with all of the
    # link the other has nothing, 10/11; if both share, they complete at 2 with 11/12 each, and that is better.
    same = [Active(i, 1.0, 1.0, float(-i), 10.0, -10.0, 1, 0.0) for i in range(2)]
    assert rates_of(POLICY, Scene(same, 0.0, 1.0)) == pytest.approx({0: 0.5, 1: 0.5})
