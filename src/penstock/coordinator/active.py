"""The operations that are posted and not complete: the columns that policies see, kept up to date.

The same bookkeeping as the engine's slots: n operations occupy the places 0 … n − 1 of every column, the last one moves into
the place of one that leaves, and between two dates every transfer goes on at its rate. What is left is an estimate until
its application reports; it never falls to nothing before the application says that it is done.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from penstock.coordinator.application import NO_PLACE, Application
from penstock.policies.order import TIME_GRAIN
from penstock.policies.view import Floats, Ints, View

_FLOATS: Final = (
    "remaining",
    "cap",
    "posted",
    "progress",
    "release",
    "nodes",
    "mean_iteration",
    "volume",
    "rate",
    "transferring",
    "whole",
    "rank",
    "done",
    "target",
    "sent",
    "allowed",
    "round",
    "progressed",
    "scratch",
)
_ROW: Final = {name: row for row, name in enumerate(_FLOATS)}
_INTEGERS: Final = ("application", "turn", "order")
_SHOWN: Final = tuple(name for name in _FLOATS if name in View._fields and name != "scratch")
OVERRUN: Final = 1.05
"""An application that has moved more than this times what its grants allowed, and a round, has overrun."""
LEAST: Final = 1e-9
"""The part of its volume that an operation which is not released is shown to have left at least."""


@lru_cache
def _undiminished(size: int) -> Floats:
    """What is left of the link for 1, 2, … transfers: grants know of no loss."""
    whole = np.ones(size)
    whole.flags.writeable = False
    return whole


class Active:
    """The columns. `rate` is what the application may be using at present, `sent` what it was last granted, `target` what
    the policy wants it to have, all in bytes/s; `done` is its progress before the operation, in seconds, and `allowed` the
    bytes that its grants have allowed by now. `round` is what it moves between two chances to be paused, and `progressed`
    when it was last known to have moved something.
    """

    def __init__(self) -> None:
        self.owners: list[Application] = []
        """Whose operation is at each place."""
        self._floats = np.zeros((len(_FLOATS), 8))
        self._integers = np.zeros((len(_INTEGERS), 8), np.int64)

    def column(self, name: str) -> Floats:
        """The column of that name, one entry an operation."""
        return self._floats[_ROW[name], : len(self.owners)]

    @property
    def size(self) -> int:
        """How many operations there are."""
        return len(self.owners)

    @property
    def turn(self) -> Ints:
        """The operation's place in the planned order, −1 without one."""
        return self._integers[1, : self.size]

    def post(self, owner: Application, index: int, turn: int, moved: float, **values: float) -> None:
        """Enter an operation of which so much is moved already; `index` is what ties are broken by."""
        place = self.size
        if place == self._floats.shape[1]:
            self._floats = np.concatenate([self._floats, np.zeros_like(self._floats)], axis=1)
            self._integers = np.concatenate([self._integers, np.zeros_like(self._integers)], axis=1)
        owner.place = place
        self.owners.append(owner)
        self._integers[:, place] = (index, turn, 0)
        self._floats[:, place] = 0.0
        for name, value in values.items():
            self._floats[_ROW[name], place] = value
        self.column("posted")[place] = np.rint(values["posted"] * TIME_GRAIN) / TIME_GRAIN
        self.column("allowed")[place] = moved
        self.set_moved(place, moved)

    def remove(self, owner: Application) -> None:
        """Take the application's operation out; the last one moves into its place."""
        place = owner.place
        self.take_out(place)
        if place < self.size:
            self.owners[place].place = place
        owner.place = NO_PLACE

    def take_out(self, place: int) -> int:
        """Empty a place, of which no owner is told: the last operation moves into it; returns where that one was."""
        last = self.size - 1
        self._floats[:, place] = self._floats[:, last]
        self._integers[:, place] = self._integers[:, last]
        self.owners[place] = self.owners[last]
        self.owners.pop()
        return last

    def copy(self) -> Active:
        """The same operations, to look ahead with; their owners know nothing of it."""
        twin = Active()
        twin.owners = list(self.owners)
        twin._floats, twin._integers = self._floats.copy(), self._integers.copy()
        return twin

    def stuck(self, now: float, lease: float) -> Floats:
        """From when on each operation is one that hangs: its grants have allowed all of it and more, and a lease and the
        time of a round have passed since it last moved.
        """
        rate, size = self.column("rate"), self.column("round")
        with np.errstate(divide="ignore"):
            allowed = (OVERRUN * self.column("volume") + size - self.column("allowed")) / rate
            quiet = self.column("progressed") + lease + size / rate
        return np.where(rate > 0.0, np.maximum(now + allowed, quiet), np.inf)

    def set_moved(self, place: int, moved: float) -> None:
        """So much of the volume is moved, says its application."""
        volume = self.column("volume")[place]
        remaining = max(LEAST * volume, volume - moved)
        self.column("remaining")[place] = remaining
        self.column("progress")[place] = self.column("done")[place] + (volume - remaining) / self.column("cap")[place]

    def move(self, seconds: float) -> None:
        """Let every transfer go on at its rate for that long."""
        if self.size == 0 or seconds <= 0.0:
            return
        rate, volume, remaining = self.column("rate"), self.column("volume"), self.column("remaining")
        np.maximum(remaining - rate * seconds, LEAST * volume, out=remaining)
        np.copyto(self.column("progress"), self.column("done") + (volume - remaining) / self.column("cap"))
        self.column("transferring")[rate > 0.0] += seconds
        self.column("allowed")[:] += rate * seconds

    def view(self, now: float, bandwidth: float, window_end: float, parameter: float, completed: int) -> View:
        """What a policy is shown."""
        shown = self._floats[:, : self.size].view()
        shown.flags.writeable = False
        numbers = self._integers[:, : self.size].view()
        numbers.flags.writeable = False
        return View(
            application=numbers[0],
            turn=numbers[1],
            degradation=_undiminished(self.size),
            scratch=self.column("scratch"),
            order=self._integers[2, : self.size],
            now=now,
            bandwidth=bandwidth,
            window_end=window_end,
            parameter=parameter,
            completed=completed,
            **{name: shown[row] for row, name in enumerate(_FLOATS) if name in _SHOWN},
        )
