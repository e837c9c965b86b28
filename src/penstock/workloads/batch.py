"""A batch of periodic applications (001 §III.B.2, §IV.B.2): n times work of a seconds and I/O of b bytes, all released at 0.

There is no window: every application runs to its end. A batch scheduler decides when each starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.model import Application, Phases, Platform, Workload
from penstock.model.phases import IO, WORK
from penstock.workloads.laws import Floats, Integers


@dataclass(frozen=True)
class Batch:
    """A workload that was drawn, and what must be known of the draw.

    `low` applications are of low I/O load, or None where all are of one kind. The law of sizes was to have the mean
    `asked_nodes`; it goes up to `largest` nodes. The sizes of `clipped` applications were cut to the nodes of the machine.
    """

    workload: Workload
    low: int | None
    asked_nodes: float
    largest: int
    clipped: int

    def summary(self) -> str:
        """One line for a user."""
        nodes = [application.nodes for application in self.workload.applications]
        kinds = "" if self.low is None else f" ({self.low} of low I/O load)"
        beyond = f", at most {self.largest} possible" if self.asked_nodes > self.largest else ""
        sizes = f"{np.mean(nodes):.1f} nodes on average (asked for {self.asked_nodes:.1f}{beyond})"
        return f"{len(nodes)} applications{kinds}, {sizes}, {self.clipped} clipped to the machine"


def periodic(work: float, volume: float, iterations: int) -> Phases:
    """`iterations` times `work` seconds and an I/O operation of `volume` bytes."""
    return alternating(np.tile((work, volume), iterations))


def alternating(amounts: Floats) -> Phases:
    """Work, I/O, work, I/O …; the array is kept, not copied, and can no longer be written."""
    kinds = np.tile(np.array([WORK, IO], np.uint8), len(amounts) // 2)
    kinds.flags.writeable = amounts.flags.writeable = False
    return Phases(kinds, amounts)


def batch(
    platform: Platform, names: Sequence[str], works: Floats, volumes: Floats, iterations: Integers, nodes: Integers
) -> Workload:
    """The workload of periodic applications, an entry of each sequence an application."""
    rows = zip(names, works.tolist(), volumes.tolist(), iterations.tolist(), nodes.tolist(), strict=True)
    applications = (Application(name, periodic(work, volume, count), nodes=size) for name, work, volume, count, size in rows)
    return Workload(platform, tuple(applications))


def low_ones(share: float, uniforms: Floats) -> NDArray[np.bool_]:
    """Which applications are of low I/O load: `share` of them, rounded; which ones is up to the uniform numbers."""
    chosen = np.zeros(len(uniforms), np.bool_)
    chosen[np.argsort(uniforms)[: round(share * len(uniforms))]] = True
    return chosen


def names_of(is_low: NDArray[np.bool_] | None, count: int) -> list[str]:
    """A name for each application: low-0, high-1 … by its I/O load, or job-0, job-1 … where all are of one kind."""
    if is_low is None:
        return [f"job-{index}" for index in range(count)]
    return [f"{'low' if low else 'high'}-{index}" for index, low in enumerate(is_low.tolist())]
