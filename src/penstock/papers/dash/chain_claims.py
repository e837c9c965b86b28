"""D5 to D8 of 001: orders of exclusive access against each other and against sharing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import LAST_WEIGHT_EDGE
from penstock.papers.claims import ClaimCheck, Verdict, listed
from penstock.papers.dash.chain_figures import relative, stretches
from penstock.papers.dash.experiments import BEST_EFFORT, EIGHT, LIST, NOISES, OPTIMAL, PERIODIC
from penstock.papers.reproducing import Results

SMALL_WEIGHT: Final = 1.0
LARGE_WEIGHT: Final = 3.0
"""What counts as a small and a large I/O weight; the text shows its curves only."""


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
    """D5 (Figure II.4)."""
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
    """D6 (Figure II.5)."""
    checks = []
    for noise in NOISES[1:]:
        plain = _by_weight(general, (*LIST, *PERIODIC), LARGE_WEIGHT, np.inf)
        noisy = _by_weight(general, (*LIST, *PERIODIC), LARGE_WEIGHT, np.inf, noise)
        change = {name: noisy[name] - plain[name] for name in plain}
        largest = max(change.values(), key=abs)
        checks.append(
            ClaimCheck(
                f"noise {noise:.0%}, W above {LARGE_WEIGHT:g}: the ratio to best-effort changes by less than 0.05",
                listed(list(change), list(change.values()), "+.4f"),
                abs(largest) < 0.05,
            )
        )
    return Verdict("D6", "Figure II.5", "20 % and 50 % of noise change little", tuple(checks))


def d7(machine_learning: Results) -> Verdict:
    """D7 (Figure II.6)."""
    checks = []
    for policy, most, what in (("fifo", 1.10, "at most 10 %"), (BEST_EFFORT, 1.60, "at most 60 %")):
        weight, ratio = relative(machine_learning, policy, OPTIMAL, noise=0.0)
        edges = np.linspace(0.0, float(weight.max()) + LAST_WEIGHT_EDGE, 13)
        which = np.digitize(weight, edges)
        means = [float(ratio[which == interval].mean()) for interval in np.unique(which)]
        checks.append(
            ClaimCheck(
                f"{policy}: {what} slower than hierarchical round-robin, as means over 12 intervals of W",
                f"largest mean {max(means):.3f}, largest single instance {ratio.max():.3f}",
                max(means) <= most,
            )
        )
    weight, ratio = relative(machine_learning, BEST_EFFORT, OPTIMAL, noise=0.0)
    checks.append(
        ClaimCheck("best-effort: more than 30 % slower somewhere", f"largest {ratio.max():.3f}", float(ratio.max()) > 1.3)
    )
    return Verdict(
        "D7", "Figure II.6", "fifo within 10 % of hierarchical round-robin, best-effort up to 60 % slower", tuple(checks)
    )


def d8(jacobi: Results) -> Verdict:
    """D8 (Figures III.4 to III.6): orderings only, for the thesis ran on a real machine."""
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
