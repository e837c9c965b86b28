"""A ledger of what applications may be using, kept by what passes between them and their coordinator.

It knows nothing of the coordinator's own books. A higher grant counts from when the coordinator has sent it, a lower one
from when the application has answered it. Nothing counts of an operation that has ended, of an application that was
forgotten or has left, and of one that was silent for a lease, until it is granted a rate again. An application is known by
its number, over all its connections.

The coordinator tells who is forgotten before it grants to others, but the two are read from different connections. So a sum
above B is wrong unless one of those in it turns out to be forgotten within `LATE` seconds.
"""

from __future__ import annotations

import json
import threading
import time
from typing import Any

from penstock.live.protocol import Lines

LATE = 2.0


class Application:
    """What one application may be using, in bytes/s."""

    def __init__(self) -> None:
        self.using = 0.0
        self.lower: list[tuple[int, float]] = []
        """Numbers and rates of lower grants that it has not answered."""
        self.operation = 0
        self.heard = 0.0
        """When a message of it was last passed on."""

    def clear(self) -> None:
        """It may use nothing now."""
        self.using, self.lower, self.operation = 0.0, [], 0


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
        self._most = 0.0
        self._sums: list[tuple[float, dict[int, float]]] = []
        """When and to whom more than B was granted."""

    @property
    def wrong(self) -> list[str]:
        """Sums above B."""
        with self.lock:
            found = [rates for _, rates in self._sums if self._is_too_much(rates)]
        return [f"{sum(rates.values())} bytes/s are granted of {self._bandwidth}: {rates}" for rates in found]

    @property
    def most(self) -> float:
        """The most that was ever granted, as a part of B."""
        with self.lock:
            return max([self._most, *(sum(rates.values()) / self._bandwidth for _, rates in self._sums)])

    def application(self, number: int) -> Application:
        """What is known of the application of that number. Call with the lock."""
        return self._applications.setdefault(number, Application())

    def check(self, now: float) -> None:
        """Add up what all may be using; those silent for a lease may use nothing. Call with the lock."""
        for one in self._applications.values():
            if one.heard + self.lease < now:
                one.clear()
        rates = {number: one.using for number, one in self._applications.items() if one.using > 0.0}
        if self._is_too_much(rates):
            self._sums.append((now, rates))
        else:
            self._most = max(self._most, sum(rates.values()) / self._bandwidth)

    def forget(self, number: int, now: float) -> None:
        """The application was forgotten, before what was granted in the last `LATE` seconds. Call with the lock."""
        self.application(number).clear()
        for date, rates in self._sums:
            if now - LATE < date:
                rates.pop(number, None)

    def _is_too_much(self, rates: dict[int, float]) -> bool:
        return sum(rates.values()) > self._bandwidth * (1.0 + 1e-9)


class Watch:
    """One connection: reads what passes in both directions."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._up, self._down = Lines(), Lines()
        self._number = 0
        self._posted = 0
        """The latest operation that was announced on this connection."""
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
        """The connection has ended. Of a lower grant without an answer, the date by which it must come is not known here."""
        with self._ledger.lock:
            one = self._ledger.application(self._number)
            if one.lower:
                one.using, one.lower = one.lower[-1][1], []

    def _said(self, message: dict[str, Any], now: float) -> None:
        self._ledger.messages += 1
        self._said_at = now
        if message["type"] == "join":
            self._number = message["application"]
        if not self._number:
            return
        kind, one = message["type"], self._ledger.application(self._number)
        if kind in ("release", "leave"):
            self._posted = 0  # a grant of it may be on its way; the application ignores it
        is_over = kind == "join" and one.operation != message.get("operation", 0)
        if is_over or kind in ("release", "leave") or one.heard + self._ledger.lease < now:
            one.clear()
        one.heard = now
        if kind == "inform":
            self._posted = message["operation"]
            if self._posted != one.operation:
                one.clear()
                one.operation = self._posted
        elif kind == "yielded":
            kept = [rate for number, rate in one.lower if number <= message["grant"]]
            if kept:
                one.using = kept[-1]
                one.lower = [(number, rate) for number, rate in one.lower if rate < kept[-1]]

    def _told(self, message: dict[str, Any], now: float) -> None:
        self._ledger.messages += 1
        if message["type"] == "registered":
            self._number = message["application"]
            one = self._ledger.application(self._number)
            one.heard = max(one.heard, self._said_at)
        elif message["type"] == "forgotten":
            self._ledger.forget(self._number, now)
        elif message["type"] == "grant" and message["operation"] == self._posted:
            one = self._ledger.application(self._number)
            one.operation = self._posted
            if message["rate"] < one.using:
                one.lower.append((message["number"], message["rate"]))
            else:
                one.using, one.lower = message["rate"], []
