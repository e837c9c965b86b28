"""A ledger of what applications may be using, kept by what passes between them and their coordinator.

It knows the protocol (docs/protocol.md) and nothing of the coordinator's own books. An application is known by its number,
over all its connections. It is sure of a rate as follows, and of nothing else:

- a higher grant counts from when the coordinator has sent it, a lower one from when the application has answered it;
- nothing counts of an operation that has ended, or of an application that was forgotten or has left;
- an application that was silent for a lease, or has moved nothing for a lease, may be forgotten, and need not be told;
- a lower grant must be answered within a lease. It may have been sent just before a connection ended, and never have come.
  So an application is sure of its rate for a lease after it was told to use less, or was cut off, and has not answered a
  grant since. After `join` it has a lease again, until three leases after that date at most;
- over a restart of the coordinator an application keeps what it was sure of for a lease.

The coordinator counts from its decision, which the ledger sees a little later: a coordinator stopped for up to half a lease
does not notice that. So of a lease that began before a connection ended, only the first half is sure.

The coordinator tells who is forgotten before it grants to others, but the two are read from different connections. So a sum
above B is wrong unless one of those in it turns out to be forgotten within `LATE` seconds.
"""

from __future__ import annotations

import json
import math
import threading
import time
from typing import Any, Final, NamedTuple

from penstock.live.protocol import Lines

LATE = 2.0
SURE: Final = 0.5
"""Leases of which an application is sure that was cut off."""
LATEST: Final = 2.0
"""Leases by which coming back puts that off, at most."""


class Application:
    """What one application may be using, in bytes/s."""

    def __init__(self) -> None:
        self.watch: Watch | None = None
        """Its latest connection."""
        self.clear()
        self.heard = 0.0
        """When a message of it was last passed on."""

    def clear(self) -> None:
        """It is sure of nothing now."""
        self.using = 0.0
        self.lower: list[tuple[int, float, float]] = []
        """Lower grants that it has not answered: their numbers, their rates, and when they came."""
        self.operation = 0
        self.moved = 0.0
        """Bytes that it has said it has moved."""
        self.progressed = math.inf
        """When it last said that it had moved more, or could begin to."""
        self.settle()

    def settle(self) -> None:
        """It keeps to all that it was told."""
        self.sure_until = self.latest = math.inf

    def sure_of_it_until(self, lease: float) -> float:
        """Until when it is sure of its rate, if it says nothing more."""
        return min(self.sure_until, self.progressed + lease)

    def doubt(self, since: float, lease: float) -> None:
        """It may have been told to use less at the date `since`, and not know."""
        self.sure_until = min(self.sure_until, since + SURE * lease)
        self.latest = min(self.latest, since + (SURE + LATEST) * lease)


class Sum(NamedTuple):
    """What applications were sure of at one date, by their numbers, in bytes/s; and until when."""

    date: float
    rates: dict[int, float]
    sure_until: dict[int, float]


class Ledger:
    """All applications of one coordinator.

    Args:
        bandwidth: B, in bytes/s.
        lease: The coordinator's lease, in seconds.
    """

    def __init__(self, bandwidth: float, lease: float) -> None:
        self._bandwidth = bandwidth
        self.lease = lease
        self.lock = threading.Lock()
        self._applications: dict[int, Application] = {}
        self.messages = 0
        self.checks = 0
        self._most = 0.0
        self._sums: list[Sum] = []
        """Those above B."""

    def wrong(self, lag: float) -> list[str]:
        """Sums above B. Who reads the connections was kept from running for `lag` seconds, so dates may be late by that."""
        found = [self._sure(one, lag) for one in self._sums]
        return [f"{sum(one.values())} bytes/s of {self._bandwidth}: {one}" for one in found if self._is_too_much(one)]

    def most(self, lag: float) -> float:
        """The largest sum, as a part of B."""
        return max([self._most, *(sum(self._sure(one, lag).values()) / self._bandwidth for one in self._sums)])

    def application(self, number: int) -> Application:
        """What is known of the application of that number. Call with the lock."""
        return self._applications.setdefault(number, Application())

    def check(self, now: float) -> None:
        """Add up what all are sure of. Call with the lock."""
        self.checks += 1
        for one in self._applications.values():
            if min(one.heard + self.lease, one.sure_of_it_until(self.lease)) < now:
                one.clear()
        using = {number: one for number, one in self._applications.items() if one.using > 0.0}
        rates = {number: one.using for number, one in using.items()}
        if self._is_too_much(rates):
            self._sums.append(Sum(now, rates, {number: one.sure_of_it_until(self.lease) for number, one in using.items()}))
        else:
            self._most = max(self._most, sum(rates.values()) / self._bandwidth)

    def forget(self, number: int, now: float) -> None:
        """The application was forgotten, before what was granted in the last `LATE` seconds. Call with the lock."""
        self.application(number).clear()
        for one in self._sums:
            if now - LATE < one.date:
                one.rates.pop(number, None)

    def killed(self, now: float) -> None:
        """The coordinator is killed, and its connections end."""
        with self.lock:
            self.check(now)
            for one in self._applications.values():
                one.watch = None

    def restarted(self, now: float) -> None:
        """It starts again at `now` or later, and nobody could be forgotten meanwhile: all leases begin anew."""
        with self.lock:
            for one in self._applications.values():
                one.heard, one.lower = now, []
                one.progressed = now if one.using > 0.0 else math.inf
                one.settle()

    @staticmethod
    def _sure(one: Sum, lag: float) -> dict[int, float]:
        return {number: rate for number, rate in one.rates.items() if one.date + lag <= one.sure_until[number]}

    def _is_too_much(self, rates: dict[int, float]) -> bool:
        return sum(rates.values()) > self._bandwidth * (1.0 + 1e-9)


class Watch:
    """One connection: reads what passes in both directions."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._up, self._down = Lines(), Lines()
        self._number = 0
        self._said_at = 0.0

    def said(self, data: bytes) -> None:
        """The application says this, and the coordinator will hear it now."""
        with self._ledger.lock:
            for line in self._up.feed(data):
                self._said(json.loads(line), time.monotonic())

    def told(self, data: bytes) -> None:
        """The coordinator has sent this; the application may not have it yet."""
        with self._ledger.lock:
            now = time.monotonic()
            for line in self._down.feed(data):
                self._told(json.loads(line), now)
            self._ledger.check(now)

    def ended(self) -> None:
        """The connection has ended."""
        with self._ledger.lock:
            one = self._ledger.application(self._number)
            if one.watch is self:
                one.watch = None
                one.doubt(one.lower[0][2] if one.lower else time.monotonic(), self._ledger.lease)

    def _said(self, message: dict[str, Any], now: float) -> None:
        self._ledger.messages += 1
        self._said_at = now
        kind = message["type"]
        if kind == "join":
            self._number = message["application"]
        if not self._number:
            return
        one = self._ledger.application(self._number)
        if one.heard + self._ledger.lease < now:
            one.clear()
        if kind == "join":
            self._join(one, message.get("operation", 0), now)
        if one.watch is self:  # the coordinator may still read what was said on an earlier connection, or not
            one.heard = now
        if kind in ("release", "leave") or (kind == "inform" and message["operation"] != one.operation):
            one.clear()
        if kind == "inform" and one.watch is self:
            one.operation = message["operation"]
        elif kind == "report" and one.watch is self and message["moved"] > one.moved:
            one.moved, one.progressed = message["moved"], now
        elif kind == "yielded":
            self._keeps(one, message["grant"])

    def _join(self, one: Application, operation: int, now: float) -> None:
        if one.watch is not None:  # it is cut off there
            one.doubt(one.lower[0][2] if one.lower else now, self._ledger.lease)
        if one.sure_until < now or one.operation != operation:
            one.clear()
        one.watch, one.operation = self, operation
        if one.sure_until < math.inf:
            one.sure_until = max(one.sure_until, min(now + self._ledger.lease, one.latest))

    def _keeps(self, one: Application, number: int) -> None:
        kept = [rate for lower, rate, _ in one.lower if lower <= number]
        if kept:
            one.using = kept[-1]
            one.lower = [entry for entry in one.lower if entry[1] < kept[-1]]
            if not one.lower:
                one.settle()

    def _told(self, message: dict[str, Any], now: float) -> None:
        self._ledger.messages += 1
        if message["type"] == "registered":
            self._number = message["application"]
            one = self._ledger.application(self._number)
            if one.watch is None:  # anew
                one.watch = self
            one.heard = max(one.heard, self._said_at)
        elif message["type"] == "forgotten":
            self._ledger.forget(self._number, now)
        elif message["type"] == "grant":
            one = self._ledger.application(self._number)
            if one.watch is self and message["operation"] == one.operation:
                self._granted(one, message, now)

    def _granted(self, one: Application, message: dict[str, Any], now: float) -> None:
        if message["rate"] < one.using:
            one.lower.append((message["number"], message["rate"], now))
            return
        if one.using <= 0.0 < message["rate"]:
            one.progressed = now
        one.using, one.lower = message["rate"], []
        one.settle()
