"""An upper bound on the minimum yield of any schedule, clairvoyant or not.

**The bound.** Suppose a schedule ends with every yield at least y. Application A_i then has a progress of
x_i = min(its whole chain, y·(T_end − τ_i)) at the date D_i = min(T_end, τ_i + x_i / y): either it still runs at T_end, or it
has ended by the date at which its yield falls to y. Take the I/O of the first x_i of its chain, and in it the piece at
offset u, in dedicated seconds from the start s_i.

- Head: what comes before takes at least u seconds, so the piece begins at s_i + u or later.
- Due date: what comes after, up to x_i, takes at least its dedicated time, so the piece ends at D_i minus that or earlier.
- It takes b_i / B seconds of the link for a dedicated second, and the link carries B.

Hence the pieces of all applications can be put on one machine that may interrupt them at will, each between its head and
its due date. If earliest due date, which is optimal there, is late, no schedule reaches y. Feasibility is monotone in y (a
lower y asks for shorter prefixes and leaves later due dates), so y is found by bisection.

**Caps.** The argument holds for any way of cutting operations into pieces. With b_i = B one piece an operation says all
there is to say: on one machine nothing of an operation can go faster than B anyway. With b_i < B an operation in one piece
forgets that it cannot be moved at more than b_i; cut into n pieces, each has its own head and due date, and for n → ∞ the
condition is that of energetic reasoning: in no interval [a, c] may the parts that cannot be elsewhere, those with a head
after a and a due date before c, exceed B·(c − a).

What is given up: heads and due dates of one application are taken one by one, as if a delay at one operation could be made
good at the next. Time n log n for n pieces and each of 30 steps.
"""

from __future__ import annotations

import numpy as np

from penstock.theory.demand import Demand
from penstock.theory.due_dates import DueDates, bisect

PRECISION = 1e-9


def min_yield_bound(wanted: Demand, precision: float = PRECISION, most: float = 1.0) -> float:
    """No schedule has a minimum yield above this; `most` is a bound that is known already."""
    dates = DueDates(wanted)

    def reachable(lowest: float) -> bool:
        due = np.minimum(wanted.end, wanted.release + wanted.total / lowest)
        target = np.minimum(wanted.total, lowest * (wanted.end - wanted.release)) - wanted.history
        return dates.can_be_met(target, due)

    if reachable(most):
        return most
    return bisect(reachable, 0.0, most, precision)[1]
