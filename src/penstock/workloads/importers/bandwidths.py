"""Measured bandwidths, of IOR or in a plain table, become a platform, curves and a degradation.

A *measurement* is the bandwidth that so many nodes and processes reached together, reading or writing, on so many storage
targets (OSTs), while so many such runs went on at one time. Equal runs that were repeated count once, by their mean, median
or best. From those that ran alone follow

- B, the largest bandwidth of all, with limits on reads and writes of their own where both were measured;
- b, the bandwidth of a node: the largest that was reached per node, which few nodes reach;
- the curve of an application: its bandwidth by the number of OSTs, where it was measured with 1 and with more of them.

Runs at one time (the column `applications`) give the degradation: what k of them reach together, relative to what one run
reaches. Where only the nodes of one run grow, each `nodes_per_transfer` of them may be taken for a transfer; then it is what
is left beyond the number of nodes with which the bandwidth is largest. Of reads and writes the smaller part counts.

IOR writes text, JSON (``-O summaryFormat=JSON``) and CSV, in MiB/s. A plain table has a header with a column of bandwidth,
as ``MB/s``, and any of ``nodes``, ``processes``, ``osts``, ``operation``, ``applications`` and ``seconds``.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from penstock.model import Application, Curve, Degradation, InputError, Platform, Workload
from penstock.model.errors import expected, short
from penstock.workloads.curves import STATISTICS

MIB: Final = 2.0**20
UNITS: Final = {"kb/s": 1e3, "mb/s": 1e6, "gb/s": 1e9, "tb/s": 1e12, "kib/s": 2.0**10, "mib/s": MIB, "gib/s": 2.0**30}
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "nodes": ("nodes", "clients", "client_nodes"),
    "processes": ("processes", "ranks", "tasks", "numtasks", "procs"),
    "osts": ("osts", "ost", "stripe_count", "stripes", "stripe count", "forwarders", "resources"),
    "applications": ("applications", "jobs", "runs", "concurrent"),
    "operation": ("operation", "access", "direction"),
    "seconds": ("seconds", "total(s)", "time"),
}
"""The columns of a table by their meaning, in small letters."""
SECONDS: Final = 60.0
"""How long an application of which no time is known moves data."""


@dataclass(frozen=True)
class Measurement:
    """One measured bandwidth.

    Args:
        bandwidth: bytes/s, of all runs at that time together.
        operation: ``read``, ``write``, or ``io`` where it is not said.
        nodes: of one run; None if not known.
        processes: of one run; None if not known.
        osts: storage targets or I/O nodes that were used; None if not known.
        applications: runs at one time.
        seconds: how long it took; None if not known.
    """

    bandwidth: float
    operation: str = "io"
    nodes: int | None = None
    processes: int | None = None
    osts: int | None = None
    applications: int = 1
    seconds: float | None = None


def read_measurements(path: str, ranks_per_node: int | None = None) -> list[Measurement]:
    """Read the output of IOR or a table of measurements.

    Args:
        path: the file.
        ranks_per_node: processes on a node, for output that has only processes.

    Raises:
        InputError: one line names the file, the place and what is expected.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror}; expected output of IOR or a table") from None
    except UnicodeDecodeError as error:
        raise InputError(path, f"byte {error.start} is not UTF-8 text; expected output of IOR or a table") from None
    try:
        found = list(_reader(text)(text))
    except InputError as error:
        raise error.in_file(path) from None
    if not found:
        raise InputError(
            path, "it holds no measured bandwidth; expected output of IOR, or a table with a column such as MB/s"
        )
    if ranks_per_node is None:
        return found
    return [
        one if one.nodes or not one.processes else replace(one, nodes=-(-one.processes // ranks_per_node)) for one in found
    ]


def _reader(text: str) -> Callable[[str], Iterator[Measurement]]:
    if re.search(r"^\s*\{", text, re.MULTILINE) and '"' in text:
        return _from_json
    if re.search(r"^\s*(access|Operation)\s+(bw|Max)\(MiB", text, re.MULTILINE):
        return _from_text
    return _from_table


def _from_json(text: str) -> Iterator[Measurement]:
    """IOR's JSON: results of each repetition, else its summary. Lines of text around it are skipped."""
    begin = min(place for place in (text.find("\n{") + 1, 0 if text.lstrip().startswith("{") else math.inf) if place >= 0)
    try:
        document, _ = json.JSONDecoder().raw_decode(text[int(begin) :].lstrip())
    except json.JSONDecodeError as error:
        raise InputError(f"line {error.lineno}", f"is not JSON: {error.msg}; expected what IOR writes") from None
    tests = document.get("tests") if isinstance(document, dict) else None
    if not isinstance(tests, list):
        raise InputError("", "the key 'tests' is missing; expected the JSON of IOR")
    sizes = {one.get("TestID"): one for one in document.get("summary", []) if isinstance(one, dict)}
    for test in tests:
        about = {**test.get("Parameters", {}), **test.get("Options", {}), **sizes.get(test.get("TestID"), {})}
        for result in _flat(test.get("Results", [])):
            if result.get("access") in ("read", "write") and "bwMiB" in result:
                yield _measured(result["access"], result["bwMiB"], about, result.get("totalTime"))


def _flat(results: Any) -> Iterator[dict[str, Any]]:
    """The results in lists of any depth."""
    for one in results:
        if isinstance(one, dict):
            yield one
        elif isinstance(one, list):
            yield from _flat(one)


def _from_text(text: str) -> Iterator[Measurement]:
    """IOR's text: the options of a test, and then a line of results for each repetition."""
    about: dict[str, Any] = {}
    columns: list[str] = []
    for line in text.splitlines():
        option = re.match(r"\s*([A-Za-z][\w ]*?)\s*[:=]\s*(.+?)\s*$", line)
        row = line.split()
        if row[:1] == ["access"] and len(row) > 1 and row[1].startswith("bw("):
            columns = row
        elif row[:1] and row[0] in ("read", "write") and columns and len(row) >= len(columns) and row[1] != "-":
            values = dict(zip(columns, row, strict=False))
            yield _measured(row[0], row[1], about, values.get("total(s)"))
        elif row[:1] == ["Operation"] or line.startswith("Max "):
            columns = []
        elif option:
            about = {} if option[1] == "TestID" else {**about, option[1]: option[2]}


def _measured(operation: str, mib: Any, about: Mapping[str, Any], seconds: Any) -> Measurement:
    """A measurement of IOR, in MiB/s."""
    clients = re.match(r"(\d+) \((\d+) per node\)", str(about.get("clients", "")))
    processes = int(clients[1]) if clients else _whole(about.get("numTasks", about.get("tasks")))
    per_node = int(clients[2]) if clients else _whole(about.get("tasksPerNode", about.get("clients per node")))
    nodes = -(-processes // per_node) if processes and per_node else _whole(about.get("nodes"))
    lasted = None if seconds is None else _number(seconds, "total(s)")
    osts = _whole(about.get("stripe count", about.get("lustreStripeCount")))
    return Measurement(_number(mib, "bw(MiB/s)") * MIB, operation, nodes, processes, osts, 1, lasted)


def _from_table(text: str) -> Iterator[Measurement]:
    """A table with a header; fields are separated by commas, semicolons or tabs."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    if not lines:
        return
    separator = next((one for one in (";", "\t", ",") if one in lines[0]), ",")
    rows = csv.reader(lines, delimiter=separator)
    header = [name.strip().lower() for name in next(rows)]
    places = {
        meaning: next((header.index(word) for word in words if word in header), None) for meaning, words in WORDS.items()
    }
    column, factor = _bandwidth_column(header)
    for number, row in enumerate(rows, start=2):
        if len(row) < len(header) or any(field.strip() for field in row[len(header) :]):
            raise InputError(f"line {number}", f"has {len(row)} fields; expected {len(header)}, as the header has")
        fields = {meaning: row[place].strip() for meaning, place in places.items() if place is not None}
        operation = fields.get("operation", "io").lower() or "io"
        if operation not in ("read", "write", "io"):
            continue  # such as IOR's "remove"
        counts = {name: _count(fields.get(name), f"line {number}, {name}") for name in ("nodes", "processes", "osts")}
        yield Measurement(
            _number(row[column], f"line {number}, {header[column]}") * factor,
            operation,
            applications=_count(fields.get("applications"), f"line {number}, applications") or 1,
            seconds=_number(fields["seconds"], f"line {number}, seconds") if fields.get("seconds") else None,
            **counts,
        )


def _bandwidth_column(header: Sequence[str]) -> tuple[int, float]:
    """The column of the bandwidth, and its unit in bytes/s; ``bandwidth`` without a unit is MB/s."""
    for place, name in enumerate(header):
        unit = next((factor for word, factor in UNITS.items() if word in name), None)
        if unit is not None:
            return place, unit
    for word in ("bandwidth", "mbps", "bw"):
        if word in header:
            return header.index(word), 1e6
    raise InputError("line 1", f"no column of {short(list(header))} is a bandwidth; expected one such as MB/s or bandwidth")


def _number(value: Any, place: str) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 < number < math.inf:
        raise InputError(place, f"{short(value)} is out of range; expected a number above 0")
    return number


def _count(text: str | None, place: str) -> int | None:
    if not text:
        return None
    if not text.isdecimal() or int(text) < 1:
        raise InputError(place, f"{text!r} is not a number of them; expected 1 or more")
    return int(text)


def _whole(value: Any) -> int | None:
    """A count that IOR says, or None for what is none, as its "Use default"."""
    return int(value) if str(value).isdecimal() and int(value) > 0 else None


Key = tuple[int | None, int | None, int | None, int, str]
"""Nodes, processes, OSTs, runs at one time, operation."""


def machine_of(
    measurements: Sequence[Measurement], statistic: str = "mean", nodes_per_transfer: int | None = None
) -> tuple[Workload, list[str]]:
    """The machine that was measured, with one application for each size of run; and notes about it.

    Args:
        measurements: one or more.
        statistic: what stands for equal runs: mean, median or best.
        nodes_per_transfer: so many nodes of a run are taken for a transfer, for the degradation.

    Raises:
        InputError: for a wrong statistic or number.
    """
    if statistic not in STATISTICS:
        raise InputError("statistic", f"{statistic!r} is unknown; {expected(statistic, STATISTICS)}")
    if nodes_per_transfer is not None and nodes_per_transfer < 1:
        raise InputError("nodes_per_transfer", f"{nodes_per_transfer} is out of range; expected 1 or more")
    groups: dict[Key, list[Measurement]] = defaultdict(list)
    for one in measurements:
        groups[one.nodes, one.processes, one.osts, one.applications, one.operation].append(one)
    values = {key: STATISTICS[statistic]([one.bandwidth for one in group]) for key, group in groups.items()}
    fewest = min(key[3] for key in values)
    alone = {key: value for key, value in values.items() if key[3] == fewest}
    best = {way: max(value for key, value in alone.items() if key[4] == way) for way in {key[4] for key in alone}}
    applications, notes = _applications(alone, groups)
    counts = [key[2] for key in alone if key[2] is not None]
    curved = bool(counts) and all(application.curve is not None for application in applications)
    degradation, more = _degradation(values, best, nodes_per_transfer)
    both = "read" in best and "write" in best
    per_node = [value / key[0] for key, value in alone.items() if key[0]]
    platform = Platform(
        max(best.values()),
        node_bandwidth=max(per_node, default=None),
        resources=max(counts) if curved else None,
        read_bandwidth=best["read"] if both else None,
        write_bandwidth=best["write"] if both else None,
        degradation=degradation,
    )
    if not per_node:
        notes.append("nodes not known, so no bandwidth of a node; --ranks-per-node N says how many processes a node had")
    return Workload(platform, tuple(applications)), notes + more


def _applications(
    alone: Mapping[Key, float], groups: Mapping[Key, Sequence[Measurement]]
) -> tuple[list[Application], list[str]]:
    """An application for each size of run, one after the other, as they were measured; and notes."""
    sizes = list(dict.fromkeys(key[:2] for key in alone))
    applications: list[Application] = []
    release, without_one = 0.0, 0
    for nodes, processes in sizes:
        mine = {key: value for key, value in alone.items() if key[:2] == (nodes, processes)}
        best = {way: max(value for key, value in mine.items() if key[4] == way) for way in sorted({key[4] for key in mine})}
        lasted = {way: _lasted([one for key in mine if key[4] == way for one in groups[key]]) for way in best}
        curve = {osts: max(v for key, v in mine.items() if key[2] == osts) for osts in {key[2] for key in mine} if osts}
        without_one += bool(curve) and 1 not in curve
        applications.append(
            Application.of(
                "run" + (f"-{nodes}-nodes" if nodes else "") + (f"-{processes}-processes" if processes else ""),
                [(way, value * lasted[way]) for way, value in best.items()],
                nodes=nodes or 1,
                release=release,
                bandwidth=max(best.values()),
                read_bandwidth=best.get("read") if len(best) > 1 else None,
                write_bandwidth=best.get("write") if len(best) > 1 else None,
                curve=Curve.of(curve) if 1 in curve else None,
            )
        )
        release += sum(lasted.values())
    lacking = f"{without_one:,} of {len(sizes):,} sizes of runs: not measured with 1 OST, which a curve needs"
    return applications, [lacking] if without_one else []


def _lasted(measured: Sequence[Measurement]) -> float:
    """Seconds that a run takes, on average."""
    known = [one.seconds for one in measured if one.seconds is not None]
    return sum(known) / len(known) if known else SECONDS


def _degradation(
    values: Mapping[Key, float], best: Mapping[str, float], nodes_per_transfer: int | None
) -> tuple[Degradation | None, list[str]]:
    """What is left of the bandwidth when several transfers share it; and notes."""
    parts: dict[int, float] = {}
    beyond: dict[str, tuple[int, float]] = {}
    for way, most in best.items():
        mine = {key: value for key, value in values.items() if key[4] == way}
        by_count: dict[int, float] = defaultdict(float)
        for key, value in mine.items():
            by_count[key[3]] = max(by_count[key[3]], value)
        fewest = min(by_count)
        parts = _smaller(parts, {k: value / by_count[fewest] for k, value in by_count.items() if k > fewest})
        by_nodes: dict[int, float] = defaultdict(float)
        for key, value in mine.items():
            if key[0] and key[3] == fewest:
                by_nodes[key[0]] = max(by_nodes[key[0]], value)
        peak = max(by_nodes, key=lambda nodes: by_nodes[nodes], default=0)
        past = {nodes: value / most for nodes, value in by_nodes.items() if nodes > peak}
        if nodes_per_transfer is not None:
            parts = _smaller(parts, {max(round(nodes / nodes_per_transfer), 1): part for nodes, part in past.items()})
        elif past:
            worst = min(past, key=lambda nodes: past[nodes])
            beyond[way] = (worst, past[worst])
    parts = {count: part for count, part in parts.items() if count > 1}
    notes = [
        f"{way}: {nodes:,} nodes reach {part:.0%} of the largest bandwidth; --nodes-per-transfer N makes a degradation of it"
        for way, (nodes, part) in beyond.items()
    ]
    return (Degradation.of(dict(sorted(parts.items()))) if parts else None), notes


def _smaller(one: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    """The smaller part for each count; none is above 1."""
    return {count: min(one.get(count, 1.0), other.get(count, 1.0)) for count in {*one, *other}}
