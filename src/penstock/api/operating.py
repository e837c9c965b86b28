"""`penstock.machine`: jobs on a whole machine, from their submission to their end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from penstock.api.paths import Opened, Watch, WorkloadLike, nobody, opened
from penstock.api.results import Row, Tables
from penstock.engine import Buffering
from penstock.model import Workload, parse_units
from penstock.planning.machine_run import MEASURES, MachineRun
from penstock.planning.node_hours import TO_BOTH, Hours, batch_reason, hours, recommendation
from penstock.planning.operation import (
    DEFAULT_ALLOCATION,
    DEFAULT_SCHEDULER,
    DEFAULT_SHARING,
    MachineSettings,
    operate,
)
from penstock.planning.schedulers import SchedulerLike
from penstock.policies.policy import Policy
from penstock.policies.registry import PolicyLike, as_policy


@dataclass(frozen=True)
class MachineResult(Tables):
    """What came of jobs on a machine.

    Tables: ``jobs`` (one row per job), ``users`` and ``groups`` (node-hours, waits and slowdowns of each), ``machine`` (one
    row of measures), ``over_time`` (the use of the machine) and ``stores`` (how busy each I/O resource was).
    """

    _shown: ClassVar[str] = "machine"
    _brief: ClassVar[tuple[str, ...]] = (
        "scheduler",
        "policy",
        "jobs",
        "makespan",
        "mean_wait",
        "mean_slowdown",
        "computing",
        "transferring",
        "delayed",
        "idle",
        "utilization",
    )

    opened: Opened = field(repr=False)
    run: MachineRun = field(repr=False)
    policy_object: Policy = field(repr=False)
    baseline: MachineRun | None = field(default=None, repr=False)
    """The same jobs on the same machine under EASY backfilling and fair sharing, as operators do; None if not asked for."""

    @property
    def workload(self) -> Workload:
        """The jobs and the machine."""
        return self.opened.workload

    def to_dict(self) -> dict[str, Any]:
        """The run as ``penstock machine --json`` prints it."""
        usual = self.baseline
        beside = None if usual is None else {name: getattr(usual, name) for name in ("scheduler", "policy", *MEASURES)}
        return {**self.run.to_dict(), "baseline": beside, "recommendation": self.recommendation}

    @property
    def recommendation(self) -> str:
        """One sentence: what to do, what it loses beside the baseline, why, and what that assumes."""
        run, usual = self.run, self.baseline
        how = f"{run.scheduler} under {run.policy}"
        assumed = "jobs take the time and do the I/O that the file says"
        if "random" in (run.settings.get("allocation"), run.settings.get("placement")):
            assumed += f", and what is random falls as with the seed {run.settings.get('seed', 0)}"
        if usual is None or usual is run:
            return _alone(run, how if usual is None else f"{how}, the baseline,", assumed)
        reason = batch_reason(run, usual)
        if run.killed or usual.killed:
            reason += f", and {run.killed:,} and not {usual.killed:,} jobs are ended at their requested time"
        other = f"the baseline, {usual.scheduler} under {usual.policy},"
        return recommendation(how, Hours(run.cost), other, Hours(usual.cost), reason, assumed, TO_BOTH)

    def tables(self) -> dict[str, list[Row]]:
        """The jobs, users, groups, measures, the use over time and the I/O resources."""
        run = self.run
        names = ("scheduler", "policy", *MEASURES)
        line = run.over_time().to_dict()
        parts = run.store_seconds / run.makespan if run.makespan > 0.0 else 0.0 * run.store_seconds
        return {
            "jobs": list(run.jobs_run.rows()),
            "users": list(run.by_user()),
            "groups": list(run.by_user("groups")),
            "machine": [{name: getattr(run, name) for name in names}],
            "over_time": [dict(zip(line, row, strict=True)) for row in zip(*line.values(), strict=True)],
            "stores": [{"store": index, "used": part} for index, part in enumerate(parts.tolist())],
        }

    def notes(self) -> Iterator[str]:
        """What a reader of the figures must know."""
        yield from self.run.notes

    def write_plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the use of the machine over time into the file `path`, which ends in .svg, .png or .html."""
        from penstock.report.gantt import write_use

        write_use(Path(path), self.run, self.opened.title)


def _alone(run: MachineRun, how: str, assumed: str) -> str:
    """The sentence where nothing stands beside the run: what it loses, mostly to what, and so what to try first."""
    tries = "policies (--policy)" if run.lost_node_hours >= run.kept_idle else "schedulers (--scheduler)"
    advice = f"compare it first with other {tries}" if run.cost > 0.0 else "there is nothing to gain"
    lost = f"{hours(run.lost_node_hours)} node-hours to I/O and {hours(run.kept_idle)} to idle nodes beside waiting jobs"
    return f"{how} loses {lost}: {advice}; this assumes that {assumed}"


def machine(
    jobs: WorkloadLike,
    *,
    scheduler: SchedulerLike = DEFAULT_SCHEDULER,
    policy: PolicyLike = DEFAULT_SHARING,
    nodes: int | None = None,
    resources: int | None = None,
    allocation: str | int = DEFAULT_ALLOCATION,
    placement: str = "least-loaded",
    buffer: Buffering | float | str | Literal[False] | None = None,
    limit: float = 1.0,
    depth: int | None = None,
    order: str = "max",
    kill: bool = False,
    seed: int = 0,
    baseline: bool = True,
    trace: bool = False,
    check: bool = False,
    watch: Watch = nobody,
) -> MachineResult:
    """Run jobs on a machine: batch scheduler, I/O resources, burst buffer and sharing policy in one exact run.

    Args:
        jobs: a workload without a window, or the name of its file. Its applications are the jobs: `submit` (or else
            `release`), `nodes`, `requested`, `user` and phases.
        scheduler: ``easy``, ``conservative``, ``fcfs``, ``list``, ``list-backfill``, ``packs``, ``packs-backfill``,
            ``two-group`` or ``recorded``; or a function of a `penstock.planning.schedulers.Moment`.
        policy: what shares the bandwidth, as for `simulate`.
        nodes: nodes of the machine; those of the platform by default.
        resources: I/O nodes or OSTs; those of the platform by default, one link if it has none.
        allocation: how many I/O resources a job gets: ``best-bdw``, ``static``, ``n-sys``, ``random``, ``tcpu`` or
            ``mckp`` (found anew at each start, with the jobs that run), a number or ``all``.
        placement: which ones: the ``least-loaded`` by the running jobs, ``in-turn``, ``random`` or as in the ``file``.
        buffer: bytes of a burst buffer, or a `Buffering`; the platform's by default, False for none.
        limit: the most I/O load of running jobs, for schedulers that look at it; 1 is all of the I/O system.
        depth: waiting jobs that backfilling looks at (100 for conservative backfilling, else all).
        order: jobs go into packs by ``max`` time, ``char`` (iteration) or ``random`` (the order of the file).
        kill: end a job at its requested time.
        seed: for what is random.
        baseline: whether the jobs also run under ``easy`` and ``fair-share``, unless that is what is asked for.
        trace: record the rates.
        check: check the invariants of the engine after every event.
        watch: makes a watcher that is told how far the run is.

    Returns:
        Waits, slowdowns, node-hours by what they were used for, and the use of the machine over time.

    Raises:
        InputError: for what does not go together, and for jobs that cannot run.

    Example:
        >>> import penstock
        >>> chain = [("work", 3000.0), ("write", 600.0)]
        >>> jobs = tuple(penstock.Application.of(name, chain, nodes=3, requested=4000.0) for name in "ab")
        >>> done = penstock.machine(penstock.Workload(penstock.Platform(bandwidth=1.0, nodes=4), jobs))
        >>> done.run.computing, done.run.transferring, done.run.delayed, done.run.idle
        (5.0, 1.0, 0.0, 2.0)
    """
    source = opened(jobs)
    chosen = as_policy(policy)
    with source.located():
        workload = on_machine(source.workload, nodes, resources)
        settings = MachineSettings(
            scheduler=scheduler,
            policy=chosen,
            allocation=allocation,
            placement=placement,
            buffer=_buffering(buffer),
            limit=limit,
            depth=depth,
            order=order,
            kill=kill,
            seed=seed,
        )
        usual = replace(
            settings, scheduler=DEFAULT_SCHEDULER, policy=as_policy(DEFAULT_SHARING), limit=1.0, depth=None, order="max"
        )
        same = (scheduler, chosen.name, depth) == (usual.scheduler, DEFAULT_SHARING, None)
        beside = baseline and not same
        with watch(1 + beside) as watcher:
            watcher.begin(str(scheduler) if isinstance(scheduler, str) else "machine")
            run = operate(workload, settings, trace=trace, check=check, progress=watcher.at)
            watcher.end()
            other = run if baseline else None
            if beside:
                watcher.begin("baseline")
                other = operate(workload, usual, progress=watcher.at)
                watcher.end()
    return MachineResult(Opened(workload, source.path), run, chosen, other)


def on_machine(workload: Workload, nodes: int | None, resources: int | None) -> Workload:
    """The workload on a machine of so many nodes and I/O resources."""
    changed: dict[str, Any] = {}
    if nodes is not None:
        changed["nodes"] = parse_units.count(nodes, "nodes", "nodes")
    if resources is not None:
        changed["resources"] = parse_units.count(resources, "resources", "I/O resources")
    return replace(workload, platform=replace(workload.platform, **changed)) if changed else workload


def _buffering(buffer: Buffering | float | str | Literal[False] | None) -> Buffering | Literal[False] | None:
    if buffer is None or buffer is False or isinstance(buffer, Buffering):
        return buffer
    return Buffering(pool=parse_units.volume(buffer, "buffer"))
