"""The policies of 000 §4, and those beyond, in plain Python: lists, sorted(), loops.

Conventions that the paper leaves open (design.md): dates compare rounded to 1e-9 s, yields to 1e-12, remaining times
V_i / b_i to 1e-9 s; ties go to the earlier posting, then to the lower index.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.naive.best_next_event import best_next_event, nearly_constant
from tests.naive.coordinating import coordinating, decisions, interfering, interrupting


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
    volume: float = 1.0
    rate: float = 0.0
    transferring: float = 0.0
    whole: float = 0.0
    rank: float = 0.0
    turn: int = -1
    rounds: float = 0.0
    reach: float = 0.0
    weight: float = 1.0
    user: int = 0
    group: int = 0


@dataclass
class Scene:
    """What a policy may look at."""

    active: list[Active]
    now: float
    bandwidth: float
    window_end: float = math.inf
    parameter: float = 0.0
    completed: int = 0
    degradation: list[float] | None = None


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


def due_keys(scene: Scene) -> list[float]:
    """Yields with c times the pending transfer added to the progress, over the time since release, at least 1 ns."""
    keys = []
    for a in scene.active:
        alone_on_the_link = a.remaining / scene.bandwidth
        keys.append((a.progress + scene.parameter * alone_on_the_link) / max(1e-9, scene.now - a.release))
    return keys


def losses(scene: Scene) -> list[tuple[float, float]]:
    """Seconds lost, at least 1e-9 of the time since release, and that time, at least 1 ns."""
    ages = [max(1e-9, scene.now - a.release) for a in scene.active]
    return [(max(age - a.progress, 1e-9 * age), age) for a, age in zip(scene.active, ages, strict=True)]


def balance_keys(scene: Scene) -> list[float]:
    """log(d / (1 − u)^p)."""
    keys = []
    for a, (lost, age) in zip(scene.active, losses(scene), strict=True):
        d = a.remaining / scene.bandwidth
        keys.append(math.log(d) - scene.parameter * math.log(lost / (age + d)))
    return keys


def closing_keys(scene: Scene) -> list[float]:
    """Weight of the length times its relative length, minus the relative loss."""
    lost = [1.0 - yield_of(a, scene.now) for a in scene.active]
    longest = max(a.remaining for a in scene.active)
    keys = []
    for a, loss in zip(scene.active, lost, strict=True):
        f = 0.0 if scene.window_end == math.inf else (scene.window_end - scene.now) / (scene.window_end - a.release)
        weight = scene.parameter if scene.parameter > 1.0 else scene.parameter + (1.0 - scene.parameter) * f
        keys.append(weight * (a.remaining / longest) - loss / max([1e-9, *lost]))
    return keys


def best_effort(scene: Scene) -> dict[int, float]:
    """The same for all, B/k; who cannot use that has its cap, and the rest is shared again."""
    rates: dict[int, float] = {}
    left, others = scene.bandwidth, list(scene.active)
    while others:
        share = left / len(others)
        limited = [a for a in others if a.cap <= share]
        if not limited:
            return rates | {a.index: share for a in others}
        for a in limited:
            rates[a.index] = a.cap
            left -= a.cap
        others = [a for a in others if a.cap > share]
    return rates


def by_weight(amount: float, demands: list[float], weights: list[float]) -> list[float]:
    """In proportion to the weights; who cannot use that has its demand, and the rest is divided again."""
    parts = [0.0] * len(demands)
    left, others = amount, list(range(len(demands)))
    while others:
        level = left / sum(weights[k] for k in others)
        limited = [k for k in others if demands[k] <= level * weights[k]]
        for k in limited:
            parts[k] = demands[k]
            left -= demands[k]
        if not limited:
            for k in others:
                parts[k] = level * weights[k]
            break
        others = [k for k in others if k not in limited]
    return parts


def among(members: list[Active], amount: float, within: str, scene: Scene) -> dict[int, float]:
    """The part of one user or group, divided as `within` says."""
    if within == "users":
        return by_owner(members, amount, "user", "jobs", scene)
    if within in ("jobs", "sizes"):
        weights = [a.weight * (a.nodes if within == "sizes" else 1) for a in members]
        return dict(zip([a.index for a in members], by_weight(amount, [a.cap for a in members], weights), strict=True))
    due = {a.index: round(key * 1e12) for a, key in zip(scene.active, due_keys(replace(scene, parameter=2.0)), strict=True)}
    keys = {
        "fcfs": by_posting,
        "greedy-yield": by_yield(scene.now),
        "greedy-com": by_remaining_time,
        "due-yield": lambda a: (due[a.index], *by_posting(a)),
    }
    return greedy(sorted(members, key=keys[within]), amount)


def by_owner(members: list[Active], amount: float, owner: str, within: str, scene: Scene) -> dict[int, float]:
    owners = sorted({getattr(a, owner) for a in members})
    theirs = [[a for a in members if getattr(a, owner) == one] for one in owners]
    weights = [max(a.weight for a in each) for each in theirs]
    parts = by_weight(amount, [sum(a.cap for a in each) for each in theirs], weights)
    return {
        i: rate for each, part in zip(theirs, parts, strict=True) for i, rate in among(each, part, within, scene).items()
    }


FAIR = {"user-fair": 5, "group-fair": 6}
"""The last way in which each can divide the part of a user or group."""
WITHIN = ("jobs", "sizes", "fcfs", "greedy-yield", "greedy-com", "due-yield", "users")


def within_of(name: str, scene: Scene) -> str:
    return WITHIN[min(FAIR[name], int(scene.parameter))]


def user_fair(scene: Scene) -> dict[int, float]:
    return by_owner(scene.active, scene.bandwidth, "user", within_of("user-fair", scene), scene)


def group_fair(scene: Scene) -> dict[int, float]:
    return by_owner(scene.active, scene.bandwidth, "group", within_of("group-fair", scene), scene)


EXCLUSIVE: dict[str, Callable[[Active, Scene], float]] = {
    "fifo": lambda a, _: round(a.posted * 1e9),
    "lowest-id": lambda a, _: a.index,
    "longest-io": lambda a, _: -round(a.volume / a.cap * 1e9),
    "shortest-io": lambda a, _: round(a.volume / a.cap * 1e9),
    "shortest-remaining": lambda a, _: round((a.whole - a.progress) * 1e9),
    "longest-remaining": lambda a, _: -round((a.whole - a.progress) * 1e9),
    "bandwidth-oriented": lambda a, scene: round(transfer_share(a, scene) * 1e12),
    "stretch-oriented": lambda a, scene: -math.inf if stretch(a, scene) == math.inf else -round(stretch(a, scene) * 1e12),
    "johnson": lambda a, _: a.rank,
}
"""What comes first when the link falls free, lowest first."""


def transfer_share(a: Active, scene: Scene) -> float:
    return a.transferring / (scene.now - a.release) if scene.now > a.release else 0.0


def stretch(a: Active, scene: Scene) -> float:
    if scene.now <= a.release:
        return 1.0
    return (scene.now - a.release) / a.progress if a.progress > 0.0 else math.inf


def one_at_a_time(name: str) -> Callable[[Scene], dict[int, float]]:
    def twin(scene: Scene) -> dict[int, float]:
        holders = [a for a in scene.active if a.rate > 0.0]
        waiting = sorted(scene.active, key=lambda a: (EXCLUSIVE[name](a, scene), *by_posting(a)))
        served = (holders or waiting)[0]
        return {a.index: a.cap if a is served else 0.0 for a in scene.active}

    return twin


def in_turn(scene: Scene) -> dict[int, float]:
    return {a.index: a.cap if a.turn == scene.completed else 0.0 for a in scene.active}


STATIC = ("hierarchical-round-robin", "periodic-fifo", "periodic-johnson", "periodic-most-remain")

DEFAULTS = {"due-yield": 2.0, "balance": 8.0, "closing-yield": 0.0}
"""What the parameter of a policy is without a word."""
KEYS = {"due-yield": due_keys, "balance": balance_keys, "closing-yield": closing_keys}


def by_key(name: str) -> Callable[[Scene], dict[int, float]]:
    def twin(scene: Scene) -> dict[int, float]:
        keys = {a.index: round(key * 1e12) for a, key in zip(scene.active, KEYS[name](scene), strict=True)}
        return greedy(sorted(scene.active, key=lambda a: (keys[a.index], *by_posting(a))), scene.bandwidth)

    return twin


def share_noise(a: Active, now: float) -> float:
    """By how much rounding errors may move a part of the time since the release, as a yield is: what has been moved is known
    to the last bits of the volume, the time to those of the dates.
    """
    age = max(1e-9, now - a.release)
    return 1e-14 + 1e-15 * (a.volume / a.cap + a.progress + abs(now) + abs(a.release)) / age


def key_noise(name: str, scene: Scene) -> list[float]:
    """By how much rounding errors may move the keys, through the yield where it enters."""
    noise = []
    for a, key, (lost, age) in zip(scene.active, KEYS[name](scene), losses(scene), strict=True):
        through_loss = {"due-yield": 0.0, "balance": scene.parameter * age / lost, "closing-yield": 0.0}[name]
        noise.append(share_noise(a, scene.now) * (1.0 + abs(key) + through_loss))
    if name == "closing-yield":
        most = max([1e-9, *(1.0 - yield_of(a, scene.now) for a in scene.active)])
        noise = [n + max(share_noise(a, scene.now) for a in scene.active) / most for n in noise]
    return noise


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
    **{name: by_key(name) for name in KEYS},
    "periodic-closing-yield": by_key("closing-yield"),
    "best-effort": best_effort,
    "interfering": interfering,
    "interrupting": interrupting,
    "coordinating": coordinating,
    "job-fair": lambda scene: among(scene.active, scene.bandwidth, "jobs", scene),
    "size-fair": lambda scene: among(scene.active, scene.bandwidth, "sizes", scene),
    "user-fair": user_fair,
    "group-fair": group_fair,
    **{name: one_at_a_time(name) for name in EXCLUSIVE},
    **dict.fromkeys(STATIC, in_turn),
}


def _falls_either_way(values: list[float], grain: float, noise: float | list[float]) -> bool:
    """Whether two values that are equal but for noise may round to different multiples of the grain."""
    noises = noise if isinstance(noise, list) else [noise] * len(values)
    for i, value in enumerate(values):
        if round((value - noises[i]) / grain) != round((value + noises[i]) / grain):
            for j, other in enumerate(values):
                if i != j and abs(value - other) <= 2.0 * grain + noises[i] + noises[j]:
                    return True
    return False


def compared(name: str, scene: Scene) -> list[tuple[list[float], float, float | list[float]]]:
    """The values that the policy compares, their grain, and by how much rounding errors may move them."""
    if name in FAIR:
        return compared(within_of(name, scene), replace(scene, parameter=2.0))
    active, plain = scene.active, name.removeprefix("periodic-")
    noises = [share_noise(a, scene.now) for a in active]
    if plain in KEYS:
        return [(KEYS[plain](scene), 1e-12, key_noise(plain, scene))]
    if "yield" in name:
        return [([yield_of(a, scene.now) for a in active], 1e-12, noises)]
    if name == "stretch-oriented":
        stretches = {a.index: s for a in active if (s := stretch(a, scene)) < math.inf}
        noises = [noise * stretches[a.index] ** 2 for a, noise in zip(active, noises, strict=True) if a.index in stretches]
        return [(list(stretches.values()), 1e-12, noises)]
    times = {
        "greedy-com": lambda a: a.remaining / a.cap,
        "longest-io": lambda a: a.volume / a.cap,
        "shortest-io": lambda a: a.volume / a.cap,
        "longest-remaining": lambda a: a.whole - a.progress,
        "shortest-remaining": lambda a: a.whole - a.progress,
    }
    if name in times:
        return [([times[name](a) for a in active], 1e-9, 1e-12)]
    if name == "bandwidth-oriented":
        return [([transfer_share(a, scene) for a in active], 1e-12, noises)]
    return []


UNTIMED = ("fair-share", "best-effort", "interfering", "job-fair", "size-fair", "lowest-id", *STATIC)
"""Policies for which posting dates mean nothing."""


def doubtful(name: str, scene: Scene) -> bool:
    """Whether a rounding error in the last bits can decide here.

    The pinned rounding makes ties robust except where a value lies on the boundary between two grains, which no finite
    precision can avoid (a posting date of 2⁻¹⁰ s is exactly half a nanosecond off). Comparisons leave such cases out.
    """
    active = scene.active
    if name not in UNTIMED and _falls_either_way([a.posted for a in active], 1e-9, 1e-12):
        return True
    if any(_falls_either_way(values, grain, noise) for values, grain, noise in compared(name, scene)):
        return True
    if name.startswith("set-10"):
        logs = [math.log10(a.omega) + 0.5 for a in active if a.omega > 0.0]
        return any(abs(x - round(x)) < 1e-11 for x in logs)
    if name == "coordinating":
        return decisions(scene)[1]
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
