"""best-effort: no schedule of the I/O; all applications with a pending operation share the link equally (001 §II.D.1)."""

from __future__ import annotations

from penstock.numeric.arrays import Floats
from penstock.policies.order import water_level
from penstock.policies.policy import Policy
from penstock.policies.view import View


def best_effort(view: View, rates: Floats) -> None:
    """Give B / k to each of the k applications of `view`, whatever their nodes, as `rates` in bytes/s.

    What the cap of an application leaves over is shared between the others.
    """
    for i in range(len(rates)):
        view.order[i] = i
        view.scratch[i] = 1.0
    level = water_level(view.bandwidth, view.cap, view.scratch, view.order, 0, len(rates), 0.0)
    for i in range(len(rates)):
        rates[i] = min(view.cap[i], level)


BEST_EFFORT = Policy(
    name="best-effort",
    rates=best_effort,
    summary="everyone, with the same bandwidth",
    reference="001 §II.D.1",
)
