"""Gains in node-hours, with an interval by the bootstrap (Efron 1979).

What jobs gain from a change is known job by job: node-hours lost to I/O before, less those lost after. Another week of the
machine would have other jobs. So whole clusters of jobs are drawn with replacement, as many as there are, and the gains of
the drawn jobs are added up. The interval holds the middle 95 % of the sums. Jobs of one day meet each other, so that the
clusters are days if there are at least `FEWEST` of them, else users, else jobs.

The interval is not about the model: it says how the gain differs between weeks if the model is right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from penstock.numeric.arrays import Floats, Ints
from penstock.planning.machine_run import RunOfJobs
from penstock.planning.node_hours import Hours, hours

DAY: Final = 86400.0
FEWEST: Final = 5
"""Clusters that are drawn from at least."""
DRAWS: Final = 2000
MIDDLE: Final = (2.5, 97.5)
"""Per cent of the sums that are below the ends of the interval."""


@dataclass(frozen=True)
class Gain:
    """Node-hours that a change saves; negative if it costs some.

    Attributes:
        mean: the node-hours.
        interval: the ends of the 95 % interval; None where nothing is random or too little is known.
        over: what the interval is drawn over, in words.
    """

    mean: float
    interval: tuple[float, float] | None = None
    over: str | None = None

    @classmethod
    def of_hours(cls, known: Hours, over: str) -> Gain:
        """The gain of `known` node-hours with their interval, which is drawn `over` something."""
        if known.half is None:
            return cls(known.mean)
        return cls(known.mean, (known.mean - known.half, known.mean + known.half), over)

    @property
    def sure(self) -> bool:
        """Whether the whole interval is above 0; without one, the gain itself."""
        return (self.mean if self.interval is None else self.interval[0]) > 0.0

    @property
    def text(self) -> str:
        """``123 (45 to 210)``."""
        if self.interval is None:
            return hours(self.mean)
        return f"{hours(self.mean)} ({hours(self.interval[0])} to {hours(self.interval[1])})"

    def to_dict(self) -> dict[str, Any]:
        """The gain for JSON, in node-hours."""
        return {
            "mean": self.mean,
            "interval": None if self.interval is None else list(self.interval),
            "over": self.over,
        }


@dataclass(frozen=True)
class Clusters:
    """Which jobs are drawn together.

    Attributes:
        member: for each job the number of its cluster.
        count: how many clusters there are.
        word: what they are: days, users or jobs.
        seed: for the draws.
    """

    member: Ints
    count: int
    word: str
    seed: int = 0

    @classmethod
    def of(cls, jobs: RunOfJobs, seed: int = 0) -> Clusters:
        """The clusters of `jobs`, drawn with this `seed`."""
        days = np.floor((jobs.start - jobs.start.min()) / DAY).astype(np.int64)
        for word, keys in (("days", days), ("users", np.array([user or "" for user in jobs.users]))):
            found, member = np.unique(keys, return_inverse=True)
            if len(found) >= FEWEST:
                return cls(member, len(found), word, seed)
        return cls(np.arange(len(jobs)), len(jobs), "jobs", seed)

    def gain(self, by_job: Floats) -> Gain:
        """The sum of what each job gains, `by_job`, in node-hours, with an interval if there are enough clusters.

        Example:
            >>> every_day_the_same = Clusters(np.arange(7), 7, "days").gain(np.full(7, 2.0))
            >>> every_day_the_same.mean, every_day_the_same.interval
            (14.0, (14.0, 14.0))
        """
        total = float(by_job.sum())
        if self.count < FEWEST:
            return Gain(total)
        sums = np.bincount(self.member, by_job, self.count)
        drawn = np.random.default_rng(self.seed).multinomial(self.count, np.full(self.count, 1.0 / self.count), DRAWS)
        low, high = np.percentile(drawn @ sums, MIDDLE).tolist()
        return Gain(total, (low, high), f"{DRAWS:,} draws of {self.count:,} {self.word}")


def best_of(gains: Sequence[Gain]) -> int | None:
    """The place of the largest gain; None if there is none.

    Example:
        >>> best_of([Gain(1.0), Gain(3.0)])
        1
    """
    return max(range(len(gains)), key=lambda place: gains[place].mean, default=None)
