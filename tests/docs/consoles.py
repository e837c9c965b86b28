"""Runs the consoles of a page: its files are written, its commands run in order, their outputs compared.

A fenced block with a title (```` ```python title="mine.py" ````) is a file. In a ``console`` block a line that begins with
``$`` is a command, and what follows is its standard output. ``…`` stands for any text within a line, and alone on a line for
any lines. ``penstock serve`` stays in the background to the end of the page. With PENSTOCK_UPDATE_DOCS=1 outputs that differ
are written into the page instead of failing.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
TIME = re.compile(r"(?<=│ )[ \d.,]+ [µmn]?s$")
"""The time that something took, in the last column of a table; updating leaves it open."""
WIDTHS = re.compile(r"(?<=([ ━─]))\1+")
"""Spaces and rules beyond the first: how wide a column is depends on the times in it."""
LONGEST = 600.0
"""Seconds after which something hangs, on however busy a machine."""
UPDATING = "PENSTOCK_UPDATE_DOCS" in os.environ


def as_pattern(output: str) -> str:
    lines = output.rstrip("\n").split("\n") if output.strip() else []
    return "".join(
        r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line.rstrip()).replace("…", ".*?") + r"\n" for line in lines
    )


def matches(expected: str, printed: str) -> bool:
    tidy = "".join(line.rstrip() + "\n" for line in printed.splitlines())
    return re.fullmatch(as_pattern(WIDTHS.sub("", expected)), WIDTHS.sub("", tidy)) is not None


def opened(line: str) -> str:
    """A line of output as a page shows it: without the time that something took."""
    return TIME.sub(lambda found: "…".rjust(len(found.group())), line.rstrip())


@dataclass
class Shell:
    """A folder to work in, with a home, a runtime folder and the two programs a reader has: penstock and python."""

    folder: Path
    stack: ExitStack

    def __post_init__(self) -> None:
        # The path of a socket has at most 107 characters, which folders of tests may exceed.
        self.runtime = Path(self.stack.enter_context(tempfile.TemporaryDirectory(prefix="docs-")))
        programs = self.folder.parent / "bin"
        for made in (self.folder, programs):
            made.mkdir(parents=True, exist_ok=True)
        for name, call in {"python": "", "penstock": "-m penstock "}.items():
            (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {call}"$@"\n')
            (programs / name).chmod(0o755)
        self.environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("PENSTOCK_", "SLURM_"))},
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]),
            "PENSTOCK_CACHE_DIR": os.environ.get("PENSTOCK_CACHE_DIR") or str(_cache()),
            "HOME": str(self.folder.parent),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "COLUMNS": "120",
        }

    def run(self, command: str) -> str:
        """The standard output of a command, which must succeed."""
        if command.startswith("penstock serve"):
            self.stack.enter_context(self._serving(command))
            return ""
        call = ["bash", "-c", command]
        done = subprocess.run(call, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=LONGEST)
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stdout

    @contextmanager
    def _serving(self, command: str) -> Iterator[None]:
        """A coordinator that is ready, until the end of the page."""
        said = (self.folder.parent / "serve.log").open("w+")
        server = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=self.folder, env=self.environment, stdout=said, stderr=said
        )
        try:
            until = time.monotonic() + LONGEST
            while not (self.runtime / "penstock.sock").exists():
                assert server.poll() is None, (self.folder.parent / "serve.log").read_text()
                assert time.monotonic() < until, "no coordinator in time"
                time.sleep(0.05)
            yield
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=LONGEST)
            said.close()


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


def run_page(page: Path, folder: Path) -> dict[str, tuple[str, str]]:
    """The commands whose output is not as the page says: what it says, and what was printed."""
    wrong: dict[str, tuple[str, str]] = {}
    with ExitStack() as stack:
        shell = Shell(folder, stack)

        def block(found: re.Match[str]) -> str:
            language, title, body = found.groups()
            if title:
                (folder / title).write_text(body)
            return found.group().replace(body, COMMAND.sub(command, body)) if language == "console" else found.group()

        def command(found: re.Match[str]) -> str:
            line, expected = found.groups()
            printed = shell.run(line.replace("\\\n", " "))
            if matches(expected, printed) or (" & " in line and sorted(expected.split("\n")) == sorted(printed.split("\n"))):
                return found.group()  # which of two programs prints first may depend on how busy the machine is
            wrong[line] = (expected, printed)
            return f"$ {line}\n" + "".join(opened(text) + "\n" for text in printed.splitlines())

        text = FENCE.sub(block, page.read_text(encoding="utf-8"))
        if UPDATING:
            page.write_text(text, encoding="utf-8")
            return {}
    return wrong
