"""Workloads in Parquet: one row per phase, for chains of millions.

Columns: `application` (int32, the index, ascending), `kind` (uint8: 0 work, 1 io, 2 read, 3 write), `amount` (float64). The
schema's metadata holds, under the key ``penstock``, the JSON document of the text format without the chains.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from penstock.model.application import Application, Phases
from penstock.model.errors import InputError
from penstock.model.files import FORMAT, application_fields, application_options, header, read_platform
from penstock.model.workload import Workload

_SCHEMA: Final = pa.schema([("application", pa.int32()), ("kind", pa.uint8()), ("amount", pa.float64())])
_KEY: Final = b"penstock"


def write(workload: Workload, path: Path) -> None:
    """Write the `workload` to the Parquet file `path`."""
    lengths = [len(application.phases) for application in workload.applications]
    columns = [
        np.repeat(np.arange(len(lengths), dtype=np.int32), lengths),
        np.concatenate([application.phases.kinds for application in workload.applications]),
        np.concatenate([application.phases.amounts for application in workload.applications]),
    ]
    schema = _SCHEMA.with_metadata({_KEY: _document_of(workload).encode()})
    pq.write_table(pa.table(columns, schema=schema), path, compression="zstd")


def _document_of(workload: Workload) -> str:
    """The document of the text format without the chains; text takes less memory than the dicts of all applications."""
    applications = ", ".join(json.dumps(application_fields(application)) for application in workload.applications)
    return f'{json.dumps(header(workload))[:-1]}, "applications": [{applications}]}}'


def read(path: Path) -> Workload:
    """The workload in the Parquet file `path`; the chains are views of one array. Raises InputError for a wrong file."""
    try:
        table = pq.read_table(path, memory_map=True)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError("", f"the file is not Parquet or ends too early: {reason}; expected a workload") from None
    document = _document(table)
    owner, kinds, amounts = (_column(table, field) for field in _SCHEMA)
    entries = document["applications"]
    if len(owner) and (np.any(np.diff(owner) < 0) or owner[0] < 0 or owner[-1] >= len(entries)):
        raise InputError(
            "application", f"the column is not ascending from 0 to {len(entries) - 1}; expected phases in order"
        )
    bounds = np.searchsorted(owner, np.arange(len(entries) + 1, dtype=owner.dtype))
    applications = []
    for index, entry in enumerate(entries):
        chain = slice(bounds[index], bounds[index + 1])
        place = f"applications[{index}]"
        options = application_options(entry, place, index, phases=False)
        try:
            applications.append(Application(phases=Phases(kinds[chain], amounts[chain]), **options))
        except InputError as error:
            raise error.within(place) from None
    return Workload(read_platform(document["platform"]), tuple(applications), document.get("window"))


def _document(table: pa.Table) -> dict[str, Any]:
    metadata = table.schema.metadata or {}
    try:
        document = json.loads(metadata[_KEY])
        known = document["penstock"] == FORMAT and isinstance(document["applications"], list) and "platform" in document
    except (KeyError, TypeError, ValueError):
        known = False
    if not known:
        raise InputError("", "the Parquet file holds no workload; expected one that Penstock wrote")
    return dict(document)


def _column(table: pa.Table, field: pa.Field) -> NDArray[Any]:
    if field.name not in table.column_names:
        raise InputError(field.name, f"the column is missing; expected {', '.join(_SCHEMA.names)}")
    column = table.column(field.name)
    if column.type != field.type or column.null_count:
        raise InputError(field.name, f"the column is {column.type} or has gaps; expected {field.type} without gaps")
    array: NDArray[Any] = column.to_numpy()
    array.flags.writeable = False
    return array
