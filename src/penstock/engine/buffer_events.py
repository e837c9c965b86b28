"""The events of a run with buffers: what is complete at a date, and what begins then (004 §7).

An event is the end of a write, a read, a prefetch or a piece of work, output that is drained, prefetched data that are used
up, a space that is full, or output that reaches the level of its space. All events of a date are applied before rates are
found again.

Two modes of a space make sure that time advances. It is `full` from the date at which it fills up to the next event of a
strand in it, or the next periodic decision. While it is full, no more goes in than leaves, so it cannot fill again. Output
is drained at most once per write, and prefetched data are used up at most once per read. So a phase has only a few events.

The other mode is `draining`. When the output in a space reaches its `level`, the strands in it that are not writing drain
until no output is left. The strands of an application that has ended drain in any case. With level 0 all strands drain at
all times.
"""

from __future__ import annotations

import numpy as np

from penstock.engine.chain import begin_work, end_operation, end_work, next_phase, pop
from penstock.engine.state import COMING, ENDED, EVENTS, FETCHED, HEAP, NOW, READERS, STALE, STORES, TICKS, Record, State
from penstock.engine.terms import Terms, same_date
from penstock.engine.tier import (
    NOTHING,
    READING,
    WRITING,
    Tier,
    book,
    fetch_next,
    fetches_its_read,
    is_another,
    mark_changed,
    no_incoming,
    number_at,
    see_room,
    space_to_see,
    spaces_to_see,
    speed_of,
)
from penstock.engine.transfers import to_the_grain
from penstock.model.application import READ
from penstock.numeric.compiled import inlined_kernel
from penstock.numeric.tolerances import COMPLETE, SAME_AMOUNT


@inlined_kernel
def apply_buffered(state: State, terms: Terms, tier: Tier, ticking: bool) -> None:
    """Apply all events of this date to `state` and `tier`; applications whose phase has ended begin the next one.

    `ticking` says that a periodic decision falls on the date. `terms` says which dates count as equal.
    """
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
    """Whether the strand's write is complete; notes if a strand that is not in a write has drained all its output."""
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
    """Set the output of the strand to 0. When the last output of the space is gone, draining waits for the level again."""
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
    """Book a read whose data have all been fetched, and fetch the next one."""
    own = tier.strands[strand]
    book(state, tier, strand)
    state.counts[EVENTS] += 1
    fetch_next(state, terms, tier, strand, own.ahead + 1, own.ahead_lap)
    mark_changed(state, tier, strand)


@inlined_kernel
def _has_read(state: State, terms: Terms, tier: Tier, strand: int) -> bool:
    """Whether the strand's read is complete; notes if prefetched data are used up or all data of a read are fetched."""
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
    """End the strand's part of an operation; returns the application whose operation is complete with it, or −1."""
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
    """Take the strand from the list of strands in a read; the last one takes its place there."""
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
    """Put the strand into a read of `volume` units; it draws on the buffer if data of the read were prefetched."""
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
    """Note if the space is full now. If its output has reached the level, let all strands with output in it drain."""
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
