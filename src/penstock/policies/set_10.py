"""set-10: applications in sets by the length of their iterations, exclusive within a set (000 §4.2, after I/O-Sets).

An application with mean iteration ω belongs to set n = ⌊log10 ω + 0.5⌋ of priority 10^−n; before its first finished
iteration to set 0. The sets share the link in proportion to their priorities.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import step
from penstock.policies.balance import LOG2_ERROR, log2
from penstock.policies.order import earlier, sort
from penstock.policies.policy import Need, Policy
from penstock.policies.view import View

_LOG10_OF_2: Final = math.log10(2.0)
_PRIORITIES: Final = 10.0 ** -np.arange(24.0)
"""Powers of 10: each would take 20 ns."""


def set_10_basic(view: View, rates: Floats) -> None:
    """Serve in each set of `view` the earliest posted operation alone, with the share of its set, up to its cap. Time n·s.

    It writes `rates` in bytes/s. Meant for caps equal to B; where a cap is lower, part of the link stays idle. s is the
    number of sets.
    """
    sets = _make_sets(view, rates)
    total = _weigh(rates, sets)
    for j in range(sets):
        view.spare[j] = view.bandwidth * rates[j] / total
    _serve_leaders(view, rates, sets)


def set_10(view: View, rates: Floats) -> None:
    """Serve in each set of `view` one or more operations, in the order of posting; what a set cannot use goes to the others.

    It writes `rates` in bytes/s. Sets whose caps add up to no more than their share get just that; the rest of the link is
    shared anew between the other sets, until no set is limited by its caps (000 §4.2, the extension). With all caps equal to
    B this is `set_10_basic`. Time n·s + s², and n log n where a set serves several.
    """
    sets = _make_sets(view, rates)
    _share_within_caps(view, rates, sets)
    if _serve_leaders(view, rates, sets) > 0.0:
        sort(view, view.scratch)
        for i in view.order:
            if rates[i] == 0.0:
                place = int(view.scratch[i])
                rates[i] = min(view.cap[i], view.spare[place])
                view.spare[place] -= rates[i]


@step
def _make_sets(view: View, numbers: Floats) -> int:
    """Write for each application the place of its set to view.scratch, and for each set its number and, to view.spare, the
    sum of its caps; returns how many sets there are.
    """
    for i in range(len(view.cap)):
        view.scratch[i] = log2(view.mean_iteration[i]) * _LOG10_OF_2 + 0.5 if view.mean_iteration[i] > 0.0 else 0.5
    sets = 0
    for i in range(len(view.cap)):
        # n = ⌊log10 ω + 0.5⌋: roughly, in a tenth of the time, and exactly near the border of two sets.
        number = np.floor(view.scratch[i])
        if abs(view.scratch[i] - number - 0.5) > 0.5 - LOG2_ERROR * _LOG10_OF_2:
            number = np.floor(np.log10(view.mean_iteration[i]) + 0.5)
        place = 0
        while place < sets and numbers[place] != number:
            place += 1
        if place == sets:
            numbers[place] = number
            view.spare[place] = 0.0
            sets += 1
        view.scratch[i] = place
        view.spare[place] += view.cap[i]
    return sets


@step
def _weigh(numbers: Floats, sets: int) -> float:
    """Turn the numbers of sets into their priorities, relative to the highest; returns the sum of these."""
    lowest, total = numbers[0], 0.0
    for j in range(1, sets):
        lowest = min(lowest, numbers[j])
    for j in range(sets):
        after = numbers[j] - lowest
        numbers[j] = _PRIORITIES[int(after)] if after < len(_PRIORITIES) else 10.0 ** -min(after, 300.0)
        total += numbers[j]
    return float(total)


@step
def _share_within_caps(view: View, priorities: Floats, sets: int) -> None:
    """Turn each set's sum of caps, in view.spare, into its bandwidth. A set that its caps limit loses its priority."""
    left, total = view.bandwidth, _weigh(priorities, sets)
    limited = True
    while limited:
        limited, offered, sharing = False, left, total
        for j in range(sets):
            if priorities[j] > 0.0 and view.spare[j] <= offered * priorities[j] / sharing:
                left -= view.spare[j]
                priorities[j] = 0.0
                limited = True
        total = 0.0
        for j in range(sets):
            total += priorities[j]
    for j in range(sets):
        if priorities[j] > 0.0:
            view.spare[j] = left * priorities[j] / total


@step
def _serve_leaders(view: View, rates: Floats, sets: int) -> float:
    """Give the earliest posted operation of each set the share of the set, up to its cap, and all others nothing. Leaves in
    view.spare what is left of each share, and returns the most.
    """
    for j in range(sets):
        view.order[j] = -1
    for i in range(len(rates)):
        rates[i] = 0.0
        place = int(view.scratch[i])
        if view.order[place] < 0 or earlier(view, i, view.order[place]):
            view.order[place] = i
    most = 0.0
    for j in range(sets):
        i = view.order[j]
        rates[i] = min(view.cap[i], view.spare[j])
        view.spare[j] -= rates[i]
        most = max(most, view.spare[j])
    return most


SET_10 = Policy(
    name="set-10",
    rates=set_10,
    summary="sets by iteration length share by priority; fcfs within a set",
    needs=(Need.POSTING, Need.ITERATION),
    reference="000 §4.2, extension",
)

SET_10_BASIC = Policy(
    name="set-10-basic",
    rates=set_10_basic,
    summary="set-10 with one operation a set at a time",
    needs=(Need.POSTING, Need.ITERATION),
    reference="000 §4.2",
    idles=True,
)
