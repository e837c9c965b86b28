"""What became of the jobs: when each started and ended, where, and in which pack."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from penstock.planning.packs import Pack
from penstock.policies.view import Floats, Ints


@dataclass(frozen=True)
class PackRun:
    """A pack that has run; dates in seconds."""

    number: int
    """Its place in the plan."""
    io_node: int
    start: float
    end: float
    planned: Pack
    """As it started: without the jobs that had gone into earlier packs and those that joined while it ran."""
    joined: tuple[int, ...]
    """The jobs that joined while it ran."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Columns with one entry a job, filled while the jobs run."""

    start: Floats
    end: Floats
    io_node: Ints
    pack: Ints
    """Number of the pack it ran in; −1 without packs."""
    backfilled: NDArray[np.bool_]
    """It started before a job that comes before it in the order."""
    packs: list[PackRun] = field(default_factory=list)

    @classmethod
    def empty(cls, size: int) -> Outcome:
        """Before anything has run."""
        return cls(
            start=np.full(size, np.nan),
            end=np.full(size, np.nan),
            io_node=np.zeros(size, np.int64),
            pack=np.full(size, -1, np.int64),
            backfilled=np.zeros(size, np.bool_),
        )
