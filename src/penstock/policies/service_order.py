"""What a policy plans before a run: an order of applications, or of all their operations.

A planner gets the workload and returns a `ServiceOrder`. It knows of an application i only its nominal values (`Nominal`):
the number of operations n_i and, for one iteration, the work a_i and the I/O at full bandwidth b_i, in seconds. These are
means over its chain, (total work / n_i, total I/O / n_i), where the lead is work, too. An application may carry a nominal
couple (work, volume) of an iteration in place of what is in its chain. An operation of volume 0 is no iteration. Johnson's
order and static orders use nominal values, whatever the phases really last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from penstock.model import Application, Platform, Workload
from penstock.model.application import READ, WORK
from penstock.numeric.arrays import Floats, Ints


@dataclass(frozen=True)
class ServiceOrder:
    """An order of applications or of operations, as a policy has planned it.

    Args:
        rank: for each application its place in the order.
        turns: for each phase of all applications, one after the other, the place of its operation; −1 without one.
    """

    rank: Floats | None = None
    turns: Ints | None = None


Planner: TypeAlias = Callable[[Workload], ServiceOrder]


def in_sequence(workload: Workload, sequence: Sequence[int]) -> ServiceOrder:
    """The order in which the operations of the `workload` run if applications take turns in this `sequence`.

    The sequence has the position of an application for each operation of volume above 0.
    """
    operations = [np.flatnonzero(application.phases.asks) for application in workload.applications]
    first = np.concatenate([[0], np.cumsum([len(application.phases) for application in workload.applications])])
    turns = np.full(int(first[-1]), -1, np.int64)
    places: list[list[int]] = [[] for _ in operations]
    for place, index in enumerate(sequence):
        places[index].append(place)
    for index, phases in enumerate(operations):
        turns[first[index] + phases] = places[index]
    return ServiceOrder(turns=turns)


@dataclass(frozen=True)
class Nominal:
    """What is known of the applications beforehand, one entry each.

    Args:
        operations: n_i, operations that ask for the link.
        work: a_i, seconds of work of an iteration, with its part of the lead.
        io: b_i, seconds of its I/O at full bandwidth.
        first_work: seconds of work before the first operation.
    """

    operations: Ints
    work: Floats
    io: Floats
    first_work: Floats


def nominal(workload: Workload) -> Nominal:
    """The nominal values of the applications of a workload."""
    couples = [_couple(application, workload.platform) for application in workload.applications]
    return Nominal(
        operations=np.array([application.phases.operations for application in workload.applications], np.int64),
        work=np.array([work for work, _ in couples]),
        io=np.array([io for _, io in couples]),
        first_work=np.array([application.lead + _first_work(application) for application in workload.applications]),
    )


def _couple(application: Application, platform: Platform) -> tuple[float, float]:
    """Seconds of work and of I/O alone of an iteration; reads and writes may have different bandwidths."""
    write = min(application.write_speed(platform), platform.write_limit)
    read = min(application.read_speed(platform), platform.read_limit)
    iterations = max(1, application.phases.operations)
    if application.nominal is not None:
        work, volume = application.nominal
        return work + application.lead / iterations, volume / write
    kinds, amounts = application.phases.kinds, application.phases.amounts
    volumes = (float(amounts[(kinds != WORK) & (kinds != READ)].sum()), float(amounts[kinds == READ].sum()))
    work = application.lead + float(amounts[kinds == WORK].sum())
    return work / iterations, (volumes[0] / write + volumes[1] / read) / iterations


def _first_work(application: Application) -> float:
    """Seconds of the chain before its first operation that asks for the link."""
    if application.nominal is not None:
        return application.nominal[0]
    kinds, amounts = application.phases.kinds, application.phases.amounts
    asks = np.flatnonzero(application.phases.asks)
    before = slice(0, int(asks[0]) if len(asks) else len(kinds))
    return float(amounts[before][kinds[before] == WORK].sum())
