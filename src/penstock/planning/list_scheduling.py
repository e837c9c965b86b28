"""List scheduling on one I/O node with a strict limit on bandwidth, with or without backfilling (001 §IV.A.2, §IV.A.4).

Jobs are served in the order of their release, then of the file. At any moment the average bandwidths V_i / T_i of the
running jobs add up to at most S · b (in the paper S = 1). A job without I/O needs no bandwidth, and a job that has the
link for itself may exceed the limit.

Without backfilling the first job in the queue starts as soon as it fits, and no job overtakes it. With (conservative)
backfilling, at every end or release of a job the first `depth` jobs of the queue get, in order, the earliest reservation
that delays none before them, and those whose reservation begins now start. Reservations use predicted ends: a running job
ends T_i after its start, or now if it should have ended already.
"""

from __future__ import annotations

import math

import numpy as np

from penstock.numeric.tolerances import SAME_AMOUNT
from penstock.planning.jobs import Jobs, Machine
from penstock.planning.reservations import Reservations, reserve
from penstock.planning.schedule import Outcome
from penstock.planning.world import WorldFactory


class ListScheduler:
    """The queue of one I/O node and the jobs that run on it; with a `depth` of 0 there is no backfilling."""

    def __init__(self, jobs: Jobs, machine: Machine, *, sensibility: float, depth: int = 0) -> None:
        self.queue: list[int] = []
        """Released jobs that wait, in order."""
        self.running: list[int] = []
        self._jobs = jobs
        self._most = machine.nodes
        self._limit = sensibility * machine.bandwidth
        self._depth = depth
        self._order = np.argsort(jobs.release, kind="stable").tolist()
        self._releases = [*jobs.release[self._order].tolist(), math.inf]
        self._arrived = 0
        self._should_end = np.zeros(len(jobs))

    def run(self, worlds: WorldFactory) -> Outcome:
        """Run all jobs to their ends."""
        outcome = Outcome.empty(len(self._jobs))
        world = worlds.open(0, range(len(self._jobs)), len(self._jobs), self._jobs.begin)
        left = len(self._jobs)
        while left:
            self._arrive(world.now)
            for job, passes in self._starting(world.now):
                world.start(job)
                outcome.start[job], outcome.backfilled[job] = world.now, passes
            ended = world.advance(self._releases[self._arrived])
            for job in ended:
                outcome.end[job] = world.now
                self.running.remove(job)
            left -= len(ended)
            worlds.stopped(0.0, len(ended), left == 0)
        return outcome

    def plan(self, now: float, *, whole: bool = True) -> Reservations:
        """Reservations of the first `depth` jobs in the queue, as it is now."""
        running = np.array(self.running, np.int64)
        ends = np.maximum(self._should_end[running], now)
        queue = np.array(self.queue[: self._depth], np.int64)
        return reserve(self._jobs, now, self._most, self._limit, running, ends, queue, whole=whole)

    def _arrive(self, now: float) -> None:
        """Queue the jobs that have been released by now."""
        while self._releases[self._arrived] <= now:
            self.queue.append(self._order[self._arrived])
            self._arrived += 1

    def _starting(self, now: float) -> list[tuple[int, bool]]:
        """Take the jobs that start now from the queue; each with whether it overtakes one that waits."""
        starting: list[tuple[int, bool]] = []
        while self.queue:
            unseen = self._depth and len(self.queue) > self._depth
            more = self._places_now(now) if self._depth else self._heads()
            for job, _ in more:
                self.running.append(job)
                self._should_end[job] = now + self._jobs.seconds[job]
            starting += more
            if not (more and unseen):  # no further job has come within the depth
                break
        return starting

    def _heads(self) -> list[tuple[int, bool]]:
        """The first jobs of the queue as far as they fit."""
        free = self._most - int(self._jobs.nodes[self.running].sum())
        averages = [float(average) for average in self._jobs.bandwidth[self.running] if average > 0.0]
        starting: list[tuple[int, bool]] = []
        for job in self.queue:
            nodes, average = int(self._jobs.nodes[job]), float(self._jobs.bandwidth[job])
            alone = average == 0.0 or not averages
            if nodes > free or not (alone or math.fsum([*averages, average]) <= self._limit * (1.0 + SAME_AMOUNT)):
                break
            free -= nodes
            averages += [average] if average > 0.0 else []
            starting.append((job, False))
        del self.queue[: len(starting)]
        return starting

    def _places_now(self, now: float) -> list[tuple[int, bool]]:
        """The jobs whose reservation begins now."""
        at_once = self.plan(now, whole=False).at_once.tolist()
        if True not in at_once:
            return []
        head = self.queue[: self._depth]
        waits = at_once.index(False) if False in at_once else len(at_once)
        self.queue[: self._depth] = [job for job, now_ in zip(head, at_once, strict=True) if not now_]
        return [(job, place > waits) for place, (job, now_) in enumerate(zip(head, at_once, strict=True)) if now_]
