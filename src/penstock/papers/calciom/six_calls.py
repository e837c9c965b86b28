"""C7 of 003: the six calls between two applications that were started independently of each other, live."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from penstock.model import PenstockError
from penstock.papers.reproducing import ClaimCheck, Verdict
from penstock.testbed.processes import serving

ROUNDS, SECONDS = 6, 0.15
"""Rounds of each application, and how long each accesses the store."""
BANDWIDTH: Final = 1e8
"""B of the coordinator, in bytes/s."""


class NotStartedError(PenstockError):
    """A process of ours did not do what it should."""


@dataclass(frozen=True)
class Calls:
    """What one application saw: when it posted, when each round began and ended, how often Check said no."""

    posted: float
    accesses: tuple[tuple[float, float], ...]
    denied: int
    coordinated: bool


def c7() -> Verdict:
    """C7 (§III.C): serializing never lets two applications in together; interrupting lets the newcomer in first."""
    first, second = _meet("serializing")
    serial = ClaimCheck(
        "serializing: the second is let in when the first has completed, and Check says no before that",
        f"{second.accesses[0][0] - first.accesses[-1][1]:+.3f} s after it; {second.denied} times no",
        second.accesses[0][0] >= first.accesses[-1][1] and second.denied > 0 and _overlap(first, second) == 0.0,
    )
    interrupted, newcomer = _meet("interrupting")
    inside = [a for a in interrupted.accesses if a[1] <= newcomer.accesses[0][0]]
    after = [a for a in interrupted.accesses if a[0] >= newcomer.accesses[-1][1]]
    whole = len(inside) + len(after) == ROUNDS and bool(inside) and bool(after)
    interrupting = ClaimCheck(
        "interrupting: the first ends its round, waits for all of the newcomer, and goes on",
        f"{len(inside)} rounds before, {len(after)} after; together for {_overlap(interrupted, newcomer):.3f} s",
        whole and _overlap(interrupted, newcomer) == 0.0,
    )
    everybody = (first, second, interrupted, newcomer)
    coordinated = ClaimCheck(
        "all six calls return, in processes of their own, coordinated to the end",
        f"{sum(one.coordinated for one in everybody)} of {len(everybody)}",
        all(one.coordinated and len(one.accesses) == ROUNDS for one in everybody),
    )
    return Verdict(
        "C7",
        "§III.C",
        "Prepare, Inform, Check, Wait, Release, Complete work between independently started applications",
        (coordinated, serial, interrupting),
    )


def _overlap(one: Calls, other: Calls) -> float:
    """Seconds in which both accessed the store."""
    return sum(max(0.0, min(a[1], b[1]) - max(a[0], b[0])) for a in one.accesses for b in other.accesses)


def _meet(policy: str) -> tuple[Calls, Calls]:
    """Two applications, the second of which comes while the first is in its second round."""
    with serving(policy, BANDWIDTH) as where, ExitStack() as stack:
        one, other = (stack.enter_context(_caller(where, name)) for name in ("first", "second"))
        _go(one)
        time.sleep(1.5 * SECONDS)
        _go(other)
        return _calls(one), _calls(other)


@contextmanager
def _caller(where: Path, name: str) -> Iterator[subprocess.Popen[str]]:
    """An application that is ready to begin, and ends with the block."""
    command = [sys.executable, "-m", "penstock.papers.calciom.caller", str(where), name, str(ROUNDS), str(SECONDS)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as caller:  # noqa: S603
        try:
            assert caller.stdout is not None
            if caller.stdout.readline() != "ready\n":
                raise NotStartedError(f"the application {name} did not start")
            yield caller
        finally:
            caller.terminate()


def _go(caller: subprocess.Popen[str]) -> None:
    assert caller.stdin is not None
    caller.stdin.write("go\n")
    caller.stdin.flush()


def _calls(caller: subprocess.Popen[str]) -> Calls:
    assert caller.stdout is not None
    line = caller.stdout.readline()
    if not line:
        raise NotStartedError("an application ended before its calls did")
    told = json.loads(line)
    return Calls(told["posted"], tuple(map(tuple, told["accesses"])), told["denied"], told["coordinated"])
