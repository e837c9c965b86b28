"""The grain of interruption (003 §III.C): an application that calls for coordination between the rounds of an operation, or
between its files, can be paused and resumed there only.

A decision that would pause a transfer inside a round waits for the end of that round: the transfer goes on at the rate it
had; nobody new begins, as they are to take its place; those who move already have what the policy gives them, or in
proportion what is left. At the end of the round the policy is asked again. Rates may change inside a round. Round ends that
nobody waits for are no events, so that rounds cost nothing where nothing is paused.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.engine.state import SLOTS, STALE, State
from penstock.policies.compiled import part

ROUND_END: Final = 1e-9
"""A transfer within this part of a round of its end is between two rounds."""
KNOWN_TO: Final = 1e-15
"""How much of an operation is done is known to this part of it, and so to that times the rounds in rounds."""


@part
def _position(state: State, slot: int) -> float:
    """How many rounds of the operation in the slot are done."""
    rounds = state.rounds[state.slot_index[slot]]
    return float((1.0 - state.slot_remaining[slot] / state.slot_volume[slot]) * rounds)


@part
def _inside(state: State, slot: int) -> bool:
    """Whether the operation in the slot is inside a round."""
    done = _position(state, slot)
    return bool(abs(done - np.rint(done)) > _nearly(state, slot))


@part
def _nearly(state: State, slot: int) -> float:
    """The part of a round that does not count."""
    return float(ROUND_END + KNOWN_TO * state.rounds[state.slot_index[slot]])


@part
def without_breaking_rounds(state: State, bandwidth: float) -> None:
    """Change the rates that the policy has just given, so that no transfer is paused inside a round."""
    size = state.counts[SLOTS]
    held = 0.0
    for slot in range(size):
        pausing = state.slot_before[slot] > 0.0 and state.slot_rate[slot] <= 0.0
        state.slot_held[slot] = 1 if pausing and _inside(state, slot) else 0
        if state.slot_held[slot] != 0:
            state.slot_rate[slot] = state.slot_before[slot]
            held += state.slot_rate[slot]
    if held > 0.0:
        others = 0.0
        for slot in range(size):
            if state.slot_before[slot] <= 0.0:
                state.slot_rate[slot] = 0.0
            elif state.slot_held[slot] == 0:
                others += state.slot_rate[slot]
        if others > bandwidth - held:
            for slot in range(size):
                if state.slot_held[slot] == 0:
                    state.slot_rate[slot] *= max(0.0, bandwidth - held) / others


@part
def next_round_end(state: State, before: float) -> tuple[int, float]:
    """The held transfer whose round ends first and the seconds until then; −1 if none does `before` so many seconds."""
    first = -1
    for slot in range(state.counts[SLOTS]):
        if state.slot_held[slot] != 0:
            wait = max(0.0, state.slot_remaining[slot] - _left_after_round(state, slot)) / state.slot_rate[slot]
            if wait < before:
                first, before = slot, wait
    return first, before


@part
def end_round(state: State, slot: int) -> None:
    """The held transfer has just come to the end of its round, exactly; the policy is asked anew."""
    left = _left_after_round(state, slot)
    state.slot_remaining[slot] = left
    state.slot_progress[slot] = state.slot_done[slot] + (state.slot_volume[slot] - left) / state.slot_cap[slot]
    state.slot_held[slot] = 0
    state.counts[STALE] = 1


@part
def _left_after_round(state: State, slot: int) -> float:
    """Bytes of the operation in the slot that are left when its present round is over; one that is over to the last bits
    counts as the present one.
    """
    rounds = state.rounds[state.slot_index[slot]]
    done = np.ceil(_position(state, slot) - _nearly(state, slot))
    return float(state.slot_volume[slot] * (1.0 - done / rounds))
