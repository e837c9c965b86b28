"""Computing a task: the one function that every worker calls, local or of a Dask cluster."""

from __future__ import annotations

import platform
import threading
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import Any, Final

from penstock.campaign.cells import BOUND, Campaign, Cell, Task, policy_file_digest
from penstock.campaign.identity import Identity, identity, require
from penstock.campaign.rows import Shape, bounded, computed, failed, to_part
from penstock.engine import Run
from penstock.engine.kernel import compiled_advance
from penstock.model import InputError, PenstockError, Workload
from penstock.planning.placement.placed import Placed
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


def warm_up(campaign: Campaign) -> None:
    """Compile the engine and the built-in policies once, so that the workers find them in the cache on disk.

    What a kind of workload needs of them is seen from the first one; what cannot be made there is the error of its rows.
    """
    for task in {task.cells[0].kind: task for task in reversed(campaign.tasks)}.values():
        with suppress(Exception):
            workload = task.workloads()[0]
            on = task.placed(workload)
            for cell in task.cells:
                if cell.policy == BOUND:
                    compile_bounds()
                elif (policy := find(cell.policy)).built_in:
                    _ready_run(workload, policy, on)


def _rows(task: Task) -> Iterator[dict[str, Any]]:
    try:
        workloads = task.workloads()
        if not workloads:
            raise PenstockError("the source made no workload; expected one or more")
    except Exception as error:  # whatever a source raises is the row's error
        yield from (failed(cell, None, error) for cell in task.cells)
        return
    for window, workload in enumerate(workloads):
        try:
            on = task.placed(workload)
        except Exception as error:  # an application that has no curve, say
            yield from (failed(cell, window, _located(cell, error)) for cell in task.cells)
            continue
        for cell in task.cells:
            yield _row(cell, window, workload, on)


def _row(cell: Cell, window: int, workload: Workload, on: Placed | None) -> dict[str, Any]:
    try:
        if cell.policy == BOUND:
            with _COMPILING:
                compile_bounds()
            return bounded(cell, window, workload, bounds(workload, placement=on.resources if on else None), on)
        with _COMPILING:
            run = _ready_run(workload, _ready(cell.policy, policy_file_digest(cell.policy)), on)
        return computed(cell, window, run.finish(), Shape.of(run), on)
    except Exception as error:  # whatever a user's policy raises is the row's error
        return failed(cell, window, _located(cell, error))


def _located(cell: Cell, error: Exception) -> Exception:
    """The error with the name of the file, if it is about what a workload file says."""
    if cell.kind == "file" and isinstance(error, InputError):
        return error.of_workload(cell.parameters["path"])
    return error


def _ready_run(workload: Workload, policy: Policy, on: Placed | None) -> Run:
    """A run that has all its compiled code at hand."""
    run = Run(workload, policy, placement=on.resources if on else None)
    compiled_advance(run._parts())
    return run


@lru_cache(maxsize=64)
def _ready(name: str, _file_digest: str | None) -> Policy:
    """The policy; the digest makes a long-lived worker read a user's file anew when it has changed."""
    return find(name)
