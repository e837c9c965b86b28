"""A placement as lines that a site can use.

A proposal of who uses which I/O resources: every heuristic that can be used is run, and the best one chosen.

Heuristics see no more than the level of information says; what their placements are worth is measured with the curves of
the workload. Where these are not known, nothing can be measured, and the choice follows the paper: the fastest count of
each application, or a number in proportion to its nodes, placed in turn (002 §VI.A, §VIII).
"""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from penstock.engine.machine import Placement, resources_of
from penstock.engine.result import ApplicationResult, Result, finite
from penstock.engine.scenarios import HORIZON, STEADY, require_measurable, simulate_placement, usable_policy
from penstock.model import InputError, Workload
from penstock.planning.placement.characteristics import LEVELS, Characteristics, Information
from penstock.planning.placement.heuristics import Heuristic, counts_of, heuristics
from penstock.planning.placement.oracle import best_placement, require_few
from penstock.policies.policy import Policy


def setstripe_lines(workload: Workload, placement: Placement) -> str:
    """``lfs setstripe -c COUNT -o OST,… DIRECTORY`` for each application: its new files lie on the storage targets it is
    placed on, which are numbered from 0 as Lustre does.
    """
    lines = []
    for index, (application, used) in enumerate(zip(workload.applications, placement, strict=True)):
        if application.directory is None:
            raise InputError(
                f"applications[{index}]", "the key 'directory' is missing; expected where its files lie, to stripe them"
            )
        targets = ",".join(map(str, used))
        lines.append(f"lfs setstripe -c {len(used)} -o {targets} {shlex.quote(application.directory)}\n")
    return "".join(lines)


def csv_lines(workload: Workload, placement: Placement) -> str:
    """A table of jobs and their I/O nodes: ``job,count,resources``, the resources separated by spaces, from 0."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["job", "count", "resources"])
    for application, used in zip(workload.applications, placement, strict=True):
        writer.writerow([application.name, len(used), " ".join(map(str, used))])
    return text.getvalue()


OBJECTIVES: Final[dict[str, Callable[[Result], float]]] = {
    "mean-slowdown": lambda result: result.mean_slowdown,
    "max-slowdown": lambda result: result.max_slowdown,
    "idle-time": lambda result: result.idle_time,
}
"""What a proposal makes small: what users see on average, what the worst one sees, what the machine loses (002 §III.C.2)."""


@dataclass(frozen=True)
class Proposal:
    """A placement, where it comes from (None: the best of all), and what it is worth where that can be measured."""

    heuristic: Heuristic | None
    placement: Placement
    io_load: float | None
    result: Result | None
    stress: tuple[float, ...] | None = None
    """I/O-Stress of each application: the resources it occupies on average, alone."""

    @property
    def name(self) -> str:
        """The heuristic's, or that of the oracle."""
        return self.heuristic.name if self.heuristic else "best of all"

    @property
    def saturated(self) -> bool:
        """Whether the applications ask for more than the resources can give (002 §III.C.1)."""
        return self.io_load is not None and self.io_load > 1.0

    def to_dict(self) -> dict[str, Any]:
        """The proposal as JSON has it."""
        return {
            "heuristic": self.name,
            "allocation": self.heuristic.allocation if self.heuristic else None,
            "placement": self.heuristic.placement if self.heuristic else None,
            "io_load": self.io_load,
            "saturated": self.saturated,
            "stress": None if self.stress is None else list(self.stress),
            "counts": counts_of(self.placement).tolist(),
            "resources": [list(used) for used in self.placement],
            "result": _document(self.result) if self.result else None,
        }


@dataclass(frozen=True)
class PlacementPlan:
    """The proposals for a workload at a level of information, and the one to take."""

    workload: Workload
    level: Information
    objective: str
    chosen: Proposal
    proposals: tuple[Proposal, ...]

    def measure(self, result: Result) -> float:
        """What the objective says of a run."""
        return OBJECTIVES[self.objective](result)

    def to_dict(self) -> dict[str, Any]:
        """The plan as ``--json`` prints it."""
        return {
            "resources": resources_of(self.workload),
            "knows": str(self.level),
            "objective": self.objective,
            "chosen": self.chosen.to_dict(),
            "proposals": [proposal.to_dict() for proposal in self.proposals],
        }


@dataclass(frozen=True)
class Planner:
    """How placements are proposed and measured."""

    level: Information | None = None
    """What heuristics may know; by default all that the workload tells."""
    objective: str = "mean-slowdown"
    policy: Policy | str = "best-effort"
    horizon: float = HORIZON
    interval: str = STEADY
    seed: int = 0

    def __post_init__(self) -> None:
        if self.objective not in OBJECTIVES:
            raise InputError("objective", f"{self.objective!r} is unknown; expected one of {', '.join(OBJECTIVES)}")
        object.__setattr__(self, "policy", usable_policy(self.policy))
        require_measurable(self.horizon, self.interval)

    def plan(
        self, workload: Workload, only: Sequence[Heuristic] = (), *, oracle: bool = False, shown: Callable[..., Any] = iter
    ) -> PlacementPlan:
        """The proposals of the heuristics, all that can be used or `only` these, and with `oracle` the best of all.

        `shown` goes over the heuristics one by one, for a progress display.
        """
        known = Characteristics.of(workload)
        if oracle:
            require_few(len(known), known.resources)
        level = self.level or known.level
        if LEVELS.index(level) > LEVELS.index(known.level):
            raise InputError("applications", f"{_unknown(workload, level)}; expected it for --knows {level}")
        usable = [one for one in only or heuristics(len(known), known.resources) if one.known_at(level)]
        if not usable:
            needs = ", ".join(only[0].needs)
            raise InputError(f"heuristic {only[0].name}", f"needs {needs}; expected one that knows {level} at most")
        proposals = [self._proposal(workload, known, heuristic) for heuristic in shown(usable)]
        if oracle:
            proposals.append(self._best(workload, known))
        return PlacementPlan(workload, level, self.objective, self._chosen(proposals, level), tuple(proposals))

    def _proposal(self, workload: Workload, known: Characteristics, heuristic: Heuristic) -> Proposal:
        placement = heuristic.place(known, self.seed)
        if known.curves is None:
            return Proposal(heuristic, placement, None, None)
        result = simulate_placement(workload, placement, self.policy, horizon=self.horizon, interval=self.interval)
        return _measured(known, heuristic, placement, result)

    def _best(self, workload: Workload, known: Characteristics) -> Proposal:
        objective = OBJECTIVES[self.objective]
        result = best_placement(workload, self.policy, horizon=self.horizon, interval=self.interval, objective=objective)
        return _measured(known, None, tuple(application.resources or () for application in result.applications), result)

    def _chosen(self, proposals: Sequence[Proposal], level: Information) -> Proposal:
        """The best one that is no baseline, if there is another; unmeasured, the last one placed in turn.

        Runs that are not valid come after all others. The best of all placements knows the curves.
        """
        known = [one for one in proposals if one.heuristic or level == Information.CURVES]
        serious = [one for one in known if one.heuristic is None or not one.heuristic.baseline] or known
        measured = [((not one.result.valid, OBJECTIVES[self.objective](one.result)), one) for one in serious if one.result]
        if measured:
            return min(measured, key=lambda pair: pair[0])[1]
        return serious[-1]


def _measured(known: Characteristics, heuristic: Heuristic | None, placement: Placement, result: Result) -> Proposal:
    counts = counts_of(placement)
    stress = tuple(known.at(known.stress, counts).tolist())
    return Proposal(heuristic, placement, known.io_load(counts), result, stress)


def _document(result: Result) -> dict[str, Any]:
    """What a placement is worth, as JSON has it."""
    return {
        "policy": result.policy,
        "duration": result.duration,
        "valid": result.valid,
        "mean_slowdown": finite(result.mean_slowdown),
        "max_slowdown": finite(result.max_slowdown),
        "mean_allocation_slowdown": result.mean_allocation_slowdown,
        "mean_congestion_slowdown": finite(result.mean_congestion_slowdown),
        "spread": result.spread,
        "idle_time": result.idle_time,
        "occupancy": list(result.occupancy),
        "events": result.events,
        "seconds": result.seconds,
        "applications": [_application_document(application) for application in result.applications],
    }


def _application_document(application: ApplicationResult) -> dict[str, Any]:
    return {
        "name": application.name,
        "resources": list(application.resources or ()),
        "transferred": application.transferred,
        "io_seconds": application.io_seconds,
        "operations": application.operations,
        "slowdown": finite(application.slowdown),
        "allocation_slowdown": application.allocation_slowdown,
        "congestion_slowdown": finite(application.congestion_slowdown),
    }


def with_resources(workload: Workload, resources: int | None) -> Workload:
    """The workload on so many of the platform's I/O resources, all of them by default, and nobody placed yet."""
    platform = workload.platform
    existing = platform.resources
    if resources is not None and existing is not None and resources > existing:
        raise InputError("resources", f"{resources} I/O resources on a platform of {existing}; expected at most {existing}")
    buffer = None if platform.buffer is None else replace(platform.buffer, resources=None)
    applications = tuple(replace(application, placement=None) for application in workload.applications)
    chosen = existing if resources is None else resources
    return replace(workload, platform=replace(platform, resources=chosen, buffer=buffer), applications=applications)


def _unknown(workload: Workload, level: Information) -> str:
    """What the first application lacks that heuristics of this level must know."""
    missing: Iterable[int] = (index for index, one in enumerate(workload.applications) if one.curve is None)
    if level == Information.BEST:
        missing = (index for index in missing if workload.applications[index].best_count is None)
    what = "best_count" if level == Information.BEST else "curve"
    return f"applications[{next(iter(missing))}] has no {what!r}"
