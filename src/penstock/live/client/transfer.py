"""One I/O operation on the client's side: when it may move data and how many bytes, by turn, rounds and rate.

An operation of V bytes in R rounds can be paused where ⌊k·V/R⌋ bytes are moved, k = 1 … R − 1: only between two rounds (003
§III.C). Bytes beyond the announced volume belong to the last round. A coordinator may limit the seconds of a round; then
rounds that would take longer at the granted rate are cut. A step of the six calls is one round, whatever it moves.

A token bucket keeps a transfer to its rate; its state is the date from which the next byte may be moved. Data are moved
in slices of `SLICE` seconds at the rate. A slice of n bytes moves the date by n / rate; a transfer that is late may
catch up on at most `SLACK` seconds. So in any time t at most rate·(t + SLICE + SLACK) bytes are moved (rate·(t + SLACK)
and one page, where a slice is less than a page): 3 % over the rate in a second.

An application may reach far less than its rate. Then a slice takes `LONGEST_SLICE` at most, and a pause does not wait for
the end of the round for longer than the round should have taken and half a lease (`Session`), so that it is acknowledged
in time.

Nothing here reads a clock or does I/O.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from penstock.live.client.errors import UsageError
from penstock.live.protocol import MOST_ROUNDS
from penstock.numeric.tolerances import SHORTEST_ROUND_S

if TYPE_CHECKING:
    from penstock.live.client.session import Session

SLICE: Final = 0.01
"""Seconds of data that are moved at once."""
SLACK: Final = 0.02
"""Seconds that a late transfer may catch up on."""
PAGE: Final = 4096
ROUND_BYTES: Final = 16 * 2**20
"""The longest round where the application does not say how many rounds it has."""
LONGEST: Final = 1e9
"""Seconds; a rate near 0 puts the date no farther off, so that it stays finite."""


def slice_bytes(rate: float) -> int:
    """Bytes that are moved at once at this rate: complete pages, at least one."""
    return pages_in(rate * SLICE)


def pages_in(size: float) -> int:
    """The complete pages in `size` bytes, one at least: files opened past the page cache take nothing else."""
    return max(PAGE, int(size) // PAGE * PAGE)


class Pacer:
    """A token bucket: `due` is the date from which the next byte may be moved."""

    __slots__ = ("due", "rate")

    def __init__(self) -> None:
        self.rate = math.inf
        self.due = -math.inf

    def set(self, rate: float, now: float) -> None:
        """Set the `rate`, in bytes/s, from the date `now` on.

        A wait that is left stays as long, or gets shorter if the rate is higher.
        """
        if self.due > now:
            self.due = now if math.isinf(rate) else now + (self.due - now) * min(1.0, self.rate / rate)
        self.rate = rate

    def moved(self, count: int, begun: float) -> None:
        """Count `count` bytes, moved since the date `begun`."""
        if self.rate != math.inf:
            self.due = max(self.due, begun - SLACK) + min(LONGEST, count / self.rate)


MOST: Final = 2**53
"""The largest number of bytes."""


def rounds_of(volume: int, rounds: int | None) -> int:
    """How many rounds an operation of `volume` bytes has: as given, else so many that none exceeds `ROUND_BYTES`.

    Never more than `MOST_ROUNDS`, the most that a message may have.
    """
    check_integer("volume", volume, 0)
    if rounds is None:
        return max(1, -(-volume // ROUND_BYTES))
    check_integer("rounds", rounds, 1)
    return min(rounds, MOST_ROUNDS)


def check_integer(what: str, value: object, least: int) -> None:
    """UsageError if the `value` is not an integer of at least `least`; `what` names it."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= MOST:
        raise UsageError(f"{what} {value!r} is out of range; expected a whole number, {least} or more")


@dataclass(slots=True)
class Operation:
    """An operation of `volume` bytes from its announcement to its end."""

    number: int
    volume: int
    rounds: int
    moved: int = 0
    in_round: bool = False
    """A round is being moved; a pause waits for its end."""
    rate: float = 0.0
    """Bytes/s that it keeps to."""
    latest: float = 0.0
    """Bytes/s of the last grant; differs from `rate` while a pause waits for the end of the round."""
    pausing: bool = False
    """A pause waits for the end of the round."""
    pause_by: float = math.inf
    """The date from which it waits no longer than for the end of a slice."""
    granted: bool = False
    """The coordinator has granted it a rate on this connection."""
    unacknowledged: list[int] = field(default_factory=list)
    """Numbers of the lower grants that it does not keep to yet."""
    must_acknowledge: bool = False
    """The last acknowledgement may be lost: acknowledge the next grant, whether lower or not."""
    refused: bool = False
    """The coordinator refuses it, or need not know of it since there is nothing to move."""
    informed: bool = False
    """Announced on this connection."""
    known: bool = False
    """Announced on this connection or an earlier one."""
    reported: int = 0
    """Bytes in the last report."""
    reports_from: float = -math.inf
    """No report before this date."""
    follows: int = 0
    """Bytes of the same I/O phase that come after it."""
    bandwidth: float | None = None
    """The most that it can use, in bytes/s, if the application has said so."""
    store: str = ""
    """The store that it uses, if the application has said so."""
    stepping: bool = False
    """A step of the six calls is under way: the round ends with its release, whatever is moved."""
    longest: float = math.inf
    """Bytes of a round, at most."""
    step: int = field(init=False)
    """Bytes of a round where all are equal, else 0."""
    boundary: float = field(init=False)
    """Bytes moved when the round ends; infinite in the last round unless `longest` limits it."""
    between_rounds: bool = True
    _began: int = 0
    """Bytes moved when the round began."""

    def __post_init__(self) -> None:
        self._cut()

    def limit(self, longest: float) -> None:
        """Let no round have more than `longest` bytes. The present one ends then, or after a page if it has more."""
        if longest != self.longest:
            self.longest = longest
            self._cut()

    def _cut(self) -> None:
        step = self.volume // self.rounds if self.volume % self.rounds == 0 else 0
        self.step = step if step <= self.longest else 0
        self.boundary = self._next_boundary()

    def grant(self, number: int, rate: float, used: float) -> list[int]:
        """Apply the grant `number` of `rate` bytes/s while `used` bytes/s are in use.

        Returns the grants to acknowledge now.
        """
        if rate < used or (self.granted and rate < self.latest) or self.must_acknowledge:
            self.unacknowledged.append(number)
        self.must_acknowledge = False
        self.latest, self.granted = rate, True
        if rate <= 0.0 and self.in_round:
            self.pause_after_round(used)
            return []
        self.rate, self.pausing = rate, False
        return self.take_acknowledgements()

    def pause_after_round(self, used: float) -> None:
        """Go on at the rate in use, `used` bytes/s, to the end of the round, then pause."""
        self.rate, self.pausing = used, True

    def round_ended(self) -> bool:
        """The round has ended; whether a pause starts now."""
        self.in_round, self.between_rounds = False, True
        if not self.pausing:
            return False
        self.rate, self.pausing = self.latest, False
        return True

    def cut_round(self) -> None:
        """The round ends here, unless it is a step."""
        if not self.stepping:
            self.between_rounds = True
            self._began = self.moved
            self.boundary = self._next_boundary()

    def begin_step(self) -> None:
        """A step of the six calls begins, which is one round."""
        self.limit(math.inf)
        self.stepping, self.between_rounds = True, False

    def end_step(self) -> None:
        """The step has ended."""
        self.stepping, self.between_rounds = False, True

    def take_acknowledgements(self) -> list[int]:
        """The grants to acknowledge, which are acknowledged with this call."""
        numbers, self.unacknowledged = self.unacknowledged, []
        return numbers

    def cut_off(self) -> None:
        """The coordinator is lost; the rate stays in force."""
        self.must_acknowledge = self.must_acknowledge or self.granted
        self.informed = self.granted = False
        self.refused = self.volume == 0
        self.unacknowledged = []

    def advance(self, count: int) -> bool:
        """Count `count` more bytes; whether the operation is between two rounds then."""
        if count:
            self.moved += count
            moved, step = self.moved, self.step
            if moved >= self.boundary:
                ends = moved == self.boundary or (step > 0 and moved % step == 0)
                self._began = moved
                self.boundary = self._next_boundary()
            else:
                ends = False
            self.between_rounds = (ends or moved == self.volume) and not self.stepping
        return self.between_rounds

    def is_round(self, size: int) -> bool:
        """Whether `size` bytes are exactly a round, with another one of the same length after it."""
        return size == self.step and self.boundary < math.inf

    def round_in(self, size: int) -> int:
        """Bytes of a call that moves `size` bytes: one round if `size` is several rounds, else all."""
        return self.step if self.step and size % self.step == 0 and self.boundary < math.inf else size

    def _next_boundary(self) -> float:
        if self.volume == 0:
            return math.inf
        step = self.step
        if step:
            end: float = (self.moved // step + 1) * step
        else:
            k = -(-(self.moved + 1) * self.rounds // self.volume)
            end = k * self.volume // self.rounds
        if end >= self.volume:
            end = math.inf
        return end if self.longest == math.inf else min(end, max(self._began + self.longest, self.moved + PAGE))


AHEAD: Final = 0.05
"""Seconds of short rounds that may be moved in one go."""
LONGEST_SLICE: Final = 0.25
"""Seconds that a slice takes at most at the speed of the last bytes, where an application reaches far less than its rate."""
FIRST_SLICE: Final = 2**20
"""Bytes of the first slice of a job, at most: how fast it is, is not known yet."""
LONGEST_WAIT: Final = 1.0
"""Seconds after which a waiting thread checks again, whatever it was told."""


class Gate:
    """The gate of one application; `moved` counts its bytes so far.

    Args:
        session: The application.
    """

    __slots__ = (
        "_pacer",
        "_rated_slice",
        "_slice",
        "_speed",
        "_until",
        "_waited",
        "_waits_since",
        "moved",
        "seen",
        "session",
    )

    def __init__(self, session: Session) -> None:
        self.session = session
        self.moved = 0
        self._pacer = Pacer()
        self._rated_slice: float = 0
        """Bytes of a slice at the granted rate; 0 while the application must wait."""
        self._slice: float = 0
        """The same, and no more than `LONGEST_SLICE` takes at the speed of the last bytes."""
        self._speed = math.inf
        """Bytes/s at which the last bytes were moved; infinite if none were."""
        self.seen = -1
        """The session's `changes` at the last look."""
        self._until = -math.inf
        self._waited = 0.0
        self._waits_since: float | None = None

    def waited(self, now: float) -> float:
        """Seconds spent waiting for its turn, until the date `now`."""
        return self._waited + (now - self._waits_since if self._waits_since is not None else 0.0)

    def turn(self, now: float) -> bool:
        """Look at the grant again and return whether data may move now; if not, waiting time counts from now on."""
        session = self.session
        session.check_patience(now)
        rate = session.rate(now)
        self.seen = session.changes
        self._until = session.outage_from() if session.outage_from() > now else math.inf
        if rate <= 0.0:
            self._rated_slice = self._slice = 0
            if self._waits_since is None:
                self._waits_since = now
            return False
        self._pacer.set(rate, now)
        self._rated_slice = math.inf if math.isinf(rate) else slice_bytes(rate)
        most = FIRST_SLICE if math.isinf(self._speed) else self._speed * LONGEST_SLICE
        self._slice = pages_in(most) if most < self._rated_slice < math.inf else self._rated_slice
        self._limit_rounds(rate)
        self.stop_waiting(now)
        return True

    def _limit_rounds(self, rate: float) -> None:
        """Cut rounds that would take longer than the coordinator allows, at this rate or at the speed of the last bytes."""
        operation, seconds = self.session.operation, self.session.longest_round
        if operation is not None and not operation.stepping:
            limited = seconds is not None and not math.isinf(rate)
            pace = min(rate, self._speed)
            operation.limit(max(PAGE, int(pace * seconds)) if limited and seconds is not None else math.inf)

    def stop_waiting(self, now: float) -> None:
        """Stop counting at the date `now`: the application has its turn, or gives it up."""
        self._waited, self._waits_since = self.waited(now), None

    def delay(self, now: float) -> float:
        """Seconds from `now` until data may move; then, and whenever something changes, ask again."""
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
        """Count `count` bytes of `operation` that were moved from `begun` to `now`.

        Return how many of the bytes `left` may be moved next; with `whole_rounds`, complete rounds.

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
            if now > begun:
                self._speed = speed = count / max(now - begun, SHORTEST_ROUND_S)
                most, rated = speed * LONGEST_SLICE, self._rated_slice
                self._slice = pages_in(most) if most < rated < math.inf else rated
        operation.in_round = left > 0 or not operation.between_rounds
        if self.seen != session.changes or operation.pausing or operation is not session.operation:
            if operation.pausing and count and now >= operation.pause_by:
                operation.cut_round()
            return -1
        if not left:
            return 0
        if self._pacer.due > now or now >= self._until or not self._slice:
            return -1
        size = self._at_once(operation, left, whole_rounds)
        if whole_rounds or not operation.is_round(size):
            return size
        ahead = 0.0 if math.isinf(self._speed) else self._speed * AHEAD
        return max(1, int(min(ahead, self._slice, left, operation.volume - operation.moved) // size)) * size

    def settle(self, now: float) -> bool:
        """While no data move: start a pause that waited for the round to end. True if there is now a message to send."""
        operation = self.session.operation
        if operation is None:
            return False
        operation.in_round = not operation.between_rounds
        return operation.pausing and not operation.in_round and self.session.round_ended(now)

    def _at_once(self, operation: Operation, left: int, whole_rounds: bool) -> int:
        return int(min(left, operation.boundary - operation.moved, math.inf if whole_rounds else self._slice))
