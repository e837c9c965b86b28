"""How long a user waits for the commands: the help, a small file, and the very first run of all."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.report import NotHereError, Report, Results, verdict
from benchmarks.timing import fastest

WANTED = {"penstock --help": 0.3, "penstock simulate, warm": 1.5, "penstock compare, first run of all": 30.0}
"""The most seconds a command may take."""


def run(report: Report, *, quick: bool) -> Results:
    """Seconds of each command; the first compile is measured once, the others are the fastest of several."""
    beside = Path(sys.executable).with_name("penstock")
    program = str(beside) if beside.exists() else shutil.which("penstock")
    if program is None:
        raise NotHereError("penstock is not installed in this environment; make setup")
    help_name, warm_name, first_name = WANTED
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "demo.json")
        empty = os.environ | {"PENSTOCK_CACHE_DIR": str(Path(folder) / "cache")}
        _call([program, "generate", "demo", "-o", file], empty)
        before = _processor_seconds()
        first = {first_name: _call([program, "compare", file, "--json"], empty)}
        first_processor = _processor_seconds() - before
        simulate = [program, "simulate", file, "--policy", "greedy-yield", "--json"]
        others = fastest(
            {help_name: lambda: _call([program, "--help"], empty), warm_name: lambda: _call(simulate, empty)},
            rounds=3 if quick else 7,
        )
    results = others | first
    report.show("Commands", ("command", "seconds"), ((name, verdict(results[name], WANTED[name])) for name in WANTED))
    report.say(f"the first run took {first_processor:.3g} s of processor time; on a busy machine it waits longer")
    return {"seconds": results, "first_processor_seconds": first_processor}


def _processor_seconds() -> float:
    """What all finished commands have used so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _call(command: list[str], environment: dict[str, str]) -> float:
    """Wall seconds of the command; its own words are shown only if it fails."""
    begun = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    if done.returncode:
        raise SystemExit(f"benchmarks: {' '.join(command)} failed with {done.returncode}: {done.stderr.strip()}")
    return seconds
