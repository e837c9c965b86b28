"""Packs one after the other on each I/O node, with or without backfilling (001 §III.C and §IV.A.4).

A pack starts when the one before it on its I/O node has ended and all its jobs are released. It is a run of its own, from
second 0 on: what happens in it depends neither on other packs nor on the number of I/O nodes.

With backfilling, a waiting job of a later pack on the same I/O node joins a running pack if its nodes are free, if it is
predicted to end within T^Pack of the pack's start, and if the pack with it keeps L ≤ S. So by prediction no job is delayed.
Candidates are tried in the order of packs and of jobs in a pack, at the pack's start and when a job ends or is released.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from penstock.numeric.arrays import Ints
from penstock.numeric.tolerances import SAME_AMOUNT, SAME_TIME_S
from penstock.planning.jobs import Jobs, Machine, World, WorldFactory
from penstock.planning.packs import Pack, fits_load, lpt
from penstock.planning.schedule import Outcome, PackRun


def run_packs(
    jobs: Jobs, machine: Machine, packs: Sequence[Pack], worlds: WorldFactory, *, sensibility: float, depth: int = 0
) -> Outcome:
    """Run packs of jobs, placed on I/O nodes by LPT, those of an I/O node in the given order.

    Args:
        jobs: what the scheduler knows of the jobs.
        machine: the I/O nodes.
        packs: the packs, in the order in which they run.
        worlds: opens the worlds in which they run.
        sensibility: S, the largest I/O load of a pack with the jobs that join it.
        depth: how many waiting jobs that can join a pack at some time are its candidates for backfilling; 0 for none.

    Returns:
        When and where each job ran.
    """
    outcome = Outcome.empty(len(jobs))
    limit = sensibility * machine.bandwidth
    placed = lpt([pack.seconds for pack in packs], machine.io_nodes)
    for io_node in range(machine.io_nodes):
        mine = [number for number in range(len(packs)) if placed[number] == io_node]
        waiting = np.array([job for number in mine for job in packs[number].jobs], np.int64)
        now = jobs.begin
        for number in mine:
            members = [job for job in packs[number].jobs if outcome.pack[job] < 0]
            waiting = waiting[len(members) :]
            if not members:  # all have joined earlier packs
                continue
            pack = Pack.of(members, jobs, machine)
            since = max(now, float(jobs.release[members].max()))
            candidates = _candidates(jobs, machine, pack, since, waiting, limit)[:depth] if depth else []
            world = worlds.open(io_node, [*members, *candidates], len(candidates), 0.0)
            run = _RunningPack(jobs, machine, pack, candidates, since, limit)
            run.run(world, worlds, outcome)
            now = since + world.now
            outcome.io_node[run.all], outcome.pack[run.all] = io_node, number
            outcome.backfilled[run.joined] = True
            outcome.packs.append(PackRun(number, io_node, since, now, pack, tuple(run.joined)))
            waiting = waiting[outcome.pack[waiting] < 0]
    outcome.packs.sort(key=lambda pack: pack.number)
    return outcome


def _candidates(jobs: Jobs, machine: Machine, pack: Pack, since: float, waiting: Ints, limit: float) -> list[int]:
    """Waiting jobs that are short, early, light and small enough to join the pack at some time.

    A job that takes T must start within T^Pack − T. Until then the members that take longer hold their nodes.
    """
    latest = pack.seconds + SAME_TIME_S - jobs.seconds[waiting]
    light = math.isinf(limit) | (pack.volume + jobs.volume[waiting] <= limit * pack.seconds * (1.0 + SAME_AMOUNT))
    members = np.array(pack.jobs, np.int64)
    members = members[np.argsort(jobs.seconds[members])]
    freed = np.concatenate([[0], np.cumsum(jobs.nodes[members])])
    free = machine.nodes - pack.nodes + freed[np.searchsorted(jobs.seconds[members], latest, "right")]
    able = light & (latest >= 0.0) & (jobs.release[waiting] - since <= latest) & (jobs.nodes[waiting] <= free)
    return [int(job) for job in waiting[able]]


class _RunningPack:
    """A pack while it runs; its world numbers its members first, then the candidates."""

    def __init__(
        self, jobs: Jobs, machine: Machine, pack: Pack, candidates: Sequence[int], since: float, limit: float
    ) -> None:
        self.all = list(pack.jobs)
        self.joined: list[int] = []
        self._jobs = jobs
        self._pack = pack
        self._since = since
        self._limit = limit
        self._here = [*pack.jobs, *candidates]
        self._waiting = list(range(len(pack.jobs), len(self._here)))
        self._free = machine.nodes - pack.nodes
        self._volume = pack.volume

    def run(self, world: World, worlds: WorldFactory, outcome: Outcome) -> None:
        """Run it to the end of its last job."""
        outcome.start[self.all] = self._since
        left = len(self.all)
        while left:
            for position in self._joining(world.now):
                world.start(position)
                outcome.start[self._here[position]] = self._since + world.now
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
            nodes, volume = int(self._jobs.nodes[job]), self._volume + float(self._jobs.volume[job])
            in_time = now + float(self._jobs.seconds[job]) <= self._pack.seconds + SAME_TIME_S
            if not in_time or not fits_load(volume, self._pack.seconds, self._limit):
                continue
            if nodes > self._free or float(self._jobs.release[job]) > self._since + now:
                still.append(position)
                continue
            chosen.append(position)
            self._free -= nodes
            self._volume = volume
            self.all.append(job)
            self.joined.append(job)
        self._waiting = still
        return chosen

    def _next_release(self, now: float) -> float:
        """The next second at which a candidate is released, or infinity."""
        releases = (float(self._jobs.release[self._here[position]]) - self._since for position in self._waiting)
        return min((release for release in releases if release > now), default=math.inf)
