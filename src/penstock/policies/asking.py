"""Asking a policy from Python: the same compiled function, by its address, that the engine's loops call."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import types

from penstock.policies.compiled import kernel
from penstock.policies.policy import Policy
from penstock.policies.view import RATES_SIGNATURE, VIEW_TYPE, Floats, View


def _ask(view: View, rates: Floats, policy: Callable[[View, Floats], None]) -> None:
    policy(view, rates)


@cache
def _compiled_ask() -> Callable[..., Any]:
    signature = types.void(VIEW_TYPE, types.float64[::1], types.FunctionType(RATES_SIGNATURE))
    return kernel(_ask, signature, "the way to ask policies")


def prepare(policy: Policy) -> None:
    """Compile or load what asking it takes, so that the first question is answered as fast as the others."""
    _compiled_ask()
    policy.compiled()


def ask(policy: Policy, view: View, rates: Floats) -> None:
    """Have the policy write the rates for the view, whose columns must not be writable but for the room to work in."""
    _compiled_ask()(view, rates, policy.compiled())
