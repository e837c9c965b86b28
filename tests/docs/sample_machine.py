"""A day of a small machine that is made up: what sacct would print, and the Darshan logs of some of its jobs.

``python -m tests.docs.sample_machine DIR`` writes both for a reader of the tutorial; the tests of the tutorial use them.

The machine has 64 nodes, and its I/O system carries 20 GB/s. Jobs run in lanes of nodes, one after the other.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.workloads.importers.logs import Log

MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC).timestamp()
COLUMNS = (
    "JobID|JobIDRaw|JobName|User|Account|State|Submit|Start|End|Elapsed|Timelimit|NNodes|NTasks"
    "|TRESUsageInTot|TRESUsageOutTot"
)


@dataclass(frozen=True)
class Kind:
    """Jobs that are alike: `minutes` of work, then `terabytes` in `seconds`, again and again."""

    name: str
    user: str
    account: str
    nodes: int
    hours: float
    minutes: float
    terabytes: float
    seconds: float
    direction: str
    known: str
    """What is known of the I/O: of the job's log (l), of Slurm (s), nothing (-); by job, over and over."""


LANES = (
    (Kind("plasma", "eve", "fusion", 32, 3.0, 10.0, 6.0, 330.0, "write", "l--s"),),
    (Kind("climate", "ann", "earth", 16, 2.0, 9.0, 1.5, 180.0, "write", "ll-s"),),
    (
        Kind("genome", "bob", "bio", 8, 1.5, 1.5, 0.25, 45.0, "read", "l-s-"),
        Kind("assembly", "bob", "bio", 8, 2.5, 4.0, 0.4, 60.0, "read", "-"),
    ),
    (Kind("chemistry", "kim", "materials", 8, 4.0, 25.0, 0.5, 70.0, "write", "-s"),),
)


@dataclass(frozen=True)
class Job:
    """A job that ran."""

    number: int
    kind: Kind
    known: str
    submit: float
    start: float
    seconds: float
    operations: tuple[tuple[float, float, int], ...]


def jobs() -> Iterator[Job]:
    """The jobs of the day, lane by lane."""
    random_numbers = random.Random(7)
    number = 4700
    for lane in LANES:
        date, turn = MIDNIGHT + 60.0 * random_numbers.randrange(20), 0
        while date < MIDNIGHT + 86_400.0:
            kind = lane[turn % len(lane)]
            seconds = float(round(kind.hours * 3600.0 * random_numbers.uniform(0.85, 1.1)))
            submit = date - 60.0 * random_numbers.randrange(5, 180)
            known = kind.known[turn // len(lane) % len(kind.known)]
            yield Job(number, kind, known, submit, date, seconds, tuple(_operations(kind, seconds, random_numbers)))
            number += random_numbers.randrange(1, 9)
            date += seconds + 60.0 * random_numbers.randrange(8, 20)
            turn += 1


def _operations(kind: Kind, seconds: float, random_numbers: random.Random) -> Iterator[tuple[float, float, int]]:
    """Start, end and bytes of each burst."""
    at, amount = 60.0 * kind.minutes * random_numbers.uniform(0.9, 1.1), random_numbers.uniform(0.6, 1.2) * kind.terabytes
    while at + 1.2 * kind.seconds < seconds:
        lasting = kind.seconds * random_numbers.uniform(0.9, 1.2)
        yield round(at, 3), round(at + lasting, 3), round(amount * 1e6) * 1_000_000
        at += lasting + 60.0 * kind.minutes


def accounting() -> str:
    """What ``sacct -P`` prints, with two jobs that did not run."""
    lines = [COLUMNS]
    for job in sorted(jobs(), key=lambda job: job.number):
        dates = "|".join(_date(date) for date in (job.submit, job.start, job.start + job.seconds))
        head = f"{job.kind.account}|COMPLETED|{dates}|{_time(job.seconds)}"
        name, nodes = f"{job.kind.name}_{job.number % 10}", job.kind.nodes
        lines.append(f"{job.number}|{job.number}|{name}|{job.kind.user}|{head}|{_time(1.5 * job.seconds)}|{nodes}|||")
        amount = sum(row[2] for row in job.operations)
        read, written = (amount, 40_000_000) if job.kind.direction == "read" else (3_000_000_000, amount)
        usage = f"energy=0,fs/disk={read},mem=9G|energy=0,fs/disk={written}" if job.known == "s" else "energy=0|energy=0"
        lines.append(f"{job.number}.0|{job.number}.0|{name}||{head}||{nodes}|{8 * nodes}|{usage}")
    noon = _date(MIDNIGHT + 43_200.0)
    lines.append(f"4998|4998|climate_8|ann|earth|CANCELLED by 1007|{noon}|Unknown|{noon}|00:00:00|03:00:00|16|||")
    lines.append(f"4999|4999|plasma_9|eve|fusion|PENDING|{noon}|Unknown|Unknown|00:00:00|04:30:00|32|||")
    return "\n".join(lines) + "\n"


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest:02}"


def make(folder: Path) -> None:
    """Write ``sacct.txt`` and ``logs`` into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "logs").mkdir(exist_ok=True)
    (folder / "sacct.txt").write_text(accounting())
    for job in jobs():
        if job.known == "l":
            writes, reads = (job.operations, ()) if job.kind.direction == "write" else ((), job.operations)
            file = f"/scratch/{job.kind.name}"
            counters = {"BYTES_WRITTEN": sum(row[2] for row in writes), "BYTES_READ": sum(row[2] for row in reads)}
            log = Log(job_id=job.number, start=job.start, seconds=job.seconds, ranks=8 * job.kind.nodes)
            log.dxt.append(("DXT_POSIX", file, 0, "n1", writes, reads))
            log.counters.append(("POSIX", file, 0, counters))
            log.write(folder / "logs" / f"{job.kind.user}_{job.kind.name}_id{job.number}.darshan")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
