"""B1 to B3 of 004: what the smallest buffers are, and what fair sharing makes of them."""

from __future__ import annotations

from typing import Final

from penstock.papers.buffers.experiments import APEX, FACTORS, LOADS, MTBF
from penstock.papers.buffers.rows import Rows, mean_and_error
from penstock.papers.claims import Check, Verdict
from penstock.planning.buffers.plan import DYNAMIC, STATIC

ONE: Final = 1.0 + 1e-6
"""A stretch of 1, to a part in a million."""
PRINTED_RATIOS: Final = (1.23, 1.67)
LOWEST: Final = 0.01
"""A stretch within this of another is as low."""


def b1(rows: Rows) -> Verdict:
    """B1: the plans keep all constraints, and carried out they give a stretch of 1."""
    checks = []
    for mode in (STATIC, DYNAMIC):
        plans = [row["plans"][mode] for row in rows.rows.values()]
        wrong = [plan["worst"] for plan in plans if not plan["holds"]]
        stretch = max(plan["stretch"] for plan in plans)
        checks += [
            Check(f"{mode}: every constraint holds when checked again", f"{len(wrong)} of {len(plans)} do not", not wrong),
            Check(f"{mode}: replayed, the largest stretch is 1 to 1e-6", f"1 + {stretch - 1.0:.1e}", stretch <= ONE),
            Check(
                f"{mode}: duality gap and residuals of the linear program below 1e-6",
                f"gap {max(plan['gap'] for plan in plans):.1e}, residual {max(plan['residual'] for plan in plans):.1e}",
                all(max(plan["gap"], plan["residual"]) < 1e-6 for plan in plans),
            ),
        ]
    return Verdict("B1", "§6", "a buffer of S_OPT gives a stretch of 1 for all", tuple(checks))


def b2(rows: Rows) -> Verdict:
    """B2 (Table 2)."""
    low, high = PRINTED_RATIOS
    checks = []
    for words, options in (
        ("", {}),
        (", capped speeds", {"capped": True}),
        (", APEX walltimes", {"walltimes": APEX}),
    ):
        cells = [(load, mtbf, rows.ratios(load, mtbf, **options)) for load in LOADS for mtbf in MTBF]
        found = [(load, mtbf, *mean_and_error(ratios)) for load, mtbf, ratios in cells if len(ratios) > 1]
        if not found:
            continue
        inside = [one for one in found if low - 2.0 * one[3] <= one[2] <= high + 2.0 * one[3]]
        means = [one[2] for one in found]
        checks.append(
            Check(
                f"mean ratio between {low} and {high}, to two standard errors, in every cell{words}",
                f"{len(inside)} of {len(found)}; means {min(means):.2f} to {max(means):.2f}",
                len(inside) == len(found),
            )
        )
    return Verdict("B2", "Table 2", "static over dynamic size between 1.23 and 1.67", tuple(checks))


def b3(rows: Rows) -> Verdict:
    """B3 (Figure 8)."""
    checks = []
    for words, capped in (("", False), (", capped speeds", True)):
        cells = [(load, mtbf) for load in LOADS for mtbf in MTBF if len(rows.chosen(load, mtbf, capped=capped))]
        if not cells:
            continue
        at = {
            (load, mtbf, factor): float(rows.stretches(load, mtbf, factor, capped=capped).mean())
            for load, mtbf in cells
            for factor in FACTORS
        }
        enough = [cell for cell in cells if at[*cell, 1.5] <= at[*cell, FACTORS[-1]] + LOWEST]
        limit = at[0.8, 50.0, FACTORS[-1]] if (0.8, 50.0) in cells else float("nan")
        below = min(at[*cell, 0.5] for cell in cells)
        checks += [
            Check(
                f"1.5 × S_OPT gives the lowest stretch, within {LOWEST}{words}",
                f"in {len(enough)} of {len(cells)} cells",
                len(enough) == len(cells),
            ),
            Check(
                f"at load 80 %, MTBF 50 y that limit is about 1.15 (1.10 to 1.20){words}",
                f"{limit:.4f}",
                1.10 <= limit <= 1.20,
            ),
            Check(
                f"below S_OPT stretch is far above 1: at half of it 1.05 or more everywhere{words}",
                f"{below:.3f} at least, {max(at[*cell, 0.5] for cell in cells):.3f} at most",
                below >= 1.05,
            ),
        ]
    says = "fair sharing with the plan's partition needs about 1.5 × S_OPT; the limit rises to 1.15"
    return Verdict("B3", "Figure 8", says, tuple(checks))
