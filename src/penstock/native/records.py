"""What the libraries wrote about a run: one file of counters and one of phases for each process (see native/posix/record.h).

The counters are in shared memory while a process runs, so nothing is lost when it is killed. Phases are appended when they
end; the phase that was open when a process was killed is in its counters.
"""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from penstock.model import Application, InputError, Platform, Workload

MAGIC: Final = b"PENSTOCK"
VERSION: Final = 1
LAYOUT: Final = struct.Struct("=8sIIII15Q112s")
COORDINATED: Final = 1
RANK: Final = 2
SHORTEST_SECONDS: Final = 1e-6
"""The length of a phase that began and ended at the same microsecond."""


@dataclass(frozen=True)
class Phase:
    """An I/O phase: begin and end in seconds since 1970, bytes read and written, and seconds waited for the coordinator."""

    begin: float
    end: float
    read: int
    written: int
    waited: float = 0.0


@dataclass(frozen=True)
class ProcessRecord:
    """What one process did on the watched mounts."""

    pid: int
    parent: int
    program: str
    begin: float
    coordinated: bool
    read: int
    written: int
    read_calls: int
    write_calls: int
    waited: float
    outages: int
    mapped: int
    """Files that it mapped for writing: their bytes are not seen."""
    rings: int
    """Uses of io_uring: their bytes are not seen."""
    submissions: int
    """Uses of libaio: their bytes are not seen."""
    phases: tuple[Phase, ...] = field(default=(), repr=False)
    rank: bool = False
    """Whether it was a rank of an MPI program."""


def read_records(folder: Path) -> list[ProcessRecord]:
    """The processes that touched a watched file, from the records in `folder`, in the order in which they began.

    Unreadable files are left out.
    """
    found = (_process(path) for path in sorted(folder.glob("*.counters")))
    return sorted((record for record in found if record is not None), key=lambda record: record.begin)


def _process(path: Path) -> ProcessRecord | None:
    try:
        content = path.read_bytes()[: LAYOUT.size]
    except OSError:
        return None
    if len(content) < LAYOUT.size or not content.startswith(MAGIC):
        return None
    _, version, pid, parent, flags, *numbers, program = LAYOUT.unpack(content)
    if version != VERSION:
        return None
    begin, read, written, reads, writes, _, waited, mapped, rings, submissions, outages, *open_phase = numbers
    return ProcessRecord(
        pid=pid,
        parent=parent,
        program=program.partition(b"\0")[0].decode(errors="replace"),
        begin=begin / 1e9,
        coordinated=bool(flags & COORDINATED),
        read=read,
        written=written,
        read_calls=reads,
        write_calls=writes,
        waited=waited / 1e9,
        outages=outages,
        mapped=mapped,
        rings=rings,
        submissions=submissions,
        rank=bool(flags & RANK),
        phases=(*_phases(path.with_suffix(".phases")), *_open_phase(*open_phase)),
    )


def _phases(path: Path) -> Iterable[Phase]:
    """The phases that ended; a line that was cut off is left out."""
    if not path.is_file():
        return
    for line in path.read_text(encoding="ascii", errors="replace").splitlines():
        words = line.split()
        if len(words) == 5:
            yield Phase(float(words[0]), float(words[1]), int(words[2]), int(words[3]), float(words[4]))


def _open_phase(begin: int, read: int, written: int, last: int) -> Iterable[Phase]:
    if begin and (read or written):
        yield Phase(begin / 1e9, max(begin, last) / 1e9, read, written)


def as_workload(records: Iterable[ProcessRecord], bandwidth: float, *, nodes: int = 1, job: str | None = None) -> Workload:
    """Make a workload of what was recorded: one application, or one for each process and for the ranks of each MPI program.

    Args:
        records: What the processes did.
        bandwidth: B of the platform, in bytes/s.
        nodes: The nodes of each application.
        job: The name of the one application that all processes are; None for an application each.

    Returns:
        The applications. The first one is released at 0. The time between two phases is work; a phase reads first and then
        writes.

    Raises:
        InputError: If no process moved a byte.
    """
    moved = [record for record in records if record.phases]
    if not moved:
        raise InputError("trace", "no program read or wrote a watched file; expected --mount DIR with its files below")
    moved = _ranks_together(moved) if job is None else [_together(moved, job)]
    start = min(record.begin for record in moved)
    names = [record.program or "process" for record in moved]
    applications = tuple(
        _application(
            record, record.program if names.count(record.program) == 1 else f"{record.program}-{record.pid}", start, nodes
        )
        for record in moved
    )
    return Workload(Platform(bandwidth), applications)


def _ranks_together(records: list[ProcessRecord]) -> list[ProcessRecord]:
    """The ranks of each MPI program as one record, with the times at which any of them was in a phase."""
    ranks: dict[str, list[ProcessRecord]] = {}
    for record in records:
        if record.rank:
            ranks.setdefault(record.program, []).append(record)
    together = [_together(group, program) for program, group in ranks.items()]
    return sorted([record for record in records if not record.rank] + together, key=lambda record: record.begin)


def _together(group: list[ProcessRecord], name: str) -> ProcessRecord:
    """The processes as one of this name, which begins with the first of them."""
    begin = min(one.begin for one in group)
    return replace(group[0], program=name, begin=begin, phases=tuple(_united(one.phases for one in group)))


def _united(chains: Iterable[Iterable[Phase]]) -> list[Phase]:
    """The phases of all chains, those that overlap as one."""
    united: list[Phase] = []
    for phase in sorted((phase for chain in chains for phase in chain), key=lambda phase: phase.begin):
        if united and phase.begin <= united[-1].end:
            last = united.pop()
            read, written = last.read + phase.read, last.written + phase.written
            phase = Phase(last.begin, max(last.end, phase.end), read, written, last.waited + phase.waited)
        united.append(phase)
    return united


def _application(record: ProcessRecord, name: str, start: float, nodes: int) -> Application:
    chain: list[tuple[str, float]] = []
    now = record.begin
    for phase in record.phases:
        if phase.begin > now:
            chain.append(("work", phase.begin - now))
        chain += [(kind, float(size)) for kind, size in (("read", phase.read), ("write", phase.written)) if size]
        now = max(now, phase.end)
    return Application.of(name, chain, nodes=nodes, release=record.begin - start)


def job_name(records: Iterable[ProcessRecord], command: str) -> str:
    """What the processes are called together: the program, if all that moved bytes are one, else the `command`."""
    programs = {record.program for record in records if record.phases}
    return programs.pop() if len(programs) == 1 else Path(command).name


def largest_rate(records: Iterable[ProcessRecord], *, together: bool = False) -> float:
    """The largest mean rate of a phase of the `records`, in bytes/s; 0 if there is none.

    Args:
        records: What the processes did.
        together: Take phases of several processes that overlap as one.
    """
    chains = [record.phases for record in records]
    rates = [
        (phase.read + phase.written) / max(phase.end - phase.begin, SHORTEST_SECONDS)
        for phase in (_united(chains) if together else itertools.chain(*chains))
    ]
    return max(rates, default=0.0)


def summary(records: list[ProcessRecord]) -> dict[str, Any]:
    """Totals over all `records`, and one entry for each process that moved bytes, as ``penstock run --json`` prints them.

    `begin` and `end` of an entry are the dates of its first byte asked for and of its last one moved, in seconds since 1970.
    """
    return {
        "processes": len(records),
        "coordinated": sum(record.coordinated for record in records),
        "read": sum(record.read for record in records),
        "written": sum(record.written for record in records),
        "calls": sum(record.read_calls + record.write_calls for record in records),
        "phases": sum(len(record.phases) for record in records),
        "waited": sum(record.waited for record in records),
        "outages": sum(record.outages for record in records),
        "unseen": {
            "mapped": sum(record.mapped for record in records),
            "io_uring": sum(record.rings for record in records),
            "libaio": sum(record.submissions for record in records),
        },
        "programs": [
            {
                "program": record.program,
                "pid": record.pid,
                "read": record.read,
                "written": record.written,
                "phases": len(record.phases),
                "waited": record.waited,
                "begin": record.phases[0].begin if record.phases else None,
                "end": record.phases[-1].end if record.phases else None,
            }
            for record in records
            if record.read or record.written
        ],
    }
