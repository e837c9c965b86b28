"""How much one peer may ask for: messages a second, by token buckets."""

from __future__ import annotations


class Bucket:
    """Tokens that come at `rate` a second, up to those of one second."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._tokens = rate
        self._then = now

    def take(self, count: int, now: float) -> float:
        """Take so many tokens; returns the seconds until what was taken has come in, 0 if it has."""
        self._tokens = min(self._rate, self._tokens + (now - self._then) * self._rate) - count
        self._then = now
        return max(0.0, -self._tokens / self._rate)
