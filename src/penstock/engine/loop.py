"""The event loop (000 §3.1.2): between two events all rates are constant, so dates are computed and never stepped.

One turn of the loop: ask the policy, if anything happened since it was last asked; find the next date (a completion, the
end of a work phase, a periodic decision, the limit); move every transfer on to it; apply all that happens then. An
operation is complete when at most 1e-12 of its volume is left. All that falls on one date is applied before the policy is
asked.

What the policy gives is not always what moves. Where applications have rounds, a transfer inside a round is not paused: see
`penstock.engine.rounds`. Where the platform degrades, k transfers together move at most d(k)·B.

Costs of an event, n active of m applications: log m for the heap of work ends, n for moving the transfers and finding the
next completion, and the policy's own cost, n or n log n for most.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numba import types

from penstock.engine.chain import account, end_work, next_phase
from penstock.engine.rounds import end_round, next_round_end, without_breaking_rounds
from penstock.engine.slots import compiled_view, keep_rates, occupy, refused, relocate
from penstock.engine.state import (
    DECISIONS,
    ENDS,
    EVENTS,
    FAULT_SLOT,
    FAULT_VALUE,
    HEAP,
    NOW,
    SEGMENTS,
    SLOTS,
    STALE,
    STATE_TYPE,
    TICKS,
    State,
)
from penstock.policies.compiled import kernel, part, unowned
from penstock.policies.view import RATES_SIGNATURE, Floats, Ints, View

COMPLETE: Final = 1e-12
"""An operation with no more than this part of its volume left is complete."""

# Why the loop came back.
LIMIT: Final = 0
APPLICATION_ENDED: Final = 1
NOTHING_LEFT: Final = 2
TRACE_FULL: Final = 3
# 4 to 7: what `penstock.engine.slots` refuses.
STARVED: Final = 8
"""Applications are active, none has a rate, and nothing else will ever happen."""
INVARIANT_VOLUME: Final = 9
INVARIANT_PROGRESS: Final = 10
INVARIANT_TIME: Final = 11


class Trace(NamedTuple):
    """Segments of constant rate, in bytes/s, 0 while the application waits; arrays without room record nothing."""

    application: Ints
    begin: Floats
    end: Floats
    rate: Floats

    def rows(self, which: Ints | slice) -> Trace:
        """A copy of some of the segments."""
        return Trace(
            self.application[which].copy(), self.begin[which].copy(), self.end[which].copy(), self.rate[which].copy()
        )


class Terms(NamedTuple):
    """What a run is under: B, the window's end, the policy's parameter, the date to stop at, δ of periodic decisions (0:
    none) and their origin.
    """

    bandwidth: float
    window_end: float
    parameter: float
    limit: float
    delta: float
    origin: float
    stop_at_end: bool
    """Come back when an application ends."""
    check: bool
    """Check the invariants after every event."""
    grained: bool
    """Some applications have rounds."""
    degrading: bool
    """Transfers that share the link lose some of it."""


@part
def _go_on(state: State, index: int, now: float) -> None:
    """Begin what the application does next."""
    volume = next_phase(state, index, now)
    if volume > 0.0:
        slot = state.counts[SLOTS]
        state.counts[SLOTS] += 1
        occupy(state, slot, index, volume, now)


@part
def _complete(state: State, slot: int, now: float) -> None:
    """The operation in the slot is complete; the last slot moves into its place."""
    index = state.slot_index[slot]
    transferred = state.slot_transfer[slot] - state.transfer_seconds[index]
    volume = state.slot_volume[slot]
    account(state, index, volume, volume / state.cap[index], now - state.slot_began[slot], transferred)
    last = state.counts[SLOTS] - 1
    state.counts[SLOTS] = last
    if slot != last:
        relocate(state, last, slot)
    _go_on(state, index, now)


@part
def record(state: State, trace: Trace, index: int, begin: float, rate: float) -> None:
    """Add a segment of constant rate that ends now."""
    if state.clock[NOW] > begin:
        row = state.counts[SEGMENTS]
        trace.application[row] = index
        trace.begin[row] = begin
        trace.end[row] = state.clock[NOW]
        trace.rate[row] = rate
        state.counts[SEGMENTS] = row + 1


@part
def _record_slot(state: State, trace: Trace, slot: int) -> None:
    """Close the slot's segment of constant rate."""
    record(state, trace, state.slot_index[slot], state.slot_segment_begin[slot], state.slot_segment_rate[slot])


@part
def _record_changes(state: State, trace: Trace) -> None:
    """Close the segments whose rate has just changed and open new ones."""
    now = state.clock[NOW]
    for slot in range(state.counts[SLOTS]):
        if state.slot_rate[slot] != state.slot_segment_rate[slot]:
            _record_slot(state, trace, slot)
            state.slot_segment_begin[slot] = now
            state.slot_segment_rate[slot] = state.slot_rate[slot]


@part
def broken_invariant(state: State, terms: Terms, before: float) -> int:
    """The first invariant that does not hold, or 0 (design: volume posted = moved + remaining, progress ≤ elapsed, time)."""
    now = state.clock[NOW]
    if now < before:
        return INVARIANT_TIME
    for slot in range(state.counts[SLOTS]):
        state.counts[FAULT_SLOT] = slot
        volume = state.slot_volume[slot]
        moved = (state.slot_progress[slot] - state.slot_done[slot]) * state.slot_cap[slot]
        # P is known to one rounding of its own size, so the volume moved is known to that times the cap.
        known_to = 1e-9 * volume + 4e-16 * abs(state.slot_progress[slot]) * state.slot_cap[slot]
        if state.slot_remaining[slot] < 0.0 or abs(moved + state.slot_remaining[slot] - volume) > known_to:
            state.clock[FAULT_VALUE] = moved + state.slot_remaining[slot]
            return INVARIANT_VOLUME
        elapsed = now - state.slot_release[slot]
        # A date is known to one rounding of the largest date so far.
        known_to = 1e-9 * (elapsed + abs(now) + abs(terms.origin)) + 4e-16 * volume / state.slot_cap[slot]
        if state.slot_progress[slot] > elapsed + known_to:
            state.clock[FAULT_VALUE] = state.slot_progress[slot]
            return INVARIANT_PROGRESS
    return 0


@part
def _restrain(state: State, terms: Terms) -> None:
    """Make of the rates that the policy gives those that move."""
    if terms.grained:
        without_breaking_rounds(state, terms.bandwidth)
    if terms.degrading:
        _degrade(state, terms.bandwidth)


@part
def _degrade(state: State, bandwidth: float) -> None:
    """Bring the rates of k transfers, in proportion, down to d(k)·B in all."""
    moving = 0
    total = 0.0
    for slot in range(state.counts[SLOTS]):
        if state.slot_rate[slot] > 0.0:
            moving += 1
            total += state.slot_rate[slot]
    if moving > 0 and total > bandwidth * state.degradation[moving - 1]:
        part_left = bandwidth * state.degradation[moving - 1] / total
        for slot in range(state.counts[SLOTS]):
            state.slot_rate[slot] *= part_left


@part
def _next_date(state: State, terms: Terms) -> tuple[float, float, int, bool]:
    """The next date, the seconds until then, whose completion it is (or −1), and whether it is a periodic decision."""
    now = state.clock[NOW]
    wait = np.inf
    finisher = -1
    for slot in range(state.counts[SLOTS]):
        if state.slot_rate[slot] > 0.0:
            left = state.slot_remaining[slot] / state.slot_rate[slot]
            if left < wait:
                wait, finisher = left, slot
    date = now + wait
    if state.counts[HEAP] > 0 and state.heap_time[0] < date:
        date, finisher = state.heap_time[0], -1
    ticking = False
    if terms.delta > 0.0:
        tick = terms.origin + (state.clock[TICKS] + 1.0) * terms.delta
        if tick < date:
            date, finisher = tick, -1
        ticking = tick <= date
    if date > terms.limit:
        date, finisher, ticking = terms.limit, -1, False
    if finisher < 0:
        wait = date - now
    return date, wait, finisher, ticking


@part
def _move(state: State, seconds: float, finisher: int) -> None:
    """Let every transfer go on at its rate; the finisher's ends exactly."""
    for slot in range(state.counts[SLOTS]):
        rate = state.slot_rate[slot]
        if rate > 0.0:
            remaining = max(0.0, state.slot_remaining[slot] - rate * seconds)
            if slot == finisher:
                remaining = 0.0
            state.slot_remaining[slot] = remaining
            moved = state.slot_volume[slot] - remaining
            state.slot_progress[slot] = state.slot_done[slot] + moved / state.slot_cap[slot]
            state.slot_transfer[slot] += seconds


@part
def _go_to_round_end(state: State, before: float) -> bool:
    """Go on to the first end of a round that a decision waits for, if it comes before so many seconds; returns whether.

    Nothing else happens then, but to the last bits of the date.
    """
    slot, seconds = next_round_end(state, before)
    if slot < 0:
        return False
    _move(state, seconds, -1)
    state.clock[NOW] += seconds
    end_round(state, slot)
    return True


@part
def _apply_events(state: State, trace: Trace, ticking: bool) -> None:
    """Apply all that happens at this date: completions, ends of work, the periodic decision."""
    now = state.clock[NOW]
    events = state.counts[EVENTS]
    # Downwards, as `_complete` moves the last slot, seen already, into the one it empties.
    for slot in range(state.counts[SLOTS] - 1, -1, -1):
        if state.slot_remaining[slot] <= COMPLETE * state.slot_volume[slot]:
            if len(trace.application) > 0:
                _record_slot(state, trace, slot)
            _complete(state, slot, now)
    while state.counts[HEAP] > 0 and state.heap_time[0] <= now:
        _go_on(state, end_work(state), now)
    if ticking:
        state.clock[TICKS] += 1.0
        state.counts[EVENTS] += 1
    if state.counts[EVENTS] != events:
        state.counts[STALE] = 1


@part
def _go_to(state: State, terms: Terms, trace: Trace, date: float, seconds: float, finisher: int, ticking: bool) -> None:
    """Go on to the date, or to the end of a round before it, and apply all that happens then."""
    if terms.grained and _go_to_round_end(state, seconds):
        return
    _move(state, seconds, finisher)
    state.clock[NOW] = date
    _apply_events(state, trace, ticking)


def advance(state: State, terms: Terms, trace: Trace, policy: Callable[[View, Floats], None]) -> int:
    """Run until the limit, the end of an application if so wanted, or a fault; returns which."""
    state = unowned(state)
    trace = unowned(trace)
    while True:
        size = state.counts[SLOTS]
        if len(trace.application) > 0 and len(trace.application) - state.counts[SEGMENTS] < 2 * size + 2:
            return TRACE_FULL
        if state.clock[NOW] >= terms.limit:
            return LIMIT
        if size == 0 and state.counts[HEAP] == 0 and terms.limit == np.inf:
            return NOTHING_LEFT  # whatever periodic decisions would still come
        if state.counts[STALE] != 0 and size > 0:
            state.counts[DECISIONS] += 1
            keep_rates(state, 0, size)
            policy(compiled_view(state, 0, size, terms.bandwidth, terms.window_end, terms.parameter), state.slot_rate[:size])
            fault = refused(state, 0, size, terms.bandwidth)
            if fault != 0:
                return fault
            _restrain(state, terms)
            if len(trace.application) > 0:
                _record_changes(state, trace)
        state.counts[STALE] = 0

        before, ends = state.clock[NOW], state.counts[ENDS]
        date, seconds, finisher, ticking = _next_date(state, terms)
        if date == np.inf:
            return STARVED
        _go_to(state, terms, trace, date, seconds, finisher, ticking)

        if terms.check:
            broken = broken_invariant(state, terms, before)
            if broken != 0:
                return broken
        if terms.stop_at_end and state.counts[ENDS] > ends:
            return APPLICATION_ENDED


@cache
def compiled_advance() -> Callable[..., int]:
    """`advance`, compiled for any policy given by its address."""
    signature = types.int64(STATE_TYPE, TERMS_TYPE, TRACE_TYPE, types.FunctionType(RATES_SIGNATURE))
    return kernel(advance, signature, "the simulation engine")


def new_trace(rows: int) -> Trace:
    """Room for that many segments."""
    return Trace(np.zeros(rows, np.int64), np.zeros(rows), np.zeros(rows), np.zeros(rows))


TERMS_TYPE: Final[Any] = types.NamedTuple([types.float64] * 6 + [types.boolean] * 4, Terms)
TRACE_TYPE: Final[Any] = types.NamedTuple([types.int64[::1]] + [types.float64[::1]] * 3, Trace)
