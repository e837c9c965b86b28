"""Theorem 2 of 004: without a buffer the stretch can be kept exactly if the integers split (claim B6)."""

from __future__ import annotations

from itertools import product

import pytest

from penstock.buffers import alone, full_speed_timeline
from penstock.buffers.theorems import _orders as orders
from penstock.buffers.theorems import instance, reachable, split
from penstock.model import InputError

SPLIT = [([1, 2, 3], 2), ([3, 3, 2, 2, 2], 2), ([1, 1, 2, 2], 2), ([2, 2, 2], 3), ([1, 2, 2, 3, 4], 3), ([4, 1, 3, 2, 2], 3)]
NOT_SPLIT = [
    ([3, 3, 2], 2),
    ([3, 3, 3, 1], 2),
    ([4, 4, 3, 1], 2),
    ([5, 4, 4, 1], 2),
    ([3, 3, 2, 2, 2], 3),
    ([2, 2, 2, 3], 3),
]


@pytest.mark.parametrize(("integers", "groups"), SPLIT)
def test_integers_that_split(integers, groups):
    found = split(integers, groups)
    assert sorted(a for group in found for a in group) == sorted(integers)
    assert {sum(group) for group in found} == {sum(integers) // groups}
    # The stretch must leave d ≥ n − 1.
    for stretch in (1.05, 2.0 * groups / (groups + 1.0)):
        assert reachable(integers, groups, stretch)


@pytest.mark.parametrize(("integers", "groups"), NOT_SPLIT)
def test_integers_that_do_not(integers, groups):
    assert split(integers, groups) is None
    for stretch in (1.05, 2.0 * groups / (groups + 1.0)):
        assert not reachable(integers, groups, stretch)


def test_all_sets_of_four():
    """Both sides of the theorem on all multisets of four integers up to 4."""
    seen = {True: 0, False: 0}
    for integers in product(range(1, 5), repeat=4):
        if list(integers) == sorted(integers) and 2 * max(integers) <= sum(integers):
            can = split(integers, 2) is not None
            assert reachable(integers, 2, 1.2) == can, integers
            seen[can] += 1
    assert min(seen.values()) > 5


def test_the_instance():
    # n = 2 groups of B = 6, ρ = 1.25: d = (3 − 2.5) / 0.25 = 2; C_min = d + 2, and ρ · C_min = d + n + 1 = 5.
    workload = instance([1, 2, 3, 6], 2, 1.25)
    assert workload.platform.bandwidth == 6.0
    assert full_speed_timeline(workload).least_end.tolist() == [4.0] * 4
    assert [list(a.phases) for a in workload.applications][2] == [("read", 3.0), ("work", 2.0), ("write", 3.0)]
    # Alone nobody needs a buffer.
    assert all(alone(application, workload.platform).peak == 0.0 for application in workload.applications)


def test_orders_of_equal_integers():
    assert sorted(map(tuple, orders([1, 1, 2]))) == [(1, 1, 2), (1, 2, 1), (2, 1, 1)]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([3, 1], 2, 1.2), "integers: 3 is more than the sum of a group; expected at most 2"),
        (([1, 0, 1], 2, 1.2), "integers: [1, 0, 1] for 2 groups; expected integers above 0, and 2 groups or more"),
        (([1, 1], 1, 1.2), "integers: [1, 1] for 1 groups; expected integers above 0, and 2 groups or more"),
        (([1, 1], 2, 1.5), "stretch: 1.5 is out of range; expected above 1, up to 1.33333"),
        (([1, 1], 2, 1.0), "stretch: 1.0 is out of range; expected above 1, up to 1.33333"),
        (([1] * 8, 2, 1.2), "integers: 8 are too many to try all orders; expected 7 at most"),
    ],
)
def test_what_is_refused(arguments, message):
    with pytest.raises(InputError) as caught:
        reachable(*arguments)
    assert str(caught.value) == message
