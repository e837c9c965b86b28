"""What is in the buffer over time: the data of each application, straight lines between knots."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numba
import numpy as np

from penstock.engine.state import Records, new_records
from penstock.policies.view import Floats, Ints


class Fill(NamedTuple):
    """A row for every change of an application's rates, in the order of dates.

    Contents are those at the date, rates those from it on.
    """

    application: Ints
    date: Floats
    outgoing: Floats
    """Written and not yet in the I/O system, in bytes."""
    incoming: Floats
    """Prefetched and not yet read, in bytes."""
    write_rate: Floats
    """To the I/O system, directly and from the buffer, in bytes/s."""
    read_rate: Floats
    """From the I/O system, directly and into the buffer, in bytes/s."""

    def rows(self, which: Ints | slice) -> Fill:
        """A copy of some of the rows."""
        return Fill(self.application[which].copy(), *(column[which].copy() for column in self[1:]))

    @property
    def dates(self) -> Floats:
        """All dates of rows, each once, ascending."""
        return np.unique(self.date)

    def content(self, application: int, dates: Floats) -> Floats:
        """Bytes of the application in the buffer at the dates, its written and its prefetched data together."""
        own = self.application == application
        if not own.any():
            return np.zeros(len(dates))
        found: Floats = np.interp(dates, self.date[own], self.outgoing[own] + self.incoming[own], left=0.0)
        return found

    def total(self, dates: Floats) -> Floats:
        """Bytes of all applications in the buffer at the dates."""
        contents = [self.content(int(index), dates) for index in np.unique(self.application)]
        return np.sum(contents, axis=0) if contents else np.zeros(len(dates))


_ROW: Final = np.dtype([(name, np.int64 if name == "application" else np.float64) for name in Fill._fields])
FILL_TYPE: Final[Any] = numba.from_dtype(_ROW)[::1]


def new_fill(rows: int) -> Records:
    """Room for that many rows; without room nothing is recorded."""
    return new_records(rows, _ROW)


def as_fill(records: Records, rows: int) -> Fill:
    """A copy of the first rows."""
    return Fill(*(records[name][:rows].copy() for name in Fill._fields))


def joined(parts: list[Fill]) -> Fill:
    """The rows of all parts."""
    return Fill(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
