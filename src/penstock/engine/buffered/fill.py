"""What is in the buffer over time: the data of each application, straight lines between knots."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numba import types

from penstock.engine.buffered.room import incoming_growth, outgoing_growth
from penstock.engine.buffered.state import ROWS, Buffers
from penstock.engine.state import NOW
from penstock.policies.compiled import part
from penstock.policies.view import Floats, Ints


class Fill(NamedTuple):
    """A row for every change of an application's rates, in the order of dates; without room nothing is recorded.

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


FILL_TYPE: Final[Any] = types.NamedTuple([types.int64[::1]] + [types.float64[::1]] * 5, Fill)


def new_fill(rows: int) -> Fill:
    """Room for that many rows."""
    return Fill(np.zeros(rows, np.int64), *(np.zeros(rows) for _ in range(5)))


def joined(parts: list[Fill]) -> Fill:
    """The rows of all parts."""
    return Fill(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


@part
def record(buffers: Buffers, fill: Fill) -> None:
    """Add a row for every application whose rates have changed."""
    for index in range(len(buffers.applications)):
        own = buffers.applications[index]
        outgoing = outgoing_growth(own) if own.writer_place >= 0 else 0.0
        incoming = incoming_growth(own) if own.reader_place >= 0 else 0.0
        if (
            outgoing != own.seen_outgoing
            or incoming != own.seen_incoming
            or own.write_rate != own.seen_write
            or own.read_rate != own.seen_read
        ):
            row = buffers.sizes[ROWS]
            buffers.sizes[ROWS] = row + 1
            fill.application[row] = index
            fill.date[row] = buffers.clock[NOW]
            fill.outgoing[row] = own.outgoing
            fill.incoming[row] = own.incoming
            fill.write_rate[row] = own.write_rate
            fill.read_rate[row] = own.read_rate
            own.seen_outgoing = outgoing
            own.seen_incoming = incoming
            own.seen_write = own.write_rate
            own.seen_read = own.read_rate
