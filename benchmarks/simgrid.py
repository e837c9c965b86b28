"""fair-share on the engine against SimGrid (simgrid_fair_share.cpp): I/O operations a second on the same phases."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.instance import flat, instance
from benchmarks.report import NotHereError, Report, Results, require, verdict
from benchmarks.timing import fastest
from penstock.engine import simulate
from penstock.model import Phases, Workload

SETTINGS = (
    "network/model:CM02",
    "network/optim:Full",  # the fastest; Lazy, the default, takes 1.3 times as long
    "network/crosstraffic:0",
    "network/bandwidth-factor:1",
    "network/latency-factor:1",
    "network/weight-S:0",
    "network/TCP-gamma:0",
)
SHORT_CHAIN = 16
"""Phases of each application in the run to the end that both are compared by."""
AGREEMENT = 1e-9


@dataclass(frozen=True)
class Outcome:
    """Wall seconds of Engine::run, operations completed in the window, end of each application."""

    seconds: float
    operations: int
    ends: NDArray[np.float64]


class SimGrid:
    """The program, compiled into the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = folder / "simgrid_fair_share"
        source = Path(__file__).with_name("simgrid_fair_share.cpp")
        command = ["g++", "-O3", "-o", str(self._program), str(source), "-lsimgrid"]
        if not shutil.which("g++") or subprocess.run(command, capture_output=True, check=False).returncode:
            raise NotHereError(
                "SimGrid is not installed; on Debian: apt-get install -y --no-install-recommends g++ libsimgrid-dev"
            )

    def __call__(self, workload: Workload) -> Outcome:
        """One run of the window, or to the end."""
        phases = flat(workload)
        path = self._folder / "phases"
        columns = (np.array([len(phases.lead)], np.int64), phases.first, phases.lead, phases.amounts, phases.kinds)
        path.write_bytes(b"".join(column.tobytes() for column in columns))
        end = repr(workload.window[1]) if workload.window else "inf"
        settings = [f"--cfg={setting}" for setting in SETTINGS]
        command = [str(self._program), str(path), end, "--log=root.thres:error", *settings]
        seconds, operations, *ends = subprocess.run(command, capture_output=True, check=True, text=True).stdout.split()
        return Outcome(float(seconds), int(operations), np.array(ends, np.float64))


def run(report: Report, *, quick: bool) -> Results:
    """I/O operations a second of both and the ratio."""
    workload = instance(200_000.0 if quick else 2_000_000.0)
    with tempfile.TemporaryDirectory() as folder:
        simgrid = SimGrid(Path(folder))
        apart = _apart(simgrid, _beginning(workload))
        require(apart <= AGREEMENT, f"SimGrid and engine differ by {apart:.1e} on short chains")
        theirs = simgrid(workload).operations
        ours = sum(application.operations for application in simulate(workload, "fair-share").applications)
        seconds = fastest(
            {"simgrid": lambda: simgrid(workload).seconds, "engine": lambda: simulate(workload, "fair-share").seconds},
            rounds=3 if quick else 7,
        )
    rates = {"simgrid": theirs / seconds["simgrid"], "engine": ours / seconds["engine"]}
    results = {
        "operations": {"simgrid": theirs, "engine": ours},
        "seconds": seconds,
        "operations_per_second": rates,
        "ratio": rates["engine"] / rates["simgrid"],
        "apart_short": apart,
    }
    _print(report, results)
    return results


def _beginning(workload: Workload) -> Workload:
    """The first phases of every application, to be run to their end."""
    applications = tuple(
        replace(application, phases=Phases(application.phases.kinds[:SHORT_CHAIN], application.phases.amounts[:SHORT_CHAIN]))
        for application in workload.applications
    )
    return replace(workload, applications=applications, window=None)


def _apart(simgrid: SimGrid, workload: Workload) -> float:
    """The largest relative difference of the ends of the applications."""
    ends = np.array([application.end for application in simulate(workload, "fair-share").applications])
    return float(np.abs(simgrid(workload).ends / ends - 1.0).max())


def _print(report: Report, results: Results) -> None:
    report.show(
        "Against SimGrid, fair-share (fastest of all turns)",
        ("", "operations", "seconds", "operations/s"),
        (
            (
                name,
                f"{results['operations'][name]:,}",
                f"{results['seconds'][name]:.4f}",
                f"{results['operations_per_second'][name]:,.0f}",
            )
            for name in ("simgrid", "engine")
        ),
    )
    report.say(f"engine / SimGrid: {verdict(results['ratio'], 20.0, at_least=True)}")
    report.say(f"ends of all applications after {SHORT_CHAIN} phases each are {results['apart_short']:.0e} apart")
