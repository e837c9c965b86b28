"""Allocations: tcpu and MCKP."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

from penstock.model import Application, Curve, InputError, Platform, Workload
from penstock.planning.placement.allocation import FULL, Characteristics, best_choice, mckp, tcpu
from penstock.planning.placement.heuristics import counts_of
from tests.planning.placement.instances import placeable

# ------------------------------------------------------------------ tcpu against Algorithm 1, line by line, and its laws


def algorithm_1(known: Characteristics, *, as_printed: bool) -> list[int]:
    """The paper's lines, with applications and counts from 1 and no thought of speed."""
    assert known.best is not None
    size, resources = len(known), known.resources

    def stress(i: int, n: int) -> float:
        return float(known.stress[i, n - 1])

    def cpu_load(i: int, n: int) -> float:
        return float(known.cpu_load[i, n - 1])

    allocation = known.least_stress.tolist()
    done = False
    while not done:
        tried = list(allocation)
        difference = [-1.0] * size
        load = sum(stress(i, allocation[i]) / resources for i in range(size))
        for i in range(size):
            n = allocation[i]
            while n != known.best[i] and difference[i] < 0:
                n += 1
                if load + (stress(i, n) / resources - stress(i, allocation[i]) / resources) <= FULL:
                    difference[i] = cpu_load(i, n) - cpu_load(i, tried[i] if as_printed else allocation[i])
                    tried[i] = n
        chosen = difference.index(max(difference))
        if difference[chosen] < 0:
            done = True
        else:
            allocation[chosen] = tried[chosen]
    return [int(count) for count in allocation]


@settings(max_examples=150)
@given(workload=placeable(most_applications=8))
def test_it_is_the_algorithm_of_the_paper(workload: Workload) -> None:
    known = Characteristics.of(workload)
    assert tcpu(known).tolist() == algorithm_1(known, as_printed=False)
    assert tcpu(known, as_printed=True).tolist() == algorithm_1(known, as_printed=True)


@settings(max_examples=100)
@given(workload=placeable(most_applications=8))
def test_it_lies_between_least_stress_and_best_bandwidth(workload: Workload) -> None:
    known = Characteristics.of(workload)
    counts = tcpu(known)
    assert known.best is not None
    assert np.all(known.least_stress <= counts)
    assert np.all(counts <= known.best)
    gained = known.at(known.cpu_load, counts) - known.at(known.cpu_load, known.least_stress)
    assert np.all(gained >= -1e-12)
    if known.io_load(known.least_stress) <= 1.0:
        assert known.io_load(counts) <= 1.0 + 1e-11


@settings(max_examples=100)
@given(workload=placeable(most_applications=8))
def test_where_nothing_is_saturated_it_is_the_best_bandwidth(workload: Workload) -> None:
    known = Characteristics.of(workload)
    assert known.best is not None
    highest = known.stress.max(axis=1).sum() / known.resources
    if highest <= 1.0:  # no step on the way is refused
        assert tcpu(known).tolist() == known.best.tolist()


def test_as_printed_the_load_of_the_processors_can_fall() -> None:
    """With 2 it is slower than with 1, with 3 faster than with 2 and still slower than with 1, with 4 fastest: as printed,
    the algorithm takes 3 on its way where the load leaves no room for 4.
    """
    dip = Application.of("dip", [("work", 1.0), ("io", 1.0)], nodes=10, curve=Curve.of({1: 1.0, 2: 0.4, 3: 0.8, 4: 1.1}))
    others = (
        Application.of(f"other{i}", [("work", work), ("io", 1.0)], curve=Curve.of({1: 1.0}))
        for i, work in enumerate((0.0, 0.0, 4.0))
    )
    known = Characteristics.of(Workload(Platform(10.0, resources=4), (dip, *others)))
    counts, printed = tcpu(known), tcpu(known, as_printed=True)
    assert known.at(known.cpu_load, counts)[0] >= known.at(known.cpu_load, known.least_stress)[0]
    assert known.at(known.cpu_load, printed)[0] < known.at(known.cpu_load, counts)[0]


# ------------------------------------------------------------------ MCKP against all choices


def largest_sum(known: Characteristics, resources: int, *, optional: bool) -> float:
    """The largest sum of bandwidths over all choices."""
    assert known.curves is not None
    best = -np.inf
    for counts in product(*([0] * optional + list(choices) for choices in known.measured)):
        if sum(counts) <= resources:
            value = sum(known.curves[index, count - 1] for index, count in enumerate(counts) if count)
            best = max(best, value)
    return best


@settings(max_examples=80)
@given(workload=placeable())
def test_no_choice_is_better(workload: Workload) -> None:
    known = Characteristics.of(workload)
    assert known.curves is not None
    for optional in (False, True):
        if optional or len(known) <= known.resources:
            counts = best_choice(known, known.resources, optional=optional)
            assert counts.sum() <= known.resources
            for count, choices in zip(counts, known.measured, strict=True):
                assert count in choices or (optional and count == 0)
            value = sum(known.curves[index, count - 1] for index, count in enumerate(counts) if count)
            assert value == pytest.approx(largest_sum(known, known.resources, optional=optional), rel=1e-12)


@settings(max_examples=80)
@given(workload=placeable(most_applications=6, most_resources=4))
def test_resources_are_exclusive_but_for_the_last_where_there_are_too_few(workload: Workload) -> None:
    known = Characteristics.of(workload)
    if len(known) <= known.resources:
        assert mckp(known) == mckp(known, shared=True)
        used = [resource for one in mckp(known) for resource in one]
        assert len(set(used)) == len(used)
        return
    with pytest.raises(InputError, match=r"mckp: \d applications on \d I/O resources; expected a resource for each"):
        mckp(known)
    placement = mckp(known, shared=True)
    last = known.resources - 1
    exclusive = [resource for one in placement for resource in one if resource != last]
    assert len(set(exclusive)) == len(exclusive)
    assert all(one == (last,) for one in placement if last in one)
    assert np.all(counts_of(placement) >= 1)
