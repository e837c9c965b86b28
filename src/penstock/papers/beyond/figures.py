"""Fronts of minimum yield against efficiency: our policies, those of paper 000, and the upper bound for any schedule."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.campaign import BOUND
from penstock.numeric.arrays import Floats
from penstock.papers.beyond.experiments import FAMILIES, THEIRS, Mean, Values
from penstock.papers.drawing import COLOURS, panels

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

    `values` are those of `by_setting`.
    """
    return _panels(values, [name for name in values if name.startswith("W ") and "," not in name], columns=3)


def other_fronts(values: Values) -> Figure:
    """The same where applications cannot fill the link, have different sizes, or windows are short.

    `values` are those of `by_setting`.
    """
    return _panels(values, [name for name in values if name.startswith("W ") and "," in name], columns=3)


def apex_fronts(values: Values) -> Figure:
    """The same on the APEX windows, on Cielo and machines of 2, 5 and 10 times its nodes; an instance is a schedule.

    `values` are those of `by_setting`.
    """
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
