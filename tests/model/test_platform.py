"""What is left of a link that several share."""

import pytest

from penstock.model import Degradation, InputError


def test_linear_between_measured_counts_and_constant_beyond() -> None:
    # 16 % are lost with four (001 §I.A.4): a third of that with two, two thirds with three.
    assert Degradation.of({"4": 0.84}).upto(6).tolist() == pytest.approx([1.0, 1 - 0.16 / 3, 1 - 0.32 / 3, 0.84, 0.84, 0.84])
    assert Degradation.of({4: 0.84, 2: 0.9}) == Degradation((2, 4), (0.9, 0.84))
    assert Degradation.of({}).upto(2).tolist() == [1.0, 1.0]


def test_a_part_for_each_count() -> None:
    with pytest.raises(InputError, match="2 counts for 1 parts"):
        Degradation((2, 3), (0.5,))
    with pytest.raises(InputError, match="3: True is no part"):
        Degradation((3,), (True,))
