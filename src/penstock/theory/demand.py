"""What the applications ask of the link, from which bounds are made.

In dedicated mode an application moves along its chain at one second a second. The part of the chain at *offset* u, in
dedicated seconds from the start, cannot be reached before the date start + u under any schedule: that is its *head*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from penstock.model import Application, Workload
from penstock.model.phases import WORK
from penstock.policies.view import Floats, Ints

PIECES = 8
"""Into how many pieces an operation is cut where the application cannot fill the link by itself."""


@dataclass(frozen=True)
class Demand:
    """One entry an application, and one a piece of an I/O operation; pieces are in the order of applications and offsets.

    Dates and durations in seconds; `share` is b_i / B, so that a piece of `length` dedicated seconds takes share · length
    seconds of the link.
    """

    release: Floats
    start: Floats
    """When the listed phases begin."""
    history: Floats
    """Progress at the start."""
    chain: Floats
    """Dedicated seconds of all that is listed, the lead included."""
    share: Floats
    nodes: Floats
    begin: float
    end: float
    """Of the window; infinite without one."""

    first: Ints
    """Pieces of application i: first[i] … first[i + 1] − 1."""
    application: Ints
    offset: Floats
    length: Floats

    @property
    def total(self) -> Floats:
        """Progress of an application that has ended."""
        return self.history + self.chain

    @property
    def head(self) -> Floats:
        """The earliest date of each piece."""
        return self.start[self.application] + self.offset


def demand(workload: Workload, pieces: int = PIECES) -> Demand:
    """The demand of the workload; pieces that no schedule reaches before the end of the window are left out."""
    applications = workload.applications
    platform = workload.platform
    end = workload.window[1] if workload.window else math.inf
    caps = np.array([application.cap(platform) for application in applications])
    parts = [
        _pieces(application, cap, end - workload.start(application), pieces if cap < platform.bandwidth else 1)
        for application, cap in zip(applications, caps.tolist(), strict=True)
    ]
    counts = [len(offset) for offset, _ in parts]
    return Demand(
        release=np.array([application.release for application in applications]),
        start=np.array([workload.start(application) for application in applications]),
        history=np.array([workload.history(application) for application in applications]),
        chain=np.array([a.seconds_alone(cap) for a, cap in zip(applications, caps, strict=True)]),
        share=caps / platform.bandwidth,
        nodes=np.array([float(application.nodes) for application in applications]),
        begin=workload.begin,
        end=end,
        first=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        application=np.repeat(np.arange(len(applications), dtype=np.int64), counts),
        offset=np.concatenate([offset for offset, _ in parts]),
        length=np.concatenate([length for _, length in parts]),
    )


def _pieces(application: Application, cap: float, reach: float, count: int) -> tuple[Floats, Floats]:
    """Offset and length of the pieces of its operations that begin within `reach` seconds of the start."""
    seconds = application.phases.dedicated_seconds(cap)
    offsets = application.lead + np.cumsum(seconds) - seconds
    chosen = (application.phases.kinds != WORK) & (seconds > 0.0) & (offsets < reach)
    length = np.repeat(seconds[chosen] / count, count)
    steps = np.tile(np.arange(count), int(np.count_nonzero(chosen)))
    return np.repeat(offsets[chosen], count) + steps * length, length
