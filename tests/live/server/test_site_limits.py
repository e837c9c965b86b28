"""The limits of a site, with a coordinator in a process of its own: what a liar says costs nobody else anything."""

from __future__ import annotations

import contextlib
import grp
import json
import os
import socket
import subprocess
import sys
import threading
import time

import pytest

from penstock.live.client import Job
from penstock.live.server.wire import peer_gids
from tests.live.server.running import MB, Raw, running
from tests.live.server.serving import ROOT, Serving, environment


def test_a_byte_now_and_then_does_not_hold_the_link(tmp_path):
    """Under fcfs, of volume 1e21: the others go on when its turn is over, and it has its place."""
    options = ("--bandwidth", "100 MB/s", "--policy", "fcfs", "--longest-turn", "0.5 s", "--longest-round", "1 s")
    with Serving(tmp_path, *options) as it, Raw(str(it.socket)) as hog, Raw(str(it.socket)) as other:
        answer = hog.register("hog", version=2)
        assert (answer["longest_turn"], answer["longest_round"]) == (0.5, 1.0)
        other.register("other", version=2)
        hog.send("inform", operation=1, volume=1e21, rounds=10**9)
        hog.granted(100 * MB)
        other.send("inform", operation=1, volume=1e6)
        assert other.until("grant")["rate"] == 0.0
        pause = hog.until("grant")
        assert pause["rate"] == 0.0
        hog.send("report", operation=1, moved=1.0)
        hog.send("yielded", grant=pause["number"])
        other.granted(100 * MB)
        assert {one["job"]: one["rate"] for one in it.state()["applications"]} == {"hog": 0.0, "other": 100 * MB}
        other.send("release", operation=1)
        hog.granted(100 * MB)


def test_groups_with_weights_are_those_of_the_process(tmp_path):
    """Of one user: an application of a group with weight 3, and two that claim groups that they do not belong to."""
    mine = {os.getegid(), *os.getgroups()}
    own, other = grp.getgrgid(os.getegid()).gr_name, next(one.gr_name for one in grp.getgrall() if one.gr_gid not in mine)
    weights = json.dumps({own: 3, other: 9})
    options = ("--bandwidth", "100 MB/s", "--policy", "group-fair", "--group-weights", weights, "--lease", "1 h")
    with Serving(tmp_path, *options) as it, Raw(str(it.socket)) as a, Raw(str(it.socket)) as b, Raw(str(it.socket)) as c:
        a.register("member", version=2, group=own)
        b.register("liar", version=2, group=other)
        c.register("inventor", version=2, group="of my own")
        b.send("inform", operation=1, volume=1e12)
        b.granted(100 * MB)
        c.send("inform", operation=1, volume=1e12)
        b.send("yielded", grant=b.until("grant")["number"])
        c.granted(50 * MB)
        a.send("inform", operation=1, volume=1e12)
        for one in (b, c):
            one.send("yielded", grant=one.until("grant")["number"])
        a.granted(75 * MB)
        rates = {one["job"]: one["rate"] for one in it.state()["applications"]}
        assert rates == {"member": 75 * MB, "liar": 12.5 * MB, "inventor": 12.5 * MB}


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a process other groups")
def test_the_kernel_tells_all_groups_of_a_process(tmp_path):
    connect = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.recv(1)"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        listening.listen()
        command = [sys.executable, "-c", connect, str(tmp_path / "socket")]
        with subprocess.Popen(command, group=54321, extra_groups=[54322, 54323]):
            connection, _ = listening.accept()
            with connection:
                assert peer_gids(connection) == (54321, 54322, 54323)


def test_one_round_of_everything_is_no_reason_not_to_yield(tmp_path):
    options = ("--bandwidth", "100 MB/s", "--policy", "interrupting", "--lease", "5 s", "--longest-round", "0.2 s")
    with Serving(tmp_path, *options) as it, Raw(str(it.socket)) as hog, Raw(str(it.socket)) as other:
        hog.register("hog", version=2)
        other.register("other", version=2)
        hog.send("inform", operation=1, volume=1e21, rounds=1)
        hog.granted(100 * MB)
        other.send("inform", operation=1, volume=1e6)
        told = None
        while told is None:  # both beat all the time
            with contextlib.suppress(BrokenPipeError):
                hog.send("beat")
            other.send("beat")
            other.until("beat")
            time.sleep(0.02)
            message = hog.receive()
            told = message if message["type"] == "forgotten" else None
        assert told["reason"] == "it did not keep to grant 2 of 0 bytes/s in time"
        assert {one["job"]: one["rate"] for one in it.state()["applications"]} == {"hog": 0.0, "other": 100 * MB}


class SlowFile:
    """A file that takes 1 MB/s."""

    def __init__(self):
        self.begun = threading.Event()
        self.size = 0

    def write(self, data):
        self.begun.set()
        time.sleep(len(data) / MB)
        self.size += len(data)
        return len(data)


def test_who_reaches_far_less_than_it_is_granted_yields_in_time(tmp_path):
    """One round of 16 MB, which takes 16 s in place of 16 ms: it yields inside it, before its lease of 2 s is over."""
    options = ("--bandwidth", "1 GB/s", "--policy", "interrupting", "--lease", "2 s", "--longest-round", "60 s")
    with Serving(tmp_path, *options) as it, Raw(str(it.socket)) as other:
        other.register("other", version=2)
        with Job("slow", address=it.socket) as job:
            file = SlowFile()
            with job.io(16_000_000, rounds=1) as io:
                writing = threading.Thread(target=io.write, args=(file, bytes(3_000_000)))
                writing.start()
                assert file.begun.wait(20.0)
                number = job.state.application
                other.send("inform", operation=1, volume=1e6)
                while other.until("grant")["rate"] == 0.0:
                    other.send("beat")
                state = {one["job"]: one for one in it.state()["applications"]}
                assert (state["slow"]["state"], state["slow"]["rate"]) == ("waiting", 0.0)
                other.send("release", operation=1)
                writing.join()
            assert job.state.application == number  # it was not forgotten
            assert file.size == 3_000_000


def test_what_is_recorded_is_what_could_have_happened(tmp_path):
    """Lies of one application: the row of the other one is there, and the liar's is bounded."""
    with Serving(tmp_path, "--bandwidth", "100 MB/s") as it:
        with Raw(str(it.socket)) as liar, Raw(str(it.socket)) as honest:
            liar.register("honest (2)", version=2, nodes=10**9, elapsed=1e6, progress=0.0)
            honest.register("honest", version=2, nodes=4)
            liar.send("inform", operation=1, volume=1e21, rounds=10**9)
            liar.until("grant")
            liar.send("release", operation=1, moved=1e21)
            honest.send("inform", operation=1, volume=1e6)
            honest.until("grant")
            honest.send("release", operation=1)
            for peer in (liar, honest):
                peer.send("leave")
                peer.until("left")
        output = tmp_path / "run.json"
        command = [sys.executable, "-m", "penstock", "ctl", "--socket", str(it.socket), "record", "-o", str(output)]
        subprocess.run(command, check=True, cwd=ROOT, env=environment())
    found = {one["name"]: one for one in json.loads(output.read_text())["applications"]}
    assert list(found) == ["honest (2)", "honest"]
    assert [amount for kind, amount in found["honest"]["phases"] if kind == "io"] == [1e6]
    assert found["honest"]["nodes"] == 4
    assert all(amount < 1e11 for kind, amount in found["honest (2)"]["phases"] if kind == "io")


def test_what_is_claimed_of_the_time_before_does_not_count(tmp_path):
    with running(tmp_path, max_nodes=64.0) as it, Raw(it.settings.socket) as liar:
        liar.register("liar", version=2, nodes=10**9, elapsed=1e6, progress=0.0)
        (one,) = it.state()["applications"]
        assert one["nodes"] == 64
        assert one["elapsed"] < 1e5
        assert one["yield"] == pytest.approx(1.0)


def test_who_overruns_its_grants_is_warned(tmp_path):
    with running(tmp_path, lease=600.0) as it, Raw(it.settings.socket) as peer, Raw(it.settings.socket) as old:
        peer.register("fast", version=2)
        peer.send("inform", operation=1, volume=1e15, rounds=10**6)
        peer.until("grant")
        peer.send("report", operation=1, moved=1e14)
        assert peer.until("warned")["text"].endswith("times what it was granted; it is held back if that goes on")
        (one,) = it.state()["applications"]
        assert (one["overruns"], one["penalty"]["kind"]) == (1, "warned")
        old.register("of version 1")
        old.send("inform", operation=1, volume=1e15, rounds=10**6)
        old.send("report", operation=1, moved=1e14)
        old.send("beat")
        kinds = [old.receive()["type"] for _ in range(2)]
        assert "warned" not in kinds  # version 1 does not know it


def test_applications_of_one_user_count_as_one(tmp_path):
    with running(tmp_path, share_by="user", policy="fair-share") as it, Raw(it.settings.socket) as first:
        first.register("first", version=2)
        first.send("inform", operation=1, volume=1e12)
        first.granted(100 * MB)
        with Raw(it.settings.socket) as second:
            second.register("second", version=2)
            second.send("inform", operation=1, volume=1e12)
            assert second.until("grant")["rate"] == 0.0
            told = it.ask("why", "second")
            assert told["reason"] == "'second' waits for other operations of its user, whose applications count as one"
            first.send("release", operation=1)
            second.granted(100 * MB)


def test_a_planned_name_is_for_the_user_of_the_plan(tmp_path):
    plan = tmp_path / "plan.json"
    chain = [["work", 1.0], ["io", 10.0]]
    applications = [{"name": name, "phases": chain} for name in "ab"]
    plan.write_text(json.dumps({"penstock": 1, "platform": {"bandwidth": 1e8}, "applications": applications}))
    options = {"policy": "periodic-fifo", "workload": str(plan)}
    with running(tmp_path, **options, planned_user=str(os.getuid() + 1)) as it, Raw(it.settings.socket) as peer:
        peer.send("register", version=2, job="a")
        refused = peer.until("error")
        assert refused["code"] == "denied"
        assert refused["text"] == f"'a' is planned for user {os.getuid() + 1}; expected another name, or that user"
