"""What the commands `simulate` and `bound` do with a workload, as functions: placed as its file says, or by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from penstock.engine import Result, Run
from penstock.model import InputError, Workload
from penstock.planning.placement.placed import placed
from penstock.policies import Policy
from penstock.theory import Bounds
from penstock.theory import bounds as bounds_of
from penstock.theory.demand import PIECES

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
