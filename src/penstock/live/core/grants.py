"""From the rates a policy wants to the grants that are sent: what is in force never adds up to more than B.

A grant is in force from when it is sent until the application keeps to a lower one and says so. To take bandwidth from one
application and give it to another therefore takes two steps: the first is told, at its next round it yields, then the other
is granted what is free (003 §III.C: an application is authorised when those before it have released). While somebody is to
pause and has not yet, nobody new begins, as they are to take its place; the same holds in `penstock.engine.rounds`. Who
waits for others to slow down may begin with a part of what it is to have: an eighth at least, and twice what it has.

An application that was told a rate is spared small changes of it for some `calm` seconds: a client moves slices of 10 ms, so
that what it is told more often is told in vain. Where a hundred applications share, whoever comes or goes changes the rates
of all of them a little.

Who was heard of last, who owes a yield, and who is away: whatever ends by the passing of time.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from penstock.live.core.clients import Client
from penstock.live.core.pending import PendingOperations
from penstock.numeric.tolerances import SAME_AMOUNT

LEAST_PART: Final = 1 / 8
GROWTH: Final = 2.0


Send: TypeAlias = Callable[[Client, float], None]


def lower(active: PendingOperations, now: float, calm: float, send: Send) -> float:
    """Send the grants that are less than the last ones, but to who is spared; who has no connection cannot be told, and
    keeps what he has. Returns when the first is spared no more.
    """
    places, due = active.to_lower(now, calm)
    for owner, target in places:
        if owner.connected:
            send(owner, target)
    return due


def higher(active: PendingOperations, now: float, calm: float, bandwidth: float, send: Send) -> float:
    """Send the grants that are more than the last ones, but to who is spared, as far as there is bandwidth for them; the
    worst off come first. Returns when the first is spared no more.
    """
    places, due, in_force = active.to_raise(now, calm)
    free = max(0.0, bandwidth - in_force)
    for owner, has, wanted in places:
        given = min(wanted, has + free)
        is_whole = given >= wanted * (1.0 - SAME_AMOUNT)
        if owner.connected and (is_whole or given >= max(LEAST_PART * wanted, GROWTH * has)):
            send(owner, given)
            free -= given - has
    return due


class Leases:
    """Dates by application. A sign of life costs constant time; what is due is found in time of what is due and owed."""

    def __init__(self, lease: float, keep: float, keep_most: int) -> None:
        self.lease = lease
        self.keep = keep
        self.keep_most = keep_most
        self._heard: OrderedDict[int, Client] = OrderedDict()
        self._owing: dict[int, tuple[float, Client]] = {}
        self._away: OrderedDict[int, tuple[float, Client]] = OrderedDict()

    def alive(self, now: float, application: Client) -> None:
        """A sign of life; it is away no more."""
        application.heard = now
        self._heard[application.number] = application
        self._heard.move_to_end(application.number)
        self._away.pop(application.number, None)

    def owe(self, application: Client, deadline: float) -> None:
        """It must keep to a lower grant by then; an earlier debt stands."""
        self._owing.setdefault(application.number, (deadline, application))

    def settled(self, application: Client) -> None:
        """It owes nothing any more."""
        self._owing.pop(application.number, None)

    def away(self, now: float, application: Client) -> None:
        """It has lost its place; its books are kept for a while."""
        self._heard.pop(application.number, None)
        self.settled(application)
        self._away[application.number] = (now, application)

    def forget(self, application: Client) -> None:
        """It is gone for good."""
        for dates in (self._heard, self._owing, self._away):
            dates.pop(application.number, None)

    def silent(self, now: float) -> Iterator[Client]:
        """Those not heard of for a lease; the caller sends each away."""
        while self._heard:
            application = next(iter(self._heard.values()))
            if application.heard + self.lease > now:
                return
            yield application

    def late(self, now: float) -> list[Client]:
        """Those who owe a yield for too long."""
        return [application for deadline, application in self._owing.values() if deadline <= now]

    def outdated(self, now: float) -> Iterator[Client]:
        """Those away for too long, or too many; the caller forgets each."""
        while self._away:
            since, application = next(iter(self._away.values()))
            if since + self.keep > now and len(self._away) <= self.keep_most:
                return
            yield application

    def next_date(self) -> float:
        """When the next of these dates falls due."""
        silent = next(iter(self._heard.values())).heard + self.lease if self._heard else math.inf
        outdated = next(iter(self._away.values()))[0] + self.keep if self._away else math.inf
        return min(silent, outdated, min((deadline for deadline, _ in self._owing.values()), default=math.inf))
