"""What is written down is what could have happened, whatever a client says; others' rows do not depend on it."""

from __future__ import annotations

import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.live.core.clients import number_of_name
from penstock.live.core.core import Core
from penstock.live.core.events import (
    BeatEvent,
    DisconnectEvent,
    InformEvent,
    JoinEvent,
    LeaveEvent,
    Refused,
    RegisterEvent,
    ReleaseEvent,
    ReportEvent,
)
from penstock.live.core.limits import Limits
from penstock.live.core.pending import BURST_SECONDS, OVERRUN, Posting
from penstock.live.core.places import PACING_SECONDS
from penstock.live.core.recording import CompletedOperation, as_workload
from tests.naive.profiles import examples

B = 10.0


def posted(volume, rounds=1, cap=None, moved=0.0, policy="fcfs"):
    core = Core(policy, B, lease=100.0)
    member = core.enter(0.0, RegisterEvent("liar", bandwidth=cap))
    core.enter(1.0, InformEvent(member, 1, volume, rounds, moved))
    core.handle(1.0)
    return core, member


def volume_of(core):
    return core.registry.ended[-1].volume


@pytest.mark.parametrize("rounds", [1, 1000])
def test_a_release_counts_for_no_more_than_the_grants_allowed(rounds):
    core, member = posted(1e30, rounds)
    core.enter(3.0, ReleaseEvent(member, 1, moved=1e30))
    allowed = B * 2.0
    assert volume_of(core) == member.moved <= OVERRUN * allowed + B * PACING_SECONDS + B * (2.0 + BURST_SECONDS)
    assert core.progress(member) == 3.0


def test_an_honest_release_counts_in_full():
    core, member = posted(20.0, rounds=4)
    core.enter(3.0, ReleaseEvent(member, 1))
    assert (volume_of(core), member.moved, member.done) == (20.0, 20.0, 3.0)


def test_a_small_operation_that_is_written_at_once_counts_in_full():
    core, member = posted(8.0)
    core.enter(1.0001, ReleaseEvent(member, 1))
    assert volume_of(core) == 8.0
    assert core.progress(member) == pytest.approx(1.0001)


def test_a_join_without_an_operation_counts_for_what_the_grants_allowed():
    core, member = posted(1e12)
    core.enter(2.0, DisconnectEvent(member))
    core.enter(4.0, JoinEvent(member, 0))
    assert volume_of(core) == pytest.approx(B * 3.0)


def test_what_was_moved_before_it_was_posted_here_is_not_in_the_books():
    core, member = posted(1e12, moved=1e12 - 30.0)
    assert core.pending.remaining(member.place) == pytest.approx(1e3)  # the least that is shown: a part of 1e-9
    core.enter(4.0, ReleaseEvent(member, 1))
    assert volume_of(core) == pytest.approx(30.0)
    assert core.progress(member) == pytest.approx(4.0)


def test_what_is_moved_out_of_sight_counts_as_far_as_the_cap_carries_it():
    core, member = posted(1e6, rounds=1000, cap=5.0)
    core.enter(2.0, BeatEvent(member))
    core.enter(2.0, DisconnectEvent(member))
    core.enter(42.0, JoinEvent(member, 1))
    core.enter(42.0, InformEvent(member, 1, 1e6, 1000, moved=200.0))
    assert (member.operation.moved, member.overruns) == (200.0, 0)
    core.enter(42.0, InformEvent(member, 1, 1e6, 1000, moved=9e5))
    assert member.operation.moved < OVERRUN * 5.0 * 42.0 + 1000.0
    assert member.overruns == 1


def test_no_yield_is_above_1():
    core, member = posted(100.0, rounds=2, cap=1.0)
    core.enter(2.0, ReportEvent(member, 1, 50.0))
    core.handle(2.0)
    assert (core.progress(member), core.yield_of(member)) == (2.0, 1.0)
    assert core.view().progress[0] <= 2.0 + 1e-9
    core.handle(3.0)
    assert (core.progress(member), core.yield_of(member)) == (3.0, 1.0)
    core.enter(3.0, ReleaseEvent(member, 1, 60.0))
    assert core.yield_of(member) == 1.0


# What one client says is nobody else's business.

VALUES = st.sampled_from([0.0, 1e-9, 1.0, 30.0, 1e9, 1e21, 1e30])
NAMES = st.sampled_from(["honest", "honest (1)", "honest (2)", "other", "x" * 200, "名", "(1)"])
LIES = st.lists(
    st.one_of(
        st.tuples(st.just("register"), NAMES, st.sampled_from([1, 2**53]), st.sampled_from([0.0, 5.0, 1e10])),
        st.tuples(st.just("inform"), VALUES, st.sampled_from([1, 7, 2**53]), VALUES),
        st.tuples(st.just("report"), VALUES),
        st.tuples(st.just("release"), st.one_of(st.none(), VALUES)),
        st.tuples(st.just("join"), st.sampled_from([0, 1])),
        st.tuples(st.just("leave")),
    ),
    max_size=25,
)


def false(lie, client):
    """The event that a lie stands for."""
    kind, *values = lie
    if kind == "register":
        name, nodes, elapsed = values
        return RegisterEvent(name, nodes=nodes, uid=66, elapsed=elapsed, progress=0.0)
    if client is None:
        return None
    if kind == "inform":
        volume, rounds, moved = values
        return InformEvent(client, client.last_operation + 1, volume, rounds, moved)
    if kind == "report":
        return ReportEvent(client, client.last_operation, values[0])
    if kind == "release":
        return ReleaseEvent(client, client.last_operation, values[0])
    return JoinEvent(client, values[0] * client.last_operation) if kind == "join" else LeaveEvent(client)


def honest_rows(lies):
    """The rows of an honest application that works and does I/O every second, while a liar says these things."""
    core = Core("fair-share", B, lease=1e9)
    honest = core.enter(0.0, RegisterEvent("honest", nodes=4, bandwidth=2.0))
    liar, rows = None, []
    core.handle(0.0)
    for number in range(1, 30):
        now = float(number)
        event = false(lies[number - 1], liar) if number <= len(lies) else None
        if event is not None:
            try:
                entered = core.enter(now, event)
            except Refused:
                entered = None
            if isinstance(event, RegisterEvent) and entered is not None:
                liar = entered
            if isinstance(event, LeaveEvent):
                liar = None
        if number % 2:
            core.enter(now, InformEvent(honest, number, 1.0))
        else:
            core.enter(now, ReleaseEvent(honest, number - 1, 1.0))
        core.handle(now)
    rows = list(core.registry.ended)
    return rows, honest


@examples(200)
@given(LIES)
def test_a_liar_changes_its_own_rows_only(lies):
    rows, honest = honest_rows(lies)
    without, plain = honest_rows([])
    mine = [msgspec.msgpack.encode(row) for row in rows if row.application == honest.number]
    assert mine == [msgspec.msgpack.encode(row) for row in without if row.application == plain.number]
    workload = as_workload(rows, B)
    first = as_workload(without, B).applications[0]
    same = [one for one in workload.applications if one.phases == first.phases and one.nodes == 4]
    assert any(one.name in ("honest", "honest (1)") for one in same)
    assert all(0.0 < row.volume <= B * 30.0 * 4.0 for row in rows if row.application != honest.number and row.volume)


def row(application=1, job="honest", nodes=4, cap=2.0, volume=20.0, rounds=4, **dates):
    dates = {"registered": 5.0, "posted": 8.0, "end": 10.0} | dates
    return CompletedOperation(application, job, nodes, cap, volume=volume, rounds=rounds, **dates)


@pytest.mark.parametrize(
    "bad",
    [
        row(2, rounds=2**53),
        row(2, nodes=2**53),
        row(2, nodes=0),
        row(2, volume=math.inf),
        row(2, volume=1e300),
        row(2, cap=0.0),
        row(2, cap=math.nan),
        row(2, registered=-1e300),
        row(2, posted=math.inf, end=math.inf),
        row(2, job=""),
        row(2, "honest (1)"),
        row(2, "honest (2)"),
    ],
)
def test_no_row_keeps_others_from_being_recorded(bad):
    for rows in ([row(), bad], [bad, row()], [row(), bad, row(3, "honest (1)"), row(4, "honest (1) (3)")]):
        names = [application.name for application in as_workload(rows, B).applications]
        assert any(name in ("honest", "honest (1)") for name in names)
        assert len(set(names)) == len(names)


def test_every_value_of_a_posting_is_in_its_own_row() -> None:
    """They are given in order, without their names: two that are exchanged would go unnoticed where they are alike."""
    core = Core("fcfs", 1000.0, limits=Limits(weights={7: 3.0}))
    known = RegisterEvent(
        "a", nodes=4, uid=7, group="g", bandwidth=400.0, elapsed=50.0, progress=20.0, dedicated_seconds=99.0
    )
    (client,) = core.handle(0.0, known).registered
    core.handle(10.0, InformEvent(client, 1, volume=500.0, rounds=5, moved=100.0))
    client.transfer_seconds, client.known.operations, client.known.volume = 2.5, 1, 450.0
    posting = core.places.posting(11.0, client, client.operation)  # type: ignore[arg-type]
    assert posting == Posting(
        application=client.number,
        turn=-1,
        user=7,
        group=number_of_name("g", client.number),
        cap=400.0,
        volume=500.0,
        posted=10.0,
        release=-50.0,
        nodes=4,
        mean_iteration=0.0,
        whole=99.0,
        rank=0.0,
        rounds=5,
        weight=3.0,
        transferring=2.5,
        done=30.0,
        base=100.0,
        round=100.0,
        progressed=11.0,
        believed=450.0,
    )
