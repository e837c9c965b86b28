"""What a run records if asked to: the rates of transfers (`Trace`) and the contents of the buffer (`Fill`).

Both are tables in the order of dates, in seconds, bytes and bytes/s. A row of a trace is a segment of time in which one
transfer has one rate. A row of a fill is a date at which the rates of one application change: contents are straight
lines from one row of an application to the next.

The kernel writes rows into records that Python allocates. When they are full, it returns, and Python empties them.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numba
import numpy as np

from penstock.engine.state import (
    INDEX,
    NOW,
    SEGMENT_BEGIN,
    SEGMENT_RATE,
    SEGMENTS,
    STRANDS,
    TRANSFER,
    UNIT,
    Records,
    State,
    new_records,
)
from penstock.model.application import READ, WRITE
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import inlined_kernel


class Trace(NamedTuple):
    """The rates of a run, one entry per segment of constant rate in every array.

    A segment with rate 0 is time in which the application waits. Segments are in the order of their beginnings.

    Example:
        >>> from penstock import Application, Platform, Workload
        >>> from penstock.engine import simulate
        >>> members = tuple(Application.of(name, [("write", 6.0)]) for name in "ab")
        >>> trace = simulate(Workload(Platform(2.0), members), "fcfs", trace=True).trace
        >>> for row in zip(trace.application, trace.begin, trace.end, trace.rate):
        ...     print(*(float(value) for value in row))
        0.0 0.0 3.0 2.0
        1.0 0.0 3.0 0.0
        1.0 3.0 6.0 2.0
    """

    application: Ints
    """Position in the workload."""
    begin: Floats
    """Date of its beginning, in seconds."""
    end: Floats
    """Date of its end, in seconds."""
    rate: Floats
    """Bytes/s; 0 while the application waits."""
    store: Ints
    """The I/O resource; 0 on a link."""
    direction: Ints
    """READ or WRITE of `penstock.model.application`."""

    def rows(self, which: Ints | slice) -> Trace:
        """A copy of some of the segments: `which` are their positions, or a slice."""
        return Trace(*(column[which].copy() for column in self))  # type: ignore[arg-type]  # each has its own type


_SEGMENT: Final = np.dtype(
    [
        ("application", np.int64),
        ("begin", np.float64),
        ("end", np.float64),
        ("rate", np.float64),
        ("store", np.int64),
        ("direction", np.int64),
    ]
)
SEGMENTS_TYPE: Final[Any] = numba.from_dtype(_SEGMENT)[::1]


def new_segments(rows: int) -> Records:
    """Records for so many segments (`rows`); with 0 the kernel records nothing."""
    return new_records(rows, _SEGMENT)


def as_trace(segments: Records, rows: int) -> Trace:
    """A copy of the first `rows` of the `segments`."""
    return Trace(*(segments[name][:rows].copy() for name in Trace._fields))


def joined(parts: list[Trace]) -> Trace:
    """The segments of all `parts`, in the order of their beginnings."""
    trace = Trace(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return trace.rows(np.lexsort((trace.direction, trace.store, trace.application, trace.begin)))


@inlined_kernel
def is_full(state: State, trace: Records) -> bool:
    """Whether one turn of the kernel could close more segments of `state` than the `trace` has room for."""
    return bool(0 < len(trace) < state.counts[SEGMENTS] + 2 * state.floats.shape[1] + 2)


@inlined_kernel
def record(state: State, trace: Records, index: int, transfer: int, begin: float, rate: float) -> None:
    """Add a segment that ends now, by `state`, to the `trace`.

    From the date `begin` on, `transfer` of application `index` had this `rate` in bytes/s.
    """
    if state.clock[NOW] > begin:
        segment = trace[state.counts[SEGMENTS]]
        segment.application = index
        segment.begin = begin
        segment.end = state.clock[NOW]
        segment.rate = rate
        segment.store = state.transfers[transfer].store
        segment.direction = direction_of(state, index, transfer)
        state.counts[SEGMENTS] += 1


@inlined_kernel
def direction_of(state: State, index: int, transfer: int) -> int:
    """Whether `transfer` of application `index` in `state` is a READ or a WRITE; with buffers, writes come last."""
    if len(state.transfers) > state.counts[STRANDS]:
        return WRITE if transfer >= state.counts[STRANDS] else READ
    return READ if state.kinds[state.own[index].cursor - 1] == READ else WRITE


@inlined_kernel
def close_segment(state: State, trace: Records, slot: int, rate: float) -> None:
    """End the segment of the transfer in place `slot` of `state` in the `trace`, and begin one with `rate` in units/s."""
    floats, transfer = state.floats, state.integers[TRANSFER, slot]
    record(
        state,
        trace,
        state.integers[INDEX, slot],
        transfer,
        floats[SEGMENT_BEGIN, slot],
        floats[SEGMENT_RATE, slot] * floats[UNIT, slot],
    )
    floats[SEGMENT_BEGIN, slot] = state.clock[NOW]
    floats[SEGMENT_RATE, slot] = rate


class Fill(NamedTuple):
    """The contents of the buffer, with a row for every change of an application's rates, in the order of dates.

    Contents are those at the date, rates those from the date on.
    """

    application: Ints
    """Position in the workload."""
    date: Floats
    """In seconds."""
    outgoing: Floats
    """Written and not yet in the I/O system, in bytes."""
    incoming: Floats
    """Prefetched and not yet read, in bytes."""
    write_rate: Floats
    """To the I/O system, directly and from the buffer, in bytes/s."""
    read_rate: Floats
    """From the I/O system, directly and into the buffer, in bytes/s."""

    def rows(self, which: Ints | slice) -> Fill:
        """A copy of some of the rows: `which` are their positions, or a slice."""
        return Fill(self.application[which].copy(), *(column[which].copy() for column in self[1:]))

    @property
    def dates(self) -> Floats:
        """All dates, each once, ascending."""
        return np.unique(self.date)

    def content(self, application: int, dates: Floats) -> Floats:
        """Bytes of one `application` in the buffer at the `dates` in seconds, written and prefetched data together."""
        own = self.application == application
        if not own.any():
            return np.zeros(len(dates))
        found: Floats = np.interp(dates, self.date[own], self.outgoing[own] + self.incoming[own], left=0.0)
        return found

    def total(self, dates: Floats) -> Floats:
        """Bytes of all applications in the buffer at the `dates` in seconds."""
        contents = [self.content(int(index), dates) for index in np.unique(self.application)]
        return np.sum(contents, axis=0) if contents else np.zeros(len(dates))


_ROW: Final = np.dtype([(name, np.int64 if name == "application" else np.float64) for name in Fill._fields])
FILL_TYPE: Final[Any] = numba.from_dtype(_ROW)[::1]


def new_fill(rows: int) -> Records:
    """Make records for so many `rows`; with 0 the kernel records nothing."""
    return new_records(rows, _ROW)


def as_fill(records: Records, rows: int) -> Fill:
    """A copy of the first `rows` of the `records`."""
    return Fill(*(records[name][:rows].copy() for name in Fill._fields))


def joined_fill(parts: list[Fill]) -> Fill:
    """The rows of all `parts`, one part after the other."""
    return Fill(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
