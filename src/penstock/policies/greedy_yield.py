"""greedy-yield: the lowest yield first; and its periodic form (000 §4.1)."""

from __future__ import annotations

from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import YIELD_GRAIN
from penstock.policies.order import fill, progressed, rounded_yield
from penstock.policies.policy import FILL, Need, Order, Policy
from penstock.policies.view import View


def greedy_yield(view: View, rates: Floats) -> None:
    """Fill the link in the order of the present yields, so that applications that are behind catch up. Time n.

    It reads `view` and writes `rates` in bytes/s.
    """
    for i in range(len(rates)):
        view.scratch[i] = rounded_yield(view, i)
    fill(view, view.scratch, rates)


_BY_PROGRESS = Order(progressed, FILL, YIELD_GRAIN)

GREEDY_YIELD = Policy(
    name="greedy-yield",
    rates=greedy_yield,
    summary="the lowest yield first",
    needs=(Need.PROGRESS,),
    reference="000 §4.1",
    order=_BY_PROGRESS,
)

PERIODIC_GREEDY_YIELD = Policy(
    name="periodic-greedy-yield",
    rates=greedy_yield,
    summary="greedy-yield, decided anew also every delta seconds",
    needs=(Need.PROGRESS,),
    reference="000 §4.1, §3.2.2",
    periodic=True,
    order=_BY_PROGRESS,
)
