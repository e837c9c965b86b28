"""How long `penstock import darshan` takes and how much memory: one log of 10 million operations, and 1 GB of logs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.report import NotHereError, Report, Results, require, verdict
from penstock import read

RANKS = 64
MOST_MEMORY = 2.0
"""GB that reading one log may take."""


def run(report: Report, *, quick: bool) -> Results:
    """Write logs of random operations, import them in a process of its own, and measure it.

    The memory is the most of any one process, of which there is one for each core.
    """
    try:
        from tests.workloads.importers.logs import backend
    except ImportError:
        raise NotHereError("the tests are not here, which write the logs; run it in a checkout") from None
    backend()
    scale = 20 if quick else 1
    # A process counts the memory of the one that starts it as its own, so another one makes the logs.
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, get_context("spawn")) as writer:
        one, many = Path(folder) / "one", Path(folder) / "many"
        one.mkdir()
        many.mkdir()
        writer.submit(_write, one / "0.darshan", 10_000_000 // scale, 0).result()
        count, size = 0, 0
        while size < 1e9 / scale:
            size += writer.submit(_write, many / f"{count}.darshan", 1_000_000 // scale, count).result()
            count += 1
        results = {
            f"one log, {10_000_000 // scale:,} operations": _imported(one, [0.0]),
            f"{count} logs, {size / 1e9:.2f} GB": _imported(many, [float(number) for number in range(count)]),
        }
    rows = [
        (name, f"{seconds:.1f}", f"{processor:.1f}", verdict(memory, MOST_MEMORY))
        for name, (seconds, processor, memory) in results.items()
    ]
    report.show("Importing Darshan logs", ("logs", "seconds", "processor seconds", "GB of a process"), rows)
    return {name: dict(zip(("seconds", "processor", "gb"), found, strict=True)) for name, found in results.items()}


def _write(path: Path, operations: int, number: int) -> int:
    """A log of checkpoints, each of many small writes at random moments; returns its size in bytes."""
    from tests.workloads.importers.logs import SEGMENT, Log

    random = np.random.default_rng(number)
    log = Log(job_id=number, start=1_600_000_000.0 + 10.0 * number, seconds=10_000.0, ranks=RANKS)
    for rank in range(RANKS):
        rows = np.zeros(operations // RANKS, SEGMENT)
        rows["start"] = 100.0 * random.integers(0, 100, len(rows)) + 30.0 * random.random(len(rows))
        rows["end"] = rows["start"] + random.exponential(0.01, len(rows))
        rows["length"] = random.integers(1, 1 << 20, len(rows))
        log.dxt.append(("DXT_POSIX", f"/scratch/{rank}", rank, f"n{rank // 16}", rows, []))
    log.write(path)
    return path.stat().st_size


def _imported(folder: Path, releases: list[float]) -> tuple[float, float, float]:
    """Wall time, processor time and the largest memory in GB of an import, in a process whose children are its workers."""
    code = (
        "import sys, resource; from penstock.cli.main import main; "
        "assert main(['import', 'darshan', sys.argv[1], '-o', sys.argv[1] + '.parquet']) == 0; "
        "sizes = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]; "
        "print(sum(one.ru_utime + one.ru_stime for one in sizes), max(one.ru_maxrss for one in sizes))"
    )
    begun = perf_counter()
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=True)
    wall = perf_counter() - begun
    processor, kilobytes = map(float, done.stdout.split())
    made = read(f"{folder}.parquet")
    require([one.release for one in made.applications] == [10.0 * number for number in releases], "a log is missing")
    require(all(one.phases.operations == 100 for one in made.applications), "the phases are not the checkpoints")
    return wall, processor, kilobytes * 1024 / 1e9
