"""Segments of constant rate as means over equal bins of time, and as one step function of their sum.

Segment s says that an application had the rate r(s), in bytes/s, from b(s) to e(s). With bins of width h the mean in bin k
is Σ_s r(s) · |[b(s), e(s)] ∩ bin k| / h, so that mean · h, added over the bins, is the volume that the segments moved.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from penstock.engine import Trace

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Bins:
    """`count` equal bins of time between two dates in seconds, `begin` and `end`."""

    begin: float
    end: float
    count: int

    @property
    def seconds(self) -> float:
        """The width of a bin."""
        return (self.end - self.begin) / self.count

    @property
    def edges(self) -> Floats:
        """The dates where bins begin and end, one more than there are bins."""
        return np.linspace(self.begin, self.end, self.count + 1)


class Pieces(NamedTuple):
    """Segments cut at the edges of bins: the segment, the bin, and the seconds of that segment in that bin."""

    segment: Ints
    bin: Ints
    seconds: Floats


def cut(begin: Floats, end: Floats, bins: Bins) -> Pieces:
    """Cut the segments [begin, end] at the edges; parts outside the bins are left out."""
    edges = bins.edges
    first = np.clip(np.searchsorted(edges, begin, "right") - 1, 0, bins.count - 1)
    last = np.clip(np.searchsorted(edges, end, "left") - 1, first, bins.count - 1)
    touched = last - first + 1
    segment = np.repeat(np.arange(len(begin)), touched)
    nth = np.arange(len(segment)) - np.repeat(np.cumsum(touched) - touched, touched)
    place = first[segment] + nth
    seconds = np.minimum(end[segment], edges[place + 1]) - np.maximum(begin[segment], edges[place])
    return Pieces(segment, place, np.maximum(seconds, 0.0))


def means(row: Ints, rows: int, trace: Trace, bins: Bins) -> tuple[Floats, Floats]:
    """Means over bins of time, by row.

    Args:
        row: the row of each segment.
        rows: how many rows there are.
        trace: the segments, with rates in bytes/s.
        bins: the bins.

    Returns:
        The mean rate in bytes/s and the part of the time spent waiting, both of shape (rows, bins).
    """
    pieces = cut(trace.begin, trace.end, bins)
    cell = row[pieces.segment] * bins.count + pieces.bin
    rate = trace.rate[pieces.segment]
    shape, size = (rows, bins.count), rows * bins.count
    moved = np.bincount(cell, rate * pieces.seconds, size).reshape(shape)
    waited = np.bincount(cell, np.where(rate > 0.0, 0.0, pieces.seconds), size).reshape(shape)
    return moved / bins.seconds, waited / bins.seconds


def united(trace: Trace) -> Trace:
    """The trace with at most one segment of an application at a time.

    Simultaneous segments, on several stores or through and past a buffer, are added. An application waits where none of them
    moves data.
    """
    order = np.lexsort((trace.begin, trace.application))
    one, other = order[:-1], order[1:]
    if not np.any((trace.application[one] == trace.application[other]) & (trace.end[one] > trace.begin[other])):
        return trace
    owner = np.tile(trace.application, 2)
    dates = np.concatenate([trace.begin, trace.end])
    sign = np.repeat([1, -1], len(trace.begin))
    keys, index = np.unique(np.column_stack([owner.astype(np.float64), dates]), axis=0, return_inverse=True)
    index = index.reshape(-1)

    def running(values: Floats) -> Floats:
        """The sum over the segments that are active after each date."""
        return np.cumsum(np.bincount(index, sign * np.tile(values, 2), len(keys)))

    there, moving = (
        np.rint(running(values)) for values in (np.ones(len(trace.rate)), (trace.rate > 0.0).astype(np.float64))
    )
    rate = np.where(moving > 0.0, running(trace.rate), 0.0)
    kept = np.flatnonzero(there[:-1] > 0.0)
    rest = {name: np.zeros(len(kept), np.int64) for name in trace._fields}
    shown = {"application": keys[kept, 0].astype(np.int64), "begin": keys[kept, 1], "end": keys[kept + 1, 1]}
    return trace._replace(**{**rest, **shown, "rate": rate[kept]})


def total(trace: Trace, begin: float, end: float) -> tuple[Floats, Floats]:
    """The sum of the rates of a `trace`: dates from `begin` to `end`, and the bytes/s between each and the next."""
    dates, index = np.unique(np.concatenate([[begin, end], trace.begin, trace.end]), return_inverse=True)
    rises, falls = np.split(index[2:], 2)
    change = np.bincount(rises, trace.rate, len(dates)) - np.bincount(falls, trace.rate, len(dates))
    return dates, np.maximum(np.cumsum(change)[:-1], 0.0)
