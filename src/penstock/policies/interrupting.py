"""interrupting: the last to come has the link to itself, the others go on afterwards (003 §III.A)."""

from __future__ import annotations

from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import step
from penstock.policies.order import rounded_time, serve_first
from penstock.policies.policy import FIRST, Need, Order, Policy
from penstock.policies.view import View


@step
def latest(view: View, i: int) -> float:
    """−R_i of application i of `view`, in nanoseconds."""
    return -rounded_time(view.posted[i])


def interrupting(view: View, rates: Floats) -> None:
    """Serve the latest posted operation of `view` alone at its cap; interrupted ones resume last in, first out. Time n.

    It writes `rates` in bytes/s.
    """
    for i in range(len(rates)):
        view.scratch[i] = latest(view, i)
    serve_first(view, view.scratch, rates)


INTERRUPTING = Policy(
    name="interrupting",
    rates=interrupting,
    summary="one at a time: the latest posted, which interrupts the others",
    needs=(Need.POSTING,),
    reference="003 §III.A",
    idles=True,
    order=Order(latest, FIRST),
)
