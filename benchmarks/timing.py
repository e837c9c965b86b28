"""Timing side by side: machines are noisy, so contestants take turns and the fastest turn of each counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping


def stay_on_one_core() -> None:
    """Keep this process and those it starts on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def fastest(contestants: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """The least seconds of each contestant, which measures itself, over `rounds` turns taken alternately."""
    turns = [{name: contestant() for name, contestant in contestants.items()} for _ in range(rounds)]
    return {name: min(turn[name] for turn in turns) for name in contestants}
