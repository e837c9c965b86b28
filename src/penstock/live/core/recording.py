"""A live run as a workload file, so that `penstock compare` answers what another policy would have done.

Every operation that ends, and every end of an application, leaves a passage in the journal. An application's chain is the
time between its operations as work and what each moved as I/O; its release is when it registered. Work is taken as it was,
I/O is what a policy would have shared differently (000 §3: work phases last as long whoever has the bandwidth).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import msgspec

from penstock.model import Application, InputError, Platform, Workload


class CompletedOperation(msgspec.Struct, frozen=True, array_like=True):
    """An operation from its posting at `begin` to its end, dates in seconds; with volume 0, the end of the application."""

    application: int
    job: str
    nodes: int
    cap: float
    registered: float
    begin: float
    end: float
    volume: float
    rounds: int


def as_workload(passages: Iterable[CompletedOperation], bandwidth: float, since: float = -math.inf) -> Workload:
    """The workload of all applications with an operation posted after the date `since`, which is its begin."""
    members: dict[int, list[CompletedOperation]] = {}
    for passage in passages:
        if passage.begin >= since:
            members.setdefault(passage.application, []).append(passage)
    chains = {number: chain for number, chain in members.items() if any(passage.volume > 0.0 for passage in chain)}
    if not chains:
        raise InputError("recording", "no operation has ended in that time; expected one at least")
    begin = min(_start(chain, since) for chain in chains.values())
    names = _names(chains)
    return Workload(
        Platform(bandwidth),
        tuple(_application(names[number], chain, since, begin) for number, chain in chains.items()),
    )


def _start(chain: list[CompletedOperation], since: float) -> float:
    return max(since, chain[0].registered)


def _names(chains: dict[int, list[CompletedOperation]]) -> dict[int, str]:
    """The names of the jobs; a job that came several times is told apart by its number."""
    jobs = [chain[0].job for chain in chains.values()]
    return {n: c[0].job if jobs.count(c[0].job) == 1 else f"{c[0].job} ({n})" for n, c in chains.items()}


def _application(name: str, chain: list[CompletedOperation], since: float, begin: float) -> Application:
    first = chain[0]
    now = start = _start(chain, since)
    phases: list[tuple[str, float]] = []
    for passage in sorted(chain, key=lambda passage: (passage.end, passage.volume == 0.0)):
        if passage.begin > now:
            phases.append(("work", passage.begin - now))
        if passage.volume > 0.0:
            phases.append(("io", passage.volume))
        now = passage.end
    options: dict[str, Any] = {"nodes": first.nodes, "bandwidth": first.cap, "release": start - begin}
    rounds = {passage.rounds for passage in chain if passage.volume > 0.0}
    if len(rounds) == 1 and rounds != {1}:
        options["rounds"] = rounds.pop()
    return Application.of(name, phases, **options)
