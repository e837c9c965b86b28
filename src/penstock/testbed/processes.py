"""The processes of a live run: applications inside the test bed, and a private coordinator. They end with their block.

They also end when the process that started them is killed.
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
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import IO, Final, NamedTuple

from penstock.live.client.transfer import PAGE
from penstock.model import InputError
from penstock.model.errors import short
from penstock.testbed.bed import Bed
from penstock.testbed.writer import READY, TASK, WriterTask

WRITER: Final = (sys.executable, "-m", "penstock.testbed.writer")
BOUND: Final = ("setpriv", "--pdeathsig", "KILL") if shutil.which("setpriv") else ()
"""Kills a process when the one that started it dies; empty where the system lacks the program."""
KEPT: Final = ("PENSTOCK_CACHE_DIR",)
"""Variables of Penstock that the private coordinator and its applications inherit."""
HEAD_START: Final = 0.1
"""Seconds from the last ``ready`` to the first posting."""
PATIENCE: Final = 60.0
"""Seconds, beside ten times the expected ones, after which an application counts as hanging."""
REQUEST_SECONDS: Final = 0.05
"""What a node hands to the device at once, in seconds of its bandwidth. The kernel grants what a cgroup may move in slices
of 0.1 s, and a process that runs takes what it can of a slice. At 40 MiB/s, with requests of half a slice two
applications were within 5 % of equal shares in 6 runs of 6, with an eighth of that (256 KiB) within 28 %."""
GRACE_SECONDS: Final = 5.0
"""Seconds that a process has to end after SIGTERM."""
NODES: Final = "{nodes}"
"""Replaced by the number of nodes in the command of an application."""


class Posted(NamedTuple):
    """What an application reports: the dates of posting and end, in seconds of the monotonic clock.

    `operations` has those of each of its operations, if it tells them.
    """

    posted: float
    ended: float
    operations: tuple[tuple[float, float], ...] = ()


class Process:
    """An application of the test bed that has its task.

    `name` is its name, `process` runs it, and `errors` is the file that takes its standard error.
    """

    def __init__(self, name: str, process: subprocess.Popen[bytes], errors: IO[bytes]) -> None:
        self.name = name
        self.process = process
        self._errors = errors
        self._text = b""

    @property
    def output(self) -> IO[bytes]:
        """Its standard output."""
        assert self.process.stdout is not None
        return self.process.stdout

    def wait_ready(self, end: float) -> None:
        """Wait for its first line, which must be ``ready``, until the date `end` (monotonic); InputError if it does not
        come.
        """
        if (line := self._line(end)) != READY:
            raise self._died(f"wrote {short(line)} instead of {READY!r}")

    def post_at(self, date: float) -> None:
        """Tell it the `date` at which to post, in seconds of the monotonic clock."""
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it has died; `report` will say so
            self.process.stdin.write(f"{date!r}\n".encode())
            self.process.stdin.close()

    def report(self, end: float) -> Posted:
        """Wait for its report and its end, until the date `end` (monotonic).

        Returns when it posted and ended. Raises InputError if it fails or is silent.
        """
        line = self._line(end)
        try:
            document = json.loads(line)
            posted, ended = float(document["posted"]), float(document["ended"])
            operations = tuple((float(begin), float(last)) for begin, last in document.get("operations", ()))
            found = Posted(posted, ended, operations)
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
    """Start an application, and end it with the block.

    Args:
        bed: The test bed whose cgroup it joins.
        task: What it writes.
        socket: The socket of the coordinator; None runs it without one.
        program: Its command, in which ``{nodes}`` stands for the number of nodes.
    """
    ours = {TASK: task.encoded(), **({"PENSTOCK_DISABLE": "1"} if socket is None else {"PENSTOCK_SOCKET": str(socket)})}
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603
            [*BOUND, *bed.inside([word.replace(NODES, str(task.nodes)) for word in program])],
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


def request_of(bed: Bed) -> int:
    """The bytes that a node hands to the device of the test `bed` at once, complete pages."""
    return max(1, int(bed.bandwidth * REQUEST_SECONDS) // PAGE) * PAGE


def run_tasks(
    bed: Bed,
    tasks: Sequence[WriterTask],
    dates: Sequence[float],
    *,
    socket: Path | None = None,
    program: Sequence[str] = WRITER,
    patience: float = PATIENCE,
) -> tuple[Posted, ...]:
    """Run an application for each task. Processes and files are gone afterwards, whatever happens.

    Args:
        bed: The test bed.
        tasks: What they write, each into a file of its own; `WriterTask.file` is filled in.
        dates: When each posts, or starts if it is a chain, in seconds from when all are ready.
        socket: The socket of the coordinator; None runs them without one.
        program: The command of the applications.
        patience: Seconds after which an application that is silent counts as hanging.

    Returns:
        When each posted and ended, in the order of the tasks.

    Raises:
        InputError: An application fails or is silent.
    """
    with tempfile.TemporaryDirectory(dir=bed.directory, prefix="live-") as folder, ExitStack() as stack:
        placed = [replace(task, file=str(Path(folder) / str(index))) for index, task in enumerate(tasks)]
        applications = [stack.enter_context(started(bed, task, socket, program)) for task in placed]
        end = time.monotonic() + patience
        for one in applications:
            one.wait_ready(end)
        start = time.monotonic() + HEAD_START
        for one, date in zip(applications, dates, strict=True):
            one.post_at(start + date)
        return _reports(applications, end)


def _reports(applications: Sequence[Process], end: float) -> tuple[Posted, ...]:
    """The reports of all; an application that dies is noticed while others still run."""
    found: dict[str, Posted] = {}
    while waiting := [one for one in applications if one.name not in found]:
        ready, _, _ = select.select([one.output for one in waiting], [], [], max(0.0, end - time.monotonic()))
        for one in waiting:
            if one.output in ready or not ready:
                found[one.name] = one.report(end)
    return tuple(found[one.name] for one in applications)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and those it has started. SIGTERM first: mpiexec must end processes outside of its group."""
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
    """Run a private coordinator while the block runs; gives its socket.

    Args:
        policy: The name of the policy.
        bandwidth: Of the link, in bytes/s.
        node_bandwidth: Of one node, in bytes/s; None leaves it open.

    Raises:
        InputError: It did not start.
    """
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
    """The environment of this process without the settings of other coordinators, and with its module path."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_") or name in KEPT}
    return plain | {"PYTHONPATH": os.pathsep.join(sys.path)}
