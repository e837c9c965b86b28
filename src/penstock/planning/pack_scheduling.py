"""Packs one after the other on each I/O node, with or without backfilling (001 §III.C and §IV.A.4).

A pack starts when the one before it on its I/O node has ended. It is a run of its own, from second 0 on: what happens in it
depends neither on other packs nor on the number of I/O nodes. Its jobs stand in the run in the order of the workload, so
that ties do not depend on the order in which the pack was made.

Packs are made of jobs that have been released. When an I/O node falls free and jobs have been released since packs were
made, the packs that have not started are made again with these jobs, and placed on the I/O nodes again by LPT. An idle I/O
node that gets a pack starts it at once. A batch, all released at once, is planned once.

These packs are those of the thesis and do not go through the queue of a machine (`job_queue`), as lists do: each I/O node is
a machine of its own, packs stay on the one that LPT chose, and each is a run from second 0 on. The scheduler `packs` of a
machine makes one pack of whatever waits when nothing runs; for jobs submitted at once, on one I/O node, it gives the same.

With backfilling, a waiting job joins a running pack if its nodes are free, if it is predicted to end within T^Pack of the
pack's start, and if the pack with it keeps L ≤ S. So by prediction no job is delayed. Candidates are the jobs of later packs
on the same I/O node, in the order of packs and of jobs in a pack, and then the jobs that are released while the pack runs,
in the order of their release. They are tried at the pack's start and when a job ends or is released. Until the pack ends
its candidates are in no other pack, and no other pack's candidates.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from penstock.numeric.tolerances import SAME_AMOUNT, SAME_TIME_S
from penstock.planning.jobs import Jobs, Machine, World, WorldFactory
from penstock.planning.packs import Pack, fits_load, lpt, make_packs
from penstock.planning.schedule import Outcome, PackRun


def run_packs(
    jobs: Jobs, machine: Machine, worlds: WorldFactory, *, sensibility: float, order: str = "max", depth: int = 0
) -> Outcome:
    """Put jobs into packs as they are released, and run the packs.

    Args:
        jobs: what the scheduler knows of the jobs.
        machine: the I/O nodes.
        worlds: opens the worlds in which packs run.
        sensibility: S, the largest I/O load of a pack with the jobs that join it.
        order: in which of the ORDERS jobs are put into packs.
        depth: how many waiting jobs that can join a pack at some time are its candidates for backfilling; 0 for none.

    Returns:
        When and where each job ran, and the packs as planned: those of the only plan, or else those that ran.
    """
    return _PackScheduler(jobs, machine, worlds, sensibility, order, depth).run()


class _PackScheduler:
    """The I/O nodes, the packs that wait for each of them, and the jobs that have not started."""

    def __init__(
        self, jobs: Jobs, machine: Machine, worlds: WorldFactory, sensibility: float, order: str, depth: int
    ) -> None:
        self._jobs, self._machine, self._worlds = jobs, machine, worlds
        self._sensibility, self._order, self._depth = sensibility, order, depth
        self._outcome = Outcome.empty(len(jobs))
        self._waits = np.ones(len(jobs), np.bool_)
        self._planned = np.zeros(len(jobs), np.bool_)
        """Whether a job is in the present plan."""
        self._bound = np.full(len(jobs), -math.inf)
        """Until when a job is the candidate of a running pack, and in no other."""
        self._by_release = np.argsort(jobs.release, kind="stable")
        self._releases = np.append(jobs.release[self._by_release], math.inf)
        self._free = [jobs.begin] * machine.io_nodes
        """Until when each I/O node is busy."""
        self._turns = [jobs.begin] * machine.io_nodes
        """When each I/O node next looks for a pack: at the end of its pack; if idle at a release, or when packs are made."""
        self._queues: list[list[tuple[int, Pack]]] = [[] for _ in range(machine.io_nodes)]
        self._numbers = 0
        self._plans = 0

    def run(self) -> Outcome:
        """Run all jobs to their ends."""
        while math.isfinite(now := min(self._turns)):
            io_node = self._turns.index(now)
            self._plan(now)
            if self._queues[io_node]:
                self._start(io_node, now)
                self._turns[io_node] = max(now, self._free[io_node])
            else:
                self._turns[io_node] = float(self._releases[np.searchsorted(self._releases, now, "right")])
        self._outcome.packs.sort(key=lambda pack: pack.number)
        if self._plans > 1:
            self._outcome.plan[:] = [pack.planned for pack in self._outcome.packs]
        return self._outcome

    def _plan(self, now: float) -> None:
        """Make the packs of all waiting jobs again if some of those that have been released are in none."""
        there = self._waits & (self._jobs.release <= now) & (self._bound <= now)
        if not (there & ~self._planned).any():
            return
        packs = make_packs(self._jobs, self._machine, self._sensibility, self._order, np.flatnonzero(there))
        busy = [max(0.0, date - now) for date in self._free]
        placed = lpt([pack.seconds for pack in packs], self._machine.io_nodes, busy)
        self._queues = [[] for _ in self._free]
        for number, (pack, io_node) in enumerate(zip(packs, placed, strict=True), self._numbers):
            self._queues[io_node].append((number, pack))
            if self._free[io_node] <= now:
                self._turns[io_node] = now
        self._planned[:] = there
        self._plans += 1
        self._outcome.plan[:] = packs

    def _start(self, io_node: int, now: float) -> None:
        """Run the next pack of an I/O node, unless all its jobs have joined earlier packs."""
        jobs, outcome = self._jobs, self._outcome
        number, planned = self._queues[io_node].pop(0)
        members = [job for job in planned.jobs if self._waits[job]]
        if not members:
            return
        pack = Pack.of(members, jobs)
        candidates = self._candidates(pack, io_node, now) if self._depth else []
        here = sorted([*members, *candidates])
        place = {job: position for position, job in enumerate(here)}
        world = self._worlds.open(io_node, here, [place[job] for job in candidates], 0.0)
        run = _RunningPack(jobs, self._machine, pack, here, [place[job] for job in candidates], now, self._sensibility)
        run.run(world, self._worlds, outcome)
        self._free[io_node] = end = now + world.now
        self._numbers = max(self._numbers, number + 1)
        self._waits[run.all] = False
        self._bound[candidates] = end
        outcome.io_node[run.all], outcome.pack[run.all] = io_node, number
        outcome.backfilled[run.joined] = True
        outcome.packs.append(PackRun(number, io_node, now, end, pack, tuple(run.joined)))

    def _candidates(self, pack: Pack, io_node: int, now: float) -> list[int]:
        """Jobs that are short, early, light and small enough to join the pack at some time.

        A job that takes T must start within T^Pack − T. Until then the members that take longer hold their nodes.
        """
        jobs = self._jobs
        queued = [job for _, waiting in self._queues[io_node] for job in waiting.jobs]
        coming = slice(*np.searchsorted(self._releases[:-1], [now, now + pack.seconds], "right"))
        waiting = np.concatenate([np.array(queued, np.int64), self._by_release[coming]])
        waiting = waiting[self._waits[waiting] & (self._bound[waiting] <= now)]
        latest = pack.seconds + SAME_TIME_S - jobs.seconds[waiting]
        most = self._sensibility * pack.seconds * (1.0 + SAME_AMOUNT)
        light = math.isinf(self._sensibility) | (pack.occupation + jobs.occupation[waiting] <= most)
        members = np.array(pack.jobs, np.int64)
        members = members[np.argsort(jobs.seconds[members])]
        freed = np.concatenate([[0], np.cumsum(jobs.nodes[members])])
        free = self._machine.nodes - pack.nodes + freed[np.searchsorted(jobs.seconds[members], latest, "right")]
        able = light & (latest >= 0.0) & (jobs.release[waiting] - now <= latest) & (jobs.nodes[waiting] <= free)
        return [int(job) for job in waiting[able][: self._depth]]


class _RunningPack:
    """A pack while it runs; `here` are the numbers of its members and candidates as they stand in its world."""

    def __init__(
        self,
        jobs: Jobs,
        machine: Machine,
        pack: Pack,
        here: Sequence[int],
        candidates: Sequence[int],
        since: float,
        sensibility: float,
    ) -> None:
        self.all = list(pack.jobs)
        self.joined: list[int] = []
        self._jobs = jobs
        self._pack = pack
        self._since = since
        self._sensibility = sensibility
        self._here = here
        self._waiting = list(candidates)
        self._free = machine.nodes - pack.nodes
        self._occupation = pack.occupation

    def run(self, world: World, worlds: WorldFactory, outcome: Outcome) -> None:
        """Run it to the end of its last job."""
        outcome.start[self.all] = self._since
        left = len(self.all)
        while left:
            for position in self._joining(world.now):
                world.start(position)
                job = self._here[position]
                outcome.start[job] = max(self._since + world.now, float(self._jobs.release[job]))
                left += 1
            ended = world.advance(self._next_release(world.now))
            for position in ended:
                job = self._here[position]
                outcome.end[job] = self._since + world.now
                self._free += int(self._jobs.nodes[job])
            left -= len(ended)
            worlds.stopped(self._since, len(ended), left == 0)

    def _joining(self, now: float) -> list[int]:
        """Start the candidates that can join now, and drop those that never can again."""
        chosen, still = [], []
        for position in self._waiting:
            job = self._here[position]
            nodes, occupation = int(self._jobs.nodes[job]), self._occupation + float(self._jobs.occupation[job])
            in_time = now + float(self._jobs.seconds[job]) <= self._pack.seconds + SAME_TIME_S
            if not in_time or not fits_load(occupation, self._pack.seconds, self._sensibility):
                continue
            if nodes > self._free or float(self._jobs.release[job]) > self._since + now + SAME_TIME_S:
                still.append(position)
                continue
            chosen.append(position)
            self._free -= nodes
            self._occupation = occupation
            self.all.append(job)
            self.joined.append(job)
        self._waiting = still
        return chosen

    def _next_release(self, now: float) -> float:
        """The next second at which a candidate is released, or infinity."""
        releases = (float(self._jobs.release[self._here[position]]) - self._since for position in self._waiting)
        return min((release for release in releases if release > now), default=math.inf)
