"""The strategies of 003 in plain Python: every plan written down as two lists, every option simulated on its own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

IMPROVEMENT = 1e-12
NOISE = 1e-9
"""Where an operation of 0.001 s waits for one of 100 s, its time is known to no more than this part of it."""
ROUND = (1.0, 2.0, 4.0, 10.0)
"""Bandwidths with which all numbers are round, and ties are ties to the last bit."""


def alone(a: Any) -> float:
    """Bytes/s that it uses by itself."""
    return a.reach if 0.0 < a.reach < a.cap else a.cap


def pace(a: Any) -> float:
    """Bytes/s that it moves now."""
    return min(a.rate, a.reach) if a.reach > 0.0 else a.rate


def to_pause(a: Any) -> float:
    """Bytes that it still moves when it is told to pause: to the end of its round, if it is inside one."""
    if a.rate <= 0.0 or a.rounds <= 0.0:
        return 0.0
    done = (a.volume - a.remaining) / a.volume * a.rounds
    nearly = 1e-9 + 1e-15 * a.rounds
    if abs(done - round(done)) <= nearly:
        return 0.0
    ahead = math.ceil(done - nearly)
    return a.remaining if ahead == a.rounds else a.remaining - a.volume * (1.0 - ahead / a.rounds)


def shares(active: list[Any], bandwidth: float) -> dict[int, float]:
    """In proportion to nodes; who cannot use that has its cap, and the rest is shared again."""
    rates: dict[int, float] = {}
    left, others = bandwidth, list(active)
    while others:
        level = left / sum(a.nodes for a in others)
        limited = [a for a in others if alone(a) <= level * a.nodes]
        if not limited:
            return rates | {a.index: level * a.nodes for a in others}
        for a in limited:
            rates[a.index] = alone(a)
            left -= alone(a)
        others = [a for a in others if a not in limited]
    return rates


def degraded(rates: dict[int, float], scene: Any) -> dict[int, float]:
    """What moves of what is given: k transfers have d(k)·B at most."""
    moving = sum(rate > 0.0 for rate in rates.values())
    total = sum(rates.values())
    if not moving or scene.degradation is None:
        return rates
    part = min(1.0, scene.degradation[moving - 1] * scene.bandwidth / total)
    return {index: part * rate for index, rate in rates.items()}


def ends_of(scene: Any, group: list[Any], queue: list[Any]) -> dict[int, float]:
    """When everyone's operation ends: who moves and is not in the group goes on to the end of its round; then the group
    shares the link, then the queue has it one by one.
    """
    interrupted = [a for a in queue if a.rate > 0.0]
    now = max((to_pause(a) / pace(a) for a in interrupted), default=0.0)
    left, ends = {a.index: a.remaining for a in group}, {}
    going = list(group)
    while going:
        rates = degraded(shares(going, scene.bandwidth), scene)
        wait, _, first = min((left[a.index] / rates[a.index], number, a) for number, a in enumerate(going))
        now += wait
        for a in going:
            left[a.index] -= wait * rates[a.index]
        ends[first.index] = now
        going.remove(first)
    for a in queue:
        if a.rate > 0.0 and to_pause(a) == a.remaining:  # its last round
            ends[a.index] = a.remaining / pace(a)
        else:
            now += (a.remaining - to_pause(a)) / alone(a)
            ends[a.index] = now
    return ends


def value_of(scene: Any, group: list[Any], queue: list[Any]) -> float:
    """What the metric becomes."""
    metric = min(3, int(scene.parameter))
    ends = ends_of(scene, group, queue)
    times = {a.index: scene.now - round(a.posted * 1e9) / 1e9 + ends[a.index] for a in group + queue}
    if metric == 0:
        return sum(a.nodes * times[a.index] for a in group + queue)
    if metric == 2:
        return sum(times.values())
    factors = [times[a.index] / (a.volume / alone(a)) for a in group + queue]
    return sum(factors) if metric == 1 else max(factors)


def by_posting(a: Any) -> tuple[int, int]:
    return (round(a.posted * 1e9), a.index)


def options(group: list[Any], queue: list[Any], newcomer: Any) -> Iterator[tuple[list[Any], list[Any]]]:
    """Wait, from the last place to the first; interfere; interrupt."""
    for place in range(len(queue), -1, -1):
        yield group, [*queue[:place], newcomer, *queue[place:]]
    yield [*group, newcomer], queue
    yield [newcomer], [*sorted(group, key=by_posting), *queue]


def decisions(scene: Any) -> tuple[list[Any], bool]:
    """The group of the plan, and whether a rounding error may have decided."""
    group = sorted((a for a in scene.active if a.rate > 0.0), key=by_posting)
    waiting = sorted((a for a in scene.active if a.rate <= 0.0), key=by_posting)
    if not group:
        group = [waiting.pop(0)]
    queue: list[Any] = []
    doubtful, round_numbers = False, scene.bandwidth in ROUND
    steps = [*waiting, None] if waiting and len(scene.active) > 2 else waiting
    for newcomer in steps:
        best, chosen = float("inf"), (group, queue)
        plans = options(group, queue, newcomer) if newcomer else [(group, queue), (list(scene.active), [])]
        for plan in plans:
            value = value_of(scene, *plan)
            gain = (best - value) / best if best < float("inf") else 1.0
            doubtful = doubtful or 0.5 * IMPROVEMENT < gain < 1.5 * IMPROVEMENT or (not round_numbers and abs(gain) < NOISE)
            if gain > IMPROVEMENT:
                best, chosen = value, plan
        group, queue = chosen
    return group, doubtful


def coordinating(scene: Any) -> dict[int, float]:
    group, _ = decisions(scene)
    return {a.index: 0.0 for a in scene.active} | shares(group, scene.bandwidth)


def interfering(scene: Any) -> dict[int, float]:
    return shares([replace(a, reach=0.0) for a in scene.active], scene.bandwidth)


def interrupting(scene: Any) -> dict[int, float]:
    newest = max(scene.active, key=lambda a: (round(a.posted * 1e9), -a.index))
    return {a.index: a.cap if a is newest else 0.0 for a in scene.active}
