"""A bar for what takes its time, and Ctrl-C, which stops it."""

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import read
from penstock.api.runs import part_done
from penstock.cli import output
from penstock.cli.main import main
from penstock.cli.output import Bar
from penstock.engine import Run
from penstock.model import Application, Platform, Workload

Capture = pytest.CaptureFixture[str]
ENDLESS = ("--policy", "periodic-greedy-yield:delta=1e-9")
"""As many decisions as the window has nanoseconds."""
PATIENCE = 300.0
"""Seconds in which even a machine that compiles everything on one busy core has come so far."""


def capture_as_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "xterm")


def test_a_bar_is_shown_when_it_has_taken_long(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    capture_as_on_a_terminal(monkeypatch)
    now = 0.0
    monkeypatch.setattr(output, "monotonic", lambda: now)
    with Bar(2) as bar:
        bar.begin("fcfs")
        bar.at(0.5)
        assert capsys.readouterr().err == ""
        now = output.PATIENCE
        bar.at(0.5)
        assert "fcfs 1/2" in capsys.readouterr().err
        bar.end()
        bar.begin("greedy-yield")
    assert "greedy-yield 2/2" in capsys.readouterr().err


def test_there_is_no_bar_without_a_terminal(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    with Bar(1) as bar:
        bar.begin("fcfs")
        bar.at(0.5)
    assert capsys.readouterr().err == ""


def test_a_run_shows_how_far_it_is(demo: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    capture_as_on_a_terminal(monkeypatch)
    monkeypatch.setattr(output, "PATIENCE", 0.0)
    seen: list[float] = []
    monkeypatch.setattr(Bar, "at", lambda self, part: seen.append(part))
    assert main(["simulate", str(demo), "--policy", "periodic-greedy-yield:delta=0.02", "--json"]) == 0
    first, *parts, last = seen
    assert (first, last) == (0.0, 0.0)
    assert len(parts) > 1
    assert parts == sorted(parts)
    assert 0.0 < parts[0] <= parts[-1] <= 1.0


def parts_of(run: Run) -> Iterator[float]:
    yield part_done(run)
    while run.advance():
        yield part_done(run)


def test_without_a_window_a_run_is_as_far_as_its_applications() -> None:
    applications = (Application.of("a", [("work", 3.0), ("io", 2.0)]), Application.of("b", [("work", 15.0)], release=5.0))
    assert list(parts_of(Run(Workload(Platform(1.0), applications), "fcfs"))) == [0.0, 0.25, 1.0]
    idle = Workload(Platform(1.0), (Application.of("a", [("work", 0.0)]),))
    assert part_done(Run(idle, "fcfs")) == 0.0


def test_in_a_window_a_run_is_as_far_as_its_date(demo: Path) -> None:
    run = Run(read(demo), "fcfs")
    run.advance(until=900.0)
    assert part_done(run) == 0.25


def read_until(terminal: int, text: bytes, seen: bytes = b"") -> bytes:
    """What the terminal shows up to that text."""
    end = time.monotonic() + PATIENCE
    while text not in seen:
        assert time.monotonic() < end, seen
        if select.select([terminal], [], [], 1.0)[0]:
            seen += os.read(terminal, 65_536)
    return seen


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_an_interrupt_stops_a_run_at_once(demo: Path, command: str) -> None:
    ours, theirs = pty.openpty()
    # A shell starts background jobs with SIGINT ignored, which children inherit; as from a terminal, it must not be.
    begin = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from penstock.cli.main import main; "
    arguments = [sys.executable, "-c", begin + "raise SystemExit(main())", command, str(demo), *ENDLESS]
    environment = {**os.environ, "TERM": "xterm"}
    with subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=theirs, env=environment, start_new_session=True
    ) as process:
        os.close(theirs)
        try:
            # The bar is shown by a run that is under way, and by nothing else.
            read_until(ours, b"periodic-greedy-yield:delta=1e-9")
            process.send_signal(signal.SIGINT)
            said = read_until(ours, b"penstock: interrupted")
            assert process.wait(PATIENCE) == 130
        finally:
            process.kill()
            os.close(ours)
        assert process.stdout is not None
        assert process.stdout.read() == b""
        assert b"Traceback" not in said
