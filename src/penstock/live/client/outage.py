"""Whether the coordinator can be relied on, and for how long an application waits to know.

The coordinator is *doubted* from the moment it owes a sign of life or the connection is lost, until the application is in
step with it again: registered and, if an operation is under way, answered. Doubt of `patience` seconds is an outage: the
application goes on uncoordinated and says so, once. Whoever is refused need not wait.
"""

from __future__ import annotations

import logging
import math
from typing import Final

HICCUP: Final = 0.5
"""Seconds of silence on a connection that are no outage yet, whatever the patience."""
DEAD: Final = 5.0
"""Seconds of silence, at least, after which a connection is given up."""


class OutageTimer:
    """Kept by the session, which tells it what happens; `where` is the coordinator's address for messages to people."""

    def __init__(self, patience: float, where: str, now: float) -> None:
        self.patience = patience
        self.where = where
        self.refused = False
        self._since: float | None = now
        self._why: str | None = None
        self._said = False
        self._complained = False

    def begin(self, now: float) -> None:
        """The coordinator owes something."""
        if self._since is None:
            self._since = now

    def because(self, why: str, now: float) -> None:
        """The connection is lost, or could not be made."""
        self.begin(now)
        self._why = " ".join(why.split())[:200]

    def connected(self) -> None:
        """There is a connection; what it is good for is not known."""
        self._why = None

    def end(self) -> list[tuple[int, str]]:
        """The application is in step; what to say."""
        said, self._said, self._since, self.refused = self._said, False, None, False
        return [(logging.INFO, f"penstock: coordinated by {self.where} again")] if said else []

    def complain(self, text: str) -> list[tuple[int, str]]:
        """An operation is refused; what to say, once until one is granted (`content`)."""
        complained, self._complained = self._complained, True
        told = f"penstock: the coordinator at {self.where} refuses I/O ({text}); going on uncoordinated"
        return [] if complained else [(logging.WARNING, told)]

    def content(self) -> None:
        """An operation is granted."""
        self._complained = False

    def until(self, in_step: bool) -> float:
        """The date at which doubt becomes an outage, never before `HICCUP` where only a sign of life is owed."""
        if self.refused:
            return -math.inf
        if self._since is None:
            return math.inf
        return self._since + (max(self.patience, HICCUP) if in_step else self.patience)

    def dead_from(self, heard: float) -> float:
        """The date at which a connection, last heard of then, is given up."""
        return math.inf if self._since is None else max(self._since, heard) + max(DEAD, 2.0 * self.patience)

    def say_from(self, in_step: bool) -> float:
        """The date at which people are told, if they are not yet."""
        if self._said:
            return math.inf
        until = self.until(in_step)
        return until if self._since is None or self._why is not None else max(until, self._since + HICCUP)

    def say(self) -> tuple[int, str]:
        """What to tell people."""
        self._said = True
        why = self._why or f"no answer for {max(self.patience, HICCUP):g} s"
        return logging.WARNING, f"penstock: no coordinator at {self.where} ({why}); going on uncoordinated"
