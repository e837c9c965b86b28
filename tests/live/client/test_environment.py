"""What is wrong in the environment is logged once, and the application goes on uncoordinated, as fast as without it."""

import errno
import logging
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from penstock.live.client import AddressError, AsyncJob, Job, UsageError
from penstock.live.client.environment import find_place
from penstock.live.protocol import Register
from tests.live.client.scripted import Scripted
from tests.live.client.test_job import Recorder

PROGRAM = """
import sys
from penstock.client import Job
with Job("a") as job, open(sys.argv[1], "wb") as file:
    with job.io(100, rounds=2) as io:
        io.write(file, bytes(range(100)))
    print(job.state.coordinated, job.state.moved)
"""


def run(folder: Path, **environment: str) -> str:
    """What a program writes to standard error that does its I/O with these variables; its file is complete."""
    bare = {name: text for name, text in os.environ.items() if not name.startswith(("PENSTOCK_", "XDG_"))}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder / "out")],
        env=bare | environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == "False 100\n"
    assert (folder / "out").read_bytes() == bytes(range(100))
    return done.stderr


@pytest.mark.parametrize(
    ("environment", "says"),
    [
        (
            {"PENSTOCK_PATIENCE": "abc"},
            "patience 'abc' is out of range; expected a finite number of seconds, 0 or more",
        ),
        (
            {"PENSTOCK_SOCKET": "foo:bar"},
            "address 'foo:bar' has no port; expected host:port with a port from 1 to 65535",
        ),
        (
            {"PENSTOCK_SOCKET": "/" + 120 * "x"},
            f"address '/{120 * 'x'}' is too long for a socket; expected at most 107 bytes",
        ),
        (
            {"XDG_RUNTIME_DIR": "/" + 120 * "x"},
            f"address '/{120 * 'x'}/penstock.sock' is too long for a socket; expected at most 107 bytes",
        ),
        ({"PENSTOCK_SOCKET": "h:1", "PENSTOCK_TOKEN_FILE": "none"}, "token file none: No such file or directory"),
        ({"PENSTOCK_SOCKET": "h:1", "PENSTOCK_TOKEN_FILE": "."}, "token file .: Is a directory"),
        (
            {"PENSTOCK_SOCKET": "h:1", "PENSTOCK_TOKEN_FILE": "open"},
            "token file open: others may use it (mode 0644); expected mode 0600",
        ),
    ],
    ids=["patience", "port", "long", "runtime", "missing", "folder", "mode"],
)
def test_a_wrong_setting_never_fails_the_application(tmp_path: Path, environment: dict[str, str], says: str) -> None:
    (tmp_path / "open").write_text("secret")
    (tmp_path / "open").chmod(0o644)
    assert run(tmp_path, **environment) == f"penstock: {says}; going on uncoordinated\n"


def test_a_runtime_folder_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for odd, why in (("file", "not a directory"), ("\udcff", "no such file or directory")):
        said = run(tmp_path, XDG_RUNTIME_DIR=str(tmp_path / odd))
        assert said.count("\n") == 1
        assert said.endswith(f"({why}); going on uncoordinated\n")


def test_a_path_longer_than_names_may_be(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/" + 5000 * "x")
    with Job("a") as job:
        assert not job.state.coordinated
    (record,) = caplog.records
    assert "going on uncoordinated" in record.message


@pytest.mark.parametrize("call", ["socketpair", "start"])
def test_no_descriptor_or_thread_left_for_the_client(
    place: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, call: str
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files") if call == "socketpair" else RuntimeError("no thread left")

    monkeypatch.setattr(socket if call == "socketpair" else threading.Thread, call, fail)
    with Job("a", address=place) as job, job.io(100) as io:
        assert io.write(Recorder(), bytes(100)) == 100
    why = "[Errno 24] Too many open files" if call == "socketpair" else "no thread left"
    assert [record.message for record in caplog.records] == [f"penstock: {why}; going on uncoordinated"]


@pytest.mark.parametrize("kind", [Job, AsyncJob])
def test_a_wrong_argument_is_an_error_of_the_program(kind: type[Job | AsyncJob], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="patience -1 is out of range"):
        kind("a", patience=-1)
    with pytest.raises(AddressError, match="address 'foo:bar' has no port"):
        kind("a", address="foo:bar")
    with pytest.raises(AddressError, match="No such file"):
        kind("a", address="foo:1", token_file=tmp_path / "none")


def test_arguments_win_over_what_is_wrong_in_the_environment(
    monkeypatch: pytest.MonkeyPatch, server: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("PENSTOCK_PATIENCE", "abc")
    monkeypatch.setenv("PENSTOCK_SOCKET", "foo:bar")
    monkeypatch.setenv("PENSTOCK_TOKEN_FILE", "/nowhere")
    with Job("a", address=server.address, patience=3.0):
        server.expect(Register)
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []
    assert find_place("h:1").problem == "token file /nowhere: No such file or directory"
    assert find_place(patience=3.0).problem.startswith("address 'foo:bar'")


def test_a_wrong_argument_is_an_error_wherever_the_address_comes_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_SOCKET", "localhost:1")
    with pytest.raises(AddressError, match=r"token file .*none: No such file"):
        find_place(token_file=tmp_path / "none")
