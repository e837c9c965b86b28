"""Proposals of I/O resources for jobs that come and go, each measured by a run of the whole machine.

Only jobs that run at the same time contend. A job is allotted its I/O resources when it starts and keeps them to its end, as
files keep their storage targets. What is decided is decided again at every start, for the jobs that are there:

- *How many.* `random`, `static`, `best-bdw` and `n-sys` decide for each job by itself. `tcpu` and `mckp` look at a set of
  jobs; here it is the newcomer with those that run when it starts. The newcomer gets what it has in that set.
- *Which.* `greedy-clairvoyant` takes the resources whose running jobs occupy them least, `greedy-non-clairvoyant` takes them
  in turn.

A job without a curve is measured with a stand-in: each of N resources carries B/N, up to the job's own bandwidth.

What a job *loses* to I/O is the time from its start to its end beyond its work and its transfers alone with the best number
of resources. ρ is its time in I/O over these transfers, ρ_io what the number of its resources adds, ρ_con what sharing adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats, Ints
from penstock.planning.machine_run import MachineRun
from penstock.planning.node_hours import HOUR, Hours, recommendation
from penstock.planning.operation import MachineSettings, curve_on, operate
from penstock.planning.placement.allocation import AT_STARTS, Characteristics, Information, find_allocation
from penstock.planning.placement.heuristics import BASELINE, Heuristic
from penstock.planning.placement.planner import why
from penstock.planning.schedulers import RECORDED
from penstock.policies.policy import Policy

RULES: Final = {
    "random": "random",
    "greedy-non-clairvoyant": "in-turn",
    "greedy-clairvoyant": "least-loaded",
    None: "least-loaded",
}
"""How a run of the machine places a starting job, for each placement of 002; mckp takes the least loaded resources."""
DRAWS: Final = 10
"""Runs of a heuristic that is random, each with a seed of its own."""
OBJECTIVES: Final[dict[str, Callable[[StreamProposal], float]]] = {
    "node-hours": lambda one: one.lost.mean,
    "mean-slowdown": lambda one: one.mean_slowdown,
    "max-slowdown": lambda one: one.max_slowdown,
    "idle-time": lambda one: one.idle_time,
}
"""Measures to minimise."""


@dataclass(frozen=True, eq=False)
class StreamProposal:
    """What came of a heuristic; of a random one, of its first run."""

    heuristic: Heuristic
    counts: Ints
    run: MachineRun
    best_seconds: Floats
    """Of each job: seconds of its transfers alone with the best number of resources."""
    lost: Hours
    """Node-hours that jobs lost to I/O; of a random heuristic over all its runs."""

    @property
    def name(self) -> str:
        """The name of the heuristic."""
        return self.heuristic.name

    @cached_property
    def slowdown(self) -> Floats:
        """ρ of each job; NaN for one without I/O."""
        jobs = self.run.jobs_run
        return _over(jobs.held - jobs.worked, self.best_seconds)

    @cached_property
    def allocation_slowdown(self) -> Floats:
        """ρ_io of each job; NaN for one without I/O."""
        return _over(self.run.jobs_run.transferring, self.best_seconds)

    @property
    def congestion_slowdown(self) -> Floats:
        """ρ_con of each job; NaN for one without I/O."""
        return np.maximum(0.0, self.slowdown - self.allocation_slowdown)

    @property
    def mean_slowdown(self) -> float:
        """The mean of ρ; 1 if no job does I/O."""
        return _mean(self.slowdown, 1.0)

    @property
    def max_slowdown(self) -> float:
        """The largest ρ; 1 if no job does I/O."""
        known = self.slowdown[np.isfinite(self.slowdown)]
        return float(known.max(initial=1.0))

    @property
    def idle_time(self) -> float:
        """Part of the node-seconds of the machine in which the nodes of jobs did I/O or waited for it; at most 1."""
        jobs = self.run.jobs_run
        spent = float((jobs.nodes * (jobs.held - jobs.worked)).sum()) / HOUR
        return spent / self.run.node_hours if self.run.node_hours > 0.0 else 0.0

    @cached_property
    def most_load(self) -> float:
        """The largest I/O load of jobs that run at one time, each as it is alone: parts of all resources; above 1 they are
        saturated.
        """
        jobs = self.run.jobs_run
        alone = jobs.worked + jobs.transferring
        stress = self.counts * np.divide(jobs.transferring, alone, out=np.zeros(len(jobs)), where=alone > 0.0)
        dates = np.concatenate([jobs.end, jobs.start])
        change = np.concatenate([-stress, stress])[np.argsort(dates, kind="stable")]
        return float(np.cumsum(change).max(initial=0.0)) / self.run.stores

    def to_dict(self) -> dict[str, Any]:
        """The proposal for JSON."""
        return {
            "heuristic": self.name,
            "allocation": self.heuristic.allocation,
            "placement": self.heuristic.placement,
            "lost_node_hours": self.lost.to_dict(),
            "counts": self.counts.tolist(),
            "resources": [list(used) for used in self.run.jobs_run.resources or ()],
            "most_load": self.most_load,
            "mean_slowdown": self.mean_slowdown,
            "max_slowdown": self.max_slowdown,
            "mean_allocation_slowdown": _mean(self.allocation_slowdown, 1.0),
            "mean_congestion_slowdown": _mean(self.congestion_slowdown, 0.0),
            "idle_time": self.idle_time,
            "occupancy": self.occupancy.tolist(),
            "applications": self.rows(),
        }

    @property
    def occupancy(self) -> Floats:
        """Of each resource: the part of the time for which it would be busy at full rate."""
        return self.run.store_seconds / self.run.makespan if self.run.makespan > 0.0 else 0.0 * self.run.store_seconds

    def rows(self) -> list[dict[str, Any]]:
        """A row for each job."""
        jobs = self.run.jobs_run
        lost = lost_to_io(self.run, self.best_seconds)
        columns = (jobs.start, jobs.end, self.slowdown, self.allocation_slowdown, self.congestion_slowdown, lost)
        names = ("start", "end", "slowdown", "allocation_slowdown", "congestion_slowdown", "lost_node_hours")
        rows = []
        for index, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
            known = {name: None if value != value else value for name, value in zip(names, values, strict=True)}
            used = list((jobs.resources or ())[index])
            rows.append(
                {"name": jobs.names[index], "nodes": int(jobs.nodes[index]), "count": len(used), "resources": used} | known
            )
        return rows


@dataclass(frozen=True)
class StreamPlan:
    """The proposals for jobs that come and go, and the chosen one."""

    workload: Workload
    level: Information
    objective: str
    chosen: StreamProposal
    proposals: tuple[StreamProposal, ...]
    stand_in: int
    """Jobs without a curve."""

    @property
    def baseline(self) -> StreamProposal | None:
        """What resource managers do; None where it was not run."""
        return next((one for one in self.proposals if one.heuristic == BASELINE), None)

    @property
    def advice(self) -> str:
        """One sentence: what to do, why, and what that assumes."""
        chosen, baseline = self.chosen, self.baseline
        base = baseline or chosen
        reason = why(
            (_mean(base.congestion_slowdown, 0.0), _mean(chosen.congestion_slowdown, 0.0)),
            (_mean(base.allocation_slowdown, 1.0), _mean(chosen.allocation_slowdown, 1.0)),
        )
        assumed = "the curves hold" if not self.stand_in else "each resource carries an equal part of the bandwidth"
        other = f"the baseline, {BASELINE.name}," if base is not chosen else None
        when = "at their releases" if chosen.run.scheduler == RECORDED else f"by {chosen.run.scheduler}"
        dates = f"jobs start {when} and keep their resources to their ends"
        how = f"placing jobs by {chosen.name}"
        return recommendation(how, chosen.lost, other, base.lost, reason, f"{dates}, and {assumed}")

    def to_dict(self) -> dict[str, Any]:
        """The plan for JSON, as `penstock place --json` prints it."""
        return {
            "resources": self.workload.platform.resources,
            "knows": str(self.level),
            "objective": self.objective,
            "stream": True,
            "without_curve": self.stand_in,
            "chosen": self.chosen.to_dict(),
            "proposals": [one.to_dict() for one in self.proposals],
            "baseline": None if self.baseline is None else self.baseline.name,
            "recommendation": self.advice,
        }


def plan_stream(
    workload: Workload,
    wanted: Sequence[Heuristic],
    *,
    level: Information | None = None,
    objective: str = "node-hours",
    policy: Policy | str = "best-effort",
    scheduler: str = RECORDED,
    seed: int = 0,
    shown: Callable[..., Any] = iter,
    progress: Callable[[float], None] | None = None,
) -> StreamPlan:
    """Run every heuristic on jobs that come and go, and choose the best.

    Args:
        workload: The jobs, on a platform with I/O resources; without a number of nodes nobody waits for any.
        wanted: The heuristics; the baseline is run in any case.
        level: What heuristics may know; by default all that the workload tells.
        objective: The measure to minimise, one of `OBJECTIVES`.
        policy: Shares the bandwidth of each resource.
        scheduler: Starts the jobs, as for `penstock.machine`.
        seed: For random heuristics, which run `DRAWS` times.
        shown: Iterates over the heuristics, for a progress display that names them.
        progress: Called after each heuristic with the part of them that have run, from 0 to 1.

    Returns:
        All proposals and the chosen one.

    Raises:
        InputError: An objective is unknown, or no heuristic can be used.
    """
    if objective not in OBJECTIVES:
        raise InputError("objective", f"{objective!r} is unknown; expected one of {', '.join(OBJECTIVES)}")
    if workload.platform.resources is None:
        raise InputError("platform.resources", "is not given; expected the number of I/O resources there, or --resources N")
    members = workload.applications
    if workload.platform.nodes is None:
        workload = replace(workload, platform=replace(workload.platform, nodes=sum(one.nodes for one in members)))
    known = Characteristics.of(workload, [curve_on(one, workload) for one in members])
    stand_in = sum(one.curve is None for one in members)
    highest = Information.CURVES if not stand_in else Information.BEST
    usable = [one for one in dict.fromkeys((*wanted, BASELINE)) if one.known_at(level or highest)]
    if not any(one in usable for one in wanted):
        needs = ", ".join(wanted[0].needs)
        raise InputError(f"heuristic {wanted[0].name}", f"needs {needs}; expected one that knows {level or highest} at most")
    proposals = []
    for heuristic in shown(usable):
        proposals.append(_proposal(workload, known, heuristic, policy, scheduler, seed))
        if progress is not None:
            progress(len(proposals) / len(usable))
    asked = [one for one in proposals if one.heuristic in wanted]
    serious = [one for one in asked if not one.heuristic.baseline] or asked
    chosen = min(serious, key=OBJECTIVES[objective])
    return StreamPlan(workload, level or highest, objective, chosen, tuple(proposals), stand_in)


def _proposal(
    workload: Workload, known: Characteristics, heuristic: Heuristic, policy: Policy | str, scheduler: str, seed: int
) -> StreamProposal:
    best = known.io_seconds.min(axis=1)
    runs = []
    for draw in range(DRAWS if heuristic.baseline else 1):
        settings = MachineSettings(
            scheduler=scheduler,
            policy=policy,
            allocation=_allocation(known, heuristic, seed + draw),
            placement=RULES[heuristic.placement],
            buffer=False,
            seed=seed + draw,
        )
        runs.append(operate(workload, settings))
    lost = Hours.of([float(lost_to_io(run, best).sum()) for run in runs])
    counts = np.array([len(used) for used in runs[0].jobs_run.resources or ()], np.int64)
    return StreamProposal(heuristic, counts, runs[0], best, lost)


def _allocation(known: Characteristics, heuristic: Heuristic, seed: int) -> str | tuple[int, ...]:
    """How many resources each job gets, for a run of the machine; by name where that depends on the jobs that run."""
    if heuristic.allocation in AT_STARTS:
        return heuristic.allocation
    return tuple(find_allocation(heuristic.allocation).counts(known, np.random.default_rng(seed)).tolist())


def lost_to_io(run: MachineRun, best_seconds: Floats) -> Floats:
    """Node-hours that each job lost to I/O.

    Args:
        run: of the jobs.
        best_seconds: of each job: seconds of its transfers alone with the best number of resources.
    """
    jobs = run.jobs_run
    return np.maximum(0.0, jobs.held - jobs.worked - best_seconds) * jobs.nodes / HOUR


def _over(part: Floats, whole: Floats) -> Floats:
    ratio: Floats = np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0.0)
    return ratio


def _mean(values: Floats, empty: float) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else empty
