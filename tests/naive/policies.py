"""The policies of 000 §4 in plain Python: lists, sorted(), loops.

Conventions that the paper leaves open (design.md): dates compare rounded to 1e-9 s, yields to 1e-12, remaining times
V_i / b_i to 1e-9 s; ties go to the earlier posting, then to the lower index.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tests.naive.best_next_event import best_next_event, nearly_constant


@dataclass
class Active:
    """An application with an operation posted and not complete."""

    index: int
    remaining: float
    cap: float
    posted: float
    progress: float
    release: float
    nodes: float
    omega: float


@dataclass
class Scene:
    """What a policy may look at."""

    active: list[Active]
    now: float
    bandwidth: float
    window_end: float = math.inf


def yield_of(a: Active, now: float) -> float:
    """000 eq. 6; 1 at the release."""
    if now <= a.release:
        return 1.0
    return a.progress / (now - a.release)


def by_posting(a: Active) -> tuple:
    return (round(a.posted * 1e9), a.index)


def by_yield(now: float) -> Callable[[Active], tuple]:
    return lambda a: (round(yield_of(a, now) * 1e12), *by_posting(a))


def by_remaining_time(a: Active) -> tuple:
    return (round(a.remaining / a.cap * 1e9), *by_posting(a))


def greedy(ordered: list[Active], bandwidth: float) -> dict[int, float]:
    """Its cap to the first, then to the next, until nothing is left."""
    rates = {}
    left = bandwidth
    for a in ordered:
        rates[a.index] = min(a.cap, left)
        left = left - rates[a.index]
    return rates


def fair_share(scene: Scene) -> dict[int, float]:
    alpha = min(1.0, scene.bandwidth / sum(a.cap for a in scene.active))
    return {a.index: alpha * a.cap for a in scene.active}


def fcfs(scene: Scene) -> dict[int, float]:
    return greedy(sorted(scene.active, key=by_posting), scene.bandwidth)


def greedy_yield(scene: Scene) -> dict[int, float]:
    return greedy(sorted(scene.active, key=by_yield(scene.now)), scene.bandwidth)


def greedy_com(scene: Scene) -> dict[int, float]:
    return greedy(sorted(scene.active, key=by_remaining_time), scene.bandwidth)


def look_ahead_candidates(scene: Scene) -> list[tuple[float, dict[int, float]]]:
    """(lowest yield at the first completion, rates) with each application in front, in the order of greedy-yield."""
    ordered = sorted(scene.active, key=by_yield(scene.now))
    found = []
    for leader in ordered:
        others = [a for a in ordered if a is not leader]
        rates = greedy([leader, *others], scene.bandwidth)
        horizon = min(a.remaining / rates[a.index] for a in scene.active if rates[a.index] > 0.0)
        yields = []
        for a in scene.active:
            elapsed = scene.now + horizon - a.release
            progress = a.progress + rates[a.index] * horizon / a.cap
            yields.append(progress / elapsed if elapsed > 0.0 else 1.0)
        found.append((min(yields), rates))
    return found


def look_ahead_greedy_yield(scene: Scene) -> dict[int, float]:
    candidates = look_ahead_candidates(scene)
    best_score, best_rates = candidates[0]
    for score, rates in candidates[1:]:
        if score > best_score + 1e-12:
            best_score, best_rates = score, rates
    return best_rates


def set_number(a: Active) -> int:
    """n = ⌊log10 ω + 0.5⌋; 0 before the first finished iteration."""
    return math.floor(math.log10(a.omega) + 0.5) if a.omega > 0.0 else 0


def sets_of(scene: Scene) -> dict[int, list[Active]]:
    """The members of each I/O-set, in the order of posting."""
    sets: dict[int, list[Active]] = {}
    for a in sorted(scene.active, key=by_posting):
        sets.setdefault(set_number(a), []).append(a)
    return sets


def set_10_basic(scene: Scene) -> dict[int, float]:
    """000 §4.2, first algorithm: one application a set, with its share of B (or its cap, if that is less)."""
    sets = sets_of(scene)
    priorities = {n: 10.0**-n for n in sets}
    rates = {a.index: 0.0 for a in scene.active}
    for n, members in sets.items():
        share = priorities[n] / sum(priorities.values()) * scene.bandwidth
        rates[members[0].index] = min(members[0].cap, share)
    return rates


def set_10(scene: Scene) -> dict[int, float]:
    """000 §4.2, extended algorithm, step by step."""
    left = scene.bandwidth
    sets = sets_of(scene)
    rates: dict[int, float] = {}
    while sets:
        total = sum(10.0**-n for n in sets)
        share = {n: 10.0**-n / total * left for n in sets}
        limited = [n for n, members in sets.items() if sum(a.cap for a in members) <= share[n]]
        if not limited:
            for n, members in sets.items():
                rates.update(greedy(members, share[n]))
            return rates
        for n in limited:
            for a in sets[n]:
                rates[a.index] = a.cap
                left -= a.cap
            del sets[n]
    return rates


TWINS: dict[str, Callable[[Scene], dict[int, float]]] = {
    "fair-share": fair_share,
    "fcfs": fcfs,
    "set-10": set_10,
    "set-10-basic": set_10_basic,
    "greedy-yield": greedy_yield,
    "greedy-com": greedy_com,
    "look-ahead-greedy-yield": look_ahead_greedy_yield,
    "periodic-greedy-yield": greedy_yield,
    "best-next-event": best_next_event,
}


def _falls_either_way(values: list[float], grain: float, noise: float) -> bool:
    """Whether two values that are equal but for noise may round to different multiples of the grain."""
    for i, value in enumerate(values):
        if round((value - noise) / grain) != round((value + noise) / grain):
            for j, other in enumerate(values):
                if i != j and abs(value - other) <= 2.0 * grain:
                    return True
    return False


def doubtful(name: str, scene: Scene) -> bool:
    """Whether a rounding error in the last bits can decide here.

    The pinned rounding makes ties robust except where a value lies on the boundary between two grains, which no finite
    precision can avoid (a posting date of 2⁻¹⁰ s is exactly half a nanosecond off). Comparisons leave such cases out.
    """
    active = scene.active
    if name != "fair-share" and _falls_either_way([a.posted for a in active], 1e-9, 1e-12):
        return True
    if "yield" in name and _falls_either_way([yield_of(a, scene.now) for a in active], 1e-12, 2e-14):
        return True
    if name == "greedy-com" and _falls_either_way([a.remaining / a.cap for a in active], 1e-9, 1e-12):
        return True
    if name.startswith("set-10"):
        logs = [math.log10(a.omega) + 0.5 for a in active if a.omega > 0.0]
        return any(abs(x - round(x)) < 1e-11 for x in logs)
    if name == "best-next-event":
        return nearly_constant(scene)
    if name == "look-ahead-greedy-yield":
        best = -math.inf
        for score, _ in look_ahead_candidates(scene):
            if abs(score - (best + 1e-12)) < 5e-14:
                return True
            if score > best + 1e-12:
                best = score
    return False
