"""The state of a replay beside a burst buffer, shared between Python and the compiled loop without copies.

A *space* is a part of the buffer that fills and empties by itself: the share of each application, or the one pool of all.
An application that is in a write, or drains, is one of the `writers`; one that is in a read, or may prefetch, one of the
`readers`. Only these are looked at in an event. They join when something happens to them, and leave when the policy is next
asked and they do not move anything. What concerns the chain of phases is in the state that all loops have.

Applications and spaces are records, not one array a field: with a hundred arrays the loop took 25 s to compile.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

import numba
import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.engine.state import HEAP, State, new_state
from penstock.model import Application, InputError, Workload
from penstock.model.phases import READ, WORK
from penstock.policies.compiled import part
from penstock.policies.plan import Plan
from penstock.policies.view import Floats, Ints

Records: TypeAlias = "np.recarray[Any, Any]"
Record: TypeAlias = Any
"""One entry of `Records`."""

# What an application does: its `doing`.
NOTHING: Final = 0
READING: Final = 1
WRITING: Final = 2

# Positions in `Buffers.sizes`.
WRITERS: Final = 0
READERS: Final = 1
ROWS: Final = 2
"""Rows of the trace in use."""
DATES: Final = 3
"""Dates so far."""
SIZES: Final = 4

_APPLICATION: Final = np.dtype(
    [
        ("write_speed", np.float64),  # b_w, how fast it can write to the buffer, in bytes/s
        ("read_speed", np.float64),  # b_r, how fast it can read from the buffer
        ("write_cap", np.float64),  # the most it can use of the I/O system: min(b_w, B_w)
        ("read_cap", np.float64),  # min(b_r, B_r)
        ("space", np.int64),  # where its data in the buffer are
        ("doing", np.int64),  # READING, WRITING or NOTHING of both
        ("drawing", np.int64),  # 1 while it gets prefetched data in a read
        ("left", np.float64),  # bytes that it has still to write or to get, of the operation under way
        ("outgoing", np.float64),  # bytes in the buffer that it wrote and that are not yet in the I/O system
        ("incoming", np.float64),  # bytes in the buffer that were prefetched and that it has not read yet
        ("ahead", np.int64),  # the phase whose data are fetched from the I/O system; the end of the chain if none is
        ("to_fetch", np.float64),  # bytes of that read still to fetch
        ("write_posted", np.float64),  # when the last write began, to the nanosecond
        ("read_posted", np.float64),  # when the read that is fetched began, or could be prefetched
        ("write_volume", np.float64),  # volume of the last write, and what was outgoing when it began
        ("write_rate", np.float64),  # to the I/O system, in bytes/s
        ("read_rate", np.float64),  # from the I/O system
        ("write_before", np.float64),  # the same before the decision under way
        ("read_before", np.float64),
        ("inflow", np.float64),  # what it writes into the buffer, beside what goes straight to the I/O system
        ("asks", np.int64),  # 1 if the policy is asked about its reading
        ("direct_written", np.float64),  # bytes moved so far
        ("drained", np.float64),
        ("direct_read", np.float64),
        ("prefetched", np.float64),
        ("writer_place", np.int64),  # where it is in the list of writers, −1 if it is not
        ("reader_place", np.int64),
        ("seen_write", np.float64),  # the rates at its last row of the trace
        ("seen_read", np.float64),
        ("seen_outgoing", np.float64),  # how fast its data in the buffer grew
        ("seen_incoming", np.float64),
    ]
)
_SPACE: Final = np.dtype(
    [
        ("capacity", np.float64),  # its size in bytes
        ("level", np.float64),  # how much output there must be in it for draining to begin
        ("content", np.float64),  # all data in it
        ("output", np.float64),  # those of them that were written
        ("peak", np.float64),  # the largest content so far
        ("rise", np.float64),  # how fast the content grows
        ("output_rise", np.float64),
        ("freed", np.float64),  # how fast room falls free in it that no writer takes
        ("full", np.int64),  # 1 from when it was full to the next event in it
        ("draining", np.int64),  # 1 while those not in a write drain
    ]
)


class Limits(NamedTuple):
    """Bytes/s: B of the I/O system, B_w and B_r of its directions, and B_BB into the buffer."""

    total: float
    write: float
    read: float
    inflow: float


class Buffers(NamedTuple):
    """What is added to the `State` of a run."""

    applications: Records
    spaces: Records
    writers: Ints
    readers: Ints
    demand: Floats
    demander: Ints
    """Room for what is being divided, and between whom."""
    sizes: Ints

    kinds: NDArray[np.uint8]
    amounts: Floats
    first: Ints
    cursor: Ints
    status: NDArray[np.int8]
    clock: Floats
    counts: Ints
    """These are arrays of the state, here for those who need no more of it."""


@part
def busy(buffers: Buffers, place: int) -> int:
    """The application at this place in the list of the writers and behind it that of the readers."""
    writers = buffers.sizes[WRITERS]
    return int(buffers.writers[place] if place < writers else buffers.readers[place - writers])


_TYPES: Final[dict[str, Any]] = {
    "applications": numba.from_dtype(_APPLICATION)[::1],
    "spaces": numba.from_dtype(_SPACE)[::1],
    "kinds": types.uint8[::1],
    "status": types.int8[::1],
    **dict.fromkeys(("demand", "amounts", "clock"), types.float64[::1]),
}
BUFFERS_TYPE: Final[Any] = types.NamedTuple([_TYPES.get(name, types.int64[::1]) for name in Buffers._fields], Buffers)
LIMITS_TYPE: Final[Any] = types.NamedUniTuple(types.float64, 4, Limits)


def limits_of(workload: Workload) -> Limits:
    """What the platform bounds; B_BB is unbounded unless given."""
    platform = workload.platform
    inflow = platform.buffer.bandwidth if platform.buffer is not None else None
    return Limits(platform.bandwidth, platform.write_limit, platform.read_limit, np.inf if inflow is None else inflow)


def new_buffers(workload: Workload, state: State, capacity: Floats, threshold: float, *, capped: bool) -> Buffers:
    """An empty buffer of one space for all or one for each application, by the length of `capacity`."""
    size = len(workload.applications)
    return Buffers(
        applications=_applications(workload, pooled=len(capacity) < size, capped=capped),
        spaces=_spaces(capacity, threshold),
        writers=np.zeros(size, np.int64),
        readers=np.zeros(size, np.int64),
        demand=np.zeros(size),
        demander=np.zeros(size, np.int64),
        sizes=np.zeros(SIZES, np.int64),
        **{name: getattr(state, name) for name in ("kinds", "amounts", "first", "cursor", "status", "clock", "counts")},
    )


def _applications(workload: Workload, *, pooled: bool, capped: bool) -> Records:
    members, limits = workload.applications, limits_of(workload)
    records = np.zeros(len(members), _APPLICATION).view(np.recarray)
    records.write_speed = [application.write_speed(workload.platform) for application in members]
    records.read_speed = [application.read_speed(workload.platform) for application in members]
    records.write_cap = np.minimum(records.write_speed, limits.write)
    records.read_cap = np.minimum(records.read_speed, limits.read)
    if capped:
        records.write_speed, records.read_speed = records.write_cap, records.read_cap
    records.space = 0 if pooled else np.arange(len(members))
    records.writer_place = records.reader_place = -1
    return records


def _spaces(capacity: Floats, threshold: float) -> Records:
    records = np.zeros(len(capacity), _SPACE).view(np.recarray)
    records.capacity = capacity
    records.level = threshold * capacity if threshold > 0.0 else 0.0  # 0 · ∞ is no number
    records.full = capacity == 0.0
    records.draining = records.level == 0.0
    return records


def seconds_alone(application: Application, record: Record) -> float:
    """C_min − r: how long it takes at its own speeds, the lead included (004 eq. 2)."""
    kinds, amounts = application.phases.kinds, application.phases.amounts
    speeds = np.where(kinds == READ, record.read_speed, record.write_speed)
    return application.lead + float(np.where(kinds == WORK, amounts, amounts / speeds).sum())


def held_state(workload: Workload, plan: Plan) -> State:
    """The state of a run in which every application waits in the heap for its release."""
    origin = clock_origin(workload)
    for index, application in enumerate(workload.applications):
        if application.release < origin:
            place = f"applications[{index}].release"
            raise InputError(place, f"{application.release} s is before the clock's 0; expected {origin} s or later")
    size = len(workload.applications)
    state = new_state(workload, frozenset(range(size)), plan, slots=2 * size)
    order = np.argsort(state.release, kind="stable")
    state.heap_time[:] = state.release[order]
    state.heap_index[:] = order
    state.counts[HEAP] = size
    return state


def clock_origin(workload: Workload) -> float:
    """The date that counts as 0: the begin of the window, or date 0 without one."""
    return workload.window[0] if workload.window else 0.0
