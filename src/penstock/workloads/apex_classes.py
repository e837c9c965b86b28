"""The tables behind the APEX workloads of 000 §6.3: the classes of jobs of NERSC and TRILAB, and Cielo with its successors.

000 prints no table but refers to figure 3 of the APEX workflows report (its [19]). The values come from a transcription of
that figure, not from the report itself. What 000's text says of it agrees: GTS 16,512 cores for 48 hours, CESM 8,000 for
10 days, a SkySurvey pipeline 24 for 4 hours, TRILAB 4,096 to 32,768 cores and 64 hours or more. How a line becomes a job is
this module's reading, where 000 is silent:

- A job is one line: `cores` cores for `hours` hours, one application with one chain. The 100 and 300 runs of the ensembles
  DakotaA and DakotaS share that one job: were each an application of its own, a window on Cielo would hold hundreds of
  them, where 000's authors saw 12.
- ALS is one job of 4 h (eight pipelines of half an hour, one after the other), SkySurvey one of 8 h on 384 cores
  (sixteen pipelines of 24 cores side by side, twice 4 h). Both read once at their beginning and write once at their end.
- Shares count within the workload: 000 gives SkySurvey 12 % of NERSC's core-hours, which is its 0.06 of the 0.482 listed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from penstock.model import InputError, Platform, units

GIB: Final = 2.0**30
CORES_A_NODE: Final = 16
NODE_MEMORY: Final = 32.0 * GIB
"""Bytes of memory of one node, of Cielo and of all its successors."""
NODE_BANDWIDTH: Final = 1.2 * GIB
"""b in bytes/s, of Cielo and of all its successors."""
CIELO_NODES: Final = 8894
CIELO_BANDWIDTH: Final = 200.0 * GIB
"""B of Cielo's parallel file system, in bytes/s."""
DOUBLING: Final = 10
"""α of 000 §6.3.1: the number of steps in which the number of cores doubles."""


@dataclass(frozen=True)
class JobClass:
    """A line of the table: the jobs of one code.

    `share` of the core-hours; mean `hours` of walltime; mean `cores`; `input`, `output` and each `checkpoint` in fractions
    of the memory of the job's nodes; `ensemble`, the number of runs that make up the job (they are not told apart).
    """

    name: str
    share: float
    hours: float
    cores: int
    input: float
    output: float
    checkpoint: float
    ensemble: int = 1


TRILAB: Final = (
    JobClass("EAP", 0.20, 262.4, 16384, 0.03, 1.05, 0.30),
    JobClass("LAP", 0.02, 64.0, 4096, 0.05, 3.2, 0.75),
    JobClass("Silverton", 0.05, 128.0, 32768, 0.0, 0.43, 2.1),
    JobClass("VPIC", 0.03, 157.2, 30000, 0.05, 2.7, 0.1875),
    JobClass("DakotaA", 0.03, 100.0, 8192, 0.05, 0.085, 0.002, ensemble=100),
    JobClass("DakotaS", 0.03, 100.0, 4096, 0.005, 0.0204, 0.30, ensemble=300),
)
NERSC: Final = (
    JobClass("ALS", 0.001, 4.0, 100, 0.3165, 1.0629, 0.0),
    JobClass("CESM", 0.06, 240.0, 8000, 0.0, 10.2795, 0.32),
    JobClass("GTS", 0.06, 48.0, 16512, 0.0, 0.1478, 0.67),
    JobClass("HipMer", 0.001, 4.0, 960, 0.6583, 0.3434, 0.0),
    JobClass("Materials", 0.19, 41.7, 2400, 0.0, 0.2708, 0.50),
    JobClass("MILC", 0.11, 6.0, 4096, 0.7388, 0.7388, 0.0),
    JobClass("SkySurvey", 0.06, 8.0, 384, 0.0879, 0.0269, 0.0),
)
CLASSES: Final = MappingProxyType({"nersc": NERSC, "trilab": TRILAB})
"""The classes of each workload."""


@dataclass(frozen=True)
class Machine:
    """A machine of `nodes` nodes, each as one of Cielo, whose file system has `bandwidth` bytes/s."""

    name: str
    nodes: int
    bandwidth: float

    def __post_init__(self) -> None:
        units.count(self.nodes, "machine.nodes", "nodes")
        units.bandwidth(self.bandwidth, "machine.bandwidth")

    @property
    def platform(self) -> Platform:
        """The machine as applications see it: b_i = min(nodes · 1.2, B) GiB/s."""
        return Platform(self.bandwidth, NODE_BANDWIDTH, self.nodes)


def scaled(step: int) -> Machine:
    """M_t of 000 §6.3.1 for t = `step`: 2^(t/α) times Cielo's cores and 2^(t/α) / t times its bandwidth, α = 10.

    The factor of the bandwidth has no value at t = 0, where the machine is Cielo itself, with factor 1. Cores grow as the
    bandwidth does but for 1/t, so the I/O pressure of a workload grows about as t.
    """
    growth = 2.0 ** (step / DOUBLING)
    name = f"M_{step}" if step else "cielo"
    return Machine(name, round(CIELO_NODES * growth), CIELO_BANDWIDTH * growth / max(step, 1))


MACHINES: Final = MappingProxyType({machine.name: machine for machine in map(scaled, range(DOUBLING + 1))})
"""Cielo and its successors M_1 to M_10, by name."""


def classes(workload: str) -> tuple[JobClass, ...]:
    """The classes of the workload of that name."""
    if workload not in CLASSES:
        raise InputError("workload", f"{workload!r} is unknown; expected one of {', '.join(CLASSES)}")
    return CLASSES[workload]


def find_machine(name: str) -> Machine:
    """The machine of that name; M_0 is Cielo."""
    machine = MACHINES.get("cielo" if name == "M_0" else name)
    if machine is None:
        raise InputError("machine", f"{name!r} is unknown; expected one of {', '.join(MACHINES)}")
    return machine


def nodes_of(cores: float) -> int:
    """The nodes that `cores` cores take."""
    return math.ceil(cores / CORES_A_NODE)
