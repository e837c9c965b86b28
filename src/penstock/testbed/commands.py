"""Programs of the system that make and remove parts of a test bed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from typing import Final

from penstock.model.errors import InputError

Runner = Callable[[Sequence[str]], str]
"""Runs a command and returns what it prints; an InputError says why it failed, in one line."""
TIMEOUT_SECONDS: Final = 120.0


def run(command: Sequence[str]) -> str:
    """Run a command to its end."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIMEOUT_SECONDS)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(command[0], str(error)) from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise InputError(command[0], said[-1] if said else f"failed with code {done.returncode}")
    return done.stdout
