"""A real coordinator in a process of its own, for tests: started, asked, killed, measured, and never left behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from penstock.live.client.link import ask_coordinator as ask
from penstock.live.core.clients import Client
from penstock.live.server.journal import Present, entries_in, fold
from tests.live.server.program import Task

READY_SECONDS = 240.0
"""A coordinator that is not ready, or has not answered, by then never will: with 25 processes for two cores a start has
taken more than 60, and an answer more than 10."""
ROOT = Path(__file__).parents[3]


def environment(**more: str) -> dict[str, str]:
    """For the processes of a test: none of the user's own settings."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_") or "CACHE" in name}
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**plain, "PYTHONPATH": path, **more}


class Serving:
    """`penstock serve` in a folder, with its socket, journal and log in there."""

    def __init__(self, folder: Path, *options: str, environment: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.socket = folder / "penstock.sock"
        self.journal = folder / "journal.sqlite"
        self.log = folder / "serve.log"
        self._options = options
        self._environment = environment
        self.process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Serving:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and wait until it says that clients can come."""
        assert self.process is None
        places = ["--socket", str(self.socket), "--journal", str(self.journal)]
        notify = self.folder / "notify"
        notify.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear, self.log.open("ab") as log:
            ear.bind(str(notify))
            ear.settimeout(0.1)
            self.process = subprocess.Popen(
                [sys.executable, "-m", "penstock", "serve", *places, *self._options],
                stderr=log,
                env={**(self._environment or environment()), "NOTIFY_SOCKET": str(notify)},
                cwd=ROOT,
            )
            end = time.monotonic() + READY_SECONDS
            try:
                while not self._is_ready(ear):
                    assert self.process.poll() is None, f"it does not start: {self.log.read_text()[-2000:]}"
                    assert time.monotonic() < end, "it is not ready"
            except BaseException:
                self.kill()
                raise

    def _is_ready(self, ear: socket.socket) -> bool:
        """Whether it has told so, as it tells systemd."""
        try:
            return ear.recv(4096).startswith(b"READY=1")
        except TimeoutError:
            return False

    @property
    def pid(self) -> int:
        """Of its process."""
        assert self.process is not None
        return self.process.pid

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    def stop(self) -> int:
        """End it as a service is ended; its exit status."""
        assert self.process is not None
        self.process.terminate()
        status = self.process.wait(READY_SECONDS)
        self.process = None
        return status

    def state(self, timeout: float = READY_SECONDS) -> dict[str, Any]:
        """What `penstock ctl state --json` shows."""
        state: dict[str, Any] = ask(self.socket, "state", timeout=timeout)
        return state

    def resident_bytes(self) -> int:
        """How much memory it has."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def written(self) -> tuple[Present | None, list[Client]]:
        """What its journal says at the moment, whether it lives or not."""
        database = sqlite3.connect(f"file:{self.journal}?mode=ro", uri=True, timeout=10.0)
        try:
            entries = entries_in(database)
        finally:
            database.close()
        return (entries[-1].present if entries else None), fold(entries)


class Program:
    """An application of `tests.live.server.program` in a process of its own, over all its lives."""

    def __init__(self, task: Task, log: Path, environment: dict[str, str] | None = None) -> None:
        self.task = task
        self.log = log
        self.told: list[dict[str, Any]] = []
        """What it has told by now."""
        self.news = threading.Condition()
        self._environment = environment

    def __enter__(self) -> Program:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    def start(self) -> None:
        """Begin, or go on where an earlier life was killed."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.task.command(),
                stdout=subprocess.PIPE,
                stderr=log,
                env=self._environment or environment(),
                cwd=ROOT,
            )
        self._ear = threading.Thread(target=self._listen, args=(self.process.stdout,), daemon=True)
        self._ear.start()

    def kill(self) -> None:
        """kill -9."""
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.wait()

    def wait(self, timeout: float | None = None) -> int:
        """Until it has ended and all that it told is heard; its exit status."""
        status = self.process.wait(timeout)
        self._ear.join()
        return status

    def await_news(self, is_it: Callable[[dict[str, Any]], bool], timeout: float) -> bool:
        """Wait for something that it will tell; whether that came in time."""
        first = len(self.told)
        with self.news:
            return self.news.wait_for(lambda: any(map(is_it, self.told[first:])), timeout)

    def _listen(self, pipe: IO[bytes]) -> None:
        with pipe:
            for line in pipe:
                if line.endswith(b"}\n"):  # else it was killed within the line
                    with self.news:
                        self.told.append(json.loads(line))
                        self.news.notify_all()
