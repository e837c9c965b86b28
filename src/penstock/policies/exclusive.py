"""Exclusive, non-preemptive access: one application at a time has the link, to the end of its operation (001 §II.A.3).

When the link falls free, the waiting application that comes first has it, at its cap (readings: volume / min(cap, B)). The
orders are those of 001 §II.D.1 and §III.C.1. All take time n.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from penstock.model import Workload
from penstock.policies.nominal import nominal
from penstock.policies.order import YIELD_GRAIN, rounded_time, serve_one
from penstock.policies.plan import Plan
from penstock.policies.policy import EXCLUSIVE, Need, Policy
from penstock.policies.static_orders import johnson_rank
from penstock.policies.view import Floats, RatesFunction, View


def fifo(view: View, rates: Floats) -> None:
    """The earliest posted operation."""
    for i in range(len(rates)):
        view.scratch[i] = rounded_time(view.posted[i])
    serve_one(view, view.scratch, rates)


def lowest_id(view: View, rates: Floats) -> None:
    """The application listed first in the workload."""
    for i in range(len(rates)):
        view.scratch[i] = float(view.application[i])
    serve_one(view, view.scratch, rates)


def longest_io(view: View, rates: Floats) -> None:
    """The operation that lasts longest."""
    for i in range(len(rates)):
        view.scratch[i] = -rounded_time(view.volume[i] / view.cap[i])
    serve_one(view, view.scratch, rates)


def shortest_io(view: View, rates: Floats) -> None:
    """The operation that lasts shortest."""
    for i in range(len(rates)):
        view.scratch[i] = rounded_time(view.volume[i] / view.cap[i])
    serve_one(view, view.scratch, rates)


def shortest_remaining(view: View, rates: Floats) -> None:
    """The application with the least work and I/O left at full bandwidth, the pending operation included."""
    for i in range(len(rates)):
        view.scratch[i] = rounded_time(view.whole[i] - view.progress[i])
    serve_one(view, view.scratch, rates)


def longest_remaining(view: View, rates: Floats) -> None:
    """The application with the most work and I/O left."""
    for i in range(len(rates)):
        view.scratch[i] = -rounded_time(view.whole[i] - view.progress[i])
    serve_one(view, view.scratch, rates)


def bandwidth_oriented(view: View, rates: Floats) -> None:
    """The lowest ratio of transfer time so far, waiting excluded, to the time since the start; 0 at the start."""
    for i in range(len(rates)):
        elapsed = view.now - view.release[i]
        view.scratch[i] = np.rint(view.transferring[i] / elapsed * YIELD_GRAIN) if elapsed > 0.0 else 0.0
    serve_one(view, view.scratch, rates)


def stretch_oriented(view: View, rates: Floats) -> None:
    """The largest stretch: time since the start over work and transfers done; 1 at the start, infinite if none is done."""
    for i in range(len(rates)):
        elapsed = view.now - view.release[i]
        stretch = 1.0
        if elapsed > 0.0:
            stretch = elapsed / view.progress[i] if view.progress[i] > 0.0 else np.inf
        view.scratch[i] = -np.rint(stretch * YIELD_GRAIN)
    serve_one(view, view.scratch, rates)


def johnson(view: View, rates: Floats) -> None:
    """Johnson's order of the nominal couples of work and I/O (001 Definition 9)."""
    for i in range(len(rates)):
        view.scratch[i] = view.rank[i]
    serve_one(view, view.scratch, rates)


def _by_johnson(workload: Workload) -> Plan:
    known = nominal(workload)
    return Plan(rank=johnson_rank(known.work, known.io).astype(np.float64))


def _exclusive(name: str, rates: RatesFunction, summary: str, *needs: Need, reference: str = "001 §III.C.1") -> Policy:
    return Policy(
        name=name,
        rates=rates,
        summary=f"one at a time: {summary}",
        needs=(Need.HOLDER, *needs),
        reference=reference,
        idles=True,
        family=EXCLUSIVE,
    )


FIFO = _exclusive("fifo", fifo, "the earliest posted", Need.POSTING)
LOWEST_ID = _exclusive("lowest-id", lowest_id, "the one listed first")
LONGEST_IO = _exclusive("longest-io", longest_io, "the longest operation", Need.VOLUME)
SHORTEST_IO = _exclusive("shortest-io", shortest_io, "the shortest operation", Need.VOLUME)
SHORTEST_REMAINING = _exclusive("shortest-remaining", shortest_remaining, "the least left to do", Need.REMAINING)
LONGEST_REMAINING = _exclusive("longest-remaining", longest_remaining, "the most left to do", Need.REMAINING)
BANDWIDTH_ORIENTED = _exclusive("bandwidth-oriented", bandwidth_oriented, "the least transfer time", Need.TRANSFER)
STRETCH_ORIENTED = _exclusive("stretch-oriented", stretch_oriented, "the largest stretch", Need.PROGRESS)
JOHNSON = replace(
    _exclusive("johnson", johnson, "Johnson's order", Need.NOMINAL, reference="001 §II.D.1"), planner=_by_johnson
)
