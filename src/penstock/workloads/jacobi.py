"""The five Jacobi applications of 001 §III.D.1 (Table III.1), on a node each, B = 1: volumes are seconds.

Their total load, iterations · (work + I/O), is the same: 10,500 s a batch of iterations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.model import Platform, Workload
from penstock.model.phases import MOST_PHASES
from penstock.workloads.batch import batch
from penstock.workloads.laws import require

TABLE: Final = ((32.0, 10.0, 250), (16.0, 5.0, 500), (8.0, 2.5, 1000), (8.0, 2.5, 1000), (16.0, 5.0, 500))
"""Of each application the seconds of work and of I/O in an iteration, and the iterations."""


@dataclass(frozen=True)
class Jacobi:
    """`batches` multiplies the iterations: 2 doubles them, 0.1 takes a tenth; the result is rounded, to 1 at least."""

    batches: float = 1.0

    def __post_init__(self) -> None:
        most = MOST_PHASES // 2 // sum(iterations for _, _, iterations in TABLE)
        require(0.0 < self.batches <= most, "batches", self.batches, f"a number above 0, up to {most:,}")


def jacobi(parameters: Jacobi) -> Workload:
    """The workload; nothing in it is random."""
    works, volumes, iterations = np.array(TABLE).T
    counts = np.maximum(1, np.rint(iterations * parameters.batches)).astype(np.int64)
    names = [f"jacobi-{index}" for index in range(1, len(TABLE) + 1)]
    return batch(Platform(1.0, nodes=len(TABLE)), names, works, volumes, counts, np.ones(len(TABLE), np.int64))
