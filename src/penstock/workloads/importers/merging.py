"""Merge single I/O operations, of any number of processes, into phases.

An operation is an interval with bytes. Operations that overlap, or are at most a *gap* apart, belong to one phase. The bytes
of a phase are those of its operations, and its busy seconds are those in which at least one of them was under way.

The gap may be found from the data. Between the busy intervals of a job there are pauses of two kinds: short ones inside a
phase, between one operation and the next, and long ones between phases, where the job computes. Sorted by length they show a
wide step between the kinds. The gap is put into the widest step, measured as a ratio: at the geometric mean of the pauses on
both sides. Pauses below a thousandth of the run time never separate phases, as nobody else could use the link in them to any
effect; so that the step is looked for above that floor, and a job without longer pauses is one phase.

Operations are taken in as a stream: what is kept are disjoint busy intervals, and if these become too many, those that are
less than the floor apart are merged early. That changes no phase that a default gap could find.

I/O that never pauses may still have a period. `synthesised` cuts it into phases of that period: the folded bytes say in
which part of the period most moves, and how long it is above the mean; each phase has all bytes of its period.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from penstock.numeric.periodicity import Period, binned
from penstock.workloads.importers.job_records import IoPhases
from penstock.workloads.parameters import Floats

LEAST_PART: Final = 1e-3
"""The part of the run time below which a pause never separates phases."""
BINS: Final = 4096
MOST_KEPT: Final = 1 << 21
"""How many operations or intervals of one direction are kept before they are merged: 64 MB."""


@dataclass(frozen=True)
class IoIntervals:
    """Operations or merged operations: starts and ends in seconds, bytes, and seconds in which one was under way."""

    starts: Floats
    ends: Floats
    volumes: Floats
    busy: Floats

    def __len__(self) -> int:
        return len(self.starts)

    @classmethod
    def of(cls, starts: ArrayLike, ends: ArrayLike, volumes: ArrayLike) -> IoIntervals:
        """Operations from their `starts`, `ends` (not before the starts) and `volumes`."""
        first, last = np.asarray(starts, np.float64), np.asarray(ends, np.float64)
        last = np.maximum(first, last)
        return cls(first, last, np.asarray(volumes, np.float64), last - first)

    @classmethod
    def joined(cls, parts: list[IoIntervals]) -> IoIntervals:
        """All of the `parts`, one after the other."""
        columns = ("starts", "ends", "volumes", "busy")
        return cls(*(np.concatenate([np.zeros(0), *(getattr(one, name) for one in parts)]) for name in columns))

    def merged(self, gap: float) -> IoIntervals:
        """The same with those merged that overlap or are at most `gap` seconds apart; in the order of their starts."""
        if not len(self):
            return self
        order = np.argsort(self.starts, kind="stable")
        starts, ends, volumes, busy = (each[order] for each in (self.starts, self.ends, self.volumes, self.busy))
        covered = np.maximum.accumulate(ends)
        before = np.concatenate(([-np.inf], covered[:-1]))
        first = np.flatnonzero(starts - before > gap)
        spans = ends - starts
        filled = np.divide(busy, spans, out=np.ones_like(busy), where=spans > 0.0)
        added = np.maximum(ends - np.maximum(starts, before), 0.0) * filled
        last = np.append(first[1:], len(starts)) - 1
        return IoIntervals(starts[first], covered[last], np.add.reduceat(volumes, first), np.add.reduceat(added, first))


class IoStream:
    """A stream of operations of one direction, kept as disjoint busy intervals, and as bytes by bin of time.

    Args:
        floor: seconds apart at which intervals may be merged when they become too many.
        seconds: the run time, which is divided into `BINS`.
    """

    def __init__(self, floor: float, seconds: float) -> None:
        self._floor = floor
        self.width = (seconds or 1.0) / BINS
        self.bins = np.zeros(BINS)
        self._parts: list[IoIntervals] = []
        self._kept = 0

    def add(self, operations: IoIntervals) -> None:
        """Take in `operations`."""
        self.bins += binned(operations.starts, operations.ends, operations.volumes, self.width, BINS)
        self._parts.append(operations)
        self._kept += len(operations)
        if self._kept > MOST_KEPT:
            settled = self.intervals()
            if len(settled) > MOST_KEPT // 2:
                settled = settled.merged(self._floor)
            self._parts, self._kept = [settled], len(settled)

    def intervals(self) -> IoIntervals:
        """All of them as disjoint busy intervals."""
        return IoIntervals.joined(self._parts).merged(0.0)


def natural_gap(reads: IoIntervals, writes: IoIntervals, seconds: float) -> float:
    """The gap that the data show, in seconds: see the head of this module.

    Args:
        reads: disjoint busy intervals, in order.
        writes: likewise.
        seconds: the run time.

    Example:
        >>> starts = np.array([0.0, 1.1, 2.2, 100.0, 101.1, 200.0])  # pauses of 0.1 s and of 97 s
        >>> operations = IoIntervals.of(starts, starts + 1.0, np.ones(6))
        >>> round(natural_gap(operations, IoIntervals.joined([]), 300.0), 1)
        5.4
    """
    floor = seconds * LEAST_PART
    pauses = np.sort(np.concatenate([each.starts[1:] - each.ends[:-1] for each in (reads, writes)]))
    sides = np.concatenate(([floor], pauses[pauses > floor]))
    if len(sides) < 2 or floor <= 0.0:
        return floor
    widest = int(np.argmax(sides[1:] / sides[:-1]))
    return float(np.sqrt(sides[widest] * sides[widest + 1]))


def phases_of(reads: IoIntervals, writes: IoIntervals) -> IoPhases:
    """The phases that merged `reads` and `writes` are; one with 0 bytes is none."""
    both = IoIntervals.joined([reads, writes])
    kept = both.volumes > 0.0
    way = np.repeat([False, True], [len(reads), len(writes)])
    return IoPhases(both.starts[kept], both.ends[kept], both.volumes[kept], way[kept], both.busy[kept])


def synthesised(bins: Floats, width: float, period: Period) -> IoIntervals:
    """Phases of a period that hold all bytes.

    Args:
        bins: bytes by bin of time.
        width: seconds of a bin.
        period: the period.
    """
    size = period.seconds / width
    places = (np.arange(len(bins)) + 0.5) % size
    parts = max(min(int(size), 64), 4)
    folded = np.bincount((places / size * parts).astype(np.int64), bins, parts)
    above = folded > folded.mean()
    begin = int(np.argmax([folded[np.arange(at, at + above.sum()) % parts].sum() for at in range(parts)]))
    length = size * above.sum() / parts
    used = np.flatnonzero(bins)
    edges = np.arange((begin / parts - 1.0) * size, used[-1] + 1 + size, size)
    whole = (edges[:-1] + length / 2.0 > used[0]) & (edges[:-1] + length / 2.0 < used[-1] + 1)
    inner = edges[:-1][whole][1:]  # a period that is cut at the start or the end goes to its neighbour
    cuts = np.concatenate(([0.0], inner, [float(len(bins))]))
    moved = np.round(np.interp(cuts, np.arange(len(bins) + 1), np.concatenate(([0.0], np.cumsum(bins)))))
    starts = np.maximum(edges[:-1][whole], used[0])
    ends = np.minimum(edges[:-1][whole] + length, len(bins))
    return IoIntervals.of(starts * width, ends * width, np.diff(moved))
