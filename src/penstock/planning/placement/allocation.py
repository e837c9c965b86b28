"""Allocation: how many I/O resources each application uses (002 §IV.A), from what is known of it (002 Table I).

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

Alone on n resources, application j computes for T_cpu seconds and transfers for T_io(n) = V_io / b(n) seconds. Its
I/O-Stress is n · T_io(n) / (T_cpu + T_io(n)), the number of resources that it occupies on average.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache, cached_property
from typing import Final

import numpy as np
from numba import types
from numpy.random import Generator

from penstock.engine.machine import Placement, resources_of
from penstock.model import Application, Curve, InputError, Workload
from penstock.model.application import WORK
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import kernel
from penstock.numeric.tolerances import SAME_AMOUNT


class Information(StrEnum):
    """What a heuristic must know of the applications (002 Table II)."""

    NODES = "nodes"
    TOTALS = "totals"
    BEST = "best"
    CURVES = "curves"


LEVELS: Final = tuple(Information)
"""From what a resource manager always knows to what takes many runs to measure; each includes the ones before."""


@dataclass(frozen=True)
class Characteristics:
    """The applications, one entry each, on `resources` I/O resources of a machine with `machine` nodes."""

    resources: int
    """N."""
    machine: int
    """Q_cpu."""
    nodes: Ints
    """Q_j."""
    work: Floats
    """T_cpu in seconds, for one run through the phases."""
    volume: Floats
    """V_io in bytes, for one run through the phases."""
    measured: tuple[tuple[int, ...], ...]
    """Numbers of resources up to N at which the bandwidth was measured; empty where it was not."""
    curves: Floats | None
    """b_j(n) in bytes/s: row j for 1, …, N resources; None unless all are known."""
    best: Ints | None
    """n_perf: the number of resources with the largest bandwidth, the fewest on ties; None unless all are known."""

    @classmethod
    def of(cls, workload: Workload, believed: Sequence[Curve] | None = None) -> Characteristics:
        """The characteristics of a workload; `believed` curves, if given, replace its own."""
        size = resources_of(workload)
        applications = workload.applications
        curves = tuple(application.curve for application in applications) if believed is None else tuple(believed)
        known = all(curve is not None for curve in curves)
        rows = np.array([curve.upto(size) for curve in curves if curve is not None])
        return cls(
            resources=size,
            machine=workload.platform.nodes or sum(application.nodes for application in applications),
            nodes=np.array([application.nodes for application in applications]),
            work=np.array([_total(application, work=True) for application in applications]),
            volume=np.array([_total(application, work=False) for application in applications]),
            measured=tuple(tuple(n for n in curve.counts if n <= size) if curve else () for curve in curves),
            curves=rows if known else None,
            best=_best(workload, curves, size),
        )

    def __len__(self) -> int:
        return len(self.nodes)

    def some(self, members: Sequence[int]) -> Characteristics:
        """The same of only these `members`, in this order."""
        chosen = np.array(members, np.int64)
        return replace(
            self,
            nodes=self.nodes[chosen],
            work=self.work[chosen],
            volume=self.volume[chosen],
            measured=tuple(self.measured[member] for member in members),
            curves=None if self.curves is None else np.ascontiguousarray(self.curves[chosen]),
            best=None if self.best is None else self.best[chosen],
        )

    @property
    def level(self) -> Information:
        """The highest level that is known of all applications."""
        if self.curves is not None:
            return Information.CURVES
        return Information.BEST if self.best is not None else Information.TOTALS

    @cached_property
    def io_seconds(self) -> Floats:
        """T_io in seconds without contention: row j for 1, …, N resources."""
        assert self.curves is not None, "asked only by what needs curves"
        return self.volume[:, None] / self.curves

    @cached_property
    def io_ratio(self) -> Floats:
        """T_io / (T_cpu + T_io), in the same rows; 0 for an application that does nothing."""
        whole = self.work[:, None] + self.io_seconds
        return np.divide(self.io_seconds, whole, out=np.zeros_like(whole), where=whole > 0.0)

    @cached_property
    def stress(self) -> Floats:
        """I/O-Stress in resources, in the same rows."""
        return self.io_ratio * np.arange(1, self.resources + 1)

    @cached_property
    def least_stress(self) -> Ints:
        """n_sys: the numbers of resources that stress the system least, the fewest on ties (002 eq. 2)."""
        counts: Ints = np.argmin(self.stress, axis=1) + 1
        return counts

    @cached_property
    def cpu_load(self) -> Floats:
        """CPUload = Q · T_cpu / (T_cpu + T_io): the nodes that compute on average (002 §IV.A)."""
        return self.nodes[:, None] * (1.0 - self.io_ratio)

    def at(self, table: Floats, counts: Ints) -> Floats:
        """The entry of each application in `table` for its number of resources, `counts`."""
        return table[np.arange(len(self)), np.asarray(counts) - 1]

    def io_load(self, counts: Ints) -> float:
        """I/O-load of an allocation of `counts` resources: the part of them that it occupies (eq. 3).

        Above 1 the system is saturated.
        """
        return float(self.at(self.stress, counts).sum()) / self.resources


def _total(application: Application, *, work: bool) -> float:
    phases = application.phases
    return float(phases.amounts[(phases.kinds == WORK) == work].sum())


def _best(workload: Workload, curves: Sequence[Curve | None], size: int) -> Ints | None:
    """n_perf of each; a `best_count` above N stands for N."""
    found = []
    for application, curve in zip(workload.applications, curves, strict=True):
        if curve is not None:
            found.append(int(np.argmax(curve.upto(size))) + 1)
        elif application.best_count is None:
            return None
        else:
            found.append(min(application.best_count, size))
    return np.array(found)


FULL: Final = 1.0 + SAME_AMOUNT
"""The largest I/O-load: 1, with room for the rounding errors of a sum."""


@dataclass(frozen=True)
class Allocation:
    """An allocation heuristic: `counts` gives each application a number of resources; it `needs` to know this."""

    name: str
    counts: Callable[[Characteristics, Generator], Ints]
    needs: tuple[Information, ...]
    summary: str


def random(known: Characteristics, generator: Generator) -> Ints:
    """A random number by the `generator`, up to the largest one measured, up to N where none is `known`."""
    most = [counts[-1] if counts else known.resources for counts in known.measured]
    return generator.integers(1, np.array(most), endpoint=True)


def static(known: Characteristics, _: Generator) -> Ints:
    """Q_j · N / Q_cpu rounded half up, at least 1 and at most N, from what is `known`."""
    shares = np.floor(known.nodes * known.resources / known.machine + 0.5).astype(np.int64)
    return np.clip(shares, 1, known.resources)


def best_bandwidth(known: Characteristics, _: Generator) -> Ints:
    """n_perf, from what is `known` (002 eq. 1)."""
    assert known.best is not None
    return known.best.copy()


def least_stress(known: Characteristics, _: Generator) -> Ints:
    """n_sys, from what is `known` (002 eq. 2)."""
    return known.least_stress.copy()


def tcpu(known: Characteristics, *, as_printed: bool = False) -> Ints:
    """Numbers of resources by Algorithm 1 of 002.

    Args:
        known: the applications, with curves.
        as_printed: compare a number with the one tried before it instead of the one in use, as line 14 of the algorithm is
            printed: CPUload can then fall.
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


def most_bandwidth(known: Characteristics) -> Ints:
    """What mckp gives to the applications that are `known`; at least one resource each, which those left without share."""
    few = len(known) <= known.resources
    return np.maximum(1, best_choice(known, known.resources if few else known.resources - 1, optional=not few))


AT_STARTS: Final = {"tcpu": tcpu, "mckp": most_bandwidth, "mckp-shared": most_bandwidth}
"""Allocations that look at a set of applications: of jobs that come and go, at those that run when one starts."""


def find_allocation(name: str) -> Allocation:
    """The allocation of this name; InputError if there is none."""
    if name not in ALLOCATIONS:
        raise InputError(f"allocation {name}", f"unknown; expected one of {', '.join(ALLOCATIONS)}")
    return ALLOCATIONS[name]


def mckp(known: Characteristics, *, shared: bool = False) -> Placement:
    """Allocation and placement in one: resources in order, each for one application alone.

    Args:
        known: the applications, with curves.
        shared: whether applications left without a resource share the last one.

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
    """The counts, of so many `resources`, with the largest sum of the `known` bandwidths, the fewest on ties.

    With `optional` an application may get none.
    """
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
