"""The objectives of 000 §3.3 as a comparison shows them, and the costs that it adds on I/O resources and with buffers: which
exist, how they are written, and which policies are best.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from penstock.engine import Result
    from penstock.theory import Bounds

OBJECTIVES: Final = {"min_yield": "min-yield", "efficiency": "efficiency", "utilization": "utilization"}
"""Attributes of a result, and their headings. All lie between 0 and 1, and more is better."""
BOUNDED: Final = ("min_yield", "efficiency")
"""Objectives that have a bound."""
SLOWDOWN: Final = "mean_slowdown"
STRETCH: Final = "max_duration_stretch"
COSTS: Final = {SLOWDOWN: "mean slowdown", STRETCH: "max stretch"}
"""The same for values of 1 or more, where less is better: on I/O resources the slowdown of I/O against an application alone
on its best number of them (002 eq. 4), with buffers the largest stretch from release to end (004 eq. 3).
"""


def text(value: float) -> str:
    """Write a `value`, an objective, a yield or a gap, with four decimals, and a zero without a sign."""
    return f"{value:z.4f}"


def costs(results: Sequence[Result]) -> list[str]:
    """The costs that these results have: a stretch is known if all applications have ended."""
    placed = any(application.resources is not None for result in results for application in result.applications)
    ended = all(result.makespan is not None for result in results)
    buffered = any(result.buffer is not None for result in results)
    return [cost for cost, told in ((SLOWDOWN, placed), (STRETCH, buffered and ended)) if told]


def gaps(result: Result, bounds: Bounds | None) -> dict[str, float]:
    """Bound − value of a `result` for each objective that has a bound; empty without `bounds`."""
    if bounds is None:
        return {}
    return {objective: getattr(bounds, objective) - getattr(result, objective) for objective in BOUNDED}


def best(results: Sequence[Result], objective: str) -> frozenset[int]:
    """Positions of the best results in this objective, as written; none if there is only one result.

    Results that differ only beyond the decimals shown are equally good, as a reader could not see why one is marked.
    """
    shown = [text(getattr(result, objective)) for result in results]
    top = (min if objective in COSTS else max)(shown, key=float, default="")
    return frozenset(index for index, value in enumerate(shown) if value == top) if len(results) > 1 else frozenset()
