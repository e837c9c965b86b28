"""The buffer that one application needs for itself (004 §5): none if it is no faster than the file system.

With caps B_w and B_r of their own, writes and reads do not meet. Writing as soon as possible and prefetching as late as
possible leaves the least content at every moment, of both (figures 4 and 5): the peak is the largest sum of the two, not the
sum of their peaks. With a cap B on both together it takes a linear program.

Prefetching begins at the clock's 0, before the release if need be. If it cannot be in time there is no peak.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.buffers.program import Assembly
from penstock.buffers.solve import InfeasibleError, solve_program
from penstock.buffers.timeline import Flow, FullSpeedTimeline, full_speed_timeline
from penstock.model import Application, Platform, Workload
from penstock.numeric.tolerances import PLAN_ROUNDING


@dataclass(frozen=True, eq=False)
class Single:
    """One application at full speed: what it `writes` and `reads` (W∞ and R∞), and what has gone to the file system
    (`written`) and come from it (`read`).
    """

    peak: float | None
    """Bytes; None if the reads cannot be in time."""
    writes: Flow
    reads: Flow
    written: Flow
    read: Flow


def alone(application: Application, platform: Platform, *, capped: bool = False) -> Single:
    """The peak by construction, with the caps B_w and B_r alone (004 §5.2): B is taken to be at least their sum."""
    asked = full_speed_timeline(Workload(platform, (application,)), capped=capped)
    writes, reads = asked.flows(asked.writes)[0], asked.flows(asked.reads)[0]
    written, read = writes.throttled(float(asked.write_cap[0])), reads.in_advance(float(asked.read_cap[0]))
    content = writes.at(asked.events) - written.at(asked.events) + read.at(asked.events) - reads.at(asked.events)
    # Between events both contents are convex, so the largest sum is at an event.
    in_time = read.at(asked.events[:1])[0] <= PLAN_ROUNDING * asked.unit
    return Single(float(content.max()) if in_time else None, writes, reads, written, read)


def alone_by_program(application: Application, platform: Platform, *, capped: bool = False) -> float | None:
    """The peak in bytes, with the caps B_w, B_r and B, by the linear program of 004 §5.2; None if there is none."""
    asked = full_speed_timeline(Workload(platform, (application,)), capped=capped)
    unit, seconds, last = asked.unit, asked.lengths, len(asked.events) - 1
    writes, reads = (asked.flows(operations)[0].at(asked.events) / unit for operations in (asked.writes, asked.reads))
    assembly = Assembly()
    upper = assembly.upper
    peak = assembly.add_columns(np.zeros(1), np.full(1, np.inf))
    w = assembly.add_columns(np.zeros(last + 1), writes)
    total = np.full(last + 1, reads[-1])
    total[0] = reads[0]
    r = assembly.add_columns(reads, total)
    caps = float(asked.write_cap[0]), float(asked.read_cap[0]), platform.bandwidth
    for cap, columns in zip(caps, ((w,), (r,), (w, r)), strict=True):
        rows = upper.add(cap * seconds / unit)
        for column in columns:
            upper.put(rows, column[1:], 1.0)
            upper.put(rows, column[:-1], -1.0)
    for column in (w, r):
        rows = upper.add(np.zeros(last))
        upper.put(rows, column[:-1], 1.0)
        upper.put(rows, column[1:], -1.0)
    rows = upper.add(reads - writes)
    upper.put(rows, w, -1.0)
    upper.put(rows, r, 1.0)
    upper.put(rows, peak[0], -1.0)
    try:
        return solve_program(assembly.program(peak)).objective * unit
    except InfeasibleError:
        return None


def least_written(asked: FullSpeedTimeline, application: int, size: float) -> Flow:
    """W^S: what it must have written to the file system at least if its buffer holds `size` bytes (004 figure 6)."""
    writes = asked.flows(asked.writes)[application]
    beyond = Flow(writes.dates, writes.amounts - size).clipped(0.0, np.inf)
    return beyond.in_advance(float(asked.write_cap[application]))


def most_read(asked: FullSpeedTimeline, application: int, size: float) -> Flow:
    """R^S: what it can have read from the file system at most if its buffer holds `size` bytes (004 figure 7)."""
    reads = asked.flows(asked.reads)[application]
    room = Flow(reads.dates, reads.amounts + size).clipped(0.0, reads.total)
    return room.throttled(float(asked.read_cap[application]))
