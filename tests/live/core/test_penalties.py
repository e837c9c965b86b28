"""Who moves more than it is granted, by its own reports, is warned, then lowered, then barred for a time."""

from __future__ import annotations

import msgspec
import pytest

from penstock.live.core.clients import Client
from penstock.live.core.core import Core
from penstock.live.core.events import InformEvent, JoinEvent, RegisterEvent, ReportEvent, YieldEvent
from penstock.live.core.explaining import explain
from penstock.live.core.limits import Limits

LIMITS = Limits(lowered_after=2, barred_after=3, penalty=60.0)


class Site:
    """A fast client that moves twice what it is granted, and an honest one."""

    def __init__(self, policy="fair-share"):
        self.core = Core(policy, 10.0, lease=10.0, limits=LIMITS)
        self.fast, self.honest = (self.core.enter(0.0, RegisterEvent(job, uid=uid)) for job, uid in (("fast", 1), ("ok", 2)))
        self.moved = {self.fast.number: 0.0, self.honest.number: 0.0}
        for member in (self.fast, self.honest):
            self.core.enter(0.0, InformEvent(member, 1, 1e6, rounds=10**6))
        self.told, self.forgotten = [], []
        self.settle()

    def settle(self):
        while instructions := self.core.handle(self.core.now):
            self.told += [(self.core.now, warning.client.job, warning.text) for warning in instructions.warnings]
            self.forgotten += [(self.core.now, forget.client.job, forget.reason) for forget in instructions.forgets]
            for grant in instructions.grants:
                self.core.enter(self.core.now, YieldEvent(grant.client, grant.number))

    def run(self, until, factor=2.0):
        while self.core.now < until:
            now = self.core.now + 0.5
            for member in (self.fast, self.honest):
                if member.connected and member.operation is not None:
                    times = factor if member is self.fast else 1.0
                    self.moved[member.number] += times * member.in_force * 0.5
                    self.core.enter(now, ReportEvent(member, 1, self.moved[member.number]))
            self.core.advance(now)
            self.settle()


def barred():
    """A site where the fast one was barred a moment ago, and what it was told before checked."""
    site = Site()
    site.run(9.0)
    ((first, job, text),) = site.told
    assert (job, text) == ("fast", "it has moved 2 times what it was granted; it is held back if that goes on")
    assert site.fast.in_force == site.honest.in_force == 5.0
    site.run(first + 10.0)
    assert (
        site.told[-1][2] == "it has moved 2 times what it was granted, 2 times now; it has at most 50% of its cap for 60 s"
    )
    assert (site.fast.in_force, site.honest.in_force) == pytest.approx((10.0 / 3.0, 20.0 / 3.0))
    site.run(first + 20.0)
    ((date, job, reason),) = site.forgotten
    assert (date, job) == (first + 20.0, "fast")
    assert reason == "it has moved 2 times what it was granted, 3 times now; its operations wait for 60 s"
    assert (site.fast.in_force, site.honest.in_force) == (0.0, 10.0)
    return site


def test_warned_then_lowered_then_barred():
    barred()


def test_a_bar_holds_for_who_comes_back_and_ends():
    site = barred()
    core, fast = site.core, site.fast
    now = core.now
    core.enter(now, JoinEvent(fast, 1))
    core.enter(now, InformEvent(fast, 1, 1e6, rounds=10**6, moved=100.0))
    again = core.enter(now, RegisterEvent("new name", uid=1))
    core.enter(now, InformEvent(again, 1, 1e6))
    site.settle()
    assert (fast.in_force, again.in_force, site.honest.in_force) == (0.0, 0.0, 10.0)
    told = explain(core, again)["reason"]
    assert told == "'new name' has moved more than it was granted too often; its operations wait for 60.0 s"
    for step in range(1, 13):
        assert (fast.in_force, again.in_force) == (0.0, 0.0)
        for member in (fast, again, site.honest):
            core.enter(now + 5.0 * step, ReportEvent(member, 1, member.operation.moved))
        site.settle()
    assert core.now == now + 60.0
    assert fast.in_force == again.in_force == site.honest.in_force == pytest.approx(10.0 / 3.0)
    assert core.granted() <= 10.0 * (1 + 1e-12)


def test_who_keeps_to_its_grants_again_starts_anew():
    site = Site()
    site.run(5.0)
    assert len(site.told) == 1
    core = site.core
    for number in range(40):  # what it has moved too much is allowed by then
        now = 5.0 + 2.5 * (number + 1)
        for member in (site.fast, site.honest):
            core.enter(now, ReportEvent(member, 1, site.moved[member.number]))
        core.advance(now)
        site.settle()
    site.moved[site.fast.number] = 1e5
    site.run(core.now + 0.5)
    assert [text.rsplit("; ", 1)[-1] for _, _, text in site.told] == ["it is held back if that goes on"] * 2


def test_reports_within_a_lease_are_one_overrun():
    site = Site()
    site.run(9.5)
    assert site.fast.overruns > 10
    assert site.fast.strikes == 1


def test_an_older_journal_has_no_penalties():
    member = Core("fcfs", 10.0).enter(0.0, RegisterEvent("old", uid=3))
    row = msgspec.msgpack.decode(msgspec.msgpack.encode(member))
    fields = [field.name for field in msgspec.structs.fields(Client)]
    row = row[: fields.index("unseen_since")]
    found = msgspec.msgpack.decode(msgspec.msgpack.encode(row), type=Client)
    core = Core("fcfs", 10.0, limits=LIMITS, now=50.0)
    core.restore([found])
    core.enter(50.0, JoinEvent(found, 0))
    core.enter(50.0, InformEvent(found, 1, 100.0))
    assert [grant.rate for grant in core.handle(50.0).grants] == [10.0]
