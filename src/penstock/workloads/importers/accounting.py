"""Slurm's accounting: ``sacct -P``, ``squeue --json`` and job completion text become one record for each run of a job.

A line of accounting is an `Entry`: a run of a job, or one of its steps. Entries become records in three steps:

- **steps** are added to the run of their job: the bytes of a job are the sum over its steps, which alone carry
  ``TRESUsageInTot`` (read) and ``TRESUsageOutTot`` (written);
- **runs**: a job that was requeued has one id and several starts, and each run that had nodes is a record. The same id with
  the same start is the same run, listed twice; the later line counts. Every task of an array is a job;
- **times**: a run lasts for what ``Elapsed`` says, which is right where the clock was changed, in the hour that a zone
  repeats in autumn, and where the job was suspended. Without it, from start to end. Dates without a zone are local times.

What is left out or put right is counted by reason; a line that cannot be read is counted and named.
"""

from __future__ import annotations

import gzip
import io
import itertools
import math
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final, TextIO

from penstock.model import InputError
from penstock.workloads.importers.job_records import JobRecord
from penstock.workloads.importers.slurm_formats import COMMAND, AccountingChoice, Entry, Reading, read_entries
from penstock.workloads.importers.slurm_values import Unreadable, numbers_of


@dataclass
class Accounting:
    """The records of a file, in the order of the file, and what happened to its lines.

    Attributes:
        records: one for each run, without phases; the bytes of Slurm are its volume ``Slurm``.
        counts: lines and runs by what happened to them.
        failures: lines that cannot be read, the first `MOST_NAMED` of them, and why.
        format: what the file is: ``sacct -P``, ``squeue --json``, ``sacct --json`` or ``jobcomp/filetxt``.
    """

    records: tuple[JobRecord, ...]
    counts: dict[str, int]
    failures: tuple[tuple[str, str], ...]
    format: str


def read_accounting(path: str, choice: AccountingChoice | None = None) -> Accounting:
    """Read a file of Slurm's accounting. A million lines of ``sacct -P`` take about 35 s of processor time.

    Args:
        path: the file, plain or compressed by gzip (``.gz``); ``-`` reads standard input.
        choice: how it is read.

    Raises:
        InputError: if the file is none of the formats, lacks columns, or no line of it can be read.
    """
    chosen = choice or AccountingChoice()
    reading = Reading(chosen, chosen.zone())
    name = "standard input" if path == "-" else path
    try:
        with _opened(path) as file:
            kind = read_entries(file, reading)
    except InputError as error:
        raise error.in_file(name) from None
    except (zlib.error, EOFError, gzip.BadGzipFile):
        raise InputError(name, "is not gzip or ends too early; expected compressed accounting") from None
    except OSError as error:
        raise InputError(name, f"cannot be read: {error.strerror}; expected Slurm's accounting") from None
    if not reading.runs and not reading.steps:
        wrong = f", e.g. {reading.failures[0][0]}: {reading.failures[0][1]}" if reading.failures else ""
        raise InputError(name, f"holds no job that can be read{wrong}; expected jobs, as {COMMAND} prints them")
    return _records(reading, kind)


@contextmanager
def _opened(path: str) -> Iterator[TextIO]:
    """The file as text; bytes that are no UTF-8 are replaced."""
    if path == "-":
        yield sys.stdin
        return
    opened = gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")  # noqa: SIM115
    with io.TextIOWrapper(opened, encoding="utf-8", errors="replace", newline=None) as file:
        yield file


_WAITING: Final = ("PENDING", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT", "RESV_DEL_HOLD", "CONFIGURING")
_RUNNING: Final = ("RUNNING", "SUSPENDED", "STOPPED", "COMPLETING", "RESIZING", "SIGNALING", "STAGE_OUT")


def _records(reading: Reading, kind: str) -> Accounting:
    """One record for each run that is kept, in the order of the file."""
    runs: dict[tuple[tuple[str, str], float | None], Entry] = {}
    for entry in reading.runs:
        if (entry.key, entry.start) in runs or (entry.key, None) in runs:
            # Or a job that waited in an earlier output, and ran in a later one.
            reading.counts["runs listed twice, the later line taken"] += 1
            runs.pop((entry.key, None), None)
        runs[entry.key, entry.start] = entry
    of_job: dict[tuple[str, str], list[Entry]] = {}
    for run in runs.values():
        of_job.setdefault(run.key, []).append(run)
    for same in of_job.values():
        same.sort(key=lambda run: math.inf if run.start is None else run.start)
    _add_steps(reading, of_job)
    clusters = {run.cluster for run in runs.values() if run.cluster}
    records: list[JobRecord] = []
    for run in runs.values():
        number = of_job[run.key].index(run) if len(of_job[run.key]) > 1 else 0
        records += _kept(run, number, reading, len(clusters) > 1)
    reading.counts["jobs kept"] = len(records)
    counts = {name: reading.counts[name] for name in ("lines", "jobs listed", "jobs kept") if name in reading.counts}
    return Accounting(tuple(records), {**counts, **reading.counts}, tuple(reading.failures), kind)


def _add_steps(reading: Reading, of_job: Mapping[tuple[str, str], Sequence[Entry]]) -> None:
    """Add the bytes of the steps to the runs of their jobs; a step belongs to the last run that began before it."""
    for key, start, usage in reading.steps:
        runs = of_job.get(key)
        if runs is None:
            reading.counts["left out, steps of jobs that are not listed"] += 1
            continue
        reading.counts["steps merged into their jobs"] += 1
        if usage is None:
            reading.counts["steps of which Slurm has no bytes"] += 1
            continue
        begun = [run for run in runs if run.start is not None and run.start <= start]
        run = max(begun, key=lambda one: one.start or 0.0) if begun else runs[-1]
        read, written = run.usage or (0.0, 0.0)
        run.usage = read + usage[0], written + usage[1]


def _kept(run: Entry, number: int, reading: Reading, several_clusters: bool) -> Iterator[JobRecord]:
    """The records of a run; none if it is left out, several for tasks of an array that wait together."""
    tasks = _tasks(run)
    reason, finished = _times(run, reading)
    if reason:
        reading.counts[reason] += len(tasks)
        return
    start, end = finished
    if number:
        reading.counts["later runs of requeued jobs, each kept as a job"] += 1
    for label in tasks:
        shown = f"{run.cluster}-{label}" if several_clusters and run.cluster else label
        yield JobRecord(
            job_id=run.raw if label == run.label else label,
            start=start,
            end=end,
            name=f"job-{shown}" + (f"-run{number + 1}" if number else ""),
            nodes=run.nodes,
            user=run.user,
            group=run.account,
            program=run.name,
            submit=run.submit,
            requested=run.requested,
            ended=not _under_way(run),
            volumes={} if run.usage is None else {"Slurm": run.usage},
        )


def _tasks(run: Entry) -> list[str]:
    """The ids of the tasks of an array that wait in one line, as ``17_[1-4%2]``; else the id of the job."""
    job, bracket, numbers = run.label.partition("_[")
    if not bracket:
        return [run.label]
    try:
        return [f"{job}_{number}" for number in itertools.islice(numbers_of(numbers.rstrip("]")), 100_000)] or [job]
    except Unreadable:  # Slurm shortens long lists by "..."
        return [job]


def _times(run: Entry, reading: Reading) -> tuple[str, tuple[float, float]]:
    """Why a run is left out, or when it starts and ends."""
    if _under_way(run):
        reason, times = _unfinished(run, reading, _waits(run))
    else:
        reason, times = _finished(run, reading)
    if not reason and run.nodes is None:
        reason = "left out, without nodes"
    if not reason and not times[1] > times[0]:
        reason = "left out, ran for 0 s"
    return reason, times


def _waits(run: Entry) -> bool:
    return run.state in _WAITING or (run.start is None and run.end is None and not run.state)


def _under_way(run: Entry) -> bool:
    """Whether the job waits or runs, so that its end is not known."""
    return _waits(run) or run.state in _RUNNING or (run.end is None and run.start is not None and not run.elapsed)


def _finished(run: Entry, reading: Reading) -> tuple[str, tuple[float, float]]:
    never = "left out, cancelled while they waited"
    if run.start is None or (run.state == "CANCELLED" and run.end is not None and run.end <= run.start):
        return never, (0.0, 0.0)
    if run.elapsed is not None:
        if run.end is not None and abs(run.end - run.start - run.elapsed) > 1.5:
            reading.counts["end and elapsed time differ (suspended, or a clock was set), elapsed taken"] += 1
        return "", (run.start, run.start + run.elapsed)
    if run.end is None:
        return "left out, without an end", (0.0, 0.0)
    if run.end < run.start:
        return "left out, end before start (a clock was set)", (0.0, 0.0)
    return "", (run.start, run.end)


def _unfinished(run: Entry, reading: Reading, waits: bool) -> tuple[str, tuple[float, float]]:
    """What becomes of a job that runs or waits."""
    choice, state = reading.choice.unfinished, "waiting" if waits else "running"
    now = reading.now if math.isfinite(reading.now) else 0.0
    if choice == "leave-out" or (waits and choice == "so-far"):
        return f"left out, {state}", (0.0, 0.0)
    if choice == "requested" and run.requested is None:
        return f"left out, {state} and no time requested", (0.0, 0.0)
    if waits:
        reading.counts["waiting, taken to start when the file was made and to last as requested"] += 1
        return "", (now, now + (run.requested or 0.0))
    if run.start is None:
        return "left out, running since an unknown date", (0.0, 0.0)
    if choice == "requested":
        reading.counts["running, taken to last as requested"] += 1
        return "", (run.start, run.start + (run.requested or 0.0))
    reading.counts["running, taken as far as they came"] += 1
    return "", (run.start, run.start + run.elapsed if run.elapsed is not None else max(now, run.start))


def named_after_programs(records: Iterable[JobRecord]) -> tuple[JobRecord, ...]:
    """The `records` with names such as ``climate-123`` in place of ``job-123``, where the name of the job is known."""
    return tuple(
        replace(record, name=f"{record.program}-{record.name.removeprefix('job-')}") if record.program else record
        for record in records
    )
