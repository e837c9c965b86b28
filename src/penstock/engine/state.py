"""The state of a run as a struct of arrays, shared between Python and the compiled loop without copies.

Applications are numbered by their position in the workload. An application is working, active (an I/O operation posted and
not complete) or has ended. Active applications occupy the slots 0 … n − 1, so that the work of an event depends on how
many are active and not on how many there are; working ones wait in a binary heap by the end of their work.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.model import Workload
from penstock.policies.plan import Plan
from penstock.policies.view import Floats, Ints

WORKING: Final = 0
ACTIVE: Final = 1
ENDED: Final = 2
HELD: Final = 3
"""Not started yet: the caller says when."""

# Positions in `State.clock`.
NOW: Final = 0
TICKS: Final = 1
"""Periodic decisions so far."""
FAULT_VALUE: Final = 2
VIRTUAL: Final = 3
"""Virtual time: see `penstock.engine.virtual_time`."""
CAPS: Final = 4
"""Sum of the caps of the active applications, in virtual time."""
SHARE: Final = 5
"""Fraction of its cap that every active application has, in virtual time."""
CLOCKS: Final = 6

# Positions in `State.counts`.
SLOTS: Final = 0
HEAP: Final = 1
EVENTS: Final = 2
"""I/O operations posted, I/O operations completed, periodic decisions."""
DECISIONS: Final = 3
"""How often the policy was asked."""
ENDS: Final = 4
SEGMENTS: Final = 5
STALE: Final = 6
"""1 while the rates do not answer the latest events."""
FAULT_SLOT: Final = 7
COMPLETED: Final = 8
"""I/O operations completed."""
COUNTS: Final = 9


class State(NamedTuple):
    """All arrays of a run; units are seconds and bytes."""

    kinds: NDArray[np.uint8]
    amounts: Floats
    first: Ints
    """Chain of application i: kinds[first[i] : first[i + 1]]."""

    cap: Floats
    nodes: Floats
    release: Floats
    rounds: Floats
    """Rounds of an operation, between which it can be interrupted; 0 for one that can be anywhere."""
    degradation: Floats
    """Part of B that is left for 1, 2, … transfers together."""
    status: NDArray[np.int8]
    cursor: Ints
    """The phase that comes next."""
    done: Floats
    """Progress made by finished phases and before the run, in seconds of the dedicated run."""
    history: Floats
    """Progress before the run."""
    whole: Floats
    """Progress at its end."""
    rank: Floats
    """Place in the order that the policy has planned."""
    turns: Ints
    """Place of each phase's operation in the planned order of all operations; empty without such a plan."""
    worked: Floats
    """Work finished in this run."""
    moved: Floats
    """Bytes of operations finished in this run."""
    work_begin: Floats
    work_length: Floats
    since_operation: Floats
    """Work since the last finished operation, the lead left out: the work of the iteration under way."""
    in_iterations: Floats
    """Seconds of finished iterations: work and dedicated I/O."""
    iterations: Ints
    operations: Ints
    """Operations finished."""
    io_seconds: Floats
    """From posting to completion, of finished operations."""
    transfer_seconds: Floats
    """The part of it with a rate above 0."""
    end: Floats
    """NaN until it has ended."""

    slot_index: Ints
    slot_remaining: Floats
    slot_volume: Floats
    slot_cap: Floats
    slot_posted: Floats
    slot_began: Floats
    """When it was posted, not rounded."""
    slot_done: Floats
    """Progress when it was posted."""
    slot_progress: Floats
    slot_release: Floats
    slot_nodes: Floats
    slot_mean_iteration: Floats
    slot_scratch: Floats
    slot_order: Ints
    slot_whole: Floats
    slot_rank: Floats
    slot_turn: Ints
    slot_rate: Floats
    slot_before: Floats
    """The rates before the latest decision."""
    slot_transfer: Floats
    """Transfer time so far, of all operations."""
    slot_held: Ints
    """1 while a transfer goes on to the end of its round though the policy would pause it."""
    slot_segment_begin: Floats
    slot_segment_rate: Floats

    heap_time: Floats
    heap_index: Ints
    """Ends of the work phases under way, as a binary heap."""

    finish_time: Floats
    finish_index: Ints
    """Virtual dates of completion, as a binary heap; the next two are by application. Only in virtual time."""
    posted: Floats
    segment_begin: Floats

    clock: Floats
    counts: Ints


_INTEGERS: Final = frozenset(
    {
        "first",
        "turns",
        "cursor",
        "iterations",
        "operations",
        "slot_index",
        "slot_order",
        "slot_turn",
        "slot_held",
        "heap_index",
        "finish_index",
        "counts",
    }
)
_TYPES: Final = {"kinds": types.uint8[::1], "status": types.int8[::1], **dict.fromkeys(_INTEGERS, types.int64[::1])}
STATE_TYPE: Final[Any] = types.NamedTuple([_TYPES.get(name, types.float64[::1]) for name in State._fields], State)


def new_state(workload: Workload, held: frozenset[int], plan: Plan, slots: int | None = None) -> State:
    """The state at the begin of a run; the `held` applications wait for their start, the `plan` is the policy's.

    There are as many `slots` as applications unless told otherwise.
    """
    applications = workload.applications
    size = len(applications)
    lengths = [len(application.phases) for application in applications]
    degradation = workload.platform.degradation
    transfers = size if slots is None else slots

    def of(values: Any, dtype: type[np.generic] = np.float64) -> NDArray[Any]:
        return np.fromiter(values, dtype, size)

    columns: dict[str, Any] = dict.fromkeys(State._fields)
    columns.update(
        kinds=np.concatenate([application.phases.kinds for application in applications]),
        amounts=np.concatenate([application.phases.amounts for application in applications]),
        first=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        cap=of(application.cap(workload.platform) for application in applications),
        nodes=of(application.nodes for application in applications),
        release=of(application.release for application in applications),
        rounds=of(application.rounds or 0 for application in applications),
        degradation=np.ones(transfers) if degradation is None else degradation.upto(transfers),
        status=of((HELD if index in held else WORKING for index in range(size)), np.int8),
        done=of(workload.history(application) for application in applications),
        work_begin=of(workload.start(application) for application in applications),
        work_length=of(application.lead for application in applications),
        rank=plan.rank if plan.rank is not None else np.zeros(size),
        turns=plan.turns if plan.turns is not None else np.zeros(0, np.int64),
        end=np.full(size, np.nan),
        clock=np.zeros(CLOCKS),
        counts=np.zeros(COUNTS, np.int64),
    )
    columns["cursor"] = columns["first"][:-1].copy()
    columns["history"] = columns["done"].copy()
    columns["whole"] = columns["done"] + of(a.seconds_alone(a.cap(workload.platform)) for a in applications)
    for name, column in columns.items():
        if column is None:
            room = transfers if name.startswith("slot_") else size
            columns[name] = np.zeros(room, np.int64 if name in _INTEGERS else np.float64)
    state = State(**columns)
    state.clock[NOW] = workload.begin
    state.counts[STALE] = 1
    fill_heap(state)
    return state


def fill_heap(state: State) -> None:
    """Put the ends of all work phases under way into the heap; sorted, they are one."""
    started = np.flatnonzero(state.status == WORKING)
    ends = (state.work_begin + state.work_length)[started]
    order = np.argsort(ends, kind="stable")
    state.heap_time[: len(started)] = ends[order]
    state.heap_index[: len(started)] = started[order]
    state.counts[HEAP] = len(started)
