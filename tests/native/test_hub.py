"""The processes of a run are one application: its turn and its rate are theirs together, whatever happens to one of them."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.native.hub import LEASE_SECONDS, LEAST_STEP, NO_LIMIT, Hub, Share, divide
from penstock.native.libraries import LIBRARY_PATH
from penstock.numeric.tolerances import RATE_SLACK
from tests.live.server.process import Coordinator
from tests.live.server.running import Raw, Running
from tests.naive.profiles import examples
from tests.native.building import need
from tests.native.shimming import CASES, SOON, Site, hub_of, library, prepare, run_case
from tests.native.test_posix_live import BANDWIDTH, HALF, applications, finish, served, served_apart, wait_for, writer

RATES = st.one_of(st.just(0.0), st.just(math.inf), st.floats(1.0, 1e12))
"""Bytes/s of the job."""
EVENTS = st.one_of(
    st.tuples(st.just("rate"), RATES),
    st.tuples(st.sampled_from(["join", "end", "acknowledge"]), st.integers(0, 7)),
)


@examples(200)
@given(st.lists(EVENTS, max_size=60))
def test_processes_never_have_more_than_the_job(events: list[tuple[str, float]]) -> None:
    """Shares as a coordinator would see them: each keeps to its last grant once it has acknowledged it, and not before."""
    rate = 0.0
    shares: dict[float, Share] = {}
    unread: dict[float, list[int]] = {}
    for event, value in events:
        if event == "rate":
            rate = value
        elif event == "join" and value not in shares:
            shares[value], unread[value] = Share(owed=True), []
        elif event == "end":
            shares.pop(value, None)
        elif event == "acknowledge" and value in shares:
            for grant in unread.pop(value):
                shares[value].acknowledge(grant)
            unread[value] = []
        before = math.fsum(share.held for share in shares.values())
        told = divide(rate, shares.values())
        for key, share in shares.items():
            unread[key] += [share.grant] * (share in told)
            assert not share.owed
            assert share.told <= share.held
        assert math.fsum(share.held for share in shares.values()) <= max(before, rate * (1.0 + RATE_SLACK))
    more = True
    while more:  # all acknowledge at once, also what they were told before
        for share in shares.values():
            share.acknowledge(share.grant)
        more = bool(divide(rate, shares.values()))
    each = min(rate / len(shares), NO_LIMIT) if shares else 0.0
    assert all(each * (1.0 - 2.0 * LEAST_STEP) <= share.told <= each for share in shares.values())


def test_rates_by_hand() -> None:
    """100 bytes/s: a alone has 100; b gets its 50 when a has acknowledged 50; when a ends, b has 100."""
    a, b = Share(owed=True), Share(owed=True)
    assert [(share.told, share.grant) for share in divide(100.0, [a])] == [(100.0, 1)]
    assert divide(100.0, [a, b]) == [a, b]
    assert (a.told, a.held, b.told) == (50.0, 100.0, 0.0)
    a.acknowledge(1)
    assert divide(100.0, [a, b]) == [], "the grant of 100 is not the lower one"
    a.acknowledge(2)
    assert divide(100.0, [a, b]) == [b]
    assert (a.held, b.told, b.held) == (50.0, 50.0, 50.0)
    assert divide(100.0, [b]) == [b]
    assert b.told == 100.0


def both(site: Site, coordinator: Coordinator | Running) -> list[subprocess.Popen[bytes]]:
    """Two processes that have written one half of their file each."""
    processes = [writer(site, name) for name in ("a", "b")]
    wait_for(coordinator, lambda found: found.get("job", {}).get("transferred") == 2 * len(HALF))
    return processes


def test_every_program_as_one_application() -> None:
    """At a rate at which each call of more than 400 kB is cut into slices."""
    with served("fcfs", bandwidth=40e6) as (coordinator, site), hub_of(site, nodes=7) as hub:
        prepare(site)
        for case in CASES:
            seen = run_case(site, case)
            assert seen.bytes == (case.read, case.written), case.name
            assert seen.errors == "", case.name
        found = wait_for(coordinator, lambda found: found["job"]["pending"] is None)
        assert list(found) == ["job"]
        assert found["job"]["nodes"] == 7
        assert found["job"]["transferred"] == sum(case.read + case.written for case in CASES)
        assert (hub.coordinated, hub.outages, coordinator.server.core.overruns) == (True, 0, 0)


def test_all_wait_for_the_turn_of_the_job() -> None:
    with served("fcfs") as (coordinator, site), hub_of(site), Raw(coordinator.settings.socket) as first:
        first.register("first")
        first.send("inform", operation=1, volume=1e12, rounds=1000)
        assert first.until("grant")["rate"] == BANDWIDTH
        processes = [writer(site, name) for name in ("a", "b")]
        wait_for(coordinator, lambda found: bool(found.get("job", {}).get("pending")))
        assert [path.stat().st_size for path in site.mount.iterdir()] == [0, 0]
        first.send("release", operation=1)
        wait_for(coordinator, lambda found: found["job"]["transferred"] == 2 * len(HALF))
        for process in processes:
            process.communicate(HALF, timeout=SOON)
        assert [(site.mount / name).read_bytes() for name in ("a", "b")] == [HALF + HALF] * 2
        assert set(applications(coordinator)) == {"first", "job"}


def test_both_ends_of_a_pipeline_move_in_one_turn() -> None:
    """Under a policy that serves one at a time, and with another job that has long operations."""
    with served("fcfs") as (coordinator, site), hub_of(site):
        prepare(site)
        seen = site.run("bash", "-c", "cat in | cat > out")
        assert seen.code == 0
        assert (site.mount / "out").read_bytes() == (site.mount / "in").read_bytes()
        found = wait_for(coordinator, lambda found: found["job"]["pending"] is None)
        assert found["job"]["operations"] < 10, "not one for each filling of the pipe"


def test_a_process_that_is_killed_frees_its_part() -> None:
    """The bandwidth is so low that it is in the middle of its first write until then, and the other one has half."""
    with served("fcfs", bandwidth=200_000.0) as (coordinator, site), hub_of(site):
        process = site.start("dd", "if=/dev/zero", "of=file", "bs=10M", "count=1")
        wait_for(coordinator, lambda found: found.get("job", {}).get("rate", 0.0) > 0.0)
        other = writer(site, "next")
        process.kill()
        assert site.finish(process).code == -signal.SIGKILL
        other.communicate(HALF, timeout=SOON)
        assert (site.mount / "next").read_bytes() == HALF + HALF


def test_a_process_that_is_stopped_does_not_keep_the_turn() -> None:
    """It is forgotten after its lease, the job ends its operation, and another application has its turn."""
    with served("fcfs", bandwidth=100_000.0) as (coordinator, site), hub_of(site):
        process = site.start("dd", "if=/dev/zero", "of=file", "bs=10k", "count=20")
        wait_for(coordinator, lambda found: found.get("job", {}).get("rate", 0.0) > 0.0)
        process.send_signal(signal.SIGSTOP)
        with Raw(coordinator.settings.socket) as second:
            second.register("second")
            second.send("inform", operation=1, volume=1e3)
            while second.until("grant")["rate"] == 0.0:
                pass
        process.send_signal(signal.SIGCONT)
        assert site.finish(process).code == 0
        assert (site.mount / "file").stat().st_size == 204_800
        assert LEASE_SECONDS < SOON


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
def test_a_coordinator_that_is_lost(fault: signal.Signals) -> None:
    """The hub goes on without it after its patience; the processes see nothing of that."""
    with served_apart(PENSTOCK_PATIENCE="60") as (coordinator, site), pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_PATIENCE", "0.05")
        with hub_of(site) as hub:
            processes = both(site, coordinator)
            coordinator.process.send_signal(fault)
            if fault == signal.SIGKILL:
                coordinator.process.wait(SOON)
            for process in processes:
                _, errors = process.communicate(HALF, timeout=SOON)
                assert errors == b""
            assert [(site.mount / name).read_bytes() for name in ("a", "b")] == [HALF + HALF] * 2
            assert hub.coordinated


def test_without_a_coordinator_nobody_connects() -> None:
    with served("fcfs") as (_, site):
        site.variables["PENSTOCK_SOCKET"] = str(site.folder / "nobody")
        with Hub(site.folder / "hub", "job", address=str(site.folder / "nobody")) as hub:
            seen = site.run("bash", "-c", "echo 12345 > file", PENSTOCK_JOB_SOCKET=str(site.folder / "hub"))
            assert (seen.bytes, seen.errors, hub.coordinated) == ((0, 6), "", False)
            assert [record.coordinated for record in seen.records] == [False]
            assert not (site.folder / "hub").exists()


def test_a_coordinator_that_goes_before_the_first_process() -> None:
    """Nobody waits for it: each process has a patience of 60 s, the hub one of 5 s."""
    with served("fcfs") as (_, site), hub_of(site) as hub:
        (site.folder / "socket").rename(site.folder / "away")
        for _ in range(3):
            seen = site.run("bash", "-c", "echo 12345 > file")
            assert (seen.code, seen.bytes, seen.errors) == (0, (0, 6), "")
            assert seen.records[0].waited < 1.0
        assert not hub.coordinated


def test_processes_that_do_not_find_the_hub_connect_themselves() -> None:
    """As on another node, where the folder of the run does not exist."""
    with served("fcfs") as (coordinator, site):
        process = writer(site, "file", PENSTOCK_JOB_SOCKET="/nowhere/to/be/found/job")
        wait_for(coordinator, lambda found: found.get("file", {}).get("transferred") == len(HALF))
        finish(site, process, "file")


def by_command(site: Site, *words: str, **more: str) -> tuple[dict[str, Any], str]:
    """The summary of `penstock run`, and what it says besides."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PENSTOCK_")}
    done = subprocess.run(
        [sys.executable, "-m", "penstock", "run", "--mount", site.mount, "--json", "-", *words],
        env=kept | {LIBRARY_PATH: str(library().parent), "PENSTOCK_SOCKET": str(site.folder / "socket")} | more,
        cwd=site.mount,
        capture_output=True,
        text=True,
        timeout=SOON,
        check=False,
    )
    assert done.returncode == 0, done
    *said, document = done.stderr.splitlines()
    return json.loads(document), "\n".join(said)


def test_a_long_path_of_temporary_files() -> None:
    """Too long for a socket in it, so that the hub listens elsewhere."""
    with served("fcfs") as (_, site):
        long = site.folder / ("x" * 100)
        long.mkdir()
        found, said = by_command(site, "--", "bash", "-c", "echo 12345 > file", TMPDIR=str(long))
        assert (found["written"], found["coordinated"], said) == (6, 1, "")
        assert list(long.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, for a mount of its own")
def test_records_of_other_nodes(tmp_path: Path) -> None:
    """A program for which the folder for temporary files is empty, as on another node, leaves its record in --records."""
    need("unshare", "mount")
    with served("fcfs") as (_, site):
        local, shared = tmp_path / "local", tmp_path / "shared"
        local.mkdir()
        shared.mkdir()
        script = f"mount -t tmpfs none {local}; exec bash -c 'echo 12345 > file'"
        command = ("--name", "job", "--", "unshare", "-m", "bash", "-c", script)
        found, _ = by_command(site, "--records", str(shared), *command, TMPDIR=str(local))
        assert (found["written"], found["coordinated"]) == (6, 1)
        found, _ = by_command(site, *command, TMPDIR=str(local))
        assert found["written"] == 0
        assert list(shared.iterdir()) == list(local.iterdir()) == []


def test_a_hub_that_dies_is_a_coordinator_that_dies() -> None:
    with served("fcfs") as (coordinator, site), hub_of(site) as hub:
        process = writer(site, "file", PENSTOCK_PATIENCE="2")
        wait_for(coordinator, lambda found: found.get("job", {}).get("transferred") == len(HALF))
        hub._stopped = True
        hub._wake()
        hub._thread.join(SOON)
        finish(site, process, "file")
