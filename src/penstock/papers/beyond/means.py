"""Means over the instances of a setting, with confidence intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from penstock.campaign import BOUND
from penstock.campaign.sources import normal_parameters
from penstock.papers.beyond.campaigns import POLICIES, SETTINGS
from penstock.papers.results import Results
from penstock.policies.view import Floats

OBJECTIVES: Final = ("min_yield", "efficiency")


@dataclass(frozen=True)
class Mean:
    """A mean and the half-width of its 95 % confidence interval (1.96 standard errors)."""

    value: float
    margin: float

    @classmethod
    def of(cls, sample: Floats) -> Mean:
        """Of a sample of independent values."""
        if len(sample) < 2:
            return cls(float(sample.mean()) if len(sample) else math.nan, math.nan)
        return cls(float(sample.mean()), 1.96 * float(sample.std(ddof=1)) / math.sqrt(len(sample)))

    def __str__(self) -> str:
        return f"{self.value:.4f} ± {self.margin:.4f}"


def by_setting(results: Results) -> dict[str, dict[str, dict[str, Floats]]]:
    """Setting → policy → objective → the value of each instance: a trace, or the mean over the windows of a schedule, which
    are not independent of each other.
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


def table(values: Mapping[str, Mapping[str, Mapping[str, Floats]]]) -> str:
    """All means as Markdown, one table a setting: min-yield, efficiency, and how far they are from the bound."""
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
