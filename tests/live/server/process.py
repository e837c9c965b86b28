"""``penstock serve`` as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from penstock.live.client.link import ask_coordinator as ask

ENOUGH = 60.0
"""Seconds after which something that should happen never will."""


class Coordinator:
    """A ``penstock serve`` of its own; leaves when it is closed."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        self.socket = folder / "socket"
        command = [
            sys.executable,
            "-m",
            "penstock",
            "serve",
            "--socket",
            str(self.socket),
            "--journal",
            str(folder / "journal"),
        ]
        self.process = subprocess.Popen(
            [*command, *options], env=os.environ | environment, stderr=subprocess.PIPE, text=True, start_new_session=True
        )
        self.greeting = self.process.stderr.readline()
        while self.greeting.startswith("penstock: compiling"):
            self.greeting = self.process.stderr.readline()

    def state(self):
        return ask(self.socket, "state", timeout=ENOUGH)

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        code = self.process.wait(ENOUGH)
        self.process.stderr.close()
        return code

    def kill(self) -> None:
        """End it at once, if it still runs."""
        if self.process.poll() is None:
            self.end(signal.SIGKILL)
        self.process.stderr.close()
