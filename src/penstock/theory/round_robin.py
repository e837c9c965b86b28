"""Hierarchical round-robin and periodic orders of bi-colored chains (001 §II.B.2, §II.C.2, §II.D.1).

Hierarchical round-robin is optimal for *uniform* jobs, in which all work lasts a and all I/O b seconds (Theorem 2), and at
most 1 + 1/n times the optimum for periodic jobs of n operations each (Theorem 4, which holds for any fixed order of the jobs
in a period and is tight where the longest work comes first; here it comes last). A *block* of an order is what the link runs
after an operation of J_1, a job with the most operations, up to and with the next one (Definition 4).
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.policies import static_orders
from penstock.theory.bicolored import Job, numbers


def hierarchical_round_robin(jobs: Sequence[Job]) -> list[int]:
    """The order of Algorithm 1 for any jobs: job indices, one entry an operation."""
    known = numbers(jobs)
    return static_orders.hierarchical_round_robin(known.operations, known.work)


def periodic(jobs: Sequence[Job], by: str) -> list[int]:
    """In each period one operation of every job not finished, by "fifo", "johnson" or "most-remain": job indices."""
    known = numbers(jobs)
    return static_orders.periodic(known.operations, known.work, known.io, by, known.first_work)


def block_sizes(order: Sequence[int], leader: int) -> list[int]:
    """|𝔹_k|: how many operations each block of J_1 = `leader` has; what comes after its last operation is in none."""
    places = [place for place, i in enumerate(order) if i == leader]
    return [place - before for before, place in zip([-1, *places[:-1]], places, strict=True)]


def block_cost(work: float, io: float, sizes: Sequence[int]) -> float:
    """The cost of blocks of uniform jobs, in seconds (Definition 5): no order with such blocks has a shorter makespan.

    The first takes a + |𝔹_1|·b, any other max(a + b, |𝔹_k|·b).
    """
    if not sizes:
        return 0.0
    return work + sizes[0] * io + sum(max(work + io, size * io) for size in sizes[1:])


def uniform_makespan(work: float, io: float, operations: Sequence[int]) -> float:
    """The makespan of hierarchical round-robin for uniform jobs of n_i `operations`, in seconds: the optimum (001 §II.D.3).

    l jobs have the most operations, n. Their first ones make the first block; all others are spread evenly over n − 1
    blocks, of which r have q + 1 operations and the others q. For n = 1 the first block is all there is: a + l·b.
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
