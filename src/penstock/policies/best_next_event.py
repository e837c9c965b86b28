"""best-next-event: the rates and the horizon that maximise the yields at the next event (000 §4.3).

The problem. With e_i = t − τ_i seconds elapsed, P_i the progress and d_i = V_i / b_i, choose a horizon h > 0 and volumes
x_i in [0, min(b_i·h, V_i)] with Σ x_i ≤ B·h, so that some k completes just then (x_k = V_k), or h is the end of the
window. Maximise the yields at t + h, (P_i + x_i / b_i) / (e_i + h), sorted ascending, in lexicographic order.

The lowest yield for given k and h is the lesser of

- what the application furthest from it can reach at best, the least over i of (P_i + min(h, d_i)) / (e_i + h);
- the level of the water-filling of B·h − V_k over the others, the least over sets G of them of
  (B·h − V_k + Σ_G b_i·P_i) / Σ_G b_i·(e_i + h).

So for fixed k it is the lower envelope of finitely many functions (A + B·h) / (C + D·h) of h, each monotone and each an
upper bound everywhere. This suggests the search of `_best_horizon`, a cutting-plane method in one dimension: keep one rising
and one falling bound; where they cross lies the most that can be hoped for; evaluate there; the bound that is active there
replaces the one of its direction. Each step finds a new piece of a finite number or ends at the optimum, exactly, in three
or four steps in practice; and a k whose hope is below what another k reached is given up at once, most of them before
anything is evaluated.

Where several (h, k) reach the same lowest yield within 1e-12, the whole vectors are compared. On a piece that is constant
in h the smallest h is best: a yield above the level only falls with h. So a constant piece counts as falling.

Time n per evaluation; n² per decision at worst, and about n log n where most are given up at once.
"""

from __future__ import annotations

import math

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.compiled import routine, step
from penstock.numeric.tolerances import CONSTANT_YIELD, SAME_YIELD
from penstock.policies.order import rounded_yield, sort_few
from penstock.policies.policy import Need, Policy
from penstock.policies.view import View

MOST_STEPS = 100
"""Evaluations after which the search for a horizon keeps the best one so far: rounding must not let it go on for ever."""
NOBODY = -1
"""In place of k: no completion is asked for, the horizon is the end of the window."""

Bound = tuple[float, float, float, float]
"""(A, B, C, D) of an upper bound (A + B·h) / (C + D·h) on the lowest yield."""


def best_next_event(view: View, rates: Floats) -> None:
    """Write the `rates`, in bytes/s, that lead to the best next event from `view`."""
    size = len(rates)
    if size == 1:  # alone: full speed is best whatever the horizon
        rates[0] = view.cap[0]
        return
    for i in range(size):
        view.scratch[i] = rounded_yield(view, i)
    sort_few(view, view.scratch)
    latest = view.window_end - view.now
    best_h, best_k, best_level = latest, NOBODY, -1.0
    if latest < np.inf:
        best_level = _lowest_yield(view, best_k, latest)[0]
    for k in view.order:
        if view.remaining[k] / view.cap[k] <= latest:
            needy = view.order[1] if k == view.order[0] else view.order[0]
            h, level = _best_horizon(view, k, needy, latest, best_level - SAME_YIELD)
            better = level > best_level + SAME_YIELD
            if not better and level >= best_level - SAME_YIELD:
                _sorted_yields(view, k, h, view.scratch, rates)
                _sorted_yields(view, best_k, best_h, view.spare, rates)
                better = _leximin_better(view.scratch, view.spare)
            if better:
                best_h, best_k, best_level = h, k, level
    _allocate(view, best_k, best_h, rates, view.scratch)
    for i in range(size):
        rates[i] = min(view.cap[i], rates[i] / best_h)


@step
def _value(bound: Bound, h: float) -> float:
    return (bound[0] + bound[1] * h) / (bound[2] + bound[3] * h)


@step
def _rises(bound: Bound) -> bool:
    """Whether the bound grows with h: the sign of its derivative, B·C − A·D, beyond rounding."""
    return bound[1] * bound[2] - bound[0] * bound[3] > CONSTANT_YIELD * abs(bound[0] * bound[3])


@step
def _is_constant(bound: Bound) -> bool:
    """Whether the bound does not change with h, up to rounding."""
    return abs(bound[1] * bound[2] - bound[0] * bound[3]) <= CONSTANT_YIELD * abs(bound[0] * bound[3])


@step
def _best_horizon(view: View, k: int, needy: int, latest: float, to_reach: float) -> tuple[float, float]:
    """The best horizon for k to complete at, and the lowest yield there; given up once that cannot be `to_reach`.

    The first bounds need no evaluation: k itself, which falls once complete, and the filling of the `needy` one alone.
    """
    h_rising, h_falling = view.remaining[k] / view.cap[k], latest
    falling = (view.progress[k] + h_rising, 0.0, view.now - view.release[k], 1.0)
    caps = view.cap[needy]
    rising = (
        caps * view.progress[needy] - view.remaining[k],
        view.bandwidth,
        caps * (view.now - view.release[needy]),
        caps,
    )
    best_h, best_level = h_rising, -1.0
    last_h, last_hope = np.inf, np.inf
    for _ in range(MOST_STEPS):
        h = min(max(_crossing(rising, falling), h_rising), h_falling)
        if h == np.inf:  # after very long times, rounding hides where they cross
            h = h_rising
        hope = min(_value(rising, h), _value(falling, h))
        # Without hope, or down to rounding; on a constant piece the hope stays and h goes down to where the piece begins.
        if hope < to_reach or hope > last_hope or (hope == last_hope and h >= last_h):
            break
        last_h, last_hope = h, hope
        level, active = _lowest_yield(view, k, h)
        if level > best_level or (level >= best_level - SAME_YIELD and h < best_h and _is_constant(falling)):
            best_h, best_level = h, level
        if level >= hope and not _is_constant(active):
            break
        if _rises(active):
            rising, h_rising = active, h
        else:
            falling, h_falling = active, h
    return best_h, best_level


@step
def _crossing(rising: Bound, falling: Bound) -> float:
    """Where the rising bound passes the falling one; infinite if it never does.

    Multiplied out, the difference of the two is a quadratic in h; the crossing is its root with a rising slope.
    """
    q2 = rising[1] * falling[3] - falling[1] * rising[3]
    q1 = rising[0] * falling[3] + rising[1] * falling[2] - falling[0] * rising[3] - falling[1] * rising[2]
    q0 = rising[0] * falling[2] - falling[0] * rising[2]
    discriminant = q1 * q1 - 4.0 * q2 * q0
    if discriminant < 0.0:
        return np.inf
    root = math.sqrt(discriminant)
    denominator, numerator = (q1 + root, -2.0 * q0) if q1 > 0.0 else (2.0 * q2, root - q1)
    return numerator / denominator if denominator != 0.0 else np.inf


@routine
def _lowest_yield(view: View, k: int, h: float) -> tuple[float, Bound]:
    """The highest possible lowest yield at t + h if k completes there, and the bound that is active there."""
    level, bound = _filling_level(view, k, h)
    for i in range(len(view.cap)):
        duration = view.remaining[i] / view.cap[i]
        elapsed = view.now - view.release[i]
        reach = (view.progress[i] + min(h, duration)) / (elapsed + h)
        if reach < level:
            level = reach
            if h < duration:
                bound = (view.progress[i], 1.0, elapsed, 1.0)
            else:
                bound = (view.progress[i] + duration, 0.0, elapsed, 1.0)
    return level, bound


@step
def _filling_level(view: View, k: int, h: float) -> tuple[float, Bound]:
    """The level to which B·h − V_k lifts the others, none limited from above, and the bound of those lifted.

    Newton's method on the volume needed as a function of the level, which is convex: start with all, leave out those
    above the level, until there are none.
    """
    given = view.remaining[k] if k != NOBODY else 0.0
    level = np.inf
    members = len(view.cap) + 1
    bound = (-given, view.bandwidth, 0.0, 0.0)
    while True:
        done, elapsed, caps, count = 0.0, 0.0, 0.0, 0
        for i in range(len(view.cap)):
            past = view.now - view.release[i]
            if i != k and view.progress[i] <= level * (past + h):
                done += view.cap[i] * view.progress[i]
                elapsed += view.cap[i] * past
                caps += view.cap[i]
                count += 1
        if count >= members or count == 0:
            return level, bound
        members = count
        bound = (done - given, view.bandwidth, elapsed, caps)
        level = _value(bound, h)


@routine
def _allocate(view: View, k: int, h: float, volumes: Floats, free: Floats) -> None:
    """Write the volumes x_i that are best at the horizon: the water-filling of B·h within [0, min(b_i·h, V_i)], x_k = V_k.
    `free` gets a 1 for each application that is not at a limit.

    Bitran and Hax's pegging: solve without limits, fix at their limits those beyond, on the side where more is beyond,
    and repeat with the rest.
    """
    size = len(volumes)
    for i in range(size):
        free[i] = 1.0
    budget = view.bandwidth * h
    if k != NOBODY:
        volumes[k] = view.remaining[k]
        budget = max(0.0, budget - volumes[k])
        free[k] = 0.0
    while True:
        above, below, total = _lift(view, h, budget, free, volumes)
        if not (above > 0.0 or below > 0.0):
            break
        for i in range(size):
            if free[i] > 0.0 and above >= below and volumes[i] > _most(view, i, h):
                # No more than is left: with little left, the rounding of long times can be more than that.
                volumes[i] = min(_most(view, i, h), budget)
                budget -= volumes[i]
                free[i] = 0.0
            elif free[i] > 0.0 and above < below and volumes[i] < 0.0:
                volumes[i] = 0.0
                free[i] = 0.0
    # A volume is the small difference of two long times: let them add up to the budget exactly.
    for i in range(size):
        if free[i] > 0.0 and total > 0.0:
            volumes[i] = min(volumes[i] * (budget / total), _most(view, i, h))


@step
def _lift(view: View, h: float, budget: float, free: Floats, volumes: Floats) -> tuple[float, float, float]:
    """Lift the free to one level with the budget, no limits; returns how far volumes are above and below their limits in
    sum, and their total.
    """
    weight, done = 0.0, 0.0
    for i in range(len(volumes)):
        if free[i] > 0.0:
            weight += view.cap[i] * (view.now - view.release[i] + h)
            done += view.cap[i] * view.progress[i]
    above, below, total = 0.0, 0.0, 0.0
    for i in range(len(volumes)):
        if free[i] > 0.0:
            level = (budget + done) / weight
            volumes[i] = view.cap[i] * (level * (view.now - view.release[i] + h) - view.progress[i])
            above += max(0.0, volumes[i] - _most(view, i, h))
            below += max(0.0, -volumes[i])
            total += volumes[i]
    return above, below, total


@step
def _most(view: View, i: int, h: float) -> float:
    """What i can move until the horizon."""
    return float(min(view.cap[i] * h, view.remaining[i]))


@step
def _leximin_better(mine: Floats, others: Floats) -> bool:
    """Whether sorted yields are better than others: at the first that differ, higher."""
    for i in range(len(mine)):
        if abs(mine[i] - others[i]) > SAME_YIELD:
            return bool(mine[i] > others[i])
    return False


@routine
def _sorted_yields(view: View, k: int, h: float, yields: Floats, room: Floats) -> None:
    """Write the yields at the horizon, lowest first."""
    _allocate(view, k, h, yields, room)
    for i in range(len(yields)):
        yields[i] = (view.progress[i] + yields[i] / view.cap[i]) / (view.now - view.release[i] + h)
    _sort(yields)


@step
def _sort(values: Floats) -> None:
    """Insertion sort: ties are rare and vectors short, and NumPy's sort would double the time to compile."""
    for i in range(1, len(values)):
        moved, place = values[i], i
        while place > 0 and values[place - 1] > moved:
            values[place] = values[place - 1]
            place -= 1
        values[place] = moved


BEST_NEXT_EVENT = Policy(
    name="best-next-event",
    rates=best_next_event,
    summary="the rates with the best yields at the best next completion",
    needs=(Need.PROGRESS, Need.VOLUME, Need.WINDOW_END),
    reference="000 §4.3",
    idles=True,  # none may complete before the horizon, so a short operation is slowed down even where there is room
)
