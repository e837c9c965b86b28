"""An application on its way along its chain: what begins next, what a finished phase is worth.

Shared by the loops: how transfers go on is theirs, what comes before and after is the same.
"""

from __future__ import annotations

from penstock.engine.state import ACTIVE, COMPLETED, ENDED, ENDS, EVENTS, HEAP, WORKING, State
from penstock.model.phases import WORK
from penstock.policies.compiled import part
from penstock.policies.view import Floats, Ints


@part
def push(times: Floats, indices: Ints, size: int, time: float, index: int) -> None:
    """Add an entry to a binary heap of `size` entries, earliest first."""
    hole = size
    while hole > 0:
        parent = (hole - 1) // 2
        if times[parent] <= time:
            break
        times[hole] = times[parent]
        indices[hole] = indices[parent]
        hole = parent
    times[hole] = time
    indices[hole] = index


@part
def pop(times: Floats, indices: Ints, size: int) -> int:
    """Take the earliest entry out of a binary heap of `size` entries; returns its index."""
    top = indices[0]
    last = size - 1
    time, index = times[last], indices[last]
    hole, child = 0, 1
    while child < last:
        if child + 1 < last and times[child + 1] < times[child]:
            child += 1
        if times[child] >= time:
            break
        times[hole] = times[child]
        indices[hole] = indices[child]
        hole = child
        child = 2 * hole + 1
    times[hole] = time
    indices[hole] = index
    return int(top)


@part
def next_phase(state: State, index: int, now: float) -> float:
    """Begin what the application does next; returns the volume of the operation it posts, 0 if it works or has ended.

    Operations of volume 0 are skipped.
    """
    cursor = state.cursor[index]
    last = state.first[index + 1]
    while cursor < last and state.kinds[cursor] != WORK and state.amounts[cursor] == 0.0:
        cursor += 1
    if cursor == last:
        state.cursor[index] = cursor
        state.status[index] = ENDED
        state.end[index] = now
        state.counts[ENDS] += 1
        return 0.0
    state.cursor[index] = cursor + 1
    amount = state.amounts[cursor]
    if state.kinds[cursor] != WORK:
        state.status[index] = ACTIVE
        state.counts[EVENTS] += 1
        return float(amount)
    state.status[index] = WORKING
    state.work_begin[index] = now
    state.work_length[index] = amount
    state.since_operation[index] += amount
    push(state.heap_time, state.heap_index, state.counts[HEAP], now + amount, index)
    state.counts[HEAP] += 1
    return 0.0


@part
def end_work(state: State) -> int:
    """The application on top of the heap has done its work; returns which."""
    index = pop(state.heap_time, state.heap_index, state.counts[HEAP])
    state.counts[HEAP] -= 1
    state.done[index] += state.work_length[index]
    state.worked[index] += state.work_length[index]
    return index


@part
def account(state: State, index: int, volume: float, alone: float, io_seconds: float, transfer_seconds: float) -> None:
    """Enter a completed operation, which takes `alone` seconds by itself, into the books of its application."""
    state.done[index] += alone
    state.moved[index] += volume
    state.io_seconds[index] += io_seconds
    state.transfer_seconds[index] += transfer_seconds
    # What comes before any work of the chain, v_i^(0), belongs to no iteration (000 §4.2).
    if state.iterations[index] > 0 or state.since_operation[index] > 0.0:
        state.in_iterations[index] += state.since_operation[index] + alone
        state.iterations[index] += 1
    state.since_operation[index] = 0.0
    state.operations[index] += 1
    state.counts[COMPLETED] += 1
    state.counts[EVENTS] += 1
