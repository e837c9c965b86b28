"""Read the jobs of Darshan logs with PyDarshan.

A log holds, per module, records of files; a module is a layer of I/O. What one layer does, the layers below do again, so the
phases of a job are those of one layer: POSIX by default, which is what the storage sees. Of this layer the log is asked for

1. `dxt`: every single operation, with its start, end and bytes;
2. `heatmap`: bytes by bin of time (a bin in which something moved is busy as a whole);
3. `counters`: the bytes of each file and when it was first and last read and written. They make one phase of reads and one
   of writes, or with `by_file` one for each file, and say how long the slowest process was in its calls.

The first that is there is used. Beside POSIX the STDIO module is added: the C library's own buffered streams do not go
through what Darshan sees as POSIX. A file of which POSIX has at least as many bytes is taken to be in POSIX already, and the
streams of the terminal are no files.

The library that reads the logs stops the process at some broken ones, so that a log should be read in a process of its own.
"""

from __future__ import annotations

import os
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.model import InputError, PenstockError
from penstock.model.errors import expected
from penstock.numeric.periodicity import period_of_bins
from penstock.workloads.importers.job_records import IoPhases, JobRecord
from penstock.workloads.importers.merging import LEAST_PART, IoIntervals, IoStream, natural_gap, phases_of, synthesised
from penstock.workloads.parameters import Floats

LAYERS: Final = {"posix": ("POSIX", "DXT_POSIX"), "mpiio": ("MPI-IO", "DXT_MPIIO"), "stdio": ("STDIO", "")}
"""The layers by the words of the option: the module of counters and that of single operations."""
SOURCES: Final = ("dxt", "heatmap", "counters")
TERMINAL: Final = ("<STDIN>", "<STDOUT>", "<STDERR>")
UNSEPARATED: Final = 0.5
"""A phase that lasts for this part of the run time says that gaps do not separate phases."""
LATEST: Final = 3600.0
"""Seconds beyond twice the run time that no operation ends at."""
MOST_BYTES: Final = 2.0**42
"""No single operation or bin has more."""
MOST_OPERATIONS: Final = 2.0**10
"""No file has more bytes than this many of the largest operations: the sums stay exact."""
SLICE: Final = 1 << 20
"""Segments taken out of a record at a time: 32 MB."""
_SEGMENT: Final = np.dtype([("offset", np.int64), ("length", np.int64), ("start", np.float64), ("end", np.float64)])


@dataclass(frozen=True)
class DarshanChoice:
    """What is taken from a log.

    Args:
        layer: posix, mpiio or stdio.
        mounts: only files below these folders; all if there are none.
        gap: operations at most so many seconds apart belong to one phase; found from the data if None.
        source: dxt, heatmap or counters; the first that is there if None.
        ranks_per_node: processes on a node, where the log does not name the hosts.
        by_file: whether counters make a phase of each file and direction instead of one of each direction.
        period: whether I/O that no gaps separate is cut into phases of its dominant period, where it has one.
    """

    layer: str = "posix"
    mounts: tuple[str, ...] = ()
    gap: float | None = None
    source: str | None = None
    ranks_per_node: int | None = None
    by_file: bool = False
    period: bool = False

    def __post_init__(self) -> None:
        for name, known in (("layer", tuple(LAYERS)), ("source", SOURCES)):
            value = getattr(self, name)
            if value is not None and value not in known:
                raise InputError(name, f"{value!r} is unknown; {expected(str(value), known)}")
        if self.gap is not None and not 0.0 <= self.gap < np.inf:
            raise InputError("gap", f"{self.gap} is out of range; expected seconds, 0 or more")
        if self.ranks_per_node is not None and self.ranks_per_node < 1:
            raise InputError("ranks_per_node", f"{self.ranks_per_node} is out of range; expected 1 or more")
        if self.source == "heatmap" and self.mounts:
            raise InputError("source", "a heatmap does not tell files apart; expected it without mounts")
        if self.source == "dxt" and self.layer == "stdio":
            raise InputError("source", "DXT does not trace STDIO; expected heatmap or counters")


def require_pydarshan() -> Any:
    """PyDarshan's wrapper of its library. Raises PenstockError where PyDarshan is missing or does not load."""
    try:
        from darshan.backend import cffi_backend
    except ImportError:
        raise PenstockError("PyDarshan is not installed; expected it from pip install 'penstock[darshan]'") from None
    except Exception as error:  # what its search for the library may raise
        raise PenstockError(f"PyDarshan does not load: {error}; expected that of pip install 'penstock[darshan]'") from None
    return cffi_backend


def read_log(path: str, choice: DarshanChoice) -> JobRecord:
    """Read a log; ten million operations take 5 s of processor time and at most 1 GB of memory.

    Args:
        path: the file.
        choice: what is taken from it.

    Raises:
        InputError: for a file that is no log that the library can read, in one line.
        PenstockError: if PyDarshan is missing.
    """
    wrapper = require_pydarshan()
    with _said() as said:
        handle = wrapper.libdutil.darshan_log_open(os.fsencode(path))
        if handle == wrapper.ffi.NULL:
            raise InputError(path, f"{_reason(said())}; expected a Darshan log of format 3")
        try:
            return _Log(path, choice, wrapper, handle).record()
        except InputError as error:
            reason = error.message.replace("{said}", _reason(said()))
            raise InputError(path, reason) from None
        finally:
            wrapper.libdutil.darshan_log_close(handle)


def record_or_reason(path: str, choice: DarshanChoice) -> JobRecord | str:
    """The job of the log `path` as `read_log` reads it by `choice`, or why it cannot be read: for a worker process."""
    try:
        return read_log(path, choice)
    except InputError as error:
        return error.message
    except MemoryError:
        return "it does not fit into memory"
    except PenstockError:
        raise
    except Exception as error:  # whatever PyDarshan and we make of bytes that are no record, no number, no text
        return f"its contents make no sense ({' '.join(str(error).split())[:100]}); expected a log that is whole"


def lost_reason(path: str, deaths: int) -> str:  # noqa: ARG001  (the signature of what a pool calls)
    """Why the log in the file `path` was given up when `deaths` workers had died with it."""
    return "the library that reads logs ended the process; expected a log that is whole"


@contextmanager
def _said() -> Iterator[Any]:
    """What the C library writes to standard error while the block runs."""
    with tempfile.TemporaryFile() as caught:
        kept = os.dup(2)
        os.dup2(caught.fileno(), 2)

        def text() -> str:
            caught.seek(0)
            return caught.read().decode(errors="replace")

        try:
            yield text
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def _reason(said: str) -> str:
    """The first line of what the library said, without its prefix and without names of files."""
    lines = [line.removeprefix("Error: ").strip().rstrip(".") for line in said.splitlines() if line.startswith("Error")]
    return lines[0].split(" darshan log file /")[0] if lines else "it cannot be read"


@dataclass
class _Use:
    """What the counters say of one module: bytes by file, when it was used, and seconds in calls by process."""

    volumes: dict[int, list[float]] = field(default_factory=lambda: defaultdict(lambda: [0.0, 0.0]))
    spans: dict[tuple[int, int], list[float]] = field(default_factory=dict)
    """By (file, direction): first and last second of use."""
    calls: dict[tuple[int, int, int], float] = field(default_factory=lambda: defaultdict(float))
    """By (file, direction, process): seconds in calls; a record of all processes counts as their mean."""

    def total(self) -> tuple[float, float]:
        return sum(one[0] for one in self.volumes.values()), sum(one[1] for one in self.volumes.values())


@dataclass
class _Found:
    """Operations of a source, and the bytes that it holds."""

    reads: IoStream
    writes: IoStream
    volumes: list[float] = field(default_factory=lambda: [0.0, 0.0])
    count: int = 0


@dataclass(frozen=True)
class _Added:
    """What is added to the phases of the layer: phases, their source, its bytes, and those of the counters."""

    phases: IoPhases
    source: str
    source_bytes: tuple[float, float]
    counted: tuple[float, float]


class _Log:
    """One open log."""

    def __init__(self, path: str, choice: DarshanChoice, wrapper: Any, handle: Any) -> None:
        self.path, self.choice, self.wrapper, self.handle = path, choice, wrapper, handle
        self.notes: list[str] = []
        self.job = self._job()
        self.modules = wrapper.log_get_modules({"handle": handle, "modules": None})
        self.names: dict[int, str] = wrapper.log_get_name_records({"handle": handle, "name_records": None})
        self.hosts: dict[str, set[int]] = defaultdict(set)
        self.seconds = max(self.job["seconds"], 0.0)

    def record(self) -> JobRecord:
        """The job of the log."""
        uses = {name: self._use(name) for name in ("POSIX", "MPI-IO", "STDIO")}
        phases, source, volumes, counted = self._phases(uses)
        self._note_partial()
        return JobRecord(
            job_id=str(self.job["id"]),
            start=self.job["start"],
            end=self.job["start"] + self.seconds,
            nodes=self._nodes(),
            ranks=self.job["ranks"],
            user=str(self.job["uid"]),
            program=self._program(),
            phases=phases,
            source=source,
            source_bytes=volumes,
            counted=counted,
            volumes={name: use.total() for name, use in uses.items() if name in self.modules},
            files=(self.path,),
            notes=tuple(self.notes),
        )

    def _job(self) -> dict[str, Any]:
        ffi, library = self.wrapper.ffi, self.wrapper.libdutil
        job = ffi.new("struct darshan_job *")
        if library.darshan_log_get_job(self.handle, job) != 0:
            raise InputError(self.path, "{said}; expected a log that is whole")
        if job.nprocs < 1 or job.start_time_sec < 0:
            raise InputError(
                self.path, f"a job of {job.nprocs} processes from {job.start_time_sec} s on; expected 1 or more"
            )
        seconds = ffi.new("double *")
        library.darshan_log_get_job_runtime(self.handle, job[0], seconds)
        start = job.start_time_sec + job.start_time_nsec / 1e9
        return {"id": job.jobid, "uid": job.uid, "ranks": job.nprocs, "start": start, "seconds": float(seconds[0])}

    def _program(self) -> str | None:
        buffer = self.wrapper.ffi.new("char[]", 8192)
        self.wrapper.libdutil.darshan_log_get_exe(self.handle, buffer)
        return self.wrapper.ffi.string(buffer).decode(errors="replace") or None

    def _records(self, module: str) -> Iterator[Any]:
        """The records of a module as addresses of their bytes; a module that ends too early is noted."""
        if module not in self.modules:
            return
        ffi, library = self.wrapper.ffi, self.wrapper.libdutil
        number = self.modules[module]["idx"]
        while True:
            buffer = ffi.new("void **")
            result = library.darshan_log_get_record(self.handle, number, buffer)
            if result < 1:
                if result < 0:
                    self.notes.append(f"{module} cannot be read to its end")
                return
            try:
                yield buffer[0]
            finally:
                library.darshan_free(buffer[0])

    def _wanted(self, record: int) -> bool:
        """Whether the file is below one of the mount points."""
        if not self.choice.mounts:
            return True
        name = self.names.get(record, "")
        return any(name == mount or name.startswith(f"{mount.rstrip('/')}/") for mount in self.choice.mounts)

    def _use(self, module: str) -> _Use:
        """The counters of a module."""
        use = _Use()
        if module not in self.modules:
            return use
        prefix = module.replace("-", "")
        whole, real = self.wrapper.counter_names(module), self.wrapper.fcounter_names(module)
        volumes = [whole.index(f"{prefix}_BYTES_{way}") for way in ("READ", "WRITTEN")]
        times = [[real.index(f"{prefix}_F_{name}") for name in _times(way)] for way in ("READ", "WRITE")]
        kind = self.wrapper._structdefs[module].replace("**", "*")
        for address in self._records(module):
            record = self.wrapper.ffi.cast(kind, address)
            number, rank = record.base_rec.id, record.base_rec.rank
            if not self._wanted(number):
                continue
            for way in (0, 1):
                volume = record.counters[volumes[way]]
                if volume > 0:  # −1 stands for what is not known
                    self._check(0.0, volume / MOST_OPERATIONS, "a file with calls")
                    use.volumes[number][way] += volume
                    self._add_use(use, (number, way), rank, [record.fcounters[index] for index in times[way]])
        return use

    def _add_use(self, use: _Use, key: tuple[int, int], rank: int, times: list[float]) -> None:
        """Add when a file was used in one direction: first and last second, seconds in calls.

        Where clocks ran back, dates and seconds are negative or beyond the job. Then the opening and the closing count, or
        the whole job; and for the seconds in calls those from the first to the last.
        """
        first, last, opened, closed, inside = times
        latest = 2.0 * self.seconds + LATEST
        if not 0.0 <= first < last <= latest:
            first, last = (opened, closed) if 0.0 <= opened < closed <= latest else (0.0, self.seconds)
        whole = (last - first) * (self.job["ranks"] if rank < 0 else 1)
        inside = inside if 0.0 <= inside < np.inf else whole
        span = use.spans.setdefault(key, [first, last])
        span[0], span[1] = min(span[0], first), max(span[1], last)
        use.calls[(*key, rank)] += inside / (self.job["ranks"] if rank < 0 else 1)

    def _phases(self, uses: dict[str, _Use]) -> tuple[IoPhases, str, tuple[float, float], tuple[float, float]]:
        """The phases, their source, the bytes that it holds, and those that the counters say."""
        module, traced = LAYERS[self.choice.layer]
        if not np.isfinite(self.seconds):
            raise InputError(self.path, f"the job took {self.seconds} s; expected a number")
        found, source = self._operations(module, traced)
        total = counted = uses[module].total()
        parts = []
        if found is not None:
            parts.append(self._merged(found))
            total = (found.volumes[0], found.volumes[1])
        elif any(counted) and self.choice.source in (None, "counters"):
            source = "counters"
            parts.append(self._from_counters(uses[module]))
        elif any(counted):
            self.notes.append(f"it holds no {self.choice.source} of {module}")
            total = (0.0, 0.0)
        added = self._stdio(uses) if module == "POSIX" else None
        if added is not None:
            parts.append(added.phases)
            total, counted = _sum(total, added.source_bytes), _sum(counted, added.counted)
            source = added.source if source == "none" else source
        if module not in self.modules:
            others = ", ".join(name for name, use in uses.items() if use.volumes)
            self.notes.append(f"it holds no {module}" + (f", but {others}" if others else ""))
        return IoPhases.joined(parts), source, total, counted

    def _operations(self, module: str, traced: str) -> tuple[_Found | None, str]:
        """Operations of the layer from single operations, or else from the heatmap."""
        asked = self.choice.source
        if asked in (None, "dxt") and traced in self.modules:
            found = self._traced(traced)
            if found.count:
                return found, "dxt"
        if asked in (None, "heatmap") and "HEATMAP" in self.modules:
            if self.choice.mounts:
                self.notes.append("the heatmap does not tell mount points apart: counters used")
                return None, "none"
            found = self._heat(module)
            if found.count:
                return found, "heatmap"
        return None, "none"

    def _found(self) -> _Found:
        floor = self.seconds * LEAST_PART if self.choice.gap is None else min(self.choice.gap, self.seconds * LEAST_PART)
        return _Found(IoStream(floor, self.seconds), IoStream(floor, self.seconds))

    def _traced(self, module: str) -> _Found:
        """The single operations of a DXT module."""
        ffi, found = self.wrapper.ffi, self._found()
        size = ffi.sizeof("struct dxt_file_record")
        for address in self._records(module):
            head = ffi.cast("struct dxt_file_record *", address)
            self.hosts[ffi.string(head.hostname).decode(errors="replace")].add(head.base_rec.rank)
            if not self._wanted(head.base_rec.id):
                continue
            count = head.write_count + head.read_count
            if count:
                data = np.frombuffer(ffi.buffer(address + size, count * _SEGMENT.itemsize), _SEGMENT)
                self._take(found.writes, found, 1, data[: head.write_count])
                self._take(found.reads, found, 0, data[head.write_count :])
        return found

    def _take(self, operations: IoStream, found: _Found, way: int, segments: NDArray[Any]) -> None:
        """Take in the segments of a record, some at a time."""
        for begin in range(0, len(segments), SLICE):
            part = segments[begin : begin + SLICE]
            starts, ends = part["start"].copy(), part["end"].copy()
            lengths = np.maximum(part["length"], 0)
            self._check(float(np.maximum(starts.max(), ends.max())), float(lengths.max()), "an operation")
            found.volumes[way] += int(lengths.sum())
            found.count += len(part)
            operations.add(IoIntervals.of(np.maximum(starts, 0.0), np.maximum(ends, 0.0), lengths))

    def _check(self, end: float, volume: float, what: str) -> None:
        """Refuse times and bytes that only a broken log has."""
        if not end <= 2.0 * self.seconds + LATEST or not volume <= MOST_BYTES:
            raise InputError(
                self.path,
                f"{what} of {volume:.3g} bytes until {end:.3g} s in a job of {self.seconds:.3g} s; the log is broken",
            )

    def _heat(self, module: str) -> _Found:
        """The busy bins of a layer in the heatmap, which has a record for each process."""
        ffi, found = self.wrapper.ffi, self._found()
        wanted = f"heatmap:{module.replace('-', '')}"
        sums: dict[float, list[Floats]] = {}
        for address in self._records("HEATMAP"):
            head = ffi.cast("struct darshan_heatmap_record *", address)
            if self.names.get(head.base_rec.id) != wanted or head.nbins < 1:
                continue
            if not 0.0 < head.bin_width_seconds < np.inf:
                raise InputError(self.path, f"a heatmap with bins of {head.bin_width_seconds} s; expected seconds above 0")
            bins = [np.frombuffer(ffi.buffer(each, 8 * head.nbins), np.int64) for each in (head.read_bins, head.write_bins)]
            both = sums.setdefault(head.bin_width_seconds, [np.zeros(0), np.zeros(0)])
            for way in (0, 1):
                both[way] = _added(both[way], bins[way])
        for width, both in sums.items():
            for way, operations in ((0, found.reads), (1, found.writes)):
                busy = np.flatnonzero(both[way] > 0)
                self._check(len(both[way]) * width, float(both[way].max(initial=0.0)), "a bin of the heatmap")
                found.volumes[way] += float(both[way][busy].sum())
                found.count += len(busy)
                operations.add(IoIntervals.of(busy * width, (busy + 1) * width, both[way][busy]))
        return found

    def _merged(self, found: _Found) -> IoPhases:
        """The phases that the operations make."""
        reads, writes = found.reads.intervals(), found.writes.intervals()
        gap = self.choice.gap
        if gap is None:
            gap = natural_gap(reads, writes, self.seconds)
            self.notes.append(f"gap {gap:.3g} s, from the data")
        parts = []
        for name, operations, intervals in (("reads", found.reads, reads), ("writes", found.writes, writes)):
            merged = intervals.merged(gap)
            parts.append(self._periodic(name, operations, merged) or merged)
        return phases_of(*parts)

    def _periodic(self, name: str, operations: IoStream, merged: IoIntervals) -> IoIntervals | None:
        """Phases of the dominant period, if that is asked for and no gaps separate phases; else it is only offered."""
        longest = float(np.max(merged.ends - merged.starts, initial=0.0))
        if longest < UNSEPARATED * self.seconds:
            return None
        period = period_of_bins(operations.bins, operations.width)
        if period is None:
            return None
        found = f"{name} without gaps, with a period of {period.seconds:.3g} s (confidence {period.confidence:.2f})"
        if not self.choice.period:
            self.notes.append(f"{found}: --period makes phases of it")
            return None
        self.notes.append(f"{found}: phases made of it")
        return synthesised(operations.bins, operations.width, period)

    def _from_counters(self, use: _Use) -> IoPhases:
        """One phase for each direction, or with `by_file` for each file and direction."""
        groups: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, way in use.spans:
            groups[number if self.choice.by_file else 0, way].append(number)
        calls: dict[tuple[int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for (number, way, rank), inside in use.calls.items():
            calls[number if self.choice.by_file else 0, way][rank] += inside
        columns = []
        for (group, way), members in groups.items():
            spans = [use.spans[number, way] for number in members]
            first, last = min(span[0] for span in spans), max(span[1] for span in spans)
            by_rank = calls[group, way]
            busy = min(by_rank.pop(-1, 0.0) + max(by_rank.values(), default=0.0), last - first)
            columns.append((first, last, sum(use.volumes[number][way] for number in members), way, busy or last - first))
        starts, ends, volumes, ways, seconds = np.array(columns, np.float64).reshape(-1, 5).T
        return IoPhases(starts, ends, volumes, ways > 0.0, seconds)

    def _stdio(self, uses: dict[str, _Use]) -> _Added | None:
        """What goes through STDIO and is not in POSIX."""
        use, posix = uses["STDIO"], uses["POSIX"]
        kept = _Use()
        for (number, way), span in use.spans.items():
            volume = use.volumes[number][way]
            if self.names.get(number) not in TERMINAL and volume > posix.volumes.get(number, (0.0, 0.0))[way]:
                kept.volumes[number][way] = volume
                kept.spans[number, way] = span
        kept.calls = {key: inside for key, inside in use.calls.items() if key[:2] in kept.spans}
        if not kept.spans:
            return None
        if kept.total() == use.total() and self.choice.source in (None, "heatmap"):
            found, source = self._operations("STDIO", "")
            if found is not None:
                self.notes.append("STDIO added from the heatmap")
                return _Added(self._merged(found), source, (found.volumes[0], found.volumes[1]), kept.total())
        self.notes.append("STDIO added from counters")
        return _Added(self._from_counters(kept), "counters", kept.total(), kept.total())

    def _nodes(self) -> int | None:
        """The hosts that DXT names, or the processes over those of a node; None if neither is known."""
        ranks, per_node = self.job["ranks"], self.choice.ranks_per_node
        by_size = None if per_node is None else -(-ranks // per_node)
        if not self.hosts:
            return by_size
        seen = len(set().union(*self.hosts.values()))
        if seen >= ranks:
            return len(self.hosts)
        self.notes.append(f"DXT names the hosts of {seen:,} of {ranks:,} processes: {len(self.hosts):,} nodes at least")
        return max(len(self.hosts), by_size or 0)

    def _note_partial(self) -> None:
        partial = [name for name, module in self.modules.items() if module["partial_flag"]]
        if partial:
            self.notes.append(f"partial: Darshan had no room for all records of {', '.join(partial)}")


def _times(way: str) -> tuple[str, ...]:
    """The counters of time of one direction: first and last use, first opening, last closing, seconds in calls."""
    return (f"{way}_START_TIMESTAMP", f"{way}_END_TIMESTAMP", "OPEN_START_TIMESTAMP", "CLOSE_END_TIMESTAMP", f"{way}_TIME")


def _sum(one: tuple[float, float], other: tuple[float, float]) -> tuple[float, float]:
    return one[0] + other[0], one[1] + other[1]


def _added(total: Floats, bins: NDArray[np.int64]) -> Floats:
    """The sum of bins, of which some records have one more than others."""
    size = max(len(total), len(bins))
    return np.pad(total, (0, size - len(total))) + np.pad(bins, (0, size - len(bins)))
