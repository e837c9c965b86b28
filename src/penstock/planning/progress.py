"""What has been executed and moved by when, read off the engine where a batch run stops anyway: so nothing is disturbed.

Executed are node-seconds of progress: work and transfers, each transfer worth its time alone (001 §III.D.2.c: a node
executes while its job computes or does I/O, is delayed while it waits for I/O, and is idle otherwise).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.engine import Run
from penstock.policies.view import Floats

MOST_READINGS: Final = 2_000
"""Of one I/O node. A reading of 24,000 jobs takes 0.2 ms; when there are too many, every other one goes."""


@dataclass(frozen=True, eq=False)
class Progress:
    """Node-seconds executed and bytes moved since the begin, at these dates; exact there, linear between."""

    date: Floats
    executed: Floats
    moved: Floats

    def at(self, dates: Floats) -> tuple[Floats, Floats]:
        """What has been executed and moved by other dates."""
        return np.interp(dates, self.date, self.executed), np.interp(dates, self.date, self.moved)

    @classmethod
    def total(cls, parts: Sequence[Progress]) -> Progress:
        """The sum of what several I/O nodes have done."""
        dates = np.unique(np.concatenate([part.date for part in parts]))
        executed, moved = (np.sum(column, axis=0) for column in zip(*(part.at(dates) for part in parts), strict=True))
        return cls(dates, executed, moved)


class Meter:
    """Reads the progress of one I/O node, over one run after the other."""

    def __init__(self, begin: float) -> None:
        self._rows = [(begin, 0.0, 0.0)]
        self._before = (0.0, 0.0)
        self._stride = 1
        self._stops = 0

    def read(self, run: Run, nodes: Floats, since: float = 0.0, *, last: bool = False) -> None:
        """Take a reading of a run whose date 0 is `since`; the `last` one of a run is always taken."""
        self._stops += 1
        if self._stops % self._stride and not last:
            return
        done = run.accounts()
        executed, moved = float((nodes * done["progress"]).sum()), float(done["transferred"].sum())
        row = (since + run.now, self._before[0] + executed, self._before[1] + moved)
        if row[0] > self._rows[-1][0]:
            self._rows.append(row)
        else:
            self._rows[-1] = row
        if last:
            self._before = row[1:]
        if len(self._rows) > MOST_READINGS:
            self._rows = self._rows[:-1:2] + self._rows[-1:]
            self._stride *= 2

    def progress(self) -> Progress:
        """All readings."""
        return Progress(*(np.array(column) for column in zip(*self._rows, strict=True)))
