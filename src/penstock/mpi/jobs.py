"""The applications that this process presents to the coordinator.

A communicator is one application, and rank 0 has its `Job` (003 §III.C: one process in each application speaks). It is
the same for all files that are opened with the same hints, from the first of them to the end of the program: progress and
yield are those of the application and not of a file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from penstock.client import Job
from penstock.client.identity import NAME_CHARACTERS
from penstock.mpi.hints import Hints


@dataclass(frozen=True)
class Presented:
    """What a job is made with."""

    name: str | None
    nodes: int
    bandwidth: float | None
    patience: float | None
    socket: str | None

    def job(self) -> Job:
        """The job, which is made once."""
        if (self, os.getpid()) not in _jobs:
            _jobs[self, os.getpid()] = Job(
                self.name, nodes=self.nodes, bandwidth=self.bandwidth, patience=self.patience, address=self.socket
            )
        return _jobs[self, os.getpid()]


_jobs: Final[dict[tuple[Presented, int], Job]] = {}


def of_all(hints: Hints, nodes: int) -> Job:
    """The job of the communicator."""
    told = hints.nodes if hints.nodes is not None else nodes
    return Presented(hints.job, told, hints.bandwidth, hints.patience, hints.socket).job()


def of_rank(hints: Hints, name: str, nodes: int, rank: int) -> Job:
    """The job of a rank other than 0, for its independent I/O: one node's part of the whole."""
    part = hints.bandwidth / nodes if hints.bandwidth is not None else None
    return Presented(f"{name}.{rank}"[-NAME_CHARACTERS:], 1, part, hints.patience, hints.socket).job()
