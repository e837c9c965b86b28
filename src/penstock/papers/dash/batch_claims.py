"""D9 to D11 of 001: packs against first-fit, on one and several I/O nodes, and against list scheduling."""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.numeric.arrays import Floats
from penstock.papers.claims import ClaimCheck, Verdict, listed
from penstock.papers.dash.batch_figures import Rows, chosen, loads_of, of_family, ratios, shares
from penstock.papers.dash.experiments import FAMILIES, FIRST_FIT, MAPPINGS, ONE

PRINTED: Final = {1: 1.09, 3: 0.71, 5: 0.53}
"""The geometric means of Figure III.13 by I/O nodes."""
HIGH_LOAD: Final = 0.6


def geometric_mean(values: Floats) -> float:
    """The mean for ratios."""
    return float(np.exp(np.log(values).mean()))


def d9(rows: Rows) -> Verdict:
    """D9 (Figures III.8 to III.12)."""
    _, makespan = ratios(rows, "S = 1", "makespan")
    _, between = ratios(rows, "S = I/O load", "makespan")
    _, stretch = ratios(rows, "S = 1", "pack_stretch")
    _, between_stretch = ratios(rows, "S = I/O load", "pack_stretch")
    precise = {
        name: max(row["makespan"] / row["predicted_makespan"] for row in chosen(rows, strategy).values())
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
                "makespan over the predicted: S = 1 within 20 %, first-fit above 2 somewhere",
                listed(list(precise), list(precise.values()), ".2f"),
                precise["S = 1"] <= 1.2 and precise["first-fit"] > 2.0,
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
    """D10 (Figure III.13)."""
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


def _mean(rows: Rows, family: str, mapping: str, measure: str, low: float = 0.0, high: float = np.inf) -> float:
    values = [row[measure] for load, row in of_family(rows, family, mapping) if low <= load <= high]
    return float(np.mean(values)) if values else float("nan")


def d11(rows: Rows) -> Verdict:
    """D11 (chapter IV)."""
    loads = loads_of(rows)
    checks = []
    for family in FAMILIES:
        low = {mapping: _mean(rows, family, mapping, "utilization", high=loads[0]) for mapping in MAPPINGS}
        checks.append(
            ClaimCheck(
                f"{family}, load {loads[0]:g}: list scheduling uses the machine best",
                listed(list(low), list(low.values())),
                max(low, key=lambda name: low[name]) == "list",
            )
        )
    for family in FAMILIES:
        high = {mapping: _mean(rows, family, mapping, "utilization", low=HIGH_LOAD) for mapping in ("list", "pack max")}
        checks.append(
            ClaimCheck(
                f"{family}, load {HIGH_LOAD:g} and more: pack max passes list",
                listed(list(high), list(high.values())),
                high["pack max"] > high["list"],
            )
        )
    for measure, word in (("max_stretch", "max"), ("mean_stretch", "mean")):
        for family in FAMILIES:
            found = {mapping: _mean(rows, family, mapping, measure) for mapping in MAPPINGS}
            checks.append(
                ClaimCheck(
                    f"{family}: pack max has a lower {word} stretch than list",
                    listed(list(found), list(found.values()), ".3f"),
                    found["pack max"] < found["list"],
                )
            )
    for family in FAMILIES:
        found = {mapping: _mean(rows, family, mapping, "mean_stretch") for mapping in MAPPINGS}
        best, worst = min(found, key=lambda name: found[name]), max(found, key=lambda name: found[name])
        if family in ("BU", "NU"):
            checks.append(
                ClaimCheck(f"{family}: pack char has the lowest mean stretch", f"lowest: {best}", best == "pack char")
            )
        elif family == "MB":
            checks.append(
                ClaimCheck("MB: pack char has the highest mean stretch", f"highest: {worst}", worst == "pack char")
            )
    return Verdict(
        "D11",
        "chapter IV",
        "list scheduling is best at low load and steady; pack max can pass it above 0.6; packs improve stretch slightly",
        tuple(checks),
    )
