"""A plan for a burst buffer: how large it is, who has which part of it, and what goes to and from the file system when.

The plan is data: `penstock.buffers.check` holds it against the workload, and `penstock.buffers.execute`
carries it out.

From what strands move to what is in the buffer, to shares, and to the flows of the applications.

Shares as lines for batch scripts: how much of the burst buffer each job asks for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.buffers.periods import Strands, StrandSteps
from penstock.buffers.timeline import Flow, FullSpeedTimeline
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats, Ints, spread, summed
from penstock.numeric.tolerances import PLAN_ROUNDING

STATIC: Final = "static"
DYNAMIC: Final = "dynamic"
OPTIMAL: Final = "optimal"
INFEASIBLE: Final = "infeasible"


@dataclass(frozen=True)
class Effort:
    """The linear program that was solved, and where the time went; no rows where nothing was to be decided."""

    rows: int = 0
    columns: int = 0
    nonzeros: int = 0
    iterations: int = 0
    """Of the simplex method."""
    gap: float = 0.0
    """The duality gap, relative."""
    primal_residual: float = 0.0
    """The most by which a row is passed, in parts of the largest operation."""
    dual_residual: float = 0.0
    demand_seconds: float = 0.0
    """The applications at full speed."""
    build_seconds: float = 0.0
    """Busy periods, rows and columns."""
    solve_seconds: float = 0.0
    """The smallest S."""
    shares_seconds: float = 0.0
    """The second program: the smallest shares with that S. Its iterations and errors are in those above."""
    plan_seconds: float = 0.0
    """What moves when."""

    @property
    def seconds(self) -> float:
        """All together."""
        return self.demand_seconds + self.build_seconds + self.solve_seconds + self.shares_seconds + self.plan_seconds


@dataclass(frozen=True)
class Obstacle:
    """Why somebody is slowed down, however large the buffer.

    From `date` on data cannot be where they must: those of the `application` in its phase number `phase`, from 0, its read
    number `read`, from 1; at the worst moment `missing` bytes are. Without an application it is the buffer's own bandwidth
    that is too small, and `needed` bytes/s would do.
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
    """The buffer over time: at each event, `before` and `after` it, in bytes.

    `content` is what is in it. `before` and `after` are what is taken: the shares of the living and the contents of the
    others. A dynamic buffer has no shares and takes its content.
    """

    dates: Floats
    content: Floats
    before: Floats
    after: Floats

    @property
    def size(self) -> float:
        """The buffer that is needed for it."""
        return float(max(self.before.max(), self.after.max()))


@dataclass(frozen=True, eq=False)
class BufferPlan:
    """The smallest buffer with which nobody is slowed down, or why there is none.

    `written` and `read` say for each application how many bytes have gone to and come from the file system; between events
    rates are constant, and after the last event what is left in the buffer drains evenly. An infeasible plan has no size, no
    shares, no filling and no flows.
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
    """S_k in bytes, one an application; a dynamic buffer has none."""
    peaks: Floats | None = None
    """The most that each application has in the buffer, in bytes."""
    filling: Filling | None = None
    written: tuple[Flow, ...] = ()
    read: tuple[Flow, ...] = ()
    warnings: tuple[str, ...] = ()
    obstacle: Obstacle | None = None

    @property
    def workload(self) -> Workload:
        """What the plan is for."""
        return self.demand.workload

    @property
    def dates(self) -> Floats:
        """The events, and where there is anything left to drain then, the date at which the buffer is empty."""
        return np.unique(np.concatenate([self.demand.events, *(flow.dates for flow in self.written)]))

    def rates(self) -> tuple[Floats, Floats]:
        """Bytes/s of each application (column) from each of the `dates` to the next (row): to the file system, from it."""
        seconds = np.diff(self.dates)[:, None]
        write, read = (np.column_stack([flow.at(self.dates) for flow in flows]) for flows in (self.written, self.read))
        return np.diff(write, axis=0) / seconds, np.diff(read, axis=0) / seconds

    def to_dict(self, *, rates: bool = True) -> dict[str, Any]:
        """The plan for JSON: seconds, bytes and bytes/s. A rate holds from its date to the next one of its application."""
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


@dataclass(frozen=True, eq=False)
class Contents:
    """What strands hold at each of their events: an entry of each array a strand and an event; `amount` in bytes."""

    owner: Ints
    reading: NDArray[np.bool_]
    event: Ints
    amount: Floats

    @classmethod
    def of(cls, demand: FullSpeedTimeline, strands: Strands, steps: StrandSteps, moved: Floats) -> Contents:
        """The contents that follow from the bytes that each step moves."""
        strand, event = spread(strands.first, strands.last + 1)
        begins, ends = event == strands.first[strand], event == strands.last[strand]
        change = np.zeros(len(event))
        change[~begins] = np.where(strands.reading[steps.strand], moved - steps.asked, steps.asked - moved)
        amount = np.cumsum(change)
        amount -= amount[begins][strand]
        over = ends & (strands.reading[strand] | (event < len(demand.events) - 1))
        amount[over | (amount < PLAN_ROUNDING * demand.unit)] = 0.0
        return cls(strands.owner[strand], strands.reading[strand], event, amount)

    def and_those(self, others: Contents) -> Contents:
        """These and the others."""
        return Contents(*(np.concatenate([getattr(self, f.name), getattr(others, f.name)]) for f in fields(self)))

    def peaks(self, applications: int, counted: NDArray[np.bool_] | None = None) -> Floats:
        """The largest content of each application, both directions together, where they are `counted` (everywhere)."""
        chosen = slice(None) if counted is None else counted
        events = int(self.event.max(initial=0)) + 1
        keys, place = np.unique(self.owner[chosen] * events + self.event[chosen], return_inverse=True)
        both = summed(place, self.amount[chosen], len(keys))
        peaks = np.zeros(applications)
        np.maximum.at(peaks, keys // events, both)
        return peaks

    def shares(self, demand: FullSpeedTimeline) -> Floats:
        """The largest content of each application while it lives."""
        alive = (demand.begin[self.owner] <= self.event) & (self.event <= demand.end[self.owner])
        return self.peaks(len(demand.begin), alive)

    def filling(self, demand: FullSpeedTimeline, shares: Floats | None) -> Filling:
        """The buffer over time."""
        events = len(demand.events)
        content = summed(self.event, self.amount, events)
        if shares is None:
            return Filling(demand.events, content, content, content)
        change = np.zeros(events)
        np.add.at(change, demand.begin, shares)
        np.add.at(change, demand.end, -shares)
        living = np.cumsum(change)
        begin, end = demand.begin[self.owner], demand.end[self.owner]
        outside = {
            "before": np.where(self.reading, self.event <= begin, self.event > end),
            "after": np.where(self.reading, self.event < begin, self.event >= end),
        }
        before, after = (summed(self.event[who], self.amount[who], events) for who in outside.values())
        before[1:] += living[:-1]
        return Filling(demand.events, content, before, after + living)

    def flows(self, demand: FullSpeedTimeline) -> tuple[tuple[Flow, ...], tuple[Flow, ...]]:
        """For each application what has gone to the file system, W∞ less its content, and come from it, R∞ and content."""
        written, read = (
            operations.flows(len(demand.begin), self.owner[mine], self.event[mine], sign * self.amount[mine])
            for operations, mine, sign in ((demand.writes, ~self.reading, -1.0), (demand.reads, self.reading, 1.0))
        )
        return _drained(demand, written), read


def _drained(demand: FullSpeedTimeline, written: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """The flows with what is left in the buffer after the last event: all drain evenly, as fast as they can together."""
    total = demand.writes.total(len(written))
    left = total - np.array([flow.total for flow in written])
    left[left < PLAN_ROUNDING * demand.unit] = 0.0
    seconds = max(float(left.sum()) / demand.workload.platform.write_limit, float((left / demand.write_cap).max()))
    if seconds == 0.0:
        return written
    end = demand.events[-1] + seconds
    return tuple(
        Flow(np.append(flow.dates, end), np.append(flow.amounts, total[k])) if left[k] > 0.0 else flow
        for k, flow in enumerate(written)
    )


GIB: Final = 2.0**30
STYLES: Final[Mapping[str, Callable[[int], str]]] = MappingProxyType(
    {
        "dw": lambda gib: f"#DW jobdw type=scratch access_mode=striped capacity={gib}GiB",
        "bb": lambda gib: f"#BB capacity={gib}GiB",
    }
)
"""DataWarp's directive, and that of a site's own plug-in that goes by #BB."""


def directives(workload: Workload, shares: Floats, style: str = "dw") -> str:
    """For each job a comment with its name and, if it needs a share, its directive; whole GiB, rounded up."""
    if style not in STYLES:
        raise InputError("style", f"{style!r} is unknown; expected {' or '.join(STYLES)}")
    lines = []
    for application, share in zip(workload.applications, shares.tolist(), strict=True):
        name = " ".join(application.name.split())
        lines.append(f"# {name}" if share > 0.0 else f"# {name}: no burst buffer")
        if share > 0.0:
            lines.append(STYLES[style](math.ceil(share / GIB)))
    return "\n".join(lines) + "\n"
