"""Rounds are byte ranges of an operation."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.live.client import UsageError
from penstock.live.client.transfer import ROUND_BYTES, Operation, rounds_of


@given(st.integers(0, 400), st.integers(1, 50), st.lists(st.integers(1, 90), max_size=20))
def test_boundaries_are_those_of_equal_rounds(volume: int, rounds: int, pieces: list[int]) -> None:
    inner = {k * volume // rounds for k in range(1, rounds)} if volume else set()
    operation = Operation(1, volume, rounds)
    for piece in pieces:
        beyond = [boundary for boundary in inner if boundary > operation.moved]
        assert operation.boundary == min(beyond, default=float("inf"))
        several = operation.step * (piece % 3) if operation.between_rounds else 0
        count = several or int(min(piece, operation.boundary - operation.moved))
        ended = operation.advance(count)
        assert ended == (operation.moved in inner or operation.moved == volume)
        assert operation.advance(0) == ended


def test_rounds_are_of_sixteen_mebibytes_unless_told() -> None:
    assert [rounds_of(volume, None) for volume in (0, 1, ROUND_BYTES, ROUND_BYTES + 1, 10**9)] == [1, 1, 1, 2, 60]
    assert rounds_of(10, 4) == 4


@pytest.mark.parametrize(
    ("volume", "rounds", "says"),
    [
        (-1, None, "volume -1"),
        (1.5, None, "volume 1.5"),
        ("1 GB", None, "volume '1 GB'"),
        (1, 0, "rounds 0"),
        (1, True, "rounds"),
    ],
)
def test_wrong_sizes(volume: Any, rounds: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        rounds_of(volume, rounds)
