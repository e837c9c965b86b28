"""The event loop in virtual time, for policies that give every active application the same fraction of its cap.

Under such a policy (fair-share) the fraction α = min(1, B / Σ b_j) is the speed at which every active application goes
through its operation, measured in seconds of its dedicated run. Let virtual time pass at speed α: an operation of volume v
posted at virtual date u completes at u + v / b_i, whatever comes and goes meanwhile. So a heap of virtual dates of
completion replaces all scans: an event costs log n + log m, with n active of m applications, and nothing is updated for
those whom it does not concern. Virtual time starts anew whenever nobody is active.

A run that is looked at (a limit, a trace, a check) gets its slots written from the heap.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numba import types

from penstock.engine.chain import account, end_work, next_phase, pop, push
from penstock.engine.loop import (
    APPLICATION_ENDED,
    COMPLETE,
    LIMIT,
    NOTHING_LEFT,
    TERMS_TYPE,
    TRACE_FULL,
    TRACE_TYPE,
    Terms,
    Trace,
    broken_invariant,
    record,
)
from penstock.engine.state import (
    CAPS,
    DECISIONS,
    ENDS,
    EVENTS,
    HEAP,
    NOW,
    SEGMENTS,
    SHARE,
    SLOTS,
    STALE,
    STATE_TYPE,
    VIRTUAL,
    State,
)
from penstock.policies.compiled import kernel, part, unowned

RENEWAL = 1024
"""Decisions after which the sum of caps, kept by adding and subtracting, is added up anew."""


@part
def _volume(state: State, index: int) -> float:
    """The volume of the operation that the application has posted."""
    return float(state.amounts[state.cursor[index] - 1])


@part
def _go_on(state: State, index: int) -> None:
    """Begin what the application does next."""
    now = state.clock[NOW]
    volume = next_phase(state, index, now)
    if volume > 0.0:
        size = state.counts[SLOTS]
        if size == 0:
            state.clock[VIRTUAL] = 0.0
            state.clock[CAPS] = 0.0
        finish = state.clock[VIRTUAL] + volume / state.cap[index]
        push(state.finish_time, state.finish_index, size, finish, index)
        state.counts[SLOTS] = size + 1
        state.clock[CAPS] += state.cap[index]
        state.posted[index] = now
        state.segment_begin[index] = now


@part
def _complete_first(state: State, trace: Trace) -> None:
    """The operation on top of the heap is complete."""
    index = pop(state.finish_time, state.finish_index, state.counts[SLOTS])
    state.counts[SLOTS] -= 1
    state.clock[CAPS] -= state.cap[index]
    if len(trace.application) > 0:
        record(state, trace, index, state.segment_begin[index], state.clock[SHARE] * state.cap[index])
    spent = state.clock[NOW] - state.posted[index]
    volume = _volume(state, index)
    account(state, index, volume, volume / state.cap[index], spent, spent)
    _go_on(state, index)


@part
def _decide(state: State, terms: Terms, trace: Trace) -> None:
    """Set the fraction that everyone gets."""
    state.counts[DECISIONS] += 1
    if state.counts[DECISIONS] % RENEWAL == 0:
        total = 0.0
        for place in range(state.counts[SLOTS]):
            total += state.cap[state.finish_index[place]]
        state.clock[CAPS] = total
    carried = terms.bandwidth * state.degradation[state.counts[SLOTS] - 1]
    share = min(1.0, carried / state.clock[CAPS])
    if len(trace.application) > 0 and share != state.clock[SHARE]:
        for place in range(state.counts[SLOTS]):
            index = state.finish_index[place]
            record(state, trace, index, state.segment_begin[index], state.clock[SHARE] * state.cap[index])
            state.segment_begin[index] = state.clock[NOW]
    state.clock[SHARE] = share


@part
def _go_to_next_date(state: State, terms: Terms) -> None:
    """Let time pass, real and virtual, to the next completion, end of work, or the limit; infinite if there is none."""
    now, share = state.clock[NOW], state.clock[SHARE]
    date = np.inf
    completing = False
    if state.counts[SLOTS] > 0:
        date = now + max(0.0, state.finish_time[0] - state.clock[VIRTUAL]) / share
        completing = True
    if state.counts[HEAP] > 0 and state.heap_time[0] < date:
        date, completing = state.heap_time[0], False
    if date > terms.limit:
        date, completing = terms.limit, False
    state.clock[NOW] = date
    if completing:
        state.clock[VIRTUAL] = state.finish_time[0]
    else:
        state.clock[VIRTUAL] += share * (date - now)


@part
def _write_slots(state: State) -> None:
    """Show the active applications in the slots, as the other loop keeps them."""
    now = state.clock[NOW]
    for place in range(state.counts[SLOTS]):
        index = state.finish_index[place]
        volume, cap = _volume(state, index), state.cap[index]
        left = min(max(0.0, state.finish_time[place] - state.clock[VIRTUAL]), volume / cap)
        state.slot_index[place] = index
        state.slot_remaining[place] = min(left * cap, volume)
        state.slot_volume[place] = volume
        state.slot_cap[place] = cap
        state.slot_began[place] = state.posted[index]
        state.slot_done[place] = state.done[index]
        state.slot_progress[place] = state.done[index] + (volume - state.slot_remaining[place]) / cap
        state.slot_release[place] = state.release[index]
        state.slot_transfer[place] = state.transfer_seconds[index] + now - state.posted[index]
        state.slot_segment_begin[place] = state.segment_begin[index]
        state.slot_segment_rate[place] = state.clock[SHARE] * cap


def advance_together(state: State, terms: Terms, trace: Trace) -> int:
    """Run until the limit or the end of an application if so wanted; returns which, as `penstock.engine.loop.advance`."""
    state = unowned(state)
    trace = unowned(trace)
    while True:
        size = state.counts[SLOTS]
        if len(trace.application) > 0 and len(trace.application) - state.counts[SEGMENTS] < 2 * size + 2:
            return TRACE_FULL
        if state.clock[NOW] >= terms.limit:
            _write_slots(state)
            return LIMIT
        if size == 0 and state.counts[HEAP] == 0 and terms.limit == np.inf:
            return NOTHING_LEFT
        if state.counts[STALE] != 0 and size > 0:
            _decide(state, terms, trace)
        state.counts[STALE] = 0
        before, ends, events = state.clock[NOW], state.counts[ENDS], state.counts[EVENTS]
        _go_to_next_date(state, terms)
        now = state.clock[NOW]
        while state.counts[SLOTS] > 0 and _is_complete(state):
            _complete_first(state, trace)
        while state.counts[HEAP] > 0 and state.heap_time[0] <= now:
            _go_on(state, end_work(state))
        if state.counts[EVENTS] != events:
            state.counts[STALE] = 1
        if terms.check:
            _write_slots(state)
            broken = broken_invariant(state, terms, before)
            if broken != 0:
                return broken
        if terms.stop_at_end and state.counts[ENDS] > ends:
            _write_slots(state)
            return APPLICATION_ENDED


@part
def _is_complete(state: State) -> bool:
    """Whether at most 1e-12 of the operation on top of the heap is left."""
    index = state.finish_index[0]
    alone = _volume(state, index) / state.cap[index]
    return bool(state.finish_time[0] - state.clock[VIRTUAL] <= COMPLETE * alone)


@cache
def compiled_advance_together() -> Callable[..., int]:
    """`advance_together`, compiled."""
    return kernel(advance_together, types.int64(STATE_TYPE, TERMS_TYPE, TRACE_TYPE), "virtual time")
