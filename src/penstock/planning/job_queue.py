"""The loop of a batch system: jobs are submitted, wait, start and end.

The loop asks a batch scheduler which jobs start, at every submission and at every end of a job. It does not depend on how
jobs run: a `World` starts them and says when they end. `operate` uses this loop with the engine as the world, with I/O
resources, a buffer, and jobs that may be ended at their requested time. List scheduling (001 §IV.A.2, §IV.A.4) uses it with
two worlds: the engine with the link of one I/O node, and for predictions a world in which every job takes its time alone.
Dates are in seconds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from penstock.model import InputError
from penstock.numeric.arrays import Floats
from penstock.planning.jobs import Jobs, Machine, World, WorldFactory
from penstock.planning.schedule import Outcome
from penstock.planning.schedulers import Flags, KnownJobs, Moment, Scheduler, SchedulerSettings, scheduler_of


class JobQueue:
    """The queue of waiting jobs of a machine, and the jobs that run on the machine.

    Args:
        jobs: what the scheduler knows of the jobs.
        nodes: nodes of the machine.
        name: the name of the scheduler, for error messages.
        scheduler: chooses the jobs that start.
        wakes: further dates at which the scheduler decides, besides submissions and ends.
    """

    def __init__(self, jobs: KnownJobs, nodes: int, name: str, scheduler: Scheduler, wakes: Floats | None = None) -> None:
        size = len(jobs.nodes)
        self.start, self.end = np.full(size, math.nan), np.full(size, math.nan)
        self.backfilled = np.zeros(size, np.bool_)
        """Whether each job started while a job before it in the queue waited."""
        self.running: list[int] = []
        self._jobs, self._nodes, self._free = jobs, nodes, nodes
        self._name, self._scheduler = name, scheduler
        self._queue = np.zeros(0, np.int64)
        self._order = np.argsort(jobs.submit, kind="stable")
        self._submits = jobs.submit[self._order]
        self._arrived = self._wake = 0
        self._dates = np.unique(np.concatenate([jobs.submit, jobs.submit[:0] if wakes is None else wakes, [math.inf]]))

    def run(self, world: World, stopped: Callable[[int, bool], None]) -> None:
        """Run all jobs to their ends.

        Args:
            world: where the jobs run; none of them has started.
            stopped: called after each advance of the world, with the number of jobs that ended in it, and whether all jobs
                have ended now.

        Raises:
            InputError: the scheduler starts jobs that are not in the queue or need more nodes than are free, or it starts no
                job on an idle machine when no submission or wake is left.
        """
        left = len(self.end)
        while left:
            self._arrive(world.now)
            self._start_jobs(world)
            if not self.running and len(self._queue) and not math.isfinite(self._dates[self._wake]):
                raise InputError(
                    f"scheduler {self._name}",
                    f"starts none of {len(self._queue):,} jobs on an idle machine; expected one to start",
                )
            ended = world.advance(float(self._dates[self._wake]))
            for job in ended:
                self._finish(job, world.now)
            left -= len(ended)
            stopped(len(ended), left == 0)

    def moment(self, now: float) -> Moment:
        """What the scheduler sees at the date `now`."""
        running = np.array(self.running, np.int64)
        ends = np.maximum(self.start[running] + self._jobs.seconds[running], now)
        return Moment(now, self._free, self._queue, running, ends, self._jobs, self._nodes)

    def _arrive(self, now: float) -> None:
        """Append the jobs submitted up to the date `now` to the queue."""
        come = int(np.searchsorted(self._submits, now, "right"))
        if come > self._arrived:
            self._queue = np.concatenate([self._queue, self._order[self._arrived : come]])
            self._arrived = come
        while self._dates[self._wake] <= now:
            self._wake += 1

    def _start_jobs(self, world: World) -> None:
        """Start the jobs that the scheduler chooses."""
        if not len(self._queue):
            return
        now, queue = world.now, self._queue
        started = list(self._scheduler(self.moment(now)))
        if not started:
            return
        chosen = self._checked(started)
        waits = int(np.argmin(chosen)) if not chosen.all() else len(queue)
        self.backfilled[queue[waits:][chosen[waits:]]] = True
        for job in map(int, started):
            self._free -= int(self._jobs.nodes[job])
            self.start[job] = now
            world.start(job)
            self.running.append(job)
        self._queue = queue[~chosen]

    def _checked(self, started: Sequence[int]) -> Flags:
        """Flags of the jobs of the queue that start; refuses other jobs, and more nodes than are free."""
        chosen = np.isin(self._queue, started)
        needed = int(self._jobs.nodes[np.array(started, np.int64)].sum())
        place = f"scheduler {self._name}"
        if len(set(started)) != len(started) or int(np.count_nonzero(chosen)) != len(started):
            raise InputError(place, f"it starts {started!r}; expected different jobs of the queue")
        if needed > self._free:
            raise InputError(
                place, f"it starts jobs of {needed:,} nodes where {self._free:,} are free; expected at most those"
            )
        return chosen

    def _finish(self, job: int, now: float) -> None:
        self.end[job] = now
        self._free += int(self._jobs.nodes[job])
        self.running.remove(job)


def list_queue(jobs: Jobs, machine: Machine, *, sensibility: float, depth: int = 0) -> JobQueue:
    """Make the queue of list scheduling: jobs are submitted at their releases, and the scheduler plans with times alone.

    Args:
        jobs: what the scheduler knows of the jobs.
        machine: the I/O node.
        sensibility: S, the largest sum of the I/O loads of running jobs.
        depth: the number of waiting jobs that backfilling considers; 0 for no backfilling.
    """
    name, scheduler = scheduler_of("list-backfill" if depth else "list", SchedulerSettings(sensibility, depth or None))
    known = KnownJobs(jobs.release, jobs.nodes, jobs.seconds, jobs.load, jobs.iteration, jobs.occupation, jobs.release)
    return JobQueue(known, machine.nodes, name, scheduler)


def run_list(queue: JobQueue, jobs: Jobs, worlds: WorldFactory) -> Outcome:
    """Run the `jobs` of a list `queue` to their ends, in a world from the factory `worlds`."""
    everything = range(len(jobs))
    world = worlds.open(0, everything, everything, jobs.begin)
    queue.run(world, lambda ended, last: worlds.stopped(0.0, ended, last))
    outcome = Outcome.empty(len(jobs))
    outcome.start[:], outcome.end[:], outcome.backfilled[:] = queue.start, queue.end, queue.backfilled
    return outcome
