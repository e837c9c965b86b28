"""The linear programs of a static buffer (004 §6.2): a share S_k for each application while it lives.

The content of A_k is S_k at most for r_k ≤ t ≤ C_k. At any time, Σ S_k of the living, r_k ≤ t < C_k, plus the contents of
the others is S at most: A_k may prefetch before r_k into what others leave, and what it leaves behind at C_k counts until it
has drained. If one starts when another ends their shares do not add up.

Both contents of an application that reads and writes can be highest together at any event outside its operations. Contents
of the dead only fall and those of the unborn only rise; so among the times in which the same are alive they count at the
first event, or at the last, or, where there are both, at every event.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from penstock.planning.buffers.ranges import spread
from penstock.planning.buffers.transfers import Question, Sizing, Transfers, high_points, low_points
from penstock.policies.view import Ints

ROOM: Final = 1e-8
"""By this part of it S may be passed when the shares are made small, or rounding errors would leave no solution."""


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
    high[sizing.size] = size * (1.0 + ROOM) + ROOM
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
