"""Files are checked before the work; what a terminal shows is gone when it ends."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock import InputError
from penstock.api.paths import check_output, check_picture
from penstock.cli.main import main
from penstock.cli.output import watch
from tests.cli.test_progress import read_until

Capture = pytest.CaptureFixture[str]


def test_what_can_be_written_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for path in (None, "-", "new.json", tmp_path / "x", "./x.csv"):
        check_output(path)
    check_picture("x.svg")
    check_output("/dev/null")
    check_output("/dev/stdout")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no/x.svg", "cannot be written: No such file or directory"),
        ("file/x.svg", "cannot be written: Not a directory"),
        ("folder.svg", "is a directory; expected the name of a file to write"),
        ("x.pdf", "cannot tell the format from '.pdf'; expected one of .svg, .png, .html"),
        ("x" * 300 + ".svg", "cannot be written: File name too long"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "folder.svg").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(InputError) as caught:
        check_picture(tmp_path / name)
    assert str(caught.value) == f"{tmp_path / name}: {message}"


def test_a_folder_that_is_not_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="cannot be written: Permission denied"):
        check_output(tmp_path / "x.json")


@pytest.mark.parametrize(
    ("command", "options"),
    [
        (["simulate"], ["-o", "--html"]),
        (["compare"], ["-o", "--html"]),
        (["bound"], ["-o"]),
        (["pack"], ["-o", "--gantt"]),
        (["place"], ["-o", "--csv", "--setstripe", "--plot"]),
        (["buffer"], ["-o", "--plan", "--directives", "--plot"]),
        (["campaign", "--out", "never"], ["--csv", "--plot"]),
        (["machine"], ["-o", "--html"]),
        (["advise"], ["-o", "--html"]),
        (["groups"], ["-o"]),
    ],
)
def test_commands_look_before_they_read(tmp_path: Path, capsys: Capture, command: list[str], options: list[str]) -> None:
    missing = str(tmp_path / "no" / "x.html")
    for option in options:
        assert main([*command, "no-such-workload.json", option, missing]) == 2
        assert capsys.readouterr().err == f"penstock: {missing}: cannot be written: No such file or directory\n"


def test_delta_looks_before_it_simulates(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.api.deltas.delta_graph", lambda *_: pytest.fail("it was simulated"))
    for option in ("-o", "--plot"):
        assert main(["delta", option, str(tmp_path / "no" / "x.svg")]) == 2
        assert "cannot be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["generate", "swf", "no-such-trace.swf", "-o"],
        ["import", "swf", "no-such-trace.swf", "-o"],
        ["import", "slurm", "no-such-file", "-o"],
        ["import", "darshan", "no-such-log", "-o"],
        ["import", "ior", "no-such-file", "-o"],
        ["run", "--", "false", "--trace"],
        ["run", "--", "false", "--json"],
        ["ctl", "--socket", "no-such-socket", "record", "-o"],
        *(["ctl", "--socket", "no-such-socket", *order, "-o"] for order in (["state"], ["stop"], ["policy", "fcfs"])),
        ["ctl", "--socket", "no-such-socket", "forget", "job", "-o"],
        ["ctl", "--socket", "no-such-socket", "observed", "-o"],
        ["why", "--socket", "no-such-socket", "job", "-o"],
    ],
    ids=" ".join,
)
def test_commands_look_before_they_act(tmp_path: Path, capsys: Capture, command: list[str]) -> None:
    missing = str(tmp_path / "no" / "x.json")
    words = [*command, missing]
    if "--" in command:  # options stand before the program
        words = ["run", command[-1], missing, "--", "false"]
    assert main(words) == 2
    assert capsys.readouterr().err == f"penstock: {missing}: cannot be written: No such file or directory\n"


def test_a_report_is_of_one_workload(capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["compare", "a.json", "b.json", "--html", "x.html"])
    assert "--html is the report of one workload, and here are 2 files; expected one" in capsys.readouterr().err


def test_nothing_is_shown_without_a_terminal(capsys: Capture) -> None:
    for steps in (0, 2):
        with watch(steps) as watcher:
            watcher.begin("one")
            watcher.at(0.5)
            watcher.end()
    assert capsys.readouterr().err == ""


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from penstock.api import packing
packing.schedule = lambda *_, **__: os.read(0, 1)
from penstock.cli.main import main
raise SystemExit(main(["pack", sys.argv[1]]))
"""


def test_an_interrupt_clears_the_spinner(jobs: str) -> None:
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, jobs],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        try:
            read_until(ours, "pack S=1 max …".encode())
            process.send_signal(signal.SIGINT)
            said = read_until(ours, b"penstock: interrupted")
        finally:
            process.kill()
            os.close(ours)
    # The cursor is shown again and the line of the spinner erased before anything else is said.
    before = said[: said.index(b"penstock: interrupted")]
    assert b"\x1b[?25h" in before
    assert b"\x1b[2K" in before
