"""Allocation: how many I/O resources each application uses (002 §IV.A).

`random`, `static`, `best-bdw` (n_perf) and `n-sys` decide for each application by itself.

`tcpu` (002 Algorithm 1) goes from the allocation that stresses the system least towards the fastest one, most nodes
first. Each step gives one application, the one whose CPUload gains most, its next number of resources that does not lower
its CPUload and keeps the I/O-load at 1 or below. A step looks at K applications, mostly at one number each, at worst at
all up to n_perf; there are at most Σ (n_perf − n_sys) steps: K² · N where numbers rise one by one, at worst K² · N².

`mckp` (Bez et al.; 002 §V.B) gives each application resources of its own so that the sum of bandwidths is largest: a
multiple-choice knapsack. Every application takes exactly one of its measured counts, the counts add up to at most N, and
the sum of b_j(n_j) is maximised, exactly, by dynamic programming over the resources left, in time K · N · counts. There
must be as many resources as applications; with `shared`, the applications left without one share the last resource, and
do not count in the sum.
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

FULL: Final = 1.0 + SAME_AMOUNT
"""The largest I/O-load: 1, with room for the rounding errors of a sum."""


@dataclass(frozen=True)
class Allocation:
    """An allocation heuristic: `counts` gives each application a number of resources; it `needs` to know so much."""

    name: str
    counts: Callable[[Characteristics, Generator], Ints]
    needs: tuple[Information, ...]
    summary: str


def random(known: Characteristics, generator: Generator) -> Ints:
    """A random number up to the largest one measured, up to N where none was."""
    most = [counts[-1] if counts else known.resources for counts in known.measured]
    return generator.integers(1, np.array(most), endpoint=True)


def static(known: Characteristics, _: Generator) -> Ints:
    """Q_j · N / Q_cpu rounded half up, at least 1 and at most N."""
    shares = np.floor(known.nodes * known.resources / known.machine + 0.5).astype(np.int64)
    return np.clip(shares, 1, known.resources)


def best_bandwidth(known: Characteristics, _: Generator) -> Ints:
    """n_perf (002 eq. 1)."""
    assert known.best is not None
    return known.best.copy()


def least_stress(known: Characteristics, _: Generator) -> Ints:
    """n_sys (002 eq. 2)."""
    return known.least_stress.copy()


def tcpu(known: Characteristics, *, as_printed: bool = False) -> Ints:
    """Numbers of resources by Algorithm 1 of 002.

    With `as_printed`, a number is compared with the one tried before it instead of the one in use, as line 14 of the
    algorithm is printed: CPUload can then fall.
    """
    assert known.best is not None
    counts = known.least_stress.copy()
    compiled_tcpu()(counts, known.best, known.stress / known.resources, known.cpu_load, as_printed)
    return counts


def _tcpu(counts: Ints, best: Ints, load: Floats, cpu_load: Floats, as_printed: bool) -> None:
    """Raise the counts in place; `load` and `cpu_load` are those of each application with 1, …, N resources."""
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
"""The allocations of the paper by name; a new one takes a function and a line here."""


def find_allocation(name: str) -> Allocation:
    """The allocation of this name; InputError if there is none."""
    if name not in ALLOCATIONS:
        raise InputError(f"allocation {name}", f"unknown; expected one of {', '.join(ALLOCATIONS)}")
    return ALLOCATIONS[name]


def mckp(known: Characteristics, *, shared: bool = False) -> Placement:
    """Allocation and placement in one: resources in order, each for one application alone.

    Raises:
        InputError: There are more applications than resources, and `shared` is False.
    """
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
    """The counts with the largest sum of bandwidths, the fewest on ties; with `optional` an application may get none."""
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
