"""tcpu against Algorithm 1 as the paper writes it, line by line, and the laws it must keep."""

import numpy as np
from hypothesis import given, settings

from penstock.model import Application, Curve, Platform, Workload
from penstock.planning.placement.allocation import FULL, tcpu
from penstock.planning.placement.characteristics import Characteristics
from tests.planning.placement.instances import placeable


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
