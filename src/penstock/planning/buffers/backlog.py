"""The size of a dynamic buffer for writes alone: the largest backlog (004 §6.3).

If the file system always takes what it can, what is left in the buffer at t is

    Q(t) = max over a ≤ t of Σ_k (W∞_k(t) − W∞_k(a)) − B_w · (t − a),

and nobody can leave less: in [a, t] no more than B_w · (t − a) goes through. So a dynamic buffer of max Q(t) is needed. It
is also enough, even where an application alone cannot fill the file system (b_k < B_w). By the minimal cut of the flow
from the applications through the intervals between events, the least content at t is the largest

    Σ_k [W∞_k(t) − W∞_k(u_k) − min(b_k, B_w) · |(u_k, t] ∖ Y|] − B_w · |Y|

over dates u_k and sets Y of intervals. As time goes on more and more have u_k behind them. Once the sum of their caps is B_w
or more, Y should hold all that follows; before that nobody among them has b_k > B_w, so that W∞_k rises no faster than its
cap and u_k can as well be later. Hence Y = (a, t] and u_k = a. The least content can be had at all t at once
(lexicographically maximal flows, Minieka 1973).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.planning.buffers.demand import Demand, Operations
from penstock.planning.buffers.flow import left_over
from penstock.policies.view import Floats


@dataclass(frozen=True)
class Backlog:
    """The largest backlog: `size` bytes at the date `end`, gathered since the date `begin`."""

    size: float
    begin: float
    end: float


def largest_backlog(demand: Demand) -> Backlog:
    """The size of a dynamic buffer for the writes of the demand; reads do not count. Linear time."""
    content = backlog(demand)
    last = int(np.argmax(content))
    first = int(np.flatnonzero(content[: last + 1] == 0.0)[-1])
    return Backlog(float(content[last]), float(demand.events[first]), float(demand.events[last]))


def backlog(demand: Demand) -> Floats:
    """Q at each event, in bytes."""
    room = demand.workload.platform.write_limit * demand.lengths
    return left_over(arriving(demand.writes) - room)


def arriving(operations: Operations) -> Floats:
    """Bytes of the operations from each event to the next."""
    events = operations.events
    rate = operations.volume / (events[operations.stop] - events[operations.start])
    change = np.zeros(len(events))
    np.add.at(change, operations.start, rate)
    np.add.at(change, operations.stop, -rate)
    return np.cumsum(change)[:-1] * np.diff(events)
