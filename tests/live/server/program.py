"""An application for tests with real processes: it writes a file through the client, in operations and rounds.

Every byte of the file is determined by a seed, the application's name and the byte's place, so that all can be checked. It
goes on where an earlier life of it was killed: at the first operation that is not whole. It tells on its standard output
what it does, a JSON object a line, with dates of the monotonic clock, which all processes share.

    python -m tests.live.server.program '{"address": …, "name": …, …}'
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from penstock.live.client import Job

BLOCK = 4096


@dataclass(frozen=True)
class Task:
    """What the program is told; `operations` of `volume` bytes each in so many `rounds`, `pause` seconds apart at most."""

    address: str
    name: str
    path: str
    seed: int
    operations: int
    volume: int
    rounds: int
    pause: float = 0.0
    patience: float = 1.0
    token_file: str | None = None
    stop: str = ""
    """A file; where there is one, no further operation is begun."""

    def command(self) -> list[str]:
        return [sys.executable, "-m", "tests.live.server.program", json.dumps(asdict(self))]


def content(seed: int, name: str, first: int, size: int) -> bytes:
    """What is to be at these places of the file, whole blocks."""
    assert first % BLOCK == 0 == size % BLOCK
    blocks = range(first // BLOCK, (first + size) // BLOCK)
    return b"".join(hashlib.shake_128(f"{seed} {name} {block}".encode()).digest(BLOCK) for block in blocks)


def check(task: Task) -> int:
    """Compare the whole file with what is to be in it; how many bytes that is."""
    size = 0
    with Path(task.path).open("rb") as file:
        while data := file.read(task.volume):
            assert data == content(task.seed, task.name, size, len(data)), f"{task.path}: wrong bytes from {size} on"
            size += len(data)
    return size


def tell(what: str, **more: Any) -> None:
    sys.stdout.write(json.dumps({"what": what, "at": time.monotonic(), **more}) + "\n")
    sys.stdout.flush()


def run(task: Task) -> None:
    """Do the task, or what is left of it."""
    pauses = random.Random(f"{task.seed} {task.name} {os.getpid()}")
    file = os.open(task.path, os.O_RDWR | os.O_CREAT, 0o600)
    whole = os.fstat(file).st_size // task.volume
    os.ftruncate(file, whole * task.volume)
    os.lseek(file, 0, os.SEEK_END)
    with Job(task.name, address=task.address, token_file=task.token_file, patience=task.patience) as job:
        tell("start", operation=whole, wall=time.time())
        for number in range(whole, task.operations):
            if task.stop and Path(task.stop).exists():
                break
            operate(task, job, file, number)
            time.sleep(pauses.uniform(0.0, task.pause))
    os.close(file)
    tell("end")


def operate(task: Task, job: Job, file: int, number: int) -> None:
    begun, waited = time.monotonic(), job.state.waited
    size = task.volume // task.rounds
    data = content(task.seed, task.name, number * task.volume, task.volume)
    with job.io(task.volume, task.rounds) as io:
        for index in range(task.rounds):
            io.write(file, data[index * size : (index + 1) * size])
            tell("round", operation=number, round=index)
    state = job.state
    tell(
        "operation",
        operation=number,
        begun=begun,
        waited=state.waited - waited,
        coordinated=state.coordinated,
        application=state.application,
    )


if __name__ == "__main__":
    run(Task(**json.loads(sys.argv[1])))
