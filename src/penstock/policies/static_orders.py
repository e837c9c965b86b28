"""Static orders: the sequence of all I/O operations is fixed at the start (001 §II.B.2, §II.C.2, §II.D.1).

The link serves the operations in this sequence. If the next one is not posted yet, the link waits for it. A static order
therefore needs all applications at the start, and knows all their operations beforehand, by nominal values
(`penstock.policies.order`). The run then takes as long as the phases really last.

Jobs are given by arrays with one entry per job: `operations` n_i, and the mean seconds of `work` a_i and of `io` b_i at
full bandwidth of an operation. An order is a sequence of job indices with one entry per operation: the k-th entry i stands
for the k-th operation of job i, B_{i,k}. Jobs without operations do not appear.

Seconds compare rounded to nanoseconds (`TIME_GRAIN`), because a mean of equal numbers need not equal them in the last
bit. Ties go to the lower index. All orders take time N log N for N operations.

The first part of the module makes the orders, the second part makes policies of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.tolerances import TIME_GRAIN
from penstock.policies.order import Nominal, Planner, ServiceOrder, in_sequence, nominal
from penstock.policies.policy import STATIC, Need, Policy
from penstock.policies.view import View

PERIODIC_ORDERS: Final = ("fifo", "johnson", "most-remain")
"""What the jobs of a period can be ordered by."""


def hierarchical_round_robin(operations: ArrayLike, work: ArrayLike) -> list[int]:
    """The order of Algorithm 1, optimal for uniform jobs (001 §II.B.2, Theorem 2).

    Jobs are sorted by n_i descending, then mean work descending, then index; the first is J_1. There is a stack for each of
    its operations: S_0, …, S_{n_1−1}. A job of n_1 operations puts one on every stack. A shorter job puts its operations, in
    increasing stack number, on the next n_i of S_1, …, S_{n_1−1}, cyclically from where the job before it stopped. Stacks
    run one after the other, each from the top, so that the operation of J_1 is the last of its stack.

    Args:
        operations: n_i of each job.
        work: mean seconds of work of each job.

    Returns:
        Job indices, one entry per operation.

    Example:
        >>> hierarchical_round_robin([3, 1, 1], [5.0, 5.0, 5.0])
        [0, 1, 0, 2, 0]
    """
    counts = np.asarray(operations, np.int64)
    jobs = np.lexsort((-_grains(work), -counts))
    jobs = jobs[counts[jobs] > 0]
    longest = int(counts.max(initial=0))
    stacks: list[Ints] = []
    following = 0  # the next operation of a shorter job goes on S_{1 + following}
    for count in counts[jobs].tolist():
        if count == longest:
            stacks.append(np.arange(longest))
        else:
            stacks.append(1 + (following + np.arange(count)) % (longest - 1))
            following = (following + count) % (longest - 1)
    return _sequence(jobs, stacks, -np.arange(len(jobs)))


def periodic(
    operations: ArrayLike, work: ArrayLike, io: ArrayLike, by: str, first_work: ArrayLike | None = None
) -> list[int]:
    """The order of a periodic algorithm: each period has one operation of every unfinished job (001 §II.D.1).

    Args:
        operations: n_i of each job.
        work: mean seconds of work of each job.
        io: mean seconds of I/O of each job.
        by: the order inside all periods: "fifo" by the first request, "johnson" by `johnson_rank`, or "most-remain" by the
            most work and I/O in all.
        first_work: seconds to the first request of each job; `work` if not given.

    Returns:
        Job indices, one entry per operation.

    Raises:
        InputError: if `by` is unknown.
    """
    counts = np.asarray(operations, np.int64)
    if by == "fifo":
        rank = _rank(_grains(work if first_work is None else first_work))
    elif by == "johnson":
        rank = johnson_rank(work, io)
    elif by == "most-remain":
        rank = _rank(-_grains(counts * (np.asarray(work, np.float64) + np.asarray(io, np.float64))))
    else:
        raise InputError("periodic order", f"{by!r} is unknown; expected one of {', '.join(PERIODIC_ORDERS)}")
    return _sequence(np.arange(len(counts)), [np.arange(count) for count in counts.tolist()], rank)


def johnson_rank(work: ArrayLike, io: ArrayLike) -> Ints:
    """The rank of each job, from 0, in Johnson's order of the couples (a_i, b_i) (001 Definition 9).

    First come the couples with a_i ≤ b_i, a_i ascending; then those with a_i > b_i, b_i descending. Jobs that the order does
    not tell apart have the same rank.

    Args:
        work: a_i, seconds of work of each job.
        io: b_i, seconds of its I/O at full bandwidth.

    Example:
        >>> johnson_rank([3.0, 1.0, 4.0], [2.0, 2.0, 3.0]).tolist()
        [2, 0, 1]
    """
    a, b = _grains(work), _grains(io)
    couples = np.column_stack([a > b, np.where(a <= b, a, -b)])
    rank: Ints = np.unique(couples, axis=0, return_inverse=True)[1].reshape(len(couples))
    return rank


def _grains(seconds: ArrayLike) -> Floats:
    """The seconds as they are compared."""
    return np.rint(np.asarray(seconds, np.float64) * TIME_GRAIN)


def _rank(*keys: NDArray[Any]) -> Ints:
    """The place of each job in the order of the keys, of which the last weighs most; ties go to the lower index."""
    order = np.lexsort(keys)
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank


def _sequence(jobs: Ints, rounds: list[Ints], place: Ints) -> list[int]:
    """The order in which each job has one operation in each of its rounds; within a round the lowest place comes first."""
    if len(jobs) == 0:
        return []
    counts = [len(numbers) for numbers in rounds]
    order = np.lexsort((np.repeat(place, counts), np.concatenate(rounds)))
    sequence: list[int] = np.repeat(jobs, counts)[order].tolist()
    return sequence


def in_turn(view: View, rates: Floats) -> None:
    """Serve the operation of `view` whose turn it is at its cap, if it is posted; else nobody. Time n.

    It writes `rates` in bytes/s.
    """
    for i in range(len(rates)):
        rates[i] = view.cap[i] if view.turn[i] == view.completed else 0.0


def _planner(name: str, order: Callable[[Nominal], Sequence[int]]) -> Planner:
    def plan(workload: Workload) -> ServiceOrder:
        for index, application in enumerate(workload.applications):
            if application.release > workload.begin:
                message = f"is released after the start, at {application.release} s; a fixed order needs all at the start"
                raise InputError(f"policy {name}", f"applications[{index}] {message}")
        return in_sequence(workload, order(nominal(workload)))

    return plan


def _static(name: str, summary: str, reference: str, order: Callable[[Nominal], Sequence[int]]) -> Policy:
    return Policy(
        name=name,
        rates=in_turn,
        summary=f"in a fixed order: {summary}",
        needs=(Need.COUNTS,),
        reference=reference,
        idles=True,
        family=STATIC,
        planner=_planner(name, order),
    )


HIERARCHICAL_ROUND_ROBIN = _static(
    "hierarchical-round-robin",
    "around the application with the most operations",
    "001 §II.B.2",
    lambda known: hierarchical_round_robin(known.operations, known.work),
)
PERIODIC_FIFO = _static(
    "periodic-fifo",
    "everyone in turn, the first to ask first",
    "001 §II.D.1",
    lambda known: periodic(known.operations, known.work, known.io, "fifo", known.first_work),
)
PERIODIC_JOHNSON = _static(
    "periodic-johnson",
    "everyone in turn, in Johnson's order",
    "001 §II.D.1",
    lambda known: periodic(known.operations, known.work, known.io, "johnson"),
)
PERIODIC_MOST_REMAIN = _static(
    "periodic-most-remain",
    "everyone in turn, the longest first",
    "001 §II.D.1",
    lambda known: periodic(known.operations, known.work, known.io, "most-remain"),
)
