"""Placement: which I/O resources each application uses, given how many (002 §IV.B).

The heuristics: an allocation with a placement, or MCKP, which is both (002 §IV, §V.B).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from penstock.engine.machine import Placement
from penstock.model import InputError
from penstock.numeric.arrays import Ints
from penstock.planning.placement.allocation import ALLOCATIONS, find_allocation, mckp
from penstock.planning.placement.characteristics import LEVELS, Characteristics, Information


@dataclass(frozen=True)
class Placing:
    """A heuristic: `place` chooses the resources of each application, from what it `needs` to know."""

    name: str
    place: Callable[[Characteristics, Ints, Generator], Placement]
    needs: tuple[Information, ...]
    summary: str


def random(known: Characteristics, counts: Ints, generator: Generator) -> Placement:
    """Any different resources."""
    return tuple(
        tuple(sorted(generator.choice(known.resources, count, replace=False).tolist())) for count in counts.tolist()
    )


def greedy_non_clairvoyant(known: Characteristics, counts: Ints, _: Generator) -> Placement:
    """The same number of applications everywhere: in turn, those with most resources first."""
    placement: list[tuple[int, ...]] = [()] * len(known)
    pointer = 0
    for index in np.argsort(-counts, kind="stable").tolist():
        count = int(counts[index])
        placement[index] = tuple(sorted((pointer + step) % known.resources for step in range(count)))
        pointer = (pointer + count) % known.resources
    return tuple(placement)


def greedy_clairvoyant(known: Characteristics, counts: Ints, _: Generator) -> Placement:
    """The same load everywhere: the largest I/O ratios first, each on the resources with the smallest sum of them so far."""
    ratio = known.at(known.io_ratio, counts)
    occupied = np.zeros(known.resources)
    placement: list[tuple[int, ...]] = [()] * len(known)
    for index in np.argsort(-ratio, kind="stable").tolist():
        chosen = np.argsort(occupied, kind="stable")[: int(counts[index])]
        occupied[chosen] += ratio[index]
        placement[index] = tuple(sorted(chosen.tolist()))
    return tuple(placement)


PLACINGS: Final = {
    placing.name: placing
    for placing in (
        Placing("random", random, (), "any resources"),
        Placing("greedy-non-clairvoyant", greedy_non_clairvoyant, (), "the same number of applications everywhere"),
        Placing(
            "greedy-clairvoyant",
            greedy_clairvoyant,
            (Information.TOTALS, Information.CURVES),
            "the same I/O load everywhere",
        ),
    )
}
"""The placements of the paper; a new one takes a function and a line here."""


def find_placing(name: str) -> Placing:
    """The placement of this name."""
    if name not in PLACINGS:
        raise InputError(f"placement {name}", f"unknown; expected one of {', '.join(PLACINGS)}")
    return PLACINGS[name]


MCKP: Final = "mckp"
MCKP_SHARED: Final = "mckp-shared"
BOTH_STEPS: Final = (MCKP, MCKP_SHARED)
SEPARATOR: Final = " + "
"""Between the steps in the name of a heuristic."""


@dataclass(frozen=True)
class Heuristic:
    """`allocation` and `placement` by name; MCKP and its shared form have no placement apart."""

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
            raise InputError(f"allocation {self.allocation}", f"no placement; expected one of {', '.join(PLACINGS)}")
        else:
            find_placing(self.placement)

    @property
    def steps(self) -> tuple[str, ...]:
        """The names of its steps."""
        return (self.allocation,) if self.placement is None else (self.allocation, self.placement)

    @property
    def name(self) -> str:
        """All names in one."""
        return SEPARATOR.join(self.steps)

    @property
    def needs(self) -> tuple[Information, ...]:
        """What it must know of the applications, in the order of the levels."""
        if self.placement is None:
            return (Information.CURVES,)
        needed = {*find_allocation(self.allocation).needs, *find_placing(self.placement).needs}
        return tuple(level for level in LEVELS if level in needed)

    @property
    def baseline(self) -> bool:
        """Whether it is there to be compared with only: one of its steps is random."""
        return "random" in (self.allocation, self.placement)

    def known_at(self, level: Information) -> bool:
        """Whether a scheduler that knows this much of all applications can use it."""
        return all(LEVELS.index(need) <= LEVELS.index(level) for need in self.needs)

    def place(self, known: Characteristics, seed: int = 0) -> Placement:
        """The resources of each application; the `seed` is for the random steps."""
        if self.placement is None:
            return mckp(known, shared=self.allocation == MCKP_SHARED)
        generator = np.random.default_rng(seed)
        counts = find_allocation(self.allocation).counts(known, generator)
        return find_placing(self.placement).place(known, counts, generator)


def from_name(name: str) -> Heuristic:
    """The heuristic that has this name."""
    return Heuristic(*name.split(SEPARATOR))


def heuristics(applications: int, resources: int) -> tuple[Heuristic, ...]:
    """Those of the paper that work for so many applications and resources."""
    pairs = [Heuristic(allocation, placement) for allocation in ALLOCATIONS for placement in PLACINGS]
    return (*pairs, Heuristic(MCKP if applications <= resources else MCKP_SHARED))


def named(allocation: str | None, placement: str | None) -> tuple[Heuristic, ...]:
    """The heuristics with this allocation, this placement, or both."""
    if allocation in BOTH_STEPS:
        return (Heuristic(allocation, placement),)
    allocations = ALLOCATIONS if allocation is None else (allocation,)
    placements = PLACINGS if placement is None else (placement,)
    return tuple(Heuristic(one, other) for one in allocations for other in placements)


def counts_of(placement: Placement) -> Ints:
    """How many resources each application uses."""
    return np.array([len(used) for used in placement])
