"""Local worker processes, one connection each, so that it is known which task a dead worker had."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Final

from penstock.campaign.cells import Task
from penstock.campaign.compute import LOST_AFTER, lost
from penstock.campaign.identity import identity
from penstock.model import InputError, PenstockError

READY: Final = b"ready"
"""The first message of a worker."""


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    ready: bool = False
    task: Task | None = None


class LocalPool:
    """Runs tasks on `count` processes of this machine, as many as it has cores unless told."""

    def __init__(self, count: int | None = None) -> None:
        if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
            raise InputError("workers", f"{count!r} is out of range; expected a whole number, 1 or more")
        self._count = count or len(os.sched_getaffinity(0))
        self._workers: dict[Connection, _Worker] = {}
        self._deaths: Counter[str] = Counter()
        self._failed_starts = 0

    def __enter__(self) -> LocalPool:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        for connection in list(self._workers):
            self._end(connection)

    def completed(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, bytes]]:
        """Each task with its part, as they complete. A task whose worker dies is tried again, a few times."""
        waiting = deque(tasks)
        while waiting or any(worker.task for worker in self._workers.values()):
            self._start(min(self._count, len(waiting)))
            self._hand_out(waiting)
            for connection in wait(self._workers):
                assert isinstance(connection, Connection)
                yield from self._hear(connection, waiting)

    def _start(self, wanted: int) -> None:
        """Start workers until as many as wanted have no task, or all are there."""
        idle = sum(worker.task is None for worker in self._workers.values())
        for _ in range(min(wanted - idle, self._count - len(self._workers))):
            ours, theirs = Pipe()
            command = [sys.executable, "-P", "-m", "penstock.campaign.worker", str(theirs.fileno())]
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
            process = subprocess.Popen(  # noqa: S603  (our own module)
                command, env=environment, pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            )
            theirs.close()
            self._workers[ours] = _Worker(process)

    def _hand_out(self, waiting: deque[Task]) -> None:
        for connection, worker in self._workers.items():
            if waiting and worker.ready and worker.task is None:
                worker.task = waiting.popleft()
                try:
                    connection.send((worker.task, identity()))
                except OSError:  # it has died; the next wait tells
                    continue

    def _hear(self, connection: Connection, waiting: deque[Task]) -> Iterator[tuple[Task, bytes]]:
        """What a worker says: that it is ready, a part, an error that ends the campaign, or nothing as it has died."""
        worker = self._workers[connection]
        try:
            message = connection.recv()
        except (EOFError, OSError):
            self._end(connection)
            yield from self._bury(worker, waiting)
            return
        if isinstance(message, PenstockError):
            raise message
        if message == READY:
            worker.ready, self._failed_starts = True, 0
            return
        task, worker.task = worker.task, None
        assert task is not None
        yield task, message

    def _bury(self, worker: _Worker, waiting: deque[Task]) -> Iterator[tuple[Task, bytes]]:
        """Try the task of a dead worker again, or give it up."""
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts == LOST_AFTER:
                code = worker.process.returncode
                raise PenstockError(f"a worker process ended with code {code} before it was ready; expected it to start")
        if worker.task is None:
            return
        self._deaths[worker.task.key] += 1
        if self._deaths[worker.task.key] < LOST_AFTER:
            waiting.appendleft(worker.task)
        else:
            yield worker.task, lost(worker.task, LOST_AFTER)

    def _end(self, connection: Connection) -> None:
        worker = self._workers.pop(connection)
        connection.close()
        worker.process.kill()
        worker.process.wait()
