"""The applications that an MPI program registers, and the hints of an ``MPI.Info`` that describe them.

A communicator is one application, and rank 0 has its `Job` (003 §III.C: one process of each application speaks). All files
that are opened with the same hints share this job, from the first `Open` to the end of the program, since progress and yield
are those of an application and not of a file.

Hints for Penstock begin with ``penstock_``; all others go to the MPI library.

| hint | |
|---|---|
| `penstock_job` | the name of the application |
| `penstock_nodes` | its nodes; default: those of the communicator |
| `penstock_bandwidth` | the most that it can use, in bytes/s |
| `penstock_patience` | seconds to wait for a coordinator that does not answer |
| `penstock_socket` | where the coordinator is: a path, or host:port |
| `penstock_rounds` | how many rounds a collective operation has |
| `penstock_round_bytes` | or how many bytes a round has, of all ranks together |

Only this package imports mpi4py, and this module is the one that does.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final

from penstock.live.client import Job
from penstock.live.client.environment import NAME_CHARACTERS
from penstock.live.client.errors import UsageError

try:
    from mpi4py import MPI as MPI
except (ImportError, RuntimeError) as _error:
    _missing = isinstance(_error, ModuleNotFoundError)
    _why = "is not installed" if _missing else f"cannot be used ({' '.join(str(_error).split())})"
    raise ImportError(f"mpi4py {_why}; expected it from pip install 'penstock[mpi]', and an MPI library") from None


PREFIX: Final = "penstock_"


@dataclass(frozen=True)
class Hints:
    """Penstock's hints; None for a hint that was not given. Rates in bytes/s, times in seconds."""

    job: str | None = None
    nodes: int | None = None
    bandwidth: float | None = None
    patience: float | None = None
    socket: str | None = None
    rounds: int | None = None
    round_bytes: int | None = None

    def given(self) -> dict[str, str]:
        """The hints as an ``MPI.Info`` has them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {PREFIX + name: str(value) for name, value in values.items() if value is not None}


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError
    return value


def _amount(text: str) -> float:
    value = float(text)
    if not 0.0 <= value <= 1e30:
        raise ValueError
    return value


_READ: Final[dict[str, tuple[Callable[[str], Any], str]]] = {
    "job": (str, "a name"),
    "nodes": (_count, "a whole number, 1 or more"),
    "bandwidth": (_amount, "bytes per second"),
    "patience": (_amount, "seconds, 0 or more"),
    "socket": (str, "a path or host:port"),
    "rounds": (_count, "a whole number, 1 or more"),
    "round_bytes": (_count, "a whole number of bytes, 1 or more"),
}


def read(info: MPI.Info | None) -> Hints:
    """Read Penstock's hints in `info`; UsageError if one is unknown or out of range."""
    if not isinstance(info, MPI.Info | None):
        raise UsageError(f"info {info!r} is no MPI.Info; expected one, or None")
    told: dict[str, Any] = {}
    for key, text in (info or {}).items():
        if not key.startswith(PREFIX):
            continue
        name = key.removeprefix(PREFIX)
        if name not in _READ:
            raise UsageError(f"hint {key} is unknown; expected one of {', '.join(PREFIX + known for known in _READ)}")
        convert, expected = _READ[name]
        try:
            told[name] = convert(text)
        except ValueError:
            raise UsageError(f"hint {key}: {text!r} is out of range; expected {expected}") from None
    if {"rounds", "round_bytes"} <= told.keys():
        raise UsageError("hints penstock_rounds and penstock_round_bytes exclude each other; expected one of them")
    return Hints(**told)


def without(info: MPI.Info | None) -> MPI.Info:
    """A copy of `info` without Penstock's hints, for the MPI library; the caller frees it."""
    return MPI.Info.Create({key: text for key, text in (info or {}).items() if not key.startswith(PREFIX)})


@dataclass(frozen=True)
class Presented:
    """What a job is made with; equal ones share a job."""

    name: str | None
    nodes: int
    bandwidth: float | None
    patience: float | None
    socket: str | None

    def job(self) -> Job:
        """The job of this process; made by the first call."""
        if (self, os.getpid()) not in _jobs:
            _jobs[self, os.getpid()] = Job(
                self.name, nodes=self.nodes, bandwidth=self.bandwidth, patience=self.patience, address=self.socket
            )
        return _jobs[self, os.getpid()]


_jobs: Final[dict[tuple[Presented, int], Job]] = {}


def of_all(hints: Hints, nodes: int) -> Job:
    """The job of a communicator of so many `nodes`, as the `hints` describe it."""
    told = hints.nodes if hints.nodes is not None else nodes
    return Presented(hints.job, told, hints.bandwidth, hints.patience, hints.socket).job()


def of_rank(hints: Hints, name: str, nodes: int, rank: int) -> Job:
    """The job of a `rank` other than 0, for its independent I/O, with these `hints` and this `name`.

    It has one of the `nodes`' part of the bandwidth.
    """
    part = hints.bandwidth / nodes if hints.bandwidth is not None else None
    return Presented(f"{name}.{rank}"[-NAME_CHARACTERS:], 1, part, hints.patience, hints.socket).job()
