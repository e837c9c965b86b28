"""look-ahead-greedy-yield: who, if served first, leaves the best minimum yield at the next completion? (000 §4.1)"""

from __future__ import annotations

import numpy as np

from penstock.policies.compiled import helper, part
from penstock.policies.order import fill_after, rounded_yield, sort
from penstock.policies.policy import Need, Policy
from penstock.policies.view import Floats, View

IMPROVEMENT = 1e-12
"""A later candidate wins only by more than this."""


def look_ahead_greedy_yield(view: View, rates: Floats) -> None:
    """Try every active application as the one served first, the others following in the order of greedy-yield; keep the
    allocation whose lowest yield at its horizon, the earliest completion under it, is highest.

    Candidates are tried in the order of greedy-yield. A candidate is given up as soon as one application falls to the best
    score so far; as the lowest yields come first, that is after one or two of them, so that the time is n log n in practice
    and n² at worst.
    """
    for i in range(len(rates)):
        view.scratch[i] = rounded_yield(view, i)
    sort(view, view.scratch)
    best = view.order[0]
    best_score = -np.inf
    for candidate in view.order:
        score = _score(view, candidate, best_score + IMPROVEMENT)
        if score > best_score + IMPROVEMENT:
            best, best_score = candidate, score
    for i in range(len(rates)):
        rates[i] = 0.0
    fill_after(view, best, rates)


@helper
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


@part
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
