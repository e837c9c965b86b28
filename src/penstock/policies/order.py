"""Total orders of the active applications, and how the link is filled: in such an order (000 §4.1), or by weights.

Applications are ordered by a key, lowest first. Ties go to the earlier posting, then to the lower index. Yields compare in
steps of 1 / YIELD_GRAIN and times in nanoseconds, so that rounding errors decide nothing and independent implementations
agree.

A policy may also plan an order before a run, of applications or of all their operations. A planner gets the workload and
returns a `ServiceOrder`. It knows of an application i only its nominal values (`Nominal`): the number of operations n_i
and, for one iteration, the work a_i and the I/O at full bandwidth b_i, in seconds. These are means over its chain, (total
work / n_i, total I/O / n_i), where the lead is work, too. An application may carry a nominal couple (work, volume) of an
iteration in place of what is in its chain. An operation of volume 0 is no iteration. Johnson's order and static orders use
nominal values, whatever the phases really last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from penstock.model import Application, Platform, Workload
from penstock.model.application import READ, WORK
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import step
from penstock.numeric.tolerances import TIME_GRAIN, YIELD_GRAIN
from penstock.policies.view import View

SHORT = 24
"""Up to this many applications are sorted by insertion, which takes 70 ns for 10; heapsort takes 150 ns."""


@step
def progressed(view: View, i: int) -> float:
    """P_i of application i of `view`, in seconds; sorts applications as their yields do if all have the same release."""
    return float(view.progress[i])


@step
def yield_now(view: View, i: int) -> float:
    """y_i(t) = progress / (t − τ_i) of application i of `view` (000 eq. 6); 1 at the instant of release."""
    elapsed = view.now - view.release[i]
    if elapsed <= 0.0:
        return 1.0
    return float(progressed(view, i) / elapsed)


@step
def rounded_yield(view: View, i: int) -> float:
    """The yield of application i of `view` as orders compare it, in steps of 1 / YIELD_GRAIN."""
    return float(np.rint(yield_now(view, i) * YIELD_GRAIN))


@step
def rounded_time(seconds: float) -> float:
    """A time of so many `seconds` as orders compare it, in nanoseconds."""
    return float(np.rint(seconds * TIME_GRAIN))


@step
def precedes(view: View, keys: Floats, i: int, j: int) -> bool:
    """Whether i comes before j in `view`: lower entry of `keys`, then earlier posting, then lower index."""
    if keys[i] != keys[j]:
        return bool(keys[i] < keys[j])
    return earlier(view, i, j)


@step
def earlier(view: View, i: int, j: int) -> bool:
    """Whether i posted before j in `view`, or at the same time with the lower index."""
    if view.posted[i] != view.posted[j]:
        return bool(view.posted[i] < view.posted[j])
    return bool(view.application[i] < view.application[j])


@step
def first(view: View, keys: Floats) -> int:
    """The application of `view` that comes first by its `keys`."""
    best = 0
    for i in range(1, len(keys)):
        if precedes(view, keys, i, best):
            best = i
    return best


@step
def _sift_down(view: View, keys: Floats, root: int, size: int) -> None:
    """Restore the heap in view.order, first in order on top, below `root`."""
    heap = view.order
    moved = heap[root]
    child = 2 * root + 1
    while child < size:
        if child + 1 < size and precedes(view, keys, heap[child + 1], heap[child]):
            child += 1
        if not precedes(view, keys, heap[child], moved):
            break
        heap[root] = heap[child]
        root = child
        child = 2 * root + 1
    heap[root] = moved


@step
def sort(view: View, keys: Floats) -> None:
    """Write all applications to view.order, lowest of the `keys` first. Heapsort, time n log n; few are inserted singly."""
    size = len(keys)
    if size <= SHORT:
        sort_few(view, keys)
        return
    for i in range(size):
        view.order[i] = i
    # The top of the heap is moved behind it, again and again: the result is in reverse order and is turned round below.
    root, last = size // 2, size
    while last > 1:
        if root > 0:  # the heap is being made
            root -= 1
        else:
            last -= 1
            view.order[0], view.order[last] = view.order[last], view.order[0]
        _sift_down(view, keys, root, last)
    for place in range(size // 2):
        view.order[place], view.order[size - 1 - place] = view.order[size - 1 - place], view.order[place]


@step
def sort_few(view: View, keys: Floats) -> None:
    """Do the same as `sort`, for the `keys` of `view`, by insertion only: time n², and half the time to compile."""
    for moved in range(len(keys)):
        place = moved
        while place > 0 and precedes(view, keys, moved, view.order[place - 1]):
            view.order[place] = view.order[place - 1]
            place -= 1
        view.order[place] = moved


@step
def serve_one(view: View, keys: Floats, rates: Floats) -> None:
    """Give the link to one application of `view` until its operation is complete, as `rates` in bytes/s. Time n.

    It is the one that holds the link, or else the first in the order of the `keys`.
    """
    if not keep_holder(view, rates):
        serve_first(view, keys, rates)


@step
def keep_holder(view: View, rates: Floats) -> bool:
    """Leave the link to the application of `view` that holds it, as `rates` in bytes/s.

    Returns:
        False if none holds it; then no rates are written.
    """
    for i in range(len(rates)):
        if view.rate[i] > 0.0:
            serve(view, i, rates)
            return True
    return False


@step
def serve_first(view: View, keys: Floats, rates: Floats) -> None:
    """Give the link to the application of `view` with the lowest of the `keys`, even if another holds it. Time n.

    It writes `rates` in bytes/s.
    """
    serve(view, first(view, keys), rates)


@step
def serve(view: View, served: int, rates: Floats) -> None:
    """Give the link to the application `served` of `view` alone, as `rates` in bytes/s."""
    for i in range(len(rates)):
        rates[i] = 0.0
    rates[served] = view.cap[served]


@step
def fill(view: View, keys: Floats, rates: Floats) -> None:
    """Give each application of `view` its cap in the order of the `keys`, until the link is full (000 §4.1, FCFS).

    It writes `rates` in bytes/s. Time n, and log n for each further application served: if the first can use the whole link,
    the others get nothing.
    """
    leader = first(view, keys)
    serve(view, leader, rates)
    left = view.bandwidth - view.cap[leader]
    if left > 0.0:
        fill_rest(view, keys, rates, left)


@step
def fill_rest(view: View, keys: Floats, rates: Floats, left: float) -> None:
    """Give the bandwidth `left`, in bytes/s, to the applications of `view` that have none, in the order of the `keys`.

    It writes `rates`. Time n for a heap, and log n for each application served. Searching for the first few one by one would
    be 10 ns faster for 10 applications, but take 1.5 times as long to compile.
    """
    size = len(rates)
    waiting = 0
    for i in range(size):
        if rates[i] == 0.0:
            view.order[waiting] = i
            waiting += 1
    root = waiting // 2
    while left > 0.0 and waiting > 0:
        if root > 0:  # the heap is being made
            root -= 1
        else:
            following = view.order[0]
            rates[following] = min(view.cap[following], left)
            left -= rates[following]
            waiting -= 1
            view.order[0] = view.order[waiting]
        _sift_down(view, keys, root, waiting)


@step
def fill_after(view: View, leader: int, rates: Floats) -> None:
    """Give the `leader` its cap and the rest to the others in the order of view.order, as `rates` in bytes/s."""
    serve(view, leader, rates)
    left = view.bandwidth - view.cap[leader]
    for i in view.order:
        if left <= 0.0:
            break
        if i != leader:
            rates[i] = min(view.cap[i], left)
            left -= rates[i]


@dataclass(frozen=True)
class ServiceOrder:
    """An order of applications or of operations, as a policy has planned it.

    Args:
        rank: for each application its place in the order.
        turns: for each phase of all applications, one after the other, the place of its operation; −1 without one.
    """

    rank: Floats | None = None
    turns: Ints | None = None


Planner: TypeAlias = Callable[[Workload], ServiceOrder]


def in_sequence(workload: Workload, sequence: Sequence[int]) -> ServiceOrder:
    """The order in which the operations of the `workload` run if applications take turns in this `sequence`.

    The sequence has the position of an application for each operation of volume above 0.
    """
    operations = [np.flatnonzero(application.phases.asks) for application in workload.applications]
    first = np.concatenate([[0], np.cumsum([len(application.phases) for application in workload.applications])])
    turns = np.full(int(first[-1]), -1, np.int64)
    places: list[list[int]] = [[] for _ in operations]
    for place, index in enumerate(sequence):
        places[index].append(place)
    for index, phases in enumerate(operations):
        turns[first[index] + phases] = places[index]
    return ServiceOrder(turns=turns)


@dataclass(frozen=True)
class Nominal:
    """What is known of the applications beforehand, one entry each.

    Args:
        operations: n_i, operations that ask for the link.
        work: a_i, seconds of work of an iteration, with its part of the lead.
        io: b_i, seconds of its I/O at full bandwidth.
        first_work: seconds of work before the first operation.
    """

    operations: Ints
    work: Floats
    io: Floats
    first_work: Floats


def nominal(workload: Workload) -> Nominal:
    """The nominal values of the applications of a workload."""
    couples = [_couple(application, workload.platform) for application in workload.applications]
    return Nominal(
        operations=np.array([application.phases.operations for application in workload.applications], np.int64),
        work=np.array([work for work, _ in couples]),
        io=np.array([io for _, io in couples]),
        first_work=np.array([application.lead + _first_work(application) for application in workload.applications]),
    )


def _couple(application: Application, platform: Platform) -> tuple[float, float]:
    """Seconds of work and of I/O alone of an iteration; reads and writes may have different bandwidths."""
    write = min(application.write_speed(platform), platform.write_limit)
    read = min(application.read_speed(platform), platform.read_limit)
    iterations = max(1, application.phases.operations)
    if application.nominal is not None:
        work, volume = application.nominal
        return work + application.lead / iterations, volume / write
    kinds, amounts = application.phases.kinds, application.phases.amounts
    volumes = (float(amounts[(kinds != WORK) & (kinds != READ)].sum()), float(amounts[kinds == READ].sum()))
    work = application.lead + float(amounts[kinds == WORK].sum())
    return work / iterations, (volumes[0] / write + volumes[1] / read) / iterations


def _first_work(application: Application) -> float:
    """Seconds of the chain before its first operation that asks for the link."""
    if application.nominal is not None:
        return application.nominal[0]
    kinds, amounts = application.phases.kinds, application.phases.amounts
    asks = np.flatnonzero(application.phases.asks)
    before = slice(0, int(asks[0]) if len(asks) else len(kinds))
    return float(amounts[before][kinds[before] == WORK].sum())


@step
def water_level(amount: float, caps: Floats, weights: Floats, order: Ints, begin: int, end: int, level: float) -> float:
    """The level at which the parts min(cap, level · weight) add up to the `amount`: weighted max-min fairness.

    If the amount is more than all can use, the level meets every cap. The level rises with each set of caps that turns out
    to be met. Time n for each set; there are two or three sets, n at worst.

    Args:
        amount: What is divided, in bytes/s.
        caps: The most of each member, in bytes/s.
        weights: Their weights.
        order: The members are those from place `begin` to before place `end`.
        begin: The first place.
        end: The place after the last one.
        level: A level that is known to be no higher: 0, or that of the same members and others.
    """
    met = -1
    while True:
        left, weight, count = amount, 0.0, 0
        for place in range(begin, end):
            i = order[place]
            if caps[i] <= level * weights[i]:
                left -= caps[i]
                count += 1
            else:
                weight += weights[i]
        if count == met or count == end - begin:
            return level
        met = count
        level = max(level, left / weight)
