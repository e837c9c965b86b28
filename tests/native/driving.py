"""The C driver as a process: one call a line, and what it returns."""

from __future__ import annotations

import os
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SOON = 60.0
"""Seconds after which what should have happened never will."""


class Driver:
    """A program in C that makes the calls it is told."""

    def __init__(self, program: Path, file: Path | str = "/dev/null", **environment: str) -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PENSTOCK_", "SLURM_"))}
        self.process = subprocess.Popen(
            [str(program), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=kept | environment,
        )
        self._said = b""

    def begin(self, *call: object) -> None:
        """Have it make a call, without waiting for what it returns."""
        assert self.process.stdin is not None
        self.process.stdin.write(" ".join(map(str, call)).encode() + b"\n")
        self.process.stdin.flush()

    def waits(self) -> bool:
        """Whether it has not answered yet."""
        assert self.process.stdout is not None
        return b"\n" not in self._said and not select.select([self.process.stdout], [], [], 0.0)[0]

    def answer(self) -> str:
        """What the call returned."""
        assert self.process.stdout is not None
        while b"\n" not in self._said:
            assert select.select([self.process.stdout], [], [], SOON)[0], "the program does not answer"
            data = os.read(self.process.stdout.fileno(), 65536)
            assert data, f"the program has ended: {self.errors()}"
            self._said += data
        line, _, self._said = self._said.partition(b"\n")
        return line.decode()

    def call(self, *call: object) -> int:
        """Have it make a call; the number that it returned."""
        self.begin(*call)
        return int(self.answer().split()[0])

    def state(self) -> dict[str, object]:
        self.begin("state")
        coordinated, rate, waited, moved, application, *policy = self.answer().split()
        return {
            "coordinated": coordinated == "1",
            "rate": float(rate),
            "waited": float(waited),
            "moved": int(moved),
            "application": int(application),
            "policy": " ".join(policy),
        }

    def errors(self) -> str:
        """End it as a program ends; what it wrote to standard error."""
        _, errors = self.process.communicate(timeout=SOON)
        return errors.decode()

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        self.process.wait(SOON)


@contextmanager
def driver(program: Path, file: Path | str = "/dev/null", **environment: str) -> Iterator[Driver]:
    """A driver for the block; killed at its end if it still runs."""
    it = Driver(program, file, **environment)
    try:
        yield it
    finally:
        it.close()
