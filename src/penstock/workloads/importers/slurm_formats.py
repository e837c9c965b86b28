"""The outputs of Slurm that say which jobs ran: ``sacct -P``, ``squeue --json``, ``sacct --json``, job completion text.

`read_entries` tells the format from the first line and makes an `Entry` of each line: a run of a job, or one of its steps. A
line that cannot be read is counted and named.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, Final, TextIO
from zoneinfo import ZoneInfo

import numpy as np

from penstock.model import InputError
from penstock.model.errors import short
from penstock.workloads.importers.slurm_values import (
    MOST_SECONDS,
    Unreadable,
    bounded,
    bytes_of,
    count_of,
    dates_of,
    file_system,
    job_and_step,
    nodes_in,
    seconds_of,
    tres_of,
)

UNFINISHED: Final = ("so-far", "requested", "leave-out")
"""What becomes of jobs that run or wait: what they have run so far, all that they asked for, or nothing."""
MOST_NAMED: Final = 100
"""Lines that cannot be read and are named; the others are counted only."""
COMMAND: Final = (
    "sacct -a -P --noconvert --format=JobID,JobIDRaw,JobName,User,Account,State,Submit,Start,End,Elapsed,Timelimit,"
    "NNodes,NTasks,TRESUsageInTot,TRESUsageOutTot"
)
"""A command that prints all that is used here."""


@dataclass(frozen=True)
class AccountingChoice:
    """What is taken from accounting, and how it is read.

    Args:
        time_zone: of the dates, such as ``Europe/Berlin``; None is the zone of this machine.
        unfinished: what becomes of jobs that run or wait: one of `UNFINISHED`.
        cores_per_node: processors of a node, for accounting that has processors and no nodes; 0 if not known.

    Raises:
        InputError: for an unknown zone or word.
    """

    time_zone: str | None = None
    unfinished: str = "so-far"
    cores_per_node: int = 0

    def __post_init__(self) -> None:
        if self.unfinished not in UNFINISHED:
            raise InputError("unfinished", f"{short(self.unfinished)} is unknown; expected one of {', '.join(UNFINISHED)}")
        if self.cores_per_node < 0:
            raise InputError("cores_per_node", f"{self.cores_per_node} is out of range; expected 1 or more")
        self.zone()

    def zone(self) -> tzinfo | None:
        """The time zone; None for that of this machine."""
        if self.time_zone is None:
            return None
        try:
            return ZoneInfo(self.time_zone)
        except (OSError, ValueError, KeyError):
            expected = "expected a name such as Europe/Berlin or UTC"
            raise InputError("time_zone", f"{short(self.time_zone)} is no time zone of this machine; {expected}") from None


@dataclass(slots=True)
class Entry:
    """A line of accounting: a run of a job, or with `step` one of its steps. Dates are Unix seconds; None is not known."""

    label: str
    raw: str
    step: str = ""
    cluster: str = ""
    name: str | None = None
    user: str | None = None
    account: str | None = None
    state: str = ""
    submit: float | None = None
    start: float | None = None
    end: float | None = None
    elapsed: float | None = None
    requested: float | None = None
    nodes: int | None = None
    usage: tuple[float, float] | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What the runs of one job have in common."""
        return self.cluster, self.label


class Steps:
    """What the steps of jobs moved, in 40 bytes for each line; most lines of ``sacct`` are steps."""

    def __init__(self) -> None:
        self._jobs: dict[tuple[str, str], int] = {}
        self._names: dict[str, int] = {}
        self._rows = array("d")
        """Numbers of the job and of the name, start (−∞: not known), bytes read and written (NaN: not known)."""

    def add(self, step: Entry) -> None:
        """Take in a line."""
        job = self._jobs.setdefault(step.key, len(self._jobs))
        name = self._names.setdefault(step.step, len(self._names))
        self._rows.extend((job, name, -math.inf if step.start is None else step.start))
        self._rows.extend(step.usage or (math.nan, math.nan))

    def __len__(self) -> int:
        return len(self._rows) // 5

    def __iter__(self) -> Iterator[tuple[tuple[str, str], float, tuple[float, float] | None]]:
        """Of each step the key of its job, its start and its bytes. Of one that is listed twice the later line counts."""
        jobs = list(self._jobs)
        rows = np.array(self._rows).reshape(-1, 5)
        order = np.lexsort((rows[:, 2], rows[:, 1], rows[:, 0]))  # which keeps the order of equal ones
        same = np.all(rows[order[1:], :3] == rows[order[:-1], :3], axis=1)
        for job, _, start, read, written in (rows[at].tolist() for at in order[np.append(~same, True)[: len(order)]]):
            yield jobs[int(job)], start, None if math.isnan(read) else (read, written)


@dataclass
class Reading:
    """What has been read so far."""

    choice: AccountingChoice
    zone: tzinfo | None
    runs: list[Entry] = field(default_factory=list)
    steps: Steps = field(default_factory=Steps)
    counts: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, str]] = field(default_factory=list)
    now: float = -math.inf
    """The latest date that the file shows to have passed."""

    def add(self, place: str, make: Iterator[Entry]) -> None:
        """Take the entries that `make` finds in the line at `place`, or note why it cannot be read."""
        try:
            for entry in list(make):
                if entry.step:
                    self.steps.add(entry)
                else:
                    self.runs.append(entry)
        except Unreadable as wrong:
            self.counts["lines that cannot be read"] += 1
            if len(self.failures) < MOST_NAMED:
                self.failures.append((place, str(wrong)))

    def passed(self, *dates: float | None) -> None:
        """Note that these dates are not in the future."""
        self.now = max(self.now, *(date for date in dates if date is not None), -math.inf)


def read_entries(file: TextIO, reading: Reading) -> str:
    """Read all entries into `reading`; returns what the file is."""
    lines = enumerate(file, start=1)
    first = next(((number, line) for number, line in lines if line.strip("\ufeff \t\r\n")), None)
    if first is None:
        raise InputError("", f"is empty; expected what {COMMAND} prints")
    number, line = first[0], first[1].lstrip("\ufeff")
    if line.lstrip()[0] == "{":
        return _read_json(line + file.read(), reading)
    rest = itertools.chain([(number, line)], lines)
    if re.match(r"\s*JobId=\d", line):
        for at, text in rest:
            if text.strip():
                reading.counts["lines"] += 1
                reading.add(f"line {at}", _of_completion(text, reading))
        return "jobcomp/filetxt"
    _read_sacct(rest, reading)
    return "sacct -P"


def set_times(entry: Entry, submit: Sequence[float], start: Sequence[float], end: Sequence[float]) -> None:
    """Choose among dates that the clock shows twice.

    Those of `submit`, `start` and `end` are chosen that fit the elapsed time of the `entry`, in order, and the earliest.
    """

    def misfit(dates: tuple[float | None, ...]) -> tuple[float, float]:
        submitted, started, ended = dates
        late = 0.0 if started is None else max((submitted or started) - started, 0.0)
        if started is None or ended is None:
            return late, 0.0
        lasted = ended - started
        return late + (max(-lasted, 0.0) if entry.elapsed is None else abs(lasted - entry.elapsed)), ended

    choices = itertools.product(submit or (None,), start or (None,), end or (None,))
    entry.submit, entry.start, entry.end = min(choices, key=misfit)


# --- sacct -P ----------------------------------------------------------------------------------------------------------

_FREE: Final = ("jobname", "comment", "admincomment", "systemcomment", "submitline", "workdir", "reason", "constraints")
"""Columns of text that may hold the character between columns."""


def _read_sacct(lines: Iterable[tuple[int, str]], reading: Reading) -> None:
    rows = iter(lines)
    _, header = next(rows)
    columns, delimiter = _columns(header, reading.choice)
    for number, line in rows:
        text = line.rstrip("\r\n")
        if not text.strip():
            continue
        if text == header.rstrip("\r\n"):
            continue  # several outputs one after the other
        reading.counts["lines"] += 1
        reading.add(f"line {number}", _of_sacct(text.split(delimiter), columns, delimiter, reading))


def _columns(header: str, choice: AccountingChoice) -> tuple[list[str], str]:
    """The names of the columns, in lower case, and what separates them."""
    found = re.match(r"\s*(\w+)(\W+)(\w+)", header)
    if found is None or not re.search(r"\bJobID(Raw)?\b", header, re.IGNORECASE):
        raise InputError("line 1", f"{short(header.strip())} has no column JobID; expected the header of {COMMAND}")
    delimiter = found[2]
    if not delimiter.strip(" "):
        raise InputError("line 1", "is a table of sacct, which cuts off what is too wide; expected sacct -P")
    columns = [name.strip().lower() for name in header.strip("\r\n").split(delimiter)]
    known = set(columns)
    needed = [
        ("JobID", {"jobid", "jobidraw"}),
        ("Start", {"start"}),
        ("Elapsed (or End)", {"elapsed", "elapsedraw", "end"}),
        ("NNodes", {"nnodes", "allocnodes", "alloctres", "nodelist"}),
    ]
    if choice.cores_per_node:
        needed[-1] = ("NNodes", needed[-1][1] | {"ncpus", "alloccpus"})
    missing = [name for name, any_of in needed if not known & any_of]
    if missing:
        raise InputError("line 1", f"the columns {', '.join(missing)} are missing; expected {COMMAND}")
    return columns, delimiter


def _of_sacct(cells: list[str], columns: list[str], delimiter: str, reading: Reading) -> Iterator[Entry]:
    if len(cells) == len(columns):
        yield _entry(dict(zip(columns, cells, strict=True)), reading)
        return
    extra = len(cells) - len(columns)
    for at in (columns.index(name) for name in _FREE if name in columns and extra > 0):
        joined = [*cells[:at], delimiter.join(cells[at : at + extra + 1]), *cells[at + extra + 1 :]]
        try:
            entry = _entry(dict(zip(columns, joined, strict=True)), reading)
        except Unreadable:
            continue
        reading.counts["lines with the separator in a text, put right"] += 1
        yield entry
        return
    raise Unreadable(f"{len(cells)} columns; expected {len(columns)}, as in the header")


def _entry(row: Mapping[str, str], reading: Reading) -> Entry:
    """The entry of a line with these cells by column."""
    label, step = job_and_step(row.get("jobid") or row.get("jobidraw", ""))
    raw, _ = job_and_step(row["jobidraw"]) if row.get("jobidraw", "").strip() else (label, "")
    entry = Entry(label, label if raw == label else raw, step, sys.intern(row.get("cluster", "").strip()))
    entry.state = sys.intern(row.get("state", "").strip().partition(" ")[0].rstrip("+").upper())
    if entry.state and not re.fullmatch(r"[A-Z_]+", entry.state):
        raise Unreadable(f"{short(row['state'])} is no state; expected one such as COMPLETED")
    entry.elapsed = _elapsed(row)
    set_times(entry, *(dates_of(row.get(name, ""), reading.zone) for name in ("submit", "start", "end")))
    entry.usage = _usage(row)
    if not step:
        entry.name, entry.user, entry.account = (_shared(row.get(column, "")) for column in ("jobname", "user", "account"))
        entry.requested = _limit(row)
        entry.nodes = _nodes(row, reading.choice)
    reading.passed(entry.submit, entry.start, entry.end)
    if entry.start is not None and entry.elapsed is not None:
        reading.passed(entry.start + entry.elapsed)
    return entry


def _shared(text: str) -> str | None:
    """The text, which is kept once however many jobs have it; None if it is empty."""
    return sys.intern(text.strip()) or None


def _elapsed(row: Mapping[str, str]) -> float | None:
    if row.get("elapsedraw", "").strip().isdecimal():
        return bounded(float(row["elapsedraw"]), row["elapsedraw"])
    return seconds_of(row.get("elapsed", ""))


def _limit(row: Mapping[str, str]) -> float | None:
    """The requested time: ``Timelimit``, or ``TimelimitRaw`` in minutes."""
    text = row.get("timelimit", "")
    if not text.strip() and row.get("timelimitraw", "").strip().isdecimal():
        return bounded(60.0 * float(row["timelimitraw"]), row["timelimitraw"]) or None
    return seconds_of(text) or None


def _nodes(row: Mapping[str, str], choice: AccountingChoice) -> int | None:
    for name in ("nnodes", "allocnodes"):
        if (count := count_of(row.get(name, ""))) is not None:
            return count
    if (count := count_of(tres_of(row.get("alloctres", "")).get("node", ""))) is not None:
        return count
    if (count := nodes_in(row.get("nodelist", ""))) is not None:
        return count
    cores = count_of(row.get("alloccpus", "")) or count_of(row.get("ncpus", ""))
    return math.ceil(cores / choice.cores_per_node) if cores and choice.cores_per_node else None


def _usage(row: Mapping[str, str]) -> tuple[float, float] | None:
    """Bytes read and written: totals, else means over tasks times the tasks."""
    totals = [file_system(tres_of(row.get(f"tresusage{way}tot", ""))) for way in ("in", "out")]
    if any(total is not None for total in totals):
        return totals[0] or 0.0, totals[1] or 0.0
    tasks = count_of(row.get("ntasks", "")) or 0
    means = [file_system(tres_of(row.get(f"tresusage{way}ave", ""))) for way in ("in", "out")]
    disk = [bytes_of(text) if (text := row.get(f"avedisk{way}", "").strip()) else None for way in ("read", "write")]
    both = means if any(mean is not None for mean in means) else disk
    if not tasks or all(mean is None for mean in both):
        return None
    return (both[0] or 0.0) * tasks, (both[1] or 0.0) * tasks


# --- job completion text -----------------------------------------------------------------------------------------------

_PAIR: Final = re.compile(r"(?:^|\s)([A-Z][A-Za-z]+)=")


def _of_completion(line: str, reading: Reading) -> Iterator[Entry]:
    marks = list(_PAIR.finditer(line))
    ends = [mark.start() for mark in marks[1:]] + [len(line)]
    row = {mark[1]: line[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=False)}
    if not row.get("JobId") or "StartTime" not in row or "EndTime" not in row:
        raise Unreadable(f"{short(line.strip())} lacks JobId, StartTime or EndTime; expected a line of jobcomp/filetxt")
    raw, _ = job_and_step(row["JobId"])
    label = f"{row['ArrayJobId']}_{row['ArrayTaskId']}" if row.get("ArrayTaskId") and row.get("ArrayJobId") else raw
    entry = Entry(job_and_step(label)[0], raw, cluster=row.get("Cluster", ""), name=row.get("Name") or None)
    state = row.get("JobState", "").upper()
    entry.state = "REQUEUED" if state == "PENDING" else state  # only what has ended is written
    entry.user, entry.account = row.get("UserId", "").partition("(")[0] or None, row.get("Account") or None
    set_times(entry, *(dates_of(row.get(f"{name}Time", ""), reading.zone) for name in ("Submit", "Start", "End")))
    limit = row.get("TimeLimit", "")
    entry.requested = bounded(60.0 * float(limit), limit) or None if limit.isdecimal() else seconds_of(limit)
    entry.nodes = count_of(row.get("NodeCnt", "")) or nodes_in(row.get("NodeList", ""))
    reading.passed(entry.submit, entry.start, entry.end)
    yield entry


# --- JSON --------------------------------------------------------------------------------------------------------------


def _read_json(text: str, reading: Reading) -> str:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise InputError("", "is no JSON or ends too early; expected the output of squeue --json") from None
    jobs = document.get("jobs") if isinstance(document, dict) else None
    if not isinstance(jobs, list):
        raise InputError("", "has no list of jobs; expected the output of squeue --json")
    accounting = any(isinstance(job, dict) and isinstance(job.get("time"), dict) for job in jobs)
    update = _number(document.get("last_update"))
    reading.passed(update if update is not None and 0.0 < update <= MOST_SECONDS else None)
    for number, job in enumerate(jobs):
        reading.counts["jobs listed"] += 1
        reading.add(f"jobs[{number}]", _of_json(job, reading, accounting))
    return "sacct --json" if accounting else "squeue --json"


def _of_json(job: object, reading: Reading, accounting: bool) -> Iterator[Entry]:
    if not isinstance(job, dict):
        raise Unreadable(f"{short(job)} is no job; expected an object")
    identity = _number(job.get("job_id"))
    if identity is None or identity < 0:
        raise Unreadable(f"job_id {short(job.get('job_id'))} is no id; expected a number")
    raw = f"{identity:.0f}"
    entry = Entry(_label(job, raw), raw, cluster=_text(job.get("cluster")) or "", name=_text(job.get("name")))
    entry.user, entry.account = _text(job.get("user_name")) or _text(job.get("user")), _text(job.get("account"))
    nested = job.get("time")
    times: Mapping[str, Any] = nested if accounting and isinstance(nested, dict) else {}
    state = job.get("job_state") or (job["state"].get("current") if isinstance(job.get("state"), dict) else None)
    state = state[0] if isinstance(state, list) and state else state
    entry.state = (_text(state) or "").upper()
    names = ("submission", "start", "end") if accounting else ("submit_time", "start_time", "end_time")
    submit, start, end = (_seconds((times if accounting else job).get(name)) for name in names)
    limit = _seconds(times.get("limit") if accounting else job.get("time_limit"))
    entry.submit, entry.start, entry.end = submit or None, start or None, end or None
    entry.requested = 60.0 * limit if limit else None
    entry.nodes = _json_nodes(job)
    if accounting:
        entry.elapsed = _seconds(times.get("elapsed"))
        yield from _json_steps(job, entry)
    elif entry.state in ("PENDING", "RUNNING", "SUSPENDED", "STOPPED"):
        entry.start = None if entry.state == "PENDING" else entry.start  # Slurm says when it expects to start it
        entry.end = None  # … and to end it
    reading.passed(entry.submit, entry.start, entry.end, _seconds(job.get("last_sched_evaluation")))
    yield entry


def _label(job: Mapping[str, Any], raw: str) -> str:
    """The id as sacct writes it: 123, 123_4, 123_[1-4%2] or 123+1."""
    nested = job.get("array")
    array = nested if isinstance(nested, dict) else {"job_id": job.get("array_job_id"), "task_id": job.get("array_task_id")}
    of, task = _number(array.get("job_id")), _number(array.get("task_id"))
    tasks = _text(job.get("array_task_string")) or _text(array.get("task"))
    if of and task is not None and of >= 0 and task >= 0:
        return f"{of:.0f}_{task:.0f}"
    return f"{of:.0f}_[{tasks}]" if of and of >= 0 and tasks else raw


def _json_nodes(job: Mapping[str, Any]) -> int | None:
    for name in ("node_count", "allocation_nodes"):
        count = _number(job.get(name))
        if count is not None and 0 < count < 2**31:
            return int(count)
    return nodes_in(_text(job.get("nodes")) or "")


def _json_steps(job: Mapping[str, Any], of: Entry) -> Iterator[Entry]:
    """The steps of ``sacct --json``, which calls the usage in ``requested`` and the usage out ``consumed``."""
    steps = job.get("steps")
    for number, step in enumerate(steps if isinstance(steps, list) else []):
        tres = step.get("tres") if isinstance(step, dict) else None
        if not isinstance(tres, dict):
            continue
        both = [_json_bytes(tres.get(name)) for name in ("requested", "consumed")]
        usage = None if both == [None, None] else (both[0] or 0.0, both[1] or 0.0)
        yield Entry(of.label, of.raw, str(number), of.cluster, start=of.start, usage=usage)


def _json_bytes(amounts: object) -> float | None:
    total = amounts.get("total") if isinstance(amounts, dict) else None
    rows = [row for row in total if isinstance(row, dict) and row.get("type") == "fs"] if isinstance(total, list) else []
    counts = {f"fs/{row.get('name')}": f"{max(_number(row.get('count')) or 0.0, 0.0):.0f}" for row in rows}
    return file_system(counts)


def _number(value: object) -> float | None:
    """A number, which newer versions of Slurm write as ``{"set": true, "infinite": false, "number": 7}``."""
    if isinstance(value, dict):
        return _number(value.get("number")) if value.get("set", True) and not value.get("infinite") else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    number = float(value) if abs(value) < 2**63 else math.inf
    return number if math.isfinite(number) else None


def _seconds(value: object) -> float | None:
    number = _number(value)
    return None if number is None else bounded(number, value)


def _text(value: object) -> str | None:
    return value.strip() or None if isinstance(value, str) else None
