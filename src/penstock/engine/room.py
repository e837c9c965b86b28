"""What goes into the buffers and comes out of them, at given rates on the stores.

A writer sends at its speed b_w: its rate on the store goes there directly, the rest into the buffer. Into a full space goes
no more than leaves it, by draining and by reads from it. This room is divided equally between the writers, and what they
leave equally between the prefetches. So a full space never overflows, and being full is not an event again and again: a
share that fills in a write stays full to the end of the write, while the application sends at its rate on the store. B_BB,
the limit on all inflow, is divided in the same way, writers first.

Rates on the stores are those in the row GIVEN.
"""

from __future__ import annotations

import numpy as np

from penstock.engine.rates import put_aside
from penstock.engine.state import ASIDE, FETCHES, INFLOW, READERS, STORES, UNIT, State
from penstock.engine.tier import READING, WRITING, Tier, space_to_see, spaces_to_see, strand_at
from penstock.engine.transfers import places
from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import inlined_kernel
from penstock.numeric.tolerances import SAME_AMOUNT
from penstock.policies.view import GIVEN


@inlined_kernel
def divide_room(state: State, tier: Tier, again: bool) -> bool:
    """Set what goes into the buffers of `tier`, at the rates on the stores in `state`.

    `again` says that some prefetches were held back, and that the rest of the bandwidth has been divided anew.

    Returns:
        Whether prefetches were held back.
    """
    _free_room(state, tier)
    left = _let_in(state, tier)
    if len(tier.spaces) > 1:
        return _hold_back(state, tier, left)
    pool = tier.spaces[0]
    if pool.full != 0:
        left = min(left, max(0.0, pool.freed))
    if again and pool.unheld == 0 and pool.fetching <= left:
        return False
    return _hold_back_from_pool(state, tier, left)


@inlined_kernel
def _free_room(state: State, tier: Tier) -> None:
    """Find how fast strands that are not writing take data out of each space."""
    for entry in range(spaces_to_see(state, tier)):
        tier.spaces[space_to_see(state, tier, entry)].freed = 0.0
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        for slot in range(here.middle - here.down, here.middle):
            own = strand_at(state, tier, slot)
            if own.doing != WRITING:
                tier.spaces[own.space].freed += state.floats[GIVEN, slot] * own.unit
    for entry in range(state.counts[READERS]):
        strand = tier.strands[entry].reader
        own = tier.strands[strand]
        if own.drawing != 0:
            speed = state.own[own.index].read_speed - state.floats[GIVEN, state.transfers[strand].place]
            tier.spaces[own.space].freed += speed * own.unit


@inlined_kernel
def _let_in(state: State, tier: Tier) -> float:
    """Set what each writer sends into the buffer; returns what is left of B_BB."""
    size, total, full = 0, 0.0, False
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        for slot in range(here.middle - here.down, here.middle):
            own = strand_at(state, tier, slot)
            if own.doing == WRITING:
                wanted = (state.own[own.index].write_speed - state.floats[GIVEN, slot]) * own.unit
                space = tier.spaces[own.space]
                if space.full != 0:
                    wanted = max(0.0, min(wanted, space.freed))
                    full = True
                tier.demands[size] = wanted
                tier.demanders[size] = slot
                size += 1
    if full:
        _level_spaces(state, tier, size)
    for place in range(size):
        total += tier.demands[place]
    if total > state.clock[INFLOW]:
        _cut(tier.demands, 0, size, state.clock[INFLOW])
    left = state.clock[INFLOW]
    for place in range(size):
        own = strand_at(state, tier, tier.demanders[place])
        own.inflow = tier.demands[place] / own.unit
        tier.spaces[own.space].freed -= tier.demands[place]
        left -= tier.demands[place]
    return float(left)


@inlined_kernel
def _level_spaces(state: State, tier: Tier, size: int) -> None:
    """Divide the room that each full space frees equally between the writers that send into it."""
    demands, demanders = tier.demands, tier.demanders
    if len(tier.spaces) == 1:
        _cut(demands, 0, size, tier.spaces[0].freed)
        return
    # The strands of an application share a space; they are brought together, one after the other.
    for place in range(size):
        own = strand_at(state, tier, demanders[place])
        end = place + 1
        for other in range(place + 1, size):
            if strand_at(state, tier, demanders[other]).space == own.space:
                demands[end], demands[other] = demands[other], demands[end]
                demanders[end], demanders[other] = demanders[other], demanders[end]
                end += 1
        first = place == 0 or strand_at(state, tier, demanders[place - 1]).space != own.space
        if first and end > place + 1 and tier.spaces[own.space].full != 0:
            _cut(demands, place, end, tier.spaces[own.space].freed)


@inlined_kernel
def _demand(state: State, tier: Tier) -> tuple[int, float, int]:
    """List what the prefetches would bring into the buffers; how many they are, the sum, and how many were given nothing."""
    size, total, idle, floats = np.uint64(0), 0.0, 0, state.floats
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        for slot in places(here.middle, here.middle + here.up):
            if floats[FETCHES, slot] == 0.0:
                continue
            if floats[GIVEN, slot] == 0.0:
                idle += 1
            else:
                tier.demands[size] = floats[GIVEN, slot] * floats[UNIT, slot]
                tier.demanders[size] = slot
                total += tier.demands[size]
                size += np.uint64(1)
    return int(size), total, idle


@inlined_kernel
def _hold_back(state: State, tier: Tier, left: float) -> bool:
    """Cut the prefetches to the room that writers leave in full shares, and to what is `left` of B_BB."""
    size, total, _ = _demand(state, tier)
    full = False
    for place in range(size):
        space = tier.spaces[strand_at(state, tier, tier.demanders[place]).space]
        if space.full != 0:
            tier.demands[place] = min(tier.demands[place], max(0.0, space.freed))
            full = True
    if not full and total <= left:
        return False
    if full:
        _level_spaces(state, tier, size)
    total = 0.0
    for place in range(size):
        total += tier.demands[place]
    _, unheld = _hold_to(state, tier, size, np.inf if total <= left else _level(tier.demands, 0, size, left))
    return unheld < size


@inlined_kernel
def _hold_back_from_pool(state: State, tier: Tier, left: float) -> bool:
    """Cut the prefetches to the room that is `left` in the pool, equally for all of them."""
    pool = tier.spaces[0]
    size, total, idle = _demand(state, tier)
    unheld = size
    if total > left:
        total, unheld = _hold_to(state, tier, size, _level(tier.demands, 0, size, left))
    pool.fetching = total
    pool.unheld = unheld + idle
    return bool(unheld < size)


@inlined_kernel
def _hold_to(state: State, tier: Tier, size: int, level: float) -> tuple[float, int]:
    """Give the prefetches no more than their demands and the level; what they have now in all, and how many are not held
    back by it. The policy is not asked again about those that are held back.
    """
    floats, total, unheld = state.floats, 0.0, 0
    for place in range(size):
        slot = np.uint64(tier.demanders[place])
        given = min(tier.demands[place], level) / floats[UNIT, slot]
        if given < floats[GIVEN, slot] * (1.0 - SAME_AMOUNT):
            floats[ASIDE, slot] = 1.0
            floats[GIVEN, slot] = given if given > SAME_AMOUNT * floats[GIVEN, slot] else 0.0
        else:
            unheld += 1
        total += floats[GIVEN, slot] * floats[UNIT, slot]
    if unheld < size:
        for store in range(state.counts[STORES]):
            put_aside(state, store)
    return total, unheld


@inlined_kernel
def _cut(demands: Floats, begin: int, end: int, budget: float) -> None:
    """Cut the demands from `begin` to before `end` to one level, at which they add up to no more than the budget."""
    level = _level(demands, begin, end, budget)
    for place in range(begin, end):
        demands[place] = min(demands[place], level)


@inlined_kernel
def _level(demands: Floats, begin: int, end: int, budget: float) -> float:
    """The highest level that the demands from `begin` to before `end` can be cut to so that they add up to no more than the
    budget: it rises with every set of demands that turns out to be below it.
    """
    budget = max(0.0, budget)
    level, below = budget / max(1, end - begin), 0
    while True:
        left, count = budget, 0
        for place in places(begin, end):
            if demands[place] <= level:
                left -= demands[place]
                count += 1
        if count in (below, end - begin):
            return level
        below = count
        level = max(level, left / (end - begin - count))


@inlined_kernel
def outgoing_growth(state: State, tier: Tier, slot: int) -> float:
    """Units/s by which the output of the strand in place `slot`, a write, grows in the buffer; by `state` and `tier`."""
    own = strand_at(state, tier, slot)
    return float(own.inflow) if own.doing == WRITING else -float(state.floats[GIVEN, slot])


@inlined_kernel
def incoming_growth(state: State, tier: Tier, slot: int) -> float:
    """Units/s by which the prefetched data of the strand in place `slot`, a read, grow in the buffer; by `state` and `tier`.

    A strand in a read takes from there what it does not get from the store.
    """
    own, rate = strand_at(state, tier, slot), state.floats[GIVEN, slot]
    if own.doing != READING:
        return float(rate)
    return float(rate - state.own[own.index].read_speed) if own.drawing != 0 else 0.0


@inlined_kernel
def find_rises(state: State, tier: Tier) -> None:
    """Find how fast each space of `tier`, and the output in it, grows at the rates in `state`."""
    pool = len(tier.spaces) == 1
    for entry in range(spaces_to_see(state, tier)):
        space = tier.spaces[space_to_see(state, tier, entry)]
        space.rise = space.fetching if pool else 0.0
        space.output_rise = 0.0
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        for slot in range(here.middle - here.down, here.middle):
            own = strand_at(state, tier, slot)
            growth = outgoing_growth(state, tier, slot) * own.unit
            tier.spaces[own.space].rise += growth
            tier.spaces[own.space].output_rise += growth
        if not pool:
            for slot in range(here.middle, here.middle + here.up):
                own = strand_at(state, tier, slot)
                tier.spaces[own.space].rise += incoming_growth(state, tier, slot) * own.unit
    if pool:
        for entry in range(state.counts[READERS]):
            strand = tier.strands[entry].reader
            growth = incoming_growth(state, tier, state.transfers[strand].place) * tier.strands[strand].unit
            tier.spaces[0].rise += growth
