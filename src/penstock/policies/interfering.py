"""interfering: nobody coordinates, and the I/O system serves every process alike (003 §II.C, §III.A)."""

from __future__ import annotations

from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import step
from penstock.policies.policy import Need, Policy
from penstock.policies.view import View


def interfering(view: View, rates: Floats) -> None:
    """Give each application of `view` bandwidth in proportion to its nodes, up to its cap, as `rates` in bytes/s.

    What the cap of an application leaves over goes to the others in proportion. Time n for each set of caps that is found to
    bind; n² at worst.
    """
    for i in range(len(rates)):
        view.order[i] = i
    level = level_of(view, view.cap, 0, len(rates), 0.0)
    for i in range(len(rates)):
        rates[i] = min(view.cap[i], level * view.nodes[i])


@step
def level_of(view: View, caps: Floats, begin: int, end: int, level: float) -> float:
    """The bandwidth of a node, in bytes/s, at which the applications in view.order from `begin` to before `end` fill the
    link, each up to its entry in `caps`; a level that is above all of these if they cannot.

    The level rises with every set of applications that turns out to be at its caps, from a `level` that is known to be no
    higher: 0, or that of the same applications and others.
    """
    capped = -1
    while True:
        left = view.bandwidth
        nodes = 0.0
        count = 0
        for place in range(begin, end):
            i = view.order[place]
            if caps[i] <= level * view.nodes[i]:
                left -= caps[i]
                count += 1
            else:
                nodes += view.nodes[i]
        if count == capped or count == end - begin:
            return level
        capped = count
        level = max(level, left / nodes)


INTERFERING = Policy(
    name="interfering",
    rates=interfering,
    summary="everyone, in proportion to nodes",
    needs=(Need.NODES,),
    reference="003 §III.A",
)
