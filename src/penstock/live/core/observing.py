"""Observing: the core decides and records what it would have granted, and holds nobody back (``serve --observe``).

The core grants every operation at once all that its client can use, and asks the policy as usual. The policy sees the rates
that it decided before, as if clients had kept to them, and the volumes that clients have really moved.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from penstock.engine.transfers import RATE
from penstock.live.core.events import GrantInstruction
from penstock.live.core.grants import Grants
from penstock.live.core.measuring import UNLIMITED
from penstock.live.core.pending import TARGET, WITHHELD, PendingOperations
from penstock.live.core.registry import NO_PLACE, Client
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.tolerances import SAME_AMOUNT
from penstock.policies.policy import Policy

NO_GRANT: Final = 0
"""The number of a grant that was not sent."""


class ObservedOperations(PendingOperations):
    """The pending operations of clients that are not held back: none stalls by its grants."""

    def ask(self, policy: Policy, moment: Floats, shown: tuple[Floats, Ints, int] | None = None) -> bool:
        """Have the policy write the targets, shown what it would have granted until now as the rates."""
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
        """Nobody is sent away because it moves nothing."""
        return math.inf


class ObservingGrants(Grants):
    """Grants every operation all that its client can use, and notes what the policy would have granted."""

    def update(self, now: float) -> list[GrantInstruction]:
        """Answer announcements; nobody is told anything else."""
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
