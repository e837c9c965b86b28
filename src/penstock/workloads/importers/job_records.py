"""What every importer makes: one `JobRecord` for each job, with its phases of I/O, and the workload that they become.

A record has dates in Unix seconds and phases in seconds after the start of the job. A phase either reads or writes. Every
importer keeps one law: the phases hold exactly the bytes of the source that they were made from, `JobRecord.source_bytes`.
`JobRecord.volumes` has what the job's counters say; the import prints the difference.

A job becomes an application, released when the job started, or when it was submitted: a read or a write for each phase, and
work between them. The bandwidth of the application is what the phases reached: in each direction, their bytes over the
seconds in which an operation was under way. Where reads and writes overlap, the application does them one after the other.
Their seconds are shortened so that they fit into the time from the start of the first to the end of the last. So the
application alone takes as long as the job did, unless `Bandwidths` says that its I/O is faster alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.model import Application, InputError, Phases, Platform, Workload
from penstock.model.application import READ, WORK, WRITE

READ_DIRECTION: Final = "read"
WRITE_DIRECTION: Final = "write"


@dataclass(frozen=True, eq=False, slots=True)
class IoPhases:
    """Phases of I/O of a job, in the order of their starts.

    Args:
        starts: seconds after the start of the job.
        ends: likewise, not before the starts.
        volumes: bytes.
        writes: whether a phase writes; else it reads.
        busy: seconds of each phase in which an operation was under way; by default the whole phase.

    Raises:
        InputError: if the arrays differ in length, a phase ends before it starts, or its bytes are negative.
    """

    starts: NDArray[np.float64]
    ends: NDArray[np.float64]
    volumes: NDArray[np.float64]
    writes: NDArray[np.bool_]
    busy: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        order = np.argsort(np.asarray(self.starts, np.float64), kind="stable")
        for name, kind in (("starts", np.float64), ("ends", np.float64), ("volumes", np.float64), ("writes", np.bool_)):
            values = np.asarray(getattr(self, name), kind)
            if values.shape != order.shape:
                raise InputError("phases", f"{values.shape} {name} for {order.shape} starts; expected one for each phase")
            object.__setattr__(self, name, values[order])
        spans = self.ends - self.starts
        if np.any(spans < 0.0) or np.any(self.volumes < 0.0) or not np.all(np.isfinite(spans + self.volumes)):
            raise InputError("phases", "a phase ends before it starts, or has no bytes; expected start, end and bytes")
        if self.busy is not None:
            object.__setattr__(self, "busy", np.minimum(np.asarray(self.busy, np.float64)[order], spans))

    @property
    def seconds(self) -> NDArray[np.float64]:
        """Seconds of each phase in which an operation was under way."""
        return self.ends - self.starts if self.busy is None else self.busy

    @classmethod
    def of(cls, phases: Iterable[tuple[float, float, float, str]]) -> IoPhases:
        """Make them from a list.

        Args:
            phases: (start, end, bytes, "read" or "write") of each.

        Example:
            >>> IoPhases.of([(10.0, 12.0, 4e9, "write"), (0.0, 1.0, 1e9, "read")]).total()
            (1000000000.0, 4000000000.0)
        """
        rows = list(phases)
        starts, ends, volumes = (np.array([row[column] for row in rows], np.float64) for column in range(3))
        return cls(starts, ends, volumes, np.array([row[3] == WRITE_DIRECTION for row in rows], np.bool_))

    @classmethod
    def joined(cls, parts: Iterable[IoPhases]) -> IoPhases:
        """The phases of all `parts`, none of them merged."""
        held = [*parts] or [NO_PHASES]
        columns = ("starts", "ends", "volumes", "writes", "seconds")
        return cls(*(np.concatenate([getattr(part, name) for part in held]) for name in columns))

    def moved(self, seconds: float) -> IoPhases:
        """The phases so many `seconds` later."""
        return IoPhases(self.starts + seconds, self.ends + seconds, self.volumes, self.writes, self.seconds)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[tuple[float, float, float, str]]:
        rows = zip(self.starts.tolist(), self.ends.tolist(), self.volumes.tolist(), self.writes.tolist(), strict=True)
        for start, end, volume, write in rows:
            yield start, end, volume, WRITE_DIRECTION if write else READ_DIRECTION

    def total(self) -> tuple[float, float]:
        """Bytes read and bytes written."""
        return float(self.volumes[~self.writes].sum()), float(self.volumes[self.writes].sum())


NO_PHASES: Final = IoPhases.of([])


@dataclass(frozen=True, slots=True)
class JobRecord:
    """What is known of one job.

    Args:
        job_id: the id that the batch system gave it.
        name: of the application in the workload, ``job-ID`` by default.
        start: when it started, in Unix seconds.
        end: when it ended, in Unix seconds.
        nodes: how many nodes it had; None if not known.
        ranks: how many processes; None if not known.
        user: who ran it.
        group: the group or account.
        program: what it ran.
        submit: when it was submitted, in Unix seconds.
        requested: wall time that was asked for, in seconds.
        ended: whether the job has ended, so that its start and end are its own.
        phases: its I/O.
        source: what the phases come from: ``dxt``, ``heatmap``, ``counters``, ``accounting``, ``model``, ``drawn`` or
            ``none``.
        source_bytes: bytes read and written according to the source; the phases hold the same.
        volumes: bytes read and written by layer (``POSIX``, ``MPI-IO``, ``STDIO``, ``Slurm`` …), as the job's counters say.
        counted: bytes read and written that the counters have for the same layers and files as the phases; None if none do.
        files: the files from which the record was read.
        notes: what a reader of the workload must know of the job.

    Raises:
        InputError: if the job ends before it starts.
    """

    job_id: str
    start: float
    end: float
    name: str = ""
    nodes: int | None = None
    ranks: int | None = None
    user: str | None = None
    group: str | None = None
    program: str | None = None
    submit: float | None = None
    requested: float | None = None
    ended: bool = True
    phases: IoPhases = NO_PHASES
    source: str = "none"
    source_bytes: tuple[float, float] = (0.0, 0.0)
    volumes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    counted: tuple[float, float] | None = None
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", f"job-{self.job_id}")
        if not self.end >= self.start:
            raise InputError(
                self.name, f"it ends at {self.end} s, before its start at {self.start} s; expected an end after it"
            )


@dataclass(frozen=True)
class Bandwidths:
    """How fast a job's I/O is taken to be when it has the I/O system for itself.

    A log shows what the job reached while others used the machine too. `factor` multiplies that; with `largest` the fastest
    phase of each direction stands for all of them.

    Args:
        factor: 1 takes what was seen.
        largest: whether to take the largest bandwidth seen in a phase in place of the mean over all phases.
    """

    factor: float = 1.0
    largest: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.factor < np.inf:
            raise InputError("alone", f"{self.factor} is out of range; expected a factor above 0, or largest")

    @classmethod
    def of(cls, alone: float | str) -> Bandwidths:
        """The bandwidths that `alone` asks for: a factor, as a number or a text, or ``largest``."""
        if alone == "largest":
            return cls(largest=True)
        try:
            return cls(float(alone))
        except ValueError:
            raise InputError("alone", f"{alone!r} is no factor; expected a number above 0, or largest") from None


AS_SEEN: Final = Bandwidths()


RELEASES: Final = ("start", "submit")


def release_of(record: JobRecord, release: str) -> float:
    """The Unix date at which the job of a `record` is released: its start, or for `release` ``submit`` its submission."""
    return record.submit if release == "submit" and record.submit is not None else record.start


def application_of(
    record: JobRecord, origin: float, bandwidths: Bandwidths = AS_SEEN, release: str = "start"
) -> Application:
    """The application that a job becomes.

    Args:
        record: the job.
        origin: the Unix date at which the clock of the workload starts.
        bandwidths: how fast its I/O is when it is alone.
        release: whether it is released when it started (``start``), or when it was submitted (``submit``).
    """
    phases = record.phases
    seconds = _seconds_in_chain(phases, record.end - record.start)
    ends = _ends_in_chain(phases.starts, seconds)
    work = phases.starts - np.concatenate(([0.0], ends[:-1]))[: len(phases)]
    tail = max(record.end - record.start - (ends[-1] if len(phases) else 0.0), 0.0)
    chain = np.stack((np.maximum(work, 0.0), phases.volumes), axis=1).ravel()
    kinds = np.stack((np.full(len(phases), WORK), np.where(phases.writes, WRITE, READ)), axis=1).ravel()
    kinds, amounts = _joined(np.append(kinds, WORK), np.append(chain, tail))
    read, write = (_bandwidth(phases, seconds, direction, bandwidths) for direction in (False, True))
    both = read is not None and write is not None and read != write
    return Application(
        record.name,
        Phases(kinds.astype(np.uint8), amounts),
        nodes=record.nodes or 1,
        release=release_of(record, release) - origin,
        bandwidth=max((one for one in (read, write) if one is not None), default=None),
        read_bandwidth=read if both else None,
        write_bandwidth=write if both else None,
        user=record.user,
        group=record.group,
        submit=None if record.submit is None else record.submit - origin,
        requested=record.requested or None,
        source=record.source,
        recorded=(record.start - origin, record.end - record.start) if record.ended else None,
    )


def _seconds_in_chain(phases: IoPhases, duration: float) -> NDArray[np.float64]:
    """Seconds that each phase takes in the chain: those in which an operation was under way.

    Phases that overlap take together at most the time from the start of the first to the end of the last, and all of them
    end before the job does.
    """
    if not len(phases):
        return np.zeros(0)
    covered = np.maximum.accumulate(phases.ends)
    group = np.cumsum(np.concatenate(([0], phases.starts[1:] >= covered[:-1])))
    first = np.flatnonzero(np.diff(group, prepend=-1))
    room = np.append(covered[first[1:] - 1], covered[-1]) - phases.starts[first]
    asked = np.add.reduceat(phases.seconds, first)
    parts = np.minimum(np.divide(room, asked, out=np.ones_like(room), where=asked > 0.0), 1.0)
    seconds = phases.seconds * parts[group]
    end = max(duration, float(covered[-1]))
    if _ends_in_chain(phases.starts, seconds)[-1] <= end:
        return np.asarray(seconds)
    low, high = 0.0, 1.0
    for _ in range(60):  # the last end grows with the part that is taken
        middle = (low + high) / 2.0
        fits = _ends_in_chain(phases.starts, seconds * middle)[-1] <= end
        low, high = (middle, high) if fits else (low, middle)
    return np.asarray(seconds * low)


def _ends_in_chain(starts: NDArray[np.float64], seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """When each phase ends if it begins at its start, or at the end of the one before it if that is later."""
    done = np.cumsum(seconds)
    return np.asarray(done + np.maximum.accumulate(starts - done + seconds))


def _joined(kinds: NDArray[np.uint8], amounts: NDArray[np.float64]) -> tuple[NDArray[np.uint8], NDArray[np.float64]]:
    """The chain without empty phases, neighbouring phases of work as one."""
    kept = amounts > 0.0
    if not kept.any():
        return np.array([WORK], np.uint8), np.zeros(1)
    kinds, amounts = kinds[kept], amounts[kept]
    begins = np.flatnonzero(np.concatenate(([True], (kinds[1:] != WORK) | (kinds[:-1] != WORK))))
    return kinds[begins], np.add.reduceat(amounts, begins)


def _bandwidth(phases: IoPhases, seconds: NDArray[np.float64], writes: bool, bandwidths: Bandwidths) -> float | None:
    """Bytes/s of one direction; None where nothing is known of it."""
    chosen = (phases.writes == writes) & (phases.volumes > 0.0)
    volumes, seconds = phases.volumes[chosen], seconds[chosen]
    if not seconds.any():
        return None
    lasting = seconds > 0.0
    seen = np.max(volumes[lasting] / seconds[lasting]) if bandwidths.largest else volumes.sum() / seconds.sum()
    return float(seen) * bandwidths.factor


def _added_counts(counts: Sequence[tuple[float, float] | None]) -> tuple[float, float] | None:
    known = [each for each in counts if each is not None]
    return (sum(each[0] for each in known), sum(each[1] for each in known)) if known else None


ANOTHER_JOB: Final = 86_400.0
"""Seconds without a log after which the same id of the same user is another job: ids that are process numbers come again."""


def by_job(records: Iterable[JobRecord]) -> list[JobRecord]:
    """Merge records that are parts of jobs, such as one for each program that a job ran, into one record for each job.

    Parts with the same id and user belong together, unless more than a day lies between them. Bytes are
    added up; nodes and processes are the largest numbers of any part.

    Args:
        records: in any order.
    """
    groups: list[list[JobRecord]] = []
    latest: dict[tuple[str, str | None], tuple[float, list[JobRecord]]] = {}
    for record in sorted(records, key=lambda one: (one.start, one.files)):
        key = (record.job_id, record.user)
        end, group = latest.get(key, (-np.inf, []))
        if not group or record.start - end > ANOTHER_JOB:
            group = []
            groups.append(group)
        group.append(record)
        latest[key] = (max(end, record.end) if len(group) > 1 else record.end, group)
    return [group[0] if len(group) == 1 else _as_one(group) for group in groups]


def _as_one(parts: Sequence[JobRecord]) -> JobRecord:
    """One record of all parts, which are in the order of their starts."""
    first = parts[0]
    volumes: dict[str, tuple[float, float]] = {}
    for part in parts:
        for layer, (read, written) in part.volumes.items():
            before = volumes.get(layer, (0.0, 0.0))
            volumes[layer] = (before[0] + read, before[1] + written)
    return replace(
        first,
        end=max(part.end for part in parts),
        nodes=max((part.nodes for part in parts if part.nodes is not None), default=None),
        ranks=max((part.ranks for part in parts if part.ranks is not None), default=None),
        program=" + ".join(dict.fromkeys(part.program for part in parts if part.program)) or None,
        phases=IoPhases.joined(part.phases.moved(part.start - first.start) for part in parts),
        source=max(parts, key=lambda part: sum(part.source_bytes)).source,
        source_bytes=(sum(part.source_bytes[0] for part in parts), sum(part.source_bytes[1] for part in parts)),
        volumes=volumes,
        counted=_added_counts([part.counted for part in parts]),
        files=tuple(file for part in parts for file in part.files),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def workload_of(
    records: Sequence[JobRecord],
    platform: Platform | None = None,
    bandwidths: Bandwidths = AS_SEEN,
    release: str = "start",
) -> Workload:
    """One workload of all jobs, in the order of their releases; the clock starts with the first of them.

    Args:
        records: the jobs. Names that occur twice get a number.
        platform: the machine. By default its bandwidth is the most that the jobs reached together, or that of the fastest
            application if this is more; the machine may carry more. It has as many nodes as the jobs had at one time.
        bandwidths: how fast the I/O of a job is when it is alone.
        release: whether a job is released when it started (``start``), or when it was submitted (``submit``).

    Raises:
        InputError: if there is no job, or one does not fit on the platform.
    """
    if not records:
        raise InputError("", "there is no job; expected one or more")
    if release not in RELEASES:
        raise InputError("release", f"{release!r} is unknown; expected one of {', '.join(RELEASES)}")
    ordered = _named_apart(sorted(records, key=lambda record: (release_of(record, release), record.start, record.name)))
    origin = release_of(ordered[0], release)
    applications = tuple(application_of(record, origin, bandwidths, release) for record in ordered)
    if platform is None:
        reached = most_together(ordered)
        most = max((one for each in applications if (one := each.bandwidth) is not None), default=0.0)
        platform = Platform(max(reached, most) or 1.0, nodes=most_nodes(ordered))
    return Workload(platform, applications)


def most_together(records: Iterable[JobRecord]) -> float:
    """The most bytes/s that the jobs of these `records` reached together, each phase at its mean bandwidth."""
    held = [record for record in records if len(record.phases)]
    if not held:
        return 0.0
    starts = np.concatenate([record.start + record.phases.starts for record in held])
    ends = np.concatenate([record.start + record.phases.ends for record in held])
    lasting = ends > starts
    starts, ends = starts[lasting], ends[lasting]
    rates = np.concatenate([record.phases.volumes for record in held])[lasting]
    rates /= ends - starts
    return _most(starts, ends, rates)


def most_nodes(records: Iterable[JobRecord]) -> int:
    """The most nodes that the jobs of these `records` had at one time; a job whose nodes are not known counts as 1."""
    rows = [(record.start, record.end, record.nodes or 1) for record in records]
    starts, ends, nodes = (np.array([row[column] for row in rows], np.float64) for column in range(3))
    return max(int(_most(starts, ends, nodes)), int(nodes.max()))


def _most(starts: NDArray[np.float64], ends: NDArray[np.float64], amounts: NDArray[np.float64]) -> float:
    """The largest sum, over all dates, of the amounts of the intervals that contain the date; ends do not count."""
    dates = np.concatenate((ends, starts))
    changes = np.concatenate((-amounts, amounts))[np.argsort(dates, kind="stable")]
    return float(np.cumsum(changes, out=changes).max(initial=0.0))


def _named_apart(records: Sequence[JobRecord]) -> list[JobRecord]:
    """The records with names that differ: the second job-7 becomes job-7-2."""
    used = {record.name for record in records}
    seen: set[str] = set()
    apart = []
    for record in records:
        name, number = record.name, 2
        while name in seen:
            name = f"{record.name}-{number}"
            number += 1
            if name in used:
                continue
        seen.add(name)
        apart.append(record if name == record.name else replace(record, name=name))
    return apart
