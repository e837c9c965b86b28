"""Why a run had to stop, in words: rates that no link carries, a policy that fails, an invariant that does not hold."""

from __future__ import annotations

from penstock.engine import loop, slots
from penstock.engine.loop import Terms
from penstock.engine.state import FAULT_SLOT, FAULT_VALUE, NOW, SLOTS, State
from penstock.model import PolicyFault
from penstock.policies.guard import failure
from penstock.policies.policy import Policy


def fault(outcome: int, state: State, terms: Terms, policy: Policy, who: str) -> PolicyFault:
    """The error for what the loop came back with; `who` is the application whose slot is at fault."""
    return PolicyFault(
        f"policy {policy.name}: at {float(state.clock[NOW])} s {_explain(outcome, state, terms, policy, who)}"
    )


def _explain(outcome: int, state: State, terms: Terms, policy: Policy, who: str) -> str:
    slot, value = int(state.counts[FAULT_SLOT]), float(state.clock[FAULT_VALUE])
    cap = float(state.slot_cap[slot])
    if outcome == slots.RATE_NOT_A_NUMBER:
        given = f"it gave {who} no rate or one that is not a number; expected 0 to its cap {cap}"
        return _failure(state, terms, policy) or given
    texts = {
        slots.RATE_NEGATIVE: f"it gave {who} the rate {value}; expected 0 to its cap {cap}",
        slots.RATE_ABOVE_CAP: f"it gave {who} the rate {value}; expected 0 to its cap {cap}",
        slots.RATES_ABOVE_BANDWIDTH: f"its rates add up to {value}; expected at most the bandwidth {terms.bandwidth}",
        loop.STARVED: "it gives no bandwidth to anyone and nothing else will happen; expected a rate above 0",
        loop.INVARIANT_VOLUME: f"{who} has moved and left {value} of {state.slot_volume[slot]} bytes",
        loop.INVARIANT_PROGRESS: f"{who} has progressed {value} s, more than the time since its release",
        loop.INVARIANT_TIME: "time went back",
    }
    return texts[outcome]


def _failure(state: State, terms: Terms, policy: Policy) -> str | None:
    """The exception that the policy raises for the present view, if it does."""
    size = int(state.counts[SLOTS])
    view = slots.view_of(state, 0, size, terms.bandwidth, terms.window_end, terms.parameter)
    return failure(policy.rates, view)
