"""Bandwidth curves of applications by the number of I/O resources they use: classes of curves, and where generated
applications get theirs from (002 §II, §V.A, §VI.B).

Classes, by the measured counts. A curve is neutral if its largest bandwidth is at most 1.3 times its smallest. Else it
is an ascent if the largest is at the last count, a descent if it is at 1 I/O resource, a peak if it is between. Of equal
bandwidths the one at the smallest count is the largest.

The curve of a class (002 Fig. 11) is one function that stands for all its applications:

1. Each curve is divided by its own largest bandwidth, so that it lies in (0, 1]. Figures 1 and 2 show "normalized
   bandwidth"; the text does not say by what.
2. A polynomial in n is fitted to all points (n, b(n)/max b) of all curves of the class by least squares. Its degree is
   3: with 2 the curve of the measured peaks would be highest at 4, where 13 of 92 are, and not at 2, where the others
   are. With four measured counts a polynomial of degree 3 passes through the mean of the normalised curves at each.
3. It is evaluated at the measured counts. Like any curve, it is linear between them and constant beyond the last. A
   value below the smallest normalised bandwidth is raised to it, so that the curve is positive.

A scheduler that knows only the class of an application takes its bandwidth to be the curve of the class times a factor
that makes it right with 1 I/O resource. One run with one resource, or its total volume and I/O time, gives that factor,
while the shape would take many runs. So I/O-Stress(j, 1) is known exactly.

Sources. Generated applications draw measured curves, or curves of a built-in family that needs no data. Every source has
two members: `label`, which says on a figure or a screen what the curves are, and `draw(count, random)`. A draw from
measured curves is uniform with replacement (002 §V.C).

I/O nodes. The family stands for the 189 curves of MareNostrum 4 with 1, 2, 4 and 8 I/O nodes, each the mean of its runs
(Bez et al., PDSW 2020). They were sorted into six kinds: by class; ascents also by whether each process has a file of
its own or all share one, which separates ascents by 4 to 30 from slight ones; and peaks by the count of the peak. A kind
is drawn with the chance that it has among the 189, and then its curve:

- b(1) is log-uniform from `slowest` to `fastest`, such that log b(1) has the mean and the standard deviation measured;
- the steps log2 b(2)/b(1), log2 b(4)/b(2), log2 b(8)/b(4) are independent normal numbers, drawn again until the curve is
  of the class and best at the count of the kind. `steps` and `spreads` were chosen such that the mean and the standard
  deviation of the steps kept are those of the measured ones (exactly but for rounding, and within 0.1 for the eight
  ascents of shared files, whose steps are not independent).

The tests compare the family with the measured curves. The family has no statistic: it is calibrated to means.

OSTs are a stand-in. Neither 002 nor its data give its 301 curves of storage targets (Fig. 2). In their place, b(n) =
b(1)·n^α with α ~ U[0.3, 0.95] and b(1) log-uniform on 0.1 to 2 GB/s, for n from 1 to 8. Every figure says so.

Files of measured curves (002 §V.A) are CSV files of two kinds, told apart by their columns:

- runs, one line per run: `forwarders`, the number of I/O nodes, and `bandwidth`; the scenario is the column `scenario`, or
  else the columns processes, clients, layout, spatiality, request and odirect, and its name their values with dashes
  between;
- summaries, one line per scenario: `scenario`, and for each number of I/O nodes columns such as `mean_MBps_4ion`,
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
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from types import MappingProxyType
from typing import Final, Protocol

import numpy as np

from penstock.model import Curve, InputError
from penstock.model.errors import short
from penstock.workloads.parameters import require

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

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        ...     for line in ("scenario,forwarders,bandwidth", "shared,1,10", "shared,2,15", "shared,2,17"):
        ...         print(line, file=file, flush=True)
        ...     read_profiles(file.name, "best")
        {'shared': Curve(counts=(1, 2), bandwidths=(10000000.0, 17000000.0))}

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
    """Refuse a `name` that is none of `STATISTICS`."""
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
        raise InputError("", f"{what}; expected measured profiles, one line per run or per scenario")
    for line, fields in rows:
        if len(fields) != len(columns):
            raise InputError(f"line {line}", f"{len(fields)} fields; expected {len(columns)}, one for each column")
    if not rows:
        raise InputError("", "holds no line but its header; expected measured profiles")
    return _Table(columns, [(line, dict(zip(columns, fields, strict=True))) for line, fields in rows])


CLASSES: Final = ("ascent", "descent", "peak", "neutral")
NEUTRAL: Final = 0.3
"""A curve is neutral if its largest bandwidth is at most so much more than its smallest, relative to that."""
DEGREE: Final = 3
"""Of the polynomial that stands for a class."""


def best_count(curve: Curve) -> int:
    """The measured count at which the `curve` is highest; of several the smallest."""
    return curve.counts[curve.bandwidths.index(curve.largest)]


def class_of(curve: Curve) -> str:
    """The class of the `curve`: ascent, descent, peak or neutral.

    Example:
        >>> class_of(Curve.of({1: 1.0, 2: 2.0, 4: 1.5}))
        'peak'
    """
    if curve.largest <= (1.0 + NEUTRAL) * min(curve.bandwidths):
        return "neutral"
    best = best_count(curve)
    if best == curve.counts[-1]:
        return "ascent"
    return "descent" if best == 1 else "peak"


def normalised(curve: Curve) -> Curve:
    """The curve over its largest bandwidth: from above 0 to 1."""
    return Curve(curve.counts, tuple(rate / curve.largest for rate in curve.bandwidths))


def class_curves(curves: Iterable[Curve], degree: int = DEGREE) -> dict[str, Curve]:
    """The curve of each class that occurs among some curves.

    Args:
        curves: measured curves.
        degree: that of the polynomial which stands for a class, 0 or more.

    Returns:
        Curves by class. Their bandwidths are relative, about 1 at most.

    Raises:
        InputError: for a negative degree.

    Example:
        >>> found = class_curves([Curve.of({1: 1.0, 2: 2.0}), Curve.of({1: 2.0, 2: 8.0})])
        >>> {name: [round(rate, 6) for rate in curve.bandwidths] for name, curve in found.items()}
        {'ascent': [0.375, 1.0]}
    """
    require(degree >= 0, "degree", degree, "0 or more")
    members: dict[str, list[Curve]] = {}
    for curve in curves:
        members.setdefault(class_of(curve), []).append(normalised(curve))
    return {name: _regression(members[name], degree) for name in CLASSES if name in members}


def believed(curve: Curve, classes: Mapping[str, Curve]) -> Curve:
    """The curve that a scheduler assumes if it knows the class of an application and its bandwidth with 1 resource.

    Args:
        curve: the application's own.
        classes: the curve of each class, as `class_curves` makes them.

    Raises:
        InputError: if no curve is known for the class.

    Example:
        >>> believed(Curve.of({1: 3.0, 2: 9.0}), {"ascent": Curve.of({1: 0.5, 2: 1.0})}).bandwidths
        (3.0, 6.0)
    """
    name = class_of(curve)
    if name not in classes:
        known = ", ".join(classes) or "none"
        raise InputError("curve", f"no curve is known for its class {name}; expected one of the known classes: {known}")
    shape = classes[name]
    scale = curve.bandwidths[0] / shape.bandwidths[0]
    return Curve(shape.counts, tuple(rate * scale for rate in shape.bandwidths))


def _regression(curves: list[Curve], degree: int) -> Curve:
    """Least squares over all points of normalised curves, evaluated at their counts, which need not be the same."""
    counts = np.concatenate([curve.counts for curve in curves])
    rates = np.concatenate([curve.bandwidths for curve in curves])
    points = np.unique(counts)
    polynomial = np.polynomial.Polynomial.fit(counts, rates, min(degree, len(points) - 1))
    values = np.maximum(polynomial(points), rates.min())
    return Curve(tuple(points.tolist()), tuple(values.tolist()))


class CurveSource(Protocol):
    """A source of curves."""

    @property
    def label(self) -> str:
        """What the curves are, in a few words."""

    def draw(self, count: int, random: np.random.Generator) -> tuple[Curve, ...]:
        """Draw `count` curves with the generator `random`."""


@dataclass(frozen=True)
class MeasuredCurves:
    """Measured curves, each as likely."""

    curves: tuple[Curve, ...]
    label: str = "measured curves"

    def __post_init__(self) -> None:
        object.__setattr__(self, "curves", tuple(self.curves))
        if not self.curves:
            raise InputError("curves", "there are no curves; expected at least one")

    def draw(self, count: int, random: np.random.Generator) -> tuple[Curve, ...]:
        """Draw `count` of the curves, with replacement, with the generator `random`."""
        return tuple(self.curves[place] for place in random.integers(0, len(self.curves), count).tolist())


@dataclass(frozen=True)
class Kind:
    """One kind of the measured curves: how many of the 189 they are, their class, and where they are best.

    `slowest` and `fastest` bound b(1), in bytes/s. `steps` and `spreads` are the means and standard deviations of
    log2 b(2)/b(1), log2 b(4)/b(2) and log2 b(8)/b(4) before the curves of another class or best count are left out.
    """

    profiles: int
    class_name: str
    best: tuple[int, ...]
    slowest: float
    fastest: float
    steps: tuple[float, float, float]
    spreads: tuple[float, float, float]


@dataclass(frozen=True)
class IoNodes:
    """The family of I/O-node curves, calibrated to the 189 of MareNostrum 4."""

    label = "built-in family of I/O-node curves"

    def draw(self, count: int, random: np.random.Generator) -> tuple[Curve, ...]:
        """Draw `count` curves with the generator `random`, each with 1, 2, 4 and 8 I/O nodes."""
        shares = np.array([kind.profiles for kind in KINDS]) / sum(kind.profiles for kind in KINDS)
        return tuple(_of_kind(KINDS[place], random) for place in random.choice(len(KINDS), count, p=shares).tolist())


@dataclass(frozen=True)
class Osts:
    """The family of OST curves, a stand-in."""

    label = "OST curves: a stand-in, b(n) = b(1)·n^α, not measured"

    def draw(self, count: int, random: np.random.Generator) -> tuple[Curve, ...]:
        """Draw `count` curves with the generator `random`, each with 1 to 8 OSTs."""
        counts = np.arange(1, MOST_OSTS + 1)
        firsts = _log_uniform(*OST_BANDWIDTH, random.random(count))
        exponents = random.uniform(*OST_EXPONENT, count)
        rates = firsts[:, None] * counts ** exponents[:, None]
        return tuple(Curve(tuple(counts.tolist()), tuple(row)) for row in rates.tolist())


COUNTS: Final = (1, 2, 4, 8)
"""The numbers of I/O nodes that were measured."""
KINDS: Final = (
    # A file for each process: the bandwidth grows about as the number of I/O nodes.
    Kind(63, "ascent", (8,), 76e6, 1120e6, (1.21, 1.03, 0.85), (0.25, 0.19, 0.24)),
    # One file for all processes: more I/O nodes help somewhat.
    Kind(8, "ascent", (8,), 38e6, 309e6, (0.34, -0.43, -0.02), (0.43, 0.37, 0.34)),
    Kind(9, "descent", (1,), 26e6, 204e6, (0.03, -0.38, -0.33), (0.24, 0.39, 0.17)),
    Kind(79, "peak", (2,), 37e6, 220e6, (0.39, -0.29, -0.12), (0.34, 0.25, 0.23)),
    Kind(13, "peak", (4,), 46e6, 264e6, (0.13, 0.12, -0.24), (0.53, 0.16, 0.25)),
    Kind(17, "neutral", COUNTS, 93e6, 176e6, (0.50, -0.19, -0.13), (0.24, 0.23, 0.12)),
)
MOST_OSTS: Final = 8
OST_EXPONENT: Final = (0.3, 0.95)
"""The range of α."""
OST_BANDWIDTH: Final = (0.1e9, 2e9)
"""The range of b(1), in bytes/s."""
FAMILIES: Final[MappingProxyType[str, CurveSource]] = MappingProxyType({"io-nodes": IoNodes(), "osts": Osts()})
"""The built-in families by name."""


def curve_source(name: str, statistic: str = "mean") -> CurveSource:
    """The source of curves of a name.

    Args:
        name: a built-in family, ``io-nodes`` or ``osts``, or a CSV file of measured curves.
        statistic: what stands for several runs in the file: mean, median or best. A family has no runs.

    Raises:
        InputError: for an unknown name or statistic, and for a wrong file.

    Example:
        >>> curve_source("osts").label
        'OST curves: a stand-in, b(n) = b(1)·n^α, not measured'
    """
    require_statistic(statistic)
    if name in FAMILIES:
        return FAMILIES[name]
    if not Path(name).exists():
        expected = f"{', '.join(FAMILIES)} or a CSV file of profiles"
        raise InputError("curves", f"{name!r} is neither a family nor a file; expected {expected}")
    curves = tuple(read_profiles(name, statistic).values())
    return MeasuredCurves(curves, f"{len(curves)} measured curves of {Path(name).name} ({statistic})")


def _of_kind(kind: Kind, random: np.random.Generator) -> Curve:
    first = float(_log_uniform(kind.slowest, kind.fastest, random.random()))
    while True:
        steps = random.normal(kind.steps, kind.spreads)
        rates = first * np.exp2(np.cumsum((0.0, *steps)))
        curve = Curve(COUNTS, tuple(rates.tolist()))
        if class_of(curve) == kind.class_name and best_count(curve) in kind.best:
            return curve


def _log_uniform(low: float, high: float, uniforms: float | np.ndarray) -> np.ndarray:
    """Log-uniform from low to high, at the uniform numbers."""
    return np.asarray(low * np.exp(math.log(high / low) * np.asarray(uniforms)))
