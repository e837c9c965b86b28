"""From one date to the next: which it is, and what has moved by then."""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.engine.buffered.room import incoming_growth, outgoing_growth, see_room
from penstock.engine.buffered.state import DATES, READERS, READING, WRITERS, WRITING, Buffers, Record, busy
from penstock.engine.loop import Terms
from penstock.engine.state import EVENTS, HEAP, NOW, STALE, TICKS, State
from penstock.policies.compiled import part

RENEWAL: Final = 1024
"""Dates after which contents, kept by adding and subtracting, are added up anew."""

# What the next date is that of.
END_OF_WORK: Final = 0
OTHER: Final = 1
"""The end of an operation, or of data in the buffer."""
FULL: Final = 2
LEVEL: Final = 3
TICK: Final = 4


@part
def go_to_next_date(state: State, buffers: Buffers, terms: Terms) -> bool:
    """Let time pass to the next date and move all data; whether there is one."""
    wait, what, which = _next_in_buffer(buffers)
    date = state.clock[NOW] + wait
    if state.counts[HEAP] > 0 and state.heap_time[0] <= date:
        date, what = state.heap_time[0], END_OF_WORK
    if terms.delta > 0.0:
        tick = terms.origin + (state.clock[TICKS] + 1.0) * terms.delta
        if tick <= date:
            date, what = tick, TICK
    if date == np.inf:
        return False
    if what in (END_OF_WORK, TICK):
        wait = date - state.clock[NOW]
    state.clock[NOW] = date
    _move(state, buffers, wait)
    if what == FULL:
        buffers.spaces[which].content = buffers.spaces[which].capacity
    elif what == LEVEL:
        buffers.spaces[which].output = buffers.spaces[which].level
    elif what == TICK:
        state.clock[TICKS] += 1.0
        state.counts[EVENTS] += 1
        state.counts[STALE] = 1
        for place in range(len(buffers.spaces)):
            see_room(buffers.spaces[place])
    return True


@part
def _next_in_buffer(buffers: Buffers) -> tuple[float, int, int]:
    """Seconds until the next operation, data or room come to an end; what that is, and of which space."""
    wait, what, which = np.inf, OTHER, -1
    for place in range(buffers.sizes[WRITERS] + buffers.sizes[READERS]):
        own = buffers.applications[busy(buffers, place)]
        until = _until_written(own) if place < buffers.sizes[WRITERS] else _until_read(own)
        if until < wait:
            wait, what = until, OTHER
        wait, what, which = _until_filled(buffers, own.space, wait, what, which)
    return wait, what, which


@part
def _until_written(own: Record) -> float:
    """Seconds until the write is complete or the output drained."""
    if own.doing == WRITING:
        speed = own.write_rate + own.inflow
        return float(own.left / speed) if speed > 0.0 else np.inf
    return float(own.outgoing / own.write_rate) if own.write_rate > 0.0 else np.inf


@part
def _until_read(own: Record) -> float:
    """Seconds until the read is complete, prefetched data are used up or a read is fetched."""
    wait = np.inf
    if own.doing == READING:
        speed = own.read_speed if own.drawing != 0 else own.read_rate
        if speed > 0.0:
            wait = min(wait, own.left / speed)
        if speed > own.read_rate:
            wait = min(wait, own.incoming / (speed - own.read_rate))
    if own.read_rate > 0.0:
        wait = min(wait, own.to_fetch / own.read_rate)
    return float(wait)


@part
def _until_filled(buffers: Buffers, index: int, wait: float, what: int, which: int) -> tuple[float, int, int]:
    """The same with the space: sooner, if it is full or its output at the level before."""
    space = buffers.spaces[index]
    if space.full == 0 and space.rise > 0.0:
        until = max(0.0, space.capacity - space.content) / space.rise
        if until < wait:
            wait, what, which = until, FULL, index
    if space.draining == 0 and space.output_rise > 0.0:
        until = max(0.0, space.level - space.output) / space.output_rise
        if until < wait:
            wait, what, which = until, LEVEL, index
    return wait, what, which


@part
def _move(state: State, buffers: Buffers, seconds: float) -> None:
    """Let all data move on at their rates."""
    for place in range(buffers.sizes[WRITERS]):
        own = buffers.applications[buffers.writers[place]]
        if own.write_rate > 0.0:
            state.transfer_seconds[buffers.writers[place]] += seconds
        _move_written(buffers, own, seconds)
    for place in range(buffers.sizes[READERS]):
        own = buffers.applications[buffers.readers[place]]
        if own.read_rate > 0.0 and own.write_rate == 0.0:
            state.transfer_seconds[buffers.readers[place]] += seconds
        _move_read(buffers, own, seconds)
    buffers.sizes[DATES] += 1
    if buffers.sizes[DATES] % RENEWAL == 0:
        _renew_contents(buffers)
    for place in range(buffers.sizes[WRITERS] + buffers.sizes[READERS]):
        space = buffers.spaces[buffers.applications[busy(buffers, place)].space]
        space.peak = max(space.peak, space.content)


@part
def _move_written(buffers: Buffers, own: Record, seconds: float) -> None:
    moved = own.write_rate * seconds
    change = max(-own.outgoing, outgoing_growth(own) * seconds)
    if own.doing == WRITING:
        own.direct_written += moved
        own.left = max(0.0, own.left - moved - change)
    else:
        own.drained -= change
    own.outgoing += change
    buffers.spaces[own.space].content += change
    buffers.spaces[own.space].output += change


@part
def _move_read(buffers: Buffers, own: Record, seconds: float) -> None:
    moved = min(own.read_rate * seconds, own.to_fetch)
    change = max(-own.incoming, incoming_growth(own) * seconds)
    own.to_fetch -= moved
    if own.doing == READING:
        own.direct_read += moved
        own.left = max(0.0, own.left - (own.read_speed if own.drawing != 0 else own.read_rate) * seconds)
    else:
        own.prefetched += moved
        change = moved
    own.incoming += change
    buffers.spaces[own.space].content += change


@part
def _renew_contents(buffers: Buffers) -> None:
    """Add up the data in each space anew."""
    for place in range(len(buffers.spaces)):
        buffers.spaces[place].content = 0.0
        buffers.spaces[place].output = 0.0
    for index in range(len(buffers.applications)):
        own = buffers.applications[index]
        buffers.spaces[own.space].content += own.outgoing + own.incoming
        buffers.spaces[own.space].output += own.outgoing
