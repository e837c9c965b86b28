"""What a policy plans for a whole workload before it runs: an order of applications, or of all their operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from penstock.model import Workload
from penstock.policies.view import Floats, Ints


@dataclass(frozen=True)
class Plan:
    """`rank` has a place in the order for each application, `turns` for the operation of each phase (−1 without one).

    The phases are those of all applications, one after the other.
    """

    rank: Floats | None = None
    turns: Ints | None = None


Planner: TypeAlias = Callable[[Workload], Plan]


def in_sequence(workload: Workload, sequence: Sequence[int]) -> Plan:
    """The plan in which operations run in this sequence of applications, one entry an operation that asks for the link."""
    operations = [np.flatnonzero(application.phases.asks) for application in workload.applications]
    first = np.concatenate([[0], np.cumsum([len(application.phases) for application in workload.applications])])
    turns = np.full(int(first[-1]), -1, np.int64)
    places: list[list[int]] = [[] for _ in operations]
    for place, index in enumerate(sequence):
        places[index].append(place)
    for index, phases in enumerate(operations):
        turns[first[index] + phases] = places[index]
    return Plan(turns=turns)
