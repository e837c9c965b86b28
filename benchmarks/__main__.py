"""``python -m benchmarks [NAME …] [--quick]``: run all benchmarks or the named ones; tables, results.json and tables.md."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from benchmarks import buffers, c_loop, commands, coordinator, growth, pack, placement, policy_costs, replay, simgrid
from benchmarks.report import NotHereError, Report, Results
from benchmarks.timing import stay_on_one_core

FOLDER = Path("build/bench")

BENCHMARKS: dict[str, Callable[[Report, bool], Results]] = {
    "c-loop": lambda report, quick: c_loop.run(report, quick=quick),
    "simgrid": lambda report, quick: simgrid.run(report, quick=quick),
    "policies": lambda report, quick: policy_costs.run(report, quick=quick),
    "growth": lambda report, quick: growth.run(report, FOLDER, quick=quick),
    "pack": lambda report, quick: pack.run(report, quick=quick),
    "placement": lambda report, quick: placement.run(report, quick=quick),
    "buffers": lambda report, quick: buffers.run(report, quick=quick),
    "replay": lambda report, quick: replay.run(report, quick=quick),
    "coordinator": lambda report, quick: coordinator.run(report, quick=quick),
    "commands": lambda report, quick: commands.run(report, quick=quick),
}


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios measured side by side on one core.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"one or more of {', '.join(BENCHMARKS)}; all without one")
    parser.add_argument("--quick", action="store_true", help="small instances, under a minute")
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; expected {', '.join(BENCHMARKS)}")
    cores = os.cpu_count()
    stay_on_one_core()
    report = Report(Console())
    results: Results = {
        "machine": {"cores": cores, "system": platform.system(), "python": platform.python_version()},
        "quick": arguments.quick,
    }
    for name in arguments.names or BENCHMARKS:
        try:
            results[name] = BENCHMARKS[name](report, arguments.quick)
        except NotHereError as missing:
            report.say(f"{name}: left out, {missing}")
            results[name] = {"left_out": str(missing)}
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (FOLDER / "tables.md").write_text(report.markdown)
    report.console.print(f"written: {FOLDER / 'results.json'}, {FOLDER / 'tables.md'}")


if __name__ == "__main__":
    main()
