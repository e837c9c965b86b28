"""The policy in use: when it decides, what it is shown beside the pending operations, and why it was replaced."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from penstock.engine.dedicated import dedicated
from penstock.engine.state import BANDWIDTH, COMPLETED, NOW
from penstock.engine.terms import tick_date
from penstock.live.core.pending import PendingOperations
from penstock.model import Workload
from penstock.numeric.arrays import Floats
from penstock.policies.guard import failure
from penstock.policies.policy import Policy
from penstock.policies.view import MOMENT, ROW, View

DEFAULT_PERIOD: Final = 1.0
"""Seconds between the decisions of a periodic policy that has neither a period of its own nor a workload."""


class Decider:
    """Asks the policy for rates.

    Args:
        policy: The policy in use from the start.
        bandwidth: B, in bytes/s.
        workload: Gives the end of the window and the default period; None if unknown.
        now: The date that periodic decisions are counted from, in seconds.
    """

    def __init__(self, policy: Policy, bandwidth: float, workload: Workload | None, now: float) -> None:
        self.decisions = 0
        """How often the policy was asked for grants."""
        self.fault: str | None = None
        """Why the chosen policy was replaced, if it was."""
        self._workload = workload
        self._origin = now
        self._moment = np.zeros(len(MOMENT))
        self._moment[BANDWIDTH] = bandwidth
        self._moment[ROW["window_end"]] = workload.window[1] if workload is not None and workload.window else math.inf
        self.use(policy, now)
        self.chosen = policy.name
        """The policy that the operator wants, even if another one has replaced it."""

    def use(self, policy: Policy, now: float) -> None:
        """Ask this policy from now on."""
        self.policy = policy
        self._moment[ROW["parameter"]] = policy.value
        self._delta, self.ticks = 0.0, 0
        if policy.periodic:
            by_workload = dedicated(self._workload).default_delta if self._workload else 0.0
            self._delta = policy.delta or by_workload or DEFAULT_PERIOD
            self.ticks = self._ticks_by(now)

    def tick(self, now: float) -> bool:
        """Count the periodic decisions due by now; whether there are new ones."""
        if self._delta <= 0.0:
            return False
        before, self.ticks = self.ticks, self._ticks_by(now)
        return self.ticks > before

    def next_tick(self) -> float:
        """The date of the next periodic decision; infinite if the policy is not periodic."""
        return tick_date(self._origin, self._delta, self.ticks) if self._delta > 0.0 else math.inf

    def ask(self, pending: PendingOperations, now: float, completed: int) -> bool:
        """Have the policy write the targets of these operations; whether caps and link can carry them."""
        return pending.ask(self.policy, self._moment_at(now, completed))

    def view(self, pending: PendingOperations, now: float, completed: int) -> View:
        """What the policy is shown."""
        return pending.view(self._moment_at(now, completed))

    def failure(self, pending: PendingOperations, now: float, completed: int) -> str:
        """Why the policy's last targets were refused."""
        rates, view = pending.column("target").tolist(), self.view(pending, now, completed)
        reason = failure(self.policy.rates, view) or f"it gave rates that no link carries, {rates[:8]}"
        return f"policy {self.policy.name}: {reason}"

    def _moment_at(self, now: float, completed: int) -> Floats:
        self._moment[NOW], self._moment[COMPLETED] = now, completed
        return self._moment

    def _ticks_by(self, now: float) -> int:
        """How many periodic decisions are due; one is due at its date to the last bit, whatever the division rounds to."""
        ticks = math.floor((now - self._origin) / self._delta)
        return ticks + (tick_date(self._origin, self._delta, ticks) <= now)
