"""The event loop over N I/O resources (002 §III): every application moves its data over the resources it uses, each shared
by a policy of its own.

A resource offers one resource-second a second. An operation of volume v over n resources is n independent transfers; one
alone on its resource takes v / b(n) seconds, so it is v / b(n) resource-seconds with a cap of 1, and the operation ends with
the last of them. Transfers that end together on several resources are one event, whatever the last bits of their dates say:
under a policy that serves one at a time it matters who else is there. Chains repeat: what is measured is a steady state.

Only the resources where something happened are brought up to date and asked for new rates: an event costs their active
transfers and the policy's own cost, log K for the heap of work ends, and N for finding the next completion.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numba import types

from penstock.engine.chain import account, end_work, next_phase
from penstock.engine.loop import COMPLETE, LIMIT, STARVED
from penstock.engine.slots import compiled_view, keep_rates, occupy, refused, relocate
from penstock.engine.state import DECISIONS, ENDED, ENDS, EVENTS, HEAP, NOW, STATE_TYPE, TICKS, State
from penstock.policies.compiled import kernel, part, subroutine, unowned
from penstock.policies.view import RATES_SIGNATURE, Floats, Ints, View

DATES_KNOWN_TO: Final = 1e-14
"""Dates, which are sums of many, are known to this part of the largest so far."""

# When the loop comes back, beside its limit.
NEVER: Final = 0
ALL_TRANSFERRED: Final = 1
"""When every application that does I/O has completed an operation."""
ONE_ENDED: Final = 2
"""When an application comes to the end of its chain."""
TOUCHED: Final = 0
"""Position in `Resources.counts`: how many resources wait for new rates."""
WITHOUT_TRANSFER: Final = 1
"""Position in `Resources.counts`: applications that do I/O and have not completed an operation."""


class Resources(NamedTuple):
    """Who uses which resource and how far each has come; the slots of resource r begin at row[r]."""

    first_use: Ints
    """Application i uses uses[first_use[i] : first_use[i + 1]]."""
    uses: Ints
    cycle: Floats
    """Seconds of each chain alone on its resources."""
    row: Ints
    active: Ints
    """Transfers under way on each resource."""
    since: Floats
    """The date that the resource's slots are up to."""
    finish: Floats
    """When the next transfer on the resource is complete, at the present rates."""
    finisher: Ints
    """The slot of that transfer."""
    busy: Floats
    """Seconds with a transfer at some rate, up to `since`."""
    stale: Ints
    """1 where something has happened since the policy was asked."""
    touched: Ints
    """The stale resources."""

    pending: Ints
    """Transfers of the application's operation that are not complete."""
    began: Floats
    moved: Floats
    """Resource-seconds moved of the operation under way, over all its transfers, up to `counted`."""
    rate: Floats
    """Sum of the rates of the application's transfers."""
    counted: Floats
    transferring: Floats
    """Seconds at some rate of the operation's complete transfers, added up."""
    counts: Ints


class Conditions(NamedTuple):
    """What a run is under: the policy's parameter, the date to stop at, δ of periodic decisions (0: none) and their origin,
    and what else to stop at.
    """

    parameter: float
    limit: float
    delta: float
    origin: float
    stop: int


@part
def _catch_up(state: State, resources: Resources, resource: int) -> None:
    """Bring the slots of a resource up to date."""
    now = state.clock[NOW]
    seconds = now - resources.since[resource]
    if seconds > 0.0:
        begin = resources.row[resource]
        serving = False
        for slot in range(begin, begin + resources.active[resource]):
            rate = state.slot_rate[slot]
            if rate > 0.0:
                serving = True
                state.slot_remaining[slot] = max(0.0, state.slot_remaining[slot] - rate * seconds)
                state.slot_transfer[slot] += seconds
        if serving:
            resources.busy[resource] += seconds
        resources.since[resource] = now


@part
def _touch(state: State, resources: Resources, resource: int) -> None:
    """Something happens at the resource: bring its slots up to date, and have its rates decided anew."""
    _catch_up(state, resources, resource)
    if resources.stale[resource] == 0:
        resources.stale[resource] = 1
        resources.touched[resources.counts[TOUCHED]] = resource
        resources.counts[TOUCHED] += 1


@part
def _count(resources: Resources, index: int, now: float) -> None:
    """Bring what the application's operation has moved up to date."""
    resources.moved[index] += resources.rate[index] * (now - resources.counted[index])
    resources.counted[index] = now


@part
def _go_on(state: State, resources: Resources, index: int) -> None:
    """Begin what the application does next, from the begin of its chain after its end."""
    now = state.clock[NOW]
    volume = next_phase(state, index, now)
    while state.status[index] == ENDED:
        state.cursor[index] = state.first[index]
        state.whole[index] += resources.cycle[index]
        volume = next_phase(state, index, now)
    if volume > 0.0:
        begin, end = resources.first_use[index], resources.first_use[index + 1]
        for use in range(begin, end):
            resource = resources.uses[use]
            _touch(state, resources, resource)
            occupy(state, resources.row[resource] + resources.active[resource], index, volume, now)
            resources.active[resource] += 1
        resources.pending[index] = end - begin
        resources.began[index] = resources.counted[index] = now
        resources.moved[index] = resources.rate[index] = resources.transferring[index] = 0.0


@part
def _complete(state: State, resources: Resources, resource: int, slot: int) -> None:
    """The transfer in the slot is complete, and with the last one the operation."""
    now = state.clock[NOW]
    index = state.slot_index[slot]
    volume = state.slot_volume[slot]
    _count(resources, index, now)
    resources.rate[index] -= state.slot_rate[slot]
    resources.transferring[index] += state.slot_transfer[slot] - state.transfer_seconds[index]
    last = resources.row[resource] + resources.active[resource] - 1
    resources.active[resource] -= 1
    if slot != last:
        relocate(state, last, slot)
    resources.pending[index] -= 1
    if resources.pending[index] == 0:
        transfers = resources.first_use[index + 1] - resources.first_use[index]
        account(state, index, volume, volume, now - resources.began[index], resources.transferring[index] / transfers)
        if state.operations[index] == 1:
            resources.counts[WITHOUT_TRANSFER] -= 1
        _go_on(state, resources, index)


@subroutine
def _decide(
    state: State, resources: Resources, resource: int, parameter: float, policy: Callable[[View, Floats], None]
) -> int:
    """Ask the policy about a resource; returns why its rates are refused, or 0."""
    now = state.clock[NOW]
    resources.finish[resource] = np.inf
    begin = resources.row[resource]
    end = begin + resources.active[resource]
    if begin == end:
        return 0
    for slot in range(begin, end):
        index = state.slot_index[slot]
        _count(resources, index, now)
        transfers = resources.first_use[index + 1] - resources.first_use[index]
        state.slot_progress[slot] = state.done[index] + resources.moved[index] / transfers
    state.counts[DECISIONS] += 1
    keep_rates(state, begin, end)
    policy(compiled_view(state, begin, end, 1.0, np.inf, parameter), state.slot_rate[begin:end])
    fault = refused(state, begin, end, 1.0)
    if fault != 0:
        return fault
    wait = np.inf
    for slot in range(begin, end):
        rate = state.slot_rate[slot]
        resources.rate[state.slot_index[slot]] += rate - state.slot_before[slot]
        if rate > 0.0 and state.slot_remaining[slot] / rate < wait:
            wait = state.slot_remaining[slot] / rate
            resources.finisher[resource] = slot
    resources.finish[resource] = now + wait
    return 0


@part
def _next_date(state: State, resources: Resources, conditions: Conditions) -> tuple[float, bool]:
    """The next date, infinite if nothing will ever happen, and whether a periodic decision falls on it."""
    date = np.inf
    for finish in resources.finish:
        date = min(date, finish)
    if state.counts[HEAP] > 0:
        date = min(date, state.heap_time[0])
    ticking = False
    if conditions.delta > 0.0:
        tick = conditions.origin + (state.clock[TICKS] + 1.0) * conditions.delta
        ticking = tick <= date
        date = min(date, tick)
    if conditions.limit < date < np.inf:
        return conditions.limit, False
    return date, ticking


@part
def _apply_events(state: State, resources: Resources, origin: float, ticking: bool) -> None:
    """Apply all that happens at this date: completions, ends of work, the periodic decision."""
    now = state.clock[NOW]
    together = now + DATES_KNOWN_TO * (abs(now) + abs(origin))
    for resource in range(len(resources.finish)):
        if resources.finish[resource] <= together:
            _touch(state, resources, resource)
            resources.finish[resource] = np.inf
            state.slot_remaining[resources.finisher[resource]] = 0.0
            begin = resources.row[resource]
            # Downwards, as `_complete` moves the last slot, seen already, into the one it empties.
            for slot in range(begin + resources.active[resource] - 1, begin - 1, -1):
                if state.slot_remaining[slot] <= COMPLETE * state.slot_volume[slot]:
                    _complete(state, resources, resource, slot)
    while state.counts[HEAP] > 0 and state.heap_time[0] <= now:
        _go_on(state, resources, end_work(state))
    if ticking:
        state.clock[TICKS] += 1.0
        state.counts[EVENTS] += 1
        for resource in range(len(resources.finish)):
            if resources.active[resource] > 0:
                _touch(state, resources, resource)


@part
def _settle(state: State, resources: Resources) -> None:
    """Bring everything up to date, to be read."""
    for resource in range(len(resources.finish)):
        _catch_up(state, resources, resource)
    for index in range(len(resources.pending)):
        if resources.pending[index] > 0:
            _count(resources, index, state.clock[NOW])


@part
def _stop(state: State, resources: Resources, stop: int) -> bool:
    """Whether what the run is to stop at has come."""
    if stop == ALL_TRANSFERRED:
        return bool(resources.counts[WITHOUT_TRANSFER] == 0)
    return bool(stop == ONE_ENDED and state.counts[ENDS] > 0)


def advance(state: State, resources: Resources, conditions: Conditions, policy: Callable[[View, Floats], None]) -> int:
    """Run until the limit, what else the conditions say, or a fault; returns the fault or LIMIT."""
    state = unowned(state)
    resources = unowned(resources)
    while state.clock[NOW] < conditions.limit and not _stop(state, resources, conditions.stop):
        for position in range(resources.counts[TOUCHED]):
            resource = resources.touched[position]
            resources.stale[resource] = 0
            fault = _decide(state, resources, resource, conditions.parameter, policy)
            if fault != 0:
                return fault
        resources.counts[TOUCHED] = 0
        date, ticking = _next_date(state, resources, conditions)
        if date == np.inf:
            return STARVED
        state.clock[NOW] = date
        _apply_events(state, resources, conditions.origin, ticking)
    _settle(state, resources)
    return LIMIT


@cache
def compiled_advance() -> Callable[..., int]:
    """`advance`, compiled for any policy given by its address."""
    signature = types.int64(STATE_TYPE, RESOURCES_TYPE, CONDITIONS_TYPE, types.FunctionType(RATES_SIGNATURE))
    return kernel(advance, signature, "the engine of I/O resources")


_INTEGERS: Final = frozenset({"first_use", "uses", "row", "active", "finisher", "stale", "touched", "pending", "counts"})
RESOURCES_TYPE: Final[Any] = types.NamedTuple(
    [types.int64[::1] if name in _INTEGERS else types.float64[::1] for name in Resources._fields], Resources
)
CONDITIONS_TYPE: Final[Any] = types.NamedTuple([types.float64] * 4 + [types.int64], Conditions)


def new_resources(
    placement: tuple[tuple[int, ...], ...], resources: int, begin: float, cycle: Floats, transferring: int
) -> Resources:
    """The resources at the begin of a run: application i uses placement[i], `transferring` of the applications do I/O."""
    size = len(placement)
    counts = np.array([len(used) for used in placement], np.int64)
    uses = np.array([resource for used in placement for resource in used], np.int64)
    columns: dict[str, Any] = {
        "first_use": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "uses": uses,
        "cycle": cycle,
        "row": np.concatenate([[0], np.cumsum(np.bincount(uses, minlength=resources))]).astype(np.int64),
        "since": np.full(resources, begin),
        "finish": np.full(resources, np.inf),
        "counts": np.array([0, transferring], np.int64),
    }
    for name in ("active", "finisher", "busy", "stale", "touched"):
        columns[name] = np.zeros(resources, np.int64 if name in _INTEGERS else np.float64)
    for name in ("pending", "began", "moved", "rate", "counted", "transferring"):
        columns[name] = np.zeros(size, np.int64 if name in _INTEGERS else np.float64)
    return Resources(**columns)
