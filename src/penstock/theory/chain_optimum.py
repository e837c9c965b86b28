"""The smallest makespan of a few bi-colored chains, by branch and bound over the orders (001 Definition 2, MS-HPC-IO).

The problem is NP-complete (Theorem 1). A node is the beginning of an order. All that counts of it are the operations left
and, for each job, when the next one is ready: not before the link is free. So

* jobs with the same operations left are alike, and of these the one that is ready first goes first: another one that went
  before it could change roles with it;
* of two nodes with the same operations left, one that is ready no later anywhere and has no higher bound replaces the other;
* an operation never comes next if another one could be over when it begins: that one can go before it at no cost.

The bound is that of one machine: each operation has a *head*, the earliest date at which it can begin, and a *tail*, what
its job has still to do after it; served by the longest tail, with preemption, they end no later than in any schedule
(Jackson 1955). Nodes are made level by level, one operation longer at a time. A makespan must be better by more than
IMPROVEMENT.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from heapq import heappop, heappush
from typing import Final, NamedTuple

from penstock.model import InputError
from penstock.numeric.tolerances import IMPROVEMENT
from penstock.policies.static_orders import PERIODIC_ORDERS
from penstock.theory.chains import (
    KEYS,
    Chain,
    ChainSchedule,
    Job,
    chains,
    hierarchical_round_robin,
    list_schedule,
    periodic,
    schedule,
)

MOST_OPERATIONS: Final = 64
"""The largest number of operations of all jobs."""
MOST_NODES: Final = 20_000
"""The largest number of nodes that a search keeps, for about half a minute; 5 jobs of 4 operations seldom need 1,000."""


def optimal_schedule(jobs: Sequence[Job]) -> ChainSchedule:
    """A schedule of the smallest makespan, for a few short jobs (001 Definition 2).

    At worst there are as many nodes as orders, the multinomial coefficient of the n_i.

    Args:
        jobs: each a list of couples (seconds of work, seconds of I/O).

    Raises:
        InputError: if the jobs have too many operations, or the search keeps too many nodes.

    Example:
        >>> optimal_schedule([[(0.0, 2.0)], [(1.0, 1.0), (3.0, 0.0)]]).makespan  # the link waits 1 s for the second job
        5.0
    """
    known = chains(jobs)
    operations = sum(c.operations for c in known)
    if operations > MOST_OPERATIONS:
        raise InputError("jobs", f"they have {operations} operations; expected at most {MOST_OPERATIONS} for an optimum")
    best = min(_candidates(jobs), key=lambda candidate: candidate.makespan)
    order = _Search(known).order_below(best.makespan)
    return best if order is None else schedule(jobs, order)


def optimal_makespan(jobs: Sequence[Job]) -> float:
    """The smallest makespan of the `jobs`, in seconds."""
    return optimal_schedule(jobs).makespan


def _candidates(jobs: Sequence[Job]) -> Iterator[ChainSchedule]:
    """Good schedules to start from."""
    for key in KEYS:
        yield list_schedule(jobs, key)
    yield schedule(jobs, hierarchical_round_robin(jobs))
    for by in PERIODIC_ORDERS:
        yield schedule(jobs, periodic(jobs, by))


class _Rest(NamedTuple):
    """What is left of a job whose next operation waits for the link; durations in seconds."""

    io: float
    """Of the next operation."""
    gap: float
    """Work after it: to the following operation, or to the end."""
    after: int
    """Number of what is left then; −1 if no operation is."""
    seconds: float
    """All work and I/O from the beginning of the next operation."""
    operations: tuple[tuple[float, float, float], ...]
    """Of each operation: seconds from the beginning of the next one to its own, its length, and its tail."""


class _Node(NamedTuple):
    """The beginning of an order."""

    rests: tuple[int, ...]
    """Number of what is left of each job with operations left, lowest first."""
    ready: tuple[float, ...]
    """When the next operation of each can begin; of the same rests, the first one first."""
    bound: float
    """The makespan is no less, whatever comes after."""
    before: _Node | None
    """The beginning without its last operation."""
    chosen: int
    """What was left there of the job whose operation is the last."""


class _Search:
    """The search for an order with a makespan below a given one."""

    def __init__(self, known: Sequence[Chain]) -> None:
        self.known = known
        self.kept = 0
        self.rests: list[_Rest] = []
        self.number: dict[tuple[tuple[float, ...], tuple[float, ...], float], int] = {}
        self.first = [self._rest(c, 0) for c in known]

    def _rest(self, c: Chain, k: int) -> int:
        """The number of what is left of the chain from its operation k; −1 if none is left."""
        if k == c.operations:
            return -1
        what = (c.io[k:], c.work[k + 1 :], c.tail)
        if what not in self.number:
            after = self._rest(c, k + 1)
            gap = c.tail if after < 0 else c.work[k + 1]
            step = c.io[k] + gap
            later = [] if after < 0 else [(step + offset, io, tail) for offset, io, tail in self.rests[after].operations]
            seconds = step if after < 0 else step + self.rests[after].seconds
            self.rests.append(_Rest(c.io[k], gap, after, seconds, ((0.0, c.io[k], seconds - c.io[k]), *later)))
            self.number[what] = len(self.rests) - 1
        return self.number[what]

    def order_below(self, makespan: float) -> list[int] | None:
        """The best order, if it is better than the makespan."""
        state = sorted((rest, c.work[0]) for rest, c in zip(self.first, self.known, strict=True) if rest >= 0)
        without = max((c.tail for c in self.known if not c.io), default=0.0)
        level = [_node(state, without, None, -1)]
        while level and level[0].rests:
            level = self._next_level(level, makespan * (1.0 - IMPROVEMENT))
        best = min(level, key=lambda node: node.bound, default=None)
        return None if best is None or best.bound >= makespan * (1.0 - IMPROVEMENT) else self._order(best)

    def _next_level(self, level: Sequence[_Node], below: float) -> list[_Node]:
        """The nodes with one operation more that may lead below the makespan, without those that others replace."""
        fronts: dict[tuple[int, ...], list[_Node]] = {}
        for node in level:
            for child in self._children(node, below):
                front = fronts.setdefault(child.rests, [])
                if not any(_replaces(other, child) for other in front):
                    front[:] = [other for other in front if not _replaces(child, other)]
                    front.append(child)
                    self._count()
        return [node for front in fronts.values() for node in front]

    def _count(self) -> None:
        self.kept += 1
        if self.kept > MOST_NODES:
            message = f"the search for the optimum keeps over {MOST_NODES:,} beginnings of orders"
            raise InputError("jobs", f"{message}; expected fewer or shorter jobs")

    def _children(self, node: _Node, below: float) -> Iterator[_Node]:
        jobs = list(zip(node.rests, node.ready, strict=True))
        over = min(ready + self.rests[rest].io for rest, ready in jobs)
        for place, (number, ready) in enumerate(jobs):
            if ready >= over or (place > 0 and node.rests[place - 1] == number):
                continue
            rest = self.rests[number]
            free = ready + rest.io
            state = [(other, max(when, free)) for other, when in jobs[:place] + jobs[place + 1 :]]
            bound = node.bound
            if rest.after >= 0:
                state.append((rest.after, free + rest.gap))
            else:
                bound = max(bound, free + rest.gap)
            bound = max(bound, self._bound(state, below))
            if bound < below:
                yield _node(sorted(state), bound, node, number)

    def _bound(self, state: Sequence[tuple[int, float]], enough: float) -> float:
        """The least makespan of what is left, or a lower bound that is `enough`."""
        alone = max((ready + self.rests[rest].seconds for rest, ready in state), default=0.0)
        if alone >= enough:
            return alone
        heads = [(ready + offset, io, tail) for rest, ready in state for offset, io, tail in self.rests[rest].operations]
        return max(alone, _one_machine(heads))

    def _order(self, node: _Node) -> list[int]:
        """The jobs in the order of the node."""
        chosen = []
        while node.before is not None:
            chosen.append(node.chosen)
            node = node.before
        left, order = list(self.first), []
        ready = [c.work[0] if c.io else 0.0 for c in self.known]
        for number in reversed(chosen):
            i = min((i for i in range(len(left)) if left[i] == number), key=lambda i: ready[i])
            free = ready[i] + self.rests[number].io
            order.append(i)
            left[i], ready[i] = self.rests[number].after, free + self.rests[number].gap
            ready = [max(when, free) for when in ready]
        return order


def _node(state: Sequence[tuple[int, float]], bound: float, before: _Node | None, chosen: int) -> _Node:
    return _Node(tuple(rest for rest, _ in state), tuple(ready for _, ready in state), bound, before, chosen)


def _replaces(one: _Node, other: _Node) -> bool:
    return one.bound <= other.bound and all(a <= b for a, b in zip(one.ready, other.ready, strict=True))


def _one_machine(operations: list[tuple[float, float, float]]) -> float:
    """The makespan of (head, length, tail) on one machine with preemption, the longest tail first. Time n log n."""
    operations.sort()
    makespan, now = 0.0, 0.0
    queue: list[list[float]] = []
    for index, (head, length, tail) in enumerate(operations):
        now = max(now, head)
        heappush(queue, [-tail, length])
        until = operations[index + 1][0] if index + 1 < len(operations) else math.inf
        while queue and now < until:
            minus_tail, left = queue[0]
            if now + left > until:
                queue[0][1] = left - (until - now)
                now = until
            else:
                now += left
                makespan = max(makespan, now - minus_tail)
                heappop(queue)
    return makespan


class _Partial(NamedTuple):
    """The beginning of an order, where the largest stretch counts."""

    ready: tuple[float, ...]
    """When the next operation of each job can begin, and where none is left, when the job ends."""
    bound: float
    """The largest stretch is no less, whatever comes after."""
    order: tuple[int, ...]


def least_max_stretch(jobs: Sequence[Job]) -> tuple[float, ChainSchedule]:
    """The smallest possible largest stretch max C_i / C_i^min of a few short jobs, and a schedule that has it (001 §III.B.3,
    ρ-HPC-IO on one I/O node).

    Beginnings of orders are made level by level. Of two with the same operations done, one that is ready no later anywhere
    and has no higher bound replaces the other. At worst there are as many as orders.

    Args:
        jobs: each a list of couples (seconds of work, seconds of I/O).

    Raises:
        InputError: if the jobs have too many operations, or the search keeps too many beginnings.

    Example:
        >>> value, schedule = least_max_stretch([[(0.0, 1.0)], [(0.0, 4.0)]])
        >>> value, schedule.order  # the short job first: 1 and 5 / 4, not 5 and 1
        (1.25, (0, 1))
    """
    known = chains(jobs)
    alone = [c.seconds or 1.0 for c in known]
    operations = sum(c.operations for c in known)
    if operations > MOST_OPERATIONS:
        raise InputError("jobs", f"they have {operations} operations; expected at most {MOST_OPERATIONS} for an optimum")
    best = min(_candidates(jobs), key=lambda found: max_stretch(found, alone))
    value = max_stretch(best, alone)
    starts = tuple(c.work[0] if c.io else c.tail for c in known)
    level = {(0,) * len(known): [_Partial(starts, 1.0, ())]}
    for _ in range(operations):
        level = _longer(known, alone, level, value * (1.0 - IMPROVEMENT))
    for partial in (one for front in level.values() for one in front if one.bound < value):
        value, best = partial.bound, schedule(jobs, partial.order)
    return value, best


def max_stretch(found: ChainSchedule, alone: Sequence[float]) -> float:
    """The largest stretch in the schedule `found` of jobs that take the seconds `alone` by themselves; 1 at least."""
    return max((end / seconds for end, seconds in zip(found.completion, alone, strict=True) if end > 0.0), default=1.0)


_Fronts = dict[tuple[int, ...], list[_Partial]]


def _longer(known: Sequence[Chain], alone: Sequence[float], level: _Fronts, below: float) -> _Fronts:
    """The beginnings with one operation more whose bound is below a value, without those that others replace."""
    fronts: _Fronts = {}
    for done, front in level.items():
        for partial in front:
            for i in _next_ones(known, done, partial.ready):
                counts = (*done[:i], done[i] + 1, *done[i + 1 :])
                child = _with(known, alone, counts, partial, i)
                others = fronts.setdefault(counts, [])
                if child.bound < below and not any(_no_worse(one, child) for one in others):
                    others[:] = [*(one for one in others if not _no_worse(child, one)), child]
    if sum(map(len, fronts.values())) > MOST_NODES:
        message = f"the search for the optimum keeps over {MOST_NODES:,} beginnings of orders"
        raise InputError("jobs", f"{message}; expected fewer or shorter jobs")
    return fronts


def _next_ones(known: Sequence[Chain], done: Sequence[int], ready: Sequence[float]) -> list[int]:
    """The jobs that may come next: not one whose operation could begin only when another one is over."""
    left = [i for i, c in enumerate(known) if done[i] < c.operations]
    over = min(ready[i] + known[i].io[done[i]] for i in left)
    return [i for i in left if ready[i] < over]


def _with(known: Sequence[Chain], alone: Sequence[float], counts: Sequence[int], before: _Partial, i: int) -> _Partial:
    """The beginning `before` with the next operation of job i, after which so many of each are done."""
    ready = list(before.ready)
    free = ready[i] + known[i].io[counts[i] - 1]
    ready[i] = free + (known[i].work[counts[i]] if counts[i] < known[i].operations else known[i].tail)
    bound = before.bound
    for j, c in enumerate(known):
        if counts[j] < c.operations:
            ready[j] = max(ready[j], free)
        left = (
            math.fsum(c.io[counts[j] :]) + math.fsum(c.work[counts[j] + 1 :]) + (c.tail if counts[j] < c.operations else 0.0)
        )
        bound = max(bound, (ready[j] + left) / alone[j])
    return _Partial(tuple(ready), bound, (*before.order, i))


def _no_worse(one: _Partial, other: _Partial) -> bool:
    return one.bound <= other.bound and all(a <= b for a, b in zip(one.ready, other.ready, strict=True))
