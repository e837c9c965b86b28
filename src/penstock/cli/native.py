"""``penstock native``: the C libraries: build them, say where they are."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from penstock.cli.output import print_table


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "native",
        help="build the C libraries, or say where they are",
        description="The C libraries: libpenstock for C and Fortran programs, and those that `penstock run` preloads.",
    )
    orders = command.add_subparsers(dest="order", metavar="ORDER", required=True)
    build = orders.add_parser("build", help="build them with the compiler of this system")
    build.add_argument("--cc", metavar="COMPILER", default="cc", help="C compiler")
    build.add_argument(
        "--mpicc",
        metavar="COMPILER",
        action="append",
        default=[],
        help="C compiler of an MPI, for its programs (repeatable)",
    )
    build.add_argument(
        "-o", "--output", metavar="DIR", type=Path, help="where to put them (default: where penstock looks for them)"
    )
    orders.add_parser("status", help="say which libraries there are")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    from penstock.native.libraries import CLIENT, MPI, POSIX, build, find, mpi_libraries

    if options.order == "build":
        for library in build(options.output, compiler=options.cc, mpi=options.mpicc):
            print(library)
        return 0
    found = {name: find(name) for name in (CLIENT, POSIX)}
    of_mpis: dict[str, Path | None] = {f"{MPI} ({family})": path for family, path in mpi_libraries().items()}
    found |= of_mpis or {MPI: None}
    print_table({"library": list(found), "where": [str(path or "not built") for path in found.values()]}, wide=("where",))
    return 0
