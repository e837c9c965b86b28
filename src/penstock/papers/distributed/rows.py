"""What was measured of sets of applications, ready to be asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from penstock.policies.view import Floats


@dataclass(frozen=True)
class Sets:
    """The rows of one kind of curves, and what these are."""

    label: str
    rows: tuple[Mapping[str, Any], ...]

    @cached_property
    def loads(self) -> Floats:
        """I/O-load of n-sys, which is the least any allocation has."""
        return np.array([row["load"] for row in self.rows])

    def of(self, heuristic: str, measure: str, *, believed: bool = False) -> Floats:
        """A measure of all sets under a heuristic; `believed` where the scheduler knew the classes of the curves only."""
        return np.array([row["believed" if believed else "runs"][heuristic][measure] for row in self.rows])

    def near(self, load: float, width: float = 0.05) -> np.ndarray:
        """The sets with an I/O-load near this one."""
        return np.abs(self.loads - load) <= width

    def between(self, low: float, high: float) -> np.ndarray:
        """The sets with an I/O-load from `low` to before `high`."""
        return (self.loads >= low) & (self.loads < high)

    def bins(self, width: float = 0.1, fewest: int = 3) -> list[tuple[float, np.ndarray]]:
        """Middles of equal intervals of the I/O-load, and the sets in each that has enough of them."""
        found = []
        for low in np.arange(0.0, float(self.loads.max()) + width, width):
            inside = self.between(low, low + width)
            if inside.sum() >= fewest:
                found.append((float(low) + width / 2.0, inside))
        return found
