"""``penstock serve`` and ``penstock ctl``: real processes, real signals, real files."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from penstock.cli.main import main
from penstock.live.server import journal
from tests.live.server.process import ENOUGH, Coordinator

WRITER = """
import sys
from pathlib import Path
from penstock.live.client import Job
folder, name, volume = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
with Job(name, nodes=2, patience=20) as job:
    print("here", flush=True)
    sys.stdin.readline()
    with job.io(volume, rounds=20) as io, (folder / name).open("wb") as file:
        for offset in range(0, volume, 50_000):
            io.write(file, bytes([offset // 50_000 % 251]) * 50_000)
    print("done", flush=True)
"""


@pytest.fixture
def started(tmp_path):
    """Starts coordinators, and ends those that still run."""
    running = []

    def start(*options, **environment):
        running.append(Coordinator(tmp_path, "--bandwidth", "5 MB/s", *options, **environment))
        return running[-1]

    yield start
    for coordinator in running:
        coordinator.kill()


def writer(folder, where, name, volume):
    environment = os.environ | {"PENSTOCK_SOCKET": str(where)}
    command = [sys.executable, "-c", WRITER, str(folder), name, str(volume)]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    assert process.stdout.readline() == "here\n"
    return process


def go(*processes):
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()


def expected(volume):
    return b"".join(bytes([offset // 50_000 % 251]) * 50_000 for offset in range(0, volume, 50_000))


def wait_until(condition):
    deadline = time.monotonic() + ENOUGH
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_two_applications_share_and_outlive_a_killed_coordinator(tmp_path, started):
    first = started("--lease", "5 s")
    assert "sharing 5 MB/s by fair-share" in first.greeting
    writers = [writer(tmp_path, first.socket, name, 20_000_000) for name in ("a", "b")]
    begun = time.monotonic()
    go(*writers)
    wait_until(lambda: all(a["pending"] and a["pending"]["moved"] > 1e6 for a in first.state()["applications"]))
    before = {a["job"]: a for a in first.state()["applications"]}
    assert {a["rate"] for a in before.values()} == {2.5e6}
    first.end(signal.SIGKILL)
    second = started("--lease", "5 s")
    assert "2 applications known from before" in second.greeting
    after = {a["job"]: a for a in second.state()["applications"]}
    for name, known in before.items():
        assert after[name]["application"] == known["application"]
        assert after[name]["pending"]["moved"] >= known["pending"]["moved"] * 0.5
        assert 0.0 < after[name]["yield"] <= 1.0
    wait_until(lambda: all(a["state"] != "away" for a in second.state()["applications"]))
    for process in writers:
        out, err = process.communicate(timeout=ENOUGH)
        assert (out, process.returncode) == ("done\n", 0), err
    assert time.monotonic() - begun >= 0.9 * 40e6 / 5e6  # they were paced all along
    for name in ("a", "b"):
        assert (tmp_path / name).read_bytes() == expected(20_000_000)
    assert second.state()["applications"] == []
    assert second.end(signal.SIGTERM) == 0
    assert not second.socket.exists()


def test_systemd_is_told(tmp_path, started):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(ENOUGH)
        coordinator = started(NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="200000")
        heard = [systemd.recv(200).decode() for _ in range(4)]
        assert any(text.startswith("READY=1\nSTATUS=sharing") for text in heard)
        assert heard.count("WATCHDOG=1") == 3
        assert coordinator.end(signal.SIGINT) == 0
        while heard[-1] != "STOPPING=1":
            heard.append(systemd.recv(200).decode())


def test_a_coordinator_is_looked_at_and_steered(started, capsys):
    coordinator = started()
    at = ["ctl", "--socket", str(coordinator.socket)]
    assert main([*at, "policy", "greedy-yield"]) == 0
    assert main([*at, "state", "--json"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("greedy-yield\n")
    assert json.loads(out[len("greedy-yield\n") :])["policy"] == "greedy-yield"
    assert main([*at, "state"]) == 0
    assert capsys.readouterr().out.startswith("greedy-yield: 0% of 5 MB/s granted")
    assert main([*at, "policy", "none"]) == 2
    assert "policy none: unknown; expected one of" in capsys.readouterr().err
    assert main([*at, "forget", "nobody"]) == 2
    assert "no application 'nobody' is known" in capsys.readouterr().err
    assert main([*at, "stop"]) == 0
    assert coordinator.process.wait(ENOUGH) == 0


def test_a_run_is_watched_explained_recorded_and_replayed(tmp_path, started, capsys):
    coordinator = started("--policy", "fcfs")
    at = ["--socket", str(coordinator.socket)]
    first = writer(tmp_path, coordinator.socket, "first", 10_000_000)
    second = writer(tmp_path, coordinator.socket, "second", 2_000_000)
    go(first)
    wait_until(lambda: any(a["rate"] for a in coordinator.state()["applications"]))
    go(second)
    wait_until(lambda: any(a["state"] == "waiting" for a in coordinator.state()["applications"]))
    assert main(["why", "second", *at]) == 0
    out = capsys.readouterr().out
    assert out.startswith("'second' waits: fcfs serves 'first' first")
    assert "if no other application comes, it goes on in " in out
    assert main(["top", "--once", *at]) == 0
    out = capsys.readouterr().out
    assert "5 MB/s of 5 MB/s" in out
    assert "1 transferring, 1 waiting, 0 away, 0 working" in out
    for process in (first, second):
        assert process.communicate(timeout=ENOUGH)[0] == "done\n"
    recorded = tmp_path / "recorded.json"
    assert main(["ctl", *at, "record", "-o", str(recorded)]) == 0
    assert capsys.readouterr().out.endswith("2 applications, 2 operations\n")
    assert coordinator.end(signal.SIGTERM) == 0
    assert main(["compare", str(recorded), "--policy", "fcfs", "shortest-io", "--json", "--no-bound"]) == 0
    results = {result["policy"]: result for result in json.loads(capsys.readouterr().out)["runs"]}
    _, passages = journal.recorded(str(tmp_path / "journal"))
    lived = max(passage.end for passage in passages) - min(passage.registered for passage in passages)
    assert results["fcfs"]["makespan"] == pytest.approx(lived, rel=0.2)
    again = tmp_path / "again.json"
    assert main(["ctl", "record", "--journal", str(tmp_path / "journal"), "-o", str(again)]) == 0
    assert again.read_text() == recorded.read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve"], 'bandwidth: not given; expected what the I/O system carries, such as --bandwidth "10 GB/s"'),
        (["serve", "--bandwidth", "1 GB/s", "--policy", "no"], "policy no: unknown; expected one of fair-share"),
        (["serve", "--bandwidth", "1 GB/s", "--http", "here"], "http: 'here' is no TCP address; expected host:port"),
        (["serve", "--bandwidth", "1 GB/s", "--listen", "h:1"], "listen: over TCP the token says who may come"),
        (["ctl", "--socket", "/nowhere/socket", "state"], "no coordinator answers at /nowhere/socket (No such file"),
        (["top", "--socket", "/nowhere/socket"], "no coordinator answers at /nowhere/socket"),
        (["why", "me", "--socket", "/nowhere/socket"], "no coordinator answers at /nowhere/socket"),
        (["ctl", "record", "--journal", "/nowhere/j", "-o", "x.json"], "/nowhere/j: there is no such journal"),
        (["ctl", "--socket", "host:7000", "state"], "socket: host:7000 is not a Unix socket; expected its path"),
    ],
)
def test_wrong_input_is_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"penstock: {message}")
    assert error.count("\n") == 1


def test_the_settings_are_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PENSTOCK_LEASE", "3 s")
    assert main(["serve", "--bandwidth", "1 GB/s", "--print-config"]) == 0
    out = capsys.readouterr().out
    assert "bandwidth = 1000000000.0  # command line\n" in out
    assert "lease = 3.0  # environment\n" in out


def test_a_coordinator_that_observes_holds_nobody_back_and_reports(tmp_path, started, capsys):
    coordinator = started("--policy", "fcfs", "--observe")
    one, other = (writer(tmp_path, coordinator.socket, name, 1_000_000) for name in ("one", "other"))
    go(one)  # it would hold the link for 0.2 s
    go(other)
    for process in (one, other):
        assert process.communicate(timeout=ENOUGH)[0] == "done\n"
    assert main(["ctl", "--socket", str(coordinator.socket), "observed", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["applications"], found["operations"]) == (2, 2)
    assert [row["run"] for row in found["runs"]] == ["recorded", "interfering, as it ran", "fcfs"]
    assert found["sentence"].startswith("fcfs would have ")
