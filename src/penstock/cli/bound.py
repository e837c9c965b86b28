"""``penstock bound FILE``: upper bounds on min-yield and efficiency for any schedule of a workload."""

from __future__ import annotations

import argparse
from typing import Any

from penstock.cli.output import FILE_HELP, add_json, add_placement, console, emit_json, print_placement, watch
from penstock.cli.used_fields import Case, note_unused

MOST_PIECES = 10_000


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "bound",
        help="print upper bounds on min-yield and efficiency",
        description="Upper bounds on the min-yield and the efficiency of a workload: no schedule, even one that knows the "
        "future, has more. On I/O resources they are those of a placement.",
    )
    command.add_argument("file", metavar="FILE", help=FILE_HELP)
    command.add_argument(
        "--pieces",
        metavar="N",
        type=_pieces,
        default=8,
        help="cut an operation of an application that cannot fill the link into N pieces: more take longer, and the bound "
        "is a little lower (default: 8)",
    )
    add_placement(command)
    add_json(command)
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    from penstock.api.paths import check_output
    from penstock.api.runs import bounds

    check_output(options.output)
    found = bounds(options.file, options.pieces, options.placement, allocation=options.allocation, watch=watch)
    note_unused("bound", Case.of(found.workload, (), found.placed))
    if options.json or options.output:
        emit_json(found.to_dict(), options.output)
        return 0
    from penstock.report import bounds_table

    console().print(bounds_table(found))
    print_placement(found.placed)
    return 0


def _pieces(text: str) -> int:
    try:
        pieces = int(text)
    except ValueError:
        pieces = 0
    if not 1 <= pieces <= MOST_PIECES:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a number of pieces; expected a whole number from 1 to {MOST_PIECES:,}"
        )
    return pieces
