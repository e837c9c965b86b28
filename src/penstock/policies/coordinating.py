"""coordinating: who comes waits, interferes or interrupts, whichever is best for the machine (003 §III.A.4, §IV.D).

A *plan* is a group of applications that share the link now, as under interfering, and a queue of others that then have it
one at a time, each at its cap. With the volumes that are left it tells when every pending operation will end, and so T_i,
its I/O time from posting to end, and what a metric of the machine becomes:

- `cpu-seconds`, Σ N_i·T_i: CPU time that waits for I/O (003 §IV.D);
- `interference`, Σ I_i with I_i = T_i / T_i(alone): the sum of interference factors (003 §III.A.4);
- `io-time`, Σ T_i: the sum of I/O times (003 §IV.B);
- `max-interference`, max I_i: the largest interference factor.

The policy keeps no state. At every event the group is whoever moves now (or, where nobody does, the earliest posted), and
the others come in the order of their postings, as if each arrived just now. For each the plan that is best for the metric is
taken of: it waits in the queue, at any place from the last to the first; it interferes, which is to join the group; it
interrupts, which is to have the link alone, the interrupted going to the head of the queue, earliest posted first. A later
one of these must be better by more than 1e-12 of the metric, so that ties prefer waiting. For two applications that is what
003 does at an arrival. For more, all who wait are decided upon again when something new is known, as `Release` does there;
who moves is never stopped but by an interruption.

Predictions know the degradation of the link and the volumes, and neither rounds nor what applications will post later.
"""

from __future__ import annotations

from typing import Final

from penstock.policies.compiled import helper, part
from penstock.policies.interfering import level_of
from penstock.policies.order import precedes, sort
from penstock.policies.policy import Need, Parameter, Policy
from penstock.policies.view import Floats, View

IMPROVEMENT: Final = 1e-12
"""Part of the metric by which an option must be better than those before it."""
METRICS: Final = ("cpu-seconds", "interference", "io-time", "max-interference")
CPU_SECONDS: Final = 0
INTERFERENCE: Final = 1
IO_TIME: Final = 2
MAX_INTERFERENCE: Final = 3


def coordinating(view: View, rates: Floats) -> None:
    """Give the link to the group of the best plan. Time n² for n active, and g² more for each who waits where g fill the
    link together; where they do not fill it, g.
    """
    coordinate(view, rates)


@helper
def coordinate(view: View, rates: Floats) -> None:
    """Decide for one application after the other.

    In view.order stand the queue, then the group, then those to be decided upon: `queued` and `decided` are where the first
    two end. `end` is when the group will have ended, and `value` its metric.
    """
    size = len(rates)
    holders = 0
    for i in range(size):
        moves = view.rate[i] > 0.0
        view.scratch[i] = 0.0 if moves else 1.0
        holders += 1 if moves else 0
    sort(view, view.scratch)
    metric = min(int(view.parameter), MAX_INTERFERENCE)
    queued, decided = 0, max(1, holders)
    end, value = _shared(view, metric, queued, decided)
    while decided < size:
        queued, end, value = _decide(view, metric, queued, decided, end, value)
        decided += 1
    level = level_of(view, queued, decided)
    for i in range(size):
        rates[i] = 0.0
    for place in range(queued, decided):
        i = view.order[place]
        rates[i] = min(view.cap[i], level * view.nodes[i])


@part
def _decide(view: View, metric: int, queued: int, decided: int, end: float, value: float) -> tuple[int, float, float]:
    """Put the application after those decided upon into the plan; returns where the queue ends then, when the group will
    have ended, and its metric.
    """
    newcomer = view.order[decided]
    place, best = _best_place(view, metric, queued, newcomer, end, value)
    shared_end, shared = _shared(view, metric, queued, decided + 1)
    _put_in_order(view, queued, decided, newcomer)
    together = _both(metric, shared, _served(view, metric, 0, queued, shared_end))
    if together < best - IMPROVEMENT * abs(best):
        place, best = -1, together
    own = _alone(view, newcomer)
    own_cost = _cost(view, metric, newcomer, own)
    alone = _both(metric, own_cost, _served(view, metric, queued, decided, own))
    resumed = own
    for after in range(queued, decided):
        resumed += _alone(view, view.order[after])
    alone = _both(metric, alone, _served(view, metric, 0, queued, resumed))
    if alone < best - IMPROVEMENT * abs(best):
        _interrupt(view, queued, decided)
        return decided, own, own_cost
    if place < 0:
        return queued, shared_end, shared
    for later in range(decided, place, -1):
        view.order[later] = view.order[later - 1]
    view.order[place] = newcomer
    return queued + 1, end, value


@part
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


@part
def _interrupt(view: View, queued: int, decided: int) -> None:
    """Let the group go to the head of the queue, in its own order."""
    for place in range(queued, decided):
        member = view.order[place]
        ahead = place - queued
        for later in range(place, ahead, -1):
            view.order[later] = view.order[later - 1]
        view.order[ahead] = member


@part
def _best_place(view: View, metric: int, queued: int, newcomer: int, begin: float, before: float) -> tuple[int, float]:
    """The place in the queue that is best for the newcomer, the last of equals, and the metric with it there; the queue
    begins when the group has ended, with the metric of the group.
    """
    own = _alone(view, newcomer)
    for place in range(queued):
        # view.scratch has the metric of all that come before a place.
        view.scratch[place] = before
        i = view.order[place]
        begin += _alone(view, i)
        before = _both(metric, before, _cost(view, metric, i, begin))
    best_place, best = queued, _both(metric, before, _cost(view, metric, newcomer, begin + own))
    after = 0.0
    for place in range(queued - 1, -1, -1):
        i = view.order[place]
        after = _both(metric, after, _cost(view, metric, i, begin + own))
        begin -= _alone(view, i)
        value = _both(metric, view.scratch[place], _cost(view, metric, newcomer, begin + own))
        value = _both(metric, value, after)
        if value < best - IMPROVEMENT * abs(best):
            best_place, best = place, value
    return best_place, best


@part
def _alone(view: View, i: int) -> float:
    """Seconds that the rest of its operation takes alone."""
    return float(view.remaining[i] / view.cap[i])


@part
def _cost(view: View, metric: int, i: int, end: float) -> float:
    """What it adds to the metric if its operation ends in so many seconds; no less than 0."""
    seconds = view.now - view.posted[i] + end
    if metric == CPU_SECONDS:
        return float(view.nodes[i] * seconds)
    if metric == IO_TIME:
        return float(seconds)
    return float(seconds * view.cap[i] / view.volume[i])


@part
def _both(metric: int, one: float, other: float) -> float:
    """The metric of two parts of a plan."""
    return max(one, other) if metric == MAX_INTERFERENCE else one + other


@part
def _served(view: View, metric: int, begin: int, end: int, seconds: float) -> float:
    """The metric of those in view.order from `begin` to before `end`, served one after the other in so many seconds."""
    value = 0.0
    for place in range(begin, end):
        i = view.order[place]
        seconds += _alone(view, i)
        value = _both(metric, value, _cost(view, metric, i, seconds))
    return value


@part
def _have_room(view: View, begin: int, end: int) -> bool:
    """Whether those in view.order from `begin` to before `end` can all have their caps, however many of them are left."""
    total = 0.0
    kept = 1.0
    for place in range(begin, end):
        total += view.cap[view.order[place]]
        kept = min(kept, view.degradation[place - begin])
    return bool(total <= kept * view.bandwidth)


@part
def _shared(view: View, metric: int, begin: int, end: int) -> tuple[float, float]:
    """When those in view.order from `begin` to before `end`, which share the link, have all ended, and their metric.

    In view.scratch is what is left of each. They are put into the order in which they end, or left as they are where nobody
    holds up another.
    """
    seconds, value = 0.0, 0.0
    if _have_room(view, begin, end):
        for place in range(begin, end):
            i = view.order[place]
            seconds = max(seconds, _alone(view, i))
            value = _both(metric, value, _cost(view, metric, i, _alone(view, i)))
        return seconds, value
    for place in range(begin, end):
        view.scratch[view.order[place]] = view.remaining[view.order[place]]
    going = begin
    while going < end:
        level = level_of(view, going, end)
        total = 0.0
        for place in range(going, end):
            i = view.order[place]
            total += min(view.cap[i], level * view.nodes[i])
        carried = view.bandwidth * view.degradation[end - going - 1]
        kept = min(1.0, carried / total)
        wait, next_place = -1.0, going
        for place in range(going, end):
            i = view.order[place]
            left = view.scratch[i] / (kept * min(view.cap[i], level * view.nodes[i]))
            if wait < 0.0 or left < wait:
                wait, next_place = left, place
        seconds += wait
        for place in range(going, end):
            i = view.order[place]
            moved = wait * kept * min(view.cap[i], level * view.nodes[i])
            view.scratch[i] = max(0.0, view.scratch[i] - moved)
        ended = view.order[next_place]
        value = _both(metric, value, _cost(view, metric, ended, seconds))
        view.order[next_place] = view.order[going]
        view.order[going] = ended
        going += 1
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
