"""Which jobs should not run together: node-hours that they cost each other on the link.

*Pairwise*: two jobs alone on the machine, the second one starting somewhere in an iteration of the first, which is random.
What both lose to I/O is the mean over some starts, with an interval.

*Leave one out*: the jobs start as a batch scheduler starts them. What all lose in that run, less what the others lose
without one job, at the same starts, is what that job costs everyone, itself included. It can be negative: without a job two
others may meet.

Both need one run for each pair and job, so that only the jobs that occupy the link most are looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from penstock.engine import simulate
from penstock.model import InputError, Workload
from penstock.planning.jobs import Jobs, Machine
from penstock.planning.node_hours import Hours
from penstock.planning.operation import MachineSettings, operate
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
        workload: The jobs, on a platform with a number of nodes; no window.
        policy: Shares the link.
        most: How many jobs are looked at: those that occupy the link most, in node-hours of their transfers.
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
    plain = replace(workload.platform, resources=None, buffer=None)
    workload = replace(workload, platform=plain)
    jobs = Jobs.of(workload, Machine.of(workload))
    weight = jobs.nodes * jobs.occupation
    looked_at = sorted(np.argsort(-weight, kind="stable")[:most].tolist())
    steps = len(looked_at) * (len(looked_at) - 1) // 2 + len(looked_at) + 1
    done = 0

    def step() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done / steps)

    run = operate(workload, MachineSettings(scheduler=scheduler, policy=policy, buffer=False))
    placed = tuple(
        replace(one, release=start, submit=None, progress=None)
        for one, start in zip(workload.applications, run.jobs_run.start.tolist(), strict=True)
    )
    whole = _lost(workload, placed, policy)
    step()
    left_out = []
    for job in looked_at:
        others = tuple(one for index, one in enumerate(placed) if index != job)
        left_out.append((job, whole - (_lost(workload, others, policy) if others else 0.0)))
        step()
    random = np.random.default_rng(seed)
    pairs = []
    for place, first in enumerate(looked_at):
        for second in looked_at[place + 1 :]:
            dates = random.uniform(0.0, jobs.iteration[first], starts)
            dates[0] = 0.0
            two = (replace(placed[first], release=0.0), placed[second])
            runs = [_lost(workload, (two[0], replace(two[1], release=date)), policy) for date in dates.tolist()]
            pairs.append(PairLoss(first, second, Hours.of(runs)))
            step()
    return JobsTogether(
        names=jobs.names,
        pairs=tuple(sorted(pairs, key=lambda one: -one.lost.mean)),
        left_out=tuple(sorted(left_out, key=lambda one: -one[1])),
        lost=whole,
        policy=policy if isinstance(policy, str) else policy.name,
    )


def _lost(workload: Workload, applications: tuple[Any, ...], policy: Policy | str) -> float:
    """Node-hours that these applications lose to I/O when each starts at its release."""
    return simulate(Workload(workload.platform, applications), policy).lost_node_hours
