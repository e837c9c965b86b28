"""Timing side by side: machines are noisy, so contestants take turns and the fastest turn of each counts."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import NamedTuple, TypeVar

Name = TypeVar("Name", bound=Hashable)


class Spent(NamedTuple):
    """Seconds of a command: on the clock, and of processors."""

    wall: float
    processor: float


def stay_on_one_core() -> None:
    """Keep this process and those it starts on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def take_all_cores() -> None:
    """Let this process and those it starts run on all cores again: for programs whose processes wait for each other."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, range(os.cpu_count() or 1))


def fastest(contestants: Mapping[Name, Callable[[], float]], rounds: int) -> dict[Name, float]:
    """The least seconds of each contestant, which measures itself, over `rounds` turns taken alternately."""
    turns = [{name: contestant() for name, contestant in contestants.items()} for _ in range(rounds)]
    return {name: min(turn[name] for turn in turns) for name in contestants}


def call(command: Sequence[str], environment: Mapping[str, str]) -> Spent:
    """What the command takes; its own words are shown only if it fails."""
    begun, before = time.perf_counter(), _processor_seconds()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    spent = Spent(time.perf_counter() - begun, _processor_seconds() - before)
    if done.returncode:
        raise SystemExit(f"benchmarks: {' '.join(command)} failed with {done.returncode}: {done.stderr.strip()}")
    return spent


def _processor_seconds() -> float:
    """What all finished commands have used so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
