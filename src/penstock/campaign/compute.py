"""Computing a task: the one function that every worker calls, local or of a Dask cluster."""

from __future__ import annotations

import platform
import threading
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Final

from penstock.campaign.cells import BOUND, Cell, Task, policy_file_digest
from penstock.campaign.identity import Identity, identity, require
from penstock.campaign.rows import Shape, bounded, computed, failed, to_part
from penstock.engine import loop, simulate
from penstock.model import PenstockError, Workload
from penstock.policies.naming import find
from penstock.policies.policy import Policy
from penstock.theory.bounds import bounds, compile_bounds

LOST_AFTER: Final = 4
"""How often a worker may die with a task before the task is given up; Dask's own default."""

_COMPILING: Final = threading.Lock()
"""A Dask worker may have several threads; compiling changes settings of the whole process."""


def compute(task: Task, campaign: Identity) -> bytes:
    """The rows of the task as a Parquet file; a cell that fails is a row with its error.

    Raises OtherVersion where this process runs another program than the campaign.
    """
    require(identity(), campaign, f"the worker on {platform.node()}")
    return to_part(_rows(task))


def lost(task: Task, deaths: int) -> bytes:
    """The rows of a task that was given up because its workers died."""
    error = PenstockError(f"the worker died while it computed this, in {deaths} of {deaths} attempts; expected it to go on")
    return to_part(failed(cell, None, error) for cell in task.cells)


def warm_up(policies: Iterable[str]) -> None:
    """Compile the engine and the built-in policies once, so that the workers find them in the cache on disk."""
    loop.compiled_advance()
    for name in policies:
        if name == BOUND:
            compile_bounds()
        elif (policy := find(name)).built_in:
            policy.compiled()


def _rows(task: Task) -> Iterator[dict[str, Any]]:
    try:
        workloads = task.workloads()
        if not workloads:
            raise PenstockError("the source made no workload; expected one or more")
    except Exception as error:  # whatever a source raises is the row's error
        yield from (failed(cell, None, error) for cell in task.cells)
        return
    for window, workload in enumerate(workloads):
        shape = Shape.of(workload)
        for cell in task.cells:
            yield _row(cell, window, workload, shape)


def _row(cell: Cell, window: int, workload: Workload, shape: Shape) -> dict[str, Any]:
    try:
        if cell.policy == BOUND:
            with _COMPILING:
                compile_bounds()
            return bounded(cell, window, workload, bounds(workload))
        with _COMPILING:
            policy = _ready(cell.policy, policy_file_digest(cell.policy))
        return computed(cell, window, simulate(workload, policy), shape)
    except Exception as error:  # whatever a user's policy raises is the row's error
        return failed(cell, window, error)


@lru_cache(maxsize=64)
def _ready(name: str, _file_digest: str | None) -> Policy:
    """The compiled policy; the digest makes a long-lived worker read a user's file anew when it has changed."""
    policy = find(name)
    loop.compiled_advance()
    policy.compiled()
    return policy
