"""What is known of the applications before they come: their places in the order that a policy plans for a workload.

Most policies need none of it. Those that go by nominal iterations or by all operations ahead (`penstock policies` says
which) can run live only beside a workload file whose applications are found again by their names.
"""

from __future__ import annotations

import math
from bisect import bisect_left

from penstock.model import InputError, Workload
from penstock.policies.policy import STATIC, Policy


class PlannedOrder:
    """The plan of a policy for the applications of a workload, found by name; without one, nothing is known ahead."""

    def __init__(self, policy: Policy, workload: Workload | None) -> None:
        if policy.planner is not None and workload is None:
            raise InputError(
                f"policy {policy.name}", "it plans for applications known ahead; expected a workload file, --workload FILE"
            )
        self.only_planned = policy.family == STATIC
        applications = workload.applications if workload is not None else ()
        self._position = {application.name: index for index, application in enumerate(applications)}
        plan = policy.plan(workload) if workload is not None else None
        self._rank = plan.rank if plan is not None and plan.rank is not None else None
        self._planned: list[list[int]] = [[] for _ in applications]
        self._whole: list[float] = []
        first = 0
        for index, application in enumerate(applications):
            assert workload is not None
            own = slice(first, first + len(application.phases))
            first = own.stop
            if plan is not None and plan.turns is not None:
                self._planned[index] = plan.turns[own][application.phases.asks].tolist()
            alone = application.seconds_alone(application.cap(workload.platform))
            self._whole.append(workload.history(application) + float(alone))
        self.begin()

    def begin(self) -> None:
        """Nothing of the plan is done, and everybody is to be waited for."""
        self._turns = list(self._planned)
        self._left = sorted(turn for turns in self._turns for turn in turns)

    @property
    def size(self) -> int:
        """How many applications are known ahead."""
        return len(self._position)

    def position(self, job: str) -> int | None:
        """The application's place in the workload; None if it is not in there."""
        return self._position.get(job)

    def rank(self, job: str) -> float:
        """Its place in the planned order of applications; the last for one that was not planned."""
        if self._rank is None:
            return 0.0
        position = self._position.get(job)
        return math.inf if position is None else float(self._rank[position])

    def whole(self, job: str) -> float:
        """Seconds of its dedicated run; infinite where unknown."""
        position = self._position.get(job)
        return math.inf if position is None else self._whole[position]

    def turn(self, job: str, operation: int) -> int:
        """How many operations come before this one, counted from 0, in the planned order of those that are left; −1 if it is
        in no plan.
        """
        position = self._position.get(job)
        turns = self._turns[position] if position is not None else []
        return bisect_left(self._left, turns[operation]) if operation < len(turns) else -1

    def done(self, job: str, first: int, last: int) -> None:
        """The operations of the application from the first on, counted from 0, and before the last are done."""
        position = self._position.get(job)
        if position is not None:
            self._strike(self._turns[position][first:last])

    def departed(self, job: str) -> None:
        """The application does no more: nobody is to wait for its turns."""
        position = self._position.get(job)
        if position is not None:
            self._strike(self._turns[position])
            self._turns[position] = []

    def _strike(self, turns: list[int]) -> None:
        for turn in turns:
            place = bisect_left(self._left, turn)
            if place < len(self._left) and self._left[place] == turn:
                del self._left[place]
