"""`penstock.pack`: jobs in packs or from a list, on a machine with I/O nodes (001 chapters III and IV)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Final

from penstock.api.paths import Opened, Watch, WorkloadLike, nobody, opened
from penstock.api.results import Row, Tables
from penstock.model import InputError, Workload
from penstock.planning.batch import schedule
from penstock.planning.node_hours import TO_BOTH, Hours, batch_reason, recommendation
from penstock.planning.schedule import MEASURES, Schedule
from penstock.planning.strategy import (
    BASELINE_POLICY,
    COMPARED,
    DEFAULT_DEPTH,
    DEFAULT_POLICY,
    BatchStrategy,
    baseline,
    comparison,
)
from penstock.planning.together import JobsTogether, jobs_together
from penstock.policies.policy import Policy
from penstock.policies.registry import PolicyLike, as_policy, listed

MOST_TRACED: Final = 500_000
"""I/O operations whose transfers are recorded for a drawing; of more only the bandwidth that is used is drawn."""


@dataclass(frozen=True)
class PackResult(Tables):
    """The schedule of one strategy, or the schedules of all that were compared.

    Tables: ``jobs`` (one row per job) and ``packs`` of one strategy; ``strategies`` (one row per strategy and policy) of a
    comparison.
    """

    _brief: ClassVar[tuple[str, ...]] = (
        "strategy",
        "name",
        "nodes",
        "start",
        "end",
        "waiting",
        "stretch",
        "pack",
        "policy",
        "lost_node_hours",
        "kept_idle",
        "makespan",
        "max_stretch",
        "mean_stretch",
        "mean_waiting",
        "utilization",
    )

    opened: Opened = field(repr=False)
    schedules: tuple[Schedule, ...] = field(repr=False)
    compared: bool
    policy_objects: tuple[Policy, ...] = field(repr=False)
    baseline: Schedule = field(repr=False)
    """What operators do: a list that ignores I/O, with backfilling, under fair sharing."""
    together: JobsTogether | None = None
    """What pairs of jobs and single jobs cost; None if it was not asked for."""

    @property
    def workload(self) -> Workload:
        """What was scheduled."""
        return self.opened.workload

    @property
    def schedule(self) -> Schedule:
        """The schedule, the first one of a comparison."""
        return self.schedules[0]

    def to_dict(self) -> dict[str, Any]:
        """The schedule, or the schedules, as ``penstock pack --json`` prints them."""
        one = {"runs": [one.to_dict() for one in self.schedules]} if self.compared else self.schedule.to_dict()
        more = {} if self.together is None else {"together": self.together.to_dict()}
        return {**one, "baseline": _measures(self.baseline), "recommendation": self.recommendation, **more}

    @property
    def best(self) -> Schedule:
        """The schedule that loses the fewest node-hours to I/O and to nodes kept idle while jobs wait."""
        return min(self.schedules, key=lambda one: one.cost)

    @property
    def recommendation(self) -> str:
        """One sentence: what to do, what it loses beside the baseline, why, and what that assumes."""
        best, other = self.best, self.baseline
        same = best.strategy == other.strategy and best.policy == other.policy
        return recommendation(
            f"{best.strategy.label} under {best.policy}",
            Hours(best.cost),
            None if same else f"the baseline, {other.strategy.label} under {other.policy},",
            Hours(other.cost),
            batch_reason(best, other),
            "jobs take the time and do the I/O that the file says",
            TO_BOTH,
        )

    def tables(self) -> dict[str, list[Row]]:
        """The jobs and the packs, or the strategies."""
        if self.compared:
            return {"strategies": [_measures(one) for one in self.schedules]}
        document = self.schedule.to_dict()
        return {"jobs": document["jobs"], "packs": document["packs"], "strategies": [_measures(self.schedule)]}

    def notes(self) -> Iterator[str]:
        """What a reader of the figures must know."""
        first = self.schedule
        counts = first.jobs.counts()
        total = f"of {counts['jobs']:,} jobs"
        if counts["without_io"]:
            yield f"{counts['without_io']:,} {total} have no I/O"
        if counts["of_no_length"]:
            yield f"{counts['of_no_length']:,} {total} take no time; their stretch is 1"
        if counts["released_later"]:
            packs = "; packs are made again as jobs come" if any(one.plan for one in self.schedules) else ""
            yield f"{counts['released_later']:,} {total} are released later than the first{packs}"
        alone = sum(pack.load > first.sensibility for pack in first.plan if len(pack.jobs) == 1)
        if alone:
            yield f"{alone:,} of {len(first.plan):,} packs are one job with more I/O load than the sensibility"
        if len(self.schedules) > 1 and first.machine.io_nodes > 1:
            yield "list scheduling is left out: it is for one I/O node"

    def write_gantt(self, path: str | os.PathLike[str]) -> None:
        """Draw the schedule into the file `path`, which ends in .svg, .png or .html."""
        from penstock.report.gantt import write_gantt

        write_gantt(Path(path), self.schedule, self.opened.title)


def pack(
    workload: WorkloadLike,
    *,
    nodes: int | None = None,
    io_nodes: int = 1,
    mapping: str | None = None,
    sensibility: float | str | None = None,
    order: str | None = None,
    backfill: bool | None = None,
    depth: int | None = None,
    policy: PolicyLike | Sequence[PolicyLike] | None = None,
    compare: bool = False,
    together: int | None = None,
    trace: bool = False,
    watch: Watch = nobody,
) -> PackResult:
    """Schedule the applications of a workload as batch jobs and run them to their ends.

    Args:
        workload: a workload without a window, or the name of its file.
        nodes: compute nodes of an I/O node; by default those of the platform.
        io_nodes: I/O nodes, each with its own link of the platform's bandwidth.
        mapping: ``pack``, ``first-fit`` or ``list`` (pack).
        sensibility: the largest I/O load of a pack or of the running jobs: above 0, ``"alpha"`` or infinity (1).
        order: jobs go into packs by ``max`` time, ``char`` (iteration) or ``random`` (the order of the file) (max).
        backfill: whether jobs may go first that delay nobody.
        depth: waiting jobs that backfilling looks at (100).
        policy: what shares the bandwidth of an I/O node, as for `simulate` (due-yield); for a comparison also several (by
            default a few that differ).
        compare: whether all strategies are run under all policies; then none is chosen by the arguments above.
        together: of how many jobs to say which should not run together: those that occupy the I/O system most. They run
            on the I/O resources and with the buffer that the platform has.
        trace: whether transfers are recorded, so that a drawing shows who has the bandwidth.
        watch: makes a watcher that is told which strategy is under way.

    Returns:
        The schedule of the strategy, or the schedules of all.

    Raises:
        InputError: for what does not go together, and for what cannot be scheduled.

    Example:
        >>> import penstock
        >>> chain = [("work", 8.0), ("write", 2.0)]
        >>> jobs = tuple(penstock.Application.of(name, chain, nodes=nodes) for name, nodes in (("a", 3), ("b", 2), ("c", 1)))
        >>> packed = penstock.pack(penstock.Workload(penstock.Platform(bandwidth=1.0, nodes=4), jobs))
        >>> [(row["name"], row["pack"]) for row in packed.tables()["jobs"]]
        [('a', 1), ('b', 2), ('c', 1)]
    """
    settings = {"mapping": mapping, "sensibility": sensibility, "order": order, "backfill": backfill}
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    refuse_contradictions(given, depth, compare)
    looked_at = DEFAULT_DEPTH if depth is None else depth
    strategies = comparison(io_nodes, looked_at) if compare else (BatchStrategy(**given, depth=looked_at),)
    asked = policy if policy is not None else COMPARED if compare else DEFAULT_POLICY
    chosen = [as_policy(one) for one in listed(asked)]
    if len(chosen) != 1 and not compare:
        raise InputError("policy", f"{len(chosen)} policies for one schedule; expected one, or compare too")
    source = opened(workload)
    if together is not None:
        _refuse_two_kinds(source, io_nodes)
    operations = sum(application.phases.operations for application in source.workload.applications)
    crossed = [(strategy, one) for one in chosen for strategy in strategies]
    usual = (baseline(io_nodes, looked_at), as_policy(BASELINE_POLICY))
    place = next((k for k, (strategy, one) in enumerate(crossed) if (strategy, one.name) == (usual[0], usual[1].name)), -1)
    if place < 0:
        crossed.append(usual)
    steps = len(crossed) + (together is not None)
    made = []
    with source.located(), watch(0) as watcher:

        def begun(name: str, done: int) -> Callable[[float], None]:
            watcher.begin(name)
            return lambda part: watcher.at((done + part) / steps)

        for done, (strategy, one) in enumerate(crossed):
            progress = begun(f"{strategy.label}, {one.name}" if compare else strategy.label, done)
            options: dict[str, Any] = {"nodes": nodes, "io_nodes": io_nodes, "trace": trace and operations <= MOST_TRACED}
            made.append(schedule(source.workload, strategy, policy=one, progress=progress, **options))
            watcher.end()
        found = None
        if together is not None:
            jobs = replace(source.workload, platform=replace(source.workload.platform, nodes=made[0].machine.nodes))
            progress = begun("jobs together", len(crossed))
            found = jobs_together(jobs, chosen[0], most=together, progress=progress)
            watcher.end()
    shown = made if place >= 0 else made[:-1]
    return PackResult(source, tuple(shown), compare, tuple(chosen), made[place], found)


def _refuse_two_kinds(source: Opened, io_nodes: int) -> None:
    """Refuse several I/O nodes with a link each where the platform has I/O resources that all jobs share."""
    resources = source.workload.platform.resources
    if io_nodes > 1 and resources is not None:
        shared = f"looks at the {resources} I/O resources of the platform, and {io_nodes} I/O nodes have a link each"
        raise InputError("together", f"{shared}; expected 1 I/O node, or a platform without resources")


def refuse_contradictions(given: dict[str, Any], depth: int | None, compare: bool) -> None:
    """Refuse settings that would have no effect.

    Args:
        given: the settings of a strategy that the caller gave, by name.
        depth: how many waiting jobs backfilling looks at; None if not given.
        compare: whether all strategies are run.

    Raises:
        InputError: with the setting and what to leave out.
    """
    if compare and given:
        raise InputError(next(iter(given)), "is for one strategy, and compare runs all of them; leave one out")
    if not compare and depth is not None and not given.get("backfill"):
        raise InputError("depth", "is how far backfilling looks; expected backfill too")
    if given.get("mapping") == "list" and "order" in given:
        raise InputError("order", "is for packs, and a list goes by release; leave one out")
    if given.get("mapping") == "first-fit" and "sensibility" in given:
        raise InputError("sensibility", "first-fit ignores I/O and has none; leave it out, or expected the mapping pack")


def _measures(one: Schedule) -> dict[str, Any]:
    """The measures of a schedule in one row."""
    names = ("lost_node_hours", "kept_idle", *MEASURES)
    return {"strategy": one.strategy.label, "policy": one.policy, **{name: getattr(one, name) for name in names}}
