"""The rows of a campaign: one for each cell and window, and how they become a part file."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.campaign.cells import Cell, canonical
from penstock.engine import Result, Run
from penstock.engine.buffer_result import THROUGH
from penstock.engine.result import MEASURES, UNBOUNDED, finite
from penstock.model import Application, PenstockError, Workload
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
        """The shape of the workload of the run; time linear in the number of phases."""
        pairs = zip(run.workload.applications, pairwise(run.chains.first.tolist()), strict=True)
        sums = [_dedicated_sums(application, run.chains.seconds[slice(*span)]) for application, span in pairs]
        return cls(
            tuple(_ratio(seconds, operations) for seconds, _, operations in sums),
            tuple(_ratio(io_seconds, seconds) for seconds, io_seconds, _ in sums),
        )


def computed(cell: Cell, window: int, result: Result, shape: Shape, placed: ChosenPlacement | None) -> dict[str, Any]:
    """The row of a cell that was computed."""
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
    """The row of a cell that asks for the bounds: what no schedule passes, and null for all that a schedule only has."""
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
    """The row of a cell that failed, with the error in one line."""
    text = str(error) if isinstance(error, PenstockError) else f"{type(error).__name__}: {error}"
    return {**_heading(cell, window), "error": " ".join(text.split())[:_LONGEST_ERROR]}


def to_part(rows: Iterable[dict[str, Any]]) -> bytes:
    """The rows as a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(list(rows), schema=SCHEMA), sink, compression="zstd")
    return bytes(sink.getvalue())


def with_all_columns(table: pa.Table) -> pa.Table:
    """The rows with every column of SCHEMA in its order; null where the file was written before there was such a column.

    Raises pa.ArrowInvalid for what are no rows of a campaign.
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
