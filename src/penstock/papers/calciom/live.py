"""What 003 needs live applications for: the six calls (C7), and the pairs of its figures on a test bed.

C7 is about two applications that were started independently of each other; each is a process that runs
`penstock.testbed.writer.six_calls`.

The pairs are scaled to what the test bed carries. Figures 2 and 7 (a) are two equal applications; 9 (a) a small one that
arrives during a large one; 10 and 11 four files and one, interrupted between files. The paper's machines moved tens of
gigabytes per point. Here A alone takes `BED_SECONDS`, and live times are compared with those of the model, not with those of
the paper.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from penstock.model import PenstockError
from penstock.papers.calciom.experiments import FILES, CalciomScale
from penstock.papers.verdicts import ClaimCheck, Verdict
from penstock.report.figures import STYLE
from penstock.report.plot import draw_delta, mark_live
from penstock.testbed.bed import Bed
from penstock.testbed.live_runs import LIVE_STRATEGIES, LiveDelta, fitting, live_delta, simulated_as
from penstock.testbed.processes import WRITER, serving
from penstock.testbed.writer import READY
from penstock.theory.interference import Pair, Writer, delta_graph

ROUNDS, SECONDS = 6, 0.15
"""Rounds of each application, and how long each accesses the store."""
BANDWIDTH: Final = 1e8
"""B of the coordinator, in bytes/s."""
BED_SECONDS, BED_ROUNDS = 1.6, 16
"""How long A writes alone on a test bed, and in how many rounds."""
WITHIN: Final = 0.15
"""How far the geometric mean of live over simulated may be from 1."""


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
    """C7 (§III.C): serializing never lets two applications in together; interrupting lets the newcomer in first.

    Returns the verdict. Raises `NotStartedError` if an application or the coordinator does not start.
    """
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
    command = [*WRITER, str(where), name, str(ROUNDS), str(SECONDS)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as caller:  # noqa: S603
        try:
            assert caller.stdout is not None
            if caller.stdout.readline() != f"{READY}\n":
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


def pairs(bed: Bed) -> dict[str, Pair]:
    """The pairs by the figures they are of, with volumes that fit the test `bed`."""
    volume = BED_SECONDS * bed.bandwidth
    equal = Writer(volume, 1, BED_ROUNDS)
    of_a_file = volume / FILES
    return {
        "figures 2 and 7": Pair(equal, equal, bed.bandwidth),
        "figure 9": Pair(Writer(volume, 2, BED_ROUNDS), Writer(volume / 4, 1, BED_ROUNDS // 4), bed.bandwidth),
        "figures 10 and 11": Pair(Writer(volume, 1, FILES), Writer(of_a_file, 1, 1), bed.bandwidth),
    }


def measured(
    bed: Bed, scale: CalciomScale, say: Callable[[str], None], policies: Sequence[str] = ()
) -> dict[str, LiveDelta]:
    """All pairs under all strategies, live, at the dates of the scale.

    Args:
        bed: The test bed, which is up.
        scale: Says how many values of dt.
        say: Is told what comes next.
        policies: A user's, which are added.

    Returns:
        What was measured and simulated, by the figures.
    """
    found = {}
    strategies = tuple(dict.fromkeys((*LIVE_STRATEGIES, *policies)))
    for name, pair in pairs(bed).items():
        fit = fitting(pair, bed)
        alone = fit.alone()
        dts = np.linspace(-0.5 * alone.b, alone.a, scale.live).tolist()
        found[name] = live_delta(bed, fit, dts, strategies, say=lambda text, name=name: say(f"{name}, {text}"))  # type: ignore[misc]
    return found


def live_figure(found: dict[str, LiveDelta]) -> Figure:
    """I/O times of A (solid) and B (dashed) by dt on a test bed: lines are simulated, marks are live, crosses without a
    coordinator.

    `found` are the live runs of `measured`.
    """
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(12.0, 3.8), layout="constrained")
        for axes, (name, live) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
            lines = np.linspace(live.dt[0], live.dt[-1], 61).tolist()
            graph = delta_graph(live.pair, lines, list(dict.fromkeys(map(simulated_as, live.runs))))
            draw_delta(axes, graph.dt, graph.times, "I/O time, s")
            mark_live(axes, live, live.times)
            axes.set_title(name)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize=7)
    return figure


def as_simulated(found: dict[str, LiveDelta]) -> Verdict:
    """Ours: live applications do what the simulation says.

    `found` are the live runs of `measured`.
    """
    checks = []
    for name, live in found.items():
        for strategy, mean in live.means.items():
            if strategy not in LIVE_STRATEGIES:
                continue  # a user's policy, about which nothing is claimed
            ratios = live.ratios[strategy]
            checks.append(
                ClaimCheck(
                    f"{name}, {strategy}: geometric mean of live over simulated within {WITHIN:.0%}",
                    f"{mean:.3f} ({ratios.min():.2f} – {ratios.max():.2f})",
                    abs(mean - 1.0) <= WITHIN,
                )
            )
    return Verdict("live", "ours", "what is simulated is what live applications on a test bed do", tuple(checks))
