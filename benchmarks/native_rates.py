"""Unchanged programs on a test bed beside the simulation of the same two jobs: `dd` and `fio` by `penstock run`.

Job A writes 80 MiB, and job B 40 MiB, which begins 0.6 s after A or 0.3 s before it. Both write past the page cache, in
calls of 2 MiB, and tell their volume by PENSTOCK_PHASE. An I/O time lasts from the first byte asked for to the last one
moved, as `penstock run` reports it. The simulation gets the dt between the two that was reached.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks.report import NotHereError, Report, Results, verdict
from benchmarks.timing import stay_on_one_core, take_all_cores
from penstock.model import InputError
from penstock.native.libraries import POSIX, find
from penstock.testbed import bed as beds
from penstock.testbed.processes import serving
from penstock.theory.interference import Pair, Times, Writer

MIB = 2**20
BANDWIDTH = 40 * MIB
REQUEST = 2 * MIB
POLICIES = ("fcfs", "fair-share", "due-yield", "coordinating")
DTS = (0.6, -0.3)
PAIR = Pair(Writer(80 * MIB, rounds=40), Writer(40 * MIB, rounds=20), BANDWIDTH)
WANTED = 10.0
"""Percent that the geometric mean of measured over simulated may be off."""
PROGRAMS = {
    "dd": "dd if=/dev/zero of={file} bs={request} count={calls} oflag=direct status=none",
    "fio": "fio --name=t --filename={file} --size={volume} --bs={request} --rw=write --direct=1 --ioengine=psync --thread "
    "--fallocate=none --create_on_open=1 --overwrite=0 --output=/dev/null",
}


def run(report: Report, *, quick: bool) -> Results:
    """I/O times of both jobs, for each program, policy and dt; and measured over simulated."""
    if find(POSIX) is None:
        raise NotHereError("the library is not built; penstock native build")
    take_all_cores()
    results: Results = {}
    rows = []
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        try:
            bed = beds.up(Path(name) / "bed", BANDWIDTH, 512 * MIB)
        except InputError as missing:
            raise NotHereError(str(missing)) from None
        stack.callback(beds.down, bed.directory)
        stack.callback(stay_on_one_core)
        for program in [one for one in PROGRAMS if shutil.which(one)]:
            for policy in POLICIES:
                with serving(policy, BANDWIDTH) as socket:
                    found = {dt: [_point(bed, program, socket, policy, dt) for _ in range(1 if quick else 3)] for dt in DTS}
                results[f"{program}, {policy}"] = {str(dt): points for dt, points in found.items()}
                middles = [_middle(points) for points in found.values()]
                ratios = [ratio for point in middles for ratio in point["ratios"]]
                mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
                off = verdict(100.0 * abs(mean - 1.0), WANTED)
                rows.append((f"{program}, {policy}", *map(_cell, middles), f"{mean:.3f}", off))
    columns = ("program, policy", *(f"dt = {dt:+} s" for dt in DTS), "geometric mean", "% off")
    report.show("Measured / simulated seconds of I/O of A, then of B", columns, rows)
    report.show("Load of the machine", ("1 minute", "processors"), [(f"{os.getloadavg()[0]:.1f}", str(os.cpu_count()))])
    return results


def _middle(points: list[Results]) -> Results:
    """The medians of the repetitions."""
    return {name: [median(values) for values in zip(*(point[name] for point in points), strict=True)] for name in points[0]}


def _cell(point: Results) -> str:
    return ", ".join(f"{live:.2f} / {told:.2f}" for live, told in zip(point["live"], point["simulated"], strict=True))


def _point(bed: beds.Bed, program: str, socket: Path, policy: str, dt: float) -> Results:
    """One run of both jobs, beside the simulation at the dt that was reached."""
    with tempfile.TemporaryDirectory(dir=bed.directory) as name, tempfile.TemporaryDirectory() as told:
        folder, jobs = Path(name), {}
        for job, writer in (("A", PAIR.a), ("B", PAIR.b)):
            jobs[job] = _start(bed, program, job, writer, folder, Path(told) / job, socket)
        for process in jobs.values():
            assert process.stdout is not None
            process.stdout.readline()
        first, second = ("A", "B") if dt > 0.0 else ("B", "A")
        _go(jobs[first])
        time.sleep(abs(dt))
        _go(jobs[second])
        for job, process in jobs.items():
            if process.wait() != 0:
                raise SystemExit(f"benchmarks: {program} of job {job} failed with {process.returncode}")
        dates = {job: _dates(Path(told) / job) for job in jobs}
    live = Times(*(end - begin for begin, end in dates.values()))
    simulated = PAIR.io_times(policy, dates["B"][0] - dates["A"][0])
    return {"live": live, "simulated": simulated, "ratios": [a / b for a, b in zip(live, simulated, strict=True)]}


def _start(
    bed: beds.Bed, program: str, job: str, writer: Writer, folder: Path, told: Path, socket: Path
) -> subprocess.Popen[bytes]:
    """`penstock run` of a shell that says that it is there, and becomes the program when it is told to."""
    volume = int(writer.volume)
    words = PROGRAMS[program].format(file=folder / job, request=REQUEST, calls=volume // REQUEST, volume=volume)
    options = ["--mount", str(folder), "--name", job, "--nodes", "1", "--socket", str(socket), "--json", str(told)]
    script = f"echo ready; read -r go; exec {words}"
    command = [sys.executable, "-m", "penstock", "run", *options, "--", "bash", "-c", script]
    return subprocess.Popen(
        bed.inside(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=folder.parent,
        env=os.environ | {"PENSTOCK_PHASE": f"volume={volume},rounds={writer.rounds}"},
        bufsize=0,
    )


def _go(process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None
    process.stdin.write(b"go\n")


def _dates(told: Path) -> tuple[float, float]:
    """When the job's first byte was asked for, and its last one moved."""
    rows = json.loads(told.read_text())["programs"]
    return min(row["begin"] for row in rows), max(row["end"] for row in rows)
