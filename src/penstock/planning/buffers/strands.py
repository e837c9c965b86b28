"""Strands: the use that one application makes of the buffer in one direction during one busy period.

What an application writes can be in the buffer from the begin of its first write in the period to the end of the period;
what it reads from the begin of the period to the end of its last read in it. Only there the linear programs need to decide
how much moves to or from the file system from one event to the next; elsewhere data go straight through.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from penstock.planning.buffers.demand import Demand, Operations
from penstock.planning.buffers.flow import left_over
from penstock.planning.buffers.ranges import spread
from penstock.policies.view import Floats, Ints


@dataclass(frozen=True, eq=False)
class Strands:
    """An entry of each array a strand; in the order of direction (writes first), period and owner."""

    period: Ints
    owner: Ints
    reading: NDArray[np.bool_]
    first: Ints
    """The event at which its content may begin to rise from 0."""
    last: Ints
    """The event at which its content is back at 0; not so for writes at the last event of all, which drain after it."""

    def __len__(self) -> int:
        return len(self.period)

    def chosen(self, which: NDArray[np.bool_]) -> Strands:
        """Some of them."""
        return replace(self, **{field.name: getattr(self, field.name)[which] for field in fields(self)})

    def steps(self) -> tuple[Ints, Ints]:
        """All intervals of all strands, strand by strand: the strand, and the event at which the interval begins."""
        return spread(self.first, self.last)


@dataclass(frozen=True, eq=False)
class Parts:
    """Operations cut to the periods: `strand` moves data from event `start` to event `stop`."""

    strand: Ints
    start: Ints
    stop: Ints


def strands_of(demand: Demand, periods: Ints) -> tuple[Strands, Parts]:
    """The strands of the periods, and the operations in them."""
    found = [_one_direction(demand, operations, periods) for operations in (demand.writes, demand.reads)]
    (writes, write_parts), (reads, read_parts) = found
    columns = {f.name: np.concatenate([getattr(writes, f.name), getattr(reads, f.name)]) for f in fields(Strands)}
    strand = np.concatenate([write_parts.strand, len(writes) + read_parts.strand])
    start, stop = (np.concatenate([getattr(write_parts, n), getattr(read_parts, n)]) for n in ("start", "stop"))
    return Strands(**columns), Parts(strand, start, stop)


def _one_direction(demand: Demand, operations: Operations, periods: Ints) -> tuple[Strands, Parts]:
    begin, end = periods[:, 0], periods[:, 1]
    first_period = np.searchsorted(end, operations.start, side="right")
    which, period = spread(first_period, np.searchsorted(begin, operations.stop, side="left"))
    start = np.maximum(operations.start[which], begin[period])
    stop = np.minimum(operations.stop[which], end[period])
    applications = len(demand.begin)
    keys, strand = np.unique(period * applications + operations.owner[which], return_inverse=True)
    period, owner = keys // applications, keys % applications
    first, last = begin[period], end[period]
    reading = operations is demand.reads
    if reading:
        last = np.zeros(len(keys), np.int64)
        np.maximum.at(last, strand, stop)
    else:
        first = np.full(len(keys), len(demand.events))
        np.minimum.at(first, strand, start)
    return Strands(period, owner, np.full(len(keys), reading), first, last), Parts(strand, start, stop)


def lone(demand: Demand, strands: Strands, periods: int) -> NDArray[np.bool_]:
    """Which strands have their period for themselves, and lie within the life of their application.

    Nothing is to be decided there: written as soon as possible and read as late as possible, the content is at every moment
    the least possible (004 §5.2). Nine in ten periods of the workloads of 004 §7 are of this kind.
    """
    alone = np.bincount(strands.period, minlength=periods)[strands.period] == 1
    writes = ~strands.reading & (strands.last <= demand.end[strands.owner])
    reads = strands.reading & (strands.first >= demand.begin[strands.owner])
    found: NDArray[np.bool_] = alone & (writes | reads)
    return found


@dataclass(frozen=True, eq=False)
class Steps:
    """The intervals of strands: for each the `strand`, the event `at` which it begins, and the amounts in bytes.

    `asked` is what the application moves at full speed, `most` what the file system can move for it in that time.
    """

    strand: Ints
    at: Ints
    asked: Floats
    most: Floats

    @classmethod
    def of(cls, demand: Demand, strands: Strands) -> Steps:
        """The intervals of the strands."""
        strand, at = strands.steps()
        owner, reading = strands.owner[strand], strands.reading[strand]
        asked, cap = np.zeros(len(strand)), np.where(reading, demand.read_cap[owner], demand.write_cap[owner])
        for operations, mine in ((demand.writes, ~reading), (demand.reads, reading)):
            who, when = owner[mine], at[mine]
            asked[mine] = operations.cumulated(who, when + 1) - operations.cumulated(who, when)
        return cls(strand, at, asked, cap * demand.spans[at])


def moved_alone(strands: Strands, steps: Steps) -> Floats:
    """What lone strands move in each of their steps: written as soon as possible, read as late as possible."""
    moved = np.zeros(len(steps.strand))
    for mine, order in ((~strands.reading, 1), (strands.reading, -1)):
        chosen = np.flatnonzero(mine[steps.strand])[::order]
        new = np.ones(len(chosen), np.bool_)
        new[1:] = np.diff(steps.strand[chosen]) != 0
        # Every strand begins empty: in front of its first step goes one that takes all that is left.
        place = np.arange(len(chosen)) + np.cumsum(new)
        net = np.full(len(chosen) + int(new.sum()), -np.inf)
        net[place] = steps.asked[chosen] - steps.most[chosen]
        content = left_over(net)
        moved[chosen] = steps.asked[chosen] + content[place] - content[place + 1]
    return moved
