"""fcfs: first come, first served; what the first cannot use goes to the next (000 §4.1)."""

from __future__ import annotations

from penstock.policies.order import fill
from penstock.policies.policy import Need, Policy
from penstock.policies.view import Floats, View


def fcfs(view: View, rates: Floats) -> None:
    """Fill the link in the order of posting times. Time n."""
    fill(view, view.posted, rates)


FCFS = Policy(
    name="fcfs",
    rates=fcfs,
    summary="the earliest posted operation first",
    needs=(Need.POSTING,),
    reference="000 §4.1",
)
