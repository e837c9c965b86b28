"""Policies that plan ahead, live: the order is kept, and nobody waits for the turn of one who is gone."""

from __future__ import annotations

import pytest

from penstock.live.core.core import Core
from penstock.live.core.deciding import PlannedOrder
from penstock.live.core.events import (
    BeatEvent,
    DisconnectEvent,
    InformEvent,
    JoinEvent,
    LeaveEvent,
    Refused,
    RegisterEvent,
    ReleaseEvent,
    YieldEvent,
)
from penstock.live.core.limits import Limits
from penstock.model import Application, InputError, Platform, Workload
from penstock.policies import find

ORDER = "periodic-fifo"


@pytest.fixture
def workload():
    """Three applications with two operations each; the fixed order is a, b, c, a, b, c."""
    chains = {"a": 1.0, "b": 2.0, "c": 3.0}
    members = [Application.of(name, [("work", work), ("io", 10.0)] * 2) for name, work in chains.items()]
    return Workload(Platform(10.0), tuple(members))


def turns(order):
    return {name: [order.turn(name, k) for k in range(2)] for name in "abc"}


def test_turns_among_those_that_are_left(workload):
    order = PlannedOrder(find(ORDER), workload)
    assert turns(order) == {"a": [0, 3], "b": [1, 4], "c": [2, 5]}
    order.mark_done("a", 0, 1)
    assert turns(order) == {"a": [0, 2], "b": [0, 3], "c": [1, 4]}
    order.mark_departed("b")
    assert turns(order) == {"a": [0, 1], "b": [-1, -1], "c": [0, 2]}
    assert order.turn("nobody", 0) == -1


def rates(core, now):
    """Everybody yields at once; what each may use by job."""
    while instructions := core.handle(now):
        for grant in instructions.grants:
            core.enter(now, YieldEvent(grant.client, grant.number))
    return {owner.job: owner.in_force for owner in core.pending.owners}


def test_nobody_waits_for_the_turn_of_one_who_left(workload):
    core = Core(ORDER, 10.0, workload=workload)
    a, b, c = (core.enter(0.0, RegisterEvent(name)) for name in "abc")
    core.enter(1.0, InformEvent(b, 1, 10.0))
    core.enter(1.0, InformEvent(c, 1, 10.0))
    assert rates(core, 1.0) == {"b": 0.0, "c": 0.0}  # a is first, and does not ask yet
    core.enter(2.0, LeaveEvent(a))
    assert rates(core, 2.0) == {"b": 10.0, "c": 0.0}
    core.enter(3.0, ReleaseEvent(b, 1))
    assert rates(core, 3.0) == {"c": 10.0}
    core.enter(4.0, ReleaseEvent(c, 1))
    core.enter(5.0, InformEvent(c, 2, 10.0))
    assert rates(core, 5.0) == {"c": 0.0}
    core.enter(12.0, BeatEvent(c))
    assert rates(core, 12.5) == {"c": 0.0}
    assert rates(core, 13.5) == {"c": 10.0}  # b was last heard of at 3 s, more than a lease ago
    assert core.registry.departed == ["a", "b"]


def test_an_order_begun_late_goes_on_from_what_is_done(workload):
    core = Core("fair-share", 10.0, workload=workload)
    a, b, c = (core.enter(0.0, RegisterEvent(name)) for name in "abc")
    for operation in (1, 2):
        core.enter(operation, InformEvent(c, operation, 10.0))
        rates(core, operation)
        core.enter(operation + 0.5, ReleaseEvent(c, operation))
    core.set_policy(3.0, ORDER)
    core.enter(4.0, InformEvent(b, 1, 10.0))
    assert rates(core, 4.0) == {"b": 0.0}
    core.enter(5.0, InformEvent(a, 1, 10.0))
    assert rates(core, 5.0) == {"b": 0.0, "a": 10.0}
    core.enter(6.0, ReleaseEvent(a, 1))
    assert rates(core, 6.0) == {"b": 10.0}
    # After a restart the order goes on, without those who had left.
    core.enter(6.5, LeaveEvent(c))
    again = Core(ORDER, 10.0, workload=workload, now=7.0)
    again.restore(core.registry.clients.values(), core.registry.departed)
    again.enter(7.0, JoinEvent(b, 1))
    again.enter(7.0, InformEvent(b, 1, 10.0, moved=5.0))
    assert rates(again, 7.0) == {"b": 10.0}


def test_who_is_not_planned_is_refused(workload):
    core = Core(ORDER, 10.0, workload=workload)
    with pytest.raises(Refused, match="'stranger' is not in the workload that the policy periodic-fifo plans for"):
        core.enter(0.0, RegisterEvent("stranger"))
    core.set_policy(0.0, "fair-share")
    stranger = core.enter(0.0, RegisterEvent("stranger"))
    with pytest.raises(InputError, match="it serves the applications of its workload only, and 'stranger' is not one"):
        core.set_policy(1.0, ORDER)
    core.enter(2.0, LeaveEvent(stranger))
    core.set_policy(3.0, ORDER)
    a = core.enter(3.0, RegisterEvent("a"))
    for operation in (1, 2):
        core.enter(4.0 + operation, InformEvent(a, operation, 10.0))
        core.enter(4.5 + operation, ReleaseEvent(a, operation))
    with pytest.raises(Refused, match="no further operation of 'a' is in the plan of periodic-fifo"):
        core.enter(8.0, InformEvent(a, 3, 10.0))


def test_who_was_away_and_comes_back_has_its_turn_again(workload):
    core = Core(ORDER, 10.0, workload=workload)
    a, b, c = (core.enter(0.0, RegisterEvent(name)) for name in "abc")
    core.enter(1.0, InformEvent(a, 1, 10.0))
    assert rates(core, 1.0) == {"a": 10.0}
    for other in (b, c):
        core.enter(9.0, BeatEvent(other))
    assert rates(core, 11.5) == {}  # a is silent for a lease
    core.enter(12.0, JoinEvent(a, 1))
    core.enter(12.0, InformEvent(a, 1, 10.0, moved=2.0))
    assert rates(core, 12.0) == {"a": 10.0}
    assert core.registry.departed == []


def test_when_all_have_left_the_order_begins_anew(workload):
    core = Core(ORDER, 10.0, workload=workload)
    for _ in range(2):
        members = [core.enter(core.now, RegisterEvent(name)) for name in "abc"]
        core.enter(core.now, InformEvent(members[0], 1, 10.0))
        assert rates(core, core.now) == {"a": 10.0}
        for member in members:
            core.enter(core.now + 1.0, LeaveEvent(member))
        assert core.registry.departed == []


def test_a_stranger_cannot_take_a_planned_name(workload):
    core = Core(ORDER, 10.0, workload=workload)
    a, b = (core.enter(0.0, RegisterEvent(name, uid=1)) for name in "ab")
    with pytest.raises(Refused, match=r"^'a' is planned, and another user has registered it; expected another name$"):
        core.enter(0.0, RegisterEvent("a", uid=2))
    with pytest.raises(Refused, match=r"^'a' is planned once, and application 1 has that name; expected another$"):
        core.enter(0.0, RegisterEvent("a", uid=1))
    core.enter(1.0, InformEvent(b, 1, 10.0))
    core.enter(1.0, InformEvent(a, 1, 10.0))
    assert rates(core, 1.0) == {"b": 0.0, "a": 10.0}
    core.enter(2.0, LeaveEvent(a))
    core.enter(2.0, RegisterEvent("a", uid=2))  # the name is free again


def test_only_the_user_of_the_plan_has_its_names(workload):
    core = Core(ORDER, 10.0, workload=workload, limits=Limits(planned_uid=1))
    with pytest.raises(Refused, match=r"^'a' is planned for user 1; expected another name, or that user$"):
        core.enter(0.0, RegisterEvent("a", uid=2))
    core.enter(0.0, RegisterEvent("a", uid=1))


def test_a_job_that_was_started_again_has_its_name_again(workload):
    core = Core(ORDER, 10.0, workload=workload)
    a, b = (core.enter(0.0, RegisterEvent(name, uid=1)) for name in "ab")
    core.enter(1.0, InformEvent(a, 1, 10.0))
    assert rates(core, 1.0) == {"a": 10.0}
    core.enter(2.0, DisconnectEvent(a))
    again = core.enter(2.0, RegisterEvent("a", uid=1))
    core.enter(2.0, InformEvent(again, 1, 10.0))
    core.enter(2.0, InformEvent(b, 1, 10.0))
    for now in (5.0, 9.0, 12.5):
        for member in (again, b):
            core.enter(now, BeatEvent(member))
        rates(core, now)
    assert {owner.number: owner.in_force for owner in core.pending.owners} == {again.number: 10.0, b.number: 0.0}
    assert core.registry.departed == []


def test_a_second_job_of_that_name_is_not_the_planned_one(workload):
    """Under a policy that serves anybody it is served, and the order does not count it."""
    core = Core("johnson", 10.0, workload=workload)
    a, twin = (core.enter(0.0, RegisterEvent("a", uid=1)) for _ in range(2))
    core.enter(1.0, InformEvent(twin, 1, 10.0))
    core.enter(1.0, InformEvent(a, 1, 10.0))
    rates(core, 1.0)
    assert (a.in_force, twin.in_force) == (10.0, 0.0)
    core.enter(2.0, LeaveEvent(twin))
    assert core.registry.departed == []
    core.enter(2.0, RegisterEvent("a", uid=1))
    with pytest.raises(InputError, match="it serves the applications of its workload only, and 'a' is not one"):
        core.set_policy(3.0, ORDER)


def test_a_restart_parks_who_is_not_planned(workload):
    core = Core("fair-share", 10.0, workload=workload)
    a, stranger = (core.enter(0.0, RegisterEvent(name)) for name in ("a", "stranger"))
    for member in (a, stranger):
        core.enter(0.0, InformEvent(member, 1, 1000.0))
    assert rates(core, 0.0) == {"a": 5.0, "stranger": 5.0}
    again = Core(ORDER, 10.0, workload=workload, now=1.0)
    assert again.restore(core.registry.clients.values()) == [stranger]
    again.enter(1.0, JoinEvent(a, 1))
    again.enter(1.0, InformEvent(a, 1, 1000.0))
    assert rates(again, 1.0) == {"a": 5.0, "stranger": 5.0}  # which it may still be using
    with pytest.raises(Refused, match="'stranger' is not in the workload that the policy periodic-fifo plans for"):
        again.enter(2.0, JoinEvent(stranger, 1))
    again.enter(9.0, BeatEvent(a))
    assert rates(again, 11.0) == {"a": 10.0}
    again.set_policy(12.0, "fair-share")
    again.enter(12.0, JoinEvent(stranger, 1))
    again.enter(12.0, InformEvent(stranger, 1, 1000.0))
    assert rates(again, 12.0)["stranger"] == 5.0
