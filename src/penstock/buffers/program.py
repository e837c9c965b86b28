"""A linear program put together from blocks of columns and rows.

What the linear programs of 004 §6 have in common: how data move between applications, buffer and file system.

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

The linear programs of a static buffer (004 §6.2): a share S_k for each application while it lives.

The content of A_k is S_k at most for r_k ≤ t ≤ C_k. At any time, Σ S_k of the living, r_k ≤ t < C_k, plus the contents of
the others is S at most: A_k may prefetch before r_k into what others leave, and what it leaves behind at C_k counts until it
has drained. If one starts when another ends their shares do not add up.

Both contents of an application that reads and writes can be highest together at any event outside its operations. Contents
of the dead only fall and those of the unborn only rise; so among the times in which the same are alive they count at the
first event, or at the last, or, where there are both, at every event.

The linear program of a dynamic buffer (004 §6.3): at every event the contents of all are S together at most.

Where nobody reads, the sum only rises while someone writes, and is bounded where a write ends.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from penstock.buffers.periods import StrandParts, Strands, StrandSteps
from penstock.buffers.solve import Program
from penstock.buffers.timeline import FullSpeedTimeline
from penstock.numeric.arrays import Floats, Ints, spread, summed
from penstock.numeric.tolerances import PLAN_SLACK


class ConstraintRows:
    """Rows in the making: triplets of a matrix, and right sides."""

    def __init__(self) -> None:
        self._rows, self._columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        self._values, self._right = [np.zeros(0)], [np.zeros(0)]
        self._count = 0

    def add(self, right: Floats) -> Ints:
        """New rows with these right sides; returns their numbers."""
        self._right.append(right)
        self._count += len(right)
        return np.arange(self._count - len(right), self._count)

    def put(self, rows: Ints, columns: Ints | int, values: Floats | float) -> None:
        """Enter a value in each of the rows, in the column beside it. Values in the same place add up."""
        self._rows.append(rows)
        self._columns.append(np.broadcast_to(columns, rows.shape))
        self._values.append(np.broadcast_to(values, rows.shape))

    def matrix(self, columns: int) -> sparse.csr_matrix:
        """The matrix, with so many columns."""
        places = np.concatenate(self._rows), np.concatenate(self._columns)
        return sparse.csr_matrix((np.concatenate(self._values), places), shape=(self._count, columns))

    @property
    def right(self) -> Floats:
        """The right sides."""
        return np.concatenate(self._right)


class Assembly:
    """A program in the making: columns with their bounds, rows `upper` (at most) and `equal` (exactly)."""

    def __init__(self) -> None:
        self.upper, self.equal = ConstraintRows(), ConstraintRows()
        self._low: list[Floats] = []
        self._high: list[Floats] = []
        self.columns = 0

    def add_columns(self, low: Floats, high: Floats) -> Ints:
        """New columns with these bounds; returns their numbers."""
        self._low.append(low)
        self._high.append(high)
        self.columns += len(low)
        return np.arange(self.columns - len(low), self.columns)

    def program(self, minimised: Ints) -> Program:
        """The program that minimises the sum of these columns."""
        cost = np.zeros(self.columns)
        cost[minimised] = 1.0
        return Program(
            cost=cost,
            upper=self.upper.matrix(self.columns),
            upper_right=self.upper.right,
            equal=self.equal.matrix(self.columns),
            equal_right=self.equal.right,
            low=np.concatenate(self._low),
            high=np.concatenate(self._high),
        )


@dataclass(frozen=True, eq=False)
class Question:
    """What is to be sized: busy `periods` (first and last event), the strands and operations in them, and what is known.

    `least` is the share that each application needs for itself, in bytes; `inflow` is B_BB, or None where it cannot matter.
    """

    demand: FullSpeedTimeline
    periods: Ints
    strands: Strands
    parts: StrandParts
    steps: StrandSteps
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


def static_program(question: Question) -> Sizing:
    """Minimise S."""
    transfers = Transfers(question)
    shares = transfers.assembly.add_columns(question.least / transfers.unit, np.full(len(question.least), np.inf))
    highs, outside = _highs(question), _Outside.of(question)
    points = low_points(question), (highs.strand, highs.event), (outside.strand, outside.event)
    transfers.add_contents(*(np.concatenate(columns) for columns in zip(*points, strict=True)))
    transfers.bound_bandwidths()
    _bound_by_shares(transfers, shares, highs)
    _bound_by_size(transfers, shares, outside)
    return transfers.sizing(np.array([transfers.size]), shares)


def least_shares(sizing: Sizing, size: float) -> Sizing:
    """The program that minimises the sum of the shares with a buffer of that size, in units."""
    cost, high = np.zeros(sizing.program.columns), sizing.program.high.copy()
    cost[sizing.shares] = 1.0
    high[sizing.size] = size * (1.0 + PLAN_SLACK) + PLAN_SLACK
    return replace(sizing, program=replace(sizing.program, cost=cost, high=high))


@dataclass(frozen=True, eq=False)
class _Highs:
    """Contents that count together: `row` by row, the content of `strand` at `event`; `owner` has one entry a row."""

    owner: Ints
    row: Ints
    strand: Ints
    event: Ints


def _highs(question: Question) -> _Highs:
    """Where the contents of an application can be highest while it lives."""
    strands, events, applications = question.strands, len(question.demand.events), len(question.least)
    group = strands.period * applications + strands.owner
    strand, event = high_points(question)
    twin_group, twin_event = _between_operations(question, group)
    keys = np.unique(np.concatenate([group[strand], twin_group]) * events + np.concatenate([event, twin_event]))
    # Strands of the same period and application, the one that writes and the one that reads, at the events that both know.
    order = np.argsort(group, kind="stable")
    low = np.searchsorted(group[order], keys // events, side="left")
    row, place = spread(low, np.searchsorted(group[order], keys // events, side="right"))
    strand, event = order[place], (keys % events)[row]
    known = (strands.first[strand] <= event) & (event <= strands.last[strand])
    return _Highs((keys // events) % applications, row[known], strand[known], event[known])


def _between_operations(question: Question, group: Ints) -> tuple[Ints, Ints]:
    """Groups with contents of both kinds, at the events of their lives that are not inside one of their operations."""
    demand, strands = question.demand, question.strands
    _, writing, reading = np.intersect1d(
        np.where(strands.reading, -1, group), np.where(strands.reading, group, -2), return_indices=True
    )
    owner = strands.owner[writing]
    first = np.maximum(strands.first[writing], demand.begin[owner])
    last = np.minimum(strands.last[reading], demand.end[owner])
    which, event = spread(first, last + 1)
    owner = owner[which]
    inside = [
        operations.inside(owner, np.maximum(event - 1, 0)).astype(np.int64) + operations.inside(owner, event)
        for operations in (demand.writes, demand.reads)
    ]
    outside = ~(((inside[0] == 2) & (inside[1] == 0)) | ((inside[0] == 0) & (inside[1] == 2)))
    return group[writing[which[outside]]], event[outside]


@dataclass(frozen=True, eq=False)
class _Outside:
    """Contents outside the lives of their applications: `row` by row, that of `strand` at `event`; and the `run` of a row.

    A run is a time in which the same are alive, from one of the `edges` to the next.
    """

    edges: Ints
    run: Ints
    row: Ints
    strand: Ints
    event: Ints

    @classmethod
    def of(cls, question: Question) -> _Outside:
        demand, strands = question.demand, question.strands
        edges = np.unique(np.concatenate([[0, len(demand.events) - 1], demand.begin, demand.end]))
        (dead, runs_after), (unborn, runs_before) = _dead(question, edges), _unborn(question, edges)
        strand, run = np.concatenate([dead, unborn]), np.concatenate([runs_after, runs_before])
        # What counts together is in the same run and the same period: a cell.
        cells, cell = np.unique(run * len(question.periods) + strands.period[strand], return_inverse=True)
        run, period = cells // len(question.periods), cells % len(question.periods)
        with_dead, with_unborn = (
            np.bincount(mine, minlength=len(cells)) > 0 for mine in (cell[: len(dead)], cell[len(dead) :])
        )
        both = with_dead & with_unborn
        begin, end = edges[run], edges[run + 1]
        first = np.where(both, np.maximum(begin, question.periods[period, 0]), np.where(with_dead, begin, end))
        last = np.where(both, np.minimum(end, question.periods[period, 1]), first)
        which, event = spread(first[cell], last[cell] + 1)
        keys, row = np.unique(cell[which] * len(demand.events) + event, return_inverse=True)
        return cls(edges, run[keys // len(demand.events)], row, strand[which], event)


def _dead(question: Question, edges: Ints) -> tuple[Ints, Ints]:
    """Strands whose content outlives their application, and the runs in which it does."""
    strands, end = question.strands, question.demand.end[question.strands.owner]
    dead = np.flatnonzero(~strands.reading & (strands.last > end))
    which, run = spread(np.searchsorted(edges, end[dead]), np.searchsorted(edges, strands.last[dead]))
    return dead[which], run


def _unborn(question: Question, edges: Ints) -> tuple[Ints, Ints]:
    """Strands with content before their application is released, and the runs in which they have it."""
    strands, begin = question.strands, question.demand.begin[question.strands.owner]
    unborn = np.flatnonzero(strands.reading & (strands.first < begin))
    first = np.searchsorted(edges, strands.first[unborn], side="right") - 1
    which, run = spread(first, np.searchsorted(edges, begin[unborn]))
    return unborn[which], run


def _bound_by_shares(transfers: Transfers, shares: Ints, highs: _Highs) -> None:
    upper = transfers.assembly.upper
    rows = upper.add(np.zeros(len(highs.owner)))
    upper.put(rows[highs.row], transfers.content(highs.strand, highs.event), 1.0)
    upper.put(rows, shares[highs.owner], -1.0)


def _bound_by_size(transfers: Transfers, shares: Ints, outside: _Outside) -> None:
    """The living have a column for the sum of their shares in each run; with the contents of the others it is S at most."""
    assembly, demand = transfers.assembly, transfers.question.demand
    runs = len(outside.edges) - 1
    living = assembly.add_columns(np.zeros(runs), np.full(runs, np.inf))
    rows = assembly.equal.add(np.zeros(runs))
    assembly.equal.put(rows, living, 1.0)
    assembly.equal.put(rows[1:], living[:-1], -1.0)
    for event, sign in ((demand.begin, -1.0), (demand.end, 1.0)):
        run = np.searchsorted(outside.edges, event)
        counts = run < runs
        assembly.equal.put(rows[run[counts]], shares[counts], sign)
    run = np.concatenate([np.arange(runs), outside.run])
    above = assembly.upper.add(np.zeros(len(run)))
    assembly.upper.put(above, living[run], 1.0)
    assembly.upper.put(above, transfers.size, -1.0)
    contents = transfers.content(outside.strand, outside.event)
    assembly.upper.put(above[runs + outside.row], contents, 1.0)


NO_SHARES: Final[Ints] = np.zeros(0, np.int64)


def dynamic_program(question: Question) -> Sizing:
    """Minimise S."""
    transfers = Transfers(question)
    transfers.add_contents(*low_points(question))
    transfers.bound_bandwidths()
    _bound_sum(transfers)
    return transfers.sizing(np.array([transfers.size]), NO_SHARES)


def least_inflow_program(question: Question, most: float) -> Sizing:
    """Minimise the bandwidth that the buffer must have, the last column, in parts of the `most` that can ever flow in,
    whatever its size.

    In bytes/s, the numbers would be so small in the units of the program that HiGHS takes them for 0.
    """
    transfers = Transfers(replace(question, inflow=None))
    transfers.add_contents(*low_points(question))
    transfers.bound_bandwidths()
    rows = transfers.bound_inflow(0.0)
    bandwidth = transfers.assembly.add_columns(np.zeros(1), np.full(1, np.inf))
    transfers.assembly.upper.put(rows, bandwidth[0], -most * question.demand.spans / transfers.unit)
    return transfers.sizing(bandwidth, NO_SHARES)


def _bound_sum(transfers: Transfers) -> None:
    """A column for the sum of all contents at each event of a period, and S above it."""
    question, assembly = transfers.question, transfers.assembly
    strands, steps = question.strands, question.steps
    first, last = question.periods.T
    period, event = spread(first, last + 1)
    begins, ends = event == first[period], event == last[period]
    free = ~begins & (~ends | (event == len(question.demand.events) - 1))
    sums = assembly.add_columns(np.zeros(len(event)), np.where(free, np.inf, 0.0))
    # From each event to the next: sum' − sum + what the file system takes − what it gives = what is written − what is read.
    shift = np.cumsum(last + 1 - first) - (last + 1)  # an event's place among the sums is the event plus this
    after = shift[strands.period[steps.strand]] + steps.at + 1
    sign = np.where(strands.reading[steps.strand], -1.0, 1.0)
    asked = summed(after, sign * steps.asked / transfers.unit, len(event))
    rows = np.zeros(len(event), np.int64)
    rows[~begins] = assembly.equal.add(asked[~begins])
    assembly.equal.put(rows[~begins], sums[~begins], 1.0)
    assembly.equal.put(rows[~begins], sums[~begins] - 1, -1.0)
    assembly.equal.put(rows[after], transfers.moved, sign)
    with_reads = np.bincount(strands.period, strands.reading, len(first)) > 0
    bounded = with_reads[period]
    strand, high = high_points(question)
    bounded[shift[strands.period[strand]] + high] = True
    above = assembly.upper.add(np.zeros(np.count_nonzero(bounded)))
    assembly.upper.put(above, sums[bounded], 1.0)
    assembly.upper.put(above, transfers.size, -1.0)
