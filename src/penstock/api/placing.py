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
from penstock.planning.placement.allocation import LEVELS, Information
from penstock.planning.placement.heuristics import Heuristic, matching_heuristics
from penstock.planning.placement.planner import (
    PlacementPlan,
    Planner,
    Proposal,
    csv_lines,
    setstripe_lines,
    with_resources,
)
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
    ``resources`` (how busy each is there).
    """

    _brief: ClassVar[tuple[str, ...]] = ("heuristic", "chosen", "io_load", *_WORTH[:6])

    opened: Opened = field(repr=False)
    plan: PlacementPlan = field(repr=False)
    policy_object: Policy = field(repr=False)

    @property
    def workload(self) -> Workload:
        """What was placed."""
        return self.opened.workload

    @property
    def chosen(self) -> Proposal:
        """The proposal to take."""
        return self.plan.chosen

    def to_dict(self) -> dict[str, Any]:
        """The proposals as ``penstock place --json`` prints them."""
        return self.plan.to_dict()

    def to_csv(self) -> str:
        """The chosen proposal as ``--csv`` writes it: jobs and their I/O nodes."""
        return csv_lines(self.plan.workload, self.chosen.placement)

    def to_setstripe(self) -> str:
        """The chosen proposal as ``--setstripe`` writes it: ``lfs setstripe`` commands for the jobs' directories."""
        return setstripe_lines(self.plan.workload, self.chosen.placement)

    def write_plot(self, path: str | os.PathLike[str]) -> None:
        """Draw the occupancy of the I/O resources into the file `path`, which ends in .svg, .png or .html."""
        from penstock.report.plot import write_occupancy

        write_occupancy(Path(path), self.chosen, self.plan.workload, self.opened.title)

    def tables(self) -> dict[str, list[Row]]:
        """The heuristics, the applications and the I/O resources."""
        heuristics: list[Row] = []
        for one in self.plan.proposals:
            document = one.to_dict()
            worth = document["result"] or {}
            measured = {name: worth.get(name) for name in _WORTH}
            heuristics.append({"heuristic": one.name, "chosen": one is self.chosen, "io_load": one.io_load, **measured})
        return {"heuristics": heuristics, "applications": self._applications(), "resources": self._resources()}

    def notes(self) -> Iterator[str]:
        """What a reader of the figures must know."""
        plan, chosen = self.plan, self.chosen
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

    def _applications(self) -> list[Row]:
        worth = (self.chosen.to_dict()["result"] or {}).get("applications")
        stress = self.chosen.stress
        rows: list[Row] = []
        for index, (application, used) in enumerate(
            zip(self.plan.workload.applications, self.chosen.placement, strict=True)
        ):
            row = {"name": application.name, "nodes": application.nodes, "count": len(used), "resources": list(used)}
            measured = {"stress": stress[index], **worth[index]} if worth and stress else {}
            rows.append({**measured, **row})
        return rows

    def _resources(self) -> list[Row]:
        result = self.chosen.result
        busy: Sequence[float | None] = result.occupancy if result else [None] * self.plan.to_dict()["resources"]
        return [
            {
                "resource": number,
                "applications": sum(number in used for used in self.chosen.placement),
                "occupancy": occupancy,
            }
            for number, occupancy in enumerate(busy)
        ]


def place(
    workload: WorkloadLike,
    *,
    resources: int | None = None,
    allocation: str | None = None,
    placement: str | None = None,
    knows: str | None = None,
    objective: str = "mean-slowdown",
    policy: PolicyLike = "best-effort",
    horizon: float = HORIZON,
    interval: str = STEADY,
    oracle: bool = False,
    seed: int = 0,
    watch: Watch = nobody,
) -> PlaceResult:
    """Propose which I/O resources (I/O nodes, storage targets) each application uses.

    Args:
        workload: a workload, or the name of its file. Applications have a curve, their bandwidth by number of resources;
            without curves a placement is proposed from what is known, and not measured.
        resources: I/O resources to use; by default all of the platform.
        allocation: only this way to say how many: ``random``, ``static``, ``best-bdw``, ``n-sys``, ``tcpu``, ``mckp`` or
            ``mckp-shared``.
        placement: only this way to say which: ``random``, ``greedy-non-clairvoyant`` or ``greedy-clairvoyant``.
        knows: what may be known of the applications: ``nodes``, ``totals``, ``best`` or ``curves``; by default all that is
            there.
        objective: what to make small: ``mean-slowdown``, ``max-slowdown`` or ``idle-time``.
        policy: how a resource is shared, as for `simulate`.
        horizon: how many seconds chains are repeated and measured at least.
        interval: what is measured: ``steady``, or ``first-end`` until one application ends.
        oracle: whether the best of all placements is found too, for few applications.
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
    planner = Planner(
        level=Information(knows) if knows else None,
        objective=objective,
        policy=chosen,
        horizon=horizon,
        interval=interval,
        seed=seed,
    )
    source = opened(workload)
    wanted = matching_heuristics(allocation, placement) if allocation or placement else ()
    with source.located(), watch(0) as watcher:
        platform = with_resources(source.workload, resources)
        plan = planner.plan(platform, wanted, oracle=oracle, shown=_telling(watcher), progress=watcher.at)
    return PlaceResult(source, plan, chosen)


def _telling(watcher: Watcher) -> Callable[[Sequence[Heuristic]], Iterator[Heuristic]]:
    """Goes over the heuristics and tells the watcher which one is under way."""

    def one_by_one(usable: Sequence[Heuristic]) -> Iterator[Heuristic]:
        for heuristic in usable:
            watcher.begin(heuristic.name)
            yield heuristic
            watcher.end()

    return one_by_one
