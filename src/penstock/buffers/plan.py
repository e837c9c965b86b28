"""A plan for a burst buffer: its size, the share of each application, and the data that go to and come from the file system.

The plan is data. `penstock.buffers.check` checks it against the workload, `penstock.buffers.execute` executes it, and
`directives` prints its shares as lines for batch scripts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from penstock.buffers.timeline import Flow, FullSpeedTimeline
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats

STATIC: Final = "static"
DYNAMIC: Final = "dynamic"
OPTIMAL: Final = "optimal"
INFEASIBLE: Final = "infeasible"


@dataclass(frozen=True)
class Effort:
    """The size of the linear program, its errors, and where the time went; no rows where nothing had to be decided."""

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
    """Why an application is slowed down with any buffer, however large.

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
    """The buffer over time, in bytes at each event.

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

    `written` and `read` are the data of each application that have gone to and come from the file system. Between events
    rates are constant; after the last event the rest drains evenly. An infeasible plan has no size, shares, filling or
    flows.
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
    """S_k in bytes, one an application; None for a dynamic buffer."""
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
        """Bytes/s to and from the file system: a column an application, a row from each of the `dates` to the next."""
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
        Text with one or two lines a job. Shares are rounded up to whole GiB.

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
