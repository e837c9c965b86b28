"""The Jacobi applications are those of Table III.1 of 001."""

import math

import pytest

from penstock.model import Application, InputError, Platform, Workload
from penstock.workloads import Jacobi, io_load, io_weight, jacobi


def test_the_table() -> None:
    rows = [(32.0, 10.0, 250), (16.0, 5.0, 500), (8.0, 2.5, 1000), (8.0, 2.5, 1000), (16.0, 5.0, 500)]
    expected = (
        Application.of(f"jacobi-{number}", [{"repeat": count, "phases": [("work", work), ("io", volume)]}])
        for number, (work, volume, count) in enumerate(rows, start=1)
    )
    assert jacobi(Jacobi()) == Workload(Platform(1.0, nodes=5), tuple(expected))


def test_the_load_of_all_is_the_same() -> None:
    # 250 · 42 = 500 · 21 = 1000 · 10.5 = 10,500 s, of which 10 / 42 are I/O: W = α = 50 / 42.
    workload = jacobi(Jacobi())
    assert {application.seconds_alone(1.0) for application in workload.applications} == {10_500.0}
    assert io_weight(workload) == pytest.approx(50.0 / 42.0)
    assert io_load(workload) == pytest.approx(50.0 / 42.0)


@pytest.mark.parametrize(
    ("batches", "counts"),
    [(2.0, [500, 1000, 2000, 2000, 1000]), (0.1, [25, 50, 100, 100, 50]), (0.001, [1, 1, 1, 1, 1])],
)
def test_batches_multiply_the_iterations(batches: float, counts: list[int]) -> None:
    made = jacobi(Jacobi(batches)).applications
    assert [len(application.phases) // 2 for application in made] == counts


@pytest.mark.parametrize("batches", [0.0, -1.0, math.nan, math.inf, 1e6])
def test_batches_out_of_range(batches: float) -> None:
    with pytest.raises(InputError, match=f"batches: {batches} is out of range; expected a number above 0, up to 30,769"):
        Jacobi(batches)
