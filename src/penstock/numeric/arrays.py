"""Types of arrays, ranges of integers, sums by position, and ratios."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


def spread(first: Ints, stop: Ints) -> tuple[Ints, Ints]:
    """All integers from each `first` to before its `stop`, one range after the other.

    Returns:
        For each integer the number of its range, and the integer.
    """
    counts = np.maximum(stop - first, 0)
    which = np.repeat(np.arange(len(counts)), counts)
    return which, first[which] + np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)


def summed(place: Ints, amounts: Floats, count: int) -> Floats:
    """The sum of the `amounts` at each of the places 0 … `count` − 1; `place` has the place of each amount."""
    # Without any amounts numpy returns integers.
    return np.bincount(place, amounts, count).astype(np.float64)


def ratio(part: Floats, whole: Floats, otherwise: float = 1.0) -> Floats:
    """`part` over `whole`, entry by entry; `otherwise` where the whole is 0."""
    return np.where(whole > 0.0, part / np.where(whole > 0.0, whole, 1.0), otherwise)
