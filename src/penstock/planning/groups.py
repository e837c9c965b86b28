"""Find groups of applications, reserve a part of the bandwidth for each group, and run the workload with them (001 §V.B).

First all applications run without groups and share the link. That run gives two numbers for application i: v_i is the mean
volume of its operations in bytes; t_i is the length of the whole run in seconds, divided by the number of its operations.
Its load is v_i / t_i. The loads of all applications together are at most the bandwidth B of the link. Then a dynamic
programme (`penstock.planning.partition.contiguous_partition`) sorts the applications by v, cuts them into groups, and gives
each group a part of B.

Each group is a link of its own, on which its members take turns or share; groups do not influence each other. In every run
applications start when they started in the first run. An application loses the time beyond its time alone on the whole
machine.
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
"""The policy under which members of a group take turns, unless the user names another."""
ALL_SHARED: Final = "all shared"
"""The name of the run that all others are compared with: one link, shared by all."""
EXCLUSIVE_INSIDE: Final = "groups, exclusive inside"
SHARED_INSIDE: Final = "groups, shared inside"
MOST_GROUPED: Final = 5_000
"""The most applications that can be grouped. The time grows with the square of their number: 10 s for this many."""

Link: TypeAlias = tuple[Ints, float]
"""A link: the positions of its applications in the workload, and its bandwidth in bytes/s."""


@dataclass(frozen=True, eq=False)
class SharedRun:
    """The run with one way to divide the bandwidth; arrays have one entry for each application, times are in seconds."""

    name: str
    policy: str
    parts: int
    """The number of links into which the bandwidth is divided."""
    value: float | None
    """The simplified stretch of 001 eq. V.1; None where several applications share a link, as it is not defined there."""
    nodes: Ints
    start: Floats
    end: Floats
    alone: Floats
    """Seconds that the application takes alone on the whole machine."""
    io: Floats
    """Seconds of its transfers, a part of `alone`."""

    @property
    def lost(self) -> Floats:
        """Node-hours that each application loses to the I/O of others: those beyond its time alone."""
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
        """The mean stretch of all applications."""
        return float(self.stretch.mean())

    @property
    def max_stretch(self) -> float:
        """The largest stretch of an application."""
        return float(self.stretch.max())

    @property
    def max_io_slowdown(self) -> float:
        """The largest I/O slowdown of an application: its time in I/O, waits included, over the time of its I/O alone."""
        return float(ratio(self.end - self.start - self.alone + self.io, self.io).max())

    def to_dict(self) -> dict[str, Any]:
        """The measures for JSON."""
        names = ("name", "policy", "parts", "value", "lost_node_hours", "mean_stretch", "max_stretch", "max_io_slowdown")
        return {**{name: getattr(self, name) for name in names}, "makespan": float(self.end.max() - self.start.min())}


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of the applications of a workload, and runs with and without them."""

    volume: Floats
    """v_i: the mean volume of an operation, in bytes; 0 without I/O."""
    time: Floats
    """t_i: the length of the shared run over the number of operations, in seconds; infinite without I/O."""
    bandwidth: float
    """B: the bandwidth of the machine, in bytes/s."""
    partition: Partition
    """The groups; members are positions in the workload. Applications without I/O are in no group."""
    runs: tuple[SharedRun, ...]
    """The ways to divide the bandwidth: without groups, with them, and with a part for each application."""

    @property
    def baseline(self) -> SharedRun:
        """The run in which all applications share one link."""
        return self.runs[0]

    @property
    def best(self) -> SharedRun:
        """The run that loses the fewest node-hours to I/O; of equal ones the first."""
        return min(self.runs, key=lambda run: run.lost_node_hours)

    @property
    def load(self) -> float:
        """The part of the bandwidth in use on average in the run in which all share one link."""
        return float((self.volume / self.time).sum()) / self.bandwidth

    def run(self, name: str) -> SharedRun:
        """The run of that `name`."""
        return next(run for run in self.runs if run.name == name)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each group: its members, v, bandwidth, load and value, and node-hours lost under either rule."""
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
    """Find groups of applications, reserve bandwidth for each group, and run the workload with and without the groups.

    Args:
        workload: The applications, without a window. On a platform with a number of nodes they are jobs, which wait for
            nodes with EASY backfilling; else each starts at its release.
        shared: The policy on a link that applications share.
        exclusive: The policy on a link where applications take turns.
        progress: Called with the name of the step and the part of all steps that is done, from 0 to 1.

    Returns:
        The groups and the runs. Finding groups of n applications takes time n².

    Raises:
        InputError: The workload has a window, no I/O, or too many applications; `shared` takes turns; `exclusive` lets
            applications share; or one of them is a static order.

    Example:
        Two applications have large operations and two have small ones; each pair gets a part of the link.

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
        """Set the start of each application, and compute its time alone.

        On a platform with nodes the applications start as jobs; else they start at their releases.
        """
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
        """v and t of all applications, from the `first` run, in which all share one link."""
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
        """Run the applications on their links.

        Args:
            name: of the run.
            policy: on every link.
            links: the links and their applications; an application without I/O may be on none.
            value: of the partition.
            part: of all steps that is done before this run.
        """
        self._say(name, part)
        end = self._begin + self._alone  # of those without I/O, which may be on no link
        for members, bandwidth in links:
            end[members] = list(self._ends(members, bandwidth, policy))
        return SharedRun(name, policy.name, len(links), value, self._nodes, self._begin, end, self._alone, self._io)

    def _ends(self, members: Ints, bandwidth: float, policy: Policy) -> Iterator[float]:
        """The dates at which the `members` end on a link with this `bandwidth`, under the `policy`."""
        own = tuple(self._workload.applications[index] for index in members)
        run = Run(Workload(_link(self._platform, bandwidth), own), policy, placement=False, buffer=False)
        for one in run.finish().applications:
            assert one.end is not None  # without a window all end
            yield one.end


def _links(partition: Partition, placed: Ints) -> list[Link]:
    """One link for each part of the `partition`; `placed` has the positions of its applications in the workload."""
    return [(placed[list(part.members)], part.bandwidth) for part in partition.parts]


def _link(platform: Platform, bandwidth: float) -> Platform:
    """The `platform` with this `bandwidth`; its limits of reads and of writes shrink in proportion."""
    part = bandwidth / platform.bandwidth
    limits = {
        name: None if (limit := getattr(platform, name)) is None else limit * part
        for name in ("read_bandwidth", "write_bandwidth")
    }
    return replace(platform, bandwidth=bandwidth, **limits)
