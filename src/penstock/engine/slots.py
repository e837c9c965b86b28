"""The slots of the active applications: an operation moves in, the policy is shown some of them, its rates are looked at.

Shared by the loops, which lay out the slots: all in one row, or one row for each I/O resource.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.engine.state import COMPLETED, FAULT_SLOT, FAULT_VALUE, NOW, State
from penstock.policies.compiled import part, read_only, subroutine
from penstock.policies.order import TIME_GRAIN
from penstock.policies.view import View

SLACK: Final = 1e-9
"""Relative tolerance on caps and on B before a policy's rates are refused."""

# Why the rates of a policy are refused.
RATE_NOT_A_NUMBER: Final = 4
RATE_NEGATIVE: Final = 5
RATE_ABOVE_CAP: Final = 6
RATES_ABOVE_BANDWIDTH: Final = 7


@part
def occupy(state: State, slot: int, index: int, volume: float, now: float) -> None:
    """Put an operation of this volume, which the application posts now, into the slot."""
    state.slot_index[slot] = index
    state.slot_remaining[slot] = volume
    state.slot_volume[slot] = volume
    state.slot_cap[slot] = state.cap[index]
    state.slot_posted[slot] = np.rint(now * TIME_GRAIN) / TIME_GRAIN
    state.slot_began[slot] = now
    state.slot_done[slot] = state.done[index]
    state.slot_progress[slot] = state.done[index]
    state.slot_release[slot] = state.release[index]
    state.slot_nodes[slot] = state.nodes[index]
    iterations = state.iterations[index]
    state.slot_mean_iteration[slot] = state.in_iterations[index] / iterations if iterations > 0 else 0.0
    state.slot_whole[slot] = state.whole[index]
    state.slot_rank[slot] = state.rank[index]
    state.slot_turn[slot] = state.turns[state.cursor[index] - 1] if len(state.turns) > 0 else -1
    state.slot_rate[slot] = 0.0
    state.slot_held[slot] = 0
    state.slot_transfer[slot] = state.transfer_seconds[index]
    state.slot_segment_begin[slot] = now
    state.slot_segment_rate[slot] = 0.0


@part
def relocate(state: State, slot: int, free: int) -> None:
    """Move what is in the slot to a free one."""
    state.slot_index[free] = state.slot_index[slot]
    state.slot_remaining[free] = state.slot_remaining[slot]
    state.slot_volume[free] = state.slot_volume[slot]
    state.slot_cap[free] = state.slot_cap[slot]
    state.slot_posted[free] = state.slot_posted[slot]
    state.slot_began[free] = state.slot_began[slot]
    state.slot_done[free] = state.slot_done[slot]
    state.slot_progress[free] = state.slot_progress[slot]
    state.slot_release[free] = state.slot_release[slot]
    state.slot_nodes[free] = state.slot_nodes[slot]
    state.slot_mean_iteration[free] = state.slot_mean_iteration[slot]
    state.slot_whole[free] = state.slot_whole[slot]
    state.slot_rank[free] = state.slot_rank[slot]
    state.slot_turn[free] = state.slot_turn[slot]
    state.slot_rate[free] = state.slot_rate[slot]
    state.slot_held[free] = state.slot_held[slot]
    state.slot_transfer[free] = state.slot_transfer[slot]
    state.slot_segment_begin[free] = state.slot_segment_begin[slot]
    state.slot_segment_rate[free] = state.slot_segment_rate[slot]


def view_of(state: State, begin: int, end: int, bandwidth: float, window_end: float, parameter: float) -> View:
    """What the policy sees of the slots from `begin` to before `end`."""
    return View(
        read_only(state.slot_index[begin:end]),
        read_only(state.slot_remaining[begin:end]),
        read_only(state.slot_cap[begin:end]),
        read_only(state.slot_posted[begin:end]),
        read_only(state.slot_progress[begin:end]),
        read_only(state.slot_release[begin:end]),
        read_only(state.slot_nodes[begin:end]),
        read_only(state.slot_mean_iteration[begin:end]),
        read_only(state.slot_volume[begin:end]),
        read_only(state.slot_before[begin:end]),
        read_only(state.slot_transfer[begin:end]),
        read_only(state.slot_whole[begin:end]),
        read_only(state.slot_rank[begin:end]),
        read_only(state.slot_turn[begin:end]),
        read_only(state.degradation[: end - begin]),
        state.slot_scratch[begin:end],
        state.slot_order[begin:end],
        state.clock[NOW],
        bandwidth,
        window_end,
        parameter,
        state.counts[COMPLETED],
    )


compiled_view = subroutine(view_of)


@part
def keep_rates(state: State, begin: int, end: int) -> None:
    """Keep the rates apart from those that the policy is going to write: it is shown them."""
    for slot in range(begin, end):
        state.slot_before[slot] = state.slot_rate[slot]


@part
def refused(state: State, begin: int, end: int, bandwidth: float) -> int:
    """Why the rates cannot be, or 0; the slot and the value go into the state."""
    total = 0.0
    for slot in range(begin, end):
        rate = state.slot_rate[slot]
        if not 0.0 <= rate <= state.slot_cap[slot] * (1.0 + SLACK):
            state.counts[FAULT_SLOT] = slot
            state.clock[FAULT_VALUE] = rate
            if rate < 0.0:
                return RATE_NEGATIVE
            return RATE_ABOVE_CAP if rate > 0.0 else RATE_NOT_A_NUMBER
        total += rate
    if total > bandwidth * (1.0 + SLACK):
        state.clock[FAULT_VALUE] = total
        return RATES_ABOVE_BANDWIDTH
    return 0
