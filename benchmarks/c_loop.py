"""The engine against a plain C event loop with linear scans (loop.c) on the very same phases."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.instance import SHORT_WINDOW, Flat, flat, instance, shortened, transferred
from benchmarks.report import NotHereError, Report, Results, require, verdict
from benchmarks.timing import fastest
from penstock.engine import Result, simulate
from penstock.model import Workload

POLICIES = ("fair-share", "fcfs", "greedy-com", "greedy-yield")
"""In the order of their numbers in loop.c."""
FLAGS = {"C": ("-O3",), "C native": ("-O3", "-march=native", "-ffp-contract=off")}
"""Without fused operations, which round differently and so lead these chaotic systems elsewhere."""
AGREEMENT = 1e-9


@dataclass(frozen=True)
class Outcome:
    """What both loops are compared by; seconds of wall time."""

    seconds: float
    min_yield: float
    transferred: float
    events: int

    def apart_from(self, other: Outcome) -> float:
        """The largest relative difference of the three results."""
        pairs = ((self.min_yield, other.min_yield), (self.transferred, other.transferred), (self.events, other.events))
        return max(abs(mine - others) / max(abs(others), 1e-300) for mine, others in pairs)


class CLoop:
    """loop.c, compiled into the folder."""

    def __init__(self, folder: Path, name: str, flags: tuple[str, ...]) -> None:
        library = folder / f"{name.replace(' ', '-')}.so"
        source = Path(__file__).with_name("loop.c")
        subprocess.run(["gcc", *flags, "-shared", "-fPIC", "-o", library, source, "-lm"], check=True)
        self._run = ctypes.CDLL(str(library)).run

    def __call__(self, phases: Flat, workload: Workload, policy: str) -> Outcome:
        """One run of the workload's window."""
        assert workload.window is not None
        results = np.zeros(3)
        arguments = (
            ctypes.c_int64(len(phases.lead)),
            *(_address(column) for column in (phases.first, phases.kinds, phases.amounts, phases.lead)),
            ctypes.c_double(workload.platform.bandwidth),
            ctypes.c_double(workload.window[1]),
            ctypes.c_int(POLICIES.index(policy)),
            _address(results),
        )
        begun = time.perf_counter()
        failed = self._run(*arguments)
        seconds = time.perf_counter() - begun
        require(failed == 0, "no memory for the C loop")
        return Outcome(seconds, float(results[0]), float(results[1]), int(results[2]))


def _address(array: np.ndarray[Any, Any]) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _outcome(result: Result) -> Outcome:
    return Outcome(result.seconds, result.min_yield, transferred(result), result.events)


def run(report: Report, *, quick: bool) -> Results:
    """ns an event of C and of the engine, and their ratio, for the four policies."""
    if not shutil.which("gcc"):
        raise NotHereError("gcc is not installed; on Debian: apt-get install -y gcc")
    workload = instance(200_000.0 if quick else 2_000_000.0)
    with tempfile.TemporaryDirectory() as folder:
        loops = {name: CLoop(Path(folder), name, flags) for name, flags in FLAGS.items()}
        results = {policy: _compare(loops, workload, policy, rounds=3 if quick else 15) for policy in POLICIES}
    _print(report, results)
    return results


def _compare(loops: dict[str, CLoop], workload: Workload, policy: str, rounds: int) -> Results:
    phases, short = flat(workload), shortened(workload, SHORT_WINDOW)
    ours = _outcome(simulate(short, policy))
    apart_short = max(loop(phases, short, policy).apart_from(ours) for loop in loops.values())
    require(apart_short <= AGREEMENT, f"{policy}: C and engine differ by {apart_short:.1e} in a short window")
    ours = _outcome(simulate(workload, policy))
    apart_long = max(loop(phases, workload, policy).apart_from(ours) for loop in loops.values())
    seconds = fastest(
        {name: lambda loop=loop: loop(phases, workload, policy).seconds for name, loop in loops.items()}
        | {"engine": lambda: simulate(workload, policy).seconds, "simulate": lambda: _seconds_in_all(workload, policy)},
        rounds,
    )
    return {
        "events": ours.events,
        "apart_short": apart_short,
        "apart_long": apart_long,
        "ns_per_event": {name: 1e9 * value / ours.events for name, value in seconds.items()},
        "seconds": seconds,
        "ratio": {name: seconds[name] / seconds["engine"] for name in loops},
    }


def _seconds_in_all(workload: Workload, policy: str) -> float:
    """`simulate` as a user calls it: the state, the dedicated run and the measures included."""
    begun = time.perf_counter()
    simulate(workload, policy)
    return time.perf_counter() - begun


def _print(report: Report, results: Results) -> None:
    report.show(
        "Against a plain C event loop: ns an event (fastest of all turns)",
        (
            "policy",
            "events",
            *FLAGS,
            "engine",
            "simulate()",
            "C / engine",
            "C native / engine",
            "apart, short",
            "apart, long",
        ),
        (
            (
                policy,
                f"{one['events']:,}",
                *(f"{one['ns_per_event'][name]:.0f}" for name in (*FLAGS, "engine", "simulate")),
                verdict(one["ratio"]["C"], 1.0, at_least=True),
                f"{one['ratio']['C native']:.3g}",
                f"{one['apart_short']:.0e}",
                f"{one['apart_long']:.0e}",
            )
            for policy, one in results.items()
        ),
    )
