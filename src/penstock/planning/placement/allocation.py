"""Allocation: how many I/O resources each application uses (002 §IV.A)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.random import Generator

from penstock.model import InputError
from penstock.planning.placement.characteristics import Characteristics, Information
from penstock.planning.placement.tcpu import tcpu
from penstock.policies.view import Ints


@dataclass(frozen=True)
class Allocation:
    """A heuristic: `counts` gives each application a number of resources, from what it `needs` to know."""

    name: str
    counts: Callable[[Characteristics, Generator], Ints]
    needs: tuple[Information, ...]
    summary: str


def random(known: Characteristics, generator: Generator) -> Ints:
    """Any number up to the largest one measured, N where none was."""
    most = [counts[-1] if counts else known.resources for counts in known.measured]
    return generator.integers(1, np.array(most), endpoint=True)


def static(known: Characteristics, _: Generator) -> Ints:
    """Q_j · N / Q_cpu, half up, at least 1 and at most N."""
    shares = np.floor(known.nodes * known.resources / known.machine + 0.5).astype(np.int64)
    return np.clip(shares, 1, known.resources)


def best_bandwidth(known: Characteristics, _: Generator) -> Ints:
    """n_perf (002 eq. 1)."""
    assert known.best is not None
    return known.best.copy()


def least_stress(known: Characteristics, _: Generator) -> Ints:
    """n_sys (002 eq. 2)."""
    return known.least_stress.copy()


ALLOCATIONS: Final = {
    allocation.name: allocation
    for allocation in (
        Allocation("random", random, (), "any number up to the largest one measured"),
        Allocation("static", static, (Information.NODES,), "in proportion to its compute nodes"),
        Allocation("best-bdw", best_bandwidth, (Information.BEST,), "the number that is fastest for it"),
        Allocation(
            "n-sys", least_stress, (Information.TOTALS, Information.CURVES), "the number that loads the system least"
        ),
        Allocation(
            "tcpu",
            lambda known, _: tcpu(known),
            (Information.NODES, Information.TOTALS, Information.CURVES),
            "from n-sys up to best-bdw where most nodes gain, while the I/O load stays below 1",
        ),
    )
}
"""The allocations of the paper; a new one takes a function and a line here."""


def find_allocation(name: str) -> Allocation:
    """The allocation of this name."""
    if name not in ALLOCATIONS:
        raise InputError(f"allocation {name}", f"unknown; expected one of {', '.join(ALLOCATIONS)}")
    return ALLOCATIONS[name]
