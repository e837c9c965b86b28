"""``python -m benchmarks [NAME …] [--quick] [--against SRC]``: run all benchmarks or the named ones; tables,
results.json and tables.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from benchmarks import (
    advise,
    buffers,
    c_loop,
    commands,
    coordinator,
    first_compile,
    growth,
    importing,
    machine,
    native,
    native_rates,
    pack,
    placement,
    policy_costs,
    reality,
    replay,
    simgrid,
)
from benchmarks.elsewhere import HERE, VARIABLE
from benchmarks.report import NotHereError, Report, Results
from benchmarks.timing import stay_on_one_core

FOLDER = Path("build/bench")


@dataclass(frozen=True)
class Options:
    """How all benchmarks are run; `against` is the other tree of sources that some of them can measure beside this one."""

    quick: bool
    against: Path | None


BENCHMARKS: dict[str, Callable[[Report, Options], Results]] = {
    "c-loop": lambda report, options: c_loop.run(report, quick=options.quick, against=options.against),
    "simgrid": lambda report, options: simgrid.run(report, quick=options.quick),
    "policies": lambda report, options: policy_costs.run(report, quick=options.quick, against=options.against),
    "growth": lambda report, options: growth.run(report, FOLDER, quick=options.quick, against=options.against),
    "pack": lambda report, options: pack.run(report, quick=options.quick),
    "machine": lambda report, options: machine.run(report, quick=options.quick),
    "advise": lambda report, options: advise.run(report, quick=options.quick),
    "reality": lambda report, options: reality.run(report, quick=options.quick),
    "placement": lambda report, options: placement.run(report, quick=options.quick),
    "buffers": lambda report, options: buffers.run(report, quick=options.quick),
    "replay": lambda report, options: replay.run(report, quick=options.quick),
    "coordinator": lambda report, options: coordinator.run(report, quick=options.quick),
    "importing": lambda report, options: importing.run(report, quick=options.quick),
    "native": lambda report, options: native.run(report, quick=options.quick),
    "native-rates": lambda report, options: native_rates.run(report, quick=options.quick),
    "commands": lambda report, options: commands.run(report, quick=options.quick),
    "compile": lambda report, options: first_compile.run(report, quick=options.quick, against=options.against),
}


ONLY_BY_NAME = {"native-rates"}
"""Takes ten minutes and mounts a file system."""


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios measured side by side on one core.")
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"one or more of {', '.join(BENCHMARKS)}; all but {', '.join(ONLY_BY_NAME)} without one",
    )
    parser.add_argument("--quick", action="store_true", help="small instances")
    parser.add_argument(
        "--against",
        metavar="SRC",
        type=Path,
        default=os.environ.get(VARIABLE) or None,
        help="the src folder of another checkout, which c-loop, policies, growth and compile measure beside this one "
        f"(default: {VARIABLE})",
    )
    arguments = parser.parse_args()
    unknown = sorted(set(arguments.names) - set(BENCHMARKS))
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}; expected {', '.join(BENCHMARKS)}")
    if arguments.against and not (arguments.against / "penstock").is_dir():
        parser.error(f"--against: there is no penstock in {arguments.against}; expected the src folder of a checkout")
    options = Options(arguments.quick, arguments.against)
    cores = os.cpu_count()
    stay_on_one_core()
    report = Report(Console())
    results: Results = {
        "machine": {"cores": cores, "system": platform.system(), "python": platform.python_version()},
        "quick": options.quick,
        "source": str(HERE),
        "against": str(options.against) if options.against else None,
    }
    for name in arguments.names or [name for name in BENCHMARKS if name not in ONLY_BY_NAME]:
        try:
            results[name] = BENCHMARKS[name](report, options)
        except NotHereError as missing:
            report.say(f"{name}: left out, {missing}")
            results[name] = {"left_out": str(missing)}
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (FOLDER / "tables.md").write_text(report.markdown)
    report.console.print(f"written: {FOLDER / 'results.json'}, {FOLDER / 'tables.md'}")


if __name__ == "__main__":
    main()
