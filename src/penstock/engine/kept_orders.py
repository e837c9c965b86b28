"""Kept orders: waiting transfers are in a heap, and a decision looks at its top and at the transfers that move.

A policy may declare that the key of an application changes only while its own operation moves (`policies.policy.Order`).
Then waiting transfers need no second look: a decision costs the logarithm of their number, and the number of those that
move. The plain function of the policy, which defines it, is not called. Every application has one transfer, because what
it moves on another store would change its key.

Where the policy compares key / (t − τ) rounded to a grain, with one release τ for all, the heap is also searched for
transfers within one grain of the top: they compare equal, and ties go to the earlier posting, then to the lower index.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.engine.state import DECISIONS, NOW, Records, State
from penstock.engine.terms import Terms
from penstock.engine.trace import close_segment
from penstock.engine.transfers import APPLICATION, CAP, POSTED, RATE, REMAINING, set_finish
from penstock.numeric.compiled import address, inlined_kernel
from penstock.numeric.tolerances import SHORTEST_ELAPSED_S
from penstock.policies.policy import FILL, HOLD


@inlined_kernel
def key_of(state: State, slot: int, key: Any) -> float:
    """The `key` of the transfer in place `slot` of `state`, now."""
    return float(
        key(
            address(state.floats),
            address(state.integers),
            address(state.clock),
            address(state.degradation),
            state.floats.shape[1],
            slot,
        )
    )


@inlined_kernel
def _compared(state: State, terms: Terms, key: float) -> float:
    """The key as the policy compares it."""
    if terms.grain == 0.0:
        return key
    return float(np.rint(key / max(state.clock[NOW] - terms.common_release, SHORTEST_ELAPSED_S) * terms.grain))


@inlined_kernel
def _earlier(state: State, first: int, second: int) -> bool:
    """Whether of two transfers with one key the first comes first: earlier posting, then lower index."""
    one, other = state.transfers[first].place, state.transfers[second].place
    if state.floats[POSTED, one] != state.floats[POSTED, other]:
        return bool(state.floats[POSTED, one] < state.floats[POSTED, other])
    return bool(state.integers[APPLICATION, one] < state.integers[APPLICATION, other])


@inlined_kernel
def _before(state: State, key: float, transfer: int, other_key: float, other: int) -> bool:
    """Whether the transfer comes before the other one in the heap."""
    return key < other_key or (key == other_key and _earlier(state, transfer, other))


@inlined_kernel
def wait_in_order(state: State, store: int, key: float, transfer: int) -> None:
    """Add `transfer`, with this `key`, to those that wait on `store` of `state`."""
    here = state.stores[store]
    hole = here.waiting
    here.waiting += 1
    _rise(state, here.row, hole, key, transfer)


@inlined_kernel
def _rise(state: State, row: int, hole: int, key: float, transfer: int) -> None:
    """Fill the hole in the heap with the transfer, moving down those above that come after it."""
    heap = state.transfers
    while hole > 0:
        parent = (hole - 1) >> 1
        if not _before(state, key, transfer, heap[row + parent].waiting_key, heap[row + parent].waiting):
            break
        heap[row + hole].waiting_key = heap[row + parent].waiting_key
        heap[row + hole].waiting = heap[row + parent].waiting
        hole = parent
    heap[row + hole].waiting_key = key
    heap[row + hole].waiting = transfer


@inlined_kernel
def _take_out(state: State, store: int, hole: int) -> None:
    """Take the entry at this place out of the heap."""
    here = state.stores[store]
    heap, row = state.transfers, here.row
    here.waiting -= 1
    last = here.waiting
    if hole == last:
        return
    key, transfer = heap[row + last].waiting_key, heap[row + last].waiting
    child = 2 * hole + 1
    while child < last:
        if child + 1 < last:
            left, right = heap[row + child], heap[row + child + 1]
            if _before(state, right.waiting_key, right.waiting, left.waiting_key, left.waiting):
                child += 1
        below = heap[row + child]
        if _before(state, key, transfer, below.waiting_key, below.waiting):
            break
        heap[row + hole].waiting_key = below.waiting_key
        heap[row + hole].waiting = below.waiting
        hole = child
        child = 2 * hole + 1
    _rise(state, row, hole, key, transfer)


@inlined_kernel
def _first_waiting(state: State, terms: Terms, store: int) -> int:
    """The place in the heap of the transfer that comes first as the policy compares."""
    here = state.stores[store]
    if terms.grain == 0.0 or here.waiting == 1:
        return 0
    # All transfers as low as the top are connected below it in the heap. A key above `sure` is not as low, which saves most
    # divisions.
    heap, row = state.transfers, here.row
    lowest = _compared(state, terms, heap[row].waiting_key)
    sure = _as_high_as(state, terms, lowest)
    best, size = 0, 1
    heap[row].stack = 0
    while size > 0:
        size -= 1
        place = heap[row + size].stack
        if _earlier(state, heap[row + place].waiting, heap[row + best].waiting):
            best = place
        for child in range(2 * place + 1, min(2 * place + 3, here.waiting)):
            key = heap[row + child].waiting_key
            if key <= sure and _compared(state, terms, key) <= lowest:
                heap[row + size].stack = child
                size += 1
    return best


@inlined_kernel
def _as_high_as(state: State, terms: Terms, compared: float) -> float:
    """A key above which none is compared as low as this."""
    return float((compared + 1.0) * max(state.clock[NOW] - terms.common_release, SHORTEST_ELAPSED_S) / terms.grain)


@inlined_kernel
def _set_rate(state: State, trace: Records, transfer: int, rate: float) -> None:
    """Let the transfer move at this rate."""
    slot = state.transfers[transfer].place
    if rate != state.floats[RATE, slot]:
        if len(trace) > 0:
            close_segment(state, trace, slot, rate)
        state.floats[RATE, slot] = rate


@inlined_kernel
def _sort_movers(state: State, terms: Terms, store: int, key: Any) -> None:
    """Sort the transfers that move by their present keys; they are few."""
    here = state.stores[store]
    for place in range(here.row, here.row + here.moving):
        transfer = state.transfers[place].mover
        own_key = key_of(state, state.transfers[transfer].place, key)
        hole = place
        while hole > here.row and _before(
            state,
            _compared(state, terms, own_key),
            transfer,
            _compared(state, terms, state.transfers[hole - 1].mover_key),
            state.transfers[hole - 1].mover,
        ):
            state.transfers[hole].mover = state.transfers[hole - 1].mover
            state.transfers[hole].mover_key = state.transfers[hole - 1].mover_key
            hole -= 1
        state.transfers[hole].mover = transfer
        state.transfers[hole].mover_key = own_key


@inlined_kernel
def _mover_first(state: State, terms: Terms, store: int, place: int, waiting: int) -> bool:
    """Whether the mover at this place comes before the waiting transfer at that place of the heap."""
    row = state.stores[store].row
    mine, other = state.transfers[row + place].mover_key, state.transfers[row + waiting].waiting_key
    if terms.grain > 0.0:
        mine, other = _compared(state, terms, mine), _compared(state, terms, other)
    if mine != other:
        return bool(mine < other)
    return _earlier(state, state.transfers[row + place].mover, state.transfers[row + waiting].waiting)


@inlined_kernel
def _choose(state: State, terms: Terms, trace: Records, store: int) -> None:
    """Give bandwidth to movers and waiting transfers in their order, until there is none left or one is served alone."""
    here = state.stores[store]
    left, chosen, place = here.total, 0, 0
    while left > 0.0 and (place < here.moving or here.waiting > 0):
        first = _first_waiting(state, terms, store) if here.waiting > 0 else -1
        if place < here.moving and (first < 0 or _mover_first(state, terms, store, place, first)):
            transfer = state.transfers[here.row + place].mover
            place += 1
        else:
            transfer = state.transfers[here.row + first].waiting
            _take_out(state, store, first)
        rate = min(state.floats[CAP, state.transfers[transfer].place], left)
        _set_rate(state, trace, transfer, rate)
        state.transfers[here.row + chosen].chosen = transfer
        chosen += 1
        left = left - rate if terms.serves == FILL else 0.0
    for rest in range(place, here.moving):
        transfer = state.transfers[here.row + rest].mover
        _set_rate(state, trace, transfer, 0.0)
        wait_in_order(state, store, state.transfers[here.row + rest].mover_key, transfer)
    for rest in range(chosen):
        state.transfers[here.row + rest].mover = state.transfers[here.row + rest].chosen
    here.moving = chosen


@inlined_kernel
def serve(state: State, terms: Terms, trace: Records, store: int, key: Any) -> None:
    """Decide which transfers of `store` move, in the order of the `key`, and write their rates into `state`.

    `terms` say how keys are compared and how many are served. The `trace` gets the segments that end.
    """
    here = state.stores[store]
    if here.moving + here.waiting > 0:
        state.counts[DECISIONS] += 1
        if terms.serves != HOLD:
            _sort_movers(state, terms, store, key)
        if terms.serves != HOLD or here.moving == 0:
            _choose(state, terms, trace, store)
    wait, finisher = np.inf, -1
    for place in range(here.row, here.row + here.moving):
        slot = state.transfers[state.transfers[place].mover].place
        left = state.floats[REMAINING, slot] / state.floats[RATE, slot]
        if left < wait:
            wait, finisher = left, state.transfers[place].mover
    set_finish(state, store, wait, finisher)
