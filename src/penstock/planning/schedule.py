"""The result of a schedule: when and where each job ran, and the measures (001 §III.B.3, §III.D.2.c, §IV.B.5)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.engine import Trace
from penstock.numeric.arrays import Floats, Ints, ratio
from penstock.planning.jobs import Jobs, Machine, Progress
from penstock.planning.node_hours import kept_idle
from penstock.planning.packs import Pack
from penstock.planning.strategy import BatchStrategy


@dataclass(frozen=True)
class PackRun:
    """A pack that has run; dates in seconds."""

    number: int
    """Its place in the plan."""
    io_node: int
    start: float
    end: float
    planned: Pack
    """The pack as it started: without jobs that joined earlier packs, or joined this one while it ran."""
    joined: tuple[int, ...]
    """The jobs that joined while it ran."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Start, end and place of each job: columns with one entry per job, filled while the jobs run."""

    start: Floats
    end: Floats
    io_node: Ints
    pack: Ints
    """Number of the pack that the job ran in; −1 without packs."""
    backfilled: NDArray[np.bool_]
    """Whether the job started before one that precedes it in the order."""
    packs: list[PackRun] = field(default_factory=list)
    plan: list[Pack] = field(default_factory=list)
    """The packs as planned; those that ran, where packs were made again as jobs were released."""

    @classmethod
    def empty(cls, size: int) -> Outcome:
        """The outcome of `size` jobs before any has run."""
        return cls(
            start=np.full(size, np.nan),
            end=np.full(size, np.nan),
            io_node=np.zeros(size, np.int64),
            pack=np.full(size, -1, np.int64),
            backfilled=np.zeros(size, np.bool_),
        )


MEASURES: Final = (
    "makespan",
    "predicted_makespan",
    "max_stretch",
    "mean_stretch",
    "pack_stretch",
    "max_waiting",
    "mean_waiting",
    "utilization",
    "executing",
    "delayed",
    "idle",
    "bandwidth_used",
    "packs_run",
    "backfilled",
    "io_load",
    "events",
    "engine_seconds",
    "seconds",
)
"""The fields of a schedule that are one number, as JSON names them."""
WINDOWS: Final = 20
"""By default a sliding window is the makespan divided by this."""


@dataclass(frozen=True, eq=False)
class OverTime:
    """The machine at some dates in seconds; shares are of all nodes, or of the bandwidth of all I/O nodes."""

    date: Floats
    utilization: Floats
    """Node-seconds executed since the start, as a share of all node-seconds."""
    window_utilization: Floats
    """The same in the window that ends at the date."""
    window_bandwidth: Floats
    """Share of the bandwidth used in that window."""
    running: Floats
    """Jobs that run just before the date."""
    nodes: Floats
    """Share of the nodes that they hold."""

    def to_dict(self) -> dict[str, list[float]]:
        """The columns for JSON."""
        return {name: column.tolist() for name, column in vars(self).items()}


@dataclass(frozen=True, eq=False)
class Schedule:
    """Jobs scheduled by a strategy on a machine under an I/O policy, run to their ends; seconds and bytes."""

    strategy: BatchStrategy
    policy: str
    machine: Machine
    jobs: Jobs
    sensibility: float
    """S as a number."""
    plan: tuple[Pack, ...]
    """The packs as planned, in the order in which they run; those that ran, where packs were made again as jobs were
    released. Empty for list scheduling.
    """
    outcome: Outcome
    progress: Progress
    predicted_makespan: float
    """The makespan if every job took its time alone."""
    events: int
    """I/O operations posted and completed, and periodic decisions."""
    engine_seconds: float
    """Seconds spent in the engine."""
    seconds: float
    """Seconds spent on planning and in the engine."""
    trace: Trace | None = None
    """Rates over time by number of the job, if they were recorded."""

    @property
    def begin(self) -> float:
        """The earliest release."""
        return self.jobs.begin

    @cached_property
    def end(self) -> float:
        """The end of the last job."""
        return float(self.outcome.end.max())

    @property
    def makespan(self) -> float:
        """C_max since the start (001 eq. II.4)."""
        return self.end - self.begin

    @property
    def packs(self) -> tuple[PackRun, ...]:
        """The packs that ran, in the order of the plan."""
        return tuple(self.outcome.packs)

    @cached_property
    def stretch(self) -> Floats:
        """ρ_i: time from start to end over T_i, queueing excluded; 1 for a job that takes no time (001 §III.B.3)."""
        alone = self.jobs.seconds
        return np.where(alone > 0.0, (self.outcome.end - self.outcome.start) / np.where(alone > 0.0, alone, 1.0), 1.0)

    @property
    def max_stretch(self) -> float:
        """The largest stretch."""
        return float(self.stretch.max())

    @property
    def mean_stretch(self) -> float:
        """Mean over the jobs."""
        return float(self.stretch.mean())

    @property
    def pack_stretch(self) -> float | None:
        """The mean over the packs of each pack's largest stretch (001 §III.D.2.c); None without packs."""
        if not self.packs:
            return None
        return float(np.mean([self.stretch[[*pack.planned.jobs, *pack.joined]].max() for pack in self.packs]))

    @property
    def waiting(self) -> Floats:
        """Seconds from release to start of each job."""
        return self.outcome.start - self.jobs.release

    @property
    def max_waiting(self) -> float:
        """The longest wait."""
        return float(self.waiting.max())

    @property
    def mean_waiting(self) -> float:
        """Mean over the jobs."""
        return float(self.waiting.mean())

    @cached_property
    def capacity(self) -> float:
        """Node-seconds of the whole machine from begin to end."""
        return self.machine.io_nodes * self.machine.nodes * self.makespan

    @cached_property
    def executing(self) -> float:
        """Node-seconds of work and transfers, a transfer counted as its time alone: Σ Q_i · T_i."""
        return float((self.jobs.nodes * self.jobs.seconds).sum())

    @cached_property
    def delayed(self) -> float:
        """Node-seconds lost to contention: those that jobs hold beyond their T_i."""
        return max(0.0, self._held - self.executing)

    @property
    def idle(self) -> float:
        """Node-seconds that no job held."""
        return max(0.0, self.capacity - self._held)

    @property
    def lost_node_hours(self) -> float:
        """Node-hours lost to the I/O of others: those that jobs hold beyond their T_i."""
        return self.delayed / 3600.0

    @cached_property
    def kept_idle(self) -> float:
        """Node-hours of nodes without a job while some job waits: the price of packs, limits and jobs that do not fit."""
        capacity = self.machine.io_nodes * self.machine.nodes
        return kept_idle(capacity, self.jobs.nodes, self.jobs.release, self.outcome.start, self.outcome.end)

    @property
    def cost(self) -> float:
        """Node-hours lost to I/O and kept idle while jobs wait."""
        return self.lost_node_hours + self.kept_idle

    @property
    def utilization(self) -> float:
        """Executing over capacity (001 §IV.B.5)."""
        return self.executing / self.capacity if self.capacity > 0.0 else 1.0

    @property
    def bandwidth_used(self) -> float:
        """Share of the bandwidth of all I/O nodes used from begin to end."""
        able = self.machine.io_nodes * self.machine.bandwidth * self.makespan
        return float(self.jobs.volume.sum()) / able if able > 0.0 else 0.0

    @property
    def packs_run(self) -> int | None:
        """How many packs ran; None without packs."""
        return len(self.packs) if self.plan else None

    @property
    def backfilled(self) -> int:
        """How many jobs were backfilled."""
        return int(np.count_nonzero(self.outcome.backfilled))

    @property
    def io_load(self) -> float:
        """α of the jobs on this machine (001 eq. III.5)."""
        return self.jobs.io_load(self.machine)

    @property
    def _held(self) -> float:
        return float((self.jobs.nodes * (self.outcome.end - self.outcome.start)).sum())

    def over_time(self, points: int = 200, window: float | None = None) -> OverTime:
        """The machine at equally spaced dates, the last one the end.

        Args:
            points: Number of dates.
            window: Seconds of the sliding window; by default a twentieth of the makespan.
        """
        dates = np.linspace(self.begin, self.end, points + 1)[1:]
        length = self.makespan / WINDOWS if window is None else window
        before = np.maximum(dates - length, self.begin)
        nodes, links = self.machine.io_nodes * self.machine.nodes, self.machine.io_nodes * self.machine.bandwidth
        (executed, moved), (executed_before, moved_before) = self.progress.at(dates), self.progress.at(before)
        started, ended = (_steps(column, self.jobs.nodes, dates) for column in (self.outcome.start, self.outcome.end))
        return OverTime(
            date=dates,
            utilization=ratio(executed, nodes * (dates - self.begin)),
            window_utilization=ratio(executed - executed_before, nodes * (dates - before)),
            window_bandwidth=ratio(moved - moved_before, links * (dates - before)),
            running=started[0] - ended[0],
            nodes=(started[1] - ended[1]) / nodes,
        )

    def to_dict(self) -> dict[str, Any]:
        """The schedule for JSON, as `penstock pack --json` prints it."""
        return {
            "strategy": {**self.strategy.to_dict(), "used_sensibility": _finite(self.sensibility)},
            "policy": self.policy,
            "machine": {"io_nodes": self.machine.io_nodes, "nodes": self.machine.nodes, "bandwidth": self.machine.bandwidth},
            "counts": self.jobs.counts(),
            "begin": self.begin,
            "end": self.end,
            "lost_node_hours": self.lost_node_hours,
            "kept_idle": self.kept_idle,
            **{name: getattr(self, name) for name in MEASURES},
            "packs": [self._pack(pack) for pack in self.packs],
            "over_time": self.over_time().to_dict(),
            "jobs": self._rows(),
        }

    def _pack(self, run: PackRun) -> dict[str, Any]:
        names = self.jobs.names
        return {
            "number": run.number + 1,
            "io_node": run.io_node + 1,
            "jobs": [names[job] for job in run.planned.jobs],
            "joined": [names[job] for job in run.joined],
            "nodes": run.planned.nodes,
            "load": run.planned.load,
            "predicted_seconds": run.planned.seconds,
            "start": run.start,
            "end": run.end,
        }

    def _rows(self) -> list[dict[str, Any]]:
        columns: dict[str, list[Any]] = {
            "name": list(self.jobs.names),
            "nodes": self.jobs.nodes.tolist(),
            "release": self.jobs.release.tolist(),
            "start": self.outcome.start.tolist(),
            "end": self.outcome.end.tolist(),
            "predicted_seconds": self.jobs.seconds.tolist(),
            "volume": self.jobs.volume.tolist(),
            "occupation": self.jobs.occupation.tolist(),
            "waiting": self.waiting.tolist(),
            "stretch": self.stretch.tolist(),
            "io_node": (self.outcome.io_node + 1).tolist(),
            "pack": [None if pack < 0 else pack + 1 for pack in self.outcome.pack.tolist()],
            "backfilled": self.outcome.backfilled.tolist(),
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _steps(dates: Floats, nodes: Ints, at: Floats) -> tuple[Floats, Floats]:
    """How many of the dates, and of the nodes that belong to them, come before each of the dates `at`."""
    order = np.argsort(dates, kind="stable")
    count = np.searchsorted(dates[order], at, "left")
    return count.astype(np.float64), np.concatenate([[0.0], np.cumsum(nodes[order])])[count]


def _finite(number: float) -> float | str:
    return number if math.isfinite(number) else "inf"
