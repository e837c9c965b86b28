"""Exclusive, non-preemptive access: one application at a time has the link, to the end of its operation (001 §II.A.3).

When the link becomes free, the first waiting application in an order gets it, at its cap (readings: volume / min(cap, B)).
The orders are those of 001 §II.D.1 and §III.C.1. All take time n.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.model import Workload
from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import step
from penstock.numeric.tolerances import YIELD_GRAIN
from penstock.policies.order import ServiceOrder, keep_holder, nominal, rounded_time, serve_first
from penstock.policies.policy import EXCLUSIVE, HOLD, Need, Order, Policy
from penstock.policies.static_orders import johnson_rank
from penstock.policies.view import KeyFunction, RatesFunction, View


@step
def earliest(view: View, i: int) -> float:
    """R_i of application i of `view`, in nanoseconds."""
    return rounded_time(view.posted[i])


def fifo(view: View, rates: Floats) -> None:
    """Serve the earliest posted operation of `view` alone; writes its rate to `rates`, in bytes/s."""
    if not keep_holder(view, rates):
        for i in range(len(rates)):
            view.scratch[i] = earliest(view, i)
        serve_first(view, view.scratch, rates)


@step
def listed(view: View, i: int) -> float:
    """The position in the workload of application i of `view`."""
    return float(view.application[i])


def lowest_id(view: View, rates: Floats) -> None:
    """Serve the application of `view` that is listed first in the workload; writes its rate to `rates`, in bytes/s."""
    if not keep_holder(view, rates):
        for i in range(len(rates)):
            view.scratch[i] = listed(view, i)
        serve_first(view, view.scratch, rates)


@step
def longest(view: View, i: int) -> float:
    """How long the operation of application i of `view` lasts, in nanoseconds below 0."""
    return -rounded_time(view.volume[i] / view.cap[i])


def longest_io(view: View, rates: Floats) -> None:
    """Serve the operation of `view` that lasts longest; writes its rate to `rates`, in bytes/s."""
    if not keep_holder(view, rates):
        for i in range(len(rates)):
            view.scratch[i] = longest(view, i)
        serve_first(view, view.scratch, rates)


@step
def shortest(view: View, i: int) -> float:
    """How long the operation of application i of `view` lasts, in nanoseconds."""
    return rounded_time(view.volume[i] / view.cap[i])


def shortest_io(view: View, rates: Floats) -> None:
    """Serve the operation of `view` that lasts shortest; writes its rate to `rates`, in bytes/s."""
    if not keep_holder(view, rates):
        for i in range(len(rates)):
            view.scratch[i] = shortest(view, i)
        serve_first(view, view.scratch, rates)


@step
def least_left(view: View, i: int) -> float:
    """Work and I/O left at full bandwidth of application i of `view`, in nanoseconds."""
    return rounded_time(view.whole[i] - view.progress[i])


def shortest_remaining(view: View, rates: Floats) -> None:
    """Serve the application of `view` with the least work and I/O left at full bandwidth, the pending operation included.

    It writes its rate to `rates`, in bytes/s.
    """
    if not keep_holder(view, rates):
        for i in range(len(rates)):
            view.scratch[i] = least_left(view, i)
        serve_first(view, view.scratch, rates)


@step
def most_left(view: View, i: int) -> float:
    """Work and I/O left at full bandwidth of application i of `view`, in nanoseconds below 0."""
    return -rounded_time(view.whole[i] - view.progress[i])


def longest_remaining(view: View, rates: Floats) -> None:
    """Serve the application of `view` with the most work and I/O left; writes its rate to `rates`, in bytes/s."""
    if not keep_holder(view, rates):
        for i in range(len(rates)):
            view.scratch[i] = most_left(view, i)
        serve_first(view, view.scratch, rates)


def bandwidth_oriented(view: View, rates: Floats) -> None:
    """Serve the application of `view` with the lowest ratio of transfer time to time since its start.

    Transfer time does not include waiting. The ratio is 0 at the start. The rate goes to `rates`, in bytes/s.
    """
    if not keep_holder(view, rates):
        for i in range(len(rates)):
            elapsed = view.now - view.release[i]
            view.scratch[i] = np.rint(view.transferring[i] / elapsed * YIELD_GRAIN) if elapsed > 0.0 else 0.0
        serve_first(view, view.scratch, rates)


def stretch_oriented(view: View, rates: Floats) -> None:
    """Serve the application of `view` with the largest stretch: time since its start over work and transfers done.

    The stretch is 1 at the start, and infinite if nothing is done. The rate goes to `rates`, in bytes/s.
    """
    if not keep_holder(view, rates):
        for i in range(len(rates)):
            elapsed = view.now - view.release[i]
            stretch = 1.0
            if elapsed > 0.0:
                stretch = elapsed / view.progress[i] if view.progress[i] > 0.0 else np.inf
            view.scratch[i] = -np.rint(stretch * YIELD_GRAIN)
        serve_first(view, view.scratch, rates)


@step
def ranked(view: View, i: int) -> float:
    """The place of application i of `view` in Johnson's order."""
    return float(view.rank[i])


def johnson(view: View, rates: Floats) -> None:
    """Serve the application of `view` that comes first in Johnson's order; writes its rate to `rates`, in bytes/s.

    The order is that of the nominal couples of work and I/O (001 Definition 9).
    """
    if not keep_holder(view, rates):
        for i in range(len(rates)):
            view.scratch[i] = ranked(view, i)
        serve_first(view, view.scratch, rates)


def _by_johnson(workload: Workload) -> ServiceOrder:
    known = nominal(workload)
    return ServiceOrder(rank=johnson_rank(known.work, known.io).astype(np.float64))


def _exclusive(
    name: str,
    rates: RatesFunction,
    key: KeyFunction | None,
    summary: str,
    *needs: Need,
    reference: str = "001 §III.C.1",
) -> Policy:
    return Policy(
        name=name,
        rates=rates,
        summary=f"one at a time: {summary}",
        needs=(Need.HOLDER, *needs),
        reference=reference,
        idles=True,
        family=EXCLUSIVE,
        order=Order(key, HOLD) if key is not None else None,
    )


FIFO = _exclusive("fifo", fifo, earliest, "the earliest posted", Need.POSTING)
LOWEST_ID = _exclusive("lowest-id", lowest_id, listed, "the one listed first")
LONGEST_IO = _exclusive("longest-io", longest_io, longest, "the longest operation", Need.VOLUME)
SHORTEST_IO = _exclusive("shortest-io", shortest_io, shortest, "the shortest operation", Need.VOLUME)
SHORTEST_REMAINING = _exclusive("shortest-remaining", shortest_remaining, least_left, "the least left to do", Need.REMAINING)
LONGEST_REMAINING = _exclusive("longest-remaining", longest_remaining, most_left, "the most left to do", Need.REMAINING)
BANDWIDTH_ORIENTED = _exclusive("bandwidth-oriented", bandwidth_oriented, None, "the least transfer time", Need.TRANSFER)
STRETCH_ORIENTED = _exclusive("stretch-oriented", stretch_oriented, None, "the largest stretch", Need.PROGRESS)
JOHNSON = replace(
    _exclusive("johnson", johnson, ranked, "Johnson's order", Need.NOMINAL, reference="001 §II.D.1"), planner=_by_johnson
)
