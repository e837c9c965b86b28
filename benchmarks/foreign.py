"""The event loops in C (loop.c) and C++ (yardstick.cpp), compiled when a benchmark starts and called on flat arrays."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.instance import Flat
from benchmarks.report import NotHereError, require
from penstock.engine.setup import dedicated
from penstock.model import Workload
from penstock.model.application import WORK
from penstock.policies.registry import REGISTRY

POLICIES = (
    "fair-share",
    "fcfs",
    "greedy-com",
    "greedy-yield",
    "periodic-greedy-yield",
    "due-yield",
    "set-10",
    "look-ahead-greedy-yield",
)
"""In the order of their numbers in loop.c."""
FLAGS = {"C": ("-O3",), "C native": ("-O3", "-march=native", "-ffp-contract=off")}
"""Without fused operations, which round differently and so lead these chaotic systems elsewhere."""
YARDSTICK_FLAGS = ("-O3", "-march=native", "-std=c++17")


@dataclass(frozen=True)
class Outcome:
    """What loops are compared by, with the bytes moved where both know them; seconds of wall time."""

    seconds: float
    min_yield: float
    events: int
    transferred: float | None = None

    @property
    def ns_per_event(self) -> float:
        """Mean over all events."""
        return 1e9 * self.seconds / self.events

    def apart_from(self, other: Outcome) -> float:
        """The largest relative difference of the results."""
        pairs = [(self.min_yield, other.min_yield), (self.events, other.events)]
        if self.transferred is not None and other.transferred is not None:
            pairs.append((self.transferred, other.transferred))
        return max(abs(mine - others) / max(abs(others), 1e-300) for mine, others in pairs)


class CLoop:
    """loop.c, compiled into the folder."""

    def __init__(self, folder: Path, name: str) -> None:
        library = folder / f"{name.replace(' ', '-')}.so"
        self._run = _compiled("gcc", FLAGS[name], "loop.c", library).run

    def __call__(self, phases: Flat, workload: Workload, policy: str) -> Outcome:
        """One run of the workload's window."""
        delta = dedicated(workload).default_delta if REGISTRY[policy].periodic else 0.0
        numbers = (ctypes.c_double(delta), ctypes.c_int(POLICIES.index(policy)))
        columns = (phases.first, phases.kinds, phases.amounts, phases.lead)
        seconds, (min_yield, transferred, events) = _timed(self._run, columns, workload, numbers, results=3)
        return Outcome(seconds, min_yield, int(events), transferred)


class Yardstick:
    """yardstick.cpp, compiled into the folder."""

    def __init__(self, folder: Path) -> None:
        self._run = _compiled("g++", YARDSTICK_FLAGS, "yardstick.cpp", folder / "yardstick.so").yardstick

    def __call__(self, phases: Flat, workload: Workload) -> Outcome:
        """One run of the workload's window under greedy-yield."""
        alternating = (phases.first % 2 == 0).all() and (
            (phases.kinds == WORK) == (np.arange(len(phases.kinds)) % 2 == 0)
        ).all()
        require(bool(alternating), "the yardstick knows only chains that alternate between work and I/O")
        columns = (phases.first, phases.amounts, phases.lead)
        seconds, (min_yield, events) = _timed(self._run, columns, workload, (), results=2)
        return Outcome(seconds, min_yield, int(events))


def _compiled(compiler: str, flags: Sequence[str], source: str, library: Path) -> ctypes.CDLL:
    if not shutil.which(compiler):
        raise NotHereError(f"{compiler} is not installed; on Debian: apt-get install -y {compiler}")
    file = Path(__file__).with_name(source)
    subprocess.run([compiler, *flags, "-shared", "-fPIC", "-o", library, file, "-lm"], check=True)
    return ctypes.CDLL(str(library))


def _timed(
    function: Any, columns: Sequence[np.ndarray[Any, Any]], workload: Workload, numbers: Sequence[Any], results: int
) -> tuple[float, list[float]]:
    """Wall seconds of the function and what it has found; all loops take these arguments in this order."""
    assert workload.window is not None
    found = np.zeros(results)
    arguments = (
        ctypes.c_int64(len(workload.applications)),
        *(_address(column) for column in columns),
        ctypes.c_double(workload.platform.bandwidth),
        ctypes.c_double(workload.window[1]),
        *numbers,
        _address(found),
    )
    begun = time.perf_counter()
    failed = function(*arguments)
    seconds = time.perf_counter() - begun
    require(failed == 0, "the loop in C has no room for so many applications")
    return seconds, found.tolist()


def _address(array: np.ndarray[Any, Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
