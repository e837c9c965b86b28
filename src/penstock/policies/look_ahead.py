"""look-ahead-greedy-yield: serve first what leaves the best minimum yield at the next completion (000 §4.1)."""

from __future__ import annotations

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import routine, step
from penstock.numeric.tolerances import SAME_YIELD
from penstock.policies.order import fill_after, rounded_yield, serve, sort
from penstock.policies.policy import Need, Policy
from penstock.policies.view import View


def look_ahead_greedy_yield(view: View, rates: Floats) -> None:
    """Serve first the application of `view` with which the lowest yield at the next completion is highest.

    Every active application is tried as the one served first, the others following in the order of greedy-yield. The horizon
    of a candidate is the earliest completion under its allocation. The best allocation goes to `rates`, in bytes/s.

    Candidates are tried in the order of greedy-yield, which decides between those whose scores are as good as equal. A
    candidate is given up as soon as one application falls to the best score so far; as the lowest yields come first, that is
    after one or two of them, so that the time is n log n in practice and n² at worst.
    """
    best = _best_alone(view)
    if best >= 0:
        serve(view, best, rates)
        return
    for i in range(len(rates)):
        view.scratch[i] = rounded_yield(view, i)
    sort(view, view.scratch)
    best = view.order[0]
    best_score = -np.inf
    for candidate in view.order:
        score = _score(view, candidate, best_score + SAME_YIELD)
        if score > best_score + SAME_YIELD:
            best, best_score = candidate, score
    fill_after(view, best, rates)


@step
def _best_alone(view: View) -> int:
    """The best candidate, where all can use the whole link and no other is nearly as good; −1 elsewhere. Time n mostly.

    No order is needed here; sorting would take longer than all the rest. A short horizon is good for the application that is
    behind. So the shortest transfer is tried first, and the lowest yield then rules out most other candidates.
    """
    shortest = 0
    for i in range(len(view.cap)):
        if view.cap[i] < view.bandwidth:
            return -1
        if view.remaining[i] < view.remaining[shortest]:
            shortest = i
    best, close = shortest, False
    score, lowest = _lowest_at(view, shortest, -np.inf)
    for i in range(len(view.cap)):
        passed = score - 2.0 * SAME_YIELD
        horizon = view.remaining[i] / view.bandwidth
        hopeless = i != lowest and view.progress[lowest] < passed * (view.now - view.release[lowest] + horizon)
        if hopeless or i == shortest:
            continue
        found, _ = _lowest_at(view, i, passed)
        if found > score + 1.5 * SAME_YIELD:
            best, score, close = i, found, False
        elif found >= score - 1.5 * SAME_YIELD:
            score, close = max(score, found), True
    return -1 if close else best


@routine
def _lowest_at(view: View, candidate: int, passed: float) -> tuple[float, int]:
    """The lowest yield at the end of the candidate's transfer, and whose it is; or the first found below `passed`."""
    horizon = view.remaining[candidate] / view.bandwidth
    yielded = (view.progress[candidate] + horizon) / (view.now - view.release[candidate] + horizon)
    lowest = candidate
    for i in range(len(view.cap)):
        if yielded < passed:
            break
        other = view.progress[i] / (view.now - view.release[i] + horizon)
        if other < yielded and i != candidate:
            yielded, lowest = other, i
    return float(yielded), lowest


@step
def _score(view: View, candidate: int, to_beat: float) -> float:
    """The lowest yield at the candidate's horizon; some value up to `to_beat` if it does not pass that."""
    horizon = _horizon(view, candidate)
    left = view.bandwidth - view.cap[candidate]
    lowest = (view.progress[candidate] + horizon) / (view.now - view.release[candidate] + horizon)
    for i in view.order:
        if lowest <= to_beat:
            break
        if i != candidate:
            rate = max(0.0, min(view.cap[i], left))
            left -= rate
            progress = view.progress[i] + rate / view.cap[i] * horizon
            lowest = min(lowest, progress / (view.now - view.release[i] + horizon))
    return float(lowest)


@step
def _horizon(view: View, candidate: int) -> float:
    """Seconds to the earliest completion if the candidate is served first."""
    horizon = view.remaining[candidate] / view.cap[candidate]
    left = view.bandwidth - view.cap[candidate]
    for i in view.order:
        if left <= 0.0:
            break
        if i != candidate:
            rate = min(view.cap[i], left)
            left -= rate
            horizon = min(horizon, view.remaining[i] / rate)
    return float(horizon)


LOOK_AHEAD_GREEDY_YIELD = Policy(
    name="look-ahead-greedy-yield",
    rates=look_ahead_greedy_yield,
    summary="the first choice that leaves the best lowest yield at the next completion",
    needs=(Need.PROGRESS, Need.VOLUME),
    reference="000 §4.1",
)
