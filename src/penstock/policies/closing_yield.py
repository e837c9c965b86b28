"""closing-yield: short transfers first while lost time can still be made up, the lowest yields as the window closes.

The minimum yield is measured at T_end. Before that, an application that has fallen behind can catch up: once it goes first,
it loses no more time. So early in a window the order may favour short transfers, which loses the least time in sum, and
differences between applications can be evened out later; at the end nothing can. With

- l_i = 1 − y_i, the part of its time that A_i has lost, relative to the largest among the active applications;
- x_i = V_i, relative to the largest among the active applications;
- f_i = (T_end − t) / (T_end − τ_i), the part of its time that is still to come,

the order is that of l_i − (k + (1 − k)·f_i)·x_i, largest first. All terms are between 0 and 1, whatever the units of the
workload. The parameter k keeps part of the weight of short transfers to the end: above 0 it is more efficient and less
fair. For k > 1 the weight is k throughout. Without a window the end may come at any time: f_i = 0, and with k = 0 this is
greedy-yield.

Where transfers are long compared with the window, as in the APEX windows, the order should not wait for the next event: the
periodic form decides anew every δ seconds, as periodic-greedy-yield does.
"""

from __future__ import annotations

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import NO_LOSS, YIELD_GRAIN
from penstock.policies.order import fill, yield_now
from penstock.policies.policy import Need, Parameter, Policy
from penstock.policies.view import View


def closing_yield(view: View, rates: Floats) -> None:
    """Fill the link in the order of l_i − (k + (1 − k)·f_i)·x_i, largest first. Time n.

    It reads `view` and writes `rates` in bytes/s.
    """
    most_lost = NO_LOSS
    longest = 0.0
    for i in range(len(rates)):
        view.spare[i] = 1.0 - yield_now(view, i)
    for i in range(len(rates)):
        most_lost = max(most_lost, view.spare[i])
        longest = max(longest, view.remaining[i])
    # Divisions take most of the time, 1.5 ns each: two per application; what all have in common is divided by once.
    per_length, per_loss = YIELD_GRAIN / longest, YIELD_GRAIN / most_lost
    to_come = max(0.0, 1.0 - view.parameter) * (view.window_end - view.now) if view.window_end < np.inf else 0.0
    for i in range(len(rates)):
        weight = view.parameter
        if to_come > 0.0:
            weight += to_come / (view.window_end - view.release[i])
        view.scratch[i] = np.rint(weight * (view.remaining[i] * per_length) - view.spare[i] * per_loss)
    fill(view, view.scratch, rates)


_KEEP = Parameter("k", 0.0, "what short transfers keep of their weight at the end; more is more efficient")

CLOSING_YIELD = Policy(
    name="closing-yield",
    rates=closing_yield,
    summary="short transfers first, more and more the lowest yields as the window closes",
    needs=(Need.PROGRESS, Need.VOLUME, Need.WINDOW_END),
    reference="beyond 000",
    parameter=_KEEP,
)

PERIODIC_CLOSING_YIELD = Policy(
    name="periodic-closing-yield",
    rates=closing_yield,
    summary="closing-yield, decided anew also every delta seconds",
    needs=(Need.PROGRESS, Need.VOLUME, Need.WINDOW_END),
    reference="beyond 000",
    periodic=True,
    parameter=_KEEP,
)
