"""D1 to D4 of 001, on random small instances against the optimum, and D12 on random sets against all partitions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from matplotlib.figure import Figure

from penstock.numeric.tolerances import CLAIM_LIMIT, CLAIM_SAME
from penstock.papers.drawing import panels
from penstock.papers.reproducing import ClaimCheck, Verdict
from penstock.planning.partition import (
    Applications,
    Partition,
    all_exclusive,
    all_shared,
    best_partition,
    contiguity_gap,
    contiguous_partition,
)
from penstock.theory.chain_optimum import optimal_makespan
from penstock.theory.chains import hierarchical_round_robin, list_schedule, schedule, uniform_makespan

INSTANCES: Final[Mapping[str, int]] = {"smoke": 30, "quick": 300, "paper": 3_000}
KEYS: Final = ("fifo", "johnson", "most-remain")
Jobs = list[list[tuple[float, float]]]


def _jobs(random: np.random.Generator, counts: list[int]) -> Jobs:
    """Jobs of these numbers of operations with whole seconds of work and I/O, so that ties happen."""
    return [[(float(random.integers(0, 9)), float(random.integers(1, 6))) for _ in range(count)] for count in counts]


def _periodic(random: np.random.Generator, counts: list[int]) -> Jobs:
    couples = [(float(random.integers(1, 9)), float(random.integers(1, 6))) for _ in counts]
    return [[couple] * count for couple, count in zip(couples, counts, strict=True)]


def d1(instances: int) -> Verdict:
    """D1: one operation each."""
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
    """D2: Theorem 2 and the closed form."""
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
    """D3: Theorem 3."""
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
    """D4: Theorem 4."""
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


def _set(random: np.random.Generator, count: int) -> Applications:
    """Volumes over two orders of magnitude; together they load the link by 10 to 90 %."""
    volumes = np.exp(random.uniform(0.0, np.log(100.0), count))
    loads = random.dirichlet(np.ones(count)) * random.uniform(0.1, 0.9)
    return Applications(tuple(volumes), tuple(volumes / loads), 1.0)


def d12(instances: int) -> Verdict:
    """D12: bandwidth partition (V.B)."""
    random = np.random.default_rng(12)
    sets = [_set(random, int(random.integers(3, 8))) for _ in range(instances)]
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


def figure_v_3() -> Figure:
    """Figure V.3: a best partition of a set of seven applications, by volume v and load v/t; a colour a part."""
    applications = _set(np.random.default_rng(53), 7)
    partition: Partition = best_partition(applications)
    figure, (panel,) = panels(1, 1)
    for part in partition.parts:
        volumes = [applications.volume[i] for i in part.members]
        loads = [applications.volume[i] / applications.time[i] for i in part.members]
        panel.plot(volumes, loads, "o", label=f"B_k = {part.bandwidth:.2f} B, stretch {part.stretch:.2f}")
    panel.set(xlabel="volume v", ylabel="load v/t", xscale="log", title=f"value {partition.value:.2f}")
    panel.legend(fontsize=7)
    return figure
