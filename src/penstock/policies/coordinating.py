"""coordinating: a newcomer waits, interferes or interrupts, whichever is best for the machine (003 §III.A.4, §IV.D).

A *plan* is a group of applications that share the link now, as under interfering, and a queue of others that then have it
one at a time, each at its cap. From the remaining volumes a plan predicts when every pending operation ends, and so T_i, its
I/O time from posting to end, and the value of a metric of the machine:

- `cpu-seconds`, Σ N_i·T_i: CPU time that waits for I/O (003 §IV.D);
- `interference`, Σ I_i with I_i = T_i / T_i(alone): the sum of interference factors (003 §III.A.4);
- `io-time`, Σ T_i: the sum of I/O times (003 §IV.B);
- `max-interference`, max I_i: the largest interference factor.

The policy keeps no state. At every event the group is all that move now (or, if none does, the earliest posted), and the
others are added in the order of their postings, as if each arrived just now. For each of them the policy takes the best of
these plans: the newcomer waits in the queue, at any place from the last to the first; it interferes, joining the group; or
it interrupts, which gives it the link alone and puts the group at the head of the queue, earliest posted first. A later one
of these must be better by more than IMPROVEMENT, so that ties prefer waiting. For two applications this is what 003 does at
an arrival. For more, all that wait are decided again at every event, as `Release` does there; only an interruption stops
an application that moves.

Predictions know the degradation of the link and the volumes, but neither rounds nor what applications will post later.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import routine, step
from penstock.numeric.tolerances import IMPROVEMENT
from penstock.policies.interfering import level_of
from penstock.policies.order import precedes, sort_few
from penstock.policies.policy import Need, Parameter, Policy
from penstock.policies.view import View

METRICS: Final = ("cpu-seconds", "interference", "io-time", "max-interference")
CPU_SECONDS: Final = 0
INTERFERENCE: Final = 1
IO_TIME: Final = 2
MAX_INTERFERENCE: Final = 3


def coordinating(view: View, rates: Floats) -> None:
    """Give the link to the group of the best plan from `view`, as `rates` in bytes/s.

    Time n² for n active applications. For each that waits, g² more where the g of the group fill the link together, and g
    where they do not.

    view.order holds the queue, then the group, then those to be decided upon: `queued` and `decided` are where the first
    two end. `end` is when the group will have ended, and `value` its metric. view.spare holds what a second costs each one.
    """
    size = len(rates)
    largest = view.parameter >= MAX_INTERFERENCE
    holders = 0
    for i in range(size):
        moves = view.rate[i] > 0.0
        view.scratch[i] = 0.0 if moves else 1.0
        view.spare[i] = _weight(view, i)
        holders += 1 if moves else 0
    sort_few(view, view.scratch)
    queued, decided = 0, max(1, holders)
    end, value = _shared(view, largest, queued, decided)
    while decided < size:
        queued, end, value = _decide(view, largest, queued, decided, end, value)
        decided += 1
    level = level_of(view, queued, decided)
    for place in range(size):
        i = view.order[place]
        rates[i] = min(view.cap[i], level * view.nodes[i]) if queued <= place < decided else 0.0


@step
def _weight(view: View, i: int) -> float:
    """What a second of its I/O time adds to the metric."""
    if view.parameter < INTERFERENCE:
        return float(view.nodes[i])
    if IO_TIME <= view.parameter < MAX_INTERFERENCE:
        return 1.0
    return float(view.cap[i] / view.volume[i])


@step
def _decide(view: View, largest: bool, queued: int, decided: int, end: float, value: float) -> tuple[int, float, float]:
    """Put the application after those decided upon into the plan; returns where the queue ends then, when the group will
    have ended, and its metric.
    """
    newcomer = view.order[decided]
    place, best = _best_place(view, largest, queued, newcomer, end, value)
    shared_end, shared = _shared(view, largest, queued, decided + 1)
    _put_in_order(view, queued, decided, newcomer)
    own = _alone(view, newcomer)
    own_cost = _cost(view, newcomer, own)
    # The queue if all share, and the group and the queue if the newcomer is alone before them.
    together, alone, resumed = shared, own_cost, own
    for after in range(queued, decided):
        resumed += _alone(view, view.order[after])
        alone = _both(largest, alone, _cost(view, view.order[after], resumed))
    later = shared_end
    for waiting in range(queued):
        i = view.order[waiting]
        later += _alone(view, i)
        resumed += _alone(view, i)
        together = _both(largest, together, _cost(view, i, later))
        alone = _both(largest, alone, _cost(view, i, resumed))
    if together < best - IMPROVEMENT * abs(best):
        place, best = -1, together
    if alone < best - IMPROVEMENT * abs(best):
        _interrupt(view, queued, decided)
        return decided, own, own_cost
    if place < 0:
        return queued, shared_end, shared
    for moved in range(decided, place, -1):
        view.order[moved] = view.order[moved - 1]
    view.order[place] = newcomer
    return queued + 1, end, value


@step
def _put_in_order(view: View, queued: int, decided: int, newcomer: int) -> None:
    """Put the newcomer after the group, and the group into the order of posting."""
    for place in range(queued, decided):
        if view.order[place] == newcomer:
            view.order[place] = view.order[decided]
            view.order[decided] = newcomer
    for end in range(queued + 1, decided):
        member = view.order[end]
        place = end
        while place > queued and precedes(view, view.posted, member, view.order[place - 1]):
            view.order[place] = view.order[place - 1]
            place -= 1
        view.order[place] = member


@step
def _interrupt(view: View, queued: int, decided: int) -> None:
    """Let the group go to the head of the queue, in its own order."""
    for place in range(queued, decided):
        member = view.order[place]
        ahead = place - queued
        for later in range(place, ahead, -1):
            view.order[later] = view.order[later - 1]
        view.order[ahead] = member


@step
def _best_place(view: View, largest: bool, queued: int, newcomer: int, begin: float, before: float) -> tuple[int, float]:
    """The place in the queue that is best for the newcomer, the last of equals, and the metric with it there; the queue
    begins when the group has ended, with the metric of the group.
    """
    own = _alone(view, newcomer)
    for place in range(queued):
        # view.scratch has the metric of all that come before a place.
        view.scratch[place] = before
        i = view.order[place]
        begin += _alone(view, i)
        before = _both(largest, before, _cost(view, i, begin))
    best_place, best = queued, _both(largest, before, _cost(view, newcomer, begin + own))
    after = 0.0
    for place in range(queued - 1, -1, -1):
        i = view.order[place]
        after = _both(largest, after, _cost(view, i, begin + own))
        begin -= _alone(view, i)
        value = _both(largest, view.scratch[place], _cost(view, newcomer, begin + own))
        value = _both(largest, value, after)
        if value < best - IMPROVEMENT * abs(best):
            best_place, best = place, value
    return best_place, best


@step
def _alone(view: View, i: int) -> float:
    """Seconds that the rest of its operation takes alone."""
    return float(view.remaining[i] / view.cap[i])


@step
def _cost(view: View, i: int, end: float) -> float:
    """What it adds to the metric if its operation ends in this many seconds; no less than 0."""
    return float((view.now - view.posted[i] + end) * view.spare[i])


@step
def _both(largest: bool, one: float, other: float) -> float:
    """The metric of two parts of a plan."""
    return max(one, other) if largest else one + other


@step
def _have_room(view: View, begin: int, end: int) -> bool:
    """Whether those in view.order from `begin` to before `end` can all have their caps, however many of them are left."""
    total = 0.0
    kept = 1.0
    for place in range(begin, end):
        total += view.cap[view.order[place]]
        kept = min(kept, view.degradation[place - begin])
    return bool(total <= kept * view.bandwidth)


@routine
def _shared(view: View, largest: bool, begin: int, end: int) -> tuple[float, float]:
    """When those in view.order from `begin` to before `end`, which share the link, have all ended, and their metric.

    In view.scratch is what is left of each. They are put into the order in which they end, or left as they are where none
    holds up another.
    """
    seconds, value = 0.0, 0.0
    if _have_room(view, begin, end):
        for place in range(begin, end):
            i = view.order[place]
            seconds = max(seconds, _alone(view, i))
            value = _both(largest, value, _cost(view, i, _alone(view, i)))
        return seconds, value
    for place in range(begin, end):
        view.scratch[view.order[place]] = view.remaining[view.order[place]]
    for going in range(begin, end):
        level = level_of(view, going, end)
        total = 0.0
        for place in range(going, end):
            i = view.order[place]
            total += min(view.cap[i], level * view.nodes[i])
        kept = min(1.0, view.bandwidth * view.degradation[end - going - 1] / total)
        wait, next_place = np.inf, going
        for place in range(going, end):
            i = view.order[place]
            left = view.scratch[i] / (kept * min(view.cap[i], level * view.nodes[i]))
            if left < wait:
                wait, next_place = left, place
        seconds += wait
        for place in range(going, end):
            i = view.order[place]
            moved = wait * kept * min(view.cap[i], level * view.nodes[i])
            view.scratch[i] = max(0.0, view.scratch[i] - moved)
        ended = view.order[next_place]
        value = _both(largest, value, _cost(view, ended, seconds))
        view.order[next_place] = view.order[going]
        view.order[going] = ended
    return seconds, value


COORDINATING = Policy(
    name="coordinating",
    rates=coordinating,
    summary="whoever comes waits, interferes or interrupts, as is best for a metric of the machine",
    needs=(Need.WAITING, Need.VOLUME, Need.HOLDER, Need.NODES, Need.DEGRADATION),
    reference="003 §III.A, §IV.D",
    idles=True,
    parameter=Parameter("metric", float(CPU_SECONDS), "what is made small", METRICS),
)
