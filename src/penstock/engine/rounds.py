"""Rounds (003 §III.C): the points at which an operation can be paused and resumed.

An application that coordinates between the rounds of an operation, or between its files, can be paused only there. A
decision that would pause a transfer inside a round waits for the end of that round. Until then the transfer goes on at its
rate, no other transfer begins, and the others that move get what the policy gives them, or in proportion what is left. At
the end of the round the policy is asked again. Rates may change inside a round. The end of a round for which no decision
waits is no event, so rounds cost nothing where nothing is paused.

Beside a buffer, transfers for which the application does not wait have no rounds: draining and prefetching.
"""

from __future__ import annotations

from penstock.engine.books import compiled_progress_during
from penstock.engine.state import ASIDE, DONE, HOLDING, NOW, State
from penstock.engine.transfers import CAP, PROGRESS, RATE, REMAINING, ROUNDS, VOLUME
from penstock.numeric.compiled import inlined_kernel
from penstock.policies.round_ends import inside_round, left_after_round
from penstock.policies.view import GIVEN


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
