"""Applications that a batch scheduler starts and ends: placed on I/O resources when they start, ended before their end.

The strands of such an application are numbered from the start, as many as it may use. `place_now` tells on which stores they
are. A store has places for so many applications at a time (berths), not for all that ever come; `widened` doubles them. So
an application that has not started or has ended costs nothing but its record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Final

import numpy as np
from numba import types

from penstock.engine.machine import Layout, Use, seconds_of_phases
from penstock.engine.setup import columns, divide_places, sides_of
from penstock.engine.state import (
    ACTIVE,
    COMING,
    FLOAT_ROWS,
    HEAP,
    INTEGER_ROWS,
    STATE_TYPE,
    WORKING,
    Records,
    State,
    new_transfers,
)
from penstock.engine.terms import TERMS_TYPE
from penstock.engine.tier import Tier
from penstock.engine.trace import SEGMENTS_TYPE, close_segment
from penstock.engine.transfers import leave, touch
from penstock.model import InputError
from penstock.model.application import WORK
from penstock.numeric.compiled import direct, without_refcount

_LISTS: Final = ("mover", "mover_key", "waiting", "waiting_key", "chosen", "stack")
"""Fields of the transfers that are entries of the lists of a store."""


def place_now(
    state: State, layout: Layout, tier: Tier | None, index: int, resources: Sequence[int], use: Callable[[int], Use]
) -> None:
    """Place an application, which starts now, on I/O resources.

    Args:
        state: the state of the run, which changes.
        layout: the layout of the run, which changes.
        tier: the buffers of the run, if there are any.
        index: the position of the application.
        resources: the I/O resources it uses, numbered from 0.
        use: tells how it uses so many of them; it is asked only where they are not as many as before.

    Raises:
        InputError: if these are not different resources, or more than it may use.
    """
    used = tuple(int(resource) for resource in resources)
    own, first, reserved = state.own, int(state.own["first_use"][index]), int(layout.counts[index])
    if not used or len(set(used)) != len(used) or len(used) > reserved or not 0 <= min(used) <= max(used) < layout.stores:
        expected = f"expected 1 to {reserved} different numbers below {layout.stores}"
        raise InputError(f"applications[{index}]", f"cannot be placed on {list(used)}; {expected}")
    assert isinstance(layout.placement, list)
    layout.placement[index] = used
    strands = len(state.transfers) if tier is None else len(tier.strands)
    for begin in (first,) if tier is None else (first, first + strands):
        state.transfers["store"][begin : begin + len(used)] = used
    if len(used) != int(own["uses"][index]):
        _use_as_many(state, layout, index, len(used), use(len(used)))
    if tier is not None:
        tier.strands["unit"][first : first + len(used)] = layout.bytes[index] / len(used)


def _use_as_many(state: State, layout: Layout, index: int, count: int, use: Use) -> None:
    """Let an application use `count` resources, another number than before; its amounts are in other units then."""
    own = state.own
    phases = slice(int(own["first"][index]), int(own["last"][index]))
    kinds, amounts = state.kinds[phases], state.amounts[phases]
    amounts[:] = np.where(kinds == WORK, amounts, amounts * layout.bytes[index] / use.bytes)
    layout.bytes[index], layout.best[index] = use.bytes, use.best
    for name in ("bytes", "write_cap", "read_cap", "write_speed", "read_speed"):
        own[name][index] = getattr(use, name)
    own["uses"][index] = count
    own["upcoming"][index] = amounts[0]
    own["whole"][index] -= own["cycle"][index]
    seconds = seconds_of_phases(kinds, amounts, [len(kinds)], np.array([use.write_speed]), np.array([use.read_speed]))
    own["cycle"][index] = seconds.sum()
    own["whole"][index] += own["cycle"][index]


def withdraw(state: State, under: Records, trace: Records, index: int) -> None:
    """Take the transfers of application `index` off their stores, whose rates are to be found anew."""
    state = without_refcount(state)
    terms = under[0]
    own = state.own[index]
    for use in range(own.first_use, own.first_use + own.uses):
        slot = state.transfers[use].place
        if slot < 0:
            continue
        store = state.transfers[use].store
        here = state.stores[store]
        touch(state, terms, store)
        if len(trace) > 0:
            close_segment(state, trace, slot, 0.0)
        for place in range(here.row, here.row + here.moving):
            if state.transfers[place].mover == use:
                here.moving -= 1
                state.transfers[place].mover = state.transfers[here.row + here.moving].mover
                break
        leave(state, store, slot)


@cache
def compiled_withdraw() -> Callable[..., None]:
    """`withdraw`, compiled."""
    return direct(withdraw, types.void(STATE_TYPE, TERMS_TYPE, SEGMENTS_TYPE, types.int64), "ending jobs")


def leave_heap(state: State, index: int) -> None:
    """Take the event of application `index` out of the heap of `state`."""
    size = int(state.counts[HEAP])
    entries = state.queue[:size]
    others = entries[entries["index"] != index]
    state.queue[: len(others)] = others[np.argsort(others["time"], kind="stable")]
    state.counts[HEAP] = len(others)


def berths_in_use(state: State, tier: Tier | None) -> int:
    """How many applications have places on a store of `state`, or may have them; with a `tier` also those that drain."""
    status = state.own["status"]
    alive = int(np.count_nonzero((status == WORKING) | (status == ACTIVE) | (status == COMING)))
    return alive if tier is None else alive + int(np.maximum(state.stores["up"], state.stores["down"]).max())


def widened(state: State, layout: Layout, berths: int, directions: int) -> State:
    """The `state` with room for so many `berths` on each store of the `layout`; transfers have 1 or 2 `directions`."""
    stores, sides = state.stores[: layout.stores], sides_of(layout, directions)
    before = stores.copy()
    divide_places(stores, np.full(layout.stores, berths), directions, sides)
    transfers = new_transfers(max(len(state.transfers), layout.stores * berths * directions))
    transfers["place"] = -1
    for name in ("place", "store"):
        transfers[name][: len(state.transfers)] = state.transfers[name]
    width = columns(sides, layout.stores * berths, len(transfers))
    floats, integers = np.zeros((FLOAT_ROWS, width)), np.zeros((INTEGER_ROWS, width), np.int64)
    for old, new in zip(before, stores, strict=True):
        entries = max(int(old["moving"]), int(old["waiting"]))
        for name in _LISTS:
            transfers[name][new["row"] : new["row"] + entries] = state.transfers[name][old["row"] : old["row"] + entries]
        begin, end, shift = old["middle"] - old["down"], old["middle"] + old["up"], new["middle"] - old["middle"]
        for table, wider in ((state.floats, floats), (state.integers, integers)):
            wider[:, begin + shift : end + shift] = table[:, begin:end]
    there = transfers["place"] >= 0
    shifts = stores["middle"] - before["middle"]
    transfers["place"][there] += shifts[transfers["store"][there]]
    return state._replace(transfers=transfers, floats=floats, integers=integers)
