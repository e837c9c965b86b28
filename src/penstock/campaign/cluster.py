"""A Dask cluster as workers of a campaign, at an address or made of Slurm jobs. Only this module imports Dask.

`SlurmSettings` are the settings of ``slurm:key=value``: how many jobs, and what each asks Slurm for. What is not set comes
from dask-jobqueue's own configuration, ``jobqueue.slurm`` in ``~/.config/dask/jobqueue.yaml``, where a site keeps its queue,
account, walltime, modules to load and more.

For Slurm jobs, dask-jobqueue reads the site's settings, runs the Dask scheduler in this process and writes the job script.
The jobs are submitted, counted and cancelled here, by a name of their own: its cluster waits for ever where sbatch refuses a
job, and submits no job again that had several processes and ended.
"""

from __future__ import annotations

import gc
import itertools
import logging
import math
import os
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, TypeVar

from penstock.campaign.cells import Task
from penstock.campaign.store import identity, require
from penstock.campaign.workers import compute, died, lost
from penstock.model import InputError, PenstockError, parse_units

T = TypeVar("T")
R = TypeVar("R")
PATIENCE_SECONDS: Final = 8
"""How long the scheduler may take to answer, and then how long the first worker may take to come."""
IN_FLIGHT: Final = 10_000
"""The most tasks the scheduler is given at a time: enough for any cluster, and little memory."""
_IDENTITY: Final = "__import__('penstock.campaign.store', fromlist=['identity']).identity()"
"""As text, which every worker can read: a function that a worker cannot import makes Dask wait for ever."""


class DaskPool:
    """Runs tasks on the Dask cluster whose scheduler has an `address` such as ``tcp://10.0.0.1:8786``."""

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
        """Each of the `tasks` with its part, as they complete. Dask tries a task whose worker dies again, a few times."""
        from distributed import KilledWorker

        for task, future in self._finished(tasks, compute, identity()):
            try:
                part = self._result(future)
            except KilledWorker as error:
                part = lost(task, error.allowed_failures + 1)
            assert isinstance(part, bytes)
            yield task, part

    def mapped(
        self, function: Callable[[T], R], items: Iterable[T], lost: Callable[[T, int], R] | None = None
    ) -> Iterator[tuple[T, R]]:
        """Each of the `items` with what `function`, of a module, returns for it, as they complete.

        An item whose workers die has the result that `lost` makes of it and of how many died; without `lost` that is a
        PenstockError.
        """
        from distributed import KilledWorker

        for item, future in self._finished(items, function):
            try:
                result = self._result(future)
            except KilledWorker as error:
                try:
                    result = (lost or died)(item, error.allowed_failures + 1)
                except PenstockError as died_with:
                    raise PenstockError(f"Dask scheduler {self._address}: {died_with}") from None
            yield item, result

    def _finished(self, items: Iterable[T], function: Callable[..., Any], *more: Any) -> Iterator[tuple[T, Any]]:
        """Each item with the future of its call, as they complete."""
        from distributed import as_completed

        rest = iter(items)
        item_of = {self._submit(function, item, *more): item for item in itertools.islice(rest, IN_FLIGHT)}
        finished = as_completed(list(item_of), loop=self._client.loop)
        for future in finished:
            yield item_of.pop(future), future
            future.release()
            for following in itertools.islice(rest, 1):
                submitted = self._submit(function, following, *more)
                item_of[submitted] = following
                finished.add(submitted)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._client.submit(function, *arguments, pure=False)

    def _result(self, future: Any) -> Any:
        from distributed import KilledWorker
        from distributed.scheduler import NoValidWorkerError, NoWorkerError

        try:
            return future.result()
        except KilledWorker:
            raise
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
    """The kind and the text of an `error` that is not ours, cut where it is long."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


DEFAULT_JOBS: Final = 4
DEFAULT_WAIT: Final = 600.0
"""Seconds."""
DEFAULT_MEMORY: Final = 2_000_000_000
"""Bytes for each core. A worker takes about a fifth of it."""


@dataclass(frozen=True)
class SlurmSettings:
    """How many jobs, how long to be without a worker (seconds), and what is set of a job, as dask-jobqueue names it."""

    jobs: int = DEFAULT_JOBS
    wait: float = DEFAULT_WAIT
    job: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, text: str) -> SlurmSettings:
        """The settings in a `text` such as ``slurm`` or ``slurm:jobs=8:queue=main:walltime=2h:memory=4GB``.

        Raises InputError for an unknown key and a wrong value.
        """
        settings: dict[str, Any] = {}
        for part in text.split(":")[1:]:
            key, equals, value = part.partition("=")
            if not equals:
                raise InputError(f"dask {text}", f"{part!r} is no setting; expected slurm:key=value, a time as in 90min")
            if key not in _READERS:
                raise InputError("dask slurm", f"unknown setting {key!r}; expected one of {', '.join(_READERS)}")
            settings[key] = _READERS[key](value.strip(), f"dask slurm: {key}")
        return cls(settings.pop("jobs", DEFAULT_JOBS), settings.pop("wait", DEFAULT_WAIT), settings)

    def options(self, site: Mapping[str, Any]) -> dict[str, Any]:
        """What a job is, where the site has these settings: one process per core, for Python keeps one core busy."""
        cores = self.job.get("cores") or site.get("cores") or 1
        memory = self.job.get("memory") or site.get("memory") or cores * DEFAULT_MEMORY
        return {**self.job, "cores": cores, "processes": cores, "memory": memory}


def _count(text: str, place: str) -> int:
    return parse_units.count(int(text) if re.fullmatch("[0-9]{1,15}", text) else text, place, place.rpartition(" ")[2])


def _time(text: str, place: str) -> float:
    seconds = parse_units.seconds(text, place)
    if not seconds > 0.0:
        raise InputError(place, f"{text!r} is no time; expected seconds above 0")
    return seconds


def _minutes(text: str, place: str) -> str:
    """As Slurm takes a time limit: whole minutes."""
    return str(math.ceil(_time(text, place) / 60.0))


def _memory(text: str, place: str) -> int:
    memory = math.ceil(parse_units.volume(text, place))
    if not memory > 0:
        raise InputError(place, f"{text!r} is no memory; expected bytes above 0")
    return memory


def _name(text: str, place: str) -> str:
    if not text or not text.isprintable() or " " in text:
        raise InputError(place, f"{text!r} is no name; expected one without spaces")
    return text


def _interface(text: str, place: str) -> str:
    known = [name for _, name in socket.if_nameindex()]
    if text not in known:
        raise InputError(place, f"{text!r} is no network interface of this machine; expected one of {', '.join(known)}")
    return text


_READERS: Final[dict[str, Callable[[str, str], Any]]] = {
    "jobs": _count,
    "queue": _name,
    "account": _name,
    "walltime": _minutes,
    "cores": _count,
    "memory": _memory,
    "interface": _interface,
    "wait": _time,
}


CHECK_SECONDS: Final = 10.0
"""How often Slurm is asked which jobs are left."""
ANSWER_SECONDS: Final = 60.0
"""How long a command of Slurm may take."""
_PRELOAD: Final = ("--preload", "penstock.campaign.workers")
"""What a worker imports before it joins: one that cannot import it never joins, however late it comes."""


def cluster_pool(dask: str) -> AbstractContextManager[DaskPool]:
    """The workers that `dask` names: the address of a scheduler, or Slurm jobs, ``slurm`` or ``slurm:jobs=4``."""
    return slurm_pool(dask) if dask.partition(":")[0] == "slurm" else DaskPool(dask)


@contextmanager
def slurm_pool(text: str) -> Iterator[DaskPool]:
    """Workers in Slurm jobs, which are there while the block runs; `text` as `SlurmSettings.of` reads it.

    A job that ends before the campaign does, say at its walltime, is submitted again. Raises InputError for a wrong setting,
    PenstockError where Slurm or dask-jobqueue is missing, a job is refused, or there is no worker for as long as `wait`.
    """
    settings = SlurmSettings.of(text)
    _program("sbatch")
    with (
        _cluster(settings) as (cluster, script),
        _jobs(cluster, script, settings),
        DaskPool(cluster.scheduler_address) as pool,
    ):
        yield pool


@contextmanager
def _cluster(settings: SlurmSettings) -> Iterator[tuple[Any, str]]:
    """A cluster that has a scheduler, in this process, and no jobs; and the script of its jobs."""
    dask, slurm_cluster = _imported()
    site = dask.config.get("jobqueue.slurm")
    options = {
        **settings.options(site),
        "python": shlex.quote(sys.executable),
        "worker_extra_args": [*(site.get("worker-extra-args") or ()), *_PRELOAD],
    }
    # Unless the site says otherwise, the dashboard takes a port that is free, and for this machine alone.
    serving = {"dashboard_address": "127.0.0.1:0", **(site.get("scheduler-options") or {})}
    try:
        with dask.config.set({"distributed.scheduler.no-workers-timeout": settings.wait}):
            cluster = slurm_cluster(**options, scheduler_options=serving)
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        message = f"its Dask scheduler fails with {one_line(error)}; expected settings that fit this machine"
        raise PenstockError(f"Slurm: {message}") from None
    with cluster:
        address = cluster.scheduler.contact_address or cluster.scheduler_address
        yield cluster, cluster.job_cls(address, name="$SLURM_JOB_NAME-$SLURM_JOB_ID", **options).job_script()


def _imported() -> tuple[Any, Any]:
    """The module `dask` and the class SLURMCluster."""
    on_interrupt = signal.getsignal(signal.SIGINT)
    try:
        import dask
        from dask_jobqueue import SLURMCluster
    except ImportError:
        raise PenstockError("dask-jobqueue is not installed; expected it from pip install 'penstock[slurm]'") from None
    finally:
        if signal.getsignal(signal.SIGINT) is not on_interrupt:  # dask-jobqueue 0.9 makes it a silent exit (its issue 696)
            signal.signal(signal.SIGINT, on_interrupt)
    return dask, SLURMCluster


@contextmanager
def _jobs(cluster: Any, script: str, settings: SlurmSettings) -> Iterator[None]:
    """Jobs that are kept up while the block runs; it begins when one of them has a worker."""
    name = f"penstock-{secrets.token_hex(4)}"
    done = threading.Event()
    keeper = threading.Thread(target=_keep, args=(name, script, settings.jobs, done), daemon=True)
    try:
        for _ in range(settings.jobs):
            _submit(name, script)
        _wait_for_worker(cluster, name, settings.wait)
        keeper.start()
        yield
    finally:
        done.set()
        if keeper.ident is not None:
            keeper.join()
        with suppress(PenstockError):  # a job that is left ends by itself, for want of a scheduler
            _slurm("scancel", f"--name={name}")


def _wait_for_worker(cluster: Any, name: str, patience: float) -> None:
    """Return when a worker has come; refuse to wait longer, or for jobs that have ended."""
    begun = asked = time.monotonic()
    while not cluster.observed:
        time.sleep(0.05)
        now = time.monotonic()
        if now - asked < CHECK_SECONDS and now - begun < patience:
            continue
        asked, left = now, _left(name)
        if left == []:
            message = "the jobs ended before a worker came; expected them to go on; slurm-*.out holds what they wrote"
            raise PenstockError(f"Slurm: {message}")
        if now - begun >= patience:
            state = "; ".join(left[:3]) if left else "squeue does not answer"
            message = f"no worker came within {patience:g} s ({state}); expected one, or a longer wait, as slurm:wait=2h"
            raise PenstockError(f"Slurm: {message}")


def _keep(name: str, script: str, count: int, done: threading.Event) -> None:
    """Submit jobs again that have ended, until done."""
    while not done.wait(CHECK_SECONDS):
        left = _left(name)
        with suppress(PenstockError):  # tried again later; when no worker is left for long, the scheduler gives up
            for _ in range(0 if left is None else count - len(left)):
                _submit(name, script)


def _submit(name: str, script: str) -> None:
    _slurm("sbatch", f"--job-name={name}", text=script)


def _left(name: str) -> list[str] | None:
    """What Slurm says of each job of this name that has not ended; None if it does not answer, as a busy one may."""
    try:
        return _slurm("squeue", "--noheader", f"--name={name}", "--format=job %i is %T, %r").splitlines()
    except PenstockError:
        return None


def _slurm(command: str, *arguments: str, text: str = "") -> str:
    """What the command prints. An interrupt from the terminal does not reach it: it is for this process, which cancels."""
    # The workers find the modules that this process finds, and none by accident in the folder where they start.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONSAFEPATH": "1"}
    try:
        return subprocess.run(  # noqa: S603  (Slurm's own commands)
            [_program(command), *arguments],
            input=text,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=ANSWER_SECONDS,
            start_new_session=True,
        ).stdout
    except subprocess.TimeoutExpired:
        raise PenstockError(f"Slurm: {command} has not answered for {ANSWER_SECONDS:g} s; expected an answer") from None
    except subprocess.CalledProcessError as error:
        said = " ".join(error.stderr.split())[:300]
        raise PenstockError(f"Slurm: {command} fails with {said!r}; expected settings that the site accepts") from None


def _program(command: str) -> str:
    path = shutil.which(command)
    if path is None:
        raise PenstockError(f"Slurm: there is no {command} on this machine; expected one that submits to Slurm")
    return path
