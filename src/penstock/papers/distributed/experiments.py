"""What is run for 002 §VI: sets of applications at rising I/O loads, under every allocation and placement.

`Sets` answers questions about what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np

from penstock.engine.scenarios import FIRST_END, simulate_placement, usable_policy
from penstock.model import Curve, Workload
from penstock.numeric.arrays import Floats
from penstock.papers.trials import Experiment, WithPolicy, added
from penstock.planning.placement.allocation import Characteristics
from penstock.planning.placement.heuristics import (
    MCKP,
    MCKP_SHARED,
    Heuristic,
    best_placement,
    heuristics,
    matching_heuristics,
)
from penstock.renamed import old_names
from penstock.workloads.curves import FAMILIES, CurveSource, MeasuredCurves, believed, class_curves, read_profiles
from penstock.workloads.distributed import Distributed, distributed

MEASURED: Final = "measured"
BUILT_IN: Final = "io-nodes"
TARGETS: Final = "osts"
LABELS: Final = {
    MEASURED: "189 measured I/O-node profiles",
    BUILT_IN: "built-in I/O-node curves",
    TARGETS: "built-in OST curves, a stand-in",
}
STATISTIC: Final = "mean"
"""What stands for the runs of a measured profile."""
MEASURES: Final = (
    "mean_slowdown",
    "max_slowdown",
    "mean_allocation_slowdown",
    "mean_congestion_slowdown",
    "spread",
    "idle_time",
)
IN_TURN: Final = "greedy-non-clairvoyant"
BY_LOAD: Final = "greedy-clairvoyant"
UNSURE: Final = (Heuristic("tcpu", IN_TURN), Heuristic("best-bdw", IN_TURN), Heuristic("best-bdw", BY_LOAD))
"""The solutions of Figure 12, run with what a scheduler believes that knows the classes of the curves only."""
COMPARED: Final = Heuristic("best-bdw", IN_TURN)
"""The solution that is also measured on the paper's interval, until the first application ends."""
SHARED: Final = "best-bdw"
"""The allocation that is also run with a user's policies on each resource."""
EQUAL: Final = "best-effort"
"""How the paper shares a resource: equal parts."""

__getattr__ = old_names(__name__, Scale="DistributedScale", Trial="PlacementTrial")


@dataclass(frozen=True)
class PlacementTrial:
    """A set of `applications` with I/O-load Θ = `load` at one resource each, with `curves` of one kind; measured curves are
    read from the file `profiles`.
    """

    curves: str
    applications: int
    load: float
    seed: int
    profiles: str = ""
    digest: str = ""
    """Digest of the content of that file."""


@dataclass(frozen=True)
class Small:
    """A set of a few `applications` on a few `resources` with built-in curves, for which all placements are tried."""

    applications: int
    resources: int
    load: float
    seed: int


@dataclass(frozen=True)
class DistributedScale:
    """Values of Θ, and sets of applications of each; resources and sets of four applications with each of SMALL_LOADS for
    which all placements are tried.
    """

    loads: tuple[float, ...]
    sets: int
    few: int = 3
    small_sets: int = 10


def _upto(step: float) -> tuple[float, ...]:
    """Θ from 0.1 to 1.85."""
    return tuple(float(load) for load in np.round(np.arange(0.1, 1.86, step), 2))


SCALES: Final[Mapping[str, DistributedScale]] = {
    "smoke": DistributedScale((0.3, 0.6, 0.9, 1.2, 1.5, 1.8), 5, small_sets=2),
    "quick": DistributedScale(_upto(0.125), 20),
    "paper": DistributedScale(_upto(0.05), 100, few=4, small_sets=30),
}
SMALL_LOADS: Final = (0.3, 0.6, 0.9)
FEW_APPLICATIONS: Final = 4
POOL: Final = {BUILT_IN: 189, TARGETS: 301}
"""Curves of Figures 1 and 2."""
APPLICATIONS: Final = 40
FEWER: Final = (20, 10)
"""Other numbers of applications K. MCKP needs K ≤ N, so it is measured there; with K = 40 it shares one resource."""
RESOURCES: Final = 20
MOST_STRESS: Final = 0.97
"""Θ·N/K, the mean I/O-stress of an application at one resource, up to which sets are drawn."""


def sets_of(
    curves: str, scale: DistributedScale, profiles: Path | None = None, applications: int = APPLICATIONS
) -> Experiment[PlacementTrial]:
    """The sets of applications with curves of one kind.

    Args:
        curves: The kind.
        scale: Which loads Θ, and how many sets of each. Of these the generator can follow those with Θ·N/K below 1.
        profiles: The file of measured curves.
        applications: K, the number of applications in a set.
    """
    read = profiles if curves == MEASURED else None
    path, digest = (str(read), sha256(read.read_bytes()).hexdigest()[:12]) if read else ("", "")
    trials = (
        PlacementTrial(curves, applications, load, 1_000 * index + number, path, digest)
        for index, load in enumerate(scale.loads)
        if load * RESOURCES < MOST_STRESS * applications
        for number in range(scale.sets)
    )
    name = curves if applications == APPLICATIONS else f"{curves}-{applications}"
    return Experiment(name, tuple(trials), measure)


def measure(trial: PlacementTrial) -> dict[str, Any]:
    """Make the set of a `trial` and run it under every heuristic; the I/O-load of n-sys is what the paper's figures go by.

    Returns its row.
    """
    source = source_of(trial.curves, trial.profiles)
    workload = distributed(Distributed(trial.load, trial.applications, RESOURCES), source, trial.seed)
    known = Characteristics.of(workload)
    assert known.best is not None
    row: dict[str, Any] = {
        "load": known.io_load(known.least_stress),
        "load_of_one": known.io_load(np.ones(len(known), np.int64)),
        "more_than_best": int(np.sum(known.least_stress > known.best)),
        "runs": {
            heuristic.name: _row(workload, known, heuristic, trial.seed) for heuristic in heuristics(len(known), RESOURCES)
        },
    }
    first = simulate_placement(workload, COMPARED.place(known), interval=FIRST_END)
    row["first_end"] = first.mean_slowdown if first.valid else None
    if trial.curves != TARGETS:
        classes = classes_of(trial.curves, trial.profiles)
        guessed = Characteristics.of(workload, [believed(_curve(a.curve), classes) for a in workload.applications])
        row["believed"] = {heuristic.name: _row(workload, guessed, heuristic, trial.seed) for heuristic in UNSURE}
    return row


def shared(sets: Experiment[PlacementTrial], policies: Sequence[str]) -> Experiment[WithPolicy[PlacementTrial]]:
    """The `sets` with best-bdw and every placement, each resource shared by one of the user's `policies`.

    Raises InputError for a policy that cannot share a resource, such as a static order.
    """
    own = added(policies, (EQUAL,))
    for policy, _ in own:
        usable_policy(policy)
    trials = (WithPolicy(one, policy, digest) for one in sets.trials for policy, digest in own)
    return Experiment(f"{sets.name}-policies", tuple(trials), measure_shared)


def measure_shared(trial: WithPolicy[PlacementTrial]) -> dict[str, Any]:
    """The measures of a set under best-bdw by placement, where a user's policy shares each resource.

    `trial` says which set and policy.
    """
    one = trial.trial
    workload = distributed(Distributed(one.load, one.applications, RESOURCES), source_of(one.curves, one.profiles), one.seed)
    known = Characteristics.of(workload)
    return {
        heuristic.name: _row(workload, known, heuristic, one.seed, trial.policy)
        for heuristic in matching_heuristics(SHARED, None)
    }


def small_sets(scale: DistributedScale) -> Experiment[Small]:
    """Small sets, for the distance of each heuristic from the best of all placements.

    `scale` says how many sets, and on how many resources.
    """
    trials = (
        Small(FEW_APPLICATIONS, scale.few, load, 1_000 * index + number)
        for index, load in enumerate(SMALL_LOADS)
        for number in range(scale.small_sets)
    )
    return Experiment("oracle", tuple(trials), measure_small)


def measure_small(trial: Small) -> dict[str, float]:
    """The mean slowdown under each heuristic over that of the best of all placements.

    `trial` says which set.
    """
    workload = distributed(Distributed(trial.load, trial.applications, trial.resources), FAMILIES[BUILT_IN], trial.seed)
    known = Characteristics.of(workload)
    best = best_placement(workload).mean_slowdown
    return {
        heuristic.name: simulate_placement(workload, heuristic.place(known, trial.seed)).mean_slowdown / best
        for heuristic in heuristics(trial.applications, trial.resources)
    }


@cache
def source_of(curves: str, profiles: str) -> CurveSource:
    """Where the curves of a trial are drawn from.

    `curves` is the kind, and `profiles` the file of measured ones.
    """
    if curves == MEASURED:
        return MeasuredCurves(tuple(read_profiles(profiles, STATISTIC).values()), LABELS[MEASURED])
    return FAMILIES[curves]


@cache
def pool(curves: str, profiles: str) -> tuple[Curve, ...]:
    """All measured curves, or as many drawn from a family as the paper has.

    `curves` is the kind, and `profiles` the file of measured ones.
    """
    source = source_of(curves, profiles)
    return source.curves if isinstance(source, MeasuredCurves) else source.draw(POOL[curves], np.random.default_rng(0))


@cache
def classes_of(curves: str, profiles: str) -> dict[str, Curve]:
    """The curve that stands for each class.

    `curves` is the kind, and `profiles` the file of measured ones.
    """
    return class_curves(pool(curves, profiles))


def _row(
    workload: Workload, known: Characteristics, heuristic: Heuristic, seed: int, policy: str = EQUAL
) -> dict[str, float]:
    """Measure a placement that was made from what is `known`, each resource shared by a `policy`."""
    result = simulate_placement(workload, heuristic.place(known, seed), policy)
    return {name: float(getattr(result, name)) for name in MEASURES}


def _curve(curve: Curve | None) -> Curve:
    assert curve is not None
    return curve


def with_policy(heuristic: str, policy: str) -> str:
    """The name in the rows of a `heuristic` where a user's `policy` shares each resource."""
    return f"{heuristic}, {policy}"


@dataclass(frozen=True)
class Sets:
    """The rows of one kind of curves, and what these are."""

    label: str
    rows: tuple[Mapping[str, Any], ...]
    applications: int = APPLICATIONS
    """K."""
    policies: tuple[str, ...] = ()
    """A user's, with which best-bdw was run, too."""

    @classmethod
    def joined(
        cls,
        label: str,
        rows: Mapping[PlacementTrial, Mapping[str, Any]],
        own: Mapping[WithPolicy[PlacementTrial], Mapping[str, Any]],
        applications: int = APPLICATIONS,
    ) -> Sets:
        """The `rows` of the sets with those of the same sets under a user's `own` policies; `label` and `applications` (K)
        say which sets.
        """
        more: dict[PlacementTrial, dict[str, Any]] = {trial: {} for trial in rows}
        for trial, row in own.items():
            more[trial.trial] |= {with_policy(heuristic, trial.policy): measures for heuristic, measures in row.items()}
        whole = ({**row, "runs": {**row["runs"], **more[trial]}} for trial, row in rows.items())
        return cls(label, tuple(whole), applications, tuple(dict.fromkeys(trial.policy for trial in own)))

    @cached_property
    def loads(self) -> Floats:
        """I/O-load of n-sys, which is the least any allocation has."""
        return np.array([row["load"] for row in self.rows])

    @property
    def mckp(self) -> str:
        """The name of MCKP in the rows: with more applications than resources, that of our form of it."""
        return MCKP if self.applications <= RESOURCES else MCKP_SHARED

    def of(self, heuristic: str, measure: str, *, believed: bool = False) -> Floats:
        """A measure of all sets under a heuristic; `believed` where the scheduler knew the classes of the curves only."""
        return np.array([row["believed" if believed else "runs"][heuristic][measure] for row in self.rows])

    def near(self, load: float, width: float = 0.05) -> np.ndarray:
        """The sets with an I/O-load within `width` of `load`, as a mask."""
        return np.abs(self.loads - load) <= width

    def between(self, low: float, high: float) -> np.ndarray:
        """The sets with an I/O-load from `low` to before `high`, as a mask."""
        return (self.loads >= low) & (self.loads < high)

    def bins(self, width: float = 0.1, fewest: int = 3) -> list[tuple[float, np.ndarray]]:
        """Middles of intervals of the I/O-load that are `width` wide, and the sets in each that has `fewest` of them or
        more.
        """
        found = []
        for low in np.arange(0.0, float(self.loads.max(initial=0.0)) + width, width):
            inside = self.between(low, low + width)
            if inside.sum() >= fewest:
                found.append((float(low) + width / 2.0, inside))
        return found
