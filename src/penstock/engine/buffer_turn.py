"""The part of buffers in a turn of the kernel: rates, the next date, moving data, and applying events (004 §7).

A strand is write-active if it is in a write or drains. It is read-active if it is in a read with data still to fetch, or
may prefetch. A strand that is both has two transfers. A prefetch for which the buffer has too little room keeps the rate
that it can use, and the policy is asked again about all others with the remaining bandwidth; only once, so that a decision
ends.

Modes make sure that time advances. A space is `full` from the date at which it fills up to the next event of a strand in
it, or the next periodic decision. While it is full, no more goes in than leaves, so it cannot fill again. Output is drained
at most once a write, and prefetched data are used up at most once a read. So a phase has only a few events.

Draining waits for the threshold. When the output in a space reaches its `level`, the strands in it that are not writing
drain until no output is left. The strands of an application that has ended drain in any case. With level 0 everyone drains
at all times.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from penstock.engine.chain import begin_work, end_operation, end_work, next_phase, pop
from penstock.engine.planned import follow
from penstock.engine.rates import give, put_aside, take
from penstock.engine.room import divide_room, find_rises, incoming_growth, outgoing_growth
from penstock.engine.state import (
    ACTIVE,
    ASIDE,
    COMING,
    DATES,
    ENDED,
    EVENTS,
    FAULT_SLOT,
    FAULT_VALUE,
    FETCHED,
    FETCHES,
    HEAP,
    NEXT,
    NOW,
    READERS,
    ROWS,
    STALE,
    STORES,
    TICKS,
    TRANSFER,
    UNIT,
    WAIT,
    WHICH,
    Record,
    Records,
    State,
)
from penstock.engine.terms import (
    INVARIANT_PROGRESS,
    INVARIANT_ROOM,
    INVARIANT_TIME,
    INVARIANT_VOLUME,
    Terms,
    same_date,
)
from penstock.engine.tier import (
    NOTHING,
    READING,
    WRITING,
    Tier,
    book,
    fetch_next,
    fetched,
    fetches_its_read,
    is_another,
    leave_place,
    mark_changed,
    moved_of,
    no_incoming,
    number_at,
    progress_of,
    read_rate,
    see_room,
    show_changed,
    show_done,
    space_to_see,
    spaces_to_see,
    speed_of,
    strand_at,
    write_rate,
)
from penstock.engine.transfers import RATE, REMAINING, VOLUME, places, set_next, to_the_grain
from penstock.model.application import READ
from penstock.numeric.compiled import inlined_kernel
from penstock.numeric.tolerances import COMPLETE, INVARIANT, SAME_AMOUNT, WAIT_OVER
from penstock.policies.view import GIVEN

RENEWAL: Final = 1024
"""Dates after which contents, kept by adding and subtracting, are added up anew."""

# What the next date of the buffers is that of.
OTHER: Final = 0
"""The end of an operation, or of data in the buffer."""
FULL: Final = 1
LEVEL: Final = 2


# Rates.


@inlined_kernel
def _begin_decision(state: State, terms: Terms, trace: Records, tier: Tier) -> None:
    """Keep the transfers that move or ask in their places, remove the others, and update what policies see."""
    for entry in range(spaces_to_see(state, tier)):
        tier.spaces[space_to_see(state, tier, entry)].frees = 0
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        for slot in range(here.middle - here.down, here.middle):
            _see_writer(state, trace, tier, store, slot)
    for entry in range(state.counts[READERS]):
        own = tier.strands[tier.strands[entry].reader]
        if own.drawing != 0:
            tier.spaces[own.space].frees = 1
    _see_reads(state, trace, tier)
    if terms.shows:
        for store in range(state.counts[STORES]):
            here = state.stores[store]
            for slot in range(here.middle - here.down, here.middle + here.up):
                show_done(state, tier, slot)


@inlined_kernel
def _see_reads(state: State, trace: Records, tier: Tier) -> None:
    """See about which reads the policy is asked."""
    pool, all_ask = tier.spaces[0], len(tier.spaces) == 1
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        if len(tier.spaces) == 1:
            all_ask = pool.full == 0 or pool.frees != 0
            _see_all(state, here, all_ask)
        else:
            for slot in range(here.middle + here.up - 1, here.middle - 1, -1):
                _see_prefetch(state, trace, tier, store, slot)
    for entry in range(state.counts[READERS]):
        strand = tier.strands[entry].reader
        own = tier.strands[strand]
        asks = own.ahead < state.own[own.index].last  # else there is nothing left to fetch
        state.floats[ASIDE, state.transfers[strand].place] = 0.0 if asks else 1.0
        all_ask = all_ask and asks
    for store in range(state.counts[STORES]):
        state.stores[store].aside = 0
        if not all_ask:
            put_aside(state, store)


@inlined_kernel
def _see_writer(state: State, trace: Records, tier: Tier, store: int, slot: int) -> None:
    own = strand_at(state, tier, slot)
    drains = tier.spaces[own.space].draining != 0 or state.own[own.index].status == ENDED
    writing = own.doing == WRITING
    if not writing and not (drains and own.outgoing > 0.0):
        leave_place(state, trace, tier, store, slot)
        return
    if not writing:
        tier.spaces[own.space].frees = 1
    state.floats[REMAINING, slot] = own.outgoing + (own.left if writing else 0.0)
    state.floats[GIVEN, slot] = 0.0


@inlined_kernel
def _see_prefetch(state: State, trace: Records, tier: Tier, store: int, slot: int) -> None:
    """Ask about a prefetch into a share if there is room, or falls free; it stays where other strands may make some."""
    own = strand_at(state, tier, slot)
    space = tier.spaces[own.space]
    asks = space.full == 0 or space.frees != 0
    if asks or own.doing == READING or state.own[own.index].uses > 1:
        _see(state, slot, asks)
    else:
        leave_place(state, trace, tier, store, slot)


@inlined_kernel
def _see_all(state: State, here: Record, asks: bool) -> None:
    """`_see` for all reads of the store: the prefetches into one pool have all room, or none."""
    floats, aside = state.floats, 0.0 if asks else 1.0
    for slot in places(here.middle, here.middle + here.up):
        floats[RATE, slot] = floats[RATE, slot] if floats[ASIDE, slot] == 0.0 else 0.0
        floats[ASIDE, slot] = aside
        floats[GIVEN, slot] = 0.0


@inlined_kernel
def _see(state: State, slot: int, asks: bool) -> None:
    """Set whether the policy is asked about the read in this place; one that was held back does not hold the link."""
    if state.floats[ASIDE, slot] != 0.0:
        state.floats[RATE, slot] = 0.0
    state.floats[ASIDE, slot] = 0.0 if asks else 1.0
    state.floats[GIVEN, slot] = 0.0


@inlined_kernel
def decide_buffered(state: State, terms: Terms, trace: Records, policy: Any, restraints: Any, tier: Tier, plan: Any) -> int:
    """Find rates, on the stores and into the buffers, if anything happened; returns why they are refused, or 0."""
    if state.counts[STALE] == 0:
        for store in range(state.counts[STORES]):
            state.stores[store].wait = _until_fetched(state, store)
        return 0
    state.counts[STALE] = 0
    show_changed(state, trace, tier)
    if plan is not None:
        follow(state, terms, trace, tier, plan)
        divide_room(state, tier, False)
    if policy is not None:
        _begin_decision(state, terms, trace, tier)
        asked, held = 0, True
        while asked < 2 and held:
            asked += 1
            for store in range(state.counts[STORES]):
                if state.stores[store].down + state.stores[store].up > 0:
                    fault = give(state, terms, store, policy, restraints)
                    if fault != 0:
                        return fault
            held = divide_room(state, tier, asked == 2)
    find_rises(state, tier)
    for store in range(state.counts[STORES]):
        fault = take(state, terms, trace, store, tier)
        if fault != 0:
            return fault
        set_next(state, store, state.stores[store].round_end)  # all other dates are found among the strands
    return 0


# The next date.


@inlined_kernel
def find_next(state: State, terms: Terms, tier: Tier) -> None:
    """Find the seconds until the next operation ends, or data or room run out; which of these, and in which space."""
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
def _until_fetched(state: State, store: int) -> float:
    """Seconds until the first prefetch of the store is complete, at the rates they have."""
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


# Moving.


@inlined_kernel
def move_buffered(state: State, terms: Terms, tier: Tier, seconds: float, arrived: bool) -> None:
    """Let all data move on at their rates for so long; `arrived` at the next date of the buffers."""
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
    """Let the prefetches of the store go on; what they bring is entered into the books when something happens to the strand.
    Of strands in a read, which are in between, what remains is set after this.
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
    """Count what the prefetches of the store have brought where that is not one sum, and when they moved data."""
    floats = state.floats
    for slot in range(here.middle, here.middle + here.up):
        if floats[FETCHES, slot] != 0.0 and floats[RATE, slot] > 0.0:
            if len(tier.spaces) > 1:
                tier.spaces[strand_at(state, tier, slot).space].content += floats[RATE, slot] * seconds * floats[UNIT, slot]
            if terms.shows:
                _count_transfer(state, tier, slot, seconds)


@inlined_kernel
def _count_transfer(state: State, tier: Tier, slot: int, seconds: float) -> None:
    """The application moves data of a read; a write at the same time has counted already."""
    strand = number_at(state, tier, slot)
    if write_rate(state, tier, strand) == 0.0:
        own = state.own[tier.strands[strand].index]
        own.linked_seconds += seconds / own.uses


@inlined_kernel
def _move_read(state: State, terms: Terms, tier: Tier, strand: int, slot: int, seconds: float) -> None:
    """Let a strand in a read go on."""
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
    """Add up what is in each space."""
    for place in range(len(tier.spaces)):
        tier.spaces[place].content = 0.0
        tier.spaces[place].output = 0.0
    for strand in range(len(tier.strands)):
        own = tier.strands[strand]
        tier.spaces[own.space].content += (own.outgoing + own.incoming + fetched(state, tier, strand)) * own.unit
        tier.spaces[own.space].output += own.outgoing * own.unit


# Events.


@inlined_kernel
def apply_buffered(state: State, terms: Terms, tier: Tier, ticking: bool) -> None:
    """Apply all events of this date; applications whose phase has ended begin the next."""
    latest = same_date(state.clock[NOW], terms)
    if ticking:
        state.clock[TICKS] += 1.0
        state.counts[EVENTS] += 1
        state.counts[STALE] = 1
        for place in range(len(tier.spaces)):
            see_room(tier.spaces[place])
    ended = _find_ended(state, terms, tier, latest)
    while ended > 0 or (state.counts[HEAP] > 0 and state.queue[0].time <= latest):
        if ended > 0:
            ended -= 1
            index = _end_strand(state, terms, tier, tier.demanders[ended])
        elif state.own[state.queue[0].index].status == COMING:
            index = pop(state.queue, state.counts[HEAP])
            state.counts[HEAP] -= 1
        else:
            index = end_work(state)
        if index >= 0:
            _go_on(state, terms, tier, index)
    for entry in range(spaces_to_see(state, tier)):
        _see_space(state, tier, space_to_see(state, tier, entry))


@inlined_kernel
def _find_ended(state: State, terms: Terms, tier: Tier, latest: float) -> int:
    """Find what has ended; lists the strands whose part of an operation is complete, and returns their number."""
    for entry in range(state.counts[FETCHED]):
        _has_fetched(state, terms, tier, tier.demanders[entry])
    state.counts[FETCHED] = 0
    ended = 0
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        if terms.has_rounds and here.round_end <= latest:
            here.round_end = np.inf
            state.counts[STALE] = 1
        for slot in range(here.middle - here.down, here.middle):
            if _has_written(state, tier, number_at(state, tier, slot)):
                tier.demanders[ended] = number_at(state, tier, slot)
                ended += 1
    for entry in range(state.counts[READERS]):
        if _has_read(state, terms, tier, tier.strands[entry].reader):
            tier.demanders[ended] = tier.strands[entry].reader
            ended += 1
    return ended


@inlined_kernel
def _has_written(state: State, tier: Tier, strand: int) -> bool:
    """Whether its write is complete; a strand that is not in a write may have finished draining."""
    own = tier.strands[strand]
    application = state.own[own.index]
    complete = own.doing == WRITING and own.left <= COMPLETE * state.amounts[application.cursor - 1]
    if (complete or own.doing != WRITING) and own.outgoing <= COMPLETE * own.write_volume:
        _no_outgoing(tier, strand)
        if not complete:
            state.counts[EVENTS] += 1
            mark_changed(state, tier, strand)
    return bool(complete)


@inlined_kernel
def _no_outgoing(tier: Tier, strand: int) -> None:
    """Nothing that it wrote is in the buffer; with all output of the space gone, draining waits for the threshold again."""
    own = tier.strands[strand]
    space = tier.spaces[own.space]
    own.drained += own.outgoing
    space.content -= own.outgoing * own.unit
    space.output -= own.outgoing * own.unit
    own.outgoing = 0.0
    if space.level > 0.0:
        left = False
        for place in range(len(tier.strands)):
            other = tier.strands[place]
            left = left or (other.space == own.space and other.outgoing > 0.0)
        if not left:
            space.draining = 0


@inlined_kernel
def _has_fetched(state: State, terms: Terms, tier: Tier, strand: int) -> None:
    """All data of a read have been fetched: fetch those of the next."""
    own = tier.strands[strand]
    book(state, tier, strand)
    state.counts[EVENTS] += 1
    fetch_next(state, terms, tier, strand, own.ahead + 1, own.ahead_lap)
    mark_changed(state, tier, strand)


@inlined_kernel
def _has_read(state: State, terms: Terms, tier: Tier, strand: int) -> bool:
    """Whether its read is complete; prefetched data may be used up, and all data of a read fetched."""
    own = tier.strands[strand]
    chain = state.own[own.index]
    amount = state.amounts[chain.cursor - 1]
    here = fetches_its_read(state, own)
    if own.drawing != 0 and own.incoming + terms.lent / own.unit <= COMPLETE * amount:
        no_incoming(tier, strand)
        state.counts[EVENTS] += 1
        mark_changed(state, tier, strand)
        if not here:
            own.left = 0.0  # all of it had been fetched
    if own.ahead < chain.last and own.to_fetch <= COMPLETE * state.amounts[own.ahead]:
        if here and own.drawing == 0:
            own.left = 0.0  # all of it has been read
        else:
            _has_fetched(state, terms, tier, strand)
    return bool(own.left <= COMPLETE * amount)


@inlined_kernel
def _end_strand(state: State, terms: Terms, tier: Tier, strand: int) -> int:
    """The strand has written or read its part; returns the application whose operation is complete with it, or −1."""
    own = tier.strands[strand]
    index = own.index
    application = state.own[index]
    phase = application.cursor - 1
    speed = speed_of(application, own.doing)
    if own.doing == READING:
        _no_reader(state, tier, own)
    own.doing = NOTHING
    own.inflow = 0.0
    own.drawing = 0
    own.left = 0.0
    if own.ahead == phase and own.ahead_lap == application.laps:
        own.direct_read += own.to_fetch
        no_incoming(tier, strand)
        fetch_next(state, terms, tier, strand, phase + 1, own.ahead_lap)
    mark_changed(state, tier, strand)
    application.pending -= 1
    if application.pending > 0:
        return -1
    served = 0.0
    for use in range(application.first_use, application.first_use + application.uses):
        served += tier.strands[use].served / application.uses
    volume = state.amounts[phase]
    end_operation(state, index, volume, volume / speed, served)
    return int(index)


@inlined_kernel
def _no_reader(state: State, tier: Tier, own: Record) -> None:
    """Take it from the list of strands in a read; the last takes its place there."""
    state.counts[READERS] -= 1
    last = tier.strands[state.counts[READERS]].reader
    tier.strands[own.reader_entry].reader = last
    tier.strands[last].reader_entry = own.reader_entry


@inlined_kernel
def _go_on(state: State, terms: Terms, tier: Tier, index: int) -> None:
    """Begin what the application does next: its lead and its prefetching when it comes, else its next phase."""
    chain = state.own[index]
    if chain.status == COMING:
        begin_work(state, index, state.clock[NOW], chain.work_length)
        for strand in range(chain.first_use, chain.first_use + chain.uses):
            fetch_next(state, terms, tier, strand, chain.first, 0)
            if tier.strands[strand].ahead < chain.last and tier.spaces[tier.strands[strand].space].capacity > 0.0:
                mark_changed(state, tier, strand)
        return
    volume = next_phase(state, terms, index, state.clock[NOW])
    chain.pending = chain.uses
    for strand in range(chain.first_use, chain.first_use + chain.uses):
        own = tier.strands[strand]
        book(state, tier, strand)
        if volume > 0.0:
            own.left = volume
            own.served = 0.0
            if state.kinds[chain.cursor - 1] == READ:
                _begin_read(state, terms, tier, strand, volume)
            else:
                own.doing = WRITING
                own.write_posted = to_the_grain(state.clock[NOW])
                own.write_volume = own.outgoing + volume
                if own.outgoing == 0.0:
                    is_another(state, strand + len(tier.strands))
            mark_changed(state, tier, strand)
        elif chain.status == ENDED:
            no_incoming(tier, strand)  # but for what roundings left
            if own.outgoing > 0.0 and state.transfers[strand + len(tier.strands)].place < 0:
                mark_changed(state, tier, strand)


@inlined_kernel
def _begin_read(state: State, terms: Terms, tier: Tier, strand: int, volume: float) -> None:
    own = tier.strands[strand]
    chain = state.own[own.index]
    own.doing = READING
    own.reader_entry = state.counts[READERS]
    tier.strands[state.counts[READERS]].reader = strand
    state.counts[READERS] += 1
    if own.ahead == chain.cursor - 1 and own.ahead_lap == chain.laps and own.to_fetch == volume:
        own.read_posted = to_the_grain(state.clock[NOW])  # nothing of it was prefetched
    if own.incoming + terms.lent / own.unit <= COMPLETE * volume:
        no_incoming(tier, strand)
    else:
        own.drawing = 1


@inlined_kernel
def _see_space(state: State, tier: Tier, index: int) -> None:
    """Note if the space has just been filled; with its output at the level, all strands with output in it drain."""
    space = tier.spaces[index]
    if space.full == 0 and space.content >= space.capacity * (1.0 - SAME_AMOUNT):
        space.full = 1
        state.counts[EVENTS] += 1
        state.counts[STALE] = 1
    if space.draining == 0 and space.output >= space.level * (1.0 - SAME_AMOUNT):
        space.draining = 1
        state.counts[EVENTS] += 1
        for strand in range(len(tier.strands)):
            own = tier.strands[strand]
            if own.space == index and own.outgoing > 0.0:
                mark_changed(state, tier, strand)


# To be read.


@inlined_kernel
def settle_buffered(state: State, tier: Tier) -> None:
    """Write down what has come of the operations under way."""
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


@inlined_kernel
def record_fill(state: State, tier: Tier, fill: Records) -> None:
    """Add a row for every application whose rates have changed."""
    for index in range(len(state.own)):
        own = state.own[index]
        if _is_still(state, tier, own):
            continue
        outgoing, incoming, write, read, out, into = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for strand in range(own.first_use, own.first_use + own.uses):
            unit = tier.strands[strand].unit
            write_place, read_place = state.transfers[strand + len(tier.strands)].place, state.transfers[strand].place
            if write_place >= 0:
                outgoing += outgoing_growth(state, tier, write_place) * unit
            if read_place >= 0:
                incoming += incoming_growth(state, tier, read_place) * unit
            write += write_rate(state, tier, strand) * unit
            read += read_rate(state, strand) * unit
            out += tier.strands[strand].outgoing * unit
            into += (tier.strands[strand].incoming + fetched(state, tier, strand)) * unit
        seen = tier.strands[own.first_use]
        changed = outgoing != seen.seen_outgoing or incoming != seen.seen_incoming
        if changed or write != seen.seen_write or read != seen.seen_read:
            row = fill[state.counts[ROWS]]
            state.counts[ROWS] += 1
            row.application = index
            row.date = state.clock[NOW]
            row.outgoing = out
            row.incoming = into
            row.write_rate = write
            row.read_rate = read
            seen.seen_outgoing = outgoing
            seen.seen_incoming = incoming
            seen.seen_write = write
            seen.seen_read = read


@inlined_kernel
def _is_still(state: State, tier: Tier, own: Record) -> bool:
    """Whether the application has no place, and nothing of it moved at its last row."""
    seen = tier.strands[own.first_use]
    if seen.seen_outgoing != 0.0 or seen.seen_incoming != 0.0 or seen.seen_write != 0.0 or seen.seen_read != 0.0:
        return False
    for strand in range(own.first_use, own.first_use + own.uses):
        if state.transfers[strand].place >= 0 or state.transfers[strand + len(tier.strands)].place >= 0:
            return False
    return True


@inlined_kernel
def broken_buffered(state: State, terms: Terms, tier: Tier, before: float) -> int:
    """The first invariant that does not hold, or 0: no space under 0 or over its size, all that was written is in the store
    or in the buffer, all that was fetched is with the application or in the buffer, progress ≤ elapsed, time.
    """
    now = state.clock[NOW]
    if now < before:
        return INVARIANT_TIME
    for place in range(len(tier.spaces)):
        space = tier.spaces[place]
        state.clock[FAULT_VALUE] = space.content
        owed = len(tier.strands) * terms.lent
        if not -INVARIANT * space.peak - owed <= space.content <= space.capacity * (1.0 + INVARIANT):
            return INVARIANT_ROOM
    for strand in range(len(tier.strands)):
        own = tier.strands[strand]
        chain = state.own[own.index]
        volume, known_to = chain.moved, 2.0 * terms.lent
        if chain.status == ACTIVE:
            volume += state.amounts[chain.cursor - 1] - own.left
            known_to += COMPLETE * state.amounts[chain.cursor - 1]
        left_it = own.direct_written + own.drained + own.outgoing
        came = own.direct_read + own.prefetched
        state.clock[FAULT_VALUE] = left_it + came - own.incoming
        error = abs(state.clock[FAULT_VALUE] - volume)
        state.counts[FAULT_SLOT] = max(0, state.transfers[strand].place)
        if own.outgoing < 0.0 or own.incoming < -2.0 * terms.lent or error > INVARIANT * (left_it + came) + known_to:
            return INVARIANT_VOLUME
        state.clock[FAULT_VALUE] = progress_of(state, tier, own.index)
        elapsed = max(0.0, now - chain.release)
        if state.clock[FAULT_VALUE] > elapsed + INVARIANT * (elapsed + abs(now) + abs(terms.origin)):
            return INVARIANT_PROGRESS
    return 0
