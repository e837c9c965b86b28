"""The I/O of the jobs of a batch system: from logs where there are some, from Slurm's counters, else from a model.

Each job gets its I/O from the first of these that is there; `JobRecord.source` says which:

1. **a log** (``dxt``, ``heatmap``, ``counters``): its phases, moved to where the log began in the job;
2. **Slurm's counters** (``accounting``): bytes read and written are known and their times are not. They are spread over
   equal iterations: a read, work, a write. The I/O takes as long as the job's share of the given bandwidth needs, and if no
   bandwidth is given a part `IoModel.fraction` of the run time;
3. **another job** (``model``): the phases of the nearest job with a log, or if there are no logs with counters. Times are
   multiplied by T/T', bytes by (n·T)/(n'·T'), T the run time and n the nodes: bytes per node-second and the part of the time
   that is I/O stay as they are. The distance of two jobs is::

       4·[other user] + 4·[other name] + 1·[other group] + |log2 n/n'| + |log2 T/T'| + min(1, days apart / 30)

   where digits in names do not count, so that run_001 is run_002. How well this does is measured: the I/O of each job with
   a log is predicted from the others;
4. **chance** (``drawn``), if nothing is known of any job: the part f of the run time is drawn for each job from N(mean, σ²)
   truncated to [0, most], as for traces in the Standard Workload Format; the volume is f·T·cap, written.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Final

import numpy as np

from penstock.model import InputError, Platform
from penstock.model.application import MODELLED
from penstock.workloads.importers.job_records import ANOTHER_JOB, NO_PHASES, IoPhases, JobRecord, most_nodes
from penstock.workloads.parameters import Floats, Integers, require, truncated_normal
from penstock.workloads.swf import SATURATING

WITHOUT_LOG: Final = ("model", "none", "leave-out")
"""What becomes of jobs of whose I/O nothing is known: likened to others, without I/O, or left out."""
_ZONES: Final = 900.0
"""Time zones differ by multiples of a quarter of an hour."""
_FURTHEST: Final = 26.0 * 3600.0
"""The most that two time zones are apart, in seconds."""
_MOST_TRIED: Final = 3000
"""Jobs with known I/O that the model is tried on; of more a regular part is taken."""


@dataclass(frozen=True)
class IoModel:
    """What is assumed of I/O that no log shows.

    Args:
        iterations: equal iterations of jobs of which only the bytes are known.
        fraction: the part of their run time that is I/O, if no bandwidth says how long it takes; the mean of drawn ones.
        sigma: standard deviation of drawn ones.
        most: the largest drawn one.
        without: what becomes of jobs of whose I/O nothing is known: one of `WITHOUT_LOG`.
        bandwidth: of the I/O system in bytes/s; None if not given.
        node_bandwidth: of a node in bytes/s; None if not given.
        nodes: of the machine; None for the most that the jobs had at one time.
        seed: of what is drawn.

    Raises:
        InputError: for a value that is out of range.
    """

    iterations: int = 10
    fraction: float = 0.1
    sigma: float = 0.1
    most: float = 0.9
    without: str = "model"
    bandwidth: float | None = None
    node_bandwidth: float | None = None
    nodes: int | None = None
    seed: int = 1

    def __post_init__(self) -> None:
        require(1 <= self.iterations <= 100_000, "iterations", self.iterations, "1 to 100000")
        require(0.0 < self.most <= 1.0, "io_most", self.most, "a number above 0, up to 1")
        require(0.0 < self.fraction <= self.most, "io_fraction", self.fraction, f"a number above 0, up to {self.most}")
        require(0.0 <= self.sigma < math.inf, "io_sigma", self.sigma, "a number, 0 or more")
        require(self.without in WITHOUT_LOG, "without_log", repr(self.without), " or ".join(WITHOUT_LOG))

    def cap(self, nodes: int) -> float:
        """The bandwidth in bytes/s that a job on so many `nodes` can use; infinite if none is given."""
        own = math.inf if self.node_bandwidth is None else self.node_bandwidth * nodes
        return min(own, math.inf if self.bandwidth is None else self.bandwidth)


@dataclass
class JobIo:
    """Jobs with their I/O.

    Attributes:
        records: the jobs.
        counts: jobs and logs by what happened to them.
        notes: what a reader of the workload must know.
        platform: the machine, where the I/O was drawn for it; else None.
    """

    records: list[JobRecord]
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    platform: Platform | None = None


def with_io(records: Sequence[JobRecord], logs: Sequence[JobRecord], model: IoModel) -> JobIo:
    """Give each job its I/O, as the head of this module says.

    Args:
        records: the jobs, as a batch system knows them.
        logs: what logs say of jobs with the same ids, one record for each id.
        model: what is assumed of the others.

    Raises:
        InputError: if no job is left.
    """
    made = join(records, logs)
    made.records = [_counted(record, model) for record in made.records]
    unknown = [index for index, record in enumerate(made.records) if not _known(record)]
    if unknown and model.without == "leave-out":
        made.records = [record for record in made.records if _known(record)]
        made.counts["left out, without a log or counters"] = len(unknown)
    elif unknown and model.without == "model":
        _assume(made, unknown, model)
    if not made.records:
        raise InputError("", "no job is left; expected jobs with a log or counters, or without_log model or none")
    made.notes += _shares(made.records)
    return made


def _known(record: JobRecord) -> bool:
    return bool(record.files) or record.source == "accounting"


def _shares(records: Sequence[JobRecord]) -> Iterator[str]:
    """What part of the I/O comes from where, in one line."""
    volume: dict[str, float] = {}
    count: dict[str, int] = {}
    for record in records:
        volume[record.source] = volume.get(record.source, 0.0) + sum(record.phases.total())
        count[record.source] = count.get(record.source, 0) + 1
    total = sum(volume.values())
    parts = (
        f"{source} {volume[source] / total if total else 0.0:.1%} ({count[source]:,} jobs)" for source in sorted(volume)
    )
    yield f"I/O by source: {', '.join(parts)}"
    assumed = sum(volume.get(source, 0.0) for source in MODELLED)
    yield f"{assumed / total if total else 0.0:.1%} of the I/O rests on a model"


# --- logs --------------------------------------------------------------------------------------------------------------


def join(records: Sequence[JobRecord], logs: Sequence[JobRecord]) -> JobIo:
    """Give the jobs the I/O of the logs with their ids.

    A log of a job that was requeued is divided: each phase belongs to the last run that had begun. If most logs lie outside
    of their jobs, the clocks are taken to be in different zones, and the logs are moved by quarters of an hour.

    Args:
        records: the jobs.
        logs: one record for each id.
    """
    made = JobIo(list(records))
    runs: dict[str, list[int]] = {}
    for index in sorted(range(len(records)), key=lambda index: records[index].start):
        runs.setdefault(records[index].job_id, []).append(index)
    matched = [(log, runs[log.job_id]) for log in logs if log.job_id in runs]
    if not logs:
        return made
    offset = _offset([(log, records[at[0]]) for log, at in matched if len(at) == 1])
    if offset:
        hours = f"{abs(offset) / 3600.0:g} h {'after' if offset > 0.0 else 'before'}"
        made.notes.append(f"most logs begin {hours} their jobs; they were moved: is the time zone right?")
    parts: dict[int, list[tuple[JobRecord, IoPhases]]] = {}
    far = 0
    for log, at in matched:
        divided = list(_divided(log, [records[index] for index in at], offset))
        far += not divided
        for run, phases in divided:
            parts.setdefault(at[run], []).append((log, phases))
    longer = 0
    for index, held in parts.items():
        made.records[index] = joined = _joined(records[index], held)
        longer += bool(len(joined.phases) and joined.phases.ends.max() > joined.end - joined.start + 1.0)
    counts = {
        "logs joined with their jobs": len(matched) - far,
        "left out, logs of jobs that are not listed": len(logs) - len(matched),
        "left out, logs more than a day away from the job with their id": far,
        "logs that last longer than their job says": longer,
    }
    made.counts.update({what: count for what, count in counts.items() if count})
    return made


def _offset(pairs: Sequence[tuple[JobRecord, JobRecord]]) -> float:
    """By how many seconds the clock of the logs is ahead of that of the accounting; 0 unless most logs lie outside."""
    outside = [log.start < record.start - 60.0 or log.end > record.end + 60.0 for log, record in pairs]
    if 2 * sum(outside) <= len(pairs) or not pairs:
        return 0.0
    offset = round(median(log.start - record.start for log, record in pairs) / _ZONES) * _ZONES
    return offset if abs(offset) <= _FURTHEST else 0.0


def _divided(log: JobRecord, runs: Sequence[JobRecord], offset: float) -> Iterator[tuple[int, IoPhases]]:
    """The runs that a log says something of, by number, and its phases in each, in seconds after the start of the run.

    None if the log lies more than a day away from all runs: then the id is that of another job.
    """
    begin, end = log.start - offset, log.end - offset
    if not any(run.start - ANOTHER_JOB <= end and begin <= run.end + ANOTHER_JOB for run in runs):
        return
    starts = np.array([run.start for run in runs])
    owner = np.clip(np.searchsorted(starts, begin + log.phases.starts, side="right") - 1, 0, None)
    if not len(owner):
        yield max(int(np.searchsorted(starts, begin, side="right")) - 1, 0), NO_PHASES
    for run in np.unique(owner).tolist():
        chosen = owner == run
        moved = (begin - runs[run].start) + np.stack((log.phases.starts[chosen], log.phases.ends[chosen]))
        moved -= min(moved.min(), 0.0)
        phases = IoPhases(
            moved[0], moved[1], log.phases.volumes[chosen], log.phases.writes[chosen], log.phases.seconds[chosen]
        )
        yield run, phases


def _joined(record: JobRecord, held: Sequence[tuple[JobRecord, IoPhases]]) -> JobRecord:
    """The job with the phases of its logs. What ends after the job is moved towards its start as far as possible."""
    phases = IoPhases.joined(part for _, part in held)
    if len(phases):
        late = phases.ends.max() - (record.end - record.start)
        earlier = min(max(late, 0.0), float(phases.starts.min()))
        phases = phases.moved(-earlier)
    logs = [log for log, _ in held]
    first = max(logs, key=lambda log: sum(log.source_bytes))
    one = len(logs) == 1 and len(phases) == len(first.phases)  # else counters of the whole cannot be told apart
    return replace(
        record,
        phases=phases,
        source=first.source,
        source_bytes=first.source_bytes if one else phases.total(),
        volumes={**record.volumes, **(first.volumes if one else {})},
        counted=first.counted if one else None,
        nodes=record.nodes or first.nodes,
        ranks=record.ranks or first.ranks,
        files=tuple(file for log in logs for file in log.files),
        notes=tuple(dict.fromkeys((*record.notes, *(note for log in logs for note in log.notes)))),
    )


# --- counters ----------------------------------------------------------------------------------------------------------


def regular(seconds: float, read: float, written: float, busy: float, iterations: int) -> IoPhases:
    """Equal iterations: a read, work, a write.

    Args:
        seconds: of all of them.
        read: bytes; whole bytes are divided into whole bytes, so that their sum is exact.
        written: likewise.
        busy: seconds of I/O, at most `seconds`.
        iterations: how many.

    Example:
        >>> list(regular(100.0, 30.0, 10.0, 20.0, 2))[:2]
        [(0.0, 7.5, 15.0, 'read'), (47.5, 50.0, 5.0, 'write')]
    """
    if not read + written > 0.0:
        return NO_PHASES
    begins = np.arange(iterations) * (seconds / iterations)
    ends = begins + seconds / iterations
    reading, writing = (busy * part / (read + written) / iterations for part in (read, written))
    both = (
        (begins, begins + reading, _parts(read, iterations), np.zeros(iterations, np.bool_)),
        (ends - writing, ends, _parts(written, iterations), np.ones(iterations, np.bool_)),
    )
    chosen = [columns for columns, amount in zip(both, (read, written), strict=True) if amount > 0.0]
    starts, stops, volumes, writes = (np.concatenate(column) for column in zip(*chosen, strict=True))
    some = volumes > 0.0  # fewer bytes than iterations
    return IoPhases(starts[some], np.maximum(starts, stops)[some], volumes[some], writes[some])


def _parts(amount: float, count: int) -> Floats:
    """The amount in so many parts, whole if it is."""
    if amount == math.floor(amount) and amount < 2.0**53:
        each, left = divmod(amount, count)
        return np.where(np.arange(count) < left, each + 1.0, each)
    return np.full(count, amount / count)


def _counted(record: JobRecord, model: IoModel) -> JobRecord:
    """The job with the bytes that Slurm counted, unless it has a log."""
    if record.files or "Slurm" not in record.volumes:
        return record
    read, written = record.volumes["Slurm"]
    seconds, cap = record.end - record.start, model.cap(record.nodes or 1)
    busy = min((read + written) / cap, seconds) if math.isfinite(cap) else model.fraction * seconds
    phases = regular(seconds, read, written, busy, model.iterations)
    return replace(record, phases=phases, source="accounting", source_bytes=(read, written))


# --- the model ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Features:
    """What the distance of jobs is made from, one entry for each job."""

    users: Integers
    programs: Integers
    groups: Integers
    nodes: Floats
    seconds: Floats
    starts: Floats

    @classmethod
    def of(cls, records: Sequence[JobRecord]) -> _Features:
        return cls(
            _codes(record.user for record in records),
            _codes(_stem(record.program) for record in records),
            _codes(record.group for record in records),
            np.log2([max(record.nodes or 1, 1) for record in records]),
            np.log2([max(record.end - record.start, 1e-3) for record in records]),
            np.array([record.start for record in records]),
        )

    def distances(self, job: int, others: Integers) -> Floats:
        """The distances of a job from `others`."""
        days = np.abs(self.starts[job] - self.starts[others]) / 86_400.0
        distances: Floats = (
            4.0 * (self.users[job] != self.users[others])
            + 4.0 * (self.programs[job] != self.programs[others])
            + 1.0 * (self.groups[job] != self.groups[others])
            + np.abs(self.nodes[job] - self.nodes[others])
            + np.abs(self.seconds[job] - self.seconds[others])
            + np.minimum(days / 30.0, 1.0)
        )
        return distances


def _codes(texts: Iterable[str | None]) -> Integers:
    numbers: dict[str | None, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], np.int64)


def _stem(program: str | None) -> str | None:
    """The name of a job without digits and what joins them."""
    return None if program is None else re.sub(r"[\W\d_]+", "", program.lower()) or program


def _assume(made: JobIo, unknown: Sequence[int], model: IoModel) -> None:
    """Give the unknown jobs the I/O of their nearest ones, or if nothing is known of any job a drawn one."""
    records = made.records
    logged = [index for index, record in enumerate(records) if record.files]
    donors = np.array(logged or [index for index, record in enumerate(records) if _known(record)], np.int64)
    if not len(donors):
        _draw(made, unknown, model)
        return
    features = _Features.of(records)
    of_whom = "a log" if logged else "counters"
    neighbours = _Neighbours(features, donors)
    for index in unknown:
        donor, apart = neighbours.nearest(index)
        record = likened(records[index], records[donor])
        note = f"I/O like that of {records[donor].name} (distance {apart:.1f})"
        made.records[index] = replace(record, notes=(*record.notes, note))
    made.counts["with the I/O of the nearest job"] = len(unknown)
    made.notes.append(
        f"model: {len(unknown):,} jobs have the I/O of the nearest of {len(donors):,} jobs with {of_whom}, per node-second"
    )
    made.notes += _trial(records, neighbours, donors, of_whom)


class _Neighbours:
    """Finds the nearest of the `donors`, without looking at those that are too far off by their user or name alone."""

    def __init__(self, features: _Features, donors: Integers) -> None:
        self._features = features
        self._donors = donors
        self._of_user = _grouped(features.users[donors], donors)
        self._of_program = _grouped(features.programs[donors], donors)
        many = int(features.programs.max()) + 1
        self._pairs = features.users * many + features.programs
        self._of_both = _grouped(self._pairs[donors], donors)

    def nearest(self, job: int, *, apart: bool = False) -> tuple[int, float]:
        """The nearest donor of a job, the first of equal ones, and its distance; with `apart` not the job itself."""
        for beyond, candidates in self._candidates(job):
            distances = self._features.distances(job, candidates)
            if apart:
                distances[candidates == job] = np.inf
            least = float(distances.min(initial=np.inf))
            if least < beyond:
                break
        return int(candidates[distances == least].min()), least

    def _candidates(self, job: int) -> Iterator[tuple[float, Integers]]:
        """Donors with the same user and name, with one of them, and all; with the least distance of all others."""
        none = np.empty(0, np.int64)
        yield 4.0, self._of_both.get(int(self._pairs[job]), none)
        same_user = self._of_user.get(int(self._features.users[job]), none)
        yield 8.0, np.concatenate((same_user, self._of_program.get(int(self._features.programs[job]), none)))
        yield np.inf, self._donors


def _grouped(codes: Integers, members: Integers) -> dict[int, Integers]:
    """The members by code."""
    order = np.argsort(codes, kind="stable")
    values, begins = np.unique(codes[order], return_index=True)
    return dict(zip(values.tolist(), np.split(members[order], begins[1:]), strict=True))


def likened(record: JobRecord, other: JobRecord) -> JobRecord:
    """The job `record` with the phases of the `other` job: as much per node-second, as large a part of the time."""
    longer = (record.end - record.start) / (other.end - other.start)
    larger = longer * (record.nodes or 1) / (other.nodes or 1)
    one = other.phases
    phases = IoPhases(one.starts * longer, one.ends * longer, one.volumes * larger, one.writes, one.seconds * longer)
    return replace(record, phases=phases, source="model", source_bytes=phases.total())


def _trial(records: Sequence[JobRecord], neighbours: _Neighbours, donors: Integers, of_whom: str) -> Iterator[str]:
    """How far off the model is for jobs of which the I/O is known, each predicted from the others; for three or more."""
    if len(donors) < 3:
        return
    tried = donors[:: math.ceil(len(donors) / _MOST_TRIED)]
    true, predicted = [], []
    for index in tried.tolist():
        other, _ = neighbours.nearest(index, apart=True)
        true.append(sum(records[index].phases.total()))
        predicted.append(sum(likened(records[index], records[other]).phases.total()))
    both = [(one, two) for one, two in zip(true, predicted, strict=True) if one > 0.0 and two > 0.0]
    if not both or not sum(true):
        return
    off = median(max(one / two, two / one) for one, two in both)
    alone = f"; {len(true) - len(both):,} of them have I/O only in one of both" if len(both) < len(true) else ""
    yield (
        f"  tried on the {len(true):,} jobs with {of_whom}, each from the others: typically off by a factor of {off:.2g} "
        f"(median), {sum(predicted) / sum(true):.2g} times the bytes in sum{alone}"
    )


def _draw(made: JobIo, unknown: Sequence[int], model: IoModel) -> None:
    """Draw the I/O of the jobs of whom nothing is known, on a machine that is given or has a bandwidth of 1."""
    nodes = model.nodes or most_nodes(made.records)
    bandwidth = model.bandwidth or 1.0
    made.platform = Platform(bandwidth, model.node_bandwidth or bandwidth / (SATURATING * nodes), nodes)
    chances = np.random.default_rng(model.seed).random(len(made.records))
    fractions = truncated_normal(chances, model.fraction, model.sigma, 0.0, model.most)
    for index in unknown:
        record, part = made.records[index], float(fractions[index])
        seconds, cap = record.end - record.start, made.platform.cap(record.nodes or 1)
        phases = regular(seconds, 0.0, part * seconds * cap, part * seconds, model.iterations)
        made.records[index] = replace(record, phases=phases, source="drawn", source_bytes=phases.total())
    made.counts["with drawn I/O"] = len(unknown)
    drawn = f"N({model.fraction:g}, {model.sigma:g}²) on [0, {model.most:g}]"
    made.notes.append(f"model: nothing is known of the I/O of any job; the part of its run time is drawn from {drawn}")
    if model.bandwidth is None:
        made.notes.append("  the bandwidth is 1, so volumes are seconds of the whole link; --bandwidth gives it")
