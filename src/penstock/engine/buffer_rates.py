"""Rates beside buffers: which transfers ask for a rate, and what the policy or a plan gives them (004 §7).

A strand is write-active if it is in a write or drains. It is read-active if it is in a read with data still to fetch, or
may prefetch. A strand that is both has two transfers. A decision asks the policy about all of them. A prefetch for which
the buffer has too little room then keeps the rate that it can use, and the policy is asked again about all others with the
remaining bandwidth. It is asked a third time only where it then gives all of a store to further prefetches without room:
under an order, each question may find only the next of them, and those that drain, and so make room, come after them.

A space that is full takes in no more than leaves it (`penstock.engine.room`). While nothing leaves it, its prefetches do not
ask. Strands that are not in a write drain while their space is `draining`; those of an ended application always drain.

Rates on the stores are in units/s, growths in the rows of `Fill` in bytes/s.
"""

from __future__ import annotations

from typing import Any

from penstock.engine.buffer_flow import until_fetched
from penstock.engine.planned import follow
from penstock.engine.rates import give, put_aside, take
from penstock.engine.room import divide_room, find_rises, incoming_growth, outgoing_growth
from penstock.engine.state import ASIDE, ENDED, NOW, READERS, ROWS, STALE, STORES, STRANDS, Record, Records, State
from penstock.engine.terms import Terms
from penstock.engine.tier import (
    READING,
    WRITING,
    Tier,
    fetched,
    leave_place,
    read_rate,
    show_changed,
    show_done,
    space_to_see,
    spaces_to_see,
    strand_at,
    write_rate,
)
from penstock.engine.transfers import RATE, REMAINING, places, set_next
from penstock.numeric.compiled import inlined_kernel
from penstock.policies.view import GIVEN


@inlined_kernel
def decide_buffered(state: State, terms: Terms, trace: Records, policy: Any, restraints: Any, tier: Tier, plan: Any) -> int:
    """Find rates in `state` on the stores and into the spaces of `tier`, if anything has happened since the last time.

    They come from the `policy`, within the `restraints` of rounds, directions and degradation, or from the `plan`; the other
    of the two is None. `terms` has the options of the run. The `trace` gets the segments that end.

    Returns:
        0, or why a rate is refused (`penstock.engine.terms`).
    """
    if state.counts[STALE] == 0:
        for store in range(state.counts[STORES]):
            state.stores[store].wait = until_fetched(state, store)
        return 0
    state.counts[STALE] = 0
    show_changed(state, trace, tier)
    if plan is not None:
        follow(state, terms, trace, tier, plan)
        divide_room(state, tier, False)
    if policy is not None:
        _begin_decision(state, terms, trace, tier)
        asked, held = 0, True
        while held and (asked < 2 or _is_blocked(state, asked)):
            asked += 1
            for store in range(state.counts[STORES]):
                if state.stores[store].down + state.stores[store].up > 0:
                    fault = give(state, terms, store, policy, restraints, None)
                    if fault != 0:
                        return fault
            held = divide_room(state, tier, asked >= 2)
    find_rises(state, tier)
    for store in range(state.counts[STORES]):
        fault = take(state, terms, trace, store, tier)
        if fault != 0:
            return fault
        set_next(state, store, state.stores[store].round_end)  # all other dates are found among the strands
    return 0


@inlined_kernel
def _is_blocked(state: State, asked: int) -> bool:
    """Whether nothing moves on some store although not all its transfers are held back; `asked` ends this in any case.

    Every further question is about at least one prefetch less, of which a strand has one.
    """
    for store in range(state.counts[STORES]):
        here, moves = state.stores[store], False
        for slot in places(here.middle - here.down, here.middle + here.up):
            moves = moves or state.floats[GIVEN, slot] > 0.0
        if not moves and here.down + here.up > here.aside:
            return bool(asked <= state.counts[STRANDS])
    return False


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
def _see_writer(state: State, trace: Records, tier: Tier, store: int, slot: int) -> None:
    """Show the policy what the write in this place has to move; one that neither writes nor drains leaves its place."""
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
def _see_reads(state: State, trace: Records, tier: Tier) -> None:
    """Find about which reads the policy is asked."""
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
def _see_prefetch(state: State, trace: Records, tier: Tier, store: int, slot: int) -> None:
    """Ask about a prefetch into a share that has room or loses data; it stays in place if other strands may make room."""
    own = strand_at(state, tier, slot)
    space = tier.spaces[own.space]
    asks = space.full == 0 or space.frees != 0
    if asks or own.doing == READING or state.own[own.index].uses > 1:
        _see(state, slot, asks)
    else:
        leave_place(state, trace, tier, store, slot)


@inlined_kernel
def _see(state: State, slot: int, asks: bool) -> None:
    """Set whether the policy is asked about the read in this place; a read that was held back does not hold the link."""
    if state.floats[ASIDE, slot] != 0.0:
        state.floats[RATE, slot] = 0.0
    state.floats[ASIDE, slot] = 0.0 if asks else 1.0
    state.floats[GIVEN, slot] = 0.0


@inlined_kernel
def _see_all(state: State, here: Record, asks: bool) -> None:
    """`_see` for all reads of the store: either all prefetches into one pool have room, or none has."""
    floats, aside = state.floats, 0.0 if asks else 1.0
    for slot in places(here.middle, here.middle + here.up):
        floats[RATE, slot] = floats[RATE, slot] if floats[ASIDE, slot] == 0.0 else 0.0
        floats[ASIDE, slot] = aside
        floats[GIVEN, slot] = 0.0


@inlined_kernel
def record_fill(state: State, tier: Tier, fill: Records) -> None:
    """Add a row to `fill` for every application whose rates in `state`, or growths in `tier`, differ from its last row."""
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
