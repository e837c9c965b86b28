"""Keeps a transfer to its rate: a token bucket, kept as the date from which the next byte is due.

Data go in slices of `SLICE` seconds at the rate. A slice of n bytes moves the date by n / rate; whoever is late may make up
for at most `SLACK` seconds. So in any time t no more than rate·(t + SLICE + SLACK) is moved (rate·t + one page and that of
`SLACK`, where a slice is less than a page): 3 % over the rate in a second.

One I/O operation as its application sees it: rounds, what is moved, and the grant it keeps to.

An operation of V bytes in R rounds may be paused where ⌊k·V/R⌋ bytes are moved, k = 1 … R − 1 (003 §III.C; readings: only
between two rounds). What goes beyond the announced volume belongs to the last round.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Final

from penstock.live.client.errors import UsageError
from penstock.live.client.registration import MOST

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


ROUND_BYTES: Final = 16 * 2**20
"""The length of a round where the application does not say."""


def rounds_of(volume: int, rounds: int | None) -> int:
    """How many rounds: as told, else so many that none is longer than `ROUND_BYTES`."""
    whole("volume", volume, 0)
    if rounds is None:
        return max(1, -(-volume // ROUND_BYTES))
    whole("rounds", rounds, 1)
    return rounds


def whole(what: str, value: object, least: int) -> None:
    """Refuse what is no whole number in range."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
        raise UsageError(f"{what} {value!r} is out of range; expected a whole number, {least} or more")


@dataclass(slots=True)
class Operation:
    """An operation that was announced and is not released yet."""

    number: int
    volume: int
    rounds: int
    moved: int = 0
    flying: bool = False
    """A round is under way; a pause has to wait for its end."""
    rate: float = 0.0
    """bytes/s it keeps to."""
    latest: float = 0.0
    """bytes/s of the last grant; `rate` may be above a pause that waits for the end of the round."""
    pausing: bool = False
    granted: bool = False
    """The coordinator it is connected with has answered."""
    unanswered: list[int] = field(default_factory=list)
    """Numbers of the grants that asked for less and are not kept to yet."""
    unsure: bool = False
    """Nobody knows whether the last answer was heard, so that the next grant is answered in any case."""
    refused: bool = False
    """The coordinator does not want to know of it, or need not: there is nothing to move."""
    informed: bool = False
    """Announced to the coordinator it is connected with."""
    reported: int = 0
    reports_from: float = -math.inf
    """No report before this date."""
    step: int = field(init=False)
    """Bytes of a round where all are equal, else 0."""
    boundary: float = field(init=False)
    """Bytes moved when the round ends; infinite in the last one."""
    between_rounds: bool = True

    def __post_init__(self) -> None:
        self.step = self.volume // self.rounds if self.volume % self.rounds == 0 else 0
        self.boundary = self._next_boundary()

    def grant(self, number: int, rate: float, used: float) -> list[int]:
        """A new grant while `used` bytes/s are in use; the numbers of those that it keeps to by now and has to answer."""
        if rate < used or (self.granted and rate < self.latest) or self.unsure:
            self.unanswered.append(number)
        self.unsure = False
        self.latest, self.granted = rate, True
        if rate <= 0.0 and self.flying:
            self.hold(used)
            return []
        self.rate, self.pausing = rate, False
        return self.answers()

    def hold(self, used: float) -> None:
        """End the round under way at the rate in use, then pause."""
        self.rate, self.pausing = used, True

    def round_ended(self) -> bool:
        """No round is under way; whether a pause begins."""
        self.flying = False
        if not self.pausing:
            return False
        self.rate, self.pausing = self.latest, False
        return True

    def answers(self) -> list[int]:
        """The grants to answer, which then are no more unanswered."""
        numbers, self.unanswered = self.unanswered, []
        return numbers

    def cut_off(self) -> None:
        """The coordinator is lost; the rate stays."""
        self.unsure = self.unsure or self.granted
        self.informed = self.granted = False
        self.refused = self.volume == 0
        self.unanswered = []

    def advance(self, count: int) -> bool:
        """So many more bytes are moved; whether that is between two rounds."""
        if count:
            self.moved += count
            moved, step = self.moved, self.step
            at_boundary = moved < self.volume and moved % step == 0 if step else moved == self.boundary
            self.between_rounds = at_boundary or moved == self.volume
            if moved >= self.boundary:
                self.boundary = self._next_boundary()
        return self.between_rounds

    def is_round(self, size: int) -> bool:
        """Whether so many bytes are a round, after which another one of them follows."""
        return size == self.step and self.boundary < math.inf

    def round_in(self, size: int) -> int:
        """What of so many bytes is to be moved at once: a round where they are several, else all."""
        return self.step if self.step and size % self.step == 0 and self.boundary < math.inf else size

    def _next_boundary(self) -> float:
        if self.volume == 0:
            return math.inf
        k = -(-(self.moved + 1) * self.rounds // self.volume)
        return k * self.volume // self.rounds if k < self.rounds else math.inf
