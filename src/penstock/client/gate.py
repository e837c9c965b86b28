"""What the bytes of an application pass: its turn, its rounds and its rate. No I/O and no clock of its own."""

from __future__ import annotations

import math
from typing import Final

from penstock.client.operation import Operation
from penstock.client.pacing import SLACK, Pacer, slice_bytes
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

    def passed(self, count: int, begun: float, now: float) -> bool:
        """So many bytes were moved since then; whether there is something to send for it."""
        operation = self.session.operation
        if operation is None:
            return False
        self.moved += count
        self._pacer.moved(count, begun)
        if not operation.advance(count):
            return False
        operation.flying = False
        return operation.pausing and self.session.round_ended(now)

    def swift(self, count: int, begun: float, now: float, left: int, *, whole: bool = False) -> int:
        """`passed`, `delay` and `open` at once, where a round is whole and the next may follow; else 0, and nothing is done.

        Needs no lock, for a pause that comes meanwhile finds a round under way, as it would a moment later. After 4 MiB were
        written caches are cold and every call counts: this is 10 µs a round instead of 20.
        """
        operation, pacer = self.session.operation, self._pacer
        due = max(pacer.due, begun - SLACK) + count / pacer.rate
        if not left or due > now or now >= self._until or not self._slice or self._seen != self.session.changes:
            return 0
        if operation is None or operation.pausing or operation.moved + count != operation.boundary:
            return 0
        pacer.due = due
        self.moved += count
        operation.advance(count)
        return self._at_once(operation, left, whole)

    def _at_once(self, operation: Operation, left: int, whole: bool) -> int:
        return int(min(left, operation.boundary - operation.moved, math.inf if whole else self._slice))
