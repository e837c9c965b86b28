"""coordinating: a newcomer waits, interferes or interrupts, whichever is best for the machine (003 §III.A.4, §IV.D).

A *plan* is a group of applications that share the link, as under interfering, and a queue of others that then have it one
at a time, each at its cap. From the remaining volumes a plan predicts when every pending operation ends, and so T_i, its I/O
time from posting to end, and the value of a metric of the machine:

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
an application that moves. At last the plan is compared with the one in which all share, which is taken if it is better.

Predictions know the degradation of the link, the volumes and the rounds. An interrupted application goes on at its rate
to the end of its round, as `penstock.engine.transfers` lets it; nobody new begins before the last of them has paused; and
one that is in its last round ends with it. A live application that is known to reach less than its cap counts with what
it reaches.

So the value of the plan is at most that of interfering from now on, whatever the rounds, as long as nobody posts anything
else. For two applications, whose choice begins with the second posting, the metric is never worse than under interfering.
Where more than two are under way an earlier choice cannot be undone: then this holds from each decision on. Predictions do
not know what applications will post later.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import routine, step
from penstock.numeric.tolerances import IMPROVEMENT
from penstock.policies.order import precedes, sort_few, water_level
from penstock.policies.policy import Need, Parameter, Policy
from penstock.policies.view import View, left_when_paused

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
    two end. `begin` is when the group begins, once all that are interrupted have paused; `end` is when it will have ended,
    `value` its metric, and `total` that of the plan. view.spare holds what a second costs each one, and `rates` what each
    one uses alone.
    """
    size = len(rates)
    largest = view.parameter >= MAX_INTERFERENCE
    holders = 0
    for i in range(size):
        rates[i] = view.reach[i] if 0.0 < view.reach[i] < view.cap[i] else view.cap[i]
        view.spare[i] = _weight(view, rates, i)
        holders += 1 if view.rate[i] > 0.0 else 0
    queued, decided, begin = 0, max(1, holders), 0.0
    shared = _all_shared(view, rates, largest) if size > max(2, holders) else np.inf
    for i in range(size):
        view.scratch[i] = 0.0 if view.rate[i] > 0.0 else 1.0
    sort_few(view, view.scratch)
    end, value = _shared(view, rates, largest, queued, decided, begin)
    total = value
    while decided < size:
        queued, begin, end, value, total = _decide(view, rates, largest, queued, decided, begin, end, value)
        decided += 1
    if shared < total - IMPROVEMENT * abs(total):
        queued = 0
    level = water_level(view.bandwidth, rates, view.nodes, view.order, queued, size, 0.0)
    for place in range(size):
        i = view.order[place]
        rates[i] = min(rates[i], level * view.nodes[i]) if queued <= place else 0.0


@step
def _weight(view: View, alone: Floats, i: int) -> float:
    """What a second of its I/O time adds to the metric."""
    if view.parameter < INTERFERENCE:
        return float(view.nodes[i])
    if IO_TIME <= view.parameter < MAX_INTERFERENCE:
        return 1.0
    return float(alone[i] / view.volume[i])


@step
def _all_shared(view: View, alone: Floats, largest: bool) -> float:
    """The metric if all share the link from now on."""
    for i in range(len(alone)):
        view.order[i] = i
    _, value = _shared(view, alone, largest, 0, len(alone), 0.0)
    return value


@step
def _decide(
    view: View, alone: Floats, largest: bool, queued: int, decided: int, begin: float, end: float, value: float
) -> tuple[int, float, float, float, float]:
    """Put the application after those decided upon into the plan; returns where the queue ends then, when the group begins
    and will have ended, its metric, and that of the plan.
    """
    newcomer = view.order[decided]
    place, best = _best_place(view, alone, largest, queued, newcomer, end, value)
    shared_end, shared = _shared(view, alone, largest, queued, decided + 1, begin)
    _put_in_order(view, queued, decided, newcomer)
    paused = begin
    for member in range(queued, decided):
        paused = max(paused, _pause(view, view.order[member]))
    own_end = paused + view.remaining[newcomer] / alone[newcomer]
    own_cost = _cost(view, newcomer, own_end)
    # The queue if all share, and the group and the queue if the newcomer is alone before them.
    together, first, resumed = shared, own_cost, own_end
    for after in range(queued, decided):
        resumed += _seconds(view, alone, view.order[after])
        first = _both(largest, first, _queued_cost(view, view.order[after], resumed))
    later = shared_end
    for waiting in range(queued):
        i = view.order[waiting]
        later += _seconds(view, alone, i)
        resumed += _seconds(view, alone, i)
        together = _both(largest, together, _queued_cost(view, i, later))
        first = _both(largest, first, _queued_cost(view, i, resumed))
    if together < best - IMPROVEMENT * abs(best):
        place, best = -1, together
    if first < best - IMPROVEMENT * abs(best):
        _interrupt(view, queued, decided)
        return decided, paused, own_end, own_cost, first
    if place < 0:
        return queued, begin, shared_end, shared, together
    for moved in range(decided, place, -1):
        view.order[moved] = view.order[moved - 1]
    view.order[place] = newcomer
    return queued + 1, begin, end, value, best


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
def _best_place(
    view: View, alone: Floats, largest: bool, queued: int, newcomer: int, begin: float, before: float
) -> tuple[int, float]:
    """The place in the queue that is best for the newcomer, the last of equals, and the metric with it there; the queue
    begins when the group has ended, with the metric of the group.
    """
    own = view.remaining[newcomer] / alone[newcomer]
    for place in range(queued):
        # view.scratch has the metric of all that come before a place.
        view.scratch[place] = before
        i = view.order[place]
        begin += _seconds(view, alone, i)
        before = _both(largest, before, _queued_cost(view, i, begin))
    best_place, best = queued, _both(largest, before, _cost(view, newcomer, begin + own))
    after = 0.0
    for place in range(queued - 1, -1, -1):
        i = view.order[place]
        after = _both(largest, after, _queued_cost(view, i, begin + own))
        begin -= _seconds(view, alone, i)
        value = _both(largest, view.scratch[place], _cost(view, newcomer, begin + own))
        value = _both(largest, value, after)
        if value < best - IMPROVEMENT * abs(best):
            best_place, best = place, value
    return best_place, best


@step
def _pause(view: View, i: int) -> float:
    """Seconds to the end of the round that it moves, at its rate or at what it reaches of that."""
    rate, reach = view.rate[i], view.reach[i]
    if rate <= 0.0:
        return 0.0
    return float((view.remaining[i] - left_when_paused(view, i)) / (min(rate, reach) if reach > 0.0 else rate))


@step
def _seconds(view: View, alone: Floats, i: int) -> float:
    """Seconds that its operation takes in the queue; one that moves now is interrupted before."""
    return float(left_when_paused(view, i) / alone[i])


@step
def _cost(view: View, i: int, end: float) -> float:
    """What it adds to the metric if its operation ends in this many seconds; no less than 0."""
    return float((view.now - view.posted[i] + end) * view.spare[i])


@step
def _queued_cost(view: View, i: int, end: float) -> float:
    """The same in the queue: who is in its last round ends with it, before it could be paused."""
    if view.rate[i] > 0.0 and left_when_paused(view, i) <= 0.0:
        end = _pause(view, i)
    return _cost(view, i, end)


@step
def _both(largest: bool, one: float, other: float) -> float:
    """The metric of two parts of a plan."""
    return max(one, other) if largest else one + other


@step
def _have_room(view: View, alone: Floats, first: int, last: int) -> bool:
    """Whether those in view.order from `first` to before `last` can all move as alone, however many of them are left."""
    total = 0.0
    kept = 1.0
    for place in range(first, last):
        total += alone[view.order[place]]
        kept = min(kept, view.degradation[place - first])
    return bool(total <= kept * view.bandwidth)


@step
def _kept(view: View, alone: Floats, level: float, first: int, last: int) -> float:
    """The part of their rates at this level that is left to those in view.order from `first` to before `last`."""
    part = view.degradation[last - first - 1]
    if part >= 1.0:
        return 1.0
    total = 0.0
    for place in range(first, last):
        i = view.order[place]
        total += min(alone[i], level * view.nodes[i])
    return float(min(1.0, view.bandwidth * part / total))


@routine
def _shared(view: View, alone: Floats, largest: bool, first: int, last: int, begin: float) -> tuple[float, float]:
    """When those in view.order from `first` to before `last`, which share the link from `begin` on, have all ended, and
    their metric.

    In view.scratch is what is left of each. They are put into the order in which they end, or left as they are where none
    holds up another.
    """
    seconds, value = begin, 0.0
    if _have_room(view, alone, first, last):
        for place in range(first, last):
            i = view.order[place]
            end = begin + view.remaining[i] / alone[i]
            seconds = max(seconds, end)
            value = _both(largest, value, _cost(view, i, end))
        return seconds, value
    for place in range(first, last):
        view.scratch[view.order[place]] = view.remaining[view.order[place]]
    level = 0.0
    for going in range(first, last):
        level = water_level(view.bandwidth, alone, view.nodes, view.order, going, last, level)
        kept = _kept(view, alone, level, going, last)
        wait, next_place = np.inf, going
        for place in range(going, last):
            i = view.order[place]
            rate = kept * min(alone[i], level * view.nodes[i])
            if view.scratch[i] < wait * rate:  # one division less for most of them
                wait, next_place = view.scratch[i] / rate, place
        seconds += wait
        for place in range(going, last):
            i = view.order[place]
            moved = wait * kept * min(alone[i], level * view.nodes[i])
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
    needs=(Need.WAITING, Need.VOLUME, Need.HOLDER, Need.NODES, Need.DEGRADATION, Need.ROUNDS, Need.REACH),
    reference="003 §III.A, §IV.D",
    idles=True,
    parameter=Parameter("metric", float(CPU_SECONDS), "what is made small", METRICS),
)
