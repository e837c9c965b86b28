"""The applications at full speed: what they ask of the buffer and the file system when nothing slows them down (004 §5.1).

At full speed application A_k reads at b_r and writes at b_w bytes/s. Both may be more than the file system gives: the
buffer makes up for the difference. Its operations then have fixed dates, it ends at C_min (eq. 2), and W∞(t) and R∞(t)
are the bytes that it has written and read until t: piecewise linear functions that rise at b_w or b_r during its
operations and are level between them. With a buffer that is large enough every application runs like this (a stretch of
1). All sizing starts from these dates.

The clock starts at date 0, or with the window if the workload has one (applications still run to their ends), with an empty
buffer. `io` phases count as writes, `lead` as work before the first phase. Operations of volume 0 do not count.

Dates within 1 µs of each other are one *event*: rounding errors do not separate the end of a job from the start of the
next. An operation that begins and ends at one event moves its volume until the next event.

`Flow` is a piecewise linear function of time. `full_speed_timeline` walks along the phases and returns a
`FullSpeedTimeline`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from penstock.model import Application, InputError, Platform, Workload
from penstock.model.application import READ, WORK
from penstock.numeric.arrays import Floats, Ints, summed
from penstock.numeric.tolerances import PLAN_DATE_S


@dataclass(frozen=True, eq=False)
class Flow:
    """Bytes over time: `amounts` at increasing `dates`, linear between them, constant before and after."""

    dates: Floats
    amounts: Floats

    def at(self, dates: Floats) -> Floats:
        """Bytes moved until each of the `dates`, in seconds."""
        return np.interp(dates, self.dates, self.amounts)

    @property
    def rates(self) -> Floats:
        """Bytes/s from each date to the next."""
        return np.diff(self.amounts) / np.diff(self.dates)

    @property
    def total(self) -> float:
        """Bytes moved in the end."""
        return float(self.amounts[-1])

    def throttled(self, rate: float) -> Flow:
        """The same data as early as possible at `rate` bytes/s at most: the highest such flow below this one.

        It starts with 0 at the first date and lasts until all data are through.
        """
        behind = backlog_after(np.diff(self.amounts) - rate * np.diff(self.dates), float(self.amounts[0]))
        slack = rate - self.rates
        # It catches up between two dates, or after the last one.
        caught = (behind[:-1] > 0.0) & (behind[1:] == 0.0) & (behind[:-1] < slack * np.diff(self.dates))
        moments = self.dates[:-1][caught] + behind[:-1][caught] / slack[caught]
        if behind[-1] > 0.0:
            moments = np.append(moments, self.dates[-1] + behind[-1] / rate)
        return _through_points([self.dates, moments], [self.amounts - behind, self.at(moments)])

    def in_advance(self, rate: float) -> Flow:
        """The same data as late as possible at `rate` bytes/s at most: the lowest such flow above this one.

        It starts before the first date where it must.
        """
        mirrored = Flow(-self.dates[::-1], self.total - self.amounts[::-1]).throttled(rate)
        return Flow(-mirrored.dates[::-1], self.total - mirrored.amounts[::-1])

    def clipped(self, low: float, high: float) -> Flow:
        """A flow that does not fall, raised to `low` where it is below and lowered to `high` where it is above."""
        crossings = [
            float(np.interp(level, self.amounts[i : i + 2], self.dates[i : i + 2]))
            for level in (low, high)
            for i in np.flatnonzero((self.amounts[:-1] < level) & (level < self.amounts[1:])).tolist()
        ]
        moments = np.array(crossings)
        amounts = [np.clip(amounts, low, high) for amounts in (self.amounts, self.at(moments))]
        return _through_points([self.dates, moments], amounts)


def backlog_after(net: Floats, first: float = 0.0) -> Floats:
    """The backlog in bytes, `first` at the start and then after each step, where `net` arrives less what can leave.

    It never falls below 0.
    """
    return np.fromiter(accumulate(net.tolist(), lambda left, change: max(0.0, left + change), initial=first), np.float64)


def _through_points(dates: list[Floats], amounts: list[Floats]) -> Flow:
    """The flow through points in any order; of points with the same date the first counts."""
    unique, index = np.unique(np.concatenate(dates), return_index=True)
    return Flow(unique, np.concatenate(amounts)[index])


@dataclass(frozen=True, eq=False)
class Operations:
    """The operations of one direction, sorted by application and date; arrays have one entry per operation.

    Application `owner` moves `volume` bytes from event `start` to event `stop`, in its phase number `phase`.
    """

    owner: Ints
    phase: Ints
    volume: Floats
    start: Ints
    stop: Ints
    events: Floats
    """Dates of the events."""

    def __len__(self) -> int:
        return len(self.owner)

    def cumulated(self, owner: Ints, event: Ints) -> Floats:
        """W∞ or R∞ in bytes: the data that each `owner` has moved until the `event` beside it. Time log n each."""
        if len(self) == 0:
            return np.zeros(len(owner))
        last, begun = self._latest(owner, event)
        begin, end = self.events[self.start[last]], self.events[self.stop[last]]
        part = np.minimum((self.events[event] - begin) / (end - begin), 1.0)
        return np.where(begun, self._before[last] + part * self.volume[last], 0.0)

    def inside(self, owner: Ints, interval: Ints) -> NDArray[np.bool_]:
        """Whether each `owner` moves data in the interval from the event beside it to the next event."""
        if len(self) == 0:
            return np.zeros(len(owner), np.bool_)
        last, begun = self._latest(owner, interval)
        inside: NDArray[np.bool_] = begun & (interval < self.stop[last])
        return inside

    def flows(self, applications: int, owner: Ints, event: Ints, more: Floats) -> tuple[Flow, ...]:
        """For each application the data it has moved, as a flow through the events of its operations.

        Args:
            applications: number of applications.
            owner: applications for which further events count.
            event: the events beside them.
            more: bytes to add at each of these events.
        """
        count = len(self.events)
        own = owner * count + event
        bounds = (self.owner * count + place for place in (self.start, self.stop))
        keys = np.unique(np.concatenate([own, *bounds, np.arange(applications) * count]))
        amounts = self.cumulated(keys // count, keys % count)
        amounts[np.searchsorted(keys, own)] += more
        edges = np.searchsorted(keys // count, np.arange(applications + 1)).tolist()
        dates = self.events[keys % count]
        return tuple(Flow(dates[first:last], np.maximum.accumulate(amounts[first:last])) for first, last in pairwise(edges))

    def arriving(self) -> Floats:
        """Bytes moved from each event to the next, by all applications together."""
        rate = self.volume / (self.events[self.stop] - self.events[self.start])
        change = np.zeros(len(self.events))
        np.add.at(change, self.start, rate)
        np.add.at(change, self.stop, -rate)
        return np.cumsum(change)[:-1] * np.diff(self.events)

    def total(self, applications: int) -> Floats:
        """Bytes of each of so many `applications`."""
        return summed(self.owner, self.volume, applications)

    def _latest(self, owner: Ints, event: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """The last operation that each owner has begun by the event beside it (0 if none), and whether there is one."""
        last = np.searchsorted(self._keys, owner * len(self.events) + event, side="right") - 1
        begun = (last >= 0) & (self.owner[last] == owner)
        return np.where(begun, last, 0), begun

    @cached_property
    def _keys(self) -> Ints:
        return self.owner * len(self.events) + self.start

    @cached_property
    def _before(self) -> Floats:
        """Bytes that the owner moves before each operation."""
        mine = np.split(self.volume, np.flatnonzero(np.diff(self.owner)) + 1)
        return np.concatenate([np.cumsum(volume) - volume for volume in mine])


@dataclass(frozen=True, eq=False)
class FullSpeedTimeline:
    """A workload at full speed; arrays have one entry per application unless said otherwise.

    `reads` and `writes` are its operations.
    """

    workload: Workload
    capped: bool
    """Whether speeds are min(b, B) (see `full_speed_timeline`)."""
    events: Floats
    """Dates at which operations begin or end, or applications are released or end; the first is the clock's 0."""
    shifts: Floats
    """Seconds by which the dates of an event may be later than the event; one entry per event."""
    rounding: float
    """Sum of the shifts, and a microsecond where an operation is over at once."""
    begin: Ints
    """Event of r_k."""
    end: Ints
    """Event of C_min."""
    least_end: Floats
    """C_min (004 eq. 2), a date."""
    read_speed: Floats
    """b_r in bytes/s."""
    write_speed: Floats
    """b_w in bytes/s."""
    reads: Operations
    writes: Operations

    @property
    def origin(self) -> float:
        """Date of the clock's 0."""
        return float(self.events[0])

    @cached_property
    def lengths(self) -> Floats:
        """Seconds from each event to the next."""
        return np.diff(self.events)

    @property
    def spans(self) -> Floats:
        """The lengths with the shifts added: data that just fit between two dates also fit between their events."""
        return self.lengths + self.shifts[1:] + self.shifts[:-1]

    @property
    def read_cap(self) -> Floats:
        """Highest rate of reading from the file system: min(b_r, B_r), in bytes/s."""
        return np.minimum(self.read_speed, self.workload.platform.read_limit)

    @property
    def write_cap(self) -> Floats:
        """Highest rate of writing to the file system: min(b_w, B_w), in bytes/s."""
        return np.minimum(self.write_speed, self.workload.platform.write_limit)

    @property
    def unit(self) -> float:
        """Bytes of the largest operation, which errors are compared to; 1 if there is none."""
        volumes = np.concatenate([self.reads.volume, self.writes.volume])
        return float(volumes.max()) if len(volumes) else 1.0

    def flows(self, operations: Operations) -> tuple[Flow, ...]:
        """W∞ or R∞ of each application, from its operations of that direction."""
        none = np.zeros(0, np.int64)
        return operations.flows(len(self.begin), none, none, np.zeros(0))

    def cumulated(self, reading: NDArray[np.bool_], owner: Ints, event: Ints) -> Floats:
        """R∞ where `reading`, else W∞, in bytes: of each owner until the event beside it."""
        moved = np.zeros(len(owner))
        for operations, mine in ((self.writes, ~reading), (self.reads, reading)):
            moved[mine] = operations.cumulated(owner[mine], event[mine])
        return moved

    @cached_property
    def load(self) -> float:
        """Largest sum, over time, of the mean bytes/s of the running applications, divided by B.

        Above 1 the file system cannot keep up, and the buffer must hold the growing difference.
        """
        seconds = self.events[self.end] - self.events[self.begin]
        moved = self.reads.total(len(seconds)) + self.writes.total(len(seconds))
        rate = np.divide(moved, seconds, out=np.zeros(len(seconds)), where=seconds > 0.0)
        change = np.zeros(len(self.events))
        np.add.at(change, self.begin, rate)
        np.add.at(change, self.end, -rate)
        return float(np.cumsum(change).max()) / self.workload.platform.bandwidth


def full_speed_timeline(workload: Workload, *, capped: bool = False) -> FullSpeedTimeline:
    """Compute the dates and flows of a workload at full speed.

    Args:
        workload: Applications and platform, without degradation or rounds.
        capped: 004 lets b_k exceed B. With `capped`, speeds are min(b_r, B_r) and min(b_w, B_w): C_min is then what an
            application reaches alone without a buffer, and only contention asks for one.

    Raises:
        InputError: An application is released before the clock's start, or the workload has degradation or rounds.

    Example:
        >>> from penstock.model import Application, Platform, Workload
        >>> writer = Application.of("a", [("work", 4.0), ("write", 8.0)], bandwidth=4.0)
        >>> workload = Workload(Platform(2.0), (writer,))
        >>> full_speed_timeline(workload).least_end.tolist(), full_speed_timeline(workload, capped=True).least_end.tolist()
        ([6.0], [8.0])
    """
    _require_plain_link(workload)
    origin = workload.window[0] if workload.window else 0.0
    walks = [_walk(application, workload.platform, capped) for application in workload.applications]
    for index, walk in enumerate(walks):
        if walk.release < origin:
            message = f"{walk.release} is before the clock's start; expected {origin} or later"
            raise InputError(f"applications[{index}].release", message)
    release, least_end = np.array([(walk.release, walk.end) for walk in walks]).T
    starts, stops = np.concatenate([walk.dates for walk in walks], axis=1)
    dates = np.concatenate([[origin], release, least_end, starts, stops])
    events, index_of = _merged(dates)
    begin, end, start, stop = np.split(index_of[1:], np.cumsum([len(walks), len(walks), len(starts)]))
    short = start[start == stop]
    if np.any(short == len(events) - 1):
        events = np.append(events, events[-1] + PLAN_DATE_S)
    shifts = np.zeros(len(events))
    np.maximum.at(shifts, index_of, dates - events[index_of])
    columns = {
        "owner": np.repeat(np.arange(len(walks)), [len(walk.phase) for walk in walks]),
        "phase": np.concatenate([walk.phase for walk in walks]),
        "volume": np.concatenate([walk.volume for walk in walks]),
        "start": start,
        "stop": stop,
    }
    is_read = np.concatenate([walk.is_read for walk in walks])
    return FullSpeedTimeline(
        workload=workload,
        capped=capped,
        events=events,
        shifts=shifts,
        rounding=float(shifts.sum()) + (PLAN_DATE_S if len(short) else 0.0),
        begin=begin,
        end=end,
        least_end=least_end,
        read_speed=np.array([walk.read_speed for walk in walks]),
        write_speed=np.array([walk.write_speed for walk in walks]),
        reads=_operations({name: column[is_read] for name, column in columns.items()}, events),
        writes=_operations({name: column[~is_read] for name, column in columns.items()}, events),
    )


def _require_plain_link(workload: Workload) -> None:
    """Refuse degradation and rounds: the linear programs assume a link that always carries B (004 §6)."""

    def refuse(place: str, what: str) -> NoReturn:
        instead = f"penstock simulate, which knows {what} beside a buffer of a given size"
        raise InputError(place, f"the program that sizes a buffer knows no {what}; expected none, or {instead}")

    if workload.platform.degradation is not None:
        refuse("platform.degradation", "degradation")
    for index, application in enumerate(workload.applications):
        if application.rounds is not None:
            refuse(f"applications[{index}].rounds", "rounds")


@dataclass(frozen=True, eq=False)
class _Walk:
    """One application along its phases at full speed; arrays have one entry per operation."""

    release: float
    end: float
    read_speed: float
    write_speed: float
    phase: Ints
    is_read: NDArray[np.bool_]
    volume: Floats
    dates: Floats
    """Two rows: when operations begin and end."""


def _walk(application: Application, platform: Platform, capped: bool) -> _Walk:
    read_speed, write_speed = application.read_speed(platform), application.write_speed(platform)
    if capped:
        read_speed, write_speed = min(read_speed, platform.read_limit), min(write_speed, platform.write_limit)
    kinds, amounts = application.phases.kinds, application.phases.amounts
    speed = np.where(kinds == WORK, 1.0, np.where(kinds == READ, read_speed, write_speed))
    dates = application.release + application.lead + np.concatenate([[0.0], np.cumsum(amounts / speed)])
    phase = np.flatnonzero(application.phases.asks)
    moves = np.array([dates[phase], dates[phase + 1]])
    is_read = kinds[phase] == READ
    return _Walk(application.release, float(dates[-1]), read_speed, write_speed, phase, is_read, amounts[phase], moves)


def _merged(dates: Floats) -> tuple[Floats, Ints]:
    """The events, and the event of each date; an event is its earliest date and all that follow within PLAN_DATE_S."""
    values, inverse = np.unique(dates, return_inverse=True)
    leads = np.ones(len(values), np.bool_)
    leader = values[0]
    for index in (np.flatnonzero(np.diff(values) <= PLAN_DATE_S) + 1).tolist():
        if leads[index - 1]:
            leader = values[index - 1]
        leads[index] = values[index] - leader > PLAN_DATE_S
    return values[leads], (np.cumsum(leads) - 1)[inverse]


def _operations(columns: dict[str, NDArray[Any]], events: Floats) -> Operations:
    """The operations. One that is over at once takes the interval that follows, together with one that begins there."""
    owner, start = columns["owner"], columns["start"]
    volume, stop = columns["volume"], np.where(start == columns["stop"], start + 1, columns["stop"])
    new = np.ones(len(owner), np.bool_)
    new[1:] = (owner[1:] != owner[:-1]) | (start[1:] != start[:-1])
    if not new.all():
        first = np.flatnonzero(new)
        volume, stop = np.add.reduceat(volume, first), np.maximum.reduceat(stop, first)
    return Operations(owner[new], columns["phase"][new], volume, start[new], stop, events)
