"""A core that observes decides and records, and holds nobody back."""

from __future__ import annotations

from penstock.live.core.core import Core
from penstock.live.core.events import BeatEvent, InformEvent, RegisterEvent, ReleaseEvent, ReportEvent
from penstock.live.core.limits import Limits
from penstock.live.core.measuring import UNLIMITED


def observing(policy, *jobs, **options):
    core = Core(policy, 100.0, observe=True, **options)
    return core, [core.enter(0.0, RegisterEvent(job)) for job in jobs]


def withheld(instructions):
    return [(grant.client.job, grant.rate) for grant in instructions.withheld]


def test_everybody_is_granted_all_at_once_and_what_would_have_been_is_told():
    core, (a, b) = observing("fcfs", "a", "b")
    first = core.handle(0.0, InformEvent(a, 1, 1000.0))
    assert [(grant.client, grant.rate) for grant in first.grants] == [(a, UNLIMITED)]
    assert withheld(first) == [("a", 100.0)]
    second = core.handle(1.0, InformEvent(b, 1, 1000.0))
    assert [(grant.client, grant.rate) for grant in second.grants] == [(b, UNLIMITED)]
    assert withheld(second) == []  # it would have waited
    third = core.handle(2.0, ReleaseEvent(a, 1))
    assert third.grants == []
    assert withheld(third) == [("b", 100.0)]


def test_a_client_is_granted_what_it_can_use():
    core = Core("fair-share", 100.0, observe=True)
    slow = core.enter(0.0, RegisterEvent("slow", bandwidth=7.0))
    (grant,) = core.handle(0.0, InformEvent(slow, 1, 1000.0)).grants
    assert grant.rate == 7.0


def test_the_policy_sees_what_it_would_have_granted():
    """Under exclusive access who has the link keeps it; what really moves does not count."""
    core, (a, b) = observing("fifo", "a", "b")
    core.handle(0.0, InformEvent(a, 1, 1000.0))
    core.handle(1.0, InformEvent(b, 1, 10.0))
    assert core.pending.column("withheld").tolist() == [100.0, 0.0]
    core.handle(2.0, ReportEvent(b, 1, 5.0))
    assert core.pending.column("withheld").tolist() == [100.0, 0.0]


def test_nobody_overruns_stalls_or_is_warned_of():
    core, (a,) = observing("fair-share", "a", lease=5.0)
    core.handle(0.0, InformEvent(a, 1, 1000.0))
    for second in range(1, 60):
        core.enter(float(second), BeatEvent(a))
        told = core.handle(float(second))
        assert not told.forgets
    core.handle(60.0, ReportEvent(a, 1, 1000.0))
    assert (core.overruns, core.warning) == (0, None)
    assert a.connected


def test_who_moves_more_than_it_can_is_not_punished():
    """It was told to use what it can; whether its own figure was right is not the coordinator's matter."""
    core, (a,) = observing("fair-share", "a", lease=5.0, limits=Limits(lowered_after=1, barred_after=2))
    core.handle(0.0, InformEvent(a, 1, 1e9, rounds=10**6))
    for second in range(1, 10):
        told = core.handle(float(second), ReportEvent(a, 1, 1e8 * second))
        assert (told.warnings, told.forgets) == ([], [])
    assert (core.overruns, a.overruns) == (0, 0)
