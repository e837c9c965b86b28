"""Which pending operations the policy is shown, and with which caps: ends of turns, users that count as one, penalties.

A policy sees only the view. So that every policy keeps to the limits of the site (`penstock.live.core.limits`), this module
shows it fewer operations, or lower caps. Most of the time no limit applies, and the policy sees all operations as they are.
The policy does not see

- an operation whose turn is over. The time of a turn counts while the operation has bandwidth and others wait. After
  `longest_turn` the operation is set aside until all that were there before it have had their turn, but for no longer than
  one longest turn per other operation. If the policy serves nobody else, the operation comes back at once. An operation that
  reaches less than `least_reached` of its grants is set aside after `Limits.watch`, which may be shorter;
- an operation whose owner is barred;
- if each user counts as one (`share_by` = user): all operations of a user except the oldest. A sharing policy sees the
  oldest with the sum of the caps of all of them, another policy with its own cap. What the oldest cannot use of its rate
  goes to the user's others, oldest first. A static order plans every operation, so `share_by` has no effect on it.

If a sharing policy that does not idle on purpose leaves bandwidth free, and the link does not degrade, that bandwidth goes
to the operations that the policy did not see, except barred ones.

Rows of the table of pending operations: `uid` is that of the owner; `since` the date at which the operation got its place or
its last turn ended; `limit` the cap after penalties, in bytes/s, and `together` the cap that the policy sees; `barred` and
`shown` are 0 or 1; `aside` is the latest date at which the operation comes back, −∞ if it is not set aside; `held` the
seconds of its turn so far. `checked`, `reported_then` and `allowed_then` are `held`, the bytes reported and the bytes
allowed at the last check of what the operation reaches.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

import numpy as np
from numba import types

from penstock.engine.state import BANDWIDTH
from penstock.engine.transfers import CAP, RATE
from penstock.live.core.clients import NEVER, NO_PLACE, Client
from penstock.live.core.limits import Limits
from penstock.live.core.pending import (
    ALLOWED,
    ASIDE,
    HELD,
    LIMIT,
    ORDER,
    REPORTED,
    ROW,
    SHOWN,
    SINCE,
    TARGET,
    UID,
    PendingOperations,
)
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import direct, inlined, subroutine
from penstock.numeric.tolerances import SAME_AMOUNT, SAME_TIME_S
from penstock.policies import view
from penstock.policies.policy import SHARING, STATIC, Policy

BARRED, TOGETHER = ROW["barred"], ROW["together"]
CHECKED, REPORTED_THEN, ALLOWED_THEN = (ROW[name] for name in ("checked", "reported_then", "allowed_then"))
APPLICATION: Final = view.ROW["application"]


@inlined
def start_watch(floats: Floats, place: int) -> None:
    """Look from now on at what the operation in the `place` of `floats` reaches."""
    floats[CHECKED, place] = floats[HELD, place]
    floats[REPORTED_THEN, place] = floats[REPORTED, place]
    floats[ALLOWED_THEN, place] = floats[ALLOWED, place]


@inlined
def start_turn(floats: Floats, place: int) -> None:
    """Count the time of a turn anew, for the operation in the `place` of `floats`."""
    floats[HELD, place] = 0.0
    start_watch(floats, place)


def _end_turns(floats: Floats, integers: Ints, size: int, longest_turn: float, watch: float, least_reached: float) -> int:
    """Put the operations whose turn is over into the row ORDER; return how many there are."""
    count = 0
    for place in range(size):
        if floats[RATE, place] <= 0.0 or floats[ASIDE, place] > NEVER:
            continue
        held = floats[HELD, place]
        over = held >= longest_turn - SAME_TIME_S
        if held - floats[CHECKED, place] >= watch - SAME_TIME_S:
            reached = floats[REPORTED, place] - floats[REPORTED_THEN, place]
            over = over or reached < least_reached * (floats[ALLOWED, place] - floats[ALLOWED_THEN, place])
            start_watch(floats, place)
        if over:
            start_turn(floats, place)
            integers[ORDER, count] = place
            count += 1
    return count


def _first_end(floats: Floats, size: int, now: float, longest_turn: float, watch: float, contended: bool) -> float:
    """The first date at which a turn is over, if all go on as now, or an operation that is set aside comes back."""
    earliest = math.inf
    for place in range(size):
        if floats[ASIDE, place] > NEVER:
            earliest = min(earliest, floats[ASIDE, place])
        elif contended and floats[RATE, place] > 0.0:
            left = min(longest_turn, floats[CHECKED, place] + watch) - floats[HELD, place]
            earliest = min(earliest, now + max(0.0, left))
    return earliest


def _bring_back(floats: Floats, size: int, now: float) -> int:
    """Bring back the operations before which nobody is left, or whose date has come; return how many."""
    oldest = math.inf
    for place in range(size):
        if floats[ASIDE, place] <= NEVER and floats[BARRED, place] <= 0.0:
            oldest = min(oldest, floats[SINCE, place])
    count = 0
    for place in range(size):
        if floats[ASIDE, place] > NEVER and (floats[ASIDE, place] <= now or floats[SINCE, place] < oldest):
            floats[ASIDE, place] = NEVER
            start_turn(floats, place)  # it may have been using its bandwidth while it was to yield
            count += 1
    return count


def _by_user(floats: Floats, integers: Ints, size: int) -> Ints:
    """The places, one user after the other, each user's from the oldest on."""
    order = np.argsort(integers[APPLICATION, :size], kind="mergesort")
    order = order[np.argsort(floats[SINCE, :size][order], kind="mergesort")]
    return order[np.argsort(floats[UID, :size][order], kind="mergesort")]


by_user_places: Final = subroutine(_by_user)


def _elect(floats: Floats, integers: Ints, size: int, by_user: bool, together: bool) -> tuple[int, int]:
    """Mark the operations that the policy is shown; `together`: those of a user with the sum of the user's caps.

    Returns how many marks have changed, and how many operations are not shown or with a lower cap.
    """
    changed, unusual = 0, 0
    for place in range(size):
        floats[TOGETHER, place] = floats[LIMIT, place]
        shown = 1.0 if floats[ASIDE, place] <= NEVER and floats[BARRED, place] <= 0.0 else 0.0
        if not by_user:
            changed += int(shown != floats[SHOWN, place])
            floats[SHOWN, place] = shown
    if by_user:
        first = -1
        for place in by_user_places(floats, integers, size):
            shown = 1.0 if floats[ASIDE, place] <= NEVER and floats[BARRED, place] <= 0.0 else 0.0
            if first >= 0 and floats[UID, first] == floats[UID, place] and shown > 0.0:
                floats[TOGETHER, first] += floats[LIMIT, place] if together else 0.0
                shown = 0.0
            elif shown > 0.0:
                first = place
            changed += int(shown != floats[SHOWN, place])
            floats[SHOWN, place] = shown
    for place in range(size):
        unusual += int(floats[SHOWN, place] <= 0.0 or floats[LIMIT, place] < floats[CAP, place])
    return changed, unusual


def _gather(floats: Floats, integers: Ints, size: int, shown: Floats, shown_integers: Ints, bandwidth: float) -> int:
    """Copy the operations to show, with the caps to show, to the first places of other tables; return how many."""
    count = 0
    for place in range(size):
        if floats[SHOWN, place] > 0.0:
            for row in range(floats.shape[0]):
                shown[row, count] = floats[row, place]
            for row in range(integers.shape[0]):
                shown_integers[row, count] = integers[row, place]
            shown[CAP, count] = min(bandwidth, floats[TOGETHER, place])
            count += 1
    return count


@inlined
def pass_on(floats: Floats, order: Ints) -> None:
    """Let what the first operation of a user cannot use of its target go to the user's others.

    `order` has their places in `floats`.
    """
    user, spare = math.nan, 0.0
    for place in order:
        if floats[SHOWN, place] > 0.0:
            user, spare = floats[UID, place], max(0.0, floats[TARGET, place] - floats[LIMIT, place])
            floats[TARGET, place] -= spare
        elif floats[UID, place] == user and floats[ASIDE, place] <= NEVER and floats[BARRED, place] <= 0.0:
            floats[TARGET, place] = min(spare, floats[LIMIT, place])
            spare -= floats[TARGET, place]


def _scatter(floats: Floats, integers: Ints, size: int, shown: Floats, bandwidth: float, by_user: bool, fills: bool) -> None:
    """Write the targets that the policy has given to those it was shown, and what is left to the others."""
    count, total = 0, 0.0
    for place in range(size):
        floats[TARGET, place] = 0.0
        if floats[SHOWN, place] > 0.0:
            floats[TARGET, place] = shown[TARGET, count]
            total += shown[TARGET, count]
            count += 1
    if by_user:
        pass_on(floats, by_user_places(floats, integers, size))
    left = bandwidth - total
    if fills and left > SAME_AMOUNT * bandwidth:
        for place in np.argsort(floats[SINCE, :size], kind="mergesort"):
            if floats[SHOWN, place] <= 0.0 and floats[BARRED, place] <= 0.0 and left > 0.0:
                more = min(left, floats[LIMIT, place] - floats[TARGET, place])
                floats[TARGET, place] += more
                left -= more


def _start_turns(floats: Floats, size: int) -> None:
    """Count the time of all turns anew: nobody has waited until now."""
    for place in range(size):
        start_turn(floats, place)


def _is_contended(floats: Floats, size: int) -> bool:
    """Whether an operation waits by the policy's decision."""
    waiting = 0
    for place in range(size):
        waiting += int(floats[TARGET, place] <= 0.0 and floats[BARRED, place] <= 0.0)
    return waiting > 0


class EligibleLoops(NamedTuple):
    """The compiled loops; their arguments are those of the functions above."""

    end_turns: Callable[[Floats, Ints, int, float, float, float], int]
    first_end: Callable[[Floats, int, float, float, float, bool], float]
    bring_back: Callable[[Floats, int, float], int]
    elect: Callable[[Floats, Ints, int, bool, bool], tuple[int, int]]
    gather: Callable[[Floats, Ints, int, Floats, Ints, float], int]
    scatter: Callable[[Floats, Ints, int, Floats, float, bool, bool], None]
    is_contended: Callable[[Floats, int], bool]
    start_turns: Callable[[Floats, int], None]


@cache
def loops() -> EligibleLoops:
    """Compile the loops, or load them from the cache."""
    floats, integers, size, number = types.float64[:, ::1], types.int64[:, ::1], types.int64, types.float64
    flag, what = types.boolean, "the coordinator's limits"
    return EligibleLoops(
        direct(_end_turns, size(floats, integers, size, number, number, number), what),
        direct(_first_end, number(floats, size, number, number, number, flag), what),
        direct(_bring_back, size(floats, size, number), what),
        direct(_elect, types.Tuple((size, size))(floats, integers, size, flag, flag), what),
        direct(_gather, size(floats, integers, size, floats, integers, number), what),
        direct(_scatter, types.void(floats, integers, size, floats, number, flag, flag), what),
        direct(_is_contended, flag(floats, size), what),
        direct(_start_turns, types.void(floats, size), what),
    )


class Eligible:
    """Chooses whom the policy is shown, and asks it.

    Args:
        limits: The limits of the site.
        lease: Seconds of silence after which a client loses its grant.
    """

    def __init__(self, limits: Limits, lease: float) -> None:
        self.limits = limits
        self._watch = limits.watch(lease) if limits.least_reached > 0.0 else math.inf
        self._timed = min(limits.longest_turn, self._watch) < math.inf
        self._unusual = limits.by_user
        """Some operations may have to be hidden, or shown with lower caps."""
        self._shown: tuple[Floats, Ints] = np.zeros((0, 0)), np.zeros((0, 0), np.int64)
        self._penalised: dict[int, tuple[float, Client]] = {}
        """Clients with a penalty, by number, and the date at which it ends or changes."""
        self._loops = loops()

    def limit(self, pending: PendingOperations, now: float, client: Client) -> None:
        """Bring cap and bar of the `client`'s operation in `pending` up to date with its penalties at the date `now`."""
        lowered, barred = client.lowered_until > now, client.barred_until > now
        ends = [date for date in (client.lowered_until, client.barred_until) if date > now]
        if ends:
            self._penalised[client.number] = (min(ends), client)
        else:
            self._penalised.pop(client.number, None)
        if client.place != NO_PLACE:
            floats, _ = pending.tables
            floats[LIMIT, client.place] = client.usable * client.lowered_to if lowered else client.usable
            floats[BARRED, client.place] = float(barred)
            pending.changed = self._unusual = True

    def limit_new(self, pending: PendingOperations, now: float, client: Client) -> None:
        """The same for an operation that the `client` posts in `pending` at the date `now`: most have no penalty."""
        if client.lowered_until > now or client.barred_until > now:
            self.limit(pending, now, client)

    def next_date(self, pending: PendingOperations, now: float) -> float:
        """The date after `now` at which `update` must be called for `pending`, unless something happens before."""
        lifted = min(date for date, _ in self._penalised.values()) if self._penalised else math.inf
        if not (self._timed and (pending.contended or self._unusual)):
            return lifted
        floats, _ = pending.tables
        longest = self.limits.longest_turn
        return min(lifted, self._loops.first_end(floats, pending.size, now, longest, self._watch, pending.contended))

    def update(self, pending: PendingOperations, now: float, policy: Policy) -> bool:
        """End turns and penalties that are over at the date `now`, and choose what of `pending` the `policy` is shown.

        Returns:
            Whether turns have ended or begun anew.
        """
        if self._penalised:
            for client in [client for date, client in self._penalised.values() if date <= now]:
                self.limit(pending, now, client)
        ended = self._end_turns(pending, now) if self._timed and pending.contended else 0
        if not self._unusual:
            return False
        floats, integers = pending.tables
        back = self._loops.bring_back(floats, pending.size, now) if self._timed else 0
        by_user = self.limits.by_user and policy.family != STATIC
        shares = policy.family == SHARING
        changed, unusual = self._loops.elect(floats, integers, pending.size, by_user, shares)
        pending.changed = pending.changed or bool(changed)
        self._unusual = bool(unusual or self._penalised or self.limits.by_user)
        return ended + back > 0

    def _end_turns(self, pending: PendingOperations, now: float) -> int:
        floats, integers = pending.tables
        limits = self.limits
        count = self._loops.end_turns(floats, integers, pending.size, limits.longest_turn, self._watch, limits.least_reached)
        for place in integers[ORDER, :count].tolist():
            floats[SINCE, place], floats[ASIDE, place] = now, now + limits.longest_turn * max(1, pending.size - 1)
            self._unusual = True
        return count

    def bring_all_back(self, pending: PendingOperations) -> bool:
        """End the wait of all operations of `pending` that are set aside; whether there are any."""
        floats, _ = pending.tables
        return self._loops.bring_back(floats, pending.size, math.inf) > 0

    def ask(self, pending: PendingOperations, policy: Policy, moment: Floats) -> bool:
        """Have the `policy` write the targets of all operations of `pending` at the `moment`.

        Returns whether caps and link can carry what it gave.
        """
        if not self._unusual:
            right = pending.ask(policy, moment)
        else:
            right = self._ask_some(pending, policy, moment)
        if self._timed:
            before, pending.contended = pending.contended, self._loops.is_contended(pending.tables[0], pending.size)
            if pending.contended and not before:
                self._loops.start_turns(pending.tables[0], pending.size)
        return right

    def serves_nobody(self, pending: PendingOperations) -> bool:
        """Whether all targets of the operations `pending` are 0."""
        return self._unusual and not pending.column("target").any()

    def _ask_some(self, pending: PendingOperations, policy: Policy, moment: Floats) -> bool:
        floats, integers = pending.tables
        if self._shown[0].shape != floats.shape:
            self._shown = np.zeros_like(floats), np.zeros_like(integers)
        bandwidth = float(moment[BANDWIDTH])
        count = self._loops.gather(floats, integers, pending.size, *self._shown, bandwidth)
        right = pending.ask(policy, moment, (*self._shown, count)) if count else True
        by_user = self.limits.by_user and policy.family != STATIC
        fills = policy.family == SHARING and not policy.idles and not pending.degrades
        self._loops.scatter(floats, integers, pending.size, self._shown[0], bandwidth, by_user, fills)
        return right
