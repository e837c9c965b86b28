"""`penstock.place`: how many I/O resources for each application, and which (002)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from penstock.api.paths import Opened, Watch, Watcher, WorkloadLike, nobody, opened
from penstock.api.results import Row, Tables
from penstock.engine.scenarios import HORIZON, STEADY
from penstock.model import InputError, Workload
from penstock.planning.node_hours import hours
from penstock.planning.placement.allocation import LEVELS, Information
from penstock.planning.placement.heuristics import Heuristic, matching_heuristics, stream_heuristics
from penstock.planning.placement.planner import (
    PlacementPlan,
    Planner,
    Proposal,
    csv_lines,
    setstripe_lines,
    with_resources,
)
from penstock.planning.placement.stream import StreamPlan, StreamProposal, plan_stream
from penstock.policies.policy import Policy
from penstock.policies.registry import PolicyLike, as_policy

_WORTH = (
    "mean_slowdown",
    "max_slowdown",
    "mean_allocation_slowdown",
    "mean_congestion_slowdown",
    "spread",
    "idle_time",
    "valid",
)


@dataclass(frozen=True)
class PlaceResult(Tables):
    """The proposals of the heuristics, and the one to take.

    Tables: ``heuristics`` (one row per heuristic), ``applications`` (what each gets in the chosen proposal) and
    ``resources`` (how busy each is there). Of jobs that come and go, `plan` is a `StreamPlan`.
    """

    _brief: ClassVar[tuple[str, ...]] = ("heuristic", "chosen", "lost_node_hours", *_WORTH[:6])

    opened: Opened = field(repr=False)
    plan: PlacementPlan | StreamPlan = field(repr=False)
    policy_object: Policy = field(repr=False)

    @property
    def workload(self) -> Workload:
        """What was placed."""
        return self.opened.workload

    @property
    def chosen(self) -> Proposal | StreamProposal:
        """The proposal to take."""
        return self.plan.chosen

    @property
    def placement(self) -> tuple[tuple[int, ...], ...]:
        """The I/O resources of each application in the chosen proposal."""
        chosen = self.plan.chosen
        return chosen.placement if isinstance(chosen, Proposal) else chosen.run.jobs_run.resources or ()

    def to_dict(self) -> dict[str, Any]:
        """The proposals as ``penstock place --json`` prints them."""
        return self.plan.to_dict()

    def to_csv(self) -> str:
        """The chosen proposal as ``--csv`` writes it: jobs and their I/O nodes."""
        return csv_lines(self.plan.workload, self.placement)

    def to_setstripe(self) -> str:
        """The chosen proposal as ``--setstripe`` writes it: ``lfs setstripe`` commands for the jobs' directories."""
        return setstripe_lines(self.plan.workload, self.placement)

    def write_plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the occupancy of the I/O resources into the file `path`, which ends in .svg, .png or .html."""
        if isinstance(self.plan, StreamPlan):
            from penstock.report.gantt import write_use

            write_use(Path(path), self.plan.chosen.run, self.opened.title)
            return
        from penstock.report.plot import write_occupancy

        write_occupancy(Path(path), self.plan.chosen, self.plan.workload, self.opened.title)

    def tables(self) -> dict[str, list[Row]]:
        """The heuristics, the applications and the I/O resources."""
        if isinstance(self.plan, StreamPlan):
            return _tables_of_stream(self.plan)
        heuristics: list[Row] = []
        for one in self.plan.proposals:
            document = one.to_dict()
            worth = document["result"] or {}
            measured = {name: worth.get(name) for name in _WORTH}
            row = {"heuristic": one.name, "chosen": one is self.chosen, "lost_node_hours": one.lost_node_hours}
            heuristics.append({**row, "io_load": one.io_load, **measured})
        plan = self.plan
        return {"heuristics": heuristics, "applications": _applications(plan), "resources": _resources(plan)}

    def notes(self) -> Iterator[str]:
        """What a reader of the figures must know."""
        if isinstance(self.plan, StreamPlan):
            yield from _notes_of_stream(self.plan)
            return
        plan, chosen = self.plan, self.plan.chosen
        if chosen.result is None:
            yield "without the curves of all applications nothing is measured; the placement is made from what is known"
            return
        if chosen.saturated:
            least = min(one.io_load for one in plan.proposals if one.io_load is not None)
            also = "every heuristic" if least > 1.0 else "others stay below 1"
            yield f"the I/O load is {chosen.io_load:.3f}, above 1: the I/O resources are saturated ({also})"
        if not chosen.result.valid:
            yield "not every application completed an operation before the first one ended: the slowdowns are of no use"
        without = sum(application.phases.operations == 0 for application in plan.workload.applications)
        if without:
            yield f"{without} of {len(chosen.result.applications)} applications do no I/O and have no slowdown"
        oracle = [one.result for one in plan.proposals if one.heuristic is None]
        if oracle and oracle[0] is not None:
            yield f"{plan.objective} of the best of all placements: {plan.measure(oracle[0]):.4f}"


def _applications(plan: PlacementPlan) -> list[Row]:
    """What each application gets in the chosen proposal."""
    chosen = plan.chosen
    worth = (chosen.to_dict()["result"] or {}).get("applications")
    stress = chosen.stress
    rows: list[Row] = []
    for index, (application, used) in enumerate(zip(plan.workload.applications, chosen.placement, strict=True)):
        row = {"name": application.name, "nodes": application.nodes, "count": len(used), "resources": list(used)}
        measured = {"stress": stress[index], **worth[index]} if worth and stress else {}
        rows.append({**measured, **row})
    return rows


def _resources(plan: PlacementPlan) -> list[Row]:
    """How busy each resource is in the chosen proposal."""
    result = plan.chosen.result
    busy: Sequence[float | None] = result.occupancy if result else [None] * plan.to_dict()["resources"]
    return _busy(busy, plan.chosen.placement)


def _busy(busy: Sequence[float | None], placement: Sequence[Sequence[int]]) -> list[Row]:
    counts = [sum(number in used for used in placement) for number in range(len(busy))]
    return [
        {"resource": number, "applications": count, "occupancy": part}
        for number, (count, part) in enumerate(zip(counts, busy, strict=True))
    ]


def _tables_of_stream(plan: StreamPlan) -> dict[str, list[Row]]:
    """The tables of jobs that come and go."""
    heuristics: list[Row] = []
    for one in plan.proposals:
        document = one.to_dict()
        worth = {name: document[name] for name in _WORTH if name in document}
        lost = {"lost_node_hours": one.lost.mean, "most_load": one.most_load}
        heuristics.append({"heuristic": one.name, "chosen": one is plan.chosen, **lost, **worth})
    chosen = plan.chosen
    resources = _busy(chosen.occupancy.tolist(), chosen.run.jobs_run.resources or ())
    return {"heuristics": heuristics, "applications": list(chosen.rows()), "resources": resources}


def _notes_of_stream(plan: StreamPlan) -> Iterator[str]:
    """What a reader of the figures must know of jobs that come and go."""
    if plan.stand_in:
        count = f"{plan.stand_in:,} of {len(plan.workload.applications):,} jobs have no curve"
        yield f"{count}: each I/O resource is taken to carry an equal part of the bandwidth, up to the job's own"
    if plan.chosen.most_load > 1.0:
        yield f"the I/O load reaches {plan.chosen.most_load:.3f}, above 1: at times the I/O resources are saturated"
    without = sum(value is None for value in (row["slowdown"] for row in plan.chosen.rows()))
    if without:
        yield f"{without:,} of {len(plan.workload.applications):,} jobs do no I/O and have no slowdown"
    late = plan.chosen.run.jobs_run.wait
    if late.any():
        yield f"{int((late > 0.0).sum()):,} jobs wait for nodes, {hours(float(late.sum()) / 3600.0)} h in all"


def place(
    workload: WorkloadLike,
    *,
    resources: int | None = None,
    allocation: str | None = None,
    placement: str | None = None,
    knows: str | None = None,
    objective: str = "node-hours",
    policy: PolicyLike = "best-effort",
    horizon: float | None = None,
    interval: str | None = None,
    oracle: bool = False,
    steady: bool = False,
    scheduler: str | None = None,
    seed: int = 0,
    watch: Watch = nobody,
) -> PlaceResult:
    """Propose which I/O resources (I/O nodes, storage targets) each application uses.

    Applications that are all there from the start repeat their phases, as in 002. Jobs that come and go run once on the
    whole machine, each placed when it starts.

    Args:
        workload: a workload, or the name of its file. Applications have a curve, their bandwidth by number of resources;
            without curves a placement is proposed from what is known, and not measured.
        resources: I/O resources to use; by default all of the platform.
        allocation: only this way to say how many: ``random``, ``static``, ``best-bdw``, ``n-sys``, ``tcpu``, ``mckp`` or
            ``mckp-shared``.
        placement: only this way to say which: ``random``, ``greedy-non-clairvoyant`` or ``greedy-clairvoyant``.
        knows: what may be known of the applications: ``nodes``, ``totals``, ``best`` or ``curves``; by default all that is
            there.
        objective: what to make small: ``node-hours`` lost to I/O, ``mean-slowdown``, ``max-slowdown`` or ``idle-time``.
        policy: how a resource is shared, as for `simulate`.
        horizon: how many seconds chains are repeated and measured at least (5000).
        interval: what is measured: ``steady`` (the default), or ``first-end`` until one application ends.
        oracle: whether the best of all placements is found too, for few applications.
        steady: whether applications repeat side by side whatever their releases.
        scheduler: what starts jobs that come and go, as for `penstock.machine` (``recorded``: at their releases).
        seed: for the random heuristics.
        watch: makes a watcher that is told which heuristic is under way.

    Returns:
        The proposals, and the one to take.

    Raises:
        InputError: for an unknown name, and for a workload that lacks what a heuristic must know.

    Example:
        >>> import penstock
        >>> workload = penstock.generate("distributed", load=0.5, applications=6, resources=4)
        >>> found = penstock.place(workload, allocation="static", horizon=3600.0)
        >>> [len(used) for used in found.chosen.placement]
        [1, 3, 1, 1, 1, 1]
    """
    if knows is not None and knows not in LEVELS:
        raise InputError("knows", f"{knows!r} is unknown; expected one of {', '.join(LEVELS)}")
    chosen = as_policy(policy)
    source = opened(workload)
    stream = not steady and is_stream(source.workload)
    _refuse_unused(stream, steady, scheduler, {"horizon": horizon, "interval": interval, "oracle": oracle or None})
    if stream:
        return _placed_stream(
            source, chosen, resources, _wanted(allocation, placement), knows, objective, scheduler or "recorded", seed, watch
        )
    planner = Planner(
        level=Information(knows) if knows else None,
        objective=objective,
        policy=chosen,
        horizon=HORIZON if horizon is None else horizon,
        interval=STEADY if interval is None else interval,
        seed=seed,
    )
    wanted = matching_heuristics(allocation, placement) if allocation or placement else ()
    with source.located(), watch(0) as watcher:
        platform = with_resources(source.workload, resources)
        plan = planner.plan(platform, wanted, oracle=oracle, shown=_telling(watcher), progress=watcher.at)
    return PlaceResult(source, plan, chosen)


def is_stream(workload: Workload) -> bool:
    """Whether the applications of a `workload` are released at different dates."""
    return len({one.release for one in workload.applications}) > 1


def _refuse_unused(stream: bool, steady: bool, scheduler: str | None, given: dict[str, Any]) -> None:
    """Refuse what has no effect on jobs that come and go, or else only on them."""
    named = next((name for name, value in given.items() if value is not None), None)
    if stream and named is not None:
        raise InputError(named, "is for applications that repeat side by side, and these come and go; expected steady too")
    if not stream and scheduler is not None:
        why = "steady is given" if steady else "these are all there at the start"
        raise InputError("scheduler", f"is for jobs that come and go, and {why}; leave it out")


def _wanted(allocation: str | None, placement: str | None) -> tuple[Heuristic, ...]:
    """The heuristics for jobs that come and go, or those asked for."""
    if allocation or placement:
        return matching_heuristics(allocation, placement)
    return stream_heuristics()


def _placed_stream(
    source: Opened,
    policy: Policy,
    resources: int | None,
    wanted: Sequence[Heuristic],
    knows: str | None,
    objective: str,
    scheduler: str,
    seed: int,
    watch: Watch,
) -> PlaceResult:
    """The proposals for jobs that come and go."""
    with source.located(), watch(0) as watcher:
        plan = plan_stream(
            with_resources(source.workload, resources),
            wanted,
            level=Information(knows) if knows else None,
            objective=objective,
            policy=policy,
            scheduler=scheduler,
            seed=seed,
            shown=_telling(watcher),
            progress=watcher.at,
        )
    return PlaceResult(source, plan, policy)


def _telling(watcher: Watcher) -> Callable[[Sequence[Heuristic]], Iterator[Heuristic]]:
    """Goes over the heuristics and tells the watcher which one is under way."""

    def one_by_one(usable: Sequence[Heuristic]) -> Iterator[Heuristic]:
        for heuristic in usable:
            watcher.begin(heuristic.name)
            yield heuristic
            watcher.end()

    return one_by_one
