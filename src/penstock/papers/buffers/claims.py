"""Claims of 004: the smallest buffers and what fair sharing does with them (B1 to B3); one application by construction and
by program, averaged rates, and the hardness of a stretch above 1 (B4 to B7).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from penstock.buffers.check import check_plan
from penstock.buffers.plan import DYNAMIC, STATIC, execute_plan
from penstock.buffers.sizing import size
from penstock.buffers.theorems import alone, alone_by_program, averaged, instance, reachable, split, wandering
from penstock.engine import simulate
from penstock.model import Application, Buffer, Platform, Workload
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import CLAIM_CLOSE
from penstock.papers.buffers.experiments import FACTORS, LOADS, MTBF, BufferRows
from penstock.papers.buffers.figures import TABLE_2
from penstock.papers.verdicts import ClaimCheck, Estimate, Verdict, together
from penstock.theory.adversaries import LAST_LISTED_FIRST

ONE: Final = 1.0 + CLAIM_CLOSE
"""A stretch of 1, to a part in a million."""
PRECISE: Final = 0.1
"""A standard error of a ratio of Table 2 up to which it decides; the printed values differ by up to 0.44."""
PRINTED_SETS: Final = 10
"""Sets of applications behind a printed ratio: those of Figure 8, as the text gives no other number."""
MOST_SETTINGS: Final = (0.25, 0.40)
"""What a static partition costs in size "for most settings", §7.2."""
LOWEST: Final = 0.01
"""A stretch within this of another is as low."""


def b1(rows: BufferRows) -> Verdict:
    """B1: the plans keep all constraints, and carried out they give a stretch of 1.

    `rows` are those of the experiment "sets".
    """
    checks = []
    for mode in (STATIC, DYNAMIC):
        plans = [row["plans"][mode] for row in rows.rows.values()]
        wrong = [plan["worst"] for plan in plans if not plan["holds"]]
        stretch = max(plan["stretch"] for plan in plans)
        checks += [
            ClaimCheck(
                f"{mode}: every constraint holds when checked again", f"{len(wrong)} of {len(plans)} do not", not wrong
            ),
            ClaimCheck(f"{mode}: replayed, the largest stretch is 1 to 1e-6", f"1 + {stretch - 1.0:.1e}", stretch <= ONE),
            ClaimCheck(
                f"{mode}: duality gap and residuals of the linear program below 1e-6",
                f"gap {max(plan['gap'] for plan in plans):.1e}, residual {max(plan['residual'] for plan in plans):.1e}",
                all(max(plan["gap"], plan["residual"]) < CLAIM_CLOSE for plan in plans),
            ),
        ]
    return Verdict("B1", "§6", "a buffer of S_OPT gives a stretch of 1 for all", tuple(checks))


def b2(rows: BufferRows) -> Verdict:
    """B2 (Table 2), on the sets as the text has them; with capped speeds or APEX walltimes see `table_2`.

    `rows` are those of the experiment "sets".
    """
    cells = [rows.ratios(load, mtbf) for load in LOADS for mtbf in MTBF]
    names = [f"load {load:.0%}, MTBF {mtbf:g} y" for load in LOADS for mtbf in MTBF]
    printed = [value for row in TABLE_2.values() for value in row]
    of_sets = np.mean(cells, axis=0)  # sets of one seed have the same applications in all cells
    checks = [
        *(_as_printed(*cell) for cell in zip(cells, printed, names, strict=True)),
        _as_printed(of_sets, float(np.mean(printed)), "mean over the cells"),
        _in_most_settings(cells),
    ]
    says = "static over dynamic size, between 1.23 and 1.67, cell by cell; 25 to 40 % more for most settings"
    return Verdict("B2", "Table 2", says, tuple(checks))


def _as_printed(ratios: Floats, printed: float, where: str) -> ClaimCheck:
    """Whether a mean of Table 2 is the printed one, to two standard errors of the difference.

    The printed one is a mean, too, of `PRINTED_SETS` sets that vary as ours do.
    """
    found = Estimate.of(ratios)
    both = found.error * math.sqrt(1.0 + len(ratios) / PRINTED_SETS)
    near = abs(found.value - printed) <= 2.0 * both if found.error <= PRECISE else None
    return ClaimCheck(f"{where}: {printed:.3g}, to two standard errors of the difference", f"{found:.3f}", near)


def _in_most_settings(cells: Sequence[Floats]) -> ClaimCheck:
    """Whether a static partition costs what the text says in most cells of Table 2; `cells` are the ratios of each."""
    low, high = MOST_SETTINGS
    inside = [Estimate.of(ratios).inside(1.0 + low, 1.0 + high) for ratios in cells]
    yes, no, unsure = (inside.count(outcome) for outcome in (True, False, None))
    return ClaimCheck(
        f"{low:.0%} to {high:.0%} more for most settings",
        f"in {yes} of {len(cells)} cells, not in {no}; {unsure} within a standard error of a limit",
        True if 2 * yes > len(cells) else False if 2 * no >= len(cells) else None,
    )


def b3(rows: BufferRows) -> Verdict:
    """B3 (Figure 8), with stretches by dates, as eq. 3 has them, and by durations.

    `rows` are those of the experiment "sets".
    """
    checks: list[ClaimCheck] = []
    for words, capped in (("", False), (", capped speeds", True)):
        cells = [(load, mtbf) for load in LOADS for mtbf in MTBF if len(rows.chosen(load, mtbf, capped=capped))]
        for measure, kind in (("max_stretch", "by dates"), ("max_duration_stretch", "by durations")):
            if cells:
                checks += _on_fair_sharing(rows, cells, measure, f" ({kind}{words})", capped=capped)
    says = "fair sharing with the plan's partition needs about 1.5 × S_OPT; the limit rises to 1.15"
    return Verdict("B3", "Figure 8", says, tuple(checks))


def _on_fair_sharing(
    rows: BufferRows, cells: Sequence[tuple[float, float]], measure: str, words: str, *, capped: bool
) -> Iterator[ClaimCheck]:
    """The three statements for some cells of load and MTBF, in a measure of the stretch."""
    at = {
        (load, mtbf, factor): Estimate.of(rows.stretches(load, mtbf, factor, measure=measure, capped=capped))
        for load, mtbf in cells
        for factor in (0.5, 1.5, FACTORS[-1])
    }
    more = {cell: at[*cell, 1.5].value - at[*cell, FACTORS[-1]].value for cell in cells}
    enough = [cell for cell, excess in more.items() if excess <= LOWEST]
    yield ClaimCheck(
        f"1.5 × S_OPT gives the lowest stretch, within {LOWEST}, in 9 cells of 10{words}",
        f"in {len(enough)} of {len(cells)} cells, largest excess {max(more.values()):.4f}",
        len(enough) >= 0.9 * len(cells),
    )
    limit = at.get((0.8, 50.0, FACTORS[-1]), Estimate.of([]))
    expected = f"at load 80 %, MTBF 50 y that limit is about 1.15 (1.10 to 1.20){words}"
    yield ClaimCheck(expected, f"{limit:.4f}", limit.inside(1.10, 1.20))
    halves = [at[*cell, 0.5] for cell in cells]
    least, most = min(halves, key=lambda one: one.value), max(halves, key=lambda one: one.value)
    yield ClaimCheck(
        f"below S_OPT stretch is far above 1: at half of it 1.05 or more everywhere{words}",
        f"from {least:.3f} to {most:.3f}",
        together(one.above(1.05) for one in halves),
    )


def b4(instances: int) -> Verdict:
    """B4 (Section 5).

    `instances` is the number of random instances of each kind.
    """
    random = np.random.default_rng(4)
    kinds = {"writes only": ("write",), "reads only": ("read",), "B ≥ B_r + B_w": ("read", "write")}
    checks = []
    for words, directions in kinds.items():
        apart = []
        for _ in range(instances):
            application = _application(random, directions)
            limits = random.uniform(1.0, 4.0, 2)
            whole = float(limits.sum() if len(directions) == 2 else limits.max())
            platform = Platform(whole, read_bandwidth=float(limits[0]), write_bandwidth=float(limits[1]))
            apart.append(_apart(alone(application, platform).peak, alone_by_program(application, platform)))
        checks.append(
            ClaimCheck(f"{words}: construction and program agree to 1e-6", f"{max(apart):.1e}", max(apart) <= CLAIM_CLOSE)
        )
    less = []
    for _ in range(instances):
        application, platform = _application(random, ("read", "write")), Platform(2.0)
        joint, apart_caps = alone_by_program(application, platform), alone(application, platform).peak
        if joint is not None and apart_caps is not None:
            less.append(joint - apart_caps)
    checks.append(
        ClaimCheck(
            "a joint cap never takes less than separate caps of the same size",
            f"smallest difference {min(less, default=0.0):.2e} bytes in {len(less)} cases",
            min(less, default=0.0) >= -CLAIM_CLOSE * 100.0,
        )
    )
    return Verdict("B4", "§5", "peak for one application: by construction, and by program for a joint cap", tuple(checks))


def b5(instances: int) -> Verdict:
    """B5 (Theorem 1).

    `instances` is the number of random instances for each kind of buffer and of I/O.
    """
    random = np.random.default_rng(5)
    checks = []
    for mode, (words, directions) in itertools.product((STATIC, DYNAMIC), DIRECTIONS.items()):
        broken, grown, slowest = 0, 0.0, 1.0
        for seed in range(instances):
            plan = wandering(_feasible(random, directions), mode, seed)
            smooth = averaged(plan)
            found = check_plan(smooth)
            broken += not found.holds
            assert plan.size is not None
            grown = max(grown, found.size / plan.size - 1.0) if plan.size > 0.0 else grown
            slowest = max(slowest, execute_plan(smooth).max_stretch)
        expected = "with mean rates between events all constraints hold, no buffer is larger, the stretch stays 1"
        checks.append(
            ClaimCheck(
                f"{mode}, {words}: {expected}",
                f"{broken} of {instances} broken; size {grown:+.1e}; stretch 1 + {slowest - 1.0:.1e}",
                broken == 0 and grown <= CLAIM_CLOSE and slowest <= 1.0 + CLAIM_CLOSE,
            )
        )
    return Verdict("B5", "Theorem 1", "averaging rates between events keeps stretch and buffer size", tuple(checks))


DIRECTIONS: Final = {"writes": ("write",), "reads and writes": ("read", "write")}


def _feasible(random: np.random.Generator, directions: tuple[str, ...]) -> Workload:
    """Three applications that some buffer can give a stretch of 1; with reads, not all can."""
    while True:
        applications = tuple(
            _application(random, directions, f"a{index}", release=float(random.uniform(0.0, 30.0))) for index in range(3)
        )
        workload = Workload(Platform(4.0 if "read" in directions else 2.0), applications)
        if size(workload, STATIC).size is not None and size(workload, DYNAMIC).size is not None:
            return workload


def b6(instances: int) -> Verdict:
    """B6 (Theorem 2).

    `instances` is the number of random instances.
    """
    random = np.random.default_rng(6)
    agree, splittable = 0, 0
    for _ in range(instances):
        integers = _integers(random)
        groups = split(integers, 2) is not None
        splittable += groups
        agree += groups == reachable(integers, 2, 1.25)
    return Verdict(
        "B6",
        "Theorem 2",
        "the 3-PARTITION instance meets stretch ρ with no buffer exactly when the integers can be split",
        (
            ClaimCheck(
                "groups of equal sums, or no schedule, for every instance (ρ = 1.25, two groups, all orders tried)",
                f"{agree} of {instances}; {splittable} can be split",
                agree == instances and 0 < splittable < instances,
            ),
        ),
    )


def b7(instances: int) -> Verdict:
    """B7 (Theorem 3): the instance of Theorem 2 with one more application, which needs the whole buffer S to keep ρ.

    It writes S + Bρ as fast as that from date n on, when the reads of the others are over. The theorem needs
    ρ ≤ (2n + 2)/(n + 3), so that the writes of the others begin after it has ended (it prints ≥). Stretches count durations,
    as the proof does. `instances` is the number of random instances.
    """
    random = np.random.default_rng(7)
    groups, stretch = 2, 1.2
    kept, broken, splittable = 0, 0, 0
    for _ in range(instances):
        integers = _integers(random)
        found = split(integers, groups)
        if found is None:
            continue
        splittable += 1
        buffer = float(random.uniform(1.0, 50.0))
        order = [integer for group in found for integer in group]
        kept += _replayed(order, groups, stretch, buffer, buffer) <= stretch * ONE
        broken += _replayed(order, groups, stretch, buffer, 0.99 * buffer) > stretch * ONE
    return Verdict(
        "B7",
        "Theorem 3",
        "with any buffer S, divided statically, keeping a stretch ρ is as hard as without one",
        (
            ClaimCheck(
                "integers that can be split: with all of S for the added application everybody keeps ρ = 1.2",
                f"{kept} of {splittable}",
                kept == splittable if splittable else None,
            ),
            ClaimCheck(
                "with 1 % of S for the others it does not: nothing of the buffer is left for them",
                f"{broken} of {splittable}",
                broken == splittable if splittable else None,
            ),
            ClaimCheck(
                "the added application's time is free of the others exactly for ρ up to (2n + 2)/(n + 3)",
                ", ".join(f"d − n − 1 = {_slack(n, (2 * n + 2) / (n + 3)):.1e} at n = {n}" for n in (3, 5, 9)),
                all(
                    _slack(n, (2 * n + 2) / (n + 3) - 1e-3) > 0.0 > _slack(n, (2 * n + 2) / (n + 3) + 1e-3)
                    for n in (3, 5, 9)
                ),
            ),
        ),
    )


def _slack(groups: int, stretch: float) -> float:
    """d − n − 1 of the theorems: with less than 0 the writes of the others begin before the added application must end."""
    return (groups + 1.0 - 2.0 * stretch) / (stretch - 1.0) - groups - 1.0


def _replayed(order: Sequence[int], groups: int, stretch: float, buffer: float, share: float) -> float:
    """The largest stretch, by durations, if the integers are served in this order, and the added application, which has this
    share, moves what they leave: it drains when they have ended.
    """
    hard = instance(order, groups, stretch)
    bandwidth = hard.platform.bandwidth
    volume = buffer + bandwidth * stretch
    added = Application.of("added", [("write", volume)], bandwidth=volume, release=float(groups), share=share)
    others = [replace(one, share=0.0) for one in reversed(hard.applications)]
    platform = replace(hard.platform, buffer=Buffer(size=buffer))
    return simulate(Workload(platform, (added, *others)), LAST_LISTED_FIRST).max_duration_stretch


def _application(
    random: np.random.Generator, directions: tuple[str, ...], name: str = "a", release: float = 40.0
) -> Application:
    """An application of three iterations that is faster than the file system."""
    phases = [
        phase
        for _ in range(3)
        for phase in (
            *((("read", float(random.uniform(5.0, 40.0))),) if "read" in directions else ()),
            ("work", float(random.uniform(5.0, 30.0))),
            *((("write", float(random.uniform(5.0, 40.0))),) if "write" in directions else ()),
        )
    ]
    return Application.of(name, phases, bandwidth=float(random.uniform(3.0, 9.0)), release=release)


def _apart(one: float | None, other: float | None) -> float:
    """Relative difference; infinite if only one of them exists."""
    if one is None or other is None:
        return 0.0 if one is other else np.inf
    return abs(one - other) / max(one, other, 1.0)


def _integers(random: np.random.Generator) -> list[int]:
    """Five integers with an even sum, none above half of it: about half of such sets can be split in two."""
    while True:
        integers = random.integers(3, 12, 5).tolist()
        if sum(integers) % 2 == 0 and 2 * max(integers) <= sum(integers):
            return [int(integer) for integer in integers]


ON_SETS: Final = (b1, b2, b3)
"""Judged on the sets of applications."""
THEOREMS: Final = (b4, b5, b6, b7)
"""Judged on so many random instances."""
