"""The best of all allocations and placements, for few applications and resources.

Resources are alike: a placement is which applications are on each resource, in any order of the resources. So the oracle
runs every multiset of N sets of applications that leaves nobody without a resource, at most (2^K + N − 1 over N) of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from math import comb
from typing import Final

from penstock.engine.placed import HORIZON, PlacedResult, Placement, resources_of, simulate_placement
from penstock.model import InputError, Workload
from penstock.policies.policy import Policy

MOST_PLACEMENTS: Final = 200_000


def placements(applications: int, resources: int) -> Iterator[Placement]:
    """All placements that differ by more than the names of the resources."""
    everyone = 2**applications - 1
    for columns in combinations_with_replacement(range(2**applications), resources):
        covered = 0
        for column in columns:
            covered |= column
        if covered == everyone:
            yield tuple(
                tuple(resource for resource, column in enumerate(columns) if column >> index & 1)
                for index in range(applications)
            )


def best_placement(
    workload: Workload,
    policy: Policy | str = "best-effort",
    *,
    horizon: float = HORIZON,
    objective: Callable[[PlacedResult], float] = lambda result: result.mean_slowdown,
) -> PlacedResult:
    """The run with the smallest objective, the first one on ties; by default the mean slowdown on [0, T]."""
    size, resources = len(workload.applications), resources_of(workload)
    number = comb(2**size + resources - 1, resources)
    if number > MOST_PLACEMENTS:
        raise InputError(
            "oracle",
            f"{size} applications on {resources} I/O resources have {number:.2g} placements; "
            f"expected at most {MOST_PLACEMENTS:,}, such as 4 on 6",
        )
    runs = (simulate_placement(workload, placement, policy, horizon=horizon) for placement in placements(size, resources))
    return min(runs, key=objective)
