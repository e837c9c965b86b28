"""Which I/O resources the applications of a workload run on: those that its file says, or those of a heuristic.

What the commands `simulate` and `bound` do with a workload, as functions: placed as its file says, or by default.
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
from penstock.theory import Bounds
from penstock.theory import bounds as bounds_of
from penstock.theory.link_demand import PIECES

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


Given: TypeAlias = str | Sequence[Sequence[int]] | Literal[False] | None
"""A placement: the name of one, the I/O resources of each application, False for one link, None for the default."""


def simulate(
    workload: Workload, policy: Policy | str, *, allocation: str | None = None, placement: Given = None, **options: Any
) -> Result:
    """Run the workload under the policy, given by name or as an object, to the end of its window or of its applications.

    A workload of I/O resources (002) runs on those that it says itself, else on those that tcpu and greedy-clairvoyant find.
    `allocation` and `placement` name others, as for ``penstock place``; `placement` may also list the resources of each
    application, numbered from 0, or be False: then all share one link of the platform's bandwidth. The other options are
    those of `Run`: ``trace=True`` records the rates, ``check=True`` checks the invariants after every event.

    Raises InputError for what cannot be run so, PolicyFault for a policy that breaks its contract.
    """
    return Run(workload, policy, placement=_found(workload, allocation, placement), **options).finish()


def bounds(workload: Workload, pieces: int = PIECES, placement: Given = None, *, allocation: str | None = None) -> Bounds:
    """Upper bounds on the min-yield and the efficiency of any schedule of the workload.

    An operation of an application that cannot fill the link is cut into `pieces`: more take longer, and the bounds are a
    little lower. On I/O resources they are those of a placement, which is found as `simulate` does.
    """
    return bounds_of(workload, pieces, _found(workload, allocation, placement))


def _found(workload: Workload, allocation: str | None, placement: Given) -> Sequence[Sequence[int]] | Literal[False]:
    """The I/O resources of each application; False for one link."""
    if placement is None or isinstance(placement, str):
        found = placed(workload, allocation, placement)
        return found.resources if found else False
    if allocation is not None:
        raise InputError("allocation", f"{allocation!r} beside a placement that is given; expected one of the two")
    return placement
