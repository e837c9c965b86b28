"""Between two dates of a run with buffers: when the next one is, and what moves until then (004 §7).

All rates are constant between dates. The next date is the earliest at which a write, a read or a prefetch is complete,
output is drained, prefetched data are used up, a space is full, or the output in it reaches its `level`. `find_next` finds
it; `move_buffered` moves all data on to it.

Contents of spaces are kept by adding and subtracting what moves. Roundings accumulate in such sums, so every `RENEWAL` dates
the contents are added up anew from the strands. At the date at which a space is full, or its output at the level, the
amount is set to exactly that.

Amounts of strands are in units, those of spaces in bytes, waits in seconds.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.engine.state import (
    ACTIVE,
    DATES,
    FETCHED,
    FETCHES,
    NEXT,
    NOW,
    READERS,
    STORES,
    TRANSFER,
    UNIT,
    WAIT,
    WHICH,
    Record,
    State,
)
from penstock.engine.terms import Terms
from penstock.engine.tier import (
    READING,
    WRITING,
    Tier,
    fetched,
    moved_of,
    number_at,
    progress_of,
    read_rate,
    space_to_see,
    spaces_to_see,
    strand_at,
    write_rate,
)
from penstock.engine.transfers import RATE, REMAINING, VOLUME, places
from penstock.numeric.compiled import inlined_kernel
from penstock.numeric.tolerances import COMPLETE, WAIT_OVER

RENEWAL: Final = 1024
"""Dates after which contents, kept by adding and subtracting, are added up anew."""

# What happens at the next date of the buffers.
OTHER: Final = 0
"""An operation ends, or data in the buffer do."""
FULL: Final = 1
LEVEL: Final = 2


@inlined_kernel
def find_next(state: State, terms: Terms, tier: Tier) -> None:
    """Find the seconds until the next operation ends, or data or room run out, at the rates in `state` and `tier`.

    The state notes the wait, what it ends with (`FULL`, `LEVEL` or `OTHER`) and in which space. `terms` has the bytes that a
    plan lends to a read.
    """
    wait, what, which = np.inf, OTHER, -1
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        wait = min(wait, here.wait)
        for slot in range(here.middle - here.down, here.middle):
            wait = min(wait, _until_written(strand_at(state, tier, slot), state.floats[RATE, slot]))
    for entry in range(state.counts[READERS]):
        strand = tier.strands[entry].reader
        wait = min(wait, _until_read(state, terms, tier.strands[strand], read_rate(state, strand)))
    for entry in range(spaces_to_see(state, tier)):
        index = space_to_see(state, tier, entry)
        space = tier.spaces[index]
        if space.full == 0 and space.rise > 0.0:
            until = max(0.0, space.capacity - space.content) / space.rise
            if until < wait:
                wait, what, which = until, FULL, index
        if space.draining == 0 and space.output_rise > 0.0:
            until = max(0.0, space.level - space.output) / space.output_rise
            if until < wait:
                wait, what, which = until, LEVEL, index
    state.clock[WAIT] = wait
    state.counts[NEXT] = what
    state.counts[WHICH] = which


@inlined_kernel
def until_fetched(state: State, store: int) -> float:
    """Seconds until the first prefetch of `store` is complete, at the rates in `state`; infinite if none moves."""
    wait, floats, here = np.inf, state.floats, state.stores[store]
    for slot in places(here.middle, here.middle + here.up):
        if floats[RATE, slot] > 0.0 and floats[FETCHES, slot] != 0.0:
            wait = min(wait, floats[REMAINING, slot] / floats[RATE, slot])
    return float(wait)


@inlined_kernel
def _until_written(own: Record, rate: float) -> float:
    """Seconds until the write is complete or the output drained."""
    if own.doing == WRITING:
        speed = rate + own.inflow
        return float(own.left / speed) if speed > 0.0 else np.inf
    return float(own.outgoing / rate) if rate > 0.0 else np.inf


@inlined_kernel
def _until_read(state: State, terms: Terms, own: Record, rate: float) -> float:
    """Seconds until the read is complete, prefetched data are used up or a read is fetched."""
    wait = np.inf
    if own.doing == READING:
        speed = state.own[own.index].read_speed if own.drawing != 0 else rate
        if speed > 0.0:
            wait = min(wait, own.left / speed)
        if own.drawing != 0 and speed > rate:
            wait = min(wait, (own.incoming + terms.lent / own.unit) / (speed - rate))
    if rate > 0.0:
        wait = min(wait, own.to_fetch / rate)
    return float(wait)


@inlined_kernel
def move_buffered(state: State, terms: Terms, tier: Tier, seconds: float, arrived: bool) -> None:
    """Move all data of `state` and `tier` on by `seconds` at their rates; `terms` has the options of the run.

    `arrived` says that this ends at the date that `find_next` found.
    """
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        if here.moving > 0:
            here.busy += seconds
        for slot in range(here.middle - here.down, here.middle):
            _move_written(state, tier, slot, seconds)
        _fetch(state, here, seconds)
        if seconds >= here.wait * (1.0 - WAIT_OVER):
            _find_fetched(state, tier, here)
        if len(tier.spaces) > 1 or terms.shows:
            _count_fetched(state, terms, tier, here, seconds)
        here.since = state.clock[NOW]
    tier.spaces[0].content += tier.spaces[0].fetching * seconds
    for entry in range(state.counts[READERS]):
        strand = tier.strands[entry].reader
        _move_read(state, terms, tier, strand, state.transfers[strand].place, seconds)
    state.counts[DATES] += 1
    if state.counts[DATES] % RENEWAL == 0:
        _renew_contents(state, tier)
    if arrived and state.counts[NEXT] == FULL:
        tier.spaces[state.counts[WHICH]].content = tier.spaces[state.counts[WHICH]].capacity
    elif arrived and state.counts[NEXT] == LEVEL:
        tier.spaces[state.counts[WHICH]].output = tier.spaces[state.counts[WHICH]].level
    for entry in range(spaces_to_see(state, tier)):
        space = tier.spaces[space_to_see(state, tier, entry)]
        space.peak = max(space.peak, space.content)


@inlined_kernel
def _move_written(state: State, tier: Tier, slot: int, seconds: float) -> None:
    """Move the write in this place on: to the store and into the buffer, or out of the buffer if it drains."""
    own, rate = strand_at(state, tier, slot), state.floats[RATE, slot]
    if rate > 0.0:
        state.own[own.index].linked_seconds += seconds / state.own[own.index].uses
    if own.doing == WRITING:
        if rate + own.inflow > 0.0:
            own.served += seconds
        moved = min(own.left, rate * seconds)
        change = min(own.left - moved, own.inflow * seconds)
        own.direct_written += moved
        own.left -= moved + change
    else:
        change = max(-own.outgoing, -rate * seconds)
        own.drained -= change
    own.outgoing += change
    space = tier.spaces[own.space]
    space.content += change * own.unit
    space.output += change * own.unit


@inlined_kernel
def _fetch(state: State, here: Record, seconds: float) -> None:
    """Move the prefetches of the store on.

    What they bring is entered into the books when something happens to the strand. Strands in a read stand between them;
    `_move_read` sets what remains of those afterwards.
    """
    floats = state.floats
    for slot in places(here.middle, here.middle + here.up):
        floats[REMAINING, slot] = max(0.0, floats[REMAINING, slot] - floats[RATE, slot] * seconds)


@inlined_kernel
def _find_fetched(state: State, tier: Tier, here: Record) -> None:
    """List the prefetches of the store that are complete."""
    floats = state.floats
    for slot in places(here.middle, here.middle + here.up):
        if floats[REMAINING, slot] <= COMPLETE * floats[VOLUME, slot] and floats[FETCHES, slot] != 0.0:
            tier.demanders[state.counts[FETCHED]] = state.integers[TRANSFER, slot]
            state.counts[FETCHED] += 1


@inlined_kernel
def _count_fetched(state: State, terms: Terms, tier: Tier, here: Record, seconds: float) -> None:
    """Add what the prefetches of the store have brought to their shares, and the seconds in which they moved data.

    Into one pool they bring one sum, which `move_buffered` adds.
    """
    floats = state.floats
    for slot in range(here.middle, here.middle + here.up):
        if floats[FETCHES, slot] != 0.0 and floats[RATE, slot] > 0.0:
            if len(tier.spaces) > 1:
                tier.spaces[strand_at(state, tier, slot).space].content += floats[RATE, slot] * seconds * floats[UNIT, slot]
            if terms.shows:
                _count_transfer(state, tier, slot, seconds)


@inlined_kernel
def _count_transfer(state: State, tier: Tier, slot: int, seconds: float) -> None:
    """Count the seconds in which the application moves data of a read; a write at the same time has counted them already."""
    strand = number_at(state, tier, slot)
    if write_rate(state, tier, strand) == 0.0:
        own = state.own[tier.strands[strand].index]
        own.linked_seconds += seconds / own.uses


@inlined_kernel
def _move_read(state: State, terms: Terms, tier: Tier, strand: int, slot: int, seconds: float) -> None:
    """Move a strand in a read on."""
    own, rate = tier.strands[strand], state.floats[RATE, slot]
    moved = min(own.to_fetch, rate * seconds)
    if rate > 0.0:
        _count_transfer(state, tier, slot, seconds)
    speed = state.own[own.index].read_speed if own.drawing != 0 else rate
    if speed > 0.0:
        own.served += seconds
    taken = min(own.left, speed * seconds)
    own.direct_read += moved
    own.left -= taken
    own.to_fetch -= moved
    state.floats[REMAINING, slot] = own.to_fetch
    if own.drawing != 0:
        change = max(-own.incoming - terms.lent / own.unit, moved - taken)
        own.incoming += change
        tier.spaces[own.space].content += change * own.unit


@inlined_kernel
def _renew_contents(state: State, tier: Tier) -> None:
    """Add up anew what is in each space."""
    for place in range(len(tier.spaces)):
        tier.spaces[place].content = 0.0
        tier.spaces[place].output = 0.0
    for strand in range(len(tier.strands)):
        own = tier.strands[strand]
        tier.spaces[own.space].content += (own.outgoing + own.incoming + fetched(state, tier, strand)) * own.unit
        tier.spaces[own.space].output += own.outgoing * own.unit


@inlined_kernel
def settle_buffered(state: State, tier: Tier) -> None:
    """Write into `state` what the operations under way have moved, by the strands of `tier`, for Python to read."""
    for store in range(state.counts[STORES]):
        state.stores[store].now_busy = state.stores[store].busy
    for index in range(len(state.own)):
        own = state.own[index]
        if own.status == ACTIVE:
            own.now_progress = progress_of(state, tier, index)
            own.now_moved = moved_of(state, tier, index)
            own.now_served = 0.0
            for strand in range(own.first_use, own.first_use + own.uses):
                own.now_served += tier.strands[strand].served / own.uses
