"""What the bytes of an application pass: its turn, its rounds and its rate. No I/O and no clock of its own."""

from __future__ import annotations

import math
from typing import Final

from penstock.client.operation import Operation
from penstock.client.pacing import Pacer, slice_bytes
from penstock.client.session import Session

LONGEST_WAIT: Final = 1.0
"""Seconds after which one who waits looks again, whatever it was told."""


class Gate:
    """For one application; `moved` are its bytes so far."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.moved = 0
        self._pacer = Pacer()
        self._slice: float = 0
        self._seen = -1
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
        self._seen = session.changes
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
        if self._seen != self.session.changes or now >= self._until:
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

    def swift(self, left: int, now: float, *, whole: bool = False) -> int:
        """`delay` and `open` where nothing has changed since the last look and data may pass; else 0.

        Needs no lock: whoever changes something counts it in `changes` before looking whether a round is under way, and here
        it is the other way round, so that one of both sees the other. After some MB were written caches are cold and every
        call counts.
        """
        session = self.session
        operation = session.operation
        if self._seen != session.changes or operation is None or not self._slice:
            return 0
        if self._pacer.due > now or now >= self._until:
            return 0
        operation.flying = True
        if self._seen != session.changes:
            return 0
        return self._at_once(operation, left, whole)

    def passed(self, operation: Operation, count: int, begun: float) -> bool:
        """So many bytes of the operation were moved since then; whether somebody must `settle` it. Needs no lock either."""
        self.moved += count
        self._pacer.moved(count, begun)
        operation.flying = not operation.advance(count)
        return operation.pausing or self._seen != self.session.changes

    def settle(self, now: float) -> bool:
        """While no data pass: begin a pause that has waited for the end of the round; whether there is something to send."""
        operation = self.session.operation
        if operation is None:
            return False
        operation.flying = not operation.between_rounds
        return operation.pausing and not operation.flying and self.session.round_ended(now)

    def _at_once(self, operation: Operation, left: int, whole: bool) -> int:
        return int(min(left, operation.boundary - operation.moved, math.inf if whole else self._slice))
