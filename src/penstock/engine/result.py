"""What a run yields: the objectives of 000 §3.3 and the account of every application."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from penstock.engine.dedicated import Dedicated
from penstock.engine.loop import Trace
from penstock.engine.state import ACTIVE, DECISIONS, ENDED, EVENTS, HELD, NOW, SLOTS, WORKING, State
from penstock.model import Workload
from penstock.policies.view import Floats

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
"""The fields of a result that are one number for the whole run, as JSON and campaigns name them."""


@dataclass(frozen=True)
class ApplicationResult:
    """One application at the end of the run, or at its own end; times in seconds, volumes in bytes."""

    name: str
    end: float | None
    """When it ended; None if it did not."""
    yield_: float
    """Progress over the time since its release (000 eq. 6), at its own end if it has ended."""
    progress: float
    """Work and dedicated I/O done since its release, history included."""
    worked: float
    """Work done in the run."""
    transferred: float
    """Bytes moved in the run."""
    waiting: float
    """Seconds with an operation posted and no bandwidth."""
    transferring: float
    """Seconds with an operation posted and some bandwidth."""
    operations: int
    """Operations completed."""

    @property
    def stretch(self) -> float:
        """Time since its release over progress: 1 / yield; infinite if nothing is done."""
        return 1.0 / self.yield_ if self.yield_ > 0.0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON has them."""
        return {
            "name": self.name,
            "end": self.end,
            "yield": self.yield_,
            "stretch": self.stretch if math.isfinite(self.stretch) else None,
            "progress": self.progress,
            "worked": self.worked,
            "transferred": self.transferred,
            "waiting": self.waiting,
            "transferring": self.transferring,
            "operations": self.operations,
        }


@dataclass(frozen=True)
class Result:
    """The outcome of a run under a policy between `begin` and `end`."""

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
    """Seconds from the begin to the last end; None if an application did not end."""
    events: int
    """Operations posted, operations completed, periodic decisions."""
    decisions: int
    """How often the policy was asked."""
    seconds: float
    """Time spent in the engine."""
    applications: tuple[ApplicationResult, ...]
    ended_early: tuple[str, ...]
    """Applications that ended inside the window, which is then not a steady state (000 §3.2.1)."""
    trace: Trace | None = None

    @property
    def yields(self) -> Floats:
        """The yields in the order of the workload."""
        return np.array([application.yield_ for application in self.applications])

    def to_dict(self) -> dict[str, Any]:
        """The result as ``--json`` prints it."""
        return {
            "policy": self.policy,
            **{name: getattr(self, name) for name in MEASURES},
            "window": [self.begin, self.end],
            "ended_early": list(self.ended_early),
            "applications": [application.to_dict() for application in self.applications],
        }


def measure(workload: Workload, state: State, alone: Dedicated, policy: str, seconds: float, trace: Trace | None) -> Result:
    """The result of a run in this state."""
    now = float(state.clock[NOW])
    books = accounts(state, now)
    started = state.status != HELD
    ended = state.status == ENDED
    until = np.where(ended, state.end, now)
    elapsed = until - state.release
    # At the instant of release the yield is 1.
    yields = np.where(elapsed > 0.0, books["progress"] / np.where(elapsed > 0.0, elapsed, 1.0), 1.0)
    node_seconds = float(state.nodes[started].sum()) * (now - workload.begin)
    gained = np.where(started, books["progress"] - state.history, 0.0)

    def weighted(values: Floats) -> float:
        return float(np.dot(state.nodes, values)) / node_seconds if node_seconds > 0.0 else 1.0

    applications = tuple(
        ApplicationResult(
            name=application.name,
            end=float(state.end[index]) if ended[index] else None,
            yield_=float(yields[index]),
            operations=int(state.operations[index]),
            **{name: float(column[index]) for name, column in books.items()},
        )
        for index, application in enumerate(workload.applications)
    )
    early = tuple(a.name for a in applications if workload.window and a.end is not None and a.end < workload.window[1])
    return Result(
        policy=policy,
        begin=workload.begin,
        end=now,
        min_yield=float(yields[started].min()) if started.any() else 1.0,
        efficiency=weighted(gained),
        utilization=weighted(books["worked"]),
        pressure=alone.pressure,
        makespan=float(state.end.max()) - workload.begin if ended.all() else None,
        events=int(state.counts[EVENTS]),
        decisions=int(state.counts[DECISIONS]),
        seconds=seconds,
        applications=applications,
        ended_early=early,
        trace=trace,
    )


def accounts(state: State, now: float) -> dict[str, Floats]:
    """Each application's amounts, what is under way included."""
    worked, progress, moved = state.worked.copy(), state.done.copy(), state.moved.copy()
    io_seconds, transferring = state.io_seconds.copy(), state.transfer_seconds.copy()
    working = state.status == WORKING
    under_way = np.clip(now - state.work_begin[working], 0.0, state.work_length[working])
    worked[working] += under_way
    progress[working] += under_way
    slots = slice(0, int(state.counts[SLOTS]))
    active = state.slot_index[slots]
    assert np.all(state.status[active] == ACTIVE)
    progress[active] = state.slot_progress[slots]
    moved[active] += state.slot_volume[slots] - state.slot_remaining[slots]
    io_seconds[active] += now - state.slot_began[slots]
    transferring[active] = state.slot_transfer[slots]
    return {
        "progress": progress,
        "worked": worked,
        "transferred": moved,
        "waiting": np.maximum(0.0, io_seconds - transferring),
        "transferring": transferring,
    }
