"""B measured from what clients reach, and the warning that they reach far less than they are granted."""

from __future__ import annotations

import pytest

from penstock.live.core.core import Core
from penstock.live.core.measuring import LEAST_WINDOWS, UNLIMITED, WINDOWS, MeasuredBandwidth, ReachMeter, ReachWindow
from tests.live.core.test_reached import Mover, hear, run


class Link:
    """Carries so many bytes/s, however much it is told to."""

    def __init__(self, carries):
        self.carries = carries

    def window(self, granted):
        return ReachWindow(2.0, 2.0 * min(granted, self.carries), 2.0 * granted)


def learn(measured, link, windows):
    """B after each window in which all of it is granted."""
    seen = []
    for _ in range(windows):
        measured.learn(link.window(measured.bandwidth))
        seen.append(measured.bandwidth)
    return seen


def test_without_a_guess_the_first_window_tells():
    measured = MeasuredBandwidth(None, floor=1.0)
    assert measured.bandwidth == UNLIMITED
    assert learn(measured, Link(100.0), 1) == [100.0]


def test_it_grows_while_everybody_reaches_all_that_is_granted():
    measured = MeasuredBandwidth(10.0, floor=1.0)
    seen = learn(measured, Link(100.0), 40)
    assert seen[:3] == pytest.approx([11.0, 13.2, 18.48])  # 10 %, 20 %, 40 % more
    assert 95.0 < seen[-1] <= 111.0
    assert max(seen) <= 200.0


def test_a_raise_that_nobody_can_use_is_taken_back_and_seldom_tried_again():
    measured = MeasuredBandwidth(100.0, floor=1.0)
    seen = learn(measured, Link(100.0), 127)
    assert sorted({round(bandwidth, 9) for bandwidth in seen}) == [100.0, 110.0]
    assert sum(bandwidth > 100.0 for bandwidth in seen) == 7  # after 1, 2, 4, 8, 16, 32 and 32 windows


def test_it_falls_to_what_is_reached_but_not_for_some_low_windows():
    measured = MeasuredBandwidth(100.0, floor=1.0)
    assert learn(measured, Link(40.0), LEAST_WINDOWS) == [*[100.0] * (LEAST_WINDOWS - 1), 40.0]
    learn(measured, Link(5.0), WINDOWS // 2)
    assert measured.bandwidth >= 40.0
    learn(measured, Link(5.0), WINDOWS)
    assert measured.bandwidth == pytest.approx(5.0)


def test_it_never_falls_below_the_floor_and_ignores_an_idle_link():
    measured = MeasuredBandwidth(100.0, floor=30.0)
    learn(measured, Link(1.0), 20)
    assert measured.bandwidth == 30.0
    assert not measured.learn(ReachWindow(2.0, 0.0, 10.0))


def test_the_core_shares_what_it_measures():
    """Two share a link that carries 20 and is said to carry 100: each reaches 10."""
    measured = MeasuredBandwidth(100.0, floor=1.0)
    core = Core("fair-share", measured.bandwidth, measured=measured)
    a, b = (Mover(core, name, 10.0) for name in "ab")
    a.post(1e6)
    b.post(1e6)
    run(core, 12.0, a, b)
    assert core.bandwidth == pytest.approx(20.0)
    assert (a.rate, b.rate) == pytest.approx((10.0, 10.0))
    assert core.granted() == pytest.approx(20.0)
    assert (a.known.cap, core.view().bandwidth) == pytest.approx((20.0, 20.0))
    assert 0.0 < core.yield_of(a.known) <= 1.0


def test_a_warning_when_applications_reach_far_less_than_they_are_granted():
    core = Core("fcfs", 100.0)
    a = Mover(core, "a", 4.0)
    a.post(1e6)
    run(core, 9.0, a)
    assert core.warning is None
    run(core, 3.0, a)
    assert core.warning == (
        "applications reach 4 of the 100 bytes/s that they are granted, for 10 s; expected a lower --bandwidth, or auto"
    )
    a.speed = 90.0
    run(core, 4.0, a)
    assert core.warning is None


def test_a_pause_of_all_reports_is_no_window():
    meter = ReachMeter()
    assert meter.heard(0.0, 1.0, 1.0) is None
    assert meter.heard(100.0, 1.0, 500.0) is None
    assert meter.heard(102.0, 1.0, 2.0) == ReachWindow(2.0, 1.0, 2.0)


def test_a_lower_bandwidth_is_taken_back_from_all():
    core = Core("fair-share", 100.0)
    a, b = (Mover(core, name, 1000.0) for name in "ab")
    a.post(1e6)
    b.post(1e6)
    run(core, 1.0, a, b)
    before = core.progress(a.known)
    core.set_bandwidth(40.0)
    assert core.progress(a.known) == pytest.approx(before)
    hear(core, [a, b])
    assert (a.rate, b.rate) == (20.0, 20.0)
