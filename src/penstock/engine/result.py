"""The result of a run: the objectives of 000 §3.3, the slowdowns of 002 §III.C, the stretches of 004 §3.3, and the account
of every application.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from penstock.engine.buffer_result import BufferResult, BufferUse, carried, finite
from penstock.engine.machine import Layout
from penstock.engine.setup import Dedicated
from penstock.engine.state import ACTIVE, DECISIONS, ENDED, EVENTS, HELD, NOW, WITHOUT_TRANSFER, WORKING, State
from penstock.engine.trace import Trace
from penstock.model import Workload
from penstock.model.application import READ
from penstock.numeric.arrays import Floats, Ints
from penstock.renamed import old_names

__getattr__ = old_names(__name__, Measured="RunMeasures")

__all__ = [
    "MEASURES",
    "UNBOUNDED",
    "ApplicationResult",
    "BufferResult",
    "BufferUse",
    "Result",
    "RunMeasures",
    "accounts",
    "finite",
]

MEASURES: Final = (
    "min_yield",
    "efficiency",
    "utilization",
    "pressure",
    "makespan",
    "events",
    "decisions",
    "seconds",
)
"""The fields of a result that are one number for the run, as JSON and campaigns name them."""
UNBOUNDED: Final = {
    "mean_slowdown": "mean_slowdown",
    "max_slowdown": "max_slowdown",
    "mean_allocation_slowdown": "mean_allocation_slowdown",
    "mean_congestion_slowdown": "mean_congestion_slowdown",
    "max_stretch_by_dates": "max_stretch",
    "max_stretch_by_durations": "max_duration_stretch",
    "mean_stretch_by_dates": "mean_stretch",
    "mean_stretch_by_durations": "mean_duration_stretch",
}
"""The fields that may be infinite or unknown, which is null in JSON and campaigns: their name there, and the field."""


@dataclass(frozen=True)
class ApplicationResult:
    """One application at the end of the run, or at its own end; times in seconds, volumes in bytes."""

    name: str
    end: float | None
    """The date of its end; None if it did not end."""
    yield_: float
    """Progress over the time since its release (000 eq. 6), at its own end if it has ended."""
    progress: float
    """Work and dedicated I/O done since its release, history included."""
    worked: float
    """Work done in the run."""
    transferred: float
    """Bytes moved in the run."""
    io_seconds: float
    """Seconds with an operation posted."""
    waiting: float
    """Seconds with an operation posted in which no data moved."""
    transferring: float
    """Seconds with an operation posted in which data moved."""
    operations: int
    """Operations completed."""
    release: float
    earliest: float
    """C_min: its end if nothing slowed it down (004 eq. 2)."""
    allocation_slowdown: float | None = None
    """ρ_io = b(n_perf) / b(n): the price of not having its best number of I/O resources (002 eq. 4); 1 on a link, None if it
    has not reached an I/O operation."""
    congestion_slowdown: float | None = None
    """ρ_con: the price of sharing; infinite if it has only waited, None if it has not reached an I/O operation."""
    resources: tuple[int, ...] | None = None
    """The I/O resources it uses; None on a link."""
    origin: float = 0.0
    """The date that counts as 0 for its stretch by dates."""
    buffer: BufferUse | None = None
    """What went through the buffer; None without one."""
    nodes: int = 1

    @property
    def lost_node_hours(self) -> float:
        """Node-hours in I/O beyond its transfers alone with its best number of I/O resources, operations under way included;
        0 if it has not reached an I/O operation.
        """
        if self.slowdown is None:
            return 0.0
        return self.nodes * self.io_seconds * (1.0 - 1.0 / max(1.0, self.slowdown)) / 3600.0

    @property
    def stretch_by_dates(self) -> float:
        """C_k / C_min (004 eq. 3); NaN while it has not ended."""
        return self._stretch_from(self.origin)

    @property
    def stretch_by_durations(self) -> float:
        """(C_k − r_k) / (C_min − r_k); NaN while it has not ended."""
        return self._stretch_from(self.release)

    def _stretch_from(self, date: float) -> float:
        """Its end over its earliest end, both counted from the date; 1 if both are at it."""
        if self.end is None:
            return math.nan
        if self.earliest > date:
            return (self.end - date) / (self.earliest - date)
        return math.inf if self.end > date else 1.0

    @property
    def stretch(self) -> float:
        """Time since its release over progress: 1 / yield; infinite if nothing is done."""
        return 1.0 / self.yield_ if self.yield_ > 0.0 else math.inf

    @property
    def slowdown(self) -> float | None:
        """ρ: time of its I/O over what it would take alone with its best number of resources (002 eq. 4)."""
        if self.allocation_slowdown is None or self.congestion_slowdown is None:
            return None
        return self.allocation_slowdown + self.congestion_slowdown

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON has them."""
        return {
            "name": self.name,
            "end": self.end,
            "yield": self.yield_,
            "stretch": finite(self.stretch),
            "progress": self.progress,
            "worked": self.worked,
            "transferred": self.transferred,
            "io_seconds": self.io_seconds,
            "waiting": self.waiting,
            "transferring": self.transferring,
            "operations": self.operations,
            "slowdown": finite(self.slowdown),
            "allocation_slowdown": self.allocation_slowdown,
            "congestion_slowdown": finite(self.congestion_slowdown),
            "release": self.release,
            "earliest_end": self.earliest,
            "stretch_by_dates": finite(self.stretch_by_dates),
            "stretch_by_durations": finite(self.stretch_by_durations),
            **({"buffer": self.buffer.to_dict()} if self.buffer is not None else {}),
            **({"resources": list(self.resources)} if self.resources is not None else {}),
        }


@dataclass(frozen=True)
class Result:
    """The outcome of a run under a policy between the dates `begin` and `end`; seconds and bytes.

    `applications` has one entry per application, in the order of the workload.
    """

    policy: str
    begin: float
    end: float
    min_yield: float
    """The lowest yield (000 eq. 8)."""
    efficiency: float
    """Progress over time, weighted by nodes (000 eq. 10)."""
    utilization: float
    """Work over time, weighted by nodes (000 eq. 9)."""
    pressure: float
    """W of the workload (000 eq. 11)."""
    makespan: float | None
    """Seconds from `begin` to the last end; None if an application did not end."""
    events: int
    """Operations posted, operations completed, periodic decisions; with buffers: also shares or pools full, thresholds
    reached, output drained, prefetched data used up, reads fetched ahead.
    """
    decisions: int
    """Number of calls of the policy."""
    seconds: float
    """Seconds of computing time spent in the engine."""
    applications: tuple[ApplicationResult, ...]
    ended_early: tuple[str, ...]
    """Applications that ended inside the window, which is then not a steady state (000 §3.2.1)."""
    origin: float
    """The date that counts as 0 for stretches by dates: T_begin, or 0 without a window."""
    valid: bool
    """Whether every application that does I/O has completed an operation."""
    occupancy: tuple[float, ...]
    """O_i of every store (the link or each I/O resource): the part of the time in which it moves data."""
    store_utilization: tuple[float, ...]
    """Of each store: what it moved, as a part of what it could carry in that time; at most its occupancy."""
    idle_node_seconds: float
    """Node-seconds that applications spent in I/O."""
    idle_time: float
    """Machine-IdleTime: these as a part of all node-seconds of the machine (002 §III.C.2), or of those that applications had
    where these are more."""
    held_node_seconds: float
    """Node-seconds that applications had their nodes: from their start to their end, within the run."""
    lost_node_seconds: float
    """Those in which they neither worked nor, at their own speed, transferred: what they lost to the I/O of others."""
    most_nodes: int
    """The most nodes in use at one time."""
    machine_nodes: int | None
    """Nodes of the platform, if it says how many."""
    trace: Trace | None = None
    """Rates over time; None unless the run was traced."""
    buffer: BufferResult | None = None
    """What went through the buffer; None without one."""

    @property
    def lost_node_hours(self) -> float:
        """Node-hours that applications lost to the I/O of others."""
        return self.lost_node_seconds / 3600.0

    @property
    def running_efficiency(self) -> float:
        """Progress over the node-seconds that applications had their nodes.

        An efficiency without the time in which an application has not come yet, or has ended.
        """
        return 1.0 - self.lost_node_seconds / self.held_node_seconds if self.held_node_seconds > 0.0 else 1.0

    @property
    def yields(self) -> Floats:
        """The yields in the order of the workload."""
        return self._column(lambda application: application.yield_)

    @property
    def duration(self) -> float:
        """Seconds from `begin` to `end`."""
        return self.end - self.begin

    @property
    def slowdowns(self) -> Floats:
        """ρ of the applications that have reached an I/O operation, in the order of the workload."""
        return np.array([a.slowdown for a in self.applications if a.slowdown is not None])

    @property
    def mean_slowdown(self) -> float:
        """Mean-I/O-SlowDown (002 eq. 4); 1 if no application does I/O."""
        return float(self.slowdowns.mean()) if len(self.slowdowns) else 1.0

    @property
    def max_slowdown(self) -> float:
        """Max-I/O-SlowDown; 1 if no application does I/O."""
        return float(self.slowdowns.max(initial=1.0))

    @property
    def mean_allocation_slowdown(self) -> float:
        """The mean of ρ_io; 1 if no application does I/O."""
        parts = [a.allocation_slowdown for a in self.applications if a.allocation_slowdown is not None]
        return float(np.mean(parts)) if parts else 1.0

    @property
    def mean_congestion_slowdown(self) -> float:
        """The mean of ρ_con; 0 if no application does I/O."""
        parts = [a.congestion_slowdown for a in self.applications if a.congestion_slowdown is not None]
        return float(np.mean(parts)) if parts else 0.0

    @property
    def spread(self) -> float:
        """I/O-spread: the largest occupancy minus the smallest (002 eq. 5)."""
        return max(self.occupancy) - min(self.occupancy)

    @property
    def releases(self) -> Floats:
        """r_k in the order of the workload."""
        return self._column(lambda application: application.release)

    @property
    def earliest(self) -> Floats:
        """C_min in the order of the workload (004 eq. 2)."""
        return self._column(lambda application: application.earliest)

    @property
    def ends(self) -> Floats:
        """C_k in the order of the workload; NaN for an application that has not ended."""
        return self._column(lambda application: math.nan if application.end is None else application.end)

    @property
    def stretches(self) -> Floats:
        """C_k / C_min by dates (004 eq. 3)."""
        return self._column(lambda application: application.stretch_by_dates)

    @property
    def duration_stretches(self) -> Floats:
        """(C_k − r_k) / (C_min − r_k)."""
        return self._column(lambda application: application.stretch_by_durations)

    @property
    def max_stretch(self) -> float:
        """The largest stretch, by dates."""
        return float(self.stretches.max())

    @property
    def mean_stretch(self) -> float:
        """The mean stretch, by dates."""
        return float(self.stretches.mean())

    @property
    def max_duration_stretch(self) -> float:
        """The largest stretch, by durations."""
        return float(self.duration_stretches.max())

    @property
    def mean_duration_stretch(self) -> float:
        """The mean stretch, by durations."""
        return float(self.duration_stretches.mean())

    def _column(self, value: Callable[[ApplicationResult], float]) -> Floats:
        return np.array([value(application) for application in self.applications])

    def to_dict(self) -> dict[str, Any]:
        """The result as `penstock simulate --json` prints it."""
        return {
            "policy": self.policy,
            **{name: getattr(self, name) for name in MEASURES},
            "window": [self.begin, self.end],
            "ended_early": list(self.ended_early),
            **{name: finite(getattr(self, field)) for name, field in UNBOUNDED.items()},
            "idle_node_seconds": self.idle_node_seconds,
            "idle_time": self.idle_time,
            "lost_node_hours": self.lost_node_hours,
            "running_efficiency": self.running_efficiency,
            "most_nodes": self.most_nodes,
            "occupancy": list(self.occupancy),
            "store_utilization": list(self.store_utilization),
            **({"buffer": self.buffer.to_dict()} if self.buffer is not None else {}),
            "applications": [application.to_dict() for application in self.applications],
        }


@dataclass(frozen=True, eq=False)
class RunMeasures:
    """What a result is computed from beside the state: the workload on its machine, and what it would do alone."""

    workload: Workload
    layout: Layout
    alone: Dedicated
    policy: str
    windowed: bool

    def result(self, state: State, seconds: float, trace: Trace | None, buffer: BufferResult | None) -> Result:
        """Compute the result of a run.

        Args:
            state: the state that the run has reached.
            seconds: time spent in the engine.
            trace: the recorded rates, if any.
            buffer: what went through the buffer, if there is one.
        """
        workload, now, own = self.workload, float(state.clock[NOW]), state.own
        books = accounts(state, now)
        started, ended = own["status"] != HELD, own["status"] == ENDED
        elapsed = np.where(ended, own["end"], now) - own["release"]
        # At the instant of release the yield is 1.
        yields = np.where(elapsed > 0.0, books["progress"] / np.where(elapsed > 0.0, elapsed, 1.0), 1.0)
        window = workload.window if self.windowed else None
        # Draining after the last end is not time of any application.
        duration = (float(own["end"].max()) if ended.all() and not window else now) - workload.begin
        node_seconds = float(own["nodes"][started].sum()) * duration
        gained = np.where(started, books["progress"] - own["history"], 0.0)
        idle = float(np.dot(own["nodes"], books["io_seconds"]))
        start = np.maximum(own["release"], workload.begin)
        end = np.where(started, np.maximum(start, np.where(ended, own["end"], now)), start)
        held = float(np.dot(own["nodes"], end - start))
        machine = max(held, (workload.platform.nodes or float(own["nodes"].sum())) * (now - workload.begin))

        def weighted(values: Floats) -> float:
            return float(np.dot(own["nodes"], values)) / node_seconds if node_seconds > 0.0 else 1.0

        units = buffer.carried if buffer else carried(state, self.layout)
        applications = self._applications(state, books, yields, buffer)
        return Result(
            policy=self.policy,
            begin=workload.begin,
            end=now,
            min_yield=float(yields[started].min()) if started.any() else 1.0,
            efficiency=weighted(gained),
            utilization=weighted(books["worked"]),
            pressure=self.alone.pressure,
            makespan=float(own["end"].max()) - workload.begin if ended.all() else None,
            events=int(state.counts[EVENTS]),
            decisions=int(state.counts[DECISIONS]),
            seconds=seconds,
            applications=applications,
            ended_early=tuple(a.name for a in applications if window and a.end is not None and a.end < window[1]),
            origin=self.origin,
            valid=int(state.counts[WITHOUT_TRANSFER]) == 0,
            occupancy=self._parts(state.stores["now_busy"][: self.layout.stores], now),
            store_utilization=self._parts(units / self.layout.limits[0], now),
            idle_node_seconds=idle,
            idle_time=idle / machine if machine > 0.0 else 0.0,
            held_node_seconds=held,
            lost_node_seconds=max(0.0, held - float(np.dot(own["nodes"], gained))),
            most_nodes=_most_at_once(start, end, own["nodes"]),
            machine_nodes=workload.platform.nodes,
            trace=trace,
            buffer=buffer,
        )

    @property
    def origin(self) -> float:
        """The date that counts as 0: T_begin, or 0 without a window."""
        return self.workload.window[0] if self.workload.window else 0.0

    def _parts(self, seconds: Floats, now: float) -> tuple[float, ...]:
        """These seconds of the stores as parts of the run; 0 of a run that takes no time."""
        duration = now - self.workload.begin
        return tuple((seconds / duration if duration > 0.0 else np.zeros_like(seconds)).tolist())

    def _applications(
        self, state: State, books: dict[str, Floats], yields: Floats, buffer: BufferResult | None
    ) -> tuple[ApplicationResult, ...]:
        own, layout = state.own, self.layout
        ended = own["status"] == ENDED
        allocation = layout.best / layout.bytes if layout.placement is not None else np.ones(len(own))
        alone = own["io_alone"] + _alone_under_way(state)
        begun = books["io_seconds"] > 0.0
        # A value below 0 is rounding: no application is faster than alone.
        with np.errstate(divide="ignore", invalid="ignore"):
            congestion = np.where(alone > 0.0, np.maximum(0.0, allocation * (books["io_seconds"] / alone - 1.0)), math.inf)
        columns = zip(
            self.workload.applications,
            *(
                column.tolist()
                for column in (*books.values(), yields, own["operations"], own["release"], self.earliest(state))
            ),
            _known(own["end"], ended),
            _known(allocation, begun),
            _known(congestion, begun),
            [None] * len(own) if layout.placement is None else layout.placement,
            [buffer.use(index) for index in range(len(own))] if buffer else [None] * len(own),
            strict=True,
        )
        made = []
        for application, *values, y, count, release, earliest, end, rho_io, rho_con, used, passage in columns:
            made.append(
                ApplicationResult(
                    name=application.name,
                    end=end,
                    yield_=y,
                    operations=count,
                    release=release,
                    earliest=earliest,
                    allocation_slowdown=rho_io,
                    congestion_slowdown=rho_con,
                    resources=used,
                    origin=self.origin,
                    buffer=passage,
                    nodes=application.nodes,
                    **dict(zip(books, values, strict=True)),
                )
            )
        return tuple(made)

    def earliest(self, state: State) -> Floats:
        """C_min of each application in seconds: when it would end alone, by its release in `state`."""
        own = state.own
        leads = np.array([application.lead for application in self.workload.applications])
        begin: Floats = np.maximum(own["release"], self.workload.begin) + leads + own["cycle"]
        return begin


def _most_at_once(start: Floats, end: Floats, nodes: Floats) -> int:
    """The largest sum of nodes of applications that run at one time, each from its start to just before its end."""
    dates = np.concatenate([end, start])
    order = np.argsort(dates, kind="stable")  # at one date ends come first
    return int(np.cumsum(np.concatenate([-nodes, nodes])[order]).max(initial=0.0))


def _known(values: Floats, known: Any) -> list[float | None]:
    """The values, None where they are not known."""
    return [value if there else None for value, there in zip(values.tolist(), known.tolist(), strict=True)]


def _alone_under_way(state: State) -> Floats:
    """Seconds that what has been moved of the operations under way takes alone."""
    own = state.own
    reading = state.kinds[np.maximum(own["cursor"] - 1, 0)] == READ
    speed = np.where(reading, own["read_speed"], own["write_speed"])
    return np.where(own["status"] == ACTIVE, own["now_moved"] / speed, 0.0)


def accounts(state: State, now: float, some: Ints | None = None) -> dict[str, Floats]:
    """What applications of `state` have done by the date `now`, operations under way included, in seconds and bytes.

    They are all, or `some` by their positions.
    """
    own = state.own if some is None else state.own[some]
    working, active = own["status"] == WORKING, own["status"] == ACTIVE
    under_way = np.where(working, np.clip(now - own["work_begin"], 0.0, own["work_length"]), 0.0)
    io_seconds = own["io_seconds"] + np.where(active, now - own["began"], 0.0)
    served = own["transfer_seconds"] + np.where(active, own["now_served"], 0.0)
    moved = own["moved"] + np.where(active, own["now_moved"], 0.0)
    return {
        "progress": np.where(active, own["now_progress"], own["done"] + under_way),
        "worked": own["worked"] + under_way,
        "transferred": moved * own["bytes"],
        "io_seconds": io_seconds,
        "waiting": np.maximum(0.0, io_seconds - served),
        "transferring": served,
    }
