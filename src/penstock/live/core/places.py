"""How clients get, keep and lose their place among the pending operations.

A client has a place from when it announces an operation until the operation ends or the client is sent away: because it
is silent for a lease, does not keep to a lower grant in time, or moves nothing although its grants allowed its whole
volume. The books of a client that is sent away are kept for a while.

The checks say under which conditions the core refuses an event. They raise `Refused` and change nothing.
"""

from __future__ import annotations

from penstock.engine.books import mean_iteration
from penstock.live.core.deciding import PlannedOrder, Turns
from penstock.live.core.events import ForgetInstruction, InformEvent, Refused, RegisterEvent
from penstock.live.core.grants import Grants, Leases
from penstock.live.core.pending import PendingOperations, Posting
from penstock.live.core.registry import NO_PLACE, Client, PendingOperation, Registry
from penstock.live.protocol import INVALID, OUT_OF_ORDER, UNEXPECTED
from penstock.numeric.tolerances import INVARIANT, LEAST_CAP, LEAST_VOLUME_BYTES


def check_registration(
    event: RegisterEvent, order: PlannedOrder, policy: str, bandwidth: float, node_bandwidth: float
) -> float:
    """Check a registration.

    Args:
        event: The registration.
        order: What the policy plans for.
        policy: The name of the policy.
        bandwidth: B, in bytes/s.
        node_bandwidth: What one node can use, in bytes/s.

    Returns:
        The most that the client can use by itself, in bytes/s.
    """
    job, elapsed, progress = event.job, event.elapsed, event.progress
    if not (job.isprintable() and event.user.isprintable()):
        raise Refused(INVALID, f"{job!r} of {event.user!r} cannot be printed; expected letters, digits and signs")
    if order.only_planned and order.position(job) is None:
        raise Refused(INVALID, f"{job!r} is not in the workload that the policy {policy} plans for")
    max_rate = event.bandwidth if event.bandwidth is not None else event.nodes * node_bandwidth
    if not max_rate > LEAST_CAP * bandwidth:
        raise Refused(INVALID, f"bandwidth {event.bandwidth} of {job!r} is next to none; expected bytes/s above 0")
    if progress is not None and not progress <= elapsed * (1.0 + INVARIANT):
        raise Refused(INVALID, f"{job!r} has progressed {progress} s in {elapsed} s; expected no more than that")
    return max_rate


def check_new_operation(event: InformEvent, order: PlannedOrder, policy: str) -> None:
    """Check an operation that the client announces for the first time."""
    client, number, last = event.client, event.operation, event.client.last_operation
    if number <= last:
        raise Refused(OUT_OF_ORDER, f"operation {number} comes after {last}; expected a higher number")
    if not event.volume >= LEAST_VOLUME_BYTES:
        raise Refused(INVALID, f"operation {number} has no volume; expected bytes above 0")
    ahead = client.operations + (client.operation is not None)
    if order.only_planned and order.turn(client.job, ahead) < 0:
        raise Refused(INVALID, f"no further operation of {client.job!r} is in the plan of {policy}")


def check_pending(client: Client, number: int) -> PendingOperation:
    """The client's pending operation, which must have this number."""
    operation = client.operation
    if operation is None or operation.number != number:
        has = f"it is at operation {operation.number}" if operation else "it has none under way"
        raise Refused(UNEXPECTED, f"operation {number} of {client.job!r} is not under way; {has}")
    return operation


class Places:
    """Changes the parts of the core together, so that they always agree on who has a place."""

    def __init__(self, registry: Registry, pending: PendingOperations, turns: Turns, leases: Leases, grants: Grants) -> None:
        self._registry = registry
        self._pending = pending
        self._turns = turns
        self._leases = leases
        self._grants = grants
        self.forgets: list[ForgetInstruction] = []
        """Whom to tell that it was sent away, since the last `expire`."""

    def post(self, now: float, client: Client, moved: float) -> None:
        """Give the client's operation a place, or bring its row up to date; `moved` bytes are moved so far."""
        operation = client.operation
        assert operation is not None
        operation.moved = min(moved, operation.volume)
        if client.place != NO_PLACE:
            self._pending.post_again(client.place, moved, now)
            return
        self._pending.post(client, operation.moved, self.posting(now, client, operation))

    def posting(self, now: float, client: Client, operation: PendingOperation) -> Posting:
        """The row of an operation of the client among the pending ones, as it enters at the date `now`."""
        order, dedicated_seconds = self._turns.order, client.dedicated_seconds
        position = order.position(client.job)
        return Posting(
            application=position if position is not None else order.size + client.number,
            turn=self._turns.turn_of(client),
            cap=client.cap,
            volume=operation.volume,
            posted=operation.posted,
            release=client.release,
            nodes=client.nodes,
            done=client.done,
            round=operation.round_bytes,
            progressed=now,
            mean_iteration=mean_iteration(client),
            whole=dedicated_seconds if dedicated_seconds is not None else order.dedicated_seconds(client.job),
            rank=order.rank(client.job),
            transferring=client.transfer_seconds,
        )

    def end_operation(self, now: float, client: Client, moved: float) -> None:
        """End the client's operation, of which `moved` bytes were moved."""
        self._withdraw(client)
        self._registry.end_operation(now, client, moved)
        self._turns.operation_ended(client)

    def leave(self, now: float, client: Client) -> None:
        """The client has ended: drop its books."""
        self._withdraw(client)
        self._registry.record_leave(now, client)
        self._drop(client)

    def forget(self, now: float, client: Client, reason: str) -> None:
        """Send the client away and drop its books."""
        self._send_away(now, client, reason)
        self._drop(client)

    def restore(self, now: float, client: Client, bandwidth: float) -> None:
        """Take over a client out of a journal, not connected; if it had a place, it has it again."""
        had_place = client.place != NO_PLACE
        client.connected = False
        client.place = NO_PLACE
        client.unacknowledged = []
        client.cap = min(client.max_rate, bandwidth)
        self._registry.restore(client)
        self._leases.renew(now, client)
        if client.operation is not None and had_place:
            self.post(now, client, client.operation.moved)
            self._grants.restore(now, client, client.in_force)

    def expire(self, now: float) -> list[ForgetInstruction]:
        """Send away clients that have run out of time and drop those that are away for too long.

        Returns:
            Whom to tell that it was sent away, now or since the last call.
        """
        lease = self._leases.lease
        for client in self._leases.overdue(now):
            first = client.unacknowledged[0]
            self._send_away(now, client, f"it did not keep to grant {first.number} of {first.rate:g} bytes/s in time")
        for client in self._leases.silent(now):
            self._send_away(now, client, f"it gave no sign of life for {lease:g} s")
        if self._pending.first_stalled(now, lease) <= now:
            for client, seconds in self._pending.stalled(now, lease):
                reason = f"it has moved nothing for {seconds:.3g} s, though it was granted all it wanted to move"
                self._send_away(now, client, reason)
        for client in self._leases.expired(now):
            self._drop(client)
        forgets, self.forgets = self.forgets, []
        return forgets

    def _send_away(self, now: float, client: Client, reason: str) -> None:
        self._withdraw(client)
        self._turns.client_gone(client)
        self._leases.mark_away(now, client)
        self._registry.changed.add(client.number)
        if client.connected:
            client.connected = False
            self.forgets.append(ForgetInstruction(client, reason))

    def _drop(self, client: Client) -> None:
        self._turns.client_gone(client)
        self._registry.remove(client)
        self._leases.forget(client)

    def _withdraw(self, client: Client) -> None:
        """Take the client's operation out of the pending ones; what it may have used is free."""
        if client.place != NO_PLACE:
            self._pending.withdraw(client)
        self._grants.withdraw(client)
