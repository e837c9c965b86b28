"""A coordinator that is absent, slow, dies, comes back or says no: the application goes on."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from penstock.live.client import Job, environment
from penstock.live.protocol import Beat, Error, Forgotten, Inform, Join, Leave, Register, Release, Report
from tests.live.client.scripted import SOON, Scripted, until
from tests.live.client.test_job import Recorder, started
from tests.live.server.process import Coordinator
from tests.live.server.serving import Serving


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(record.levelname, record.message) for record in caplog.records if record.name == "penstock.client"]


def test_nobody_there(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is there to connect to, so nothing is waited for; one that appears later is joined."""
    caplog.set_level(logging.INFO)
    with Job("a", address=place, patience=3600.0) as job:
        for _ in range(3):
            with job.io(100) as io:
                io.write(Recorder(), bytes(100))
        assert not job.state.coordinated
        until(lambda: told(caplog))
        assert told(caplog) == [
            ("WARNING", f"penstock: no coordinator at {place} (no such file or directory); going on uncoordinated")
        ]
        with Scripted(place) as server:
            until(lambda: job.state.coordinated)
            with job.io(100) as io:
                io.write(Recorder(), bytes(100))
            assert server.expect(Release).moved == 100.0
            job.leave()
    assert told(caplog)[1:] == [("INFO", f"penstock: coordinated by {place} again")]


def test_the_machines_coordinator_is_found_when_it_appears(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "MACHINE_SOCKET", place)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(place.parent / "own"))
    with Job("a", patience=3600.0) as job:
        with job.io(100) as io:
            io.write(Recorder(), bytes(100))
        with Scripted(place) as server:
            server.expect(Register)
            until(lambda: job.state.coordinated)
            job.leave()


def test_a_socket_that_nobody_listens_on(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    with Scripted(place):
        pass
    assert place.exists()
    with Job("a", address=place, patience=3600.0) as job, job.io(100) as io:
        io.write(Recorder(), bytes(100))
        until(lambda: told(caplog))
    assert told(caplog) == [("WARNING", f"penstock: no coordinator at {place} (connection refused); going on uncoordinated")]


def test_without_patience_nothing_is_waited_for(place: Path, server: Scripted) -> None:
    server.mute = True
    with Job("a", address=place, patience=0.0) as job:
        with job.io(100) as io:
            io.write(Recorder(), bytes(100))
        assert job.state.waited == 0.0


def test_without_patience_it_obeys_as_soon_as_it_is_told(server: Scripted) -> None:
    class Slow(Recorder):
        def write(self, data: memoryview) -> int:
            time.sleep(0.02)
            return super().write(data)

    server.rate = 0.0
    file = Slow()
    with Job("a", address=server.address, patience=0.0) as job, closing(job.io(500, rounds=50)) as io:
        thread = started(io.write, file, bytes(500))
        server.expect(Inform)
        operation = job._link.session.operation
        assert operation is not None
        until(lambda: operation.granted and not operation.in_round)
        moved = file.size()
        time.sleep(0.1)
        assert file.size() == moved < 500  # the round that was under way is ended, and no other begun
        server.grant(1e9)
        thread.join(SOON)
        assert file.size() == 500


def test_a_coordinator_that_falls_silent(server: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    server.lease, server.rate = 0.3, 0.0
    file = Recorder()
    with Job("a", address=server.address, patience=2.0) as job, closing(job.io(100, rounds=2)) as io:
        thread = started(io.write, file, bytes(100))
        server.expect(Inform)
        server.expect(Beat, 3)
        assert not file.pieces  # a pause by the living
        server.mute = True
        thread.join(SOON)
        assert file.size() == 100
        assert not job.state.coordinated
        server.mute = False
        until(lambda: job.state.coordinated)
    until(lambda: len(told(caplog)) == 2)
    assert told(caplog) == [
        ("WARNING", f"penstock: no coordinator at {server.address} (no answer for 2 s); going on uncoordinated"),
        ("INFO", f"penstock: coordinated by {server.address} again"),
    ]


def test_who_waits_goes_on_when_the_daemon_is_stopped(place: Path) -> None:
    """A real daemon, first come, first served, whose lease asks for signs of life only every 200 s."""
    options = ("--bandwidth", "1 GB/s", "--policy", "fcfs", "--lease", "600")
    coordinator = Coordinator(place.parent, *options)
    try:
        file = Recorder()
        with (
            Job("first", address=coordinator.socket, patience=4.0) as first,
            Job("second", address=coordinator.socket, patience=4.0) as second,
        ):
            holding = first.io(10**9, rounds=1000)
            holding.write(Recorder(), bytes(10**6))
            waiting = second.io(100)
            thread = started(waiting.write, file, bytes(100))
            until(
                lambda: ("second", "waiting") in {(job["job"], job["state"]) for job in coordinator.state()["applications"]}
            )
            assert not file.pieces
            coordinator.process.send_signal(signal.SIGSTOP)
            thread.join(60.0)
            assert file.size() == 100
            assert holding.write(Recorder(), bytes(10**6)) == 10**6
            coordinator.process.send_signal(signal.SIGCONT)
            until(lambda: first.state.coordinated and second.state.coordinated)
            waiting.close()
            holding.close()
            until(lambda: all(job["pending"] is None for job in coordinator.state()["applications"]))
            ledger = {job["job"]: job["transferred"] for job in coordinator.state()["applications"]}
            assert ledger == {"first": 2e6, "second": 100.0}
    finally:
        coordinator.process.send_signal(signal.SIGCONT)
        coordinator.kill()


def test_it_comes_back_after_a_death(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    file = Recorder()
    with ExitStack() as first:
        first.enter_context(Scripted(place, rate=1e6))
        job = Job("a", address=place, patience=1.5)
        io = job.io(10**7, rounds=1000)
        thread = started(io.write, file, bytes(10**7))
        until(lambda: file.size() > 50_000)
        first.close()
        assert job.state.rate == 1e6  # kept for as long as patience lasts
        until(lambda: job.state.rate == float("inf") or file.size() == 10**7)
        thread.join(SOON)
        assert file.size() == 10**7
        with Scripted(place) as second:
            join = second.expect(Join)
            assert (join.seq, join.application, join.key) == (1, 7, "key-7")
            inform = second.expect(Inform)
            assert (inform.seq, inform.operation, inform.volume, inform.moved) == (2, 1, 1e7, 1e7)
            until(lambda: job.state.coordinated)
            io.close()
            assert second.expect(Release).moved == 1e7
            job.leave()
            assert second.of(Leave)
    assert [level for level, _ in told(caplog)] == ["WARNING", "INFO"]


def test_a_short_loss_goes_unnoticed(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    file = Recorder()
    with ExitStack() as stack:
        with Scripted(place, rate=0.0) as first:
            job = stack.enter_context(Job("a", address=place, patience=20.0))
            io = job.io(1000, rounds=10)
            thread = started(io.write, file, bytes(1000))
            first.expect(Inform)
        time.sleep(0.1)
        assert not file.pieces
        with Scripted(place, rate=1e9) as second:
            thread.join(SOON)
            assert file.size() == 1000
            assert second.of(Join)
            job.leave()
    assert told(caplog) == []


@pytest.mark.parametrize("code", ["unknown", "denied"])
def test_it_registers_anew_where_it_is_not_known(server: Scripted, code: str) -> None:
    server.answers[Join] = lambda message: [Error(code, "who?", message.seq)]
    with Job("a", address=server.address) as job, job.io(100, rounds=2) as io:
        io.write(Recorder(), bytes(50))
        server.cut()
        assert server.expect(Register, 2).elapsed > 0.0
        assert server.expect(Inform, 2).moved == 50.0
        io.write(Recorder(), bytes(50))
    assert server.of(Release)[-1].moved == 100.0


def test_it_registers_anew_when_it_is_forgotten(server: Scripted) -> None:
    with Job("a", address=server.address) as job, job.io(100) as io:
        io.write(Recorder(), bytes(10))
        server.tell(Forgotten("lease"))
        server.expect(Register, 2)
        assert not server.of(Join)
        assert server.expect(Inform, 2).moved == 10.0
        io.write(Recorder(), bytes(10))


def test_one_who_is_refused_goes_on_and_says_why(server: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    server.answers[Register] = lambda message: [Error("too-many", "100 applications", message.seq)]
    with Job("a", address=server.address, patience=60.0) as job, job.io(100) as io:
        io.write(Recorder(), bytes(100))
        until(lambda: told(caplog))
        time.sleep(0.2)
    assert len(server.of(Register)) == 1
    assert told(caplog) == [
        (
            "WARNING",
            f"penstock: no coordinator at {server.address} (too-many: 100 applications); going on uncoordinated",
        )
    ]


def test_a_peer_that_talks_nonsense(server: Scripted) -> None:
    with Job("a", address=server.address, patience=20.0) as job:
        server.expect(Register)
        until(lambda: job.state.coordinated)
        server._connections[-1].sendall(b"HTTP/1.1 400 Bad Request\n")
        server.expect(Join)
        server._connections[-1].sendall(20_000 * b"x")
        server.expect(Join, 2)
        with job.io(10) as io:
            io.write(Recorder(), bytes(10))
        assert server.expect(Release).moved == 10.0


def test_disabled_it_is_plain_io(server: Scripted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_DISABLE", "1")
    monkeypatch.setenv("PENSTOCK_PATIENCE", "nonsense")
    threads = threading.active_count()
    file = Recorder()
    with Job("a", address=":nonsense:") as job:
        assert threading.active_count() == threads
        assert not job._link._sockets
        with job.io(100, rounds=2) as io:
            io.write(file, bytes(100))
        job.inform(volume=5)
        assert job.check()
        assert job.wait()
        job.release()
        assert not job.state.coordinated
        assert job.state.moved == 105
    assert file.size() == 100
    assert not server.heard
    monkeypatch.setenv("PENSTOCK_DISABLE", "0")
    monkeypatch.delenv("PENSTOCK_PATIENCE")
    with Job("a", address=server.address):
        server.expect(Register)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_leaves_the_connection_alone(server: Scripted) -> None:
    server.rate = 0.0
    with Job("a", address=server.address, patience=60.0) as job, closing(job.io(100, rounds=2)) as io:
        server.expect(Inform)
        until(lambda: job._link.session.operation.granted)  # type: ignore[union-attr]
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            file = Recorder()
            io.write(file, bytes(100))  # not paused: it is nobody's business
            job.leave()
            os._exit(file.size())
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 100
        time.sleep(0.05)
        assert not server.of(Release)
        assert not server.of(Leave)
        server.grant(1e9)
        assert io.write(Recorder(), bytes(100)) == 100
    assert server.of(Release)[0].moved == 100.0


PROGRAM = """
import sys
from penstock.live.client import Job, environment
job = Job("a", address=sys.argv[1], patience=float(sys.argv[2]))
io = job.io(100, rounds=2)
io.write(open("/dev/null", "wb"), bytes(50))
"""


def run(address: str, patience: float) -> tuple[float, str]:
    begun = time.monotonic()
    command = [sys.executable, "-c", PROGRAM, address, str(patience)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    return time.monotonic() - begun, done.stderr


def test_a_program_that_just_ends_has_left(server: Scripted) -> None:
    run(server.address, 10.0)
    assert server.expect(Release).moved == 50.0
    assert server.expect(Leave)


def test_a_program_that_just_ends_does_not_hang_and_says_it_once(place: Path) -> None:
    seconds, said = run(str(place), 0.1)
    assert seconds < 10.0
    assert said == f"penstock: no coordinator at {place} (no such file or directory); going on uncoordinated\n"


def test_a_job_nobody_holds_leaves(server: Scripted) -> None:
    jobs = [Job("a", address=server.address)]
    until(lambda: jobs[0].state.coordinated)
    assert not server.of(Leave)
    jobs.clear()
    server.expect(Leave)


def test_leaving_a_silent_coordinator_takes_no_time(server: Scripted) -> None:
    with Job("a", address=server.address, patience=0.2) as job:
        until(lambda: job.state.coordinated)
        server.mute = True
        begun = time.monotonic()
    assert time.monotonic() - begun < 2.0
    assert not server.of(Report)


def test_it_goes_on_with_the_next_coordinator_when_the_first_dies(tmp_path: Path) -> None:
    """Two coordinators with the same settings, each of which names the other."""
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir()
    sockets = [folder / "penstock.sock" for folder in folders]
    options = ("--bandwidth", "1 GB/s", "--policy", "fcfs", "--addresses", ",".join(map(str, sockets)))
    with Serving(folders[0], *options) as first, Serving(folders[1], *options) as second:
        with Job("a", address=first.socket, patience=3600.0) as job, job.io(2000, rounds=2) as io:
            io.write(Recorder(), bytes(1000))
            assert [one["job"] for one in first.state()["applications"]] == ["a"]
            first.kill()
            until(lambda: [one["rate"] for one in second.state()["applications"]] == [1e9])
            io.write(Recorder(), bytes(1000))
            assert job.state.coordinated
        assert second.state()["applications"] == []
