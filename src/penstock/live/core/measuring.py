"""What all clients together reach: whether B is set too high, and B itself where it is to be measured.

Reports are added up over windows of `WINDOW_SECONDS`: bytes moved, and bytes that grants allowed. A window in which clients
move less than `FAR_LESS` of what they are allowed says that they reach far less than they are granted; after `WARN_SECONDS`
of such windows there is a warning.

B is measured (``--bandwidth auto``) in windows in which the link is full: `FULL` of B is granted. There

- if clients move at least `ALL` of what they are allowed, B may be higher. B is raised by `GROWTH`, and by twice as much
  after each raise that clients could use. If they cannot use a raise, the next window takes it back, and the wait before
  the next attempt doubles.
- otherwise the window is low, and B becomes the `QUANTILE` of what clients reached in the last `WINDOWS` low windows, once
  there are `LEAST_WINDOWS`. The quantile is high because a window may be low for other reasons, but never too high. A raise
  that clients could use clears these windows. B is never lower than a floor.

If no first value is given, the first window counts even if the link is not full, and sets B.

What clients reach of what they are granted.

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

import math
from collections import deque
from typing import Final, NamedTuple

from penstock.live.core.clients import NO_PLACE, Client, Registry
from penstock.live.core.pending import PendingOperations

WINDOW_SECONDS: Final = 2.0
"""Long against a tenth of a second, in which a client reports."""
FAR_LESS: Final = 0.5
WARN_SECONDS: Final = 10.0
FULL: Final = 0.8
ALL: Final = 0.95
GROWTH: Final = 0.1
MOST_GROWTH: Final = 1.0
LONGEST_REST: Final = 32
"""Most windows between two attempts to raise B."""
QUANTILE: Final = 0.9
WINDOWS: Final = 32
LEAST_WINDOWS: Final = 5
SMALL_CHANGE: Final = 0.02
"""Part of B: smaller changes are ignored."""
UNLIMITED: Final = 1e12
"""Bytes/s: B before anything is measured, more than any client uses."""
FLOOR: Final = 1e6
"""Bytes/s: a measured B is never lower."""


class ReachWindow(NamedTuple):
    """A window: its seconds, and the bytes that were moved and allowed in it."""

    seconds: float
    moved: float
    allowed: float


class ReachMeter:
    """Adds up what clients reach, and warns when that is far less than they are granted."""

    def __init__(self) -> None:
        self.warning: str | None = None
        """What is wrong, if something is."""
        self._begin = math.inf
        self._moved = self._allowed = 0.0
        self._low_seconds = 0.0

    def heard(self, now: float, moved: float, allowed: float) -> ReachWindow | None:
        """A client has moved `moved` bytes more, and was allowed `allowed`; the window that ends now, if one does."""
        if self._begin == math.inf:  # these were moved before the first window
            self._begin = now
            return None
        self._moved += moved
        self._allowed += allowed
        seconds = now - self._begin
        if seconds < WINDOW_SECONDS:
            return None
        window = ReachWindow(seconds, self._moved, self._allowed)
        self._begin, self._moved, self._allowed = now, 0.0, 0.0
        if seconds > 2.0 * WINDOW_SECONDS or not window.allowed > 0.0:
            return None  # nobody was there for a while
        self._watch(window)
        return window

    def _watch(self, window: ReachWindow) -> None:
        if window.moved >= FAR_LESS * window.allowed:
            self._low_seconds, self.warning = 0.0, None
            return
        self._low_seconds += window.seconds
        if self._low_seconds >= WARN_SECONDS:
            reached, granted = window.moved / window.seconds, window.allowed / window.seconds
            self.warning = (
                f"applications reach {reached:.3g} of the {granted:.3g} bytes/s that they are granted,"
                f" for {self._low_seconds:.0f} s; expected a lower --bandwidth, or auto"
            )


class MeasuredBandwidth:
    """B as it is measured.

    Args:
        first: B at the start, in bytes/s; None if unknown, then nobody is held back until something is measured.
        floor: B is never lower, in bytes/s.
    """

    def __init__(self, first: float | None, floor: float = FLOOR) -> None:
        self.bandwidth = UNLIMITED if first is None else max(first, floor)
        self._floor = floor
        self._known = first is not None
        self._reached: deque[float] = deque(maxlen=WINDOWS)
        self._growth = GROWTH
        self._before: float | None = None
        """B before the raise that is being tried."""
        self._rest = self._resting = 1

    def learn(self, window: ReachWindow) -> bool:
        """Learn from a window; whether B has changed."""
        if self._known and window.allowed < FULL * self.bandwidth * window.seconds:
            return False
        before = self.bandwidth
        if window.moved >= ALL * window.allowed and self._known:
            self._raise()
        else:
            self._lower(window.moved / window.seconds)
        self._known = True
        if abs(self.bandwidth - before) < SMALL_CHANGE * before:
            self.bandwidth = before
        return self.bandwidth != before

    def _raise(self) -> None:
        if self._before is not None:  # the last raise was used
            self._reached.clear()
            self._growth, self._rest, self._resting = min(MOST_GROWTH, 2.0 * self._growth), 1, 1
        self._resting -= 1
        if self._resting <= 0:
            self._before = self.bandwidth
            self.bandwidth *= 1.0 + self._growth

    def _lower(self, reached: float) -> None:
        if self._before is not None:  # nobody could use the last raise
            self.bandwidth = self._before
            self._growth, self._rest = GROWTH, min(LONGEST_REST, 2 * self._rest)
            self._resting, self._before = self._rest, None
        self._reached.append(reached)
        if len(self._reached) >= LEAST_WINDOWS or not self._known:
            ordered = sorted(self._reached)
            self.bandwidth = max(self._floor, ordered[math.ceil(QUANTILE * len(ordered)) - 1])


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
        """Learn from what was moved since the last sample, of a client with this `cap` in bytes/s."""
        rate, granted = self.bytes / self.seconds, self.allowed / self.seconds
        self.bytes = self.allowed = self.seconds = 0.0
        if rate < NEARLY_ALL * granted:
            self.rates.append(rate)
            ordered = sorted(self.rates)
            self.reached = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2.0
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

    def begin(self, client: Client, *, is_new: bool = False) -> None:
        """The client has announced an operation, or has announced it again; what is known of the client holds for it.

        `is_new` says that the operation has just entered; if nothing of it is moved, its account needs no look.
        """
        if client.place == NO_PLACE:
            return
        learned = self._learned.get(client.number)
        if learned is None:
            self._forget_gone()
            learned = self._learned[client.number] = Learned()
        if is_new and client.operation is not None and client.operation.moved == 0.0:
            learned.known_moved = learned.known_allowed = 0.0
            learned.known_seconds = client.transfer_seconds
        else:
            volume, remaining, learned.known_allowed, learned.known_seconds = self._pending.account(client.place)
            learned.known_moved = volume - remaining
        if learned.reach > 0.0:  # else the operation has entered so
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
