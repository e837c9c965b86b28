"""The ranges of all rounds together are each rank's part, once and in order, at whole etypes."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from penstock.live.mpi.ranks import BufferPart


def part(count: int, size: int, grain: int) -> BufferPart:
    from penstock.live.mpi.ranks import BufferPart

    return BufferPart(bytes(1), count, 0, None, size, grain)  # type: ignore[arg-type]


PARTS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 64), st.integers(1, 100)), min_size=1, max_size=5)


@given(PARTS, st.integers(1, 50))
def test_rounds_tile_every_part(told: list[tuple[int, int, int]], rounds: int) -> None:
    parts = [part(*one) for one in told]
    volume = sum(one.volume for one in parts)
    if volume == 0:
        return
    places = [k * volume // rounds for k in range(rounds + 1)]
    for one in parts:
        passed = [one.passed(place, volume) for place in places]
        assert passed[0] == 0
        assert passed[-1] == one.count
        assert all(a <= b for a, b in pairwise(passed))
        assert all(at % one.grain == 0 for at in passed[:-1])
        exact = [one.count * place / volume for place in places]
        assert all(fair - one.grain <= at + 1e-6 for at, fair in zip(passed, exact, strict=True))
    moved = [sum(one.passed(place, volume) * one.size for one in parts) for place in places]
    most = sum(one.grain * one.size for one in parts)
    assert all(place - most <= got <= place for place, got in zip(places, moved, strict=True))


@pytest.mark.parametrize(
    ("buffer", "etype", "count", "grain"),
    [
        (bytes(24), 8, 24, 8),  # bytes in a view of doubles
        (memoryview(bytes(24)).cast("d"), 1, 24, 8),  # an item is not cut
        (memoryview(bytes(24)).cast("i"), 6, 24, 12),
        ([bytes(24), 4, "i"], 8, 4, 2),
        ([bytes(24), 3, "d"], 4, 3, 1),
        ([bytes(24), (2, 1), "i"], 1, 2, 1),
        (bytes(0), 8, 0, 1),
    ],
)
def test_grains_are_whole_etypes(buffer: object, etype: int, count: int, grain: int) -> None:
    from penstock.live.mpi.ranks import part_of

    told = part_of(buffer, etype, reading=False, in_one_piece=False)
    assert (told.count, told.grain) == (count, grain)
    assert part_of(buffer, etype, reading=False, in_one_piece=True).grains == (count > 0)
