"""``penstock import KIND … -o OUT``: logs, accounting and measurements of a real machine become workloads.

Each kind has a function that declares its options and one that calls `penstock.api.importing`; `KINDS` lists them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from penstock.cli.output import emit_json

if TYPE_CHECKING:
    from penstock.api.importing import ImportResult


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "import",
        help="make a workload from logs, accounting or measurements",
        description="Make a workload from what a real machine recorded and write it to a file.",
    )
    kinds = command.add_subparsers(metavar="KIND", required=True)
    for add in KINDS:
        add(kinds)


def add_common(kind: argparse.ArgumentParser) -> None:
    """Add the options that all kinds share to the parser of a `kind`."""
    kind.add_argument(
        "--anonymize",
        action="store_true",
        help="replace users, groups, names and paths by keyed hashes, the same in every importer",
    )
    kind.add_argument(
        "--key",
        metavar="FILE",
        help="the secret key of the hashes (default: penstock/anonymize.key in ~/.config, made once)",
    )
    kind.add_argument("--json", action="store_true", help="print what was read as JSON instead of a summary")
    kind.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="ends in .json, .yaml or .parquet; - for standard output"
    )


def finish(options: argparse.Namespace, make: Callable[[], ImportResult]) -> int:
    """Write the workload that `make` returns, and say what was read: on standard error, or as JSON on standard output.

    `options` are those of the command line. Returns the exit code.
    """
    from penstock.api.paths import check_output
    from penstock.model import InputError
    from penstock.model.files import write

    if options.json and options.output == "-":
        raise InputError("json", "the workload goes to standard output; expected a file for -o beside --json")
    check_output(options.output)
    result = make()
    write(result.workload, options.output)
    if options.json:
        emit_json(result.to_dict(), None)
    else:
        for line in result.summary():
            sys.stderr.write(f"{line}\n")
    return 0


KINDS: tuple[Callable[[Any], None], ...] = ()
"""What adds the parser of each kind."""
