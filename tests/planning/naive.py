"""Slow twins, written from the definitions: make-pack in fractions, and a list scheduler that tries every date."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

EQUAL = Fraction(1, 10**12)


def naive_packs(jobs, machine, sensibility, order):
    """Algorithm 2 of 001, the packs as lists of jobs in the order in which they run."""
    key = {
        "max": lambda job: -float(jobs.seconds[job]),
        "char": lambda job: -float(jobs.iteration[job]),
        "random": lambda job: 0.0,
    }[order]
    packs = []  # in the order of creation

    def nodes(pack):
        return sum(int(jobs.nodes[job]) for job in pack)

    def sorted_packs():
        return [pack for _, _, pack in sorted((-nodes(pack), born, pack) for born, pack in enumerate(packs))]

    def fits(pack):
        if nodes(pack) > machine.nodes:
            return False
        if math.isinf(sensibility):
            return True
        occupation = sum(Fraction(float(jobs.occupation[job])) for job in pack)
        longest = max(Fraction(float(jobs.seconds[job])) for job in pack)
        return occupation <= Fraction(sensibility) * longest * (1 + EQUAL)

    for job in sorted(range(len(jobs)), key=key):
        first = next((pack for pack in sorted_packs() if fits([*pack, job])), None)
        if first is None:
            packs.append([job])
        else:
            first.append(job)
    return sorted_packs()


def naive_stream(jobs, machine, sensibility, order):
    """The start of each job, where packs are made of what has been released whenever one has ended, and the first runs."""
    start, now = {}, 0.0
    while len(start) < len(jobs):
        waiting = [job for job in range(len(jobs)) if job not in start]
        now = max(now, min(float(jobs.release[job]) for job in waiting))
        there = np.array([job for job in waiting if jobs.release[job] <= now])
        columns = {name: getattr(jobs, name)[there] for name in ("nodes", "seconds", "occupation", "iteration")}
        known = replace(jobs, names=tuple(map(str, there)), **columns)
        first = there[naive_packs(known, machine, sensibility, order)[0]].tolist()
        start |= dict.fromkeys(first, now)
        now += max(float(jobs.seconds[job]) for job in first)
    return [start[job] for job in range(len(jobs))]


class NaiveList:
    """List scheduling where every waiting job tries every date at which something ends."""

    def __init__(self, jobs, machine, sensibility, depth):
        self.jobs, self.machine, self.depth = jobs, machine, depth
        self.limit = sensibility

    def run(self, world):
        """(start, end, backfilled) of each job, in a world in which all are held."""
        jobs = self.jobs
        order = sorted(range(len(jobs)), key=lambda job: (float(jobs.release[job]), job))
        start, end, passed = {}, {}, {}
        while len(end) < len(jobs):
            waiting = [job for job in order if job not in start and jobs.release[job] <= world.now]
            running = {job: start[job] for job in start if job not in end}
            while starting := self.starting(world.now, waiting, running):
                for job in starting:
                    passed[job] = any(other not in starting for other in waiting[: waiting.index(job)])
                    start[job] = running[job] = world.now
                    world.start(job)
                waiting = [job for job in waiting if job not in start]
            later = [float(jobs.release[job]) for job in order if jobs.release[job] > world.now]
            for job in world.advance(min(later, default=math.inf)):
                end[job] = world.now
        return [(start[job], end[job], passed[job]) for job in range(len(jobs))]

    def starting(self, now, waiting, running):
        if not self.depth:
            chosen = []
            for job in waiting:
                if not self.room(job, [*running, *chosen]):
                    break
                chosen.append(job)
            return chosen
        plan = self.plan(now, waiting[: self.depth], running)
        return [job for job in waiting[: self.depth] if plan[job][1]]

    def plan(self, now, waiting, running):
        """For each job its begin and whether that is the present instant.

        Moments are pairs of a date and a rank, in the order of pairs: a job that takes no time begins at one moment and ends
        at the next of the same date. The present is (now, 0), and whoever should have ended ends at (now, 1).
        """
        now = round(now, 10)

        def end_of(begin, seconds):
            return (round(begin[0] + seconds, 10), 0) if seconds > 0.0 else (begin[0], begin[1] + 1)

        held = {}  # job: begin and end
        for job, began in running.items():
            end = (round(began + float(self.jobs.seconds[job]), 10), 0)
            held[job] = ((now, 0), max(end, (now, 1)))
        plan = {}
        for job in waiting:
            for begin in sorted({(now, 0), (now, 1), *(end for _, end in held.values())}):
                end = end_of(begin, float(self.jobs.seconds[job]))
                moments = [begin, *(moment for times in held.values() for moment in times if begin < moment < end)]
                if all(self.room(job, [other for other, (b, e) in held.items() if b <= m < e]) for m in moments):
                    plan[job] = (begin[0], begin == (now, 0))
                    held[job] = (begin, end)
                    break
        return plan

    def room(self, job, others):
        nodes, load = self.jobs.nodes, self.jobs.load
        if sum(int(nodes[other]) for other in others) + int(nodes[job]) > self.machine.nodes:
            return False
        with_io = [float(load[other]) for other in others if load[other] > 0.0]
        own = float(load[job])
        return own == 0.0 or not with_io or math.fsum([*with_io, own]) <= self.limit * (1 + 1e-12)
