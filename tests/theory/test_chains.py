"""Schedules of bi-colored chains: dates by hand and by slow twins, one greedy link, and Theorem 3 of 001."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import simulate
from penstock.model import Application, InputError, Platform, Workload
from penstock.theory.chain_optimum import optimal_makespan
from penstock.theory.chains import KEYS, Chain, chain, chains, jobs_of, list_schedule, numbers, schedule
from tests.naive.compare import close
from tests.naive.profiles import examples

INSTANT = st.sampled_from([0, 0, 1, 1, 2, 3, 5, 8])
"""Whole seconds, so that many events fall together and sums are exact."""


def whole_jobs(jobs: int = 4, operations: int = 4):
    """Jobs of whole seconds, with operations of length 0 among them."""
    return st.lists(st.lists(st.tuples(INSTANT, INSTANT), max_size=operations), min_size=1, max_size=jobs)


def drawn_jobs(draw: random.Random, most: int = 4, operations: int = 3) -> list[list[tuple[float, float]]]:
    """Jobs with any numbers or whole ones; one operation in six has length 0."""
    whole = draw.random() < 0.5

    def seconds(low: float) -> float:
        return float(draw.randint(int(low), 6)) if whole else draw.uniform(low, 6.0)

    def couple() -> tuple[float, float]:
        return seconds(0.0), seconds(1.0) if draw.random() < 5 / 6 else 0.0

    return [[couple() for _ in range(draw.randint(1, operations))] for _ in range(draw.randint(1, most))]


def random_order(draw: random.Random, jobs) -> list[int]:
    order = [i for i, c in enumerate(chains(jobs)) for _ in c.io]
    draw.shuffle(order)
    return order


# ------------------------------------------------------------------ one order


def test_dates_by_hand():
    # The link waits until 2 for job 1, though job 0 is there at 1; job 0 has it from 3 to 5 and comes back at 9.
    jobs = [[(1.0, 2.0), (4.0, 1.0)], [(2.0, 1.0), (1.0, 3.0)]]
    result = schedule(jobs, [1, 0, 1, 0])
    assert result.begin == (2.0, 3.0, 5.0, 9.0)
    assert result.end == (3.0, 5.0, 8.0, 10.0)
    assert result.completion == (10.0, 8.0)
    assert result.makespan == 10.0


def test_an_operation_of_length_0_never_asks_for_the_link():
    assert chain([(1.0, 0.0), (2.0, 3.0), (0.5, 0.0), (0.25, 0.0)]) == Chain((3.0,), (3.0,), 0.75)
    assert chain([(1.0, 0.0)]) == Chain((), (), 1.0)
    # Job 1 only works: it is in no order and still counts for the makespan.
    result = schedule([[(1.0, 1.0), (4.0, 0.0)], [(7.0, 0.0)]], [0])
    assert result.completion == (6.0, 7.0)
    assert schedule([], []).makespan == 0.0


@examples(500)
@given(whole_jobs(), st.randoms(use_true_random=False))
def test_dates_are_the_least_that_obey_the_three_rules(jobs, draw):
    """001 §II.A.3 as inequalities, iterated until nothing changes: the longest paths."""
    order = random_order(draw, jobs)
    known, result = chains(jobs), schedule(jobs, order)
    begin = [0.0] * len(order)
    own = [[place for place, i in enumerate(order) if i == job] for job in range(len(jobs))]
    changed = True
    while changed:
        changed = False
        for place, i in enumerate(order):
            k = own[i].index(place)
            least = known[i].work[k]
            if k > 0:
                least += begin[own[i][k - 1]] + known[i].io[k - 1]
            if place > 0:
                before = order[place - 1]
                least = max(least, begin[place - 1] + known[before].io[own[before].index(place - 1)])
            if least > begin[place]:
                begin[place], changed = least, True
    assert list(result.begin) == begin


@pytest.mark.parametrize(
    ("order", "message"),
    [
        ([0, 1, 2], "order[2]: there is no job 2; expected 0 … 1"),
        ([0, -1], "order[1]: there is no job -1; expected 0 … 1"),
        ([0, 0, 1], "order: job 0 appears 2 times; expected 1, once an operation"),
        ([0], "order: job 1 appears 0 times; expected 1, once an operation"),
    ],
)
def test_a_wrong_order_is_refused(order, message):
    with pytest.raises(InputError) as error:
        schedule([[(1.0, 1.0)], [(1.0, 1.0), (1.0, 0.0)]], order)
    assert str(error.value) == message


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf")])
def test_a_wrong_duration_is_refused(wrong):
    with pytest.raises(InputError) as error:
        schedule([[(1.0, 1.0)], [(1.0, 1.0), (1.0, wrong)]], [0, 1])
    assert str(error.value) == f"jobs[1][1]: {wrong} is no duration; expected finite seconds, 0 or more"


# ------------------------------------------------------------------ list schedules


def slow_list_schedule(jobs, name):
    """The state second by second; all durations are whole."""
    known = [[list(couple) for couple in zip(c.work, c.io, strict=True)] + [[c.tail, 0]] for c in chains(jobs)]
    means = numbers(jobs)
    in_johnson = [(a > b, -b if a > b else a) for a, b in zip(means.work, means.io, strict=True)]
    posted = {}
    now, holder, order = 0, None, []
    while any(known) or holder is not None:
        if holder is not None and known[holder][0][1] == 0:
            known[holder].pop(0)
            holder = None
        for i, rest in enumerate(known):
            while rest and rest[0] == [0, 0]:
                rest.pop(0)
            if rest and rest[0][0] == 0 and i != holder:
                posted.setdefault(i, now)
        if holder is None and posted:
            minus_left = {i: -sum(map(sum, known[i])) for i in posted}
            key = {"fifo": posted, "johnson": in_johnson, "most-remain": minus_left}[name]
            holder = min((key[i], posted[i], i) for i in posted)[2]
            del posted[holder]
            order.append(holder)
        for i, rest in enumerate(known):
            if rest and rest[0][0] > 0:
                rest[0][0] -= 1
            elif i == holder:
                rest[0][1] -= 1
        now += 1
    return order


@examples(400)
@given(whole_jobs(), st.sampled_from(sorted(KEYS)))
def test_list_schedules_second_by_second(jobs, name):
    assert list(list_schedule(jobs, name).order) == slow_list_schedule(jobs, name)


def test_the_three_lists_by_hand():
    # The link falls free at 3; jobs 1 and 2 came at 1 and 2. The mean couples are (0, 3), (1.5, 1) and (1, 3).
    jobs = [[(0.0, 3.0)], [(1.0, 1.0), (2.0, 1.0)], [(2.0, 2.0), (0.0, 4.0)]]
    assert list_schedule(jobs, "fifo").order == (0, 1, 2, 1, 2)  # at 6 both come back, the lower index is first
    assert list_schedule(jobs, "johnson").order == (0, 2, 2, 1, 1)
    assert list_schedule(jobs, "most-remain").order == (0, 2, 1, 2, 1)  # 6 to 4 at 3; 4 to 4 at 5, job 1 came first
    assert list_schedule(jobs, lambda waiting: waiting.job).order == (0, 1, 2, 1, 2)
    assert list_schedule(jobs, lambda waiting: -waiting.posted).order == (0, 2, 2, 1, 1)


def test_a_request_a_rounding_error_late_is_in_time():
    # 0.1 + 0.2 > 0.3: job 1 asks at the very moment at which the link falls free, and has the lower key.
    jobs = [[(0.0, 0.3), (0.0, 1.0)], [(0.1 + 0.2, 1.0)]]
    assert list_schedule(jobs, lambda waiting: -waiting.job).order == (0, 1, 0)


@examples(300)
@given(whole_jobs(), st.randoms(use_true_random=False))
def test_the_link_never_idles_while_an_operation_waits(jobs, draw):
    result = list_schedule(jobs, lambda waiting: draw.random())
    known, done, date = chains(jobs), [0] * len(jobs), [0.0] * len(jobs)
    for place, i in enumerate(result.order):
        posted = date[i] + known[i].work[done[i]]
        free = result.end[place - 1] if place else 0.0
        earlier = [date[j] + known[j].work[done[j]] for j in range(len(jobs)) if done[j] < known[j].operations]
        assert result.begin[place] == max(posted, free) == max(free, min(earlier))
        done[i], date[i] = done[i] + 1, result.end[place]


def test_an_unknown_key_is_refused():
    with pytest.raises(InputError) as error:
        list_schedule([[(1.0, 1.0)]], "lifo")
    assert str(error.value) == "key: 'lifo' is unknown; expected one of fifo, johnson, most-remain, or a function"


# ------------------------------------------------------------------ workloads


def test_jobs_of_a_workload():
    # B = 2; the cap of b is 1. Work adds up, volumes of 0 are nothing, work at the end is a couple without I/O.
    a = Application.of("a", [("work", 1.0), ("io", 0.0), ("work", 2.0), ("io", 4.0), ("read", 2.0), ("work", 5.0)], lead=0.5)
    b = Application.of("b", [("io", 3.0)], bandwidth=1.0)
    c = Application.of("c", [("work", 0.0)])
    assert jobs_of(Workload(Platform(2.0), (a, b, c))) == [[(3.5, 2.0), (0.0, 1.0), (5.0, 0.0)], [(0.0, 3.0)], []]


def test_windows_and_late_releases_are_refused():
    a, late = Application.of("a", [("io", 1.0)]), Application.of("b", [("io", 1.0)], release=2.0)
    with pytest.raises(InputError) as error:
        jobs_of(Workload(Platform(1.0), (a,), (0.0, 5.0)))
    assert str(error.value) == "window: bi-colored chains run to their ends; expected a workload without a window"
    with pytest.raises(InputError) as error:
        jobs_of(Workload(Platform(1.0), (a, late)))
    assert str(error.value) == "applications[1].release: 2.0 is after the first release, 0.0; expected all at once"


def test_fifo_is_what_the_engine_does_with_whole_links():
    """With all caps equal to B fcfs serves one operation after the other: the ends of all jobs agree."""
    draw = random.Random(5)
    for _ in range(60):
        jobs = drawn_jobs(draw, most=6, operations=8)
        phases = [[phase for a, b in job for phase in (("work", a), ("io", 4.0 * b))] for job in jobs]
        workload = Workload(Platform(4.0), tuple(Application.of(f"a{i}", p) for i, p in enumerate(phases)))
        ends = [account.end for account in simulate(workload, "fcfs").applications]
        assert list(list_schedule(jobs_of(workload), "fifo").completion) == close(ends)


# ------------------------------------------------------------------ what 001 proves of them


def test_with_one_operation_each_any_greedy_order_is_best():
    """001 §II.B.2: the case n_i = 1."""
    draw = random.Random(11)
    for _ in range(600):
        couples = [job[0] for job in drawn_jobs(draw, most=7, operations=1)]
        jobs = [[(a, b or 1.0)] for a, b in couples]
        greedy = list_schedule(jobs, lambda waiting: draw.random()).makespan
        assert greedy == close(optimal_makespan(jobs))
        assert greedy <= schedule(jobs, random_order(draw, jobs)).makespan * (1.0 + 1e-12)


def test_no_list_is_longer_than_twice_the_best():
    """001 Theorem 3, for any keys."""
    draw = random.Random(12)
    worst = 1.0
    for _ in range(1200):
        jobs = drawn_jobs(draw)
        best = optimal_makespan(jobs)
        for key in (*KEYS, lambda waiting: draw.random()):
            makespan = list_schedule(jobs, key).makespan
            assert best * (1.0 - 1e-12) <= makespan <= 2.0 * best * (1.0 + 1e-12)
            worst = max(worst, makespan / best)
    assert worst > 1.2, "the instances say nothing: lists are nearly best on all of them"


@pytest.mark.parametrize("epsilon", [0.5, 0.1, 1e-3, 1e-6])
def test_and_twice_is_tight(epsilon):
    """The instance I_ε of Theorem 3: any list has to serve J_1 at 0; the best schedule waits for ε."""
    jobs = [[(0.0, 1.0)], [(epsilon, epsilon), (1.0, 0.0)]]
    best = optimal_makespan(jobs)
    assert best == close(1.0 + 2.0 * epsilon)
    for key in (*KEYS, lambda waiting: -waiting.job):
        assert list_schedule(jobs, key).makespan == close(2.0 + epsilon)
    assert (2.0 + epsilon) / best > 2.0 - 3.0 * epsilon
