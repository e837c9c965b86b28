"""greedy-com: the shortest remaining transfer first (000 §4.1)."""

from __future__ import annotations

import numpy as np

from penstock.policies.order import TIME_GRAIN, fill
from penstock.policies.policy import Need, Policy
from penstock.policies.view import Floats, View


def greedy_com(view: View, rates: Floats) -> None:
    """Fill the link in the order of V_i / b_i, the time the pending operation still takes alone. Time n."""
    for i in range(len(rates)):
        view.scratch[i] = np.rint(view.remaining[i] / view.cap[i] * TIME_GRAIN)
    fill(view, view.scratch, rates)


GREEDY_COM = Policy(
    name="greedy-com",
    rates=greedy_com,
    summary="the shortest remaining transfer first",
    needs=(Need.VOLUME,),
    reference="000 §4.1",
)
