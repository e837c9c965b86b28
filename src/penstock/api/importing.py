"""What all importers return, and `penstock.import_ior`: what ``penstock import KIND`` writes to a file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from penstock.api.results import Row, Tables
from penstock.model import InputError, Workload
from penstock.model.files import header
from penstock.report.format_units import rate, volume
from penstock.workloads.importers.bandwidths import machine_of, read_measurements
from penstock.workloads.importers.job_records import JobRecord


@dataclass(frozen=True)
class ImportResult(Tables):
    """A workload made from logs, accounting or measurements, and what was read for it.

    Args:
        kind: ``darshan``, ``slurm``, ``swf`` or ``ior``.
        workload: the workload; `penstock.write` writes it to a file.
        jobs: what is known of each job.
        counts: how many files or lines were read, kept and left out, by what happened to them.
        failures: each file or line that could not be used, and why.
        notes: what a reader of the workload must know.
    """

    kind: str
    workload: Workload
    jobs: tuple[JobRecord, ...] = field(repr=False)
    counts: Mapping[str, int]
    failures: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as ``penstock import KIND --json`` prints it."""
        return {
            "kind": self.kind,
            "applications": len(self.workload.applications),
            "platform": header(self.workload)["platform"],
            "counts": dict(self.counts),
            "failures": [{"file": file, "error": error} for file, error in self.failures],
            "notes": list(self.notes),
            "jobs": self._rows(),
        }

    def tables(self) -> dict[str, list[Row]]:
        """The tables by name: ``jobs``, one row for each job, and ``failures``."""
        return {"jobs": self._rows(), "failures": [{"file": file, "error": error} for file, error in self.failures]}

    def summary(self) -> Iterator[str]:
        """Lines for a user: what was read, what was left out and why, and how the bytes compare with the counters."""
        counted = list(self.counts.items())
        yield ", ".join(_of(count, what) for what, count in counted[:2])
        yield from (f"  {what}: {count:,}" for what, count in counted[2:])
        for file, error in self.failures[:3]:
            yield f"  left out: {file}: {error}"
        if len(self.failures) > 3:
            yield f"  left out: {len(self.failures) - 3:,} more, in --json"
        if self.jobs:
            yield from self._bytes()
        yield from self.notes

    def _bytes(self) -> Iterator[str]:
        """How many bytes are in the phases, and how that compares with their sources and with the jobs' counters."""
        phases = _sum(record.phases.total() for record in self.jobs)
        told = _apart(phases, _sum(record.source_bytes for record in self.jobs))
        yield f"in the phases: {_both(phases)}; in their sources: {told}"
        counted = [record for record in self.jobs if record.counted is not None]
        if counted:
            known = _sum(record.counted or (0.0, 0.0) for record in counted)
            yield f"  their counters: {_both(known)}: {_apart(_sum(record.phases.total() for record in counted), known)}"
        for layer in sorted({layer for record in self.jobs for layer in record.volumes}):
            known_jobs = [record for record in self.jobs if layer in record.volumes]
            volumes = _sum(record.volumes[layer] for record in known_jobs)
            some = "" if len(known_jobs) == len(self.jobs) else f" (of {len(known_jobs):,} jobs)"
            if any(record.counted is not None for record in known_jobs):
                yield f"  layer {layer}{some}: {_both(volumes)}"
            else:
                told = _apart(_sum(record.phases.total() for record in known_jobs), volumes)
                yield f"  counters of {layer}{some}: {_both(volumes)}: {told}"

    def _rows(self) -> list[Row]:
        return [_row(record) for record in self.jobs]


def _of(count: int, what: str) -> str:
    """How many of `what`, such as "2 jobs kept" or "1 job kept"."""
    noun, _, rest = what.partition(" ")
    return f"{count:,} {noun.removesuffix('s') if count == 1 else noun} {rest}".rstrip()


def _sum(volumes: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Bytes read and written of all."""
    rows = list(volumes)
    return sum(row[0] for row in rows), sum(row[1] for row in rows)


def _both(volumes: tuple[float, float]) -> str:
    return f"{volume(volumes[0])} read, {volume(volumes[1])} written"


def _apart(phases: tuple[float, float], counted: tuple[float, float]) -> str:
    """The difference of what is in phases and what was counted."""
    read, written = abs(phases[0] - counted[0]), abs(phases[1] - counted[1])
    return f"{volume(read)} and {volume(written)} apart" if read or written else "the same"


def _row(record: JobRecord) -> dict[str, Any]:
    read, written = record.phases.total()
    compared = record.volumes if record.counted is None else {"counted": record.counted}
    return {
        "job": record.job_id,
        "name": record.name,
        "user": record.user,
        "group": record.group,
        "program": record.program,
        "start": record.start,
        "end": record.end,
        "nodes": record.nodes,
        "ranks": record.ranks,
        "source": record.source,
        "phases": len(record.phases),
        "read": read,
        "written": written,
        "source_read": record.source_bytes[0],
        "source_written": record.source_bytes[1],
        "counted": None if record.counted is None else list(record.counted),
        "counters": {layer: list(both) for layer, both in record.volumes.items()},
        "difference": {name: [read - both[0], written - both[1]] for name, both in compared.items()},
        "files": list(record.files),
        "notes": list(record.notes),
    }


def import_ior(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    statistic: str = "mean",
    ranks_per_node: int | None = None,
    nodes_per_transfer: int | None = None,
    machine_nodes: int | None = None,
) -> ImportResult:
    """Make a platform of measured bandwidths: what ``penstock import ior FILE`` writes to a file.

    The workload also has an application for each size of run that was measured, one after the other, so that every command
    can read it; other importers take its platform (``platform=``).

    Args:
        files: output of IOR as text, JSON or CSV, or tables with a column such as MB/s.
        statistic: what stands for runs that were repeated: mean, median or best.
        ranks_per_node: processes on a node, for output that has only processes.
        nodes_per_transfer: so many nodes of a run count as one transfer; what many nodes lose is then a degradation.
        machine_nodes: nodes of the machine; by default not said.

    Returns:
        The workload, and what was read; it has no records of jobs.

    Raises:
        InputError: for a file that holds no measured bandwidth, and a number that is out of range.

    Example:
        >>> import penstock, tempfile
        >>> table = "nodes,osts,MB/s", "1,1,900", "4,1,1000", "4,4,3600"
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     print(*table, sep=chr(10), file=file, flush=True)
        ...     made = penstock.import_ior(file.name)
        >>> made.workload.platform.bandwidth, made.workload.platform.node_bandwidth, made.workload.platform.resources
        (3600000000.0, 900000000.0, 4)
    """
    if ranks_per_node is not None and ranks_per_node < 1:
        raise InputError("ranks_per_node", f"{ranks_per_node} is out of range; expected 1 or more")
    names = [os.fspath(files)] if isinstance(files, str | os.PathLike) else [os.fspath(file) for file in files]
    measurements = [one for name in names for one in read_measurements(name, ranks_per_node)]
    if not measurements:
        raise InputError("files", "there is none; expected output of IOR or a table")
    workload, notes = machine_of(measurements, statistic, nodes_per_transfer)
    platform = workload.platform
    if machine_nodes is not None:
        platform = replace(platform, nodes=machine_nodes)
        workload = Workload(platform, workload.applications)
    about = f"platform: {rate(platform.bandwidth)}"
    about += f", {rate(platform.node_bandwidth)} a node" if platform.node_bandwidth else ""
    about += f", {platform.resources} OSTs" if platform.resources else ""
    counts = {"files": len(names), "measurements": len(measurements), "sizes of runs": len(workload.applications)}
    return ImportResult("ior", workload, (), counts, (), (about, *notes))
