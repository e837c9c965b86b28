"""Why a run stops before its end: rates that the engine refuses, and invariants that do not hold.

On request the engine checks after every event that

- time does not go back;
- the volume of every operation is what has moved plus what remains, and neither is negative;
- the progress of an application, in seconds, is at most the time since its release.

With buffers it also checks that

- no space holds less than 0 or more than its size;
- what an application has written is in the store or in the buffer, and what was fetched for it is with the application or in
  the buffer.

`broken` and `broken_buffered` do this in compiled code and write the place and the value of the first fault into the state.
`fault` makes the error text of it.
"""

from __future__ import annotations

import numpy as np

from penstock.engine import terms as outcomes
from penstock.engine.state import ACTIVE, BANDWIDTH, DONE, FAULT_SLOT, FAULT_VALUE, INDEX, NOW, STORES, State
from penstock.engine.terms import INVARIANT_PROGRESS, INVARIANT_ROOM, INVARIANT_TIME, INVARIANT_VOLUME, Terms
from penstock.engine.tier import Tier, progress_of
from penstock.engine.transfers import CAP, PROGRESS, RELEASE, REMAINING, VOLUME
from penstock.model import PolicyFault, Workload
from penstock.numeric.compiled import inlined_kernel
from penstock.numeric.tolerances import COMPLETE, INVARIANT, TWO_ROUNDINGS
from penstock.policies.policy import Policy, failure
from penstock.policies.view import view_at


@inlined_kernel
def broken(state: State, terms: Terms, before: float) -> int:
    """The first invariant of `state` that does not hold, or 0; `before` is the date of the last event.

    Of `terms` it uses the origin of dates, and whether applications use several stores.
    """
    now, floats = state.clock[NOW], state.floats
    if now < before:
        return INVARIANT_TIME
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        for slot in range(here.middle - here.down, here.middle + here.up):
            state.counts[FAULT_SLOT] = slot
            volume, progress, cap = floats[VOLUME, slot], floats[PROGRESS, slot], floats[CAP, slot]
            if not terms.several_stores:
                # Progress is known to one rounding of its own size, and so the volume moved is known to that times the cap.
                moved = (progress - floats[DONE, slot]) * cap
                known_to = INVARIANT * volume + TWO_ROUNDINGS * abs(progress) * cap
                state.clock[FAULT_VALUE] = moved + floats[REMAINING, slot]
                if floats[REMAINING, slot] < 0.0 or abs(moved + floats[REMAINING, slot] - volume) > known_to:
                    return INVARIANT_VOLUME
            elapsed = now - floats[RELEASE, slot]
            # A date is known to one rounding of the largest date so far.
            known_to = INVARIANT * (elapsed + abs(now) + abs(terms.origin)) + TWO_ROUNDINGS * volume / cap
            state.clock[FAULT_VALUE] = progress
            if progress > elapsed + known_to:
                return INVARIANT_PROGRESS
    return 0


@inlined_kernel
def broken_buffered(state: State, terms: Terms, tier: Tier, before: float) -> int:
    """The first invariant of `state` and `tier` that does not hold, or 0; `before` is the date of the last event.

    Of `terms` it uses the origin of dates and the bytes that a plan lends to reads.
    """
    now = state.clock[NOW]
    if now < before:
        return INVARIANT_TIME
    for place in range(len(tier.spaces)):
        space = tier.spaces[place]
        state.clock[FAULT_VALUE] = space.content
        owed = len(tier.strands) * terms.lent
        if not -INVARIANT * space.peak - owed <= space.content <= space.capacity * (1.0 + INVARIANT):
            return INVARIANT_ROOM
    for strand in range(len(tier.strands)):
        own = tier.strands[strand]
        chain = state.own[own.index]
        if strand >= chain.first_use + chain.uses:  # in reserve
            continue
        volume, known_to = chain.moved, 2.0 * terms.lent
        if chain.status == ACTIVE:
            volume += state.amounts[chain.cursor - 1] - own.left
            known_to += COMPLETE * state.amounts[chain.cursor - 1]
        left_it = own.direct_written + own.drained + own.outgoing
        came = own.direct_read + own.prefetched
        state.clock[FAULT_VALUE] = left_it + came - own.incoming
        error = abs(state.clock[FAULT_VALUE] - volume)
        state.counts[FAULT_SLOT] = max(0, state.transfers[strand].place)
        if own.outgoing < 0.0 or own.incoming < -2.0 * terms.lent or error > INVARIANT * (left_it + came) + known_to:
            return INVARIANT_VOLUME
        state.clock[FAULT_VALUE] = progress_of(state, tier, own.index)
        elapsed = max(0.0, now - chain.release)
        if state.clock[FAULT_VALUE] > elapsed + INVARIANT * (elapsed + abs(now) + abs(terms.origin)):
            return INVARIANT_PROGRESS
    return 0


def fault(outcome: int, state: State, workload: Workload, policy: Policy, *, on_resources: bool) -> PolicyFault:
    """Make the error that a user sees when the kernel refuses to go on.

    Args:
        outcome: why the kernel returned (`penstock.engine.terms`): a refused rate, starvation or a broken invariant.
        state: the state in which it stopped; it has the date, the place and the value of the fault.
        workload: the workload of the run, for the names of applications.
        policy: the policy of the run.
        on_resources: whether rates are parts of an I/O resource, not bytes/s.
    """
    why = _explain(outcome, state, workload, policy, on_resources)
    return PolicyFault(f"policy {policy.name}: at {float(state.clock[NOW])} s {why}")


def _explain(outcome: int, state: State, workload: Workload, policy: Policy, on_resources: bool) -> str:
    slot, value = int(state.counts[FAULT_SLOT]), float(state.clock[FAULT_VALUE])
    index = int(state.integers[INDEX, slot])
    who = f"application {workload.applications[index].name!r}"
    cap = float(state.floats[CAP, slot])
    if outcome == outcomes.RATE_NOT_A_NUMBER:
        given = f"it gave {who} no rate or one that is not a number; expected 0 to its cap {cap}"
        return _failure(state, policy, slot) or given
    bandwidth = float(state.clock[BANDWIDTH])
    rates, most = ("its rates on an I/O resource", "") if on_resources else ("its rates", "the bandwidth ")
    texts = {
        outcomes.RATE_NEGATIVE: f"it gave {who} the rate {value}; expected 0 to its cap {cap}",
        outcomes.RATE_ABOVE_CAP: f"it gave {who} the rate {value}; expected 0 to its cap {cap}",
        outcomes.RATES_ABOVE_BANDWIDTH: f"{rates} add up to {value}; expected at most {most}{bandwidth}",
        outcomes.STARVED: "it gives no bandwidth to anyone and nothing else will happen; expected a rate above 0",
        outcomes.INVARIANT_VOLUME: f"{who} has moved and left {value} of {state.floats[VOLUME, slot]} bytes",
        outcomes.INVARIANT_PROGRESS: f"{who} has progressed {value} s, more than the time since its release",
        outcomes.INVARIANT_TIME: "time went back",
        outcomes.INVARIANT_ROOM: f"a share or pool holds {value} bytes",
    }
    return texts[outcome]


def _failure(state: State, policy: Policy, slot: int) -> str | None:
    """The exception that the policy raises for the view with which it failed at this place, or None."""
    stores = state.stores[: int(state.counts[STORES])]
    here = stores[int(np.searchsorted(stores["middle"] - stores["down"], slot, side="right")) - 1]
    begin, end = int(here["middle"] - here["down"]), int(here["middle"] + here["up"])
    if slot >= end:  # the policy was asked about a copy, behind all stores
        begin, end = slot, slot + 1
    return failure(
        policy.rates,
        view_at(state.floats, state.integers, state.clock, state.degradation, 0, begin, end - begin),
    )
