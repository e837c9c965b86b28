"""A plan carried out: applications run as they are, and the file system moves what the plan says (004 §6, claim B1).

An application emits what it writes at b_w, and takes what it reads at b_r, as long as its share has room and its data are
there. Where its share is full it emits what the file system takes, and where nothing of what it reads is in the buffer it
takes what the file system gives; for those held up in this way that is as much as it can. If it is not full speed they are
slowed down, and all that follows comes later. A full share is not prefetched into faster than data leave it, and not at all
while its application writes. That is the engine's run with buffers, with the plan in place of a policy
(`penstock.engine.planned`).

Shares have a slack of 1e-8 of themselves and of the largest operation, and data may be read that much before they are
there, and what moves in the microseconds by which dates and events are apart: else a rounding error would delay somebody,
and delays grow. For the same reason B_BB is a millionth larger. A dynamic buffer has no shares; that its pool is large
enough is seen from the `peak`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.buffers.plan import BufferPlan
from penstock.engine import Buffering, Fill, Result, Run
from penstock.engine.planned import Targets
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.tolerances import BUFFER_INFLOW, PLAN_DATE_S, PLAN_SLACK


@dataclass(frozen=True, eq=False)
class Replay:
    """What became of a plan; arrays have one entry an application."""

    end: Floats
    """C_k, a date."""
    stretch: Floats
    """C_k / C_min by the clock (004 eq. 3); 1 for an application that ends when the clock starts."""
    duration_stretch: Floats
    """(C_k − r_k) / (C_min − r_k); 1 for an application that takes no time."""
    peaks: Floats
    """The most it had in the buffer, in bytes."""
    peak: float
    """The most that was taken of the buffer: the shares of the living and the contents of the others, in bytes."""
    drained: float
    """The date at which all was in the file system."""
    events: int

    @property
    def max_stretch(self) -> float:
        """The largest stretch by the clock."""
        return float(self.stretch.max())


def execute_plan(plan: BufferPlan, shares: Floats | None = None, *, check: bool = False) -> Replay:
    """Carry out a plan; a static one also with other shares than its own. `check` the engine's invariants at every event."""
    if plan.size is None:
        raise InputError("plan", f"is {plan.status}; expected one with a size")
    if shares is None:
        shares = plan.shares
    elif plan.shares is None or shares.shape != plan.shares.shape:
        raise InputError("shares", "do not fit the plan; expected one an application, for a static buffer")
    result = _carried_out(plan, shares, check)
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


def _carried_out(plan: BufferPlan, shares: Floats | None, check: bool) -> Result:
    """The engine's run of the workload in which the plan says what moves."""
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
    """The most of each application in the buffer: contents are lines from row to row."""
    peaks = np.zeros(count)
    np.maximum.at(peaks, fill.application, fill.outgoing + fill.incoming)
    return peaks


def _peak(fill: Fill, shares: Floats, release: Floats, end: Floats) -> float:
    """The most that is taken for longer than a moment, of shares from release to end and contents before and after."""
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
    """The highest sum of lines, each with a value at its begin and a slope, between dates more than a moment apart."""
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
