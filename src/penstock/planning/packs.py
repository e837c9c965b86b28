"""Packs: jobs that start together, within the nodes and the bandwidth of an I/O node (001 §III.C.2, Algorithm 2).

For a pack of jobs,

- P^Pack = Σ Q_i is the number of nodes that it uses,
- T^Pack = max T_i its time without contention,
- L^Pack = Σ O_i / T^Pack its average I/O occupation, its I/O load (`planning.jobs` says what O_i is).

Each job, in a given order, goes into the first pack that with it keeps P^Pack ≤ P and L^Pack ≤ S; if there is none, it
opens a new pack, whatever its own load. Packs are kept in the order of nodes used, most first, the older pack first among
equals. S is the sensibility: 1 keeps the link free enough, a larger S packs more tightly, and with S = ∞ I/O does not
count, which is first-fit.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np
from numba import types

from penstock.model import InputError
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import kernel
from penstock.numeric.tolerances import SAME_AMOUNT, TIME_GRAIN
from penstock.planning.jobs import Jobs, Machine
from penstock.renamed import old_names

__getattr__ = old_names(__name__, in_order="sorted_jobs", within="fits_load")

ORDERS: Final = ("max", "random", "char")
"""`max`: T_i descending; `random`: as in the file; `char`: mean iteration descending (001 §IV.A.3). Ties: as in the file."""


@dataclass(frozen=True)
class Pack:
    """Jobs that start together, by their numbers in the workload, in the order in which they were put into the pack."""

    jobs: tuple[int, ...]
    nodes: int
    """P^Pack."""
    seconds: float
    """T^Pack."""
    occupation: float
    """Σ O_i, the seconds for which its jobs occupy the link."""
    load: float
    """L^Pack; 0 for a pack that takes no time."""

    @classmethod
    def of(cls, members: Sequence[int], jobs: Jobs) -> Pack:
        """The pack of the `members`, numbers of `jobs`."""
        chosen = np.array(members, np.int64)
        seconds, occupation = float(jobs.seconds[chosen].max()), float(jobs.occupation[chosen].sum())
        load = occupation / seconds if seconds > 0.0 else 0.0
        return cls(tuple(members), int(jobs.nodes[chosen].sum()), seconds, occupation, load)


def make_packs(
    jobs: Jobs,
    machine: Machine,
    sensibility: float = 1.0,
    order: str = "max",
    among: Ints | None = None,
) -> tuple[Pack, ...]:
    """Put jobs into packs by Algorithm 2 of 001 §III.C.2. Time n · packs.

    Args:
        jobs: The jobs.
        machine: The I/O nodes with their compute nodes and bandwidth.
        sensibility: S, the largest I/O load of a pack; 0 or more, infinity for first-fit.
        order: In which of the ORDERS jobs are put into packs.
        among: Numbers of the jobs to put into packs, ascending; all by default.

    Returns:
        The packs in the order in which they run: most nodes first.

    Raises:
        InputError: The sensibility is negative, or the order unknown.
    """
    if not sensibility >= 0.0:
        raise InputError("sensibility", f"{sensibility} is out of range; expected 0 or more, or inf")
    sequence = sorted_jobs(jobs, order, among)
    pack_of, place = np.full(len(jobs), -1, np.int64), np.full(len(jobs), -1, np.int64)
    nodes, seconds, occupation = jobs.nodes, jobs.seconds, jobs.occupation
    count = compiled_make_packs()(sequence, nodes, seconds, occupation, machine.nodes, sensibility, pack_of, place)
    members: list[list[int]] = [[] for _ in range(count)]
    for job in sequence.tolist():
        members[pack_of[job]].append(job)
    return tuple(Pack.of(members[pack], jobs) for pack in place[:count].tolist())


def sorted_jobs(jobs: Jobs, order: str, among: Ints | None = None) -> Ints:
    """The numbers of the `jobs` in an `order`, one of the ORDERS; only those `among` them, ascending numbers, if given.

    Raises:
        InputError: the order is unknown.
    """
    if order not in ORDERS:
        raise InputError("order", f"{order!r} is unknown; expected one of {', '.join(ORDERS)}")
    chosen = np.arange(len(jobs)) if among is None else among
    if order == "random":
        return chosen
    return longest_first(chosen, jobs.seconds if order == "max" else jobs.iteration)


def longest_first(chosen: Ints, seconds: Floats) -> Ints:
    """The `chosen` jobs by their `seconds`, the longest first; equal ones, to a nanosecond, stay in order."""
    return chosen[np.argsort(-np.round(seconds[chosen] * TIME_GRAIN), kind="stable")]


def fits_load(occupation: float, seconds: float, sensibility: float) -> bool:
    """Whether L ≤ S for a pack with Σ O_i = `occupation` and T^Pack = `seconds`, both in seconds; S is the `sensibility`."""
    return math.isinf(sensibility) or occupation <= sensibility * seconds * (1.0 + SAME_AMOUNT)


def _make_packs(
    sequence: Ints, nodes: Ints, seconds: Floats, occupation: Floats, most: int, limit: float, pack_of: Ints, place: Ints
) -> int:
    """Algorithm 2; returns the number of packs.

    `pack_of[i]` becomes the pack of job i, packs being numbered as they are opened, and `place[k]` the pack that is k-th in
    the order of nodes used.
    """
    used = np.zeros(len(sequence), np.int64)
    longest = np.zeros(len(sequence))
    occupied = np.zeros(len(sequence))
    count = 0
    for job in sequence:
        at = 0
        while at < count:
            pack = place[at]
            length = max(longest[pack], seconds[job])
            fits = limit == np.inf or occupied[pack] + occupation[job] <= limit * length * (1.0 + SAME_AMOUNT)
            if fits and used[pack] + nodes[job] <= most:
                break
            at += 1
        if at == count:
            place[at] = count
            count += 1
        pack = place[at]
        pack_of[job] = pack
        used[pack] += nodes[job]
        longest[pack] = max(longest[pack], seconds[job])
        occupied[pack] += occupation[job]
        while at > 0 and (used[place[at - 1]] < used[pack] or (used[place[at - 1]] == used[pack] and place[at - 1] > pack)):
            place[at] = place[at - 1]
            at -= 1
        place[at] = pack
    return count


@cache
def compiled_make_packs() -> Callable[..., int]:
    """`_make_packs`, compiled: 24,000 jobs in thousands of packs are 10⁸ comparisons."""
    floats, ints = types.float64[::1], types.int64[::1]
    arguments: tuple[Any, ...] = (ints, ints, floats, floats, types.int64, types.float64, ints, ints)
    return kernel(_make_packs, types.int64(*arguments), "make-pack")


def lpt(seconds: Sequence[float], io_nodes: int, busy: Sequence[float] | None = None) -> list[int]:
    """Find the I/O node of each pack by longest processing time first: a pack goes where it ends earliest (001 §III.D.2.d).

    Ties go to the first I/O node. If packs take these times, the last end is at most 4/3 of the best possible one (Graham
    1969). Time n log n.

    Args:
        seconds: times of the packs without contention.
        io_nodes: number of I/O nodes.
        busy: for how many seconds each of them is still busy; by default all are free.

    Example:
        >>> lpt([5.0, 4.0, 3.0], 2)
        [0, 1, 1]
    """
    loads = [(0.0 if busy is None else busy[io_node], io_node) for io_node in range(io_nodes)]
    heapq.heapify(loads)
    chosen = [0] * len(seconds)
    for pack in sorted(range(len(seconds)), key=lambda index: -seconds[index]):
        load, io_node = loads[0]
        chosen[pack] = io_node
        heapq.heapreplace(loads, (load + seconds[pack], io_node))
    return chosen
