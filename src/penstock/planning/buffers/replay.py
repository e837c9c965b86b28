"""A plan carried out: applications run as they are, and the file system moves what the plan says (004 §6, claim B1).

An application emits what it writes at b_w, and takes what it reads at b_r, as long as its share has room and its data are
there. Where its share is full it emits what the file system takes, and where nothing of what it reads is in the buffer it
takes what the file system gives; for those held up in this way that is as much as it can. If it is not full speed they are
slowed down, and all that follows comes later. A full share is not prefetched into faster than data leave it, and not at all
while its application writes.

The file system goes by the amounts that the plan wants moved at its dates: what it moves for an application is what is
missing to the next of these amounts, evenly over the time until then. Rates from the plan would add up their rounding
errors; amounts do not. It never moves what is not there, never more than min(b, B) for one application, and where all
together want more than B, B_w or B_r all get less in proportion. After the last date it moves what is left in the buffer.

Events are the dates of the plan, releases, the ends of phases, and the moments at which a content becomes 0 or a share
full. Shares have a slack of 1e-8 of themselves and of the largest operation, and data may be read that much before they are
there, and what moves in the microseconds by which dates and events are apart: else a rounding error would delay somebody,
and delays grow. A dynamic buffer has no shares; that its pool is large
enough is seen from the `peak`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.model import Application, InputError
from penstock.model.phases import READ, WORK
from penstock.planning.buffers.executor import Course, Jobs, Limits, compiled_execute
from penstock.planning.buffers.flow import Flow
from penstock.planning.buffers.plan import Plan
from penstock.policies.view import Floats, Ints

SLACK: Final = 1e-8
NOTHING: Final = 1e-10
"""Bytes that count as none, in parts of the largest operation."""
MOMENT: Final = 1e-6
"""Seconds that do not count: an application may start a rounding error before another ends."""


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


def replay(plan: Plan, shares: Floats | None = None) -> Replay:
    """Carry out a plan; a static one also with other shares than its own."""
    if plan.size is None:
        raise InputError("plan", f"is {plan.status}; expected one with a size")
    if shares is None:
        shares = plan.shares
    elif plan.shares is None or shares.shape != plan.shares.shape:
        raise InputError("shares", "do not fit the plan; expected one an application, for a static buffer")
    asked, platform = plan.demand, plan.workload.platform
    jobs = _jobs(plan, shares)
    course = _begin(jobs)
    bounds = platform.bandwidth, platform.write_limit, platform.read_limit
    lent = SLACK * asked.unit + 2.0 * asked.rounding * (platform.bandwidth + float(asked.read_speed.max()))
    limits = Limits(*bounds, NOTHING * asked.unit, lent, MOMENT)
    drained, peak, events = compiled_execute()(jobs, course, limits, asked.origin)
    return Replay(
        end=course.end,
        stretch=_ratio(course.end - asked.origin, asked.least_end - asked.origin),
        duration_stretch=_ratio(course.end - jobs.release, asked.least_end - jobs.release),
        peaks=course.peaks,
        peak=peak,
        drained=drained,
        events=events,
    )


def _ratio(seconds: Floats, least: Floats) -> Floats:
    return np.divide(seconds, least, out=np.ones(len(least)), where=least > 0.0)


def _jobs(plan: Plan, shares: Floats | None) -> Jobs:
    asked, applications = plan.demand, plan.workload.applications
    count = len(applications)
    slack = SLACK * (asked.unit + (0.0 if shares is None else shares))
    slack += 2.0 * asked.rounding * (plan.workload.platform.bandwidth + asked.write_speed + asked.read_speed)
    return Jobs(
        kinds=np.concatenate([application.phases.kinds for application in applications]),
        amounts=np.concatenate([application.phases.amounts for application in applications]),
        ends=np.concatenate(
            [_ends(a, *speeds) for a, *speeds in zip(applications, asked.write_speed, asked.read_speed, strict=True)]
        ),
        first=_edges([len(application.phases) for application in applications]),
        release=np.array([application.release for application in applications]),
        lead=np.array([application.lead for application in applications]),
        write_speed=asked.write_speed,
        read_speed=asked.read_speed,
        write_cap=asked.write_cap,
        read_cap=asked.read_cap,
        room=np.full(count, np.inf) if shares is None else shares + slack,
        share=np.full(count, np.nan) if shares is None else shares,
        **_knots("write", plan.written),
        **_knots("read", plan.read),
    )


def _ends(application: Application, write_speed: float, read_speed: float) -> Floats:
    """The date at which each phase ends at full speed."""
    kinds, amounts = application.phases.kinds, application.phases.amounts
    speed = np.where(kinds == WORK, 1.0, np.where(kinds == READ, read_speed, write_speed))
    return application.release + application.lead + np.cumsum(amounts / speed)


def _knots(direction: str, flows: tuple[Flow, ...]) -> dict[str, Any]:
    return {
        f"{direction}_first": _edges([len(flow.dates) for flow in flows]),
        f"{direction}_dates": np.concatenate([flow.dates for flow in flows]),
        f"{direction}_amounts": np.concatenate([flow.amounts for flow in flows]),
    }


def _edges(lengths: list[int]) -> Ints:
    return np.array([*accumulate(lengths, initial=0)], np.int64)


def _begin(jobs: Jobs) -> Course:
    """All unborn, nothing moved."""
    count = len(jobs.release)
    columns: dict[str, NDArray[Any]] = {name: np.zeros(count) for name in Course._fields}
    starts = {"cursor": jobs.first, "write_next": jobs.write_first, "read_next": jobs.read_first}
    columns |= {name: first[:-1].copy() for name, first in starts.items()}
    columns |= {name: np.zeros(count, np.int64) for name in ("status", "slowed")}
    columns |= {"end": np.full(count, np.nan), "until": np.full(count, np.inf)}
    return Course(**columns)
