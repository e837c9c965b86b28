"""What people see of a coordinator: its log, its audit log, and what it answers to users who do not run it."""

from __future__ import annotations

import json
import logging
import os
import signal

import pytest

from penstock.cli.main import main
from penstock.live.server import logbook, wire
from penstock.live.server.logbook import REFUSALS_PER_SECOND, JsonLines, Logbook, RareLog
from penstock.model import InputError
from tests.live.server.process import Coordinator
from tests.live.server.running import Raw, running, with_peers

MINE = 4711


@pytest.fixture
def another_user(monkeypatch):
    """Peers on the Unix socket belong to a user who does not run the coordinator."""
    monkeypatch.setattr(wire, "peer_uid", lambda _: MINE)


def events(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def a_life(where):
    """Register twice under one name, use too much, be refused, be forgotten."""
    with Raw(where) as one, Raw(where) as two:
        one.register("twin", user="somebody", nodes=3)
        two.register("twin")
        one.send("inform", operation=1, volume=1e9, rounds=1000)
        one.until("grant")
        one.send("report", operation=1, moved=1e9)
        one.send("inform", operation=1, volume=2e9)
        assert one.refused() == "invalid"
        two.send("leave")
        two.until("left")


class TestServe:
    def test_lines_json_and_the_audit_log(self, tmp_path, capsys):
        """From a real process: who came and went, in the order in which it happened."""
        audit = tmp_path / "audit.jsonl"
        audit.write_text('{"event":"earlier"}\n')
        options = ("--bandwidth", "1 MB/s", "-v", "--log-format", "json", "--audit-log", str(audit))
        coordinator = Coordinator(tmp_path, *options)
        try:
            a_life(str(coordinator.socket))
            assert main(["ctl", "--socket", str(coordinator.socket), "policy", "fcfs"]) == 0
            assert main(["ctl", "--socket", str(coordinator.socket), "forget", "1"]) == 0
            capsys.readouterr()
            coordinator.process.send_signal(signal.SIGTERM)
            said = [coordinator.greeting, *coordinator.process.stderr.readlines()]
            assert coordinator.process.wait(60) == 0
        finally:
            coordinator.kill()
        logged = [json.loads(line) for line in said if line.startswith("{")]
        (warned,) = (one for one in logged if one["event"] == "warned")  # with the decision after the overrun
        assert warned["text"].startswith("'twin' (application 1) is warned: ")
        names = [one["event"] for one in logged if one["event"] not in ("disconnected", "ready", "warned")]
        assert names == [
            "started",
            "registered",
            "registered",
            "overrun",
            "refused",
            "left",
            "command",
            "command",
            "stopped",
        ]
        first, second = (one for one in logged if one["event"] == "registered")
        uid = os.getuid()
        assert (first["application"], first["job"], first["user"], first["uid"]) == (1, "twin", "somebody", uid)
        assert first["text"] == f"'twin' (application 1) registered, uid {uid}"
        assert second["text"] == f"'twin' (application 2) registered, uid {uid}"
        assert all(one["level"] == "info" and one["time"].endswith("Z") for one in logged)
        written = events(audit)
        assert [one["event"] for one in written if one["event"] != "warned"] == [
            *("earlier", "started", "registered", "registered", "refused", "left", "command", "command", "stopped")
        ]
        policy, forget = (one for one in written if one["event"] == "command")
        assert (policy["command"], policy["argument"], policy["uid"]) == ("policy", "fcfs", uid)
        assert (forget["command"], forget["argument"]) == ("forget", "1")
        assert audit.stat().st_mode & 0o777 == 0o644  # an existing file is left as it is

    def test_a_policy_that_was_set_at_run_time_is_said(self, tmp_path):
        for greeting in ("by fair-share, at", "by fcfs (set by `penstock ctl policy`; the settings say fair-share), at"):
            coordinator = Coordinator(tmp_path, "--bandwidth", "1 MB/s")
            try:
                assert greeting in coordinator.greeting
                assert main(["ctl", "--socket", str(coordinator.socket), "policy", "fcfs"]) == 0
            finally:
                coordinator.kill()


class TestLogbook:
    def test_an_audit_log_that_cannot_be_written_is_refused(self, tmp_path):
        with pytest.raises(InputError, match=r"audit_log .*nowhere/log: cannot be written: No such file or directory"):
            Logbook(str(tmp_path / "nowhere" / "log"))

    def test_refusals_are_limited_and_counted(self, tmp_path, monkeypatch):
        monkeypatch.setattr(logbook.time, "monotonic", lambda: 5.0)
        audit = tmp_path / "audit"
        with with_peers(tmp_path, 1, audit_log=str(audit)) as (it, peer):
            peer.register()
            for _ in range(REFUSALS_PER_SECOND + 30):
                peer.send("yielded", grant=9)
                peer.refused()
            refusals = [one for one in events(audit) if one["event"] == "refused"]
            assert len(refusals) == REFUSALS_PER_SECOND
            assert (refusals[0]["code"], refusals[0]["job"], refusals[0]["application"]) == ("invalid", "job", 1)
            monkeypatch.setattr(logbook.time, "monotonic", lambda: 6.0)
            peer.send("yielded", grant=9)
            peer.refused()
            assert events(audit)[-2]["text"] == "30 more were refused and are not listed"
            assert it.state()["refused_messages"] == REFUSALS_PER_SECOND + 31

    def test_a_rare_warning(self, monkeypatch, caplog):
        now = 0.0
        monkeypatch.setattr(logbook.time, "monotonic", lambda: now)
        rare = RareLog()
        for _ in range(5):
            rare.warn("no %s", "files")
        now = 61.0
        rare.warn("no %s", "files")
        assert caplog.messages == ["no files", "no files (4 times more since the last such line)"]

    def test_other_messages_as_json(self):
        record = logging.LogRecord("x", logging.ERROR, "", 0, "journal %s failed", ("j",), None)
        line = json.loads(JsonLines().format(record))
        assert (line["level"], line["event"], line["text"]) == ("error", "message", "journal j failed")


class TestUsers:
    def test_a_user_sees_its_own_and_the_totals(self, tmp_path, monkeypatch):
        with running(tmp_path, policy="fcfs") as it, Raw(it.settings.socket) as other:
            other.register("theirs")
            other.send("inform", operation=1, volume=1e12)
            other.until("grant")
            monkeypatch.setattr(wire, "peer_uid", lambda _: MINE)
            with Raw(it.settings.socket) as mine:
                mine.register("mine")
                mine.send("inform", operation=1, volume=1e9)
                assert mine.until("grant")["rate"] == 0.0
                state = it.state()
                assert [one["job"] for one in state["applications"]] == ["mine"]
                assert {grant["job"] for grant in state["recent"]} == {"mine"}
                assert (state["granted"], state["states"]["transferring"]) == (1e8, 1)
                why = it.ask("why", "mine")
                assert why["reason"].startswith("'mine' waits: fcfs serves 1 of other users first")
                assert [row["job"] for row in why["under_way"]] == ["another user's", "mine"]
                assert [row["application"] for row in why["under_way"]] == [None, 2]
                with pytest.raises(Exception, match="no application 'theirs' of yours is known"):
                    it.ask("why", "theirs")

    def test_a_user_gives_no_commands(self, tmp_path, another_user):
        with running(tmp_path) as it:
            for command in ("policy", "forget", "stop", "journal"):
                with pytest.raises(Exception, match="only whoever runs the coordinator may ask this"):
                    it.ask(command, "fcfs")


def test_two_jobs_of_one_name_are_told_apart(tmp_path, capsys):
    with running(tmp_path, policy="fcfs") as it, Raw(it.settings.socket) as one, Raw(it.settings.socket) as two:
        for peer in (one, two):
            peer.register("twin")
            peer.send("inform", operation=1, volume=1e9)
            peer.until("grant")
        one.send("report", operation=1, moved=3e6)
        at = ["--socket", it.settings.socket]
        assert main(["why", "2", *at]) == 0
        out = capsys.readouterr().out
        assert out.startswith("'twin' (2) waits: fcfs serves 'twin' (1) first")
        assert "twin (1) │" in out
        assert main(["top", "--once", *at]) == 0
        assert "twin (2) │" in capsys.readouterr().out
        assert main(["ctl", *at, "state"]) == 0
        out = capsys.readouterr().out
        assert "3 MB of 1 GB" in out  # what is reported of the operation under way
        assert "0 B │" in out  # and what ended ones have moved
