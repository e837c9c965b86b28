"""The event loop: ask the policy, find the next date, move data, apply events.

Between two events all rates are constant, so time jumps from event to event (000 §3.1.2). One turn of the loop
has four steps. It finds rates for the stores on which anything happened. It finds the next date: a completion, the end of a
work phase, a periodic decision, the end of a round, an event of the buffers, or the limit. It moves data up to that date. It
applies all events of that date.

A run consists of the parts that it is given. The compiled code leaves out a part that is None. The other parts determine how
the kernel finds the next completion and how data move:

- `stores`: transfers on a link or on I/O resources, at the rates of a `policy`, or in the order of a `key`, which the kernel
  keeps from event to event (`penstock.engine.kept_orders`); with `restraints`, limits by direction, rounds and degradation
  apply;
- `virtual_time`: all transfers get the same fraction of their caps (`penstock.engine.virtual_time`);
- `tier`: buffers before the stores (`penstock.engine.buffer_rates`, `buffer_flow` and `buffer_events`), at the rates of a
  `policy` or of a `plan` (`penstock.engine.planned`); `fill` records their contents;
- `beliefs`: what the policy is shown of what lies ahead, in place of the truth (`penstock.engine.information`).

Cost of an event with n transfers on its store and m applications: log m for the heap of work ends, the cost of the policy,
n to check the rates that it gives, and one step for each transfer that moves. A kept order costs log n, virtual time log n.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numba import types

from penstock.engine.buffer_events import apply_buffered
from penstock.engine.buffer_flow import find_next, move_buffered, settle_buffered
from penstock.engine.buffer_rates import decide_buffered, record_fill
from penstock.engine.chain import end_operation, end_work, next_phase
from penstock.engine.faults import broken, broken_buffered
from penstock.engine.information import BELIEFS_TYPE, believe, learn_of
from penstock.engine.kept_orders import key_of, serve, wait_in_order
from penstock.engine.planned import TARGETS_TYPE, next_target, pass_targets
from penstock.engine.rates import decide
from penstock.engine.state import (
    DONE,
    ENDS,
    EVENTS,
    HEAP,
    INDEX,
    NOW,
    OVER,
    ROWS,
    SLOTS,
    STATE_TYPE,
    STORES,
    TICKS,
    TOUCHED,
    WAIT,
    WITHOUT_TRANSFER,
    Records,
    State,
)
from penstock.engine.terms import (
    ALL_TRANSFERRED,
    GOES_ON,
    LIMIT,
    NOTHING_LEFT,
    ONE_ENDED,
    STARVED,
    STOPPED,
    TERMS_TYPE,
    TRACE_FULL,
    TURNS_MADE,
    Terms,
    next_tick,
    same_date,
)
from penstock.engine.tier import TIER_TYPE
from penstock.engine.trace import FILL_TYPE, SEGMENTS_TYPE, close_segment, is_full
from penstock.engine.transfers import (
    CAP,
    RATE,
    REMAINING,
    TRANSFERRING,
    VOLUME,
    count_parts,
    end_rounds,
    enter,
    first_store,
    leave,
    occupy,
    seconds_since,
    set_finish,
    touch,
)
from penstock.engine.virtual_time import (
    complete_in_virtual_time,
    decide_in_virtual_time,
    is_complete,
    pass_virtual_time,
    post_in_virtual_time,
    volume_of,
    write_places,
)
from penstock.model.application import READ
from penstock.numeric.compiled import direct, inlined_kernel, without_refcount
from penstock.numeric.tolerances import COMPLETE
from penstock.policies.view import KEY_SIGNATURE, RATES_SIGNATURE


@inlined_kernel
def _post(state: State, terms: Terms, key: Any, beliefs: Any, index: int, volume: float) -> None:
    """Post an operation of the application: a transfer on each store it uses."""
    own = state.own[index]
    reading = state.kinds[own.cursor - 1] == READ
    cap = own.read_cap if reading else own.write_cap
    own.pending = own.uses
    if terms.several_stores:
        own.part_moved = own.part_rate = own.part_served = 0.0
        own.counted = own.began
    for use in range(own.first_use, own.first_use + own.uses):
        store = state.transfers[use].store
        touch(state, terms, store)
        slot = enter(state, store, use, terms.by_direction and not reading)
        occupy(state, slot, index, volume, cap)
        if beliefs is not None:
            believe(state, beliefs, slot, index)
        if key is not None:
            wait_in_order(state, store, key_of(state, slot, key), use)


@inlined_kernel
def _go_on(state: State, terms: Terms, stores: Any, key: Any, virtual_time: Any, beliefs: Any, index: int) -> None:
    """Begin what the application does next."""
    volume = next_phase(state, terms, index, state.clock[NOW])
    if volume > 0.0:
        if virtual_time is not None:
            post_in_virtual_time(state, index, volume)
        if stores is not None:
            _post(state, terms, key, beliefs, index, volume)


@inlined_kernel
def _complete(state: State, terms: Terms, trace: Records, beliefs: Any, store: int, transfer: int) -> int:
    """Book a complete transfer; returns the application whose operation is complete with it, or −1."""
    slot = state.transfers[transfer].place
    index = state.integers[INDEX, slot]
    own, floats = state.own[index], state.floats
    volume, cap = floats[VOLUME, slot], floats[CAP, slot]
    served = floats[TRANSFERRING, slot] - own.transfer_seconds
    if len(trace) > 0:
        close_segment(state, trace, slot, 0.0)
    if terms.several_stores:
        count_parts(own, state.clock[NOW])
        own.part_rate -= floats[RATE, slot]
        own.part_served += served
        served = own.part_served / own.uses
    leave(state, store, slot)
    own.pending -= 1
    if own.pending > 0:
        return -1
    if beliefs is not None:
        learn_of(state, beliefs, index, volume, volume / cap)
    end_operation(state, index, volume, volume / cap, served)
    return int(index)


@inlined_kernel
def _complete_on(
    state: State, terms: Terms, trace: Records, restraints: Any, beliefs: Any, store: int, latest: float
) -> None:
    """Complete the store's finished transfers, and end the rounds that a decision waits for."""
    here, floats, now = state.stores[store], state.floats, state.clock[NOW]
    touch(state, terms, store)
    if restraints is not None:  # noqa: SIM102  # numba leaves out what depends on None alone
        if here.round_end <= latest:
            end_rounds(state, store, latest)
            here.round_end = np.inf
    finisher = here.finisher if here.finish <= latest else -1
    set_finish(state, store, np.inf, -1)
    for place in range(here.row + here.moving - 1, here.row - 1, -1):
        transfer = state.transfers[place].mover
        slot = state.transfers[transfer].place
        left = floats[REMAINING, slot]
        if transfer == finisher or left <= max(COMPLETE * floats[VOLUME, slot], floats[RATE, slot] * (latest - now)):
            index = _complete(state, terms, trace, beliefs, store, transfer)
            here.moving -= 1
            state.transfers[place].mover = state.transfers[here.row + here.moving].mover
            if index >= 0:
                state.own[state.counts[OVER]].over = index
                state.counts[OVER] += 1


@inlined_kernel
def _complete_first(state: State, trace: Records) -> None:
    """In virtual time: complete the operation on top of the heap."""
    index = complete_in_virtual_time(state, trace)
    own = state.own[index]
    end_operation(state, index, volume_of(state, index), own.alone, state.clock[NOW] - own.began)
    state.own[state.counts[OVER]].over = index
    state.counts[OVER] += 1


@inlined_kernel
def _apply(
    state: State,
    terms: Terms,
    trace: Records,
    stores: Any,
    key: Any,
    restraints: Any,
    virtual_time: Any,
    tier: Any,
    plan: Any,
    beliefs: Any,
    ticking: bool,
) -> None:
    """Apply all that happens at this date: completions, ends of work, the periodic decision."""
    if tier is not None:
        if plan is not None:
            pass_targets(state, terms, tier, plan)
        apply_buffered(state, terms, tier, ticking)
        return
    latest = same_date(state.clock[NOW], terms)
    if virtual_time is not None:
        while state.counts[SLOTS] > 0 and is_complete(state):
            _complete_first(state, trace)
    if stores is not None:
        while state.stores[1].node <= latest:
            _complete_on(state, terms, trace, restraints, beliefs, first_store(state), latest)
    while state.counts[OVER] > 0 or (state.counts[HEAP] > 0 and state.queue[0].time <= latest):
        if state.counts[OVER] > 0:
            state.counts[OVER] -= 1
            index = state.own[state.counts[OVER]].over
        else:
            index = end_work(state)
        _go_on(state, terms, stores, key, virtual_time, beliefs, index)
    if ticking:
        state.clock[TICKS] += 1.0
        state.counts[EVENTS] += 1
        for store in range(state.counts[STORES]):
            if state.stores[store].down + state.stores[store].up > 0:
                touch(state, terms, store)


@inlined_kernel
def _decide(
    state: State,
    terms: Terms,
    trace: Records,
    stores: Any,
    policy: Any,
    key: Any,
    restraints: Any,
    virtual_time: Any,
    tier: Any,
    plan: Any,
    beliefs: Any,
) -> int:
    """Find rates where anything has happened; returns why they are refused, or GOES_ON."""
    fault = GOES_ON
    if virtual_time is not None:
        decide_in_virtual_time(state, trace)
    if tier is not None:
        fault = decide_buffered(state, terms, trace, policy, restraints, tier, plan)
    if stores is not None:
        for position in range(state.counts[TOUCHED]):
            store = state.stores[position].touched
            state.stores[store].stale = 0
            if key is not None:
                serve(state, terms, trace, store, key)
            if policy is not None:
                fault = max(fault, decide(state, terms, trace, store, policy, restraints, beliefs))
        state.counts[TOUCHED] = 0
    return fault


@inlined_kernel
def _next_date(state: State, terms: Terms, tier: Any, plan: Any) -> tuple[float, bool]:
    """The next date, and whether a periodic decision falls on it.

    The date is infinite if nothing will ever happen again. For chains that repeat this is a fault even if the run has a
    limit.
    """
    date = state.stores[1].node  # root of the tree of next dates: the earliest completion or round end of all stores
    if tier is not None:
        find_next(state, terms, tier)
        date = min(date, state.clock[NOW] + state.clock[WAIT])
    if state.counts[HEAP] > 0:
        date = min(date, state.queue[0].time)
    if plan is not None:
        date = next_target(plan, terms, date)
    ticking = False
    if terms.delta > 0.0:
        tick = next_tick(state.clock[TICKS], terms)
        date = min(date, tick)
        ticking = tick <= same_date(date, terms)
    if date > terms.limit and not (terms.repeats and date == np.inf):
        return terms.limit, False
    return date, ticking


@inlined_kernel
def _move(state: State, terms: Terms, virtual_time: Any, tier: Any, before: float) -> None:
    """Move data from `before` to now: in buffers and virtual time. Plain stores catch up when they are next touched."""
    if tier is not None:
        # Up to an event of the buffers, use the exact wait: the difference of two dates has lost some bits.
        wait = state.clock[WAIT]
        arrived = state.clock[NOW] == before + wait
        move_buffered(state, terms, tier, wait if arrived else state.clock[NOW] - before, arrived)
    if virtual_time is not None:
        pass_virtual_time(state, before)


@inlined_kernel
def _broken(state: State, terms: Terms, virtual_time: Any, tier: Any, before: float) -> int:
    """The first invariant that does not hold, or GOES_ON."""
    if tier is not None:
        return broken_buffered(state, terms, tier, before)
    if virtual_time is not None:
        write_places(state)
    return broken(state, terms, before)


@inlined_kernel
def _settle(state: State, terms: Terms, stores: Any, virtual_time: Any, tier: Any) -> None:
    """Write down what has become of the operations under way, for Python to read.

    It moves nothing: a run that stops and goes on reaches the same bits as one that does not stop.
    """
    if tier is not None:
        settle_buffered(state, tier)
    if virtual_time is not None:
        write_places(state)
        _settle_transfers(state, terms, 0, 0.0)
    if stores is not None:
        if terms.several_stores:
            for store in range(state.counts[STORES]):
                _settle_parts(state, store)
        for store in range(state.counts[STORES]):
            _settle_transfers(state, terms, store, seconds_since(state, store))


@inlined_kernel
def _settle_parts(state: State, store: int) -> None:
    """Write down what complete transfers have served of the operations that still have a transfer on the store.

    It visits transfers, not applications, so that applications that have ended add no cost to a stop.
    """
    here = state.stores[store]
    for slot in range(here.middle - here.down, here.middle + here.up):
        own = state.own[state.integers[INDEX, slot]]
        own.now_served = own.part_served / own.uses


@inlined_kernel
def _settle_transfers(state: State, terms: Terms, store: int, seconds: float) -> None:
    """Write down the present progress of the store's transfers, whose rows were last updated `seconds` ago."""
    here, floats = state.stores[store], state.floats
    here.now_busy = here.busy + (seconds if here.moving > 0 else 0.0)
    for slot in range(here.middle - here.down, here.middle + here.up):
        own = state.own[state.integers[INDEX, slot]]
        moving = seconds if floats[RATE, slot] > 0.0 else 0.0
        served = floats[TRANSFERRING, slot] + moving - own.transfer_seconds
        if terms.several_stores:
            parts = own.part_moved + own.part_rate * (state.clock[NOW] - own.counted)
            own.now_moved = parts / own.uses
            own.now_progress = own.done + own.now_moved / floats[CAP, slot]
            own.now_served += served / own.uses
        else:
            remaining = max(0.0, floats[REMAINING, slot] - floats[RATE, slot] * moving)
            own.now_moved = floats[VOLUME, slot] - remaining
            own.now_progress = floats[DONE, slot] + own.now_moved / floats[CAP, slot]
            own.now_served = served


def advance(
    state: State,
    under: Records,
    trace: Records,
    stores: Any,
    policy: Any,
    key: Any,
    restraints: Any,
    virtual_time: Any,
    tier: Any,
    plan: Any,
    fill: Any,
    beliefs: Any,
) -> int:
    """Run until the limit, the event that the run stops at, or a fault.

    It also returns when a trace is full or the turns of this call are made; call it again to go on. The arguments from
    `stores` on are parts of the run: None if the run has no such part. Of `stores`, `restraints` and `virtual_time` only
    that matters; pass any integer if the run has the part.

    Args:
        state: the state of the run, which changes.
        under: one record of `Terms`: limits and options.
        trace: records for segments of constant rate; empty to record none.
        stores: not None for transfers on a link or on I/O resources.
        policy: the compiled policy that is asked for rates.
        key: the compiled key of a kept order.
        restraints: not None for limits by direction, rounds and degradation.
        virtual_time: not None for a run in virtual time.
        tier: the buffers (`Tier`).
        plan: amounts and dates (`Targets`), in place of a policy.
        fill: records for the contents of the buffers; empty to record none.
        beliefs: what the policy is shown in place of the truth (`Beliefs`).

    Returns:
        Why it returned: one of the outcomes of `penstock.engine.terms`.
    """
    state = without_refcount(state)
    terms = under[0]
    turns = terms.turns
    outcome = GOES_ON
    while outcome == GOES_ON:
        if is_full(state, trace):
            return TRACE_FULL
        if fill is not None:  # noqa: SIM102
            if _fill_is_full(state, fill):
                return TRACE_FULL
        if turns == 0:
            return TURNS_MADE
        turns -= 1
        if state.clock[NOW] >= terms.limit:
            outcome = LIMIT
        elif terms.stop == ALL_TRANSFERRED and state.counts[WITHOUT_TRANSFER] == 0:
            outcome = STOPPED
        else:
            ends = state.counts[ENDS]
            outcome = _turn(state, terms, trace, stores, policy, key, restraints, virtual_time, tier, plan, fill, beliefs)
            if terms.stop == ONE_ENDED and state.counts[ENDS] > ends and outcome == GOES_ON:
                outcome = STOPPED
    if outcome in (LIMIT, STOPPED, NOTHING_LEFT):
        _settle(state, terms, stores, virtual_time, tier)
    return outcome


@inlined_kernel
def _turn(
    state: State,
    terms: Terms,
    trace: Records,
    stores: Any,
    policy: Any,
    key: Any,
    restraints: Any,
    virtual_time: Any,
    tier: Any,
    plan: Any,
    fill: Any,
    beliefs: Any,
) -> int:
    """Ask, find the next date, move, apply; returns why the kernel has to return, or GOES_ON."""
    fault = _decide(state, terms, trace, stores, policy, key, restraints, virtual_time, tier, plan, beliefs)
    if fault != GOES_ON:
        return fault
    if fill is not None:  # noqa: SIM102
        if len(fill) > 0:
            record_fill(state, tier, fill)
    if state.counts[SLOTS] == 0 and state.counts[HEAP] == 0 and terms.limit == np.inf:
        return NOTHING_LEFT  # whatever periodic decisions would still come
    before = state.clock[NOW]
    date, ticking = _next_date(state, terms, tier, plan)
    if date == np.inf:
        return STARVED
    state.clock[NOW] = date
    _move(state, terms, virtual_time, tier, before)
    _apply(state, terms, trace, stores, key, restraints, virtual_time, tier, plan, beliefs, ticking)
    return _broken(state, terms, virtual_time, tier, before) if terms.check else GOES_ON


@inlined_kernel
def _fill_is_full(state: State, fill: Records) -> bool:
    """Whether there may be no room for a row of every application."""
    return bool(0 < len(fill) < state.counts[ROWS] + len(state.own))


class KernelParts(NamedTuple):
    """The parts of a run: for each None, or what the kernel is given for it."""

    stores: Any = None
    policy: Any = None
    key: Any = None
    restraints: Any = None
    virtual_time: Any = None
    tier: Any = None
    plan: Any = None
    fill: Any = None
    beliefs: Any = None


_PARTS: Final = KernelParts(
    stores=types.int64,
    policy=types.FunctionType(RATES_SIGNATURE),
    key=types.FunctionType(KEY_SIGNATURE),
    restraints=types.int64,
    virtual_time=types.int64,
    tier=TIER_TYPE,
    plan=TARGETS_TYPE,
    fill=FILL_TYPE,
    beliefs=BELIEFS_TYPE,
)


def compiled_advance(parts: KernelParts) -> Callable[..., int]:
    """`advance`, compiled for a run of these `parts`."""
    return _compiled(tuple(part is not None for part in parts))


@cache
def _compiled(there: tuple[bool, ...]) -> Callable[..., int]:
    kinds = [kind if is_there else types.none for kind, is_there in zip(_PARTS, there, strict=True)]
    what = "the simulation engine with buffers" if KernelParts(*there).tier else "the simulation engine"
    return direct(advance, types.int64(STATE_TYPE, TERMS_TYPE, SEGMENTS_TYPE, *kinds), what)
