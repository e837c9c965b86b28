"""When no buffer is large enough for a stretch of 1.

Writes can always wait in the buffer. Reads cannot: until t no more than B_r · t can have come from the file system, whatever
is prefetched, and Σ R∞(t) must have. That is all there is to it, even where an application alone cannot fill the file
system: it is the backlog of `penstock.planning.buffers.backlog` backwards in time, which must be gone at the clock's 0.
A limited bandwidth of the buffer itself can stand in the way too.
"""

from __future__ import annotations

import numpy as np

from penstock.planning.buffers.backlog import arriving
from penstock.planning.buffers.demand import Demand
from penstock.planning.buffers.dynamic import least_inflow_program
from penstock.planning.buffers.plan import Obstacle
from penstock.planning.buffers.solver import solve
from penstock.planning.buffers.transfers import Question

ROUNDING = 1e-9
"""Bytes that are missing, in parts of the largest operation, and do not count."""


def late_read(demand: Demand) -> Obstacle | None:
    """The first read that cannot be in time; None if all can. Linear time."""
    limit = demand.workload.platform.read_limit
    needed = np.concatenate([[0.0], np.cumsum(arriving(demand.reads))])
    spare = limit * (demand.events - demand.origin + demand.shifts) - needed
    if spare.min() >= -ROUNDING * demand.unit:
        return None
    interval = int(np.argmax(spare < -ROUNDING * demand.unit)) - 1
    rate = (needed[interval + 1] - needed[interval]) / demand.lengths[interval]
    date = float(demand.events[interval] + max(spare[interval], 0.0) / (rate - limit))
    reads = demand.reads
    open_ones = np.flatnonzero((reads.start <= interval) & (interval < reads.stop))
    late = int(open_ones[np.argmax(reads.start[open_ones])])
    owner, missing = int(reads.owner[late]), float(-spare.min())
    name = demand.workload.applications[owner].name
    number = late - int(np.searchsorted(reads.owner, owner)) + 1
    phase = int(reads.phase[late])
    message = (
        f"{name}: read {number} (phases[{phase}]) cannot be in time: from date {date:.6g} on more must have been read than "
        f"{limit:.6g} bytes/s give; {missing:.6g} bytes are missing at the worst moment"
    )
    return Obstacle(message, date, application=name, phase=phase, read=number, missing=missing)


def inflow_that_matters(demand: Demand) -> float | None:
    """B_BB, or None if it is not given or more than can ever flow in."""
    buffer = demand.workload.platform.buffer
    inflow = buffer.bandwidth if buffer else None
    if inflow is None:
        return None
    return inflow if inflow < _most_inflow(demand) else None


def _most_inflow(demand: Demand) -> float:
    """The most that can ever flow in, in bytes/s."""
    most = float((arriving(demand.writes) / demand.lengths).max()) if len(demand.lengths) else 0.0
    return most + (demand.workload.platform.read_limit if len(demand.reads) else 0.0)


def narrow_buffer(question: Question) -> Obstacle:
    """What is to be said where the buffer's own bandwidth leaves no solution: how much would do, and when it is needed."""
    demand = question.demand
    most = _most_inflow(demand)
    found = solve(least_inflow_program(question, most).program)
    # Its rows of inflow are the last ones, one an interval.
    tight = found.upper_duals[-len(demand.lengths) :] < -ROUNDING
    date = float(demand.events[int(np.argmax(tight))])
    needed = most * float(found.x[-1])
    message = (
        f"the buffer takes {question.inflow:.6g} bytes/s, too few from date {date:.6g} on; expected at least {needed:.6g}"
    )
    return Obstacle(message, date, needed=needed)
