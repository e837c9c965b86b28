"""What moved when: segments of constant rate."""

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
from penstock.model.phases import READ, WRITE
from penstock.policies.compiled import part
from penstock.policies.view import Floats, Ints


class Trace(NamedTuple):
    """Segments of constant rate, in bytes/s, 0 while the application waits."""

    application: Ints
    begin: Floats
    end: Floats
    rate: Floats
    store: Ints
    """The I/O resource; 0 on a link."""
    direction: Ints
    """READ or WRITE of `penstock.model.phases`."""

    def rows(self, which: Ints | slice) -> Trace:
        """A copy of some of the segments."""
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
    """Room for that many segments; without room nothing is recorded."""
    return new_records(rows, _SEGMENT)


def as_trace(segments: Records, rows: int) -> Trace:
    """A copy of the first rows."""
    return Trace(*(segments[name][:rows].copy() for name in Trace._fields))


def joined(parts: list[Trace]) -> Trace:
    """The segments of all parts, ordered by begin."""
    trace = Trace(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return trace.rows(np.lexsort((trace.direction, trace.store, trace.application, trace.begin)))


@part
def is_full(state: State, trace: Records) -> bool:
    """Whether a turn may close more segments than there is room for."""
    return bool(0 < len(trace) < state.counts[SEGMENTS] + 2 * state.floats.shape[1] + 2)


@part
def record(state: State, trace: Records, index: int, transfer: int, begin: float, rate: float) -> None:
    """Add a segment of constant rate that ends now."""
    if state.clock[NOW] > begin:
        segment = trace[state.counts[SEGMENTS]]
        segment.application = index
        segment.begin = begin
        segment.end = state.clock[NOW]
        segment.rate = rate
        segment.store = state.transfers[transfer].store
        segment.direction = direction_of(state, index, transfer)
        state.counts[SEGMENTS] += 1


@part
def direction_of(state: State, index: int, transfer: int) -> int:
    """Whether the transfer is a READ or a WRITE; with buffers, writes are numbered behind all reads."""
    if len(state.transfers) > state.counts[STRANDS]:
        return WRITE if transfer >= state.counts[STRANDS] else READ
    return READ if state.kinds[state.own[index].cursor - 1] == READ else WRITE


@part
def close_segment(state: State, trace: Records, slot: int, rate: float) -> None:
    """End the segment of the transfer in this place, and begin one with that rate."""
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
