"""What is run beyond the papers: all policies, with the bounds, on workloads that were not used to choose any parameter.

Also the means over the instances of a setting, with confidence intervals.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from penstock.campaign import BOUND, Campaign, Cell
from penstock.campaign.sources import normal_parameters
from penstock.numeric.arrays import Floats
from penstock.papers.reproducing import Results
from penstock.papers.revisiting.experiments import POLICIES as REVISITED
from penstock.papers.revisiting.experiments import WORKLOADS

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


@dataclass(frozen=True)
class Mean:
    """A mean and the half-width of its 95 % confidence interval (1.96 standard errors)."""

    value: float
    margin: float

    @classmethod
    def of(cls, sample: Floats) -> Mean:
        """The mean of a `sample` of independent values, with its margin; not a number where there are too few values."""
        if len(sample) < 2:
            return cls(float(sample.mean()) if len(sample) else math.nan, math.nan)
        return cls(float(sample.mean()), 1.96 * float(sample.std(ddof=1)) / math.sqrt(len(sample)))

    def __str__(self) -> str:
        return f"{self.value:.4f} ± {self.margin:.4f}"


def by_setting(results: Results) -> dict[str, dict[str, dict[str, Floats]]]:
    """Setting → policy → objective → the value of each instance: a trace, or the mean over the windows of a schedule, which
    are not independent of each other.

    `results` are the rows of `campaign`.
    """
    return {
        name: {policy: _values(results, _told_apart(kind, parameters), policy) for policy in POLICIES}
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
                cells += [str(Mean.of(columns[objective])), f"{gap.mean():.4f}" if policy != BOUND else ""]
            lines.append(f"| {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"
