"""Claims of 001.

D1 to D4 are theorems on chains, checked on random small instances against the optimum. D5 to D8 compare orders of exclusive
access with each other and with sharing. D9 to D11 compare packs with first-fit, on one and several I/O nodes, and with list
scheduling. D12 is about partitions of the bandwidth, checked on random sets against all partitions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import CLAIM_LIMIT, CLAIM_SAME, LAST_WEIGHT_EDGE
from penstock.papers.dash.experiments import (
    BEST_EFFORT,
    EIGHT,
    FAMILIES,
    FIRST_FIT,
    LIST,
    MAPPINGS,
    ML_NOISES,
    NOISES,
    ONE,
    OPTIMAL,
    PERIODIC,
    random_set,
)
from penstock.papers.dash.figures import Rows, chosen, loads_of, of_family, ratios, relative, shares, stretches
from penstock.papers.reproducing import Results
from penstock.papers.verdicts import ClaimCheck, Estimate, Verdict, listed, together
from penstock.planning.partition import (
    Applications,
    all_exclusive,
    all_shared,
    best_partition,
    contiguity_gap,
    contiguous_partition,
)
from penstock.theory.chain_optimum import optimal_makespan
from penstock.theory.chains import hierarchical_round_robin, list_schedule, schedule, uniform_makespan

KEYS: Final = ("fifo", "johnson", "most-remain")
Jobs = list[list[tuple[float, float]]]
SMALL_WEIGHT: Final = 1.0
LARGE_WEIGHT: Final = 3.0
"""What counts as a small and a large I/O weight; the text shows its curves only."""
PRINTED: Final = {1: 1.09, 3: 0.71, 5: 0.53}
"""The geometric means of Figure III.13 by I/O nodes."""
HIGH_LOAD: Final = 0.6


def _jobs(random: np.random.Generator, counts: list[int]) -> Jobs:
    """Jobs of these numbers of operations with whole seconds of work and I/O, so that ties happen."""
    return [[(float(random.integers(0, 9)), float(random.integers(1, 6))) for _ in range(count)] for count in counts]


def _periodic(random: np.random.Generator, counts: list[int]) -> Jobs:
    couples = [(float(random.integers(1, 9)), float(random.integers(1, 6))) for _ in counts]
    return [[couple] * count for couple, count in zip(couples, counts, strict=True)]


def d1(instances: int) -> Verdict:
    """D1: one operation each, on so many random `instances`."""
    random = np.random.default_rng(1)
    worst = 0.0
    for _ in range(instances):
        jobs = _jobs(random, [1] * int(random.integers(2, 7)))
        best = optimal_makespan(jobs)
        worst = max(worst, *(list_schedule(jobs, key).makespan / best - 1.0 for key in KEYS))
    says = "with one operation each, any greedy order is optimal for the makespan"
    check = ClaimCheck(
        f"{instances} random instances, three orders", f"largest excess over the optimum {worst:.1e}", worst <= CLAIM_SAME
    )
    return Verdict("D1", "§II.B.2", says, (check,))


def d2(instances: int) -> Verdict:
    """D2: Theorem 2 and the closed form, on so many random `instances`."""
    random = np.random.default_rng(2)
    excess, apart = 0.0, 0.0
    for _ in range(instances):
        counts = sorted((int(random.integers(1, 4)) for _ in range(int(random.integers(2, 5)))), reverse=True)
        work, io = float(random.integers(1, 12)) / 2.0, float(random.integers(1, 6)) / 2.0
        jobs: Jobs = [[(work, io)] * count for count in counts]
        made = schedule(jobs, hierarchical_round_robin(jobs)).makespan
        excess = max(excess, made / optimal_makespan(jobs) - 1.0)
        apart = max(apart, abs(made / uniform_makespan(work, io, counts) - 1.0))
    example: Jobs = [[(2.5, 1.0)] * count for count in (4, 4, 2, 2, 1)]
    by_order = schedule(example, hierarchical_round_robin(example)).makespan
    by_formula = uniform_makespan(2.5, 1.0, [4, 4, 2, 2, 1])
    return Verdict(
        "D2",
        "Theorem 2",
        "hierarchical round-robin is optimal for uniform jobs, with a closed form",
        (
            ClaimCheck(f"{instances} random instances: optimal", f"largest excess {excess:.1e}", excess <= CLAIM_SAME),
            ClaimCheck("the closed form is its makespan", f"largest difference {apart:.1e}", apart <= CLAIM_SAME),
            ClaimCheck(
                "Figure II.3's example: 16 by schedule and by formula",
                f"{by_order:g} and {by_formula:g}",
                by_order == by_formula == 16.0,
            ),
        ),
    )


def d3(instances: int) -> Verdict:
    """D3: Theorem 3, on so many random `instances`."""
    random = np.random.default_rng(3)
    worst = 0.0
    for _ in range(instances):
        jobs = _jobs(random, [int(random.integers(1, 4)) for _ in range(int(random.integers(2, 4)))])
        best = optimal_makespan(jobs)
        worst = max(worst, *(list_schedule(jobs, key).makespan / best for key in KEYS))
    epsilon = 1e-6
    tight: Jobs = [[(0.0, 1.0)], [(epsilon, epsilon), (1.0, 0.0)]]
    ratio = list_schedule(tight, "fifo").makespan / optimal_makespan(tight)
    return Verdict(
        "D3",
        "Theorem 3",
        "any list schedule takes at most twice the optimum, and the ratio is tight",
        (
            ClaimCheck(
                f"{instances} random instances, three orders: at most 2", f"largest {worst:.4f}", worst <= 2.0 + CLAIM_SAME
            ),
            ClaimCheck("the ε instance: towards 2", f"{ratio:.6f} at ε = {epsilon:g}", abs(ratio - 2.0) < CLAIM_LIMIT),
        ),
    )


def d4(instances: int) -> Verdict:
    """D4: Theorem 4, on so many random `instances`."""
    random = np.random.default_rng(4)
    worst = 0.0
    for _ in range(instances):
        n = int(random.integers(1, 4))
        jobs = _periodic(random, [n] * int(random.integers(2, 5 if n < 3 else 4)))
        ratio = schedule(jobs, hierarchical_round_robin(jobs)).makespan / optimal_makespan(jobs)
        worst = max(worst, (ratio - 1.0) * n)
    says = "hierarchical round-robin takes at most 1 + 1/n of the optimum for periodic jobs with equal n"
    check = ClaimCheck(
        f"{instances} random instances: (ratio − 1)·n at most 1", f"largest {worst:.4f}", worst <= 1.0 + CLAIM_SAME
    )
    return Verdict("D4", "Theorem 4", says, (check,))


def _mean(values: Floats, chosen: np.ndarray) -> float:
    return float(values[chosen].mean()) if chosen.any() else float("nan")


def _by_weight(results: Results, policies: Sequence[str], low: float, high: float, noise: float = 0.0) -> dict[str, float]:
    """The mean makespan over best-effort's of each policy, over the workloads with a weight between the two."""
    means = {}
    for policy in policies:
        weight, ratio = relative(results, policy, BEST_EFFORT, noise=noise)
        means[policy] = _mean(ratio, (weight >= low) & (weight < high))
    return means


def d5(general: Results) -> Verdict:
    """D5 (Figure II.4), from the results of the campaign `general`."""
    small = _by_weight(general, (*LIST, *PERIODIC), 0.0, SMALL_WEIGHT)
    large = _by_weight(general, (*LIST, *PERIODIC), LARGE_WEIGHT, np.inf)
    every = _by_weight(general, LIST, SMALL_WEIGHT, np.inf)
    spread = max(large[name] for name in PERIODIC) - min(large[name] for name in PERIODIC)
    best_list, best_periodic = min(large[name] for name in LIST), min(large[name] for name in PERIODIC)
    return Verdict(
        "D5",
        "Figure II.4",
        "best-effort is best at small I/O weight, then list scheduling, periodic at high weight; the periodic ones coincide",
        (
            ClaimCheck(
                f"W below {SMALL_WEIGHT:g}: no ratio to best-effort below 1",
                listed(list(small), list(small.values())),
                min(small.values()) >= 1.0,
            ),
            ClaimCheck(
                f"W above {SMALL_WEIGHT:g}: list scheduling below 1",
                listed(list(every), list(every.values())),
                max(every.values()) < 1.0,
            ),
            ClaimCheck(
                f"W above {LARGE_WEIGHT:g}: the best periodic order below the best list order",
                f"periodic {best_periodic:.4f}, list {best_list:.4f}",
                best_periodic < best_list,
            ),
            ClaimCheck(
                f"W above {LARGE_WEIGHT:g}: periodic orders within 0.01 of each other", f"{spread:.4f}", spread <= 0.01
            ),
        ),
    )


def d6(general: Results) -> Verdict:
    """D6 (Figure II.5), from the results of the campaign `general`."""
    checks = []
    for noise in NOISES[1:]:
        for words, low, high in (
            (f"below {SMALL_WEIGHT:g}", 0.0, SMALL_WEIGHT),
            (f"from {SMALL_WEIGHT:g} to {LARGE_WEIGHT:g}", SMALL_WEIGHT, LARGE_WEIGHT),
            (f"above {LARGE_WEIGHT:g}", LARGE_WEIGHT, np.inf),
        ):
            plain = _by_weight(general, (*LIST, *PERIODIC), low, high)
            noisy = _by_weight(general, (*LIST, *PERIODIC), low, high, noise)
            change = {name: noisy[name] - plain[name] for name in plain}
            largest = max(change.values(), key=abs)
            expected = f"noise {noise:.0%}, W {words}: the ratio to best-effort changes by less than 0.05"
            holds = None if np.isnan(largest) else abs(largest) < 0.05
            checks.append(ClaimCheck(expected, listed(list(change), list(change.values()), "+.4f"), holds))
    return Verdict("D6", "Figure II.5", "20 % and 50 % of noise change little", tuple(checks))


def d7(machine_learning: Results) -> Verdict:
    """D7 (Figure II.6), from the results of the campaign `machine_learning`."""
    checks = []
    for noise in ML_NOISES:
        for policy, most, what in (("fifo", 1.10, "at most 10 %"), (BEST_EFFORT, 1.60, "at most 60 %")):
            weight, ratio = relative(machine_learning, policy, OPTIMAL, noise=noise)
            edges = np.linspace(0.0, float(weight.max()) + LAST_WEIGHT_EDGE, 13)
            which = np.digitize(weight, edges)
            means = [Estimate.of(ratio[which == interval]) for interval in np.unique(which)]
            top = max(means, key=lambda mean: mean.value)
            checks.append(
                ClaimCheck(
                    f"noise {noise:.0%}: {policy} {what} slower than hierarchical round-robin (means in 12 bins of W)",
                    f"largest mean {top:.3f}, largest single instance {ratio.max():.3f}",
                    top.below(most),
                )
            )
        weight, ratio = relative(machine_learning, BEST_EFFORT, OPTIMAL, noise=noise)
        expected = f"noise {noise:.0%}: best-effort more than 30 % slower somewhere"
        checks.append(ClaimCheck(expected, f"largest {ratio.max():.3f}", float(ratio.max()) > 1.3))
    return Verdict(
        "D7", "Figure II.6", "fifo within 10 % of hierarchical round-robin, best-effort up to 60 % slower", tuple(checks)
    )


def d8(jacobi: Results) -> Verdict:
    """D8 (Figures III.4 to III.6), from the results of the campaign `jacobi`: orderings only, for the thesis ran on a real
    machine.
    """
    largest = {policy: float(stretches(jacobi, policy)[1][-1].max()) for policy in EIGHT}
    worst = sorted(largest, key=lambda name: largest[name])[-2:]
    better = ("stretch-oriented", "bandwidth-oriented", "shortest-io", "longest-remaining")
    moves = {policy: _last_move(stretches(jacobi, policy)[1].max(axis=1)) for policy in EIGHT}
    return Verdict(
        "D8",
        "§III.D.1",
        "longest-io and shortest-remaining starve; four others beat fifo in max stretch; the stretch converges",
        (
            ClaimCheck(
                "the two largest max stretches are those of longest-io and shortest-remaining",
                listed(list(largest), list(largest.values())),
                set(worst) == {"longest-io", "shortest-remaining"},
            ),
            ClaimCheck(
                f"{', '.join(better)} below fifo",
                listed(better, [largest[name] for name in better]) + f"; fifo {largest['fifo']:.4f}",
                all(largest[name] < largest["fifo"] for name in better),
            ),
            ClaimCheck(
                "doubling the batches moves no max stretch by more than 2 %",
                listed(list(moves), list(moves.values()), ".2%"),
                max(moves.values()) <= 0.02,
            ),
        ),
    )


def _last_move(values: Floats) -> float:
    """By how much the last value differs from the one before, relative to it."""
    return abs(float(values[-1] / values[-2] - 1.0))


def geometric_mean(values: Floats) -> float:
    """The mean for ratios: the geometric mean of positive `values`."""
    return float(np.exp(np.log(values).mean()))


def d9(rows: Rows) -> Verdict:
    """D9 (Figures III.8 to III.12), from the `rows` of the experiment "packs"."""
    _, makespan = ratios(rows, "S = 1", "makespan")
    _, between = ratios(rows, "S = I/O load", "makespan")
    _, stretch = ratios(rows, "S = 1", "pack_stretch")
    _, between_stretch = ratios(rows, "S = I/O load", "pack_stretch")
    precise = {
        name: Estimate.of([row["makespan"] / row["predicted_makespan"] for row in chosen(rows, strategy).values()])
        for name, strategy in (("S = 1", ONE), ("first-fit", FIRST_FIT))
    }
    moved = shares(rows, "first-fit")["delayed"] - shares(rows, "S = 1")["delayed"]
    idle = shares(rows, "S = 1")["idle"] - shares(rows, "first-fit")["idle"]
    cost, middle = geometric_mean(makespan), geometric_mean(between)
    return Verdict(
        "D9",
        "Figures III.8–III.12",
        "packs with S = 1 cost 10 % of makespan against first-fit, gain much stretch, and move time from delay to idle",
        (
            ClaimCheck("makespan of S = 1 over first-fit: 1.05 to 1.15", f"geometric mean {cost:.3f}", 1.05 <= cost <= 1.15),
            ClaimCheck(
                "stretch of S = 1 over first-fit: below 0.8",
                f"geometric mean {geometric_mean(stretch):.3f}",
                geometric_mean(stretch) < 0.8,
            ),
            ClaimCheck(
                "mean makespan over the predicted: S = 1 within 20 %, first-fit above 2",
                listed(list(precise), list(precise.values()), ".3f"),
                together((precise["S = 1"].below(1.2), precise["first-fit"].above(2.0))),
            ),
            ClaimCheck(
                "about 25 % of the node time moves from delay (20 to 30 points)",
                f"delay −{moved:.1%}, idle +{idle:.1%}",
                0.2 <= moved <= 0.3,
            ),
            ClaimCheck(
                "S = α lies between in makespan and stretch",
                f"makespan {middle:.3f}, stretch {geometric_mean(between_stretch):.3f}",
                min(1.0, cost) <= middle <= max(1.0, cost)
                and geometric_mean(stretch) <= geometric_mean(between_stretch) <= 1.0,
            ),
        ),
    )


def d10(rows: Rows) -> Verdict:
    """D10 (Figure III.13), from the `rows` of the experiment "io-nodes"."""
    means = {count: geometric_mean(ratios(rows, "S = 1", "makespan", count)[1]) for count in PRINTED}
    figures = listed([f"{count} I/O nodes" for count in means], list(means.values()), ".3f")
    return Verdict(
        "D10",
        "Figure III.13",
        "packs by LPT on several I/O nodes: geometric mean of makespan over first-fit 1.09 / 0.71 / 0.53",
        (
            ClaimCheck(
                "falls with the number of I/O nodes, below 1 for 3 and 5",
                figures,
                means[1] > means[3] > means[5] and means[3] < 1.0,
            ),
            ClaimCheck(
                "within 0.05 of what is printed", figures, all(abs(means[count] - PRINTED[count]) <= 0.05 for count in means)
            ),
        ),
    )


def gap(rows: Rows, family: str, pair: tuple[str, str], measure: str, low: float = 0.0, high: float = np.inf) -> Estimate:
    """By how much the first mapping of a `pair` is above the second in a `measure`, batch by batch.

    `rows` are those of the experiment "mapping"; `family` and wanted I/O loads from `low` to `high` choose the batches.
    """
    one, other = ([row[measure] for load, row in of_family(rows, family, name) if low <= load <= high] for name in pair)
    return Estimate.of(np.array(one) - np.array(other))


def _above_all(
    rows: Rows, family: str, first: str, measure: str, *, sign: float = 1.0, low: float = 0.0, high: float = np.inf
) -> tuple[str, bool | None]:
    """Whether a mapping has the largest (sign 1) or the smallest (sign −1) mean of a measure, and what was measured."""
    gaps = {name: gap(rows, family, (first, name), measure, low, high) for name in MAPPINGS if name != first}
    outcome = together(one.above() if sign > 0.0 else one.below() for one in gaps.values())
    return f"{first} against " + listed(list(gaps), list(gaps.values()), "+.4f"), outcome


def d11(rows: Rows) -> Verdict:
    """D11 (chapter IV), from the `rows` of the experiment "mapping"; differences are batch by batch."""
    loads = loads_of(rows)
    checks = []
    for family in FAMILIES:
        measured, outcome = _above_all(rows, family, "list", "utilization", high=loads[0])
        checks.append(ClaimCheck(f"{family}, load {loads[0]:g}: list scheduling uses the machine best", measured, outcome))
    for family in FAMILIES:
        lead = gap(rows, family, ("pack max", "list"), "utilization", HIGH_LOAD)
        expected = f"{family}, load {HIGH_LOAD:g} and more: pack max uses the machine better than list"
        checks.append(ClaimCheck(expected, f"{lead:+.4f}", lead.above()))
    for measure, word in (("max_stretch", "max"), ("mean_stretch", "mean")):
        for family in FAMILIES:
            for mapping in ("pack max", "pack random"):
                lead = gap(rows, family, (mapping, "list"), measure)
                expected = f"{family}: {mapping} has a lower {word} stretch than list"
                checks.append(ClaimCheck(expected, f"{lead:+.4f}", lead.below()))
    for family, sign, word in (("BU", -1.0, "lowest"), ("NU", -1.0, "lowest"), ("MB", 1.0, "highest")):
        measured, outcome = _above_all(rows, family, "pack char", "mean_stretch", sign=sign)
        checks.append(ClaimCheck(f"{family}: pack char has the {word} mean stretch", measured, outcome))
    says = "list scheduling is best at low load and steady; pack max can pass it above 0.6; packs improve stretch slightly"
    return Verdict("D11", "chapter IV", says, tuple(checks))


def d12(instances: int) -> Verdict:
    """D12: bandwidth partition (V.B), on so many random `instances`."""
    random = np.random.default_rng(12)
    sets = [random_set(random, int(random.integers(3, 8))) for _ in range(instances)]
    gaps = np.array([contiguity_gap(applications) for applications in sets])
    best = np.array([best_partition(applications).value for applications in sets])
    plain = np.array([min(all_shared(a).value, all_exclusive(a).value) for a in sets])
    wins = float(np.mean(best < plain * (1.0 - CLAIM_SAME)))
    counter = Applications(
        (2.0, 4.0, 6.0, 24.0, 64.0),
        tuple(64.0 * v / w for v, w in zip((2, 4, 6, 24, 64), (1, 40, 16, 1, 1), strict=True)),
        1.0,
    )
    return Verdict(
        "D12",
        "§V.B",
        "the best partition can always be chosen contiguous in v, and mostly beats all-shared and all-exclusive",
        (
            ClaimCheck(
                f"{instances} random sets of 3 to 7: contiguous is as good as any",
                f"in {np.mean(gaps <= CLAIM_SAME):.1%} of the sets; largest gap {gaps.max():.1%}",
                bool(gaps.max() <= CLAIM_SAME),
            ),
            ClaimCheck(
                "the set (2, 4, 6, 24, 64) with loads (1, 40, 16, 1, 1)/64",
                f"best {best_partition(counter).value:.3f}, contiguous {contiguous_partition(counter).value:.3f}",
                contiguity_gap(counter) <= CLAIM_SAME,
            ),
            ClaimCheck("better than both in most cases", f"in {wins:.1%} of the sets", wins > 0.5),
        ),
    )


THEOREMS: Final[tuple[Callable[[int], Verdict], ...]] = (d1, d2, d3, d4)
"""The claims on chains; each takes the number of random instances."""
