"""How applications use the machine: one link, or the I/O resources they are placed on; with one buffer for all, or a share
for each, or none.

On a link amounts are bytes. An I/O resource offers one resource-second per second (002 §III). An operation of volume v over
n resources is n independent transfers. Alone on its resource each takes v / b(n) seconds, so it is v / b(n) resource-seconds
with a cap of 1. The operation ends with the last of them.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.model import Application, InputError, Phases, Platform, Workload
from penstock.model.application import READ, WORK
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.tolerances import PLAN_DATE_S, PLAN_SLACK

Placement: TypeAlias = tuple[tuple[int, ...], ...]
"""For each application the resources it uses, numbered from 0."""

MOST_RESOURCES: Final = 100_000


@dataclass(frozen=True, eq=False)
class Layout:
    """The stores and what each application can use of them, in units: bytes on a link, resource-seconds on resources."""

    stores: int
    placement: Sequence[tuple[int, ...]] | None
    """The stores that each application uses; None on a link. Where it is placed later, () until it starts."""
    counts: Ints
    """Stores that each application uses, or where it is placed later, may use."""
    limits: tuple[float, float, float]
    """Units/s that a store carries: in all, of writes, of reads."""
    bytes: Floats
    """Bytes of a unit of an application, over all stores it uses."""
    write_speed: Floats
    read_speed: Floats
    """Units/s at which an application can write and read where nothing holds it up."""
    write_cap: Floats
    read_cap: Floats
    """Units/s that it can use of a store."""
    best: Floats
    """Bytes/s of each application with its best number of stores."""
    later: int | None = None
    """Where applications are placed when they start: for how many of them a store has room at the start."""

    @property
    def has_direction_limits(self) -> bool:
        """Whether a direction has a limit of its own."""
        return min(self.limits[1:]) < self.limits[0]

    def amounts(self, workload: Workload) -> Floats:
        """The amounts of all phases of the `workload`, one application after the other, in seconds and units."""
        amounts = np.concatenate([application.phases.amounts for application in workload.applications])
        if self.placement is None:
            return amounts
        lengths = [len(application.phases) for application in workload.applications]
        kinds = np.concatenate([application.phases.kinds for application in workload.applications])
        scaled: Floats = np.where(kinds == WORK, amounts, amounts / np.repeat(self.bytes, lengths))
        return scaled


def layout_of(workload: Workload, placement: Sequence[Sequence[int]] | None) -> Layout:
    """Find how the applications of a workload use the machine.

    Args:
        workload: the applications and their platform.
        placement: for each application the I/O resources it uses, numbered from 0; None for one link.

    Raises:
        InputError: if the placement does not fit the workload, or curves or the number of resources are missing.
    """
    return _link(workload) if placement is None else _resources(workload, checked_placement(workload, placement))


def placement_of(
    workload: Workload, given: Sequence[Sequence[int]] | Literal[False] | None
) -> Sequence[Sequence[int]] | None:
    """Find the placement to run a workload with.

    Args:
        workload: the workload, which may have a placement of its own.
        given: the placement to use, False for one link, or None for the workload's own.

    Returns:
        The placement, or None for one link.

    Raises:
        InputError: if the workload has I/O resources, but no placement is known.
    """
    if given is not None:
        return None if given is False else given
    if not workload.on_resources:
        return None
    if workload.placement is None:
        raise InputError(
            "placement",
            f"not given, and the applications share {workload.platform.resources} I/O resources; expected those of each "
            "application (penstock.simulate finds them by default), or False for one link",
        )
    return workload.placement


def _link(workload: Workload) -> Layout:
    platform, members = workload.platform, workload.applications
    size = len(members)

    def of(values: Sequence[float]) -> Floats:
        return np.array(values, np.float64)

    plain = all(a.read_bandwidth is None and a.write_bandwidth is None for a in members)
    write = of([a.write_speed(platform) for a in members])
    read = write if plain else of([a.read_speed(platform) for a in members])
    return Layout(
        stores=1,
        placement=None,
        counts=np.ones(size, np.int64),
        limits=(platform.bandwidth, platform.write_limit, platform.read_limit),
        bytes=np.ones(size),
        write_speed=write,
        read_speed=read,
        write_cap=np.minimum(write, platform.write_limit),
        read_cap=np.minimum(read, platform.read_limit),
        best=write,
    )


def _resources(workload: Workload, placement: Placement) -> Layout:
    platform, members = workload.platform, workload.applications
    curves = curves_of(workload)
    counts = np.array([len(used) for used in placement], np.int64)
    bandwidth: Floats = curves[np.arange(len(counts)), counts - 1]
    limits = (1.0, platform.write_limit / platform.bandwidth, platform.read_limit / platform.bandwidth)
    own = [a.bandwidth for a in members]
    return Layout(
        stores=resources_of(workload),
        placement=placement,
        counts=counts,
        limits=limits,
        bytes=bandwidth,
        write_speed=_relative([a.write_bandwidth or b for a, b in zip(members, own, strict=True)], bandwidth),
        read_speed=_relative([a.read_bandwidth or b for a, b in zip(members, own, strict=True)], bandwidth),
        write_cap=np.full(len(members), limits[1]),
        read_cap=np.full(len(members), limits[2]),
        best=curves.max(axis=1),
    )


BERTHS: Final = 16
"""Applications for which a store has room at the start, where they are placed later; the room is doubled as needed."""


@dataclass(frozen=True)
class Use:
    """How an application uses n I/O resources: in resource-seconds, of which each resource offers one per second."""

    bytes: float
    """Bytes of a resource-second, over all n."""
    write_speed: float
    read_speed: float
    write_cap: float
    read_cap: float
    best: float
    """Bytes/s with its best number of resources; where these leave it slower than it is, in proportion more."""

    @classmethod
    def of(cls, application: Application, platform: Platform, count: int) -> Use:
        """The use of `count` resources of the `platform` by an `application`.

        With a curve it moves b(n) bytes/s and then has its resources for itself. Without one, each resource carries B/N
        bytes/s, and the application takes of its n resources what its own bandwidth asks for.
        """
        resources = platform.resources or 1
        limits = platform.write_limit / platform.bandwidth, platform.read_limit / platform.bandwidth
        if application.curve is not None:
            unit = float(np.interp(count, application.curve.counts, application.curve.bandwidths))
            write = (application.write_bandwidth or application.bandwidth or unit) / unit
            read = (application.read_bandwidth or application.bandwidth or unit) / unit
            return cls(unit, write, read, *limits, application.curve.largest)
        unit = count * platform.bandwidth / resources
        write, read = application.write_speed(platform) / unit, application.read_speed(platform) / unit
        return cls(unit, write, read, min(write, limits[0]), min(read, limits[1]), max(unit, application.cap(platform)))

    def behind(self, buffering: Buffering | None) -> Use:
        """The same behind a buffer, or without one, as `buffering` has it: with the speeds where nothing holds it up."""
        if buffering is None:
            return replace(self, write_speed=self.write_cap, read_speed=self.read_cap)
        write, read = min(self.write_cap, self.write_speed), min(self.read_cap, self.read_speed)
        if buffering.capped:
            return replace(self, write_cap=write, read_cap=read, write_speed=write, read_speed=read)
        return replace(self, write_cap=write, read_cap=read)


def later_layout(workload: Workload, counts: Sequence[int]) -> Layout:
    """The layout of applications that are placed on I/O resources of the `workload`'s platform when they start.

    Args:
        workload: the applications and their platform; a curve is not needed (`Use.of`).
        counts: the most I/O resources that each application may use.

    Raises:
        InputError: if there is not a count for each application, or one is not between 1 and the number of resources.
    """
    platform, members, size = workload.platform, workload.applications, resources_of(workload)
    most = np.array(counts, np.int64)
    if most.shape != (len(members),) or (most < 1).any() or (most > size).any():
        raise InputError("counts", f"expected for each of {len(members):,} applications a number from 1 to {size}")
    uses = [Use.of(one, platform, count) for one, count in zip(members, most.tolist(), strict=True)]
    columns = {name: np.array([getattr(use, name) for use in uses]) for name in vars(uses[0])}
    limits = (1.0, platform.write_limit / platform.bandwidth, platform.read_limit / platform.bandwidth)
    return Layout(size, [()] * len(members), most, limits, later=BERTHS, **columns)


def _relative(given: list[float | None], bandwidth: Floats) -> Floats:
    """What is given in bytes/s in resource-seconds per second, 1 where nothing is."""
    return np.array([1.0 if value is None else value / float(b) for value, b in zip(given, bandwidth, strict=True)])


def resources_of(workload: Workload) -> int:
    """N, the number of I/O resources of the platform of the `workload`.

    Raises:
        InputError: if it is not given, or too large.
    """
    if workload.platform.resources is None:
        raise InputError("platform", "the key 'resources' is missing; expected the number of I/O resources")
    if workload.platform.resources > MOST_RESOURCES:
        count = workload.platform.resources
        raise InputError("platform.resources", f"{count:,} I/O resources are too many; expected at most {MOST_RESOURCES:,}")
    return workload.platform.resources


def curves_of(workload: Workload) -> Floats:
    """b_j(n) in bytes/s: row j has the bandwidth of application j of the `workload` with 1, …, N resources.

    Raises:
        InputError: if an application has no curve.
    """
    rows = []
    for index, application in enumerate(workload.applications):
        if application.curve is None:
            expected = 'expected {"1": bytes/s, "2": bytes/s, …} by number of I/O resources'
            raise InputError(f"applications[{index}]", f"the key 'curve' is missing; {expected}")
        rows.append(application.curve.upto(resources_of(workload)))
    return np.array(rows)


def checked_placement(workload: Workload, placement: Sequence[Sequence[int]]) -> Placement:
    """The `placement` as tuples.

    Raises:
        InputError: if it does not name different I/O resources of the `workload` for each application.
    """
    size = resources_of(workload)
    if len(placement) != len(workload.applications):
        expected = f"expected one for each of {len(workload.applications)} applications"
        raise InputError("placement", f"{len(placement)} lists of resources; {expected}")
    for index, used in enumerate(placement):
        place = f"placement[{index}]"
        if len(used) == 0:
            raise InputError(place, "no I/O resource; expected at least 1")
        numbers = all(isinstance(resource, int | np.integer) and 0 <= resource < size for resource in used)
        if not numbers or len(set(used)) != len(used):
            raise InputError(place, f"{list(used)} are not different I/O resources; expected numbers from 0 to {size - 1}")
    return tuple(tuple(int(resource) for resource in used) for used in placement)


def in_units(workload: Workload, layout: Layout) -> Workload:
    """The `workload` as one store of the `layout` sees it: I/O in units, and a link that carries what a store does."""
    if layout.placement is None:
        return workload
    return Workload(
        Platform(1.0),
        tuple(
            replace(
                application,
                phases=_scaled(application.phases, float(scale)),
                bandwidth=None,
                read_bandwidth=None,
                write_bandwidth=None,
                nominal=None if (a := application.nominal) is None else (a[0], a[1] / float(scale)),
                placement=None,
                share=None,
            )
            for application, scale in zip(workload.applications, layout.bytes, strict=True)
        ),
        workload.window,
    )


def _scaled(phases: Phases, bandwidth: float) -> Phases:
    return Phases(phases.kinds, np.where(phases.kinds == WORK, phases.amounts, phases.amounts / bandwidth))


def seconds_of_phases(kinds: NDArray[Any], amounts: Floats, lengths: Sequence[int], write: Floats, read: Floats) -> Floats:
    """How many seconds each phase of all applications takes alone.

    Args:
        kinds: the kind of each phase, one application after the other.
        amounts: seconds of work, or units of I/O, of each phase.
        lengths: phases of each application.
        write: units/s at which each application writes.
        read: units/s at which each application reads.
    """
    writes, reads = (np.repeat(speed, lengths) for speed in (write, read))
    seconds: Floats = np.where(kinds == WORK, amounts, amounts / np.where(kinds == READ, reads, writes))
    return seconds


@dataclass(frozen=True, eq=False)
class Buffering:
    """A burst buffer: one pool, or a share for each application (004 §3.1).

    Args:
        pool: bytes of the pool, 0 to infinite. Without pool and shares, the size of the platform's buffer.
        shares: bytes of each application, in the order of the workload.
        threshold: the part of a share or of the pool, 0 to 1, that output must fill before it is drained.
        capped: limit the speeds of applications to what the stores carry (004 §3.2).

    Example:
        >>> from penstock import Application, Platform, Workload
        >>> from penstock.engine import Buffering, simulate
        >>> writer = Application.of("a", [("write", 8.0), ("work", 10.0)], write_bandwidth=4.0)
        >>> workload = Workload(Platform(1.0), (writer,))
        >>> simulate(workload, "fcfs").applications[0].end  # 8 s for the write
        18.0
        >>> simulate(workload, "fcfs", buffer=Buffering(pool=100.0)).applications[0].end  # 2 s, then drained
        12.0
    """

    pool: float | None = None
    shares: Sequence[float] | Floats | None = None
    threshold: float = 0.0
    capped: bool = False

    def capacity(self, workload: Workload) -> Floats:
        """Bytes of each space for the `workload`: one entry for a pool, else one for each application.

        Raises:
            InputError: for sizes, a threshold or a number of shares that do not fit the workload.
        """
        if self.shares is not None and self.pool is not None:
            raise InputError("pool", "there are shares as well; expected shares or a pool")
        if not 0.0 <= self.threshold <= 1.0:
            raise InputError("threshold", f"{self.threshold!r} is no part of the buffer; expected 0 to 1")
        size = workload.platform.buffer.size if workload.platform.buffer is not None else None
        if self.shares is None:
            pool = size if self.pool is None else self.pool
            if pool is None:
                raise InputError("platform.buffer.size", "not given; expected it, or shares, or a pool")
            return _sizes(np.array([pool], np.float64), "pool")
        shares = np.array(self.shares, np.float64)
        count = len(workload.applications)
        if shares.shape != (count,):
            raise InputError("shares", f"{shares.shape} values for {count} applications; expected one each")
        if size is not None and (shares > size).any():
            index = int(np.argmax(shares > size))
            raise InputError(
                f"shares[{index}]", f"{shares[index]} bytes are more than the buffer's {size}; expected a part of it"
            )
        return _sizes(shares, "shares[{}]")

    def speeds(self, layout: Layout) -> tuple[Floats, Floats]:
        """Units/s at which the applications of the `layout` write, and read, if nothing slows them down."""
        if self.capped:
            return np.minimum(layout.write_speed, layout.write_cap), np.minimum(layout.read_speed, layout.read_cap)
        return layout.write_speed, layout.read_speed


def buffered_layout(layout: Layout) -> Layout:
    """The layout behind a buffer: applications use no more of the stores than their own speed."""
    return replace(
        layout,
        write_cap=np.minimum(layout.write_cap, layout.write_speed),
        read_cap=np.minimum(layout.read_cap, layout.read_speed),
    )


def _sizes(capacity: Floats, place: str) -> Floats:
    wrong = ~(capacity >= 0.0)
    if wrong.any():
        index = int(np.argmax(wrong))
        raise InputError(place.format(index), f"{capacity[index]} is not a size; expected bytes, 0 or more")
    return capacity


def buffering_of(
    workload: Workload, given: Buffering | Literal[False] | None, held: Collection[int] = ()
) -> Buffering | None:
    """Find the buffer to run a workload with; None for no buffer.

    The platform's buffer is divided if the applications have shares. Shares of applications that certainly run at the same
    time must fit into it.

    Args:
        workload: the workload, whose platform may have a buffer.
        given: the buffer to use, False for none, or None for the platform's, if that has a size.
        held: positions of applications of which it is not known when they start; their shares do not count.

    Raises:
        InputError: if shares do not fit, or `given` is no buffer.
    """
    if given is False:
        return None
    if given is not None:
        if not isinstance(given, Buffering):
            raise InputError("buffer", f"{given!r} is no buffer; expected a Buffering, False, or None for the platform's")
        return given
    buffer = workload.platform.buffer
    if buffer is None or buffer.size is None:
        return None
    if workload.shares is not None:
        _require_room(workload, workload.shares, buffer.size, held)
    return Buffering(shares=workload.shares)


def _require_room(workload: Workload, shares: Sequence[float], size: float, held: Collection[int]) -> None:
    """Refuse shares that add up to more than the buffer at the start of an application (readings B2).

    An application owns its share from its start to its end. The end is known only after the run; here it is the earliest
    possible one, at full speed, so what is refused is certainly too much.
    """
    alive = [
        (workload.start(application), _earliest_end(workload, application), index)
        for index, application in enumerate(workload.applications)
        if index not in held
    ]
    for demand in _demands(alive, shares):
        if exceeds(demand.total, size):
            raise demand.refused(shares, size)


@dataclass(frozen=True)
class SharesAtOnce:
    """What the shares of living applications add up to when one of them starts."""

    date: float
    """The start of that application, in seconds."""
    index: int
    """Its position in the workload."""
    count: int
    """Applications alive then."""
    total: float
    """Bytes of their shares."""

    def refused(self, shares: Sequence[float] | Floats, size: float) -> InputError:
        """The error for shares that do not fit into a buffer of `size` bytes."""
        together = f"the shares of the {self.count} applications that are there at {self.date} s add up to {self.total}"
        return InputError(
            f"applications[{self.index}].share",
            f"{shares[self.index]} bytes: {together}, more than the buffer's {size}; expected at most that at a time",
        )


def exceeds(total: float, size: float) -> bool:
    """Whether shares of `total` bytes are more than a buffer of `size` bytes holds; rounding is none."""
    return total > size * (1.0 + PLAN_SLACK)


def most_at_once(starts: Floats, ends: Floats, shares: Floats) -> SharesAtOnce:
    """The largest sum of the shares of applications that are alive at one time (readings B2); the first such time.

    `starts` is NaN for an application that has not started, `ends` for one that has not ended.
    """
    alive = [
        (float(starts[index]), math.inf if math.isnan(ends[index]) else float(ends[index]), index)
        for index in range(len(shares))
        if not math.isnan(starts[index])
    ]
    return max(_demands(alive, shares), key=lambda demand: demand.total, default=SharesAtOnce(0.0, 0, 0, 0.0))


def _demands(alive: Sequence[tuple[float, float, int]], shares: Sequence[float] | Floats) -> Iterator[SharesAtOnce]:
    """What shares add up to at every start, for applications that live from a start to before an end."""
    there: list[tuple[float, float]] = []  # the end and the share of those that have started, the first end first
    total = 0.0
    for start, end, index in sorted(alive):
        while there and there[0][0] <= start + PLAN_DATE_S:
            total -= heapq.heappop(there)[1]
        heapq.heappush(there, (end, float(shares[index])))
        total += float(shares[index])
        yield SharesAtOnce(start, index, len(there), total)


def _earliest_end(workload: Workload, application: Application) -> float:
    """When it ends if nothing ever holds it up; one that takes no time at all ends at its start."""
    platform = workload.platform
    speed = max(application.write_speed(platform), application.read_speed(platform))
    if application.curve is not None:
        speed = max(speed, application.curve.largest)
    return workload.start(application) + application.seconds_alone(speed)
