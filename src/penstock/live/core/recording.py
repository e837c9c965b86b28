"""A live run as a workload file, so that `penstock compare` can answer what another policy would have done.

The journal records every operation that ends and every application that leaves. The chain of an application has the time
between its operations as work, and what each operation moved as I/O; its release is the date of its registration. Work
phases stay as they were; a policy would have shared the I/O differently (000 §3: work lasts as long whoever has the
bandwidth).
"""

from __future__ import annotations

import contextlib
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from penstock.live.protocol import MOST_NODES, MOST_ROUNDS
from penstock.model import Application, InputError, Platform, Workload


class CompletedOperation(msgspec.Struct, frozen=True, array_like=True):
    """An operation that has ended, dates in seconds and volume in bytes; with volume 0, the end of the application."""

    application: int
    job: str
    nodes: int
    cap: float
    registered: float
    posted: float
    end: float
    volume: float
    rounds: int


def as_workload(operations: Iterable[CompletedOperation], bandwidth: float, since: float = -math.inf) -> Workload:
    """Make a workload of a recorded run.

    Args:
        operations: What the journal recorded.
        bandwidth: B of the platform, in bytes/s.
        since: Leave out operations posted before this date, in seconds.

    Returns:
        All applications with an operation in that time; the first one starts at 0. An application with an amount that no
        workload can hold, such as one that is not finite, is left out.

    Raises:
        InputError: If no operation was recorded in that time.
    """
    return Workload(Platform(bandwidth), tuple(application for application, _ in _recorded(operations, since)))


class RecordedSpan(NamedTuple):
    """How an application ran: from when to when, in seconds, and how long it was in I/O."""

    begin: float
    end: float
    io_seconds: float


def spans(operations: Iterable[CompletedOperation], since: float = -math.inf) -> list[RecordedSpan]:
    """How the applications of `as_workload` ran, of these `operations` `since` that date, in the same order."""
    return [
        RecordedSpan(
            _start(chain, since),
            max(operation.end for operation in chain),
            sum(operation.end - operation.posted for operation in chain),
        )
        for _, chain in _recorded(operations, since)
    ]


def _recorded(operations: Iterable[CompletedOperation], since: float) -> list[tuple[Application, list[CompletedOperation]]]:
    """The applications with an operation in that time, each with what it did; InputError if there is none."""
    members: dict[int, list[CompletedOperation]] = {}
    for operation in operations:
        if operation.posted >= since:
            members.setdefault(operation.application, []).append(operation)
    chains = {number: chain for number, chain in members.items() if any(operation.volume > 0.0 for operation in chain)}
    if not chains:
        raise InputError("recording", "no operation has ended in that time; expected one at least")
    start = min(_start(chain, since) for chain in chains.values())
    names = _names(chains)
    recorded = []
    for number, chain in chains.items():
        with contextlib.suppress(InputError):  # what a client said may be nothing that a workload can hold
            recorded.append((_application(names[number], chain, since, start), chain))
    if not recorded:
        raise InputError("recording", "no operation in that time can be part of a workload; expected one at least")
    return recorded


def _start(chain: list[CompletedOperation], since: float) -> float:
    return max(since, chain[0].registered)


def _names(chains: dict[int, list[CompletedOperation]]) -> dict[int, str]:
    """The names of the jobs, all different: a job that came several times is told apart by its number."""
    count = Counter(chain[0].job for chain in chains.values())
    names = {n: f"{c[0].job} ({n})" for n, c in chains.items() if count[c[0].job] > 1}
    taken = set(names.values())
    for number, chain in chains.items():
        name = names.get(number, chain[0].job)
        while number not in names and name in taken:  # a job may be called as one that is told apart
            name += f" ({number})"
        names[number] = name
        taken.add(name)
    return names


def _application(name: str, chain: list[CompletedOperation], since: float, first_start: float) -> Application:
    first = chain[0]
    now = start = _start(chain, since)
    phases: list[tuple[str, float]] = []
    for operation in sorted(chain, key=lambda operation: (operation.end, operation.volume == 0.0)):
        if operation.posted > now:
            phases.append(("work", operation.posted - now))
        if operation.volume > 0.0:
            phases.append(("io", operation.volume))
        now = operation.end
    options: dict[str, Any] = {"nodes": min(first.nodes, MOST_NODES), "bandwidth": first.cap, "release": start - first_start}
    rounds = {operation.rounds for operation in chain if operation.volume > 0.0}
    if len(rounds) == 1 and rounds != {0}:
        options["rounds"] = min(rounds.pop(), MOST_ROUNDS)
    return Application.of(name, phases, **options)
