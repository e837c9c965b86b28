"""Bi-colored chains: jobs that alternate work and I/O, with exclusive access to the link (001 §II.A).

**Model.** A job J_i is a list of couples (a_{i,j}, b_{i,j}): seconds of work, then seconds of I/O at full bandwidth. All
jobs start at date 0 and never wait for nodes. The link runs one operation at a time, to its end. A schedule is an order of
the operations (Definition 1): B_{i,j} begins as soon as A_{i,j} and all operations before it in the order are done. The
objective is a small makespan C_max = max C_i.

An operation with b_{i,j} = 0 never asks for the link. Its work belongs to the next operation that does, or after the last
one to the end of the job. So (ε, ε), (1, 0) is a job of one operation with a second of work after it.

**Orders.** `schedule` runs a given order, `list_schedule` serves the first waiting operation by a key (001 §II.C.1).
`hierarchical_round_robin` and `periodic` make orders (001 §II.B.2, §II.C.2, §II.D.1). Hierarchical round-robin is optimal
for *uniform* jobs, in which all work lasts a and all I/O b seconds (Theorem 2). For periodic jobs of n operations each it
takes at most 1 + 1/n times the optimum (Theorem 4; this holds for any fixed order of the jobs in a period and is tight
where the longest work comes first; here it comes last).

A *block* of an order is what the link runs after an operation of J_1, a job with the most operations, up to and including
the next operation of J_1 (Definition 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np

from penstock.model import InputError, Workload
from penstock.model.application import WORK
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.tolerances import TIME_GRAIN
from penstock.policies import static_orders
from penstock.policies.static_orders import johnson_rank

Job: TypeAlias = Sequence[tuple[float, float]]

MOMENT: Final = 1.0 / TIME_GRAIN
"""Seconds: an operation posted no later than this after the link becomes free counts as posted then."""


@dataclass(frozen=True)
class Chain:
    """A job without operations of length 0, in seconds."""

    work: tuple[float, ...]
    """Work before each operation that asks for the link."""
    io: tuple[float, ...]
    """Length of each of these operations, above 0."""
    tail: float
    """Work after the last operation."""

    @property
    def operations(self) -> int:
        """n_i."""
        return len(self.io)

    @property
    def seconds(self) -> float:
        """C_i^min, all work and I/O (001 eq. II.2)."""
        return math.fsum(self.work) + math.fsum(self.io) + self.tail


def chain(job: Job, place: str = "job") -> Chain:
    """A job without its operations of length 0.

    Args:
        job: couples of work and I/O, in seconds.
        place: what an error calls the job.

    Raises:
        InputError: for a couple with a number that is negative or not finite.
    """
    work, io, pending = [], [], 0.0
    for index, (a, b) in enumerate(job):
        for seconds in (a, b):
            if not 0.0 <= seconds < math.inf:
                raise InputError(f"{place}[{index}]", f"{seconds} is no duration; expected finite seconds, 0 or more")
        pending += a
        if b > 0.0:
            work.append(pending)
            io.append(b)
            pending = 0.0
    return Chain(tuple(work), tuple(io), pending)


def chains(jobs: Sequence[Job]) -> list[Chain]:
    """All jobs without their operations of length 0."""
    return [chain(job, f"jobs[{index}]") for index, job in enumerate(jobs)]


def jobs_of(workload: Workload) -> list[list[tuple[float, float]]]:
    """The applications of a workload as jobs with exclusive access, in which an operation takes v / b_i seconds.

    Work after the last operation is a couple (a, 0).

    Raises:
        InputError: if the workload has a window or different releases, which the model does not have (001 Definition 3).
    """
    if workload.window is not None:
        raise InputError("window", "bi-colored chains run to their ends; expected a workload without a window")
    jobs = []
    for index, application in enumerate(workload.applications):
        if application.release != workload.begin:
            message = f"{application.release} is after the first release, {workload.begin}; expected all at once"
            raise InputError(f"applications[{index}].release", message)
        seconds = application.phases.dedicated_seconds(application.cap(workload.platform))
        job, work = [], application.lead
        for kind, length in zip(application.phases.kinds.tolist(), seconds.tolist(), strict=True):
            if kind == WORK:
                work += length
            elif length > 0.0:
                job.append((work, length))
                work = 0.0
        jobs.append([*job, (work, 0.0)] if work > 0.0 else job)
    return jobs


class Numbers(NamedTuple):
    """What orders know of jobs, one entry per job; the means are over the operations that ask for the link."""

    operations: Ints
    """n_i."""
    work: Floats
    """Total work / n_i, in seconds."""
    io: Floats
    """Total I/O / n_i, in seconds."""
    first_work: Floats
    """Seconds to the first request."""


def numbers(jobs: Sequence[Job]) -> Numbers:
    """What orders know of the jobs; a job without operations counts as one iteration."""
    known = chains(jobs)
    operations = np.array([c.operations for c in known], np.int64)
    iterations = np.maximum(1, operations)
    return Numbers(
        operations,
        np.array([math.fsum(c.work) + c.tail for c in known]) / iterations,
        np.array([math.fsum(c.io) for c in known]) / iterations,
        np.array([c.work[0] if c.work else c.tail for c in known]),
    )


@dataclass(frozen=True)
class ChainSchedule:
    """The dates, in seconds, of operations in the order in which the link runs them, and of the ends of jobs."""

    order: tuple[int, ...]
    """The job of each operation; the k-th entry i stands for the k-th operation of job i."""
    begin: tuple[float, ...]
    end: tuple[float, ...]
    completion: tuple[float, ...]
    """C_i of each job."""

    @property
    def makespan(self) -> float:
        """C_max (001 eq. II.4)."""
        return max(self.completion, default=0.0)


def schedule(jobs: Sequence[Job], order: Sequence[int]) -> ChainSchedule:
    """The schedule in which the link runs operations in this order and waits for the next one (001 Definition 1).

    Args:
        jobs: each a list of couples (seconds of work, seconds of I/O).
        order: job indices, one entry per operation of length above 0.

    Raises:
        InputError: if a job does not appear once for each of its operations.

    Example:
        >>> jobs = [[(1.0, 2.0), (1.0, 2.0)], [(2.0, 3.0)]]
        >>> schedule(jobs, [0, 1, 0]).makespan  # operations from 1 s, 3 s and 6 s
        8.0
    """
    known = chains(jobs)
    _refuse_order(known, order)
    done = [0] * len(known)
    date = [0.0] * len(known)  # when the last operation of each job was over
    free = 0.0
    begin, end = [], []
    for i in order:
        k = done[i]
        begin.append(max(free, date[i] + known[i].work[k]))
        free = date[i] = begin[-1] + known[i].io[k]
        end.append(free)
        done[i] += 1
    completion = [when + c.tail for when, c in zip(date, known, strict=True)]
    return ChainSchedule(tuple(order), tuple(begin), tuple(end), tuple(completion))


class Waiting(NamedTuple):
    """An operation that waits for the link."""

    job: int
    operation: int
    """Its place among those of the job that ask for the link, from 0."""
    posted: float
    """When it asked, in seconds."""
    left: float
    """Seconds of work and I/O that the job has left, this operation included."""


Key: TypeAlias = Callable[[Waiting], float]
"""The key of a list schedule: lowest first, then the earlier posting, then the lower index."""


def list_schedule(jobs: Sequence[Job], key: str | Key) -> ChainSchedule:
    """The schedule in which the link, whenever it is free, runs the first of the waiting operations by a key (001 §II.C.1).

    It takes at most twice as long as the best schedule, whatever the key (Theorem 3). Dates compare to the nanosecond. Time
    N·m for N operations of m jobs.

    Args:
        jobs: each a list of couples (seconds of work, seconds of I/O).
        key: "fifo", "johnson", "most-remain" (001 §II.D.1), or a function of a waiting operation, lowest first.

    Raises:
        InputError: if the key is unknown.
    """
    known = chains(jobs)
    rank = _key(jobs, key)
    pending = {i: Waiting(i, 0, c.work[0], c.seconds - c.work[0]) for i, c in enumerate(known) if c.io}
    order, free = [], 0.0
    while pending:
        free = max(free, min(waiting.posted for waiting in pending.values()))
        there = [waiting for waiting in pending.values() if waiting.posted <= free + MOMENT]
        i, k, posted, left = min(there, key=lambda waiting: (rank(waiting), _grains(waiting.posted), waiting.job))
        order.append(i)
        free = max(free, posted) + known[i].io[k]
        if k + 1 < known[i].operations:
            work = known[i].work[k + 1]
            pending[i] = Waiting(i, k + 1, free + work, left - known[i].io[k] - work)
        else:
            del pending[i]
    return schedule(jobs, order)


def _fifo(_: Sequence[Job]) -> Key:
    return lambda waiting: _grains(waiting.posted)


def _johnson(jobs: Sequence[Job]) -> Key:
    known = numbers(jobs)
    rank = johnson_rank(known.work, known.io).tolist()
    return lambda waiting: float(rank[waiting.job])


def _most_remain(_: Sequence[Job]) -> Key:
    return lambda waiting: -_grains(waiting.left)


KEYS: Final[Mapping[str, Callable[[Sequence[Job]], Key]]] = {
    "fifo": _fifo,
    "johnson": _johnson,
    "most-remain": _most_remain,
}
"""The list schedules of 001 §II.D.1."""


def _key(jobs: Sequence[Job], key: str | Key) -> Key:
    if not isinstance(key, str):
        return key
    if key not in KEYS:
        raise InputError("key", f"{key!r} is unknown; expected one of {', '.join(KEYS)}, or a function")
    return KEYS[key](jobs)


def _grains(seconds: float) -> float:
    return float(round(seconds * TIME_GRAIN))


def _refuse_order(known: Sequence[Chain], order: Sequence[int]) -> None:
    counts = [0] * len(known)
    for place, i in enumerate(order):
        if not 0 <= i < len(known):
            raise InputError(f"order[{place}]", f"there is no job {i}; expected 0 … {len(known) - 1}")
        counts[i] += 1
    for i, (count, c) in enumerate(zip(counts, known, strict=True)):
        if count != c.operations:
            raise InputError("order", f"job {i} appears {count} times; expected {c.operations}, once an operation")


def hierarchical_round_robin(jobs: Sequence[Job]) -> list[int]:
    """The order of Algorithm 1 for any jobs: job indices, one entry per operation."""
    known = numbers(jobs)
    return static_orders.hierarchical_round_robin(known.operations, known.work)


def periodic(jobs: Sequence[Job], by: str) -> list[int]:
    """An order with one operation per period of every unfinished job.

    Args:
        jobs: couples of work and I/O, in seconds, of each job.
        by: the order in each period: "fifo", "johnson" or "most-remain".

    Returns:
        The index of the job of each operation.
    """
    known = numbers(jobs)
    return static_orders.periodic(known.operations, known.work, known.io, by, known.first_work)


def block_sizes(order: Sequence[int], leader: int) -> list[int]:
    """|𝔹_k|: how many operations of the `order` each block of J_1 = `leader` has; those after its last one are in none."""
    places = [place for place, i in enumerate(order) if i == leader]
    return [place - before for before, place in zip([-1, *places[:-1]], places, strict=True)]


def block_cost(work: float, io: float, sizes: Sequence[int]) -> float:
    """The cost of blocks of uniform jobs, in seconds (Definition 5): no order with such blocks has a shorter makespan.

    The first block takes a + |𝔹_1|·b, any other max(a + b, |𝔹_k|·b).

    Args:
        work: a in seconds.
        io: b in seconds.
        sizes: |𝔹_k| of each block.
    """
    if not sizes:
        return 0.0
    return work + sizes[0] * io + sum(max(work + io, size * io) for size in sizes[1:])


def uniform_makespan(work: float, io: float, operations: Sequence[int]) -> float:
    """The makespan of hierarchical round-robin for uniform jobs, in seconds: the optimum (001 §II.D.3).

    l jobs have the most operations, n. Their first ones make the first block; all others are spread evenly over n − 1
    blocks, of which r have q + 1 operations and the others q. For n = 1 the first block is all there is: a + l·b.

    Args:
        work: a, seconds of work before each operation.
        io: b, seconds of each operation.
        operations: n_i of each job.
    """
    longest = max(operations, default=0)
    if longest == 0:
        return 0.0
    leaders = sum(1 for count in operations if count == longest)
    makespan = work + leaders * io
    if longest > 1:
        q, r = divmod(sum(operations) - leaders, longest - 1)
        makespan += (longest - 1 - r) * max(work + io, q * io) + r * max(work + io, (q + 1) * io)
    return makespan
