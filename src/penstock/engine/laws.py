"""Invariants that can be checked after every event: volume, progress, time."""

from __future__ import annotations

from penstock.engine.slots import CAP, PROGRESS, RELEASE, REMAINING, VOLUME
from penstock.engine.state import DONE, FAULT_SLOT, FAULT_VALUE, NOW, STORES, State
from penstock.engine.terms import INVARIANT_PROGRESS, INVARIANT_TIME, INVARIANT_VOLUME, Terms
from penstock.policies.compiled import part


@part
def broken(state: State, terms: Terms, before: float) -> int:
    """The first invariant that does not hold, or 0: volume posted = moved + remaining, progress ≤ elapsed, time."""
    now, floats = state.clock[NOW], state.floats
    if now < before:
        return INVARIANT_TIME
    for store in range(state.counts[STORES]):
        here = state.stores[store]
        for slot in range(here.middle - here.down, here.middle + here.up):
            state.counts[FAULT_SLOT] = slot
            volume, progress, cap = floats[VOLUME, slot], floats[PROGRESS, slot], floats[CAP, slot]
            if not terms.striped:
                # Progress is known to one rounding of its own size, and so the volume moved is known to that times the cap.
                moved = (progress - floats[DONE, slot]) * cap
                known_to = 1e-9 * volume + 4e-16 * abs(progress) * cap
                state.clock[FAULT_VALUE] = moved + floats[REMAINING, slot]
                if floats[REMAINING, slot] < 0.0 or abs(moved + floats[REMAINING, slot] - volume) > known_to:
                    return INVARIANT_VOLUME
            elapsed = now - floats[RELEASE, slot]
            # A date is known to one rounding of the largest date so far.
            known_to = 1e-9 * (elapsed + abs(now) + abs(terms.origin)) + 4e-16 * volume / cap
            state.clock[FAULT_VALUE] = progress
            if progress > elapsed + known_to:
                return INVARIANT_PROGRESS
    return 0
