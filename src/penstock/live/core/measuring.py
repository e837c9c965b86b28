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
"""

from __future__ import annotations

import math
from collections import deque
from typing import Final, NamedTuple

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
