"""Which I/O resources the applications of a workload run on: those that its file says, or those of a heuristic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from penstock.engine.machine import Placement, checked_placement, curves_of
from penstock.model import InputError, Workload
from penstock.planning.placement.characteristics import Characteristics
from penstock.planning.placement.heuristics import BOTH_STEPS, Heuristic

ALLOCATION: Final = "tcpu"
PLACEMENT: Final = "greedy-clairvoyant"
"""The heuristic that comes nearest to the best of all placements (docs/papers/distributed.md)."""


@dataclass(frozen=True)
class Placed:
    """The I/O resources of each application and where they come from: a `heuristic`, or without one the file."""

    resources: Placement
    heuristic: Heuristic | None = None
    default: bool = False
    """Whether nobody has asked for that heuristic."""

    @property
    def text(self) -> str:
        """Where the placement comes from, for a reader."""
        if self.heuristic is None:
            return "from the file"
        asked = " (default; --allocation, --placement choose others)" if self.default else ""
        return f"{', '.join(self.heuristic.steps)}{asked}"

    def to_dict(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {
            "source": "file" if self.heuristic is None else "default" if self.default else "options",
            "allocation": self.heuristic.allocation if self.heuristic else None,
            "placement": self.heuristic.placement if self.heuristic else None,
        }


def placed(workload: Workload, allocation: str | None = None, placement: str | None = None) -> Placed | None:
    """The placement to run the workload with; None for a workload of one link.

    It is made by the `allocation` and the `placement` if one of them is given, else it is the workload's own, else that of
    the default heuristic. Random ones have the seed 0.
    """
    asked = allocation is not None or placement is not None
    if not workload.on_resources:
        if asked:
            raise InputError(
                "--allocation" if allocation else "--placement",
                "the workload runs on one link; expected platform.resources, and a curve for every application",
            )
        return None
    curves_of(workload)  # refuses a workload that lacks one
    own = None if asked else workload.placement
    if own is not None:
        return Placed(checked_placement(workload, own))
    heuristic = heuristic_of(allocation, placement)
    return Placed(heuristic.place(Characteristics.of(workload)), heuristic, default=not asked)


def heuristic_of(allocation: str | None, placement: str | None) -> Heuristic:
    """The heuristic of these names, the default for what is not named; InputError for an unknown one."""
    chosen = allocation or ALLOCATION
    return Heuristic(chosen, placement if chosen in BOTH_STEPS else placement or PLACEMENT)
