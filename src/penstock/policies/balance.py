"""balance: a compromise between fairness and efficiency, set by one number p.

Let W_i = t − τ_i − P_i be the seconds that application A_i has lost so far. Its yield is 1 − W_i / (t − τ_i). Efficiency
asks for a small sum of the W_i and the minimum yield for a small maximum. A small Σ W_i^(p+1) lies between them, from the
sum (p = 0) to the maximum (p → ∞). A second of waiting of A_i adds to it in proportion to W_i^p. By Smith's rule the sum
of weighted waiting times is smallest in the order of weight over length: W_i^p / d_i, largest first, where d_i = V_i / B
is the time for which the transfer takes the link. Losses are relative to the age at the end of the transfer,
1 − u_i = W_i / (t − τ_i + d_i), so that applications of different ages compare.

p = 0 serves the smallest volume first, as greedy-com does where all caps are equal; a large p is greedy-yield.

**Speed.** Keys compare as logarithms, and two exact logarithms take 15 ns. So keys are first computed approximately: by
powers where p is a small whole number, else by `log2`, which is good to one digit and takes a tenth of the time. Exact
logarithms are taken only of keys that are too close to the lowest to tell.
"""

from __future__ import annotations

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import step
from penstock.numeric.tolerances import NO_LOSS, SAME_KEY, SHORTEST_ELAPSED_S, YIELD_GRAIN
from penstock.policies.order import fill_rest, first
from penstock.policies.policy import Need, Parameter, Policy
from penstock.policies.view import View

LOG2_ERROR = 0.0431
"""Largest error of `log2`."""
MOST_SQUARED = 32.0
"""Largest p for which keys are computed by powers: up to it (1 − u_i)^p stays a normal number, since 1 − u_i ≥ NO_LOSS
except where a transfer takes far longer than the application has run."""


def balance(view: View, rates: Floats) -> None:
    """Fill the link in the order of (1 − u_i)^p / d_i, largest first: from `view`, to `rates` in bytes/s. Time n.

    Approximate keys find the candidates for the first place; exact keys decide only where there are several.
    """
    by_powers = view.parameter <= MOST_SQUARED and view.parameter == np.floor(view.parameter)
    highest = _by_powers(view) if by_powers else _by_rough_logarithms(view)
    leader, candidates = 0, 0
    for i in range(len(rates)):
        near = view.scratch[i] <= highest
        leader = i if near else leader
        candidates += int(near)
        rates[i] = 0.0
    if candidates > 1:
        for i in range(len(rates)):
            view.scratch[i] = _key(view, i) if view.scratch[i] <= highest else np.inf
        leader = first(view, view.scratch)
    rates[leader] = view.cap[leader]
    if view.cap[leader] < view.bandwidth:
        for i in range(len(rates)):
            view.scratch[i] = _key(view, i)
        fill_rest(view, view.scratch, rates, view.bandwidth - view.cap[leader])


@step
def _by_powers(view: View) -> float:
    """Write B·d_i / (1 − u_i)^p for a whole p into the scratch column; returns up to where the smallest may be."""
    inverse = 1.0 / view.bandwidth  # one division for each application instead of three
    for i in range(len(view.scratch)):
        elapsed = max(view.now - view.release[i], SHORTEST_ELAPSED_S)
        lost = max(elapsed - view.progress[i], NO_LOSS * elapsed)
        view.scratch[i] = (elapsed + view.remaining[i] * inverse) / lost
    power = int(view.parameter)
    lowest = np.inf
    for i in range(len(view.scratch)):
        key = view.remaining[i] * _power(view.scratch[i], power)
        view.scratch[i] = key
        lowest = min(lowest, key)
    return lowest * (1.0 + SAME_KEY)


@step
def _power(base: float, exponent: int) -> float:
    """The base to a whole power that is not negative, by squaring."""
    product = 1.0
    while exponent > 0:
        if exponent & 1:
            product *= base
        base *= base
        exponent >>= 1
    return product


@step
def _by_rough_logarithms(view: View) -> float:
    """Write log2 (d_i / (1 − u_i)^p), approximately, into the scratch column; returns up to where the smallest may be."""
    for i in range(len(view.scratch)):
        length, lost = _length_and_loss(view, i)
        view.scratch[i] = log2(length) - view.parameter * log2(lost)
    return _lowest(view) + 2.0 * LOG2_ERROR * (1.0 + view.parameter)


@step
def log2(number: float) -> float:
    """An approximate logarithm to base 2 of a normal number above 0, from the bits of the double.

    For 2^e·(1 + m) it is e + m, moved by half of the largest error: log2(1 + m) exceeds m by 0 to 0.0861.
    """
    return float(np.float64(number).view(np.int64) * 2.0**-52 - 1022.957)


@step
def _lowest(view: View) -> float:
    lowest = np.inf  # in a loop of its own, so that the compiler vectorises the one before: a third of the time
    for i in range(len(view.scratch)):
        lowest = min(lowest, view.scratch[i])
    return lowest


@step
def _length_and_loss(view: View, i: int) -> tuple[float, float]:
    """d_i and 1 − u_i."""
    elapsed = max(view.now - view.release[i], SHORTEST_ELAPSED_S)
    length = view.remaining[i] / view.bandwidth
    return length, max(elapsed - view.progress[i], NO_LOSS * elapsed) / (elapsed + length)


@step
def _key(view: View, i: int) -> float:
    """log d_i − p·log(1 − u_i), rounded."""
    length, lost = _length_and_loss(view, i)
    return float(np.rint((np.log(length) - view.parameter * np.log(lost)) * YIELD_GRAIN))


BALANCE = Policy(
    name="balance",
    rates=balance,
    summary="the most time lost for the shortest transfer first",
    needs=(Need.PROGRESS, Need.VOLUME),
    reference="beyond 000",
    parameter=Parameter("p", 8.0, "0 for efficiency, large for fairness"),
)
