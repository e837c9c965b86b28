"""Transfers under way: their places in the tables, and the stores that carry them.

A *store* is the link or one I/O resource. Each store owns a range of places (columns) in the tables of
`penstock.engine.state`. Reads occupy places from its middle upwards; writes occupy places downwards where a run tells the
directions apart, and go upwards like reads where it does not. The used places stay contiguous, so that a policy can be
shown a range: when a transfer leaves, the last one of its side moves into its place.

Each store keeps the date `since` up to which its transfers are brought up to date, the rates from then on, and its
next date (the first completion or the end of a round). Between two events all rates are constant: a transfer has
remaining(t) = remaining(since) − rate·(t − since). Only the stores on which something happens are brought up to date.
The next dates of all stores are the leaves of a binary tree of minima: the root is the next date of the run, and a change
costs the logarithm of the number of stores.

Units: seconds; bytes on a link, resource-seconds on I/O resources (`penstock.engine.machine`).

Rounds (003 §III.C): the points at which an operation can be paused and resumed.

An application that coordinates between the rounds of an operation, or between its files, can be paused only there. A
decision that would pause a transfer inside a round waits for the end of that round. Until then the transfer goes on at its
rate, no other transfer begins, and the others that move get what the policy gives them, or in proportion what is left. At
the end of the round the policy is asked again. Rates may change inside a round. The end of a round for which no decision
waits is no event, so rounds cost nothing where nothing is paused.

Beside a buffer, transfers for which the application does not wait have no rounds: draining and prefetching.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.engine.chain import compiled_known_iteration, compiled_progress_during
from penstock.engine.state import (
    ASIDE,
    BEGAN,
    DONE,
    FLOAT_ROWS,
    HOLDING,
    INDEX,
    INTEGER_ROWS,
    NOW,
    SEGMENT_BEGIN,
    SEGMENT_RATE,
    SLOTS,
    TOUCHED,
    TRANSFER,
    UNIT,
    Record,
    State,
)
from penstock.engine.terms import Terms
from penstock.numeric.compiled import inlined_kernel
from penstock.numeric.tolerances import TIME_GRAIN
from penstock.policies.view import GIVEN, ROW, inside_round, left_after_round

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
ROUNDS: Final = ROW["rounds"]
WEIGHT: Final = ROW["weight"]
APPLICATION: Final = ROW["application"]
TURN: Final = ROW["turn"]
USER: Final = ROW["user"]
GROUP: Final = ROW["group"]
SCRATCH: Final = ROW["scratch"]
"""From here to before GIVEN the rows are room for the policy, and mean nothing when it is not asked."""


@inlined_kernel
def to_the_grain(seconds: float) -> float:
    """The date `seconds` as orders compare it, to the nanosecond."""
    return float(np.rint(seconds * TIME_GRAIN) / TIME_GRAIN)


@inlined_kernel
def places(begin: int, end: int) -> range:
    """The places from `begin` to before `end`, for long loops.

    As unsigned numbers they are not counted from the end if negative, and the processor can do four turns at a time.
    """
    return range(np.uint64(begin), np.uint64(end))


@inlined_kernel
def enter(state: State, store: int, transfer: int, down: bool) -> int:
    """Give `transfer` a free place of `store` in `state`, `down` below the middle or above it; returns the place."""
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


@inlined_kernel
def leave(state: State, store: int, slot: int) -> None:
    """Free place `slot` of `store` in `state`; the last transfer of its side moves there."""
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


@inlined_kernel
def swap(state: State, one: int, other: int) -> None:
    """Exchange the transfers in the places `one` and `other` of `state`."""
    for row in range(FLOAT_ROWS):
        state.floats[row, one], state.floats[row, other] = state.floats[row, other], state.floats[row, one]
    for row in range(INTEGER_ROWS):
        state.integers[row, one], state.integers[row, other] = state.integers[row, other], state.integers[row, one]
    state.transfers[state.integers[TRANSFER, one]].place = one
    state.transfers[state.integers[TRANSFER, other]].place = other


@inlined_kernel
def occupy(state: State, slot: int, index: int, volume: float, cap: float) -> None:
    """Put an operation that application `index` posts now into place `slot` of `state`.

    Its `volume` is in units, its `cap` in units/s.
    """
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
    floats[MEAN_ITERATION, slot] = compiled_known_iteration(own)
    floats[WHOLE, slot] = own.whole
    floats[RANK, slot] = own.rank
    floats[RATE, slot] = 0.0
    floats[HOLDING, slot] = 0.0
    floats[ASIDE, slot] = 0.0
    floats[ROUNDS, slot] = own.rounds
    floats[WEIGHT, slot] = own.weight
    state.integers[USER, slot] = own.user
    state.integers[GROUP, slot] = own.group
    floats[TRANSFERRING, slot] = own.transfer_seconds
    floats[SEGMENT_BEGIN, slot] = now
    floats[SEGMENT_RATE, slot] = 0.0
    floats[UNIT, slot] = own.bytes / own.uses


@inlined_kernel
def set_next(state: State, store: int, date: float) -> None:
    """Set the next `date` of `store`, and renew the tree of minima in `state`."""
    node = (len(state.stores) >> 1) + store
    state.stores[node].node = date
    while node > 1:
        node >>= 1
        state.stores[node].node = min(state.stores[2 * node].node, state.stores[2 * node + 1].node)


@inlined_kernel
def first_store(state: State) -> int:
    """The store of `state` with the earliest next date."""
    leaves = len(state.stores) >> 1
    node = 1
    while node < leaves:
        node *= 2
        if state.stores[node + 1].node < state.stores[node].node:
            node += 1
    return node - leaves


@inlined_kernel
def count_parts(own: Record, now: float) -> None:
    """Bring what the operation of the application `own` has moved on all its strands up to the date `now`."""
    own.part_moved += own.part_rate * (now - own.counted)
    own.counted = now


@inlined_kernel
def seconds_since(state: State, store: int) -> float:
    """Seconds since the date that the transfers of `store` in `state` are up to."""
    here, now = state.stores[store], state.clock[NOW]
    # To the date of a completion it is exactly so long: the difference of two dates has lost some bits.
    return float(here.wait if now == here.finish else now - here.since)


@inlined_kernel
def catch_up(state: State, terms: Terms, store: int) -> None:
    """Move the transfers of `store` in `state` on to now; `terms` say whether applications use several stores."""
    here, floats = state.stores[store], state.floats
    seconds = seconds_since(state, store)
    if seconds > 0.0:
        for place in range(here.row, here.row + here.moving):
            slot = state.transfers[state.transfers[place].mover].place
            remaining = max(0.0, floats[REMAINING, slot] - floats[RATE, slot] * seconds)
            floats[REMAINING, slot] = remaining
            floats[TRANSFERRING, slot] += seconds
            if not terms.several_stores:
                done, volume = floats[DONE, slot], floats[VOLUME, slot]
                floats[PROGRESS, slot] = compiled_progress_during(done, volume, remaining, floats[CAP, slot])
        if here.moving > 0:
            here.busy += seconds
    here.since = state.clock[NOW]


@inlined_kernel
def touch(state: State, terms: Terms, store: int) -> None:
    """Bring `store` of `state`, on which something happens, up to date, and have its rates decided anew; under `terms`."""
    here = state.stores[store]
    if here.since != state.clock[NOW]:
        catch_up(state, terms, store)
    if here.stale == 0:
        here.stale = 1
        state.stores[state.counts[TOUCHED]].touched = store
        state.counts[TOUCHED] += 1


@inlined_kernel
def set_finish(state: State, store: int, wait: float, finisher: int) -> None:
    """Note in `state` that the first completion on `store` is that of transfer `finisher`, in `wait` seconds."""
    here = state.stores[store]
    here.wait = wait
    here.finish = state.clock[NOW] + wait
    here.finisher = finisher
    set_next(state, store, min(here.finish, here.round_end))


@inlined_kernel
def refresh_progress(state: State, store: int) -> None:
    """Bring the progress of the applications on `store`, which use several stores, up to date in `state` for the policy."""
    here = state.stores[store]
    for slot in range(here.middle - here.down, here.middle + here.up):
        own = state.own[state.integers[INDEX, slot]]
        count_parts(own, state.clock[NOW])
        speed = state.floats[CAP, slot]
        state.floats[PROGRESS, slot] = own.done + own.part_moved / own.uses / speed


@inlined_kernel
def _inside(state: State, slot: int) -> bool:
    """Whether the operation in the place is inside a round."""
    rounds = state.floats[ROUNDS, slot]
    return bool(rounds > 0.0 and inside_round(state.floats[REMAINING, slot], state.floats[VOLUME, slot], rounds))


@inlined_kernel
def without_breaking_rounds(state: State, store: int) -> None:
    """Change the rates just given to the transfers of `store` in `state`, so that none is paused inside a round."""
    here, floats = state.stores[store], state.floats
    held_written, held_read = 0.0, 0.0
    for slot in range(here.middle - here.down, here.middle + here.up):
        pausing = floats[RATE, slot] > 0.0 and floats[GIVEN, slot] <= 0.0
        floats[HOLDING, slot] = 1.0 if pausing and floats[ASIDE, slot] == 0.0 and _inside(state, slot) else 0.0
        if floats[HOLDING, slot] != 0.0:
            floats[GIVEN, slot] = floats[RATE, slot]
            if slot < here.middle:
                held_written += floats[RATE, slot]
            else:
                held_read += floats[RATE, slot]
    if held_written + held_read > 0.0:
        aside = 0.0
        for slot in range(here.middle, here.middle + here.up):
            if floats[ASIDE, slot] != 0.0:
                aside += floats[GIVEN, slot]
        total = here.total - aside
        _make_way(state, here.middle - here.down, here.middle, min(here.write, total) - held_written)
        _make_way(state, here.middle, here.middle + here.up, here.read - aside - held_read)
        _lower(state, here.middle - here.down, here.middle + here.up, total - held_written - held_read)


@inlined_kernel
def _make_way(state: State, begin: int, end: int, limit: float) -> None:
    """Let no new transfer begin, and limit the others to what their direction has left."""
    for slot in range(begin, end):
        if state.floats[RATE, slot] <= 0.0 and state.floats[ASIDE, slot] == 0.0:
            state.floats[GIVEN, slot] = 0.0
    _lower(state, begin, end, limit)


@inlined_kernel
def _lower(state: State, begin: int, end: int, limit: float) -> None:
    """Lower the rates of those that are neither held nor aside, in proportion, to the limit."""
    floats = state.floats
    others = 0.0
    for slot in range(begin, end):
        if floats[HOLDING, slot] == 0.0 and floats[ASIDE, slot] == 0.0:
            others += floats[GIVEN, slot]
    limit = max(0.0, limit)
    if others > limit:
        for slot in range(begin, end):
            if floats[HOLDING, slot] == 0.0 and floats[ASIDE, slot] == 0.0:
                floats[GIVEN, slot] *= limit / others


@inlined_kernel
def find_round_end(state: State, store: int) -> None:
    """Find the first end of a round on `store` that a decision waits for, at the rates given in `state`."""
    here, floats = state.stores[store], state.floats
    for slot in range(here.middle - here.down, here.middle + here.up):
        if floats[HOLDING, slot] != 0.0:
            left = max(0.0, floats[REMAINING, slot] - _left_after_round(state, slot))
            here.round_end = min(here.round_end, state.clock[NOW] + left / floats[GIVEN, slot])


@inlined_kernel
def end_rounds(state: State, store: int, latest: float) -> None:
    """Put the held transfers of `store` whose round ends now, up to the date `latest`, exactly at its end in `state`."""
    here, floats = state.stores[store], state.floats
    for slot in range(here.middle - here.down, here.middle + here.up):
        if floats[HOLDING, slot] != 0.0:
            left = _left_after_round(state, slot)
            if state.clock[NOW] + max(0.0, floats[REMAINING, slot] - left) / floats[RATE, slot] <= latest:
                floats[REMAINING, slot] = left
                done, volume = floats[DONE, slot], floats[VOLUME, slot]
                floats[PROGRESS, slot] = compiled_progress_during(done, volume, left, floats[CAP, slot])
                floats[HOLDING, slot] = 0.0


@inlined_kernel
def _left_after_round(state: State, slot: int) -> float:
    """Units of the operation in the place that are left when its present round is over."""
    return left_after_round(state.floats[REMAINING, slot], state.floats[VOLUME, slot], state.floats[ROUNDS, slot])
