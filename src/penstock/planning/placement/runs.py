"""Simulation and bounds of a workload, on one link or on I/O resources: what `penstock simulate` and `penstock bound` call.

A workload on I/O resources runs on the placement that its file has, else on that of a heuristic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from penstock.engine import Result, Run
from penstock.engine.machine import Placement, checked_placement, curves_of
from penstock.model import InputError, Workload
from penstock.planning.placement.characteristics import Characteristics
from penstock.planning.placement.heuristics import BOTH_STEPS, Heuristic
from penstock.policies import Policy
from penstock.renamed import old_names
from penstock.theory import Bounds
from penstock.theory import bounds as bounds_of
from penstock.theory.link_demand import PIECES

__getattr__ = old_names(__name__, Given="PlacementOption", Placed="ChosenPlacement", placed="choose_placement")

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
    """The heuristic of these names, with the default for a name that is None; InputError for an unknown name."""
    chosen = allocation or ALLOCATION
    return Heuristic(chosen, placement if chosen in BOTH_STEPS else placement or PLACEMENT)


PlacementOption: TypeAlias = str | Sequence[Sequence[int]] | Literal[False] | None
"""A placement: a name, the I/O resources of each application, False for one link, or None for the default."""


def simulate(
    workload: Workload,
    policy: Policy | str,
    *,
    allocation: str | None = None,
    placement: PlacementOption = None,
    **options: Any,
) -> Result:
    """Simulate a workload under a policy, to the end of its window or of its applications.

    Args:
        workload: The workload.
        policy: A policy by name or as an object.
        allocation: Name of an allocation, for a workload on I/O resources (002), as for `penstock place`.
        placement: Name of a placement; or the resources of each application, numbered from 0; or False, and all share one
            link of the platform's bandwidth. By default the workload's own placement, else that of tcpu and
            greedy-clairvoyant.
        options: Options of `penstock.engine.Run`, such as `trace=True` (record the rates) or `check=True` (check the
            invariants after every event).

    Returns:
        The result of the run.

    Raises:
        InputError: The workload cannot be run with these options.
        PolicyFault: The policy breaks its contract.

    Example:
        Two applications write 4 bytes each on a link of 2 bytes/s and share it evenly.

        >>> from penstock.model import Application, Platform, Workload
        >>> pair = tuple(Application.of(name, [("work", 3.0), ("io", 4.0)]) for name in "ab")
        >>> simulate(Workload(Platform(2.0), pair), "fair-share").makespan
        7.0
    """
    return Run(workload, policy, placement=_resources(workload, allocation, placement), **options).finish()


def bounds(
    workload: Workload, pieces: int = PIECES, placement: PlacementOption = None, *, allocation: str | None = None
) -> Bounds:
    """Compute upper bounds on the min-yield and the efficiency of any schedule of a workload.

    Args:
        workload: The workload.
        pieces: Pieces into which an operation is cut if its application cannot fill the link; more take longer, and make the
            bounds a little lower.
        placement: As for `simulate`; on I/O resources the bounds are those of the placement.
        allocation: As for `simulate`.

    Raises:
        InputError: The workload cannot be run with these options.
    """
    return bounds_of(workload, pieces, _resources(workload, allocation, placement))


def _resources(
    workload: Workload, allocation: str | None, placement: PlacementOption
) -> Sequence[Sequence[int]] | Literal[False]:
    """The I/O resources of each application; False for one link."""
    if placement is None or isinstance(placement, str):
        found = choose_placement(workload, allocation, placement)
        return found.resources if found else False
    if allocation is not None:
        raise InputError("allocation", f"{allocation!r} beside a placement that is given; expected one of the two")
    return placement
