"""Curves: the bandwidth of an application as a function of how many I/O resources it uses, b_j(n) (002 §III.B).

A file gives measured points as an object ``{"1": bytes/s, "4": bytes/s}``. The functions at the end of the module read and
write such mappings of counts to values; degradation (`penstock.model.platform`) uses them too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.model import parse_units
from penstock.model.errors import InputError, short
from penstock.renamed import old_names

__getattr__ = old_names(__name__, together="total_bandwidth")


@dataclass(frozen=True)
class Curve:
    """The bandwidth of an application by the number of I/O resources it uses (002 §III.B).

    Between two measured counts the curve is linear, beyond the last one constant. Access without I/O resources, which some
    systems allow, is no point of it.

    Args:
        counts: numbers of I/O resources, ascending from 1.
        bandwidths: bytes/s at each of them.

    Raises:
        InputError: for counts that do not ascend from 1, or bandwidths that are not above 0.
    """

    counts: tuple[int, ...]
    bandwidths: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", tuple(parse_units.count(count, "", "I/O resources") for count in self.counts))
        if len(self.counts) != len(self.bandwidths):
            raise InputError("", f"{len(self.counts)} counts for {len(self.bandwidths)} bandwidths; expected one for each")
        if self.counts[:1] != (1,):
            raise InputError("", f"the counts {short(list(self.counts))} lack 1; expected the bandwidth with 1 I/O resource")
        if any(later <= earlier for earlier, later in zip(self.counts, self.counts[1:], strict=False)):
            raise InputError("", f"the counts {short(list(self.counts))} do not ascend; expected each count once")
        rates = (parse_units.bandwidth(rate, str(n)) for n, rate in zip(self.counts, self.bandwidths, strict=True))
        object.__setattr__(self, "bandwidths", tuple(rates))

    @classmethod
    def of(cls, points: object) -> Curve:
        """Make a curve from a mapping of counts to bandwidths.

        Example:
            >>> from penstock.model.curve import Curve
            >>> Curve.of({1: "1 GB/s", 3: "2 GB/s"}).upto(4)
            array([1.0e+09, 1.5e+09, 2.0e+09, 2.0e+09])
        """
        if isinstance(points, Curve):
            return points
        return cls(*by_count(points, 'is not a curve; expected {"1": bytes/s, "2": bytes/s, …}', _count))

    def document(self) -> dict[str, float]:
        """The curve as a workload file has it."""
        return document(self.counts, self.bandwidths)

    def upto(self, resources: int) -> NDArray[np.float64]:
        """b(1), …, b(N) in bytes/s for N = `resources`: entry n − 1 is the bandwidth with n of them."""
        return np.interp(np.arange(1, resources + 1), self.counts, self.bandwidths)

    @cached_property
    def largest(self) -> float:
        """The largest bandwidth in bytes/s, which is one at a measured count."""
        return max(self.bandwidths)


def total_bandwidth(curves: Iterable[Curve]) -> float:
    """What applications of these curves can use at once, in bytes/s: a link of this bandwidth never slows them down."""
    return sum(curve.largest for curve in curves)


def _count(key: object) -> int:
    """A count of I/O resources, 1 or more."""
    if count_of_key(key) == 0 and not isinstance(key, bool):
        raise InputError("0", "direct access without I/O resources is no point of a curve; expected counts from 1 on")
    return as_count(key, "I/O resources")


def by_count(points: object, refusal: str, count: Callable[[object], int]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """The counts of a mapping, ascending, and the value at each; anything but a mapping gets the error text `refusal`."""
    if not isinstance(points, Mapping):
        raise InputError("", f"{short(points)} {refusal}")
    measured = {count(key): value for key, value in points.items()}
    if len(measured) != len(points):
        raise InputError("", f"a count stands twice in {short(list(points))}; expected each count once")
    counts = tuple(sorted(measured))
    return counts, tuple(measured[one] for one in counts)


def count_of_key(key: object) -> object:
    """A count as it is, or as the integer of the string that JSON makes of a key."""
    return int(key) if isinstance(key, str) and key.isascii() and key.isdigit() else key


def as_count(key: object, what: str) -> int:
    """A count of `what`, 1 or more."""
    return parse_units.count(count_of_key(key), str(count_of_key(key)), what)


def document(counts: tuple[int, ...], values: tuple[float, ...]) -> dict[str, float]:
    """The points as a workload file has them."""
    return {str(count): value for count, value in zip(counts, values, strict=True)}
