"""From the rates a policy wants to the grants that are sent: what is in force never adds up to more than B.

A grant is in force from when it is sent until the application keeps to a lower one and says so. To take bandwidth from one
application and give it to another therefore takes two steps: the first is told, at its next round it yields, then the other
is granted what is free (003 §III.C: an application is authorised when those before it have released). While somebody is to
pause and has not yet, nobody new begins, as they are to take its place; the same holds in `penstock.engine.rounds`. Who
waits for others to slow down may begin with a part of what it is to have: an eighth at least, and twice what it has.

An application that was told a rate is spared small changes of it for some `calm` seconds: a client moves slices of 10 ms, so
that what it is told more often is told in vain. Where a hundred applications share, whoever comes or goes changes the rates
of all of them a little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from penstock.coordinator.active import Active
from penstock.coordinator.application import Application
from penstock.coordinator.columns import EQUAL

LEAST_PART: Final = 1 / 8
GROWTH: Final = 2.0


Send: TypeAlias = Callable[[Application, float], None]


def lower(active: Active, now: float, calm: float, send: Send) -> float:
    """Send the grants that are less than the last ones, but to who is spared; who has no connection cannot be told, and
    keeps what he has. Returns when the first is spared no more.
    """
    places, due = active.to_lower(now, calm)
    for owner, target in places:
        if owner.connected:
            send(owner, target)
    return due


def higher(active: Active, now: float, calm: float, bandwidth: float, send: Send) -> float:
    """Send the grants that are more than the last ones, but to who is spared, as far as there is bandwidth for them; the
    worst off come first. Returns when the first is spared no more.
    """
    places, due, in_force = active.to_raise(now, calm)
    free = max(0.0, bandwidth - in_force)
    for owner, has, wanted in places:
        given = min(wanted, has + free)
        is_whole = given >= wanted * (1.0 - EQUAL)
        if owner.connected and (is_whole or given >= max(LEAST_PART * wanted, GROWTH * has)):
            send(owner, given)
            free -= given - has
    return due
