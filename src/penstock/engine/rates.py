"""The rates of a store: ask the policy, check the answer, and apply it to the transfers.

Where reads and writes have limits of their own and could together use more than the store carries, the policy is asked
several times. It first divides the total between all. If one direction then exceeds its limit, the policy divides this
limit within the direction, and what is left of the total within the other. Under best-effort the result is max-min
fairness with all three limits. If the store carries both limits at once, each direction is divided by itself.

What the policy gives is not always what moves. A transfer inside a round is not paused (`penstock.engine.transfers`). On a
platform that degrades, k transfers move at most d(k) of what the store carries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from penstock.engine.information import hide, reveal
from penstock.engine.state import (
    ASIDE,
    BANDWIDTH,
    DECISIONS,
    FAULT_SLOT,
    FAULT_VALUE,
    FETCHES,
    INDEX,
    SEGMENT_RATE,
    TRANSFER,
    Record,
    Records,
    State,
)
from penstock.engine.terms import (
    RATE_ABOVE_CAP,
    RATE_NEGATIVE,
    RATE_NOT_A_NUMBER,
    RATES_ABOVE_BANDWIDTH,
    Terms,
)
from penstock.engine.trace import close_segment
from penstock.engine.transfers import (
    CAP,
    RATE,
    REMAINING,
    find_round_end,
    places,
    refresh_progress,
    set_finish,
    swap,
    without_breaking_rounds,
)
from penstock.numeric.compiled import address, inlined_kernel
from penstock.numeric.tolerances import RATE_SLACK, SAME_AMOUNT
from penstock.policies.view import FLOATS, GIVEN, INTEGERS

# Which transfers the policy is asked about next.
TOGETHER: Final = 0
WRITES_FIRST: Final = 1
THEN_READS: Final = 2
READS_FIRST: Final = 3
THEN_WRITES: Final = 4
SETTLED: Final = 5

_SHOWN_FLOATS: Final = len(FLOATS)
_SHOWN_INTEGERS: Final = len(INTEGERS)


@inlined_kernel
def ask(state: State, begin: int, size: int, bandwidth: float, policy: Callable[..., None], beliefs: Any) -> None:
    """Call the `policy` for `size` places of `state` from `begin` on, with `bandwidth` units/s to divide.

    It writes their rates into the row GIVEN. With `beliefs` it is shown these in place of the true volumes.
    """
    state.counts[DECISIONS] += 1
    state.clock[BANDWIDTH] = bandwidth
    if beliefs is not None:
        hide(state, beliefs, begin, size)
    policy(
        address(state.floats),
        address(state.integers),
        address(state.clock),
        address(state.degradation),
        state.floats.shape[1],
        begin,
        size,
    )
    if beliefs is not None:
        reveal(state, beliefs, begin, size)


@inlined_kernel
def _answer(state: State, begin: int, end: int) -> tuple[float, int]:
    """The sum of the rates given from `begin` to before `end`, and why one of them is refused, or 0."""
    total = 0.0
    for slot in places(begin, end):
        rate = state.floats[GIVEN, slot]
        if not 0.0 <= rate <= state.floats[CAP, slot] * (1.0 + RATE_SLACK):
            return total, refused_rate(state, slot, rate)
        total += rate
    return total, 0


@inlined_kernel
def refused_rate(state: State, slot: int, rate: float) -> int:
    """Why `rate` is refused for the transfer in place `slot`; `state` notes both."""
    state.counts[FAULT_SLOT] = slot
    state.clock[FAULT_VALUE] = rate
    if rate < 0.0:
        return RATE_NEGATIVE
    return RATE_ABOVE_CAP if rate > 0.0 else RATE_NOT_A_NUMBER


@inlined_kernel
def put_aside(state: State, store: int) -> None:
    """Move the reads of `store` in `state` that the policy is not asked about behind the others; these form one range."""
    here, floats = state.stores[store], state.floats
    slot, last = here.middle, here.middle + here.up - 1
    while slot <= last:
        if floats[ASIDE, slot] == 0.0:
            slot += 1
        elif floats[ASIDE, last] != 0.0:
            last -= 1
        else:
            swap(state, slot, last)
    here.aside = here.middle + here.up - slot


@inlined_kernel
def _first_question(here: Record, held: float) -> tuple[int, float]:
    """Both directions together if both are there and the store may carry too little for both; and what to divide."""
    if here.up > here.aside and here.down > 0 and here.write + here.read > here.total:
        return TOGETHER, here.total - held
    return WRITES_FIRST, min(here.write, here.total - held)


@inlined_kernel
def _next_question(here: Record, written: float, read: float, held: float, question: int) -> tuple[int, float]:
    """What to ask after the answer to this question, and what to divide."""
    total = here.total - held
    write_limit, read_limit = min(here.write, total), here.read - held
    if question == TOGETHER and written > write_limit * (1.0 + SAME_AMOUNT):
        return WRITES_FIRST, write_limit
    if question == TOGETHER and read > read_limit * (1.0 + SAME_AMOUNT):
        return READS_FIRST, read_limit
    if question == WRITES_FIRST:
        return THEN_READS, min(read_limit, total - written)
    if question == READS_FIRST:
        return THEN_WRITES, min(write_limit, total - read)
    return SETTLED, 0.0


@inlined_kernel
def _ask_narrowed(state: State, begin: int, size: int, bandwidth: float, policy: Callable[..., None], beliefs: Any) -> None:
    """Ask about these places with no cap above the bandwidth, as copies behind all stores."""
    floats, integers = state.floats, state.integers
    spare = floats.shape[1] - len(state.transfers)
    for place in range(size):
        for row in range(_SHOWN_FLOATS):
            floats[row, spare + place] = floats[row, begin + place]
        for row in range(_SHOWN_INTEGERS):
            integers[row, spare + place] = integers[row, begin + place]
        integers[INDEX, spare + place] = integers[INDEX, begin + place]
        floats[CAP, spare + place] = min(floats[CAP, begin + place], bandwidth)
    ask(state, spare, size, bandwidth, policy, beliefs)
    for place in range(size):
        floats[GIVEN, begin + place] = floats[GIVEN, spare + place]


@inlined_kernel
def ask_by_direction(state: State, store: int, policy: Callable[..., None], beliefs: Any) -> int:
    """Ask the `policy` about the reads and writes of `store`, within the limits of both; rates go into `state`.

    With `beliefs` it is shown these in place of the true volumes.

    Returns:
        0, or why a rate is refused.
    """
    here, floats = state.stores[store], state.floats
    asked = here.middle + here.up - here.aside
    held, _ = _answer(state, asked, here.middle + here.up)
    written, read = 0.0, 0.0
    question, bandwidth = _first_question(here, held)
    while question != SETTLED:
        reads, writes = question not in (WRITES_FIRST, THEN_WRITES), question not in (READS_FIRST, THEN_READS)
        begin, end = here.middle - here.down if writes else here.middle, asked if reads else here.middle
        if bandwidth <= SAME_AMOUNT * here.total:
            for slot in range(begin, end):
                floats[GIVEN, slot] = 0.0
        elif end > begin and here.widest <= bandwidth:
            ask(state, begin, end - begin, bandwidth, policy, beliefs)
        elif end > begin:
            _ask_narrowed(state, begin, end - begin, bandwidth, policy, beliefs)
        fault = 0
        if writes:
            written, fault = _answer(state, begin, here.middle)
        if reads and fault == 0:
            read, fault = _answer(state, here.middle, end)
        if fault != 0:
            return fault
        total = (written if writes else 0.0) + (read if reads else 0.0)
        if total > max(0.0, bandwidth) * (1.0 + RATE_SLACK):
            state.clock[FAULT_VALUE] = total
            return RATES_ABOVE_BANDWIDTH
        question, bandwidth = _next_question(here, written, read, held, question)
    return 0


@inlined_kernel
def degrade(state: State, store: int) -> None:
    """Lower the rates of the k transfers of `store`, in proportion, to the part d(k) of what it carries by `state`."""
    here, floats = state.stores[store], state.floats
    moving, total, held = 0, 0.0, 0.0
    for slot in range(here.middle - here.down, here.middle + here.up):
        rate = floats[GIVEN, slot]
        if rate > 0.0:
            moving += 1
            if floats[ASIDE, slot] == 0.0:
                total += rate
            else:
                held += rate
    if moving == 0:
        return
    carried = here.total * state.degradation[moving - 1]
    if total + held > carried and total > 0.0:
        part_left = max(0.0, carried - held) / total
        for slot in range(here.middle - here.down, here.middle + here.up):
            if floats[ASIDE, slot] == 0.0:
                floats[GIVEN, slot] *= part_left


@inlined_kernel
def give(state: State, terms: Terms, store: int, policy: Callable[..., None], restraints: Any, beliefs: Any) -> int:
    """Find the rates of the transfers of `store` and write them into the row GIVEN of `state`.

    They come from the `policy`. With `restraints`, limits by direction, rounds and degradation apply, as `terms` say; with
    `beliefs` the policy is shown these in place of the truth.

    Returns:
        0, or why a rate is refused.
    """
    here = state.stores[store]
    if terms.several_stores:
        refresh_progress(state, store)
    if restraints is not None:
        fault = ask_by_direction(state, store, policy, beliefs)
        if fault != 0:
            return fault
        here.round_end = np.inf
        if terms.has_rounds:
            without_breaking_rounds(state, store)
        if terms.degrading:
            degrade(state, store)
        if terms.has_rounds:
            find_round_end(state, store)
        return 0
    ask(state, here.middle, here.up, here.total, policy, beliefs)
    return 0


@inlined_kernel
def take(state: State, terms: Terms, trace: Records, store: int, tier: Any) -> int:
    """Apply the given rates to the transfers of `store` in `state`, and find its first completion.

    With a `tier`, only prefetches are complete when nothing remains in their places. The `trace` gets the segments that end.
    `terms` say whether applications use several stores.

    Returns:
        0, or why a rate is refused.
    """
    here, floats = state.stores[store], state.floats
    moving, total, wait, finisher = 0, 0.0, np.inf, -1
    # Read once: for all the compiler knows, the writes below could change them.
    several_stores, traced, row = terms.several_stores, len(trace) > 0, here.row
    for slot in places(here.middle - here.down, here.middle + here.up):
        rate = floats[GIVEN, slot]
        if not 0.0 <= rate <= floats[CAP, slot] * (1.0 + RATE_SLACK):
            return refused_rate(state, slot, rate)
        if several_stores and rate != floats[RATE, slot]:
            state.own[state.integers[INDEX, slot]].part_rate += rate - floats[RATE, slot]
        if traced and rate != floats[SEGMENT_RATE, slot]:
            close_segment(state, trace, slot, rate)
        floats[RATE, slot] = rate
        if rate > 0.0:
            left = floats[REMAINING, slot]
            if tier is not None:  # noqa: SIM102  # numba leaves out what depends on None alone
                if floats[FETCHES, slot] == 0.0:
                    left = np.inf
            if tier is None:
                state.transfers[row + moving].mover = state.integers[TRANSFER, slot]
                total += rate
            moving += 1
            if left < wait * rate:
                wait, finisher = left / rate, state.integers[TRANSFER, slot]
    if total > here.total * (1.0 + RATE_SLACK):
        state.clock[FAULT_VALUE] = total
        return RATES_ABOVE_BANDWIDTH
    here.moving = moving
    set_finish(state, store, wait, finisher)
    return 0


@inlined_kernel
def decide(state: State, terms: Terms, trace: Records, store: int, policy: Any, restraints: Any, beliefs: Any) -> int:
    """Find and apply new rates for `store` of `state`: `give`, with `policy`, `restraints` and `beliefs`, and `take`.

    `terms` has the options of the run. The `trace` gets the segments that end.

    Returns:
        0, or why a rate is refused.
    """
    here = state.stores[store]
    if here.down + here.up == 0:
        here.moving = 0
        here.round_end = np.inf
        set_finish(state, store, np.inf, -1)
        return 0
    fault = give(state, terms, store, policy, restraints, beliefs)
    return fault if fault != 0 else take(state, terms, trace, store, None)
