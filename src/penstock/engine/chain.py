"""The way of an application along its chain: what it does next and when, and what a finished phase counts for.

What counts is the same in simulation and live (000 §3.3, §4.2). There, `own` is anything with the fields: a record of the
engine, or a client of the coordinator.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from penstock.engine.state import (
    ACTIVE,
    COMPLETED,
    ENDED,
    ENDS,
    EVENTS,
    HEAP,
    NOW,
    WITHOUT_TRANSFER,
    WORKING,
    Records,
    State,
)
from penstock.engine.terms import Terms
from penstock.model.application import WORK
from penstock.numeric.compiled import inlined_kernel
from penstock.numeric.tolerances import LEAST_LEFT, TIME_GRAIN


def book_work(own: Any, seconds: float) -> None:
    """Book a finished work phase of so many `seconds` in `own`."""
    own.done += seconds
    own.worked += seconds


def book_operation(own: Any, volume: float, alone: float, io_seconds: float) -> None:
    """Book a complete operation in `own`: `volume` moved, `alone` seconds by itself, `io_seconds` in fact."""
    own.done += alone
    own.moved += volume
    own.io_seconds += io_seconds
    # An operation before any work of the chain, v_i^(0), belongs to no iteration (000 §4.2).
    if own.iterations > 0 or own.since_operation > 0.0:
        own.in_iterations += own.since_operation + alone
        own.iterations += 1
    own.since_operation = 0.0
    own.operations += 1


def progress_during(done: float, volume: float, remaining: float, cap: float) -> float:
    """Progress in seconds within an operation (000 eq. 6).

    It is `done` seconds before the operation, and `volume` − `remaining` bytes of it at its `cap` in bytes/s.
    """
    return done + (volume - remaining) / cap


def mean_iteration(own: Any) -> float:
    """ω of `own` in seconds; 0 before the first finished iteration."""
    return float(own.in_iterations / own.iterations) if own.iterations > 0 else 0.0


def known_iteration(own: Any) -> float:
    """ω of `own` in seconds with the iterations that ended before its chain; 0 where none has ended."""
    ended = own.past_iterations + own.iterations
    return float((own.past_seconds + own.in_iterations) / ended) if ended > 0 else 0.0


def learn(mine: Any, all_together: Any, own: Any, volume: float, alone: float) -> None:
    """Learn from an operation that ends; call it before `book_operation`.

    Means are kept as means, so that a mean of equal numbers is that number to the last bit.

    Args:
        mine: what is known of the application: means over its ended `operations` and `iterations`.
        all_together: the same of all applications; `alone` is there the mean over operations.
        own: the application.
        volume: what the operation moved.
        alone: seconds that it takes by itself.
    """
    mine.operations += 1
    mine.volume += (volume - mine.volume) / mine.operations
    if own.iterations > 0 or own.since_operation > 0.0:
        mine.iterations += 1
        mine.work += (own.since_operation - mine.work) / mine.iterations
        mine.alone += (alone - mine.alone) / mine.iterations
    all_together.operations += 1
    all_together.alone += (alone - all_together.alone) / all_together.operations


KEPT: Final = 48
"""The latest operations of an application in which its period is looked for while it runs."""
FIRST_SEARCH: Final = 8
"""Ended operations from which on it is looked for: two in each of the four periods that must have been seen."""


def search_is_due(operations: int, searched: int) -> bool:
    """Whether to look for the period of an application that has ended so many `operations`.

    The period was looked for when `searched` had ended. It is looked for again after a quarter more, at most `KEPT` more.
    """
    return operations >= max(FIRST_SEARCH, searched + min(max(searched // 4, 1), KEPT))


def length_left(done: float) -> float:
    """Seconds that an application is taken to go on for, after `done` seconds of progress: as many again."""
    return done


def shown_left(shown: float, volume: float, remaining: float) -> float:
    """What is left of an operation for one who takes its `volume` for `shown`, and knows how much has moved.

    It is never nothing: that the operation goes on longer than was thought is not known before it ends.
    """
    if shown == volume:
        return remaining
    return max(shown - (volume - remaining), LEAST_LEFT * shown)


def johnson_key(mine: Any) -> float:
    """A number that sorts applications as Johnson's order of their mean iterations does (001 Definition 9).

    Couples of work a and I/O b with a ≤ b come first, a ascending; then those with a > b, b descending. Applications of
    which nothing is known (`mine` has no ended iteration) are between the two. The couple of an application whose phases
    have several operations is that of a phase. Seconds compare to the nanosecond, as long as an iteration takes less than 50
    days.
    """
    if mine.iterations == 0:
        return 0.0
    work, io = np.rint(mine.work * mine.per_phase * TIME_GRAIN), np.rint(mine.alone * mine.per_phase * TIME_GRAIN)
    return float(-1.0 / (1.0 + work) if work <= io else 1.0 / (1.0 + io))


compiled_learn = inlined_kernel(learn)
compiled_search_is_due = inlined_kernel(search_is_due)
compiled_length_left = inlined_kernel(length_left)
compiled_shown_left = inlined_kernel(shown_left)
compiled_johnson_key = inlined_kernel(johnson_key)
compiled_book_work = inlined_kernel(book_work)
compiled_book_operation = inlined_kernel(book_operation)
compiled_progress_during = inlined_kernel(progress_during)
compiled_known_iteration = inlined_kernel(known_iteration)


@inlined_kernel
def push(heap: Records, size: int, time: float, index: int) -> None:
    """Add an entry of `time` and `index` to a binary `heap` of `size` entries, earliest first."""
    hole = size
    while hole > 0:
        above = (hole - 1) >> 1
        if heap[above].time <= time:
            break
        heap[hole].time = heap[above].time
        heap[hole].index = heap[above].index
        hole = above
    heap[hole].time = time
    heap[hole].index = index


@inlined_kernel
def pop(heap: Records, size: int) -> int:
    """Take the earliest entry out of a binary `heap` of `size` entries; returns its index."""
    top = heap[0].index
    last = size - 1
    time, index = heap[last].time, heap[last].index
    hole, below = 0, 1
    while below < last:
        # An addition instead of a branch, which the processor could not predict. The last entry ends the search.
        below += int(heap[below + 1].time < heap[below].time)
        if heap[below].time >= time:
            break
        heap[hole].time = heap[below].time
        heap[hole].index = heap[below].index
        hole = below
        below = 2 * hole + 1
    heap[hole].time = time
    heap[hole].index = index
    return int(top)


@inlined_kernel
def begin_work(state: State, index: int, now: float, seconds: float) -> None:
    """Let application `index` work for so many `seconds` from `now` on; the end of its work enters the heap of `state`."""
    own = state.own[index]
    own.status = WORKING
    own.work_begin = now
    own.work_length = seconds
    push(state.queue, state.counts[HEAP], now + seconds, index)
    state.counts[HEAP] += 1


@inlined_kernel
def _amount(state: State, phase: int) -> float:
    """The amount of a phase; 0 behind the last of all."""
    return float(state.amounts[phase]) if phase < len(state.amounts) else 0.0


@inlined_kernel
def next_phase(state: State, terms: Terms, index: int, now: float) -> float:
    """Begin at `now` what application `index` of `state` does next.

    Operations of volume 0 are skipped. Where `terms` say that chains repeat, the first phase follows the last.

    Returns:
        The volume of the operation that it posts, in units; 0 if it works or has ended.
    """
    own = state.own[index]
    cursor, amount = own.cursor, own.upcoming
    while True:
        while cursor < own.last and amount == 0.0 and state.kinds[cursor] != WORK:
            cursor += 1
            amount = _amount(state, cursor)
        if cursor < own.last:
            break
        state.counts[ENDS] += 1
        if not terms.repeats:
            state.own[state.counts[ENDS] - 1].ended = index
            own.cursor = cursor
            own.status = ENDED
            own.end = now
            return 0.0
        cursor = own.first
        amount = _amount(state, cursor)
        own.laps += 1
        own.whole += own.cycle
    own.cursor = cursor + 1
    # Read one phase early: the phases of many applications are in no cache (5 % of an event).
    own.upcoming = _amount(state, cursor + 1)
    if state.kinds[cursor] != WORK:
        own.status = ACTIVE
        own.began = now
        state.counts[EVENTS] += 1
        return float(amount)
    own.since_operation += amount
    begin_work(state, index, now, amount)
    return 0.0


@inlined_kernel
def end_work(state: State) -> int:
    """Book the work of the application on top of the heap of `state`, which ends now; returns its index."""
    index = pop(state.queue, state.counts[HEAP])
    state.counts[HEAP] -= 1
    own = state.own[index]
    compiled_book_work(own, own.work_length)
    return index


@inlined_kernel
def end_operation(state: State, index: int, volume: float, alone: float, served: float) -> None:
    """Book a complete operation of application `index` in `state`.

    `volume` is in units, `alone` the seconds it takes by itself, `served` the seconds in which its data moved.
    """
    own = state.own[index]
    compiled_book_operation(own, volume, alone, state.clock[NOW] - own.began)
    own.io_alone += alone
    own.transfer_seconds += served
    state.clock[COMPLETED] += 1.0
    state.counts[EVENTS] += 1
    if own.operations == 1:
        state.counts[WITHOUT_TRANSFER] -= 1
