"""``penstock testbed``: make a store of a given bandwidth on this machine, for live runs."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.cli.output import add_json, after_dashes, emit_json, print_table

if TYPE_CHECKING:
    from penstock.testbed.system import BedRecord


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "testbed",
        help="make a store of a given bandwidth on this machine",
        description="Make a store of a given bandwidth on this machine, as root: an ext4 on a loop device, limited by one "
        "cgroup (v1, blkio) that the applications join. `down` removes what `up` made and nothing else.",
    )
    orders = command.add_subparsers(dest="order", metavar="ORDER", required=True)
    up = orders.add_parser("up", help="make a test bed and mount it at DIR")
    up.add_argument("directory", metavar="DIR", type=Path, help="an empty directory, or one to make")
    up.add_argument("--bandwidth", metavar="B", default="40 MiB/s", help="bandwidth of reads and of writes")
    up.add_argument("--size", metavar="S", default="1 GiB", help="how much it holds; it takes up disk space as it fills")
    down = orders.add_parser("down", help="remove a test bed")
    down.add_argument("directory", metavar="DIR", type=Path, help="where it is mounted")
    status = orders.add_parser("status", help="list the test beds")
    status.add_argument("directory", metavar="DIR", type=Path, nargs="?", help="only the test bed mounted here")
    add_json(status)
    inside = orders.add_parser("run", help="run a program whose I/O on the test bed is limited")
    inside.add_argument("directory", metavar="DIR", type=Path, help="where it is mounted")
    inside.add_argument("program", metavar="COMMAND", nargs=argparse.REMAINDER, help="program and its arguments, after --")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command with the `options` of the command line; returns the exit code."""
    return _ORDERS[options.order](options)


def _up(options: argparse.Namespace) -> int:
    from penstock.report.format_units import rate
    from penstock.testbed import bed

    made = bed.up(options.directory, options.bandwidth, options.size)
    sys.stderr.write(f"penstock testbed: {made.directory} carries {rate(made.bandwidth)} ({made.device.path})\n")
    return 0


def _down(options: argparse.Namespace) -> int:
    from penstock.testbed import bed

    if not bed.down(options.directory):
        sys.stderr.write(f"penstock testbed: there is none at {options.directory}\n")
    return 0


def _status(options: argparse.Namespace) -> int:
    import os

    from penstock.testbed import system

    known = system.read_records(system.folder_of_beds())
    if options.directory is not None:
        place = os.path.realpath(options.directory)
        known = [one for one in known if one.directory == place]
    documents = [_document(one) for one in known]
    if options.json or options.output:
        emit_json(documents, options.output)
    elif documents:
        _print(documents)
    else:
        print("no test bed")
    return 0


def _document(known: BedRecord) -> dict[str, Any]:
    from penstock.testbed import bed, system

    loops = system.loops_of(Path(known.image))
    return {
        "directory": known.directory,
        "condition": bed.condition(known),
        "bandwidth": known.bandwidth,
        "size": known.size,
        "device": str(loops[0].path) if loops else None,
        "image": known.image,
        "group": known.group,
        "processes": system.members(Path(known.group)),
    }


def _print(documents: list[dict[str, Any]]) -> None:
    from penstock.report.format_units import rate, volume

    columns = {
        "directory": [one["directory"] for one in documents],
        "condition": [one["condition"] for one in documents],
        "device": [one["device"] or "–" for one in documents],
        "carries": [rate(one["bandwidth"]) for one in documents],
        "holds": [volume(one["size"]) for one in documents],
        "processes": [str(len(one["processes"])) for one in documents],
    }
    print_table(columns, wide=("condition",))


def _run(options: argparse.Namespace) -> int:
    import os

    from penstock.testbed import bed

    program = after_dashes("testbed run", options.program)
    command = bed.find(options.directory).inside(program)
    os.execv(command[0], command)  # noqa: S606


_ORDERS = {"up": _up, "down": _down, "status": _status, "run": _run}
