"""Optima against linear programs, against all orders of priority one by one, and in closed form."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given

from penstock.model import Application, InputError, Platform, Workload
from penstock.theory import optimum
from tests.naive.machine import NaiveRun
from tests.naive.optimum import FLOOR, optimal_efficiency, optimal_min_yield
from tests.naive.profiles import examples
from tests.theory.small import crowds, tiny


@examples(50)
@given(tiny(caps=False))
def test_linear_programs_find_the_same_yield(workload):
    assert max(FLOOR, optimum(workload).min_yield) == pytest.approx(optimal_min_yield(workload), abs=1e-8)


@examples(50)
@given(tiny(caps=False))
def test_linear_programs_find_the_same_efficiency(workload):
    assert optimum(workload).efficiency == pytest.approx(optimal_efficiency(workload), abs=1e-8)


def by_priority(workload, order):
    """The run in which the operation that comes first in the order is served first; the order names applications."""

    def rates(scene):
        left = {i: run.members[i].operations for i in {a.index for a in scene.active}}
        for who in order:
            if who in left:
                if left[who] == 0:
                    return {a.index: scene.bandwidth if a.index == who else 0.0 for a in scene.active}
                left[who] -= 1
        raise AssertionError("an order names every operation")

    run = NaiveRun(workload, "fcfs", rates=rates)
    return run.run()


def all_orders(workload):
    operations = [i for i, a in enumerate(workload.applications) for _ in range(a.phases.operations)]
    return [by_priority(workload, order) for order in sorted(set(permutations(operations)))]


@examples(150)
@given(crowds(3, 2))
def test_no_order_of_priority_is_better(workload):
    runs = all_orders(workload)
    best = optimum(workload)
    assert best.efficiency == pytest.approx(max(run.efficiency for run in runs), abs=1e-9)
    highest = max(run.min_yield for run in runs)
    if workload.window is None:
        assert best.min_yield == pytest.approx(highest, abs=2e-9)
    else:
        assert best.min_yield >= highest - 2e-9


def pair(first, second, window=None, **options):
    a0, a1 = (Application.of(f"a{i}", phases, **options) for i, phases in enumerate((first, second)))
    return Workload(Platform(1.0), (a0, a1), window)


def test_at_the_end_of_the_window_several_are_unfinished():
    # Both post 5 bytes at 0, the window ends at 4. Half for each: 2 / 4. In any order of priority one has nothing.
    both = pair([("io", 5.0)], [("io", 5.0)], (0.0, 4.0))
    assert optimum(both).min_yield == pytest.approx(0.5, abs=2e-9)
    assert optimum(both).efficiency == pytest.approx(0.5)
    assert {run.min_yield for run in all_orders(both)} == {0.0}


def test_work_after_the_operation():
    # 2 bytes, then work, in a window of 4 s: one has 4 s of progress, the other 2. No balance helps the second: with more
    # than 2 s of progress each, both operations, 4 s, would be done before 4. To the ends, 4 s of progress each: at 4 and 6.
    both = pair([("io", 2.0), ("work", 2.0)], [("io", 2.0), ("work", 2.0)], (0.0, 4.0))
    assert optimum(both).min_yield == pytest.approx(0.5, abs=2e-9)
    assert optimum(both).efficiency == pytest.approx(0.75)
    to_the_ends = pair([("io", 2.0), ("work", 2.0)], [("io", 2.0), ("work", 2.0)])
    assert optimum(to_the_ends).min_yield == pytest.approx(2.0 / 3.0, abs=2e-9)
    assert optimum(to_the_ends).efficiency == pytest.approx(2.0 / 3.0)


def test_a_delay_is_carried_on():
    # 2 bytes, 1 s of work, 2 bytes, in a window of 4 s: alone, the second operation is half done. Whoever waits for the
    # other's first operation has just its own first one done at 4, if it has all of the link from 2 on: 3 + 2, else 4 + 1.
    chain = [("io", 2.0), ("work", 1.0), ("io", 2.0)]
    assert optimum(pair(chain, chain, (0.0, 4.0))).efficiency == pytest.approx(5.0 / 8.0)


def test_an_operation_is_interrupted():
    # a0 has 4 bytes, a1 posts 1 byte at 1 and then works for 6 s. In a window of 8 s a1 has done all if it interrupts a0
    # at 1, which then ends at 5 with 4/5. If a0 went on to 4, a1 would have done 5 of 8 s.
    both = pair([("io", 4.0)], [("work", 1.0), ("io", 1.0), ("work", 6.0)], (0.0, 8.0))
    assert optimum(both).min_yield == pytest.approx(0.8, abs=2e-9)
    assert optimum(both).efficiency == pytest.approx(12.0 / 16.0)


def test_what_is_done_before_the_window_counts():
    # a0 has done 5 of 10 s, a1 is just released; both have 10 bytes in a window of 10 s. (5 + 5) / 20 = 5 / 10.
    a0 = Application.of("a0", [("io", 10.0)], release=-10.0, progress=5.0, nodes=3)
    a1 = Application.of("a1", [("io", 10.0)])
    both = optimum(Workload(Platform(1.0), (a0, a1), (0.0, 10.0)))
    assert both.min_yield == pytest.approx(0.5, abs=2e-9)
    assert both.efficiency == pytest.approx(0.75)
    # With nothing left to do it ends at the begin of the window, at 5 / 10, whatever a1 does.
    a0 = Application.of("a0", [("io", 0.0)], release=-10.0, progress=5.0)
    assert optimum(Workload(Platform(1.0), (a0, a1), (0.0, 10.0))).min_yield == pytest.approx(0.5, abs=2e-9)


def test_leads_and_releases_inside_the_window():
    # a0 posts 3 bytes at 2, after its lead; a1 is released at 3, posts 2 bytes at once and works for 1 s. One of them waits:
    # if a0 does, it ends at 7 with 5/7; if a1 does, it ends at 8 with 3/5.
    a0 = Application.of("a0", [("io", 3.0)], lead=2.0)
    a1 = Application.of("a1", [("io", 2.0), ("work", 1.0)], release=3.0)
    for window in (None, (0.0, 10.0)):
        assert optimum(Workload(Platform(1.0), (a0, a1), window)).min_yield == pytest.approx(5.0 / 7.0, abs=2e-9)


@pytest.mark.parametrize("window", [None, (0.0, 3.0), (0.0, 20.0)])
def test_alone_nothing_is_lost(window):
    alone = Application.of("a0", [("work", 1.0), ("io", 2.0), ("io", 1.0), ("work", 1.0)], lead=1.0)
    best = optimum(Workload(Platform(1.0), (alone,), window))
    assert best.min_yield == 1.0
    assert best.efficiency == pytest.approx({None: 1.0, (0.0, 3.0): 1.0, (0.0, 20.0): 0.3}[window])


def test_many_alike_are_no_trouble():
    # Bounds leave out what exchanges equal operations: 16!/(4!)⁴ = 63,063,000 orders.
    members = tuple(Application.of(f"a{i}", [("io", 1.0)] * 4) for i in range(4))
    best = optimum(Workload(Platform(1.0), members))
    assert best.min_yield == pytest.approx(0.25, abs=2e-9)
    assert best.efficiency == pytest.approx(0.25)


def test_a_cap_below_the_bandwidth_is_refused():
    slow = Application.of("slow", [("io", 1.0)], bandwidth=0.5)
    with pytest.raises(InputError) as refused:
        optimum(Workload(Platform(1.0), (Application.of("a0", [("io", 1.0)]), slow)))
    expected = "the cap 0.5 is below the bandwidth 1.0 of the link; expected caps equal to it for an optimum"
    assert str(refused.value) == f"applications[1].bandwidth: {expected}"


def test_too_many_orders_are_refused():
    chain = [("work", 1.0), ("io", 1.0)]
    members = tuple(Application.of(f"a{i}", chain * 5) for i in range(4))
    with pytest.raises(InputError) as refused:
        optimum(Workload(Platform(1.0), members))
    expected = "their operations can be put in over 200,000,000 orders; expected fewer for an optimum"
    assert str(refused.value) == f"applications: {expected}"
    # What is not reached inside the window does not count.
    assert optimum(Workload(Platform(1.0), members, (0.0, 4.0))).min_yield < 1.0
