"""`penstock.groups`: groups of applications with bandwidth of their own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.api.paths import Opened, Watch, WorkloadLike, nobody, opened
from penstock.api.results import Row, Tables
from penstock.model import Workload
from penstock.planning.groups import ALL_SHARED, DEFAULT_EXCLUSIVE, Groups, group_applications
from penstock.planning.node_hours import Hours, hours, recommendation
from penstock.planning.operation import DEFAULT_SHARING
from penstock.policies.policy import Policy
from penstock.policies.registry import PolicyLike, as_policy


@dataclass(frozen=True)
class GroupsResult(Tables):
    """Groups of applications, and what they gain or cost.

    Tables: ``ways`` (one row for each way to divide the bandwidth), ``groups`` and ``applications``.
    """

    _brief: ClassVar[tuple[str, ...]] = ("name", "parts", "value", "lost_node_hours", "mean_stretch", "max_stretch")

    opened: Opened = field(repr=False)
    found: Groups = field(repr=False)
    policy_objects: tuple[Policy, ...] = field(repr=False)

    @property
    def workload(self) -> Workload:
        """What was divided into groups."""
        return self.opened.workload

    @property
    def recommendation(self) -> str:
        """One sentence: what to do, what it loses beside all on one link, why, and what that assumes."""
        best, other = self.found.best, self.found.baseline
        reason = (
            f"the mean stretch is {best.mean_stretch:.4f} and not {other.mean_stretch:.4f}, "
            f"the largest {best.max_stretch:.3f} and not {other.max_stretch:.3f}"
        )
        assumed = "applications start when they do without groups, and groups lend each other nothing"
        mine, others = Hours(best.lost_node_hours), Hours(other.lost_node_hours)
        if best is other:
            rest = min(self.found.runs[1:], key=lambda run: run.lost_node_hours)
            return (
                f"{ALL_SHARED} ({other.policy}) loses {others.text} node-hours to I/O, and no groups lose less: {rest.name} "
                f"loses {hours(rest.lost_node_hours)}; this assumes that {assumed}"
            )
        how = f"{best.name} ({best.policy})"
        return recommendation(how, mine, f"{ALL_SHARED} ({other.policy})", others, reason, assumed)

    def to_dict(self) -> dict[str, Any]:
        """The groups as ``penstock groups --json`` prints them."""
        names = [one.name for one in self.workload.applications]
        rows = [
            {**row, "members": [names[index] for index in part.members]}
            for row, part in zip(self.found.rows(), self.found.partition.parts, strict=True)
        ]
        return {
            "bandwidth": self.found.bandwidth,
            "load": self.found.load,
            "value": self.found.partition.value,
            "groups": rows,
            "ways": [run.to_dict() for run in self.found.runs],
            "recommendation": self.recommendation,
        }

    def tables(self) -> dict[str, list[Row]]:
        """The ways to divide the bandwidth, the groups, and the applications."""
        found = self.found
        group_of = {index: number + 1 for number, part in enumerate(found.partition.parts) for index in part.members}
        applications: list[Row] = [
            {
                "name": one.name,
                "group": group_of.get(index),
                "volume": float(found.volume[index]),
                "time": float(found.time[index]) if index in group_of else None,
                **{f"lost_{run.name.replace(',', '').replace(' ', '_')}": float(run.lost[index]) for run in found.runs},
            }
            for index, one in enumerate(self.workload.applications)
        ]
        return {"ways": [run.to_dict() for run in found.runs], "groups": list(found.rows()), "applications": applications}


def groups(
    workload: WorkloadLike,
    *,
    shared: PolicyLike = DEFAULT_SHARING,
    exclusive: PolicyLike = DEFAULT_EXCLUSIVE,
    watch: Watch = nobody,
) -> GroupsResult:
    """Find groups of applications with bandwidth of their own, and compare them with one link for all (001 §V.B).

    Args:
        workload: a workload without a window, or the name of its file. On a platform with a number of nodes its applications
            are jobs, which wait for nodes with EASY backfilling; else each starts at its release.
        shared: the policy where applications share a link, as for `simulate`.
        exclusive: the policy where they take turns.
        watch: makes a watcher that is told what is under way.

    Returns:
        The groups, and for every way to divide the bandwidth the node-hours lost to I/O.

    Raises:
        InputError: for a workload with a window or without I/O, and for policies of the wrong kind.

    Example:
        >>> import penstock
        >>> chain = [("work", 3000.0), ("io", 600.0)]
        >>> jobs = tuple(penstock.Application.of(name, chain) for name in "ab")
        >>> found = penstock.groups(penstock.Workload(penstock.Platform(bandwidth=1.0), jobs))
        >>> [round(row["lost_node_hours"], 3) for row in found.tables()["ways"]]  # who waits, waits for 600 s
        [0.333, 0.167, 0.167, 0.333, 0.333]
    """
    source = opened(workload)
    chosen = tuple(map(as_policy, (shared, exclusive)))
    with source.located(), watch(0) as watcher:
        found = group_applications(source.workload, *chosen, progress=_told(watcher))
        watcher.end()
    return GroupsResult(source, found, chosen)


def _told(watcher: Any) -> Callable[[str, float], None]:
    """Tell the `watcher` what is under way."""

    def say(name: str, part: float) -> None:
        watcher.begin(name)
        watcher.at(part)

    return say
