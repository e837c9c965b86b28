"""Bandwidth divided among jobs, nodes, users and groups: by hand, and by the laws of max-min fairness."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import penstock
from penstock.model import Application, Platform, Workload
from penstock.policies import find
from tests.naive.policies import Active, Scene, doubtful
from tests.naive.profiles import examples
from tests.naive.strategies import rates_of, scenes


def active(index: int, user: int, *, group: int = 0, cap: float = 12.0, nodes: int = 1, weight: float = 1.0) -> Active:
    return Active(index, 1.0, cap, 0.0, 0.0, 0.0, nodes, 0.0, weight=weight, user=user, group=group)


def rates(policy: str, *members: Active, parameter: float = 0.0) -> list[float]:
    found = rates_of(find(policy), Scene(list(members), 1.0, 12.0, parameter=parameter))
    return [found[index] for index in sorted(found)]


def test_nine_jobs_of_one_user_take_as_much_as_one_of_another():
    crowd = [active(index, 1) for index in range(9)]
    assert rates("user-fair", *crowd, active(9, 2)) == pytest.approx([12 / 18] * 9 + [6.0])
    assert rates("job-fair", *crowd, active(9, 2)) == pytest.approx([1.2] * 10)


def test_sizes_and_weights():
    # 3 + 1 nodes share 12: 9 and 3. With weight 2 for the small one: 3 : 2.
    assert rates("size-fair", active(0, 1, nodes=3), active(1, 2)) == pytest.approx([9.0, 3.0])
    assert rates("size-fair", active(0, 1, nodes=3), active(1, 2, weight=2.0)) == pytest.approx([7.2, 4.8])
    assert rates("job-fair", active(0, 1, weight=3.0), active(1, 2)) == pytest.approx([9.0, 3.0])


def test_the_weight_of_a_user_is_the_largest_of_its_jobs():
    # User 1 has weight 3, user 2 weight 1: 9 and 3. Inside user 1 the jobs share by their weights, 3 : 1.
    assert rates("user-fair", active(0, 1, weight=3.0), active(1, 1), active(2, 2)) == pytest.approx([6.75, 2.25, 3.0])


def test_what_a_user_cannot_use_goes_to_the_others():
    assert rates("user-fair", active(0, 1, cap=2.0), active(1, 2), active(2, 3)) == pytest.approx([2.0, 5.0, 5.0])


def test_groups_then_users_then_jobs():
    # Group 0 has users 1 (two jobs) and 2, group 1 has user 3: 6 and 6, inside group 0 3 for each user.
    jobs = [active(0, 1), active(1, 1), active(2, 2), active(3, 3, group=1)]
    assert rates("group-fair", *jobs, parameter=6.0) == pytest.approx([1.5, 1.5, 3.0, 6.0])
    assert rates("group-fair", *jobs, parameter=0.0) == pytest.approx([2.0, 2.0, 2.0, 6.0])


def test_an_order_within_a_user():
    # User 1 has 6 of 12. First come, first served: its job 0 has its cap of 4, its job 1 the other 2.
    jobs = [active(0, 1, cap=4.0), active(1, 1, cap=4.0), active(2, 2)]
    assert rates("user-fair", *jobs, parameter=2.0) == pytest.approx([4.0, 2.0, 6.0])


@pytest.mark.parametrize("policy", ["fcfs", "greedy-yield", "greedy-com", "due-yield"])
@examples(40)
@given(scenes())
def test_for_one_user_it_is_the_policy_itself(policy, scene):
    one = dataclasses.replace(
        scene, active=[dataclasses.replace(a, user=1, weight=1.0) for a in scene.active], parameter=2.0
    )
    assume(not doubtful(policy, one))
    place = ("jobs", "sizes", "fcfs", "greedy-yield", "greedy-com", "due-yield").index(policy)
    fair = rates_of(find("user-fair"), dataclasses.replace(one, parameter=float(place)))
    assert fair == pytest.approx(rates_of(find(policy), one), rel=1e-9, abs=1e-12)


@examples(40)
@given(scenes())
def test_known_policies_are_cases(scene):
    plain = dataclasses.replace(
        scene, active=[dataclasses.replace(a, weight=1.0, user=a.index, group=0) for a in scene.active], parameter=0.0
    )
    even = rates_of(find("best-effort"), plain)
    for policy in ("job-fair", "user-fair", "group-fair"):
        assert rates_of(find(policy), plain) == pytest.approx(even, rel=1e-9, abs=1e-12)
    assert rates_of(find("size-fair"), plain) == pytest.approx(rates_of(find("interfering"), plain), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("policy", "owner"), [("user-fair", "user"), ("group-fair", "group")])
@examples(80)
@given(scenes(), st.integers(0, 6))
def test_the_division_is_max_min(policy, owner, scene, within):
    """An owner that is not at its caps has at least as much per weight as every other: nobody is behind for nothing."""
    scene = dataclasses.replace(scene, parameter=float(within))
    given_rates = rates_of(find(policy), scene)
    totals: dict[int, list[float]] = {}
    for a in scene.active:
        total = totals.setdefault(getattr(a, owner), [0.0, 0.0, 0.0])
        total[0] += given_rates[a.index]
        total[1] += a.cap
        total[2] = max(total[2], a.weight)
    for rate, cap, weight in totals.values():
        if rate < cap * (1.0 - 1e-9):
            assert all(rate / weight >= other / theirs * (1.0 - 1e-9) for other, _, theirs in totals.values())


def test_users_of_a_workload():
    """12 units/s: user u has two operations of 6, user v one. They have 3, 3 and 6, and u has all from 1 s on."""
    jobs = [Application.of(name, [("io", 6.0)], user=user) for name, user in (("a", "u"), ("b", "u"), ("c", "v"))]
    ends = penstock.simulate(Workload(Platform(12.0), tuple(jobs)), "user-fair").to_dict()["applications"]
    assert [row["end"] for row in ends] == pytest.approx([1.5, 1.5, 1.0])
    ends = penstock.simulate(Workload(Platform(12.0), tuple(jobs)), "user-fair:within=fcfs").to_dict()["applications"]
    assert [row["end"] for row in ends] == pytest.approx([1.0, 1.5, 1.0])


def test_jobs_without_a_user_are_users_of_their_own():
    jobs = [Application.of(name, [("io", 6.0)], user=user) for name, user in (("a", None), ("b", None), ("c", "v"))]
    ends = penstock.simulate(Workload(Platform(12.0), tuple(jobs)), "user-fair").to_dict()["applications"]
    assert [row["end"] for row in ends] == pytest.approx([1.5, 1.5, 1.5])


def test_yields_and_node_hours_by_user():
    """Two nodes of 3,600 units each at 1 unit/s, and one node of user v with 1,800: alone 1 h and 0.5 h, on a link of 1."""
    jobs = [
        Application.of("a", [("work", 3600.0), ("io", 3600.0)], nodes=2, user="u"),
        Application.of("b", [("work", 3600.0), ("io", 1800.0)], user="v"),
    ]
    result = penstock.simulate(Workload(Platform(1.0), tuple(jobs)), "fcfs")
    first, second = result.by_owner("user")
    # a goes first: it loses nothing, and b waits for an hour.
    assert first == {"user": "u", "applications": 1, "min_yield": 1.0, "computing": 2.0, "transferring": 2.0, "delayed": 0.0}
    assert (second["computing"], second["transferring"], second["delayed"]) == pytest.approx((1.0, 0.5, 1.0))
    assert result.by_owner("group") == []
    assert "groups" not in result.to_dict()
