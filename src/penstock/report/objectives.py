"""The objectives of 000 §3.3 as a comparison shows them, and what it shows beside them on I/O resources and with buffers:
which exist, how they read, who is best.
"""

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
SLOWDOWN: Final = "mean_slowdown"
STRETCH: Final = "max_duration_stretch"
COSTS: Final = {SLOWDOWN: "mean slowdown", STRETCH: "max stretch"}
"""The same for what is 1 or more, and less is better: on I/O resources what I/O takes more than alone on the best number of
them (002 eq. 4), with buffers the largest stretch from release to end (004 eq. 3).
"""


def text(value: float) -> str:
    """An objective, a yield or a gap with four decimals; what rounds to zero has no sign."""
    return f"{value:z.4f}"


def costs(results: Sequence[Result]) -> list[str]:
    """Those of COSTS that say something of these results: a stretch is known if all applications have ended."""
    placed = any(application.resources is not None for result in results for application in result.applications)
    ended = all(result.makespan is not None for result in results)
    buffered = any(result.buffer is not None for result in results)
    return [cost for cost, told in ((SLOWDOWN, placed), (STRETCH, buffered and ended)) if told]


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
    top = (min if objective in COSTS else max)(shown, key=float, default="")
    return frozenset(index for index, value in enumerate(shown) if value == top) if len(results) > 1 else frozenset()
