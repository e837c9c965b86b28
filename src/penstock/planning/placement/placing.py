"""Placement: which I/O resources each application uses, given how many (002 §IV.B)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from penstock.engine.machine import Placement
from penstock.model import InputError
from penstock.planning.placement.characteristics import Characteristics, Information
from penstock.policies.view import Ints


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
