"""due-yield: the lowest yield first, counted as if the pending transfer were done already.

The bound of `penstock.theory.bounds` tells in which order operations are due. For every application to end with yield y,
the pending operation of A_i must be complete when the time since its release is (P_i + d_i) / y, where P_i is its progress
and d_i the length of the transfer. With a common release that is the order of P_i + d_i, the progress at the *end* of the
transfer, where greedy-yield compares the present progress. This favours short transfers, which keep others waiting for
less time. The parameter c sets how much: the order is that of (P_i + c·d_i) / (t − τ_i). With c = 0 it is greedy-yield.

d_i is V_i / B, the time for which the link is taken, and not V_i / b_i: where caps differ, what matters is how long the
others wait (measured: docs/policies/beyond.md).
"""

from __future__ import annotations

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import step
from penstock.numeric.tolerances import SHORTEST_ELAPSED_S, YIELD_GRAIN
from penstock.policies.order import fill
from penstock.policies.policy import FILL, Need, Order, Parameter, Policy
from penstock.policies.view import View

USUAL_C = 2.0
"""The default of c."""


@step
def progress_due(view: View, i: int) -> float:
    """P_i + c·V_i / B of application i of `view`, in seconds."""
    return _progress_due(view, i, view.parameter)


@step
def _progress_due(view: View, i: int, c: float) -> float:
    return float(view.progress[i] + c * view.remaining[i] / view.bandwidth)


@step
def due_grade(view: View, i: int, c: float) -> float:
    """(P_i + c·V_i / B) / (t − τ_i) of application i of `view`, as orders compare it."""
    elapsed = max(view.now - view.release[i], SHORTEST_ELAPSED_S)
    return float(np.rint(_progress_due(view, i, c) / elapsed * YIELD_GRAIN))


def due_yield(view: View, rates: Floats) -> None:
    """Fill the link in the order of (P_i + c·V_i / B) / (t − τ_i): from `view`, to `rates` in bytes/s. Time n."""
    for i in range(len(rates)):
        view.scratch[i] = due_grade(view, i, view.parameter)
    fill(view, view.scratch, rates)


DUE_YIELD = Policy(
    name="due-yield",
    rates=due_yield,
    summary="the lowest yield at the end of the pending transfer first",
    needs=(Need.PROGRESS, Need.VOLUME),
    reference="beyond 000",
    order=Order(progress_due, FILL, YIELD_GRAIN),
    parameter=Parameter("c", USUAL_C, "how much the length of the transfer counts; 0 is greedy-yield"),
)
