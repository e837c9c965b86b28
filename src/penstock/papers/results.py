"""The rows of a campaign, ready to be asked."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.policies.view import Floats


@dataclass(frozen=True)
class Results:
    """Rows without errors; `parameters` holds the parsed parameters of each."""

    table: pa.Table
    parameters: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, table: pa.Table) -> Results:
        """The rows of a campaign that have no error."""
        table = table.filter(table.column("error").is_null())
        parsed: dict[str, dict[str, Any]] = {}
        texts = table.column("parameters").to_pylist()
        return cls(table, tuple(parsed.setdefault(text, json.loads(text)) for text in texts))

    def where(self, policy: str | None = None, **parameters: Any) -> Results:
        """The rows with these parameters, of a policy or of all, in the order of seed and window."""
        keep = np.array(
            [all(row.get(key) == value for key, value in parameters.items()) for row in self.parameters], dtype=bool
        )
        if policy is not None:
            keep &= np.array(self.table.column("policy").to_pylist(), dtype=object) == policy
        rows = np.flatnonzero(keep)
        order = np.lexsort((self.integers("window")[rows], self.integers("seed")[rows]))
        return self._rows(rows[order].tolist())

    def beside(self, other: Results) -> tuple[Results, Results]:
        """The rows of both for the workloads that are in both, in the same order: a row may be missing for an error."""
        mine, others = self._workloads(), other._workloads()
        common = [workload for workload in mine if workload in others]
        return self._rows([mine[workload] for workload in common]), other._rows([others[workload] for workload in common])

    def _workloads(self) -> dict[tuple[str, int, int], int]:
        columns = (self.table.column(name).to_pylist() for name in ("parameters", "seed", "window"))
        return {workload: row for row, workload in enumerate(zip(*columns, strict=True))}

    def _rows(self, chosen: Sequence[int]) -> Results:
        return Results(self.table.take(pa.array(chosen, pa.int64())), tuple(self.parameters[row] for row in chosen))

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def column(self, name: str) -> Floats:
        """A column of numbers."""
        return np.asarray(self.table.column(name).to_numpy(), dtype=np.float64)

    def integers(self, name: str) -> np.ndarray:
        """A column of whole numbers."""
        return np.asarray(self.table.column(name).to_numpy())

    def mean(self, name: str) -> float:
        """The mean of a column; not a number without rows."""
        return float(self.column(name).mean()) if len(self) else float("nan")

    def lists(self, name: str) -> Iterator[Floats]:
        """A column of lists, one array a row."""
        for values in self.table.column(name):
            yield np.array(values.as_py())
