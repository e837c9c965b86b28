"""Partition of the bandwidth among groups of applications (001 §V.B).

Application i moves v_i bytes every t_i seconds, a *load* of v_i / t_i. The applications are cut into parts; part k has the
bandwidth B_k for itself, in which its members have exclusive access in turn. Conditions: Σ B_k ≤ B, and B_k is at least the
load of its members. The objective is a simplified stretch (eq. V.1), the largest over the parts of

    (max v_i / B_k) / (min v_i / B) = spread · B / B_k,  where spread = max v_i / min v_i:

the time of the longest operation in the part, divided by the time of the shortest one with all of B.

For given parts the value z is possible if Σ max(load_k, spread_k · B / z) ≤ B, which gives the best z in closed form
(`least_value`). Such bandwidths exist for every partition if the load of all applications is at most B, else for none.

An optimal partition need not be contiguous in v (Intuition 1 of 001 §V.B.3 is false as it stands): an application with a
large load fills up a part that needs much bandwidth for its spread. v = (2, 4, 6, 24, 64) with loads (1, 40, 16, 1, 1)/64
of B = 1 has the optimum 11.130, and 13 with contiguous parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.model import InputError
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import PARTITION_PRECISION, SAME_AMOUNT
from penstock.renamed import old_names

__getattr__ = old_names(__name__, Part="BandwidthPart", allotted="allot_bandwidth")

MOST_ENUMERATED: Final = 12
"""How many applications `best_partition` takes: 12 have 4,213,597 partitions."""


@dataclass(frozen=True)
class BandwidthPart:
    """Applications that share a part of the bandwidth."""

    members: tuple[int, ...]
    """Their indices, in increasing order of v."""
    bandwidth: float
    """B_k, in bytes/s."""
    stretch: float
    """spread · B / B_k."""


@dataclass(frozen=True)
class Partition:
    """Parts of the applications and of the bandwidth; the parts are in increasing order of their smallest v."""

    parts: tuple[BandwidthPart, ...]

    @property
    def value(self) -> float:
        """The largest stretch of a part (001 eq. V.1)."""
        return max(part.stretch for part in self.parts)


@dataclass(frozen=True)
class Applications:
    """The applications: `volume` v_i in bytes and `time` t_i in seconds, one entry each; `bandwidth` B in bytes/s."""

    volume: tuple[float, ...]
    time: tuple[float, ...]
    bandwidth: float

    def __post_init__(self) -> None:
        for name in ("volume", "time"):
            object.__setattr__(self, name, tuple(float(value) for value in getattr(self, name)))
            for index, value in enumerate(getattr(self, name)):
                if not 0.0 < value < math.inf:
                    raise InputError(f"{name}[{index}]", f"{value} is out of range; expected a finite number above 0")
        if not self.volume or len(self.volume) != len(self.time):
            counts = f"{len(self.volume)} volumes for {len(self.time)} times"
            raise InputError("applications", f"{counts}; expected one of each, and at least one")
        if not 0.0 < self.bandwidth < math.inf:
            raise InputError("bandwidth", f"{self.bandwidth} is out of range; expected a finite number of bytes/s above 0")
        load = math.fsum(self.loads)
        if load > self.bandwidth * (1.0 + SAME_AMOUNT):
            message = f"the applications move {load:.6g} bytes/s; expected at most B = {self.bandwidth:.6g}"
            raise InputError("bandwidth", message)

    @property
    def loads(self) -> tuple[float, ...]:
        """v_i / t_i, in bytes/s."""
        return tuple(v / t for v, t in zip(self.volume, self.time, strict=True))

    @property
    def order(self) -> list[int]:
        """Indices in increasing order of v."""
        return sorted(range(len(self.volume)), key=lambda i: self.volume[i])


def allot_bandwidth(applications: Applications, groups: Sequence[Sequence[int]]) -> Partition:
    """Give each group of applications the bandwidth that makes the value smallest. Time n log n.

    Args:
        applications: The applications.
        groups: Their indices; every application in exactly one group, no group empty.

    Raises:
        InputError: The groups are no partition.
    """
    if sorted(i for group in groups for i in group) != list(range(len(applications.volume))) or not all(map(len, groups)):
        raise InputError("groups", "they are no partition; expected every application in one of them, and none empty")
    place = {i: rank for rank, i in enumerate(applications.order)}
    members = sorted((sorted(group, key=place.__getitem__) for group in groups), key=lambda group: place[group[0]])
    spreads = [applications.volume[group[-1]] / applications.volume[group[0]] for group in members]
    shares = _shares(applications)
    loads = [math.fsum(shares[i] for i in group) for group in members]
    value = least_value(spreads, loads)
    parts = []
    for group, spread, load in zip(members, spreads, loads, strict=True):
        share = max(load, spread / value)
        parts.append(BandwidthPart(tuple(group), share * applications.bandwidth, spread / share))
    return Partition(tuple(parts))


def all_exclusive(applications: Applications) -> Partition:
    """Let all `applications` take turns with all of B, which is one part: its value is max v / min v."""
    return allot_bandwidth(applications, [range(len(applications.volume))])


def all_shared(applications: Applications) -> Partition:
    """Let all `applications` share B, each in a part of its own: the value is at least their number."""
    return allot_bandwidth(applications, [[i] for i in range(len(applications.volume))])


def least_value(spreads: Sequence[float], loads: Sequence[float]) -> float:
    """The least z with Σ max(load_k, spread_k / z) ≤ 1, for the `spreads` and `loads` of parts.

    Loads are parts of B and add up to 1 at most. The condition says that for any set F of parts Σ_F spread / z is at most
    what the loads of the others leave. So z is the largest Σ_F spread / (1 − Σ load + Σ_F load), which is largest for the
    parts with the most spread per load.
    """
    slack = max(0.0, 1.0 - math.fsum(loads))
    value, spread, load = 0.0, 0.0, slack
    for k in sorted(range(len(loads)), key=lambda k: spreads[k] / loads[k], reverse=True):
        spread += spreads[k]
        load += loads[k]
        value = max(value, spread / load)
    return value


def best_partition(applications: Applications) -> Partition:
    """The best of all partitions, for up to 12 applications, by branch and bound.

    Applications are put into parts in increasing order of v. More members never lower the value, so a partial partition that
    is no better than the best so far is dropped.

    Raises:
        InputError: There are too many applications.
    """
    count = len(applications.volume)
    if count > MOST_ENUMERATED:
        message = f"{count} are too many to try all partitions; expected at most {MOST_ENUMERATED}, or contiguous parts"
        raise InputError("applications", message)
    best = contiguous_partition(applications)
    for groups in _better(applications, best.value):
        best = allot_bandwidth(applications, groups)
    return best


def _better(applications: Applications, below: float) -> Iterator[list[list[int]]]:
    """Partitions, each of a lower value than the one before."""
    order, volume, shares = applications.order, applications.volume, _shares(applications)
    groups: list[list[int]] = []
    spreads: list[float] = []
    loads: list[float] = []

    def visit(depth: int) -> Iterator[list[list[int]]]:
        nonlocal below
        # A sum of spreads is a lower bound of the value, and quicker to compute.
        if sum(spreads) >= below * (1.0 - SAME_AMOUNT) or least_value(spreads, loads) >= below * (1.0 - SAME_AMOUNT):
            return
        if depth == len(order):
            below = least_value(spreads, loads)
            yield [list(group) for group in groups]
            return
        i = order[depth]
        for k in range(len(groups)):
            spread, load = spreads[k], loads[k]
            groups[k].append(i)
            spreads[k], loads[k] = volume[i] / volume[groups[k][0]], load + shares[i]
            yield from visit(depth + 1)
            groups[k].pop()
            spreads[k], loads[k] = spread, load
        groups.append([i])
        spreads.append(1.0)
        loads.append(shares[i])
        yield from visit(depth + 1)
        del groups[-1], spreads[-1], loads[-1]

    yield from visit(0)


def contiguous_partition(applications: Applications) -> Partition:
    """The best partition with parts contiguous in v: all applications between two members, or equal to one, are members.

    Bisection on the value z; a dynamic program over the last part decides whether z is possible. Time n² for each of some 40
    values of z: 0.2 s for 500 applications.
    """
    volume, shares = np.array(applications.volume), _shares(applications)
    values, which = np.unique(volume, return_inverse=True)
    loads = np.concatenate([[0.0], np.cumsum(np.bincount(which, weights=shares))])
    best = all_exclusive(applications)
    low, high = 1.0, best.value
    while high - low > PARTITION_PRECISION * high:
        middle = 0.5 * (low + high)
        cuts = _cuts(values, loads, middle)
        if cuts is None:
            low = middle
            continue
        found = allot_bandwidth(applications, [np.flatnonzero((which >= i) & (which < j)).tolist() for i, j in cuts])
        best = min(best, found, key=lambda partition: partition.value)
        high = min(middle, found.value)
    return best


def _cuts(values: Floats, loads: Floats, value: float) -> list[tuple[int, int]] | None:
    """Parts [i, j) of the sorted volumes that together need the least bandwidth for the value; None if that is above B."""
    count = len(values)
    need = np.zeros(count + 1)
    begin = np.zeros(count + 1, np.int64)
    for j in range(1, count + 1):
        needs = need[:j] + np.maximum(loads[j] - loads[:j], values[j - 1] / values[:j] / value)
        begin[j] = np.argmin(needs)
        need[j] = needs[begin[j]]
    if need[count] > 1.0 + SAME_AMOUNT:
        return None
    cuts, j = [], count
    while j > 0:
        cuts.append((int(begin[j]), j))
        j = int(begin[j])
    return cuts


def contiguity_gap(applications: Applications) -> float:
    """How much worse the best contiguous partition is than the best of all: value / value − 1; for few applications."""
    return contiguous_partition(applications).value / best_partition(applications).value - 1.0


def _shares(applications: Applications) -> list[float]:
    """Loads as parts of B."""
    return [load / applications.bandwidth for load in applications.loads]
