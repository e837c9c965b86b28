"""A linear program put together from blocks of columns and rows."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from penstock.planning.buffers.solver import Program
from penstock.policies.view import Floats, Ints


class Rows:
    """Rows in the making: triplets of a matrix, and right sides."""

    def __init__(self) -> None:
        self._rows, self._columns = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        self._values, self._right = [np.zeros(0)], [np.zeros(0)]
        self._count = 0

    def add(self, right: Floats) -> Ints:
        """New rows with these right sides; returns their numbers."""
        self._right.append(right)
        self._count += len(right)
        return np.arange(self._count - len(right), self._count)

    def put(self, rows: Ints, columns: Ints | int, values: Floats | float) -> None:
        """Enter a value in each of the rows, in the column beside it. Values in the same place add up."""
        self._rows.append(rows)
        self._columns.append(np.broadcast_to(columns, rows.shape))
        self._values.append(np.broadcast_to(values, rows.shape))

    def matrix(self, columns: int) -> sparse.csr_matrix:
        """The matrix, with so many columns."""
        places = np.concatenate(self._rows), np.concatenate(self._columns)
        return sparse.csr_matrix((np.concatenate(self._values), places), shape=(self._count, columns))

    @property
    def right(self) -> Floats:
        """The right sides."""
        return np.concatenate(self._right)


class Assembly:
    """A program in the making: columns with their bounds, rows `upper` (at most) and `equal` (exactly)."""

    def __init__(self) -> None:
        self.upper, self.equal = Rows(), Rows()
        self._low: list[Floats] = []
        self._high: list[Floats] = []
        self.columns = 0

    def add_columns(self, low: Floats, high: Floats) -> Ints:
        """New columns with these bounds; returns their numbers."""
        self._low.append(low)
        self._high.append(high)
        self.columns += len(low)
        return np.arange(self.columns - len(low), self.columns)

    def program(self, minimised: Ints) -> Program:
        """The program that minimises the sum of these columns."""
        cost = np.zeros(self.columns)
        cost[minimised] = 1.0
        return Program(
            cost=cost,
            upper=self.upper.matrix(self.columns),
            upper_right=self.upper.right,
            equal=self.equal.matrix(self.columns),
            equal_right=self.equal.right,
            low=np.concatenate(self._low),
            high=np.concatenate(self._high),
        )
