"""C1 to C6 of 003, judged on simulations; and beyond the paper, whether the choice pays for more than two applications.

003 measures two applications, and §III.A says that the choice extends to more.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import CLAIM_CLOSE, CLAIM_SAME, SAME_TIME_S
from penstock.papers.calciom.experiments import (
    FILES,
    KINDS,
    MEMBERS,
    CalciomScale,
    CrowdTrial,
    Graphs,
    PairTrial,
    equal,
    files,
    large,
    range_of,
    small,
    split,
)
from penstock.papers.calciom.figures import SHARE
from penstock.papers.verdicts import ClaimCheck, Verdict, listed
from penstock.policies.coordinating import METRICS
from penstock.theory.interference import Pair, Times, expected_interference, someone_in_io

PRINTED: Final = 0.64
"""P(another is doing I/O) of §II.B."""
INTREPID: Final = "ANL-Intrepid"
"""How the name of the paper's own trace begins."""
RARELY: Final = 0.05
"""Part of the sets in which the choice may turn out worse, as later arrivals are unknown."""


def _worst(times: Floats, expected: Sequence[Times]) -> float:
    """The largest relative difference of simulated I/O times, a row for each dt, and those by hand."""
    return float(np.abs(times / np.array(expected) - 1.0).max())


def _in_turn(pair: Pair, dt: float, *, interrupting: bool) -> Times:
    """I/O times, by hand, where one is served after the other: whoever comes second waits, or is served at once.

    Dates apart by rounding are one, at which A counts as first.
    """
    a, b = pair.alone()
    if abs(dt) < SAME_TIME_S:
        dt = 0.0
    if dt < 0.0:
        second, first = _in_turn(pair.mirrored, -dt, interrupting=interrupting)
        return Times(first, second)
    if dt >= a:
        return Times(a, b)
    return Times(a + b, b) if interrupting and dt > 0.0 else Times(a, a - dt + b)


def c1(scale: CalciomScale, graphs: Graphs) -> Verdict:
    """C1 (§II.C, Figures 2, 6, 7, 9, 10).

    `scale` says how many values of dt are run, `graphs` has them.
    """
    pairs = {"equal": equal(), "24 of 768": split(744, 24), "one file of five": files(), "with room": small()}
    checks = []
    for name, pair in pairs.items():
        dts = range_of(pair, scale)
        times = graphs.delta(pair, dts, ["interfering"]).times["interfering"]
        worst = _worst(times, [expected_interference(pair, dt) for dt in dts])
        bends = _bends(np.array(dts), times[:, 1])
        checks.append(
            ClaimCheck(
                f"{name}, interfering: proportional sharing by hand to 1e-9, straight but for a few bends (at most 6)",
                f"{worst:.1e}, {bends} bends",
                worst <= CLAIM_SAME and 0 < bends <= 6,
            )
        )
    pair = files()
    dts = range_of(pair, scale)
    for strategy in ("serializing", "interrupting"):
        expected = [_in_turn(pair, dt, interrupting=strategy == "interrupting") for dt in dts]
        worst = _worst(graphs.delta(pair, dts, [strategy]).times[strategy], expected)
        checks.append(ClaimCheck(f"one file of five, {strategy}: as by hand to 1e-9", f"{worst:.1e}", worst <= CLAIM_SAME))
    return Verdict("C1", "§II.C", "Δ-graphs; under interference the piecewise linear function of sharing", tuple(checks))


def _bends(x: Floats, y: Floats) -> int:
    """How often the graph through the points is not straight; neighbouring points count once."""
    slopes = np.diff(y) / np.diff(x)
    bent = np.abs(np.diff(slopes)) > CLAIM_CLOSE * max(1.0, float(np.abs(slopes).max()))
    return int(np.count_nonzero(bent & ~np.append(False, bent[:-1])))


def c2(scale: CalciomScale, graphs: Graphs) -> Verdict:
    """C2 (§IV.B, §IV.C, Figures 6 and 9).

    `scale` says how many values of dt are run, `graphs` has them.
    """
    pair = split(744, 24)
    dts = range_of(pair, scale, after=True)
    graph = graphs.delta(pair, dts, ["interfering", "serializing", "interrupting"])
    suffered = {name: float(rows[1:, 1].max()) for name, rows in graph.factors.items()}
    first = float(graph.factors["interfering"][:, 1].max())
    paid = float(graph.factors["interrupting"][1:, 0].max())
    before = float(graphs.delta(pair, [-pair.alone().b], ["interfering"]).factors["interfering"][0, 1])
    return Verdict(
        "C2",
        "§II.E, §IV.B, §IV.C",
        "24 of 768 cores that come second suffer a factor up to 14; interrupting the large one removes it at little cost",
        (
            ClaimCheck(
                "interfering, up to 14 (within 10 %), predicted from 8 beside 336 that see 6 times less",
                f"{first:.2f}",
                abs(first / 14.0 - 1.0) <= 0.1,
            ),
            ClaimCheck(
                "having written before, it does not suffer (1 to 1e-9)", f"{before:.6f}", abs(before - 1.0) <= CLAIM_SAME
            ),
            ClaimCheck(
                "serialized, it suffers as much (at least 0.9 times) when it comes second",
                listed(list(suffered), list(suffered.values()), ".2f"),
                suffered["serializing"] >= 0.9 * suffered["interfering"],
            ),
            ClaimCheck(
                "interrupting, it does not suffer (1 to 1e-9)",
                f"{suffered['interrupting']:.6f}",
                abs(suffered["interrupting"] - 1.0) <= CLAIM_SAME,
            ),
            ClaimCheck("at little cost to the large one (factor at most 1.1)", f"{paid:.3f}", paid <= 1.1),
        ),
    )


def c3(scale: CalciomScale, graphs: Graphs) -> Verdict:
    """C3 (§IV.B, §IV.C, Figures 7 (a) and 9).

    `scale` says how many values of dt are run, `graphs` has them.
    """
    pair = large()
    dts = [dt for dt in range_of(pair, scale, after=True)[1:] if dt < pair.alone().a]
    times = graphs.delta(pair, dts, ["interfering", "serializing", "interrupting"]).times
    first = float(np.abs(times["serializing"][:, 0] / pair.alone().a - 1.0).max())
    second = float(np.abs(times["serializing"][:, 1] / times["interfering"][:, 1] - 1.0).max())
    sums = {name: rows.sum(axis=1) for name, rows in times.items()}
    lost = sums["interrupting"] - sums["serializing"]
    return Verdict(
        "C3",
        "§IV.B, §IV.C",
        "equal sizes: fcfs leaves the first untouched and costs the second what interference would; interrupting is "
        "counterproductive",
        (
            ClaimCheck("serialized, the first takes its time alone to 1e-9", f"{first:.1e}", first <= CLAIM_SAME),
            ClaimCheck("the second takes what it takes under interference to 1e-9", f"{second:.1e}", second <= CLAIM_SAME),
            ClaimCheck(
                "interrupting, the sum of I/O times is above that of fcfs at every dt in between",
                f"by {float(lost.min()):.3g} to {float(lost.max()):.3g} s",
                bool(np.all(lost > 0.0)),
            ),
        ),
    )


def c4(scale: CalciomScale, graphs: Graphs, random: Mapping[PairTrial, Mapping[str, Sequence[float]]]) -> Verdict:
    """C4 (§IV.D, Figure 11).

    `scale` says how many values of dt are run, `graphs` has them; `random` are the rows of the experiment "pairs".
    """
    pair = files()
    alone = pair.alone()
    threshold = alone.a - alone.b
    graph = graphs.delta(pair, range_of(pair, scale), ["interfering", "coordinating"])
    changes = graph.changes["coordinating"]
    found = [change for change in changes if (change.before, change.after) == ("A is interrupted", "B waits")]
    off = abs(found[0].dt / threshold - 1.0) if len(found) == 1 else math.inf
    where = f"{found[0].dt:.6f} s" if found else "never"
    values = graph.values("cpu-seconds")
    gain = values["interfering"] - values["coordinating"]
    checks = [
        ClaimCheck(f"interrupts up to dt = T_A − T_B = {threshold:.6f} s (to 1e-6)", where, off <= CLAIM_CLOSE),
        ClaimCheck(
            "B first: A waits",
            f"{changes[0].after} from dt = {changes[0].dt:.3f} s",
            changes[0].after == "A waits" and changes[1].before == "A waits" and abs(changes[1].dt) <= CLAIM_CLOSE * alone.a,
        ),
        ClaimCheck(
            "Figure 11: never more CPU seconds than interfering (to 1e-9), and less where they meet",
            f"less by {float(gain.min()) / pair.a.nodes:.3g} to {float(gain.max()) / pair.a.nodes:.3g} s a core",
            bool(np.all(gain >= -CLAIM_SAME * values["interfering"]) and gain.max() > 0.0),
        ),
    ]
    for metric, rounds in itertools.product(METRICS, (False, True)):
        both = [row[metric] for trial, row in random.items() if (trial.pair.a.rounds is not None) == rounds]
        worst = max((after / before - 1.0 for before, after in both), default=0.0)
        better = sum(after < before * (1.0 - CLAIM_CLOSE) for before, after in both)
        checks.append(
            ClaimCheck(
                f"{metric}: never worse than interfering (to 1e-9), random pairs{', in 1 to 8 rounds' if rounds else ''}",
                f"at worst {max(worst, 0.0):+.1e}; better for {better} of {len(both)}",
                worst <= CLAIM_SAME,
            )
        )
    return Verdict(
        "C4", "§IV.D", "the dynamic choice interrupts when dt < T_A − T_B; never worse than interfering", tuple(checks)
    )


def c5(scale: CalciomScale, graphs: Graphs) -> Verdict:
    """C5 (§IV.C, Figure 10).

    `scale` says how many values of dt are run, `graphs` has them.
    """
    fine, coarse = files(), files(FILES)
    alone = fine.alone()
    dts = np.linspace(0.0, alone.a, FILES * scale.points + 2)[1:-1]
    smooth = graphs.delta(fine, dts.tolist(), ["interrupting"]).times["interrupting"][:, 1]
    saw = graphs.delta(coarse, dts.tolist(), ["interrupting"]).times["interrupting"][:, 1]
    length = alone.a / FILES
    expected = alone.b + np.ceil(dts / length - CLAIM_SAME) * length - dts
    off = float(np.abs(saw / expected - 1.0).max())
    teeth = int(np.count_nonzero(np.diff(saw) > 0.5 * length)) + 1
    flat = float(np.abs(smooth / alone.b - 1.0).max())
    return Verdict(
        "C5",
        "§IV.C",
        "interruptions between files instead of rounds give the saw pattern",
        (
            ClaimCheck("between rounds of no length: B takes its time alone to 1e-9", f"{flat:.1e}", flat <= CLAIM_SAME),
            ClaimCheck(
                "between files: B waits for the end of A's present file, by hand to 1e-9", f"{off:.1e}", off <= CLAIM_SAME
            ),
            ClaimCheck(f"one tooth for each of the {FILES} files", f"{teeth}", teeth == FILES),
        ),
    )


def c6(traces: Mapping[str, Floats]) -> Verdict:
    """C6 (§II.B, Figure 1): a claim on Intrepid, which other traces do not decide; they are shown beside it.

    `traces` are P(X = n), the part of the time that n jobs run at once, by the name of the trace.
    """
    intrepid = next((name for name in traces if name.startswith(INTREPID)), None)
    formula = _drawn()
    if intrepid is None:
        jobs = math.log(1.0 - PRINTED) / math.log(1.0 - SHARE)
        found, holds = f"the trace is not at hand; {jobs:.1f} concurrent jobs give that", None if formula.holds else False
    else:
        chance = someone_in_io(traces[intrepid], SHARE)
        found, holds = f"{chance:.1%}", bool(formula.holds) and abs(chance - PRINTED) <= 0.02
    beside = [
        f"{name} {someone_in_io(chances, SHARE):.1%} with {float(chances @ np.arange(len(chances))):.1f} jobs at once"
        for name, chances in traces.items()
        if name != intrepid
    ]
    expected = f"64 % for Intrepid with E(µ) = 5 % (within 2 points), {formula.expected}"
    check = ClaimCheck(expected, "; ".join([found, formula.measured, *beside]), holds)
    says = "P(another is doing I/O) = 1 − Σ P(X=n)(1−E(µ))^n, 64 % for Intrepid"
    return Verdict("C6", "§II.B", says, (check,))


def _drawn() -> ClaimCheck:
    """The formula beside 100,000 draws of 4 to 60 jobs, the axis of Figure 1 (b), each in I/O or not."""
    random = np.random.default_rng(6)
    running = random.integers(4, 61, 100_000)
    share = float(np.mean(random.binomial(running, SHARE) > 0))
    chance = someone_in_io(np.repeat([0.0, 1.0 / 57.0], [4, 57]), SHARE)
    error = math.sqrt(chance * (1.0 - chance) / len(running))
    return ClaimCheck(
        "the formula is what drawing gives, for 4 to 60 jobs (within 4 standard errors)",
        f"{chance:.3%}, drawn {share:.3%}",
        abs(share - chance) <= 4.0 * error,
    )


def many(rows: Mapping[CrowdTrial, Mapping[str, Sequence[Sequence[float]]]]) -> Verdict:
    """More than two applications.

    `rows` are those of the experiment "crowds".
    """
    checks = []
    for kind, caps in KINDS.items():
        interfering, coordinating = (
            np.array([one for trial, row in rows.items() if (trial.low, trial.high) == caps for one in row[name]])
            for name in ("interfering", "coordinating")
        )
        for metric, ratios in zip(METRICS, (coordinating / interfering).T, strict=True):
            worse = int(np.count_nonzero(ratios > 1.0 + CLAIM_SAME))
            checks.append(
                ClaimCheck(
                    f"{MEMBERS} {kind}, {metric}: below interfering on average, above it in at most {RARELY:.0%} of sets",
                    f"{float(ratios.mean()):.3f} times; above in {worse} of {len(ratios)}",
                    bool(ratios.mean() < 1.0 and worse <= RARELY * len(ratios)),
                )
            )
    return Verdict("many", "§III.A", "the choice extends to more than two applications", tuple(checks))


ON_GRAPHS: Final = (c1, c2, c3, c5)
"""Judged on Δ-graphs."""
