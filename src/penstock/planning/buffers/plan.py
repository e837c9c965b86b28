"""A plan for a burst buffer: how large it is, who has which part of it, and what goes to and from the file system when.

The plan is data: `penstock.planning.buffers.checking` holds it against the workload, and `penstock.planning.buffers.replay`
carries it out.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from penstock.model import Workload
from penstock.planning.buffers.demand import Demand
from penstock.planning.buffers.flow import Flow
from penstock.policies.view import Floats

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
class Plan:
    """The smallest buffer with which nobody is slowed down, or why there is none.

    `written` and `read` say for each application how many bytes have gone to and come from the file system; between events
    rates are constant, and after the last event what is left in the buffer drains evenly. An infeasible plan has no size, no
    shares, no filling and no flows.
    """

    demand: Demand
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
