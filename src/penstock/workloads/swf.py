"""Job traces in the Standard Workload Format of the Parallel Workloads Archive, version 2.2, and the jobs of a trace
that ran: when, for how long and on how many nodes.

A trace has one line per job, of 18 numbers; −1 stands for what is not known. Lines that begin with ``;`` are comments, and
the header is made of comments ``; Key: value``. Columns used here, counted from 0: 0 job number, 1 submit time (seconds
since UnixStartTime), 2 wait and 3 run time in seconds, 4 processors allocated, 7 processors requested, 8 wall time
requested, 10 status (0 failed, 1 completed, 5 cancelled; 2, 3, 4 parts of a job that also has a line as a whole), 11 user,
12 group.

A line that cannot be used is left out and counted by the first reason that holds; no line is dropped without being
counted. Some faults are repaired: unknown allocated processors become the requested ones, lines out of order are sorted,
and a job number that is missing or occurs twice is replaced by the number of the line. Failed and cancelled jobs that
ran are jobs.

The jobs of a trace become a stream of applications, each released at its date on the machine of the trace. A trace says when
jobs came, how long they ran and on how many processors, and nothing about their I/O. The model is:

- nodes: the processors over the cores of a node, rounded up;
- the run time T is that of the job alone: work (1 − f)·T and volume f·T·cap, cap = min(nodes · b, B);
- the I/O fraction f is drawn for each job: N(mean, σ²) truncated to [0, most], by default N(0.1, 0.1²) on [0, 0.9];
- every job has the same number of iterations, each with the same work and the same volume;
- B = 1 unless given, so that volumes are seconds of the whole link; b = 4·B / nodes of the machine unless given, so that a
  quarter of the machine fills the link.

The fraction of a line depends on the seed and its place in the file, not on which jobs are taken.
"""

from __future__ import annotations

import gzip
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.model import Application, InputError, Phases, Platform, Workload, parse_units
from penstock.model.application import IO, MOST_PHASES, WORK
from penstock.model.errors import short
from penstock.renamed import old_names
from penstock.workloads.parameters import Floats, Integers, parameter, require, truncated_normal

__getattr__ = old_names(__name__, Trace="SwfTrace")

NUMBER, SUBMIT, WAIT, RUN, ALLOCATED, REQUESTED, WALL_TIME, STATUS, USER, GROUP = 0, 1, 2, 3, 4, 7, 8, 10, 11, 12
COLUMNS: Final = 18
_HEADER: Final = re.compile(r";\s*(\w+)\s*:\s*(.*)")


@dataclass(frozen=True)
class SwfTrace:
    """The content of a trace: its header, and for each line of 18 finite numbers its line number and the numbers.

    `malformed` holds the numbers of the other lines, comments and empty ones not counted.
    """

    header: Mapping[str, str]
    lines: Integers
    columns: Floats
    malformed: tuple[int, ...]

    def number(self, key: str) -> float | None:
        """The number of the header for the key, or None."""
        try:
            value = float(self.header[key].split()[0])
        except (KeyError, ValueError, IndexError):
            return None
        return value if math.isfinite(value) and value >= 0.0 else None


def read_swf(path: str) -> SwfTrace:
    """Read a trace at about 100,000 lines per second. Wrong lines are noted in the result.

    Args:
        path: the file, plain or compressed by gzip (``.gz``).

    Raises:
        InputError: The file cannot be read, or no line has 18 numbers.
    """
    header: dict[str, str] = {}
    lines: list[int] = []
    rows: list[list[float]] = []
    malformed: list[int] = []
    first_wrong = ""
    for number, line in enumerate(_lines(path), start=1):
        if line.lstrip().startswith(";"):
            if match := _HEADER.match(line.lstrip()):
                header.setdefault(match[1], match[2].strip())
            continue
        if not (fields := line.split()):
            continue
        row = _numbers(fields)
        if row is not None:
            lines.append(number)
            rows.append(row)
        else:
            first_wrong = first_wrong or f"line {number}: {short(line.strip())}"
            malformed.append(number)
    if not rows:
        what = f"none of its {len(malformed):,} lines is a job ({first_wrong})" if malformed else "it holds no job"
        raise InputError(path, f"{what}; expected lines of {COLUMNS} numbers, the Standard Workload Format")
    return SwfTrace(header, np.array(lines, np.int64), np.array(rows), tuple(malformed))


def _numbers(fields: list[str]) -> list[float] | None:
    if len(fields) != COLUMNS:
        return None
    try:
        row = list(map(float, fields))
    except ValueError:
        return None
    return row if math.isfinite(sum(row)) else None


def _lines(path: str) -> list[str]:
    """The lines of the file. Bytes beyond ASCII, which only comments may have, become one character each."""
    try:
        content = Path(path).read_bytes()
        text = (gzip.decompress(content) if path.endswith(".gz") else content).decode("latin-1")
        return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")  # splitlines() knows more ends than files have
    except (zlib.error, EOFError, gzip.BadGzipFile):
        raise InputError(path, "is not gzip or ends too early; expected a compressed SWF file") from None
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}; expected an SWF file") from None


RELEASES: Final = ("submit", "start")

Reasons = list[tuple[str, NDArray[np.bool_]]]


@dataclass(frozen=True)
class Choice:
    """What is taken from a trace. 0 and "" stand for what its header says, or for all of it."""

    since: str = parameter(
        "start of the span: a date (2022-03-01, UTC) or a time after the first release (10d)",
        "",
        aliases=("from",),
        default_text="the first release",
    )
    duration: float = parameter("length of the span", 0.0, unit="seconds", default_text="all")
    release: str = parameter("a job is released at its submit, or at its start: submit + wait", "submit")
    nodes: int = parameter("nodes of the machine", 0, default_text="MaxNodes, or MaxProcs over the cores of a node")
    cores_per_node: int = parameter("processors of a node", 0, default_text="MaxProcs over MaxNodes, or 1")


@dataclass(frozen=True)
class SwfJobs:
    """The jobs taken from a trace, in the order of their releases.

    Attributes:
        nodes: Nodes of the machine.
        places: The rows of the jobs in the trace.
        names: The names of the jobs.
        releases: Seconds from the beginning of the span, or from the first release.
        seconds: Run times.
        sizes: Nodes of the jobs.
        submits: When they were submitted, as `releases` count.
        starts: When they started, likewise; NaN where the wait is not known.
        requested: Wall times requested; 0 or less where they are not known.
        users: Numbers of the users; negative where they are not known.
        groups: Likewise of the groups.
        lines: How many lines the trace has, comments and empty ones not counted.
        left_out: Lines left out, by reason.
        put_right: Lines repaired, by reason.

    """

    nodes: int
    places: Integers
    names: list[str]
    releases: Floats
    seconds: Floats
    sizes: Integers
    submits: Floats
    starts: Floats
    requested: Floats
    users: Integers
    groups: Integers
    lines: int
    left_out: dict[str, int]
    put_right: dict[str, int]


def jobs_of(trace: SwfTrace, choice: Choice, path: str) -> SwfJobs:
    """Take the jobs of a trace.

    Args:
        trace: The content of the file.
        choice: Which jobs, and on which machine.
        path: The file, for errors.

    Raises:
        InputError: No job is left, or the header lacks what is needed.

    """
    nodes, cores = _machine(trace, choice, path)
    columns = trace.columns
    allocated = columns[:, ALLOCATED]
    sizes = np.ceil(np.where(allocated > 0.0, allocated, columns[:, REQUESTED]) / cores)
    releases = columns[:, SUBMIT] + (columns[:, WAIT] if choice.release == "start" else 0.0)
    reasons = _reasons(columns, sizes, nodes, choice.release)
    begin = _add_span(reasons, trace, choice, releases, path)
    left_out = _counts(trace, reasons)
    kept = _remaining(reasons)
    if not len(kept):
        counts = ", ".join(f"{count:,} {reason}" for reason, count in left_out.items())
        raise InputError(path, f"no job is left: {counts}; expected jobs with a run time and processors")
    disorder = int(np.count_nonzero(np.diff(releases[kept]) < 0.0))
    kept = kept[np.argsort(releases[kept], kind="stable")]
    names, renamed = _names(trace, kept)
    put_right = {
        "with the requested processors, as the allocated ones are unknown": int(np.count_nonzero(allocated[kept] <= 0.0)),
        "out of order, sorted by release": disorder,
        "with a job number that is missing or used before, renamed": renamed,
    }
    return SwfJobs(
        nodes,
        kept,
        names,
        releases[kept] - begin,
        columns[kept, RUN],
        sizes[kept].astype(np.int64),
        columns[kept, SUBMIT] - begin,
        columns[kept, SUBMIT] - begin + np.where(columns[kept, WAIT] >= 0.0, columns[kept, WAIT], np.nan),
        columns[kept, WALL_TIME],
        columns[kept, USER].astype(np.int64),
        columns[kept, GROUP].astype(np.int64),
        len(columns) + len(trace.malformed),
        left_out,
        {reason: count for reason, count in put_right.items() if count},
    )


def moment(text: str) -> float | datetime:
    """Parse a `text` that is a time in seconds ("10 d") or a date, in UTC unless it says otherwise ("2022-03-01")."""
    try:
        return parse_units.seconds(text, "since")
    except InputError:
        pass
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        expected = "expected 2022-03-01, 2022-03-01T12:00, or a time after the first release such as 10d"
        raise InputError("since", f"{text!r} is neither a date nor a time; {expected}") from None
    return date if date.tzinfo else date.replace(tzinfo=UTC)


def _machine(trace: SwfTrace, choice: Choice, path: str) -> tuple[int, int]:
    """The nodes of the machine and the cores of a node."""
    most_nodes, most_processors = trace.number("MaxNodes") or 0.0, trace.number("MaxProcs") or 0.0
    cores = choice.cores_per_node
    if not cores:
        cores = math.ceil(most_processors / most_nodes) if most_nodes and most_processors else 1
    nodes = choice.nodes or math.ceil(most_nodes) or math.ceil(most_processors / cores)
    if not nodes:
        raise InputError(path, "the header has no MaxNodes and no MaxProcs; expected the nodes of the machine (--nodes)")
    return nodes, cores


def _reasons(columns: Floats, sizes: Floats, nodes: int, release: str) -> Reasons:
    """Why lines cannot be used; the first reason that holds counts."""
    reasons = [
        ("parts of jobs that are listed as a whole (status 2, 3 or 4)", np.isin(columns[:, STATUS], (2.0, 3.0, 4.0))),
        ("without a submit time", columns[:, SUBMIT] < 0.0),
        ("without a run time", columns[:, RUN] < 0.0),
        ("with a run time of 0", columns[:, RUN] == 0.0),
        ("without processors, allocated or requested", sizes <= 0.0),
        (f"larger than the machine of {nodes:,} nodes", sizes > nodes),
    ]
    if release == "start":
        reasons.append(("without a wait time", columns[:, WAIT] < 0.0))
    return reasons


def _add_span(reasons: Reasons, trace: SwfTrace, choice: Choice, releases: Floats, path: str) -> float:
    """Add the reason that a job lies outside the span; returns the date in the trace from which releases count."""
    good = releases[_remaining(reasons)]
    if not len(good):
        return 0.0
    first = begin = float(good.min())
    if choice.since:
        since = moment(choice.since)
        begin = _in_trace(since, trace, path) if isinstance(since, datetime) else first + since
    end = begin + choice.duration if choice.duration else math.inf
    span = f"from {begin - first:,.0f} s" + (f" to {end - first:,.0f} s" if choice.duration else "")
    last = f"{good.max() - first:,.0f} s"
    outside = (releases < begin) | (releases >= end)
    reasons.append((f"outside the span ({span} after the first release; the last is at {last})", outside))
    return begin


def _in_trace(date: datetime, trace: SwfTrace, path: str) -> float:
    """The date in the seconds of the trace."""
    start = trace.number("UnixStartTime")
    if start is None:
        raise InputError(path, "the header has no UnixStartTime, so dates have no meaning; expected a time such as 10d")
    return date.timestamp() - start


def _remaining(reasons: Reasons) -> Integers:
    """The rows to which no reason applies."""
    return np.flatnonzero(~np.any([bad for _, bad in reasons], axis=0))


def _counts(trace: SwfTrace, reasons: Reasons) -> dict[str, int]:
    """How many lines are left out for each reason, every line once."""
    counts = {}
    if trace.malformed:
        counts[f"malformed, not 18 numbers (first: line {trace.malformed[0]})"] = len(trace.malformed)
    seen = np.zeros(len(trace.columns), np.bool_)
    for reason, bad in reasons:
        if count := int(np.count_nonzero(bad & ~seen)):
            counts[reason] = count
        seen |= bad
    return counts


def _names(trace: SwfTrace, kept: Integers) -> tuple[list[str], int]:
    """A unique name for each job, from its number or else its line; and how many are named after their line."""
    names: list[str] = []
    used: set[str] = set()
    renamed = 0
    for number, line in zip(trace.columns[kept, NUMBER].tolist(), trace.lines[kept].tolist(), strict=True):
        name = f"job-{number:.0f}"
        if number < 0.0 or name in used:
            name = f"line-{line}"
            renamed += 1
        used.add(name)
        names.append(name)
    return names, renamed


SATURATING: Final = 0.25
"""The part of the nodes that fills the link, unless the bandwidth of a node is given."""


@dataclass(frozen=True)
class Swf(Choice):
    """What is taken from a trace, and the I/O of its jobs."""

    iterations: int = parameter("iterations of each job", 100)
    io_fraction: float = parameter("mean of f, the part of a job's run time that is I/O", 0.1)
    io_sigma: float = parameter("standard deviation of f", 0.1)
    io_most: float = parameter("largest f", 0.9)
    bandwidth: float = parameter(
        "bandwidth of the link", 1.0, symbol="B", unit="bytes/s", default_text="1: volumes are seconds of the link"
    )
    node_bandwidth: float = parameter(
        "bandwidth of one node",
        0.0,
        symbol="b",
        unit="bytes/s",
        default_text="4·B / nodes: a quarter of them fills the link",
    )

    def __post_init__(self) -> None:
        if self.since:
            moment(self.since)
        require(self.release in RELEASES, "release", repr(self.release), " or ".join(RELEASES))
        require(1 <= self.iterations < 2**31, "iterations", self.iterations, "1 or more")
        require(0.0 <= self.io_most <= 1.0, "io_most", self.io_most, "a number from 0 to 1")
        require(0.0 <= self.io_fraction <= self.io_most, "io_fraction", self.io_fraction, f"0 to io_most, {self.io_most}")
        require(math.isfinite(self.bandwidth) and self.bandwidth > 0.0, "bandwidth", self.bandwidth, "bytes/s above 0")
        for name in ("duration", "io_sigma", "node_bandwidth"):
            value = getattr(self, name)
            require(math.isfinite(value) and value >= 0.0, name, value, "a number, 0 or more")
        for name in ("nodes", "cores_per_node"):
            value = getattr(self, name)
            require(0 <= value < 2**31, name, value, "1 or more, or 0 for what the trace says")


@dataclass(frozen=True)
class Stream:
    """The workload, and the jobs that it was made from."""

    workload: Workload
    jobs: SwfJobs

    def summary(self) -> Iterator[str]:
        """Lines for a user: how many jobs were kept, left out and repaired, and why."""
        kept = len(self.jobs.names)
        yield f"{self.jobs.lines:,} lines: {kept:,} jobs kept, {self.jobs.lines - kept:,} left out"
        for what, counts in (("left out", self.jobs.left_out), ("kept", self.jobs.put_right)):
            for reason, count in counts.items():
                yield f"  {what}: {count:,} {reason}"


def stream(path: str, parameters: Swf, seed: int) -> Stream:
    """Make a stream from a trace. 24,000 jobs of 100 iterations take 1 s.

    Args:
        path: The trace, plain or ``.gz``.
        parameters: Which jobs are taken, and their I/O.
        seed: The same seed gives the same stream.

    Raises:
        InputError: The trace cannot be read, no job is left, or there are too many phases.

    Example:
        >>> import tempfile
        >>> job = "1 0 5 3600 16 -1 -1 16 7200 -1 1 1 1 -1 -1 -1 -1 -1"  # 16 processors for an hour
        >>> with tempfile.NamedTemporaryFile("w", suffix=".swf") as file:
        ...     for line in ("; MaxNodes: 64", job):
        ...         print(line, file=file, flush=True)
        ...     made = stream(file.name, Swf(iterations=10), seed=1)
        >>> made.workload.applications[0].nodes, round(made.workload.applications[0].seconds_alone(1.0))
        (16, 3600)

    """
    trace = read_swf(path)
    jobs = jobs_of(trace, parameters, path)
    if 2 * len(jobs.names) * parameters.iterations > MOST_PHASES:
        raise InputError(
            "iterations",
            f"{parameters.iterations} of {len(jobs.names):,} jobs make over {MOST_PHASES:,} phases; expected fewer",
        )
    chances = np.random.default_rng(seed).random(len(trace.columns))[jobs.places]
    fractions = truncated_normal(chances, parameters.io_fraction, parameters.io_sigma, 0.0, parameters.io_most)
    node_bandwidth = parameters.node_bandwidth or parameters.bandwidth / (SATURATING * jobs.nodes)
    platform = Platform(parameters.bandwidth, node_bandwidth, jobs.nodes)
    return Stream(Workload(platform, _applications(jobs, fractions, platform, parameters.iterations)), jobs)


def _applications(jobs: SwfJobs, fractions: Floats, platform: Platform, iterations: int) -> tuple[Application, ...]:
    """An application for each job; the chains are rows of one array."""
    caps = np.array([platform.cap(size) for size in jobs.sizes.tolist()])
    amounts = np.empty((len(fractions), 2 * iterations))
    amounts[:, 0::2] = ((1.0 - fractions) * jobs.seconds / iterations)[:, None]
    amounts[:, 1::2] = (fractions * jobs.seconds * caps / iterations)[:, None]
    kinds = np.tile(np.array([WORK, IO], np.uint8), iterations)
    kinds.flags.writeable = amounts.flags.writeable = False
    rows = zip(
        jobs.names,
        amounts,
        *(column.tolist() for column in (jobs.sizes, jobs.releases, jobs.submits, jobs.requested, jobs.users, jobs.groups)),
        zip(jobs.starts.tolist(), jobs.seconds.tolist(), strict=True),
        strict=True,
    )
    return tuple(
        Application(
            name,
            Phases(kinds, row),
            nodes=size,
            release=release,
            submit=submit,
            requested=requested if requested > 0.0 else None,
            user=f"user-{user}" if user >= 0 else None,
            group=f"group-{group}" if group >= 0 else None,
            source="drawn",
            recorded=None if math.isnan(recorded[0]) else recorded,
        )
        for name, row, size, release, submit, requested, user, group, recorded in rows
    )
