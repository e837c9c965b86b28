"""The operations that are posted and not complete: the columns that policies see, kept up to date.

The same bookkeeping as the engine's slots: n operations occupy the places 0 … n − 1 of every column, the last one moves into
the place of one that leaves, and between two dates every transfer goes on at its rate. What is left is an estimate until
its application reports; it never falls to nothing before the application says that it is done.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from penstock.coordinator import columns
from penstock.coordinator.application import NO_PLACE, Application
from penstock.coordinator.columns import ALLOWED, DONE, FLOATS, LEAST, ORDER, PROGRESSED, ROW, SENT, TARGET, TOLD
from penstock.engine.slots import CAP, PROGRESS, RATE, REMAINING, TURN, VOLUME
from penstock.policies.order import TIME_GRAIN
from penstock.policies.policy import Policy
from penstock.policies.view import INTEGERS, Floats, Ints, View, view_at


@lru_cache
def _undiminished(size: int) -> Floats:
    """What is left of the link for 1, 2, … transfers: grants know of no loss."""
    whole = np.ones(size)
    whole.flags.writeable = False
    return whole


class Active:
    """The columns of the view, and the coordinator's own. `rate` is what the application may be using at present, `sent`
    what it was last granted, `target` what the policy wants it to have, all in bytes/s; `done` is its progress before the
    operation, in seconds, and `allowed` the bytes that its grants have allowed by now. `told` is when it was last granted
    anything, `round` what it moves between two chances to be paused, and `progressed` when it was last known to have moved
    something.
    """

    def __init__(self) -> None:
        self.owners: list[Application] = []
        """Whose operation is at each place."""
        self._loops = columns.loops()
        self._floats = np.zeros((len(FLOATS), 8))
        self._integers = np.zeros((len(INTEGERS), 8), np.int64)

    def column(self, name: str) -> Floats:
        """The column of that name, one entry an operation."""
        return self._floats[ROW[name], : len(self.owners)]

    @property
    def size(self) -> int:
        """How many operations there are."""
        return len(self.owners)

    @property
    def turn(self) -> Ints:
        """The operation's place in the planned order, −1 without one."""
        return self._integers[TURN, : self.size]

    def post(self, owner: Application, moved: float, **values: float) -> None:
        """Enter an operation of which so much is moved already; the other columns by name, 0 for those left out."""
        place = self.size
        if place == self._floats.shape[1]:
            self._floats = np.concatenate([self._floats, np.zeros_like(self._floats)], axis=1)
            self._integers = np.concatenate([self._integers, np.zeros_like(self._integers)], axis=1)
        owner.place = place
        self.owners.append(owner)
        values.update(posted=round(values["posted"] * TIME_GRAIN) / TIME_GRAIN, allowed=moved)
        self._floats[:, place] = [values.get(name, 0.0) for name in FLOATS]
        self._integers[:, place] = [values.get(name, 0) for name in INTEGERS]
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

    def set_moved(self, place: int, moved: float) -> None:
        """So much of the volume is moved, says its application."""
        floats = self._floats
        volume = floats[VOLUME, place]
        remaining = max(LEAST * volume, volume - moved)
        floats[REMAINING, place] = remaining
        floats[PROGRESS, place] = floats[DONE, place] + (volume - remaining) / floats[CAP, place]

    def overruns(self, place: int, moved: float) -> bool:
        """Whether this is more than its grants had allowed, and a round."""
        return bool(moved > columns.OVERRUN * self._floats[ALLOWED, place] + self._floats[columns.ROUND, place])

    def set_progressed(self, place: int, now: float) -> None:
        """It has moved something by then."""
        self._floats[PROGRESSED, place] = now

    def set_rate(self, place: int, rate: float) -> None:
        """So much it may be using."""
        self._floats[RATE, place] = rate

    def set_sent(self, place: int, rate: float, now: float) -> None:
        """So much it is granted."""
        self._floats[SENT, place] = rate
        self._floats[TOLD, place] = now

    def move(self, seconds: float) -> None:
        """Let every transfer go on at its rate for that long."""
        self._loops.move(self._floats, self.size, seconds)

    def stuck_from(self, now: float, lease: float) -> float:
        """When the first of the operations is one that hangs."""
        return self._loops.earliest_stuck(self._floats, self.size, now, lease)

    def stuck(self, now: float, lease: float) -> list[int]:
        """The places of those that do."""
        return [place for place in range(self.size) if columns.stuck_from(self._floats, place, now, lease) <= now]

    def ask(self, policy: Policy, moment: Floats) -> bool:
        """Have the policy write the targets; whether they are rates that caps and link can carry."""
        whole = _undiminished(self._floats.shape[1])
        return self._loops.ask(self._floats, self._integers, moment, whole, self.size, policy.compiled())

    def to_lower(self, now: float, calm: float) -> tuple[list[tuple[Application, float]], float]:
        """Who is to have less than it was sent, and how much; and the date from which on the first who is spared, as it was
        told something less than `calm` seconds ago and the change is little, is so no more.
        """
        count, due = self._loops.to_lower(self._floats, self._integers, self.size, now, calm)
        return [(self.owners[p], float(self._floats[TARGET, p])) for p in self._integers[ORDER, :count].tolist()], due

    def to_raise(self, now: float, calm: float) -> tuple[list[tuple[Application, float, float]], float, float]:
        """Who is to have more than it was sent, how much that was, and how much it is to be, the worst off first; the date
        as above; and what all may be using together.
        """
        count, due, total = self._loops.to_raise(self._floats, self._integers, self.size, now, calm)
        floats, places = self._floats, self._integers[ORDER, :count].tolist()
        return [(self.owners[p], float(floats[SENT, p]), float(floats[TARGET, p])) for p in places], due, total

    def view(self, moment: Floats) -> View:
        """What a policy is shown."""
        return view_at(self._floats, self._integers, moment, _undiminished(self.size), self.size, 0, self.size)
