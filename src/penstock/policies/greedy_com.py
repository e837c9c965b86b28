"""greedy-com: the shortest remaining transfer first (000 §4.1)."""

from __future__ import annotations

from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import step
from penstock.policies.order import fill, rounded_time
from penstock.policies.policy import FILL, Need, Order, Policy
from penstock.policies.view import View


@step
def time_alone(view: View, i: int) -> float:
    """V_i / b_i of application i of `view`, in nanoseconds."""
    return rounded_time(view.remaining[i] / view.cap[i])


def greedy_com(view: View, rates: Floats) -> None:
    """Fill the link in the order of V_i / b_i, the time that the pending operation still takes alone. Time n.

    It reads `view` and writes `rates` in bytes/s.
    """
    for i in range(len(rates)):
        view.scratch[i] = time_alone(view, i)
    fill(view, view.scratch, rates)


GREEDY_COM = Policy(
    name="greedy-com",
    rates=greedy_com,
    summary="the shortest remaining transfer first",
    needs=(Need.VOLUME,),
    reference="000 §4.1",
    order=Order(time_alone, FILL),
)
