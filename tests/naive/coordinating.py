"""The strategies of 003 in plain Python: every plan written down as two lists, every option simulated on its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

IMPROVEMENT = 1e-12
NOISE = 1e-9
"""Where an operation of 0.001 s waits for one of 100 s, its time is known to no more than this part of it."""
ROUND = (1.0, 2.0, 4.0, 10.0)
"""Bandwidths with which all numbers are round, and ties are ties to the last bit."""


def shares(active: list[Any], bandwidth: float) -> dict[int, float]:
    """In proportion to nodes; who cannot use that has its cap, and the rest is shared again."""
    rates: dict[int, float] = {}
    left, others = bandwidth, list(active)
    while others:
        level = left / sum(a.nodes for a in others)
        limited = [a for a in others if a.cap <= level * a.nodes]
        if not limited:
            return rates | {a.index: level * a.nodes for a in others}
        for a in limited:
            rates[a.index] = a.cap
            left -= a.cap
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
    """When everyone's operation ends: the group shares the link, then the queue has it one by one."""
    now, left, ends = 0.0, {a.index: a.remaining for a in group}, {}
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
        now += a.remaining / a.cap
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
    factors = [times[a.index] / (a.volume / a.cap) for a in group + queue]
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
    for newcomer in waiting:
        best, chosen = float("inf"), (group, queue)
        for plan in options(group, queue, newcomer):
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
    return shares(scene.active, scene.bandwidth)


def interrupting(scene: Any) -> dict[int, float]:
    newest = max(scene.active, key=lambda a: (round(a.posted * 1e9), -a.index))
    return {a.index: a.cap if a is newest else 0.0 for a in scene.active}
