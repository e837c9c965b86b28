"""The places of the transfers under way: one is entered, one leaves and the last of its side takes its place."""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.engine.books import compiled_mean_iteration
from penstock.engine.state import (
    ASIDE,
    BEGAN,
    DONE,
    FLOAT_ROWS,
    HOLDING,
    INDEX,
    INTEGER_ROWS,
    NOW,
    ROUNDS,
    SEGMENT_BEGIN,
    SEGMENT_RATE,
    SLOTS,
    TRANSFER,
    UNIT,
    State,
)
from penstock.policies.compiled import part
from penstock.policies.order import TIME_GRAIN
from penstock.policies.view import GIVEN, ROW

REMAINING: Final = ROW["remaining"]
CAP: Final = ROW["cap"]
POSTED: Final = ROW["posted"]
PROGRESS: Final = ROW["progress"]
RELEASE: Final = ROW["release"]
NODES: Final = ROW["nodes"]
MEAN_ITERATION: Final = ROW["mean_iteration"]
VOLUME: Final = ROW["volume"]
RATE: Final = ROW["rate"]
TRANSFERRING: Final = ROW["transferring"]
WHOLE: Final = ROW["whole"]
RANK: Final = ROW["rank"]
APPLICATION: Final = ROW["application"]
TURN: Final = ROW["turn"]
SCRATCH: Final = ROW["scratch"]
"""From here to before GIVEN the rows are room for the policy, and mean nothing when it is not asked."""


@part
def to_the_grain(seconds: float) -> float:
    """A date as orders compare it, to the nanosecond."""
    return float(np.rint(seconds * TIME_GRAIN) / TIME_GRAIN)


@part
def places(begin: int, end: int) -> range:
    """The places from one to before another, for long loops: as unsigned numbers they are not counted from the end if
    negative, and such loops can be done four at a time.
    """
    return range(np.uint64(begin), np.uint64(end))


@part
def enter(state: State, store: int, transfer: int, down: bool) -> int:
    """A free place of the store, now the transfer's: below the middle or above it."""
    here = state.stores[store]
    if down:
        here.down += 1
        slot = here.middle - here.down
    else:
        slot = here.middle + here.up
        here.up += 1
    state.counts[SLOTS] += 1
    state.transfers[transfer].place = slot
    state.integers[TRANSFER, slot] = transfer
    return int(slot)


@part
def leave(state: State, store: int, slot: int) -> None:
    """Free the place; the last of its side moves there."""
    here = state.stores[store]
    state.counts[SLOTS] -= 1
    if slot >= here.middle:
        here.up -= 1
        last = here.middle + here.up
    else:
        last = here.middle - here.down
        here.down -= 1
    state.transfers[state.integers[TRANSFER, slot]].place = -1
    if slot != last:
        for row in range(SCRATCH):
            state.floats[row, slot] = state.floats[row, last]
        for row in range(GIVEN, FLOAT_ROWS):
            state.floats[row, slot] = state.floats[row, last]
        for row in range(INTEGER_ROWS):
            state.integers[row, slot] = state.integers[row, last]
        state.transfers[state.integers[TRANSFER, slot]].place = slot


@part
def swap(state: State, one: int, other: int) -> None:
    """Exchange the places of two transfers."""
    for row in range(FLOAT_ROWS):
        state.floats[row, one], state.floats[row, other] = state.floats[row, other], state.floats[row, one]
    for row in range(INTEGER_ROWS):
        state.integers[row, one], state.integers[row, other] = state.integers[row, other], state.integers[row, one]
    state.transfers[state.integers[TRANSFER, one]].place = one
    state.transfers[state.integers[TRANSFER, other]].place = other


@part
def occupy(state: State, slot: int, index: int, volume: float, cap: float) -> None:
    """Put an operation of this volume, which the application posts now, into the place."""
    floats, own, now = state.floats, state.own[index], state.clock[NOW]
    state.integers[INDEX, slot] = index
    state.integers[APPLICATION, slot] = index
    state.integers[TURN, slot] = state.turns[own.cursor - 1] if len(state.turns) > 0 else -1
    floats[REMAINING, slot] = volume
    floats[VOLUME, slot] = volume
    floats[CAP, slot] = cap
    floats[POSTED, slot] = to_the_grain(now)
    floats[BEGAN, slot] = now
    floats[DONE, slot] = own.done
    floats[PROGRESS, slot] = own.done
    floats[RELEASE, slot] = own.release
    floats[NODES, slot] = own.nodes
    floats[MEAN_ITERATION, slot] = compiled_mean_iteration(own)
    floats[WHOLE, slot] = own.whole
    floats[RANK, slot] = own.rank
    floats[RATE, slot] = 0.0
    floats[HOLDING, slot] = 0.0
    floats[ASIDE, slot] = 0.0
    floats[ROUNDS, slot] = own.rounds
    floats[TRANSFERRING, slot] = own.transfer_seconds
    floats[SEGMENT_BEGIN, slot] = now
    floats[SEGMENT_RATE, slot] = 0.0
    floats[UNIT, slot] = own.bytes / own.uses
