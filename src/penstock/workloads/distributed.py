"""The application sets of 002 §V.C: K applications on N I/O resources, for a wanted I/O load Θ.

For each application, all released at 0:

- a curve b_j, drawn from a source of curves (`penstock.workloads.curves`);
- p_j ~ U{2 … 20} equal phases, each work and then I/O;
- X ~ U[0, b], the ratio of compute to I/O time with 1 resource, where these take 5000 s together: T_cpu = 5000·X/(1 + X)
  seconds of work and V = 5000·b_j(1)/(1 + X) bytes in all;
- Q_j nodes of the Q_cpu = 24·N: 10 % of the applications are large and use 75 % of the nodes, 30 % medium with 20 %, and
  60 % small with 5 %. Which ones are large is drawn, so that their order favours none.

With 1 resource application j keeps it busy for I/O-Stress(j, 1) = 1/(1 + X) of its time. b is the solution of log(1 + b)
= b·ΘN/K, which makes the mean of that ΘN/K. So I/O-load(π_1), the mean over the resources when every application has
one, is Θ in expectation only; `load_with_one` measures it. ΘN/K must be below 1: I/O cannot take more than all the time.

Groups are rounded half up, large and medium first, and the small ones are the rest. The nodes of a group, rounded half
up too, are dealt out as evenly as possible: some applications have one more than others. Each has at least one node;
where small or medium ones would have less (K above 2·N), the large ones give up what is missing. The large ones have
what the others leave, so all nodes are used, except when there are no large ones (K below 5).

Only the curves bound the bandwidth: the platform's bandwidth is what all applications can use together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.model import Application, InputError, Platform, Workload
from penstock.model.platform import total_bandwidth
from penstock.model.workload import volume
from penstock.workloads.batches import periodic
from penstock.workloads.curves import CurveSource
from penstock.workloads.parameters import parameter, require

HORIZON: Final = 5000.0
"""T_cpu + T_io(1) of every application, in seconds."""
NODES_PER_RESOURCE: Final = 24
PHASES: Final = (2, 20)
"""The range of p_j."""
LARGE, MEDIUM = 10, 30
"""Percent of the applications that are large and medium; the others are small."""
MEDIUM_NODES, SMALL_NODES = 20, 5
"""Percent of the nodes that medium and small applications use; the large ones use the others."""


@dataclass(frozen=True)
class Distributed:
    """The parameters of the application sets (002 §V.C)."""

    load: float = parameter("wanted I/O load with one resource each; below K/N", symbol="Θ", aliases=("theta",))
    applications: int = parameter("how many applications", 40, symbol="K")
    resources: int = parameter("how many I/O resources", 20, symbol="N")

    def __post_init__(self) -> None:
        require(1 <= self.resources < 2**31, "resources", self.resources, "1 or more")
        most = f"1 to {self.nodes}, as there are {NODES_PER_RESOURCE} nodes for each of {self.resources} I/O resources"
        require(1 <= self.applications <= self.nodes, "applications", self.applications, most)
        require(math.isfinite(self.load) and self.load > 0.0, "load", self.load, "a number above 0")
        if self.mean_stress >= 1.0:
            what = f"{self.load} makes {self.applications} applications do I/O for {self.mean_stress:g} of their time"
            expected = f"under {self.applications / self.resources:g}, applications over I/O resources"
            raise InputError("load", f"{what}; expected {expected}")

    @property
    def nodes(self) -> int:
        """Q_cpu, the nodes of the machine."""
        return NODES_PER_RESOURCE * self.resources

    @property
    def mean_stress(self) -> float:
        """ΘN/K, the mean of I/O-Stress(j, 1)."""
        return self.load * self.resources / self.applications


def distributed(parameters: Distributed, curves: CurveSource, seed: int) -> Workload:
    """Draw a set of applications.

    Args:
        parameters: Load, number of applications and of I/O resources.
        curves: The source of the curves.
        seed: The same seed gives the same set. For another load only X differs; for another source of curves, sizes, numbers
            of phases and the place of X in its range stay the same.

    Returns:
        A workload on I/O resources, each application with its curve.

    Example:
        >>> from penstock.workloads.curves import FAMILIES
        >>> workload = distributed(Distributed(load=0.5), FAMILIES["io-nodes"], seed=1)
        >>> len(workload.applications), workload.platform.resources
        (40, 20)

    """
    random = np.random.default_rng(seed)
    count = parameters.applications
    phases = random.integers(*PHASES, count, endpoint=True)
    ratios = largest_ratio(parameters.mean_stress) * random.random(count)
    sizes = _sizes(count, parameters.nodes)
    groups = [sizes[place] for place in random.permutation(count).tolist()]
    drawn = curves.draw(count, random)
    applications = []
    for index, curve in enumerate(drawn):
        group, nodes = groups[index]
        parts, ratio = int(phases[index]), float(ratios[index])
        work, moved = HORIZON * ratio / (1.0 + ratio), HORIZON * curve.bandwidths[0] / (1.0 + ratio)
        chain = periodic(work / parts, moved / parts, parts)
        applications.append(Application(f"{group}-{index}", chain, nodes=nodes, curve=curve))
    platform = Platform(total_bandwidth(drawn), nodes=parameters.nodes, resources=parameters.resources)
    return Workload(platform, tuple(applications))


def largest_ratio(mean_stress: float) -> float:
    """b > 0 with log(1 + b) = b · mean_stress, so that 1/(1 + X) has that mean, from above 0 to below 1, for X ~ U[0, b].

    log(1 + b) − b·m rises from 0, is largest at 1/m − 1 and falls from there on: b is found by bisection beyond that.
    """
    low = 1.0 / mean_stress - 1.0
    high = 2.0 * low
    while math.log1p(high) > high * mean_stress:
        low, high = high, 2.0 * high
    while low < (middle := 0.5 * (low + high)) < high:
        if math.log1p(middle) > middle * mean_stress:
            low = middle
        else:
            high = middle
    return high


def load_with_one(workload: Workload) -> float:
    """I/O-load(π_1) of a `workload` = 1/N · Σ_j T_io(1) / (T_cpu + T_io(1)): how busy resources are if each job has one."""
    resources = workload.platform.resources
    if resources is None:
        raise InputError("platform.resources", "is not given; expected the number of I/O resources")
    stress = 0.0
    for index, application in enumerate(workload.applications):
        if application.curve is None:
            raise InputError(f"applications[{index}].curve", "is not given; expected the bandwidth by I/O resources")
        rate = application.curve.bandwidths[0]
        seconds = application.seconds_alone(rate)
        stress += volume(application) / rate / seconds if seconds > 0.0 else 0.0
    return stress / resources


def _sizes(applications: int, nodes: int) -> list[tuple[str, int]]:
    """The group and the nodes of each application, the large ones first."""
    large, medium = _percent(applications, LARGE), _percent(applications, MEDIUM)
    small = applications - large - medium
    for_medium, for_small = max(_percent(nodes, MEDIUM_NODES), medium), max(_percent(nodes, SMALL_NODES), small)
    groups = (
        ("large", large, nodes - for_medium - for_small),
        ("medium", medium, for_medium),
        ("small", small, for_small),
    )
    return [(name, size) for name, members, total in groups for size in _dealt(total, members)]


def _percent(whole: int, percent: int) -> int:
    """Rounded half up."""
    return (percent * whole + 50) // 100


def _dealt(nodes: int, members: int) -> list[int]:
    """The nodes, dealt out as evenly as possible; the first members have one more."""
    if members == 0:
        return []
    each, more = divmod(nodes, members)
    return [each + (place < more) for place in range(members)]
