"""Claims R8 to R11 of paper 000: the APEX windows (§6.3)."""

from __future__ import annotations

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import CLAIM_SAME
from penstock.papers.claims import ClaimCheck, Verdict, listed
from penstock.papers.reproducing import Results
from penstock.papers.revisiting.campaigns import POLICIES, WORKLOADS
from penstock.papers.revisiting.figures import ratios

WINNERS = ("look-ahead-greedy-yield", "periodic-greedy-yield", "best-next-event")


def apex_claims(results: Results) -> list[Verdict]:
    """The verdicts from the campaign of the APEX windows."""
    return [_r8(results), _r9(results), _r10(results), _r11(results)]


def _slope(x: Floats, y: Floats) -> float:
    """The slope of the line of least squares."""
    return float(np.polyfit(x, y, 1)[0])


def _r8(results: Results) -> Verdict:
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


def _r9(results: Results) -> Verdict:
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


def _r10(results: Results) -> Verdict:
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


def _r11(results: Results) -> Verdict:
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
