"""The rows of a campaign: one for each cell and window, how they become a part file, and summaries of them.

A summary counts failures and placements, and gives means with their deviations by policy and by parameter.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.campaign.cells import BOUND, Cell, canonical
from penstock.engine import Result, Run
from penstock.engine.buffer_result import THROUGH
from penstock.engine.information import TRUE
from penstock.engine.result import MEASURES, UNBOUNDED, finite
from penstock.model import Application, InputError, PenstockError, Workload
from penstock.numeric.arrays import Floats
from penstock.planning.placement.choice import ChosenPlacement
from penstock.theory import Bounds

SCHEMA: Final = pa.schema(
    [
        pa.field("key", pa.string()),
        pa.field("kind", pa.string()),
        pa.field("parameters", pa.string()),  # canonical JSON
        pa.field("seed", pa.int64()),
        pa.field("window", pa.int32()),  # position among the source's workloads; null if it made none
        pa.field("policy", pa.string()),
        pa.field("information", pa.string()),  # what the policy was told of what lies ahead; null for bounds
        pa.field("min_yield", pa.float64()),
        pa.field("efficiency", pa.float64()),
        pa.field("utilization", pa.float64()),
        pa.field("pressure", pa.float64()),
        pa.field("makespan", pa.float64()),  # null if an application did not end
        pa.field("mean_slowdown", pa.float64()),  # null if infinite
        pa.field("max_slowdown", pa.float64()),  # likewise
        pa.field("max_stretch_by_dates", pa.float64()),  # null if an application did not end
        pa.field("max_stretch_by_durations", pa.float64()),  # likewise
        pa.field("mean_stretch_by_dates", pa.float64()),  # likewise
        pa.field("mean_stretch_by_durations", pa.float64()),  # likewise
        pa.field("mean_allocation_slowdown", pa.float64()),
        pa.field("mean_congestion_slowdown", pa.float64()),  # null if infinite
        pa.field("idle_node_seconds", pa.float64()),
        pa.field("idle_time", pa.float64()),
        pa.field("occupancy", pa.list_(pa.float64())),  # of the link, or of each I/O resource
        pa.field("store_utilization", pa.list_(pa.float64())),  # likewise
        pa.field("buffer_size", pa.float64()),  # null without a buffer, or if unlimited
        pa.field("buffer_peak", pa.float64()),  # null without a buffer, or if it is in several shares
        *(pa.field(way, pa.float64()) for way in THROUGH),  # null without a buffer
        pa.field("events", pa.int64()),
        pa.field("decisions", pa.int64()),
        pa.field("seconds", pa.float64()),  # time in the engine, the one column that differs between two runs
        pa.field("begin", pa.float64()),
        pa.field("end", pa.float64()),
        pa.field("applications", pa.int32()),
        pa.field("placement", pa.string()),  # where the I/O resources of the applications come from; null on a link
        pa.field("yields", pa.list_(pa.float64())),
        pa.field("mean_iterations", pa.list_(pa.float64())),
        pa.field("io_fractions", pa.list_(pa.float64())),
        pa.field("error", pa.string()),  # null if the cell was computed; the measures are null if not
        pa.field("command", pa.string()),
    ]
)

_MEASURES: Final = (*MEASURES, "begin", "end", "idle_node_seconds", "idle_time", "occupancy", "store_utilization")
_LONGEST_ERROR: Final = 1_000


@dataclass(frozen=True)
class Shape:
    """What the rows of a workload say of each application, whatever the policy.

    `mean_iterations` is its dedicated time without the lead over the number of its I/O operations, in seconds (None without
    I/O); `io_fractions` is the part of that time that is I/O.
    """

    mean_iterations: tuple[float | None, ...]
    io_fractions: tuple[float | None, ...]

    @classmethod
    def of(cls, run: Run) -> Shape:
        """The shape of the workload of the `run`; time linear in the number of phases."""
        pairs = zip(run.workload.applications, pairwise(run.chains.first.tolist()), strict=True)
        sums = [_dedicated_sums(application, run.chains.seconds[slice(*span)]) for application, span in pairs]
        return cls(
            tuple(_ratio(seconds, operations) for seconds, _, operations in sums),
            tuple(_ratio(io_seconds, seconds) for seconds, io_seconds, _ in sums),
        )


def computed(cell: Cell, window: int, result: Result, shape: Shape, placed: ChosenPlacement | None) -> dict[str, Any]:
    """The row of a cell that was computed.

    Args:
        cell: the cell.
        window: the number of its workload, from 0.
        result: the run.
        shape: the size of the run.
        placed: where the I/O resources of the applications come from; None on one link.
    """
    return {
        **_heading(cell, window),
        **{name: getattr(result, name) for name in _MEASURES},
        **{column: finite(getattr(result, name)) for column, name in UNBOUNDED.items()},
        **_buffer(result),
        "applications": len(result.applications),
        "placement": _placement(placed),
        "yields": [application.yield_ for application in result.applications],
        "mean_iterations": shape.mean_iterations,
        "io_fractions": shape.io_fractions,
    }


def bounded(cell: Cell, window: int, workload: Workload, found: Bounds, placed: ChosenPlacement | None) -> dict[str, Any]:
    """The row of a cell that asks for upper bounds; null for all that only a schedule has.

    Args:
        cell: the cell.
        window: the number of its workload, from 0.
        workload: what is bounded.
        found: the bounds.
        placed: where the I/O resources of the applications come from; None on one link.
    """
    return {
        **_heading(cell, window),
        "min_yield": found.min_yield,
        "efficiency": found.efficiency,
        "seconds": found.seconds,
        "begin": workload.begin,
        "end": workload.window[1] if workload.window else None,
        "applications": len(workload.applications),
        "placement": _placement(placed),
    }


def failed(cell: Cell, window: int | None, error: Exception) -> dict[str, Any]:
    """The row of a `cell` that failed, in its `window` or (None) before there were any, with the `error` in one line."""
    text = str(error) if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
    return {**_heading(cell, window), "error": " ".join(text.split())[:_LONGEST_ERROR]}


def to_part(rows: Iterable[dict[str, Any]]) -> bytes:
    """The `rows` as a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMA), sink, compression="zstd")
    return bytes(sink.getvalue())


def with_all_columns(table: pa.Table) -> pa.Table:
    """The `table` with every column of SCHEMA in its order; null where the file was written before there was such a column.

    Raises:
        pa.ArrowInvalid: for what are no rows of a campaign.
    """
    if "key" not in table.column_names:
        raise pa.ArrowInvalid("there is no column 'key'; expected rows of a campaign")
    size = len(table)
    columns = [table[one.name] if one.name in table.column_names else pa.nulls(size, one.type) for one in SCHEMA]
    return pa.table(columns, schema=SCHEMA)


def _heading(cell: Cell, window: int | None) -> dict[str, Any]:
    return {
        "key": cell.key,
        "kind": cell.kind,
        "parameters": canonical(cell.parameters),
        "seed": cell.seed,
        "window": window,
        "policy": cell.policy,
        "information": None if cell.policy == BOUND else cell.information or TRUE,
        "command": cell.command(window or 0),
    }


def _buffer(result: Result) -> dict[str, float | None]:
    """The measures of the buffer; nothing without one."""
    buffer = result.buffer
    if buffer is None:
        return {}
    ways = {way: buffer.total(way) for way in THROUGH}
    return {"buffer_size": finite(buffer.size), "buffer_peak": buffer.peak, **ways}


def _placement(placed: ChosenPlacement | None) -> str | None:
    """Where the I/O resources come from: the file, or the heuristic."""
    if placed is None:
        return None
    return "file" if placed.heuristic is None else placed.heuristic.name


def _dedicated_sums(application: Application, seconds: Floats) -> tuple[float, float, int]:
    """Dedicated seconds of all phases and of the I/O phases, and how many I/O operations there are."""
    is_io = application.phases.asks
    return float(seconds.sum()), float(seconds[is_io].sum()), int(np.count_nonzero(is_io))


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole > 0.0 else None


OBJECTIVES: Final = ("min_yield", "efficiency", "utilization")
"""What is summarised unless told (000 §3.3)."""
STATISTICS: Final = ("mean", "std", "se", "count")
"""Mean, standard deviation (n − 1), standard error of the mean, and over how many rows."""
_COLUMNS: Final = ("policy", "information", "seed", "window", "kind", "placement", "applications")
"""Columns that rows can be grouped by beside the parameters."""


def by_policy(table: pa.Table) -> list[dict[str, Any]]:
    """Rows, failures and means of the objectives, for each policy.

    Args:
        table: the rows of a campaign.

    Returns:
        One row per policy, in the table's order: ``rows``, ``failed``, and the means over the rows that did not fail. Where
        policies were told different things of what lies ahead, one row for each, with the ``information``.

    Example:
        >>> rows = [{"policy": "fcfs", "key": "a", "min_yield": 0.5}, {"policy": "fcfs", "key": "b", "error": "no file"}]
        >>> by_policy(pa.Table.from_pylist(rows, schema=SCHEMA))[0]
        {'policy': 'fcfs', 'rows': 2, 'failed': 1, 'min_yield': 0.5, 'efficiency': None, 'utilization': None}
    """
    keys = ["policy", *_told(table)]
    totals = table.group_by(keys, use_threads=False).aggregate(
        [("key", "count"), ("error", "count"), *((name, "mean") for name in OBJECTIVES)]
    )
    return [
        {
            **{key: row[key] for key in keys},
            "rows": row["key_count"],
            "failed": row["error_count"],
            **{name: row[f"{name}_mean"] for name in OBJECTIVES},
        }
        for row in totals.to_pylist()
    ]


def summarise(
    table: pa.Table, by: Sequence[str] | None = None, measures: Sequence[str] = OBJECTIVES
) -> list[dict[str, Any]]:
    """Statistics of the rows of a campaign, for each combination of some of their parameters.

    Args:
        table: the rows of a campaign.
        by: names of parameters, or ``policy``, ``information``, ``seed``, ``window``, ``kind``, ``placement``,
            ``applications``. By default the parameters that have more than one value, and the policy.
        measures: columns of the table with one number per row.

    Returns:
        A row for each combination, in the table's order: the values of `by`; ``rows`` and ``failed``; and for each measure
        its ``_mean``, ``_std`` (standard deviation, n − 1), ``_se`` (standard error of the mean) and ``_count``. Rows that
        failed and values that are not known are left out; what one value alone cannot tell is None.

    Raises:
        InputError: for an unknown name.

    Example:
        >>> same = {"policy": "fcfs", "parameters": "{}"}
        >>> rows = [{**same, "key": "a", "min_yield": 1.0}, {**same, "key": "b", "min_yield": 3.0}]
        >>> (found,) = summarise(pa.Table.from_pylist(rows, schema=SCHEMA), measures=["min_yield"])
        >>> found["rows"], found["min_yield_mean"], found["min_yield_se"]
        (2, 2.0, 1.0)
    """
    parameters = parameters_of(table)
    keys = default_by(table) if by is None else list(by)
    _check_names(table, keys, parameters, measures)
    columns = [_column(table, key, parameters) for key in keys]
    groups: dict[tuple[Any, ...], list[int]] = {}
    for index, key in enumerate(zip(*columns, strict=True) if columns else [()] * len(parameters)):
        groups.setdefault(key, []).append(index)
    values = {name: table[name].to_pylist() for name in measures}
    errors = table["error"].to_pylist()
    return [
        {
            **dict(zip(keys, key, strict=True)),
            "rows": len(inside),
            "failed": sum(errors[index] is not None for index in inside),
            **{
                f"{name}_{statistic}": value
                for name in measures
                for statistic, value in statistics([values[name][index] for index in inside]).items()
            },
        }
        for key, inside in groups.items()
    ]


def statistics(values: Iterable[float | None]) -> dict[str, float | None]:
    """Mean, standard deviation (n − 1), standard error and count of the values that are known.

    Example:
        >>> statistics([1.0, 3.0, None])
        {'mean': 2.0, 'std': 1.4142135623730951, 'se': 1.0, 'count': 2}
    """
    known = [value for value in values if value is not None]
    count = len(known)
    mean = math.fsum(known) / count if count else None
    if mean is None or count < 2:
        return {"mean": mean, "std": None, "se": None, "count": count}
    deviation = math.sqrt(math.fsum((value - mean) ** 2 for value in known) / (count - 1))
    return {"mean": mean, "std": deviation, "se": deviation / math.sqrt(count), "count": count}


def parameters_of(table: pa.Table) -> list[dict[str, Any]]:
    """The parameters of each row of the `table`; rows with the same ones share an object."""
    texts = table["parameters"].to_pylist()
    parsed = {text: json.loads(text) for text in set(texts)}
    return [parsed[text] for text in texts]


def default_by(table: pa.Table) -> list[str]:
    """The parameters of the rows of the `table` that have more than one value, and the policy."""
    parameters = parameters_of(table)
    names = dict.fromkeys(name for one in parameters for name in one)
    varied = [name for name in names if len({json.dumps(one.get(name)) for one in parameters}) > 1]
    return [name for name in varied if name != "sha256"] + ["policy", *_told(table)]


def _told(table: pa.Table) -> list[str]:
    """The column that says what policies were told, if they were told different things."""
    return ["information"] if len(table["information"].drop_null().unique()) > 1 else []


def failures(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a campaign that failed.

    Args:
        table: the rows of a campaign.

    Returns:
        For each of them what it is, the error, and the command that reproduces it.

    Example:
        >>> rows = [{"key": "a", "min_yield": 0.5}, {"key": "b", "error": "no file"}]
        >>> [(row["key"], row["error"]) for row in failures(pa.Table.from_pylist(rows, schema=SCHEMA))]
        [('b', 'no file')]
    """
    names = ["key", "parameters", "seed", "window", "policy", "error", "command"]
    return list(table.filter(pc.is_valid(table["error"])).select(names).to_pylist())


def placements(table: pa.Table) -> dict[str, int]:
    """Where the I/O resources of the applications come from.

    Args:
        table: the rows of a campaign.

    Returns:
        The number of rows by what the column ``placement`` says; rows on one link are left out.

    Example:
        >>> rows = [{"key": "a", "placement": "file"}, {"key": "b", "placement": "file"}, {"key": "c"}]
        >>> placements(pa.Table.from_pylist(rows, schema=SCHEMA))
        {'file': 2}
    """
    known = table.filter(pc.is_valid(table["placement"]))
    counts = known.group_by("placement", use_threads=False).aggregate([("key", "count")])
    return {row["placement"]: row["key_count"] for row in counts.to_pylist()}


def _column(table: pa.Table, name: str, parameters: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The values of a parameter or, where no row has a parameter of that name, of the column."""
    if any(name in one for one in parameters):
        return [one.get(name) for one in parameters]
    return list(table[name].to_pylist())


def _check_names(
    table: pa.Table, by: Sequence[str], parameters: Sequence[Mapping[str, Any]], measures: Sequence[str]
) -> None:
    known = [*dict.fromkeys(name for one in parameters for name in one), *_COLUMNS]
    for name in by:
        if name not in known:
            raise InputError("summary by", f"{name!r} is unknown; expected one of {', '.join(known)}")
    numbers = [one.name for one in table.schema if pa.types.is_floating(one.type) or pa.types.is_integer(one.type)]
    for name in measures:
        if name not in numbers:
            raise InputError("measures", f"{name!r} is unknown; expected one of {', '.join(numbers)}")
