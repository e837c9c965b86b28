"""Groups of applications with bandwidth of their own, found from a workload and run in the engine (001 §V.B as a system).

The applications first run as without groups: all share the link. An application moves v_i bytes in an operation, on average,
and starts one every t_i seconds: the length of that run divided by the number of its operations. So the loads v_i / t_i add
up to at most B. The contiguous programme (`penstock.planning.partition`) cuts the applications into groups of similar v and
gives each a part of the bandwidth.

Groups do not touch each other: each is a link of its own, on which its members take turns or share. They start when they
started in the first run. Every way is measured against what an application takes alone on the whole machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

import numpy as np

from penstock.engine import Run
from penstock.engine.run import prepare
from penstock.model import InputError, Platform, Workload
from penstock.model.application import WORK
from penstock.numeric.arrays import Floats, Ints, ratio
from penstock.planning.operation import DEFAULT_SHARING, MachineSettings, operate
from penstock.planning.partition import Applications, Partition, all_exclusive, all_shared, contiguous_partition
from penstock.policies import Policy, find
from penstock.policies.policy import STATIC

DEFAULT_EXCLUSIVE: Final = "fifo"
"""How the members of a group take turns."""
ALL_SHARED: Final = "all shared"
"""The way without groups that everything is compared with."""
EXCLUSIVE_INSIDE: Final = "groups, exclusive inside"
SHARED_INSIDE: Final = "groups, shared inside"
MOST_GROUPED: Final = 5_000
"""Applications that are put into groups: the time grows with the square of their number, 10 s for these."""

Link: TypeAlias = tuple[Ints, float]
"""The positions of its applications, and its bytes/s."""


@dataclass(frozen=True, eq=False)
class SharedRun:
    """What came of one way to divide the bandwidth; a column has an entry for each application, in seconds."""

    name: str
    policy: str
    parts: int
    """Links that the bandwidth is divided into."""
    value: float | None
    """The simplified stretch of 001 eq. V.1; None where it is not defined, with all on one link that they share."""
    nodes: Ints
    start: Floats
    end: Floats
    alone: Floats
    """Seconds that it takes alone on the whole machine."""
    io: Floats
    """Of these, the seconds of its transfers."""

    @property
    def lost(self) -> Floats:
        """Node-hours that each application loses to I/O: those beyond its time alone."""
        return self.nodes * np.maximum(0.0, self.end - self.start - self.alone) / 3600.0

    @property
    def lost_node_hours(self) -> float:
        """Node-hours that all lose to I/O."""
        return float(self.lost.sum())

    @property
    def stretch(self) -> Floats:
        """Time from start to end over the time alone; 1 for an application that takes no time."""
        return ratio(self.end - self.start, self.alone)

    @property
    def mean_stretch(self) -> float:
        """Mean over applications."""
        return float(self.stretch.mean())

    @property
    def max_stretch(self) -> float:
        """The largest of all applications."""
        return float(self.stretch.max())

    @property
    def max_io_slowdown(self) -> float:
        """Time in I/O, waiting included, over that of the transfers alone: the largest of all applications."""
        return float(ratio(self.end - self.start - self.alone + self.io, self.io).max())

    def to_dict(self) -> dict[str, Any]:
        """The measures for JSON."""
        names = ("name", "policy", "parts", "value", "lost_node_hours", "mean_stretch", "max_stretch", "max_io_slowdown")
        return {**{name: getattr(self, name) for name in names}, "makespan": float(self.end.max() - self.start.min())}


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of the applications of a workload, and runs with and without them."""

    volume: Floats
    """v_i in bytes; 0 without I/O."""
    time: Floats
    """t_i in seconds; infinite without I/O."""
    bandwidth: float
    """B in bytes/s."""
    partition: Partition
    """The groups; members are positions in the workload. Applications without I/O are in none."""
    runs: tuple[SharedRun, ...]
    """The ways to divide the bandwidth: without groups, with them, and with a part for each application."""

    @property
    def baseline(self) -> SharedRun:
        """All on one link that they share."""
        return self.runs[0]

    @property
    def best(self) -> SharedRun:
        """The way that loses the fewest node-hours to I/O; of equal ones the first."""
        return min(self.runs, key=lambda run: run.lost_node_hours)

    @property
    def load(self) -> float:
        """Part of the bandwidth that is used on average with all shared."""
        return float((self.volume / self.time).sum()) / self.bandwidth

    def run(self, name: str) -> SharedRun:
        """The run of that `name`."""
        return next(run for run in self.runs if run.name == name)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each group: its members, v, bandwidth, and what its members lose with each rule inside."""
        exclusive, shared = self.run(EXCLUSIVE_INSIDE).lost, self.run(SHARED_INSIDE).lost
        rows = []
        for number, part in enumerate(self.partition.parts):
            members = list(part.members)
            volumes, loads = self.volume[members], self.volume[members] / self.time[members]
            rows.append(
                {
                    "group": number + 1,
                    "applications": len(members),
                    "least_volume": float(volumes.min()),
                    "most_volume": float(volumes.max()),
                    "bandwidth": part.bandwidth,
                    "load": float(loads.sum()) / part.bandwidth,
                    "value": part.stretch,
                    "lost_exclusive": float(exclusive[members].sum()),
                    "lost_shared": float(shared[members].sum()),
                }
            )
        return rows


def group_applications(
    workload: Workload,
    shared: Policy | str = DEFAULT_SHARING,
    exclusive: Policy | str = DEFAULT_EXCLUSIVE,
    *,
    progress: Callable[[str, float], None] | None = None,
) -> Groups:
    """Find groups of applications with bandwidth of their own, and run the workload with and without them.

    Args:
        workload: The applications, without a window. On a platform with a number of nodes they are jobs, which wait for
            nodes with EASY backfilling; else each starts at its release.
        shared: The policy where applications share.
        exclusive: The policy where they take turns.
        progress: Called with what is under way and the part done, from 0 to 1.

    Returns:
        The groups and the runs. Time n² for the groups of n applications.

    Raises:
        InputError: There is a window, no I/O, or too many applications; or a policy is not of its kind.

    Example:
        Two applications with much I/O at a time and two with little; each pair gets a part of the link.

        >>> from penstock.model import Application, Platform, Workload
        >>> large, small = [("work", 90.0), ("io", 10.0)], [("work", 9.0), ("io", 1.0)] * 10
        >>> chains = (("a", large), ("b", large), ("c", small), ("d", small))
        >>> found = group_applications(Workload(Platform(1.0), tuple(Application.of(*chain) for chain in chains)))
        >>> [part.members for part in found.partition.parts], round(found.partition.value, 9)
        ([(2, 3), (0, 1)], 2.0)
    """
    sharing, turns = _found(shared, "shared"), _found(exclusive, "exclusive")
    if sharing.one_at_a_time or not turns.one_at_a_time:
        wrong, kind = (sharing, "shared") if sharing.one_at_a_time else (turns, "exclusive")
        served = "one application" if wrong.one_at_a_time else "several applications"
        other = f"one that shares, as {DEFAULT_SHARING}" if kind == "shared" else f"one of turns, as {DEFAULT_EXCLUSIVE}"
        raise InputError(kind, f"{wrong.name} serves {served} at a time; expected {other}")
    if workload.window is not None:
        raise InputError("window", "groups are compared over whole runs; expected a workload without a window")
    say = progress or (lambda _name, _part: None)
    return _Grouping(workload, sharing, turns, say).found()


def _found(policy: Policy | str, place: str) -> Policy:
    found = find(policy) if isinstance(policy, str) else policy
    if found.family == STATIC:
        raise InputError(place, f"{found.name} is an order of all applications; expected a policy without one")
    return found


class _Grouping:
    """The runs of one workload."""

    def __init__(self, workload: Workload, shared: Policy, exclusive: Policy, say: Callable[[str, float], None]) -> None:
        self._shared, self._exclusive, self._say = shared, exclusive, say
        self._platform = replace(workload.platform, resources=None, buffer=None)
        members = tuple(replace(one, progress=None, placement=None, share=None) for one in workload.applications)
        self._workload = Workload(self._platform, members)
        self._nodes = np.array([one.nodes for one in members], np.int64)

    def found(self) -> Groups:
        """Start the applications, find the groups and run every way."""
        for policy in (self._shared, self._exclusive):
            prepare(policy, len(self._nodes))
        self._say("starts", 0.0)
        self._start()
        whole = [(np.arange(len(self._nodes)), self._platform.bandwidth)]
        first = self._run(ALL_SHARED, self._shared, whole, None, 0.1)
        volume, time = self._characteristics(first)
        placed = np.flatnonzero(volume > 0.0)
        applications = self._applications(volume[placed], time[placed])
        self._say("groups", 0.2)
        found = contiguous_partition(applications)
        links = _links(found, placed)
        each = all_shared(applications)
        runs = (
            first,
            self._run("all exclusive", self._exclusive, whole, all_exclusive(applications).value, 0.6),
            self._run(EXCLUSIVE_INSIDE, self._exclusive, links, found.value, 0.7),
            self._run(SHARED_INSIDE, self._shared, links, None, 0.8),
            self._run("a part each", self._shared, _links(each, placed), each.value, 0.9),
        )
        parts = (replace(part, members=tuple(own.tolist())) for part, (own, _) in zip(found.parts, links, strict=True))
        return Groups(volume, time, self._platform.bandwidth, Partition(tuple(parts)), runs)

    def _start(self) -> None:
        """Start the applications at their releases, or as jobs on the nodes of the machine; note what they take alone."""
        members = self._workload.applications
        if self._platform.nodes is not None:
            started = operate(self._workload, MachineSettings(policy=self._shared, buffer=False)).jobs_run.start.tolist()
            members = tuple(replace(one, release=date) for one, date in zip(members, started, strict=True))
        self._workload = Workload(self._platform, members)
        chains = Run(self._workload, self._shared, placement=False, buffer=False).chains
        self._begin = np.array([one.release for one in members])
        seconds = np.add.reduceat(np.where(chains.kinds != WORK, chains.seconds, 0.0), chains.first[:-1])
        self._alone, self._io = chains.cycle + np.array([one.lead for one in members]), seconds

    def _characteristics(self, first: SharedRun) -> tuple[Floats, Floats]:
        """v and t of all applications, from the run in which all share."""
        members = self._workload.applications
        count = np.array([one.phases.operations for one in members], np.float64)
        moved = np.array([one.phases.amounts[one.phases.kinds != WORK].sum() for one in members])
        length = float(first.end.max() - first.start.min())
        some = moved > 0.0
        return moved / np.maximum(1.0, count), np.where(some, length / np.maximum(1.0, count), np.inf)

    def _applications(self, volume: Floats, time: Floats) -> Applications:
        if not len(volume):
            raise InputError("applications", "none has I/O; expected some that read or write")
        if len(volume) > MOST_GROUPED:
            raise InputError(
                "applications", f"{len(volume):,} are too many to group; expected at most {MOST_GROUPED:,}: a shorter span"
            )
        return Applications(tuple(volume.tolist()), tuple(time.tolist()), self._platform.bandwidth)

    def _run(self, name: str, policy: Policy, links: Sequence[Link], value: float | None, part: float) -> SharedRun:
        """Run the applications of each of the `links` on it, when this `part` of everything is done."""
        self._say(name, part)
        end = self._begin + self._alone  # of those without I/O, which may be on no link
        for members, bandwidth in links:
            end[members] = list(self._ends(members, bandwidth, policy))
        return SharedRun(name, policy.name, len(links), value, self._nodes, self._begin, end, self._alone, self._io)

    def _ends(self, members: Ints, bandwidth: float, policy: Policy) -> Iterator[float]:
        """When the `members` end on a link of so much bandwidth."""
        own = tuple(self._workload.applications[index] for index in members)
        run = Run(Workload(_link(self._platform, bandwidth), own), policy, placement=False, buffer=False)
        for one in run.finish().applications:
            assert one.end is not None  # without a window all end
            yield one.end


def _links(partition: Partition, placed: Ints) -> list[Link]:
    """The links of a partition of the applications at the positions `placed`."""
    return [(placed[list(part.members)], part.bandwidth) for part in partition.parts]


def _link(platform: Platform, bandwidth: float) -> Platform:
    """The part of the `platform` that has so much bandwidth; limits of reads and writes shrink with it."""
    part = bandwidth / platform.bandwidth
    limits = {
        name: None if (limit := getattr(platform, name)) is None else limit * part
        for name in ("read_bandwidth", "write_bandwidth")
    }
    return replace(platform, bandwidth=bandwidth, **limits)
