"""Who was heard of last, who owes a yield, and who is away: whatever ends by the passing of time."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator

from penstock.coordinator.application import Application


class Leases:
    """Dates by application. A sign of life costs constant time; what is due is found in time of what is due and owed."""

    def __init__(self, lease: float, keep: float, keep_most: int) -> None:
        self.lease = lease
        self.keep = keep
        self.keep_most = keep_most
        self._heard: OrderedDict[int, Application] = OrderedDict()
        self._owing: dict[int, tuple[float, Application]] = {}
        self._away: OrderedDict[int, tuple[float, Application]] = OrderedDict()

    def alive(self, now: float, application: Application) -> None:
        """A sign of life; it is away no more."""
        application.heard = now
        self._heard[application.number] = application
        self._heard.move_to_end(application.number)
        self._away.pop(application.number, None)

    def owe(self, application: Application, deadline: float) -> None:
        """It must keep to a lower grant by then; an earlier debt stands."""
        self._owing.setdefault(application.number, (deadline, application))

    def settled(self, application: Application) -> None:
        """It owes nothing any more."""
        self._owing.pop(application.number, None)

    def away(self, now: float, application: Application) -> None:
        """It has lost its place; its books are kept for a while."""
        self._heard.pop(application.number, None)
        self.settled(application)
        self._away[application.number] = (now, application)

    def forget(self, application: Application) -> None:
        """It is gone for good."""
        for dates in (self._heard, self._owing, self._away):
            dates.pop(application.number, None)

    def silent(self, now: float) -> Iterator[Application]:
        """Those not heard of for a lease; the caller sends each away."""
        while self._heard:
            application = next(iter(self._heard.values()))
            if application.heard + self.lease > now:
                return
            yield application

    def late(self, now: float) -> list[Application]:
        """Those who owe a yield for too long."""
        return [application for deadline, application in self._owing.values() if deadline <= now]

    def outdated(self, now: float) -> Iterator[Application]:
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
