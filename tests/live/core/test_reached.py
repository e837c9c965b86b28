"""What clients reach of what they are granted: the core learns it from reports, and decides again."""

from __future__ import annotations

import pytest

from penstock.live.core.core import Core
from penstock.live.core.events import InformEvent, RegisterEvent, ReleaseEvent, ReportEvent, YieldEvent
from penstock.live.core.measuring import ROOM

MB = 1e6


class Mover:
    """A client that moves at most `speed` bytes/s, reports ten times a second and keeps to its grants."""

    def __init__(self, core, name, speed, **options):
        self.core, self.speed = core, speed
        self.known = core.enter(core.now, RegisterEvent(name, **options))
        self.operation, self.moved, self.volume, self.rate = 0, 0.0, 0.0, 0.0

    def post(self, volume, rounds=0):
        self.operation, self.moved, self.volume = self.operation + 1, 0.0, volume
        self.core.enter(self.core.now, InformEvent(self.known, self.operation, volume, rounds=rounds))

    def move(self, seconds, now):
        if self.volume > 0.0:
            self.moved = min(self.volume, self.moved + min(self.rate, self.speed) * seconds)
            if self.moved < self.volume:
                self.core.enter(now, ReportEvent(self.known, self.operation, self.moved))
            else:
                self.volume = self.rate = 0.0
                self.core.enter(now, ReleaseEvent(self.known, self.operation))


def hear(core, movers):
    by_number = {mover.known.number: mover for mover in movers}
    while instructions := core.handle(core.now):
        for grant in instructions.grants:
            by_number[grant.client.number].rate = grant.rate
            core.enter(core.now, YieldEvent(grant.client, grant.number))


def run(core, seconds, *movers, every=0.1):
    """Let all of them move for so many seconds."""
    hear(core, movers)
    for _ in range(round(seconds / every)):
        now = core.now + every
        for mover in movers:
            mover.move(every, now)
        core.advance(now)
        hear(core, movers)


def column(core, name, mover):
    return core.pending.column(name)[mover.known.place]


def test_nobody_waits_for_one_that_reaches_a_part_of_its_grant():
    """100 MB/s granted and 4 reached, in twelve rounds of 0.2 s: B would wait for all of them, 2.4 s."""
    core = Core("coordinating:metric=io-time", 100 * MB)
    a, b = Mover(core, "a", 4 * MB), Mover(core, "b", 100 * MB)
    a.post(9.6 * MB, rounds=12)
    run(core, 0.1, a, b)
    b.post(96 * MB, rounds=12)
    hear(core, [a, b])
    assert (a.rate, b.rate) == (100 * MB, 0.0)  # by what is announced, A takes 0.1 s
    run(core, 0.3, a, b)
    assert a.moved < 2 * MB
    assert (a.rate, b.rate) == pytest.approx((5 * MB, 95 * MB))


def test_remaining_volume_is_what_was_reported_and_runs_down_at_what_is_reached():
    core = Core("fcfs", 100.0)
    a = Mover(core, "a", 4.0)
    a.post(1000.0)
    run(core, 1.0, a)
    assert column(core, "remaining", a) == pytest.approx(996.0)
    core.advance(6.0)
    assert column(core, "remaining", a) == pytest.approx(976.0)  # 5 s without a report, not 500 bytes
    assert column(core, "allowed", a) == pytest.approx(600.0)
    assert column(core, "reach", a) == pytest.approx(4.0 * ROOM)


def test_one_that_reaches_its_grant_is_not_limited():
    core = Core("fair-share", 100.0)
    a, b = (Mover(core, name, 1000.0) for name in "ab")
    a.post(1e6)
    b.post(1e6)
    run(core, 2.0, a, b)
    assert [column(core, name, a) for name in ("reach", "reached")] == [0.0, 0.0]
    decisions = core.decider.decisions
    run(core, 2.0, a, b)
    assert core.decider.decisions == decisions  # reports that say nothing new


def test_one_stall_or_burst_decides_nothing_for_long():
    core = Core("fcfs", 100.0)
    a = Mover(core, "a", 1000.0)
    a.post(1e6)
    run(core, 1.0, a)
    a.speed = 1.0
    run(core, 0.3, a)
    a.speed = 1000.0
    run(core, 2.0, a)
    assert column(core, "reach", a) == 0.0


def test_what_is_learned_holds_for_the_next_operation_and_can_be_unlearned():
    core = Core("coordinating", 100.0)
    a = Mover(core, "a", 4.0)
    a.post(8.0)
    run(core, 2.5, a)
    assert a.volume == 0.0
    a.post(1e6)
    hear(core, [a])
    assert column(core, "reach", a) == pytest.approx(5.0)
    a.speed = 1000.0
    run(core, 3.0, a)
    assert column(core, "reach", a) == 0.0
    assert a.rate == 100.0


def test_a_client_that_reports_only_at_the_ends_of_rounds_is_measured_over_a_round():
    core = Core("fcfs", 100.0)
    a = Mover(core, "a", 4.0)
    a.post(1000.0, rounds=10)
    run(core, 10.0, a, every=5.0)
    assert column(core, "reached", a) == pytest.approx(4.0)


def test_reports_without_progress_are_no_samples():
    core = Core("fcfs", 100.0)
    a = Mover(core, "a", 0.0)
    a.post(1000.0)
    run(core, 2.0, a)
    assert column(core, "reach", a) == 0.0
