"""Values measured at some counts, as files and callers give them: a mapping of counts to values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from penstock.model import units
from penstock.model.errors import InputError, short


def by_count(points: object, refusal: str, count: Callable[[object], int]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The counts, ascending, and the value at each; what is no mapping gets the `refusal`."""
    if not isinstance(points, Mapping):
        raise InputError("", f"{short(points)} {refusal}")
    measured = {count(key): value for key, value in points.items()}
    if len(measured) != len(points):
        raise InputError("", f"a count stands twice in {short(list(points))}; expected each count once")
    counts = tuple(sorted(measured))
    return counts, tuple(measured[one] for one in counts)


def whole(key: object) -> object:
    """A count as it is, or out of the string that JSON makes of it."""
    return int(key) if isinstance(key, str) and key.isascii() and key.isdigit() else key


def as_count(key: object, what: str) -> int:
    """A count of `what`, from 1 on."""
    return units.count(whole(key), str(whole(key)), what)


def document(counts: tuple[int, ...], values: tuple[float, ...]) -> dict[str, float]:
    """The points as a file has them."""
    return {str(count): value for count, value in zip(counts, values, strict=True)}
