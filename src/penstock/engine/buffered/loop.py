"""The event loop beside a burst buffer: between two events all rates are constant, so dates are computed and never stepped.

One turn: ask the policy and divide the room in the buffer, if anything happened since that was last done; find the next
date; move all data on to it; apply all that happens then. An event costs time in the number of writers and readers, with a
logarithm for the heap of work ends, and the policy's own cost.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

from numba import types

from penstock.engine.buffered.dates import go_to_next_date
from penstock.engine.buffered.events import apply_events
from penstock.engine.buffered.fill import FILL_TYPE, Fill, record
from penstock.engine.buffered.room import NO_ROOM, divide_room, find_rises
from penstock.engine.buffered.sharing import SETTLED, begin_decision, first_question, next_question, progress, show, take
from penstock.engine.buffered.state import BUFFERS_TYPE, LIMITS_TYPE, NOTHING, READERS, ROWS, WRITERS, Buffers, Limits
from penstock.engine.loop import (
    INVARIANT_PROGRESS,
    INVARIANT_TIME,
    INVARIANT_VOLUME,
    NOTHING_LEFT,
    STARVED,
    TERMS_TYPE,
    TRACE_FULL,
    Terms,
)
from penstock.engine.slots import compiled_view, refused
from penstock.engine.state import DECISIONS, FAULT_SLOT, FAULT_VALUE, HEAP, NOW, STALE, STATE_TYPE, State
from penstock.policies.compiled import kernel, part, unowned
from penstock.policies.view import RATES_SIGNATURE, Floats, View

INVARIANT_ROOM: Final = 12
"""A space holds less than nothing or more than its size."""


@part
def _trace_is_full(buffers: Buffers, fill: Fill) -> bool:
    """Whether there may be no room for a row of every application."""
    return bool(0 < len(fill.date) < buffers.sizes[ROWS] + len(buffers.applications))


@part
def _broken_invariant(state: State, buffers: Buffers, terms: Terms, before: float) -> int:
    """The first invariant that does not hold, or 0: no space under 0 or over its size, all that was written is in the I/O
    system or in the buffer, all that was fetched is with the application or in the buffer, progress ≤ elapsed, time.
    """
    now = state.clock[NOW]
    if now < before:
        return INVARIANT_TIME
    for place in range(len(buffers.spaces)):
        space = buffers.spaces[place]
        state.clock[FAULT_VALUE] = space.content
        if not -1e-9 * space.peak <= space.content <= space.capacity * (1.0 + 1e-9):
            return INVARIANT_ROOM
    for index in range(len(buffers.applications)):
        own = buffers.applications[index]
        state.counts[FAULT_SLOT] = index
        volume = state.moved[index]
        if own.doing != NOTHING:
            volume += state.amounts[state.cursor[index] - 1] - own.left
        left_it = own.direct_written + own.drained + own.outgoing
        fetched = own.direct_read + own.prefetched
        state.clock[FAULT_VALUE] = left_it + fetched - own.incoming
        error = abs(state.clock[FAULT_VALUE] - volume)
        if own.outgoing < 0.0 or own.incoming < 0.0 or error > 1e-9 * (left_it + fetched):
            return INVARIANT_VOLUME
        state.clock[FAULT_VALUE] = progress(state, buffers, index)
        elapsed = max(0.0, now - state.release[index])
        if state.clock[FAULT_VALUE] > elapsed + 1e-9 * (elapsed + abs(now) + abs(terms.origin)):
            return INVARIANT_PROGRESS
    return 0


def advance(
    state: State, buffers: Buffers, terms: Terms, limits: Limits, fill: Fill, policy: Callable[[View, Floats], None]
) -> int:
    """Run until nothing is left to do or to drain, the trace is full, or a fault; returns which."""
    state = unowned(state)
    buffers = unowned(buffers)
    fill = unowned(fill)
    while True:
        if _trace_is_full(buffers, fill):
            return TRACE_FULL
        if state.counts[STALE] != 0:
            begin_decision(buffers)
            again = True
            question, bandwidth = first_question(buffers, limits)
            while question != SETTLED:
                size = show(state, buffers, question, bandwidth)
                nothing = bandwidth <= NO_ROOM * limits.total
                if size > 0 and not nothing:
                    state.counts[DECISIONS] += 1
                    view = compiled_view(state, 0, size, bandwidth, terms.window_end, terms.parameter)
                    policy(view, state.slot_rate[:size])
                    fault = refused(state, 0, size, bandwidth)
                    if fault != 0:
                        return fault
                take(state, buffers, nothing)
                question, bandwidth = next_question(buffers, limits, question)
                if question == SETTLED and divide_room(buffers, limits) and again:
                    again = False
                    question, bandwidth = first_question(buffers, limits)
            find_rises(buffers)
            state.counts[STALE] = 0
        if len(fill.date) > 0:
            record(buffers, fill)
        if state.counts[HEAP] + buffers.sizes[WRITERS] + buffers.sizes[READERS] == 0:
            return NOTHING_LEFT
        before = state.clock[NOW]
        if not go_to_next_date(state, buffers, terms):
            return STARVED
        apply_events(state, buffers)
        broken = _broken_invariant(state, buffers, terms, before) if terms.check else 0
        if broken != 0:
            return broken


@cache
def compiled_advance() -> Callable[..., int]:
    """`advance`, compiled for any policy given by its address."""
    policy = types.FunctionType(RATES_SIGNATURE)
    signature = types.int64(STATE_TYPE, BUFFERS_TYPE, TERMS_TYPE, LIMITS_TYPE, FILL_TYPE, policy)
    return kernel(advance, signature, "the replay beside a burst buffer")
