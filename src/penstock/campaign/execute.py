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
    """A progress bar on standard error while the block runs.

    Args:
        name: what it is called.
        done: cells that are done already. The time left is told by the pace since now.
        total: all cells.
        wanted: whether there is a bar; None: on a terminal only.

    Yields:
        What is to be called with the number of cells done.
    """
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
        """Each of the `tasks` with its part, the bytes of its Parquet file, as they complete."""


def run(
    campaign: Campaign,
    folder: str | os.PathLike[str],
    *,
    workers: int | None = None,
    dask: str | None = None,
    retry: bool = False,
    progress: bool | None = None,
) -> pa.Table:
    """Compute the cells that a folder does not hold yet.

    A run that was cut short, even killed, goes on where it was.

    Args:
        campaign: what to compute.
        folder: where the rows go. It is made if need be.
        workers: how many processes of this machine; by default one per core.
        dask: the scheduler of a Dask cluster, tcp://HOST:PORT, in place of local processes; or Slurm jobs, ``slurm`` or
            ``slurm:jobs=4:walltime=1h`` (see `penstock.campaign.cluster`).
        retry: whether cells that have failed are computed again.
        progress: whether a bar is shown on standard error; by default on a terminal only.

    Returns:
        All rows, ordered by workload, window and policy; docs/campaigns.md explains the columns.

    Raises:
        InputError: for a folder that holds something else or cannot be written to.
        PenstockError: for a cluster that cannot be reached or runs another version.

    Example:
        >>> import tempfile
        >>> from penstock.campaign.cells import grid
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     table = run(grid("two", "demo", {}, policies=["fcfs", "fair-share"]), folder, workers=1)
        >>> table["policy"].to_pylist()
        ['fcfs', 'fair-share']
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
    if dask is not None:
        from penstock.campaign.cluster import cluster_pool

        return cluster_pool(dask)
    pool = LocalPool(workers)
    warm_up(campaign)
    return pool
