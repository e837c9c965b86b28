"""`penstock.compare`: workloads under many policies, beside each other and beside upper bounds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any, ClassVar, Final, Literal, overload

from penstock.api.paths import Opened, Watch, WorkloadLike, nobody, opened
from penstock.api.results import Row, Tables, flat
from penstock.api.runs import (
    BoundsResult,
    PlacementLike,
    SimulationResult,
    found_bounds,
    found_placement,
    placement_document,
    watched_run,
    write_report,
)
from penstock.campaign.rows import statistics
from penstock.engine import Result
from penstock.engine.information import TRUE, tells_apart
from penstock.model import InputError, Workload
from penstock.planning.node_hours import Hours, recommendation
from penstock.planning.operation import DEFAULT_SHARING
from penstock.planning.placement.choice import ChosenPlacement
from penstock.policies.policy import SHARING, STATIC, Policy
from penstock.policies.registry import PolicyLike, as_policy, expand, listed
from penstock.report.objectives import OBJECTIVES, gaps

_BRIEF: Final = (
    "workload",
    "policy",
    "min_yield",
    "gap_min_yield",
    "efficiency",
    "gap_efficiency",
    "utilization",
    "mean_slowdown",
    "events",
    "seconds",
)


@dataclass(frozen=True)
class ComparisonResult(Tables):
    """One workload under several policies.

    ``result["fcfs"]`` is the run under a policy. Tables: ``runs`` (one row per policy) and ``applications`` (one row for
    each policy and application).
    """

    _brief: ClassVar[tuple[str, ...]] = _BRIEF

    opened: Opened = field(repr=False)
    runs: tuple[SimulationResult, ...] = field(repr=False)
    bounds: BoundsResult | None
    """Upper bounds for any schedule; None if they were not asked for."""
    placed: ChosenPlacement | None = None
    left_out: tuple[str, ...] = ()
    """Policies of a family that cannot run so: static orders are those of a link, and made of true values."""
    baseline: SimulationResult | None = field(default=None, repr=False)
    """The run under fair sharing, which is what a machine does without coordination; None without a number of nodes."""

    @property
    def workload(self) -> Workload:
        """What was run."""
        return self.opened.workload

    @property
    def policies(self) -> tuple[str, ...]:
        """The names of the policies, in the order of the runs."""
        return tuple(run.policy for run in self.runs)

    def __getitem__(self, policy: str) -> SimulationResult:
        """The run under the policy of that name."""
        for run in self.runs:
            if run.policy == policy:
                return run
        raise KeyError(f"{policy!r} was not run; expected one of {', '.join(self.policies)}")

    @property
    def recommendation(self) -> str | None:
        """One sentence: which policy, what it loses beside the baseline, why, and what that assumes; None without nodes."""
        return None if self.baseline is None else _recommended([self])

    def to_dict(self) -> dict[str, Any]:
        """The comparison as ``penstock compare --json`` prints it."""
        runs = [{**Result.to_dict(run), **run.told, "gap": gaps(run, self.bounds) or None} for run in self.runs]
        known = self.bounds.values() if self.bounds else None
        return {"bounds": known, "runs": runs, **placement_document(self.placed), **self._advice()}

    def _advice(self) -> dict[str, Any]:
        """What JSON has of the baseline; nothing without nodes."""
        if self.baseline is None:
            return {}
        names = ("policy", "lost_node_hours", "running_efficiency", *OBJECTIVES)
        return {
            "baseline": {name: getattr(self.baseline, name) for name in names},
            "recommendation": self.recommendation,
        }

    def tables(self) -> dict[str, list[Row]]:
        """The runs, and the applications of all runs."""
        runs: list[Row] = []
        applications: list[Row] = []
        for run in self.runs:
            tables = run.tables()
            runs.append({**tables["run"][0], **flat({"gap": gaps(run, self.bounds)})})
            applications += [{"policy": run.policy, **row} for row in tables["applications"]]
        return {"runs": runs, "applications": applications}

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report of ``--html`` to the file `path`; it works offline. The runs must have ``trace=True``."""
        write_report(path, self.opened, self.runs, self.bounds)


@dataclass(frozen=True)
class ComparisonSeries(Tables):
    """Several workloads under the same policies.

    ``series[0]`` is the comparison on the first workload. Tables: ``runs`` (one row for each workload and policy),
    ``summary`` (one row per policy: mean, standard deviation, standard error and count over the workloads) and
    ``applications``.
    """

    _shown: ClassVar[str] = "summary"

    comparisons: tuple[ComparisonResult, ...]

    def __getitem__(self, index: int) -> ComparisonResult:
        """The comparison on the workload at that position."""
        return self.comparisons[index]

    def __len__(self) -> int:
        return len(self.comparisons)

    def summary(self) -> list[dict[str, Any]]:
        """For each policy: on how many workloads it ran, and the statistics of each objective over them."""
        values: dict[str, list[Result]] = {}
        for run in (run for comparison in self.comparisons for run in comparison.runs):
            values.setdefault(run.policy, []).append(run)
        return [
            {
                "policy": policy,
                "workloads": len(runs),
                **flat({name: statistics([getattr(run, name) for run in runs]) for name in OBJECTIVES}),
            }
            for policy, runs in values.items()
        ]

    @property
    def recommendation(self) -> str | None:
        """The sentence of `ComparisonResult`, for the means over the workloads; None where one has no number of nodes."""
        told = all(comparison.baseline is not None for comparison in self.comparisons)
        return _recommended(self.comparisons) if told else None

    def to_dict(self) -> dict[str, Any]:
        """The comparisons as ``penstock compare --json`` prints them for several files."""
        workloads = [
            {"file": name, **comparison.to_dict()} for name, comparison in zip(self._names(), self.comparisons, strict=True)
        ]
        advice = {} if self.recommendation is None else {"recommendation": self.recommendation}
        return {"workloads": workloads, "summary": self.summary(), **advice}

    def tables(self) -> dict[str, list[Row]]:
        """All runs, their summary, and the applications of all runs."""
        found: dict[str, list[Row]] = {"runs": [], "summary": list(self.summary()), "applications": []}
        for name, comparison in zip(self._names(), self.comparisons, strict=True):
            for table, rows in comparison.tables().items():
                found[table] += [{"workload": name, **row} for row in rows]
        return found

    def _names(self) -> list[str]:
        """The file of each workload, or its position."""
        return [one.opened.path or f"workload {index}" for index, one in enumerate(self.comparisons)]


def _recommended(comparisons: Sequence[ComparisonResult]) -> str:
    """The policy that loses the fewest node-hours to I/O, beside the baseline; means with intervals of several workloads."""
    runs: dict[str, list[SimulationResult]] = {}
    for run in (run for comparison in comparisons for run in comparison.runs):
        runs.setdefault(run.policy, []).append(run)
    usual = [comparison.baseline for comparison in comparisons if comparison.baseline is not None]
    everywhere = {policy: own for policy, own in runs.items() if len(own) == len(comparisons)}
    if not everywhere:
        everywhere = {usual[0].policy: usual}
    lost = {policy: Hours.of([run.lost_node_hours for run in own]) for policy, own in everywhere.items()}
    best = min(lost, key=lambda policy: lost[policy].mean)
    before = Hours.of([run.lost_node_hours for run in usual])
    lowest, usually = (fmean(run.min_yield for run in own) for own in (everywhere[best], usual))
    reason = f"the lowest yield is {lowest:.4f} and not {usually:.4f}"
    assumed = "every application starts at its release, whatever the policy"
    if max(run.most_nodes for run in usual) > (usual[0].machine_nodes or 0):
        assumed += ", with more nodes than there are (penstock machine lets jobs wait for theirs)"
    if best == usual[0].policy:
        return recommendation(best, lost[best], None, None, reason, assumed)
    return recommendation(best, lost[best], f"{usual[0].policy}, the baseline,", before, reason, assumed)


@overload
def compare(
    workload: WorkloadLike, policy: PolicyLike | Iterable[PolicyLike] | None = ..., **options: Any
) -> ComparisonResult: ...
@overload
def compare(
    workload: Sequence[WorkloadLike], policy: PolicyLike | Iterable[PolicyLike] | None = ..., **options: Any
) -> ComparisonSeries: ...
def compare(
    workload: WorkloadLike | Sequence[WorkloadLike],
    policy: PolicyLike | Iterable[PolicyLike] | None = None,
    *,
    allocation: str | None = None,
    placement: PlacementLike = None,
    bound: bool = True,
    information: str | Sequence[str] = TRUE,
    watch: Watch = nobody,
    **options: Any,
) -> ComparisonResult | ComparisonSeries:
    """Run a workload, or several, under many policies.

    Args:
        workload: a workload or the name of its file; or a list of them.
        policy: a policy as for `simulate`, or a list of them; a name may also be that of a family (``exclusive``) or
            ``all``. By default the policies that share the link.
        allocation: on I/O resources, as for `simulate`.
        placement: likewise.
        bound: whether upper bounds for any schedule are computed, too.
        information: what policies are told of what lies ahead, as for `penstock.Run`; or several. Then a policy for which it
            makes a difference runs once on each, and is called "set-10, predicted", say.
        watch: makes a watcher that is told how far it is.
        **options: those of `penstock.Run`, as for `simulate`.

    Returns:
        A `ComparisonResult`; for a list of workloads a `ComparisonSeries`, which has one for each and a summary by policy.

    Raises:
        InputError: for what cannot be run so.
        PolicyFault: for a policy that breaks its contract.

    Example:
        >>> import penstock
        >>> applications = [penstock.Application.of(name, [("work", 6.0), ("io", 4.0)]) for name in "ab"]
        >>> workload = penstock.Workload(penstock.Platform(bandwidth=1.0), tuple(applications))
        >>> found = penstock.compare(workload, ["fcfs", "fair-share"])
        >>> round(found["fcfs"].min_yield, 3)
        0.714
    """
    if isinstance(workload, Workload | str | os.PathLike):
        sources, several = [opened(workload)], False
    else:
        sources, several = [opened(one) for one in workload], True
    if not sources:
        raise InputError("workload", "there is none; expected one or more")
    chosen, named = _policies(policy)
    settings: dict[str, Any] = {"allocation": allocation, "placement": placement, "bound": bound, "watch": watch}
    settings["information"] = [information] if isinstance(information, str) else list(dict.fromkeys(information))
    found = tuple(_compared(source, chosen, named, settings, options) for source in sources)
    return ComparisonSeries(found) if several else found[0]


def _policies(given: PolicyLike | Iterable[PolicyLike] | None) -> tuple[list[Policy], set[str]]:
    """The policies, and the names of those that are asked for by themselves and not by their family."""
    if given is None:
        given = SHARING
    asked = listed(given)
    found: list[Policy] = []
    for one in asked:
        members = expand([one]) if isinstance(one, str) else [one]
        found += [policy for policy in map(as_policy, members) if policy.name not in {other.name for other in found}]
    return found, {one if isinstance(one, str) else as_policy(one).name for one in asked}


def _compared(
    source: Opened, policies: Sequence[Policy], named: set[str], settings: Mapping[str, Any], options: dict[str, Any]
) -> ComparisonResult:
    with source.located():
        suited = _suited(source.workload, policies, named, settings["information"])
        where = found_placement(source.workload, settings["allocation"], settings["placement"])
        asked = [(policy, told) for policy in suited for told in _told_apart(policy, settings["information"])]
        more = source.workload.platform.nodes is not None and all(policy.name != DEFAULT_SHARING for policy in suited)
        with settings["watch"](len(asked) + more) as watcher:
            runs = tuple(
                watched_run(source, policy, where, watcher, {**options, "information": told}) for policy, told in asked
            )
            usual = _baseline(source, runs, where, watcher, options)
        runs = tuple(_named(run, settings["information"]) for run in runs)
        known = found_bounds(source, where, watch=settings["watch"]) if settings["bound"] else None
    left_out = tuple(policy.name for policy in policies if policy not in suited)
    return ComparisonResult(source, runs, known, where or None, left_out, usual)


def _baseline(
    source: Opened,
    runs: Sequence[SimulationResult],
    where: ChosenPlacement | Literal[False] | None,
    watcher: Any,
    options: dict[str, Any],
) -> SimulationResult | None:
    """The run of a machine without coordination: one of the `runs`, or one more."""
    if source.workload.platform.nodes is None:
        return None
    known = next((run for run in runs if run.policy_object.name == DEFAULT_SHARING), None)
    return known or watched_run(source, as_policy(DEFAULT_SHARING), where, watcher, {**options, "trace": False})


def _told_apart(policy: Policy, information: Sequence[str]) -> Sequence[str]:
    """The information that the policy is run on: one of them if it makes no difference."""
    return information if any(tells_apart(told, policy) for told in information) else information[:1]


def _named(run: SimulationResult, information: Sequence[str]) -> SimulationResult:
    """The run, called by its information too where policies run on several."""
    several = len(_told_apart(run.policy_object, information)) > 1
    return replace(run, policy=f"{run.policy}, {run.information}") if several else run


def _suited(workload: Workload, policies: Sequence[Policy], named: set[str], information: Sequence[str]) -> list[Policy]:
    """The policies that can run it: no static orders that only their family names, beside buffers, on I/O resources and on
    other than true information.
    """
    buffer = workload.platform.buffer
    plain = not workload.on_resources and (buffer is None or buffer.size is None)
    if plain and list(information) == [TRUE]:
        return list(policies)
    return [policy for policy in policies if policy.family != STATIC or policy.name in named]
