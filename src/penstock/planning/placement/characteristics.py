"""What a scheduler knows of the applications that share I/O resources, and what follows from it (002 Table I, §III.B).

Alone on n resources, application j computes for T_cpu seconds and transfers for T_io(n) = V_io / b(n) seconds. Its
I/O-Stress is n · T_io(n) / (T_cpu + T_io(n)), the number of resources that it occupies on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Final

import numpy as np

from penstock.engine.machine import resources_of
from penstock.model import Application, Curve, Workload
from penstock.model.phases import WORK
from penstock.numeric.arrays import Floats, Ints


class Information(StrEnum):
    """What a heuristic must know of the applications (002 Table II)."""

    NODES = "nodes"
    TOTALS = "totals"
    BEST = "best"
    CURVES = "curves"


LEVELS: Final = tuple(Information)
"""From what a resource manager always knows to what takes many runs to measure; each includes the ones before."""


@dataclass(frozen=True)
class Characteristics:
    """The applications, one entry each, on `resources` I/O resources of a machine with `machine` nodes."""

    resources: int
    """N."""
    machine: int
    """Q_cpu."""
    nodes: Ints
    """Q_j."""
    work: Floats
    """T_cpu in seconds, for one run through the phases."""
    volume: Floats
    """V_io in bytes, for one run through the phases."""
    measured: tuple[tuple[int, ...], ...]
    """Numbers of resources up to N at which the bandwidth was measured; empty where it was not."""
    curves: Floats | None
    """b_j(n) in bytes/s: row j for 1, …, N resources; None unless all are known."""
    best: Ints | None
    """n_perf: the number of resources with the largest bandwidth, the fewest on ties; None unless all are known."""

    @classmethod
    def of(cls, workload: Workload, believed: Sequence[Curve] | None = None) -> Characteristics:
        """The characteristics of a workload; `believed` curves, if given, replace its own."""
        size = resources_of(workload)
        applications = workload.applications
        curves = tuple(application.curve for application in applications) if believed is None else tuple(believed)
        known = all(curve is not None for curve in curves)
        rows = np.array([curve.upto(size) for curve in curves if curve is not None])
        return cls(
            resources=size,
            machine=workload.platform.nodes or sum(application.nodes for application in applications),
            nodes=np.array([application.nodes for application in applications]),
            work=np.array([_total(application, work=True) for application in applications]),
            volume=np.array([_total(application, work=False) for application in applications]),
            measured=tuple(tuple(n for n in curve.counts if n <= size) if curve else () for curve in curves),
            curves=rows if known else None,
            best=_best(workload, curves, size),
        )

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def level(self) -> Information:
        """The highest level that is known of all applications."""
        if self.curves is not None:
            return Information.CURVES
        return Information.BEST if self.best is not None else Information.TOTALS

    @cached_property
    def io_seconds(self) -> Floats:
        """T_io in seconds without contention: row j for 1, …, N resources."""
        assert self.curves is not None, "asked only by what needs curves"
        return self.volume[:, None] / self.curves

    @cached_property
    def io_ratio(self) -> Floats:
        """T_io / (T_cpu + T_io), in the same rows; 0 for an application that does nothing."""
        whole = self.work[:, None] + self.io_seconds
        return np.divide(self.io_seconds, whole, out=np.zeros_like(whole), where=whole > 0.0)

    @cached_property
    def stress(self) -> Floats:
        """I/O-Stress in resources, in the same rows."""
        return self.io_ratio * np.arange(1, self.resources + 1)

    @cached_property
    def least_stress(self) -> Ints:
        """n_sys: the numbers of resources that stress the system least, the fewest on ties (002 eq. 2)."""
        counts: Ints = np.argmin(self.stress, axis=1) + 1
        return counts

    @cached_property
    def cpu_load(self) -> Floats:
        """CPUload = Q · T_cpu / (T_cpu + T_io): the nodes that compute on average (002 §IV.A)."""
        return self.nodes[:, None] * (1.0 - self.io_ratio)

    def at(self, table: Floats, counts: Ints) -> Floats:
        """The entry of each application for its number of resources."""
        return table[np.arange(len(self)), np.asarray(counts) - 1]

    def io_load(self, counts: Ints) -> float:
        """I/O-load of an allocation: the part of the resources that it occupies; above 1 the system is saturated (eq. 3)."""
        return float(self.at(self.stress, counts).sum()) / self.resources


def _total(application: Application, *, work: bool) -> float:
    phases = application.phases
    return float(phases.amounts[(phases.kinds == WORK) == work].sum())


def _best(workload: Workload, curves: Sequence[Curve | None], size: int) -> Ints | None:
    """n_perf of each; a `best_count` above N stands for N."""
    found = []
    for application, curve in zip(workload.applications, curves, strict=True):
        if curve is not None:
            found.append(int(np.argmax(curve.upto(size))) + 1)
        elif application.best_count is None:
            return None
        else:
            found.append(min(application.best_count, size))
    return np.array(found)
