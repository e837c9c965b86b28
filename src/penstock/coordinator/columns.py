"""The columns of the active operations, and the compiled loops over them.

A decision is a handful of loops over some hundred operations. As array expressions each of them would cost more in calls
than in arithmetic: 10 µs instead of 1, and ten times that when the coordinator was at rest and its caches are cold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numba import types

from penstock.engine.slots import CAP, PROGRESS, RATE, REMAINING, TRANSFERRING, VOLUME
from penstock.engine.state import BANDWIDTH
from penstock.engine.terms import SLACK
from penstock.policies import view
from penstock.policies.compiled import address, direct, helper
from penstock.policies.policy import Policy
from penstock.policies.view import RATES_SIGNATURE, Floats, Ints

OWN: Final = ("done", "sent", "told", "allowed", "round", "progressed")
"""Rows of the coordinator behind those of the view and the one that policies write rates to, its `target`."""
FLOATS: Final = (*view.FLOATS, "target", *OWN)
"""Names of the rows of numbers; those of whole numbers are the view's."""
ROW: Final = {name: row for row, name in enumerate(FLOATS)}
TARGET: Final = view.GIVEN
DONE, SENT, TOLD, ALLOWED, ROUND, PROGRESSED = (ROW[name] for name in OWN)
SCRATCH: Final = view.ROW["scratch"]
ORDER: Final = view.ROW["order"]

OVERRUN: Final = 1.05
"""An application that has moved more than this times what its grants allowed, and a round, has overrun."""
LEAST: Final = 1e-9
"""The part of its volume that an operation which is not released is shown to have left at least."""
EQUAL: Final = 1e-12
"""Rates that differ by no more than this part are the same."""
LITTLE: Final = 0.25
"""A rate that changes by less than this part changes a little."""


def _move(floats: Floats, size: int, seconds: float) -> None:
    """Let every transfer go on at its rate for that long."""
    for place in range(size):
        rate, volume = floats[RATE, place], floats[VOLUME, place]
        if rate > 0.0:
            moved = rate * seconds
            floats[REMAINING, place] = max(floats[REMAINING, place] - moved, LEAST * volume)
            floats[PROGRESS, place] = floats[DONE, place] + (volume - floats[REMAINING, place]) / floats[CAP, place]
            floats[TRANSFERRING, place] += seconds
            floats[ALLOWED, place] += moved


@helper
def stuck_from(floats: Floats, place: int, now: float, lease: float) -> float:
    """From when on the operation is one that hangs: its grants have allowed all of it and more, and a lease and the time of
    a round have passed since it last moved.
    """
    rate, a_round = floats[RATE, place], floats[ROUND, place]
    if not rate > 0.0:
        return math.inf
    allowed = (OVERRUN * floats[VOLUME, place] + a_round - floats[ALLOWED, place]) / rate
    return float(max(now + allowed, floats[PROGRESSED, place] + lease + a_round / rate))


def _earliest_stuck(floats: Floats, size: int, now: float, lease: float) -> float:
    """When the first of the operations is one that hangs."""
    earliest = math.inf
    for place in range(size):
        earliest = min(earliest, stuck_from(floats, place, now, lease))
    return earliest


def _ask(
    floats: Floats, integers: Ints, moment: Floats, degradation: Floats, size: int, policy: Callable[..., None]
) -> bool:
    """Have the policy write the targets, no higher than the caps; whether they are rates that caps and link can carry."""
    for place in range(size):
        floats[TARGET, place] = math.nan
    policy(address(floats), address(integers), address(moment), address(degradation), floats.shape[1], 0, size)
    total = 0.0
    for place in range(size):
        target, cap = floats[TARGET, place], floats[CAP, place]
        if not 0.0 <= target <= cap * (1.0 + SLACK):
            return False
        total += target
        floats[TARGET, place] = min(target, cap)
    return bool(total <= moment[BANDWIDTH] * (1.0 + SLACK))


@helper
def spared_until(floats: Floats, place: int, calm: float) -> float:
    """The date until which the operation need not be told: `calm` seconds after it was last told something, where its rate
    is to change a little.
    """
    sent = floats[SENT, place]
    little = abs(floats[TARGET, place] - sent) < LITTLE * sent
    return float(floats[TOLD, place]) + calm if little else -math.inf


def _to_lower(floats: Floats, integers: Ints, size: int, now: float, calm: float) -> tuple[int, float]:
    """Put into the row ORDER those that are to have less than they were sent, but who is spared; how many, and when that
    ends.
    """
    count, due = 0, math.inf
    for place in range(size):
        if floats[TARGET, place] < floats[SENT, place] * (1.0 - EQUAL):
            date = spared_until(floats, place, calm)
            if date > now:
                due = min(due, date)
            else:
                integers[ORDER, count] = place
                count += 1
    return count, due


def _to_raise(floats: Floats, integers: Ints, size: int, now: float, calm: float) -> tuple[int, float, float]:
    """Put into the row ORDER those that are to have more than they were sent, and keep to that, those that have the smallest
    part of it first, but who is spared. How many, when that ends, and the sum of all rates.
    """
    count, due, total = 0, math.inf, 0.0
    pausing = False
    for place in range(size):
        total += floats[RATE, place]
        pausing = pausing or (floats[TARGET, place] <= 0.0 < floats[RATE, place])
    for place in range(size):
        sent = floats[SENT, place]
        if floats[TARGET, place] > sent * (1.0 + EQUAL) and floats[RATE, place] <= sent * (1.0 + EQUAL):
            date = spared_until(floats, place, calm)
            if date > now:
                due = min(due, date)
            elif sent > 0.0 or not pausing:  # else it is to take the place of one that pauses
                floats[SCRATCH, count] = sent / floats[TARGET, place]
                integers[ORDER, count] = place
                count += 1
    order = np.argsort(floats[SCRATCH, :count], kind="mergesort")
    integers[ORDER, :count] = integers[ORDER, :count][order]
    return count, due, total


class Loops(NamedTuple):
    """The loops, compiled; their arguments are as above."""

    move: Callable[[Floats, int, float], None]
    earliest_stuck: Callable[[Floats, int, float, float], float]
    ask: Callable[..., bool]
    to_lower: Callable[[Floats, Ints, int, float, float], tuple[int, float]]
    to_raise: Callable[[Floats, Ints, int, float, float], tuple[int, float, float]]


@cache
def loops() -> Loops:
    """Compile them, or load them from the cache."""
    floats, integers, size, number = types.float64[:, ::1], types.int64[:, ::1], types.int64, types.float64
    column, policy = number[::1], types.FunctionType(RATES_SIGNATURE)
    what = "the coordinator's loops"
    return Loops(
        direct(_move, types.void(floats, size, number), what),
        direct(_earliest_stuck, number(floats, size, number, number), what),
        direct(_ask, types.boolean(floats, integers, column, column, size, policy), what),
        direct(_to_lower, types.Tuple((size, number))(floats, integers, size, number, number), what),
        direct(_to_raise, types.Tuple((size, number, number))(floats, integers, size, number, number), what),
    )


def prepare(policy: Policy) -> None:
    """Compile or load what asking it takes, so that the first question is answered as fast as the others."""
    loops()
    policy.compiled()
