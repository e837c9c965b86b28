"""Dates by which clients must act."""

import math

import pytest

from penstock.live.core.clients import Client, Reduction
from penstock.live.core.core import Core
from penstock.live.core.events import (
    BeatEvent,
    DisconnectEvent,
    GrantInstruction,
    InformEvent,
    JoinEvent,
    RegisterEvent,
    YieldEvent,
)
from penstock.live.core.grants import Leases


def client(number: int) -> Client:
    return Client(number, f"job{number}", "", 0, "", 1, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)


def test_a_lease_ends_after_silence_and_a_sign_of_life_renews_it() -> None:
    leases, (first, second) = Leases(10.0, 60.0, 5), (client(1), client(2))
    assert leases.next_date() == math.inf
    leases.renew(0.0, first)
    leases.renew(1.0, second)
    leases.renew(4.0, first)
    assert leases.next_date() == 11.0
    assert list(leases.silent(10.9)) == []
    assert next(leases.silent(11.0)) is second


def test_the_first_deadline_stands_until_it_is_cleared() -> None:
    leases, one = Leases(10.0, 60.0, 5), client(1)
    leases.set_deadline(one, 3.0)
    leases.set_deadline(one, 5.0)
    assert (leases.overdue(2.9), leases.overdue(3.0), leases.next_date()) == ([], [one], 3.0)
    leases.clear_deadline(one)
    assert (leases.overdue(9.0), leases.next_date()) == ([], math.inf)


def test_books_are_kept_for_a_while_and_for_so_many() -> None:
    leases = Leases(10.0, 60.0, 2)
    members = [client(number) for number in range(3)]
    for date, member in enumerate(members):
        leases.mark_away(float(date), member)
    assert next(leases.expired(3.0)) is members[0]  # three are more than two
    leases.forget(members[0])
    assert list(leases.expired(60.9)) == []
    assert next(leases.expired(61.0)) is members[1]
    leases.renew(61.0, members[1])  # it is back
    assert (list(leases.expired(61.5)), leases.next_date()) == ([], 62.0)


def test_nobody_is_judged_before_the_grace_is_over() -> None:
    """After a time in which the coordinator did not run, and heard nobody."""
    leases, one = Leases(10.0, 60.0, 5), client(1)
    leases.renew(0.0, one)
    leases.set_deadline(one, 12.0)
    leases.give_grace(100.0)
    assert (leases.grace_until, leases.next_date()) == (110.0, 110.0)


def test_who_is_read_slowly_is_excused_and_must_yield_in_the_end() -> None:
    leases, one = Leases(10.0, 60.0, 5), client(1)
    one.unacknowledged = [Reduction(1, 0.0, 12.0)]
    leases.renew(0.0, one)
    leases.set_deadline(one, 12.0)
    leases.excuse(11.0, one)
    assert (list(leases.silent(20.9)), leases.overdue(20.9), leases.next_date()) == ([], [], 21.0)
    leases.excuse(31.0, one)  # two leases after the deadline it may be put off no more
    assert (list(leases.silent(40.9)), leases.overdue(32.0)) == ([], [one])


def test_an_excuse_brings_no_deadline_forward() -> None:
    """Who may end a long round before it pauses keeps that time, although it is read slowly meanwhile."""
    leases, one = Leases(10.0, 60.0, 5), client(1)
    one.unacknowledged = [Reduction(1, 0.0, 70.0)]
    leases.renew(0.0, one)
    leases.set_deadline(one, 70.0)
    leases.excuse(1.0, one)
    assert leases.overdue(69.9) == []


LEASE = 10.0


def lowered_and_cut_off(policy: str) -> tuple[Core, Client, GrantInstruction]:
    """A core of 100 bytes/s; a client in an operation of 100 rounds of 10 s; and what it was told at 1, as its connection
    was lost."""
    core = Core(policy, 100.0, lease=LEASE)
    first, second = core.handle(0.0, RegisterEvent("first"), RegisterEvent("second")).registered
    core.handle(0.0, InformEvent(first, 1, volume=1e5, rounds=100))
    told = core.handle(1.0, InformEvent(second, 1, volume=1e5, rounds=100)).grants
    core.handle(1.0, DisconnectEvent(first), BeatEvent(second))
    return core, first, next(grant for grant in told if grant.client is first)


def told_again(core: Core, one: Client, date: float) -> GrantInstruction:
    """What it is told when it is back and announces its operation again."""
    core.handle(date, JoinEvent(one, 1))
    told = core.handle(date, InformEvent(one, 1, 1e5, 100)).grants
    return next(grant for grant in told if grant.client is one)


@pytest.mark.parametrize(("policy", "rate", "seconds"), [("fair-share", 50.0, LEASE), ("interrupting", 0.0, 2.0 * LEASE)])
def test_who_was_cut_off_has_a_lease_again_to_answer_what_it_is_told_again(policy: str, rate: float, seconds: float) -> None:
    """A lease to slow down; to pause, a lease and the round, which takes 10 s at the old rate."""
    core, one, lost = lowered_and_cut_off(policy)
    date = 10.5
    grant = told_again(core, one, date)
    assert (grant.rate, lost.rate) == (rate, rate)
    while date < 10.5 + seconds - 1.0:
        date += 0.5
        core.handle(date, *map(BeatEvent, core.registry.clients.values()))
        assert one.in_force == 100.0, f"it has lost its place at {date}"
    core.handle(date, YieldEvent(one, grant.number))
    assert (one.in_force, one.connected) == (rate, True)


def test_who_is_back_but_has_announced_nothing_yet_has_a_lease_again_too() -> None:
    core, one, _ = lowered_and_cut_off("fair-share")
    core.handle(10.5, JoinEvent(one, 1))
    core.handle(20.4)
    assert one.in_force == 100.0
    core.handle(20.5)
    assert one.in_force == 0.0


def test_who_is_back_again_and_again_must_yield_in_the_end() -> None:
    """Two leases after the first deadline, however often it is told again."""
    core, one, _ = lowered_and_cut_off("fair-share")
    date = 1.0
    while one.in_force > 0.0:
        date += LEASE / 4.0
        core.handle(date)
        if one.in_force > 0.0:
            told_again(core, one, date)
            core.handle(date, DisconnectEvent(one))
        assert date <= 1.0 + 3.0 * LEASE, "it keeps its rate for ever"
    assert date == 1.0 + 3.0 * LEASE
