"""Grants: from the rates that a policy wants to the rates that clients are told. What is in force never exceeds B.

A higher grant is in force when it is sent. A lower grant is in force only when the client acknowledges it; until then the
client may be using the old rate. Moving bandwidth from one client to another therefore takes two steps: the first client is
told and yields at its next round, then the other one is granted what is free (003 §III.C: an application is authorised when
those before it have released). While a client is told to pause and has not yet paused, no new client starts, since it takes
that place; `penstock.engine.rounds` follows the same rule. A client that waits for others to slow down may start with a part
of its target: at least `SMALLEST_PART` of it, and `GROWTH` times what it has.

A small change of a rate is deferred until `min_update_interval` seconds after the client was last told a rate. A client
moves slices of 10 ms, so more frequent updates have no effect; and where a hundred clients share, every arrival changes all
rates a little.
"""

from __future__ import annotations

import math
from typing import Final

from penstock.live.core.clients import NO_PLACE, Client, Reduction
from penstock.live.core.events import GrantInstruction
from penstock.live.core.leases import Leases
from penstock.live.core.pending import PendingOperations
from penstock.live.core.registry import Registry
from penstock.numeric.tolerances import SAME_AMOUNT

SMALLEST_PART: Final = 1 / 8
GROWTH: Final = 2.0


class Grants:
    """Sends grants and tracks which are in force.

    Args:
        registry: Notes whose grants have changed, for the journal.
        pending: Holds target, sent rate and rate in force of every pending operation.
        leases: Holds the deadlines of reduced grants.
        bandwidth: B, in bytes/s.
        min_update_interval: Seconds for which a small change of a rate is deferred.
    """

    def __init__(
        self,
        registry: Registry,
        pending: PendingOperations,
        leases: Leases,
        bandwidth: float,
        min_update_interval: float,
    ) -> None:
        self._registry = registry
        self._pending = pending
        self._leases = leases
        self._bandwidth = bandwidth
        self._min_update_interval = min_update_interval
        self.sent = 0
        """Grants sent so far."""
        self.due = True
        """Grants may have to be sent although the policy has not decided anew."""
        self.next_update = math.inf
        """When the first deferred update must be sent."""
        self.announced: list[Client] = []
        """Clients that have announced an operation since the last `update`."""

    def announce(self, client: Client) -> None:
        """The client posted an operation: the next `update` answers it."""
        client.awaits_grant = True
        self.announced.append(client)
        self.due = True

    def acknowledge(self, now: float, client: Client, number: int) -> None:
        """The client keeps to the grant of this number, and so to all grants before it."""
        rates = [reduction.rate for reduction in client.unacknowledged if reduction.number <= number]
        if not rates:
            return
        # A later grant of the same rate is acknowledged too: only lower ones are still open.
        client.unacknowledged = [reduction for reduction in client.unacknowledged if reduction.rate < rates[-1]]
        self.put_in_force(now, client, rates[-1])
        self.due = True
        self._leases.clear_deadline(client)
        if client.unacknowledged:
            self._leases.set_deadline(client, client.unacknowledged[0].deadline)

    def withdraw(self, client: Client) -> None:
        """The client has no operation any more: what it may have used is free."""
        client.in_force = 0.0
        client.unacknowledged = []
        self._leases.clear_deadline(client)

    def restore(self, now: float, client: Client, rate: float) -> None:
        """Take over a grant out of a journal."""
        self.put_in_force(now, client, rate)
        self._pending.set_sent(client.place, rate, now)

    def put_in_force(self, now: float, client: Client, rate: float) -> None:
        """Let the client use up to this rate from now on."""
        if client.place != NO_PLACE:
            if client.in_force <= 0.0 < rate:  # it could not move anything while it was paused
                self._pending.set_progressed(client.place, now)
            self._pending.set_rate(client.place, rate)
        client.in_force = rate
        self._registry.regranted.add(client.number)

    def update(self, now: float) -> list[GrantInstruction]:
        """Send all grants that follow from the targets: increases, answers to announcements, then reductions."""
        grants: list[GrantInstruction] = []
        raise_next = self._raise(now, grants)
        for client in self.announced:
            if client.place != NO_PLACE and client.connected and client.awaits_grant:
                self._send(now, client, self._pending.sent(client.place), grants)
        self.announced.clear()
        reduce_next = self._reduce(now, grants)
        self.next_update = max(now + self._min_update_interval / 4.0, min(raise_next, reduce_next))
        self.due = False
        return grants

    def _raise(self, now: float, grants: list[GrantInstruction]) -> float:
        """Send increases while bandwidth is free, smallest part of the target first; the date of the next deferred one."""
        increases, next_date, in_force = self._pending.to_raise(now, self._min_update_interval)
        free = max(0.0, self._bandwidth - in_force)
        for client, sent, target in increases:
            rate = min(target, sent + free)
            reaches_target = rate >= target * (1.0 - SAME_AMOUNT)
            if client.connected and (reaches_target or rate >= max(SMALLEST_PART * target, GROWTH * sent)):
                self._send(now, client, rate, grants)
                free -= rate - sent
        return next_date

    def _reduce(self, now: float, grants: list[GrantInstruction]) -> float:
        """Send reductions; the date of the next deferred one. A client without a connection keeps what it has."""
        reductions, next_date = self._pending.to_reduce(now, self._min_update_interval)
        for client, target in reductions:
            if client.connected:
                self._send(now, client, target, grants)
        return next_date

    def _send(self, now: float, client: Client, rate: float, grants: list[GrantInstruction]) -> None:
        """Grant the rate. A lower one must be acknowledged within a lease, a pause within a lease and one round."""
        operation = client.operation
        assert operation is not None
        client.grant_number += 1
        client.awaits_grant = False
        if rate < client.in_force:
            earlier = (reduction.rate for reduction in reversed(client.unacknowledged) if reduction.rate > 0.0)
            round_seconds = operation.round_bytes / next(earlier, client.in_force) if rate == 0.0 else 0.0
            deadline = now + self._leases.lease + round_seconds
            client.unacknowledged.append(Reduction(client.grant_number, rate, deadline))
            self._registry.regranted.add(client.number)
            self._leases.set_deadline(client, deadline)
        else:
            self.put_in_force(now, client, rate)
        self._pending.set_sent(client.place, rate, now)
        self.sent += 1
        grants.append(GrantInstruction(client, operation.number, client.grant_number, rate))
