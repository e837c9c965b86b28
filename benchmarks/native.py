"""What the preloaded library costs: programs with and without it, side by side, under a coordinator that limits nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmarks.report import NotHereError, Report, Results, verdict
from benchmarks.timing import fastest
from penstock.native.libraries import POSIX, find, mpi_libraries

COLLECTIVE = "MPI collective of 256 MB, %"
WANTED = {
    "unwatched call, ns": 30.0,
    "watched 4 KiB write, ns": 200.0,
    "1 GB in 1 MiB writes, %": 1.0,
    "start, ms": 2.0,
    COLLECTIVE: 3.0,
}
"""The most that each may cost more with the library than without."""
SOURCE = Path(__file__).with_name("native_calls.c")
MPI_SOURCE = Path(__file__).with_name("native_mpi.c")
LAUNCHERS = {"mpich": ("mpicc.mpich", "mpiexec.mpich"), "openmpi": ("mpicc.openmpi", "mpiexec.openmpi")}
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
UNLIMITED = "1e17 B/s"


def run(report: Report, *, quick: bool) -> Results:
    """What each program takes without and with the library."""
    library = find(POSIX)
    if library is None or shutil.which("cc") is None:
        raise NotHereError("the library is not built, or there is no C compiler; penstock native build")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as name:
        folder = Path(name)
        program = folder / "native_calls"
        subprocess.run(["cc", "-O2", "-o", program, SOURCE], check=True)
        with _coordinator(folder) as socket:
            shimmed = _environment(library, folder, socket)
            results = _measure(program, folder, shimmed, quick) | _measure_mpi(folder, shimmed, quick)
    rows = []
    for what, wanted in WANTED.items():
        if what not in results:
            continue
        before, after = results[what]["without"], results[what]["with"]
        added = 100.0 * (after / before - 1.0) if what.endswith("%") else after - before
        added = results[what].setdefault("added", added)
        rows.append((what, f"{before:.4g}", f"{after:.4g}", verdict(added, wanted)))
    report.show("The preloaded library", ("what", "without", "with", "added"), rows)
    return results


def _environment(library: Path, folder: Path, socket: Path) -> dict[str, str]:
    mount = folder / "mount"
    mount.mkdir()
    told = {"LD_PRELOAD": str(library), "PENSTOCK_MOUNTS": str(mount), "PENSTOCK_SOCKET": str(socket)}
    return os.environ | told | {"PENSTOCK_PHASE": "volume=1000000000000"}


def _measure(program: Path, folder: Path, shimmed: Mapping[str, str], quick: bool) -> Results:
    calls = 100_000 if quick else 1_000_000
    file = str(folder / "mount" / "file")
    cases = {
        "unwatched call, ns": (["/dev/null", "1", str(calls)], 1.0),
        "watched 4 KiB write, ns": ([file, "4096", str(calls)], 1.0),
        "1 GB in 1 MiB writes, %": ([file, str(1 << 20), "1000"], 1e-9 * 1000),
    }
    rounds = 3 if quick else 7

    def nanoseconds(arguments: list[str], environment: Mapping[str, str]) -> float:
        command = [str(program), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return float(done.stdout)

    results: Results = {}
    for what, (arguments, scale) in cases.items():
        times = fastest(
            {
                "without": lambda arguments=arguments: nanoseconds(arguments, os.environ),
                "with": lambda arguments=arguments: nanoseconds(arguments, shimmed),
            },
            rounds,
        )
        results[what] = {name: scale * value for name, value in times.items()}
    starts = fastest({"without": lambda: _start(os.environ), "with": lambda: _start(shimmed)}, 20 if quick else 200)
    results["start, ms"] = {name: 1e3 * value for name, value in starts.items()}
    return results


def _measure_mpi(folder: Path, shimmed: Mapping[str, str], quick: bool) -> Results:
    """Seconds of collective writes of two ranks, in one call and in 16 rounds; the medians of runs in pairs."""
    family = next((name for name in mpi_libraries() if all(map(shutil.which, LAUNCHERS.get(name, ("?",))))), None)
    if family is None:
        return {}
    compiler, launcher = LAUNCHERS[family]
    program, file, size = folder / "native_mpi", str(folder / "mount" / "shared"), 256_000_000
    subprocess.run([compiler, "-O2", "-o", program, MPI_SOURCE], check=True)
    rounds = {"PENSTOCK_PHASE": f"volume={size},rounds=16"}
    preloaded = {"LD_PRELOAD": f"{mpi_libraries()[family]}:{shimmed['LD_PRELOAD']}"}
    command = [launcher, "-n", "2", str(program), file, str(size), "2" if quick else "4"]

    def seconds(environment: Mapping[str, str]) -> float:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        return float(done.stdout)

    pairs = [
        (seconds(os.environ | AS_ROOT), seconds({**shimmed, **AS_ROOT, **rounds, **preloaded}))
        for _ in range(5 if quick else 15)
    ]
    without, with_rounds = (median(times) for times in zip(*pairs, strict=True))
    added = median(100.0 * (after / before - 1.0) for before, after in pairs)
    return {COLLECTIVE: {"without": without, "with": with_rounds, "added": added}}


def _start(environment: Mapping[str, str]) -> float:
    """Seconds of a program that does nothing."""
    begun = time.perf_counter()
    subprocess.run(["true"], env=environment, check=True)
    return time.perf_counter() - begun


@contextmanager
def _coordinator(folder: Path) -> Iterator[Path]:
    socket = folder / "socket"
    command = [sys.executable, "-m", "penstock", "serve", "--socket", str(socket), "--journal", str(folder / "journal")]
    server = subprocess.Popen([*command, "--bandwidth", UNLIMITED], stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        while "sharing" not in server.stderr.readline():
            if server.poll() is not None:
                raise NotHereError("penstock serve does not start")
        yield socket
    finally:
        server.kill()
        server.wait()
