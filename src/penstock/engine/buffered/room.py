"""What goes into the buffer and comes out of it, at given rates on the I/O system.

A writer sends at its speed b_w: its rate on the I/O system goes straight there, the rest into the buffer. Into a space that
is full goes no more than falls free in it, by draining and by reads from it: equally to the writers, and what they leave
equally to the prefetches. So a full space is never more than full, and that it is full is no event again and again: a share
that fills in a write stays full to the end of the write, in which the application sends at its rate on the I/O system.
B_BB, which bounds all that goes in, is divided in the same way, writers first.
"""

from __future__ import annotations

from typing import Final

from penstock.engine.buffered.state import READERS, READING, WRITERS, WRITING, Buffers, Limits, Record, busy
from penstock.policies.compiled import part
from penstock.policies.view import Floats

NO_ROOM: Final = 1e-12
"""A space with no more than this part of it free is full; a bandwidth below this part of B is none."""


@part
def see_room(space: Record) -> None:
    """The space is full only if there really is no room."""
    space.full = 1 if space.content >= space.capacity * (1.0 - NO_ROOM) else 0


@part
def outgoing_growth(own: Record) -> float:
    """How fast an application's written data in the buffer grow."""
    return float(own.inflow) if own.doing == WRITING else -float(own.write_rate)


@part
def incoming_growth(own: Record) -> float:
    """How fast its prefetched data in the buffer grow; in a read, what it does not get directly comes from there."""
    if own.doing != READING:
        return float(own.read_rate)
    return float(own.read_rate - own.read_speed) if own.drawing != 0 else 0.0


@part
def divide_room(buffers: Buffers, limits: Limits) -> bool:
    """Set what goes into the buffer at the rates on the I/O system; whether prefetches were held back."""
    _free_room(buffers)
    return _hold_back(buffers, _let_in(buffers, limits))


@part
def _free_room(buffers: Buffers) -> None:
    """How fast those who are not writing take data out of each space."""
    for place in range(buffers.sizes[WRITERS] + buffers.sizes[READERS]):
        buffers.spaces[buffers.applications[busy(buffers, place)].space].freed = 0.0
    for place in range(buffers.sizes[WRITERS]):
        own = buffers.applications[buffers.writers[place]]
        if own.doing != WRITING:
            buffers.spaces[own.space].freed += own.write_rate
    for place in range(buffers.sizes[READERS]):
        own = buffers.applications[buffers.readers[place]]
        if own.drawing != 0:
            buffers.spaces[own.space].freed += own.read_speed - own.read_rate


@part
def _let_in(buffers: Buffers, limits: Limits) -> float:
    """Set what each writer sends into the buffer; returns what is left of B_BB."""
    size, total = 0, 0.0
    for place in range(buffers.sizes[WRITERS]):
        own = buffers.applications[buffers.writers[place]]
        if own.doing == WRITING:
            wanted = own.write_speed - own.write_rate
            space = buffers.spaces[own.space]
            if space.full != 0:
                wanted = min(wanted, space.freed)
            buffers.demand[size] = wanted
            buffers.demander[size] = buffers.writers[place]
            size += 1
            total += wanted
    if len(buffers.spaces) == 1 and buffers.spaces[0].full != 0:
        level_out(buffers.demand, size, buffers.spaces[0].freed)
    if total > limits.inflow:
        level_out(buffers.demand, size, limits.inflow)
    left = limits.inflow
    for place in range(size):
        own = buffers.applications[buffers.demander[place]]
        own.inflow = buffers.demand[place]
        buffers.spaces[own.space].freed -= buffers.demand[place]
        left -= buffers.demand[place]
    return left


@part
def _hold_back(buffers: Buffers, left: float) -> bool:
    """Cut the prefetches to the room that writers leave in full spaces, and to what is `left` of B_BB."""
    size, total = 0, 0.0
    for place in range(buffers.sizes[READERS]):
        own = buffers.applications[buffers.readers[place]]
        if own.doing != READING and own.read_rate > 0.0:
            wanted = own.read_rate
            space = buffers.spaces[own.space]
            if space.full != 0:
                wanted = min(wanted, max(0.0, space.freed))
            buffers.demand[size] = wanted
            buffers.demander[size] = buffers.readers[place]
            size += 1
            total += wanted
    if len(buffers.spaces) == 1 and buffers.spaces[0].full != 0:
        level_out(buffers.demand, size, max(0.0, buffers.spaces[0].freed))
    if total > left:
        level_out(buffers.demand, size, max(0.0, left))
    held = False
    for place in range(size):
        own = buffers.applications[buffers.demander[place]]
        if buffers.demand[place] < own.read_rate * (1.0 - NO_ROOM):
            own.asks = 0
            held = True
        own.read_rate = buffers.demand[place]
    return held


@part
def level_out(amounts: Floats, size: int, budget: float) -> None:
    """Cut the first `size` amounts to one level, the highest at which they add up to no more than the budget."""
    if size == 0:
        return
    level = budget / size
    above = size + 1
    while True:
        total, higher = 0.0, 0
        for place in range(size):
            total += min(amounts[place], level)
            if amounts[place] > level:
                higher += 1
        if higher == 0 or higher == above:
            break
        above = higher
        level += (budget - total) / higher
    for place in range(size):
        amounts[place] = min(amounts[place], level)


@part
def find_rises(buffers: Buffers) -> None:
    """How fast each space and the output in it grow."""
    for place in range(buffers.sizes[WRITERS] + buffers.sizes[READERS]):
        space = buffers.spaces[buffers.applications[busy(buffers, place)].space]
        space.rise = 0.0
        space.output_rise = 0.0
    for place in range(buffers.sizes[WRITERS]):
        own = buffers.applications[buffers.writers[place]]
        growth = outgoing_growth(own)
        buffers.spaces[own.space].rise += growth
        buffers.spaces[own.space].output_rise += growth
    for place in range(buffers.sizes[READERS]):
        own = buffers.applications[buffers.readers[place]]
        buffers.spaces[own.space].rise += incoming_growth(own)
