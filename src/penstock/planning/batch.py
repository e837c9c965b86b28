"""Scheduling a batch or a stream of jobs and running it in the engine: `schedule` wires the parts of this package."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from penstock.engine import Run, Trace
from penstock.engine.run import prepare
from penstock.model import InputError, Workload
from penstock.planning.job_queue import list_queue, run_list
from penstock.planning.jobs import Jobs, Machine, Meter, PredictedWorldFactory, Progress, WorldFactory
from penstock.planning.list_scheduling import compiled_reserve
from penstock.planning.pack_scheduling import run_packs
from penstock.planning.packs import compiled_make_packs
from penstock.planning.schedule import Outcome, Schedule
from penstock.planning.schedulers import compiled_choose
from penstock.planning.strategy import DEFAULT_POLICY, BatchStrategy
from penstock.policies import Policy, find
from penstock.policies.policy import STATIC
from penstock.renamed import old_names

__getattr__ = old_names(__name__, EngineWorlds="EngineWorldFactory")


def schedule(
    workload: Workload,
    strategy: BatchStrategy | None = None,
    *,
    nodes: int | None = None,
    io_nodes: int = 1,
    policy: Policy | str = DEFAULT_POLICY,
    trace: bool = False,
    progress: Callable[[float], None] | None = None,
) -> Schedule:
    """Schedule the applications of a workload as batch jobs and run them to their ends (001 §III, §IV).

    Args:
        workload: The jobs, and the platform of one I/O node; no window.
        strategy: Packs, first-fit or list, with or without backfilling; packs with a sensibility of 1 by default.
        nodes: Compute nodes of each I/O node; those of the platform by default.
        io_nodes: Number of I/O nodes, each with the bandwidth of the platform. List scheduling takes one.
        policy: Shares the bandwidth of an I/O node, by name or as an object.
        trace: Record the rates.
        progress: Called with the part of the jobs that have ended, from 0 to 1, each time a job ends.

    Returns:
        Starts, ends, packs and measures of the schedule, in seconds and bytes.

    Raises:
        InputError: A job does not fit the machine, the workload has a window, or strategy, policy and machine do not go
            together.

    Example:
        Two jobs of 2 nodes on a machine of 3 run one after the other. The third, of 1 node, need not wait for the second.

        >>> from penstock.model import Application, Platform, Workload
        >>> phases = [("work", 10.0), ("io", 5.0)]
        >>> jobs = [Application.of(name, phases, nodes=nodes) for name, nodes in (("a", 2), ("b", 2), ("c", 1))]
        >>> found = schedule(Workload(Platform(1.0, nodes=3), tuple(jobs)), BatchStrategy("list", backfill=True))
        >>> found.outcome.start.tolist(), found.makespan
        ([0.0, 15.0, 0.0], 30.0)
    """
    strategy = strategy or BatchStrategy()
    policy = find(policy) if isinstance(policy, str) else policy
    machine = Machine.of(workload, nodes, io_nodes)
    _refuse(strategy, machine, policy)
    Jobs.require(workload, machine)
    _compile(policy, len(workload.applications))
    begun = time.perf_counter()
    jobs = Jobs.of(workload, machine, exclusive=policy.one_at_a_time)
    sensibility = strategy.limit(jobs, machine)
    predicted = _execute(strategy, jobs, machine, sensibility, PredictedWorldFactory(jobs))
    worlds = EngineWorldFactory(workload, jobs, machine, policy, trace=trace, progress=progress)
    outcome = _execute(strategy, jobs, machine, sensibility, worlds)
    return Schedule(
        strategy=strategy,
        policy=policy.name,
        machine=machine,
        jobs=jobs,
        sensibility=sensibility,
        plan=tuple(outcome.plan),
        outcome=outcome,
        progress=worlds.progress(),
        predicted_makespan=float(predicted.end.max()) - jobs.begin,
        events=worlds.events,
        engine_seconds=worlds.seconds,
        seconds=time.perf_counter() - begun,
        trace=worlds.trace(),
    )


def _refuse(strategy: BatchStrategy, machine: Machine, policy: Policy) -> None:
    """Refuse a strategy that does not fit the machine or the policy."""
    if strategy.mapping == "list" and machine.io_nodes > 1:
        raise InputError(
            "io-nodes", f"list scheduling is for one I/O node, not for {machine.io_nodes}; expected 1, or packs"
        )
    if policy.family == STATIC and (strategy.mapping == "list" or strategy.backfill):
        raise InputError(
            f"policy {policy.name}",
            "its order is fixed when a pack starts, and jobs start later; expected packs, no backfilling",
        )


def _compile(policy: Policy, jobs: int) -> None:
    """Compile before time is measured."""
    compiled_make_packs()
    compiled_reserve()
    compiled_choose()
    prepare(policy, jobs)


def _execute(strategy: BatchStrategy, jobs: Jobs, machine: Machine, sensibility: float, worlds: WorldFactory) -> Outcome:
    depth = strategy.depth if strategy.backfill else 0
    if strategy.mapping == "list":
        return run_list(list_queue(jobs, machine, sensibility=sensibility, depth=depth), jobs, worlds)
    return run_packs(jobs, machine, worlds, sensibility=sensibility, order=strategy.order, depth=depth)


class EngineWorldFactory:
    """Opens worlds that are runs of the engine, and adds up what they have done.

    Args:
        workload: the applications.
        jobs: what the scheduler knows of them.
        machine: the I/O nodes.
        policy: shares the bandwidth of an I/O node.
        trace: record the rates.
        progress: called with the part of the jobs that have ended, from 0 to 1, each time a job ends.
    """

    def __init__(
        self,
        workload: Workload,
        jobs: Jobs,
        machine: Machine,
        policy: Policy,
        *,
        trace: bool,
        progress: Callable[[float], None] | None = None,
    ) -> None:
        self._policy = policy
        self._report = progress
        self._ended = 0
        self.events = 0
        self.seconds = 0.0
        self._applications = workload.applications
        self._platform = machine.platform(workload)
        self._nodes = jobs.nodes.astype(np.float64)
        self._meters = [Meter(jobs.begin) for _ in range(machine.io_nodes)]
        self._traces: list[Trace] | None = [] if trace else None

    def open(self, io_node: int, jobs: Sequence[int], held: Collection[int], begin: float) -> Run:
        """Open a run of these `jobs` on an `io_node`, all released at the date `begin`; the positions `held` wait."""
        # An I/O node has neither resources nor a buffer, and its dates count from the start of a pack.
        applications = tuple(
            replace(self._applications[job], submit=None, release=begin, progress=None, placement=None, share=None)
            for job in jobs
        )
        self._here = np.array(jobs, np.int64)
        self._sizes = self._nodes[self._here]
        self._meter = self._meters[io_node]
        self._run = Run(
            Workload(self._platform, applications),
            self._policy,
            trace=self._traces is not None,
            held=held,
        )
        return self._run

    def stopped(self, since: float, ended: int, last: bool) -> None:
        """Read the meter and report progress; when the run is over, take its events, seconds and trace.

        Args:
            since: the date of the run's 0, in seconds.
            ended: jobs that have ended since the last stop.
            last: whether the run is over.
        """
        self._ended += ended
        if self._report is not None and ended:
            self._report(self._ended / len(self._nodes))
        self._meter.read(self._run, self._sizes, since, last=last)
        if not last:
            return
        result = self._run.result()
        self.events += result.events
        self.seconds += result.seconds
        if self._traces is not None and result.trace is not None:
            own = result.trace
            self._traces.append(
                own._replace(application=self._here[own.application], begin=since + own.begin, end=since + own.end)
            )

    def progress(self) -> Progress:
        """Progress of all I/O nodes together."""
        return Progress.total([meter.progress() for meter in self._meters])

    def trace(self) -> Trace | None:
        """The rates of all runs, if recorded."""
        if self._traces is None:
            return None
        columns = zip(*self._traces, strict=True)
        return Trace(*(np.concatenate(column) for column in columns))
