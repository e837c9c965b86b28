"""The live coordinator: events a second and latency of grants, decisions by policy, what coordination costs a writer, rest.

The coordinator is a process of its own on one core, the load another process on another core, over a Unix socket.
"""

from __future__ import annotations

import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.coordinator_load import processor_seconds
from benchmarks.report import NotHereError, Report, Results, verdict
from penstock.live.client import Job
from penstock.live.core.core import Core
from penstock.live.core.events import InformEvent, RegisterEvent, ReleaseEvent, YieldEvent
from penstock.policies import REGISTRY

REGISTERED, ACTIVE = 1_000, 100
EVENTS_PER_S, P99_MS = 5_000, 2.0
COST = 0.01
"""The most that coordination may add to an uncontended write."""
SHOWN = ("fair-share", "fcfs", "greedy-yield", "set-10")
FLOOR = "(answers only)"
"""In the place of a policy: the server that does nothing else."""


def run(report: Report, *, quick: bool) -> Results:
    """All of it; most figures need two cores."""
    cores = sorted(os.sched_getaffinity(0) | set(range(os.cpu_count() or 1)))
    if len(cores) < 2:
        raise NotHereError("it needs a core for the coordinator and one for the load")
    return {
        "end_to_end": _end_to_end(report, cores, 3.0 if quick else 10.0),
        "decisions": _decisions(report, (10, 100) if quick else (10, 100, 1_000)),
        "writing": _writing(report, 1_000_000_000, times=7 if quick else 15),
        "rest": _rest(report, cores, 5.0 if quick else 20.0),
        "memory": _memory(report, cores, 20_000 if quick else 1_000_000),
    }


class _Coordinator:
    """A ``penstock serve`` on the first core, or the server that only answers."""

    def __init__(self, folder: Path, cores: list[int], policy: str) -> None:
        self.socket = folder / "socket"
        command = [sys.executable, "-m", "penstock", "serve", "--bandwidth", "100 GB/s", "--policy", policy]
        limits = ["--message-rate", "1000000", "--message-rate-per-user", "10000000"]
        places = ["--socket", str(self.socket), "--journal", str(folder / "journal")]
        floor = [sys.executable, "-m", "benchmarks.coordinator_floor", str(self.socket)]
        self._cores = cores
        self.process = subprocess.Popen(
            floor if policy == FLOOR else [*command, *limits, *places],
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: _stay_on(cores[0]),
        )
        assert self.process.stderr is not None
        while "sharing" not in self.process.stderr.readline():
            if self.process.poll() is not None:
                raise SystemExit("benchmarks: penstock serve did not start")

    def load(self, registered: int, active: int, per_second: float, seconds: float) -> Results:
        """What the load sees."""
        command = [sys.executable, "-m", "benchmarks.coordinator_load", str(self.socket), str(self.process.pid)]
        numbers = [str(registered), str(active), str(per_second), str(seconds)]
        out = subprocess.run(
            [*command, *numbers], check=True, capture_output=True, text=True, preexec_fn=lambda: _stay_on(self._cores[1])
        )
        return dict(json.loads(out.stdout))

    def resident_mb(self) -> float:
        """Its memory."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) / 1e3


def _stay_on(core: int) -> None:
    os.sched_setaffinity(0, {core})


@contextlib.contextmanager
def _coordinator(cores: list[int], policy: str) -> Iterator[_Coordinator]:
    with tempfile.TemporaryDirectory() as folder:
        coordinator = _Coordinator(Path(folder), cores, policy)
        try:
            yield coordinator
        finally:
            coordinator.process.terminate()
            coordinator.process.wait()
            assert coordinator.process.stderr is not None
            coordinator.process.stderr.close()


def _end_to_end(report: Report, cores: list[int], seconds: float) -> Results:
    """A virtual machine is not always given its processors, and then everything stands still for tens of milliseconds. Hence
    p99 of the tenths of a second in which its host took nothing, nor in the one before, beside that of all, and of the
    server that only answers.
    """
    results: Results = {}
    rows = []
    for policy in (FLOOR, *SHOWN):
        with _coordinator(cores, policy) as coordinator:
            paced = coordinator.load(REGISTERED, ACTIVE, EVENTS_PER_S, seconds)
        with _coordinator(cores, policy) as coordinator:
            most = coordinator.load(REGISTERED, ACTIVE, 0.0, seconds)
        results[policy] = {"paced": paced, "most": most}
        undisturbed = paced["p99_ms_undisturbed"]
        rows.append(
            (
                policy,
                f"{most['events_per_s']:,.0f} (≥ {EVENTS_PER_S:,} wanted: {_yes(most['events_per_s'] >= EVENTS_PER_S)})",
                f"{paced['p50_ms']:.2f}",
                verdict(undisturbed, P99_MS) if undisturbed else "none",
                f"{paced['undisturbed_seconds']:.1f} s",
                f"{paced['p99_ms']:.2f}",
                f"{100 * paced['begun_share']:.0f} %",
                f"{100 * paced['processor_share']:.0f} %",
                f"{paced['answers_per_s']:,.0f}",
            )
        )
    latency = ("p99 ms, undisturbed", "in", "p99 ms, always")
    report.show(
        f"Coordinator: {REGISTERED:,} applications, {ACTIVE} active",
        (
            "policy",
            "most events a second",
            f"p50 ms at {EVENTS_PER_S:,}",
            *latency,
            "begin at once",
            "of a core",
            "yields a second",
        ),
        rows,
    )
    return results


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _decisions(report: Report, sizes: tuple[int, ...]) -> Results:
    """Decisions a second of the core alone: one operation ends, another is posted, the policy is asked, grants are made."""
    results: Results = {}
    for name, policy in REGISTRY.items():
        if policy.planner is None:
            results[name] = {str(size): _decisions_per_s(name, size) for size in sizes}
    rows = [(name, *(f"{rate:,.0f}" for rate in rates.values())) for name, rates in results.items()]
    report.show("Decisions a second by active applications", ("policy", *(f"{size:,}" for size in sizes)), rows)
    return results


def _decisions_per_s(policy: str, size: int) -> float:
    core = Core(policy, 1e11)
    members = [
        core.enter(0.0, RegisterEvent(f"job{number}", nodes=1 + number % 64, bandwidth=1e9 * (1 + number % 7)))
        for number in range(size)
    ]
    for member in members:
        core.enter(0.0, InformEvent(member, 1, 1e9 * (1 + member.number % 13)))
    core.handle(0.0)
    begun, turns, now = time.perf_counter(), 0, 0.0
    while time.perf_counter() - begun < 0.2:
        now += 1e-3
        member = members[turns % size]
        operation = member.last_operation
        core.enter(now, ReleaseEvent(member, operation, 0.0))  # in so short a time it cannot have moved more than a burst
        core.enter(now, InformEvent(member, operation + 1, 1e9 * (1 + (turns + member.number) % 13)))
        for grant in core.handle(now).grants:
            core.enter(now, YieldEvent(grant.client, grant.number))
        turns += 1
    return turns / (time.perf_counter() - begun)


class _Timed:
    """A file that knows how long its writes took."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.seconds = 0.0

    def write(self, data: Any) -> int:
        """Write the data."""
        begun = time.perf_counter()
        count = int(self._file.write(data))
        self.seconds += time.perf_counter() - begun
        return count


def _writing(report: Report, volume: int, times: int) -> Results:
    """An uncontended write in 256 rounds, coordinated and not, in turns, into the page cache and onto the disk.

    How long a write takes differs by more than the 1 % in question from one time to the next. What coordination adds is
    what passes outside the writes, from before the announcement to after the release, less the same for a plain loop.
    """
    a_round = volume // 256
    data = memoryview(os.urandom(a_round) * 256)
    results: Results = {}
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        _coordinator([0, 1], "fair-share") as coordinator,
        Job("writer", address=str(coordinator.socket)) as job,
    ):

        def plain(file: _Timed) -> None:
            for first in range(0, len(data), a_round):
                file.write(data[first : first + a_round])

        def coordinated(file: _Timed) -> None:
            with job.io(len(data), rounds=256) as io:
                io.write(file, data)

        def coordinated_by_round(file: _Timed) -> None:
            with job.io(len(data), rounds=256) as io:
                for first in range(0, len(data), a_round):
                    io.write(file, data[first : first + a_round])

        ways = (plain, coordinated, coordinated_by_round)
        for where, durable in (("page cache", False), ("disk", True)):
            seen: dict[str, list[tuple[float, float]]] = {way.__name__: [] for way in ways}
            for turn in range(3 if durable else times):
                for way in ways if turn % 2 else ways[::-1]:
                    seen[way.__name__].append(_written(Path(folder) / "data", way, durable=durable))
            results[where] = seen
            total, outside = (statistics.median(column) for column in zip(*seen["plain"], strict=True))
            for way in ways[1:]:
                in_all, more = (statistics.median(column) for column in zip(*seen[way.__name__], strict=True))
                form = "one call" if way is coordinated else "a call a round"
                cost = (more - outside) / total
                shown = (f"{total:.3f}", f"{in_all:.3f}", f"{1e3 * (more - outside):.2f}")
                rows.append((f"{where}, {form}", *shown, verdict(100.0 * cost, 100.0 * COST)))
    report.show(
        f"An uncontended write of {volume / 1e9:g} GB in 256 rounds",
        ("onto", "alone s", "coordinated s", "coordination ms", "%"),
        rows,
    )
    return results


def _written(path: Path, way: Callable[[_Timed], None], *, durable: bool) -> tuple[float, float]:
    """Write a file so; the seconds it took, and those that passed outside its writes."""
    with path.open("wb", buffering=0) as out:
        file = _Timed(out)
        begun = time.perf_counter()
        way(file)
        outside = time.perf_counter() - begun - file.seconds
        if durable:
            os.fsync(out.fileno())
        took = time.perf_counter() - begun
    path.unlink()
    return took, outside


def _rest(report: Report, cores: list[int], seconds: float) -> Results:
    """Processor time of a coordinator that nobody uses, and of one with applications that all work."""
    with _coordinator(cores, "fair-share") as coordinator:
        begun, used = time.perf_counter(), processor_seconds(coordinator.process.pid)
        time.sleep(seconds)
        alone = (processor_seconds(coordinator.process.pid) - used) / (time.perf_counter() - begun)
        beaten = coordinator.load(REGISTERED, 0, 0.0, seconds)["processor_share"]
    report.say(f"at rest it uses {alone:.2%} of a core, with {REGISTERED:,} applications that work {beaten:.2%}")
    return {"alone": alone, "registered": beaten}


def _memory(report: Report, cores: list[int], events: int) -> Results:
    """Memory after some events and after many more."""
    with _coordinator(cores, "fcfs") as coordinator:
        coordinator.load(200, 20, EVENTS_PER_S, 2.0)
        before = coordinator.resident_mb()
        seen = coordinator.load(200, 20, 0.0, events / EVENTS_PER_S)
        after = coordinator.resident_mb()
    moved = seen["events_per_s"] * events / EVENTS_PER_S
    report.say(f"memory: {before:.0f} MB, and {after:.0f} MB after {moved:,.0f} events more")
    return {"before_mb": before, "after_mb": after, "events": moved}
