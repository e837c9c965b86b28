"""The policy in use: when it decides, what it is shown beside the pending operations, and why it was replaced.

`PlannedOrder` is the order of operations that a policy plans for a workload, and whose turn is next. Most policies plan
nothing. A policy that needs all operations ahead (`penstock policies` shows which) runs live only with a workload file;
clients are found in it by the name of their job. Without a file, a policy that needs nominal iterations is shown those that
are learned (`penstock.live.core.predicting`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import Final

import numpy as np

from penstock.engine.chain import johnson_key
from penstock.engine.setup import dedicated
from penstock.engine.state import BANDWIDTH, COMPLETED, NOW
from penstock.engine.terms import tick_date
from penstock.live.core.clients import NEVER, NO_PLACE, Client, Registry
from penstock.live.core.eligible import Eligible
from penstock.live.core.pending import PendingOperations
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats
from penstock.policies.policy import STATIC, Need, Policy, failure
from penstock.policies.view import MOMENT, ROW, View


class PlannedOrder:
    """The order that a policy plans for a workload, by job name. Without a workload, nothing is planned.

    Args:
        policy: The policy that plans.
        workload: The applications that will run; None if they are not known ahead.
        predicted: Use what is learned even if there is a workload.

    Raises:
        InputError: If the policy plans ahead, by more than can be learned, and there is no workload.
    """

    def __init__(self, policy: Policy, workload: Workload | None, *, predicted: bool = False) -> None:
        self.learns = Need.NOMINAL in policy.needs and policy.built_in and (predicted or workload is None)
        """Applications are ordered by what is learned of them, not by a plan."""
        if policy.planner is not None and workload is None and not self.learns:
            raise InputError(
                f"policy {policy.name}", "it plans for applications known ahead; expected a workload file, --workload FILE"
            )
        self.only_planned = policy.family == STATIC
        """The policy serves the applications of the workload only."""
        applications = workload.applications if workload is not None else ()
        self._position = {application.name: index for index, application in enumerate(applications)}
        plan = policy.plan(workload) if workload is not None else None
        self._rank = plan.rank if plan is not None and plan.rank is not None else None
        self._planned: list[list[int]] = [[] for _ in applications]
        self._dedicated_seconds: list[float] = []
        first = 0
        for index, application in enumerate(applications):
            assert workload is not None
            own = slice(first, first + len(application.phases))
            first = own.stop
            if plan is not None and plan.turns is not None:
                self._planned[index] = plan.turns[own][application.phases.asks].tolist()
            alone = application.seconds_alone(application.cap(workload.platform))
            self._dedicated_seconds.append(workload.history(application) + float(alone))
        self.restart()

    def restart(self) -> None:
        """Start the order anew: no operation is done and no application has left."""
        self._turns = list(self._planned)
        self._left = sorted(turn for turns in self._turns for turn in turns)

    @property
    def size(self) -> int:
        """How many applications the workload has."""
        return len(self._position)

    def position(self, job: str) -> int | None:
        """The position of the application `job` in the workload; None if it is not in there."""
        return self._position.get(job)

    def rank(self, job: str) -> float:
        """The place of the application `job` in the planned order of applications; infinite if the plan does not have it."""
        if self._rank is None:
            return 0.0
        position = self._position.get(job)
        return math.inf if position is None else float(self._rank[position])

    def dedicated_seconds(self, job: str) -> float:
        """Length of the complete dedicated run of the application `job`; infinite if unknown."""
        position = self._position.get(job)
        return math.inf if position is None else self._dedicated_seconds[position]

    def turn(self, job: str, operation: int) -> int:
        """How many of the operations left come before this `operation` (counted from 0) of the application `job`.

        It is −1 if the operation is not planned.
        """
        position = self._position.get(job)
        turns = self._turns[position] if position is not None else []
        return bisect_left(self._left, turns[operation]) if operation < len(turns) else -1

    def mark_done(self, job: str, first: int, stop: int) -> None:
        """Strike the operations `first` … `stop` − 1 of the application `job`, counted from 0: they are done."""
        position = self._position.get(job)
        if position is not None:
            self._strike(self._turns[position][first:stop])

    def mark_departed(self, job: str) -> None:
        """Strike all operations of the application `job`: it has left."""
        position = self._position.get(job)
        if position is not None:
            self._strike(self._turns[position])
            self._turns[position] = []

    def _strike(self, turns: list[int]) -> None:
        for turn in turns:
            place = bisect_left(self._left, turn)
            if place < len(self._left) and self._left[place] == turn:
                del self._left[place]


UNPLANNED: Final = ""
"""Stands for the name of a client that is not planned; no job has it."""


class Turns:
    """Follows a planned order: keeps the turns of the pending operations up to date as clients finish, leave and return.

    A turn counts like completed operations: the operation with turn k is next when k operations have completed. An
    operation that is set aside (`penstock.live.core.eligible`) loses its turn meanwhile.

    A planned name belongs to one client: the first of that name, for as long as the coordinator knows it. A second one of
    the same user takes the name over if the first is not connected, as a job that was started again does.

    Args:
        registry: The clients.
        pending: Their operations.
        order: What the policy plans.
    """

    def __init__(self, registry: Registry, pending: PendingOperations, order: PlannedOrder) -> None:
        self._registry = registry
        self._pending = pending
        self.order = order

    def holder(self, job: str) -> Client | None:
        """The client that has the planned name `job`; None if it is free or not planned."""
        return self._registry.clients.get(self._registry.holders.get(job, -1))

    def planned_name(self, client: Client) -> str:
        """The client's name in the plan; `UNPLANNED` if it has none."""
        return client.job if self._registry.holders.get(client.job) == client.number else UNPLANNED

    def claim(self, client: Client) -> None:
        """Give a client its planned name, if there is such a name and it is free for this user."""
        if self.order.position(client.job) is None:
            return
        holder = self.holder(client.job)
        if holder is None or (holder.uid == client.uid and not holder.connected):
            self._registry.holders[client.job] = client.number
            if holder is not None:
                self.follow(self.order)

    def release_name(self, client: Client) -> None:
        """The client's planned name is free."""
        if self.planned_name(client) != UNPLANNED:
            del self._registry.holders[client.job]

    def follow(self, order: PlannedOrder) -> None:
        """Follow this order from now on, without what is done already and without the jobs that have left."""
        self.order = order
        order.restart()
        for client in self._registry.clients.values():
            order.mark_done(self.planned_name(client), 0, client.operations)
        for job in self._registry.departed:
            order.mark_departed(job)
        for place, owner in enumerate(self._pending.owners):
            name = self.planned_name(owner)
            self._pending.column("rank")[place] = self.rank_of(owner)
            if self._is_aside(owner):
                order.mark_done(name, owner.operations, owner.operations + 1)
        self._renumber()

    def turn_of(self, client: Client) -> int:
        """The turn of the client's pending operation; −1 if it is not planned."""
        turn = self.order.turn(self.planned_name(client), client.operations)
        return self._registry.completed + turn if turn >= 0 and not self._is_aside(client) else -1

    def rank_of(self, client: Client) -> float:
        """The place of the client in the planned order of applications, or in the one of what is learned."""
        if self.order.learns:
            return johnson_key(client.known)
        return self.order.rank(self.planned_name(client))

    def operation_ended(self, client: Client) -> None:
        """Go on to the next turn: the client's operation has just been counted."""
        if self.order.only_planned:
            self.order.mark_done(self.planned_name(client), client.operations - 1, client.operations)
            self._renumber()

    def client_gone(self, client: Client) -> None:
        """Skip the turns of a client that is gone. When all applications of the workload are gone, the order restarts."""
        departed = self._registry.departed
        if self.planned_name(client) != UNPLANNED and client.job not in departed:
            departed.append(client.job)
            if len(departed) == self.order.size:
                departed.clear()
            self.follow(self.order)

    def client_back(self, client: Client) -> None:
        """Wait for the turns of a client that was gone."""
        if self.planned_name(client) in self._registry.departed:
            self._registry.departed.remove(client.job)
            self.follow(self.order)

    def _is_aside(self, client: Client) -> bool:
        return client.place != NO_PLACE and bool(self._pending.column("aside")[client.place] > NEVER)

    def _renumber(self) -> None:
        self._pending.set_turns([self.turn_of(owner) for owner in self._pending.owners])


DEFAULT_PERIOD: Final = 1.0
"""Seconds between the decisions of a periodic policy that has neither a period of its own nor a workload."""


class Decider:
    """Asks the policy for rates.

    Args:
        policy: The policy in use from the start.
        bandwidth: B, in bytes/s.
        workload: Gives the end of the window and the default period; None if unknown.
        now: The date that periodic decisions are counted from, in seconds.
        eligible: Chooses whom the policy is shown.
    """

    def __init__(self, policy: Policy, bandwidth: float, workload: Workload | None, now: float, eligible: Eligible) -> None:
        self._eligible = eligible
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

    def set_bandwidth(self, bandwidth: float) -> None:
        """Show policies this `bandwidth` as B from now on, in bytes/s."""
        self._moment[BANDWIDTH] = bandwidth

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
        """Have the policy write the targets of the operations `pending` at the date `now`, when `completed` have ended.

        Returns whether caps and link can carry them.
        """
        return self._eligible.ask(pending, self.policy, self._moment_at(now, completed))

    def view(self, pending: PendingOperations, now: float, completed: int) -> View:
        """What the policy is shown of the operations `pending` at the date `now`, when `completed` have ended."""
        return pending.view(self._moment_at(now, completed))

    def failure(self, pending: PendingOperations, now: float, completed: int) -> str:
        """Why the policy's last targets were refused; `pending`, `now` and `completed` as in `view`."""
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
