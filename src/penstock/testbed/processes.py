"""The processes of a live run: applications inside the test bed and a coordinator of their own, gone when the block ends.

They end with the process that started them, also should that be killed.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

from penstock.model import InputError
from penstock.model.errors import short
from penstock.testbed.bed import Bed
from penstock.testbed.writer import READY, TASK, WriterTask

WRITER: Final = (sys.executable, "-m", "penstock.testbed.writer")
BOUND: Final = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
"""Ends a process with the one that started it, should that be killed; where the system has the program for that."""
KEPT: Final = ("PENSTOCK_CACHE_DIR",)
"""Variables of ours that a private coordinator and its applications may see."""
GRACE_SECONDS: Final = 5.0
"""For a process that was asked to end."""
NODES: Final = "{nodes}"
"""Stands for the number of nodes in the command of an application."""


class Posted(NamedTuple):
    """What an application reports: dates of the monotonic clock."""

    posted: float
    ended: float


class Process:
    """A process of the test bed that was given a task."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        self.name = name
        self.process = process
        self._errors = errors
        self._text = b""

    @property
    def output(self) -> IO[bytes]:
        """What it writes."""
        assert self.process.stdout is not None
        return self.process.stdout

    def wait_ready(self, end: float) -> None:
        """Wait for its first line."""
        if (line := self._line(end)) != READY:
            raise self._died(f"wrote {short(line)} instead of {READY!r}")

    def post_at(self, date: float) -> None:
        """Tell it when to post."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has died, as its report will show
            self.process.stdin.write(f"{date!r}\n".encode())
            self.process.stdin.close()

    def report(self, end: float) -> Posted:
        """Wait for its second line, and its end."""
        line = self._line(end)
        try:
            document = json.loads(line)
            found = Posted(float(document["posted"]), float(document["ended"]))
        except (ValueError, KeyError, TypeError):
            raise self._died(f"wrote {short(line)} instead of its report") from None
        try:
            code = self.process.wait(max(0.0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise self._died("does not end") from None
        if code != 0 or not found.ended > found.posted:
            raise self._died(f"reported {short(line)}")
        return found

    def _line(self, end: float) -> str:
        """Its next line, without the newline."""
        while b"\n" not in self._text:
            ready, _, _ = select.select([self.output], [], [], max(0.0, end - time.monotonic()))
            if not ready:
                raise self._died("is silent")
            more = os.read(self.output.fileno(), 4096)
            if not more:
                raise self._died("ended without a report")
            self._text += more
        line, _, self._text = self._text.partition(b"\n")
        return line.decode(errors="replace")

    def _died(self, what: str) -> InputError:
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(0.5)
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip().splitlines()
        code = self.process.returncode
        how = "" if code is None else f" (killed by signal {-code})" if code < 0 else f" (code {code})"
        return InputError(f"application {self.name}", f"{what}{how}{': ' + said[-1] if said else ''}")


@contextmanager
def started(bed: Bed, task: WriterTask, socket: Path | None, program: Sequence[str]) -> Iterator[Process]:
    """An application that was given its task, coordinated if there is a socket."""
    ours = {TASK: task.encoded(), **({"PENSTOCK_DISABLE": "1"} if socket is None else {"PENSTOCK_SOCKET": str(socket)})}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603
            bed.inside([*BOUND, *(word.replace(NODES, str(task.nodes)) for word in program)]),
            env=_environment() | ours,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        try:
            yield Process(task.name, process, errors)
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and those it has started; one that starts others elsewhere, as mpiexec does, may end them first."""
    if process.poll() is None:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            with suppress(BrokenPipeError):
                stream.close()


@contextmanager
def serving(policy: str, bandwidth: float, node_bandwidth: float | None = None) -> Iterator[Path]:
    """A coordinator of its own for such a link, in bytes/s; its socket."""
    with tempfile.TemporaryDirectory(prefix="penstock-") as folder:
        socket = Path(folder) / "socket"
        rates = {"bandwidth": bandwidth, "node-bandwidth": node_bandwidth}
        options = [text for name, rate in rates.items() if rate for text in (f"--{name}", repr(rate))]
        files = ["--socket", str(socket), "--journal", str(Path(folder) / "journal")]
        command = [*BOUND, sys.executable, "-m", "penstock", "serve", "--policy", policy, *options, *files]
        process = subprocess.Popen(command, env=_environment(), stderr=subprocess.PIPE, start_new_session=True)  # noqa: S603
        try:
            assert process.stderr is not None
            said = ""
            for line in process.stderr:
                said = line.decode(errors="replace").strip()
                if " sharing " in said:
                    break
            else:
                raise InputError("penstock serve", f"did not start: {said or 'it said nothing'}")
            yield socket
        finally:
            _end(process)


def _environment() -> dict[str, str]:
    """Ours without the settings of other coordinators; programs are found as we found them."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_") or name in KEPT}
    return plain | {"PYTHONPATH": os.pathsep.join(sys.path)}
