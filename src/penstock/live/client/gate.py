"""Decides when an application may move data, and how many bytes: turn, rounds and rate. No clock, no I/O."""

from __future__ import annotations

import math
from typing import Final

from penstock.live.client.session import Session
from penstock.live.client.transfer import Operation, Pacer, slice_bytes
from penstock.numeric.tolerances import SHORTEST_ROUND_S

AHEAD: Final = 0.05
"""Seconds of short rounds that may be moved in one go."""
LONGEST_WAIT: Final = 1.0
"""Seconds after which a waiting thread checks again, whatever it was told."""


class Gate:
    """The gate of one application; `moved` counts its bytes so far."""

    __slots__ = ("_ahead", "_pacer", "_slice", "_until", "_waited", "_waits_since", "moved", "seen", "session")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.moved = 0
        self._pacer = Pacer()
        self._slice: float = 0
        self._ahead = 0.0
        """Bytes that take `AHEAD` seconds at the speed of the last ones."""
        self.seen = -1
        """The session's `changes` at the last look."""
        self._until = -math.inf
        self._waited = 0.0
        self._waits_since: float | None = None

    def waited(self, now: float) -> float:
        """Seconds spent waiting for its turn."""
        return self._waited + (now - self._waits_since if self._waits_since is not None else 0.0)

    def turn(self, now: float) -> bool:
        """Look at the grant again and return whether data may move now; if not, waiting time counts from now on."""
        session = self.session
        session.check_patience(now)
        rate = session.rate(now)
        self.seen = session.changes
        self._until = session.outage_from() if session.outage_from() > now else math.inf
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
        """Stop counting: the application has its turn, or gives it up."""
        self._waited, self._waits_since = self.waited(now), None

    def delay(self, now: float) -> float:
        """Seconds until data may move; then, and whenever something changes, ask again."""
        if self.seen != self.session.changes or now >= self._until:
            self.turn(now)
        if not self._slice:
            return min(LONGEST_WAIT, max(0.001, self._until - now))
        return min(LONGEST_WAIT, self._pacer.due - now)

    def open(self, left: int, *, whole_rounds: bool = False) -> int:
        """How many of the `left` bytes to move in one go, once `delay` is over: a slice, or with `whole_rounds` a round."""
        operation = self.session.operation
        if operation is None:
            return left
        operation.in_round = True
        return self._at_once(operation, left, whole_rounds)

    def onward(self, operation: Operation, count: int, begun: float, now: float, left: int, whole_rounds: bool) -> int:
        """Count `count` bytes that were moved since `begun`; return how many of the bytes left may be moved next.

        Returns −1 if something has changed or data may not move yet: then the caller must `settle` what was moved, with
        the lock, and ask `delay` and `open`. This method needs no lock. Whoever changes something first counts it in
        `changes` and then looks whether a round is being moved; this method writes `in_round` first and then reads
        `changes`, so one of the two sees the other.

        After some MB were written, caches are cold and every call costs microseconds. So this method does much in one call,
        and allows several rounds, at most a slice, if they take no longer than `AHEAD`; between them the caller checks that
        `changes` is still `seen`.
        """
        session = self.session
        if count:
            self.moved += count
            self._pacer.moved(count, begun)
            operation.advance(count)
            self._ahead = count * AHEAD / max(now - begun, SHORTEST_ROUND_S)
        operation.in_round = left > 0 or not operation.between_rounds
        if self.seen != session.changes or operation.pausing or operation is not session.operation:
            return -1
        if not left:
            return 0
        if self._pacer.due > now or now >= self._until or not self._slice:
            return -1
        size = self._at_once(operation, left, whole_rounds)
        if whole_rounds or not operation.is_round(size):
            return size
        return max(1, int(min(self._ahead, self._slice, left, operation.volume - operation.moved) // size)) * size

    def settle(self, now: float) -> bool:
        """While no data move: start a pause that waited for the round to end. True if there is now a message to send."""
        operation = self.session.operation
        if operation is None:
            return False
        operation.in_round = not operation.between_rounds
        return operation.pausing and not operation.in_round and self.session.round_ended(now)

    def _at_once(self, operation: Operation, left: int, whole_rounds: bool) -> int:
        return int(min(left, operation.boundary - operation.moved, math.inf if whole_rounds else self._slice))
