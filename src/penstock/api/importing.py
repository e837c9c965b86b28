"""`penstock.import_darshan` and the other importers: what ``penstock import KIND`` writes to a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.results import Row, Tables
from penstock.model import Workload
from penstock.model.files import header
from penstock.report.format_units import volume
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
