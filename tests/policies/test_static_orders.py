"""Static orders against their definitions, written out with lists, and against what they are good for."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import InputError
from penstock.policies.static_orders import PERIODIC_ORDERS, hierarchical_round_robin, johnson_rank, periodic
from tests.naive.profiles import examples

SECONDS = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.0, 2.0, 3.0, 7.5])


def jobs(least_operations: int = 0):
    """(n_i, a_i, b_i, first work) of a few jobs, with many ties."""
    return st.lists(st.tuples(st.integers(least_operations, 9), SECONDS, SECONDS, SECONDS), max_size=7)


def columns(drawn):
    return [list(column) for column in zip(*drawn, strict=True)] or [[], [], [], []]


# ------------------------------------------------------------------ hierarchical round-robin


def slow_round_robin(operations, work):
    """The stacks of the pinned reading, one operation at a time."""
    by_length = sorted((i for i in range(len(operations)) if operations[i]), key=lambda i: (-operations[i], -work[i], i))
    if not by_length:
        return []
    longest = operations[by_length[0]]
    stacks = [[] for _ in range(longest)]
    number = 1
    for i in by_length:
        if operations[i] == longest:
            for stack in stacks:
                stack.append(i)
            continue
        for _ in range(operations[i]):
            stacks[number].append(i)
            number = 1 if number == longest - 1 else number + 1
    return [i for stack in stacks for i in reversed(stack)]


@examples(600)
@given(jobs())
def test_round_robin_is_its_definition(drawn):
    operations, work, _, _ = columns(drawn)
    assert hierarchical_round_robin(operations, work) == slow_round_robin(operations, work)


def test_round_robin_of_figure_2_3():
    # Pushed: S_0: 0 1, S_1: 0 1 2 3, S_2: 0 1 2 4, S_3: 0 1 3; job 3 goes on S_3 and, cyclically, on S_1.
    stacks = ([1, 0], [3, 2, 1, 0], [4, 2, 1, 0], [3, 1, 0])
    assert hierarchical_round_robin([4, 4, 2, 2, 1], [2.5] * 5) == [i for stack in stacks for i in stack]


def test_of_the_longest_jobs_that_with_the_most_work_runs_last():
    assert hierarchical_round_robin([2, 2, 2], [5.0, 9.0, 1.0]) == [2, 0, 1] * 2
    assert hierarchical_round_robin([1, 1, 0], [2.0, 3.0, 9.0]) == [0, 1]


def test_round_robin_of_nothing():
    assert hierarchical_round_robin([], []) == []
    assert hierarchical_round_robin([0, 0], [1.0, 2.0]) == []


def test_a_rounding_error_decides_nothing():
    mean = (0.1 + 0.1 + 0.1) / 3
    assert mean != 0.1
    assert hierarchical_round_robin([3, 3], [0.1, mean]) == hierarchical_round_robin([3, 3], [mean, 0.1]) == [1, 0] * 3
    assert periodic([1, 1], [mean, 0.1], [1.0, 1.0], "fifo") == periodic([1, 1], [0.1, mean], [1.0, 1.0], "fifo") == [0, 1]
    # Work and I/O of 0.1 s are equal: the first group of Johnson's order, before a job with a little more work.
    assert johnson_rank([0.2, mean], [0.5, 0.1]).tolist() == [1, 0]
    assert johnson_rank([0.2, 0.1], [0.5, mean]).tolist() == [1, 0]


# ------------------------------------------------------------------ periodic orders


def slow_periodic(operations, first):
    """Period after period; `first` is the order inside one."""
    left, order = list(operations), []
    while any(left):
        for i in first:
            if left[i]:
                left[i] -= 1
                order.append(i)
    return order


def slow_johnson(work, io):
    """Definition 9: two groups, sorted each in its own way."""
    numbers = range(len(work))
    first = sorted((i for i in numbers if work[i] <= io[i]), key=lambda i: (work[i], i))
    second = sorted((i for i in numbers if work[i] > io[i]), key=lambda i: (-io[i], i))
    return first + second


@examples(600)
@given(jobs())
def test_periodic_is_its_definition(drawn):
    operations, work, io, first = columns(drawn)
    numbers = range(len(operations))
    expected = {
        "fifo": sorted(numbers, key=lambda i: (first[i], i)),
        "johnson": slow_johnson(work, io),
        "most-remain": sorted(numbers, key=lambda i: (-operations[i] * (work[i] + io[i]), i)),
    }
    assert set(expected) == set(PERIODIC_ORDERS)
    for by, inside in expected.items():
        assert periodic(operations, work, io, by, first) == slow_periodic(operations, inside)


def test_the_three_orders_of_a_period():
    # Totals: 2 · (1 + 4) = 10, 3 · (2 + 2) = 12, 1 · (3 + 1) = 4.
    operations, work, io = [2, 3, 1], [1.0, 2.0, 3.0], [4.0, 2.0, 1.0]
    assert periodic(operations, work, io, "fifo", [5.0, 0.0, 1.0]) == [1, 2, 0, 1, 0, 1]
    assert periodic(operations, work, io, "fifo") == [0, 1, 2, 0, 1, 1]
    assert periodic(operations, work, io, "johnson") == [0, 1, 2, 0, 1, 1]
    assert periodic(operations, work, io, "most-remain") == [1, 0, 2, 1, 0, 1]


def test_an_unknown_order_is_refused():
    with pytest.raises(InputError) as error:
        periodic([1], [1.0], [1.0], "lifo")
    assert str(error.value) == "periodic order: 'lifo' is unknown; expected one of fifo, johnson, most-remain"


# ------------------------------------------------------------------ Johnson


def flow_shop(order, work, io):
    """When the last job leaves the second of two machines that run one job at a time in the same order."""
    first = second = 0.0
    for i in order:
        first += work[i]
        second = max(first, second) + io[i]
    return second


@examples(300)
@given(st.lists(st.tuples(SECONDS, SECONDS), min_size=1, max_size=5))
def test_johnson_is_best_for_the_flow_shop_of_two_machines(drawn):
    work, io = ([couple[k] for couple in drawn] for k in (0, 1))
    rank = johnson_rank(work, io).tolist()
    order = sorted(range(len(work)), key=lambda i: (rank[i], i))
    assert order == slow_johnson(work, io)
    assert flow_shop(order, work, io) == min(flow_shop(other, work, io) for other in permutations(range(len(work))))
