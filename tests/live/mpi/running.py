"""MPI jobs for tests: real ranks under a mpiexec of their own, which end with the test."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

ENOUGH = 60.0
"""Seconds after which something that should happen never will."""
LOOPBACK = {"UCX_NET_DEVICES": "lo"}
SOURCE = str(Path(__file__).parents[3] / "src")
PROGRAMS = Path(__file__).parent / "programs"


def launcher() -> str | None:
    beside = Path(sys.executable).parent / "mpiexec"
    return str(beside) if beside.exists() else shutil.which("mpiexec")


def missing() -> str | None:
    """Why no MPI job can be run here."""
    if importlib.util.find_spec("mpi4py") is None:
        return "mpi4py is not installed"
    return None if launcher() else "there is no mpiexec"


class MpiJob:
    """A program of `tests/live/mpi/programs`, or of another place, on so many ranks."""

    def __init__(
        self, ranks: int, program: str | Path, *arguments: object, folder: Path | None = None, **environment: str
    ) -> None:
        command = [launcher(), "-n", str(ranks), sys.executable, "-m", "mpi4py", str(PROGRAMS / f"{program}.py")]
        self.process = subprocess.Popen(
            [*command, *map(str, arguments)],
            env=os.environ | LOOPBACK | {"PYTHONPATH": SOURCE} | environment,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def end(self) -> tuple[str, str]:
        """What it says, once it has ended well."""
        out, err = self.process.communicate(timeout=ENOUGH)
        assert self.process.returncode == 0, out + err
        return out, err

    def close(self) -> None:
        """End it if it still runs: mpiexec takes its ranks with it."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5.0)
            except subprocess.TimeoutExpired:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait(ENOUGH)
        self.process.stdout.close()
        self.process.stderr.close()


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + ENOUGH
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)
