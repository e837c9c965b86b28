"""Campaigns at a glance: failures, placements, and means with their deviations by policy and by parameter."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from penstock.model import InputError

OBJECTIVES: Final = ("min_yield", "efficiency", "utilization")
"""What is summarised unless told (000 §3.3)."""
STATISTICS: Final = ("mean", "std", "se", "count")
"""Mean, standard deviation (n − 1), standard error of the mean, and over how many rows."""
_COLUMNS: Final = ("policy", "seed", "window", "kind", "placement", "applications")
"""Columns that rows can be grouped by beside the parameters."""


def by_policy(table: pa.Table) -> list[dict[str, Any]]:
    """For each policy, in the table's order: rows, how many failed, and the means of the objectives over the others."""
    totals = table.group_by("policy", use_threads=False).aggregate(
        [("key", "count"), ("error", "count"), *((name, "mean") for name in OBJECTIVES)]
    )
    return [
        {
            "policy": row["policy"],
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
        by: names of parameters, or ``policy``, ``seed``, ``window``, ``kind``, ``placement``, ``applications``. By default
            the parameters that have more than one value, and the policy.
        measures: columns of the table with one number a row.

    Returns:
        A row for each combination, in the table's order: the values of `by`; ``rows`` and ``failed``; and for each measure
        its ``_mean``, ``_std`` (standard deviation, n − 1), ``_se`` (standard error of the mean) and ``_count``. Rows that
        failed and values that are not known are left out; what one value alone cannot tell is None.

    Raises:
        InputError: for an unknown name.
    """
    parameters = parameters_of(table)
    keys = default_by(parameters) if by is None else list(by)
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
    """The parameters of each row; rows with the same ones share an object."""
    texts = table["parameters"].to_pylist()
    parsed = {text: json.loads(text) for text in set(texts)}
    return [parsed[text] for text in texts]


def default_by(parameters: Sequence[Mapping[str, Any]]) -> list[str]:
    """The parameters that have more than one value, and the policy."""
    names = dict.fromkeys(name for one in parameters for name in one)
    varied = [name for name in names if len({json.dumps(one.get(name)) for one in parameters}) > 1]
    return [name for name in varied if name != "sha256"] + ["policy"]


def failures(table: pa.Table) -> list[dict[str, Any]]:
    """The rows that failed: what they are, the error, and the command that reproduces it."""
    names = ["key", "parameters", "seed", "window", "policy", "error", "command"]
    return list(table.filter(pc.is_valid(table["error"])).select(names).to_pylist())


def placements(table: pa.Table) -> dict[str, int]:
    """Where the I/O resources of the applications come from, as the column says it, and in how many rows; none on links."""
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
