"""Keeps a transfer to its rate: a token bucket, kept as the date from which the next byte is due.

Data go in slices of `SLICE` seconds at the rate. A slice of n bytes moves the date by n / rate; whoever is late may make up
for at most `SLACK` seconds. So in any time t no more than rate·(t + SLICE + SLACK) is moved (rate·t + one page and that of
`SLACK`, where a slice is less than a page): 3 % over the rate in a second.
"""

from __future__ import annotations

import math
from typing import Final

SLICE: Final = 0.01
SLACK: Final = 0.02
PAGE: Final = 4096
LONGEST: Final = 1e9
"""Seconds; a rate near 0 puts the date no farther off, so that it stays a number."""


def slice_bytes(rate: float) -> int:
    """How much is moved at once at this rate: whole pages, at least one."""
    return max(PAGE, int(rate * SLICE) // PAGE * PAGE)


class Pacer:
    """The date `due` from which on the next byte may be moved, for one application."""

    __slots__ = ("due", "rate")

    def __init__(self) -> None:
        self.rate = math.inf
        self.due = -math.inf

    def set(self, rate: float, now: float) -> None:
        """A new rate, for what comes. What is owed is paid in the time it had, or sooner where the rate is higher."""
        if self.due > now:
            self.due = now if math.isinf(rate) else now + (self.due - now) * min(1.0, self.rate / rate)
        self.rate = rate

    def moved(self, count: int, begun: float) -> None:
        """A slice that began at this date has moved so many bytes."""
        if self.rate != math.inf:
            self.due = max(self.due, begun - SLACK) + min(LONGEST, count / self.rate)
