"""Hierarchical round-robin: Theorems 2 and 4 of 001 against schedules and the exact optimum; periodic orders of jobs."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from penstock.model import InputError
from penstock.theory.chain_optimum import optimal_makespan
from penstock.theory.chains import block_cost, block_sizes, hierarchical_round_robin, periodic, schedule, uniform_makespan
from tests.naive.compare import close

FIGURE = (4, 4, 2, 2, 1)
"""Operations of the jobs of Figure II.3, in which a = 2.5 and b = 1."""


def uniform(draw: random.Random, most: int, longest: int) -> tuple[float, float, list[int]]:
    """a, b and n_i; as many instances where work is long as where the link is full."""
    counts = [draw.randint(1, draw.randint(1, longest)) for _ in range(draw.randint(1, most))]
    if draw.random() < 0.5:
        return float(draw.randint(0, 8)), float(draw.randint(1, 4)), counts
    b = draw.uniform(0.1, 4.0)
    return b * draw.uniform(0.0, 1.5) * len(counts), b, counts


def jobs_with(work: float, io: float, counts) -> list[list[tuple[float, float]]]:
    return [[(work, io)] * count for count in counts]


# ------------------------------------------------------------------ uniform jobs


def test_the_example_of_figure_2_3():
    # Blocks of 2, 4, 4 and 3: 2.5 + 2, twice max(3.5, 4), max(3.5, 3).
    jobs = jobs_with(2.5, 1.0, FIGURE)
    order = hierarchical_round_robin(jobs)
    assert block_sizes(order, 0) == [2, 4, 4, 3]
    assert schedule(jobs, order).makespan == block_cost(2.5, 1.0, [2, 4, 4, 3]) == 16.0
    assert uniform_makespan(2.5, 1.0, FIGURE) == 16.0
    assert optimal_makespan(jobs) == 16.0


def test_one_operation_each():
    assert uniform_makespan(3.0, 2.0, [1, 1, 1]) == 3.0 + 3 * 2.0
    jobs = jobs_with(3.0, 2.0, [1, 1, 1])
    assert schedule(jobs, hierarchical_round_robin(jobs)).makespan == 9.0


def test_no_jobs():
    assert uniform_makespan(3.0, 2.0, []) == uniform_makespan(3.0, 2.0, [0, 0]) == block_cost(3.0, 2.0, []) == 0.0


def test_the_closed_form_is_the_makespan_of_the_schedule():
    """Proposition 2 and the formula of 001 §II.D.3, with block sizes as in Lemma 2."""
    draw = random.Random(21)
    for _ in range(4000):
        a, b, counts = uniform(draw, 9, 14)
        jobs = jobs_with(a, b, counts)
        order = hierarchical_round_robin(jobs)
        assert Counter(order) == Counter(dict(enumerate(counts)))
        sizes = block_sizes(order, order[-1])
        assert sizes[0] == counts.count(max(counts))
        assert sizes[1:] == sorted(sizes[1:], reverse=True)
        assert max(sizes[1:], default=0) - min(sizes[1:], default=0) <= 1
        makespan = schedule(jobs, order).makespan
        assert makespan == close(block_cost(a, b, sizes))
        assert makespan == close(uniform_makespan(a, b, counts))


def test_the_cost_of_blocks_is_a_lower_bound():
    """Proposition 1, for any order and any job that blocks are counted by."""
    draw = random.Random(22)
    below = 0
    for _ in range(1500):
        a, b, counts = uniform(draw, 5, 5)
        order = [i for i, count in enumerate(counts) for _ in range(count)]
        draw.shuffle(order)
        makespan = schedule(jobs_with(a, b, counts), order).makespan
        cost = block_cost(a, b, block_sizes(order, draw.randrange(len(counts))))
        assert cost <= makespan * (1.0 + 1e-12)
        below += cost < makespan * (1.0 - 1e-9)
    assert below > 500


def test_hierarchical_round_robin_is_best_for_uniform_jobs():
    """001 Theorem 2."""
    draw = random.Random(23)
    periodic_is_worse = 0
    for _ in range(1500):
        a, b, counts = uniform(draw, 5, 5)
        jobs = jobs_with(a, b, counts)
        best = optimal_makespan(jobs)
        assert schedule(jobs, hierarchical_round_robin(jobs)).makespan == close(best)
        assert uniform_makespan(a, b, counts) == close(best)
        periodic_is_worse += schedule(jobs, periodic(jobs, "fifo")).makespan > best * (1.0 + 1e-9)
    assert periodic_is_worse > 300, "the instances say nothing: a simple order is best on nearly all of them"


# ------------------------------------------------------------------ periodic jobs of n operations


def in_periods(order, n: int) -> list[int]:
    return list(order) * n


def test_hierarchical_round_robin_is_within_a_period_of_the_best():
    """001 Theorem 4: at most 1 + 1/n. It holds for any order inside the period; the longest work last is far below."""
    draw = random.Random(24)
    worst = {"round-robin": 0.0, "longest work first": 0.0}
    for _ in range(2000):
        n = draw.randint(1, 4)
        couples = [(10.0 ** draw.uniform(-2, 1), 10.0 ** draw.uniform(-2, 1)) for _ in range(draw.randint(2, 4))]
        if draw.random() < 0.5:
            couples = [(float(draw.randint(0, 8)), float(draw.randint(1, 8))) for _ in couples]
        jobs = [[couple] * n for couple in couples]
        by_work = sorted(range(len(jobs)), key=lambda i: couples[i][0])
        best = optimal_makespan(jobs)
        orders = {
            "round-robin": hierarchical_round_robin(jobs),
            "longest work first": in_periods(reversed(by_work), n),
            "any": in_periods(draw.sample(by_work, len(by_work)), n),
        }
        for name, order in orders.items():
            ratio = schedule(jobs, order).makespan / best
            assert ratio <= 1.0 + 1.0 / n + 1e-9
            if name in worst:
                worst[name] = max(worst[name], n * (ratio - 1.0))
    assert worst["longest work first"] > 0.9
    assert 0.05 < worst["round-robin"] < 0.4


@pytest.mark.parametrize("n", [1, 2, 5, 10])
def test_which_is_tight_only_with_the_longest_work_first(n):
    """Work of 1 and hardly any I/O beside I/O of 1 without work: who begins with the former waits a second for nothing."""
    epsilon = 1e-6
    jobs = [[(1.0, epsilon)] * n, [(0.0, 1.0)] * n]
    best = optimal_makespan(jobs)
    assert best == close(n * (1.0 + epsilon))
    assert schedule(jobs, in_periods([0, 1], n)).makespan / best == pytest.approx(1.0 + 1.0 / n, rel=2e-6)
    assert hierarchical_round_robin(jobs) == in_periods([1, 0], n)
    assert schedule(jobs, in_periods([1, 0], n)).makespan == close(best)


# ------------------------------------------------------------------ orders of any jobs


def test_only_operations_that_ask_for_the_link_are_in_an_order():
    jobs = [[(1.0, 0.0), (1.0, 1.0)], [(3.0, 1.0), (0.0, 0.0), (1.0, 2.0)], [(5.0, 0.0)]]
    assert hierarchical_round_robin(jobs) == [1, 0, 1]
    # First requests at 2 and 3; means (2, 1) and (2, 1.5), both with more work than I/O; 3 and 7 seconds in all.
    assert periodic(jobs, "fifo") == [0, 1, 1]
    assert periodic(jobs, "johnson") == [1, 0, 1]
    assert periodic(jobs, "most-remain") == [1, 0, 1]


def test_fifo_goes_by_the_first_work_and_not_by_the_mean():
    assert periodic([[(3.0, 1.0), (0.0, 1.0)], [(2.0, 1.0), (9.0, 1.0)]], "fifo") == [1, 0, 1, 0]


def test_an_unknown_order_is_refused():
    with pytest.raises(InputError) as error:
        periodic([[(1.0, 1.0)]], "best")
    assert str(error.value) == "periodic order: 'best' is unknown; expected one of fifo, johnson, most-remain"
