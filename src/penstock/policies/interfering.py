"""interfering: nobody coordinates, and the I/O system serves every process alike (003 §II.C, §III.A)."""

from __future__ import annotations

from penstock.numeric.arrays import Floats
from penstock.policies.order import water_level
from penstock.policies.policy import Need, Policy
from penstock.policies.view import View


def interfering(view: View, rates: Floats) -> None:
    """Give each application of `view` bandwidth in proportion to its nodes, up to its cap, as `rates` in bytes/s.

    What the cap of an application leaves over goes to the others in proportion. Time n for each set of caps that is found to
    bind; n² at worst.
    """
    for i in range(len(rates)):
        view.order[i] = i
    level = water_level(view.bandwidth, view.cap, view.nodes, view.order, 0, len(rates), 0.0)
    for i in range(len(rates)):
        rates[i] = min(view.cap[i], level * view.nodes[i])


INTERFERING = Policy(
    name="interfering",
    rates=interfering,
    summary="everyone, in proportion to nodes",
    needs=(Need.NODES,),
    reference="003 §III.A",
)
