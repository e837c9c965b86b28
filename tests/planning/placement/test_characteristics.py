"""What is known of applications on I/O resources, and what follows from it."""

import numpy as np
import pytest
from hypothesis import given, settings

from penstock.model import Application, Curve, InputError, Platform, Workload
from penstock.planning.placement.allocation import Characteristics, Information
from tests.planning.placement.instances import placeable


def two(**options: object) -> Workload:
    """One that is fastest with 2 of 3 resources, and one that is never faster than with 1."""
    first = Application.of("a", [("work", 10.0), ("io", 8.0)] * 2, nodes=3, curve=Curve.of({1: 1.0, 2: 4.0, 3: 2.0}))
    second = Application.of("b", [("io", 6.0), ("work", 6.0)], nodes=1, **(options or {"curve": Curve.of({1: 1.0})}))
    return Workload(Platform(10.0, resources=3), (first, second))


def test_what_follows_by_hand() -> None:
    known = Characteristics.of(two())
    assert known.work.tolist() == [20.0, 6.0]
    assert known.volume.tolist() == [16.0, 6.0]
    assert known.io_seconds.tolist() == [[16.0, 4.0, 8.0], [6.0, 6.0, 6.0]]
    np.testing.assert_allclose(known.stress, [[16 / 36, 2 * 4 / 24, 3 * 8 / 28], [0.5, 1.0, 1.5]])
    np.testing.assert_allclose(known.cpu_load, [[3 * 20 / 36, 3 * 20 / 24, 3 * 20 / 28], [0.5, 0.5, 0.5]])
    assert known.best is not None
    assert known.best.tolist() == [2, 1]
    assert known.least_stress.tolist() == [2, 1]
    assert known.io_load(np.array([2, 1])) == pytest.approx((1 / 3 + 0.5) / 3)
    assert known.machine == 4
    assert known.level == Information.CURVES


@settings(max_examples=60)
@given(workload=placeable())
def test_the_least_stress_never_takes_more_than_the_best_bandwidth(workload: Workload) -> None:
    """Lemma 1 of 002, whose proof the paper leaves out."""
    known = Characteristics.of(workload)
    assert known.best is not None
    assert np.all(known.least_stress <= known.best)


@settings(max_examples=60)
@given(workload=placeable())
def test_the_best_counts_are_the_first_of_the_best(workload: Workload) -> None:
    known = Characteristics.of(workload)
    assert known.best is not None
    for index, application in enumerate(workload.applications):
        curve = application.curve
        assert curve is not None
        rates = [float(curve.upto(known.resources)[n - 1]) for n in range(1, known.resources + 1)]
        assert known.best[index] == 1 + rates.index(max(rates))
        stress = known.stress[index].tolist()
        assert known.least_stress[index] == 1 + stress.index(min(stress))


def test_levels_follow_what_the_file_tells() -> None:
    assert Characteristics.of(two(best_count=3)).level == Information.BEST
    nothing = Application.of("c", [("work", 1.0)])
    assert Characteristics.of(Workload(Platform(1.0, resources=2), (nothing,))).level == Information.TOTALS


def test_wrong_workloads() -> None:
    with pytest.raises(InputError, match="the key 'resources' is missing"):
        Characteristics.of(Workload(Platform(1.0), (Application.of("c", [("work", 1.0)]),)))
    with pytest.raises(
        InputError, match=r"platform.resources: 1,000,000 I/O resources are too many; expected at most 100,000"
    ):
        Characteristics.of(Workload(Platform(1.0, resources=10**6), (Application.of("c", [("work", 1.0)]),)))


def test_a_best_count_above_the_resources_stands_for_all_of_them() -> None:
    known = Characteristics.of(two(best_count=4))
    assert known.best is not None
    assert known.best.tolist() == [2, 3]
