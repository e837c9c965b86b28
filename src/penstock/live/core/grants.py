"""Grants: from the rates that a policy wants to the rates that clients are told. What is in force never exceeds B.

A higher grant is in force when it is sent. A lower grant is in force only when the client acknowledges it; until then the
client may be using the old rate. Moving bandwidth from one client to another therefore takes two steps: the first client is
told and yields at its next round, then the other one is granted what is free (003 §III.C: an application is authorised when
those before it have released). While a client is told to pause and has not yet paused, no new client starts, since it takes
that place; `penstock.engine.transfers` follows the same rule. A client that waits for others to slow down may start with a
part of its target: at least `SMALLEST_PART` of it, and `GROWTH` times what it has.

A small change of a rate is deferred until `min_update_interval` seconds after the client was last told a rate. A client
moves slices of 10 ms, so more frequent updates have no effect; and where a hundred clients share, every arrival changes all
rates a little.

`Leases` keeps the dates by which clients must act: renew their lease, acknowledge a reduced grant, or come back. A sign of
life costs constant time. Finding what is due costs time proportional to what is due and to the number of clients that have a
reduced grant to acknowledge.

Observing: the core decides and records what it would have granted, and holds nobody back (``serve --observe``).

The core grants every operation at once all that its client can use, and asks the policy as usual. The policy sees the rates
that it decided before, as if clients had kept to them, and the volumes that clients have really moved.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Iterator
from typing import Final

import numpy as np

from penstock.engine.transfers import RATE
from penstock.live.core.clients import NO_PLACE, Client, Reduction, Registry
from penstock.live.core.events import GrantInstruction
from penstock.live.core.measuring import UNLIMITED
from penstock.live.core.pending import TARGET, WITHHELD, PendingOperations
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.tolerances import SAME_AMOUNT
from penstock.policies.policy import Policy

PUT_OFF: Final = 2.0
"""Leases by which the deadline of a client that could not answer in time may be put off."""


class Leases:
    """The deadlines of all clients.

    Args:
        lease: Seconds of silence after which a client loses its grant.
        keep: Seconds for which the books of a client are kept after that.
        keep_most: Largest number of clients whose books are kept so.
    """

    def __init__(self, lease: float, keep: float, keep_most: int) -> None:
        self.lease = lease
        self.keep = keep
        self.keep_most = keep_most
        self._heard: OrderedDict[int, Client] = OrderedDict()
        self._deadlines: dict[int, tuple[float, Client]] = {}
        self._away: OrderedDict[int, tuple[float, Client]] = OrderedDict()
        self.grace_until = -math.inf
        """Nobody is sent away before this date."""

    def give_grace(self, now: float) -> None:
        """Send nobody away for a lease from `now` on: the coordinator itself did not run, and heard no client."""
        self.grace_until = now + self.lease

    def excuse(self, now: float, client: Client) -> None:
        """Start a new lease of the `client` at the date `now`, and put off its deadline until then.

        It could not answer until now: the coordinator does not read at the moment what it sends, or it was cut off.
        """
        self.renew(now, client)
        self.put_off(client, now + self.lease)

    def put_off(self, client: Client, deadline: float, round_seconds: float = 0.0) -> None:
        """Put the deadline of the `client` off to this date, if it has one.

        That is `PUT_OFF` leases and a round of so many seconds after the first deadline at most: a client that sends without
        end, or comes back again and again, must yield in the end.
        """
        present = self._deadlines.get(client.number)
        if present is not None:
            latest = client.unacknowledged[0].deadline + PUT_OFF * self.lease + round_seconds
            self._deadlines[client.number] = (max(present[0], min(deadline, latest)), client)

    def renew(self, now: float, client: Client) -> None:
        """Start a new lease of the `client` at the date `now`: it gave a sign of life."""
        client.last_heard = now
        number, heard = client.number, self._heard
        heard[number] = client
        heard.move_to_end(number)
        if self._away:
            self._away.pop(number, None)

    def set_deadline(self, client: Client, deadline: float) -> None:
        """Set the date by which the client must acknowledge a reduced grant; an earlier deadline stands."""
        self._deadlines.setdefault(client.number, (deadline, client))

    def clear_deadline(self, client: Client) -> None:
        """The client has no reduced grant to acknowledge."""
        self._deadlines.pop(client.number, None)

    def mark_away(self, now: float, client: Client) -> None:
        """The `client` has lost its place at the date `now`; its books are kept for a while."""
        self._heard.pop(client.number, None)
        self.clear_deadline(client)
        self._away[client.number] = (now, client)

    def forget(self, client: Client) -> None:
        """Drop all dates of the client."""
        for dates in (self._heard, self._deadlines, self._away):
            dates.pop(client.number, None)

    def silent(self, now: float) -> Iterator[Client]:
        """Clients whose lease has ended by `now`. The caller must mark each as away before it asks for the next."""
        while self._heard:
            client = next(iter(self._heard.values()))
            if client.last_heard + self.lease > now:
                return
            yield client

    def overdue(self, now: float) -> list[Client]:
        """Clients that did not acknowledge a reduced grant by its deadline, which is `now` or earlier."""
        return [client for deadline, client in self._deadlines.values() if deadline <= now]

    def expired(self, now: float) -> Iterator[Client]:
        """Clients away for longer than `keep` by `now`, and the oldest of too many. The caller must forget each."""
        while self._away:
            since, client = next(iter(self._away.values()))
            if since + self.keep > now and len(self._away) <= self.keep_most:
                return
            yield client

    def next_date(self) -> float:
        """The earliest of these dates; infinite if there is none."""
        silent = next(iter(self._heard.values())).last_heard + self.lease if self._heard else math.inf
        expired = next(iter(self._away.values()))[0] + self.keep if self._away else math.inf
        overdue = min((deadline for deadline, _ in self._deadlines.values()), default=math.inf)
        return min(expired, max(self.grace_until, min(silent, overdue)))

    def state(self) -> tuple[list[tuple[int, float]], list[tuple[int, float]], list[tuple[int, float]]]:
        """The dates by number of client: last signs of life, deadlines, and since when clients are away."""
        return (
            [(number, client.last_heard) for number, client in self._heard.items()],
            sorted((number, deadline) for number, (deadline, _) in self._deadlines.items()),
            [(number, since) for number, (since, _) in self._away.items()],
        )


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
        longest_round: The time of a round counts for no more than so many seconds.
    """

    def __init__(
        self,
        registry: Registry,
        pending: PendingOperations,
        leases: Leases,
        bandwidth: float,
        min_update_interval: float,
        longest_round: float,
    ) -> None:
        self._registry = registry
        self._pending = pending
        self._leases = leases
        self._bandwidth = bandwidth
        self._min_update_interval = min_update_interval
        self._longest_round = longest_round
        self.sent = 0
        """Grants sent so far."""
        self.due = True
        """Grants may have to be sent although the policy has not decided anew."""
        self.next_update = math.inf
        """When the first deferred update must be sent."""
        self.withheld: list[GrantInstruction] = []
        """What a core that only observes would have granted; else nothing."""
        self.announced: list[Client] = []
        """Clients that have announced an operation since the last `update`."""

    def take_withheld(self) -> list[GrantInstruction]:
        """What was withheld since the last call."""
        withheld, self.withheld = self.withheld, []
        return withheld

    def set_bandwidth(self, bandwidth: float) -> None:
        """Let clients together use `bandwidth` bytes/s from now on; what they have above that is taken back."""
        self._bandwidth = bandwidth
        self.due = True

    def announce(self, client: Client) -> None:
        """The client posted an operation: the next `update` answers it."""
        client.awaits_grant = True
        self.announced.append(client)
        self.due = True

    def acknowledge(self, now: float, client: Client, number: int) -> None:
        """The `client` keeps to the grant of this `number`, and so to all grants before it, from the date `now` on."""
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
        """Take over a grant of the `client` out of a journal at the date `now`: `rate` in bytes/s."""
        self.put_in_force(now, client, rate)
        self._pending.set_sent(client.place, rate, now)

    def put_in_force(self, now: float, client: Client, rate: float) -> None:
        """Let the client use up to this rate from now on."""
        if client.place != NO_PLACE:
            if client.in_force <= 0.0 < rate:  # it could not move anything while it was paused
                self._pending.set_progressed(client.place, now)
            elif rate > client.in_force:  # its round may have begun at the lower rate
                self._pending.set_progressed(client.place, now - self._leases.lease)
            self._pending.set_rate(client.place, rate)
        client.in_force = rate
        self._registry.regranted.add(client.number)

    def update(self, now: float) -> list[GrantInstruction]:
        """Send at `now` all grants that follow from the targets: increases, answers to announcements, then reductions."""
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
        """Grant the rate. A lower one must be acknowledged within a lease, a pause within a lease and one round.

        How long a round lasts is the client's word, so the site limits it.
        """
        operation = client.operation
        assert operation is not None
        client.grant_number += 1
        told_again, client.awaits_grant = client.awaits_grant, False
        if rate < client.in_force:
            earlier = (reduction.rate for reduction in reversed(client.unacknowledged) if reduction.rate > 0.0)
            round_seconds = operation.round_bytes / next(earlier, client.in_force) if rate == 0.0 else 0.0
            round_seconds = min(round_seconds, self._longest_round)
            deadline = now + self._leases.lease + round_seconds
            client.unacknowledged.append(Reduction(client.grant_number, rate, deadline))
            self._registry.regranted.add(client.number)
            self._leases.set_deadline(client, deadline)
            if told_again:  # it may not have had what it was told on an earlier connection
                self._leases.put_off(client, deadline, round_seconds)
        else:
            self.put_in_force(now, client, rate)
        self._pending.set_sent(client.place, rate, now)
        self.sent += 1
        grants.append(GrantInstruction(client, operation.number, client.grant_number, rate))


NO_GRANT: Final = 0
"""The number of a grant that was not sent."""


class ObservedOperations(PendingOperations):
    """The pending operations of clients that are not held back: none stalls by its grants."""

    def ask(self, policy: Policy, moment: Floats, shown: tuple[Floats, Ints, int] | None = None) -> bool:
        """Have the `policy` write the targets at the `moment`, shown what it would have granted until now as the rates."""
        floats = self._floats if shown is None else shown[0]
        used = floats[RATE].copy()
        floats[RATE] = floats[WITHHELD]
        answered = super().ask(policy, moment, shown)
        floats[RATE] = used
        return answered

    def withhold(self) -> list[tuple[Client, float]]:
        """Note the targets as what would have been granted; the clients for which that is new, in bytes/s."""
        size, floats = self.size, self._floats
        before, now = floats[WITHHELD, :size], floats[TARGET, :size]
        new = np.flatnonzero(np.abs(now - before) > SAME_AMOUNT * np.maximum(now, before)).tolist()
        floats[WITHHELD, :size] = now
        return [(self.owners[place], float(now[place])) for place in new]

    def first_stalled(self, now: float, lease: float) -> float:  # noqa: ARG002
        """Nobody is sent away because it moves nothing: no date, whatever `now` and the `lease`."""
        return math.inf


class ObservingGrants(Grants):
    """Grants every operation all that its client can use, and notes what the policy would have granted."""

    def update(self, now: float) -> list[GrantInstruction]:
        """Answer announcements at the date `now`; nobody is told anything else."""
        pending = self._pending
        assert isinstance(pending, ObservedOperations)
        self.withheld += [
            GrantInstruction(client, client.operation.number, NO_GRANT, rate)
            for client, rate in pending.withhold()
            if client.operation is not None
        ]
        grants: list[GrantInstruction] = []
        for client in self.announced:
            if client.place != NO_PLACE and client.connected and client.awaits_grant:
                self._send(now, client, min(client.max_rate, UNLIMITED), grants)
        self.announced.clear()
        self.next_update, self.due = math.inf, False
        return grants
