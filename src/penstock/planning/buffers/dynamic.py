"""The linear program of a dynamic buffer (004 §6.3): at every event the contents of all are S together at most.

Where nobody reads, the sum only rises while someone writes, and is bounded where a write ends.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from penstock.planning.buffers.ranges import spread, summed
from penstock.planning.buffers.transfers import Question, Sizing, Transfers, high_points, low_points
from penstock.policies.view import Ints

NO_SHARES: Final[Ints] = np.zeros(0, np.int64)


def dynamic_program(question: Question) -> Sizing:
    """Minimise S."""
    transfers = Transfers(question)
    transfers.add_contents(*low_points(question))
    transfers.bound_bandwidths()
    _bound_sum(transfers)
    return transfers.sizing(np.array([transfers.size]), NO_SHARES)


def least_inflow_program(question: Question, most: float) -> Sizing:
    """Minimise the bandwidth that the buffer must have, the last column, in parts of the `most` that can ever flow in,
    whatever its size.

    In bytes/s, the numbers would be so small in the units of the program that HiGHS takes them for 0.
    """
    transfers = Transfers(replace(question, inflow=None))
    transfers.add_contents(*low_points(question))
    transfers.bound_bandwidths()
    rows = transfers.bound_inflow(0.0)
    bandwidth = transfers.assembly.add_columns(np.zeros(1), np.full(1, np.inf))
    transfers.assembly.upper.put(rows, bandwidth[0], -most * question.demand.spans / transfers.unit)
    return transfers.sizing(bandwidth, NO_SHARES)


def _bound_sum(transfers: Transfers) -> None:
    """A column for the sum of all contents at each event of a period, and S above it."""
    question, assembly = transfers.question, transfers.assembly
    strands, steps = question.strands, question.steps
    first, last = question.periods.T
    period, event = spread(first, last + 1)
    begins, ends = event == first[period], event == last[period]
    free = ~begins & (~ends | (event == len(question.demand.events) - 1))
    sums = assembly.add_columns(np.zeros(len(event)), np.where(free, np.inf, 0.0))
    # From each event to the next: sum' − sum + what the file system takes − what it gives = what is written − what is read.
    shift = np.cumsum(last + 1 - first) - (last + 1)  # an event's place among the sums is the event plus this
    after = shift[strands.period[steps.strand]] + steps.at + 1
    sign = np.where(strands.reading[steps.strand], -1.0, 1.0)
    asked = summed(after, sign * steps.asked / transfers.unit, len(event))
    rows = np.zeros(len(event), np.int64)
    rows[~begins] = assembly.equal.add(asked[~begins])
    assembly.equal.put(rows[~begins], sums[~begins], 1.0)
    assembly.equal.put(rows[~begins], sums[~begins] - 1, -1.0)
    assembly.equal.put(rows[after], transfers.moved, sign)
    with_reads = np.bincount(strands.period, strands.reading, len(first)) > 0
    bounded = with_reads[period]
    strand, high = high_points(question)
    bounded[shift[strands.period[strand]] + high] = True
    above = assembly.upper.add(np.zeros(np.count_nonzero(bounded)))
    assembly.upper.put(above, sums[bounded], 1.0)
    assembly.upper.put(above, transfers.size, -1.0)
