"""Running a campaign: what is pending goes to the workers, what they finish goes to the folder at once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

import pyarrow as pa

from penstock.campaign.cells import Campaign, Task
from penstock.campaign.compute import warm_up
from penstock.campaign.local import LocalPool
from penstock.campaign.progress import bar
from penstock.campaign.store import opened


class Pool(Protocol):
    """Workers that call `penstock.campaign.compute.compute`."""

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
    `dask`, or in Slurm jobs if that is ``slurm`` or ``slurm:jobs=4:walltime=1h`` (see `penstock.campaign.slurm_settings`).
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
        from penstock.campaign.slurm import slurm_pool

        return slurm_pool(dask)
    if dask is not None:
        from penstock.campaign.cluster import DaskPool

        return DaskPool(dask)
    pool = LocalPool(workers)
    warm_up(campaign)
    return pool
