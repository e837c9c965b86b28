"""What came of jobs on a machine: waits, slowdowns, where the node-hours went, and the use of the machine over time.

The node-seconds of a machine from the first submission to the last end are divided into those in which jobs *compute*, in
which they *transfer* (each transfer counted as its time alone), in which they are *delayed* by the I/O of others, and which
are *idle*: no job has the node. The slowdown of a job is the time from its start to its end divided by its time alone.
The slowdown with waiting counts from its submission. The bounded slowdown is the slowdown with waiting, where jobs shorter
than 10 s count as 10 s, and is at least 1.

MSER finds the steady state (White 1997; White, Cobb and Spratt 2000). It looks at the part of the nodes in use, in equal
intervals. At the start it leaves out so many intervals that the standard error of the mean of the others is smallest, and
likewise at the end. It may leave out half of the intervals on each side; where it does so, there is no steady state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.engine import Trace
from penstock.numeric.arrays import Floats, Ints, ratio
from penstock.numeric.tolerances import NOISE_OF_RUN, SAME_TIME_S
from penstock.planning.jobs import Progress
from penstock.planning.node_hours import HOUR, hours_by_owner, kept_idle

SHORTEST_JOB_S: Final = 10.0
"""Seconds: jobs count as no shorter in the bounded slowdown, as is usual (Feitelson et al. 1997)."""
INTERVALS: Final = 400
"""In which the use of the machine is looked at for a steady state."""
MEASURES: Final = (
    "jobs",
    "makespan",
    "mean_wait",
    "median_wait",
    "max_wait",
    "mean_slowdown",
    "max_slowdown",
    "mean_slowdown_with_waiting",
    "mean_bounded_slowdown",
    "node_hours",
    "computing",
    "transferring",
    "delayed",
    "idle",
    "kept_idle",
    "utilization",
    "bandwidth_used",
    "backfilled",
    "ran_over",
    "killed",
    "events",
    "engine_seconds",
    "seconds",
)
"""The fields of a run that are one number, as JSON names them."""


@dataclass(frozen=True, eq=False)
class RunOfJobs:
    """The jobs of a machine run, one entry each in the order of the workload; seconds and bytes."""

    names: tuple[str, ...]
    users: tuple[str | None, ...]
    groups: tuple[str | None, ...]
    nodes: Ints
    submit: Floats
    requested: Floats
    """Wall time that schedulers plan with: the one requested, else the time alone."""
    asked: NDArray[np.bool_]
    """Whether a wall time was requested."""
    alone: Floats
    """Seconds that it takes alone, with the I/O resources that it had."""
    volume: Floats
    """Bytes moved."""
    start: Floats
    end: Floats
    worked: Floats
    """Seconds of work."""
    transferring: Floats
    """Seconds that what it moved takes alone."""
    resources: tuple[tuple[int, ...], ...] | None
    """The I/O resources it had; None on one link."""
    backfilled: NDArray[np.bool_]
    """Whether it started while a job submitted before it waited."""
    killed: NDArray[np.bool_]

    @property
    def wait(self) -> Floats:
        """Seconds from submission to start."""
        return self.start - self.submit

    @property
    def held(self) -> Floats:
        """Seconds from start to end."""
        return self.end - self.start

    @property
    def delayed(self) -> Floats:
        """Seconds from start to end, less its work and what its transfers take alone."""
        return np.maximum(0.0, self.held - self.worked - self.transferring)

    @property
    def slowdown(self) -> Floats:
        """Time from start to end over what it did alone; 1 for a job that takes no time."""
        return ratio(self.held, self.worked + self.transferring)

    @property
    def slowdown_with_waiting(self) -> Floats:
        """Time from submission to end over what it did alone."""
        return ratio(self.end - self.submit, self.worked + self.transferring)

    @property
    def bounded_slowdown(self) -> Floats:
        """The slowdown with waiting; jobs shorter than `SHORTEST_JOB_S` count as that long, and the result is at least 1."""
        alone = np.maximum(self.worked + self.transferring, SHORTEST_JOB_S)
        return np.maximum(1.0, (self.end - self.submit) / alone)

    @property
    def ran_over(self) -> NDArray[np.bool_]:
        """Whether it had its nodes for longer than was requested; never where nothing was."""
        return self.asked & (self.held > self.requested + np.maximum(SAME_TIME_S, NOISE_OF_RUN * self.end))

    def __len__(self) -> int:
        return len(self.names)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each job."""
        columns: dict[str, list[Any]] = {
            "name": list(self.names),
            "user": list(self.users),
            "group": list(self.groups),
            "nodes": self.nodes.tolist(),
            **{
                name: getattr(self, name).tolist()
                for name in ("submit", "start", "end", "wait", "requested", "alone", "volume", "worked", "transferring")
            },
            "delayed": self.delayed.tolist(),
            "slowdown": self.slowdown.tolist(),
            "slowdown_with_waiting": self.slowdown_with_waiting.tolist(),
            "bounded_slowdown": self.bounded_slowdown.tolist(),
            "resources": [None] * len(self) if self.resources is None else [list(used) for used in self.resources],
            "backfilled": self.backfilled.tolist(),
            "ran_over": self.ran_over.tolist(),
            "killed": self.killed.tolist(),
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@dataclass(frozen=True, eq=False)
class UseOverTime:
    """The use of the machine in intervals, each given by its end in seconds; parts of all nodes and of all bandwidth."""

    date: Floats
    nodes: Floats
    """Part of the nodes that jobs had."""
    executed: Floats
    """Part of the node-seconds in which they computed, or transferred at their own speed."""
    bandwidth: Floats
    """Part of the bandwidth that was used."""
    waiting: Floats
    """Jobs that wait at the date."""

    def to_dict(self) -> dict[str, list[float]]:
        """The columns for JSON."""
        return {name: column.tolist() for name, column in vars(self).items()}


@dataclass(frozen=True)
class SteadyState:
    """A span, in seconds, in which the use of the nodes neither rises nor falls for long, and what the machine did in it."""

    begin: float
    end: float
    nodes: float
    """Part of the nodes that jobs had."""
    utilization: float
    """Part of the node-seconds in which they computed, or transferred at their own speed."""
    bandwidth: float
    """Part of the bandwidth that was used."""


@dataclass(frozen=True, eq=False)
class MachineRun:
    """Jobs that ran on a machine under a batch scheduler and a sharing policy; seconds, bytes and node-hours."""

    scheduler: str
    policy: str
    nodes: int
    stores: int
    """I/O resources; 1 for a link."""
    jobs_run: RunOfJobs
    progress: Progress
    """Node-seconds executed, and parts of the bandwidth times seconds used, since the start."""
    store_seconds: Floats
    """Of each store: seconds at full rate that it carried."""
    notes: tuple[str, ...]
    """What a reader of the figures must know."""
    events: int
    engine_seconds: float
    seconds: float
    settings: dict[str, Any] = field(default_factory=dict)
    """The settings of the run that are not the default."""
    trace: Trace | None = None

    @property
    def jobs(self) -> int:
        """How many jobs there are."""
        return len(self.jobs_run)

    @property
    def begin(self) -> float:
        """The first submission."""
        return float(self.jobs_run.submit.min())

    @property
    def end(self) -> float:
        """The end of the last job."""
        return float(self.jobs_run.end.max())

    @property
    def makespan(self) -> float:
        """From the first submission to the last end."""
        return self.end - self.begin

    @property
    def mean_wait(self) -> float:
        """Seconds from submission to start, mean over jobs."""
        return float(self.jobs_run.wait.mean())

    @property
    def median_wait(self) -> float:
        """Seconds from submission to start, median over jobs."""
        return float(np.median(self.jobs_run.wait))

    @property
    def max_wait(self) -> float:
        """The longest wait."""
        return float(self.jobs_run.wait.max())

    @property
    def mean_slowdown(self) -> float:
        """From start to end over the time alone, mean over jobs."""
        return float(self.jobs_run.slowdown.mean())

    @property
    def max_slowdown(self) -> float:
        """From start to end over the time alone, largest of all jobs."""
        return float(self.jobs_run.slowdown.max())

    @property
    def mean_slowdown_with_waiting(self) -> float:
        """From submission to end over the time alone, mean over jobs."""
        return float(self.jobs_run.slowdown_with_waiting.mean())

    @property
    def mean_bounded_slowdown(self) -> float:
        """The bounded slowdown, mean over jobs; jobs shorter than 10 s count as 10 s."""
        return float(self.jobs_run.bounded_slowdown.mean())

    @cached_property
    def node_hours(self) -> float:
        """Node-hours of the machine from begin to end."""
        return self.nodes * self.makespan / HOUR

    @cached_property
    def computing(self) -> float:
        """Node-hours of work."""
        return self._hours(self.jobs_run.worked)

    @cached_property
    def transferring(self) -> float:
        """Node-hours that transfers take alone."""
        return self._hours(self.jobs_run.transferring)

    @cached_property
    def delayed(self) -> float:
        """Node-hours that jobs lost to the I/O of others."""
        return self._hours(self.jobs_run.delayed)

    @cached_property
    def idle(self) -> float:
        """Node-hours of nodes that no job had."""
        return max(0.0, self.node_hours - self._hours(self.jobs_run.held))

    @property
    def lost_node_hours(self) -> float:
        """Node-hours lost to the I/O of others, as other planners name them."""
        return self.delayed

    @cached_property
    def kept_idle(self) -> float:
        """Node-hours of nodes without a job while some job waits."""
        jobs = self.jobs_run
        return kept_idle(self.nodes, jobs.nodes, jobs.submit, jobs.start, jobs.end)

    @property
    def cost(self) -> float:
        """Node-hours lost to I/O and kept idle while jobs wait."""
        return self.lost_node_hours + self.kept_idle

    @property
    def utilization(self) -> float:
        """Computing and transferring as a part of all node-hours."""
        return (self.computing + self.transferring) / self.node_hours if self.node_hours > 0.0 else 1.0

    @property
    def bandwidth_used(self) -> float:
        """Part of the bandwidth that was used from begin to end."""
        able = self.stores * self.makespan
        return float(self.store_seconds.sum()) / able if able > 0.0 else 0.0

    @property
    def backfilled(self) -> int:
        """Jobs that started while one submitted before them waited."""
        return int(np.count_nonzero(self.jobs_run.backfilled))

    @property
    def ran_over(self) -> int:
        """Jobs that had their nodes for longer than was requested."""
        return int(np.count_nonzero(self.jobs_run.ran_over))

    @property
    def killed(self) -> int:
        """Jobs that were ended at their requested time."""
        return int(np.count_nonzero(self.jobs_run.killed))

    def _hours(self, seconds: Floats) -> float:
        return float((self.jobs_run.nodes * seconds).sum()) / HOUR

    def over_time(self, points: int = INTERVALS) -> UseOverTime:
        """The use of the machine in so many equal intervals, `points`, from begin to end."""
        dates = np.linspace(self.begin, self.end, points + 1)
        jobs, seconds = self.jobs_run, np.diff(dates)
        executed, moved = self.progress.at(dates)
        had = _area(jobs.end - self.begin, jobs.start - self.begin, jobs.nodes, dates - self.begin)
        waiting = _before(jobs.submit, dates[1:]) - _before(jobs.start, dates[1:])
        lengths = np.where(seconds > 0.0, seconds, 1.0)
        return UseOverTime(
            date=dates[1:],
            nodes=np.diff(had) / (self.nodes * lengths),
            executed=np.diff(executed) / (self.nodes * lengths),
            bandwidth=np.diff(moved) / lengths,
            waiting=waiting,
        )

    @cached_property
    def steady(self) -> SteadyState | None:
        """The steady state; None if there is none."""
        if not self.makespan > 0.0:
            return None
        line = self.over_time()
        cut = steady_interval(line.nodes)
        if cut is None:
            return None
        inside = slice(*cut)
        edges = np.concatenate([[self.begin], line.date])
        means = (float(column[inside].mean()) for column in (line.nodes, line.executed, line.bandwidth))
        return SteadyState(float(edges[cut[0]]), float(edges[cut[1]]), *means)

    def by_user(self, which: str = "users") -> list[dict[str, Any]]:
        """Node-hours, waits and slowdowns of each user, or of each group if `which` is "groups"; most node-hours first."""
        jobs = self.jobs_run
        uses = {name: getattr(jobs, name).tolist() for name in ("held", "worked", "transferring", "delayed")}
        found = hours_by_owner([name or None for name in getattr(jobs, which)], jobs.nodes.tolist(), uses)
        rows = []
        for name in sorted(found, key=lambda name: name or ""):
            mine = list(found[name].members)
            rows.append(
                {
                    which[:-1]: name,
                    "jobs": len(mine),
                    "node_hours": found[name].hours["held"],
                    "computing": found[name].hours["worked"],
                    "transferring": found[name].hours["transferring"],
                    "delayed": found[name].hours["delayed"],
                    "mean_wait": float(jobs.wait[mine].mean()),
                    "max_slowdown": float(jobs.slowdown[mine].max()),
                    "mean_slowdown": float(jobs.slowdown[mine].mean()),
                }
            )
        return sorted(rows, key=lambda row: -row["node_hours"])

    def to_dict(self) -> dict[str, Any]:
        """The run for JSON, as `penstock machine --json` prints it."""
        steady = self.steady
        return {
            "scheduler": self.scheduler,
            "policy": self.policy,
            "settings": self.settings,
            "machine": {"nodes": self.nodes, "stores": self.stores},
            "begin": self.begin,
            "end": self.end,
            **{name: getattr(self, name) for name in MEASURES},
            "steady": vars(steady) if steady is not None else None,
            "notes": list(self.notes),
            "stores": [seconds / self.makespan if self.makespan > 0.0 else 0.0 for seconds in self.store_seconds.tolist()],
            "users": self.by_user(),
            "over_time": self.over_time().to_dict(),
            "jobs_run": self.jobs_run.rows(),
        }


def _before(dates: Floats, at: Floats) -> Floats:
    """How many of the dates come at or before each of the dates `at`."""
    return np.searchsorted(np.sort(dates), at, "right").astype(np.float64)


def _area(ends: Floats, starts: Floats, nodes: Ints, dates: Floats) -> Floats:
    """Node-seconds that jobs had their nodes, up to each of the dates."""

    def since(begins: Floats) -> Floats:
        order = np.argsort(begins, kind="stable")
        sizes = np.concatenate([[0.0], np.cumsum(nodes[order])])
        first = np.concatenate([[0.0], np.cumsum(nodes[order] * begins[order])])
        count = np.searchsorted(begins[order], dates, "right")
        area: Floats = sizes[count] * dates - first[count]
        return area

    return since(starts) - since(ends)


def steady_interval(values: Floats) -> tuple[int, int] | None:
    """The steady part of a series, as its first entry and the one after its last; None if no part is steady.

    Args:
        values: the series, in equal intervals.

    Example:
        >>> import numpy as np
        >>> steady_interval(np.array([0.1, 0.5] + 36 * [0.9, 0.92] + [0.3, 0.1]))
        (2, 74)
    """
    first = _left_out(values)
    last = _left_out(values[::-1])
    if first is None or last is None or first + last >= len(values):
        return None
    return first, len(values) - last


def _left_out(values: Floats) -> int | None:
    """How many first entries MSER leaves out, so that Σ (x − mean)² / n² of the others is smallest; None if half of them."""
    count = np.arange(len(values), 0, -1)
    values = values - values.mean()  # sums of squares near 0 keep more digits
    total, squares = (np.cumsum(column[::-1])[::-1] for column in (values, values**2))
    error = np.maximum(0.0, squares - total**2 / count) / count**2
    half = len(values) // 2
    best = int(np.argmin(error[: half + 1]))
    return best if best < half else None
