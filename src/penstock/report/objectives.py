"""The objectives of 000 §3.3 as a comparison shows them, and the costs that it adds on I/O resources and with buffers: which
exist, how they are written, and which policies are best.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from penstock.planning.node_hours import hours

if TYPE_CHECKING:
    from penstock.engine import Result
    from penstock.theory import Bounds

OBJECTIVES: Final = {"min_yield": "min-yield", "efficiency": "efficiency", "utilization": "utilization"}
"""Attributes of a result, and their headings. All lie between 0 and 1, and more is better."""
BOUNDED: Final = ("min_yield", "efficiency")
"""Objectives that have a bound."""
SLOWDOWN: Final = "mean_slowdown"
STRETCH: Final = "max_duration_stretch"
LOST: Final = "lost_node_hours"
COSTS: Final = {LOST: "lost node-hours", SLOWDOWN: "mean slowdown", STRETCH: "max stretch"}
"""The same where less is better: on a machine the node-hours that applications lose to the I/O of others, on I/O resources
the slowdown of I/O against an application alone on its best number of them (002 eq. 4), with buffers the largest stretch
from release to end (004 eq. 3).
"""
RUNNING: Final = "running_efficiency"
MANY: Final = 3
"""Up to so many results are marked as the best in any case."""


def text(value: float) -> str:
    """Write a `value`, an objective, a yield or a gap, with four decimals, and a zero without a sign."""
    return f"{value:z.4f}"


def shown(result: Result, objective: str) -> str:
    """The `objective` of a `result` as a comparison writes it."""
    return (hours if objective == LOST else text)(getattr(result, objective))


def is_stream(results: Sequence[Result]) -> bool:
    """Whether applications come while others run, and all run to their ends, in all `results`."""
    whole = all(result.makespan is not None for result in results)
    return whole and any(a.release > result.begin for result in results for a in result.applications)


def headings(results: Sequence[Result]) -> dict[str, str]:
    """The objectives that `results` are compared in, with their headings.

    Of a stream, the efficiency is that of the time in which applications run; the utilization would count nodes of
    applications that have not come yet.
    """
    if not is_stream(results):
        return OBJECTIVES
    return {"min_yield": OBJECTIVES["min_yield"], RUNNING: OBJECTIVES["efficiency"]}


def costs(results: Sequence[Result]) -> list[str]:
    """The costs that these results have: a stretch is known if all applications have ended."""
    machine = any(result.machine_nodes is not None for result in results)
    placed = any(application.resources is not None for result in results for application in result.applications)
    ended = all(result.makespan is not None for result in results)
    buffered = any(result.buffer is not None for result in results)
    return [cost for cost, told in ((LOST, machine), (SLOWDOWN, placed), (STRETCH, buffered and ended)) if told]


def gaps(result: Result, bounds: Bounds | None) -> dict[str, float]:
    """Bound − value of a `result` for each objective that has a bound; empty without `bounds`."""
    if bounds is None:
        return {}
    return {objective: getattr(bounds, objective) - getattr(result, objective) for objective in BOUNDED}


def best(results: Sequence[Result], objective: str) -> frozenset[int]:
    """Positions of the best results in this objective, as written; none if there is only one result.

    Results that differ only beyond the decimals shown are equally good, as a reader could not see why one is marked. None is
    marked where most are equally good.
    """
    written = [shown(result, objective) for result in results]
    top = (min if objective in COSTS else max)(written, key=lambda text: float(text.replace(",", "")), default="")
    found = frozenset(index for index, value in enumerate(written) if value == top)
    most = len(found) > MANY and 2 * len(found) > len(results)
    return frozenset() if most or len(results) == 1 else found
