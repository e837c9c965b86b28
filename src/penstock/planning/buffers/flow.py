"""Bytes over time as broken lines: what an application has moved, or wants to have moved, since the clock's 0."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from penstock.policies.view import Floats


@dataclass(frozen=True, eq=False)
class Flow:
    """`amounts` bytes at the `dates`, which increase; linear between them, level before the first and after the last."""

    dates: Floats
    amounts: Floats

    def at(self, dates: Floats) -> Floats:
        """Bytes until each of the dates."""
        return np.interp(dates, self.dates, self.amounts)

    @property
    def rates(self) -> Floats:
        """Bytes/s from each date to the next."""
        return np.diff(self.amounts) / np.diff(self.dates)

    @property
    def total(self) -> float:
        """Bytes in the end."""
        return float(self.amounts[-1])

    def throttled(self, rate: float) -> Flow:
        """The same data as soon as possible at `rate` bytes/s at most: the highest line below this one that rises no faster.

        It begins with 0 at the first date and goes on until all is through.
        """
        behind = left_over(np.diff(self.amounts) - rate * np.diff(self.dates), float(self.amounts[0]))
        slack = rate - self.rates
        # It catches up between two dates, or after the last one.
        caught = (behind[:-1] > 0.0) & (behind[1:] == 0.0) & (behind[:-1] < slack * np.diff(self.dates))
        moments = self.dates[:-1][caught] + behind[:-1][caught] / slack[caught]
        if behind[-1] > 0.0:
            moments = np.append(moments, self.dates[-1] + behind[-1] / rate)
        return _in_order([self.dates, moments], [self.amounts - behind, self.at(moments)])

    def in_advance(self, rate: float) -> Flow:
        """The same data as late as possible at `rate` bytes/s at most: the lowest line above this one that rises no faster.

        It begins before the first date if it must.
        """
        mirrored = Flow(-self.dates[::-1], self.total - self.amounts[::-1]).throttled(rate)
        return Flow(-mirrored.dates[::-1], self.total - mirrored.amounts[::-1])

    def clipped(self, low: float, high: float) -> Flow:
        """The line, which must not fall, raised to `low` where it is below and lowered to `high` where it is above."""
        crossings = [
            float(np.interp(level, self.amounts[i : i + 2], self.dates[i : i + 2]))
            for level in (low, high)
            for i in np.flatnonzero((self.amounts[:-1] < level) & (level < self.amounts[1:])).tolist()
        ]
        moments = np.array(crossings)
        return _in_order([self.dates, moments], [np.clip(line, low, high) for line in (self.amounts, self.at(moments))])


def left_over(net: Floats, first: float = 0.0) -> Floats:
    """What is left, at first and after each step, of what comes less what can go (`net` of a step): never below 0."""
    return np.fromiter(accumulate(net.tolist(), lambda left, change: max(0.0, left + change), initial=first), np.float64)


def _in_order(dates: list[Floats], amounts: list[Floats]) -> Flow:
    """The line through points in any order; of points with the same date the first."""
    unique, index = np.unique(np.concatenate(dates), return_index=True)
    return Flow(unique, np.concatenate(amounts)[index])
