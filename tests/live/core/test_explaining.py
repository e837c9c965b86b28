"""Why an application waits: the words name who is before it, the numbers are those the policy goes by."""

from __future__ import annotations

import pytest

from penstock.live.core.clients import NO_PLACE
from penstock.live.core.core import Core
from penstock.live.core.events import DisconnectEvent, InformEvent, RegisterEvent, ReleaseEvent, YieldEvent
from penstock.live.core.explaining import explain, outlook


def core_of(policy, *volumes, bandwidth=10.0):
    """Applications that post operations one second after the other, everybody yielding at once."""
    core = Core(policy, bandwidth)
    members = [core.enter(0.0, RegisterEvent(f"job{index}")) for index in range(len(volumes))]
    for date, (member, volume) in enumerate(zip(members, volumes, strict=True)):
        core.enter(float(date), InformEvent(member, 1, volume))
        settle(core, float(date))
    return core, members


def settle(core, now):
    while instructions := core.handle(now):
        for grant in instructions.grants:
            core.enter(now, YieldEvent(grant.client, grant.number))


def test_who_is_served_first():
    core, (first, second, third) = core_of("fcfs", 100.0, 50.0, 20.0)
    told = explain(core, third)
    assert told["reason"] == "'job2' waits: fcfs serves 'job0' first (the earliest posted operation first)"
    # At 2 s, 80 of 100 bytes are left of the first, then 50 of the second: (80 + 50) / 10.
    assert told["forecast"] == pytest.approx(13.0)
    assert told["columns"] == ["posted ago", "remaining"]
    assert [(row["job"], row["rate"], row["posted ago"], row["remaining"]) for row in told["under_way"]] == [
        ("job0", 10.0, 2.0, pytest.approx(80.0)),
        ("job1", 0.0, 1.0, 50.0),
        ("job2", 0.0, 0.0, 20.0),
    ]
    assert explain(core, first)["reason"] == "'job0' has all it can use, 10 bytes/s"
    assert explain(core, first)["forecast"] is None
    assert explain(core, second)["forecast"] == pytest.approx(8.0)


def test_a_share():
    core, (first, _) = core_of("fair-share", 100.0, 100.0)
    assert explain(core, first)["reason"] == "'job0' has 5 of the 10 bytes/s it can use; 1 others are under way"


def test_yields_are_shown_where_they_decide():
    core, (_, second) = core_of("greedy-yield", 100.0, 50.0)
    told = explain(core, second)
    assert told["columns"] == ["posted ago", "remaining", "progress", "running for", "yield"]
    assert {row["job"]: row["yield"] for row in told["under_way"]} == {"job0": 1.0, "job1": 1.0}


def test_who_has_to_yield_is_named():
    core = Core("fair-share", 10.0)
    first, second = (core.enter(0.0, RegisterEvent(name)) for name in ("first", "second"))
    core.enter(0.0, InformEvent(first, 1, 100.0))
    core.handle(0.0)
    core.enter(1.0, InformEvent(second, 1, 100.0))
    core.handle(1.0)
    assert explain(core, second)["reason"] == "'second' is to have 5 bytes/s and waits for 'first' to yield"
    assert explain(core, first)["reason"].startswith("'first' has all it can use")  # it may still use it
    core.enter(2.0, DisconnectEvent(first))
    assert explain(core, first)["reason"] == "'first' has no connection; unless it comes back, its place is free in 8.0 s"


def test_who_does_no_io():
    core = Core("fcfs", 10.0)
    one = core.enter(0.0, RegisterEvent("one"))
    core.handle(3.0)
    assert explain(core, one)["reason"] == "'one' does no I/O; it works since 3.0 s"
    core.enter(3.0, InformEvent(one, 1, 5.0))
    core.handle(3.0)
    core.handle(20.0)
    assert explain(core, one)["reason"] == "'one' has lost its place, silent since 17.0 s; it may come back"


def test_by_number_and_by_name():
    core = Core("fcfs", 10.0)
    first, second, third = (core.enter(0.0, RegisterEvent(name)) for name in ("same", "same", "1"))
    assert core.registry.find("same")[0] is second
    assert core.registry.find("1")[0] is first
    assert core.registry.find("3")[0] is third
    assert core.registry.find("nobody") == []


class TestOutlook:
    """What an application is told before it posts an operation."""

    def test_who_is_before_it(self):
        core, (_, _, asking) = core_of("fcfs", 100.0, 50.0, 20.0)
        core.enter(2.0, ReleaseEvent(asking, 1))
        settle(core, 2.0)
        # At 2 s, 80 of 100 bytes are left of the first and 50 of the second. Then its own 30 bytes take 3 s.
        assert outlook(core, asking, 30.0, 1) == (1, 1, pytest.approx((13.0, 16.0)))

    def test_nothing_is_posted(self):
        core, (_, asking) = core_of("fair-share", 100.0, 40.0)
        core.enter(1.0, ReleaseEvent(asking, 1))
        settle(core, 1.0)
        before = core.view().remaining.copy()
        # Both at 5 bytes/s: its 40 bytes take 8 s beside the 90 that the other has left.
        assert outlook(core, asking, 40.0, 4) == (1, 0, pytest.approx((0.0, 8.0)))
        assert asking.place == NO_PLACE
        assert asking.operation is None
        assert core.view().remaining.tolist() == before.tolist()

    def test_an_operation_that_is_pending(self):
        core, (first, second) = core_of("fcfs", 100.0, 50.0)
        assert outlook(core, second, 1e6, 1) == (1, 1, pytest.approx((9.0, 14.0)))
        assert outlook(core, first, 0.0, 1) == (1, 1, pytest.approx((0.0, 9.0)))

    def test_who_does_io_and_nothing_else(self):
        core, (_, asking) = core_of("fair-share", 100.0, 40.0)
        core.enter(1.0, ReleaseEvent(asking, 1))
        settle(core, 1.0)
        assert outlook(core, asking, 0.0, 1) == (1, 0, (None, None))
