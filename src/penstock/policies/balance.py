"""balance: between fairness and efficiency, by one number.

Let W_i = t − τ_i − P_i be the time an application has lost so far. Its yield is 1 − W_i / (t − τ_i): the efficiency asks for
a small sum of the W_i, the minimum yield for a small maximum, and a small Σ W_i^(p+1) is something between, from the sum
(p = 0) to the maximum (p → ∞). A second of waiting of A_i adds in proportion to W_i^p to it. By Smith's rule, the sum of
weighted waiting times is least if the order is that of weight over length: W_i^p / d_i, largest first, where d_i = V_i / B
is how long the link is taken. Losses compare relative to the age at the end of the transfer, as
1 − u_i = W_i / (t − τ_i + d_i), so that applications of different ages can be compared.

p = 0 serves the smallest volume first, as greedy-com does where all caps are equal; a large p is greedy-yield.
"""

from __future__ import annotations

import numpy as np

from penstock.policies.order import MOMENT, NO_LOSS, YIELD_GRAIN, fill
from penstock.policies.policy import Need, Parameter, Policy
from penstock.policies.view import Floats, View


def balance(view: View, rates: Floats) -> None:
    """Fill the link in the order of (1 − u_i)^p / d_i, largest first; compared by logarithms. Time n."""
    for i in range(len(rates)):
        elapsed = max(view.now - view.release[i], MOMENT)
        length = view.remaining[i] / view.bandwidth
        lost = max(elapsed - view.progress[i], NO_LOSS * elapsed) / (elapsed + length)
        view.scratch[i] = np.rint((np.log(length) - view.parameter * np.log(lost)) * YIELD_GRAIN)
    fill(view, view.scratch, rates)


BALANCE = Policy(
    name="balance",
    rates=balance,
    summary="the most time lost for the shortest transfer first",
    needs=(Need.PROGRESS, Need.VOLUME),
    reference="beyond 000",
    parameter=Parameter("p", 8.0, "0 for efficiency, large for fairness"),
)
