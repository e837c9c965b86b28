"""The state of one application, by itself: no socket, and time as the test says."""

import logging
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.live.client.environment import Identity
from penstock.live.client.session import Session
from penstock.live.client.transfer import Gate
from penstock.live.protocol import (
    Beat,
    Error,
    Forgotten,
    Grant,
    Inform,
    Join,
    Leave,
    Left,
    Register,
    Registered,
    Release,
    Report,
    Request,
    Yielded,
)

ME = Identity("climate", 64, "ada", bandwidth=1e9, elapsed=100.0, lead=30.0, whole=5000.0)


def fresh(patience: float = 5.0) -> Session:
    return Session(ME, patience, 0.0, where="here", token="secret")


def registered(patience: float = 5.0, now: float = 1.0, lease: float = 3.0, longest_round: float | None = None) -> Session:
    session = fresh(patience)
    session.connect(now)
    (register,) = session.send(now)
    assert isinstance(register, Register)
    session.receive(Registered(register.seq, 7, "key", lease, "fair-share", longest_round=longest_round), now)
    return session


def moving(rate: float = 10.0, patience: float = 5.0, **limits: Any) -> Session:
    """An operation of 100 bytes in 10 rounds, granted this rate at 1 s as grant 1."""
    session = registered(patience, **limits)
    session.begin(100, 10, 1.0)
    session.send(1.0)
    session.receive(Grant(1, 1, rate), 1.0)
    return session


def kinds(messages: list[Request]) -> list[type]:
    return [type(message) for message in messages]


def test_it_presents_itself() -> None:
    session = fresh()
    session.connect(10.0)
    assert session.send(10.0) == [
        Register(1, 2, "climate", 64, "ada", 1e9, elapsed=110.0, lead=20.0, whole=5000.0, token="secret")
    ]
    assert session.send(10.0) == []


def test_an_operation() -> None:
    session = registered()
    operation = session.begin(100, 10, 1.5)
    assert session.send(1.5) == [Inform(2, 1, 100.0, 10)]
    assert session.rate(1.5) == 0.0
    session.receive(Grant(1, 1, 40.0), 1.6)
    assert session.rate(1.6) == 40.0
    operation.moved = 20
    assert session.send(1.7) == [Report(3, 1, 20.0)]
    operation.moved = 30
    assert session.send(1.75) == []  # at most every 0.1 s
    assert session.send(1.8) == [Report(4, 1, 30.0)]
    operation.moved = 100
    session.end()
    assert session.send(1.81) == [Release(5, 1, 100.0)]
    session.leave()
    assert session.send(1.9) == [Leave(6)]
    session.receive(Left(6), 1.9)
    assert session.left


def test_beats_come_every_third_of_the_lease_and_not_too_often() -> None:
    session = registered(lease=3.0, now=1.0)
    assert session.due(1.0) == 2.0
    assert session.send(1.9) == []
    assert kinds(session.send(2.0)) == [Beat]
    assert session.send(2.9) == []
    assert kinds(session.send(3.0)) == [Beat]
    assert registered(lease=0.001, now=1.0).due(1.0) == 1.05
    assert registered(lease=0.0, now=1.0).due(1.0) == 1.05


def test_less_above_nothing_is_kept_at_once_and_answered_at_once() -> None:
    session = moving(10.0)
    assert session.operation is not None
    session.operation.in_round = True
    session.receive(Grant(1, 2, 4.0), 2.0)
    assert session.rate(2.0) == 4.0
    assert session.send(1.9) == [Yielded(3, 2)]
    session.receive(Grant(1, 3, 8.0), 2.1)
    assert session.rate(2.1) == 8.0
    assert session.send(1.9) == []


def test_a_pause_waits_for_the_end_of_the_round() -> None:
    session = moving(10.0)
    assert session.operation is not None
    session.operation.in_round = True
    session.operation.moved = 15
    session.receive(Grant(1, 2, 0.0), 1.5)
    assert session.rate(1.5) == 10.0
    assert kinds(session.send(1.5)) == [Report]
    session.operation.moved = 20
    assert session.round_ended(1.55)
    assert session.rate(1.55) == 0.0
    assert session.send(1.55) == [Report(4, 1, 20.0), Yielded(5, 2)]
    assert not session.round_ended(1.6)
    assert session.send(1.6) == []


@pytest.mark.parametrize(("longest_round", "seconds"), [(None, 5.0), (60.0, 5.0), (0.5, 4.5)])
def test_a_pause_does_not_wait_for_a_round_that_takes_far_too_long(longest_round: float | None, seconds: float) -> None:
    """A round should take 1 s at 10 bytes/s; half a lease of 8 s later the client pauses where it is, in time."""
    session = moving(10.0, lease=8.0, longest_round=longest_round)
    operation, gate = session.operation, Gate(session)
    assert operation is not None
    operation.in_round = True
    operation.advance(3)
    session.receive(Grant(1, 2, 0.0), 10.0)
    session.receive(Grant(1, 3, 0.0), 10.0 + seconds / 2)
    before, after = 10.0 + seconds - 0.01, 10.0 + seconds
    assert gate.onward(operation, 1, before, before, 90, False) == -1
    assert not gate.settle(before)
    assert gate.onward(operation, 1, before, after, 90, False) == -1
    assert gate.settle(after)
    assert (session.rate(20.0), operation.in_round, operation.boundary) == (0.0, False, 10)
    assert kinds(session.send(20.0))[:2] == [Report, Yielded]


def test_a_step_is_not_cut_however_long_it_takes() -> None:
    session = moving(10.0)
    operation, gate = session.operation, Gate(session)
    assert operation is not None
    operation.begin_step()
    operation.in_round = True
    session.receive(Grant(1, 2, 0.0), 10.0)
    assert gate.onward(operation, 1, 999.0, 1000.0, 90, False) == -1
    assert not gate.settle(1000.0)
    assert operation.pausing


def test_a_pause_between_rounds_is_answered_at_once() -> None:
    session = moving(10.0)
    session.receive(Grant(1, 2, 0.0), 1.5)
    assert session.rate(1.5) == 0.0
    assert session.send(1.5) == [Yielded(3, 2)]


def test_a_pause_that_is_taken_back_before_it_began() -> None:
    session = moving(10.0)
    assert session.operation is not None
    session.operation.in_round = True
    session.receive(Grant(1, 2, 0.0), 1.5)
    session.receive(Grant(1, 3, 5.0), 1.6)
    assert session.rate(1.6) == 5.0
    assert session.send(1.6) == [Yielded(3, 2), Yielded(4, 3)]  # 5 is less than the 10 in use
    assert not session.round_ended(1.7)


def test_a_pause_that_never_began_is_answered_with_the_release() -> None:
    session = moving(10.0)
    assert session.operation is not None
    session.operation.in_round = True
    session.receive(Grant(1, 2, 0.0), 1.5)
    session.end()
    assert session.send(1.5) == [Yielded(3, 2), Release(4, 1, 0.0)]


def test_grants_of_others_and_of_before_are_ignored() -> None:
    session = moving(10.0)
    session.receive(Grant(1, 5, 7.0), 1.5)
    session.send(1.5)
    for stale in (Grant(2, 6, 1.0), Grant(1, 5, 1.0), Grant(1, 4, 1.0)):
        session.receive(stale, 1.6)
    assert session.rate(1.6) == 7.0
    assert session.send(1.6) == []
    session.end()
    session.send(1.7)
    session.receive(Grant(1, 8, 0.0), 1.8)
    assert session.send(1.8) == []


def test_an_absent_coordinator_is_waited_for_once() -> None:
    session = fresh(patience=2.0)
    session.lost("no such file", 0.1)
    session.begin(100, 1, 0.5)
    assert session.rate(1.9) == 0.0
    assert session.outage_from() == session.due(1.9) == 2.0
    assert session.rate(2.0) == math.inf
    session.check_patience(2.0)
    session.check_patience(3.0)
    session.lost("no such file", 4.0)
    assert session.notices == [(logging.WARNING, "penstock: no coordinator at here (no such file); going on uncoordinated")]
    session.end()
    session.begin(100, 1, 9.0)
    assert session.rate(9.0) == math.inf  # the same outage


def test_coordinated_again_only_when_the_operation_is_answered() -> None:
    session = fresh(patience=2.0)
    operation = session.begin(100, 10, 0.5)
    operation.moved, operation.in_round = 15, True
    session.lost("gone", 3.0)
    session.connect(4.0)
    session.send(4.0)
    session.receive(Registered(1, 7, "key", 3.0, "fcfs"), 4.1)
    assert session.rate(4.1) == math.inf
    assert session.send(4.1) == [Inform(2, 1, 100.0, 10, 15.0)]
    session.receive(Grant(1, 1, 0.0), 4.2)
    assert session.rate(4.2) == math.inf  # to the end of the round
    assert [level for level, _ in session.notices] == [logging.WARNING, logging.INFO]
    assert session.send(4.2) == []
    operation.moved = 20
    assert session.round_ended(4.3)
    assert session.rate(4.3) == 0.0
    assert session.send(4.3) == [Report(3, 1, 20.0), Yielded(4, 1)]
    assert session.rate(1e9) == 0.0  # a pause by the living


def test_one_who_lives_and_does_not_answer_is_not_waited_for_without_end() -> None:
    session = registered(patience=2.0)
    session.begin(100, 10, 3.0)
    session.send(3.0)
    session.receive(Beat(3), 4.0)
    assert session.rate(4.9) == 0.0
    assert session.rate(5.0) == math.inf
    session.receive(Grant(1, 1, 5.0), 6.0)
    assert session.rate(6.0) == 5.0


def test_silence_is_an_outage_when_a_sign_of_life_is_owed() -> None:
    session = moving(10.0, patience=3.0)
    session.receive(Grant(1, 2, 0.0), 1.5)
    assert session.rate(1.9) == 0.0
    assert Beat in kinds(session.send(2.5))
    session.receive(Beat(5), 2.6)
    assert kinds(session.send(3.4)) == []
    assert kinds(session.send(3.6)) == [Beat]  # 1 s, a third of its patience, after the last message
    assert kinds(session.send(4.6)) == [Beat]
    assert session.rate(5.5) == 0.0
    assert session.rate(5.6) == math.inf  # 3 s after the last message
    assert session.check_patience(5.6)
    assert not session.check_patience(5.7)
    assert session.notices == [
        (logging.WARNING, "penstock: no coordinator at here (no answer for 3 s); going on uncoordinated")
    ]
    session.receive(Beat(6), 6.0)
    assert session.rate(6.0) == 0.0
    assert session.notices[1:] == [(logging.INFO, "penstock: coordinated by here again")]
    assert session.hang_up is None


@pytest.mark.parametrize("rate", [0.0, 10.0])
@given(
    st.sampled_from([0.3, 10.0, 60.0, 3600.0]),
    st.sampled_from([0.5, 2.0, 5.0, 20.0]),
    st.floats(1.0, 200.0),
    st.floats(0.0, 0.4),
)
def test_a_dead_coordinator_holds_nobody_longer_than_its_patience(
    rate: float, lease: float, patience: float, death: float, answer: float
) -> None:
    """It answers each sign of life after `answer` of `ask_after`, and dies at any moment, whatever the lease."""
    session = registered(patience, lease=lease)
    session.begin(100, 10, 1.0)
    session.send(1.0)
    session.receive(Grant(1, 1, rate), 1.0)
    now, answers = 1.0, []
    while not session.uncoordinated(now):
        now = min([session.due(now), session.outage_from(), *answers])
        assert now <= death + patience + 1e-6
        beats = kinds(session.send(now)).count(Beat)
        if now + answer * patience / 3.0 <= death:
            answers += beats * [now + answer * patience / 3.0]
        if answers and now == answers[0]:
            session.receive(Beat(1), answers.pop(0))
    assert now >= death  # nor is a living one given up


def test_a_delay_of_the_client_itself_is_no_silence() -> None:
    session = moving(10.0, patience=3.0)
    assert Beat in kinds(session.send(500.0))  # the program was stopped for minutes
    assert session.rate(501.9) == 10.0
    session.receive(Beat(3), 501.9)
    assert session.notices == []


def test_who_finds_nothing_to_connect_to_does_not_wait() -> None:
    session = fresh(patience=5.0)
    session.lost("no such file", 0.1, absent=True)
    session.begin(100, 1, 0.2)
    assert session.rate(0.2) == math.inf
    assert session.notices == [(logging.WARNING, "penstock: no coordinator at here (no such file); going on uncoordinated")]
    session.connect(0.3)
    session.send(0.3)
    session.receive(Registered(1, 7, "key", 3.0, "fcfs"), 0.4)
    assert session.rate(0.4) == math.inf  # until it is told
    session.receive(Grant(1, 1, 3.0), 0.5)
    assert session.rate(0.5) == 3.0
    assert session.notices[1:] == [(logging.INFO, "penstock: coordinated by here again")]
    session.lost("no such file", 1.0, absent=True)  # it was there, and may be restarting
    assert session.rate(5.9) == 3.0
    assert session.rate(6.0) == math.inf


def test_who_went_on_in_a_pause_ends_its_round() -> None:
    session = moving(10.0, patience=1.0)
    assert session.operation is not None
    session.receive(Grant(1, 2, 0.0), 1.5)
    session.send(2.0)
    assert session.rate(3.0) == math.inf
    session.operation.in_round = True
    session.receive(Beat(4), 3.1)
    assert session.rate(3.1) == math.inf
    session.round_ended(3.2)
    assert session.rate(3.2) == 0.0


def test_a_silent_connection_is_given_up() -> None:
    session = registered(patience=1.0)
    session.send(2.0)
    session.check_patience(6.6)
    assert session.hang_up is None
    session.check_patience(6.7)  # 5 s of silence, of which a third of its patience went by before the beat
    assert session.hang_up == 0.0


def test_a_rate_is_kept_while_the_connection_is_lost_until_patience_ends() -> None:
    session = moving(10.0, patience=2.0)
    session.lost("gone", 3.0)
    assert session.rate(4.9) == 10.0
    assert session.rate(5.0) == math.inf


def test_who_went_on_is_not_slowed_down_before_it_is_told_to() -> None:
    session = moving(10.0, patience=2.0)
    session.lost("gone", 3.0)
    session.connect(6.0)
    session.send(6.0)
    session.receive(Registered(1, 7, "key", 3.0, "fcfs"), 6.1)
    assert session.rate(6.1) == math.inf
    session.send(6.1)
    session.receive(Grant(1, 1, 20.0), 6.2)
    assert session.rate(6.2) == 20.0


def test_it_rejoins() -> None:
    session = moving(10.0)
    assert session.operation is not None
    session.lost("gone", 3.0)
    session.operation.moved = 40
    session.connect(3.5)
    assert session.send(3.5) == [Join(1, 2, 7, "key", operation=1, token="secret")]
    session.receive(Registered(1, 7, "key", 3.0, "fcfs"), 3.6)
    assert session.send(3.6) == [Inform(2, 1, 100.0, 10, 40.0)]
    assert session.rate(3.6) == 10.0
    session.receive(Grant(1, 1, 3.0), 3.7)  # numbers begin anew with the connection
    assert session.rate(3.7) == 3.0
    assert session.send(3.7) == [Yielded(3, 1)]
    assert session.notices == []


def test_what_ended_meanwhile_is_told_when_it_is_back() -> None:
    session = moving(10.0)
    session.lost("gone", 3.0)
    session.end()
    session.connect(3.5)
    assert session.send(3.5) == [Join(1, 2, 7, "key", operation=0, token="secret")]
    session.lost("gone again", 3.6)
    session.begin(50, 5, 3.7)
    session.connect(3.8)
    assert session.send(3.8) == [Join(1, 2, 7, "key", operation=2, token="secret")]
    session.receive(Registered(1, 7, "key", 3.0, "fcfs"), 3.9)
    assert session.send(3.9) == [Inform(2, 2, 50.0, 5)]


@pytest.mark.parametrize("then", ["nothing", "another", "leave"])
def test_what_ends_before_the_answer_to_the_join_is_released(then: str) -> None:
    """The coordinator heard that it is pending, and would wait for it."""
    session = moving(10.0)
    assert session.operation is not None
    session.lost("gone", 3.0)
    session.connect(3.5)
    assert session.send(3.5) == [Join(1, 2, 7, "key", operation=1, token="secret")]
    session.operation.moved = 40
    session.end()
    if then == "another":
        session.begin(50, 5, 3.55)
    if then == "leave":
        session.leave()
    session.receive(Registered(1, 7, "key", 3.0, "fcfs"), 3.6)
    more: dict[str, list[Request]] = {"nothing": [], "another": [Inform(3, 2, 50.0, 5)], "leave": [Leave(3)]}
    assert session.send(3.6) == [Release(2, 1, 40.0), *more[then]]
    session.lost("gone", 4.0)
    session.begin(10, 1, 4.0) if then == "nothing" else None  # which the coordinator never hears of
    session.connect(4.1)
    session.send(4.1)
    session.end()
    session.receive(Registered(1, 7, "key", 3.0, "fcfs"), 4.2)
    assert kinds(session.send(4.2)) == {"nothing": [], "another": [Release], "leave": [Leave]}[then]


def test_an_operation_of_no_bytes_is_not_announced() -> None:
    session = registered()
    session.begin(0, 1, 1.5)
    assert session.rate(1.5) == math.inf
    assert session.send(1.5) == []
    session.lost("gone", 1.6)
    session.connect(1.7)
    session.send(1.7)
    session.receive(Registered(1, 7, "key", 3.0, "fcfs"), 1.8)
    session.end()
    assert session.send(1.9) == []
    assert session.notices == []


def test_it_answers_again_where_the_answer_may_be_lost() -> None:
    session = moving(10.0)
    session.receive(Grant(1, 2, 3.0), 2.5)
    session.send(2.5)
    session.lost("gone", 3.0)
    session.connect(3.5)
    session.send(3.5)
    session.receive(Registered(1, 7, "key", 3.0, "fcfs"), 3.6)
    session.send(3.6)
    session.receive(Grant(1, 3, 3.0), 3.7)  # the same again, for the coordinator does not know that it is kept to
    assert session.send(3.7) == [Yielded(3, 3)]


@pytest.mark.parametrize("code", ["unknown", "denied"])
def test_one_who_is_unknown_registers_anew(code: str) -> None:
    session = moving(10.0)
    session.lost("gone", 3.0)
    session.connect(3.5)
    session.send(3.5)
    session.receive(Error(code, "never seen", 1), 3.6)
    assert session.hang_up == 0.0
    session.lost("hung up", 3.6)
    session.connect(4.0)
    (register,) = session.send(4.0)
    assert isinstance(register, Register)
    assert register.elapsed == 104.0
    session.receive(Registered(1, 8, "other", 3.0, "fcfs"), 4.1)
    assert session.send(4.1) == [Inform(2, 1, 100.0, 10)]
    assert session.rate(4.1) == 10.0


def test_one_who_is_forgotten_registers_anew() -> None:
    session = registered()
    session.receive(Forgotten("lease"), 2.0)
    assert session.hang_up == 0.0
    session.lost("hung up", 2.0)
    session.connect(2.1)
    assert kinds(session.send(2.1)) == [Register]


@pytest.mark.parametrize("code", ["version", "denied", "too-many", "invalid"])
def test_one_who_is_refused_goes_on_at_once_and_asks_again_later(code: str) -> None:
    session = fresh()
    session.begin(100, 1, 0.5)
    for when in (1.0, 6.0):
        session.connect(when)
        session.send(when)
        session.receive(Error(code, "no\nway", 1), when)
        assert session.hang_up == 5.0
        assert session.rate(when) == math.inf
        session.lost("hung up", when)
    assert session.notices == [
        (logging.WARNING, f"penstock: no coordinator at here ({code}: no way); going on uncoordinated")
    ]
    session.connect(11.0)
    session.send(11.0)
    session.receive(Registered(1, 7, "key", 3.0, "fcfs"), 11.0)
    session.receive(Grant(1, 1, 2.0), 11.0)
    assert session.rate(11.0) == 2.0


def test_other_errors_at_the_door_are_tried_again_soon() -> None:
    session = fresh()
    session.connect(1.0)
    session.send(1.0)
    session.receive(Error("unexpected", "?", 1), 1.0)
    assert session.hang_up == 0.0
    assert not session.uncoordinated(1.0)


def test_an_operation_that_is_refused_goes_on() -> None:
    session = registered()
    for number in (1, 2):
        session.begin(100, 1, 2.0)
        inform = session.send(1.5)[-1]
        session.receive(Error("invalid", "no", inform.seq), 2.0)
        assert session.rate(2.0) == math.inf
        assert session.operation is not None
        assert session.operation.number == number
        session.end()
    assert session.notices == [
        (logging.WARNING, "penstock: the coordinator at here refuses I/O (invalid: no); going on uncoordinated")
    ]


def test_without_patience_it_never_waits_and_obeys_when_told() -> None:
    session = registered(patience=0.0)
    session.begin(100, 10, 2.0)
    assert session.rate(2.0) == math.inf
    session.receive(Grant(1, 1, 6.0), 2.1)
    assert session.rate(2.1) == 6.0
    session.send(2.5)
    assert session.rate(2.6) == 6.0  # a beat is on its way, that is no outage yet
    session.lost("gone", 2.7)
    assert session.rate(2.7) == math.inf
    assert len(session.notices) == 1


def test_who_leaves_before_it_was_registered_leaves_then() -> None:
    session = fresh()
    session.connect(1.0)
    session.send(1.0)
    session.leave()
    session.receive(Registered(1, 7, "key", 3.0, "fcfs"), 1.1)
    assert session.send(1.1) == [Leave(2)]


def test_a_disabled_one_says_nothing() -> None:
    session = moving(1.0)
    session.disable(2.0)
    assert session.rate(2.0) == math.inf
    session.check_patience(100.0)
    assert session.notices == []
    session.end()
    session.begin(1, 1, 101.0)
    assert session.rate(101.0) == math.inf
    assert session.send(101.0) == []


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("grant"), st.sampled_from([0.0, 0.0, 1.0, 2.0, 5.0, 9.0])),
        st.tuples(st.just("fly"), st.just(0.0)),
        st.tuples(st.just("boundary"), st.just(0.0)),
        st.tuples(st.just("send"), st.just(0.0)),
    ),
    max_size=40,
)


@given(STEPS)
def test_every_decrease_is_answered_once_in_order_and_kept_to(steps: list[tuple[str, float]]) -> None:
    session = moving(5.0)
    operation = session.operation
    assert operation is not None
    session.send(1.0)
    rates = {1: 5.0}
    decreases: list[int] = []
    answers: list[int] = []
    acknowledged = 1
    for what, rate in [*steps, ("boundary", 0.0), ("send", 0.0)]:
        if what == "grant":
            number = len(rates) + 1
            if rate < rates[number - 1]:
                decreases.append(number)
            rates[number] = rate
            session.receive(Grant(1, number, rate), 1.0)
        elif what == "fly" and session.rate(1.0) > 0.0:
            operation.in_round = True
        elif what == "boundary":
            session.round_ended(1.0)
        for message in session.send(1.0):
            assert isinstance(message, Yielded)
            answers.append(message.grant)
            acknowledged = message.grant
            # Nothing above what is acknowledged, or was granted since, is in use.
        assert session.rate(1.0) <= max(rates[number] for number in rates if number >= acknowledged)
    assert answers == sorted(set(answers))
    assert set(decreases) <= set(answers)
    assert session.rate(1.0) == rates[len(rates)]
