"""Jobs on a machine in plain Python and fractions: at every event look at everything, from the definitions.

Schedulers: fcfs, EASY, and conservative backfilling that plans all jobs anew at every event. Sharing: best-effort,
fair-share and fifo. One link, or N resources of B/N each without curves; a job gets the fewest resources that carry its
bandwidth, those that the running jobs load least.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from penstock.model import Application, Workload
from tests.naive.machine import max_min

NEARLY = Fraction(1, 10**8)
"""Dates that are different, but by less than so many seconds, may change places by rounding."""


@dataclass(eq=False)
class Job:
    index: int
    nodes: int
    submit: Fraction
    requested: Fraction
    phases: list[tuple[str, Fraction]]
    cap: Fraction
    """Bytes/s."""
    alone: Fraction
    load: Fraction = Fraction(0)
    """Of each of its resources."""
    count: int = 1
    start: Fraction | None = None
    end: Fraction | None = None
    resources: tuple[int, ...] = ()
    phase: int = 0
    work_left: Fraction = Fraction(0)
    left: dict[int, Fraction] = field(default_factory=dict)
    """Bytes still to move on each resource."""
    posted: Fraction = Fraction(0)
    rates: dict[int, Fraction] = field(default_factory=dict)

    @property
    def runs(self) -> bool:
        return self.start is not None and self.end is None


class NaiveMachine:
    """One run of the jobs of a workload."""

    def __init__(self, workload: Workload, scheduler: str, policy: str) -> None:
        platform = workload.platform
        self.nodes = platform.nodes or 0
        self.resources = platform.resources or 1
        self.each = Fraction(platform.bandwidth) / self.resources
        self.scheduler, self.policy = scheduler, policy
        self.jobs = [self.job(index, one, workload) for index, one in enumerate(workload.applications)]
        self.now = min(job.submit for job in self.jobs)
        self.doubtful = False

    def job(self, index: int, one: Application, workload: Workload) -> Job:
        cap = Fraction(one.cap(workload.platform))
        count = min(self.resources, math.ceil(cap / self.each))
        cap = min(cap, count * self.each)
        phases = [("work", Fraction(one.lead)), *((kind, Fraction(amount)) for kind, amount in one.phases)]
        work = sum((amount for kind, amount in phases if kind == "work"), Fraction(0))
        volume = sum((amount for kind, amount in phases if kind != "work"), Fraction(0))
        alone = work + volume / cap
        busy = volume / cap if self.policy == "fifo" else volume / (count * self.each)
        submit = Fraction(one.release if one.submit is None else one.submit)
        requested = alone if one.requested is None else Fraction(one.requested)
        load = busy / alone if alone else Fraction(0)
        return Job(index, one.nodes, submit, requested, phases, cap, alone, load, count)

    def run(self) -> list[Job]:
        while True:
            self.settle()
            if all(job.end is not None for job in self.jobs):
                return self.jobs
            self.decide()
            if not self.settle():
                self.find_rates()
                self.step()

    @property
    def running(self) -> list[Job]:
        return [job for job in self.jobs if job.runs]

    # I/O

    def settle(self) -> bool:
        """Apply all that is over now; whether a job ended, so that the scheduler is to be asked again."""
        ended = False
        again = True
        while again:
            again = False
            for job in self.running:
                if job.phase == len(job.phases):
                    job.end = self.now
                    ended = again = True
                elif not (any(job.left.values()) if self.in_io(job) else job.work_left):
                    self.begin_next(job)
                    again = True
        return ended

    def begin_next(self, job: Job) -> None:
        job.phase += 1
        self.begin_phase(job)

    def begin_phase(self, job: Job) -> None:
        if job.phase == len(job.phases):
            return
        kind, amount = job.phases[job.phase]
        if kind == "work":
            job.work_left = amount
        else:
            job.posted = self.now
            job.left = dict.fromkeys(job.resources, amount / len(job.resources))

    def find_rates(self) -> None:
        for job in self.running:
            job.rates = {}
        for resource in range(self.resources):
            asking = [job for job in self.running if self.in_io(job) and job.left.get(resource, 0) > 0]
            caps = [job.cap / len(job.resources) for job in asking]
            for job, rate in zip(asking, self.shares(asking, caps), strict=True):
                job.rates[resource] = rate

    @staticmethod
    def in_io(job: Job) -> bool:
        return job.phase < len(job.phases) and job.phases[job.phase][0] != "work"

    def shares(self, asking: list[Job], caps: list[Fraction]) -> list[Any]:
        if self.policy == "best-effort":
            return max_min(caps, self.each)
        if self.policy == "fair-share":
            part = min(Fraction(1), self.each / sum(caps)) if caps else Fraction(1)
            return [cap * part for cap in caps]
        first = min(asking, key=lambda job: (job.posted, job.index), default=None)
        return [min(cap, self.each) if job is first else Fraction(0) for job, cap in zip(asking, caps, strict=True)]

    def step(self) -> None:
        """Go on to the next event."""
        dates = [job.submit for job in self.jobs if job.submit > self.now]
        for job in self.running:
            if self.in_io(job):
                dates += [self.now + job.left[r] / rate for r, rate in job.rates.items() if rate > 0]
            else:
                dates.append(self.now + job.work_left)
        date = min(dates)
        self.doubtful |= any(date < other < date + NEARLY for other in dates)
        seconds = date - self.now
        for job in self.running:
            if self.in_io(job):
                for resource, rate in job.rates.items():
                    job.left[resource] -= rate * seconds
            else:
                job.work_left -= seconds
        self.now = date

    # The batch scheduler

    def decide(self) -> None:
        queue = [job for job in self.jobs if job.start is None and job.submit <= self.now]
        queue.sort(key=lambda job: (job.submit, job.index))
        for job in {"fcfs": self.fcfs, "easy": self.easy, "conservative": self.conservative}[self.scheduler](queue):
            job.start = self.now
            job.resources = self.place(job)
            self.begin_phase(job)

    def place(self, job: Job) -> tuple[int, ...]:
        load = {
            resource: sum((other.load for other in self.running if resource in other.resources), Fraction(0))
            for resource in range(self.resources)
        }
        return tuple(sorted(sorted(load, key=lambda resource: (load[resource], resource))[: job.count]))

    def plan(self, running: Sequence[tuple[Fraction, int]], job: Job) -> Fraction:
        """The earliest date at which a job fits for its requested time; others have nodes until dates, from now on."""
        return self.place_between([(self.now, end, nodes) for end, nodes in running], job)

    def place_between(self, taken: Sequence[tuple[Fraction, Fraction, int]], job: Job) -> Fraction:
        """The same where others have their nodes from a begin to an end."""
        for begin in sorted({self.now, *(end for _, end, _ in taken if end > self.now)}):
            end = begin + job.requested
            moments = [begin, *(first for first, _, _ in taken if begin < first < end)]
            if all(
                sum(nodes for first, last, nodes in taken if first <= at < last) + job.nodes <= self.nodes for at in moments
            ):
                return begin
        raise AssertionError("it fits when all are gone")

    def predicted(self) -> list[tuple[Fraction, int]]:
        """Predicted ends and nodes of the running jobs. Who should have ended holds its nodes now, and no longer."""
        return [(max(job.start + job.requested, self.now), job.nodes) for job in self.running if job.start is not None]

    def free(self, chosen: Sequence[Job]) -> int:
        return self.nodes - sum(job.nodes for job in [*self.running, *chosen])

    def fcfs(self, queue: list[Job]) -> list[Job]:
        chosen: list[Job] = []
        for job in queue:
            if job.nodes > self.free(chosen):
                break
            chosen.append(job)
        return chosen

    def easy(self, queue: list[Job]) -> list[Job]:
        chosen = self.fcfs(queue)
        if len(chosen) == len(queue):
            return chosen
        head = queue[len(chosen)]
        for job in queue[len(chosen) + 1 :]:
            before = [*self.predicted(), *((self.now + other.requested, other.nodes) for other in chosen)]
            after = [*before, (self.now + job.requested, job.nodes)]
            if job.nodes <= self.free(chosen) and self.plan(after, head) <= self.plan(before, head):
                chosen.append(job)
        return chosen

    def conservative(self, queue: list[Job]) -> list[Job]:
        taken = [(self.now, end, nodes) for end, nodes in self.predicted()]
        chosen: list[Job] = []
        for job in queue:
            begin = self.place_between(taken, job)
            taken.append((begin, begin + job.requested, job.nodes))
            if begin == self.now and job.nodes <= self.free(chosen):
                chosen.append(job)
        return chosen
