"""Claims R1 to R12 of paper 000: on synthetic traces (R1 to R7, §6.2 and B.1), on APEX windows (R8 to R11, §6.3), and on the
instances of Table 2 (R12).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import CLAIM_SAME
from penstock.papers.reproducing import Results
from penstock.papers.revisiting.experiments import (
    ENTRIES,
    LIMITS,
    OTHER_PARAMETERS,
    OTHERS,
    POLICIES,
    PRESSURES,
    SLACK,
    UNBOUNDED,
    WORKLOADS,
    YIELD_DRIVEN,
    RatioEntry,
)
from penstock.papers.revisiting.figures import ratios, sorted_yields
from penstock.papers.verdicts import ClaimCheck, Verdict, listed

HIGHEST = PRESSURES[-1]
WINNERS = ("look-ahead-greedy-yield", "periodic-greedy-yield", "best-next-event")


def _means(results: Results, policy: str, column: str) -> Floats:
    """The mean of the column at each W_GOAL."""
    return np.array([results.where(policy, pressure=pressure).mean(column) for pressure in PRESSURES])


def r1(results: Results) -> Verdict:
    """R1 (Figure 2); `results` are those of the campaign "pressure"."""
    yields = {policy: _means(results, policy, "min_yield") for policy in POLICIES}
    losing = [policy for policy in OTHERS if yields[policy][0] - yields[policy][-1] > 0.1]
    best_other = np.max([yields[policy] for policy in OTHERS], axis=0)
    worst_driven = np.min([yields[policy] for policy in YIELD_DRIVEN], axis=0)
    gap = float(worst_driven[-1] - best_other[-1])
    spread = float(np.ptp([yields[policy][-1] for policy in YIELD_DRIVEN]))
    return Verdict(
        "R1",
        "§6.2, Figure 2",
        "as W grows fair-share, fcfs, set-10 and greedy-com lose min-yield; the four yield-driven strategies stay far "
        "above them, close to each other",
        (
            ClaimCheck(
                "each of the four others loses over 0.1 of min-yield from W_GOAL 0.2 to 1.1",
                listed(OTHERS, [float(yields[policy][0] - yields[policy][-1]) for policy in OTHERS]),
                len(losing) == len(OTHERS),
            ),
            ClaimCheck("at 1.1 the yield-driven are above the others by over 0.03", f"{gap:.4f}", gap > 0.03),
            ClaimCheck("at 1.1 the yield-driven are within 0.03 of each other", f"{spread:.4f}", spread < 0.03),
        ),
    )


def r2(results: Results) -> Verdict:
    """R2 (§6.2.2); `results` are those of the campaign "pressure"."""
    checks = []
    reference = np.minimum(
        _means(results, "greedy-yield", "min_yield"), _means(results, "periodic-greedy-yield", "min_yield")
    )
    for policy in ("best-next-event", "look-ahead-greedy-yield"):
        behind = reference - _means(results, policy, "min_yield")
        measured = listed([f"W {pressure}:" for pressure in PRESSURES], list(behind), "+.4f")
        worse = bool(behind.mean() > 0.0 and behind.max() < 0.03)
        checks.append(ClaimCheck(f"{policy}: behind on average over W_GOAL, by less than 0.03 anywhere", measured, worse))
    return Verdict(
        "R2",
        "§6.2.2",
        "best-next-event and look-ahead are very slightly worse in min-yield than greedy-yield and periodic",
        tuple(checks),
    )


def r3(results: Results) -> Verdict:
    """R3 (§6.2.2); `results` are those of the campaign "pressure"."""
    checks = []
    for column in ("efficiency", "utilization"):
        means = np.array([_means(results, policy, column) for policy in POLICIES])
        worst = {POLICIES[row] for row in means.argmin(axis=0)}
        best = {POLICIES[row] for row in means.argmax(axis=0)}
        checks.append(
            ClaimCheck(
                f"fcfs has the worst {column} at every W_GOAL", f"worst: {', '.join(sorted(worst))}", worst == {"fcfs"}
            )
        )
        checks.append(
            ClaimCheck(
                f"greedy-com has the best {column} at every W_GOAL",
                f"best: {', '.join(sorted(best))}",
                best == {"greedy-com"},
            )
        )
    com, fair = (float(_means(results, policy, "min_yield")[-1]) for policy in ("greedy-com", "fair-share"))
    checks.append(
        ClaimCheck(
            "min-yield of greedy-com at 1.1 is below fair-share's",
            listed(("greedy-com", "fair-share"), (com, fair)),
            com < fair,
        )
    )
    return Verdict(
        "R3",
        "§6.2.2",
        "fcfs is worst for efficiency and utilization; greedy-com is best for both and poor in min-yield at high W",
        tuple(checks),
    )


def r4(results: Results) -> Verdict:
    """R4 (§6.2.2); `results` are those of the campaign "pressure"."""
    losses, leads = [], []
    for column in ("efficiency", "utilization"):
        fair = _means(results, "fair-share", column)
        losses += [1.0 - _means(results, policy, column) / fair for policy in YIELD_DRIVEN]
        leads.append(_means(results, "look-ahead-greedy-yield", column) / fair - 1.0)
    loss, lead = np.max(losses, axis=0), np.min(leads, axis=0)
    names = [f"W {pressure}:" for pressure in PRESSURES]
    return Verdict(
        "R4",
        "§6.2.2",
        "the yield-driven strategies lose under 5 % of efficiency and utilization against fair-share, and only at "
        "the highest W; for all but the largest W look-ahead has better efficiency and utilization than fair-share",
        (
            ClaimCheck(
                "the largest loss is under 5 %", listed(names, list(100.0 * loss), "+.2f") + " %", bool(loss.max() < 0.05)
            ),
            ClaimCheck(
                "below 1.1 no strategy loses over 0.2 %", f"{100.0 * loss[:-1].max():+.2f} %", bool(loss[:-1].max() < 0.002)
            ),
            ClaimCheck(
                "look-ahead is ahead of fair-share in both below 1.1",
                listed(names, list(100.0 * lead), "+.2f") + " %",
                bool(lead[:-1].min() > 0.0),
            ),
        ),
    )


def _thirds(yields: Floats) -> list[float]:
    return [float(part.mean()) for part in np.array_split(yields, 3)]


def r5(results: Results) -> Verdict:
    """R5 (Figure 3); `results` are those of the campaign "pressure"."""
    thirds = {policy: _thirds(sorted_yields(results, policy, HIGHEST, "mean_iterations")) for policy in POLICIES}
    rises = {policy: thirds[policy][2] - thirds[policy][0] for policy in POLICIES}
    flat = ("fair-share", *YIELD_DRIVEN)
    steps = sorted_yields(results, "set-10", HIGHEST, "mean_iterations")
    within = [float(np.corrcoef(np.arange(len(part)), part)[0, 1]) for part in np.array_split(steps, 3)]
    return Verdict(
        "R5",
        "Figure 3, W_GOAL 1.1",
        "yields sorted by ω: flat for fair-share and the yield-driven; rising with ω for fcfs; falling for greedy-com; "
        "three rising steps for set-10",
        (
            ClaimCheck(
                "flat: the mean of the last third is within 0.03 of the first's",
                listed(flat, [rises[policy] for policy in flat], "+.4f"),
                all(abs(rises[policy]) < 0.03 for policy in flat),
            ),
            ClaimCheck(
                "fcfs rises by over 0.05 from the first to the last third", f"{rises['fcfs']:+.4f}", rises["fcfs"] > 0.05
            ),
            ClaimCheck("greedy-com falls by over 0.05", f"{rises['greedy-com']:+.4f}", rises["greedy-com"] < -0.05),
            ClaimCheck(
                "set-10: in each third the yield rises with the rank (correlation over 0.5)",
                listed(("small", "medium", "big"), within, "+.2f"),
                min(within) > 0.5,
            ),
        ),
    )


def r6(results: Results) -> Verdict:
    """R6 (Figure 4); `results` are those of the campaign "pressure"."""
    yields = sorted_yields(results, "fair-share", HIGHEST, "io_fractions")
    correlation = float(np.corrcoef(np.arange(len(yields)), yields)[0, 1])
    return Verdict(
        "R6",
        "Figure 4, W_GOAL 1.1",
        "yields sorted by φ: fair-share falls close to linearly with φ",
        (ClaimCheck("correlation of rank and yield below −0.95", f"{correlation:+.4f}", correlation < -0.95),),
    )


def r7(results: Results) -> Verdict:
    """R7 (§6.2.2, B.1); `results` are those of the campaign "other-parameters"."""
    base = {"small": 20, "sigma": 0.5, "noise": 0.5}

    def means(policy: str, name: str) -> Floats:
        points = [{**base, name: value} for value in OTHER_PARAMETERS[name]]
        return np.array([results.where(policy, **point).mean("min_yield") for point in points])

    checks = []
    for name, symbol in (("small", "n_small"), ("noise", "ν")):
        spreads = [float(np.ptp(means(policy, name))) for policy in POLICIES]
        checks.append(ClaimCheck(f"{symbol}: min-yields vary by under 0.1", listed(POLICIES, spreads), max(spreads) < 0.1))
    drops = {policy: float(means(policy, "sigma")[0] - means(policy, "sigma")[-1]) for policy in POLICIES}
    hit, spared = ("fcfs", "set-10"), [policy for policy in POLICIES if policy not in ("fcfs", "set-10")]
    checks.append(
        ClaimCheck(
            "σ from 0.1 to 0.7 lowers fcfs and set-10 by over 0.03",
            listed(hit, [drops[policy] for policy in hit], "+.4f"),
            all(drops[policy] > 0.03 for policy in hit),
        )
    )
    checks.append(
        ClaimCheck(
            "and the others by under 0.03",
            listed(spared, [drops[policy] for policy in spared], "+.4f"),
            all(drops[policy] < 0.03 for policy in spared),
        )
    )
    return Verdict(
        "R7",
        "§6.2.2, B.1, at W_GOAL 0.8",
        "n_small and ν hardly matter; high σ lowers min-yield of fcfs and set-10 only",
        tuple(checks),
    )


def _slope(x: Floats, y: Floats) -> float:
    """The slope of the line of least squares."""
    return float(np.polyfit(x, y, 1)[0])


def r8(results: Results) -> Verdict:
    """R8 (Figure 5); `results` are those of the campaign "apex"."""
    cielo = [results.where("fair-share", workload=workload, machine="cielo").mean("pressure") for workload in WORKLOADS]
    fair = [results.where("fair-share", workload=workload) for workload in WORKLOADS]
    largest = [results.where("fair-share", workload=workload, machine="M_10").mean("pressure") for workload in WORKLOADS]
    above = [100.0 * float(np.mean(chosen.column("pressure") > 1.4)) for chosen in fair]
    slopes = [_slope(chosen.column("pressure"), chosen.column("min_yield")) for chosen in fair]
    return Verdict(
        "R8",
        "§6.3.1, §6.3.2, Figure 5",
        "pressure about 0.15 on Cielo and up to 1.4 on its scaled machines; min-yield of fair-share falls as pressure "
        "grows, more sharply for TRILAB",
        (
            ClaimCheck(
                "mean pressure on Cielo from 0.10 to 0.20",
                listed(WORKLOADS, cielo),
                all(0.1 <= mean <= 0.2 for mean in cielo),
            ),
            ClaimCheck(
                "mean pressure on the largest machine from 1.2 to 1.6",
                listed(WORKLOADS, largest) + f" (above 1.4: {listed(WORKLOADS, above, '.1f')} % of all windows)",
                all(1.2 <= mean <= 1.6 for mean in largest),
            ),
            ClaimCheck(
                "min-yield against pressure has a negative slope", listed(WORKLOADS, slopes, "+.3f"), max(slopes) < 0.0
            ),
            ClaimCheck("and a steeper one for TRILAB", listed(WORKLOADS, slopes, "+.3f"), slopes[1] < slopes[0]),
        ),
    )


def r9(results: Results) -> Verdict:
    """R9 (Figures 6 and 7); `results` are those of the campaign "apex"."""
    _, com = ratios(results, "greedy-com", "nersc")
    band = float(np.mean((com >= 0.9) & (com <= 1.1)))
    checks = [ClaimCheck("NERSC: greedy-com within 0.9 to 1.1 in 80 % of windows", f"{100 * band:.1f} %", band >= 0.8)]
    for workload in WORKLOADS:
        good, growth = [], []
        for policy in WINNERS:
            pressures, values = ratios(results, policy, workload)
            good.append(float(np.mean(values >= 1.0 - 1e-3)))
            growth.append(_slope(pressures, values))
        checks.append(
            ClaimCheck(
                f"{workload.upper()}: ratio to fair-share at least 0.999 in 90 % of windows",
                listed(WINNERS, [100.0 * share for share in good], ".1f") + " %",
                min(good) >= 0.9,
            )
        )
        checks.append(
            ClaimCheck(
                f"{workload.upper()}: the ratio grows with W (slope)", listed(WINNERS, growth, "+.3f"), min(growth) > 0.0
            )
        )
        sets, queue = results.where("set-10", workload=workload).beside(results.where("fcfs", workload=workload))
        equal = float(np.mean(np.abs(sets.column("min_yield") - queue.column("min_yield")) < CLAIM_SAME))
        checks.append(
            ClaimCheck(f"{workload.upper()}: set-10 equals fcfs in 99 % of windows", f"{100 * equal:.1f} %", equal >= 0.99)
        )
    return Verdict(
        "R9",
        "§6.3.3, §6.3.4, Figures 6 and 7",
        "ratio to fair-share: greedy-com about 0.9–1.1 on NERSC; look-ahead, periodic and best-next-event almost always ≥ 1 "
        "and growing with W; set-10 equals fcfs on both workloads",
        tuple(checks),
    )


def r10(results: Results) -> Verdict:
    """R10 (Figures 8 and 9); `results` are those of the campaign "apex"."""
    checks = []
    for workload in WORKLOADS:
        for column in ("efficiency", "utilization"):
            means = [results.where(policy, workload=workload).mean(column) for policy in POLICIES]
            best = POLICIES[int(np.argmax(means))]
            checks.append(
                ClaimCheck(
                    f"{workload.upper()}: greedy-com has the best mean {column}",
                    listed(POLICIES, means),
                    best == "greedy-com",
                )
            )
    high = {policy: _saturated(results, policy) for policy in POLICIES}
    middle = [high[policy] for policy in ("fair-share", "look-ahead-greedy-yield", "best-next-event")]
    last = [high[policy] for policy in ("set-10", "fcfs", "greedy-yield", "periodic-greedy-yield")]
    ordered = bool(high["greedy-com"] > max(middle) and min(middle) > max(last))
    checks.append(
        ClaimCheck(
            "TRILAB, W > 1: efficiency of greedy-com, then {fair-share, look-ahead, best-next-event}, then the others",
            listed(POLICIES, [high[policy] for policy in POLICIES]),
            ordered,
        )
    )
    return Verdict(
        "R10",
        "§6.3.5, §6.3.6, Figures 8 and 9",
        "greedy-com has the best efficiency and utilization on APEX; in TRILAB at high W: greedy-com first, then "
        "{fair-share, look-ahead, best-next-event}, then {set-10, fcfs, greedy-yield, periodic}",
        tuple(checks),
    )


def _saturated(results: Results, policy: str) -> float:
    """Mean efficiency in the TRILAB windows of pressure above 1; not a number without any."""
    chosen = results.where(policy, workload="trilab")
    values = chosen.column("efficiency")[chosen.column("pressure") > 1.0]
    return float(values.mean()) if len(values) else float("nan")


def r11(results: Results) -> Verdict:
    """R11 (Figure 10); `results` are those of the campaign "apex"."""
    means = {policy: 1e3 * results.where(policy).mean("seconds") for policy in POLICIES}
    slowest = 1e3 * float(results.where("best-next-event").column("seconds").max())
    rest = [policy for policy in POLICIES if policy not in ("best-next-event", "look-ahead-greedy-yield")]
    return Verdict(
        "R11",
        "§6.3.7, Figure 10",
        "simulating one window: best-next-event seconds (never over 60 s), look-ahead tens of ms, the others an order of "
        "magnitude less; ours must be far below",
        (
            ClaimCheck(
                "best-next-event under 0.1 s on average, never over 6 s",
                f"{means['best-next-event']:.2f} ms, at most {slowest:.0f} ms",
                means["best-next-event"] < 100.0 and slowest < 6000.0,
            ),
            ClaimCheck(
                "look-ahead under 10 ms on average",
                f"{means['look-ahead-greedy-yield']:.2f} ms",
                means["look-ahead-greedy-yield"] < 10.0,
            ),
            ClaimCheck(
                "the others under 1 ms on average, in ms",
                listed(rest, [means[policy] for policy in rest], ".3f"),
                max(means[policy] for policy in rest) < 1.0,
            ),
        ),
    )


def r12(measured: Mapping[RatioEntry, Sequence[float]], sizes: Sequence[int]) -> Verdict:
    """R12: every entry that can be built reaches its bound as m grows.

    `measured` has the ratios of each entry, one for each of the `sizes` m.
    """
    checks = []
    for entry in ENTRIES:
        if entry not in measured:
            checks.append(ClaimCheck(str(entry), "no instance constructed", holds=False))
            continue
        least = [min((1.0 - SLACK) * LIMITS[entry.bound](m), UNBOUNDED) for m in sizes]
        reached = [ratio >= limit for ratio, limit in zip(measured[entry], least, strict=True)]
        tolerance = f"above {UNBOUNDED:.0e}" if entry.bound == "∞" else f"within {SLACK:.0%}"
        values = ", ".join(f"{_shown(ratio)} at m = {m}" for m, ratio in zip(sizes, measured[entry], strict=True))
        checks.append(ClaimCheck(f"{entry}, {tolerance}", values, all(reached)))
    return Verdict(
        "R12", "Table 2", "lower bounds of the competitive ratios, reached on adversarial instances", tuple(checks)
    )


def _shown(ratio: float) -> str:
    return f"{ratio:.3g}" if ratio < UNBOUNDED else "∞" if ratio == math.inf else f"{ratio:.1e}"


ON_PRESSURE: Final = (r1, r2, r3, r4, r5, r6)
"""Judged on the campaign "pressure"."""
ON_APEX: Final = (r8, r9, r10, r11)
"""Judged on the campaign "apex"."""
