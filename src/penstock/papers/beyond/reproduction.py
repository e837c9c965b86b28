"""Run our policies beside those of paper 000, draw the fronts of minimum yield against efficiency, and judge P1 to P4.

P1 to P4 are what we claim about our own policies; they are measured as the papers' claims are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.campaign import BOUND
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import CLAIM_SAME
from penstock.papers.beyond.experiments import FAMILIES, OBJECTIVES, SCALES, THEIRS, Mean, by_setting, campaign, table
from penstock.papers.drawing import COLOURS, panels
from penstock.papers.reproducing import CLAIMS, ClaimCheck, Drawing, Reproduction, Verdict, chosen

Values = Mapping[str, Mapping[str, Mapping[str, Floats]]]
OUR_COLOURS: Final = {
    "due-yield": "#a6761d",
    "balance": "#7f3fbf",
    "closing-yield": "#c40233",
    "periodic-closing-yield": "#e7298a",
}
BELOW: Final = 0.85
"""Policies with less than this part of the best minimum yield are left out: on one scale with them, the others are a dot."""


def fronts(values: Values) -> Figure:
    """Synthetic traces at W_GOAL 0.5 to 1.1: minimum yield against efficiency, means with 95 % confidence intervals; lines
    join one policy with its parameter from fair to efficient; the dashed line is the upper bound for any schedule.
    """
    return _panels(values, [name for name in values if name.startswith("W ") and "," not in name], columns=3)


def other_fronts(values: Values) -> Figure:
    """The same where applications cannot fill the link, have different sizes, or windows are short."""
    return _panels(values, [name for name in values if name.startswith("W ") and "," in name], columns=3)


def apex_fronts(values: Values) -> Figure:
    """The same on the APEX windows, on Cielo and machines of 2, 5 and 10 times its nodes; an instance is a schedule."""
    return _panels(values, [name for name in values if not name.startswith("W ")], columns=4)


def _panels(values: Values, names: Sequence[str], columns: int) -> Figure:
    figure, axes = panels(-(-len(names) // columns), columns)
    for panel, name in zip(axes, names, strict=False):
        _front(panel, values[name])
        panel.set(title=name, xlabel="min-yield", ylabel="efficiency")
    for spare in axes[len(names) :]:
        spare.set_axis_off()
    (axes[len(names)] if len(axes) > len(names) else axes[0]).legend(*axes[0].get_legend_handles_labels(), fontsize=7)
    return figure


def _front(panel: Axes, policies: Mapping[str, Mapping[str, Floats]]) -> None:
    best = max(float(columns["min_yield"].mean()) for name, columns in policies.items() if name != BOUND)
    groups: list[tuple[str, tuple[str, ...], str, str]] = [(policy, (policy,), COLOURS[policy], "o") for policy in THEIRS]
    groups += [(family, members, OUR_COLOURS[family], "s") for family, members in FAMILIES.items()]
    for label, members, colour, marker in groups:
        means = [(Mean.of(policies[name]["min_yield"]), Mean.of(policies[name]["efficiency"])) for name in members]
        shown = [(x, y) for x, y in means if x.value >= BELOW * best]
        panel.errorbar(
            [x.value for x, _ in shown],
            [y.value for _, y in shown],
            xerr=[x.margin for x, _ in shown],
            yerr=[y.margin for _, y in shown],
            color=colour,
            marker=marker,
            markersize=4,
            linewidth=1.1,
            elinewidth=0.5,
            label=label,
        )
    bound = Mean.of(policies[BOUND]["min_yield"]).value
    if bound < 1.0:
        panel.axvline(bound, color="#555555", linewidth=0.9, linestyle="--")


FIGURES: Final[Mapping[str, Callable[[Values], Figure]]] = {
    "fronts": fronts,
    "other-fronts": other_fronts,
    "apex-fronts": apex_fronts,
}


SYNTHETIC = "W "


def claims(values: Values) -> list[Verdict]:
    """P1 to P4."""
    synthetic = {name: value for name, value in values.items() if name.startswith(SYNTHETIC)}
    apex = {name: value for name, value in values.items() if not name.startswith(SYNTHETIC)}
    best = "no policy of the paper has a higher mean of minimum yields (paired, 95 %)"
    return [
        Verdict(
            "P1",
            "beyond",
            "due-yield is at least as fair and as efficient as greedy-yield",
            tuple(_no_worse(name, value, "due-yield", ("greedy-yield",), OBJECTIVES) for name, value in values.items()),
        ),
        Verdict(
            "P2",
            "beyond",
            f"periodic-closing-yield on synthetic traces: {best}",
            tuple(
                _no_worse(name, value, "periodic-closing-yield", THEIRS, ("min_yield",)) for name, value in synthetic.items()
            ),
        ),
        Verdict(
            "P3",
            "beyond",
            f"periodic-closing-yield on APEX windows: {best}",
            tuple(_no_worse(name, value, "periodic-closing-yield", THEIRS, ("min_yield",)) for name, value in apex.items()),
        ),
        Verdict(
            "P4", "beyond", "no policy passes the bound", tuple(_below_bound(name, value) for name, value in values.items())
        ),
    ]


def _no_worse(
    setting: str,
    policies: Mapping[str, Mapping[str, Floats]],
    ours: str,
    theirs: Iterable[str],
    objectives: Iterable[str],
) -> ClaimCheck:
    """Whether no other policy is better by more than the confidence interval of the paired difference."""
    notes, holds = [], True
    for objective in objectives:
        rivals = {name: policies[name][objective] for name in theirs}
        rival = max(rivals, key=lambda name: float(rivals[name].mean()))
        difference = Mean.of(policies[ours][objective] - rivals[rival])
        margin = 0.0 if np.isnan(difference.margin) else difference.margin
        holds = holds and difference.value + margin >= 0.0
        notes.append(f"{objective} {difference.value:+.4f} ± {margin:.4f} against {rival}")
    return ClaimCheck(setting, "; ".join(notes), holds)


def _below_bound(setting: str, policies: Mapping[str, Mapping[str, Floats]]) -> ClaimCheck:
    gaps = {
        (name, objective): float((policies[BOUND][objective] - columns[objective]).min())
        for name, columns in policies.items()
        if name != BOUND
        for objective in OBJECTIVES
    }
    (name, objective), least = min(gaps.items(), key=lambda gap: gap[1])
    return ClaimCheck(setting, f"the closest is {name} in {objective}, {least:.2e} below", least >= -CLAIM_SAME)


ITEMS: Final = ("numbers", *FIGURES, CLAIMS)
TITLE: Final = "Beyond the papers: how far from the best possible, and better policies"


def reproduce(
    out: Path, items: Sequence[str], scale: str, *, dask: str | None = None, progress: bool | None = None
) -> list[Verdict]:
    """Reproduce items: our policies beside those of paper 000.

    Args:
        out: The folder of the results. ``numbers.md`` has the means of all policies on all settings.
        items: Names from `ITEMS`; all if empty.
        scale: smoke, quick or paper.
        dask: The address of a Dask scheduler, or slurm; None runs on the local cores.
        progress: Whether to show progress; None shows it on a terminal.

    Returns:
        The verdicts on the claims if they are asked for.

    """
    wanted = chosen(items, ITEMS)
    reproduction = Reproduction(out, scale, dask, progress)
    values = by_setting(reproduction.results(campaign(SCALES[scale])))
    if "numbers" in wanted:
        reproduction.write("numbers.md", table(values).encode())
    drawings = {item: [Drawing(item, draw, lambda: (values,))] for item, draw in FIGURES.items()}
    return reproduction.run(TITLE, wanted, drawings, lambda: claims(values))
