"""Beyond the papers: our policies beside those of paper 000 and beside upper bounds for any schedule.

All policies run, with the bounds, on workloads that were not used to choose any parameter. The figures are fronts of minimum
yield against efficiency. P1 to P4 are what we claim about our own policies, measured as the papers' claims are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.campaign import BOUND, Campaign, Cell
from penstock.campaign.sources import normal_parameters
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import CLAIM_SAME
from penstock.papers.drawing import COLOURS, colour_of, panels
from penstock.papers.reproducing import Results
from penstock.papers.revisiting.experiments import POLICIES as REVISITED
from penstock.papers.revisiting.experiments import WORKLOADS
from penstock.papers.verdicts import ClaimCheck, Estimate, Verdict, together

__path__: list[str] = []
"""It was a package in 0.1, whose modules are found below it until 0.3 (`penstock.renamed`)."""

FIRST_SEED: Final = 20_000
"""Seeds from here on were never used for tuning."""
FAMILIES: Final[Mapping[str, tuple[str, ...]]] = {
    "due-yield": ("due-yield", "due-yield:c=8"),
    "balance": ("balance:p=32", "balance", "balance:p=4", "balance:p=2", "balance:p=1"),
    "closing-yield": ("closing-yield", "closing-yield:k=0.05", "closing-yield:k=0.1", "closing-yield:k=0.25"),
    "periodic-closing-yield": ("periodic-closing-yield",),
}
"""Our policies, each with its parameter from fair to efficient."""
THEIRS: Final = REVISITED
"""The policies of paper 000."""
OURS: Final = tuple(name for family in FAMILIES.values() for name in family)
POLICIES: Final = (*THEIRS, *OURS, BOUND)

SETTINGS: Final[Mapping[str, tuple[str, dict[str, Any]]]] = {
    **{f"W {pressure}": ("synthetic", {"pressure": pressure}) for pressure in (0.5, 0.8, 0.9, 1.0, 1.1)},
    "W 0.9, caps B/3": ("synthetic", {"pressure": 0.9, "node_share": 1 / 3}),
    "W 1.0, caps B/10": ("synthetic", {"pressure": 1.0, "node_share": 0.1}),
    "W 0.9, unequal": ("synthetic", {"pressure": 0.9, "node_share": 1 / 16, "largest": 32}),
    "W 0.9, short": ("synthetic", {"pressure": 0.9, "horizon": 40_000.0}),
    "W 1.1, short": ("synthetic", {"pressure": 1.1, "horizon": 40_000.0}),
    **{
        f"{workload.upper()} {machine}": ("apex", {"workload": workload, "machine": machine, "count": 20})
        for workload in WORKLOADS
        for machine in ("cielo", "M_2", "M_5", "M_10")
    },
}
"""The settings by name: synthetic traces as the paper has them, with caps below B, unequal sizes and short windows; APEX."""


@dataclass(frozen=True)
class BeyondScale:
    """How many synthetic traces per setting, and how many schedules (of 20 windows each)."""

    traces: int
    schedules: int


SCALES: Final[Mapping[str, BeyondScale]] = {
    "smoke": BeyondScale(2, 1),
    "quick": BeyondScale(10, 2),
    "paper": BeyondScale(50, 10),
}


def campaign(scale: BeyondScale) -> Campaign:
    """Every policy and the bound on every setting.

    `scale` says how many instances of each setting are run.
    """
    cells = []
    for kind, parameters in SETTINGS.values():
        seeds = range(FIRST_SEED, FIRST_SEED + (scale.traces if kind == "synthetic" else scale.schedules))
        cells += [Cell(kind, parameters, seed, policy) for seed in seeds for policy in POLICIES]
    return Campaign("beyond", tuple(cells))


OBJECTIVES: Final = ("min_yield", "efficiency")

Values = Mapping[str, Mapping[str, Mapping[str, Floats]]]
"""Setting → policy → objective → the value of each instance."""


def by_setting(results: Results) -> dict[str, dict[str, dict[str, Floats]]]:
    """Setting → policy → objective → the value of each instance: a trace, or the mean over the windows of a schedule, which
    are not independent of each other.

    `results` are the rows of `campaign`.
    """
    return {
        name: {policy: _values(results, _told_apart(kind, parameters), policy) for policy in results.compared(POLICIES)}
        for name, (kind, parameters) in SETTINGS.items()
    }


def _values(results: Results, parameters: Mapping[str, Any], policy: str) -> dict[str, Floats]:
    rows = results.where(policy, **parameters)
    seeds = rows.integers("seed")
    return {
        objective: np.array([rows.column(objective)[seeds == seed].mean() for seed in np.unique(seeds)])
        for objective in OBJECTIVES
    }


def _told_apart(kind: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that tell a setting from the others: as rows have them, and None for those they leave out."""
    known = normal_parameters(kind, parameters)
    return {name: known.get(name) for name in {*known, *({"node_share", "largest"} if kind == "synthetic" else ())}}


def _with_margin(mean: Estimate) -> str:
    return f"{mean.value:.4f} ± {mean.margin:.4f}"


def table(values: Values) -> str:
    """All means as Markdown, one table per setting: min-yield, efficiency, and how far they are from the bound.

    `values` are those of `by_setting`.
    """
    parts = []
    for setting, policies in values.items():
        count = len(policies[BOUND]["min_yield"])
        lines = [
            f"### {setting} ({count} instances)",
            "",
            "| policy | min-yield | gap | efficiency | gap |",
            "|---|---|---|---|---|",
        ]
        for policy, columns in policies.items():
            cells = [f"`{policy}`" if policy != BOUND else "bound"]
            for objective in OBJECTIVES:
                gap = policies[BOUND][objective] - columns[objective]
                cells += [_with_margin(Estimate.of(columns[objective])), f"{gap.mean():.4f}" if policy != BOUND else ""]
            lines.append(f"| {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


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
    groups += [(name, (name,), colour_of(name), "^") for name in policies if name not in POLICIES]
    for label, members, colour, marker in groups:
        means = [(Estimate.of(policies[name]["min_yield"]), Estimate.of(policies[name]["efficiency"])) for name in members]
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
    bound = Estimate.of(policies[BOUND]["min_yield"]).value
    if bound < 1.0:
        panel.axvline(bound, color="#555555", linewidth=0.9, linestyle="--")


FIGURES: Final[Mapping[str, Callable[[Values], Figure]]] = {
    "fronts": fronts,
    "other-fronts": other_fronts,
    "apex-fronts": apex_fronts,
}


SYNTHETIC: Final = "W "


def p1(values: Values) -> Verdict:
    """P1; `values` are those of `by_setting`."""
    checks = (_no_worse(name, value, "due-yield", ("greedy-yield",), OBJECTIVES) for name, value in values.items())
    return Verdict("P1", "beyond", "due-yield is at least as fair and as efficient as greedy-yield", tuple(checks))


def p2(values: Values) -> Verdict:
    """P2; `values` are those of `by_setting`."""
    return _fairest("P2", "synthetic traces", {name: values[name] for name in values if name.startswith(SYNTHETIC)})


def p3(values: Values) -> Verdict:
    """P3; `values` are those of `by_setting`."""
    return _fairest("P3", "APEX windows", {name: values[name] for name in values if not name.startswith(SYNTHETIC)})


def _fairest(claim: str, where: str, values: Values) -> Verdict:
    says = f"periodic-closing-yield on {where}: no policy of the paper has a higher mean of minimum yields"
    checks = (_no_worse(name, value, "periodic-closing-yield", THEIRS, ("min_yield",)) for name, value in values.items())
    return Verdict(claim, "beyond", says, tuple(checks))


def p4(values: Values) -> Verdict:
    """P4; `values` are those of `by_setting`."""
    checks = (_below_bound(name, value) for name, value in values.items())
    return Verdict("P4", "beyond", "no policy passes the bound", tuple(checks))


def _no_worse(
    setting: str,
    policies: Mapping[str, Mapping[str, Floats]],
    ours: str,
    theirs: Iterable[str],
    objectives: Iterable[str],
) -> ClaimCheck:
    """Whether no other policy is better by more than the confidence interval of the paired difference (95 %)."""
    notes: list[str] = []
    outcomes: list[bool | None] = []
    for objective in objectives:
        rivals = {name: policies[name][objective] for name in theirs}
        rival = max(rivals, key=lambda name: float(rivals[name].mean()))
        difference = Estimate.of(policies[ours][objective] - rivals[rival])
        outcomes.append(None if np.isnan(difference.margin) else difference.value + difference.margin >= 0.0)
        notes.append(f"{objective} {difference:+.4f} against {rival}")
    return ClaimCheck(setting, "; ".join(notes), together(outcomes))


def _below_bound(setting: str, policies: Mapping[str, Mapping[str, Floats]]) -> ClaimCheck:
    gaps = {
        (name, objective): float((policies[BOUND][objective] - columns[objective]).min())
        for name, columns in policies.items()
        if name != BOUND
        for objective in OBJECTIVES
    }
    (name, objective), least = min(gaps.items(), key=lambda gap: gap[1])
    return ClaimCheck(setting, f"the closest is {name} in {objective}, {least:.2e} below", least >= -CLAIM_SAME)
