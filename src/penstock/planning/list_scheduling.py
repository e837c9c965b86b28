"""Reservations of list scheduling with a strict limit on bandwidth and conservative backfilling (001 §IV.A.2, §IV.A.4).

Jobs are served in the order of their release, then of the file. At any moment the I/O loads O_i / T_i of the running
jobs add up to at most S (in the paper S = 1). A job without I/O has no load, and a job that has the link for itself may
exceed the limit.

Without backfilling the first job in the queue starts as soon as it fits, and no job overtakes it. With (conservative)
backfilling, at every end or release of a job the first `depth` jobs of the queue get, in order, the earliest reservation
that delays none before them, and those whose reservation begins now start. Reservations use predicted ends: a running job
ends T_i after its start, or now if it should have ended already.

For reservations, the future of an I/O node is a step function: from `time[k]` to `time[k + 1]` so many nodes are free, so
much of the link is taken by the loads of running and reserved jobs, and so many jobs with I/O run; the last step never
ends. The first step has no length: it is the present instant, with all jobs that really run. A running job that should have
ended holds its nodes there and nowhere else, so that a place after it is planned at the same date but cannot be taken yet.

The place of a job that takes no time is a step without length too: jobs after it may begin at the same date.

A job fits into a step if its nodes are free and its load, added to the others', is at most S.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba import types

from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import inlined_kernel, kernel
from penstock.numeric.tolerances import SAME_AMOUNT, SAME_TIME_S


class Reservations(NamedTuple):
    """One entry a queued job: when it begins (NaN if it was not planned), and whether that is the present instant."""

    begin: Floats
    at_once: np.ndarray


class FreeSteps(NamedTuple):
    """The step function; the arrays have spare room at the end for further steps."""

    time: Floats
    free: Ints
    taken: Floats
    with_io: Ints


@inlined_kernel
def _fits(steps: FreeSteps, at: int, nodes: int, load: float, limit: float) -> bool:
    """Whether a job fits into a step."""
    if steps.free[at] < nodes:
        return False
    return bool(load == 0.0 or steps.with_io[at] == 0 or steps.taken[at] + load <= limit * (1.0 + SAME_AMOUNT))


@inlined_kernel
def _first_steps(steps: FreeSteps, now: float, most: int, ends: Floats, nodes: Ints, load: Floats) -> int:
    """Enter the running jobs, given in the order of their ends, and return the number of steps."""
    steps.time[0] = steps.time[1] = now
    size = 2
    for k in range(len(ends)):
        if ends[k] > steps.time[size - 1] + SAME_TIME_S:
            steps.time[size] = ends[k]
            size += 1
    free, taken, with_io = most, 0.0, 0
    k = len(ends) - 1
    for step in range(size - 1, -1, -1):
        while k >= 0 and (step == 0 or ends[k] > steps.time[step] + SAME_TIME_S):
            free -= nodes[k]
            taken += load[k]
            with_io += load[k] > 0.0
            k -= 1
        steps.free[step], steps.taken[step], steps.with_io[step] = free, taken, with_io
    return size


@inlined_kernel
def _split(steps: FreeSteps, at: int, size: int, time: float) -> None:
    """Split the step `at` − 1 at this date; the second half becomes the step `at`."""
    for step in range(size, at, -1):
        steps.time[step] = steps.time[step - 1]
        steps.free[step] = steps.free[step - 1]
        steps.taken[step] = steps.taken[step - 1]
        steps.with_io[step] = steps.with_io[step - 1]
    steps.time[at] = time
    steps.free[at] = steps.free[at - 1]
    steps.taken[at] = steps.taken[at - 1]
    steps.with_io[at] = steps.with_io[at - 1]


def _reserve(
    now: float,
    most: int,
    limit: float,
    running: Ints,
    ends: Floats,
    queue: Ints,
    nodes: Ints,
    load: Floats,
    seconds: Floats,
    whole: bool,
    begin: Floats,
    at_once: np.ndarray,
) -> None:
    """Plan the queue behind the running jobs, which should end at `ends`; the last two arrays take the result.

    Unless the `whole` plan is wanted, stop where no later job can begin at once: on a busy machine after a few jobs.
    Time q · (r + q) for q queued and r running jobs.
    """
    room = len(running) + len(queue) + 3
    steps = FreeSteps(np.empty(room), np.empty(room, np.int64), np.empty(room), np.empty(room, np.int64))
    order = np.argsort(ends)
    sorted_running = running[order]
    size = _first_steps(steps, now, most, ends[order], nodes[sorted_running], load[sorted_running])
    # The fewest nodes and the least load of the jobs from k on.
    fewest = np.full(len(queue) + 1, most + 1)
    least = np.full(len(queue) + 1, np.inf)
    for k in range(len(queue) - 1, -1, -1):
        fewest[k] = min(fewest[k + 1], nodes[queue[k]])
        least[k] = min(least[k + 1], load[queue[k]])
        begin[k], at_once[k] = np.nan, False
    for k in range(len(queue)):
        if not whole and not _fits(steps, 0, fewest[k], least[k], limit):
            break
        job = queue[k]
        first = 0
        after = 0
        while True:
            end = steps.time[first] + seconds[job]
            after = first
            while after < size and (after == first or steps.time[after] + SAME_TIME_S < end):
                if not _fits(steps, after, nodes[job], load[job], limit):
                    break
                after += 1
            else:
                break
            first = after + 1
        begin[k], at_once[k] = steps.time[first], first == 0
        if after == size or steps.time[after] > end + SAME_TIME_S:
            _split(steps, after, size, end)
            size += 1
        for step in range(first, after):
            steps.free[step] -= nodes[job]
            steps.taken[step] += load[job]
            steps.with_io[step] += load[job] > 0.0


@cache
def compiled_reserve() -> Callable[..., None]:
    """`_reserve`, compiled."""
    floats, ints, real, flag = types.float64[::1], types.int64[::1], types.float64, types.boolean
    arguments: tuple[Any, ...] = (real, types.int64, real, ints, floats, ints, ints, floats, floats, flag, floats, flag[::1])
    return kernel(_reserve, types.void(*arguments), "the batch scheduler")


class PlannedJobs(Protocol):
    """Jobs as columns, one entry each."""

    @property
    def nodes(self) -> Ints:
        """Nodes."""

    @property
    def load(self) -> Floats:
        """I/O loads."""

    @property
    def seconds(self) -> Floats:
        """Time for which they are planned."""


def reserve(
    jobs: PlannedJobs, now: float, most: int, limit: float, running: Ints, ends: Floats, queue: Ints, *, whole: bool = True
) -> Reservations:
    """Reserve the earliest place for each queued job, in order.

    Args:
        jobs: All jobs.
        now: The date in seconds.
        most: Compute nodes that belong to the I/O node.
        limit: S.
        running: Numbers of the running jobs.
        ends: Their predicted ends, `now` or later.
        queue: Numbers of the waiting jobs, in order.
        whole: Plan the whole queue; otherwise stop when no further job can begin now.

    Returns:
        When each queued job begins.
    """
    found = Reservations(np.empty(len(queue)), np.empty(len(queue), np.bool_))
    compiled_reserve()(now, most, limit, running, ends, queue, jobs.nodes, jobs.load, jobs.seconds, whole, *found)
    return found
