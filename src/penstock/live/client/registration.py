"""What an application registers with: arguments, else what Slurm says about its job, else the name of the program."""

from __future__ import annotations

import math
import os
import pwd
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from penstock.live.client.errors import UsageError
from penstock.live.protocol import MOST_NODES, VERSION, Register

NAME_CHARACTERS: Final = 200
MOST_RATE: Final = 1e18
"""The highest rate that a message may have, in bytes/s."""
MOST_SECONDS: Final = 1e10
"""The longest time that a message may have."""


@dataclass(frozen=True)
class Identity:
    """What an application says about itself when it registers. Dates are relative to the creation of this object."""

    job: str
    nodes: int = 1
    user: str = ""
    bandwidth: float | None = None
    """The most that it can use, in bytes/s."""
    elapsed: float = 0.0
    """Seconds for which it has been running."""
    lead: float = 0.0
    """Seconds from now on that belong to no iteration."""
    whole: float | None = None
    """Seconds of its complete dedicated run."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.job) <= NAME_CHARACTERS:
            raise UsageError(f"name {self.job[:40]!r}: {len(self.job)} characters; expected 1 to {NAME_CHARACTERS}")
        if isinstance(self.nodes, bool) or not isinstance(self.nodes, int) or not 1 <= self.nodes <= MOST_NODES:
            raise UsageError(f"nodes {self.nodes!r} is out of range; expected a whole number from 1 to {MOST_NODES}")
        limits = {"bandwidth": MOST_RATE, "elapsed": MOST_SECONDS, "lead": MOST_SECONDS, "whole": MOST_SECONDS}
        for field, most in limits.items():
            value = getattr(self, field)
            if value is not None and not (isinstance(value, int | float) and 0.0 <= value <= most):
                raise UsageError(f"{field} {value!r} is out of range; expected a number from 0 to {most:g}")

    def register(self, passed: float, token: str) -> partial[Register]:
        """The registration, `passed` seconds after this object was made; it lacks its `seq`."""
        return partial(
            Register,
            version=VERSION,
            job=self.job,
            nodes=self.nodes,
            user=self.user,
            bandwidth=self.bandwidth,
            elapsed=min(self.elapsed + passed, MOST_SECONDS),
            lead=max(0.0, self.lead - passed),
            whole=self.whole,
            token=token,
        )


def identify(
    name: str | None = None,
    nodes: int | None = None,
    *,
    bandwidth: float | None = None,
    lead: float = 0.0,
    whole: float | None = None,
    environment: Mapping[str, str] | None = None,
) -> Identity:
    """Make an identity. What the arguments leave out comes from Slurm's variables in the environment, if there are any."""
    told = os.environ if environment is None else environment
    return Identity(
        job=printable(name if name is not None else _name(told)),
        nodes=nodes if nodes is not None else _nodes(told),
        user=printable(told.get("SLURM_JOB_USER") or _user())[:NAME_CHARACTERS],
        bandwidth=bandwidth,
        elapsed=_elapsed(told),
        lead=lead,
        whole=whole,
    )


def printable(text: str) -> str:
    """The text with a question mark for each character that is not printable, such as a control code."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def _name(told: Mapping[str, str]) -> str:
    number = told.get("SLURM_JOB_ID", "")
    if number:
        return f"{told.get('SLURM_JOB_NAME') or 'job'}-{number}"[-NAME_CHARACTERS:]
    program = Path(sys.argv[0] if sys.argv else "").stem
    if program in ("", "-c", "-m", "__main__"):
        program = Path(sys.executable or "python").stem
    return f"{program}-{os.getpid()}"[-NAME_CHARACTERS:]


def _nodes(told: Mapping[str, str]) -> int:
    text = told.get("SLURM_JOB_NUM_NODES") or told.get("SLURM_NNODES") or ""
    return min(max(1, int(text)), MOST_NODES) if text.isascii() and text.isdigit() and len(text) < 16 else 1


def _elapsed(told: Mapping[str, str]) -> float:
    try:
        start = float(told.get("SLURM_JOB_START_TIME", ""))
    except ValueError:
        return 0.0
    return min(max(0.0, time.time() - start), MOST_SECONDS) if math.isfinite(start) else 0.0


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())
