"""The exact optimum of bi-colored chains against all orders, by hand, and where it gives up."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import InputError
from penstock.theory import chain_optimum
from penstock.theory.chain_optimum import least_max_stretch, max_stretch, optimal_makespan, optimal_schedule
from penstock.theory.chains import chains, list_schedule, schedule
from tests.naive.compare import close
from tests.naive.profiles import examples


def orders(counts):
    """All sequences in which i appears counts[i] times."""
    if not any(counts):
        yield ()
    for i, count in enumerate(counts):
        if count:
            for rest in orders([c - (k == i) for k, c in enumerate(counts)]):
                yield (i, *rest)


def slow_optimum(jobs):
    return min(schedule(jobs, order).makespan for order in orders([c.operations for c in chains(jobs)]))


WHOLE = st.integers(0, 6).map(float)
ODD = st.integers(0, 6_000_000).map(lambda i: i * 1.000000370041e-6)


def shapes(*shapes):
    """Jobs with so many couples each, of whole seconds with many ties or of any; some operations have length 0."""
    return st.sampled_from(shapes).flatmap(
        lambda shape: st.sampled_from([WHOLE, ODD]).flatmap(
            lambda seconds: st.tuples(*(st.lists(st.tuples(seconds, seconds), min_size=n, max_size=n) for n in shape))
        )
    )


@examples(500)
@given(shapes((1,), (4,), (2, 1), (2, 2), (3, 2), (2, 2, 1), (2, 1, 1), (3, 3), (1, 1, 1, 1)))
def test_tiny_instances_against_all_orders(jobs):
    assert optimal_makespan(jobs) == close(slow_optimum(jobs))


@examples(60)
@given(shapes((2, 2, 2), (3, 2, 2), (2, 2, 1, 1), (4, 3), (3, 3, 1)))
def test_small_instances_against_all_orders(jobs):
    assert optimal_makespan(jobs) == close(slow_optimum(jobs))


def test_instances_that_no_simple_order_solves_against_all_orders():
    """Work about as long as the I/O of the others; only where the search, not a simple schedule, finds the optimum."""
    draw = random.Random(31)
    found = 0
    while found < 60:
        shape = draw.choice([(3, 2, 2), (2, 2, 2), (2, 2, 1, 1), (4, 3)])
        jobs = [[(draw.uniform(0, 4), draw.uniform(0.5, 2.5)) for _ in range(n)] for n in shape]
        best = optimal_makespan(jobs)
        if best < min(candidate.makespan for candidate in chain_optimum._candidates(jobs)) * (1.0 - 1e-9):
            found += 1
            assert best == close(slow_optimum(jobs))


def test_alike_jobs_against_all_orders():
    """Jobs of one kind, jobs that become alike, and jobs that only their last work tells apart."""
    draw = random.Random(32)
    for _ in range(100):
        long = [(draw.uniform(0, 4), draw.uniform(0.5, 2.5)) for _ in range(3)]
        other = [(draw.uniform(0, 4), draw.uniform(0.5, 2.5))]
        later, end = [*long, (draw.uniform(0, 4), 0.0)], [(draw.uniform(0, 4), 0.0)]
        kinds = [
            [long, long, other],
            [long, long[1:], long[2:]],
            [long, other + long[1:], other],
            [later, long, other + end],
        ]
        jobs = draw.choice(kinds)
        assert optimal_makespan(jobs) == close(slow_optimum(jobs))


@examples(80)
@given(shapes((3, 3, 2), (4, 2, 2, 1), (3, 3, 3), (5, 4)), st.randoms(use_true_random=False))
def test_the_schedule_is_one_and_does_not_depend_on_the_order_of_the_jobs(jobs, draw):
    best = optimal_schedule(jobs)
    assert schedule(jobs, best.order) == best
    assert all(begin >= end for end, begin in zip(best.end, best.begin[1:], strict=False))
    shuffled = draw.sample(list(jobs), len(jobs))
    assert optimal_makespan(shuffled) == close(best.makespan)
    assert best.makespan >= max(c.seconds for c in chains(jobs)) * (1.0 - 1e-12)
    for _ in range(20):
        assert list_schedule(jobs, lambda waiting: draw.random()).makespan >= best.makespan * (1.0 - 1e-12)


@examples(200)
@given(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 4), st.integers(0, 9)), max_size=7))
def test_the_bound_of_one_machine_second_by_second(operations):
    left, makespan, now = [length for _, length, _ in operations], 0, 0
    while any(left):
        there = [k for k, (head, _, _) in enumerate(operations) if head <= now and left[k]]
        if there:
            longest = max(there, key=lambda k: operations[k][2])
            left[longest] -= 1
            makespan = max(makespan, now + 1 + operations[longest][2])
        now += 1
    assert chain_optimum._one_machine([tuple(map(float, operation)) for operation in operations]) == makespan


@pytest.mark.parametrize(
    ("volumes", "makespan"),
    [
        ((3, 1, 1, 2, 2, 1), 12),  # 3 + 2 = 5, half of them
        ((5, 3, 2, 6, 4), 22),  # 6 + 4
        ((3, 3, 3, 1), 13),  # halves of 4 and 6: a second is lost
        ((6, 6, 2), 17),  # 6 and 8
    ],
)
def test_a_partition_problem(volumes, makespan):
    """The idea of Theorem 1. Operations of S seconds in all are there at 0. J_1 has one of 1 at 0, works S/2, has another
    of 1 and works S/2 more: S + 2, and to reach that some of the others must fill the S/2 between its two operations."""
    half = sum(volumes) / 2
    jobs = [[(0.0, 1.0), (half, 1.0), (half, 0.0)], *([(0.0, float(volume))] for volume in volumes)]
    assert optimal_makespan(jobs) == makespan


def test_nothing_and_jobs_that_only_work():
    assert optimal_makespan([]) == 0.0
    assert optimal_makespan([[(3.0, 0.0)], [(4.0, 0.0)]]) == 4.0
    assert optimal_makespan([[(9.0, 0.0)], [(1.0, 2.0)], [(0.0, 1.0)]]) == 9.0


def test_too_many_operations_are_refused():
    with pytest.raises(InputError) as error:
        optimal_makespan([[(1.0, 1.0)] * 40, [(1.0, 1.0)] * 25])
    assert str(error.value) == "jobs: they have 65 operations; expected at most 64 for an optimum"


def test_too_long_a_search_is_refused(monkeypatch):
    draw = random.Random(33)
    jobs = [[(draw.uniform(0, 8), draw.uniform(0.5, 1.5)) for _ in range(4)] for _ in range(5)]
    assert optimal_makespan(jobs) > 0.0
    monkeypatch.setattr(chain_optimum, "MOST_NODES", 20)
    with pytest.raises(InputError) as error:
        optimal_makespan(jobs)
    message = "the search for the optimum keeps over 20 beginnings of orders; expected fewer or shorter jobs"
    assert str(error.value) == f"jobs: {message}"


@examples(100)
@given(shapes((1,), (2, 1), (2, 2), (3, 2), (2, 2, 1), (2, 1, 1), (1, 1, 1, 1)))
def test_least_max_stretch_against_all_orders(jobs):
    alone = [c.seconds or 1.0 for c in chains(jobs)]
    slow = min(max_stretch(schedule(jobs, order), alone) for order in orders([c.operations for c in chains(jobs)]))
    value, found = least_max_stretch(jobs)
    assert value == close(max(1.0, slow))
    assert max(1.0, max_stretch(found, alone)) == close(value)


def test_least_max_stretch_refuses_what_is_too_large(monkeypatch):
    with pytest.raises(InputError, match="they have 65 operations; expected at most 64"):
        least_max_stretch([[(1.0, 1.0)] * 65])
    monkeypatch.setattr(chain_optimum, "MOST_NODES", 3)
    with pytest.raises(InputError, match="keeps over 3 beginnings of orders"):
        least_max_stretch([[(1.0, 1.0 + i)] * 3 for i in range(4)])
