"""Claims R1 to R12 of paper 000: on synthetic traces (R1 to R7, §6.2 and B.1), on APEX windows (R8 to R11, §6.3), and on the
instances of Table 2 (R12).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import CLAIM_CLOSE, CLAIM_SAME
from penstock.papers.reproducing import Results
from penstock.papers.revisiting.experiments import (
    ENTRIES,
    LIMITS,
    MACHINES,
    OTHER_PARAMETERS,
    OTHERS,
    OTHERS_AT,
    POLICIES,
    PRESSURES,
    SLACK,
    STARTS,
    UNBOUNDED,
    WORKLOADS,
    YIELD_DRIVEN,
    RatioEntry,
)
from penstock.papers.revisiting.figures import ranked_yields, ratios, sorted_yields
from penstock.papers.verdicts import (
    ClaimCheck,
    Estimate,
    Verdict,
    at_least,
    at_most,
    listed,
    maximum,
    minimum,
    share,
    together,
)

HIGHEST = PRESSURES[-1]
LARGEST: Final = 1.4
"""The largest pressure of an APEX window of the paper (§6.3.1). Ours go on to 2.5; the claims are judged up to here."""
WINNERS = ("look-ahead-greedy-yield", "periodic-greedy-yield", "best-next-event")


def lead_of(results: Results, policy: str, rival: str, column: str, *, least: float | None = None) -> Estimate:
    """By how much `policy` is above `rival` in a column, workload by workload, with the error over traces or schedules.

    `results` are rows of synthetic traces or of APEX windows; of these, with `least`, those of a pressure above it.
    """
    ours, theirs = results.where(policy).beside(results.where(rival))
    apart = ours.column(column) - theirs.column(column)
    return ours.estimate(apart if least is None else np.where(ours.column("pressure") > least, apart, np.nan))


def in_range(results: Results) -> Results:
    """The APEX windows (`results`) with a pressure that the paper has."""
    return results.chosen(results.column("pressure") <= LARGEST)


def at(results: Results, pressure: float) -> Results:
    """The rows of the campaign "pressure" (`results`) with one W_GOAL, `pressure`."""
    return results.where(pressure=pressure)


def _closest(leads: Mapping[str, Estimate], form: str = "+.4f") -> str:
    """The smallest of the differences in words."""
    name = min(leads, key=lambda one: leads[one].value)
    return f"{name} by {leads[name]:{form}}, the least"


def r1(results: Results) -> Verdict:
    """R1 (Figure 2); `results` are those of the campaign "pressure"."""
    ends = [
        [at(results, pressure).where(policy).estimate("min_yield") for pressure in (PRESSURES[0], HIGHEST)]
        for policy in OTHERS
    ]
    lost = [low.minus(high) for low, high in ends]
    top = at(results, HIGHEST)
    leads = {f"{one} over {other}": lead_of(top, one, other, "min_yield") for one in YIELD_DRIVEN for other in OTHERS}
    spread = {f"{one} over {YIELD_DRIVEN[0]}": lead_of(top, one, YIELD_DRIVEN[0], "min_yield") for one in YIELD_DRIVEN[1:]}
    return Verdict(
        "R1",
        "§6.2, Figure 2",
        "as W grows fair-share, fcfs, set-10 and greedy-com lose min-yield; the four yield-driven strategies stay far "
        "above them, close to each other",
        (
            ClaimCheck(
                "each of the four others loses over 0.1 of min-yield from W_GOAL 0.2 to 1.1",
                listed(OTHERS, lost),
                together(loss.above(0.1) for loss in lost),
            ),
            ClaimCheck(
                "at 1.1 each of the yield-driven is above each of the others by over 0.03",
                _closest(leads),
                together(lead.above(0.03) for lead in leads.values()),
            ),
            ClaimCheck(
                "at 1.1 the yield-driven are within 0.03 of greedy-yield",
                listed(list(spread), list(spread.values()), "+.4f"),
                together(one.inside(-0.03, 0.03) for one in spread.values()),
            ),
        ),
    )


def r2(results: Results) -> Verdict:
    """R2 (§6.2.2); `results` are those of the campaign "pressure"."""
    checks = []
    for policy in ("best-next-event", "look-ahead-greedy-yield"):
        for better in ("greedy-yield", "periodic-greedy-yield"):
            behind = lead_of(results, better, policy, "min_yield")
            each = [lead_of(at(results, pressure), better, policy, "min_yield") for pressure in PRESSURES]
            measured = f"{behind:+.4f}; " + listed([f"W {pressure}:" for pressure in PRESSURES], each, "+.4f")
            expected = f"{policy}: behind {better} over all W_GOAL, by less than 0.03 at any"
            checks.append(ClaimCheck(expected, measured, together((behind.above(), *(one.below(0.03) for one in each)))))
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
        for policy, word in (("fcfs", "worst"), ("greedy-com", "best")):
            leads = {}
            for pressure, rival in itertools.product(PRESSURES, (name for name in POLICIES if name != policy)):
                pair = (rival, policy) if word == "worst" else (policy, rival)
                leads[f"{rival} at W {pressure}"] = lead_of(at(results, pressure), *pair, column)
            outcome = together(lead.above() for lead in leads.values())
            checks.append(ClaimCheck(f"{policy} has the {word} {column} at every W_GOAL", _closest(leads), outcome))
    poor = lead_of(at(results, HIGHEST), "greedy-com", "fair-share", "min_yield")
    checks.append(ClaimCheck("min-yield of greedy-com at 1.1 is below fair-share's", f"by {poor:+.4f}", poor.below()))
    return Verdict(
        "R3",
        "§6.2.2",
        "fcfs is worst for efficiency and utilization; greedy-com is best for both and poor in min-yield at high W",
        tuple(checks),
    )


def r4(results: Results) -> Verdict:
    """R4 (§6.2.2); `results` are those of the campaign "pressure". Losses and leads are parts of fair-share's mean."""
    losses: dict[float, Estimate] = {}
    leads: dict[float, Estimate] = {}
    for pressure in PRESSURES:
        rows = at(results, pressure)
        found = {
            (policy, column): _relative(rows, policy, column)
            for policy in YIELD_DRIVEN
            for column in ("efficiency", "utilization")
        }
        losses[pressure] = max((Estimate(-one.value, one.error) for one in found.values()), key=lambda one: one.value)
        ahead = [found["look-ahead-greedy-yield", column] for column in ("efficiency", "utilization")]
        leads[pressure] = min(ahead, key=lambda one: one.value)
    names = [f"W {pressure}:" for pressure in PRESSURES]
    lost = listed(names, list(losses.values()), "+.5f")
    below = [pressure for pressure in PRESSURES if pressure != HIGHEST]
    return Verdict(
        "R4",
        "§6.2.2",
        "the yield-driven strategies lose under 5 % of efficiency and utilization against fair-share, and only at "
        "the highest W; for all but the largest W look-ahead has better efficiency and utilization than fair-share",
        (
            ClaimCheck("the largest loss is under 0.05", lost, together(one.below(0.05) for one in losses.values())),
            ClaimCheck(
                "below 1.1 no strategy loses over 0.002", lost, together(losses[pressure].below(0.002) for pressure in below)
            ),
            ClaimCheck(
                "look-ahead is ahead of fair-share in both below 1.1",
                listed(names, list(leads.values()), "+.5f"),
                together(leads[pressure].above() for pressure in below),
            ),
        ),
    )


def _relative(rows: Results, policy: str, column: str) -> Estimate:
    """By how much a policy is above fair-share in a column, as a part of fair-share's mean."""
    lead, mean = lead_of(rows, policy, "fair-share", column), rows.where("fair-share").mean(column)
    return Estimate(lead.value / mean, lead.error / mean)


def _rises(results: Results, policy: str) -> Estimate:
    """By how much the mean yield of the third with the largest ω is above that of the smallest, trace by trace."""
    thirds = _thirds(results, policy)
    return Estimate.of(thirds[2].mean(axis=1) - thirds[0].mean(axis=1) if len(thirds[0]) else [])


def _thirds(results: Results, policy: str) -> list[np.ndarray]:
    """The yields at each rank of ω (columns) in each trace (rows), in three parts of the ranks; `results` as for `r5`."""
    return np.array_split(ranked_yields(results, policy, HIGHEST, "mean_iterations"), 3, axis=1)


def _correlation(values: Floats) -> float:
    """The correlation of `values` with their rank; not a number with fewer than two."""
    return float(np.corrcoef(np.arange(len(values)), values)[0, 1]) if len(values) > 1 else math.nan


def r5(results: Results) -> Verdict:
    """R5 (Figure 3); `results` are those of the campaign "pressure"."""
    rises = {policy: _rises(results, policy) for policy in POLICIES}
    flat = ("fair-share", *YIELD_DRIVEN)
    return Verdict(
        "R5",
        "Figure 3, W_GOAL 1.1",
        "yields sorted by ω: flat for fair-share and the yield-driven; rising with ω for fcfs; falling for greedy-com; "
        "three steps for set-10, each of them rising with ω",
        (
            ClaimCheck(
                "flat: the mean of the last third is within 0.03 of the first's",
                listed(flat, [rises[policy] for policy in flat], "+.4f"),
                together(rises[policy].inside(-0.03, 0.03) for policy in flat),
            ),
            ClaimCheck(
                "fcfs rises by over 0.05 from the first to the last third",
                f"{rises['fcfs']:+.4f}",
                rises["fcfs"].above(0.05),
            ),
            ClaimCheck("greedy-com falls by over 0.05", f"{rises['greedy-com']:+.4f}", rises["greedy-com"].below(-0.05)),
            *_on_steps(_thirds(results, "set-10")),
        ),
    )


def _on_steps(thirds: Sequence[np.ndarray]) -> Iterator[ClaimCheck]:
    """What Figure 3 shows of set-10: a step for each set, and the order of fcfs within it.

    `thirds` are the yields of the small, the medium and the big applications by rank of ω (columns) in each trace (rows).
    """
    within = [_correlation(third.mean(axis=0) if len(third) else np.empty(0)) for third in thirds]
    yield ClaimCheck(
        "set-10: in each third the yield rises with the rank (correlation of 0.5 or more)",
        listed(("small", "medium", "big"), within, "+.2f"),
        at_least(minimum(np.array(within)), 0.5),
    )
    drops = [
        Estimate.of(before[:, -5:].mean(axis=1) - after[:, :5].mean(axis=1) if len(before) else [])
        for before, after in itertools.pairwise(thirds)
    ]
    yield ClaimCheck(
        "set-10: and falls from the last five of a third to the first five of the next",
        listed(("small to medium", "medium to big"), drops, ".3f"),
        together(drop.above() for drop in drops),
    )


def r6(results: Results) -> Verdict:
    """R6 (Figure 4); `results` are those of the campaign "pressure"."""
    straight = _correlation(sorted_yields(results, "fair-share", HIGHEST, "io_fractions"))
    each = {policy: _with_fraction(results, policy) for policy in POLICIES}
    rivals = [policy for policy in POLICIES if policy != "fair-share"]
    ahead = {
        policy: _small_over_large(results, policy)
        for policy in ("best-next-event", "look-ahead-greedy-yield", "greedy-yield")
    }
    return Verdict(
        "R6",
        "Figure 4, W_GOAL 1.1",
        "yields sorted by φ: fair-share falls close to linearly with φ, and is the only one strongly correlated with it; "
        "best-next-event favours small φ, and look-ahead differs from greedy-yield there",
        (
            ClaimCheck(
                "fair-share: correlation of rank and mean yield of −0.95 or less",
                f"{straight:+.4f}",
                at_most(straight, -0.95),
            ),
            ClaimCheck(
                "correlation of φ and yield within a trace: below −0.9 for fair-share, above −0.7 for all others",
                listed(POLICIES, list(each.values()), "+.3f"),
                together((each["fair-share"].below(-0.9), *(each[policy].above(-0.7) for policy in rivals))),
            ),
            ClaimCheck(
                "the ten with the smallest φ have a larger yield than the ten with the largest under best-next-event, and "
                "more so under look-ahead than under greedy-yield",
                listed(list(ahead), list(ahead.values()), "+.4f"),
                together(
                    (
                        ahead["best-next-event"].above(),
                        ahead["look-ahead-greedy-yield"].minus(ahead["greedy-yield"]).above(),
                    )
                ),
            ),
        ),
    )


def _with_fraction(results: Results, policy: str) -> Estimate:
    """The correlation of φ and yield within a trace, 0 where all yields are equal, over traces; `results` as for `r6`."""
    rows = results.where(policy, pressure=HIGHEST)
    pairs = zip(rows.lists("io_fractions"), rows.lists("yields"), strict=True)
    return Estimate.of([float(np.corrcoef(*pair)[0, 1]) if np.ptp(pair[1]) > 0.0 else 0.0 for pair in pairs])


def _small_over_large(results: Results, policy: str) -> Estimate:
    """By how much the ten with the smallest φ are above the ten with the largest in yield, over traces."""
    yields = ranked_yields(results, policy, HIGHEST, "io_fractions")
    return Estimate.of(yields[:, :10].mean(axis=1) - yields[:, -10:].mean(axis=1) if len(yields) else [])


def r7(results: Results) -> Verdict:
    """R7 (§6.2.2, B.1); `results` are those of the campaign "other-parameters"."""
    base = {"small": 20, "sigma": 0.5, "noise": 0.5}

    def change(policy: str, pressure: float, name: str, low: float, high: float) -> Estimate:
        ends = [results.where(policy, **{**base, "pressure": pressure, name: value}) for value in (low, high)]
        return difference(ends[0].column("min_yield"), ends[1].column("min_yield"))

    checks = []
    hit = ("fcfs", "set-10")
    spared = [policy for policy in POLICIES if policy not in hit]
    for pressure in OTHERS_AT:
        for name, symbol in (("small", "n_small"), ("noise", "ν")):
            values = OTHER_PARAMETERS[name]
            moves = [change(policy, pressure, name, values[0], values[-1]) for policy in POLICIES]
            expected = f"W_GOAL {pressure}: from the least to the largest {symbol} no min-yield moves by 0.1 or more"
            checks.append(
                ClaimCheck(expected, listed(POLICIES, moves, "+.3f"), together(m.inside(-0.1, 0.1) for m in moves))
            )
        low, high = OTHER_PARAMETERS["sigma"][0], OTHER_PARAMETERS["sigma"][-1]
        drops = {policy: change(policy, pressure, "sigma", high, low) for policy in POLICIES}
        expected = f"W_GOAL {pressure}: σ from {low} to {high} lowers fcfs and set-10 by over 0.03"
        found = [drops[policy] for policy in hit]
        checks.append(ClaimCheck(expected, listed(hit, found, "+.3f"), together(drop.above(0.03) for drop in found)))
        found = [drops[policy] for policy in spared]
        measured = listed(spared, found, "+.3f")
        expected = f"W_GOAL {pressure}: and the others by less"
        checks.append(ClaimCheck(expected, measured, together(drop.below(0.03) for drop in found)))
    says = "n_small and ν hardly matter; high σ lowers min-yield of fcfs and set-10 only"
    return Verdict("R7", "§6.2.2, B.1", says, tuple(checks))


def difference(before: Floats, after: Floats) -> Estimate:
    """The mean of `after` minus that of `before`, which are independent of each other, with its standard error."""
    one, other = Estimate.of(before), Estimate.of(after)
    return Estimate(other.value - one.value, math.hypot(one.error, other.error))


def _slope(x: Floats, y: Floats) -> float:
    """The slope of the line of least squares; not a number with fewer than two points."""
    return float(np.polyfit(x, y, 1)[0]) if len(x) > 1 else math.nan


def _slopes(results: Results) -> Estimate:
    """The slope of min-yield over pressure, schedule by schedule: those of one seed on all machines."""
    seeds, pressures, values = results.integers("seed"), results.column("pressure"), results.column("min_yield")
    return Estimate.of([_slope(pressures[seeds == seed], values[seeds == seed]) for seed in np.unique(seeds)])


def r8(results: Results) -> Verdict:
    """R8 (§6.3.1, §6.3.2, Figure 5); `results` are those of the campaign "apex"."""
    fair = [results.where("fair-share", workload=workload) for workload in WORKLOADS]
    alike = [in_range(rows) for rows in fair]
    cielo = [rows.where(machine="cielo").estimate("pressure") for rows in fair]
    largest = [rows.where(machine=MACHINES[-1]).estimate("pressure") for rows in fair]
    every = np.concatenate([rows.column("pressure") for rows in fair])
    above = 100.0 * share(every > LARGEST)
    slopes = [_slopes(rows) for rows in alike]
    return Verdict(
        "R8",
        "§6.3.1, §6.3.2, Figure 5",
        "pressure about 0.15 on Cielo, and from there up to 1.4 on its scaled machines; min-yield of fair-share falls as "
        "pressure grows, more sharply for TRILAB, but on NERSC some windows of high pressure keep 1",
        (
            ClaimCheck(
                "mean pressure on Cielo from 0.10 to 0.20",
                listed(WORKLOADS, cielo),
                together(mean.inside(0.1, 0.2) for mean in cielo),
            ),
            ClaimCheck(
                "mean pressure on the largest machine from 1.2 to 1.6",
                listed(WORKLOADS, largest),
                together(mean.inside(1.2, 1.6) for mean in largest),
            ),
            ClaimCheck(
                "the pressures of single windows go up to 1.4, not beyond (1 % of windows may)",
                f"{minimum(every):.2f} to {maximum(every):.2f}; above 1.4 in {above:.1f} %",
                at_most(above, 1.0),
            ),
            ClaimCheck(
                f"min-yield against pressure has a negative slope, up to W = {LARGEST}",
                listed(WORKLOADS, slopes, "+.3f"),
                together(slope.below() for slope in slopes),
            ),
            ClaimCheck(
                "and a steeper one for TRILAB", listed(WORKLOADS, slopes, "+.3f"), slopes[1].minus(slopes[0]).below()
            ),
            _mild(alike[0]),
            _untouched(alike[0]),
            *_on_trilab(alike),
        ),
    )


def _untouched(nersc: Results) -> ClaimCheck:
    """§6.3.2: some NERSC windows of high pressure keep a min-yield of 1."""
    alone = nersc.column("pressure")[nersc.column("min_yield") >= 1.0 - CLAIM_CLOSE]
    measured = f"{len(alone)} of {len(nersc)} windows, at W up to {maximum(alone):.2f}" if len(alone) else "no such window"
    outcome = bool(len(alone) and maximum(alone) >= 1.3) if len(nersc) else None
    return ClaimCheck("NERSC: windows with a min-yield of 1 at W up to 1.4 (1.3 or more)", measured, outcome)


def _mild(nersc: Results) -> ClaimCheck:
    """§6.3.2: at low pressure min-yield stays above 0.8."""
    low = nersc.column("min_yield")[nersc.column("pressure") <= 0.4]
    part = share(low > 0.8)
    measured = f"{100 * part:.1f} % of {len(low)} windows, least {minimum(low):.3f}"
    return ClaimCheck("NERSC: min-yield above 0.8 at W up to 0.4, in 95 % of windows", measured, at_least(part, 0.95))


def _on_trilab(fair: Sequence[Results]) -> Iterator[ClaimCheck]:
    """§6.3.2 on TRILAB: the range of min-yield, and on Cielo the range of pressure."""
    trilab = fair[1]
    lowest = minimum(trilab.column("min_yield"))
    yield ClaimCheck("TRILAB: no window with a min-yield under 0.4", f"least {lowest:.3f}", at_least(lowest, 0.4))
    high = maximum(trilab.column("min_yield")[trilab.column("pressure") > 1.0])
    yield ClaimCheck("TRILAB: no min-yield close to 1 (0.95) at W above 1", f"{high:.3f} at most", at_most(high, 0.95))
    top = [maximum(rows.where(machine="cielo").column("pressure")) for rows in fair]
    yield ClaimCheck("Cielo: no NERSC window has W of 0.5 or more", f"largest {top[0]:.3f}", at_most(top[0], 0.5))
    expected = "Cielo: some TRILAB windows saturate the link (W of 1 or more)"
    yield ClaimCheck(expected, f"largest {top[1]:.3f}", at_least(top[1], 1.0))


def r9(results: Results, others: Results) -> Verdict:
    """R9 (Figures 6 and 7); `results` are those of the campaign "apex", `others` those of "starts"."""
    results, others = in_range(results), in_range(others)
    checks: list[ClaimCheck] = []
    for start, rows in (("lead", results), *((start, others.where(start=start)) for start in STARTS)):
        checks += [_like_fcfs(rows, workload, start) for workload in WORKLOADS]
        checks += [_winners(rows, workload, start) for workload in WORKLOADS]
        com = ratios(rows, "greedy-com", "nersc")[1]
        band = share((com >= 0.9) & (com <= 1.1))
        expected = f"start {start}, NERSC: greedy-com within 0.9 to 1.1 in 80 % of windows"
        checks.append(ClaimCheck(expected, f"{100 * band:.1f} %", at_least(band, 0.8)))
    for workload in WORKLOADS:
        growth = [_growth(results, policy, workload) for policy in WINNERS]
        expected = f"{workload.upper()}: the ratio grows with W (slope, schedule by schedule)"
        checks.append(ClaimCheck(expected, listed(WINNERS, growth, "+.3f"), together(one.above() for one in growth)))
    return Verdict(
        "R9",
        f"§6.3.3, §6.3.4, Figures 6 and 7; windows with W up to {LARGEST}",
        "ratio to fair-share: greedy-com about 0.9–1.1 on NERSC; look-ahead, periodic and best-next-event almost always ≥ 1 "
        "and growing with W; set-10 equals fcfs on both workloads",
        tuple(checks),
    )


def _growth(results: Results, policy: str, workload: str) -> Estimate:
    """The slope of the ratio to fair-share's min-yield over the pressure, for each schedule."""
    seeds = np.unique(results.integers("seed")).tolist()
    return Estimate.of([_slope(*ratios(_of_seed(results, seed), policy, workload)) for seed in seeds])


def _of_seed(results: Results, seed: int) -> Results:
    return results.chosen(results.integers("seed") == seed)


def _like_fcfs(rows: Results, workload: str, start: str) -> ClaimCheck:
    sets, queue = rows.where("set-10", workload=workload).beside(rows.where("fcfs", workload=workload))
    apart = np.abs(sets.column("min_yield") - queue.column("min_yield"))
    equal, near = share(apart < CLAIM_SAME), share(apart <= 0.01)
    far = maximum(apart)
    measured = f"equal in {100 * equal:.1f} % of windows, within 0.01 in {100 * near:.1f} %, largest difference {far:.3f}"
    expected = f"start {start}, {workload.upper()}: set-10 is fcfs, within 0.01 in 99 % of windows"
    return ClaimCheck(expected, measured, at_least(near, 0.99))


def _winners(rows: Results, workload: str, start: str) -> ClaimCheck:
    good = [share(ratios(rows, policy, workload)[1] >= 1.0 - 1e-3) for policy in WINNERS]
    expected = f"start {start}, {workload.upper()}: ratio to fair-share at least 0.999 in 90 % of windows"
    measured = listed(WINNERS, [100.0 * part for part in good], ".1f") + " %"
    return ClaimCheck(expected, measured, together(at_least(part, 0.9) for part in good))


def r10(results: Results) -> Verdict:
    """R10 (Figures 8 and 9); `results` are those of the campaign "apex"."""
    results = in_range(results)
    checks = []
    rivals = [policy for policy in POLICIES if policy != "greedy-com"]
    for workload in WORKLOADS:
        rows = results.where(workload=workload)
        for column in ("efficiency", "utilization"):
            for words, least in (("all windows", None), ("W > 1", 1.0)):
                leads = [lead_of(rows, "greedy-com", rival, column, least=least) for rival in rivals]
                nearest = min(range(len(rivals)), key=lambda index: leads[index].value)
                measured = f"ahead by {leads[nearest]:+.4f} of the next, {rivals[nearest]}"
                expected = f"{workload.upper()}, {words}: greedy-com has the best {column}"
                checks.append(ClaimCheck(expected, measured, together(lead.above() for lead in leads)))
    trilab = results.where(workload="trilab")
    middle = ("fair-share", "look-ahead-greedy-yield", "best-next-event")
    last = ("set-10", "fcfs", "greedy-yield", "periodic-greedy-yield")
    leads = [lead_of(trilab, one, other, "efficiency", least=1.0) for one in middle for other in last]
    high = [_saturated(results, policy) for policy in POLICIES]
    closest = min(leads, key=lambda lead: lead.value)
    checks.append(
        ClaimCheck(
            "TRILAB, W > 1: efficiency of {fair-share, look-ahead, best-next-event} above that of the others",
            f"{listed(POLICIES, high)}; the closest two are {closest:+.4f} apart",
            together(lead.above() for lead in leads),
        )
    )
    return Verdict(
        "R10",
        f"§6.3.5, §6.3.6, Figures 8 and 9; windows with W up to {LARGEST}",
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
    """R11 (Figure 10); `results` are those of the campaign "apex".

    How long a window takes depends on the machine and on what else it does. So each window's time is compared with that of
    another policy on the same window, in the same process and moments apart.
    """

    def times(policy: str, rival: str) -> tuple[float, str]:
        ours, theirs = results.where(policy).beside(results.where(rival))
        ratio = float(np.median(ours.column("seconds") / theirs.column("seconds"))) if len(ours) else math.nan
        return ratio, f"{policy} takes {ratio:.2f} times as long as {rival} (median over windows)"

    exhaustive, first = times("best-next-event", "look-ahead-greedy-yield")
    ahead, second = times("look-ahead-greedy-yield", "greedy-yield")
    count = {policy: results.where(policy).mean("decisions") for policy in POLICIES}
    often = count["periodic-greedy-yield"] / float(np.mean([count[name] for name in GREEDY]))
    return Verdict(
        "R11",
        "§6.3.7, §6.3.8, Figure 10",
        "best-next-event takes seconds, look-ahead tens of ms, the others an order of magnitude less; periodic decides "
        "twice as often as the other greedy ones",
        (
            ClaimCheck("best-next-event takes 10 times as long as look-ahead or more", first, at_least(exhaustive, 10.0)),
            ClaimCheck("look-ahead takes 10 times as long as greedy-yield or more", second, at_least(ahead, 10.0)),
            ClaimCheck(
                "periodic decides about twice as often as the other greedy ones (1.5 to 3 times)",
                listed(POLICIES, [count[policy] for policy in POLICIES], ".0f") + " decisions a window",
                together((at_least(often, 1.5), at_most(often, 3.0))),
            ),
        ),
    )


GREEDY: Final = ("greedy-yield", "greedy-com", "look-ahead-greedy-yield")


def r13(results: Results) -> Verdict:
    """R13 (§6.3.3, §6.3.4): further statements on min-yield; `results` are those of the campaign "apex"."""
    results = in_range(results)
    checks = []
    for policy in ("fcfs", "set-10", "greedy-yield"):
        pressures, values = ratios(results, policy, "trilab")
        winning = share(values[pressures > 1.0] > 1.0)
        gain = lead_of(results.where(workload="trilab"), policy, "fair-share", "min_yield", least=1.0)
        measured = f"min-yield {gain:+.4f}; above it in {100 * winning:.1f} % of windows"
        outcome = together((gain.above(), at_least(winning, 0.9)))
        checks.append(ClaimCheck(f"TRILAB, W > 1: {policy} gains over fair-share, in 90 % of windows", measured, outcome))
    pressures, values = ratios(results, "greedy-com", "trilab")
    low, high = (share(values[chosen] >= 1.0 - CLAIM_CLOSE) for chosen in (pressures <= 1.0, pressures > 1.2))
    for words, part, outcome in (
        ("W up to 1: rarely below (in 20 % of windows)", low, at_least(low, 0.8)),
        ("W > 1.2: always below (in 95 %)", high, at_most(high, 0.05)),
    ):
        measured = f"at or above it in {100 * part:.1f} % of windows"
        checks.append(ClaimCheck(f"TRILAB, greedy-com against fair-share, {words}", measured, outcome))
    checks += _on_risks(results)
    worst = minimum(ratios(results, "best-next-event", "nersc")[1])
    expected = "NERSC: best-next-event never below 0.95 of fair-share"
    checks.append(ClaimCheck(expected, f"least {worst:.3f}", at_least(worst, 0.95)))
    says = (
        "on TRILAB fcfs, set-10 and greedy-yield gain at saturation and greedy-com drops; on NERSC they lose in some "
        "windows and greedy-com in half of them; best-next-event risks 5 % at most, periodic almost nothing"
    )
    return Verdict("R13", f"§6.3.3, §6.3.4; windows with W up to {LARGEST}", says, tuple(checks))


def _on_risks(results: Results) -> Iterator[ClaimCheck]:
    """§6.3.3: how often a strategy is below fair-share on NERSC, and §6.3.4 where."""
    for policy in ("fcfs", "set-10", "greedy-yield"):
        _, values = ratios(results, policy, "nersc")
        below = share(values < 1.0 - CLAIM_CLOSE)
        expected = f"NERSC: {policy} is below fair-share in a share of windows that is not negligible (5 % or more)"
        yield ClaimCheck(expected, f"{100 * below:.1f} %, least ratio {minimum(values):.3f}", at_least(below, 0.05))
    better = share(ratios(results, "greedy-com", "nersc")[1] > 1.0 + CLAIM_CLOSE)
    expected = "NERSC: greedy-com fails to improve in half of the windows or more"
    yield ClaimCheck(expected, f"better in {100 * better:.1f} %", at_most(better, 0.5))
    below = share(ratios(results, "periodic-greedy-yield", "nersc")[1] < 1.0 - 1e-3)
    expected = "NERSC: periodic is below 0.999 of fair-share in 2 % of windows at most"
    yield ClaimCheck(expected, f"{100 * below:.1f} %", at_most(below, 0.02))


def r14(apex: Results, synthetic: Results) -> Verdict:
    """R14 (§7): the recommendation; `apex` and `synthetic` are the results of the campaigns "apex" and "pressure"."""
    apex = in_range(apex)
    checks = []
    for policy in ("look-ahead-greedy-yield", "periodic-greedy-yield"):
        for workload in WORKLOADS:
            gain = lead_of(apex.where(workload=workload), policy, "fair-share", "min_yield")
            checks.append(
                ClaimCheck(
                    f"{workload.upper()}: {policy} has a better min-yield than fair-share", f"{gain:+.4f}", gain.above()
                )
            )
        for column in ("efficiency", "utilization"):
            gain = lead_of(apex.where(workload="nersc"), policy, "fair-share", column)
            checks.append(ClaimCheck(f"NERSC: {policy} has a better {column} than fair-share", f"{gain:+.4f}", gain.above()))
    trilab = apex.where(workload="trilab")
    for name, rows, policy in (
        ("TRILAB", trilab, "look-ahead-greedy-yield"),
        ("synthetic", synthetic, "look-ahead-greedy-yield"),
        ("synthetic", synthetic, "periodic-greedy-yield"),
    ):
        for column in ("efficiency", "utilization"):
            gain = lead_of(rows, policy, "fair-share", column)
            expected = f"{name}: {column} of {policy} is comparable to fair-share's (within 0.02)"
            checks.append(ClaimCheck(expected, f"{gain:+.4f}", gain.inside(-0.02, 0.02)))
    for column in ("efficiency", "utilization"):
        gain = lead_of(trilab, "periodic-greedy-yield", "fair-share", column)
        checks.append(ClaimCheck(f"TRILAB: {column} of periodic is worse than fair-share's", f"{gain:+.4f}", gain.below()))
    leads = [
        lead_of(apex, "look-ahead-greedy-yield", other, "min_yield")
        for other in ("periodic-greedy-yield", "best-next-event")
    ]
    expected = (
        "§6.3.8: look-ahead has the best min-yield on APEX, closely followed (within 0.03) by periodic and best-next-event"
    )
    measured = listed(("over periodic", "over best-next-event"), leads, "+.4f")
    checks.append(ClaimCheck(expected, measured, together(one.inside(0.0, 0.03) for one in leads)))
    says = (
        "look-ahead is recommended: excellent min-yield, better efficiency and utilization than fair-share on NERSC and "
        "comparable ones elsewhere; or periodic, which is worse than fair-share in both on TRILAB"
    )
    return Verdict("R14", f"§6.3.8, §7; APEX windows with W up to {LARGEST}", says, tuple(checks))


def r12(measured: Mapping[RatioEntry, Sequence[float]], sizes: Sequence[int]) -> Verdict:
    """R12: every entry that can be built reaches its bound as m grows.

    `measured` has the ratios of each entry, one for each of the `sizes` m.
    """
    checks = []
    for entry in ENTRIES:
        if entry not in measured:
            checks.append(ClaimCheck(str(entry), "not printed, and no instance constructed", holds=None))
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
ON_APEX: Final = (r10, r11)
"""Judged on the campaign "apex"."""
