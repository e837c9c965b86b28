"""What the bytes of an application pass: its turn, its rounds and its rate. No I/O and no clock of its own."""

from __future__ import annotations

import math
from typing import Final

from penstock.client.pacing import Pacer, slice_bytes
from penstock.client.session import Session

LONGEST_WAIT: Final = 1.0
"""Seconds after which one who waits looks again, whatever it was told."""


class Gate:
    """For one application; `waited` and `moved` are its seconds and bytes so far."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.moved = 0
        self._pacer = Pacer()
        self._waited = 0.0
        self._waits_since: float | None = None

    def waited(self, now: float) -> float:
        """Seconds spent waiting for its turn."""
        return self._waited + (now - self._waits_since if self._waits_since is not None else 0.0)

    def turn(self, now: float) -> bool:
        """Whether it may move data now; from here on it waits if not."""
        session = self.session
        session.look(now)
        turn = session.rate(now) > 0.0
        if turn:
            self.stop_waiting(now)
        elif self._waits_since is None:
            self._waits_since = now
        return turn

    def stop_waiting(self, now: float) -> None:
        """It has its turn, or wants it no more."""
        self._waited, self._waits_since = self.waited(now), None

    def delay(self, now: float) -> float:
        """Seconds until data may pass; then, and whenever something changes, ask again."""
        if not self.turn(now):
            return min(LONGEST_WAIT, max(0.001, self.session.patient_until() - now))
        self._pacer.set(self.session.rate(now), now)
        return min(LONGEST_WAIT, self._pacer.delay(now))

    def open(self, left: int) -> int:
        """Bytes, of those that are left, to be moved at once now that there is no delay."""
        operation = self.session.operation
        if operation is None:
            return left
        operation.flying = True
        size = min(left, operation.left_of_round())
        rate = self._pacer.rate
        return int(size if math.isinf(rate) else min(size, slice_bytes(rate)))

    def passed(self, count: int, begun: float, now: float) -> bool:
        """So many bytes were moved since then; whether there is something to send for it."""
        self.moved += count
        self._pacer.moved(count, begun)
        operation = self.session.operation
        if operation is None:
            return False
        operation.moved += count
        return operation.between_rounds() and self.session.round_ended(now)
