"""Dates by which clients must act."""

import math

from penstock.live.core.clients import Client, Reduction
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
