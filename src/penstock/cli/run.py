"""``penstock run -- COMMAND``: coordinate a program that is not changed, and tell at its end what was seen."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from penstock.cli.output import after_dashes, emit_json

LONGEST_FOLDER: Final = 80
"""Bytes of the path of a folder, in which the name of a socket still has room."""

if TYPE_CHECKING:
    from penstock.native.hub import Hub
    from penstock.native.launch import Options
    from penstock.native.records import ProcessRecord


def configure(commands: Any) -> None:
    """Add the command to `commands`, the subparsers of ``penstock``."""
    command = commands.add_parser(
        "run",
        help="coordinate an unchanged program",
        description="Run a program whose reads and writes below the mounts the coordinator paces. "
        "Programs that it starts are coordinated, too. Without a coordinator it runs as ever. At its end a summary goes to "
        "standard error.",
    )
    command.add_argument(
        "--mount", metavar="DIR", type=Path, action="append", help="watch files below DIR (shared file systems, else here)"
    )
    command.add_argument("--name", help="name of the job (Slurm's, else that of the program)")
    command.add_argument("--nodes", metavar="N", type=int, help="nodes of the job (Slurm's, else 1)")
    command.add_argument("--bandwidth", metavar="B", help='the most that it can use, such as "2 GB/s"')
    command.add_argument("--gap", metavar="T", help="time without I/O that ends a phase (1 s)")
    command.add_argument("--socket", metavar="ADDRESS", help="where the coordinator is")
    command.add_argument("--each", action="store_true", help="count each process as an application (all together are one)")
    command.add_argument("--trace", metavar="FILE", help="only record: write the phases as a workload file; no coordinator")
    command.add_argument(
        "--records",
        metavar="DIR",
        type=Path,
        help="folder that all nodes reach, to count ranks on other nodes, too (TMPDIR)",
    )
    command.add_argument("--dry-run", action="store_true", help="print the environment and run nothing")
    command.add_argument("--quiet", action="store_true", help="no summary at the end")
    command.add_argument("--json", metavar="FILE", help="write the summary as JSON; - for standard error")
    command.add_argument("program", metavar="COMMAND", nargs=argparse.REMAINDER, help="program and its arguments, after --")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the command with these `options`; the exit code is that of the program."""
    from penstock.api.paths import check_output
    from penstock.model.files import SUFFIXES
    from penstock.native import launch
    from penstock.native.records import read_records, summary

    told = _options(options)
    sys.stderr.writelines(f"penstock run: {doubt}\n" for doubt in told.doubts())
    if options.dry_run:
        named = options.program[options.program[:1] == ["--"] :]
        for name, value in launch.environment(told, None, {}, named).items():
            print(f"export {name}={shlex.quote(value)}")
        return 0
    program = after_dashes("run", options.program)
    check_output(options.trace, SUFFIXES)
    check_output(options.json)
    _warn(program)
    with _folder(_near()) as near, _folder(options.records) as folder:
        variables = launch.environment(told, folder, command=program, hub=near / "job")
        with _hub(told, variables.get("PENSTOCK_JOB_SOCKET"), program[0]) as hub:
            code = launch.run(program, variables)
        records, unseen = read_records(folder), launch.unseen_programs(folder)
    document = summary(records)
    document["unseen"]["programs"] = unseen
    if hub is not None and hub.used:  # its processes saw the hub only
        document["coordinated"] *= hub.coordinated
        document["outages"] += hub.outages
    _finish(options, told.bandwidth, records, document)
    return code


def _near() -> Path | None:
    """The folder below which the socket of the hub is: None for the usual one, if the path of a socket may be as long."""
    import tempfile

    return None if len(os.fsencode(tempfile.gettempdir())) <= LONGEST_FOLDER else Path("/tmp")  # noqa: S108


@contextmanager
def _folder(below: Path | None) -> Iterator[Path]:
    """A folder for the time of the run, below this one or, if None, the usual one."""
    from tempfile import TemporaryDirectory

    from penstock.model import InputError

    try:
        folder = TemporaryDirectory(prefix="penstock-run-", dir=below, ignore_cleanup_errors=True)
    except OSError as error:
        expected = "room below TMPDIR" if below is None else "a folder of yours with room in it"
        raise InputError("run", f"no folder for records: {error}; expected {expected}") from None
    with folder as name:
        yield Path(name).absolute()


def _hub(told: Options, path: str | None, command: str) -> AbstractContextManager[Hub | None]:
    """The hub that makes one application of all processes of the `command`, at this `path`; None if it is not wanted."""
    if not path:
        return nullcontext()
    from penstock.native.hub import Hub

    return Hub(Path(path), command, name=told.name, nodes=told.nodes, bandwidth=told.bandwidth, address=told.socket)


def _warn(program: list[str]) -> None:
    """Say what will not be seen of the program, or not as what it is."""
    from penstock.native.launch import mpi_family, unseen_because
    from penstock.native.libraries import mpi_libraries

    reason = unseen_because(program[0])
    if reason:
        sys.stderr.write(f"penstock run: its I/O is not seen: {reason}\n")
    family = mpi_family(program)
    if family is not None and family not in mpi_libraries():
        sys.stderr.write(
            f"penstock run: no library for its MPI ({family}), so each rank counts as a program of its own; "
            "expected one from `penstock native build --mpicc mpicc`\n"
        )


def _options(options: argparse.Namespace) -> Options:
    from penstock.model import parse_units
    from penstock.native.launch import Options

    return Options(
        mounts=tuple(options.mount or ()),
        name=options.name,
        nodes=options.nodes,
        bandwidth=parse_units.bandwidth(options.bandwidth, "--bandwidth") if options.bandwidth else None,
        gap=parse_units.seconds(options.gap, "--gap") if options.gap else None,
        socket=options.socket,
        observe=options.trace is not None,
        each=options.each,
    )


def _finish(
    options: argparse.Namespace, bandwidth: float | None, records: list[ProcessRecord], document: dict[str, Any]
) -> None:
    """Write the trace and the summaries. What cannot be written is said: the exit code is the program's."""
    from penstock.model import InputError

    for each in (partial(_trace, options, bandwidth, records), partial(_tell, options, document)):
        try:
            each()
        except (InputError, OSError) as error:
            sys.stderr.write(f"penstock run: {error}\n")


def _trace(options: argparse.Namespace, bandwidth: float | None, records: list[ProcessRecord]) -> None:
    """Write the trace, if it is wanted; its B is the `bandwidth`, else the largest rate seen."""
    from penstock.model.files import write
    from penstock.native.records import as_workload, job_name, largest_rate

    if options.trace is None:
        return
    job = None if options.each else options.name or job_name(records, after_dashes("run", options.program)[0])
    bandwidth = bandwidth or largest_rate(records, together=not options.each)
    write(as_workload(records, bandwidth, nodes=options.nodes or 1, job=job), options.trace)


def _tell(options: argparse.Namespace, document: dict[str, Any]) -> None:
    if options.json is not None and options.json != "-":
        emit_json(document, options.json)
    elif options.json is not None:
        import json

        sys.stderr.write(json.dumps(document) + "\n")
    elif not options.quiet:
        sys.stderr.writelines(f"penstock run: {line}\n" for line in _sentences(document))


def _sentences(document: dict[str, Any]) -> list[str]:
    """The summary in words."""
    from penstock.report.format_units import duration, volume

    programs = [f"not seen: {reason}" for reason in document["unseen"]["programs"]]
    if not document["processes"]:
        return ["no program read or wrote a watched file", *programs]
    moved = f"{volume(document['written'])} written and {volume(document['read'])} read"
    many = f"{_count(document['phases'], 'phase')} by {_count(document['processes'], 'process', 'es')}"
    lines = [f"{moved} in {many}, {duration(document['waited'])} waited"]
    if not document["coordinated"]:
        lines.append("no coordinator took part")
    elif document["outages"]:
        lines.append(f"went on without the coordinator {_count(document['outages'], 'time')}")
    words = {"mapped": "files mapped for writing", "io_uring": "uses of io_uring", "libaio": "uses of libaio"}
    unseen = [f"{document['unseen'][kind]} {named}" for kind, named in words.items() if document["unseen"][kind]]
    if unseen:
        lines.append(f"not seen: {', '.join(unseen)}")
    return lines + programs


def _count(number: int, what: str, ending: str = "s") -> str:
    """So many of something, in words."""
    return f"{number} {what}{'' if number == 1 else ending}"
