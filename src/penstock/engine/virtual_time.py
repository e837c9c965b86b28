"""Virtual time, for policies that give every active application the same fraction of its cap.

Under such a policy (fair-share) the fraction α = min(1, B / Σ b_j) is the speed at which every active application proceeds
through its operation, in seconds of its dedicated run. Let virtual time pass at speed α: an operation of volume v posted at
virtual date u completes at u + v / b_i, whatever is posted or completed meanwhile. So a heap of virtual completion dates
replaces all scans. An event costs log n + log m, with n active of m applications, and updates nothing for the others.
Virtual time restarts whenever no application is active.

The places of the store are filled in when the kernel returns, or when invariants are checked.
"""

from __future__ import annotations

import numpy as np

from penstock.engine.chain import compiled_progress_during, pop, push
from penstock.engine.state import (
    BEGAN,
    CAPS,
    DECISIONS,
    DONE,
    INDEX,
    NOW,
    SEGMENT_BEGIN,
    SEGMENT_RATE,
    SHARE,
    SLOTS,
    TRANSFER,
    UNIT,
    VIRTUAL,
    Records,
    State,
)
from penstock.engine.trace import record
from penstock.engine.transfers import CAP, PROGRESS, RATE, RELEASE, REMAINING, TRANSFERRING, VOLUME
from penstock.model.application import READ
from penstock.numeric.compiled import inlined_kernel
from penstock.numeric.tolerances import COMPLETE

RENEWAL = 1024
"""Decisions after which the sum of caps, kept by adding and subtracting, is added up anew."""


@inlined_kernel
def cap_of(state: State, index: int) -> float:
    """The cap of the operation that application `index` of `state` has posted, in units/s."""
    own = state.own[index]
    return float(own.read_cap if state.kinds[own.cursor - 1] == READ else own.write_cap)


@inlined_kernel
def volume_of(state: State, index: int) -> float:
    """The volume of the operation that application `index` of `state` has posted, in units."""
    return float(state.amounts[state.own[index].cursor - 1])


@inlined_kernel
def post_in_virtual_time(state: State, index: int, volume: float) -> None:
    """Post an operation of `volume` units of application `index` in `state`."""
    size = state.counts[SLOTS]
    if size == 0:
        state.clock[VIRTUAL] = 0.0
        state.clock[CAPS] = 0.0
    own = state.own[index]
    cap = cap_of(state, index)
    own.alone = volume / cap
    push(state.finishes, size, state.clock[VIRTUAL] + own.alone, index)
    state.counts[SLOTS] = size + 1
    state.clock[CAPS] += cap
    own.counted = own.began
    state.stores[0].stale = 1


@inlined_kernel
def complete_in_virtual_time(state: State, trace: Records) -> int:
    """Complete the operation on top of the heap of `state`; returns whose it is. The `trace` gets its last segment."""
    index = pop(state.finishes, state.counts[SLOTS])
    state.counts[SLOTS] -= 1
    cap = cap_of(state, index)
    state.clock[CAPS] -= cap
    if len(trace) > 0:
        own = state.own[index]
        record(state, trace, index, own.first_use, own.counted, state.clock[SHARE] * cap)
    state.stores[0].stale = 1
    return index


@inlined_kernel
def decide_in_virtual_time(state: State, trace: Records) -> None:
    """Set the fraction that everyone gets, and the date of the first completion, in `state`.

    The `trace` gets the segments that end because the fraction changes.
    """
    here = state.stores[0]
    size = state.counts[SLOTS]
    now = state.clock[NOW]
    state.stores[1].node = np.inf
    if size == 0:
        return
    if here.stale != 0:
        here.stale = 0
        state.counts[DECISIONS] += 1
        if state.counts[DECISIONS] % RENEWAL == 0:
            total = 0.0
            for place in range(size):
                total += cap_of(state, state.finishes[place].index)
            state.clock[CAPS] = total
        share = min(1.0, here.total * state.degradation[size - 1] / state.clock[CAPS])
        if len(trace) > 0 and share != state.clock[SHARE]:
            for place in range(size):
                index = state.finishes[place].index
                own = state.own[index]
                record(state, trace, index, own.first_use, own.counted, state.clock[SHARE] * cap_of(state, index))
                own.counted = now
        state.clock[SHARE] = share
    # As a quotient of what is known for long: divided by the share it would wait for that division first.
    slower = max(1.0, state.clock[CAPS] / (here.total * state.degradation[size - 1]))
    state.stores[1].node = now + max(0.0, state.finishes[0].time - state.clock[VIRTUAL]) * slower


@inlined_kernel
def pass_virtual_time(state: State, before: float) -> None:
    """Let the virtual time of `state` pass from the date `before` to now."""
    now = state.clock[NOW]
    if now == state.stores[1].node:
        state.clock[VIRTUAL] = state.finishes[0].time
    else:
        state.clock[VIRTUAL] += state.clock[SHARE] * (now - before)
    if state.counts[SLOTS] > 0:
        state.stores[0].busy += now - before


@inlined_kernel
def is_complete(state: State) -> bool:
    """Whether the operation on top of the heap of `state` is complete (`COMPLETE`)."""
    left = state.finishes[0].time - state.clock[VIRTUAL]
    return bool(left <= COMPLETE * state.own[state.finishes[0].index].alone)


@inlined_kernel
def write_places(state: State) -> None:
    """Show the active applications of `state` in the places of the store."""
    here, floats, now = state.stores[0], state.floats, state.clock[NOW]
    here.up = here.moving = state.counts[SLOTS]
    for place in range(state.counts[SLOTS]):
        index = state.finishes[place].index
        own = state.own[index]
        volume, cap = volume_of(state, index), cap_of(state, index)
        left = min(max(0.0, state.finishes[place].time - state.clock[VIRTUAL]), volume / cap)
        state.integers[INDEX, place] = index
        state.integers[TRANSFER, place] = own.first_use
        floats[REMAINING, place] = min(left * cap, volume)
        floats[VOLUME, place] = volume
        floats[CAP, place] = cap
        floats[RATE, place] = state.clock[SHARE] * cap
        floats[BEGAN, place] = own.began
        floats[DONE, place] = own.done
        floats[PROGRESS, place] = compiled_progress_during(own.done, volume, floats[REMAINING, place], cap)
        floats[RELEASE, place] = own.release
        floats[TRANSFERRING, place] = own.transfer_seconds + now - own.began
        floats[SEGMENT_BEGIN, place] = own.counted
        floats[SEGMENT_RATE, place] = state.clock[SHARE] * cap
        floats[UNIT, place] = own.bytes
