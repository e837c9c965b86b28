"""best-next-event as design.md states it, by search.

At date t, over all horizons h up to the end of the window and all k that complete at t + h (or nobody, at the end of the
window): volumes x_i in [0, min(b_i h, V_i)], x_k = V_k, Σ x_i ≤ B h; maximise the sorted yields
(P_i + x_i / b_i) / (t + h − τ_i) in lexicographic order.

For given k and h the best volumes are the water-filling: everyone is lifted to one level as far as its own limits allow.
For given k the set of (h, x) that reach a lowest yield y is convex (every constraint is linear in h and x), so the lowest
yield is quasi-concave in h: scan, then golden section. The optimum is flat, so h is only known to the square root of the
precision of the yields; yields of 30 digits give h to 1e-15.
"""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from typing import Any

DIGITS = 40
GOLDEN = Decimal("0.6180339887498948482045868343656381177")


def yields_at(scene: Any, k: int | None, h: Any) -> tuple[list, list] | None:
    """(yields, volumes) of the water-filling if `k`, a position in scene.active, completes after just h; None if it cannot.

    Works in the type of h, float or Decimal.
    """
    number = type(h)
    if h <= 0:
        return None
    caps = [number(a.cap) for a in scene.active]
    volumes = [number(a.remaining) for a in scene.active]
    progress = [number(a.progress) for a in scene.active]
    elapsed = [number(scene.now) - number(a.release) + h for a in scene.active]
    most = [min(b * h, v) for b, v in zip(caps, volumes, strict=True)]
    budget = number(scene.bandwidth) * h
    # The quotient h = V_k / b_k can fall short in its last digit.
    slack = Decimal("1e-30") if number is Decimal else 1e-12
    if k is not None:
        if most[k] < volumes[k] * (1 - slack) or budget < volumes[k] * (1 - slack):
            return None
        budget = max(number(0), budget - volumes[k])
    others = [i for i in range(len(caps)) if i != k]
    if sum((most[i] for i in others), number(0)) <= budget:
        moved = list(most)
    else:
        level = _level(others, caps, progress, elapsed, most, budget)
        moved = [min(most[i], max(number(0), caps[i] * (level * elapsed[i] - progress[i]))) for i in range(len(caps))]
    if k is not None:
        moved[k] = volumes[k]
    return [(progress[i] + moved[i] / caps[i]) / elapsed[i] for i in range(len(caps))], moved


def _level(others: list, caps: list, progress: list, elapsed: list, most: list, budget: Any) -> Any:
    """The level y with Σ clamp(b_i (y e_i − P_i), 0, most_i) = budget; the sum is piecewise linear in y."""

    def needed(y: Any) -> Any:
        zero = type(y)(0)
        return sum((min(most[i], max(zero, caps[i] * (y * elapsed[i] - progress[i]))) for i in others), zero)

    corners = []
    for i in others:
        corners.append(progress[i] / elapsed[i])
        corners.append((progress[i] + most[i] / caps[i]) / elapsed[i])
    corners.sort()
    low = corners[0]
    for high in corners[1:]:
        if needed(high) >= budget:
            need_low, need_high = needed(low), needed(high)
            if need_high == need_low:
                return low
            return low + (high - low) * (budget - need_low) / (need_high - need_low)
        low = high
    return low


def horizons(scene: Any, k: int) -> tuple[Any, Any] | None:
    """The shortest and the longest horizon at which k can complete and the yields can still matter."""
    a = scene.active[k]
    shortest = Decimal(a.remaining) / Decimal(a.cap)
    latest = Decimal(scene.window_end) - Decimal(scene.now) if math.isfinite(scene.window_end) else None
    # Beyond the time in which all could move everything one after the other, yields only fall.
    enough = shortest + sum((Decimal(b.remaining) / Decimal(b.cap) for b in scene.active), Decimal(0)) * 2
    longest = enough if latest is None else min(enough, latest)
    return (shortest, longest) if shortest <= longest else None


def candidates(scene: Any, points: int = 24, steps: int = 100) -> list[tuple]:
    """(sorted yields, key of ties, h, volumes) for each k at its best horizon, and for the end of the window."""
    found = []
    if math.isfinite(scene.window_end):
        h = Decimal(scene.window_end) - Decimal(scene.now)
        yields, moved = yields_at(scene, None, h)
        found.append((sorted(yields), (-1, -1), h, moved))
    for k, a in enumerate(scene.active):
        span = horizons(scene, k)
        if span is None:
            continue
        h = _best_horizon(scene, k, *span, points, steps)
        yields, moved = yields_at(scene, k, h)
        found.append((sorted(yields), (round(a.posted * 1e9), a.index), h, moved))
    return found


def _best_horizon(scene: Any, k: int, shortest: Any, longest: Any, points: int, steps: int) -> Any:
    def lowest(h: Any) -> Any:
        # To 30 digits: where it is constant in h it must be so in numbers, too, and then the smallest h is best, as whoever
        # is above the lowest only falls with h.
        outcome = yields_at(scene, k, h)
        return Decimal(-1) if outcome is None else round(min(outcome[0]), 30)

    grid = [shortest + (longest - shortest) * i / points for i in range(points + 1)]
    values = [lowest(h) for h in grid]
    at = values.index(max(values))
    low, high = grid[max(0, at - 1)], grid[min(points, at + 1)]
    a, b = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    value_a, value_b = lowest(a), lowest(b)
    for _ in range(steps):
        if value_a >= value_b:
            high, b, value_b = b, a, value_a
            a = high - GOLDEN * (high - low)
            value_a = lowest(a)
        else:
            low, a, value_a = a, b, value_b
            b = low + GOLDEN * (high - low)
            value_b = lowest(b)
    # The ends too: the optimum is often a corner, where k starts to be able to complete or the window ends.
    return max(sorted([grid[at], low, a, b, high]), key=lowest)


def better(mine: list, others: list) -> bool:
    """Lexicographic order of sorted yields, which are equal within 1e-12."""
    for x, y in zip(mine, others, strict=True):
        if abs(x - y) > Decimal("1e-12"):
            return x > y
    return False


def best_next_event(scene: Any) -> dict[int, float]:
    """The rates of the best candidate; equal ones: the end of the window, then the earlier posting, then the lower index."""
    with localcontext() as context:
        context.prec = DIGITS
        best = None
        for candidate in sorted(candidates(scene), key=lambda c: c[1]):
            if best is None or better(candidate[0], best[0]):
                best = candidate
        assert best is not None
        _, _, h, moved = best
        if len(scene.active) == 1:
            # Alone, every horizon is served best by the cap.
            return {scene.active[0].index: scene.active[0].cap}
        return {a.index: float(min(Decimal(a.cap), x / h)) for a, x in zip(scene.active, moved, strict=True)}


def nearly_constant(scene: Any) -> bool:
    """Whether the lowest yield of some candidate hardly changes with h about its best horizon.

    Where it is constant in h, a rounding error in the progress of anyone tilts it, and the best horizon is at one end or the
    other of the constant piece.
    """
    with localcontext() as context:
        context.prec = DIGITS
        for k in range(len(scene.active)):
            span = horizons(scene, k)
            if span is None:
                continue
            h = _best_horizon(scene, k, *span, 12, 40)
            lowest = min(yields_at(scene, k, h)[0])
            for factor in (Decimal("0.999"), Decimal("1.001")):
                outcome = yields_at(scene, k, h * factor) if span[0] <= h * factor <= span[1] else None
                if outcome is not None and min(outcome[0]) > lowest - Decimal("1e-12"):
                    return True
    return False
