"""fair-share: every active application gets the same fraction of its cap (000 §4.1)."""

from __future__ import annotations

from penstock.numeric.arrays import Floats
from penstock.policies.policy import Policy
from penstock.policies.view import View


def fair_share(view: View, rates: Floats) -> None:
    """Give each application of `view` the part α = min(1, B / Σ b_j) of its cap, as `rates` in bytes/s. Time n."""
    total = 0.0
    for i in range(len(rates)):
        total += view.cap[i]
    share = min(1.0, view.bandwidth / total)
    for i in range(len(rates)):
        rates[i] = share * view.cap[i]


FAIR_SHARE = Policy(
    name="fair-share",
    rates=fair_share,
    summary="the same fraction of its cap for everyone",
    reference="000 §4.1",
    proportional=True,
)
