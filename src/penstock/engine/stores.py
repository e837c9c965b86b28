"""The stores: what moves on each, when the next transfer is complete, and which must be asked about anew.

Only the stores where something happens are brought up to date. The next dates of all are the leaves of a tree of minima:
the first is at its root, and a change costs the logarithm of their number.
"""

from __future__ import annotations

from penstock.engine.slots import CAP, PROGRESS, RATE, REMAINING, TRANSFERRING, VOLUME
from penstock.engine.state import DONE, INDEX, NOW, TOUCHED, Record, State
from penstock.engine.terms import Terms
from penstock.policies.compiled import part


@part
def set_next(state: State, store: int, date: float) -> None:
    """The next date of the store."""
    node = (len(state.stores) >> 1) + store
    state.stores[node].node = date
    while node > 1:
        node >>= 1
        state.stores[node].node = min(state.stores[2 * node].node, state.stores[2 * node + 1].node)


@part
def first_store(state: State) -> int:
    """The store with the first date."""
    leaves = len(state.stores) >> 1
    node = 1
    while node < leaves:
        node *= 2
        if state.stores[node + 1].node < state.stores[node].node:
            node += 1
    return node - leaves


@part
def count_parts(own: Record, now: float) -> None:
    """Bring what the operation has moved on all its strands up to date."""
    own.part_moved += own.part_rate * (now - own.counted)
    own.counted = now


@part
def seconds_since(state: State, store: int) -> float:
    """Seconds since the date that the transfers of the store are up to."""
    here, now = state.stores[store], state.clock[NOW]
    # To the date of a completion it is exactly so long: the difference of two dates has lost some bits.
    return float(here.wait if now == here.finish else now - here.since)


@part
def catch_up(state: State, terms: Terms, store: int) -> None:
    """Bring the transfers of the store up to date; they are then decided upon anew."""
    here, floats = state.stores[store], state.floats
    seconds = seconds_since(state, store)
    if seconds > 0.0:
        for place in range(here.row, here.row + here.moving):
            slot = state.transfers[state.transfers[place].mover].place
            remaining = max(0.0, floats[REMAINING, slot] - floats[RATE, slot] * seconds)
            floats[REMAINING, slot] = remaining
            floats[TRANSFERRING, slot] += seconds
            if not terms.striped:
                floats[PROGRESS, slot] = floats[DONE, slot] + (floats[VOLUME, slot] - remaining) / floats[CAP, slot]
        if here.moving > 0:
            here.busy += seconds
    here.since = state.clock[NOW]


@part
def touch(state: State, terms: Terms, store: int) -> None:
    """Something happens on the store: bring it up to date, and have its rates decided anew."""
    here = state.stores[store]
    if here.since != state.clock[NOW]:
        catch_up(state, terms, store)
    if here.stale == 0:
        here.stale = 1
        state.stores[state.counts[TOUCHED]].touched = store
        state.counts[TOUCHED] += 1


@part
def set_finish(state: State, store: int, wait: float, finisher: int) -> None:
    """The first completion of the store is that of this transfer, in so many seconds."""
    here = state.stores[store]
    here.wait = wait
    here.finish = state.clock[NOW] + wait
    here.finisher = finisher
    set_next(state, store, min(here.finish, here.round_end))


@part
def refresh_progress(state: State, store: int) -> None:
    """Bring the progress of those that move over several stores up to date, to be shown."""
    here = state.stores[store]
    for slot in range(here.middle - here.down, here.middle + here.up):
        own = state.own[state.integers[INDEX, slot]]
        count_parts(own, state.clock[NOW])
        speed = state.floats[CAP, slot]
        state.floats[PROGRESS, slot] = own.done + own.part_moved / own.uses / speed
