"""P1 to P4: what we claim about our own policies, measured as the papers' claims are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from penstock.campaign import BOUND
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import CLAIM_SAME
from penstock.papers.beyond.experiments import OBJECTIVES, THEIRS, Mean, Values
from penstock.papers.reproducing import ClaimCheck, Verdict

SYNTHETIC: Final = "W "


def claims(values: Values) -> list[Verdict]:
    """Judge P1 to P4.

    `values` are those of `penstock.papers.beyond.experiments.by_setting`. Returns the four verdicts.
    """
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
