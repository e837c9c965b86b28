"""The buffer of a run: one pool, or a share for each application."""

from __future__ import annotations

import heapq
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from penstock.engine.machine import Layout
from penstock.model import Application, InputError, Workload
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import PLAN_DATE_S, PLAN_SLACK


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
        """Bytes of each space: one entry for a pool, else one an application.

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
        """Units/s at which applications write and read if nothing slows them down."""
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
    """The given buffer, or the platform's if that has a size; None for no buffer.

    The platform's buffer is divided if the applications have shares. Shares of applications that certainly run at the same
    time must fit into it. It is not known when the `held` ones start, so their shares do not count.

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
