"""The table of pending operations: those that are posted and not complete, and the compiled loops over them.

The bookkeeping is that of the engine's slots. n operations occupy the places 0 … n − 1 of every column; when one leaves, the
last one moves into its place; between two dates every transfer goes on at its rate. The remaining volume is an estimate
until the client reports, and it never falls to 0 before the client says that the operation is complete.

A decision is a handful of loops over some hundred operations. As array expressions each would spend more time in calls than
in arithmetic: 10 µs instead of 1, and ten times that when the coordinator was idle and its caches are cold.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

import numpy as np
from numba import types

from penstock.engine.chain import compiled_progress_during, compiled_shown_left, progress_during, shown_left
from penstock.engine.state import BANDWIDTH
from penstock.engine.transfers import CAP, PROGRESS, RATE, REMAINING, TRANSFERRING, TURN, VOLUME
from penstock.live.core.clients import NEVER, NO_PLACE, Client
from penstock.model import Degradation
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import address, call_at, direct, inlined, inlined_kernel
from penstock.numeric.tolerances import INVARIANT, LEAST_LEFT, RATE_SLACK, SAME_AMOUNT, SAME_TIME_S, TIME_GRAIN
from penstock.policies import view
from penstock.policies.policy import Policy
from penstock.policies.view import COLUMNS, INTEGERS, POSTING, View, view_at

OWN: Final = (
    *("done", "base", "sent", "told", "allowed", "round", "progressed", "reported", "reached", "withheld", "believed"),
    *("uid", "since", "limit", "together", "barred", "aside", "shown", "held", "checked", "reported_then", "allowed_then"),
)
"""The coordinator's own rows, behind those of the view and the row `target` that policies write rates to. Those of the
second line say which operations the policy is shown; `penstock.live.core.eligible` describes them."""
FLOATS: Final = (*view.FLOATS, "target", *OWN)
"""Names of the rows of numbers; the rows of integers are those of the view."""
ROW: Final = {name: row for row, name in enumerate(FLOATS)}
TARGET: Final = view.GIVEN
DONE, BASE, SENT, TOLD, ALLOWED, ROUND, PROGRESSED, REPORTED, REACHED, WITHHELD, BELIEVED = (ROW[name] for name in OWN[:11])
UID, SINCE, LIMIT, ASIDE, SHOWN, HELD = (ROW[name] for name in ("uid", "since", "limit", "aside", "shown", "held"))
POSTED: Final = view.ROW["posted"]
REACH: Final = view.ROW["reach"]
SCRATCH: Final = view.ROW["scratch"]
ORDER: Final = view.ROW["order"]

OVERRUN: Final = 1.05
"""A client overruns when it has moved more than this times what its grants allowed, and a round."""
BURST_SECONDS: Final = 1.0
"""A client may run ahead of its grants for so long, at its cap: an application that writes a round at once does."""
SMALL_CHANGE: Final = 0.25
"""A change of a rate by less than this part is small and may be deferred."""


class Posting(NamedTuple):
    """The values that an operation is entered with: volumes in bytes, rates in bytes/s, times in seconds.

    The first ones are columns of the view (`penstock.policies.view.View`), those from `done` on the coordinator's own.
    """

    application: int
    turn: int
    user: int
    group: int
    cap: float
    volume: float
    posted: float
    release: float
    nodes: float
    mean_iteration: float
    whole: float
    rank: float
    rounds: float
    weight: float
    transferring: float
    done: float
    """Progress before the operation."""
    base: float
    """Bytes that were moved before the operation was first posted here; the coordinator has seen nothing of them."""
    round: float
    """Bytes that are moved between two chances to be paused."""
    progressed: float
    """When the operation was last known to have moved something."""
    believed: float
    """What its volume is by all that has been learned."""


def check_posting(columns: set[str]) -> None:
    """Check that `Posting` has these columns: a column that it lacks would be 0 for every policy."""
    missing = columns - set(Posting._fields)
    if missing:
        raise TypeError(f"penstock.live.core.pending.Posting lacks {', '.join(sorted(missing))}; expected a field for each")


check_posting({name for name, column in COLUMNS.items() if column.filled == POSTING})
NUMBERS: Final = len([name for name in Posting._fields if name in INTEGERS])
"""How many of the first values of a posting are integers; the others are numbers."""
_INTEGER_ROWS: Final = tuple(view.ROW[name] for name in Posting._fields[:NUMBERS])
_FLOAT_ROWS: Final = tuple(ROW[name] for name in Posting._fields[NUMBERS:])
"""The rows that they go to."""


def at_most_elapsed(progress: float, done: float, seconds: float) -> float:
    """The progress during an operation: at least what was done before it, at most that and the seconds since."""
    most = done + max(0.0, seconds)
    return most if progress > most * (1.0 + INVARIANT) + SAME_TIME_S else max(done, progress)


compiled_at_most_elapsed = inlined_kernel(at_most_elapsed)


def _enter(
    floats: Floats,
    integers: Ints,
    place: int,
    here: float,
    now: float,
    uid: float,
    whole: tuple[int, ...],
    values: tuple[float, ...],
) -> None:
    """Fill the `place` with the integers and numbers of a posting, of which `here` bytes are moved already."""
    for row in range(floats.shape[0]):
        floats[row, place] = 0.0
    for row in range(integers.shape[0]):
        integers[row, place] = 0
    for field in range(len(whole)):
        integers[_INTEGER_ROWS[field], place] = whole[field]
    for field in range(len(values)):
        floats[_FLOAT_ROWS[field], place] = values[field]
    volume, base, done, posted = floats[VOLUME, place], floats[BASE, place], floats[DONE, place], floats[POSTED, place]
    remaining = max(LEAST_LEFT * volume, volume - (base + here))
    floats[REMAINING, place], floats[REPORTED, place], floats[ALLOWED, place] = remaining, base + here, here
    floats[PROGRESS, place] = done
    if here > 0.0:
        progress = compiled_progress_during(done, volume - base, remaining, floats[CAP, place])
        floats[PROGRESS, place] = compiled_at_most_elapsed(progress, done, now - posted)
    floats[POSTED, place] = np.rint(posted * TIME_GRAIN) / TIME_GRAIN
    floats[UID, place], floats[SINCE, place], floats[LIMIT, place] = uid, now, floats[CAP, place]
    floats[ASIDE, place], floats[SHOWN, place] = NEVER, 1.0


def _take_out(floats: Floats, integers: Ints, place: int, last: int) -> tuple[float, float]:
    """Move the operation in the place `last` into `place`.

    Returns the bytes that the one in `place` has moved, and the seconds with a grant of its client. Of a volume of 1e21
    bytes what is moved is known to 131,072 only, so it is no more than what was reported or allowed.
    """
    most = max(floats[REPORTED, place], floats[BASE, place] + floats[ALLOWED, place])
    moved = min(floats[VOLUME, place] - floats[REMAINING, place], most)
    transferring = floats[TRANSFERRING, place]
    for row in range(floats.shape[0]):
        floats[row, place] = floats[row, last]
    for row in range(integers.shape[0]):
        integers[row, place] = integers[row, last]
    return moved, transferring


def _move(floats: Floats, size: int, seconds: float, now: float, contended: bool) -> None:
    """Let every transfer go on for so many seconds, until `now`: at its rate, or at what its client is known to reach.

    `contended` says whether others wait meanwhile.
    """
    for place in range(size):
        rate, volume = floats[RATE, place], floats[VOLUME, place]
        if rate > 0.0:
            reached = floats[REACHED, place]
            moved = (min(rate, reached) if reached > 0.0 else rate) * seconds
            floats[REMAINING, place] = max(floats[REMAINING, place] - moved, LEAST_LEFT * volume)
            remaining, done = floats[REMAINING, place], floats[DONE, place]
            progress = compiled_progress_during(done, volume - floats[BASE, place], remaining, floats[CAP, place])
            floats[PROGRESS, place] = compiled_at_most_elapsed(progress, done, now - floats[POSTED, place])
            floats[TRANSFERRING, place] += seconds
            floats[ALLOWED, place] += rate * seconds
            if contended:
                floats[HELD, place] += seconds


@inlined
def stalled_from(floats: Floats, place: int, now: float, lease: float) -> float:
    """The date, as known at `now`, from which the operation in the `place` of `floats` counts as stalled.

    Its grants have allowed more than its volume, and a lease and the time of a round have passed since it last moved.
    """
    rate, round_bytes = floats[RATE, place], floats[ROUND, place]
    if not rate > 0.0:
        return math.inf
    allowed = (OVERRUN * (floats[VOLUME, place] - floats[BASE, place]) + round_bytes - floats[ALLOWED, place]) / rate
    return float(max(now + allowed, floats[PROGRESSED, place] + lease + round_bytes / rate))


def _first_stalled(floats: Floats, size: int, now: float, lease: float) -> float:
    """The date from which the first of the operations counts as stalled."""
    earliest = math.inf
    for place in range(size):
        earliest = min(earliest, stalled_from(floats, place, now, lease))
    return earliest


def _ask(
    floats: Floats, integers: Ints, moment: Floats, degradation: Floats, size: int, hides: bool, policy: Callable[..., None]
) -> bool:
    """Have the policy write the targets, no higher than the caps; whether they are rates that caps and link can carry.

    If it `hides` what clients announce, the policy is shown the volumes that are learned. Then bring the targets of k
    operations, in proportion, down to the part d(k) of the link, as the engine does.
    """
    for place in range(size):
        floats[TARGET, place] = math.nan
    announced = np.empty((2, size if hides else 0))
    if hides:
        for place in range(size):
            volume, remaining, believed = floats[VOLUME, place], floats[REMAINING, place], floats[BELIEVED, place]
            announced[0, place], announced[1, place] = volume, remaining
            floats[VOLUME, place] = believed
            floats[REMAINING, place] = compiled_shown_left(believed, volume, remaining)
    call_at(policy, address(floats), address(integers), address(moment), address(degradation), floats.shape[1], 0, size)
    if hides:
        for place in range(size):
            floats[VOLUME, place], floats[REMAINING, place] = announced[0, place], announced[1, place]
    total, moving = 0.0, 0
    for place in range(size):
        target, cap = floats[TARGET, place], floats[CAP, place]
        if not 0.0 <= target <= cap * (1.0 + RATE_SLACK):
            return False
        total += target
        moving += 1 if target > 0.0 else 0
        floats[TARGET, place] = min(target, cap)
    if moving > 0 and degradation[moving - 1] < 1.0 and total > degradation[moving - 1] * moment[BANDWIDTH]:
        for place in range(size):
            floats[TARGET, place] *= degradation[moving - 1] * moment[BANDWIDTH] / total
    return bool(total <= moment[BANDWIDTH] * (1.0 + RATE_SLACK))


@inlined
def deferred_until(floats: Floats, place: int, min_update_interval: float) -> float:
    """The date until which an update of the rate in the `place` of `floats` is deferred.

    That is `min_update_interval` seconds after the last one; a large change is not deferred.
    """
    sent = floats[SENT, place]
    small = abs(floats[TARGET, place] - sent) < SMALL_CHANGE * sent
    return float(floats[TOLD, place]) + min_update_interval if small else -math.inf


def _to_reduce(floats: Floats, integers: Ints, size: int, now: float, min_update_interval: float) -> tuple[int, float]:
    """Put the operations whose target is below what they were sent into the row ORDER, without deferred ones.

    Returns how many there are, and when the first deferred one is due.
    """
    count, due = 0, math.inf
    for place in range(size):
        if floats[TARGET, place] < floats[SENT, place] * (1.0 - SAME_AMOUNT):
            date = deferred_until(floats, place, min_update_interval)
            if date > now:
                due = min(due, date)
            else:
                integers[ORDER, count] = place
                count += 1
    return count, due


def _to_raise(floats: Floats, integers: Ints, size: int, now: float, min_update_interval: float) -> tuple[int, float, float]:
    """Put the operations whose target is above what they were sent, and which keep to that, into the row ORDER.

    Those with the smallest part of their target come first; deferred ones are left out. Returns how many there are, when the
    first deferred one is due, and the sum of all rates in force.
    """
    count, due, total = 0, math.inf, 0.0
    pausing = False
    for place in range(size):
        total += floats[RATE, place]
        pausing = pausing or (floats[TARGET, place] <= 0.0 < floats[RATE, place])
    for place in range(size):
        sent = floats[SENT, place]
        if floats[TARGET, place] > sent * (1.0 + SAME_AMOUNT) and floats[RATE, place] <= sent * (1.0 + SAME_AMOUNT):
            date = deferred_until(floats, place, min_update_interval)
            if date > now:
                due = min(due, date)
            elif sent > 0.0 or not pausing:  # else it takes the place of one that is about to pause
                floats[SCRATCH, count] = sent / floats[TARGET, place]
                integers[ORDER, count] = place
                count += 1
    if count > 1:
        order = np.argsort(floats[SCRATCH, :count], kind="mergesort")
        integers[ORDER, :count] = integers[ORDER, :count][order]
    return count, due, total


class Loops(NamedTuple):
    """The compiled loops; their arguments are those of the functions above."""

    move: Callable[[Floats, int, float, float, bool], None]
    first_stalled: Callable[[Floats, int, float, float], float]
    ask: Callable[..., bool]
    to_reduce: Callable[[Floats, Ints, int, float, float], tuple[int, float]]
    to_raise: Callable[[Floats, Ints, int, float, float], tuple[int, float, float]]
    enter: Callable[..., None]
    take_out: Callable[[Floats, Ints, int, int], tuple[float, float]]


@cache
def loops() -> Loops:
    """Compile the loops, or load them from the cache."""
    floats, integers, size, number = types.float64[:, ::1], types.int64[:, ::1], types.int64, types.float64
    column, policy = number[::1], types.intp
    whole, values = types.UniTuple(size, NUMBERS), types.UniTuple(number, len(Posting._fields) - NUMBERS)
    what = "the coordinator's loops"
    return Loops(
        direct(_move, types.void(floats, size, number, number, types.boolean), what),
        direct(_first_stalled, number(floats, size, number, number), what),
        direct(_ask, types.boolean(floats, integers, column, column, size, types.boolean, policy), what),
        direct(_to_reduce, types.Tuple((size, number))(floats, integers, size, number, number), what),
        direct(_to_raise, types.Tuple((size, number, number))(floats, integers, size, number, number), what),
        direct(_enter, types.void(floats, integers, size, number, number, number, whole, values), what),
        direct(_take_out, types.Tuple((number, number))(floats, integers, size, size), what),
    )


def prepare(policy: Policy) -> None:
    """Compile or load the loops and the policy, so that the first decision is as fast as the others."""
    loops()
    policy.compiled()


@lru_cache
def _parts_left(degradation: Degradation | None, size: int) -> Floats:
    """The parts of the link that 1, 2, … transfers have together."""
    parts: Floats = np.ones(size) if degradation is None else degradation.upto(size)
    parts.flags.writeable = False
    return parts


LINE: Final = 8
"""Numbers in a cache line."""


def _widened(table: Any) -> Any:
    """The table with more than twice the places.

    A row has an odd number of cache lines. With a power of two, all entries of a column would fall into a few sets of the
    processor's cache, and to copy one would take three times as long.
    """
    rows, places = table.shape
    return np.concatenate([table, np.zeros((rows, places + LINE), table.dtype)], axis=1)


class PendingOperations:
    """The columns of the view, and the coordinator's own.

    `rate` is what the client may be using now, `sent` what it was last granted and `target` what the policy wants for it,
    in bytes/s. `done` is its progress before the operation in seconds, `allowed` the bytes that its grants have allowed so
    far, `told` the date of its last grant, `round` the bytes between two chances to be paused, `progressed` the date at
    which it was last known to have moved something, and `reported` the bytes that it has said it has moved. `reached` is the
    bytes/s that its client reaches, 0 for all that it is granted (`penstock.live.core.measuring`). `withheld` is what would
    have been granted (`penstock.live.core.grants`).

    Args:
        degradation: What is left of the link when several operations move; all of it if not given.
    """

    def __init__(self, degradation: Degradation | None = None) -> None:
        self._degradation = degradation
        self.hides = False
        """Policies are shown learned volumes in place of announced ones."""
        self.owners: list[Client] = []
        """The client whose operation is at each place."""
        self.changed = False
        """Operations have come or gone, or have other turns, since the policy was last asked; the core clears it."""
        self.contended = False
        """Whether operations wait while others move; `penstock.live.core.eligible` says so after each decision."""
        self._loops = loops()
        self._floats = np.zeros((len(FLOATS), LINE))
        self._integers = np.zeros((len(INTEGERS), LINE), np.int64)

    def column(self, name: str) -> Floats:
        """The column of that name, one entry an operation."""
        return self._floats[ROW[name], : len(self.owners)]

    @property
    def size(self) -> int:
        """How many operations are pending."""
        return len(self.owners)

    @property
    def turn(self) -> Ints:
        """The operations' places in the planned order; −1 without one."""
        return self._integers[TURN, : self.size]

    def set_turns(self, turns: list[int]) -> None:
        """Set the places in the planned order: `turns` has one entry for each operation."""
        self._integers[TURN, : self.size] = turns
        self.changed = True

    @property
    def tables(self) -> tuple[Floats, Ints]:
        """The rows of numbers and those of integers; only the first `size` entries of each row count."""
        return self._floats, self._integers

    def post(self, owner: Client, here: float, posting: Posting, now: float) -> None:
        """Enter the `owner`'s operation as `posting` describes it, at the date `now`.

        `here` bytes beyond its base are moved already.
        """
        place = self.size
        if place == self._floats.shape[1]:
            self._floats, self._integers = _widened(self._floats), _widened(self._integers)
        owner.place = place
        self.owners.append(owner)
        whole, values = posting[:NUMBERS], posting[NUMBERS:]
        self._loops.enter(self._floats, self._integers, place, here, now, owner.uid, whole, values)
        self.changed = True

    def allow(self, place: int, volume: float) -> None:
        """The client may have moved up to `volume` bytes of the operation in the `place`, where it was out of sight."""
        self._floats[ALLOWED, place] = max(volume, self._floats[ALLOWED, place])

    def post_again(self, place: int, moved: float, now: float) -> None:
        """The client announces the operation at this place once more; it has moved so many bytes by now."""
        self._floats[PROGRESSED, place] = now
        self.set_moved(place, moved, now)

    def withdraw(self, owner: Client) -> None:
        """Take the owner's operation out and write what is known of it to the owner's books."""
        assert owner.operation is not None
        place, owner.place = owner.place, NO_PLACE
        owner.operation.moved, owner.transfer_seconds = self._remove(place)
        if place < len(self.owners):
            self.owners[place].place = place
        self.changed = True

    def take_out(self, place: int) -> int:
        """Empty a place without telling its owner: the last operation moves into it. Returns the place that one had."""
        self._remove(place)
        return len(self.owners)

    def _remove(self, place: int) -> tuple[float, float]:
        """Empty a place: the last operation moves into it. Bytes moved, and seconds with a grant of its client."""
        last = self.owners.pop()
        if place < len(self.owners):
            self.owners[place] = last
        return self._loops.take_out(self._floats, self._integers, place, len(self.owners))

    def copy(self) -> PendingOperations:
        """A copy to look ahead with; owners keep the places that they have here."""
        twin = PendingOperations(self._degradation)
        twin.owners, twin.hides = list(self.owners), self.hides
        twin._floats, twin._integers = self._floats.copy(), self._integers.copy()
        return twin

    def remaining(self, place: int) -> float:
        """Bytes that the operation in the `place` still has to move, as reported or estimated."""
        return float(self._floats[REMAINING, place])

    def moved(self, place: int) -> float:
        """Bytes of the operation in the `place` that have moved, as reported or estimated."""
        return float(self._floats[VOLUME, place] - self._floats[REMAINING, place])

    def account(self, place: int) -> tuple[float, float, float, float]:
        """Of the operation in the `place`: its bytes, bytes that remain, bytes that grants allowed.

        Fourth come the seconds with a grant of all operations of its client.
        """
        item = self._floats.item
        return item(VOLUME, place), item(REMAINING, place), item(ALLOWED, place), item(TRANSFERRING, place)

    def set_cap(self, place: int, cap: float) -> None:
        """The client in the `place` can use up to `cap` bytes/s from now on.

        The progress that it has made stays as it is.
        """
        floats = self._floats
        here = self.moved(place) - floats[BASE, place]
        floats[DONE, place] += here * (1.0 / floats[CAP, place] - 1.0 / cap)
        floats[LIMIT, place] *= cap / floats[CAP, place]
        floats[CAP, place] = cap
        self.changed = True

    def set_reach(self, place: int, reached: float, reach: float) -> None:
        """The client in the `place` reaches `reached` bytes/s, and policies count with `reach`.

        A rate of 0 stands for all that it is granted.
        """
        self._floats[REACHED, place] = reached
        self._floats[REACH, place] = reach

    def sent(self, place: int) -> float:
        """The rate that the operation in the `place` was last granted, in bytes/s."""
        return float(self._floats[SENT, place])

    def set_moved(self, place: int, moved: float, now: float) -> None:
        """The client has moved `moved` bytes of the operation in the `place` by the date `now`."""
        floats = self._floats
        volume, done, base, cap, posted = (float(floats[row, place]) for row in (VOLUME, DONE, BASE, CAP, POSTED))
        remaining = max(LEAST_LEFT * volume, volume - moved)
        progress = progress_during(done, volume - base, remaining, cap)
        floats[REPORTED, place] = moved
        floats[REMAINING, place] = remaining
        floats[PROGRESS, place] = at_most_elapsed(progress, done, now - posted)

    def allowed(self, place: int) -> float:
        """Bytes that the grants of the operation in the `place` have allowed so far."""
        return self._floats.item(ALLOWED, place)

    def set_progressed(self, place: int, now: float) -> None:
        """The operation in the `place` has moved something by the date `now`, or can from then on."""
        self._floats[PROGRESSED, place] = max(now, self._floats[PROGRESSED, place])

    def set_rate(self, place: int, rate: float) -> None:
        """The client in the `place` may be using up to `rate` bytes/s."""
        self._floats[RATE, place] = rate

    def set_sent(self, place: int, rate: float, now: float) -> None:
        """The client in the `place` was granted `rate` bytes/s at the date `now`."""
        self._floats[SENT, place] = rate
        self._floats[TOLD, place] = now

    def move(self, seconds: float, now: float) -> None:
        """Let every transfer go on for so many seconds, until the date `now`."""
        self._loops.move(self._floats, self.size, seconds, now, self.contended)

    def first_stalled(self, now: float, lease: float) -> float:
        """The date, as known at `now`, from which the first operation counts as stalled under this `lease`."""
        return self._loops.first_stalled(self._floats, self.size, now, lease)

    def stalled(self, now: float, lease: float) -> list[tuple[Client, float]]:
        """The owners of operations that are stalled at `now` under this `lease`, last place first.

        Beside each are the seconds since it last moved something.
        """
        places = (place for place in reversed(range(self.size)) if stalled_from(self._floats, place, now, lease) <= now)
        return [(self.owners[place], now - float(self._floats[PROGRESSED, place])) for place in places]

    @property
    def degrades(self) -> bool:
        """Whether several operations together have less than the link."""
        return self._degradation is not None

    def ask(self, policy: Policy, moment: Floats, shown: tuple[Floats, Ints, int] | None = None) -> bool:
        """Have the policy write the targets; whether caps and link can carry them.

        Args:
            policy: The policy.
            moment: What is the same for all operations.
            shown: Tables of the same form, and how many places of them count, in place of those of all operations.
        """
        floats, integers, size = shown if shown is not None else (self._floats, self._integers, self.size)
        parts = _parts_left(self._degradation, floats.shape[1])
        return self._loops.ask(floats, integers, moment, parts, size, self.hides, policy.place)

    def to_reduce(self, now: float, min_update_interval: float) -> tuple[list[tuple[Client, float]], float]:
        """The clients to send a lower grant at the date `now`, with their targets in bytes/s.

        Second comes the date when the first update that `min_update_interval` defers is due.
        """
        count, due = self._loops.to_reduce(self._floats, self._integers, self.size, now, min_update_interval)
        return [(self.owners[p], float(self._floats[TARGET, p])) for p in self._integers[ORDER, :count].tolist()], due

    def to_raise(self, now: float, min_update_interval: float) -> tuple[list[tuple[Client, float, float]], float, float]:
        """The clients to send a higher grant at `now`, those with the smallest part of their target first.

        `min_update_interval` defers small changes.

        Returns:
            Each client with what it was sent and its target, in bytes/s; when the first deferred update is due; and what all
            clients together may be using, in bytes/s.
        """
        count, due, total = self._loops.to_raise(self._floats, self._integers, self.size, now, min_update_interval)
        floats, places = self._floats, self._integers[ORDER, :count].tolist()
        return [(self.owners[p], float(floats[SENT, p]), float(floats[TARGET, p])) for p in places], due, total

    def view(self, moment: Floats) -> View:
        """What a policy is shown at the `moment`."""
        parts = _parts_left(self._degradation, self.size)
        floats = self._believed() if self.hides else self._floats
        return view_at(floats, self._integers, moment, parts, self.size, 0, self.size)

    def _believed(self) -> Floats:
        """The rows of numbers with the volumes that are learned."""
        floats = self._floats.copy()
        for place in range(self.size):
            volume, remaining, believed = floats[VOLUME, place], floats[REMAINING, place], floats[BELIEVED, place]
            floats[VOLUME, place], floats[REMAINING, place] = believed, shown_left(believed, volume, remaining)
        return floats
