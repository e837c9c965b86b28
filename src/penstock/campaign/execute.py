"""The bar that tells how far a campaign is and how much time is left.

Running a campaign: what is pending goes to the workers, what they finish goes to the folder at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import pyarrow as pa

from penstock.campaign.cells import Campaign, Task
from penstock.campaign.store import opened
from penstock.campaign.workers import LocalPool, warm_up

Report = Callable[[int], None]
"""Called with the number of cells done."""


@contextmanager
def bar(name: str, done: int, total: int, wanted: bool | None) -> Iterator[Report]:
    """A bar on standard error if wanted; by default, on a terminal only. The time left is told by the pace since now."""
    if not (sys.stderr.isatty() if wanted is None else wanted):
        yield _silent
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    text, times = TextColumn("{task.description}"), (TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(text, BarColumn(), MofNCompleteColumn(), *times, console=console, transient=True) as progress:
        task = progress.add_task(name, total=total, completed=done)
        yield lambda cells: progress.update(task, completed=cells)


def _silent(cells: int) -> None:
    """No bar."""


class Pool(Protocol):
    """Workers that call `penstock.campaign.workers.compute`."""

    def completed(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, bytes]]:
        """Each task with its part, as they complete."""


def run(
    campaign: Campaign,
    folder: str | os.PathLike[str],
    *,
    workers: int | None = None,
    dask: str | None = None,
    retry: bool = False,
    progress: bool | None = None,
) -> pa.Table:
    """Compute the cells that the folder does not hold yet; returns all rows, ordered by workload, window and policy.

    Runs on `workers` processes of this machine (default: one a core), on the Dask cluster whose scheduler has the address
    `dask`, or in Slurm jobs if that is ``slurm`` or ``slurm:jobs=4:walltime=1h`` (see `penstock.campaign.cluster`).
    A run that was cut short, even killed, goes on where it was. `retry` also computes the cells again that have failed.
    `progress` shows a bar on standard error (default: on a terminal only). Raises InputError for a folder that holds
    something else or cannot be written to, PenstockError for a cluster that cannot be reached or runs another version.
    """
    with opened(folder, campaign) as store:
        pending = store.pending() + (store.failed() if retry else [])
        total = len(campaign.cells)
        done = total - sum(len(task.cells) for task in pending)
        if pending:
            with _pool(campaign, workers, dask) as pool, bar(campaign.name, done, total, progress) as report:
                for task, part in pool.completed(pending):
                    store.put(task, part)
                    done += len(task.cells)
                    report(done)
        return store.collect()


def _pool(campaign: Campaign, workers: int | None, dask: str | None) -> AbstractContextManager[Pool]:
    if dask is not None and dask.partition(":")[0] == "slurm":
        from penstock.campaign.cluster import slurm_pool

        return slurm_pool(dask)
    if dask is not None:
        from penstock.campaign.cluster import DaskPool

        return DaskPool(dask)
    pool = LocalPool(workers)
    warm_up(campaign)
    return pool
