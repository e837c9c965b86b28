"""The columns of the active operations, and the compiled loops over them.

A decision is a handful of loops over some hundred operations. As array expressions each of them would cost more in calls
than in arithmetic: 10 µs instead of 1, and ten times that when the coordinator was at rest and its caches are cold.

The operations that are posted and not complete: the columns that policies see, kept up to date.

The same bookkeeping as the engine's slots: n operations occupy the places 0 … n − 1 of every column, the last one moves into
the place of one that leaves, and between two dates every transfer goes on at its rate. What is left is an estimate until
its application reports; it never falls to nothing before the application says that it is done.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Final, NamedTuple

import numpy as np
from numba import types

from penstock.engine.state import BANDWIDTH
from penstock.engine.transfers import CAP, PROGRESS, RATE, REMAINING, TRANSFERRING, TURN, VOLUME
from penstock.live.core import pending
from penstock.live.core.clients import NO_PLACE, Client
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import address, direct, inlined
from penstock.numeric.tolerances import LEAST_LEFT, RATE_SLACK, SAME_AMOUNT, TIME_GRAIN
from penstock.policies import view
from penstock.policies.policy import Policy
from penstock.policies.view import INTEGERS, RATES_SIGNATURE, View, view_at

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
LITTLE: Final = 0.25
"""A rate that changes by less than this part changes a little."""


def _move(floats: Floats, size: int, seconds: float) -> None:
    """Let every transfer go on at its rate for that long."""
    for place in range(size):
        rate, volume = floats[RATE, place], floats[VOLUME, place]
        if rate > 0.0:
            moved = rate * seconds
            floats[REMAINING, place] = max(floats[REMAINING, place] - moved, LEAST_LEFT * volume)
            floats[PROGRESS, place] = floats[DONE, place] + (volume - floats[REMAINING, place]) / floats[CAP, place]
            floats[TRANSFERRING, place] += seconds
            floats[ALLOWED, place] += moved


@inlined
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
        if not 0.0 <= target <= cap * (1.0 + RATE_SLACK):
            return False
        total += target
        floats[TARGET, place] = min(target, cap)
    return bool(total <= moment[BANDWIDTH] * (1.0 + RATE_SLACK))


@inlined
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
        if floats[TARGET, place] < floats[SENT, place] * (1.0 - SAME_AMOUNT):
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
        if floats[TARGET, place] > sent * (1.0 + SAME_AMOUNT) and floats[RATE, place] <= sent * (1.0 + SAME_AMOUNT):
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


@lru_cache
def _undiminished(size: int) -> Floats:
    """What is left of the link for 1, 2, … transfers: grants know of no loss."""
    whole = np.ones(size)
    whole.flags.writeable = False
    return whole


class PendingOperations:
    """The columns of the view, and the coordinator's own. `rate` is what the application may be using at present, `sent`
    what it was last granted, `target` what the policy wants it to have, all in bytes/s; `done` is its progress before the
    operation, in seconds, and `allowed` the bytes that its grants have allowed by now. `told` is when it was last granted
    anything, `round` what it moves between two chances to be paused, and `progressed` when it was last known to have moved
    something.
    """

    def __init__(self) -> None:
        self.owners: list[Client] = []
        """Whose operation is at each place."""
        self._loops = pending.loops()
        self._floats = np.zeros((len(FLOATS), 8))
        self._integers = np.zeros((len(INTEGERS), 8), np.int64)

    def column(self, name: str) -> Floats:
        """The column of that name, one entry an operation."""
        return self._floats[ROW[name], : len(self.owners)]

    @property
    def size(self) -> int:
        """How many operations there are."""
        return len(self.owners)

    @property
    def turn(self) -> Ints:
        """The operation's place in the planned order, −1 without one."""
        return self._integers[TURN, : self.size]

    def post(self, owner: Client, moved: float, **values: float) -> None:
        """Enter an operation of which so much is moved already; the other columns by name, 0 for those left out."""
        place = self.size
        if place == self._floats.shape[1]:
            self._floats = np.concatenate([self._floats, np.zeros_like(self._floats)], axis=1)
            self._integers = np.concatenate([self._integers, np.zeros_like(self._integers)], axis=1)
        owner.place = place
        self.owners.append(owner)
        values.update(posted=round(values["posted"] * TIME_GRAIN) / TIME_GRAIN, allowed=moved)
        self._floats[:, place] = [values.get(name, 0.0) for name in FLOATS]
        self._integers[:, place] = [values.get(name, 0) for name in INTEGERS]
        self.set_moved(place, moved)

    def remove(self, owner: Client) -> None:
        """Take the application's operation out; the last one moves into its place."""
        place = owner.place
        self.take_out(place)
        if place < self.size:
            self.owners[place].place = place
        owner.place = NO_PLACE

    def take_out(self, place: int) -> int:
        """Empty a place, of which no owner is told: the last operation moves into it; returns where that one was."""
        last = self.size - 1
        self._floats[:, place] = self._floats[:, last]
        self._integers[:, place] = self._integers[:, last]
        self.owners[place] = self.owners[last]
        self.owners.pop()
        return last

    def copy(self) -> PendingOperations:
        """The same operations, to look ahead with; their owners know nothing of it."""
        twin = PendingOperations()
        twin.owners = list(self.owners)
        twin._floats, twin._integers = self._floats.copy(), self._integers.copy()
        return twin

    def set_moved(self, place: int, moved: float) -> None:
        """So much of the volume is moved, says its application."""
        floats = self._floats
        volume = floats[VOLUME, place]
        remaining = max(LEAST_LEFT * volume, volume - moved)
        floats[REMAINING, place] = remaining
        floats[PROGRESS, place] = floats[DONE, place] + (volume - remaining) / floats[CAP, place]

    def overruns(self, place: int, moved: float) -> bool:
        """Whether this is more than its grants had allowed, and a round."""
        return bool(moved > pending.OVERRUN * self._floats[ALLOWED, place] + self._floats[pending.ROUND, place])

    def set_progressed(self, place: int, now: float) -> None:
        """It has moved something by then."""
        self._floats[PROGRESSED, place] = now

    def set_rate(self, place: int, rate: float) -> None:
        """So much it may be using."""
        self._floats[RATE, place] = rate

    def set_sent(self, place: int, rate: float, now: float) -> None:
        """So much it is granted."""
        self._floats[SENT, place] = rate
        self._floats[TOLD, place] = now

    def move(self, seconds: float) -> None:
        """Let every transfer go on at its rate for that long."""
        self._loops.move(self._floats, self.size, seconds)

    def stuck_from(self, now: float, lease: float) -> float:
        """When the first of the operations is one that hangs."""
        return self._loops.earliest_stuck(self._floats, self.size, now, lease)

    def stuck(self, now: float, lease: float) -> list[int]:
        """The places of those that do."""
        return [place for place in range(self.size) if pending.stuck_from(self._floats, place, now, lease) <= now]

    def ask(self, policy: Policy, moment: Floats) -> bool:
        """Have the policy write the targets; whether they are rates that caps and link can carry."""
        whole = _undiminished(self._floats.shape[1])
        return self._loops.ask(self._floats, self._integers, moment, whole, self.size, policy.compiled())

    def to_lower(self, now: float, calm: float) -> tuple[list[tuple[Client, float]], float]:
        """Who is to have less than it was sent, and how much; and the date from which on the first who is spared, as it was
        told something less than `calm` seconds ago and the change is little, is so no more.
        """
        count, due = self._loops.to_lower(self._floats, self._integers, self.size, now, calm)
        return [(self.owners[p], float(self._floats[TARGET, p])) for p in self._integers[ORDER, :count].tolist()], due

    def to_raise(self, now: float, calm: float) -> tuple[list[tuple[Client, float, float]], float, float]:
        """Who is to have more than it was sent, how much that was, and how much it is to be, the worst off first; the date
        as above; and what all may be using together.
        """
        count, due, total = self._loops.to_raise(self._floats, self._integers, self.size, now, calm)
        floats, places = self._floats, self._integers[ORDER, :count].tolist()
        return [(self.owners[p], float(floats[SENT, p]), float(floats[TARGET, p])) for p in places], due, total

    def view(self, moment: Floats) -> View:
        """What a policy is shown."""
        return view_at(self._floats, self._integers, moment, _undiminished(self.size), self.size, 0, self.size)
