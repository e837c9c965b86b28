"""The built-in applications of a live run. One writes a file in rounds, past the page cache, so that the device limits it;
the other makes the six calls of 003 §III.C and moves nothing.

A live run expects of any application:

- its task is in the environment, under `TASK`, as JSON (`WriterTask`);
- it writes ``ready`` to standard output when it can post its operation at once;
- it reads from standard input the date at which to post, in seconds of the system's monotonic clock;
- it writes ``{"posted": …, "ended": …}``, dates of the same clock, and ends with code 0. Of a chain these are the dates at
  which it starts and ends; the built-in application also reports those of each of its ``operations``.

``PENSTOCK_SOCKET`` or ``PENSTOCK_DISABLE`` say whether it is coordinated.

Each of its `nodes` is a thread that has one request at a time; a round ends when all threads are done.

``python -m penstock.testbed.writer SOCKET NAME ROUNDS SECONDS`` is the other one, see `six_calls`.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from penstock.live.client import Job
from penstock.live.client.environment import disabled
from penstock.live.client.transfer import PAGE, Pacer
from penstock.renamed import old_names

TASK: Final = "PENSTOCK_TASK"
READY: Final = "ready"
PATIENCE: Final = 30.0
"""Seconds to wait for the coordinator, which is known to run."""
ROUND_BYTES: Final = 1_000_000
"""What a round of `six_calls` announces."""


@dataclass(frozen=True)
class WriterTask:
    """What an application writes: `volume` bytes in equal rounds of complete pages, at most `bandwidth` bytes/s.

    `request` is the bytes that a node hands to the device at once, complete pages too. A chain works for `work` seconds
    before each of its operations, of which it has `times`, all on the same part of the file. `whole` is how many seconds it
    takes alone, if the policy needs that.
    """

    name: str
    file: str
    volume: int
    rounds: int
    request: int
    nodes: int = 1
    bandwidth: float | None = None
    work: float = 0.0
    times: int = 1
    whole: float | None = None

    def encoded(self) -> str:
        """The task as JSON, for the environment."""
        return json.dumps(asdict(self))


__getattr__ = old_names(__name__, Task="WriterTask")


class Striped:
    """A file that threads write in parallel, each its part of the data; `task` says how many, and how fast."""

    def __init__(self, task: WriterTask) -> None:
        self._descriptor = os.open(task.file, os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
        os.posix_fallocate(self._descriptor, 0, task.volume)
        self._at = 0
        self._request = task.request
        self._pacers = [Pacer() for _ in range(task.nodes)]
        for pacer in self._pacers if task.bandwidth else ():
            pacer.set((task.bandwidth or 0.0) / task.nodes, time.monotonic())
        self._threads = ThreadPoolExecutor(task.nodes)

    def __enter__(self) -> Striped:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._threads.shutdown()
        os.close(self._descriptor)

    def rewind(self) -> None:
        """Go on at the beginning of the file."""
        self._at = 0

    def write(self, data: memoryview) -> int:
        """Write all of the `data`, which is complete pages; returns how many bytes."""
        part = -(-len(data) // (PAGE * len(self._pacers))) * PAGE
        parts = [data[first : first + part] for first in range(0, len(data), part)]
        offsets = range(self._at, self._at + len(data), part)
        list(self._threads.map(self._write, parts, offsets, self._pacers))
        self._at += len(data)
        return len(data)

    def _write(self, data: memoryview, offset: int, pacer: Pacer) -> None:
        done = 0
        while done < len(data):
            begun = time.monotonic()
            if pacer.due > begun:
                time.sleep(pacer.due - begun)
                begun = time.monotonic()
            count = os.pwrite(self._descriptor, data[done : done + self._request], offset + done)
            pacer.moved(count, begun)
            done += count


def perform(task: WriterTask) -> dict[str, Any]:
    """Get ready, wait for the date, write what the `task` says; returns the dates of posting and of the end as JSON has
    them.

    A chain joins the coordinator at the date, when its time begins to count; an application with one operation before.
    """
    buffer = memoryview(mmap.mmap(-1, task.volume // task.rounds))
    with Striped(task) as file, ExitStack() as stack:

        def join() -> Job:
            job = Job(task.name, nodes=task.nodes, bandwidth=task.bandwidth, whole=task.whole, patience=PATIENCE)
            return stack.enter_context(job)

        job = None if task.work else _in_touch(join())
        print(READY, flush=True)  # noqa: T201
        date = float(sys.stdin.readline())
        time.sleep(max(0.0, date - time.monotonic()))
        posted = time.monotonic()
        job = job or join()
        operations = [_operation(task, job, file, buffer) for _ in range(task.times)]
        return {"posted": posted, "ended": operations[-1][1], "operations": operations}


def _operation(task: WriterTask, job: Job, file: Striped, buffer: memoryview) -> tuple[float, float]:
    """Work and write once; when it was posted, and when it ended."""
    time.sleep(task.work)
    _in_touch(job)
    file.rewind()
    posted = time.monotonic()
    with job.io(task.volume, task.rounds) as io:
        for _ in range(task.rounds):
            io.write(file, buffer)
        return posted, time.monotonic()


def _in_touch(job: Job) -> Job:
    """The job, once the coordinator has answered."""
    end = time.monotonic() + PATIENCE
    while not disabled() and not job.state.coordinated:
        if time.monotonic() > end:
            raise TimeoutError("no coordinator answers")
        time.sleep(0.005)
    return job


def six_calls(address: Path, name: str, rounds: int, seconds: float) -> dict[str, Any]:
    """Say ``ready``, wait for a line, and make one operation with the six calls.

    Args:
        address: The socket of the coordinator.
        name: The name of the application.
        rounds: Rounds of the operation.
        seconds: How long each round accesses the store.

    Returns:
        As JSON has them: the dates on the monotonic clock of posting and of begin and end of each round, how often Check
        said no, and whether it was coordinated to the end.
    """
    accesses, denied = [], 0
    with Job(name, address=address, patience=PATIENCE) as job:
        print(READY, flush=True)  # noqa: T201
        sys.stdin.readline()
        posted = time.monotonic()
        job.prepare(volume=rounds * ROUND_BYTES, rounds=rounds)
        for _ in range(rounds):
            job.inform()
            denied += not job.check()
            job.wait()
            begun = time.monotonic()
            time.sleep(seconds)
            accesses.append((begun, time.monotonic()))
            job.release()
        job.complete()
        return {"posted": posted, "accesses": accesses, "denied": denied, "coordinated": job.state.coordinated}


def _asked() -> dict[str, Any]:
    """What the command line and the environment ask for, done."""
    if sys.argv[1:]:
        socket, name, rounds, seconds = sys.argv[1:]
        return six_calls(Path(socket), name, int(rounds), float(seconds))
    return perform(WriterTask(**json.loads(os.environ[TASK])))


if __name__ == "__main__":
    try:
        report = _asked()
    except (OSError, ValueError) as error:
        sys.exit(f"{error}")
    print(json.dumps(report))  # noqa: T201
