"""The best of all allocations and placements, for few applications and resources.

Resources are alike, so a placement is a set of applications on each resource, in any order of the resources. The oracle
runs every multiset of N sets of applications that leaves no application without a resource: at most (2^K + N − 1 over N)
runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations_with_replacement
from math import comb
from typing import Final

from penstock.engine.machine import Placement, resources_of
from penstock.engine.result import Result
from penstock.engine.scenarios import HORIZON, STEADY, simulate_placement
from penstock.model import InputError, Workload
from penstock.policies.policy import Policy

MOST_PLACEMENTS: Final = 200_000
"""More placements are not tried."""


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


def require_few(applications: int, resources: int) -> None:
    """Raise InputError if there are more placements than can be tried."""
    number = comb(2**applications + resources - 1, resources)
    if number > MOST_PLACEMENTS:
        raise InputError(
            "oracle",
            f"{applications} applications on {resources} I/O resources have some 10^{len(str(number)) - 1} placements; "
            f"expected at most {MOST_PLACEMENTS:,}, such as 4 on 6",
        )


def best_placement(
    workload: Workload,
    policy: Policy | str = "best-effort",
    *,
    horizon: float = HORIZON,
    interval: str = STEADY,
    objective: Callable[[Result], float] = lambda result: result.mean_slowdown,
) -> Result:
    """Simulate every placement and return the best run.

    Args:
        workload: Applications with curves, on a platform with resources.
        policy: Shares the bandwidth of each resource.
        horizon: Seconds of a run.
        interval: The interval on which a run is measured.
        objective: The measure to minimise; the mean slowdown by default.

    Returns:
        The run with the smallest objective, the first on ties. Runs that are not valid come after all others.

    Raises:
        InputError: There are more than 200,000 placements.
    """
    size, resources = len(workload.applications), resources_of(workload)
    require_few(size, resources)
    runs = (
        simulate_placement(workload, placement, policy, horizon=horizon, interval=interval)
        for placement in placements(size, resources)
    )
    return min(runs, key=lambda result: (not result.valid, objective(result)))
