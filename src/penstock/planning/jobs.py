"""The machine and the jobs as a batch scheduler knows them (001 §III.B), and the world in which the jobs run.

The machine has R I/O nodes, each with its own P compute nodes and a bandwidth b to the file system. Job J_i asks for Q_i
nodes. Alone on its I/O node it takes T_i = Σ_j a_ij + b_ij / b_i seconds (eq. III.1), where b_i is the most it can use of
the bandwidth b, and moves V_i = Σ_j b_ij bytes. It occupies the link for O_i seconds: V_i / b_i where the I/O policy serves
one job at a time, V_i / b where jobs share the link. With b_i = b, as in the thesis, that is the same. Its I/O load is
O_i / T_i.

A scheduler starts jobs, lets time pass to the next end of a job or to a date, and decides again. It does not know whether
the world is the engine or a prediction, in which every job takes its time alone.

A `Meter` reads the engine where a batch run stops anyway, so the run is not disturbed. *Executed* are node-seconds of
progress: work and transfers, each transfer counted as its time alone (001 §III.D.2.c: a node executes while its job
computes or does I/O, is delayed while the job waits for I/O, and is idle otherwise).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

import numpy as np

from penstock.engine import Run
from penstock.model import Application, InputError, Platform, Workload, parse_units
from penstock.model.workload import volume
from penstock.numeric.arrays import Floats, Ints
from penstock.renamed import old_names


@dataclass(frozen=True)
class Machine:
    """`io_nodes` R, each with `nodes` P compute nodes and a `bandwidth` b in bytes/s. I/O nodes do not interact."""

    nodes: int
    bandwidth: float
    io_nodes: int = 1

    def __post_init__(self) -> None:
        parse_units.count(self.nodes, "nodes", "nodes")
        parse_units.bandwidth(self.bandwidth, "bandwidth")
        parse_units.count(self.io_nodes, "io-nodes", "I/O nodes")

    @classmethod
    def of(cls, workload: Workload, nodes: int | None = None, io_nodes: int = 1) -> Machine:
        """The machine of a workload, whose platform is one I/O node.

        Args:
            workload: applications and platform.
            nodes: compute nodes of each I/O node; those of the platform by default.
            io_nodes: number of I/O nodes.

        Raises:
            InputError: the number of nodes is not known.
        """
        found = workload.platform.nodes if nodes is None else nodes
        if found is None:
            raise InputError("nodes", "the platform of the workload has no number of nodes; expected one there or --nodes P")
        return cls(found, workload.platform.bandwidth, io_nodes)

    def platform(self, workload: Workload) -> Platform:
        """One I/O node with its compute nodes, as the platform of a run of the `workload`."""
        given = workload.platform
        return Platform(self.bandwidth, given.node_bandwidth, self.nodes, degradation=given.degradation)


@dataclass(frozen=True, eq=False)
class Jobs:
    """The jobs as columns, one entry per job in the order of the workload, in seconds and bytes."""

    names: tuple[str, ...]
    nodes: Ints
    """Q_i."""
    seconds: Floats
    """T_i."""
    volume: Floats
    """V_i."""
    iteration: Floats
    """Mean length of an iteration: T_i without its lead, divided by its operations (by 1 if it has none)."""
    operations: Ints
    release: Floats
    occupation: Floats
    """O_i."""

    @staticmethod
    def require(workload: Workload, machine: Machine) -> None:
        """Raise InputError for a `workload` that cannot be planned on the `machine`."""
        if workload.window is not None:
            raise InputError("window", "jobs are planned to their ends; expected a workload without a window")
        _refuse_large(workload.applications, machine)

    @classmethod
    def of(cls, workload: Workload, machine: Machine, *, exclusive: bool = False) -> Jobs:
        """The jobs of a workload. Time linear in the number of phases.

        Args:
            workload: applications and platform.
            machine: the I/O nodes.
            exclusive: whether the I/O policy serves one job at a time, so that a slow job occupies the link for longer.

        Raises:
            InputError: a job does not fit the machine.
        """
        cls.require(workload, machine)
        applications = workload.applications
        platform = machine.platform(workload)
        caps = np.array([application.cap(platform) for application in applications])
        seconds = np.array([one.seconds_alone(cap) for one, cap in zip(applications, caps.tolist(), strict=True)])
        volumes = np.array([volume(application) for application in applications])
        lead = np.array([application.lead for application in applications])
        operations = np.array([application.phases.operations for application in applications], np.int64)
        return cls(
            names=tuple(application.name for application in applications),
            nodes=np.array([application.nodes for application in applications], np.int64),
            seconds=seconds,
            volume=volumes,
            iteration=(seconds - lead) / np.maximum(1, operations),
            operations=operations,
            release=np.array([application.release for application in applications]),
            occupation=volumes / (caps if exclusive else machine.bandwidth),
        )

    @cached_property
    def load(self) -> Floats:
        """O_i / T_i, the part of the time for which a job occupies the link; 0 for a job that takes no time."""
        return np.where(self.seconds > 0.0, self.occupation / np.where(self.seconds > 0.0, self.seconds, 1.0), 0.0)

    @property
    def begin(self) -> float:
        """The earliest release."""
        return float(self.release.min())

    def io_load(self, machine: Machine) -> float:
        """α = P · Σ O_i / Σ (Q_i · T_i), an upper bound on the average I/O occupation of the `machine` (eq. III.5)."""
        node_seconds = float((self.nodes * self.seconds).sum())
        return machine.nodes * float(self.occupation.sum()) / node_seconds if node_seconds > 0.0 else 0.0

    def counts(self) -> dict[str, int]:
        """Number of jobs, and of those that need attention: without I/O, of no length, released later."""
        return {
            "jobs": len(self),
            "without_io": int(np.count_nonzero(self.operations == 0)),
            "of_no_length": int(np.count_nonzero(self.seconds == 0.0)),
            "released_later": int(np.count_nonzero(self.release > self.begin)),
        }

    def __len__(self) -> int:
        return len(self.names)


def _refuse_large(applications: tuple[Application, ...], machine: Machine) -> None:
    large = [index for index, application in enumerate(applications) if application.nodes > machine.nodes]
    if large:
        place, asked = f"applications[{large[0]}].nodes", applications[large[0]].nodes
        more = f" ({len(large):,} jobs are too large)" if len(large) > 1 else ""
        raise InputError(
            place, f"{asked} nodes where an I/O node has {machine.nodes}{more}; expected at most {machine.nodes}"
        )


__getattr__ = old_names(__name__, Predicted="PredictedWorld", PredictedWorlds="PredictedWorldFactory", Worlds="WorldFactory")

MOST_READINGS: Final = 2_000
"""Of one I/O node. A reading of 24,000 jobs takes 0.2 ms; beyond this number every other reading is dropped."""


class World(Protocol):
    """Some jobs on one I/O node, numbered among themselves from 0; `penstock.engine.Run` is one."""

    @property
    def now(self) -> float:
        """The date in seconds."""

    def start(self, index: int) -> None:
        """Start the held job number `index` now."""

    def advance(self, until: float = math.inf) -> tuple[int, ...]:
        """Go on to the next end of a job, at most to the date `until`, and return the numbers of the ended jobs."""


class WorldFactory(Protocol):
    """Opens worlds, one after the other for each I/O node, and records what happens in them."""

    def open(self, io_node: int, jobs: Sequence[int], held: Collection[int], begin: float) -> World:
        """Open a world on an `io_node` at the date `begin` for these `jobs`.

        Those at the positions `held` wait to be started, the others start.
        """

    def stopped(self, since: float, ended: int, last: bool) -> None:
        """Note that time has passed in the latest world, whose date 0 is `since`, and that so many jobs have `ended`.

        With `last`, this world is over.
        """


class PredictedWorld:
    """A world without contention: job i ends `seconds[i]` after its start; all but those `held` start at `begin`."""

    def __init__(self, seconds: Sequence[float], held: Collection[int], begin: float) -> None:
        self.now = begin
        self._seconds = seconds
        waiting = frozenset(held)
        self._ends = [(begin + length, index) for index, length in enumerate(seconds) if index not in waiting]
        heapq.heapify(self._ends)

    def start(self, index: int) -> None:
        """Start the held job number `index` now."""
        heapq.heappush(self._ends, (self.now + self._seconds[index], index))

    def advance(self, until: float = math.inf) -> tuple[int, ...]:
        """Go on to the next end of a job, at most to the date `until`, and return the numbers of the ended jobs."""
        if not self._ends or self._ends[0][0] > until:
            self.now = until if math.isfinite(until) else self.now
            return ()
        self.now = self._ends[0][0]
        ended = []
        while self._ends and self._ends[0][0] == self.now:
            ended.append(heapq.heappop(self._ends)[1])
        return tuple(sorted(ended))


class PredictedWorldFactory:
    """Opens predicted worlds and records nothing.

    Args:
        jobs: what the scheduler knows of the jobs.
    """

    def __init__(self, jobs: Jobs) -> None:
        self._seconds = jobs.seconds.tolist()

    def open(
        self,
        io_node: int,  # noqa: ARG002
        jobs: Sequence[int],
        held: Collection[int],
        begin: float,
    ) -> PredictedWorld:
        """Open a predicted world for these `jobs` at the date `begin`; those at the positions `held` wait.

        All worlds are alike, whatever the `io_node`.
        """
        return PredictedWorld([self._seconds[job] for job in jobs], held, begin)

    def stopped(self, since: float, ended: int, last: bool) -> None:
        """Record nothing, whatever `since`, `ended` and `last` are."""


@dataclass(frozen=True, eq=False)
class Progress:
    """Node-seconds executed and bytes moved since the start, at these dates; exact there, linear between them."""

    date: Floats
    executed: Floats
    moved: Floats

    def at(self, dates: Floats) -> tuple[Floats, Floats]:
        """Node-seconds executed and bytes moved until other `dates`, in seconds."""
        return np.interp(dates, self.date, self.executed), np.interp(dates, self.date, self.moved)

    @classmethod
    def total(cls, parts: Sequence[Progress]) -> Progress:
        """The sum of the `parts`, one per I/O node."""
        dates = np.unique(np.concatenate([part.date for part in parts]))
        executed, moved = (np.sum(column, axis=0) for column in zip(*(part.at(dates) for part in parts), strict=True))
        return cls(dates, executed, moved)


class Readings:
    """Readings of a run; beyond `MOST_READINGS`, at every other stop.

    Args:
        begin: the date of the first reading, in seconds; nothing is done then.
    """

    def __init__(self, begin: float) -> None:
        self._rows = [(begin, 0.0, 0.0)]
        self._stride, self._stops = 1, 0

    def due(self, *, last: bool) -> bool:
        """Whether to take a reading where the run stops now; the `last` one is always taken."""
        self._stops += 1
        return last or self._stops % self._stride == 0

    def add(self, date: float, executed: float, moved: float) -> None:
        """Enter what has been `executed` and `moved` until a `date`, in place of a former reading of that date."""
        row = (date, executed, moved)
        if date > self._rows[-1][0]:
            self._rows.append(row)
        else:
            self._rows[-1] = row
        if len(self._rows) > MOST_READINGS:
            self._rows = self._rows[:-1:2] + self._rows[-1:]
            self._stride *= 2

    def progress(self) -> Progress:
        """All readings."""
        return Progress(*(np.array(column) for column in zip(*self._rows, strict=True)))


class Meter:
    """Reads the progress of one I/O node, over one run after the other.

    Args:
        begin: the date of the first reading, in seconds; nothing is done then.
    """

    def __init__(self, begin: float) -> None:
        self._readings = Readings(begin)
        self._before = (0.0, 0.0)

    def read(self, run: Run, nodes: Floats, since: float = 0.0, *, last: bool = False) -> None:
        """Take a reading of a `run` whose jobs have so many `nodes` each, and whose date 0 is `since`, in seconds.

        The `last` reading of a run is always taken.
        """
        if not self._readings.due(last=last):
            return
        done = run.accounts()
        executed = self._before[0] + float((nodes * done["progress"]).sum())
        moved = self._before[1] + float(done["transferred"].sum())
        self._readings.add(since + run.now, executed, moved)
        if last:
            self._before = (executed, moved)

    def progress(self) -> Progress:
        """All readings."""
        return self._readings.progress()
