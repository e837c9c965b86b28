"""What clients reach of what they are granted.

A client may reach less than its grant: it computes between two writes, its node is slow, or the I/O system carries less
than B. The coordinator learns that from its reports. A sample covers at least `SAMPLE_SECONDS` with a grant; it has the
bytes that grants allowed and the bytes that the client moved. If the client moved `NEARLY_ALL` or more of what was allowed,
the sample does not tell what the client could reach. Otherwise the sample is a low one, and the median of the last low
samples is the rate that the client *reaches*. Between two reports the coordinator estimates the operation at that rate.
Policies that predict see `reach`, which is `ROOM` times that rate, so that the coordinator notices when the client becomes
faster. When a client is granted `reach` and uses it, `reach` becomes twice the grant; at the client's cap it is dropped.

A report that changes `reach` by a factor of `ROOM`, or that differs from the estimate by more than `SURPRISE` of the
operation's volume, calls for a new decision. What is learned of a client holds for its later operations, but not after a
restart.
"""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Final

from penstock.live.core.pending import PendingOperations
from penstock.live.core.registry import NO_PLACE, Client, Registry

SAMPLE_SECONDS: Final = 0.2
"""Seconds with a grant that a sample covers at least: two reports of the client, or a round."""
SAMPLES: Final = 3
"""Number of samples in the median, so that one stall or one burst has no effect."""
NEARLY_ALL: Final = 0.9
"""A client that moves this part of what it is allowed reaches its grant; pacing by slices loses some per cent."""
ROOM: Final = 1.25
"""Policies that predict see so many times what a client has reached."""
SURPRISE: Final = 0.1
"""Part of an operation's volume: a report that is off the estimate by more calls for a new decision."""


class Learned:
    """What is known of one client: volumes in bytes, rates in bytes/s."""

    __slots__ = ("allowed", "bytes", "known_allowed", "known_moved", "known_seconds", "rates", "reach", "reached", "seconds")

    def __init__(self) -> None:
        self.known_moved = self.known_allowed = self.known_seconds = 0.0
        """Moved, allowed and seconds with a grant at the last report of the pending operation."""
        self.bytes = self.allowed = self.seconds = 0.0
        """The same since the last sample."""
        self.rates: deque[float] = deque(maxlen=SAMPLES)
        self.reached = 0.0
        """What it reaches; 0 if it reaches its grants."""
        self.reach = 0.0
        """What policies count with; 0 for its cap."""

    def sample(self, cap: float) -> None:
        """Learn from what was moved since the last sample."""
        rate, granted = self.bytes / self.seconds, self.allowed / self.seconds
        self.bytes = self.allowed = self.seconds = 0.0
        if rate < NEARLY_ALL * granted:
            self.rates.append(rate)
            self.reached = median(self.rates)
            self.reach = ROOM * self.reached
        elif self.reach > 0.0 and granted >= NEARLY_ALL * self.reach:
            self.rates.clear()
            self.reached = self.reach = max(self.reach, 2.0 * granted)
        if self.reach >= cap:
            self.reached = self.reach = 0.0


class Reached:
    """Follows the reports of all clients.

    Args:
        registry: The clients.
        pending: Has what grants allowed, and takes what is learned.
    """

    def __init__(self, registry: Registry, pending: PendingOperations) -> None:
        self._registry = registry
        self._pending = pending
        self._learned: dict[int, Learned] = {}

    def begin(self, client: Client) -> None:
        """The client has announced an operation, or has announced it again; what is known of the client holds for it."""
        if client.place == NO_PLACE:
            return
        learned = self._learned.get(client.number)
        if learned is None:
            self._forget_gone()
            learned = self._learned[client.number] = Learned()
        volume, remaining, learned.known_allowed, learned.known_seconds = self._pending.account(client.place)
        learned.known_moved = volume - remaining
        self._pending.set_reach(client.place, learned.reached, learned.reach)

    def heard(self, client: Client, moved: float) -> tuple[float, float]:
        """The client has moved so many bytes of its operation, at the present date; call this before they are booked.

        Returns:
            Bytes that it has moved, and was allowed to move, since its last report. If the picture has changed, the
            pending operations are marked as changed.
        """
        place, pending = client.place, self._pending
        if place == NO_PLACE:
            return 0.0, 0.0
        learned = self._learned.get(client.number)
        if learned is None:  # out of a journal
            self.begin(client)
            learned = self._learned[client.number]
        volume, remaining, allowed, seconds = pending.account(place)
        more, more_allowed = moved - learned.known_moved, allowed - learned.known_allowed
        learned.bytes += more
        learned.allowed += more_allowed
        learned.seconds += seconds - learned.known_seconds
        learned.known_moved, learned.known_allowed, learned.known_seconds = moved, allowed, seconds
        if abs(volume - remaining - moved) > SURPRISE * volume:
            pending.changed = True
        if learned.seconds >= SAMPLE_SECONDS and learned.bytes > 0.0 and learned.allowed > 0.0:
            self._sample(client, learned)
        return more, more_allowed

    def _sample(self, client: Client, learned: Learned) -> None:
        """Learn from a sample; whether the picture has changed is noted."""
        before = learned.reach
        learned.sample(client.usable)
        if learned.reach != before:
            self._pending.set_reach(client.place, learned.reached, learned.reach)
            if not 1.0 / ROOM < (learned.reach or client.usable) / (before or client.usable) < ROOM:
                self._pending.changed = True

    def _forget_gone(self) -> None:
        """Where half of what is known is of clients that are gone, drop that."""
        known = self._registry.clients
        if len(self._learned) > 2 * len(known):
            self._learned = {number: learned for number, learned in self._learned.items() if number in known}
