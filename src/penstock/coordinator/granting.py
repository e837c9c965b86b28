"""From the rates a policy wants to the grants that are sent: what is in force never adds up to more than B.

A grant is in force from when it is sent until the application keeps to a lower one and says so. To take bandwidth from one
application and give it to another therefore takes two steps: the first is told, at its next round it yields, then the other
is granted what is free (003 §III.C: an application is authorised when those before it have released). While somebody is to
pause and has not yet, nobody new begins, as they are to take its place; the same holds in `penstock.engine.rounds`. Who
waits for others to slow down may begin with a part of what it is to have: an eighth at least, and twice what it has.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from penstock.coordinator.active import Active
from penstock.coordinator.application import Application

EQUAL: Final = 1e-12
"""Rates that differ by no more than this part are the same."""
LEAST_PART: Final = 1 / 8
GROWTH: Final = 2.0


Send: TypeAlias = Callable[[Application, float], None]


def lower(active: Active, send: Send) -> None:
    """Send every grant that is less than the last one; who has no connection cannot be told, and keeps what he has."""
    target, sent = active.column("target"), active.column("sent")
    for place in np.flatnonzero(target < sent * (1.0 - EQUAL)):
        if active.owners[place].connected:
            send(active.owners[place], float(target[place]))


def higher(active: Active, bandwidth: float, send: Send) -> None:
    """Send the grants that are more than the last ones, as far as there is bandwidth for them; the worst off come first."""
    target, sent, rate = active.column("target"), active.column("sent"), active.column("rate")
    wanting = (target > sent * (1.0 + EQUAL)) & (rate <= sent * (1.0 + EQUAL))
    if bool(((target <= 0.0) & (rate > 0.0)).any()):
        wanting &= sent > 0.0  # who is to take the place of one that pauses
    places = np.flatnonzero(wanting)
    if len(places) == 0:
        return
    free = max(0.0, bandwidth - float(rate.sum()))
    for place in places[np.argsort(sent[places] / target[places], kind="stable")]:
        wanted, has = float(target[place]), float(sent[place])
        given = min(wanted, has + free)
        is_whole = given >= wanted * (1.0 - EQUAL)
        if active.owners[place].connected and (is_whole or given >= max(LEAST_PART * wanted, GROWTH * has)):
            send(active.owners[place], given)
            free -= given - has
