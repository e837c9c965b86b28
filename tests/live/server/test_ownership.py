"""What a coordinator owns: its socket, its journal and its disk; and what happens when they are not its own."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys

import pytest

from penstock.live.client import environment as client_environment
from penstock.live.server import journal
from penstock.live.server.server import Server
from penstock.model import InputError
from tests.live.server.running import MB, Raw, Running, running, settings, wait_until
from tests.live.server.serving import ROOT, Serving, environment

WORKLOAD = """{"penstock": 1, "platform": {"bandwidth": 1e8}, "applications": [
  {"name": "planned", "phases": [["work", 1.0], ["io", 1e8]]}]}"""


def serve(folder, *options, **more):
    """`penstock serve` that is expected to end: its exit code and what it says."""
    command = [sys.executable, "-m", "penstock", "serve", "--bandwidth", "1 MB/s", "--journal", str(folder / "other")]
    done = subprocess.run(
        [*command, *options], env=environment(), cwd=ROOT, capture_output=True, text=True, timeout=60, check=False, **more
    )
    return done.returncode, done.stderr


class TestLocks:
    def test_a_stopped_coordinator_keeps_its_socket_and_its_journal(self, tmp_path):
        """A real SIGSTOP: nobody answers at the socket, and still it is not taken."""
        with Serving(tmp_path, "--bandwidth", "1 MB/s") as first:
            first.process.send_signal(signal.SIGSTOP)
            code, said = serve(tmp_path, "--socket", str(first.socket))
            assert (code, said.count("\n")) == (2, 1)
            assert f"another coordinator (pid {first.pid}) listens there; expected one of its own, --socket PATH" in said
            code, said = serve(tmp_path, "--socket", str(tmp_path / "another"), "--journal", str(first.journal))
            assert (code, said.count("\n")) == (2, 1)
            assert f"another coordinator (pid {first.pid}) uses this journal; expected one of its own" in said
            first.process.send_signal(signal.SIGCONT)
            assert first.state()["bandwidth"] == 1e6

    def test_a_folder_of_another_user_is_not_used_and_the_way_out_is_said(self, tmp_path, monkeypatch):
        monkeypatch.setattr(client_environment, "own_folder", lambda: tmp_path)
        monkeypatch.setattr(client_environment.os, "getuid", lambda: tmp_path.stat().st_uid + 1)
        with pytest.raises(InputError) as caught, running(tmp_path):
            pass
        expected = "belongs to another user; expected --socket PATH in a folder of yours, and PENSTOCK_SOCKET for clients"
        assert expected in str(caught.value)


def delete(folder):
    for name in ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"):
        (folder / name).unlink(missing_ok=True)


def delete_log(folder):
    (folder / "journal.sqlite-wal").unlink()


def replace(folder):
    delete(folder)
    (folder / "journal.sqlite").write_text("somebody else's")


class TestJournalGone:
    @pytest.mark.parametrize("harm", [delete, delete_log, replace])
    def test_what_is_granted_is_known_after_a_restart(self, tmp_path, harm):
        """Killed and restarted, it grants the bandwidth in force to nobody else."""
        with Serving(tmp_path, "--bandwidth", "100 MB/s", "--policy", "fcfs", "--lease", "1 h") as serving:
            with Raw(str(serving.socket)) as first:
                first.register("first")
                first.send("inform", operation=1, volume=1e12)
                assert first.until("grant")["rate"] == 100 * MB
                harm(tmp_path)
                first.send("report", operation=1, moved=1e6)
                wait_until(lambda: serving.state()["applications"][0]["pending"]["moved"] == 1e6, "the report is entered")
                serving.state()  # by now that is committed
                serving.kill()
                serving.start()
                with Raw(str(serving.socket)) as second:
                    second.register("second")
                    second.send("inform", operation=1, volume=1e9)
                    assert second.until("grant")["rate"] == 0.0
                state = serving.state()
                assert [(a["job"], a["rate"]) for a in state["applications"]] == [("first", 100 * MB), ("second", 0.0)]
            assert "was deleted or replaced while in use; writing a new one" in serving.log.read_text()

    def test_it_is_noticed_without_a_message(self, tmp_path, monkeypatch):
        monkeypatch.setattr(journal, "CHECK_SECONDS", 0.05)
        with running(tmp_path, lease=1000.0) as it, Raw(it.settings.socket) as peer:
            peer.register("silent")
            for name in ("journal", "journal-wal"):
                (tmp_path / name).unlink()
            wait_until(lambda: (tmp_path / "journal-wal").exists(), "there is a new one")
            assert it.state()["journal_failure"] is None
            peer.send("leave")
            peer.until("left")
            it.state()  # by now that is committed
            assert [one.application for one in journal.recorded(str(tmp_path / "journal"))[1]] == [1]

    def test_with_its_folder_it_is_made_again_and_locked(self, tmp_path):
        folder = tmp_path / "state"
        with Running(replace_journal(tmp_path, folder / "journal")) as it, Raw(it.settings.socket) as peer:
            peer.register()
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()
            peer.send("inform", operation=1, volume=1e9)
            peer.until("grant")
            assert it.state()["journal_failure"] is None
            with pytest.raises(InputError, match="uses this journal"):
                journal.Journal(str(folder / "journal"))


def replace_journal(folder, path):
    return type(settings(folder))(**{**vars(settings(folder)), "journal": str(path)})


def full_disk():
    """No file of this process can grow beyond a few bytes, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


class TestFullDisk:
    def test_it_starts_without_a_journal_and_says_so(self, tmp_path):
        """With a new journal, and with one in which an application has all the bandwidth."""
        with running(tmp_path, policy="fcfs") as it, Raw(it.settings.socket) as first:
            first.register("first")
            first.send("inform", operation=1, volume=1e12)
            first.until("grant")
        for name, known in (("new", []), ("journal", ["first"])):
            with on_full_disk(tmp_path, name) as (process, where):
                said = next(line for line in process.stderr if "compiling" not in line)
                assert "starting WITHOUT a journal, and trying again" in said
                assert any("sharing" in line for line in process.stderr)  # now it listens
                with Raw(str(where)) as second:
                    second.register("second")
                    second.send("inform", operation=1, volume=1e9)
                    assert second.until("grant")["rate"] == (0.0 if known else 100 * MB)
                    second.send("control", version=1, command="state")

    def test_a_path_that_cannot_be_used_is_still_refused(self, tmp_path):
        (tmp_path / "journal").mkdir()
        with pytest.raises(InputError, match="cannot be used as a journal"):
            Server(settings(tmp_path))


class on_full_disk:
    """A coordinator that can write to no file."""

    def __init__(self, folder, name):
        self.where = folder / f"{name}.sock"
        command = ["serve", "--bandwidth", "100 MB/s", "--policy", "fcfs", "--journal", str(folder / name), "--lease", "1 h"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "penstock", *command, "--socket", str(self.where)],
            env=environment(),
            cwd=ROOT,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=full_disk,
        )

    def __enter__(self):
        return self.process, self.where

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


def test_foreign_jobs_in_the_journal_are_not_served(tmp_path, caplog):
    """The policy serves the applications of its workload only, and the journal knows another one."""
    (tmp_path / "workload.json").write_text(WORKLOAD)
    planned = {"workload": str(tmp_path / "workload.json"), "policy": "periodic-fifo"}
    with running(tmp_path) as it, Raw(it.settings.socket) as one, Raw(it.settings.socket) as two:
        known, foreign = one.register("planned"), two.register("foreign")
        two.send("inform", operation=1, volume=1e12)
        two.until("grant")
    with running(tmp_path, **planned) as it, Raw(it.settings.socket) as one, Raw(it.settings.socket) as two:
        assert "policy periodic-fifo serves the applications of its workload only; 'foreign' (2), known" in caplog.text
        assert [a["job"] for a in it.state()["applications"]] == ["planned", "foreign"]
        one.send("join", version=1, application=known["application"], key=known["key"])
        assert one.until("registered")["application"] == known["application"]
        two.send("join", version=1, application=foreign["application"], key=foreign["key"])
        assert two.refused() == "invalid"
        # It may still use what it was granted before; nobody else is granted that until its lease has ended.
        assert it.state()["granted"] == 100 * MB


def test_the_lock_names_this_process(tmp_path):
    with running(tmp_path):
        for name in ("socket.lock", "journal.lock"):
            assert (tmp_path / name).read_text() == f"{os.getpid()}\n"
            assert (tmp_path / name).stat().st_mode & 0o077 == 0
