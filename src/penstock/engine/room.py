"""What goes into the buffers and comes out of them, at given rates on the stores.

A writer sends at its speed b_w: its rate on the store goes straight there, the rest into the buffer. Into a space that is
full goes no more than falls free in it, by draining and by reads from it: equally to the writers, and what they leave
equally to the prefetches. So a full space is never more than full, and that it is full is no event again and again: a share
that fills in a write stays full to the end of the write, in which the application sends at its rate on the store. B_BB,
which bounds all that goes in, is divided in the same way, writers first.

Rates are those in the row GIVEN.
"""

from __future__ import annotations

from penstock.engine.asking import NO_ROOM
from penstock.engine.state import ASIDE, INFLOW, STORES, State
from penstock.engine.tier import READING, WRITING, Tier, space_to_see, spaces_to_see, strand_at
from penstock.policies.compiled import part
from penstock.policies.view import GIVEN


@part
def divide_room(state: State, tier: Tier) -> bool:
    """Set what goes into the buffers at the rates on the stores; whether prefetches were held back."""
    _free_room(state, tier)
    return _hold_back(state, tier, _let_in(state, tier))


@part
def _free_room(state: State, tier: Tier) -> None:
    """How fast those who are not writing take data out of each space."""
    for entry in range(spaces_to_see(state, tier)):
        tier.spaces[space_to_see(state, tier, entry)].freed = 0.0
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        for slot in range(here.middle - here.down, here.middle):
            own = strand_at(state, tier, slot)
            if own.doing != WRITING:
                tier.spaces[own.space].freed += state.floats[GIVEN, slot] * own.unit
        for slot in range(here.middle, here.middle + here.up):
            own = strand_at(state, tier, slot)
            if own.drawing != 0:
                speed = state.own[own.index].read_speed
                tier.spaces[own.space].freed += (speed - state.floats[GIVEN, slot]) * own.unit


@part
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
                tier.strands[size].demand = wanted
                tier.strands[size].demander = slot
                size += 1
    if full:
        _level_spaces(state, tier, size)
    for place in range(size):
        total += tier.strands[place].demand
    if total > state.clock[INFLOW]:
        level_out(tier, 0, size, state.clock[INFLOW])
    left = state.clock[INFLOW]
    for place in range(size):
        own = strand_at(state, tier, tier.strands[place].demander)
        own.inflow = tier.strands[place].demand / own.unit
        tier.spaces[own.space].freed -= tier.strands[place].demand
        left -= tier.strands[place].demand
    return float(left)


@part
def _level_spaces(state: State, tier: Tier, size: int) -> None:
    """Divide what falls free in each full space equally between those who are to go into it."""
    if len(tier.spaces) == 1:
        level_out(tier, 0, size, max(0.0, tier.spaces[0].freed))
        return
    # The strands of an application share a space; they are brought together, one after the other.
    for place in range(size):
        own = strand_at(state, tier, tier.strands[place].demander)
        end = place + 1
        for other in range(place + 1, size):
            if strand_at(state, tier, tier.strands[other].demander).space == own.space:
                here, there = tier.strands[end], tier.strands[other]
                here.demand, there.demand = there.demand, here.demand
                here.demander, there.demander = there.demander, here.demander
                end += 1
        first = place == 0 or strand_at(state, tier, tier.strands[place - 1].demander).space != own.space
        if first and end > place + 1 and tier.spaces[own.space].full != 0:
            level_out(tier, place, end, max(0.0, tier.spaces[own.space].freed))


@part
def _hold_back(state: State, tier: Tier, left: float) -> bool:
    """Cut the prefetches to the room that writers leave in full spaces, and to what is `left` of B_BB."""
    size, total, full = 0, 0.0, False
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        for slot in range(here.middle, here.middle + here.up):
            own = strand_at(state, tier, slot)
            if own.doing != READING and state.floats[GIVEN, slot] > 0.0:
                wanted = state.floats[GIVEN, slot] * own.unit
                space = tier.spaces[own.space]
                if space.full != 0:
                    wanted = min(wanted, max(0.0, space.freed))
                    full = True
                tier.strands[size].demand = wanted
                tier.strands[size].demander = slot
                size += 1
                total += wanted
    if size == 0 or (not full and total <= left):
        return False
    if full:
        _level_spaces(state, tier, size)
    total = 0.0
    for place in range(size):
        total += tier.strands[place].demand
    if total > left:
        level_out(tier, 0, size, max(0.0, left))
    held = False
    for place in range(size):
        slot = tier.strands[place].demander
        given = tier.strands[place].demand / strand_at(state, tier, slot).unit
        if given < state.floats[GIVEN, slot] * (1.0 - NO_ROOM):
            state.floats[ASIDE, slot] = 1.0
            held = True
            state.floats[GIVEN, slot] = given
    return held


@part
def level_out(tier: Tier, begin: int, end: int, budget: float) -> None:
    """Cut the demands from `begin` to before `end` to one level, the highest at which they add up to no more than the
    budget.
    """
    if begin == end:
        return
    level = budget / (end - begin)
    above = end - begin + 1
    while True:
        total, higher = 0.0, 0
        for place in range(begin, end):
            total += min(tier.strands[place].demand, level)
            if tier.strands[place].demand > level:
                higher += 1
        if higher == 0 or higher >= above:  # more only by a rounding, which lowered the level
            break
        above = higher
        level += (budget - total) / higher
    for place in range(begin, end):
        tier.strands[place].demand = min(tier.strands[place].demand, level)


@part
def outgoing_growth(state: State, tier: Tier, slot: int) -> float:
    """How fast the written data of the strand in this place of a write grow in the buffer."""
    own = strand_at(state, tier, slot)
    return float(own.inflow) if own.doing == WRITING else -float(state.floats[GIVEN, slot])


@part
def incoming_growth(state: State, tier: Tier, slot: int) -> float:
    """How fast its prefetched data grow; in a read, what it does not get directly comes from there."""
    own, rate = strand_at(state, tier, slot), state.floats[GIVEN, slot]
    if own.doing != READING:
        return float(rate)
    return float(rate - state.own[own.index].read_speed) if own.drawing != 0 else 0.0


@part
def find_rises(state: State, tier: Tier) -> None:
    """How fast each space and the output in it grow."""
    for entry in range(spaces_to_see(state, tier)):
        space = tier.spaces[space_to_see(state, tier, entry)]
        space.rise = 0.0
        space.output_rise = 0.0
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        for slot in range(here.middle - here.down, here.middle):
            own = strand_at(state, tier, slot)
            growth = outgoing_growth(state, tier, slot) * own.unit
            tier.spaces[own.space].rise += growth
            tier.spaces[own.space].output_rise += growth
        for slot in range(here.middle, here.middle + here.up):
            own = strand_at(state, tier, slot)
            tier.spaces[own.space].rise += incoming_growth(state, tier, slot) * own.unit
