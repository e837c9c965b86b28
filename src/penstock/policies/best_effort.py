"""best-effort: no schedule of the I/O, everyone with a pending operation has an equal part of the link (001 §II.D.1)."""

from __future__ import annotations

from penstock.policies.order import sort
from penstock.policies.policy import Policy
from penstock.policies.view import Floats, View


def best_effort(view: View, rates: Floats) -> None:
    """B / k each, whatever the nodes; what someone's cap leaves over is shared between the others. Time n log n."""
    for i in range(len(rates)):
        view.scratch[i] = view.cap[i]
    sort(view, view.scratch)
    left = view.bandwidth
    others = len(rates)
    for i in view.order:
        rates[i] = min(view.cap[i], left / others)
        left -= rates[i]
        others -= 1


BEST_EFFORT = Policy(
    name="best-effort",
    rates=best_effort,
    summary="everyone, with the same bandwidth",
    reference="001 §II.D.1",
)
