"""What is run for 004 §7: sets of LANL applications, their smallest buffers, and fair sharing with buffers of all sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from penstock.papers.trials import Experiment
from penstock.planning.buffers.advice import Verified
from penstock.planning.buffers.plan import DYNAMIC, STATIC, Plan
from penstock.planning.buffers.search import Strategy, measures, parts_of
from penstock.planning.buffers.sizing import size
from penstock.workloads.lanl import Lanl, lanl

LOADS: Final = (0.2, 0.5, 0.8)
MTBF: Final = (5.0, 10.0, 25.0, 50.0)
"""Years."""
FACTORS: Final = tuple(float(factor) for factor in np.arange(0.0, 3.01, 0.25))
"""Sizes of the buffer in Figure 8, over S_OPT."""
PRINTED: Final = "printed"
APEX: Final = "apex"


@dataclass(frozen=True)
class Trial:
    """A set of applications; `capped` takes b_k as min(b_k, B)."""

    load: float
    mtbf: float
    seed: int
    applications: int = 30
    walltimes: str = PRINTED
    capped: bool = False


@dataclass(frozen=True)
class Scale:
    """Sets of applications with the printed walltimes, with capped speeds, and with APEX walltimes for each load and MTBF of
    `apex_mtbf`.
    """

    sets: int
    capped_sets: int
    apex_sets: int
    apex_mtbf: tuple[float, ...]
    applications: int = 30
    theorems: int = 20
    """Random instances for each theorem."""


SCALES: Final[Mapping[str, Scale]] = {
    "smoke": Scale(2, 1, 0, (), applications=12, theorems=5),
    "quick": Scale(10, 3, 2, (50.0,)),
    "paper": Scale(30, 10, 10, MTBF, theorems=100),
}


def sets(scale: Scale) -> Experiment[Trial]:
    """Table 2 and Figure 8."""
    plain = [Trial(load, mtbf, seed, scale.applications) for load in LOADS for mtbf in MTBF for seed in range(scale.sets)]
    capped = [
        Trial(load, mtbf, seed, scale.applications, capped=True)
        for load in LOADS
        for mtbf in MTBF
        for seed in range(scale.capped_sets)
    ]
    apex = [
        Trial(load, mtbf, seed, scale.applications, APEX)
        for load in LOADS
        for mtbf in scale.apex_mtbf
        for seed in range(scale.apex_sets)
    ]
    return Experiment("sets", (*plain, *capped, *apex), measure)


def measure(trial: Trial) -> dict[str, Any]:
    """Both buffers of the set, their plans checked and carried out, and fair sharing with buffers of all sizes."""
    drawn = lanl(Lanl(trial.load, trial.mtbf, trial.applications, trial.walltimes), trial.seed)
    plans = {mode: size(drawn.workload, mode, capped=trial.capped) for mode in (STATIC, DYNAMIC)}
    parts = parts_of(plans[STATIC])
    fair = []
    for mode, plan in plans.items():
        assert plan.size is not None, plan.obstacle
        for factor in FACTORS if trial.walltimes == PRINTED else (1.0, 1.5, 3.0):
            run = Strategy(mode).run(drawn.workload, factor * plan.size, parts, capped=trial.capped)
            fair.append({"mode": mode, "factor": factor, **measures(run)})
    return {
        "need": drawn.load,
        "events": len(plans[STATIC].demand.events),
        "plans": {mode: _plan(plan) for mode, plan in plans.items()},
        "fair": fair,
    }


def _plan(plan: Plan) -> dict[str, Any]:
    """What is kept of a plan."""
    verified = Verified.of(plan)
    return {
        "size": plan.size,
        "holds": verified.holds,
        "worst": f"{verified.worst}: {verified.excess:.2g} of what is allowed",
        "stretch": verified.stretch,
        "gap": plan.effort.gap,
        "residual": max(plan.effort.primal_residual, plan.effort.dual_residual),
        "rows": plan.effort.rows,
        "columns": plan.effort.columns,
        "seconds": plan.effort.seconds,
    }
