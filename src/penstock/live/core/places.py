"""How clients get, keep and lose their place among the pending operations.

A client has a place from when it announces an operation until the operation ends or the client is sent away: because it
is silent for a lease, does not keep to a lower grant in time, or moves nothing although its grants allowed its whole
volume. The books of a client that is sent away are kept for a while.

The checks say under which conditions the core refuses an event. They raise `Refused` and change nothing.
"""

from __future__ import annotations

import math
from typing import Final

from penstock.engine.chain import length_left, mean_iteration
from penstock.live.client.transfer import SLACK, SLICE
from penstock.live.core.clients import NO_PLACE, Claims, Client, PendingOperation, Registry
from penstock.live.core.deciding import Turns
from penstock.live.core.eligible import Eligible
from penstock.live.core.events import ForgetInstruction, InformEvent, Refused, RegisterEvent
from penstock.live.core.grants import Grants, Leases
from penstock.live.core.limits import Limits
from penstock.live.core.pending import BURST_SECONDS, OVERRUN, PendingOperations, Posting
from penstock.live.protocol import DENIED, INVALID, OUT_OF_ORDER, UNEXPECTED
from penstock.numeric.tolerances import INVARIANT, LEAST_CAP, LEAST_VOLUME_BYTES, SAME_AMOUNT

PACING_SECONDS: Final = SLICE + SLACK
"""A client that keeps to its rate is ahead of it by so many seconds at most."""


def check_registration(
    event: RegisterEvent, turns: Turns, policy: str, bandwidth: float, node_bandwidth: float, limits: Limits
) -> Claims:
    """Check a registration.

    Args:
        event: The registration.
        turns: What the policy plans for, and who has the planned names.
        policy: The name of the policy.
        bandwidth: B, in bytes/s.
        node_bandwidth: What one node can use, in bytes/s.
        limits: How much of the client's claims counts.

    Returns:
        What counts of what the client claims.
    """
    job, elapsed, progress, order = event.job, event.elapsed, event.progress, turns.order
    if not (job.isprintable() and event.user.isprintable() and event.group.isprintable()):
        raise Refused(INVALID, f"{job!r} of {event.user!r} cannot be printed; expected letters, digits and signs")
    if order.only_planned and order.position(job) is None:
        raise Refused(INVALID, f"{job!r} is not in the workload that the policy {policy} plans for")
    _check_planned_name(event, turns, limits)
    nodes = int(min(event.nodes, limits.max_nodes))
    max_rate = event.bandwidth if event.bandwidth is not None else nodes * node_bandwidth
    if not max_rate > LEAST_CAP * bandwidth:
        raise Refused(INVALID, f"bandwidth {event.bandwidth} of {job!r} is next to none; expected bytes/s above 0")
    if progress is not None and not progress <= elapsed * (1.0 + INVARIANT):
        raise Refused(INVALID, f"{job!r} has progressed {progress} s in {elapsed} s; expected no more than that")
    counted = min(elapsed, limits.max_elapsed_claim)
    lost = max(0.0, elapsed - progress) if progress is not None else 0.0
    done = min(progress, elapsed) if progress is not None and counted == elapsed else max(0.0, counted - lost)
    return Claims(nodes, max_rate, counted, done)


def _check_planned_name(event: RegisterEvent, turns: Turns, limits: Limits) -> None:
    """Check that a planned name is free for this user."""
    job = event.job
    if turns.order.position(job) is None:
        return
    if limits.planned_uid is not None and event.uid != limits.planned_uid:
        raise Refused(DENIED, f"{job!r} is planned for user {limits.planned_uid}; expected another name, or that user")
    holder = turns.holder(job)
    if holder is not None and holder.uid != event.uid:
        raise Refused(DENIED, f"{job!r} is planned, and another user has registered it; expected another name")
    if holder is not None and holder.connected and turns.order.only_planned:
        raise Refused(INVALID, f"{job!r} is planned once, and application {holder.number} has that name; expected another")


def check_new_operation(event: InformEvent, turns: Turns, policy: str, bandwidth: float) -> None:
    """Check an operation that a client announces for the first time, by `event`, where `policy` plans `turns`.

    `bandwidth` is B, in bytes/s.
    """
    client, number, last = event.client, event.operation, event.client.last_operation
    if number <= last:
        raise Refused(OUT_OF_ORDER, f"operation {number} comes after {last}; expected a higher number")
    if not event.volume >= LEAST_VOLUME_BYTES:
        raise Refused(INVALID, f"operation {number} has no volume; expected bytes above 0")
    if event.bandwidth is not None and not event.bandwidth > LEAST_CAP * bandwidth:
        raise Refused(INVALID, f"bandwidth {event.bandwidth} of operation {number} is next to none; expected more")
    ahead = client.operations + (client.operation is not None)
    order = turns.order
    if order.only_planned and order.turn(turns.planned_name(client), ahead) < 0:
        raise Refused(INVALID, f"no further operation of {client.job!r} is in the plan of {policy}")


def check_pending(client: Client, number: int) -> PendingOperation:
    """The client's pending operation, which must have this number."""
    operation = client.operation
    if operation is None or operation.number != number:
        has = f"it is at operation {operation.number}" if operation else "it has none under way"
        raise Refused(UNEXPECTED, f"operation {number} of {client.job!r} is not under way; {has}")
    return operation


class Places:
    """Changes the parts of the core together, so that they always agree on who has a place.

    Args:
        registry: The clients.
        pending: Their operations.
        turns: The planned order, as it goes on.
        leases: Dates by which clients must act.
        grants: What clients are told.
        eligible: Which operations the policy is shown.
    """

    def __init__(
        self,
        registry: Registry,
        pending: PendingOperations,
        turns: Turns,
        leases: Leases,
        grants: Grants,
        eligible: Eligible,
    ) -> None:
        self._eligible = eligible
        self._longest_round = eligible.limits.longest_round
        self._registry = registry
        self._pending = pending
        self._turns = turns
        self._leases = leases
        self._grants = grants
        self.forgets: list[ForgetInstruction] = []
        """Whom to tell that it was sent away, since the last `expire`."""

    def credit(self, now: float, client: Client, moved: float) -> tuple[float, float]:
        """What counts of what a client says to have moved.

        That is no more than its grants allowed, with a little room, and no more than its cap carries in the time in which
        the coordinator did not see it.

        Args:
            now: The date, in seconds.
            client: The client, which has an operation.
            moved: Bytes of the operation that it says are moved in all.

        Returns:
            Bytes that count as moved here; and how many times more than its grants allowed the client says, 1 if it keeps
            to them or was out of sight.
        """
        operation = client.operation
        assert operation is not None
        unseen, client.unseen_since = client.unseen_since, None
        here, room = max(0.0, moved - operation.base), operation.volume - operation.base
        known = operation.moved - operation.base + client.cap * (max(0.0, now - unseen) if unseen is not None else 0.0)
        if client.place == NO_PLACE:
            return max(0.0, min(here, room, known)), 1.0
        if unseen is not None:
            self._pending.allow(client.place, min(here, known))
        allowed, usable = self._pending.allowed(client.place), client.usable
        paced = OVERRUN * allowed + usable * PACING_SECONDS
        if here <= paced:
            return min(here, room), 1.0
        a_round, burst = self._round(operation, usable), client.cap * (now - operation.posted + BURST_SECONDS)
        credited = min(here, room, paced + min(a_round, burst))
        keeps = unseen is not None or here <= paced + a_round
        return credited, 1.0 if keeps else here / max(allowed, SAME_AMOUNT * here)

    def _round(self, operation: PendingOperation, usable: float) -> float:
        """Bytes of a round of the `operation`, at most what a cap of `usable` bytes/s carries in the longest one."""
        return min(operation.round_bytes, usable * self._longest_round)

    def post(self, now: float, client: Client, moved: float) -> float:
        """Give the operation of the `client` a place at the date `now`, or bring its row up to date.

        The client says that `moved` bytes are moved.

        Returns:
            How many times more than its grants allowed that is, as `credit` does.
        """
        operation = client.operation
        assert operation is not None
        if moved <= operation.base and client.place == NO_PLACE:  # most are posted before anything is moved
            client.unseen_since, here, factor = None, 0.0, 1.0
        else:
            here, factor = self.credit(now, client, moved)
        operation.moved = operation.base + here
        if client.place != NO_PLACE:
            self._pending.post_again(client.place, operation.moved, now)
        else:
            self._pending.post(client, here, self.posting(now, client, operation), now)
            self._eligible.limit_new(self._pending, now, client)
        return factor

    def posting(self, now: float, client: Client, operation: PendingOperation) -> Posting:
        """The row of an operation of the client among the pending ones, as it enters at the date `now`."""
        order, whole, usable, known = self._turns.order, client.dedicated_seconds, client.usable, client.known
        number, turn, rank = order.size + client.number, -1, 0.0
        if order.size or order.learns:  # else nothing is planned, and the rank of all is 0
            rank = self._turns.rank_of(client)
        if order.size:
            name = self._turns.planned_name(client)
            position = order.position(name)
            number = number if position is None else position
            turn = self._turns.turn_of(client)
            whole = order.dedicated_seconds(name) if whole is None else whole
        length = whole if whole is not None and not self._pending.hides else client.done + length_left(client.done)
        return Posting(  # in the order of its fields: by keywords it takes three times as long
            number,
            turn,
            client.user_number,
            self._eligible.limits.group_number(client),
            usable,
            operation.volume,
            operation.posted,
            client.release,
            client.nodes,
            mean_iteration(client) * (known.per_phase if self._pending.hides else 1),
            length,
            rank,
            operation.rounds,
            self._eligible.limits.weight(client),
            client.transfer_seconds,
            client.done,
            operation.base,
            self._round(operation, usable),
            now,
            known.volume if known.operations else self._registry.predictor.together.alone * usable,
        )

    def end_operation(self, now: float, client: Client, here: float | None = None) -> None:
        """End the client's operation.

        Args:
            now: The date, in seconds.
            client: The client.
            here: Bytes that count as moved here, by `credit`; None if the client does not say, then what its grants allowed
                counts.
        """
        operation = client.operation
        assert operation is not None
        allowed = self._pending.allowed(client.place) if here is None and client.place != NO_PLACE else math.inf
        self._withdraw(client)
        if here is None:
            here = min(max(0.0, operation.moved - operation.base), allowed)
        client.unseen_since = None
        self._registry.end_operation(now, client, here)
        self._turns.operation_ended(client)

    def leave(self, now: float, client: Client) -> None:
        """The `client` has ended at the date `now`: drop its books."""
        self._withdraw(client)
        self._registry.record_leave(now, client)
        self._drop(client)

    def forget(self, now: float, client: Client, reason: str) -> None:
        """Send the `client` away at the date `now`, with this `reason`, and drop its books."""
        self.send_away(now, client, reason)
        self._drop(client)

    def restore(self, now: float, client: Client, bandwidth: float) -> None:
        """Take over a `client` out of a journal at the date `now`, not connected; if it had a place, it has it again.

        `bandwidth` is B, in bytes/s.
        """
        had_place = client.place != NO_PLACE
        if client.unseen_since is None:
            client.unseen_since = client.last_heard
        client.connected = False
        client.place = NO_PLACE
        client.unacknowledged = []
        client.cap = min(client.max_rate, bandwidth)
        self._registry.restore(client)
        self._turns.claim(client)
        self._leases.renew(now, client)
        if client.operation is not None and had_place:
            operation, client.unseen_since, unseen = client.operation, None, client.unseen_since
            self.post(now, client, operation.moved)
            client.unseen_since = unseen
            self._grants.restore(now, client, client.in_force)

    def expire(self, now: float) -> list[ForgetInstruction]:
        """Send away clients that have run out of time and drop those that are away for too long.

        Returns:
            Whom to tell that it was sent away, now or since the last call.
        """
        if now >= self._leases.grace_until:
            self._expire_places(now)
        for client in self._leases.expired(now):
            self._drop(client)
        forgets, self.forgets = self.forgets, []
        return forgets

    def _expire_places(self, now: float) -> None:
        lease = self._leases.lease
        for client in self._leases.overdue(now):
            first = client.unacknowledged[0]
            self.send_away(now, client, f"it did not keep to grant {first.number} of {first.rate:g} bytes/s in time")
        for client in self._leases.silent(now):
            self.send_away(now, client, f"it gave no sign of life for {lease:g} s")
        if self._pending.first_stalled(now, lease) <= now:
            for client, seconds in self._pending.stalled(now, lease):
                reason = f"it has moved nothing for {seconds:.3g} s, though it was granted all it wanted to move"
                self.send_away(now, client, reason)

    def send_away(self, now: float, client: Client, reason: str) -> None:
        """Take the place of the `client` at the date `now`; its books are kept for a while, and it is told the `reason`."""
        self._withdraw(client)
        self._turns.client_gone(client)
        self._leases.mark_away(now, client)
        self._registry.changed.add(client.number)
        if client.connected:
            client.connected = False
            client.unseen_since = now
            self.forgets.append(ForgetInstruction(client, reason))

    def _drop(self, client: Client) -> None:
        self._turns.client_gone(client)
        self._turns.release_name(client)
        self._registry.remove(client)
        self._leases.forget(client)

    def _withdraw(self, client: Client) -> None:
        """Take the client's operation out of the pending ones; what it may have used is free."""
        if client.place != NO_PLACE:
            self._pending.withdraw(client)
        self._grants.withdraw(client)
