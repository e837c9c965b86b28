"""fcfs: first come, first served; what the first cannot use goes to the next (000 §4.1)."""

from __future__ import annotations

from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import step
from penstock.policies.order import fill
from penstock.policies.policy import FILL, Need, Order, Policy
from penstock.policies.view import View


@step
def posting(view: View, i: int) -> float:
    """R_i of application i of `view`, in seconds."""
    return float(view.posted[i])


def fcfs(view: View, rates: Floats) -> None:
    """Fill the link in the order of posting times: from `view`, to `rates` in bytes/s. Time n."""
    # To compile `fill` once more for a column that is read only would take 0.3 s.
    for i in range(len(rates)):
        view.scratch[i] = posting(view, i)
    fill(view, view.scratch, rates)


FCFS = Policy(
    name="fcfs",
    rates=fcfs,
    summary="the earliest posted operation first",
    needs=(Need.POSTING,),
    reference="000 §4.1",
    order=Order(posting, FILL),
)
