"""The batches of 001 §III.D.2.b and §IV.B.4, whose parameters are independent: one protocol with two sets of ranges.

An I/O node of bandwidth b = 1 serves P = 2048 nodes. For a wanted I/O load α_gen:

- n applications, n ~ U{25 … 100} (§III.D.2.b) or U{100 … 500} (§IV.B.4), of n_i ~ U{250 … 1000} or U{1000 … 10000}
  iterations of work a_i ~ U(10, 100);
- binormal: a share β ~ U(0, 1) of them is of low I/O load, b_i / a_i ~ N(0.1, 0.1), the others of high, N(0.9, 0.1), both
  truncated to [0, 1]; 0.1 is the variance: so the means become 0.289 and 0.711, as §IV.B.4 prints;
- normal (§IV.B.4 alone): b_i / a_i ~ N(α_gen, 0.1), truncated alike;
- sizes 2^j, j ~ Binomial(11, Q̄^(1/11) − 1), of mean Q̄ = P·µ / (α_gen · (1 + µ)), where µ = β·0.1 + (1 − β)·0.9, or α_gen for
  normal.

β of the applications means β·n, rounded, in random places. µ is that of the normals before truncation, as printed. Q̄ above
2^11 is cut to it, and sizes above P to P. So the I/O load comes out different from α_gen: measure it
(`penstock.workloads.load`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.model import Platform
from penstock.model.phases import MOST_PHASES
from penstock.workloads.batch import Batch, batch, low_ones, names_of
from penstock.workloads.laws import LARGEST_POWER, powers_of_two, require, require_range, truncated_normal

PROFILES: Final = ("binormal", "normal")
LOW, HIGH = 0.1, 0.9
"""µ_1 and µ_2: b_i / a_i, or the part of the time that is I/O, of applications of low and of high I/O load."""
WORK_SECONDS: Final = (10.0, 100.0)
"""The range of a_i."""


@dataclass(frozen=True)
class Uniform:
    """`load` is α_gen; `profile` binormal (BU) or normal (NU); `variance` that of b_i / a_i.

    There are `fewest` to `most` applications of `shortest` to `longest` iterations on a machine of `nodes` nodes.
    """

    load: float
    profile: str = "binormal"
    variance: float = 0.1
    fewest: int = 100
    most: int = 500
    shortest: int = 1000
    longest: int = 10_000
    nodes: int = 2048

    def __post_init__(self) -> None:
        require(self.profile in PROFILES, "profile", repr(self.profile), " or ".join(PROFILES))
        require(math.isfinite(self.load) and self.load > 0.0, "load", self.load, "a number above 0")
        if self.profile == "normal":
            require(self.load <= 1.0, "load", self.load, "at most 1 with the profile normal")
        require(math.isfinite(self.variance) and self.variance >= 0.0, "variance", self.variance, "a number, 0 or more")
        require_range(self.fewest, self.most, ("fewest", "most"))
        require_range(self.shortest, self.longest, ("shortest", "longest"))
        require(2 * self.most * self.longest <= MOST_PHASES, "longest", self.longest, f"up to {MOST_PHASES:,} phases in all")
        require(1 <= self.nodes < 2**31, "nodes", self.nodes, "1 or more")


@dataclass(frozen=True)
class Packs(Uniform):
    """The same with the ranges of 001 §III.D.2.b."""

    fewest: int = 25
    most: int = 100
    shortest: int = 250
    longest: int = 1000


def uniform(parameters: Uniform, seed: int) -> Batch:
    """A batch; the same seed gives the same batch."""
    random = np.random.default_rng(seed)
    low_share = float(random.random())
    count = int(random.integers(parameters.fewest, parameters.most, endpoint=True))
    iterations = random.integers(parameters.shortest, parameters.longest, count, endpoint=True)
    works = random.uniform(*WORK_SECONDS, count)
    places, chances = random.random((2, count))
    sigma = math.sqrt(parameters.variance)
    if parameters.profile == "normal":
        is_low, mean = None, parameters.load
        ratios = truncated_normal(chances, mean, sigma, 0.0, 1.0)
    else:
        is_low = low_ones(low_share, places)
        mean = low_share * LOW + (1.0 - low_share) * HIGH
        ratios = np.where(
            is_low, truncated_normal(chances, LOW, sigma, 0.0, 1.0), truncated_normal(chances, HIGH, sigma, 0.0, 1.0)
        )
    asked = parameters.nodes * mean / (parameters.load * (1.0 + mean))
    sizes = powers_of_two(asked, count, random)
    clipped = int(np.count_nonzero(sizes > parameters.nodes))
    platform = Platform(bandwidth=1.0, nodes=parameters.nodes)
    nodes = np.minimum(sizes, parameters.nodes)
    workload = batch(platform, names_of(is_low, count), works, ratios * works, iterations, nodes)
    return Batch(workload, None if is_low is None else int(is_low.sum()), asked, 2**LARGEST_POWER, clipped)
