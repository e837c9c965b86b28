"""What is run: workloads that no parameter of a policy was chosen on, under all policies, with the bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock.campaign import BOUND, Campaign, Cell
from penstock.papers.revisiting.campaigns import POLICIES as REVISITED
from penstock.papers.revisiting.campaigns import WORKLOADS

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
class Scale:
    """How many synthetic traces a setting, and how many schedules (of 20 windows each)."""

    traces: int
    schedules: int


SCALES: Final[Mapping[str, Scale]] = {"smoke": Scale(2, 1), "quick": Scale(10, 2), "paper": Scale(50, 10)}


def campaign(scale: Scale) -> Campaign:
    """Every policy and the bound on every setting."""
    cells = []
    for kind, parameters in SETTINGS.values():
        seeds = range(FIRST_SEED, FIRST_SEED + (scale.traces if kind == "synthetic" else scale.schedules))
        cells += [Cell(kind, parameters, seed, policy) for seed in seeds for policy in POLICIES]
    return Campaign("beyond", tuple(cells))
