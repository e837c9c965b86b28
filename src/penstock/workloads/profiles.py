"""Measured curves: the bandwidth of access patterns by the number of I/O nodes, from files (002 §V.A).

Two kinds of CSV files, told apart by their columns:

- runs, a line each: `forwarders`, the number of I/O nodes, and `bandwidth`; the scenario is the column `scenario`, or else
  the columns processes, clients, layout, spatiality, request and odirect, and its name their values with dashes between;
- summaries, a line a scenario: `scenario`, and for each number of I/O nodes columns such as `mean_MBps_4ion`,
  `median_MBps_4ion` and `max_MBps_4ion`; an empty field says that this number was not measured.

Fields are separated by ``;`` or, where the header has none, by ``,``. Bandwidths are in MB/s, 10⁶ bytes each. 0 I/O nodes is
direct access to the file system, which is not an allocation: it is left out.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from types import MappingProxyType
from typing import Final

from penstock.model import Curve, InputError
from penstock.model.errors import short
from penstock.workloads.distributions import require

MB: Final = 1e6
STATISTICS: Final[Mapping[str, Callable[[list[float]], float]]] = MappingProxyType(
    {"mean": fmean, "median": median, "best": max}
)
"""What stands for several runs of a scenario: their mean, their median, or the best run."""

_PATTERN: Final = ("processes", "clients", "layout", "spatiality", "request", "odirect")
_PROTOCOL: Final = ("stonewall", "total", "operation")
"""How a run was made: all runs of one scenario must agree in this."""
_SUMMARY: Final = re.compile(r"(mean|median|max)_MBps_(\d+)ion")
_PREFIXES: Final = MappingProxyType({"mean": "mean", "median": "median", "best": "max"})

Row = tuple[int, dict[str, str]]
"""The number of a line and its fields by column."""


@dataclass(frozen=True)
class _Table:
    columns: Sequence[str]
    rows: Sequence[Row]

    def require(self, *names: str) -> None:
        for name in names:
            if name not in self.columns:
                raise InputError("", f"the column {name!r} is missing; expected the columns {', '.join(names)}")


def read_profiles(path: str | os.PathLike[str], statistic: str = "mean") -> dict[str, Curve]:
    """Read measured curves.

    Args:
        path: The CSV file.
        statistic: What stands for several runs: mean, median or best.

    Returns:
        The curve of each scenario by name, in the order of the file.

    Raises:
        InputError: One line names the file, the place in it, the value and what is expected.

    """
    require_statistic(statistic)
    name = os.fspath(path)
    try:
        table = _read(Path(name))
        points = _from_runs(table, statistic) if "forwarders" in table.columns else _from_summaries(table, statistic)
        return {scenario: _curve(scenario, rates) for scenario, rates in points.items()}
    except InputError as error:
        raise error.in_file(name) from None


def require_statistic(name: str) -> None:
    """Refuse an unknown statistic."""
    require(name in STATISTICS, "statistic", repr(name), ", ".join(STATISTICS))


def _from_runs(table: _Table, statistic: str) -> dict[str, dict[int, float]]:
    pattern = ("scenario",) if "scenario" in table.columns else _PATTERN
    table.require("forwarders", "bandwidth", *pattern)
    protocol = [name for name in _PROTOCOL if name in table.columns]
    measured: dict[str, dict[int, list[float]]] = {}
    made: dict[str, list[str]] = {}
    for line, fields in table.rows:
        count = _count(fields["forwarders"], line)
        if count == 0:
            continue
        scenario = "-".join(fields[name] for name in pattern)
        how = [fields[name] for name in protocol]
        if made.setdefault(scenario, how) != how:
            text = f"scenario {scenario} was also measured with {made[scenario]} for {protocol}, not {how}"
            raise InputError(f"line {line}", f"{text}; expected one way")
        runs = measured.setdefault(scenario, {}).setdefault(count, [])
        runs.append(_bytes_per_s(fields["bandwidth"], f"line {line}, bandwidth"))
    if not measured:
        raise InputError("", "all runs are direct access, with 0 I/O nodes; expected runs with 1 I/O node or more")
    summary = STATISTICS[statistic]
    return {scenario: {n: summary(runs) for n, runs in counts.items()} for scenario, counts in measured.items()}


def _from_summaries(table: _Table, statistic: str) -> dict[str, dict[int, float]]:
    prefix = _PREFIXES[statistic]
    table.require("scenario", f"{prefix}_MBps_1ion")
    matches = [match for match in map(_SUMMARY.fullmatch, table.columns) if match and match[1] == prefix]
    counts = {int(match[2]): match[0] for match in matches if int(match[2]) > 0}
    points: dict[str, dict[int, float]] = {}
    for line, fields in table.rows:
        if fields["scenario"] in points:
            raise InputError(f"line {line}", f"scenario {fields['scenario']} occurs twice; expected each once")
        points[fields["scenario"]] = {
            count: _bytes_per_s(fields[name], f"line {line}, {name}") for count, name in counts.items() if fields[name]
        }
    return points


def _curve(scenario: str, points: Mapping[int, float]) -> Curve:
    try:
        return Curve.of(points)
    except InputError as error:
        raise error.within(f"scenario {scenario}") from None


def _count(text: str, line: int) -> int:
    if not (text.isascii() and text.isdigit()):
        raise InputError(f"line {line}, forwarders", f"{short(text)} is not a number of I/O nodes; expected 0 or more")
    return int(text)


def _bytes_per_s(text: str, place: str) -> float:
    try:
        rate = float(text) * MB
    except ValueError:
        rate = math.nan
    if not 0.0 < rate < math.inf:
        raise InputError(place, f"{short(text)} is not a bandwidth; expected a finite number of MB/s above 0")
    return rate


def _read(path: Path) -> _Table:
    """The table in the file; every line has a field for each column."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError("", f"cannot be read: {error.strerror}; expected a CSV file of profiles") from None
    except UnicodeDecodeError as error:
        raise InputError("", f"byte {error.start} is not UTF-8 text; expected a CSV file of profiles") from None
    if not text.strip():
        raise InputError("", "is empty; expected a CSV file of profiles")
    reader = csv.reader(io.StringIO(text), delimiter=";" if ";" in text.partition("\n")[0] else ",")
    try:
        columns = next(reader)
        rows = [(reader.line_num, fields) for fields in reader if fields]
    except csv.Error as error:
        raise InputError(f"line {reader.line_num}", f"{error}; expected a CSV file of profiles") from None
    if "forwarders" not in columns and not any(map(_SUMMARY.fullmatch, columns)):
        what = "there is neither a column 'forwarders' nor one such as 'mean_MBps_1ion'"
        raise InputError("", f"{what}; expected measured profiles, a line a run or a line a scenario")
    for line, fields in rows:
        if len(fields) != len(columns):
            raise InputError(f"line {line}", f"{len(fields)} fields; expected {len(columns)}, one for each column")
    if not rows:
        raise InputError("", "holds no line but its header; expected measured profiles")
    return _Table(columns, [(line, dict(zip(columns, fields, strict=True))) for line, fields in rows])
