"""Buffers before the stores (004 §3 and §7): what each strand of an application has in them, and the state of their spaces.

A *space* is a part of the buffer that fills and empties by itself: the share of an application, or the one pool of all. A
strand that is in a write, or drains, has a place among the writes of its store. A strand that is in a read, or may
prefetch, has one among the reads. An event looks only at these. A strand enters when something happens to it, and leaves
when rates are found next and it moves nothing.

Amounts of strands are in units of their store, those of spaces in bytes.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numba
import numpy as np
from numba import types

from penstock.engine.chain import compiled_known_iteration
from penstock.engine.state import (
    ACTIVE,
    CHANGED,
    FETCHES,
    INFLOW,
    NOW,
    SLOTS,
    STALE,
    STRANDS,
    TRANSFER,
    WORKING,
    Record,
    Records,
    State,
    new_records,
)
from penstock.engine.terms import Terms
from penstock.engine.trace import close_segment
from penstock.engine.transfers import (
    APPLICATION,
    MEAN_ITERATION,
    POSTED,
    PROGRESS,
    RATE,
    REMAINING,
    ROUNDS,
    TRANSFERRING,
    TURN,
    VOLUME,
    WHOLE,
    enter,
    leave,
    occupy,
    to_the_grain,
)
from penstock.model.application import READ
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import inlined_kernel
from penstock.numeric.tolerances import SAME_AMOUNT

# What a strand does: its `doing`.
NOTHING: Final = 0
READING: Final = 1
WRITING: Final = 2

_STRAND: Final = np.dtype(
    [
        # What every event touches comes first.
        ("index", np.int64),  # its application
        ("space", np.int64),  # where its data in the buffer are
        ("unit", np.float64),  # bytes of a unit
        ("doing", np.int64),  # READING, WRITING or NOTHING of both
        ("drawing", np.int64),  # 1 while it gets prefetched data in a read
        ("left", np.float64),  # what it has still to write or to get, of the operation under way
        ("outgoing", np.float64),  # what is in the buffer that it wrote and that is not yet in the store
        # What is in the buffer that was prefetched and that it has not read yet, what is still to fetch of that read, and
        # what was prefetched so far. A prefetch under way has more: see `fetched`.
        ("incoming", np.float64),
        ("to_fetch", np.float64),
        ("prefetched", np.float64),
        ("inflow", np.float64),  # what it writes into the buffer, beside what goes straight to the store
        ("ahead", np.int64),  # the phase whose data are fetched from the store, and in which lap; the end if none is
        ("ahead_lap", np.int64),
        ("served", np.float64),  # seconds of the operation under way in which the application moved data
        ("read_posted", np.float64),  # when that read began, or could be prefetched
        ("write_posted", np.float64),  # when the last write began
        ("write_volume", np.float64),  # its amount, and what was outgoing when it began
        ("changed", np.int64),  # 1 if something happened to it since rates were found
        ("direct_written", np.float64),  # moved so far
        ("drained", np.float64),
        ("direct_read", np.float64),
        ("reader", np.int64),  # entry of the list of strands in a read, and where in it this strand is
        ("reader_entry", np.int64),
        ("changed_strand", np.int64),  # entry of the list of strands to which something happened since rates were found
        ("seen_outgoing", np.float64),  # in the first strand of an application: its growths and rates at its last row of
        ("seen_incoming", np.float64),  # the trace
        ("seen_write", np.float64),
        ("seen_read", np.float64),
    ]
)
_SPACE: Final = np.dtype(
    [
        ("capacity", np.float64),  # its size in bytes
        ("level", np.float64),  # how much output there must be in it for draining to begin
        ("content", np.float64),  # all data in it
        ("output", np.float64),  # those of them that were written
        ("peak", np.float64),  # the largest content so far
        ("rise", np.float64),  # how fast the content grows
        ("output_rise", np.float64),
        ("freed", np.float64),  # how fast room falls free in it that no writer takes
        ("fetching", np.float64),  # in a pool: how fast prefetches fill it
        ("unheld", np.int64),  # in a pool: prefetches that were not held back
        ("frees", np.int64),  # 1 if room falls free in it
        ("full", np.int64),  # 1 from when it was full to the next event in it
        ("draining", np.int64),  # 1 while those not in a write drain
    ]
)


class Tier(NamedTuple):
    """What buffers add to the state of a run."""

    strands: Records
    spaces: Records
    demands: Floats
    """What each place in `demanders` wants of the room that is being divided."""
    demanders: Ints


TIER_TYPE: Final[Any] = types.NamedTuple(
    [numba.from_dtype(_STRAND)[::1], numba.from_dtype(_SPACE)[::1], types.float64[::1], types.int64[::1]], Tier
)


def new_tier(state: State, capacity: Floats, threshold: float, inflow: float) -> Tier:
    """Make empty buffers before the stores of `state`.

    Args:
        state: the state of the run; its rates are to be found anew.
        capacity: bytes of each space: one entry for a pool, else one for each application.
        threshold: the part of a space, 0 to 1, that output must fill before it is drained.
        inflow: B_BB, bytes/s that can go into all spaces together.
    """
    own = state.own
    strands = new_records(int(state.counts[STRANDS]), _STRAND)
    strands["index"] = np.repeat(np.arange(len(own)), own["uses"])
    strands["unit"] = np.repeat(own["bytes"] / own["uses"], own["uses"])
    strands["space"] = 0 if len(capacity) < len(own) or len(own) == 1 else strands["index"]
    strands["ahead"] = np.repeat(own["last"], own["uses"])
    spaces = new_records(len(capacity), _SPACE)
    spaces["capacity"] = capacity
    spaces["level"] = threshold * capacity if threshold > 0.0 else 0.0  # 0 · ∞ is no number
    spaces["full"] = capacity == 0.0
    spaces["draining"] = spaces["level"] == 0.0
    state.counts[STALE] = 1
    state.clock[INFLOW] = inflow
    return Tier(strands, spaces, np.zeros(len(strands)), np.zeros(len(strands), np.int64))


def all_fetched(state: State, tier: Tier) -> Floats:
    """`fetched` of every strand of `tier`, by the places in `state`."""
    places = state.transfers["place"][: len(tier.strands)]
    under_way = (places >= 0) & (state.floats[FETCHES, places] != 0.0)
    return np.where(under_way, tier.strands["to_fetch"] - state.floats[REMAINING, places], 0.0)


@inlined_kernel
def strand_at(state: State, tier: Tier, slot: int) -> Record:
    """The strand of `tier` whose transfer is in place `slot` of `state`."""
    return tier.strands[number_at(state, tier, slot)]


@inlined_kernel
def number_at(state: State, tier: Tier, slot: int) -> int:
    """The number of the strand of `tier` whose transfer is in place `slot` of `state`: writes come behind all reads."""
    transfer = state.integers[TRANSFER, slot]
    return int(transfer if transfer < len(tier.strands) else transfer - len(tier.strands))


@inlined_kernel
def spaces_to_see(state: State, tier: Tier) -> int:
    """How many entries `space_to_see` has: the one pool of `tier`, or one for each place in use in `state`."""
    return 1 if len(tier.spaces) == 1 else int(state.counts[SLOTS])


@inlined_kernel
def space_to_see(state: State, tier: Tier, entry: int) -> int:
    """The number of a space of `tier` in which something may move: of the strand in the place number `entry` of `state`.

    Shares of applications without a place need no look. Some spaces come twice.
    """
    if len(tier.spaces) == 1:
        return 0
    store = 0
    while entry >= state.stores[store].down + state.stores[store].up:
        entry -= state.stores[store].down + state.stores[store].up
        store += 1
    return int(strand_at(state, tier, state.stores[store].middle - state.stores[store].down + entry).space)


@inlined_kernel
def write_rate(state: State, tier: Tier, strand: int) -> float:
    """What `strand` of `tier` writes to its store, in units/s, by `state`."""
    slot = state.transfers[strand + len(tier.strands)].place
    return float(state.floats[RATE, slot]) if slot >= 0 else 0.0


@inlined_kernel
def read_rate(state: State, strand: int) -> float:
    """What `strand` reads from its store, in units/s, by `state`."""
    slot = state.transfers[strand].place
    return float(state.floats[RATE, slot]) if slot >= 0 else 0.0


@inlined_kernel
def speed_of(own: Record, doing: int) -> float:
    """Units/s at which a strand of the application `own` writes or reads, as `doing` says, where nothing holds it up."""
    return float(own.write_speed if doing == WRITING else own.read_speed)


@inlined_kernel
def see_room(space: Record) -> None:
    """Set whether `space` is full: only if there really is no room."""
    space.full = 1 if space.content >= space.capacity * (1.0 - SAME_AMOUNT) else 0


@inlined_kernel
def mark_changed(state: State, tier: Tier, strand: int) -> None:
    """Note in `state` and `tier` that something happened to `strand`.

    There may be room for it now, and rates must be found anew.
    """
    own = tier.strands[strand]
    see_room(tier.spaces[own.space])
    state.counts[STALE] = 1
    if own.changed == 0:
        own.changed = 1
        tier.strands[state.counts[CHANGED]].changed_strand = strand
        state.counts[CHANGED] += 1


@inlined_kernel
def show_changed(state: State, trace: Records, tier: Tier) -> None:
    """Give changed strands of `tier` a place in `state`, with what a policy sees of them.

    The decision that follows tells whether they move anything. The `trace` gets the segments of those that leave.
    """
    strands = len(tier.strands)
    for entry in range(state.counts[CHANGED]):
        strand = tier.strands[entry].changed_strand
        own = tier.strands[strand]
        chain = state.own[own.index]
        own.changed = 0
        book(state, tier, strand)
        ahead = own.ahead < chain.last
        place = state.transfers[strand].place
        if place < 0 and (own.doing == READING or (ahead and tier.spaces[own.space].capacity > 0.0)):
            place = _enter(state, own, strand, strand, False)
        if place >= 0 and own.doing != READING and (not ahead or tier.spaces[own.space].capacity == 0.0):
            leave_place(state, trace, tier, state.transfers[strand].store, place)
        elif place >= 0:
            state.floats[FETCHES, place] = 1.0 if ahead and own.doing != READING else 0.0
            rounds = chain.rounds if fetches_its_read(state, own) else 0.0
            _show_operation(state, place, state.amounts[own.ahead] if ahead else 0.0, own.read_posted, rounds)
            state.floats[REMAINING, place] = own.to_fetch
        place = state.transfers[strand + strands].place
        if place < 0 and (own.doing == WRITING or own.outgoing > 0.0):
            place = _enter(state, own, strand, strand + strands, True)
        if place >= 0:
            state.floats[FETCHES, place] = 0.0
            _show_operation(state, place, own.write_volume, own.write_posted, chain.rounds if own.doing == WRITING else 0.0)
    state.counts[CHANGED] = 0


@inlined_kernel
def _enter(state: State, own: Record, strand: int, transfer: int, writes: bool) -> int:
    chain = state.own[own.index]
    slot = enter(state, state.transfers[strand].store, transfer, writes)
    occupy(state, slot, own.index, 0.0, chain.write_cap if writes else chain.read_cap)
    state.integers[APPLICATION, slot] = 2 * own.index + (1 if writes else 0)
    state.integers[TURN, slot] = -1
    return slot


@inlined_kernel
def _show_operation(state: State, slot: int, volume: float, posted: float, rounds: float) -> None:
    """Bring what a policy sees of another operation into the place; rounds are those of one that is under way."""
    state.floats[VOLUME, slot] = volume
    state.floats[POSTED, slot] = posted
    state.floats[ROUNDS, slot] = rounds


@inlined_kernel
def fetches_its_read(state: State, own: Record) -> bool:
    """Whether the strand `own` is in the read whose data are fetched, by the chain in `state`."""
    chain = state.own[own.index]
    return bool(own.doing == READING and own.ahead == chain.cursor - 1 and own.ahead_lap == chain.laps)


@inlined_kernel
def fetched(state: State, tier: Tier, strand: int) -> float:
    """Units that a prefetch has brought into the buffer and that are not yet in the books of `strand` of `tier`.

    There may be many prefetches at a time. Only what remains in their places in `state` tells what they have moved.
    """
    place = state.transfers[strand].place
    if place < 0 or state.floats[FETCHES, place] == 0.0:
        return 0.0
    return float(tier.strands[strand].to_fetch - state.floats[REMAINING, place])


@inlined_kernel
def book(state: State, tier: Tier, strand: int) -> None:
    """Enter what a prefetch has brought, by `state`, into the books of `strand` of `tier`."""
    own = tier.strands[strand]
    amount = fetched(state, tier, strand)
    own.to_fetch -= amount
    own.incoming += amount
    own.prefetched += amount


@inlined_kernel
def leave_place(state: State, trace: Records, tier: Tier, store: int, slot: int) -> None:
    """Take the transfer in place `slot` of `store` out of the places of `state`; it does not move.

    What it fetched is entered into the books of its strand in `tier`. The `trace` gets its segment.
    """
    if len(trace) > 0:
        close_segment(state, trace, slot, 0.0)
    if slot >= state.stores[store].middle:
        book(state, tier, number_at(state, tier, slot))
    leave(state, store, slot)


@inlined_kernel
def is_another(state: State, transfer: int) -> None:
    """Note in `state` that `transfer` is of another operation now, which did not have the link."""
    place = state.transfers[transfer].place
    if place >= 0:
        state.floats[RATE, place] = 0.0


@inlined_kernel
def fetch_next(state: State, terms: Terms, tier: Tier, strand: int, phase: int, lap: int) -> None:
    """Let `strand` of `tier` fetch the next read of its chain, from `phase` of this `lap` on.

    It does not have the link, which another operation had. `terms` say whether chains repeat; `state` has them.
    """
    own = tier.strands[strand]
    chain = state.own[own.index]
    laps = 0
    while True:
        while phase < chain.last and (state.kinds[phase] != READ or state.amounts[phase] == 0.0):
            phase += 1
        if phase < chain.last or not terms.repeats or laps == 1:
            break
        phase = chain.first
        lap += 1
        laps += 1
    own.ahead = phase
    own.ahead_lap = lap
    own.to_fetch = state.amounts[phase] if phase < chain.last else 0.0
    own.read_posted = to_the_grain(state.clock[NOW])
    place = state.transfers[strand].place
    if place >= 0:
        state.floats[REMAINING, place] = own.to_fetch
    is_another(state, strand)


@inlined_kernel
def no_incoming(tier: Tier, strand: int) -> None:
    """Set the prefetched data of `strand` in the buffers of `tier` to 0."""
    own = tier.strands[strand]
    tier.spaces[own.space].content -= own.incoming * own.unit
    own.incoming = 0.0
    own.drawing = 0


@inlined_kernel
def show_done(state: State, tier: Tier, slot: int) -> None:
    """Write what the application in place `slot` has done so far into `state`, by its strands in `tier`."""
    index = strand_at(state, tier, slot).index
    own, floats = state.own[index], state.floats
    floats[PROGRESS, slot] = progress_of(state, tier, index)
    floats[TRANSFERRING, slot] = own.linked_seconds
    floats[MEAN_ITERATION, slot] = compiled_known_iteration(own)
    floats[WHOLE, slot] = own.whole


@inlined_kernel
def progress_of(state: State, tier: Tier, index: int) -> float:
    """Seconds of its run at its own speeds that application `index` has done, by `state` and its strands in `tier`."""
    own = state.own[index]
    if own.status == WORKING:
        return float(own.done + min(max(0.0, state.clock[NOW] - own.work_begin), own.work_length))
    if own.status != ACTIVE:
        return float(own.done)
    return float(own.done + moved_of(state, tier, index) / _speed_under_way(state, index))


@inlined_kernel
def _speed_under_way(state: State, index: int) -> float:
    own = state.own[index]
    return float(own.read_speed if state.kinds[own.cursor - 1] == READ else own.write_speed)


@inlined_kernel
def moved_of(state: State, tier: Tier, index: int) -> float:
    """Units that application `index` of `state` has moved of its operation, as the mean of its strands in `tier`."""
    own = state.own[index]
    left = 0.0
    for strand in range(own.first_use, own.first_use + own.uses):
        if tier.strands[strand].doing != NOTHING:
            left += tier.strands[strand].left
    return float(state.amounts[own.cursor - 1] - left / own.uses)
