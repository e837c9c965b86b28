"""What the preloaded library costs: programs with and without it, side by side, under a coordinator that limits nothing.

Calls are compared within one process by the processor time of their thread, so that other programs change little. For the
writes of 1 GB, what the library's own threads use of a processor is added.
"""

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
from benchmarks.timing import fastest, take_all_cores
from penstock.native.libraries import POSIX, find, mpi_libraries

GIGABYTE = "1 GB in 1 MiB writes, %"
COLLECTIVE = "MPI collective of 256 MB, %"
COLLECTIVE_USED = "processor time of that, %"
WANTED: dict[str, float | None] = {
    "unwatched call, ns": 30.0,
    "watched 4 KiB write, ns": 200.0,
    GIGABYTE: 1.0,
    "start, ms": 2.0,
    COLLECTIVE: 3.0,
    COLLECTIVE_USED: None,
}
"""The most that each may cost more with the library than without, where that is known."""
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
        with _coordinator(folder) as socket:
            shimmed = _environment(library, folder, socket)
            results = _measure(folder, shimmed, quick) | _measure_mpi(folder, shimmed, quick)
    rows = []
    for what, wanted in WANTED.items():
        if what not in results:
            continue
        before, after, added = (results[what][name] for name in ("without", "with", "added"))
        rows.append((what, f"{before:.4g}", f"{after:.4g}", verdict(added, wanted) if wanted else f"{added:.3g}"))
    report.show("The preloaded library", ("what", "without", "with", "added"), rows)
    report.show("Load of the machine", ("1 minute", "processors"), [(f"{os.getloadavg()[0]:.1f}", str(os.cpu_count()))])
    return results


def _environment(library: Path, folder: Path, socket: Path) -> dict[str, str]:
    mount = folder / "mount"
    mount.mkdir()
    told = {"LD_PRELOAD": str(library), "PENSTOCK_MOUNTS": str(mount), "PENSTOCK_SOCKET": str(socket)}
    return os.environ | told | {"PENSTOCK_PHASE": "volume=1000000000000"}


def _measure(folder: Path, shimmed: Mapping[str, str], quick: bool) -> Results:
    """Processor time of calls, by libc's functions and by the library's within one process; the least time of starts."""
    program, file = folder / "native_calls", str(folder / "mount" / "file")
    subprocess.run(["cc", "-O2", "-o", program, SOURCE, "-ldl"], check=True)
    pairs, runs = (200, 3) if quick else (1000, 5)
    cases: dict[str, tuple[str, int, int, int, int]] = {
        "unwatched call, ns": ("/dev/null", 1, 1, 2000, pairs),
        "watched 4 KiB write, ns": (file, 4096, 4096, 500, pairs),
        GIGABYTE: (file, 1 << 20, 1 << 30, 10, 50),
    }
    results: Results = {}
    for what, words in cases.items():
        command = [str(program), *map(str, words)]
        told = [subprocess.run(command, env=shimmed, capture_output=True, text=True, check=True) for _ in range(runs)]
        without, with_it, added, others = map(median, zip(*(map(float, one.stdout.split()) for one in told), strict=True))
        in_percent = 100.0 * added / without + others
        results[what] = {"without": without, "with": with_it, "added": in_percent if what == GIGABYTE else added}
    starts = fastest({"without": lambda: _start(os.environ), "with": lambda: _start(shimmed)}, 20 if quick else 200)
    results["start, ms"] = {name: 1e3 * value for name, value in starts.items()}
    results["start, ms"]["added"] = results["start, ms"]["with"] - results["start, ms"]["without"]
    return results


def _measure_mpi(folder: Path, shimmed: Mapping[str, str], quick: bool) -> Results:
    """Collective writes of two ranks to a file that is not watched and, in 16 rounds, to one that is, in pairs."""
    family = next((name for name in mpi_libraries() if all(map(shutil.which, LAUNCHERS.get(name, ("?",))))), None)
    if family is None:
        return {}
    compiler, launcher = LAUNCHERS[family]
    program, size = folder / "native_mpi", 256_000_000
    subprocess.run([compiler, "-O2", "-o", program, MPI_SOURCE], check=True)
    told = {
        "PENSTOCK_PHASE": f"volume={size},rounds=16",
        "LD_PRELOAD": f"{mpi_libraries()[family]}:{shimmed['LD_PRELOAD']}",
    }
    files = [str(folder / "mount" / "shared"), str(folder / "shared")]
    Path(files[0]).touch()
    os.link(*files)  # one file, since pages of two may be of different sizes: that alone can take twice as long
    command = [launcher, "-n", "2", str(program), *files, str(size), "5" if quick else "301"]
    environment = {**shimmed, **AS_ROOT, **told}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, preexec_fn=take_all_cores)
    with_rounds, without, added, used, used_without, added_used = map(float, done.stdout.split())
    return {
        COLLECTIVE: {"without": without, "with": with_rounds, "added": added},
        COLLECTIVE_USED: {"without": used_without, "with": used, "added": added_used},
    }


def _start(environment: Mapping[str, str]) -> float:
    """Seconds of a program that does nothing."""
    begun = time.perf_counter()
    subprocess.run(["true"], env=environment, check=True)
    return time.perf_counter() - begun


@contextmanager
def _coordinator(folder: Path) -> Iterator[Path]:
    socket = folder / "socket"
    command = [sys.executable, "-m", "penstock", "serve", "--socket", str(socket), "--journal", str(folder / "journal")]
    server = subprocess.Popen(
        [*command, "--bandwidth", UNLIMITED], stderr=subprocess.PIPE, text=True, preexec_fn=take_all_cores
    )
    try:
        assert server.stderr is not None
        while "sharing" not in server.stderr.readline():
            if server.poll() is not None:
                raise NotHereError("penstock serve does not start")
        yield socket
    finally:
        server.kill()
        server.wait()
