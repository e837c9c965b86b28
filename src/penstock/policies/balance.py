"""Logarithms to one digit, for a tenth of the time: to know where they need not be taken exactly.

balance: between fairness and efficiency, by one number.

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

from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import step
from penstock.numeric.tolerances import NO_LOSS, SAME_KEY, SHORTEST_ELAPSED_S, YIELD_GRAIN
from penstock.policies.order import fill_rest, first
from penstock.policies.policy import Need, Parameter, Policy
from penstock.policies.view import View

LOG2_ERROR = 0.0431
"""By how much `log2` may be wrong."""


@step
def log2(number: float) -> float:
    """The logarithm to base 2 of a number above 0, not denormal: its exponent e, and m of its mantissa 1 + m.

    log2(1 + m) is more than m by 0 to 0.0861. In a float these are the bits, e + 1023 first.
    """
    return float(np.float64(number).view(np.int64) * 2.0**-52 - 1022.957)


MOST_SQUARED = 32.0
"""Powers up to here are numbers: 1 − u_i is at least NO_LOSS, but where a transfer takes far longer than all before it."""


def balance(view: View, rates: Floats) -> None:
    """Fill the link in the order of (1 − u_i)^p / d_i, largest first; compared by logarithms. Time n.

    Two logarithms take 15 ns. They are first done without, or taken roughly, and exactly only where that leaves open who is
    the first.
    """
    whole = view.parameter <= MOST_SQUARED and view.parameter == np.floor(view.parameter)
    highest = _by_powers(view) if whole else _by_rough_logarithms(view)
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
    """Write B·d_i / (1 − u_i)^p for a whole p; returns up to where the least of all may be."""
    inverse = 1.0 / view.bandwidth  # one division for each instead of three
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
    """Write log2 (d_i / (1 − u_i)^p), roughly; returns up to where the least of all may be."""
    for i in range(len(view.scratch)):
        length, lost = _length_and_loss(view, i)
        view.scratch[i] = log2(length) - view.parameter * log2(lost)
    return _lowest(view) + 2.0 * LOG2_ERROR * (1.0 + view.parameter)


@step
def _lowest(view: View) -> float:
    lowest = np.inf  # in a loop of its own: the one before it runs on several at once then, which takes a third
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
