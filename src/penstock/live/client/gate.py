"""What the bytes of an application pass: its turn, its rounds and its rate. No I/O and no clock of its own."""

from __future__ import annotations

import math
from typing import Final

from penstock.live.client.session import Session
from penstock.live.client.transfer import Operation, Pacer, slice_bytes
from penstock.numeric.tolerances import SHORTEST_ROUND_S

AHEAD: Final = 0.05
"""Seconds for which short rounds may follow each other without being counted."""
LONGEST_WAIT: Final = 1.0
"""Seconds after which one who waits looks again, whatever it was told."""


class Gate:
    """For one application; `moved` are its bytes so far."""

    __slots__ = ("_ahead", "_pacer", "_slice", "_until", "_waited", "_waits_since", "moved", "seen", "session")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.moved = 0
        self._pacer = Pacer()
        self._slice: float = 0
        self._ahead = 0.0
        """Bytes that would take no longer than `AHEAD`, as fast as the last ones went."""
        self.seen = -1
        """The session's `changes` when it was last looked at."""
        self._until = -math.inf
        self._waited = 0.0
        self._waits_since: float | None = None

    def waited(self, now: float) -> float:
        """Seconds spent waiting for its turn."""
        return self._waited + (now - self._waits_since if self._waits_since is not None else 0.0)

    def turn(self, now: float) -> bool:
        """Whether it may move data now; from here on it waits if not."""
        session = self.session
        session.look(now)
        rate = session.rate(now)
        self.seen = session.changes
        self._until = session.patient_until() if session.patient_until() > now else math.inf
        if rate <= 0.0:
            self._slice = 0
            if self._waits_since is None:
                self._waits_since = now
            return False
        self._pacer.set(rate, now)
        self._slice = math.inf if math.isinf(rate) else slice_bytes(rate)
        self.stop_waiting(now)
        return True

    def stop_waiting(self, now: float) -> None:
        """It has its turn, or wants it no more."""
        self._waited, self._waits_since = self.waited(now), None

    def delay(self, now: float) -> float:
        """Seconds until data may pass; then, and whenever something changes, ask again."""
        if self.seen != self.session.changes or now >= self._until:
            self.turn(now)
        if not self._slice:
            return min(LONGEST_WAIT, max(0.001, self._until - now))
        return min(LONGEST_WAIT, self._pacer.due - now)

    def open(self, left: int, *, whole: bool = False) -> int:
        """Bytes, of those that are left, to be moved at once now that there is no delay: a slice, or the `whole` round."""
        operation = self.session.operation
        if operation is None:
            return left
        operation.flying = True
        return self._at_once(operation, left, whole)

    def onward(self, operation: Operation, count: int, begun: float, now: float, left: int, whole: bool) -> int:
        """So many bytes of the operation were moved since `begun`; how many of those that are left may follow at once.

        −1 where something has changed or data may not pass yet: then somebody must `settle` what was moved, with the lock,
        and see to `delay` and `open`. This needs none: whoever changes something counts it in `changes` before looking
        whether a round is under way, and here it is the other way round, so that one of both sees the other.

        After some MB were written caches are cold, and every call costs microseconds. Hence so much in one, and hence
        several rounds, of a slice at the most, where they will take no longer than `AHEAD`; between them the caller looks
        whether `changes` are those `seen`.
        """
        session = self.session
        if count:
            self.moved += count
            self._pacer.moved(count, begun)
            operation.advance(count)
            self._ahead = count * AHEAD / max(now - begun, SHORTEST_ROUND_S)
        operation.flying = left > 0 or not operation.between_rounds
        if self.seen != session.changes or operation.pausing or operation is not session.operation:
            return -1
        if not left:
            return 0
        if self._pacer.due > now or now >= self._until or not self._slice:
            return -1
        size = self._at_once(operation, left, whole)
        if whole or not operation.is_round(size):
            return size
        return max(1, int(min(self._ahead, self._slice, left, operation.volume - operation.moved) // size)) * size

    def settle(self, now: float) -> bool:
        """While no data pass: begin a pause that has waited for the end of the round; whether there is something to send."""
        operation = self.session.operation
        if operation is None:
            return False
        operation.flying = not operation.between_rounds
        return operation.pausing and not operation.flying and self.session.round_ended(now)

    def _at_once(self, operation: Operation, left: int, whole: bool) -> int:
        return int(min(left, operation.boundary - operation.moved, math.inf if whole else self._slice))
