"""The machine and the jobs as a batch scheduler knows them (001 §III.B).

The machine has R I/O nodes, each with its own P compute nodes and a bandwidth b to the file system. Job J_i asks for Q_i
nodes. Alone on its I/O node it takes T_i = Σ_j a_ij + b_ij / b seconds (eq. III.1), where b is the most it can use of the
bandwidth, and moves V_i = Σ_j b_ij bytes. Its average bandwidth is V_i / T_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from penstock.model import Application, InputError, Platform, Workload, parse_units
from penstock.numeric.arrays import Floats, Ints
from penstock.workloads.load import volume


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
        """The machine of a workload, whose platform is one I/O node; `nodes` replaces the platform's."""
        found = workload.platform.nodes if nodes is None else nodes
        if found is None:
            raise InputError("nodes", "the platform of the workload has no number of nodes; expected one there or --nodes P")
        return cls(found, workload.platform.bandwidth, io_nodes)

    def platform(self, workload: Workload) -> Platform:
        """One I/O node with its compute nodes, as the platform of a run."""
        given = workload.platform
        return Platform(self.bandwidth, given.node_bandwidth, self.nodes, degradation=given.degradation)


@dataclass(frozen=True, eq=False)
class Jobs:
    """The jobs as columns, one entry a job in the order of the workload, in seconds and bytes."""

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

    @staticmethod
    def require(workload: Workload, machine: Machine) -> None:
        """Raise InputError for a workload that cannot be planned on the machine."""
        if workload.window is not None:
            raise InputError("window", "jobs are planned to their ends; expected a workload without a window")
        _refuse_large(workload.applications, machine)

    @classmethod
    def of(cls, workload: Workload, machine: Machine) -> Jobs:
        """The jobs of a workload; InputError if one does not fit the machine. Time linear in the number of phases."""
        cls.require(workload, machine)
        applications = workload.applications
        platform = machine.platform(workload)
        seconds = np.array([application.seconds_alone(application.cap(platform)) for application in applications])
        lead = np.array([application.lead for application in applications])
        operations = np.array([application.phases.operations for application in applications], np.int64)
        return cls(
            names=tuple(application.name for application in applications),
            nodes=np.array([application.nodes for application in applications], np.int64),
            seconds=seconds,
            volume=np.array([volume(application) for application in applications]),
            iteration=(seconds - lead) / np.maximum(1, operations),
            operations=operations,
            release=np.array([application.release for application in applications]),
        )

    @cached_property
    def bandwidth(self) -> Floats:
        """V_i / T_i in bytes/s, 0 for a job that takes no time."""
        return np.where(self.seconds > 0.0, self.volume / np.where(self.seconds > 0.0, self.seconds, 1.0), 0.0)

    @property
    def begin(self) -> float:
        """The earliest release."""
        return float(self.release.min())

    def io_load(self, machine: Machine) -> float:
        """α = P · Σ (V_i / b) / Σ (Q_i · T_i), an upper bound on the average I/O occupation (001 eq. III.5)."""
        node_seconds = float((self.nodes * self.seconds).sum())
        return machine.nodes * float(self.volume.sum()) / machine.bandwidth / node_seconds if node_seconds > 0.0 else 0.0

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
