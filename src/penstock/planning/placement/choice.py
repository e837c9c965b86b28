"""The placement that a workload on I/O resources runs on: the one in its file, or that of a heuristic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from penstock.engine.machine import Placement, checked_placement, curves_of
from penstock.model import InputError, Workload
from penstock.planning.placement.allocation import Characteristics
from penstock.planning.placement.heuristics import BOTH_STEPS, Heuristic

ALLOCATION: Final = "tcpu"
PLACEMENT: Final = "greedy-clairvoyant"
"""The default heuristic: the one that comes nearest to the best of all placements (docs/papers/distributed.md)."""


@dataclass(frozen=True)
class ChosenPlacement:
    """The I/O resources of each application, and whether a `heuristic` chose them or (None) the workload's file."""

    resources: Placement
    heuristic: Heuristic | None = None
    default: bool = False
    """Whether the heuristic is the default one."""

    @property
    def text(self) -> str:
        """Where the placement comes from, in words."""
        if self.heuristic is None:
            return "from the file"
        asked = " (default; --allocation, --placement choose others)" if self.default else ""
        return f"{', '.join(self.heuristic.steps)}{asked}"

    def to_dict(self) -> dict[str, Any]:
        """The source of the placement for JSON."""
        return {
            "source": "file" if self.heuristic is None else "default" if self.default else "options",
            "allocation": self.heuristic.allocation if self.heuristic else None,
            "placement": self.heuristic.placement if self.heuristic else None,
        }


def choose_placement(
    workload: Workload, allocation: str | None = None, placement: str | None = None
) -> ChosenPlacement | None:
    """Choose the I/O resources that a workload runs on.

    Args:
        workload: The workload.
        allocation: Name of an allocation, as for `penstock place`.
        placement: Name of a placement. If neither is given, the workload's own placement counts, else the default heuristic.

    Returns:
        The placement, random ones with the seed 0; None for a workload that runs on one link.

    Raises:
        InputError: A heuristic is named for a workload on one link, a name is unknown, or a curve is missing.
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
        return ChosenPlacement(checked_placement(workload, own))
    heuristic = heuristic_of(allocation, placement)
    return ChosenPlacement(heuristic.place(Characteristics.of(workload)), heuristic, default=not asked)


def heuristic_of(allocation: str | None, placement: str | None) -> Heuristic:
    """The heuristic with the names `allocation` and `placement`; the default for a name that is None.

    Raises:
        InputError: a name is unknown.
    """
    chosen = allocation or ALLOCATION
    return Heuristic(chosen, placement if chosen in BOTH_STEPS else placement or PLACEMENT)
