"""Which jobs should not run together: node-hours that they cost each other on the link or the I/O resources of a machine.

*Pairwise*: two jobs alone on the machine, the second one starting somewhere in an iteration of the first, which is random.
What both lose to I/O is the mean over some starts, with an interval.

*Leave one out*: the jobs start as a batch scheduler starts them. What all lose in that run, less what the others lose
without one job, at the same starts, is what that job costs everyone, itself included. It can be negative: without a job two
others may meet.

On I/O resources the run with all has the placement of `penstock.machine`, or that of the workload, and the run without one
job keeps it. Two jobs alone are placed as if the machine were empty, so that they meet only where there are too few
resources for both, or where the workload places them on the same ones. A burst buffer is one pool for all who run.

Both need one run for each pair and job, so that only the jobs that occupy the I/O system most are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from penstock.engine import Run, simulate
from penstock.model import Application, InputError, Workload
from penstock.planning.jobs import Jobs, Machine
from penstock.planning.node_hours import Hours
from penstock.planning.operation import MachineSettings, has_buffer, operate
from penstock.policies import Policy

MOST_JOBS: Final = 20
"""Jobs that are looked at by default: 190 pairs."""
STARTS: Final = 5
"""Starts of each pair."""


@dataclass(frozen=True)
class PairLoss:
    """What two jobs, by their numbers, lose beside each other."""

    first: int
    second: int
    lost: Hours


@dataclass(frozen=True)
class JobsTogether:
    """The jobs that were looked at, the worst first in both lists; node-hours."""

    names: tuple[str, ...]
    """Names of all jobs of the workload."""
    pairs: tuple[PairLoss, ...]
    left_out: tuple[tuple[int, float], ...]
    """For each job that was looked at: its number, and what it costs everyone."""
    lost: float
    """What all jobs lose in the run with all."""
    policy: str

    def matrix(self) -> dict[str, dict[str, float]]:
        """Mean node-hours that a pair loses, by the names of both."""
        found: dict[str, dict[str, float]] = {}
        for pair in self.pairs:
            a, b = self.names[pair.first], self.names[pair.second]
            found.setdefault(a, {})[b] = found.setdefault(b, {})[a] = pair.lost.mean
        return found

    def to_dict(self) -> dict[str, Any]:
        """The losses for JSON."""
        return {
            "policy": self.policy,
            "lost_node_hours": self.lost,
            "pairs": [
                {"jobs": [self.names[one.first], self.names[one.second]], "lost_node_hours": one.lost.to_dict()}
                for one in self.pairs
            ],
            "leave_one_out": [{"job": self.names[job], "lost_node_hours": cost} for job, cost in self.left_out],
        }


def jobs_together(
    workload: Workload,
    policy: Policy | str = "fair-share",
    *,
    most: int = MOST_JOBS,
    starts: int = STARTS,
    scheduler: str = "easy",
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> JobsTogether:
    """Find which jobs cost each other most.

    Args:
        workload: The jobs, on a platform with a number of nodes; no window. If all have a placement, they keep it.
        policy: Shares the link, or each I/O resource.
        most: How many jobs are looked at: those that occupy the I/O system most, in node-hours of their transfers.
        starts: How many starts of each pair are tried.
        scheduler: Starts the jobs of the run with all, as for `penstock.machine`.
        seed: For the starts of pairs.
        progress: Called with the part done, from 0 to 1.

    Returns:
        What pairs lose, and what each job costs all others and itself.

    Raises:
        InputError: Fewer than two jobs or one start are asked for, or the workload cannot be operated.

    Example:
        Two jobs that always transfer at one time, and one without I/O.

        >>> from penstock.model import Application, Platform
        >>> chain = [("work", 1800.0), ("io", 1800.0)]
        >>> jobs = [Application.of(name, chain) for name in "ab"] + [Application.of("c", [("work", 3600.0)])]
        >>> found = jobs_together(Workload(Platform(1.0, nodes=3), tuple(jobs)), most=3, starts=1)
        >>> found.left_out[0], found.matrix()["a"]["c"]  # a and b take half an hour more each; without a, b does not
        ((0, 1.0), 0.0)
    """
    if most < 2 or starts < 1:
        raise InputError("together", f"{most} jobs and {starts} starts; expected 2 jobs or more and 1 start or more")
    machine = _Runs(workload, policy, scheduler)
    placed, iteration = machine.placed, machine.iteration
    looked_at = sorted(np.argsort(-machine.weight, kind="stable")[:most].tolist())
    steps = len(looked_at) * (len(looked_at) - 1) // 2 + len(looked_at) + 1
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done / steps)

    whole = machine.lost(placed)
    step()
    left_out = []
    for job in looked_at:
        others = tuple(one for index, one in enumerate(placed) if index != job)
        left_out.append((job, whole - (machine.lost(others) if others else 0.0)))
        step()
    random = np.random.default_rng(seed)
    pairs = []
    for place, first in enumerate(looked_at):
        for second in looked_at[place + 1 :]:
            dates = random.uniform(0.0, iteration[first], starts)
            dates[0] = 0.0
            two = machine.alone_together(first, second)
            runs = [machine.lost((two[0], replace(two[1], release=date))) for date in dates.tolist()]
            pairs.append(PairLoss(first, second, Hours.of(runs)))
            step()
    return JobsTogether(
        names=tuple(one.name for one in placed),
        pairs=tuple(sorted(pairs, key=lambda one: -one.lost.mean)),
        left_out=tuple(sorted(left_out, key=lambda one: -one[1])),
        lost=whole,
        policy=policy if isinstance(policy, str) else policy.name,
    )


class _Runs:
    """Runs of the jobs of a workload on what its platform has: nodes, a link or I/O resources, and a buffer."""

    def __init__(self, workload: Workload, policy: Policy | str, scheduler: str) -> None:
        self._workload, self._policy = workload, policy
        platform = workload.platform
        own = platform.resources is not None and workload.placement is not None
        self._settings = MachineSettings(scheduler=scheduler, policy=policy, placement="file" if own else "least-loaded")
        known = Jobs.of(workload, Machine.of(workload))
        jobs = operate(workload, self._settings).jobs_run
        self.placed: tuple[Application, ...] = tuple(
            replace(
                one,
                release=start,
                submit=None,
                progress=None,
                share=None,
                placement=None if jobs.resources is None else jobs.resources[index],
            )
            for index, (one, start) in enumerate(zip(workload.applications, jobs.start.tolist(), strict=True))
        )
        """The jobs as they start in the run with all."""
        self.iteration, occupation = known.iteration, known.occupation
        """Of each job: seconds of an iteration alone."""
        if jobs.resources is not None or has_buffer(workload, self._settings):
            leads = np.array([one.lead for one in workload.applications])
            self.iteration = (jobs.alone - leads) / np.maximum(1, known.operations)
        if jobs.resources is not None:  # alone, a transfer has its resources for itself
            occupation = jobs.transferring * np.array([len(used) for used in jobs.resources]) / (platform.resources or 1)
        self.weight = jobs.nodes * occupation
        """Of each job: node-seconds in which it occupies the I/O system."""

    def alone_together(self, first: int, second: int) -> tuple[Application, Application]:
        """Two jobs, by their numbers, as they are when only they run: both released at 0, the first one placed first."""
        pair = [replace(self._workload.applications[job], release=0.0, submit=None) for job in (first, second)]
        places = None
        if self._workload.platform.resources is not None:
            roomy = replace(self._workload.platform, nodes=sum(one.nodes for one in pair), buffer=None)
            places = operate(Workload(roomy, tuple(pair)), self._settings).jobs_run.resources
        one, other = (
            replace(self.placed[job], release=0.0, placement=None if places is None else places[index])
            for index, job in enumerate((first, second))
        )
        return one, other

    def lost(self, applications: tuple[Application, ...]) -> float:
        """Node-hours that these applications lose to the I/O of others when each starts at its release."""
        workload = Workload(self._workload.platform, applications)
        if self._workload.platform.resources is None:
            return simulate(workload, self._policy).lost_node_hours
        plain = replace(workload, applications=tuple(replace(one, placement=None) for one in applications))
        places = [one.placement or () for one in applications]
        run = Run(plain, self._policy, counts=[len(used) for used in places], held=range(len(applications)))
        for job in sorted(range(len(applications)), key=lambda job: applications[job].release):
            while run.now < applications[job].release:
                run.advance(applications[job].release)
            run.start(job, places[job])
        return run.finish().lost_node_hours
