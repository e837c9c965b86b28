"""From what strands move to what is in the buffer, to shares, and to the flows of the applications."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.planning.buffers.demand import Demand
from penstock.planning.buffers.flow import Flow
from penstock.planning.buffers.plan import Filling
from penstock.planning.buffers.ranges import spread, summed
from penstock.planning.buffers.strands import Steps, Strands
from penstock.policies.view import Floats, Ints

NOTHING: Final = 1e-9
"""Contents below this part of the largest operation are rounding errors."""


@dataclass(frozen=True, eq=False)
class Contents:
    """What strands hold at each of their events: an entry of each array a strand and an event; `amount` in bytes."""

    owner: Ints
    reading: NDArray[np.bool_]
    event: Ints
    amount: Floats

    @classmethod
    def of(cls, demand: Demand, strands: Strands, steps: Steps, moved: Floats) -> Contents:
        """The contents that follow from the bytes that each step moves."""
        strand, event = spread(strands.first, strands.last + 1)
        begins, ends = event == strands.first[strand], event == strands.last[strand]
        change = np.zeros(len(event))
        change[~begins] = np.where(strands.reading[steps.strand], moved - steps.asked, steps.asked - moved)
        amount = np.cumsum(change)
        amount -= amount[begins][strand]
        over = ends & (strands.reading[strand] | (event < len(demand.events) - 1))
        amount[over | (amount < NOTHING * demand.unit)] = 0.0
        return cls(strands.owner[strand], strands.reading[strand], event, amount)

    def and_those(self, others: Contents) -> Contents:
        """These and the others."""
        return Contents(*(np.concatenate([getattr(self, f.name), getattr(others, f.name)]) for f in fields(self)))

    def peaks(self, applications: int, counted: NDArray[np.bool_] | None = None) -> Floats:
        """The largest content of each application, both directions together, where they are `counted` (everywhere)."""
        chosen = slice(None) if counted is None else counted
        events = int(self.event.max(initial=0)) + 1
        keys, place = np.unique(self.owner[chosen] * events + self.event[chosen], return_inverse=True)
        both = summed(place, self.amount[chosen], len(keys))
        peaks = np.zeros(applications)
        np.maximum.at(peaks, keys // events, both)
        return peaks

    def shares(self, demand: Demand) -> Floats:
        """The largest content of each application while it lives."""
        alive = (demand.begin[self.owner] <= self.event) & (self.event <= demand.end[self.owner])
        return self.peaks(len(demand.begin), alive)

    def filling(self, demand: Demand, shares: Floats | None) -> Filling:
        """The buffer over time."""
        events = len(demand.events)
        content = summed(self.event, self.amount, events)
        if shares is None:
            return Filling(demand.events, content, content, content)
        change = np.zeros(events)
        np.add.at(change, demand.begin, shares)
        np.add.at(change, demand.end, -shares)
        living = np.cumsum(change)
        begin, end = demand.begin[self.owner], demand.end[self.owner]
        outside = {
            "before": np.where(self.reading, self.event <= begin, self.event > end),
            "after": np.where(self.reading, self.event < begin, self.event >= end),
        }
        before, after = (summed(self.event[who], self.amount[who], events) for who in outside.values())
        before[1:] += living[:-1]
        return Filling(demand.events, content, before, after + living)

    def flows(self, demand: Demand) -> tuple[tuple[Flow, ...], tuple[Flow, ...]]:
        """For each application what has gone to the file system, W∞ less its content, and come from it, R∞ and content."""
        written, read = (
            operations.flows(len(demand.begin), self.owner[mine], self.event[mine], sign * self.amount[mine])
            for operations, mine, sign in ((demand.writes, ~self.reading, -1.0), (demand.reads, self.reading, 1.0))
        )
        return _drained(demand, written), read


def _drained(demand: Demand, written: tuple[Flow, ...]) -> tuple[Flow, ...]:
    """The flows with what is left in the buffer after the last event: all drain evenly, as fast as they can together."""
    total = demand.writes.total(len(written))
    left = total - np.array([flow.total for flow in written])
    left[left < NOTHING * demand.unit] = 0.0
    seconds = max(float(left.sum()) / demand.workload.platform.write_limit, float((left / demand.write_cap).max()))
    if seconds == 0.0:
        return written
    end = demand.events[-1] + seconds
    return tuple(
        Flow(np.append(flow.dates, end), np.append(flow.amounts, total[k])) if left[k] > 0.0 else flow
        for k, flow in enumerate(written)
    )
