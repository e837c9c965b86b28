"""A campaign at a glance."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_MEANS = ("min_yield", "efficiency", "utilization")


def by_policy(table: pa.Table) -> list[dict[str, Any]]:
    """For each policy, in the table's order: rows, how many failed, and the means of the objectives over the others."""
    totals = table.group_by("policy", use_threads=False).aggregate(
        [("key", "count"), ("error", "count"), *((name, "mean") for name in _MEANS)]
    )
    return [
        {
            "policy": row["policy"],
            "rows": row["key_count"],
            "failed": row["error_count"],
            **{name: row[f"{name}_mean"] for name in _MEANS},
        }
        for row in totals.to_pylist()
    ]


def failures(table: pa.Table) -> list[dict[str, Any]]:
    """The rows that failed: what they are, the error, and the command that reproduces it."""
    names = ["key", "parameters", "seed", "window", "policy", "error", "command"]
    return list(table.filter(pc.is_valid(table["error"])).select(names).to_pylist())


def placements(table: pa.Table) -> dict[str, int]:
    """Where the I/O resources of the applications come from, as the column says it, and in how many rows; none on links."""
    known = table.filter(pc.is_valid(table["placement"]))
    counts = known.group_by("placement", use_threads=False).aggregate([("key", "count")])
    return {row["placement"]: row["key_count"] for row in counts.to_pylist()}
