"""What is run for 004 §7: sets of LANL applications, their smallest buffers, and fair sharing with buffers of all sizes.

`BufferRows` answers questions about what was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from penstock.buffers.advice import BufferStrategy, Verified, measures, parts_of
from penstock.buffers.plan import DYNAMIC, STATIC, BufferPlan
from penstock.buffers.sizing import size
from penstock.model import Workload
from penstock.numeric.arrays import Floats
from penstock.papers.trials import Experiment, WithPolicy, added
from penstock.renamed import old_names
from penstock.workloads.lanl import Lanl, lanl

LOADS: Final = (0.2, 0.5, 0.8)
MTBF: Final = (5.0, 10.0, 25.0, 50.0)
"""Years."""
FACTORS: Final = tuple(float(factor) for factor in np.arange(0.0, 3.01, 0.25))
"""Sizes of the buffer in Figure 8, over S_OPT."""
EQUAL: Final = "best-effort"
"""How the paper shares the file system: equal parts."""
PRINTED: Final = "printed"
APEX: Final = "apex"

__getattr__ = old_names(__name__, Scale="BuffersScale", Trial="LanlTrial")


@dataclass(frozen=True)
class LanlTrial:
    """A set of applications; `capped` takes b_k as min(b_k, B)."""

    load: float
    mtbf: float
    seed: int
    applications: int = 30
    walltimes: str = PRINTED
    capped: bool = False


@dataclass(frozen=True)
class BuffersScale:
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


SCALES: Final[Mapping[str, BuffersScale]] = {
    "smoke": BuffersScale(2, 1, 0, (), applications=12, theorems=5),
    "quick": BuffersScale(10, 3, 2, (50.0,)),
    "paper": BuffersScale(30, 10, 10, MTBF, theorems=100),
}


def sets(scale: BuffersScale) -> Experiment[LanlTrial]:
    """Table 2 and Figure 8.

    `scale` says how many sets of applications are drawn for each load and MTBF.
    """
    plain = [
        LanlTrial(load, mtbf, seed, scale.applications) for load in LOADS for mtbf in MTBF for seed in range(scale.sets)
    ]
    capped = [
        LanlTrial(load, mtbf, seed, scale.applications, capped=True)
        for load in LOADS
        for mtbf in MTBF
        for seed in range(scale.capped_sets)
    ]
    apex = [
        LanlTrial(load, mtbf, seed, scale.applications, APEX)
        for load in LOADS
        for mtbf in scale.apex_mtbf
        for seed in range(scale.apex_sets)
    ]
    return Experiment("sets", (*plain, *capped, *apex), measure)


def measure(trial: LanlTrial) -> dict[str, Any]:
    """Both buffers of the set, their plans checked and carried out, and fair sharing with buffers of all sizes.

    `trial` says which set. Returns the row: the load, the two plans, and the measures of fair sharing for each size.
    """
    drawn = lanl(Lanl(trial.load, trial.mtbf, trial.applications, trial.walltimes), trial.seed)
    plans = {mode: size(drawn.workload, mode, capped=trial.capped) for mode in (STATIC, DYNAMIC)}
    return {
        "need": drawn.load,
        "events": len(plans[STATIC].demand.events),
        "plans": {mode: _plan(plan) for mode, plan in plans.items()},
        "fair": [one for mode in plans for one in _replayed(trial, drawn.workload, plans[mode], parts_of(plans[STATIC]))],
    }


def _replayed(
    trial: LanlTrial, workload: Workload, plan: BufferPlan, parts: Floats, policy: str = EQUAL
) -> Iterator[dict[str, Any]]:
    """What a policy makes of the trial's workload with buffers of all sizes, divided as in the plan's mode."""
    assert plan.size is not None, plan.obstacle
    for factor in FACTORS if trial.walltimes == PRINTED else (1.0, 1.5, 3.0):
        strategy = BufferStrategy(plan.mode, policy)
        run = strategy.run(workload, factor * plan.size, parts, capped=trial.capped)
        yield {"mode": plan.mode, "factor": factor, **measures(run)}


def shared(sets: Experiment[LanlTrial], policies: Sequence[str]) -> Experiment[WithPolicy[LanlTrial]]:
    """Figure 8 with each of the user's `policies` in place of fair sharing, for the `sets` with printed walltimes."""
    own = added(policies, (EQUAL,))
    chosen = [one for one in sets.trials if one.walltimes == PRINTED]
    trials = (WithPolicy(one, policy, digest) for one in chosen for policy, digest in own)
    return Experiment("sets-policies", tuple(trials), measure_shared)


def measure_shared(trial: WithPolicy[LanlTrial]) -> dict[str, Any]:
    """A user's policy with static shares of all sizes, for the set of a `trial`."""
    one = trial.trial
    workload = lanl(Lanl(one.load, one.mtbf, one.applications, one.walltimes), one.seed).workload
    plan = size(workload, STATIC, capped=one.capped)
    return {"fair": list(_replayed(one, workload, plan, parts_of(plan), trial.policy))}


def _plan(plan: BufferPlan) -> dict[str, Any]:
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


@dataclass(frozen=True)
class BufferRows:
    """The rows of an experiment by trial."""

    rows: Mapping[LanlTrial, Mapping[str, Any]]
    own: Mapping[WithPolicy[LanlTrial], Mapping[str, Any]] = field(default_factory=dict)
    """Those with a user's policies."""

    @property
    def policies(self) -> tuple[str, ...]:
        """A user's policies."""
        return tuple(dict.fromkeys(trial.policy for trial in self.own))

    def chosen(
        self, load: float, mtbf: float, *, walltimes: str = PRINTED, capped: bool = False, policy: str = EQUAL
    ) -> list[Mapping[str, Any]]:
        """The rows of all sets with this load and MTBF.

        Args:
            load: The part of the bandwidth that the set needs, 0 to 1.
            mtbf: Mean time between failures of a node, in years.
            walltimes: "printed" or "apex", as in `LanlTrial`.
            capped: Whether b_k is min(b_k, B).
            policy: What shares the file system: best-effort, or one that the user added.
        """
        rows = (
            self.rows if policy == EQUAL else {trial.trial: row for trial, row in self.own.items() if trial.policy == policy}
        )
        wanted = (load, mtbf, walltimes, capped)
        return [row for trial, row in rows.items() if (trial.load, trial.mtbf, trial.walltimes, trial.capped) == wanted]

    def ratios(self, load: float, mtbf: float, **options: Any) -> Floats:
        """Static over dynamic size of each set.

        `load`, `mtbf` (years) and `options` choose the sets as in `chosen`.
        """
        rows = self.chosen(load, mtbf, **options)
        return np.array([row["plans"][STATIC]["size"] / row["plans"][DYNAMIC]["size"] for row in rows])

    def stretches(
        self, load: float, mtbf: float, factor: float, *, mode: str = STATIC, measure: str = "max_stretch", **options: Any
    ) -> Floats:
        """A stretch of each set under fair sharing with a buffer of `factor` times its smallest one.

        `mode` is static or dynamic, and `measure` max_stretch or mean_stretch. `load`, `mtbf` (years) and `options` choose
        the sets as in `chosen`.
        """
        return np.array(
            [
                one[measure]
                for row in self.chosen(load, mtbf, **options)
                for one in row["fair"]
                if (one["mode"], one["factor"]) == (mode, factor)
            ]
        )
