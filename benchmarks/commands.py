"""How long a user waits for the commands: the help, a small file, and the very first run of all."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from benchmarks.report import NotHereError, Report, Results, verdict
from benchmarks.timing import call, fastest

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
        call([program, "generate", "demo", "-o", file], empty)
        first = call([program, "compare", file, "--json"], empty)
        simulate = [program, "simulate", file, "--policy", "greedy-yield", "--json"]
        others = fastest(
            {help_name: lambda: call([program, "--help"], empty).wall, warm_name: lambda: call(simulate, empty).wall},
            rounds=3 if quick else 7,
        )
    results = others | {first_name: first.wall}
    report.show("Commands", ("command", "seconds"), ((name, verdict(results[name], WANTED[name])) for name in WANTED))
    report.say(f"the first run took {first.processor:.3g} s of processor time; on a busy machine it waits longer")
    return {"seconds": results, "first_processor_seconds": first.processor}
