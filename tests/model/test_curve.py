"""Bandwidth by the number of I/O resources: linear between the counts, constant beyond."""

import pytest

from penstock.model import Curve, InputError
from penstock.model.platform import total_bandwidth


def test_a_curve_is_linear_between_its_counts_and_constant_beyond() -> None:
    curve = Curve.of({8: 2.0, 1: 1.0, 4: 4.0})
    assert curve.counts == (1, 4, 8)
    assert curve.upto(10).tolist() == [1.0, 2.0, 3.0, 4.0, 3.5, 3.0, 2.5, 2.0, 2.0, 2.0]
    assert curve.upto(2).tolist() == [1.0, 2.0]
    assert curve.largest == 4.0
    assert total_bandwidth([curve, Curve.of({1: 5.0, 2: 3.0})]) == 9.0


def test_a_curve_carries_units_and_is_written_as_it_was() -> None:
    curve = Curve.of({"1": "1 kB/s", "2": 5})
    assert curve.document() == {"1": 1000.0, "2": 5.0}
    assert Curve.of(curve.document()) == curve
    assert Curve.of(curve) is curve


@pytest.mark.parametrize(
    ("counts", "bandwidths", "message"),
    [
        ((1, 2), (1.0,), "2 counts for 1 bandwidths"),
        ((1, 2, 2), (1.0, 1.0, 1.0), r"the counts \[1, 2, 2\] do not ascend"),
        ((1, 2.5), (1.0, 1.0), "2.5 is not a number of I/O resources"),
    ],
)
def test_a_wrong_curve(counts: tuple[int, ...], bandwidths: tuple[float, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Curve(counts, bandwidths)
