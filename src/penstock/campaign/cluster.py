"""A Dask cluster as workers of a campaign. Only this module and `penstock.campaign.slurm` import Dask."""

from __future__ import annotations

import gc
import itertools
import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import CancelledError
from types import TracebackType
from typing import Any, Final

from penstock.campaign.cells import Task
from penstock.campaign.fingerprint import identity, require
from penstock.campaign.workers import compute, lost
from penstock.model import PenstockError

PATIENCE_SECONDS: Final = 8
"""How long the scheduler may take to answer, and then how long the first worker may take to come."""
IN_FLIGHT: Final = 10_000
"""The most tasks the scheduler is given at a time: enough for any cluster, and little memory."""
_IDENTITY: Final = "__import__('penstock.campaign.fingerprint', fromlist=['identity']).identity()"
"""As text, which every worker can read: a function that a worker cannot import makes Dask wait for ever."""


class DaskPool:
    """Runs tasks on the Dask cluster whose scheduler has this address, such as ``tcp://10.0.0.1:8786``."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._client: Any = None
        self._log = logging.getLogger("distributed")
        self._log_level = self._log.level

    def __enter__(self) -> DaskPool:
        self._client = self._connect()
        self._log_level = self._log.level
        self._log.setLevel(logging.CRITICAL)  # what goes wrong is said once, by us
        try:
            self._check_workers()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._close()

    def completed(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, bytes]]:
        """Each task with its part, as they complete. Dask tries a task whose worker dies again, a few times."""
        from distributed import as_completed

        rest = iter(tasks)
        task_of = {self._submit(task): task for task in itertools.islice(rest, IN_FLIGHT)}
        finished = as_completed(list(task_of), loop=self._client.loop)
        for future in finished:
            task = task_of.pop(future)
            yield task, self._result(task, future)
            future.release()
            for following in itertools.islice(rest, 1):
                submitted = self._submit(following)
                task_of[submitted] = following
                finished.add(submitted)

    def _submit(self, task: Task) -> Any:
        return self._client.submit(compute, task, identity(), pure=False)

    def _result(self, task: Task, future: Any) -> bytes:
        from distributed import KilledWorker
        from distributed.scheduler import NoValidWorkerError, NoWorkerError

        try:
            part = future.result()
            assert isinstance(part, bytes)
            return part
        except KilledWorker as error:
            return lost(task, error.allowed_failures + 1)
        except (NoWorkerError, NoValidWorkerError) as error:  # where the scheduler is told to give up, as that for Slurm
            message = f"it has had no worker for {error.timeout:g} s; the rows so far are kept"
            raise PenstockError(f"Dask scheduler {self._address}: {message}") from None
        except PenstockError:
            raise
        except (CancelledError, OSError):
            raise PenstockError(f"Dask scheduler {self._address}: it went away; the rows so far are kept") from None
        except Exception as error:  # `compute` itself raises nothing else: somebody cannot even load it
            message = f"it fails with {one_line(error)}; expected penstock of this version on the scheduler"
            raise PenstockError(f"Dask scheduler {self._address}: {message}") from None

    def _connect(self) -> Any:
        try:
            from distributed import Client
        except ImportError:
            raise PenstockError("Dask is not installed; expected it from pip install 'penstock[dask]'") from None
        try:
            return Client(self._address, timeout=PATIENCE_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            what = "no answer" if isinstance(error, OSError) else one_line(error)
        gc.collect()  # else the failed client may be collected while the next one starts, and both wait for ever
        message = f"{what}; expected the address of a running scheduler, such as tcp://127.0.0.1:8786"
        raise PenstockError(f"Dask scheduler {self._address}: {message}")

    def _check_workers(self) -> None:
        """Refuse a cluster without workers or with a worker that runs another program."""
        try:
            self._client.wait_for_workers(1, timeout=PATIENCE_SECONDS)
        except TimeoutError:
            message = f"it has had no worker for {PATIENCE_SECONDS} s; expected one or more"
            raise PenstockError(f"Dask scheduler {self._address}: {message}") from None
        for worker, theirs in self._client.run(eval, _IDENTITY, on_error="return").items():
            if isinstance(theirs, BaseException):
                message = f"it fails with {one_line(theirs)}; expected penstock of this version there"
                raise PenstockError(f"Dask worker {worker}: {message}")
            require(theirs, identity(), f"Dask worker {worker}")

    def _close(self) -> None:
        self._client.close(timeout=PATIENCE_SECONDS)
        self._log.setLevel(self._log_level)


def one_line(error: BaseException) -> str:
    """The kind and the text of an error that is not ours, cut where it is long."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
