"""set-10: applications in sets by the length of their iterations, exclusive within a set (000 §4.2, after I/O-Sets).

An application with mean iteration ω belongs to set n = ⌊log10 ω + 0.5⌋ of priority 10^−n; before its first finished
iteration to set 0. The sets share the link in proportion to their priorities.
"""

from __future__ import annotations

import numpy as np

from penstock.policies.compiled import part, subroutine
from penstock.policies.order import sort
from penstock.policies.policy import Need, Policy
from penstock.policies.view import Floats, Ints, View


def set_10_basic(view: View, rates: Floats) -> None:
    """In each set the earliest posted operation alone has the share of its set, up to its cap. Time n log n + n·s.

    Meant for caps equal to B; where a cap is lower, part of the link stays idle. s is the number of sets.
    """
    owner, numbers, share = _sets(view)
    _share_by_priority(view.bandwidth, numbers, share)
    sort(view, view.posted)
    for i in view.order:
        rates[i] = min(view.cap[i], share[owner[i]])
        share[owner[i]] = 0.0


def set_10(view: View, rates: Floats) -> None:
    """A set may serve several operations, in the order of posting; what a set cannot use goes to the others.

    Sets whose caps add up to no more than their share get just that; the rest of the link is shared anew between the other
    sets, until no set is limited by its caps (000 §4.2, the extension). With all caps equal to B this is `set_10_basic`.
    Time n log n + n·s + s².
    """
    owner, numbers, share = _sets(view)
    _share_within_caps(view.bandwidth, numbers, share)
    sort(view, view.posted)
    for i in view.order:
        rates[i] = min(view.cap[i], share[owner[i]])
        share[owner[i]] -= rates[i]


@part
def _set_number(mean_iteration: float) -> float:
    if mean_iteration <= 0.0:
        return 0.0
    return float(np.floor(np.log10(mean_iteration) + 0.5))


@part
def _priority(numbers: Floats, j: int) -> float:
    """10^−n of a set, relative to the first, whose priority is the highest."""
    return float(10.0 ** (numbers[0] - numbers[j]))


@subroutine
def _sets(view: View) -> tuple[Ints, Floats, Floats]:
    """For each application the position of its set; for each set its number, ascending, and the sum of its caps."""
    size = len(view.cap)
    numbers = np.empty(size)
    count = 0
    for i in range(size):
        number = _set_number(view.mean_iteration[i])
        view.scratch[i] = number
        place = count
        while place > 0 and numbers[place - 1] >= number:
            place -= 1
        if place == count or numbers[place] != number:
            for moved in range(count, place, -1):
                numbers[moved] = numbers[moved - 1]
            numbers[place] = number
            count += 1
    owner = np.empty(size, np.int64)
    caps = np.zeros(count)
    for i in range(size):
        place = 0
        while numbers[place] < view.scratch[i]:
            place += 1
        owner[i] = place
        caps[place] += view.cap[i]
    return owner, numbers[:count], caps


@subroutine
def _share_by_priority(bandwidth: float, numbers: Floats, share: Floats) -> None:
    """Write to each set its part of the bandwidth by priority."""
    total = 0.0
    for j in range(len(share)):
        total += _priority(numbers, j)
    for j in range(len(share)):
        share[j] = bandwidth * _priority(numbers, j) / total


@subroutine
def _share_within_caps(bandwidth: float, numbers: Floats, share: Floats) -> None:
    """Turn each set's sum of caps, in `share`, into the bandwidth it gets."""
    open_sets = np.ones(len(share), np.bool_)
    left = bandwidth
    total = 0.0
    limited = True
    while limited:
        limited = False
        total = 0.0
        for j in range(len(share)):
            if open_sets[j]:
                total += _priority(numbers, j)
        offered = left
        for j in range(len(share)):
            if open_sets[j] and share[j] <= offered * _priority(numbers, j) / total:
                open_sets[j] = False
                left -= share[j]
                limited = True
    for j in range(len(share)):
        if open_sets[j]:
            share[j] = left * _priority(numbers, j) / total


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
