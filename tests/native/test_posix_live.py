"""Unchanged programs under a real coordinator: turns and rates as the policy says, every byte as without, and faults."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from penstock.native.records import read_records
from tests.live.server.process import Coordinator
from tests.live.server.running import Raw, Running, running
from tests.native.building import NATIVE, built
from tests.native.shimming import CASES, SOON, Seen, Site, compiled, library, prepare, run_case

POLICIES = ("fcfs", "fair-share")
BANDWIDTH = 400e6
PATIENT = {"PENSTOCK_OBSERVE": "0", "PENSTOCK_PATIENCE": "60", "PENSTOCK_GAP": "60"}
"""No wait and no gap ends by itself while a test looks."""
HASTY = {"PENSTOCK_OBSERVE": "0", "PENSTOCK_PATIENCE": "0.05"}
HALF = bytes(range(256)) * 128
"""Half of what the tests below write: 32 KiB, which a pipe holds."""


@contextmanager
def served(
    policy: str, *, lease: float = 600.0, bandwidth: float = BANDWIDTH, **variables: str
) -> Iterator[tuple[Running, Site]]:
    """A coordinator and a site in one folder; sockets need a short path. Nobody loses a turn by being slow."""
    with TemporaryDirectory() as name, running(Path(name), policy=policy, bandwidth=bandwidth, lease=lease) as coordinator:
        yield coordinator, Site(Path(name), **(PATIENT | variables))


@contextmanager
def served_apart(**variables: str) -> Iterator[tuple[Coordinator, Site]]:
    """The same with a process of its own, to kill it or stop it."""
    with TemporaryDirectory() as name:
        coordinator = Coordinator(Path(name), "--bandwidth", f"{BANDWIDTH} B/s", "--policy", "fcfs")
        try:
            yield coordinator, Site(Path(name), **(PATIENT | variables))
        finally:
            coordinator.process.send_signal(signal.SIGCONT)
            coordinator.kill()


def applications(coordinator: Coordinator | Running) -> dict[str, dict[str, Any]]:
    return {application["job"]: application for application in coordinator.state()["applications"]}


def wait_for(
    coordinator: Coordinator | Running, holds: Callable[[dict[str, dict[str, Any]]], bool]
) -> dict[str, dict[str, Any]]:
    """The applications, once the condition holds."""
    end = time.monotonic() + SOON
    while not holds(found := applications(coordinator)):
        assert time.monotonic() < end, found
        time.sleep(0.01)
    return found


def writer(site: Site, name: str, **more: str) -> subprocess.Popen[bytes]:
    """cat, which writes to the file `name` what the test gives it, and has got one half of it."""
    process = site.start("bash", "-c", f"exec cat > {name}", PENSTOCK_NAME=name, **more)
    assert process.stdin is not None
    process.stdin.write(HALF)
    return process


def finish(site: Site, process: subprocess.Popen[bytes], name: str) -> Seen:
    """Give it the other half, and compare the file."""
    seen = site.finish(process, HALF)
    assert seen.code == 0, seen
    assert (site.mount / name).read_bytes() == HALF + HALF
    assert seen.bytes == (0, 2 * len(HALF))
    return seen


@pytest.mark.parametrize("policy", POLICIES)
def test_every_program_under_every_policy(policy: str) -> None:
    """At a rate at which each call of more than 400 kB is cut into slices."""
    with served(policy, bandwidth=40e6) as (coordinator, site):
        prepare(site)
        for case in CASES:
            seen = run_case(site, case)
            assert seen.bytes == (case.read, case.written), case.name
            assert all(record.coordinated for record in seen.records), case.name
            assert seen.errors == "", case.name
        assert all(application["pending"] is None for application in applications(coordinator).values())


@pytest.mark.parametrize(
    "trap", ["threads", "children", "streams_at_exit", "closes_all", "vectors", "signals", "asynchronous"]
)
def test_traps_under_a_coordinator(trap: str) -> None:
    with served("fcfs") as (_, site):
        seen = site.trap(trap)
        assert all(record.coordinated and not record.outages for record in seen.records)
        assert seen.errors == ""
        assert seen.out == {"closes_all": "kept\n", "vfork": "said\n"}.get(trap, "")


def test_first_come_first_served() -> None:
    """The program waits while the first job has its turn, and writes when that has ended."""
    with served("fcfs") as (coordinator, site), Raw(coordinator.settings.socket) as first:
        first.register("first")
        first.send("inform", operation=1, volume=1e12, rounds=1000)
        assert first.until("grant")["rate"] == BANDWIDTH
        process = writer(site, "second")
        found = wait_for(coordinator, lambda found: bool(found.get("second", {}).get("pending")))
        assert (found["second"]["rate"], (site.mount / "second").stat().st_size) == (0.0, 0)
        first.send("release", operation=1)
        wait_for(coordinator, lambda found: found["second"]["transferred"] == len(HALF))  # it has given its turn up again
        finish(site, process, "second")


def test_fair_share() -> None:
    """Both move at once, each at half of the bandwidth, which is so low that the first half takes seconds."""
    low = 40_000.0
    with served("fair-share", bandwidth=low) as (coordinator, site), Raw(coordinator.settings.socket) as first:
        first.register("first")
        first.send("inform", operation=1, volume=1e12, rounds=1000)
        assert first.until("grant")["rate"] == low
        process = writer(site, "second")
        assert first.until("grant")["rate"] == low / 2
        first.send("yielded", grant=2)
        found = wait_for(coordinator, lambda found: found.get("second", {}).get("rate", 0.0) > 0.0)
        assert (found["first"]["rate"], found["second"]["rate"]) == (low / 2, low / 2)
        first.send("release", operation=1)
        finish(site, process, "second")


def phases_ended(site: Site) -> int:
    return sum(path.read_text().count("\n") for path in site.record.glob("*.phases"))


def test_the_volume_is_that_of_the_phase_before() -> None:
    """The first phase is announced as 16 MiB, the next as what the first has moved, or as PENSTOCK_PHASE says."""
    with served("fcfs", PENSTOCK_GAP="0.02") as (coordinator, site):
        process = site.start("bash", "-c", "exec cat > file", PENSTOCK_NAME="cat")
        assert process.stdin is not None
        volumes = []
        with Raw(coordinator.settings.socket) as other:
            other.register("other")
            for operation in (1, 2):
                other.send("inform", operation=operation, volume=1e12, rounds=1)
                wait_for(coordinator, lambda found: found["other"]["rate"] > 0.0)
                process.stdin.write(HALF)
                found = wait_for(coordinator, lambda found: bool(found.get("cat", {}).get("pending")))
                volumes.append(found["cat"]["pending"]["volume"])
                other.send("release", operation=operation)
                wait_for(coordinator, lambda _, ended=operation: phases_ended(site) == ended)
        seen = site.finish(process)
        assert volumes == [16 << 20, len(HALF)]
        assert seen.phases == [(0, len(HALF)), (0, len(HALF))]


def test_hints() -> None:
    with served("fcfs") as (coordinator, site), Raw(coordinator.settings.socket) as first:
        first.register("first")
        first.send("inform", operation=1, volume=1e12)
        process = writer(site, "second", PENSTOCK_PHASE="volume=65536,rounds=4", PENSTOCK_NODES="7")
        found = wait_for(coordinator, lambda found: bool(found.get("second", {}).get("pending")))
        pending = found["second"]["pending"]
        assert (pending["volume"], pending["rounds"], found["second"]["nodes"]) == (65536, 4, 7)
        first.send("release", operation=1)
        finish(site, process, "second")


def test_no_coordinator_costs_nothing(tmp_path: Path) -> None:
    site = Site(tmp_path, **PATIENT)
    prepare(site)
    for case in CASES:
        seen = run_case(site, case)
        assert seen.bytes == (case.read, case.written), case.name
        assert [record.coordinated for record in seen.records] == [False] * len(seen.records)
        assert seen.errors == "", case.name


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_programs_that_start_after_the_fault(fault: signal.Signals) -> None:
    """A dead socket, or one that nobody answers: each program waits for its patience at most, and says so once."""
    with served_apart(**HASTY) as (coordinator, site):
        prepare(site)
        coordinator.process.send_signal(fault)
        if fault == signal.SIGKILL:
            coordinator.process.wait(SOON)
        for case in CASES:
            seen = run_case(site, case)
            assert seen.bytes == (case.read, case.written), case.name
            assert not any(record.coordinated for record in seen.records), case.name


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_coordinator_lost_in_the_middle_of_a_phase(fault: signal.Signals) -> None:
    with served_apart(PENSTOCK_PATIENCE="2") as (coordinator, site):
        process = writer(site, "file", PENSTOCK_PHASE=f"volume={len(HALF)}")
        wait_for(coordinator, lambda found: found.get("file", {}).get("transferred") == len(HALF))
        coordinator.process.send_signal(fault)
        if fault == signal.SIGKILL:
            coordinator.process.wait(SOON)
        seen = finish(site, process, "file")
        (record,) = seen.records
        assert (record.coordinated, record.outages) == (True, 1)
        # The library says so after the wait; the program may have ended by then.
        assert seen.errors.count("going on uncoordinated") == seen.errors.count("\n") <= 1


def test_a_program_killed_in_its_turn_harms_nobody() -> None:
    """Its turn ends with its lease. The bandwidth is so low that it is in the middle of its first write until then."""
    with served("fcfs", lease=1.0, bandwidth=100_000.0) as (coordinator, site):
        process = site.start("dd", "if=/dev/zero", "of=file", "bs=10M", "count=1", PENSTOCK_NAME="file")
        wait_for(coordinator, lambda found: found.get("file", {}).get("rate", 0.0) > 0.0)
        process.kill()
        assert site.finish(process).code == -signal.SIGKILL
        seen = finish(site, writer(site, "next"), "next")
        assert seen.records[0].coordinated


OWN = """
import os
from penstock.client import Job
os.write(3, b"before")
with Job("own") as job:
    with job.io(volume=10, rounds=2) as io:
        io.write(3, b"0123456789")
    if os.fork() == 0:
        os.write(3, b"child")
        os._exit(0)
    os.wait()
os.write(3, b"after")
"""


def test_a_program_in_python_that_has_a_job() -> None:
    """Its own job has the turn, for which the library must not wait; before and after, and in a child, the library has."""
    with served("fcfs") as (coordinator, site):
        seen = site.run("bash", "-c", f"exec {sys.executable} -c '{OWN}' 3> file", PENSTOCK_NAME="shim")
        assert (seen.code, seen.bytes) == (0, (0, 26)), seen
        assert (site.mount / "file").read_bytes() == b"before0123456789childafter"
        assert all(record.coordinated for record in seen.records)
        assert coordinator.server.core.overruns == 0


def test_a_program_in_c_that_has_a_job(tmp_path: Path) -> None:
    """The example of libpenstock: its two operations are those of its own job, and no other job comes."""
    program = tmp_path / "checkpoint"
    flags = [f"-I{NATIVE}/include", f"-L{built()}", "-lpenstock", f"-Wl,-rpath,{built()}"]
    subprocess.run(["cc", NATIVE / "examples/cmake/checkpoint.c", "-o", program, *flags], check=True)
    with served("fcfs") as (_, site):
        seen = site.run(program, site.mount / "out", PENSTOCK_NAME="shim")
        assert (seen.code, seen.bytes, seen.errors) == (0, (0, 16_000_000), "")
        assert [record.coordinated for record in seen.records] == [False]


def test_a_turn_that_is_not_used_is_given_up() -> None:
    """A program that has written and then waits for its input holds nobody up, long before its phase or a lease ends."""
    with served("fcfs") as (coordinator, site):
        first = writer(site, "first")
        wait_for(coordinator, lambda found: found.get("first", {}).get("transferred") == len(HALF))
        others = [writer(site, name) for name in ("second", "third")]
        wait_for(coordinator, lambda found: all(found.get(name, {}).get("operations") for name in ("second", "third")))
        for process in (first, *others):
            process.communicate(HALF, timeout=SOON)
        assert [(site.mount / name).read_bytes() for name in ("first", "second", "third")] == [HALF + HALF] * 3


def test_no_connection_before_the_first_byte() -> None:
    with served("fcfs") as (coordinator, site):
        prepare(site)
        assert site.run("bash", "-c", "ls -l in; test -e in && : > empty; cat < /dev/null >> empty").records == []
        assert coordinator.state()["applications"] == []


def test_a_signal_does_not_cut_the_wait() -> None:
    """Handlers run while the program waits for its turn, and the wait goes on."""
    with served("fcfs") as (coordinator, site), Raw(coordinator.settings.socket) as first:
        first.register("first")
        first.send("inform", operation=1, volume=1e12)
        side = site.mount / "file.side"
        process = site.start(compiled("traps"), "signals", site.mount / "file", PENSTOCK_NAME="second")
        wait_for(coordinator, lambda found: bool(found.get("second", {}).get("pending")))
        assert side.stat().st_size == 0
        first.send("release", operation=1)
        seen = site.finish(process)
        assert (seen.code, seen.bytes) == (0, (0, 40 * 100_000 + side.stat().st_size)), seen


def test_a_seek_waits_for_the_turn() -> None:
    """A program that reads a byte in each of 20 blocks reads them in seeks.

    The first one, with nothing in the buffer, fetches only the byte before.
    """
    with served("fcfs") as (coordinator, site), Raw(coordinator.settings.socket) as first:
        first.register("first")
        first.send("inform", operation=1, volume=1e12)
        first.until("grant")
        (site.mount / "file").write_bytes(bytes(i % 251 for i in range(100_000)))
        process = site.start(compiled("traps"), "seeks", site.mount / "file", PENSTOCK_NAME="second")
        wait_for(coordinator, lambda found: bool(found.get("second", {}).get("pending")))
        assert [record.read for record in read_records(site.record)] == [0]
        first.send("release", operation=1)
        seen = site.finish(process)
        assert (seen.code, seen.bytes) == (0, (20 * 4096 + 1, 0)), seen


def test_threads_that_begin_at_once_all_wait() -> None:
    """No thread moves a byte while another one still connects."""
    with served("fcfs") as (coordinator, site), Raw(coordinator.settings.socket) as first:
        first.register("first")
        first.send("inform", operation=1, volume=1e12)
        first.until("grant")
        file = site.mount / "file"
        process = site.start(compiled("traps"), "threads", file, PENSTOCK_NAME="second")
        wait_for(coordinator, lambda found: bool(found.get("second", {}).get("pending")))
        assert file.stat().st_size == 0
        first.send("release", operation=1)
        seen = site.finish(process)
        assert (seen.code, seen.bytes, file.stat().st_size) == (0, (0, 100_000), 100_000), seen


def test_calls_allocate_nothing() -> None:
    """A thousand writes need as many allocations as ten, connection and warnings included."""
    counts = []
    with served("fcfs", LD_PRELOAD=f"{compiled('allocations.so')}:{library()}") as (_, site):
        for count in (10, 1000):
            seen = site.run("dd", "if=/dev/zero", "of=file", "bs=4k", f"count={count}", "status=none")
            assert (seen.bytes, [record.coordinated for record in seen.records]) == ((0, 4096 * count), [True])
            counts.append(seen.errors)
    assert counts[0] == counts[1] != "allocations: 0\n"


def test_coordination_that_is_switched_off() -> None:
    with served("fcfs") as (coordinator, site):
        seen = site.trap("threads", PENSTOCK_DISABLE="1")
        assert [record.coordinated for record in seen.records] == [False]
        assert coordinator.state()["applications"] == []
