"""The linear programs of 004 §6: the smallest buffer, static or dynamic, with which no application is slowed down.

Columns. For each strand (application, direction, busy period; see `periods`) and each interval between two events, one
column is the data that go to or come from the file system: rates that are constant between events are enough (004 Theorem
1). With x the content of a strand at an event, and x' at the next one,

    writes: x' = x + what the application writes − what the file system takes     (x ≥ 0)
    reads:  x' = x + what the file system gives − what the application reads      (x ≥ 0)

Rows. A strand moves at most min(b, B) bytes/s; all writes together at most B_w, all reads B_r, all transfers B. If the
buffer has a bandwidth B_BB of its own, the inflow is at most B_BB: the part of a running write that the file system does
not take at once, and the data that are prefetched while the application does not read.

Static buffer (004 §6.2). Application A_k has a share S_k while it lives, and its content is at most S_k for r_k ≤ t ≤
C_k. At any time, Σ S_k over the living (r_k ≤ t < C_k) plus the contents of the others is at most S: A_k may prefetch
before r_k into space that others leave free, and data that it leaves behind at C_k count until they have drained. If one
application starts when another ends, their shares do not add up.

Dynamic buffer (004 §6.3). At every event the contents of all applications together are at most S.

Fewer rows. A write content cannot fall while its application writes, because the file system takes at most min(b, B), and
cannot rise otherwise. So it is never negative if it is not where a write begins, and never above a share if it is not
where a write ends. For reads the two ends change places. Contents are therefore columns at these *points* only: about two
rows an operation, instead of one for each application and event. Further, the sum of contents of a static buffer outside
the lives of their owners counts at the first event of a run (a time in which the same applications are alive) if only the
dead have any, at the last if only the unborn have any, and at every event if both have. An application that both reads
and writes is checked at every event outside its operations, where the two contents can be highest together. A dynamic
buffer without reads is checked where writes end.

Volumes are in units of the largest operation, so that HiGHS' absolute tolerances mean the same for all workloads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.buffers.periods import StrandParts, Strands, StrandSteps
from penstock.buffers.solve import Assembly, Program
from penstock.buffers.timeline import FullSpeedTimeline
from penstock.numeric.arrays import Floats, Ints, spread, summed

NO_COLUMNS: Final[Ints] = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class SizingProblem:
    """What a program decides: the transfers of `strands` in busy `periods` (a row each: first and last event).

    `parts` are the operations in the periods, `steps` the intervals of the strands.
    """

    demand: FullSpeedTimeline
    periods: Ints
    strands: Strands
    parts: StrandParts
    steps: StrandSteps
    least_shares: Floats
    """Share that each application needs outside these periods, in bytes."""
    inflow: float | None
    """B_BB in bytes/s; None where it cannot matter."""

    def low_points(self) -> tuple[Ints, Ints]:
        """Strands and events at which contents are lowest: where a write begins, or a read ends."""
        parts = self.parts
        return parts.strand, np.where(self.strands.reading[parts.strand], parts.stop, parts.start)

    def high_points(self) -> tuple[Ints, Ints]:
        """Strands and events at which contents are highest: where a write ends, or a read begins."""
        parts = self.parts
        return parts.strand, np.where(self.strands.reading[parts.strand], parts.start, parts.stop)


@dataclass(frozen=True, eq=False)
class SizingProgram:
    """A program that minimises S, and the meaning of its columns, in `unit` bytes."""

    program: Program
    unit: float
    size: int
    """Column of S."""
    shares: Ints
    """Columns of S_k, one per application; none if the buffer is dynamic."""
    moved: Ints
    """Columns of the data that each step moves."""

    def cost(self, columns: Ints | int) -> Floats:
        """The cost whose product with x is the sum of these columns."""
        cost = np.zeros(self.program.columns)
        cost[columns] = 1.0
        return cost


def static_program(problem: SizingProblem) -> SizingProgram:
    """Write the `problem` as the program that minimises the S of a static buffer."""
    transfers = _Transfers(problem)
    least = problem.least_shares / transfers.unit
    shares = transfers.assembly.add_columns(least, np.full(len(least), np.inf))
    peaks, outside = _Peaks.of(problem), _Outside.of(problem)
    points = problem.low_points(), (peaks.strand, peaks.event), (outside.strand, outside.event)
    transfers.add_contents(*(np.concatenate(columns) for columns in zip(*points, strict=True)))
    transfers.bound_bandwidths()
    _bound_by_shares(transfers, shares, peaks)
    _bound_by_size(transfers, shares, outside)
    return transfers.sizing_program(shares)


def dynamic_program(problem: SizingProblem) -> SizingProgram:
    """Write the `problem` as the program that minimises the S of a dynamic buffer."""
    transfers = _Transfers(problem)
    transfers.add_contents(*problem.low_points())
    transfers.bound_bandwidths()
    _bound_sum(transfers)
    return transfers.sizing_program(NO_COLUMNS)


def least_inflow_program(problem: SizingProblem, most: float) -> tuple[Program, int, Ints]:
    """Write the `problem` as the program that minimises the bandwidth that the buffer needs, whatever its size.

    Returns:
        The program, the column of the bandwidth, and the rows of the inflow, one per interval. The bandwidth is in parts of
        the `most` that can ever flow in: in bytes/s its coefficients would be so small that HiGHS drops them.
    """
    transfers = _Transfers(replace(problem, inflow=None))
    transfers.add_contents(*problem.low_points())
    transfers.bound_bandwidths()
    rows = transfers.bound_inflow(0.0)
    bandwidth = transfers.assembly.add_columns(np.zeros(1), np.full(1, np.inf))
    transfers.assembly.put(rows, bandwidth[0], -most * problem.demand.spans / transfers.unit)
    return transfers.assembly.program(bandwidth), int(bandwidth[0]), rows


class _Transfers:
    """What the programs share: columns for S, transfers and contents, and the rows that tie and bound them."""

    def __init__(self, problem: SizingProblem) -> None:
        self.problem = problem
        self.unit = problem.demand.unit
        self.assembly = Assembly()
        least = problem.least_shares.max(keepdims=True) / self.unit
        self.size = int(self.assembly.add_columns(least, np.full(1, np.inf))[0])
        self.moved = self.assembly.add_columns(np.zeros(len(problem.steps.at)), problem.steps.most / self.unit)
        self._events = len(problem.demand.events)
        self._points = self._contents = NO_COLUMNS

    def sizing_program(self, shares: Ints) -> SizingProgram:
        """The finished program."""
        return SizingProgram(self.assembly.program(np.array([self.size])), self.unit, self.size, shares, self.moved)

    def add_contents(self, strand: Ints, event: Ints) -> None:
        """Make the contents of these strands at these events columns, and tie them to the transfers."""
        events, assembly = self._events, self.assembly
        strands, steps, demand = self.problem.strands, self.problem.steps, self.problem.demand
        ends = np.arange(len(strands))
        strand = np.concatenate([strand, ends, ends])
        self._points = np.unique(strand * events + np.concatenate([event, strands.first, strands.last]))
        strand, event = self._points // events, self._points % events
        first, last = event == strands.first[strand], event == strands.last[strand]
        owner, reading = strands.owner[strand], strands.reading[strand]
        free = ~first & (~last | (~reading & (event == events - 1)))
        self._contents = assembly.add_columns(np.zeros(len(free)), np.where(free, np.inf, 0.0))
        asked = demand.cumulated(reading, owner, event)
        # A row for each point of a strand except the first: from the point before to this one.
        sign = np.where(reading, -1.0, 1.0)
        rows = np.zeros(len(free), np.int64)
        rows[~first] = assembly.exactly((sign * np.diff(asked, prepend=0.0))[~first] / self.unit)
        assembly.put(rows[~first], self._contents[~first], 1.0)
        assembly.put(rows[~first], self._contents[~first] - 1, -1.0)
        next_point = np.searchsorted(self._points, steps.strand * events + steps.at, side="right")
        assembly.put(rows[next_point], self.moved, sign[next_point])

    def content(self, strand: Ints, event: Ints) -> Ints:
        """The columns of these contents."""
        return self._contents[np.searchsorted(self._points, strand * self._events + event)]

    def bound_bandwidths(self) -> None:
        """Bound the transfers of each interval by B_w, B_r and B, and the inflow by B_BB."""
        platform = self.problem.demand.workload.platform
        reading = self.problem.strands.reading[self.problem.steps.strand]
        writers, readers = self._intervals_of(~reading), self._intervals_of(reading)
        both = writers & readers
        # Where both directions move data, a limit of one direction that equals B follows from B.
        only_writers, only_readers = writers & ~both, readers & ~both
        self._bound(~reading, only_writers if platform.write_limit == platform.bandwidth else writers, platform.write_limit)
        self._bound(reading, only_readers if platform.read_limit == platform.bandwidth else readers, platform.read_limit)
        self._bound(np.ones(len(reading), np.bool_), both, platform.bandwidth)
        if self.problem.inflow is not None:
            self.bound_inflow(self.problem.inflow)

    def _intervals_of(self, chosen: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Intervals that contain one of the chosen steps."""
        where = np.zeros(self._events - 1, np.bool_)
        where[self.problem.steps.at[chosen]] = True
        return where

    def _bound(self, chosen: NDArray[np.bool_], where: NDArray[np.bool_], limit: float) -> None:
        """In the intervals `where`, the chosen steps move at most `limit` bytes/s together."""
        at = self.problem.steps.at
        rows = np.zeros(self._events - 1, np.int64)
        rows[where] = self.assembly.at_most(limit * self.problem.demand.spans[where] / self.unit)
        chosen = chosen & where[at]
        self.assembly.put(rows[at[chosen]], self.moved[chosen], 1.0)

    def bound_inflow(self, inflow: float) -> Ints:
        """Bound the inflow of the buffer, in bytes/s, and return the row of each interval."""
        demand, strands, steps = self.problem.demand, self.problem.strands, self.problem.steps
        reading, owner = strands.reading[steps.strand], strands.owner[steps.strand]
        writes = ~reading & demand.writes.inside(owner, steps.at)
        prefetches = reading & ~demand.reads.inside(owner, steps.at)
        written = summed(steps.at[writes], steps.asked[writes], self._events - 1)
        rows = self.assembly.at_most((inflow * demand.spans - written) / self.unit)
        self.assembly.put(rows[steps.at[writes]], self.moved[writes], -1.0)
        self.assembly.put(rows[steps.at[prefetches]], self.moved[prefetches], 1.0)
        return rows


@dataclass(frozen=True, eq=False)
class _Peaks:
    """Where the contents of an application can be highest while it lives.

    In each `row` the contents of `strand` at `event` count together; `owner` has one entry per row.
    """

    owner: Ints
    row: Ints
    strand: Ints
    event: Ints

    @classmethod
    def of(cls, problem: SizingProblem) -> _Peaks:
        strands, events, applications = problem.strands, len(problem.demand.events), len(problem.least_shares)
        group = strands.period * applications + strands.owner
        strand, event = problem.high_points()
        more_groups, more_events = _between_operations(problem, group)
        keys = np.unique(np.concatenate([group[strand], more_groups]) * events + np.concatenate([event, more_events]))
        # The strands of a group, the one that writes and the one that reads, at the events that both have.
        order = np.argsort(group, kind="stable")
        low = np.searchsorted(group[order], keys // events, side="left")
        row, place = spread(low, np.searchsorted(group[order], keys // events, side="right"))
        strand, event = order[place], (keys % events)[row]
        known = (strands.first[strand] <= event) & (event <= strands.last[strand])
        return cls((keys // events) % applications, row[known], strand[known], event[known])


def _between_operations(problem: SizingProblem, group: Ints) -> tuple[Ints, Ints]:
    """Groups with contents of both directions, at the events of their lives that are not inside one of their operations."""
    demand, strands = problem.demand, problem.strands
    _, writing, reading = np.intersect1d(
        np.where(strands.reading, -1, group), np.where(strands.reading, group, -2), return_indices=True
    )
    owner = strands.owner[writing]
    first = np.maximum(strands.first[writing], demand.begin[owner])
    last = np.minimum(strands.last[reading], demand.end[owner])
    which, event = spread(first, last + 1)
    owner = owner[which]
    # 2 inside an operation, 1 at its start or end.
    writes, reads = (
        operations.inside(owner, np.maximum(event - 1, 0)).astype(np.int64) + operations.inside(owner, event)
        for operations in (demand.writes, demand.reads)
    )
    outside = ~(((writes == 2) & (reads == 0)) | ((writes == 0) & (reads == 2)))
    return group[writing[which[outside]]], event[outside]


@dataclass(frozen=True, eq=False)
class _Outside:
    """Contents outside the lives of their applications.

    In each `row` the contents of `strand` at `event` count together; `run` has one entry per row. Run i lasts from the event
    `edges[i]` to the next of the `edges`; the same applications are alive in all of it.
    """

    edges: Ints
    run: Ints
    row: Ints
    strand: Ints
    event: Ints

    @classmethod
    def of(cls, problem: SizingProblem) -> _Outside:
        demand, strands, periods = problem.demand, problem.strands, len(problem.periods)
        edges = np.unique(np.concatenate([[0, len(demand.events) - 1], demand.begin, demand.end]))
        (dead, runs_after), (unborn, runs_before) = _dead(problem, edges), _unborn(problem, edges)
        strand, run = np.concatenate([dead, unborn]), np.concatenate([runs_after, runs_before])
        # What counts together is in the same run and the same period: a cell.
        cells, cell = np.unique(run * periods + strands.period[strand], return_inverse=True)
        run, period = cells // periods, cells % periods
        with_dead, with_unborn = (
            np.bincount(mine, minlength=len(cells)) > 0 for mine in (cell[: len(dead)], cell[len(dead) :])
        )
        both = with_dead & with_unborn
        begin, end = edges[run], edges[run + 1]
        first = np.where(both, np.maximum(begin, problem.periods[period, 0]), np.where(with_dead, begin, end))
        last = np.where(both, np.minimum(end, problem.periods[period, 1]), first)
        which, event = spread(first[cell], last[cell] + 1)
        keys, row = np.unique(cell[which] * len(demand.events) + event, return_inverse=True)
        return cls(edges, run[keys // len(demand.events)], row, strand[which], event)


def _dead(problem: SizingProblem, edges: Ints) -> tuple[Ints, Ints]:
    """Strands whose content outlives their application, and the runs in which it does."""
    strands, end = problem.strands, problem.demand.end[problem.strands.owner]
    dead = np.flatnonzero(~strands.reading & (strands.last > end))
    which, run = spread(np.searchsorted(edges, end[dead]), np.searchsorted(edges, strands.last[dead]))
    return dead[which], run


def _unborn(problem: SizingProblem, edges: Ints) -> tuple[Ints, Ints]:
    """Strands with content before their application is released, and the runs in which they have it."""
    strands, begin = problem.strands, problem.demand.begin[problem.strands.owner]
    unborn = np.flatnonzero(strands.reading & (strands.first < begin))
    first = np.searchsorted(edges, strands.first[unborn], side="right") - 1
    which, run = spread(first, np.searchsorted(edges, begin[unborn]))
    return unborn[which], run


def _bound_by_shares(transfers: _Transfers, shares: Ints, peaks: _Peaks) -> None:
    """The contents of a living application are at most S_k."""
    assembly = transfers.assembly
    rows = assembly.at_most(np.zeros(len(peaks.owner)))
    assembly.put(rows[peaks.row], transfers.content(peaks.strand, peaks.event), 1.0)
    assembly.put(rows, shares[peaks.owner], -1.0)


def _bound_by_size(transfers: _Transfers, shares: Ints, outside: _Outside) -> None:
    """In each run a column is the sum of the shares of the living; with the contents of the others it is at most S."""
    assembly, demand = transfers.assembly, transfers.problem.demand
    runs = len(outside.edges) - 1
    living = assembly.add_columns(np.zeros(runs), np.full(runs, np.inf))
    rows = assembly.exactly(np.zeros(runs))
    assembly.put(rows, living, 1.0)
    assembly.put(rows[1:], living[:-1], -1.0)
    for event, sign in ((demand.begin, -1.0), (demand.end, 1.0)):
        run = np.searchsorted(outside.edges, event)
        counts = run < runs
        assembly.put(rows[run[counts]], shares[counts], sign)
    run = np.concatenate([np.arange(runs), outside.run])
    above = assembly.at_most(np.zeros(len(run)))
    assembly.put(above, living[run], 1.0)
    assembly.put(above, transfers.size, -1.0)
    assembly.put(above[runs + outside.row], transfers.content(outside.strand, outside.event), 1.0)


def _bound_sum(transfers: _Transfers) -> None:
    """At each event of a period a column is the sum of all contents; where that can be highest it is at most S."""
    problem, assembly = transfers.problem, transfers.assembly
    strands, steps = problem.strands, problem.steps
    first, last = problem.periods.T
    period, event = spread(first, last + 1)
    begins, ends = event == first[period], event == last[period]
    free = ~begins & (~ends | (event == len(problem.demand.events) - 1))
    sums = assembly.add_columns(np.zeros(len(event)), np.where(free, np.inf, 0.0))
    # From each event to the next: sum' − sum + what the file system takes − what it gives = what is written − what is read.
    shift = np.cumsum(last + 1 - first) - (last + 1)  # an event's place among the sums is the event plus this
    after = shift[strands.period[steps.strand]] + steps.at + 1
    sign = np.where(strands.reading[steps.strand], -1.0, 1.0)
    asked = summed(after, sign * steps.asked / transfers.unit, len(event))
    rows = np.zeros(len(event), np.int64)
    rows[~begins] = assembly.exactly(asked[~begins])
    assembly.put(rows[~begins], sums[~begins], 1.0)
    assembly.put(rows[~begins], sums[~begins] - 1, -1.0)
    assembly.put(rows[after], transfers.moved, sign)
    bounded = (np.bincount(strands.period, strands.reading, len(first)) > 0)[period]
    strand, high = problem.high_points()
    bounded[shift[strands.period[strand]] + high] = True
    above = assembly.at_most(np.zeros(np.count_nonzero(bounded)))
    assembly.put(above, sums[bounded], 1.0)
    assembly.put(above, transfers.size, -1.0)
