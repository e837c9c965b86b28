"""Run a campaign: what is pending goes to workers, and what they finish goes to the folder at once.

Every local or Dask worker calls `compute`; `LocalPool` is a pool of local worker processes. Each local worker has its own
connection: tasks go in, parts come out, and the pool knows which task a dead worker had. A worker is a plain subprocess that
calls `work`; multiprocessing would run the user's own script again in every worker. It ends when the campaign's process is
gone.
"""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, Final, NoReturn, Protocol, TypeVar

import pyarrow as pa

from penstock.campaign.cells import BOUND, Campaign, Cell, Task, policy_file_digest
from penstock.campaign.rows import Shape, bounded, computed, failed, to_part
from penstock.campaign.store import Identity, identity, opened, require
from penstock.engine import Run
from penstock.engine.information import TRUE
from penstock.engine.kernel import compiled_advance
from penstock.model import InputError, PenstockError, Workload
from penstock.planning.placement.choice import ChosenPlacement
from penstock.policies.policy import Policy
from penstock.policies.registry import find
from penstock.theory.bounds import bounds, compile_bounds

T = TypeVar("T")
R = TypeVar("R")
LOST_AFTER: Final = 4
"""A task is given up when this many workers have died with it, as under Dask (3 retries by default)."""

_COMPILING: Final = threading.Lock()
"""A Dask worker may have several threads; compiling changes settings of the whole process."""


def compute(task: Task, campaign: Identity) -> bytes:
    """The rows of the task as a Parquet file; a cell that fails is a row with its error.

    Raises OtherVersion where this process runs another program than the campaign.
    """
    require(identity(), campaign, f"the worker on {platform.node()}")
    return to_part(_rows(task))


def lost(task: Task, deaths: int) -> bytes:
    """The rows of a `task` that was given up after `deaths` deaths of workers that had it."""
    error = PenstockError(f"the worker died while it computed this, in {deaths} of {deaths} attempts; expected it to go on")
    return to_part(failed(cell, None, error) for cell in task.cells)


def died(item: Any, deaths: int) -> NoReturn:
    """Say that `deaths` workers have died while they had the `item`."""
    raise PenstockError(f"{deaths} workers died with {item}; the rows so far are kept")


def warm_up(campaign: Campaign) -> None:
    """Compile the engine and the built-in policies of a `campaign` once, so that the workers find them in the cache on disk.

    The first workload of each kind shows what is needed. Errors are ignored here; they show up in the rows of the task.
    """
    for task in {task.cells[0].kind: task for task in reversed(campaign.tasks)}.values():
        with suppress(Exception):
            workload = task.workloads()[0]
            on = task.placement(workload)
            for cell in task.cells:
                policy = cell.find_policy()
                if policy is None:
                    compile_bounds()
                elif policy.built_in:
                    _ready_run(workload, policy, on, cell.information)


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
            on = task.placement(workload)
        except Exception as error:  # an application that has no curve, say
            yield from (failed(cell, window, _located(cell, error)) for cell in task.cells)
            continue
        for cell in task.cells:
            yield _row(cell, window, workload, on)


def _row(cell: Cell, window: int, workload: Workload, on: ChosenPlacement | None) -> dict[str, Any]:
    try:
        if cell.policy == BOUND:
            with _COMPILING:
                compile_bounds()
            return bounded(cell, window, workload, bounds(workload, placement=on.resources if on else None), on)
        with _COMPILING:
            policy = cell.own.load() if cell.own else _ready(cell.policy, policy_file_digest(cell.policy))
            run = _ready_run(workload, policy, on, cell.information)
        return computed(cell, window, run.finish(), Shape.of(run), on)
    except Exception as error:  # whatever a user's policy raises is the row's error
        return failed(cell, window, _located(cell, error))


def _located(cell: Cell, error: Exception) -> Exception:
    """The error with the name of the file, if it is about what a workload file says."""
    if cell.kind == "file" and isinstance(error, InputError):
        return error.of_workload(cell.parameters["path"])
    return error


def _ready_run(workload: Workload, policy: Policy, on: ChosenPlacement | None, information: str | None) -> Run:
    """A run that has all its compiled code at hand."""
    run = Run(workload, policy, placement=on.resources if on else None, information=information or TRUE)
    compiled_advance(run._parts())
    return run


@lru_cache(maxsize=64)
def _ready(name: str, _file_digest: str | None) -> Policy:
    """The policy; the digest makes a long-lived worker read a user's file anew when it has changed."""
    return find(name)


def serve(connection: Connection) -> None:
    """Send READY over the `connection`, then answer each call with what the function returns, or with a PenstockError."""
    with suppress(EOFError, ConnectionError):
        connection.send(READY)
        while True:
            function, arguments = connection.recv()
            try:
                connection.send(Returned(function(*arguments)))
            except PenstockError as error:  # such as OtherVersion
                connection.send(error)


def work() -> None:
    """What a worker process runs: serve the connection whose number is its first argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is for the campaign's process, which ends its workers
    serve(Connection(int(sys.argv[1])))


READY: Final = b"ready"
"""The first message of a worker."""
WORK: Final = "from penstock.campaign.workers import work; work()"
"""What a worker process runs; not ``python -m``, which would load this module a second time."""


@dataclass(frozen=True)
class Returned:
    """What a function returned in a worker."""

    value: Any


@dataclass
class _Call:
    """A function of a module, its arguments, the item that it is called for, and how many workers died with it."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    item: Any
    deaths: int = 0


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    ready: bool = False
    call: _Call | None = None


class LocalPool:
    """Calls functions on `count` processes of this machine, as many as it has cores unless told.

    A call whose worker dies is tried again until `attempts` workers have died with it.
    """

    def __init__(self, count: int | None = None, attempts: int = LOST_AFTER) -> None:
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise InputError("workers", f"{count!r} is out of range; expected a whole number, 1 or more")
        self._count = count or len(os.sched_getaffinity(0))
        self._workers: dict[Connection, _Worker] = {}
        self._attempts = attempts
        self._failed_starts = 0

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for connection in list(self._workers):
            self._end(connection)

    def completed(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, bytes]]:
        """Each of the `tasks` with its part, as they complete. A task whose worker dies is tried again, a few times."""
        calls = [_Call(compute, (task, identity()), task) for task in tasks]
        yield from self._called(calls, lost)

    def mapped(
        self, function: Callable[[T], R], items: Iterable[T], lost: Callable[[T, int], R] | None = None
    ) -> Iterator[tuple[T, R]]:
        """Each of the `items` with what `function`, of a module, returns for it, as they complete.

        Args:
            function: may raise a PenstockError, which ends the iteration.
            items: what it is called for, one by one.
            lost: makes the result of an item whose workers died, from the item and how many died; without it a
                PenstockError is raised.
        """
        yield from self._called((_Call(function, (item,), item) for item in items), lost or died)

    def _called(self, calls: Iterable[_Call], lost: Callable[[Any, int], Any]) -> Iterator[tuple[Any, Any]]:
        waiting = deque(calls)
        while waiting or any(worker.call for worker in self._workers.values()):
            self._start(min(self._count, len(waiting)))
            self._hand_out(waiting)
            for connection in wait(self._workers):
                assert isinstance(connection, Connection)
                yield from self._hear(connection, waiting, lost)

    def _start(self, wanted: int) -> None:
        """Start workers until `wanted` are idle or `count` are running."""
        idle = sum(worker.call is None for worker in self._workers.values())
        for _ in range(min(wanted - idle, self._count - len(self._workers))):
            ours, theirs = Pipe()
            command = [sys.executable, "-P", "-c", WORK, str(theirs.fileno())]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            process = subprocess.Popen(  # noqa: S603  (our own module)
                command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            theirs.close()
            self._workers[ours] = _Worker(process)

    def _hand_out(self, waiting: deque[_Call]) -> None:
        for connection, worker in self._workers.items():
            if waiting and worker.ready and worker.call is None:
                worker.call = waiting.popleft()
                try:
                    connection.send((worker.call.function, worker.call.arguments))
                except OSError:  # it has died; the next wait tells
                    continue

    def _hear(
        self, connection: Connection, waiting: deque[_Call], lost: Callable[[Any, int], Any]
    ) -> Iterator[tuple[Any, Any]]:
        """What a worker says: that it is ready, a result, an error that ends everything, or nothing as it has died."""
        worker = self._workers[connection]
        try:
            message = connection.recv()
        except (EOFError, OSError):
            self._end(connection)
            yield from self._bury(worker, waiting, lost)
            return
        if isinstance(message, PenstockError):
            raise message
        if not isinstance(message, Returned):
            worker.ready, self._failed_starts = True, 0
            return
        call, worker.call = worker.call, None
        assert call is not None
        yield call.item, message.value

    def _bury(self, worker: _Worker, waiting: deque[_Call], lost: Callable[[Any, int], Any]) -> Iterator[tuple[Any, Any]]:
        """Try the call of a dead worker again, or give it up."""
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts == LOST_AFTER:
                code = worker.process.returncode
                raise PenstockError(f"a worker process ended with code {code} before it was ready; expected it to start")
        if worker.call is None:
            return
        worker.call.deaths += 1
        if worker.call.deaths < self._attempts:
            waiting.appendleft(worker.call)
        else:
            yield worker.call.item, lost(worker.call.item, worker.call.deaths)

    def _end(self, connection: Connection) -> None:
        worker = self._workers.pop(connection)
        connection.close()
        worker.process.kill()
        worker.process.wait()


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
