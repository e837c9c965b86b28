"""What is run for 001: applications that compete for the link (§II.D, §III.D.1), and batches of jobs in packs or lists
(§III.D.2, chapter IV).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from penstock.campaign import Campaign, Cell
from penstock.campaign.sources import source
from penstock.papers.trials import Experiment, added
from penstock.planning.batch import schedule
from penstock.planning.partition import Applications
from penstock.planning.schedule import MEASURES
from penstock.planning.strategy import ALPHA, BatchStrategy

POINTS: Final = 50
"""Dates at which utilization over time is kept."""


@dataclass(frozen=True)
class BatchTrial:
    """A batch, by its kind, parameters and seed, under a strategy and an I/O policy on a number of I/O nodes."""

    kind: str
    parameters: tuple[tuple[str, Any], ...]
    seed: int
    strategy: BatchStrategy
    policy: str = "fifo"
    io_nodes: int = 1
    wanted: float = 0.0
    """The I/O load that the batch was to have, where that is not its parameter."""
    printed: bool = False
    """Whether f is drawn around the wanted load itself, as the thesis prints it for Mira."""
    digest: str = ""
    """Digest of the file of a user's policy."""


FIRST_FIT: Final = BatchStrategy("first-fit")
ONE: Final = BatchStrategy("pack")
LOAD: Final = BatchStrategy("pack", ALPHA)
MAPPINGS: Final[Mapping[str, BatchStrategy]] = {
    "list": BatchStrategy("list", backfill=True),
    "pack max": BatchStrategy("pack", order="max", backfill=True),
    "pack random": BatchStrategy("pack", order="random", backfill=True),
    "pack char": BatchStrategy("pack", order="char", backfill=True),
}
"""The four heuristics of 001 §IV.A, with backfilling (§IV.A.4)."""
FAMILIES: Final[Mapping[str, tuple[str, str]]] = {
    "MB": ("mira", "binormal"),
    "MN": ("mira", "normal"),
    "BU": ("uniform", "binormal"),
    "NU": ("uniform", "normal"),
}


@dataclass(frozen=True)
class DashScale:
    """How much is run. The values of α_gen are spread evenly over 0.5 to 10 at every scale, as means over them are claims.

    Attributes:
        loads: Values of α_gen in chapter III.
        batches: Batches of each.
        mapping_loads: I/O loads of chapter IV.
        mapping_batches: Batches of each.
        smaller: What to change of the batches of chapter IV.
        chains: Random sets of chains in chapter II.
        theorems: Random small instances for each of the claims on theorems and D12.
        jacobi: Batches of iterations of the Jacobi applications.

    """

    loads: tuple[float, ...]
    batches: int
    mapping_loads: tuple[float, ...]
    mapping_batches: int
    smaller: Mapping[str, Any]
    chains: int
    theorems: int
    jacobi: tuple[float, ...]


BATCHES: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
"""Up to the 64 batches of §III.D.2.a."""
SMALLER: Final = {"fewest": 40, "most": 60, "longest": 100, "shortest": 50}
SCALES: Final[Mapping[str, DashScale]] = {
    "smoke": DashScale((0.5, 3.5, 7.0, 10.0), 2, (0.2, 0.4, 0.6, 0.8), 2, SMALLER, 20, 30, BATCHES[:6]),
    "quick": DashScale((0.5, 1.75, 3.25, 4.5, 6.0, 7.25, 8.75, 10.0), 4, (0.2, 0.4, 0.6, 0.8), 4, {}, 200, 300, BATCHES),
    "paper": DashScale(
        tuple(k / 4 for k in range(2, 41)), 10, (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), 10, {}, 1_000, 3_000, BATCHES
    ),
}


def packs(scale: DashScale, policies: Sequence[str] = ()) -> Experiment[BatchTrial]:
    """Figures III.8 to III.12: one I/O node.

    `scale` says which I/O loads, and how many batches of each; `policies` are those that a user adds for packs with S = 1.
    """
    ours = ((FIRST_FIT, "fifo", ""), (ONE, "fifo", ""), (LOAD, "fifo", ""), (ONE, "longest-remaining", ""))
    own = [(ONE, policy, digest) for policy, digest in added(policies, ("fifo", "longest-remaining"))]
    trials = [
        BatchTrial("packs", (("load", load),), seed, strategy, policy, digest=digest)
        for load in scale.loads
        for seed in range(scale.batches)
        for strategy, policy, digest in (*ours, *own)
    ]
    return Experiment("packs", tuple(trials), measure)


def several_io_nodes(scale: DashScale) -> Experiment[BatchTrial]:
    """Figure III.13: the same on 1, 3 and 5 I/O nodes.

    `scale` says which I/O loads, and how many batches of each.
    """
    trials = [
        BatchTrial("packs", (("load", load),), seed, strategy, io_nodes=count)
        for load in scale.loads
        for seed in range(scale.batches)
        for strategy in (FIRST_FIT, ONE)
        for count in (1, 3, 5)
    ]
    return Experiment("io-nodes", tuple(trials), measure)


def parameter(kind: str, load: float) -> float:
    """The parameter `load` of the generator for which the I/O load α is about the wanted one.

    That of Mira batches is f, the part of the time that is I/O on average, which makes α near f / (1 − f). `kind` is the
    generator, and `load` the wanted α.
    """
    return load / (1.0 + load) if kind == "mira" else load


def mapping(scale: DashScale) -> Experiment[BatchTrial]:
    """Figures IV.3 to IV.10: list scheduling and three kinds of packs on four families of batches.

    `scale` says which I/O loads, and how many batches of each.
    """
    trials = [
        BatchTrial(
            kind,
            (("load", load if printed else parameter(kind, load)), ("profile", profile), *scale.smaller.items()),
            seed,
            strategy,
            wanted=load,
            printed=printed,
        )
        for kind, profile in FAMILIES.values()
        for printed in ((False, True) if kind == "mira" else (False,))
        for load in scale.mapping_loads
        for seed in range(scale.mapping_batches)
        for strategy in MAPPINGS.values()
    ]
    return Experiment("mapping", tuple(trials), measure)


def measure(trial: BatchTrial) -> dict[str, Any]:
    """Make the batch of a `trial`, schedule and run it; returns its row."""
    kind = source(trial.kind)
    (workload,) = kind.make(kind.parse(dict(trial.parameters)), trial.seed)
    done = schedule(workload, trial.strategy, io_nodes=trial.io_nodes, policy=trial.policy)
    return {
        **{name: getattr(done, name) for name in MEASURES},
        "jobs": len(workload.applications),
        "capacity": done.capacity,
        "over_time": done.over_time(POINTS).to_dict(),
    }


BEST_EFFORT: Final = "best-effort"
LIST: Final = ("fifo", "johnson", "longest-remaining")
PERIODIC: Final = ("periodic-fifo", "periodic-johnson", "periodic-most-remain")
OPTIMAL: Final = "hierarchical-round-robin"
EIGHT: Final = (
    "fifo",
    "lowest-id",
    "longest-io",
    "shortest-io",
    "shortest-remaining",
    "longest-remaining",
    "bandwidth-oriented",
    "stretch-oriented",
)
"""The list policies of 001 §III.C.1."""
NOISES: Final = (0.0, 0.2, 0.5)
ML_NOISES: Final = (0.0, 0.2)


def general(scale: DashScale) -> Campaign:
    """Figures II.4 and II.5: the general case of Table II.1 without noise and with 20 % and 50 %.

    `scale` says how much is run.
    """
    policies = (BEST_EFFORT, *LIST, *PERIODIC)
    return _campaign("general", [{"case": "general", "noise": noise} for noise in NOISES], scale.chains, policies)


NOISE_LAWS: Final = ("normal", "gamma", "lognormal")
"""Beside the uniform one of the thesis."""


def laws(scale: DashScale) -> Campaign:
    """The general case with 50 % of noise of other laws (§II.D.3).

    `scale` says how much is run.
    """
    points = [{"case": "general", "noise": NOISES[-1], "law": law} for law in NOISE_LAWS]
    return _campaign("laws", points, scale.chains, (BEST_EFFORT, *LIST, *PERIODIC))


def machine_learning(scale: DashScale) -> Campaign:
    """Figure II.6: the uniform case, networks trained on the same data.

    `scale` says how much is run.
    """
    points = [{"case": "uniform", "noise": noise} for noise in ML_NOISES]
    return _campaign("machine-learning", points, scale.chains, (BEST_EFFORT, "fifo", OPTIMAL))


def jacobi(scale: DashScale) -> Campaign:
    """Figures III.4 to III.6: the five applications of Table III.1, with more and more iterations; nothing is random.

    `scale` says how much is run.
    """
    cells = [Cell("jacobi", {"batches": batches}, 0, policy) for batches in scale.jacobi for policy in EIGHT]
    return Campaign("jacobi", tuple(cells))


def _campaign(name: str, points: list[dict[str, Any]], instances: int, policies: tuple[str, ...]) -> Campaign:
    cells = [Cell("bicolored", point, seed, policy) for point in points for seed in range(instances) for policy in policies]
    return Campaign(name, tuple(cells))


def random_set(random: np.random.Generator, count: int) -> Applications:
    """A `random` set of `count` applications: volumes over two orders of magnitude, which together load the link by 10 to 90
    %.
    """
    volumes = np.exp(random.uniform(0.0, np.log(100.0), count))
    loads = random.dirichlet(np.ones(count)) * random.uniform(0.1, 0.9)
    return Applications(tuple(volumes), tuple(volumes / loads), 1.0)
