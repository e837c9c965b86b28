"""`penstock.import_darshan` and the other importers: what ``penstock import KIND`` writes to a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.api.results import Row, Tables
from penstock.model import Workload
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
        yield ", ".join(f"{count:,} {what}" for what, count in self.counts.items())
        for file, error in self.failures[:3]:
            yield f"  left out: {file}: {error}"
        if len(self.failures) > 3:
            yield f"  left out: {len(self.failures) - 3:,} more, in --json"
        yield from self._bytes()
        yield from self.notes

    def _bytes(self) -> Iterator[str]:
        """How many bytes are in the phases, and how that compares with the counters of the jobs, by layer."""
        read, written = (sum(record.phases.total()[way] for record in self.jobs) for way in (0, 1))
        yield f"in the phases: {volume(read)} read, {volume(written)} written"
        for layer in sorted({layer for record in self.jobs for layer in record.volumes}):
            known = [record.volumes.get(layer, (0.0, 0.0)) for record in self.jobs]
            counted = sum(one[0] for one in known), sum(one[1] for one in known)
            apart = abs(read - counted[0]) + abs(written - counted[1])
            said = (
                "the same"
                if not apart
                else f"{volume(abs(read - counted[0]))} and {volume(abs(written - counted[1]))} apart"
            )
            yield f"  counters of {layer}: {volume(counted[0])} read, {volume(counted[1])} written: {said}"

    def _rows(self) -> list[Row]:
        return [_row(record) for record in self.jobs]


def _row(record: JobRecord) -> dict[str, Any]:
    read, written = record.phases.total()
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
        "counters": {layer: list(both) for layer, both in record.volumes.items()},
        "difference": {layer: [read - both[0], written - both[1]] for layer, both in record.volumes.items()},
        "files": list(record.files),
        "notes": list(record.notes),
    }
