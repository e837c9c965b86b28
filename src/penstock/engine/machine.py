"""How applications use the machine: one link, or the I/O resources they are placed on.

On a link amounts are bytes. An I/O resource offers one resource-second a second (002 §III). An operation of volume v over n
resources is n independent transfers. Alone on its resource each takes v / b(n) seconds, so it is v / b(n) resource-seconds
with a cap of 1. The operation ends with the last of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import numpy as np

from penstock.model import InputError, Phases, Platform, Workload
from penstock.model.phases import READ, WORK
from penstock.numeric.arrays import Floats, Ints

Placement: TypeAlias = tuple[tuple[int, ...], ...]
"""For each application the resources it uses, numbered from 0."""

MOST_RESOURCES: Final = 100_000


@dataclass(frozen=True, eq=False)
class Layout:
    """The stores and what each application can use of them, in units: bytes on a link, resource-seconds on resources."""

    stores: int
    placement: Placement | None
    counts: Ints
    """Stores that each application uses."""
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

    @property
    def has_direction_limits(self) -> bool:
        """Whether a direction has a limit of its own."""
        return min(self.limits[1:]) < self.limits[0]

    def amounts(self, workload: Workload) -> Floats:
        """The amounts of all phases, in seconds and units."""
        amounts = np.concatenate([application.phases.amounts for application in workload.applications])
        if self.placement is None:
            return amounts
        lengths = [len(application.phases) for application in workload.applications]
        kinds = np.concatenate([application.phases.kinds for application in workload.applications])
        scaled: Floats = np.where(kinds == WORK, amounts, amounts / np.repeat(self.bytes, lengths))
        return scaled


def layout_of(workload: Workload, placement: Sequence[Sequence[int]] | None) -> Layout:
    """How the applications use the machine; without a placement, one link."""
    return _link(workload) if placement is None else _resources(workload, checked_placement(workload, placement))


def placement_of(
    workload: Workload, given: Sequence[Sequence[int]] | Literal[False] | None
) -> Sequence[Sequence[int]] | None:
    """The placement to run the workload with: the given one, else the workload's own; None for one link.

    A workload of I/O resources that has no placement is refused, unless one link is asked for by False.
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


def _relative(given: list[float | None], bandwidth: Floats) -> Floats:
    """What is given in bytes/s in resource-seconds a second, 1 where nothing is."""
    return np.array([1.0 if value is None else value / float(b) for value, b in zip(given, bandwidth, strict=True)])


def resources_of(workload: Workload) -> int:
    """N, the number of I/O resources of the platform."""
    if workload.platform.resources is None:
        raise InputError("platform", "the key 'resources' is missing; expected the number of I/O resources")
    if workload.platform.resources > MOST_RESOURCES:
        count = workload.platform.resources
        raise InputError("platform.resources", f"{count:,} I/O resources are too many; expected at most {MOST_RESOURCES:,}")
    return workload.platform.resources


def curves_of(workload: Workload) -> Floats:
    """b_j(n) in bytes/s: row j has the bandwidth of application j with 1, …, N resources."""
    rows = []
    for index, application in enumerate(workload.applications):
        if application.curve is None:
            expected = 'expected {"1": bytes/s, "2": bytes/s, …} by number of I/O resources'
            raise InputError(f"applications[{index}]", f"the key 'curve' is missing; {expected}")
        rows.append(application.curve.upto(resources_of(workload)))
    return np.array(rows)


def checked_placement(workload: Workload, placement: Sequence[Sequence[int]]) -> Placement:
    """The placement, if the resources it names are there."""
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
    """The workload as one store sees it: I/O in units, and a link that carries what a store does."""
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


def seconds_of_phases(kinds: Ints, amounts: Floats, lengths: Sequence[int], write: Floats, read: Floats) -> Floats:
    """How long each phase of all applications takes alone, at these speeds of the applications."""
    writes, reads = (np.repeat(speed, lengths) for speed in (write, read))
    seconds: Floats = np.where(kinds == WORK, amounts, amounts / np.where(kinds == READ, reads, writes))
    return seconds
