"""Proposals of I/O resources for each application: every heuristic that can be used is run, and the best one chosen.

Heuristics see only what the level of information allows; their placements are measured with the curves of the workload.
If the curves are unknown, nothing can be measured, and the choice follows the paper: the fastest number of resources for
each application, or a number in proportion to its nodes, placed in turn (002 §VI.A, §VIII).
"""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from penstock.engine.machine import Placement, resources_of
from penstock.engine.result import ApplicationResult, Result, finite
from penstock.engine.scenarios import HORIZON, STEADY, require_measurable, simulate_placement, usable_policy
from penstock.model import InputError, Workload
from penstock.planning.node_hours import Hours, recommendation
from penstock.planning.placement.allocation import LEVELS, Characteristics, Information
from penstock.planning.placement.heuristics import BASELINE, Heuristic, best_placement, counts_of, heuristics, require_few
from penstock.policies.policy import Policy
from penstock.renamed import old_names

__getattr__ = old_names(__name__, Plan="PlacementPlan")

OBJECTIVES: Final[dict[str, Callable[[Result], float]]] = {
    "node-hours": lambda result: sum(application.lost_node_hours for application in result.applications),
    "mean-slowdown": lambda result: result.mean_slowdown,
    "max-slowdown": lambda result: result.max_slowdown,
    "idle-time": lambda result: result.idle_time,
}
"""Measures to minimise: node-hours lost to I/O; the slowdown of users on average, and of the worst one; the node-time in I/O
(002 §III.C.2).
"""


@dataclass(frozen=True)
class Proposal:
    """A placement, the heuristic that made it (None: the oracle), and the run that measures it (None: unknown curves)."""

    heuristic: Heuristic | None
    placement: Placement
    io_load: float | None
    """Part of the resources that the applications occupy; None if curves are unknown."""
    result: Result | None
    stress: tuple[float, ...] | None = None
    """I/O-Stress of each application: the resources that it occupies on average, alone."""

    @property
    def name(self) -> str:
        """The name of the heuristic, or of the oracle."""
        return self.heuristic.name if self.heuristic else "best of all"

    @property
    def lost_node_hours(self) -> float | None:
        """Node-hours lost in the run, against transfers alone with the best numbers of resources; None without one."""
        if self.result is None:
            return None
        return sum(application.lost_node_hours for application in self.result.applications)

    @property
    def saturated(self) -> bool:
        """Whether the applications ask for more than the resources give (002 §III.C.1)."""
        return self.io_load is not None and self.io_load > 1.0

    def to_dict(self) -> dict[str, Any]:
        """The proposal for JSON."""
        return {
            "heuristic": self.name,
            "allocation": self.heuristic.allocation if self.heuristic else None,
            "placement": self.heuristic.placement if self.heuristic else None,
            "lost_node_hours": self.lost_node_hours,
            "io_load": self.io_load,
            "saturated": self.saturated,
            "stress": None if self.stress is None else list(self.stress),
            "counts": counts_of(self.placement).tolist(),
            "resources": [list(used) for used in self.placement],
            "result": _document(self.result) if self.result else None,
        }


@dataclass(frozen=True)
class PlacementPlan:
    """The proposals for a workload at a level of information, and the chosen one."""

    workload: Workload
    level: Information
    objective: str
    chosen: Proposal
    proposals: tuple[Proposal, ...]

    @property
    def baseline(self) -> Proposal | None:
        """What resource managers do without knowing the I/O of jobs; None where it was not run."""
        return next((one for one in self.proposals if one.heuristic == BASELINE), None)

    @property
    def advice(self) -> str | None:
        """One sentence: what to do, why, and what that assumes; None if nothing was measured."""
        chosen, base = self.chosen.result, None if self.baseline is None else self.baseline.result
        if chosen is None:
            return None
        ours, theirs = Hours(self.chosen.lost_node_hours or 0.0), None
        reason = "nothing that was tried loses less"
        if self.baseline is not None and base is not None and self.baseline is not self.chosen:
            theirs = Hours(self.baseline.lost_node_hours or 0.0)
            shared = base.mean_congestion_slowdown, chosen.mean_congestion_slowdown
            allotted = base.mean_allocation_slowdown, chosen.mean_allocation_slowdown
            reason = why(shared, allotted)
        other = None if theirs is None else f"the baseline, {BASELINE.name},"
        assumed = f"all applications repeat their phases side by side, for {chosen.duration:,.0f} s, and the curves hold"
        return recommendation(f"placing by {self.chosen.name}", ours, other, theirs, reason, assumed)

    def measure(self, result: Result) -> float:
        """The objective's value for a run with this `result`."""
        return OBJECTIVES[self.objective](result)

    def to_dict(self) -> dict[str, Any]:
        """The plan for JSON, as `penstock place --json` prints it."""
        return {
            "resources": resources_of(self.workload),
            "knows": str(self.level),
            "objective": self.objective,
            "chosen": self.chosen.to_dict(),
            "proposals": [proposal.to_dict() for proposal in self.proposals],
            "baseline": None if self.baseline is None else self.baseline.name,
            "recommendation": self.advice,
        }


@dataclass(frozen=True)
class Planner:
    """Proposes placements and measures them by simulation.

    Attributes:
        level: What heuristics may know; by default all that the workload tells.
        objective: The measure to minimise, one of OBJECTIVES.
        policy: Shares the bandwidth of each resource.
        horizon: Seconds of a run.
        interval: The interval on which a run is measured.
        seed: For random heuristics.

    Raises:
        InputError: The objective is unknown, the policy cannot be used, or the runs cannot be measured.

    Example:
        Two applications on two I/O resources; each is fastest on one.

        >>> from penstock.model import Application, Curve, Platform, Workload
        >>> phases = [("work", 10.0), ("io", 100.0)]
        >>> pair = [Application.of(name, phases, curve=Curve((1, 2), (10.0, 8.0))) for name in "ab"]
        >>> plan = Planner().plan(Workload(Platform(20.0, resources=2), tuple(pair)))
        >>> plan.chosen.placement, round(plan.measure(plan.chosen.result), 6)
        (((0,), (1,)), 1.0)
    """

    level: Information | None = None
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
        self,
        workload: Workload,
        only: Sequence[Heuristic] = (),
        *,
        oracle: bool = False,
        shown: Callable[..., Any] = iter,
        progress: Callable[[float], None] | None = None,
    ) -> PlacementPlan:
        """Run every heuristic that can be used, and choose the best placement.

        Args:
            workload: Applications on a platform with I/O resources.
            only: Run these heuristics instead of all.
            oracle: Also try all placements, of few applications on few resources.
            shown: Iterates over the heuristics, for a progress display that names them.
            progress: Called after each heuristic with the part of them that have run, from 0 to 1; the oracle counts as one.

        Returns:
            All proposals and the chosen one.

        Raises:
            InputError: The workload tells less than the level of information, no heuristic can be used, or there are too
                many placements for the oracle.
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
        proposals = []
        for proposal in self._proposals(workload, known, shown(usable), oracle):
            proposals.append(proposal)
            if progress is not None:
                progress(len(proposals) / (len(usable) + oracle))
        return PlacementPlan(workload, level, self.objective, self._chosen(proposals, level), tuple(proposals))

    def _proposals(
        self, workload: Workload, known: Characteristics, usable: Iterable[Heuristic], oracle: bool
    ) -> Iterator[Proposal]:
        """The proposals of the heuristics and of the oracle, one by one."""
        for heuristic in usable:
            yield self._proposal(workload, known, heuristic)
        if oracle:
            yield self._best(workload, known)

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
        """The best proposal, baselines only if there is no other; if none was measured, the last one.

        Runs that are not valid come after all others. The oracle's proposal counts only where curves may be known.
        """
        known = [one for one in proposals if one.heuristic or level == Information.CURVES]
        serious = [one for one in known if one.heuristic is None or not one.heuristic.baseline] or known
        measured = [((not one.result.valid, OBJECTIVES[self.objective](one.result)), one) for one in serious if one.result]
        if measured:
            return min(measured, key=lambda pair: pair[0])[1]
        return serious[-1]


def why(shared: tuple[float, float], allotted: tuple[float, float]) -> str:
    """Why a placement loses less: because of sharing or of numbers, whichever gains more.

    Args:
        shared: the mean ρ_con with the baseline and with the placement.
        allotted: likewise the mean ρ_io.

    Example:
        >>> why((0.8, 0.1), (1.2, 1.3))
        'jobs share resources less (ρ_con 0.10 for 0.80)'
    """
    if shared[0] - shared[1] >= allotted[0] - allotted[1]:
        return f"jobs share resources less (ρ_con {shared[1]:.2f} for {shared[0]:.2f})"
    return f"the numbers of resources suit the jobs better (ρ_io {allotted[1]:.2f} for {allotted[0]:.2f})"


def _unknown(workload: Workload, level: Information) -> str:
    """What the first application lacks for this level of information."""
    missing: Iterable[int] = (index for index, one in enumerate(workload.applications) if one.curve is None)
    if level == Information.BEST:
        missing = (index for index in missing if workload.applications[index].best_count is None)
    what = "best_count" if level == Information.BEST else "curve"
    return f"applications[{next(iter(missing))}] has no {what!r}"


def _measured(known: Characteristics, heuristic: Heuristic | None, placement: Placement, result: Result) -> Proposal:
    counts = counts_of(placement)
    stress = tuple(known.at(known.stress, counts).tolist())
    return Proposal(heuristic, placement, known.io_load(counts), result, stress)


def _document(result: Result) -> dict[str, Any]:
    """The measures of a run for JSON."""
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
    """The workload on so many of the platform's I/O resources (default: all), with no application placed.

    Raises:
        InputError: The platform has fewer resources.
    """
    platform = workload.platform
    existing = platform.resources
    if resources is not None and existing is not None and resources > existing:
        raise InputError("resources", f"{resources} I/O resources on a platform of {existing}; expected at most {existing}")
    buffer = None if platform.buffer is None else replace(platform.buffer, resources=None)
    applications = tuple(replace(application, placement=None) for application in workload.applications)
    chosen = existing if resources is None else resources
    return replace(workload, platform=replace(platform, resources=chosen, buffer=buffer), applications=applications)


def setstripe_lines(workload: Workload, placement: Placement) -> str:
    """A placement as Lustre commands: `lfs setstripe -c COUNT -o OST,… DIRECTORY` for each application.

    New files of an application then lie on its storage targets, which are numbered from 0 as in Lustre.

    Args:
        workload: applications with directories, and with curves or best numbers of resources.
        placement: the resources of each.

    Raises:
        InputError: An application has no `directory`, or nothing says which number of targets suits it.
    """
    lines = []
    for index, (application, used) in enumerate(zip(workload.applications, placement, strict=True)):
        if application.curve is None and application.best_count is None:
            raise InputError(
                f"applications[{index}]",
                "the keys 'curve' and 'best_count' are missing, so nothing says how many targets suit it; expected one of "
                "them to stripe its files, or csv",
            )
        if application.directory is None:
            raise InputError(
                f"applications[{index}]", "the key 'directory' is missing; expected where its files lie, to stripe them"
            )
        targets = ",".join(map(str, used))
        lines.append(f"lfs setstripe -c {len(used)} -o {targets} {shlex.quote(application.directory)}\n")
    return "".join(lines)


def csv_lines(workload: Workload, placement: Placement) -> str:
    """A `placement` of the `workload` as CSV: `job,count,resources`, the resources separated by spaces, from 0."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["job", "count", "resources"])
    for application, used in zip(workload.applications, placement, strict=True):
        writer.writerow([application.name, len(used), " ".join(map(str, used))])
    return text.getvalue()
