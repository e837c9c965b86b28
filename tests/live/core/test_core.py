"""The coordinator's core: in virtual time it does what the engine does, and grants never exceed B."""

from __future__ import annotations

import doctest
import math
import re
from dataclasses import replace
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.engine import dedicated, simulate
from penstock.engine.information import AHEAD, PREDICTED, TRUE
from penstock.live.core import core as core_module
from penstock.live.core.core import Core
from penstock.live.core.events import (
    BeatEvent,
    ForgetInstruction,
    InformEvent,
    RegisterEvent,
    ReleaseEvent,
    ReportEvent,
    YieldEvent,
)
from penstock.live.core.limits import NO_LIMITS, Limits
from penstock.live.core.pending import check_posting
from penstock.live.protocol import INVALID
from penstock.model import Degradation
from penstock.policies import REGISTRY, find
from penstock.policies.policy import STATIC, Policy
from penstock.policies.view import COLUMNS, POSTING
from tests.live.core.virtual import VirtualTime
from tests.naive.compare import close
from tests.naive.informed import Learned
from tests.naive.machine import NaiveRun
from tests.naive.profiles import examples
from tests.naive.strategies import cyclic_workloads, suited, workloads

LEARNERS = [n for n, p in REGISTRY.items() if set(p.needs) & AHEAD and p.family != STATIC and n != "best-next-event"]
"""Policies that are shown predictions."""
NEVER_STRIKE = Limits(longest_turn=1e15, longest_round=1e15, max_nodes=1e15, max_elapsed_claim=1e15)


@pytest.mark.parametrize("limits", [NO_LIMITS, NEVER_STRIKE], ids=["without limits", "with limits that never strike"])
@pytest.mark.parametrize("name", REGISTRY)
@examples(16)
@given(workload=workloads(), reports=st.booleans())
def test_in_virtual_time_it_is_the_engine(name, limits, workload, reports):
    check_virtual_time(name, suited(name, workload), reports, limits)


@pytest.mark.parametrize("name", ["fair-share", "interfering", "coordinating", "fcfs", "interrupting"])
@examples(16)
@given(workloads(), st.sampled_from([{2: 0.5}, {4: 0.84}, {2: 0.75, 3: 0.5}]))
def test_on_a_link_that_degrades_too(name, workload, degradation):
    platform = replace(workload.platform, degradation=Degradation.of(degradation))
    check_virtual_time(name, suited(name, replace(workload, platform=platform)), reports=True)


@pytest.mark.parametrize("name", LEARNERS)
@examples(16)
@given(workload=workloads(), reports=st.booleans())
def test_on_predictions_it_is_the_engine_on_predictions(name, workload, reports):
    check_virtual_time(name, workload, reports, information=PREDICTED)


@pytest.mark.parametrize("name", ["set-10", "johnson"])
@examples(72)
@given(workload=cyclic_workloads(), reports=st.booleans())
def test_it_finds_the_phases_that_the_engine_finds(name, workload, reports):
    check_virtual_time(name, workload, reports, information=PREDICTED)


def check_virtual_time(name, begun, reports, limits=NO_LIMITS, information=TRUE):
    """Clients that reach what they are granted, whether they report or not, end when the engine says."""
    twins = {TRUE: NaiveRun, PREDICTED: Learned}
    delta = dedicated(begun).default_delta if REGISTRY[name].periodic else None
    twin = twins[information](begun, name, delta=delta).run()
    assume(not (twin.doubtful or twin.edge))
    result = simulate(begun, name, information=information)
    virtual = VirtualTime(begun, name, limits=limits, reports=reports, predicted=information == PREDICTED)
    virtual.run()
    assert virtual.most <= begun.platform.bandwidth * (1.0 + 1e-12)
    for mine, client in zip(result.applications, virtual.clients, strict=True):
        assert (math.nan if mine.end is None else mine.end) == pytest.approx(client.end, rel=1e-9, abs=1e-9, nan_ok=True)
        if mine.end is None and client.known is not None:
            virtual.core.handle(result.end)
            assert virtual.core.progress(client.known) == close(mine.progress)
            assert client.known.operations == mine.operations


def test_a_column_that_posting_lacks_is_refused():
    filled = {name for name, column in COLUMNS.items() if column.filled == POSTING}
    check_posting(filled)
    with pytest.raises(TypeError, match="Posting lacks new; expected a field for each"):
        check_posting(filled | {"new"})


def test_the_example_runs():
    assert doctest.testmod(core_module).failed == 0


def test_the_program_on_the_page_runs():
    page = (Path(__file__).parents[3] / "docs/coordinator.md").read_text(encoding="utf-8")
    _, program = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names = {}
    exec(program, names)
    assert names["first"].rate == 10.0
    assert [(grant.client.job, grant.rate) for grant in names["told"]] == [("b", 0.0), ("a", 5.0)]
    assert [(grant.client.job, grant.rate) for grant in names["shared"]] == [("b", 5.0)]


def test_refused_events_do_not_keep_others_from_being_handled():
    core = Core("fair-share", 10.0)
    a, b = (core.enter(0.0, RegisterEvent(job)) for job in "ab")
    wrong = InformEvent(a, 1, volume=0.0)
    told = core.handle(0.0, wrong, InformEvent(b, 1, volume=100.0), RegisterEvent("c", bandwidth=0.0))
    assert [(grant.client, grant.operation, grant.rate) for grant in told.grants] == [(b, 1, 10.0)]
    assert [(refusal.event, refusal.code) for refusal in told.refusals] == [(wrong, INVALID), (mock.ANY, INVALID)]
    assert told.refusals[0].text == "operation 1 has no volume; expected bytes above 0"
    assert told.forgets == []


def test_a_policy_is_shown_the_present_date_and_link():
    core = Core("set-10", 5.0)
    core.enter(1.0, InformEvent(core.enter(0.0, RegisterEvent("first")), 1, 10.0))
    core.enter(3.0, ReleaseEvent(core.registry.clients[1], 1))
    shown = core.view()
    assert (shown.now, shown.bandwidth, shown.window_end, shown.completed) == (3.0, 5.0, math.inf, 1)
    assert shown.parameter == core.policy.value


def test_the_first_application_does_not_wait_for_the_policy_to_be_loaded(monkeypatch):
    fresh = [replace(find(name), _compiled={}) for name in ("set-10", "greedy-yield")]
    core = Core(fresh[0], 1.0)
    core.set_policy(0.0, fresh[1])
    monkeypatch.setattr(Policy, "_compile", lambda self: pytest.fail(f"{self.name} is loaded when it is asked"))
    core.enter(1.0, InformEvent(core.enter(0.0, RegisterEvent("first")), 1, 10.0))
    (grant,) = core.handle(1.0).grants
    assert grant.rate == 1.0


def beating(core, until, *members, every=1.0, reports=None):
    """All beat and keep to their grants; `reports`: bytes that a job reports more each time. Returns who was forgotten."""
    told: list[ForgetInstruction] = []
    while core.now < until:
        now = core.now + every
        for member in members:
            if member.number in core.registry.clients and member.connected:
                core.enter(now, BeatEvent(member))
                if reports and member.job in reports and member.operation is not None:
                    core.enter(
                        now, ReportEvent(member, member.operation.number, member.operation.moved + reports[member.job])
                    )
        instructions = core.handle(now)
        told += instructions.forgets
        for grant in instructions.grants:
            core.enter(now, YieldEvent(grant.client, grant.number))
    return told


def two_in_turn():
    """Of 1,000 bytes at 10 bytes/s in 10 rounds each, one after the other."""
    core = Core("fcfs", 10.0, lease=5.0)
    members = [core.enter(0.0, RegisterEvent(name)) for name in ("first", "second")]
    for member in members:
        core.enter(0.0, InformEvent(member, 1, 1000.0, rounds=10))
    core.handle(0.0)
    return core, members


def test_a_client_that_beats_but_moves_nothing_loses_its_place():
    core, (first, second) = two_in_turn()
    # It should have moved all, and 5 % and a round more, after 115 s; it never moved since 0 s.
    assert not beating(core, 114.0, first, second)
    (forgotten,) = beating(core, 117.0, first, second)
    assert forgotten.client is first
    assert "it has moved nothing for " in forgotten.reason
    assert (first.in_force, second.in_force) == (0.0, 10.0)


def test_a_slow_client_keeps_its_place():
    core, (first, second) = two_in_turn()
    assert not beating(core, 400.0, first, second, reports={"first": 1.0})
    assert (first.in_force, second.in_force) == (10.0, 0.0)


def test_a_wider_link_widens_what_restored_applications_can_use():
    core = Core("fcfs", 10.0)
    member = core.enter(0.0, RegisterEvent("wide", bandwidth=50.0))
    assert member.cap == 10.0
    wider = Core("fcfs", 40.0)
    wider.restore([member])
    assert member.cap == 40.0


def told(core: Core, now: float) -> dict[str, float]:
    return {grant.client.job: grant.rate for grant in core.handle(now).grants}


def test_small_changes_of_a_rate_are_deferred():
    """Six share 60, one after the other, and all yield at once; min_update_interval is 1 s."""
    core = Core("fair-share", 60.0, min_update_interval=1.0)
    members = [core.enter(0.0, RegisterEvent(f"{number}")) for number in range(1, 7)]
    core.enter(0.0, InformEvent(members[0], 1, 1e6))
    core.enter(0.0, InformEvent(members[1], 1, 1e6))
    assert told(core, 0.0) == {"1": 30.0, "2": 30.0}
    core.enter(0.1, InformEvent(members[2], 1, 1e6))
    assert told(core, 0.1) == {"3": 0.0, "1": 20.0, "2": 20.0}  # a third less is much
    for member in members[:2]:
        core.enter(0.1, YieldEvent(member, member.grant_number))
    assert told(core, 0.1) == {"3": 20.0}
    core.enter(0.2, InformEvent(members[3], 1, 1e6))
    assert told(core, 0.2) == {"4": 0.0, "1": 15.0, "2": 15.0, "3": 15.0}  # and so is a fourth
    for member in members[:3]:
        core.enter(0.2, YieldEvent(member, member.grant_number))
    assert told(core, 0.2) == {"4": 15.0}
    core.enter(0.3, InformEvent(members[4], 1, 1e6))
    assert told(core, 0.3) == {"5": 0.0}
    assert core.next_date() == 1.2
    assert told(core, 1.1) == {}
    core.enter(1.15, InformEvent(members[5], 1, 1e6))
    assert told(core, 1.15) == {"6": 0.0, "1": 10.0, "2": 10.0, "3": 10.0, "4": 10.0}
    core.enter(1.16, ReleaseEvent(members[5], 1))
    assert told(core, 1.16) == {}
    for member in members[:4]:
        core.enter(1.17, YieldEvent(member, member.grant_number))
    assert told(core, 1.17) == {"5": 12.0}
    assert told(core, 2.1) == {}
    assert told(core, 2.15) == {"1": 12.0, "2": 12.0, "3": 12.0, "4": 12.0}


def test_a_pause_and_its_end_are_not_deferred():
    core = Core("interrupting", 90.0, min_update_interval=1.0)
    first, second = core.enter(0.0, RegisterEvent("first")), core.enter(0.0, RegisterEvent("second"))
    core.enter(0.0, InformEvent(first, 1, 1e6))
    assert told(core, 0.0) == {"first": 90.0}
    core.enter(0.1, InformEvent(second, 1, 1e3))
    assert told(core, 0.1) == {"first": 0.0, "second": 0.0}
    core.enter(0.2, YieldEvent(first, first.grant_number))
    assert told(core, 0.2) == {"second": 90.0}
    core.enter(0.3, ReleaseEvent(second, 1))
    assert told(core, 0.3) == {"first": 90.0}


def test_a_client_that_waited_longer_than_a_lease_has_a_lease_to_start():
    """Also where its grant allows all of it in a moment."""
    core = Core("fifo", 10.0, lease=10.0)
    first, second = core.enter(0.0, RegisterEvent("first")), core.enter(0.0, RegisterEvent("second"))
    core.enter(0.0, InformEvent(first, 1, 1e6))
    core.enter(0.0, InformEvent(second, 1, 1e-3))
    core.handle(0.0)
    for now in range(1, 30):
        core.enter(float(now), ReportEvent(first, 1, 10.0 * now))
        core.enter(float(now), BeatEvent(second))
        core.handle(float(now))
    core.enter(30.0, ReleaseEvent(first, 1))
    assert told(core, 30.0) == {"second": 10.0}
    for member in (first, second):
        core.enter(39.0, BeatEvent(member))
    assert not core.handle(39.9)
    (forget,) = core.handle(40.1).forgets
    assert forget.client is second


def test_a_higher_rate_is_no_reason_to_count_as_stalled():
    """Its round takes 100 s at 10 bytes/s. At 1,000 bytes/s it would have taken 1 s, but it is under way since before."""
    core = Core("fair-share", 1000.0, lease=5.0)
    slow = core.enter(0.0, RegisterEvent("slow"))
    core.enter(0.0, InformEvent(slow, 1, 1000.0))
    core.handle(0.0)
    others = [core.enter(2.2, RegisterEvent(f"other{number}")) for number in range(99)]
    for member in others:
        core.enter(2.2, InformEvent(member, 1, 1e9))
    beating(core, 50.0, slow, *others)
    assert (slow.in_force, slow.connected) == (pytest.approx(10.0), True)
    for member in others:
        core.enter(core.now, ReleaseEvent(member, 1))
    assert told(core, core.now) == {"slow": 1000.0}
    assert core.next_date() > core.now
    assert not core.handle(core.now + 0.9).forgets
    (forget,) = core.handle(core.now + 1.1).forgets
    assert forget.client is slow


class TestWhatAnOperationSays:
    """The most that one operation can use, and what follows it."""

    def test_its_own_bandwidth_is_its_cap(self):
        core = Core("fcfs", 10.0)
        first, second = core.handle(0.0, RegisterEvent("first"), RegisterEvent("second")).registered
        told = core.handle(0.0, InformEvent(first, 1, 100.0, bandwidth=4.0), InformEvent(second, 1, 100.0))
        assert [(grant.client.job, grant.rate) for grant in told.grants] == [("first", 4.0), ("second", 6.0)]
        # Alone it would take 25 s, as it does here: it is not held up.
        core.handle(25.0, ReleaseEvent(first, 1))
        assert core.yield_of(first) == pytest.approx(1.0)
        assert core.handle(25.0, InformEvent(first, 2, 100.0)).refusals == []
        assert first.usable == 10.0

    def test_no_bandwidth_is_refused(self):
        core = Core("fcfs", 10.0)
        (client,) = core.handle(0.0, RegisterEvent("a")).registered
        (refusal,) = core.handle(0.0, InformEvent(client, 1, 100.0, bandwidth=0.0)).refusals
        assert refusal.text == "bandwidth 0.0 of operation 1 is next to none; expected more"

    def test_what_follows_is_kept(self):
        core = Core("fcfs", 10.0)
        (client,) = core.handle(0.0, RegisterEvent("a", group="weather")).registered
        core.handle(0.0, InformEvent(client, 1, 100.0, follows=300.0))
        assert client.operation.follows == 300.0
        assert client.group == "weather"
