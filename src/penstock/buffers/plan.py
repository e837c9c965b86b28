"""A plan for a burst buffer: its size, the share of each application, and the data that go to and come from the file system.

The plan is data. `penstock.buffers.check` checks it against the workload, `execute_plan` runs it, and `directives` prints
its shares as lines for batch scripts.

**Execution.** Applications run as they are, and the file system moves what the plan says (004 §6, claim B1). An application
writes at b_w and reads at b_r while its share has room and its data are in the buffer. If its share is full it writes at the
rate at which the file system takes its data; if nothing of its read is in the buffer it reads at the rate at which the file
system gives them. The file system serves such blocked applications as fast as it can. Below full speed they are slowed down,
and all that follows comes later. Data are not prefetched into a full share faster than data leave it, and not at all while
its application writes. This is the engine's run with buffers, with the plan in place of a policy
(`penstock.engine.planned`).

Rounding errors must not delay an application, since delays grow. So shares are larger by 1e-8 of themselves and of the
largest operation; data may be read that much before they are there, plus what moves in the microseconds by which dates
and events differ; and B_BB is larger by a millionth. A dynamic buffer has no shares: its `peak` shows whether the pool is
large enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from penstock.buffers.timeline import Flow, FullSpeedTimeline
from penstock.engine import Buffering, Fill, Result, Run
from penstock.engine.planned import Targets
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.tolerances import BUFFER_INFLOW, PLAN_DATE_S, PLAN_SLACK

STATIC: Final = "static"
DYNAMIC: Final = "dynamic"
OPTIMAL: Final = "optimal"
INFEASIBLE: Final = "infeasible"


@dataclass(frozen=True)
class Effort:
    """The size of the linear program, its errors, and where the time went; no rows where nothing had to be decided.

    `rows`, `columns` and `nonzeros` count those of its matrix.
    """

    rows: int = 0
    columns: int = 0
    nonzeros: int = 0
    iterations: int = 0
    """Of the simplex method."""
    gap: float = 0.0
    """Relative duality gap."""
    primal_residual: float = 0.0
    """The most by which a row is violated, in parts of the largest operation."""
    dual_residual: float = 0.0
    """The most by which a reduced cost is off."""
    demand_seconds: float = 0.0
    """Dates and flows of the applications at full speed."""
    build_seconds: float = 0.0
    """Busy periods, rows and columns."""
    solve_seconds: float = 0.0
    """The smallest S; for a static buffer with the smallest Σ S_k as a second aim."""
    shares_seconds: float = 0.0
    """The smallest Σ S_k with that S. Iterations and errors of all solutions are in the counts above."""
    plan_seconds: float = 0.0
    """Contents, shares and flows of the plan."""

    @property
    def seconds(self) -> float:
        """Seconds of all parts together."""
        return self.demand_seconds + self.build_seconds + self.solve_seconds + self.shares_seconds + self.plan_seconds


@dataclass(frozen=True)
class Obstacle:
    """Why an application is slowed down with any buffer, however large; `message` says it in one line.

    From `date` on the data of `application` cannot be there in time, in its phase number `phase` (from 0), its read number
    `read` (from 1); at the worst moment `missing` bytes are not. Without an application the buffer's own bandwidth is too
    small, and `needed` bytes/s would be enough.
    """

    message: str
    date: float
    application: str | None = None
    phase: int | None = None
    read: int | None = None
    missing: float | None = None
    needed: float | None = None


@dataclass(frozen=True, eq=False)
class Filling:
    """The buffer over time, in bytes at each event; `dates` are those of the events, in seconds.

    `content` is the data in it. `before` and `after` are the space that is taken just before and just after the event: the
    shares of the living and the contents of the others. In a dynamic buffer the content is all that is taken.
    """

    dates: Floats
    content: Floats
    before: Floats
    after: Floats

    @property
    def size(self) -> float:
        """The buffer size that this takes, in bytes."""
        return float(max(self.before.max(), self.after.max()))


@dataclass(frozen=True, eq=False)
class BufferPlan:
    """The smallest buffer with which no application is slowed down, or the reason why there is none.

    `demand` is the workload at full speed, `effort` what it took to find the plan. `written` and `read` are the data of each
    application that have gone to and come from the file system. Between events rates are constant; after the last event the
    rest drains evenly. `filling` is the content over time, `warnings` are lines for a user. An infeasible plan has an
    `obstacle` and no size, shares, filling or flows.
    """

    demand: FullSpeedTimeline
    mode: str
    """static or dynamic."""
    status: str
    """optimal or infeasible."""
    effort: Effort
    size: float | None = None
    """S in bytes."""
    shares: Floats | None = None
    """S_k in bytes, one per application; None for a dynamic buffer."""
    peaks: Floats | None = None
    """Largest content of each application, in bytes."""
    filling: Filling | None = None
    written: tuple[Flow, ...] = ()
    read: tuple[Flow, ...] = ()
    warnings: tuple[str, ...] = ()
    obstacle: Obstacle | None = None

    @property
    def workload(self) -> Workload:
        """The workload that the plan is for."""
        return self.demand.workload

    @property
    def dates(self) -> Floats:
        """The events and, if data are left to drain then, the date at which the buffer is empty."""
        return np.unique(np.concatenate([self.demand.events, *(flow.dates for flow in self.written)]))

    def rates(self) -> tuple[Floats, Floats]:
        """Bytes/s to and from the file system: one column per application, one row from each of the `dates` to the next."""
        seconds = np.diff(self.dates)[:, None]
        write, read = (np.column_stack([flow.at(self.dates) for flow in flows]) for flows in (self.written, self.read))
        return np.diff(write, axis=0) / seconds, np.diff(read, axis=0) / seconds

    def to_dict(self, *, rates: bool = True) -> dict[str, Any]:
        """The plan for JSON: seconds, bytes and bytes/s; with `rates`, also the rates of each application.

        A rate holds from its date to the next one of its application.
        """
        made = self.demand
        return {
            "mode": self.mode,
            "status": self.status,
            "capped": made.capped,
            "size": self.size,
            "load": made.load,
            "events": len(made.events),
            "operations": {"reads": len(made.reads), "writes": len(made.writes)},
            "warnings": list(self.warnings),
            "obstacle": asdict(self.obstacle) if self.obstacle else None,
            "effort": {**asdict(self.effort), "seconds": self.effort.seconds},
            "applications": [self._application(k, rates) for k in range(len(made.begin))],
        }

    def _application(self, k: int, rates: bool) -> dict[str, Any]:
        application = self.workload.applications[k]
        entry: dict[str, Any] = {
            "name": application.name,
            "release": application.release,
            "end": float(self.demand.least_end[k]),
            "share": None if self.shares is None else float(self.shares[k]),
            "peak": None if self.peaks is None else float(self.peaks[k]),
        }
        if rates and self.written:
            for name, flow in (("writes", self.written[k]), ("reads", self.read[k])):
                entry[name] = {"dates": flow.dates.tolist(), "rates": [*flow.rates.tolist(), 0.0]}
        return entry


GIB: Final = 2.0**30
STYLES: Final[Mapping[str, Callable[[int], str]]] = MappingProxyType(
    {
        "dw": lambda gib: f"#DW jobdw type=scratch access_mode=striped capacity={gib}GiB",
        "bb": lambda gib: f"#BB capacity={gib}GiB",
    }
)
"""Directives by style: Cray DataWarp's, and `#BB` of a generic burst-buffer plug-in."""


def directives(workload: Workload, shares: Floats, style: str = "dw") -> str:
    """Shares as lines for batch scripts: for each job its name in a comment and, if it has a share, its directive.

    Args:
        workload: The jobs.
        shares: Bytes of each job.
        style: `dw` (Cray DataWarp) or `bb` (a plug-in that reads `#BB` lines).

    Returns:
        Text with one or two lines per job. Shares are rounded up to whole GiB.

    Raises:
        InputError: The style is unknown.
    """
    if style not in STYLES:
        raise InputError("style", f"{style!r} is unknown; expected {' or '.join(STYLES)}")
    lines = []
    for application, share in zip(workload.applications, shares.tolist(), strict=True):
        name = " ".join(application.name.split())
        lines.append(f"# {name}" if share > 0.0 else f"# {name}: no burst buffer")
        if share > 0.0:
            lines.append(STYLES[style](math.ceil(share / GIB)))
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, eq=False)
class Replay:
    """The outcome of a plan that was executed; arrays have one entry per application."""

    end: Floats
    """C_k, a date."""
    stretch: Floats
    """C_k / C_min by the clock (004 eq. 3); 1 for an application that ends when the clock starts."""
    duration_stretch: Floats
    """(C_k − r_k) / (C_min − r_k); 1 for an application that takes no time."""
    peaks: Floats
    """Largest content of each application, in bytes."""
    peak: float
    """Largest space taken in the buffer: the shares of the living and the contents of the others, in bytes."""
    drained: float
    """The date at which all data are in the file system."""
    events: int
    """Events of the simulation."""

    @property
    def max_stretch(self) -> float:
        """The largest stretch by the clock."""
        return float(self.stretch.max())


def execute_plan(plan: BufferPlan, shares: Floats | None = None, *, check: bool = False) -> Replay:
    """Execute a plan in the engine, event by event (004 §6, claim B1).

    Args:
        plan: A plan with a size.
        shares: Bytes of each application, instead of the shares of a static plan.
        check: Check the engine's invariants at every event.

    Returns:
        Ends, stretches and peaks. A correct plan has a stretch of 1 for every application.

    Raises:
        InputError: The plan is infeasible, or the shares do not fit it.

    Example:
        >>> from penstock.buffers import size
        >>> from penstock.model import Application, Platform, Workload
        >>> writer = Application.of("a", [("work", 4.0), ("write", 8.0)], bandwidth=4.0)
        >>> plan = size(Workload(Platform(2.0), (writer,)))
        >>> round(execute_plan(plan).max_stretch, 6)
        1.0
        >>> round(execute_plan(plan, shares=plan.shares / 2.0).max_stretch, 6)  # ends at 7 instead of 6
        1.166667
    """
    if plan.size is None:
        raise InputError("plan", f"is {plan.status}; expected one with a size")
    if shares is None:
        shares = plan.shares
    elif plan.shares is None or shares.shape != plan.shares.shape:
        raise InputError("shares", "do not fit the plan; expected one per application, for a static buffer")
    result = replay_plan(plan, shares, check=check)
    assert result.buffer is not None
    assert result.buffer.fill is not None
    if shares is None:
        peaks, peak = _peaks(result.buffer.fill, len(result.ends)), float(result.buffer.peaks[0])
    else:
        peaks, peak = result.buffer.peaks, _peak(result.buffer.fill, shares, result.releases, result.ends)
    return Replay(
        end=result.ends,
        stretch=result.stretches,
        duration_stretch=result.duration_stretches,
        peaks=peaks,
        peak=peak,
        drained=result.end,
        events=result.events,
    )


def replay_plan(plan: BufferPlan, shares: Floats | None = None, *, check: bool = False) -> Result:
    """The engine's run of a workload with a plan in place of a policy.

    Args:
        plan: a plan with a size.
        shares: bytes of each application; None for one pool without a limit.
        check: check the engine's invariants at every event.
    """
    asked, bandwidth = plan.demand, plan.workload.platform.bandwidth
    lent = PLAN_SLACK * asked.unit + 2.0 * asked.rounding * (bandwidth + float(asked.read_speed.max()))
    if shares is None:
        buffer = Buffering(pool=np.inf, capped=asked.capped)
    else:
        slack = PLAN_SLACK * (asked.unit + shares) + 2.0 * asked.rounding * (
            bandwidth + asked.write_speed + asked.read_speed
        )
        buffer = Buffering(shares=shares + slack, capped=asked.capped)
    written, read = ([(flow.dates, flow.amounts) for flow in flows] for flows in (plan.written, plan.read))
    targets = Targets.of(written, read, asked.origin)
    options: dict[str, Any] = {"plan": targets, "lent": lent, "to_the_end": True, "trace": True, "check": check}
    return Run(_with_faster_buffer(plan.workload), "best-effort", placement=False, buffer=buffer, **options).finish()


def _with_faster_buffer(workload: Workload) -> Workload:
    buffer = workload.platform.buffer
    if buffer is None or buffer.bandwidth is None:
        return workload
    faster = replace(buffer, bandwidth=(1.0 + BUFFER_INFLOW) * buffer.bandwidth)
    return replace(workload, platform=replace(workload.platform, buffer=faster))


def _peaks(fill: Fill, count: int) -> Floats:
    """Largest content of each application; contents are linear from row to row."""
    peaks = np.zeros(count)
    np.maximum.at(peaks, fill.application, fill.outgoing + fill.incoming)
    return peaks


def _peak(fill: Fill, shares: Floats, release: Floats, end: Floats) -> float:
    """Largest space taken for longer than a moment: shares from release to end, contents before and after."""
    rows = _rows_outside(fill, release, end)
    owner, date, content = fill.application[rows], fill.date[rows], fill.outgoing[rows] + fill.incoming[rows]
    goes_on = (owner[1:] == owner[:-1]) & (date[1:] > date[:-1])
    owner, start, stop, first = owner[:-1][goes_on], date[:-1][goes_on], date[1:][goes_on], content[:-1][goes_on]
    slope = (content[1:][goes_on] - first) / (stop - start)
    lines = [(release, end, shares, np.zeros(len(shares)))]
    for begin, until in ((start, np.minimum(stop, release[owner])), (np.maximum(start, end[owner]), stop)):
        there = begin < until
        lines.append((begin[there], until[there], (first + slope * (begin - start))[there], slope[there]))
    return _highest(*(np.concatenate(column) for column in zip(*lines, strict=True)))


def _rows_outside(fill: Fill, release: Floats, end: Floats) -> Ints:
    """The rows of each application before its release and after its end, and those next to them, by application."""
    owner = fill.application
    inside = np.flatnonzero((release[owner] <= fill.date) & (fill.date < end[owner]))
    first, last = np.full(len(end), len(owner)), np.full(len(end), -1)
    np.minimum.at(first, owner[inside], inside)
    np.maximum.at(last, owner[inside], inside)
    kept = np.ones(len(owner), np.bool_)
    kept[inside] = False
    kept[first[last >= 0]] = kept[last[last >= 0]] = True
    rows = np.flatnonzero(kept)
    return rows[np.argsort(owner[rows], kind="stable")]


def _highest(begin: Floats, until: Floats, value: Floats, slope: Floats) -> float:
    """The highest sum of lines, each with a value at its start and a slope, between dates more than a moment apart."""
    dates, places = np.unique(np.concatenate([begin, until]), return_inverse=True)
    first, last = np.split(places, 2)

    def change(gained: Floats, lost: Floats) -> Floats:
        count = len(dates)
        more, less = np.bincount(first, gained, minlength=count), np.bincount(last, lost, minlength=count)
        return np.asarray(more - less, np.float64)

    seconds = np.diff(dates)
    rise = np.cumsum(change(slope, slope))[:-1] * seconds
    after = np.cumsum(change(value, value + slope * (until - begin)) + np.concatenate([[0.0], rise]))[:-1]
    return float(np.maximum(after, after + rise)[seconds > PLAN_DATE_S].max(initial=0.0))
