"""Answers in the operator's currency: node-hours lost to I/O, with an interval where something is random, one sentence.

Of several runs with different seeds, the mean has a 95 % interval by Student's t. A single run that nothing random enters
has none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

if TYPE_CHECKING:
    from penstock.engine import Result
    from penstock.model import Workload
    from penstock.numeric.arrays import Floats, Ints

HOUR: Final = 3600.0
"""Seconds."""
STUDENT: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Quantiles 0.975 of Student's t for 1, 2, … degrees of freedom; beyond them 1.96 + 2.6 / degrees is within 1 %."""


@dataclass(frozen=True)
class Hours:
    """Node-hours: the mean of some runs, and half the width of its 95 % interval; None where nothing is random."""

    mean: float
    half: float | None = None

    @classmethod
    def of(cls, runs: Sequence[float]) -> Hours:
        """The node-hours of `runs` that differ by their seeds.

        Example:
            >>> Hours.of([10.0, 12.0]).half
            12.706
            >>> Hours.of([10.0])
            Hours(mean=10.0, half=None)
        """
        values = np.asarray(runs, np.float64)
        if len(values) < 2:
            return cls(float(values[0]))
        degrees = len(values) - 1
        quantile = STUDENT[degrees - 1] if degrees <= len(STUDENT) else 1.96 + 2.6 / degrees
        return cls(float(values.mean()), quantile * float(values.std(ddof=1)) / math.sqrt(len(values)))

    @property
    def text(self) -> str:
        """``1,234`` or ``1,234 ± 56``; below 100 with two decimals."""
        return hours(self.mean) + ("" if self.half is None else f" ± {hours(self.half)}")

    def to_dict(self) -> dict[str, Any]:
        """The mean and the ends of the interval for JSON."""
        interval = None if self.half is None else [self.mean - self.half, self.mean + self.half]
        return {"mean": self.mean, "interval": interval}


@dataclass(frozen=True)
class OwnedHours:
    """The applications of a user or a group, and their node-hours."""

    members: tuple[int, ...]
    """Their positions."""
    hours: Mapping[str, float]
    """Node-hours, by what they were used for."""


def hours_by_owner(
    owners: Sequence[str | None], nodes: Sequence[float], seconds: Mapping[str, Sequence[float]]
) -> dict[str | None, OwnedHours]:
    """Sum node-hours by user or group, in the order of their first applications.

    Args:
        owners: the user or group of each application; None for those that have none, which count together.
        nodes: its nodes.
        seconds: for each use, how long it had its nodes for that.

    Example:
        >>> found = hours_by_owner(["ann", None, "ann"], [2, 1, 4], {"computing": [1800.0, 3600.0, 900.0]})
        >>> found["ann"].members, found["ann"].hours
        ((0, 2), {'computing': 2.0})
    """
    members: dict[str | None, list[int]] = {}
    for place, owner in enumerate(owners):
        members.setdefault(owner, []).append(place)
    return {
        owner: OwnedHours(
            tuple(places),
            {use: float(sum(nodes[place] * spent[place] for place in places)) / HOUR for use, spent in seconds.items()},
        )
        for owner, places in members.items()
    }


def owner_rows(workload: Workload, result: Result, which: str) -> list[dict[str, Any]]:
    """What a run was for each user, or for each group.

    Args:
        workload: what ran.
        result: the run.
        which: "user" or "group".

    Returns:
        A row for each, in the order of the workload: its lowest yield, and its node-hours of work, of I/O as it would be
        alone on the machine, and lost to I/O. Nothing where the workload names none.
    """
    members, results = workload.applications, result.applications
    owners = [getattr(application, which) for application in members]
    if not any(owners):
        return []
    alone = [one.io_seconds / (one.slowdown or 1.0) for one in results]
    delayed = [one.io_seconds - seconds for one, seconds in zip(results, alone, strict=True)]
    seconds = {"computing": [one.worked for one in results], "transferring": alone, "delayed": delayed}
    found = hours_by_owner(owners, [application.nodes for application in members], seconds)
    return [
        {
            which: name,
            "applications": len(own.members),
            "min_yield": min(results[place].yield_ for place in own.members),
            **own.hours,
        }
        for name, own in found.items()
    ]


def kept_idle(capacity: int, nodes: Ints, submit: Floats, start: Floats, end: Floats) -> float:
    """Node-hours of nodes without a job while some job waits: the price of packs, limits and jobs that do not fit.

    Args:
        capacity: nodes of the machine.
        nodes: nodes of each job.
        submit: when it was submitted, in seconds.
        start: when it started.
        end: when it ended.

    Example:
        On 4 nodes, a job of 3 runs for an hour while one of 2 waits.

        >>> kept_idle(4, np.array([3, 2]), np.zeros(2), np.array([0.0, 3600.0]), np.array([3600.0, 7200.0]))
        1.0
    """
    dates = np.concatenate([submit, start, end])
    order = np.argsort(dates, kind="stable")
    none = np.zeros(len(nodes))
    waiting = np.cumsum(np.concatenate([none + 1.0, none - 1.0, none])[order])
    used = np.cumsum(np.concatenate([none, nodes, -nodes])[order])
    idle = np.where(waiting[:-1] > 0.0, capacity - used[:-1], 0.0)
    return float((np.maximum(0.0, idle) * np.diff(dates[order])).sum()) / HOUR


TO_BOTH: Final = "to I/O and to idle nodes beside waiting jobs"
"""What the node-hours are lost to where a batch scheduler decides."""


class BatchCost(Protocol):
    """Jobs that a batch scheduler ran."""

    @property
    def lost_node_hours(self) -> float:
        """Node-hours lost to the I/O of others."""

    @property
    def kept_idle(self) -> float:
        """Node-hours of nodes without a job while some job waits."""


def batch_reason(ours: BatchCost, others: BatchCost) -> str:
    """Why one of two runs of the same jobs loses less: a clause for `recommendation`."""
    delayed = _beside(ours.lost_node_hours, others.lost_node_hours, " node-hours")
    idle = _beside(ours.kept_idle, others.kept_idle)
    return f"jobs are delayed for {delayed}, and nodes stay idle beside waiting jobs for {idle}"


def _beside(ours: float, others: float, unit: str = "") -> str:
    """Two numbers of node-hours in words; only one of them where they look the same."""
    first, second = hours(ours), hours(others)
    return f"{first}{unit} in both runs" if first == second else f"{first} and not {second}{unit}"


def hours(value: float) -> str:
    """Write node-hours, `value` of them: whole ones from a hundred on, else with two decimals."""
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:z.2f}"


def recommendation(
    how: str, lost: Hours, other: str | None, others: Hours | None, reason: str, assumed: str, what: str = "to I/O"
) -> str:
    """One sentence: what to do, what it costs beside the baseline, why, and what that assumes.

    Args:
        how: what to do, as the subject of the sentence.
        lost: the node-hours lost to I/O with it.
        other: what it is compared with; None if it is that itself.
        others: the node-hours lost to I/O with that.
        reason: why it is better, a clause.
        assumed: what has to hold, a clause.
        what: what the node-hours are lost to.

    Example:
        >>> recommendation("a list", Hours(9.0), "the baseline", Hours(145.0), "less waiting", "jobs stay")
        'a list loses 9.00 node-hours to I/O where the baseline loses 145: less waiting; this assumes that jobs stay'
    """
    end = f"; this assumes that {assumed}"
    if other is None or others is None:
        return f"{how} loses {lost.text} node-hours {what}, and nothing that was tried loses less{end}"
    if lost.mean >= others.mean * (1.0 - NOTHING):
        return (
            f"stay with {other.removesuffix(',')}, which loses {others.text} node-hours {what}: {how} loses {lost.text}{end}"
        )
    return f"{how} loses {lost.text} node-hours {what} where {other} loses {others.text}: {reason}{end}"


NOTHING: Final = 0.005
"""A gain below this part is no reason to change anything."""
