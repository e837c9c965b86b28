"""The machine: one I/O system of total bandwidth B that all applications share (000 §3.1.2)."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model import units


@dataclass(frozen=True)
class Platform:
    """`bandwidth` B of the I/O system and `node_bandwidth` b of one node, in bytes/s; `nodes` of the machine.

    Without `node_bandwidth` every application can use all of B by itself.
    """

    bandwidth: float
    node_bandwidth: float | None = None
    nodes: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "bandwidth", units.bandwidth(self.bandwidth, "bandwidth"))
        if self.node_bandwidth is not None:
            object.__setattr__(self, "node_bandwidth", units.bandwidth(self.node_bandwidth, "node_bandwidth"))
        if self.nodes is not None:
            units.count(self.nodes, "nodes", "nodes")

    def cap(self, nodes: int) -> float:
        """The largest bandwidth that `nodes` nodes can use: b_i = min(p_i · b, B) (000 eq. 1)."""
        if self.node_bandwidth is None:
            return self.bandwidth
        return min(nodes * self.node_bandwidth, self.bandwidth)
