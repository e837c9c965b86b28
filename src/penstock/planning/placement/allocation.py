"""MCKP: exclusive I/O resources, so that the sum of bandwidths is largest (Bez et al.; 002 §V.B).

A multiple-choice knapsack: every application takes exactly one of its measured counts, the counts add up to at most N, the
sum of b_j(n_j) is maximised. Exact by dynamic programming over the resources left, in time K · N · counts. Every application
needs a resource of its own, so there must be as many resources as applications; with `shared`, those for which there is none
share the last resource, and count for nothing in the sum.

tcpu: from the allocation that stresses the system least towards the fastest one, most nodes first (002 Algorithm 1).

Each step gives one application, the one whose CPUload gains most, its next number of resources that does not lower its
CPUload and keeps the I/O-load at 1 or below. A step looks at K applications, mostly at one number each, at worst at all up
to n_perf; there are at most Σ (n_perf − n_sys) steps: K² · N where numbers rise one by one, at worst K² · N².

Allocation: how many I/O resources each application uses (002 §IV.A).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
from numba import types
from numpy.random import Generator

from penstock.engine.machine import Placement
from penstock.model import InputError
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import kernel
from penstock.numeric.tolerances import SAME_AMOUNT
from penstock.planning.placement.characteristics import Characteristics, Information


def mckp(known: Characteristics, *, shared: bool = False) -> Placement:
    """The allocation and the placement that goes with it: one resource after the other, each to one application."""
    size, resources = len(known), known.resources
    if size <= resources:
        counts = best_choice(known, resources, optional=False)
    elif shared:
        counts = best_choice(known, resources - 1, optional=True)
    else:
        raise InputError(
            "mckp", f"{size} applications on {resources} I/O resources; expected a resource for each, or mckp-shared"
        )
    ends = np.cumsum(counts).tolist()
    exclusive = (tuple(range(end - count, end)) for end, count in zip(ends, counts.tolist(), strict=True))
    return tuple(used or (resources - 1,) for used in exclusive)


def best_choice(known: Characteristics, resources: int, *, optional: bool) -> Ints:
    """The counts with the largest sum of bandwidths; with `optional` an application may have none. Ties: fewest first."""
    assert known.curves is not None
    value = np.zeros(resources + 1)
    """value[r]: the largest sum of the applications so far with at most r resources; −∞ where they do not fit."""
    taken = np.zeros((len(known), resources + 1), np.int64)
    for index, choices in enumerate(known.measured):
        best = value.copy() if optional else np.full(resources + 1, -np.inf)
        for count in choices:
            if count <= resources:
                with_count = np.full(resources + 1, -np.inf)
                with_count[count:] = value[: resources + 1 - count] + known.curves[index, count - 1]
                better = with_count > best
                best[better] = with_count[better]
                taken[index, better] = count
        value = best
    counts = np.zeros(len(known), np.int64)
    left = resources
    for index in range(len(known) - 1, -1, -1):
        counts[index] = taken[index, left]
        left -= int(counts[index])
    return counts


FULL: Final = 1.0 + SAME_AMOUNT
"""The largest I/O-load: 1, but for the roundings of a sum."""


def tcpu(known: Characteristics, *, as_printed: bool = False) -> Ints:
    """The allocation. `as_printed` compares a number with the one tried before it instead of the one in use, as line 14 of
    the algorithm stands: CPUload can then fall.
    """
    assert known.best is not None
    counts = known.least_stress.copy()
    compiled_tcpu()(counts, known.best, known.stress / known.resources, known.cpu_load, as_printed)
    return counts


def _tcpu(counts: Ints, best: Ints, load: Floats, cpu_load: Floats, as_printed: bool) -> None:
    """Raise the counts in place; `load` and `cpu_load` are what each application adds with 1, …, N resources."""
    size = len(counts)
    total = 0.0
    for i in range(size):
        total += load[i, counts[i] - 1]
    while True:
        most, chosen, chosen_count = -1.0, -1, 0
        for i in range(size):
            compared = counts[i]
            for n in range(counts[i] + 1, best[i] + 1):
                if total + (load[i, n - 1] - load[i, counts[i] - 1]) <= FULL:
                    gain = cpu_load[i, n - 1] - cpu_load[i, compared - 1]
                    if as_printed:
                        compared = n
                    if gain >= 0.0:
                        if gain > most:
                            most, chosen, chosen_count = gain, i, n
                        break
        if chosen < 0:
            return
        total += load[chosen, chosen_count - 1] - load[chosen, counts[chosen] - 1]
        counts[chosen] = chosen_count


@cache
def compiled_tcpu() -> Callable[..., None]:
    """`_tcpu`, compiled."""
    table = types.Array(types.float64, 2, "C")
    return kernel(_tcpu, types.void(types.int64[::1], types.int64[::1], table, table, types.boolean), "tcpu")


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
