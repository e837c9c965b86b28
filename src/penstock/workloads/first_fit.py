"""First fit: each job starts at the earliest moment from which enough nodes are free for as long as it lasts.

The free nodes over time are a step function that jobs only lower: `times[k]` to `times[k + 1]`, in seconds, has `free[k]`
nodes, and the last step never ends. A job can start only at time 0 or where a job ends, so only steps are tried.
"""

from __future__ import annotations

import numpy as np


class FreeNodes:
    """The free nodes of a machine of `nodes` nodes over time, all of them free at first."""

    def __init__(self, nodes: int) -> None:
        self._times = np.zeros(1024)
        self._free = np.full(1024, nodes, np.int64)
        self._steps = 1

    def first_fit(self, nodes: int, seconds: float, since: float = 0.0) -> float:
        """The earliest start, not before `since`, of a job on `nodes` nodes, at most those of the machine, for `seconds`.

        `since` must be the time of a step, such as an earlier answer. Free nodes only go down. So the answer to a request is
        a valid `since` for every later request that is no smaller and no shorter.

        After a start that does not fit, the next one to try lies behind the last step with too few nodes that the job would
        meet: any start before that meets it, too. A request on a full machine takes 2 tries on average.
        """
        times, free = self._times[: self._steps], self._free[: self._steps]
        step = int(times.searchsorted(since))
        while True:
            step = self._next_with(nodes, step)
            end = step + int(times[step:].searchsorted(times[step] + seconds))
            too_few = free[step:end][::-1] < nodes
            back = int(too_few.argmax())
            if not too_few[back]:
                return float(times[step])
            step = end - back

    def take(self, nodes: int, start: float, end: float) -> None:
        """Take `nodes` nodes from `start` to `end`."""
        first, last = self._step_at(start), self._step_at(end)
        self._free[first:last] -= nodes

    def _next_with(self, nodes: int, step: int) -> int:
        """The first step from `step` on with at least `nodes` free."""
        size = 32
        while True:
            enough = self._free[step : min(step + size, self._steps)] >= nodes
            ahead = int(enough.argmax())
            if enough[ahead]:
                return step + ahead
            step, size = step + size, 2 * size

    def _step_at(self, time: float) -> int:
        """The step that begins at `time`; it is inserted if there is none."""
        steps = self._steps
        step = int(self._times[:steps].searchsorted(time))
        if step < steps and self._times[step] == time:
            return step
        if steps == len(self._times):
            self._times, self._free = np.resize(self._times, 2 * steps), np.resize(self._free, 2 * steps)
        for values in (self._times, self._free):
            values[step + 1 : steps + 1] = values[step:steps]
        self._times[step], self._free[step] = time, self._free[step - 1]
        self._steps = steps + 1
        return step
