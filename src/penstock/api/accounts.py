"""`penstock.import_slurm` and `penstock.import_swf`: the jobs of a batch system become a workload."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any, Final

from penstock.api.generating import parsed
from penstock.api.importing import ImportResult
from penstock.api.logs import LogOptions, MachineChoice, darshan_records
from penstock.model import InputError
from penstock.workloads.generators import GENERATORS, SwfFromPath, measures
from penstock.workloads.importers.accounting import named_after_programs, read_accounting
from penstock.workloads.importers.anonymize import Anonymizer
from penstock.workloads.importers.darshan import DarshanChoice
from penstock.workloads.importers.job_io import IoModel, with_io
from penstock.workloads.importers.job_records import Bandwidths, JobRecord
from penstock.workloads.importers.slurm_formats import AccountingChoice
from penstock.workloads.parameters import require_seed
from penstock.workloads.swf import (
    GROUP,
    NUMBER,
    RUN,
    SUBMIT,
    USER,
    WAIT,
    WALL_TIME,
    SwfJobs,
    SwfTrace,
    jobs_of,
    read_swf,
    stream,
)

Path = str | os.PathLike[str]


def import_slurm(
    path: Path,
    *,
    darshan: Path | Sequence[Path] | None = None,
    time_zone: str | None = None,
    unfinished: str = "so-far",
    cores_per_node: int = 0,
    release: str = "start",
    without_log: str = "model",
    iterations: int = 10,
    io_fraction: float = 0.1,
    io_sigma: float = 0.1,
    io_most: float = 0.9,
    seed: int = 1,
    bandwidth: float | str | None = None,
    node_bandwidth: float | str | None = None,
    machine_nodes: int | None = None,
    platform: Path | None = None,
    alone: float | str = 1.0,
    layer: str = "posix",
    source: str | None = None,
    mount: Sequence[str] = (),
    gap: float | None = None,
    period: bool = False,
    by_file: bool = False,
    ranks_per_node: int | None = None,
    workers: int | None = None,
    dask: str | None = None,
    progress: bool | None = None,
    anonymize: bool = False,
    key: Path | None = None,
) -> ImportResult:
    """Make a workload of Slurm's accounting: what ``penstock import slurm FILE`` writes to a file.

    Args:
        path: the output of ``sacct -P``, ``squeue --json`` or ``sacct --json``, or a file of jobcomp/filetxt, plain or
            ``.gz``; ``-`` is standard input.
        darshan: Darshan logs or folders of them, which are joined by the job id.
        time_zone: of dates without one, such as ``Europe/Berlin``; by default that of this machine.
        unfinished: jobs that run or wait: ``so-far`` keeps what has run, ``requested`` takes the requested time for both,
            ``leave-out`` leaves them out.
        cores_per_node: processors of a node, for accounting without nodes.
        release: whether a job is released at its ``start`` or at its ``submit``.
        without_log: jobs of whose I/O nothing is known: ``model`` likens them to others, ``none`` gives them no I/O,
            ``leave-out`` leaves them out.
        iterations: equal iterations of jobs of which only the bytes are known.
        io_fraction: the part of their run time that is I/O, unless a bandwidth is given.
        io_sigma: standard deviation of that part where it is drawn.
        io_most: the largest such part.
        seed: of what is drawn.
        bandwidth: of the I/O system in bytes/s, or a text with a unit; by default the most that the jobs moved together.
        node_bandwidth: of one node, likewise; by default not limited.
        machine_nodes: nodes of the machine; by default the most that the jobs had at one time.
        platform: a workload file whose platform is taken.
        alone: by which factor a job's I/O is faster when it has the machine for itself, or ``largest``.
        layer: what is taken from the logs, as for `penstock.import_darshan`.
        source: likewise.
        mount: likewise.
        gap: likewise.
        period: likewise.
        by_file: likewise.
        ranks_per_node: likewise.
        workers: how the logs are read, as for `penstock.import_darshan`.
        dask: likewise.
        progress: likewise.
        anonymize: whether to hash users, groups, names and paths.
        key: the file of the key of the hashes.

    Returns:
        The workload, its jobs, and what was counted.

    Raises:
        InputError: if the file is none of these, no job is left, or an option is out of range.

    Example:
        >>> import penstock, tempfile
        >>> rows = ["JobID|User|Start|Elapsed|NNodes|TRESUsageInTot|TRESUsageOutTot",
        ...         "7|ann|2026-03-01T10:00:00|01:00:00|4||",
        ...         "7.0||2026-03-01T10:00:00|01:00:00|4|fs/disk=1000000|fs/disk=9000000"]
        >>> with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        ...     print(*rows, sep=chr(10), file=file, flush=True)
        ...     made = penstock.import_slurm(file.name)
        >>> made.workload.applications[0].nodes, made.jobs[0].phases.total()
        (4, (1000000.0, 9000000.0))
    """
    machine = MachineChoice(platform, bandwidth, node_bandwidth, machine_nodes)
    sizes = machine.sizes
    model = IoModel(iterations, io_fraction, io_sigma, io_most, without_log, *sizes, seed=require_seed(seed, "seed"))
    bandwidths = Bandwidths.of(alone)
    hide = Anonymizer.from_file(key) if anonymize else None
    options = LogOptions(layer, source, mount, gap, period, by_file, ranks_per_node, workers, dask, progress)
    accounting = read_accounting(os.fspath(path), AccountingChoice(time_zone, unfinished, cores_per_node))
    records, counts = _fitting(accounting.records, sizes[2])
    logs, failures = _logs(darshan, options)
    made = with_io(records, logs, model)
    jobs = _hidden(made.records, hide)
    workload, notes = machine.workload(jobs, bandwidths, release, made.platform)
    if sizes[2] is None:
        notes.append(f"platform: {workload.platform.nodes:,} nodes, the most that the jobs had at one time; --machine-nodes")
    return ImportResult(
        "slurm",
        workload,
        tuple(jobs),
        {**accounting.counts, **counts, **made.counts},
        _failures([*accounting.failures, *failures], hide),
        (*made.notes, *notes),
    )


def _logs(darshan: Path | Sequence[Path] | None, options: LogOptions) -> tuple[list[JobRecord], list[tuple[str, str]]]:
    """The jobs of Darshan logs, and the logs that cannot be read; none if no logs are given."""
    if darshan is None:
        if options.choice != DarshanChoice():
            raise InputError("darshan", "is not given, but what to take from logs is; expected logs or folders of logs")
        return [], []
    records, failures, _ = darshan_records(darshan, options)
    return records, failures


def import_swf(
    path: Path,
    *,
    darshan: Path | Sequence[Path] | None = None,
    without_log: str = "model",
    seed: int = 1,
    anonymize: bool = False,
    key: Path | None = None,
    workers: int | None = None,
    dask: str | None = None,
    progress: bool | None = None,
    **parameters: Any,
) -> ImportResult:
    """Make a workload of a trace in the Standard Workload Format: what ``penstock import swf TRACE`` writes to a file.

    A trace says nothing about I/O, which is drawn, as `penstock.generate` does for the kind ``swf``. With logs it is that of
    the logs, and jobs without a log are likened to those with one, as for `import_slurm`.

    Args:
        path: the trace, plain or ``.gz``.
        darshan: Darshan logs or folders of them, which are joined by the number of the job.
        without_log: with logs, what becomes of jobs without: ``model``, ``none`` or ``leave-out``.
        seed: of what is drawn.
        anonymize: whether to hash users, groups and paths.
        key: the file of the key of the hashes.
        workers: how the logs are read, as for `penstock.import_darshan`.
        dask: likewise.
        progress: likewise.
        **parameters: as for `penstock.generate`: ``since``, ``duration``, ``release``, ``nodes`` and so on; with logs also
            what is taken from them: ``layer``, ``source``, ``mount``, ``gap``, ``period``, ``by_file``, ``ranks_per_node``.

    Returns:
        The workload, and what was counted; without logs it has no records of jobs.

    Raises:
        InputError: if the file is no trace, no job is left, or a parameter is out of range.

    Example:
        >>> import penstock, tempfile
        >>> job = "1 0 5 3600 16 -1 -1 16 7200 -1 1 1 1 -1 -1 -1 -1 -1"  # 16 processors for an hour
        >>> with tempfile.NamedTemporaryFile("w", suffix=".swf") as file:
        ...     print("; MaxNodes: 64", job, sep=chr(10), file=file, flush=True)
        ...     made = penstock.import_swf(file.name, bandwidth="10 GB/s")
        >>> made.workload.applications[0].requested, made.counts["jobs kept"]
        (7200.0, 1)
    """
    of_logs: dict[str, Any] = {name: parameters.pop(name) for name in _OF_LOGS if name in parameters}
    options = LogOptions(**of_logs, workers=workers, dask=dask, progress=progress)
    chosen: SwfFromPath = parsed(GENERATORS["swf"], {**parameters, "path": path})
    require_seed(seed, "seed")
    logs, failures = _logs(darshan, options)
    if logs:
        return _trace_with_logs(chosen, logs, failures, without_log, seed, Anonymizer.from_file(key) if anonymize else None)
    made = stream(chosen.path, chosen, seed)
    workload = made.workload
    if anonymize:
        hide = Anonymizer.from_file(key).hide
        hidden = (
            replace(application, user=hide("user", application.user), group=hide("group", application.group))
            for application in workload.applications
        )
        workload = replace(workload, applications=tuple(hidden))
    notes = (measures(workload), "100.0% of the I/O rests on a model: it is drawn")
    return ImportResult("swf", workload, (), _counts(made.jobs), (), notes)


_OF_LOGS: Final = frozenset(one.name for one in fields(LogOptions) if one.init) - {"workers", "dask", "progress"}
"""What is asked of Darshan logs."""


def _counts(jobs: SwfJobs) -> dict[str, int]:
    """What became of the lines of a trace."""
    reasons = {f"left out, {reason}": count for reason, count in jobs.left_out.items()}
    repaired = {f"kept, {reason}": count for reason, count in jobs.put_right.items()}
    return {"lines": jobs.lines, "jobs kept": len(jobs.names), **reasons, **repaired}


def _trace_with_logs(
    chosen: SwfFromPath,
    logs: Sequence[JobRecord],
    failures: Sequence[tuple[str, str]],
    without_log: str,
    seed: int,
    hide: Anonymizer | None,
) -> ImportResult:
    """The jobs of a trace with the I/O of their logs."""
    trace = read_swf(chosen.path)
    jobs = jobs_of(trace, chosen, chosen.path)
    bandwidth = None if chosen.bandwidth == 1.0 else chosen.bandwidth  # 1 is the link as the unit of what is drawn
    machine = MachineChoice(None, bandwidth, chosen.node_bandwidth or None, jobs.nodes)
    parts = (chosen.iterations, chosen.io_fraction, chosen.io_sigma, chosen.io_most)
    made = with_io(_traced(trace, jobs, chosen.path), logs, IoModel(*parts, without_log, *machine.sizes, seed=seed))
    records = made.records if hide is None else [hide.record(record) for record in made.records]
    workload, notes = machine.workload(records, Bandwidths(), chosen.release, made.platform)
    counts = {**_counts(jobs), **made.counts}
    return ImportResult("swf", workload, tuple(records), counts, _failures(failures, hide), (*made.notes, *notes))


def _traced(trace: SwfTrace, jobs: SwfJobs, path: str) -> list[JobRecord]:
    """The jobs of a trace as records. The trace must say when it begins, as logs have dates."""
    begin = trace.number("UnixStartTime")
    if begin is None:
        raise InputError(path, "the header has no UnixStartTime; expected it, as logs are joined by job and date")
    columns = trace.columns[jobs.places]
    starts = begin + columns[:, SUBMIT] + columns[:, WAIT].clip(0.0)
    rows = zip(jobs.names, columns.tolist(), starts.tolist(), jobs.sizes.tolist(), strict=True)
    return [
        JobRecord(
            *(f"{row[NUMBER]:.0f}", start, start + row[RUN], name, size),
            user=f"user-{row[USER]:.0f}" if row[USER] >= 0.0 else None,
            group=f"group-{row[GROUP]:.0f}" if row[GROUP] >= 0.0 else None,
            submit=begin + row[SUBMIT],
            requested=row[WALL_TIME] if row[WALL_TIME] > 0.0 else None,
        )
        for name, row, start, size in rows
    ]


def _fitting(records: Sequence[JobRecord], nodes: int | None) -> tuple[list[JobRecord], dict[str, int]]:
    """The jobs that fit on a machine of so many `nodes`, and how many do not."""
    kept = [record for record in records if nodes is None or (record.nodes or 1) <= nodes]
    left_out = len(records) - len(kept)
    return kept, {f"left out, larger than the machine of {nodes:,} nodes": left_out} if left_out else {}


def _hidden(records: Sequence[JobRecord], anonymizer: Anonymizer | None) -> list[JobRecord]:
    """The records with names after their programs; without users, names and paths if there is an `anonymizer`."""
    shown = records if anonymizer is None else [anonymizer.record(record) for record in records]
    return list(named_after_programs(shown))


def _failures(failures: Sequence[tuple[str, str]], anonymizer: Anonymizer | None) -> tuple[tuple[str, str], ...]:
    """The failures; with an `anonymizer` without paths and without the values that cannot be read."""
    if anonymizer is None:
        return tuple(failures)
    lines = ("line ", "jobs[")
    return tuple(
        (place if place.startswith(lines) else str(anonymizer.hide("path", place)), "cannot be read")
        for place, _ in failures
    )
