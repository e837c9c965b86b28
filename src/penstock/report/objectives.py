"""The three objectives of 000 §3.3 as a comparison shows them: which exist, how they read, who is best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from penstock.engine import Result
    from penstock.theory import Bounds

OBJECTIVES: Final = {"min_yield": "min-yield", "efficiency": "efficiency", "utilization": "utilization"}
"""Attribute of a result, and its heading. All lie between 0 and 1, and more is better."""
BOUNDED: Final = ("min_yield", "efficiency")
"""Those that have a bound."""


def text(value: float) -> str:
    """An objective, a yield or a gap with four decimals; what rounds to zero has no sign."""
    return f"{value:z.4f}"


def gaps(result: Result, bounds: Bounds | None) -> dict[str, float]:
    """Bound − value for each objective that has a bound; nothing without bounds."""
    if bounds is None:
        return {}
    return {objective: getattr(bounds, objective) - getattr(result, objective) for objective in BOUNDED}


def best(results: Sequence[Result], objective: str) -> frozenset[int]:
    """Positions of the results that read best in this objective; none where there is nothing to compare.

    Those that differ only beyond the decimals shown are equally good, as the page could not say why one is marked.
    """
    shown = [text(getattr(result, objective)) for result in results]
    top = max(shown, key=float, default="")
    return frozenset(index for index, value in enumerate(shown) if value == top) if len(results) > 1 else frozenset()
