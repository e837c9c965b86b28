"""What the linear programs of 004 §6 have in common: how data move between applications, buffer and file system.

For each strand (application, direction, busy period) and each interval between events a column says how many bytes go to or
come from the file system: constant rates between events are enough (004 Theorem 1). With x the content of a strand at an
event, and x' at the next one,

    writes: x' = x + what the application writes − what the file system takes     (x ≥ 0)
    reads:  x' = x + what the file system gives − what the application reads      (x ≥ 0)

No strand moves more than min(b, B) lets it, all together no more than B_w, B_r and B. If the buffer's own bandwidth B_BB is
given, what flows in is bounded: of those who write, what the file system does not take at once; of those who do not read,
what it gives.

Contents are columns at *points* only. A write content does not fall while its application writes, for the file system takes
min(b, B) at most, and does not rise else: it is never below 0 if it is not when a write begins, and never above a share if
it is not when one ends. For reads it is the other way round. So a program has some two rows an operation, and not one for
each application and event.

Volumes are in units of the largest operation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.planning.buffers.assembly import Assembly
from penstock.planning.buffers.demand import Demand
from penstock.planning.buffers.ranges import summed
from penstock.planning.buffers.solver import Program
from penstock.planning.buffers.strands import Parts, Steps, Strands
from penstock.policies.view import Floats, Ints


@dataclass(frozen=True, eq=False)
class Question:
    """What is to be sized: busy `periods` (first and last event), the strands and operations in them, and what is known.

    `least` is the share that each application needs for itself, in bytes; `inflow` is B_BB, or None where it cannot matter.
    """

    demand: Demand
    periods: Ints
    strands: Strands
    parts: Parts
    steps: Steps
    least: Floats
    inflow: float | None


@dataclass(frozen=True, eq=False)
class Sizing:
    """A program, and what its columns mean: S, the shares S_k (none if dynamic), what each step moves; in `unit` bytes."""

    program: Program
    unit: float
    size: int
    shares: Ints
    moved: Ints


class Transfers:
    """A program in the making, with columns for S and for what each step moves."""

    def __init__(self, question: Question) -> None:
        self.question = question
        self.unit = question.demand.unit
        self.assembly = Assembly()
        self.size = int(self.assembly.add_columns(question.least.max(keepdims=True) / self.unit, np.full(1, np.inf))[0])
        steps = question.steps
        self.moved = self.assembly.add_columns(np.zeros(len(steps.at)), steps.most / self.unit)
        self._events = len(question.demand.events)
        self._points = self._contents = np.zeros(0, np.int64)

    def add_contents(self, strand: Ints, event: Ints) -> None:
        """Make the contents of these strands at these events columns, and say how they follow from what moves."""
        question, events = self.question, self._events
        strands, steps, demand = question.strands, question.steps, question.demand
        ends = np.arange(len(strands))
        strand = np.concatenate([strand, ends, ends])
        self._points = np.unique(strand * events + np.concatenate([event, strands.first, strands.last]))
        strand, event = self._points // events, self._points % events
        first, last = event == strands.first[strand], event == strands.last[strand]
        owner, reading = strands.owner[strand], strands.reading[strand]
        free = ~first & (~last | (~reading & (event == events - 1)))
        self._contents = self.assembly.add_columns(np.zeros(len(free)), np.where(free, np.inf, 0.0))
        asked = np.zeros(len(free))
        for operations, mine in ((demand.writes, ~reading), (demand.reads, reading)):
            asked[mine] = operations.cumulated(owner[mine], event[mine])
        # A row for each point of a strand but the first: from the point before to this one.
        sign = np.where(reading, -1.0, 1.0)
        rows = np.zeros(len(free), np.int64)
        rows[~first] = self.assembly.equal.add((sign * np.diff(asked, prepend=0.0))[~first] / self.unit)
        self.assembly.equal.put(rows[~first], self._contents[~first], 1.0)
        self.assembly.equal.put(rows[~first], self._contents[~first] - 1, -1.0)
        next_point = np.searchsorted(self._points, steps.strand * events + steps.at, side="right")
        self.assembly.equal.put(rows[next_point], self.moved, sign[next_point])

    def content(self, strand: Ints, event: Ints) -> Ints:
        """The columns of these contents."""
        return self._contents[np.searchsorted(self._points, strand * self._events + event)]

    def bound_bandwidths(self) -> None:
        """Bound what goes through the file system in each interval, by direction and in all, and what enters the buffer."""
        platform = self.question.demand.workload.platform
        reading = self.question.strands.reading[self.question.steps.strand]
        writers, readers = self._where(~reading), self._where(reading)
        both = writers & readers
        wide = platform.write_limit == platform.bandwidth, platform.read_limit == platform.bandwidth
        self._bound(~reading, writers & ~both if wide[0] else writers, platform.write_limit)
        self._bound(reading, readers & ~both if wide[1] else readers, platform.read_limit)
        self._bound(np.ones(len(reading), np.bool_), both, platform.bandwidth)
        if self.question.inflow is not None:
            self.bound_inflow(self.question.inflow)

    def _where(self, mine: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The intervals with steps that are `mine`."""
        where = np.zeros(self._events - 1, np.bool_)
        where[self.question.steps.at[mine]] = True
        return where

    def _bound(self, mine: NDArray[np.bool_], where: NDArray[np.bool_], limit: float) -> None:
        """In the intervals `where` that must be said, the steps that are `mine` move `limit` bytes/s together at most."""
        at = self.question.steps.at
        rows = np.zeros(self._events - 1, np.int64)
        rows[where] = self.assembly.upper.add(limit * self.question.demand.spans[where] / self.unit)
        chosen = mine & where[at]
        self.assembly.upper.put(rows[at[chosen]], self.moved[chosen], 1.0)

    def bound_inflow(self, inflow: float) -> Ints:
        """Bound what flows into the buffer by so many bytes/s; the row of each interval."""
        demand, strands, steps = self.question.demand, self.question.strands, self.question.steps
        reading, owner = strands.reading[steps.strand], strands.owner[steps.strand]
        writes = ~reading & demand.writes.inside(owner, steps.at)
        prefetches = reading & ~demand.reads.inside(owner, steps.at)
        written = summed(steps.at[writes], steps.asked[writes], self._events - 1)
        rows = self.assembly.upper.add((inflow * demand.spans - written) / self.unit)
        self.assembly.upper.put(rows[steps.at[writes]], self.moved[writes], -1.0)
        self.assembly.upper.put(rows[steps.at[prefetches]], self.moved[prefetches], 1.0)
        return rows

    def sizing(self, minimised: Ints, shares: Ints) -> Sizing:
        """The program that minimises the sum of these columns."""
        return Sizing(self.assembly.program(minimised), self.unit, self.size, shares, self.moved)


def low_points(question: Question) -> tuple[Ints, Ints]:
    """Strands and events at which contents are lowest: where a write begins, or a read ends."""
    parts = question.parts
    return parts.strand, np.where(question.strands.reading[parts.strand], parts.stop, parts.start)


def high_points(question: Question) -> tuple[Ints, Ints]:
    """Strands and events at which contents are highest: where a write ends, or a read begins."""
    parts = question.parts
    return parts.strand, np.where(question.strands.reading[parts.strand], parts.start, parts.stop)
