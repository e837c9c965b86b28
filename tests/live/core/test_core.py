"""The coordinator's core: in virtual time it is the engine, and whatever happens, what is granted never passes B."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import assume, given

from penstock.engine import dedicated, simulate
from penstock.live.core.clients import ForgetInstruction, GrantInstruction
from penstock.live.core.core import Core
from penstock.live.core.pending import PendingOperations
from penstock.policies import REGISTRY, find
from penstock.policies.policy import Policy
from penstock.policies.view import COLUMNS, POSTING
from tests.live.core.virtual import VirtualTime
from tests.naive.compare import close
from tests.naive.machine import NaiveRun
from tests.naive.profiles import examples
from tests.naive.strategies import suited, workloads


@pytest.mark.parametrize("name", REGISTRY)
@examples(40)
@given(workloads())
def test_in_virtual_time_it_is_the_engine(name, workload):
    begun = suited(name, workload)
    twin = NaiveRun(begun, name, delta=dedicated(begun).default_delta if REGISTRY[name].periodic else None).run()
    assume(not (twin.doubtful or twin.edge))
    result = simulate(begun, name)
    virtual = VirtualTime(begun, name)
    virtual.run()
    assert virtual.most <= begun.platform.bandwidth * (1.0 + 1e-12)
    for mine, client in zip(result.applications, virtual.clients, strict=True):
        assert (math.nan if mine.end is None else mine.end) == pytest.approx(client.end, rel=1e-9, abs=1e-9, nan_ok=True)
        if mine.end is None and client.known is not None:
            virtual.core.decide(result.end)
            assert virtual.core.progress(client.known) == close(mine.progress)
            assert client.known.operations == mine.operations


def test_every_column_that_is_filled_at_posting_is(monkeypatch):
    filled = {}
    monkeypatch.setattr(PendingOperations, "post", lambda self, owner, moved, **values: filled.update(values))
    core = Core("fcfs", 1.0)
    core.inform(1.0, core.register(0.0, "first"), 1, 10.0)
    assert filled.keys() >= {name for name, column in COLUMNS.items() if column.filled == POSTING}


def test_a_policy_is_shown_what_is_the_same_for_all_of_the_present():
    core = Core("set-10", 5.0)
    core.inform(1.0, core.register(0.0, "first"), 1, 10.0)
    core.release(3.0, core.applications[1], 1)
    shown = core.view()
    assert (shown.now, shown.bandwidth, shown.window_end, shown.completed) == (3.0, 5.0, math.inf, 1)
    assert shown.parameter == core.policy.value


def test_the_first_application_does_not_wait_for_the_policy_to_be_loaded(monkeypatch):
    fresh = [replace(find(name), _compiled={}) for name in ("set-10", "greedy-yield")]
    core = Core(fresh[0], 1.0)
    core.set_policy(0.0, fresh[1])
    monkeypatch.setattr(Policy, "_compile", lambda self: pytest.fail(f"{self.name} is loaded when it is asked"))
    core.inform(1.0, core.register(0.0, "first"), 1, 10.0)
    (grant,) = core.decide(1.0)
    assert grant.rate == 1.0


def beating(core, until, *members, every=1.0, reports=None):
    """Everybody gives signs of life and keeps to its grants; `reports` of some tell so many bytes more each time."""
    told = []
    while core.now < until:
        now = core.now + every
        for member in members:
            if member.number in core.applications and member.connected:
                core.alive(now, member)
                if reports and member.job in reports and member.operation is not None:
                    core.report(now, member, member.operation.number, member.operation.moved + reports[member.job])
        for instruction in core.decide(now):
            told.append(instruction)
            if isinstance(instruction, GrantInstruction):
                core.yielded(now, instruction.application, instruction.number)
    return told


def two_in_turn():
    """Of 1,000 bytes at 10 bytes/s in 10 rounds each, one after the other."""
    core = Core("fcfs", 10.0, lease=5.0)
    members = [core.register(0.0, name) for name in ("first", "second")]
    for member in members:
        core.inform(0.0, member, 1, 1000.0, rounds=10)
    core.decide(0.0)
    return core, members


def test_who_hangs_but_gives_signs_of_life_holds_nobody_up():
    core, (first, second) = two_in_turn()
    # It should have moved all, and 5 % and a round more, after 115 s; it never moved since 0 s.
    assert not [one for one in beating(core, 114.0, first, second) if isinstance(one, ForgetInstruction)]
    told = beating(core, 117.0, first, second)
    (forgotten,) = [one for one in told if isinstance(one, ForgetInstruction)]
    assert forgotten.application is first
    assert "it has moved nothing for " in forgotten.reason
    assert (first.in_force, second.in_force) == (0.0, 10.0)


def test_who_is_slow_keeps_its_place():
    core, (first, second) = two_in_turn()
    told = beating(core, 400.0, first, second, reports={"first": 1.0})
    assert not [one for one in told if isinstance(one, ForgetInstruction)]
    assert (first.in_force, second.in_force) == (10.0, 0.0)


def test_a_wider_link_widens_what_restored_applications_can_use():
    core = Core("fcfs", 10.0)
    member = core.register(0.0, "wide", bandwidth=50.0)
    assert member.cap == 10.0
    wider = Core("fcfs", 40.0)
    wider.restore([member])
    assert member.cap == 40.0


def told(core: Core, now: float) -> dict[str, float]:
    return {one.application.job: one.rate for one in core.decide(now) if isinstance(one, GrantInstruction)}


def test_who_was_just_told_a_rate_is_spared_small_changes_for_a_moment():
    """Six share 60, one after the other, and all yield at once; calm is 1 s."""
    core = Core("fair-share", 60.0, calm=1.0)
    members = [core.register(0.0, f"{number}") for number in range(1, 7)]
    core.inform(0.0, members[0], 1, 1e6)
    core.inform(0.0, members[1], 1, 1e6)
    assert told(core, 0.0) == {"1": 30.0, "2": 30.0}
    core.inform(0.1, members[2], 1, 1e6)
    assert told(core, 0.1) == {"3": 0.0, "1": 20.0, "2": 20.0}  # a third less is much
    for member in members[:2]:
        core.yielded(0.1, member, member.grant_number)
    assert told(core, 0.1) == {"3": 20.0}
    core.inform(0.2, members[3], 1, 1e6)
    assert told(core, 0.2) == {"4": 0.0, "1": 15.0, "2": 15.0, "3": 15.0}  # and so is a fourth
    for member in members[:3]:
        core.yielded(0.2, member, member.grant_number)
    assert told(core, 0.2) == {"4": 15.0}
    core.inform(0.3, members[4], 1, 1e6)
    assert told(core, 0.3) == {"5": 0.0}
    assert core.next_date() == 1.2
    assert told(core, 1.1) == {}
    core.inform(1.15, members[5], 1, 1e6)
    assert told(core, 1.15) == {"6": 0.0, "1": 10.0, "2": 10.0, "3": 10.0, "4": 10.0}
    core.release(1.16, members[5], 1)
    assert told(core, 1.16) == {}
    for member in members[:4]:
        core.yielded(1.17, member, member.grant_number)
    assert told(core, 1.17) == {"5": 12.0}
    assert told(core, 2.1) == {}
    assert told(core, 2.15) == {"1": 12.0, "2": 12.0, "3": 12.0, "4": 12.0}


def test_nobody_is_spared_a_pause_and_nobody_waits_to_resume():
    core = Core("interrupting", 90.0, calm=1.0)
    first, second = core.register(0.0, "first"), core.register(0.0, "second")
    core.inform(0.0, first, 1, 1e6)
    assert told(core, 0.0) == {"first": 90.0}
    core.inform(0.1, second, 1, 1e3)
    assert told(core, 0.1) == {"first": 0.0, "second": 0.0}
    core.yielded(0.2, first, first.grant_number)
    assert told(core, 0.2) == {"second": 90.0}
    core.release(0.3, second, 1)
    assert told(core, 0.3) == {"first": 90.0}


def test_who_has_waited_for_longer_than_a_lease_has_a_lease_to_begin():
    """Also where its grant allows all of it in a moment."""
    core = Core("fifo", 10.0, lease=10.0)
    first, second = core.register(0.0, "first"), core.register(0.0, "second")
    core.inform(0.0, first, 1, 1e6)
    core.inform(0.0, second, 1, 1e-3)
    core.decide(0.0)
    for now in range(1, 30):
        core.report(float(now), first, 1, 10.0 * now)
        core.alive(float(now), second)
        core.decide(float(now))
    core.release(30.0, first, 1)
    assert told(core, 30.0) == {"second": 10.0}
    for member in (first, second):
        core.alive(39.0, member)
    assert core.decide(39.9) == []
    (forget,) = core.decide(40.1)
    assert isinstance(forget, ForgetInstruction)
    assert forget.application is second
