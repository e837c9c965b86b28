"""Plans as strategies of the search: the linear program's own plan, and plans for applications that are slowed down.

With a buffer of S_OPT or more, the plan of `sizing` has a stretch of 1: nothing is better. Below that some applications must
end later. A *slowed plan* slows each of them down evenly, so that it ends just when a stretch of ρ allows: its I/O, which
takes v / b_k, takes as much longer as it may end later. For these speeds the linear program finds the smallest buffer again,
and the plan says what moves when. It can be carried out: applications write at the lower speed, as a coordinator can make
them. A smaller speed does not always need a smaller buffer, since writes that did not meet may meet; so several ρ up to the
allowed one are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from penstock.buffers.lower_bounds import allowance
from penstock.buffers.plan import OPTIMAL, BufferPlan
from penstock.buffers.sizing import size as smallest_buffer
from penstock.buffers.timeline import FullSpeedTimeline
from penstock.model import Workload
from penstock.model.application import READ, WORK
from penstock.numeric.tolerances import PLAN_SLACK, STRETCH_PRECISION

PARTS: Final = 8
"""Slowdowns that are tried for a stretch."""
HALVINGS: Final = 12
"""Steps of the search for the stretch of a size."""
LONG: Final = 20_000
"""Events from which on a search makes a third of the steps: each is a linear program of seconds."""


@dataclass(frozen=True, eq=False)
class SlowedPlan:
    """A plan with which every application is within a `stretch`; 1 for the plan of the workload itself."""

    stretch: float
    plan: BufferPlan

    @property
    def size(self) -> float:
        """Bytes of its buffer."""
        return self.plan.size or 0.0


def slowed(demand: FullSpeedTimeline, stretch: float, by: str) -> Workload:
    """The workload with every application slowed down so that it ends when a stretch allows.

    Args:
        demand: the applications at full speed.
        stretch: 1 or more.
        by: how stretches count, by `dates` or by `durations`.

    Example:
        2 s of work and 4 bytes at 2 bytes/s end at 4 s; with a stretch of 1.5 at 6 s, at 1 byte/s.

        >>> from penstock.buffers import full_speed_timeline
        >>> from penstock.model import Application, Platform
        >>> writer = Application.of("a", [("work", 2.0), ("write", 4.0)], bandwidth=2.0)
        >>> slowed(full_speed_timeline(Workload(Platform(1.0), (writer,))), 1.5, "dates").applications[0].write_bandwidth
        1.0
    """
    made = []
    later = allowance(demand, stretch, by)
    for index, application in enumerate(demand.workload.applications):
        read, write = float(demand.read_speed[index]), float(demand.write_speed[index])
        kinds, amounts = application.phases.kinds, application.phases.amounts
        seconds = float(np.where(kinds == READ, amounts / read, amounts / write)[kinds != WORK].sum())
        part = seconds / (seconds + float(later[index])) if seconds > 0.0 else 1.0
        made.append(replace(application, read_bandwidth=part * read, write_bandwidth=part * write))
    return replace(demand.workload, applications=tuple(made))


def plan_for_stretch(plan: BufferPlan, stretch: float, by: str) -> SlowedPlan | None:
    """The smallest buffer that some slowed plan within a stretch needs.

    Args:
        plan: the plan for a stretch of 1, optimal or not.
        stretch: the largest stretch.
        by: how stretches count.

    Returns:
        The plan; None if none is feasible.
    """
    parts = PARTS if len(plan.demand.events) < LONG else PARTS // 3
    tried = [_slowed_plan(plan, 1.0 + (stretch - 1.0) * part / parts, by) for part in range(parts + 1)]
    return min((one for one in tried if one is not None), key=lambda one: one.size, default=None)


def plan_for_size(plan: BufferPlan, size: float, largest: float, by: str) -> SlowedPlan | None:
    """The fastest slowed plan whose buffer is at most `size` bytes; stretches above the `largest` are not tried.

    Args:
        plan: the plan for a stretch of 1, optimal or not.
        size: bytes.
        largest: a stretch that is reached in another way.
        by: how stretches count.

    Returns:
        The plan; None if none fits.
    """
    fits = size * (1.0 + PLAN_SLACK)
    if plan.status == OPTIMAL and plan.size is not None and plan.size <= fits:
        return SlowedPlan(1.0, plan)
    best: SlowedPlan | None = None
    low, high = 1.0, largest
    for stretch in _first_steps(largest):
        found = _slowed_plan(plan, stretch, by)
        if found is not None and found.size <= fits:
            best, high = found, stretch
            break
        low = stretch
    steps = HALVINGS if len(plan.demand.events) < LONG else HALVINGS // 3
    for _ in range(steps if best is not None else 0):
        middle = 0.5 * (low + high)
        if high - low <= STRETCH_PRECISION * high:
            break
        found = _slowed_plan(plan, middle, by)
        if found is not None and found.size <= fits:
            best, high = found, middle
        else:
            low = middle
    return best


def _first_steps(largest: float) -> Iterator[float]:
    """Stretches up to the largest, at first close to 1."""
    for part in (1.0 / 64.0, 1.0 / 16.0, 1.0 / 8.0, 1.0 / 4.0, 3.0 / 8.0, 1.0 / 2.0, 3.0 / 4.0, 1.0):
        yield 1.0 + (largest - 1.0) * part


def _slowed_plan(plan: BufferPlan, stretch: float, by: str) -> SlowedPlan | None:
    if stretch == 1.0:
        return SlowedPlan(1.0, plan) if plan.status == OPTIMAL else None
    found = smallest_buffer(slowed(plan.demand, stretch, by), plan.mode, capped=plan.demand.capped)
    return SlowedPlan(stretch, found) if found.status == OPTIMAL else None
