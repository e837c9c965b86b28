"""The machine of 001 §III.B.1: R I/O nodes, each with its own P compute nodes and a bandwidth b to the file system."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model import InputError, Platform, Workload, units


@dataclass(frozen=True)
class Machine:
    """`io_nodes` R, `nodes` P of each of them, `bandwidth` b of each of them in bytes/s. I/O nodes do not interact."""

    nodes: int
    bandwidth: float
    io_nodes: int = 1

    def __post_init__(self) -> None:
        units.count(self.nodes, "nodes", "nodes")
        units.bandwidth(self.bandwidth, "bandwidth")
        units.count(self.io_nodes, "io-nodes", "I/O nodes")

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
