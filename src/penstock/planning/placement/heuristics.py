"""Heuristics for I/O resources: how many and which each application uses (002 §IV, §V.B).

A heuristic is an allocation (`penstock.planning.placement.allocation`) with a placement, which chooses the resources given
their numbers (002 §IV.B); or MCKP, which does both.

For few applications and resources, `oracle` finds the best of all allocations and placements. Resources are alike, so a
placement is a set of applications on each resource, in any order of the resources. The oracle runs every multiset of N sets
of applications that leaves no application without a resource: at most (2^K + N − 1 over N) runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement
from math import comb
from typing import Final

import numpy as np
from numpy.random import Generator

from penstock.engine.machine import Placement, resources_of
from penstock.engine.result import Result
from penstock.engine.scenarios import HORIZON, STEADY, simulate_placement
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Ints
from penstock.planning.placement.allocation import ALLOCATIONS, LEVELS, Characteristics, Information, find_allocation, mckp
from penstock.policies.policy import Policy
from penstock.renamed import old_names

__getattr__ = old_names(__name__, named="matching_heuristics", from_name="heuristic_from_name")

MCKP: Final = "mckp"
MCKP_SHARED: Final = "mckp-shared"
BOTH_STEPS: Final = (MCKP, MCKP_SHARED)
"""Heuristics that allocate and place in one."""
SEPARATOR: Final = " + "
"""Between the steps in the name of a heuristic."""


@dataclass(frozen=True)
class PlacementRule:
    """A placement heuristic: `place` chooses the resources of each application; it `needs` to know this."""

    name: str
    place: Callable[[Characteristics, Ints, Generator], Placement]
    needs: tuple[Information, ...]
    summary: str


def random(known: Characteristics, counts: Ints, generator: Generator) -> Placement:
    """Random resources, all different, by the `generator`: `counts` of them for each application `known`."""
    return tuple(
        tuple(sorted(generator.choice(known.resources, count, replace=False).tolist())) for count in counts.tolist()
    )


def greedy_non_clairvoyant(known: Characteristics, counts: Ints, _: Generator) -> Placement:
    """The same number of applications on all resources: in turn, applications with most resources first.

    `known` has the number of resources, `counts` how many each application uses.
    """
    placement: list[tuple[int, ...]] = [()] * len(known)
    pointer = 0
    for index in np.argsort(-counts, kind="stable").tolist():
        count = int(counts[index])
        placement[index] = tuple(sorted((pointer + step) % known.resources for step in range(count)))
        pointer = (pointer + count) % known.resources
    return tuple(placement)


def greedy_clairvoyant(known: Characteristics, counts: Ints, _: Generator) -> Placement:
    """The same load on all resources: largest I/O ratio first, each on the resources with the smallest sum so far.

    `known` has the I/O ratios, `counts` how many resources each application uses.
    """
    ratio = known.at(known.io_ratio, counts)
    occupied = np.zeros(known.resources)
    placement: list[tuple[int, ...]] = [()] * len(known)
    for index in np.argsort(-ratio, kind="stable").tolist():
        chosen = np.argsort(occupied, kind="stable")[: int(counts[index])]
        occupied[chosen] += ratio[index]
        placement[index] = tuple(sorted(chosen.tolist()))
    return tuple(placement)


PLACEMENT_RULES: Final = {
    placing.name: placing
    for placing in (
        PlacementRule("random", random, (), "any resources"),
        PlacementRule("greedy-non-clairvoyant", greedy_non_clairvoyant, (), "the same number of applications everywhere"),
        PlacementRule(
            "greedy-clairvoyant",
            greedy_clairvoyant,
            (Information.TOTALS, Information.CURVES),
            "the same I/O load everywhere",
        ),
    )
}
"""The placements of the paper by name; a new one takes a function and a line here."""


def find_placement_rule(name: str) -> PlacementRule:
    """The placement of this name; InputError if there is none."""
    if name not in PLACEMENT_RULES:
        raise InputError(f"placement {name}", f"unknown; expected one of {', '.join(PLACEMENT_RULES)}")
    return PLACEMENT_RULES[name]


@dataclass(frozen=True)
class Heuristic:
    """An `allocation` and a `placement` by name; `mckp` and `mckp-shared` are both and have no placement of their own.

    Raises:
        InputError: A name is unknown, a placement is missing, or one is given beside mckp.
    """

    allocation: str
    placement: str | None = None

    def __post_init__(self) -> None:
        if self.allocation in BOTH_STEPS:
            if self.placement is not None:
                raise InputError(
                    f"placement {self.placement}", f"{self.allocation} places by itself; expected no placement with it"
                )
        elif self.allocation not in ALLOCATIONS:
            raise InputError(
                f"allocation {self.allocation}", f"unknown; expected one of {', '.join([*ALLOCATIONS, *BOTH_STEPS])}"
            )
        elif self.placement is None:
            raise InputError(f"allocation {self.allocation}", f"no placement; expected one of {', '.join(PLACEMENT_RULES)}")
        else:
            find_placement_rule(self.placement)

    @property
    def steps(self) -> tuple[str, ...]:
        """The names of allocation and placement."""
        return (self.allocation,) if self.placement is None else (self.allocation, self.placement)

    @property
    def name(self) -> str:
        """The names of its steps, joined."""
        return SEPARATOR.join(self.steps)

    @property
    def needs(self) -> tuple[Information, ...]:
        """What the heuristic must know of the applications, in the order of the levels."""
        if self.placement is None:
            return (Information.CURVES,)
        needed = {*find_allocation(self.allocation).needs, *find_placement_rule(self.placement).needs}
        return tuple(level for level in LEVELS if level in needed)

    @property
    def baseline(self) -> bool:
        """Whether it only serves for comparison: one of its steps is random."""
        return "random" in (self.allocation, self.placement)

    def known_at(self, level: Information) -> bool:
        """Whether a scheduler with this `level` of information can use it."""
        return all(LEVELS.index(need) <= LEVELS.index(level) for need in self.needs)

    def place(self, known: Characteristics, seed: int = 0) -> Placement:
        """The resources of each application that is `known`, numbered from 0; `seed` is for the random steps."""
        if self.placement is None:
            return mckp(known, shared=self.allocation == MCKP_SHARED)
        generator = np.random.default_rng(seed)
        counts = find_allocation(self.allocation).counts(known, generator)
        return find_placement_rule(self.placement).place(known, counts, generator)


BASELINE: Final = Heuristic("static", "greedy-non-clairvoyant")
"""What resource managers do without knowing the I/O of jobs: in proportion to nodes, and in turn."""


def heuristic_from_name(name: str) -> Heuristic:
    """The heuristic with this name, as `Heuristic.name` gives it."""
    return Heuristic(*name.split(SEPARATOR))


def heuristics(applications: int, resources: int) -> tuple[Heuristic, ...]:
    """The heuristics of the paper that work for so many `applications` and `resources`."""
    pairs = [Heuristic(allocation, placement) for allocation in ALLOCATIONS for placement in PLACEMENT_RULES]
    return (*pairs, Heuristic(MCKP if applications <= resources else MCKP_SHARED))


def matching_heuristics(allocation: str | None, placement: str | None) -> tuple[Heuristic, ...]:
    """The heuristics with this allocation, this placement, or both."""
    if allocation in BOTH_STEPS:
        return (Heuristic(allocation, placement),)
    allocations = ALLOCATIONS if allocation is None else (allocation,)
    placements = PLACEMENT_RULES if placement is None else (placement,)
    return tuple(Heuristic(one, other) for one in allocations for other in placements)


def stream_heuristics() -> tuple[Heuristic, ...]:
    """The heuristics for jobs that come and go: all without random steps, and the purely random one."""
    rules = [rule for rule in PLACEMENT_RULES if rule != "random"]
    pairs = [Heuristic(one, rule) for one in ALLOCATIONS if one != "random" for rule in rules]
    return (Heuristic("random", "random"), *pairs, Heuristic(MCKP))


def counts_of(placement: Placement) -> Ints:
    """Number of resources that each application uses in the `placement`."""
    return np.array([len(used) for used in placement])


MOST_PLACEMENTS: Final = 200_000
"""More placements are not tried."""


def placements(applications: int, resources: int) -> Iterator[Placement]:
    """All placements of so many `applications` on `resources` that differ by more than the names of the resources."""
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
    """Raise InputError if so many `applications` have more placements on `resources` than can be tried."""
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
