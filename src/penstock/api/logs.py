"""`penstock.import_darshan`: the jobs of Darshan logs become a workload."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from penstock.api.importing import ImportResult
from penstock.campaign.workers import LocalPool, bar
from penstock.model import InputError, Platform, Workload
from penstock.model.files import read
from penstock.report.format_units import rate
from penstock.workloads.importers.anonymize import Anonymizer
from penstock.workloads.importers.darshan import DarshanChoice, lost_reason, record_or_reason, require_pydarshan
from penstock.workloads.importers.job_records import Bandwidths, JobRecord, by_job, most_nodes, workload_of


@dataclass(frozen=True)
class MachineChoice:
    """What is known of the machine beside the logs.

    Args:
        platform: a workload file whose platform is taken, such as one made by ``penstock import ior``.
        bandwidth: B in bytes/s, or a text with a unit.
        node_bandwidth: b of one node, likewise.
        machine_nodes: nodes of the machine.
    """

    platform: str | os.PathLike[str] | None = None
    bandwidth: float | str | None = None
    node_bandwidth: float | str | None = None
    machine_nodes: int | None = None
    base: Platform | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        Platform(**{"bandwidth": 1.0, **self._known()})  # refuses wrong values before the work
        if self.platform is not None:
            object.__setattr__(self, "base", read(self.platform).platform)

    def _known(self) -> dict[str, Any]:
        given = {"bandwidth": self.bandwidth, "node_bandwidth": self.node_bandwidth, "nodes": self.machine_nodes}
        return {name: value for name, value in given.items() if value is not None}

    @property
    def sizes(self) -> tuple[float | None, float | None, int | None]:
        """B and b in bytes/s and the nodes of the machine, as far as they are given."""
        known = Platform(**{"bandwidth": 1.0, **self._known()})  # which reads texts with units
        base = self.base
        bandwidth = known.bandwidth if self.bandwidth is not None else None if base is None else base.bandwidth
        others = [getattr(known, name) or getattr(base, name, None) for name in ("node_bandwidth", "nodes")]
        return bandwidth, others[0], others[1]

    def workload(
        self,
        records: Sequence[JobRecord],
        bandwidths: Bandwidths,
        release: str = "start",
        drawn: Platform | None = None,
    ) -> tuple[Workload, list[str]]:
        """The workload of jobs on this machine.

        Args:
            records: the jobs.
            bandwidths: how fast the I/O of a job is when it is alone.
            release: whether a job is released at its ``start`` or at its ``submit``.
            drawn: the platform for which I/O was drawn, if it was.

        Returns:
            The workload, and notes about the machine.
        """
        base, given = self.base or drawn, self.sizes[0]
        if base is None and given is not None:  # then the most that the jobs reached need not be found
            base = Platform(given, nodes=most_nodes(records))
        workload = workload_of(records, base, bandwidths, release)
        notes = []
        if base is None:
            moved = any(len(record.phases) for record in records)
            most = f"{rate(workload.platform.bandwidth)} is {REACHED}, a lower bound"
            notes.append(f"platform: {most if moved else 'no job has I/O that shows its bandwidth'}; --bandwidth sets it")
        if known := self._known():
            workload = Workload(replace(workload.platform, **known), workload.applications, workload.window)
        return workload, notes


@dataclass(frozen=True)
class LogOptions:
    """What is taken from Darshan logs, and who reads them: the keywords that the importers share.

    Args:
        layer: of which layer the I/O is taken: posix, mpiio or stdio.
        source: dxt, heatmap or counters; the first that is there if None.
        mount: only files below these folders.
        gap: operations at most so many seconds apart belong to one phase; found from the data if None.
        period: whether I/O that no gaps separate is cut into phases of its dominant period.
        by_file: whether counters make a phase of each file.
        ranks_per_node: processes on a node, where a log does not name the hosts.
        workers: how many processes of this machine read logs; one per core if None.
        dask: a Dask cluster in their place.
        progress: whether a bar is shown on standard error; on a terminal only if None.

    Raises:
        InputError: for a wrong value, before any log is read.
    """

    layer: str = "posix"
    source: str | None = None
    mount: Sequence[str] = ()
    gap: float | None = None
    period: bool = False
    by_file: bool = False
    ranks_per_node: int | None = None
    workers: int | None = None
    dask: str | None = None
    progress: bool | None = None
    choice: DarshanChoice = field(init=False)

    def __post_init__(self) -> None:
        taken = (self.layer, tuple(self.mount), self.gap, self.source, self.ranks_per_node, self.by_file, self.period)
        object.__setattr__(self, "choice", DarshanChoice(*taken))

    def pool(self, logs: int) -> AbstractContextManager[Any]:
        """Processes that read so many `logs`."""
        if self.dask is not None:
            from penstock.campaign.cluster import cluster_pool

            return cluster_pool(self.dask)
        pool = LocalPool(self.workers, attempts=1)  # refuses a wrong number, also for one log
        return LocalPool(1, attempts=1) if logs == 1 else pool


REACHED: Final = "the most that the jobs reached together"
"""What stands for the bandwidth of the I/O system where none is given."""
SUFFIXES: Final = (".darshan", ".darshan_partial")
"""How the names of logs in a folder end."""


def import_darshan(
    logs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    layer: str = "posix",
    source: str | None = None,
    mount: Sequence[str] = (),
    gap: float | None = None,
    period: bool = False,
    by_file: bool = False,
    ranks_per_node: int | None = None,
    alone: float | str = 1.0,
    platform: str | os.PathLike[str] | None = None,
    bandwidth: float | str | None = None,
    node_bandwidth: float | str | None = None,
    machine_nodes: int | None = None,
    anonymize: bool = False,
    key: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    dask: str | None = None,
    progress: bool | None = None,
) -> ImportResult:
    """Make one workload of the jobs of Darshan logs.

    Args:
        logs: logs, and folders that hold logs at any depth.
        layer: of which layer the I/O is taken: posix, mpiio or stdio.
        source: dxt, heatmap or counters; by default the first of them that a log holds.
        mount: only files below these folders.
        gap: operations at most so many seconds apart belong to one phase; by default found from the data of each log.
        period: whether I/O that no gaps separate is cut into phases of its dominant period, where it has one.
        by_file: whether counters make a phase of each file instead of one of all.
        ranks_per_node: processes on a node, where a log does not name the hosts.
        alone: what a job would reach alone: a factor on the bandwidth seen, or ``largest`` for the largest seen.
        platform: a workload file whose platform is taken.
        bandwidth: B of the machine in bytes/s; by default the most that the jobs reached together.
        node_bandwidth: b of one node in bytes/s.
        machine_nodes: nodes of the machine; by default the most that the jobs had at one time.
        anonymize: whether users, names and paths are replaced by keyed hashes.
        key: the file with the secret key of the hashes.
        workers: how many processes of this machine read logs; by default one per core.
        dask: the scheduler of a Dask cluster, tcp://HOST:PORT, or Slurm jobs: ``slurm:jobs=8``.
        progress: whether a bar is shown on standard error; by default on a terminal only.

    Returns:
        The workload, what is known of each job, and which logs were left out.

    Raises:
        InputError: for a wrong option, and where no log can be read.
        PenstockError: if PyDarshan is missing, or a cluster cannot be reached.

    Example:
        >>> import penstock
        >>> penstock.import_darshan("no/such/log.darshan")
        Traceback (most recent call last):
        ...
        penstock.model.errors.InputError: no/such/log.darshan: does not exist; expected a Darshan log or a folder of logs
    """
    options = LogOptions(layer, source, mount, gap, period, by_file, ranks_per_node, workers, dask, progress)
    bandwidths = Bandwidths.of(alone)
    machine = MachineChoice(platform, bandwidth, node_bandwidth, machine_nodes)
    hide = Anonymizer.from_file(key) if anonymize else None
    records, failures, counts = darshan_records(logs, options)
    if hide is not None:
        records = [hide.record(record) for record in records]
        failures = [(str(hide.hide("path", path)), reason) for path, reason in failures]
    workload, notes = machine.workload(records, bandwidths)
    notes = [*_darshan_notes(records, bandwidths), *notes]
    return ImportResult("darshan", workload, tuple(records), counts, tuple(failures), tuple(notes))


def darshan_records(
    logs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], options: LogOptions
) -> tuple[list[JobRecord], list[tuple[str, str]], dict[str, int]]:
    """Read logs in parallel, each in a process that a broken one may end.

    Args:
        logs: logs, and folders that hold logs at any depth.
        options: what is taken from them, and who reads them.

    Returns:
        One record for each job, in the order of their starts; each log that could not be read, with the reason; and counts.

    Raises:
        InputError: where there is no log, or none can be read.
        PenstockError: if PyDarshan is missing, or a cluster cannot be reached.
    """
    paths = _found_logs(logs)
    require_pydarshan()
    records, failures = [], []
    with options.pool(len(paths)) as pool, bar("logs", 0, len(paths), options.progress) as report:
        read_logs = pool.mapped(partial(record_or_reason, choice=options.choice), paths, lost_reason)
        for done, (path, read_one) in enumerate(read_logs, start=1):
            if isinstance(read_one, str):
                failures.append((path, read_one))
            else:
                records.append(read_one)
            report(done)
    failures.sort()
    if not records:
        path, reason = failures[0]
        more = f" (and {len(failures) - 1:,} more logs, none of which can be read)" if len(failures) > 1 else ""
        raise InputError(path, f"{reason}{more}")
    jobs = by_job(records)
    sources = Counter(record.source for record in records)
    counts = {"logs": len(paths), "jobs": len(jobs)}
    counts |= {f"from {name}": sources[name] for name in ("dxt", "heatmap", "counters") if sources[name]}
    partly = sum(any(note.startswith("partial") or "to its end" in note for note in record.notes) for record in records)
    more_counts = {"without I/O": sources["none"], "partial": partly, "left out": len(failures)}
    return jobs, failures, counts | {name: count for name, count in more_counts.items() if count}


def _found_logs(logs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]) -> list[str]:
    """The logs that are named, and those in the folders that are named, each once."""
    given = [logs] if isinstance(logs, str | os.PathLike) else list(logs)
    found: dict[str, None] = {}
    for name in given:
        path = Path(name)
        if not path.exists():
            raise InputError(str(path), "does not exist; expected a Darshan log or a folder of logs")
        if not path.is_dir():
            found[str(path)] = None
            continue
        inside = sorted(str(Path(folder) / file) for folder, _, files in os.walk(path) for file in files)
        held = [file for file in inside if file.endswith(SUFFIXES)]
        if not held:
            raise InputError(str(path), f"holds no logs; expected files whose names end in {' or '.join(SUFFIXES)}")
        found |= dict.fromkeys(held)
    if not found:
        raise InputError("logs", "there is none; expected Darshan logs or folders of logs")
    return list(found)


def _darshan_notes(records: Sequence[JobRecord], bandwidths: Bandwidths) -> Iterator[str]:
    """What is to be said of all jobs, and of each one where there are few."""
    if bandwidths == Bandwidths():
        yield "bandwidths are those reached beside other jobs; --alone FACTOR or --alone largest says what jobs reach alone"
    unknown = sum(record.nodes is None for record in records)
    if unknown:
        yield f"{unknown:,} of {len(records):,} jobs: nodes not known, taken as 1; --ranks-per-node N says how many"
    if len(records) <= FEW:
        yield from (f"{record.name}: {note}" for record in records for note in record.notes)
        return
    for words, text in NOTED.items():
        count = sum(any(words in note for note in record.notes) for record in records)
        if count:
            yield f"{count:,} of {len(records):,} jobs: {text}"


FEW: Final = 3
"""Up to so many jobs the notes of each one are printed; they are always in ``--json``."""
NOTED: Final = {
    "--period makes": "I/O without gaps, but with a period; --period makes phases of it",
    "phases made of it": "I/O without gaps, made into phases of its period",
    "STDIO added": "I/O of STDIO added to that of POSIX",
    "it holds no": "without the layer or source that was asked for",
    "partial": "Darshan had no room for all records",
    "to its end": "a log that ends too early",
    "hosts of": "as many nodes as DXT names hosts, which is a lower bound",
}
"""What the notes of many jobs are counted by, and what is said of those that have it."""
