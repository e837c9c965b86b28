"""Asking the policy about a store, and what its rates become.

Where reads and writes have limits of their own and could together use more than the store carries, the policy divides what
it carries between all; if one direction then has more than its limit, that is divided in it, and what is left in the other.
Under best-effort that is max-min fairness with all three limits. Else each direction is divided by itself.

What the policy gives is not always what moves. Where applications have rounds, a transfer inside a round is not paused: see
`penstock.engine.rounds`. Where the platform degrades, k transfers together move at most the part d(k) of what it carries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from penstock.engine.rounds import find_round_end, without_breaking_rounds
from penstock.engine.slots import CAP, RATE, REMAINING
from penstock.engine.state import (
    ASIDE,
    BANDWIDTH,
    DECISIONS,
    FAULT_SLOT,
    FAULT_VALUE,
    INDEX,
    SEGMENT_RATE,
    TRANSFER,
    Records,
    State,
)
from penstock.engine.stores import refresh_progress, set_finish
from penstock.engine.terms import (
    RATE_ABOVE_CAP,
    RATE_NEGATIVE,
    RATE_NOT_A_NUMBER,
    RATES_ABOVE_BANDWIDTH,
    SLACK,
    Terms,
)
from penstock.engine.trace import close_segment
from penstock.policies.compiled import address, part
from penstock.policies.view import FLOATS, GIVEN, INTEGERS

NO_ROOM: Final = 1e-12
"""A bandwidth below this part of what a store carries is none."""

# What the policy is asked about, one after the other.
TOGETHER: Final = 0
WRITES_FIRST: Final = 1
THEN_READS: Final = 2
READS_FIRST: Final = 3
THEN_WRITES: Final = 4
SETTLED: Final = 5

_SHOWN_FLOATS: Final = len(FLOATS)
_SHOWN_INTEGERS: Final = len(INTEGERS)


@part
def ask(state: State, begin: int, size: int, bandwidth: float, policy: Callable[..., None]) -> None:
    """Have the policy write the rates of these places."""
    state.counts[DECISIONS] += 1
    state.clock[BANDWIDTH] = bandwidth
    policy(
        address(state.floats),
        address(state.integers),
        address(state.clock),
        address(state.degradation),
        state.floats.shape[1],
        begin,
        size,
    )


@part
def refused(state: State, begin: int, size: int, bandwidth: float) -> int:
    """Why the rates cannot be, or 0; the place and the value go into the state."""
    total = 0.0
    for slot in range(begin, begin + size):
        rate = state.floats[GIVEN, slot]
        if not 0.0 <= rate <= state.floats[CAP, slot] * (1.0 + SLACK):
            return refused_rate(state, slot, rate)
        total += rate
    if total > bandwidth * (1.0 + SLACK):
        state.clock[FAULT_VALUE] = total
        return RATES_ABOVE_BANDWIDTH
    return 0


@part
def refused_rate(state: State, slot: int, rate: float) -> int:
    """Why this rate cannot be."""
    state.counts[FAULT_SLOT] = slot
    state.clock[FAULT_VALUE] = rate
    if rate < 0.0:
        return RATE_NEGATIVE
    return RATE_ABOVE_CAP if rate > 0.0 else RATE_NOT_A_NUMBER


@part
def _sums(state: State, store: int) -> tuple[float, float, float, int]:
    """Rates of all writes, of the reads that are asked about and of the others; how many those asked about are."""
    here, floats = state.stores[store], state.floats
    written, read, held, asking = 0.0, 0.0, 0.0, 0
    for slot in range(here.middle - here.down, here.middle):
        written += floats[GIVEN, slot]
    for slot in range(here.middle, here.middle + here.up):
        if floats[ASIDE, slot] == 0.0:
            read += floats[GIVEN, slot]
            asking += 1
        else:
            held += floats[GIVEN, slot]
    return written, read, held, asking


@part
def _first_question(state: State, store: int) -> tuple[int, float]:
    """Both directions together if both are there and the store may carry too little for both; and what to divide."""
    here = state.stores[store]
    _, _, held, asking = _sums(state, store)
    if asking > 0 and here.down > 0 and here.write + here.read > here.total:
        return TOGETHER, here.total - held
    return WRITES_FIRST, min(here.write, here.total - held)


@part
def _next_question(state: State, store: int, question: int) -> tuple[int, float]:
    """What to ask after the answer to this question, and what to divide."""
    here = state.stores[store]
    written, read, held, _ = _sums(state, store)
    total = here.total - held
    write_limit, read_limit = min(here.write, total), here.read - held
    if question == TOGETHER and written > write_limit * (1.0 + NO_ROOM):
        return WRITES_FIRST, write_limit
    if question == TOGETHER and read > read_limit * (1.0 + NO_ROOM):
        return READS_FIRST, read_limit
    if question == WRITES_FIRST:
        return THEN_READS, min(read_limit, total - written)
    if question == READS_FIRST:
        return THEN_WRITES, min(write_limit, total - read)
    return SETTLED, 0.0


@part
def _range(state: State, store: int, question: int) -> tuple[int, int]:
    """The places that the question is about."""
    here = state.stores[store]
    begin = here.middle if question in (THEN_READS, READS_FIRST) else here.middle - here.down
    end = here.middle if question in (THEN_WRITES, WRITES_FIRST) else here.middle + here.up
    while end > here.middle and state.floats[ASIDE, end - 1] != 0.0:
        end -= 1
    return begin, end


@part
def _gather(state: State, begin: int, end: int, bandwidth: float) -> int:
    """Copy those of the range that are asked about to the room behind the stores, no cap above the bandwidth; how many."""
    floats, integers = state.floats, state.integers
    spare = floats.shape[1] - len(state.transfers)
    size = 0
    for slot in range(begin, end):
        if floats[ASIDE, slot] == 0.0:
            to = spare + size
            for row in range(_SHOWN_FLOATS):
                floats[row, to] = floats[row, slot]
            for row in range(_SHOWN_INTEGERS):
                integers[row, to] = integers[row, slot]
            integers[INDEX, to] = integers[INDEX, slot]
            floats[CAP, to] = min(floats[CAP, slot], bandwidth)
            size += 1
    return size


@part
def _as_it_is(state: State, begin: int, end: int, bandwidth: float) -> bool:
    """Whether the range can be shown in place: all of it is asked about, and no cap is above the bandwidth."""
    shown = True
    for slot in range(begin, end):
        shown = shown and state.floats[ASIDE, slot] == 0.0 and state.floats[CAP, slot] <= bandwidth
    return bool(shown)


@part
def _scatter(state: State, begin: int, end: int, nothing: bool) -> None:
    """Give the rates of those that were gathered back to them, or none."""
    floats = state.floats
    gathered = floats.shape[1] - len(state.transfers)
    for slot in range(begin, end):
        if floats[ASIDE, slot] == 0.0:
            floats[GIVEN, slot] = 0.0 if nothing else floats[GIVEN, gathered]
            gathered += 1


@part
def ask_by_direction(state: State, store: int, policy: Callable[..., None]) -> int:
    """Ask about reads and writes, within the limits of both; returns why rates are refused, or 0."""
    here = state.stores[store]
    question, bandwidth = _first_question(state, store)
    while question != SETTLED:
        begin, end = _range(state, store, question)
        nothing = bandwidth <= NO_ROOM * here.total
        in_place = not nothing and _as_it_is(state, begin, end, bandwidth)
        size = end - begin
        if not in_place:
            begin, size = state.floats.shape[1] - len(state.transfers), _gather(state, begin, end, bandwidth)
        if size > 0 and not nothing:
            ask(state, begin, size, bandwidth, policy)
            fault = refused(state, begin, size, bandwidth)
            if fault != 0:
                return fault
        if not in_place:
            begin, end = _range(state, store, question)
            _scatter(state, begin, end, nothing)
        question, bandwidth = _next_question(state, store, question)
    return 0


@part
def degrade(state: State, store: int) -> None:
    """Bring the rates of k transfers, in proportion, down to the part d(k) of what the store carries."""
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


@part
def give(state: State, terms: Terms, store: int, policy: Callable[..., None], restraints: Any) -> int:
    """Find the rates of the store's transfers, in the row GIVEN; returns why they are refused, or 0."""
    here = state.stores[store]
    if terms.striped:
        refresh_progress(state, store)
    if restraints is not None:
        fault = ask_by_direction(state, store, policy)
        if fault != 0:
            return fault
        here.round_end = np.inf
        if terms.coarse:
            without_breaking_rounds(state, store)
        if terms.degrading:
            degrade(state, store)
        if terms.coarse:
            find_round_end(state, store)
        return 0
    ask(state, here.middle, here.up, here.total, policy)
    return 0


@part
def take(state: State, terms: Terms, trace: Records, store: int) -> int:
    """Let the transfers of the store move at the rates given; returns why they cannot, or 0."""
    here, floats = state.stores[store], state.floats
    moving, total, wait, finisher = 0, 0.0, np.inf, -1
    for slot in range(here.middle - here.down, here.middle + here.up):
        rate = floats[GIVEN, slot]
        if not 0.0 <= rate <= floats[CAP, slot] * (1.0 + SLACK):
            return refused_rate(state, slot, rate)
        if terms.striped and rate != floats[RATE, slot]:
            state.own[state.integers[INDEX, slot]].part_rate += rate - floats[RATE, slot]
        if len(trace) > 0 and rate != floats[SEGMENT_RATE, slot]:
            close_segment(state, trace, slot, rate)
        floats[RATE, slot] = rate
        if rate > 0.0:
            transfer = state.integers[TRANSFER, slot]
            state.transfers[here.row + moving].mover = transfer
            moving += 1
            total += rate
            left = floats[REMAINING, slot] / rate
            if left < wait:
                wait, finisher = left, transfer
    if total > here.total * (1.0 + SLACK):
        state.clock[FAULT_VALUE] = total
        return RATES_ABOVE_BANDWIDTH
    here.moving = moving
    set_finish(state, store, wait, finisher)
    return 0


@part
def decide(state: State, terms: Terms, trace: Records, store: int, policy: Any, restraints: Any) -> int:
    """Decide the rates of the store anew; returns why they are refused, or 0."""
    here = state.stores[store]
    if here.down + here.up == 0:
        here.moving = 0
        here.round_end = np.inf
        set_finish(state, store, np.inf, -1)
        return 0
    fault = give(state, terms, store, policy, restraints)
    return fault if fault != 0 else take(state, terms, trace, store)
