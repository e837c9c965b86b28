"""The batches of 001 §IV.B.3 after the jobs of Mira: 49,152 nodes, 240 GB/s, as one I/O node of bandwidth b with P nodes.

- Nodes Q: discrete exponential, λ = 1.35e-4, on 512 … 49,152 (chances in proportion to exp(−λ·Q)).
- Time T: 1 h below 4096 nodes, 2 h from there to 16,384 ("more than 2 hours" in 001), 0.5 h above; each times a draw from
  N(1, 0.1²), truncated to positive values.
- Iterations ~ U{10 … 100}.
- I/O fraction f of T, truncated to [0, 1]: normal (MN), N(α_gen, σ²); binormal (MB), N(0.1, σ²) for a share β of the
  applications and N(0.9, σ²) for the others, with β such that the mean of f is α_gen. σ = 0.1 is a standard deviation.
- Work (1 − f)·T, volume f·T·b·Q/P.

001 computes "the total I/O volume by weighting with the requested number of processors". Here the weight is Q/P: f of the
time T at the nodes' share b·Q/P of the bandwidth. So applications that fill the machine ask for f of the link. Without a
weight, or with Q over its mean, each would ask for f of the link, and about six of them fill the machine: an I/O load of
about 6·f, far above the 0.2 to 0.8 that 001 studies. Alone, an application reaches b and not its share and takes
(1 − f)·T + f·T·Q/P, less than T: so the I/O load of eq. III.5 is above the mean f, up to f / (1 − f). α_gen is the mean f;
measure the I/O load (`penstock.workloads.load`).

001 does not say how many applications there are; here as many as in §IV.B.4, U{100 … 500}.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.model import InputError, Platform
from penstock.workloads.batch import Batch, batch, low_ones, names_of
from penstock.workloads.laws import (
    Floats,
    Integers,
    discrete_exponential,
    require,
    require_range,
    truncated_normal,
    truncated_normal_mean,
)
from penstock.workloads.uniform import HIGH, LOW, PROFILES

RATE: Final = 1.35e-4
SMALLEST, LARGEST = 512, 49_152
HOUR: Final = 3600.0
LONG_FROM, LONG_TO = 4096, 16_384
"""Jobs of so many nodes take 2 h; smaller ones 1 h, larger ones 0.5 h."""
SPREAD: Final = 0.1
"""Standard deviation of the time, relative to its median."""


@dataclass(frozen=True)
class Mira:
    """`load` is α_gen, the mean of f; `profile` binormal (MB) or normal (MN); `sigma` the standard deviation of f.

    There are `fewest` to `most` applications of `shortest` to `longest` iterations, on `nodes` nodes that share `bandwidth`
    bytes/s.
    """

    load: float
    profile: str = "binormal"
    sigma: float = 0.1
    fewest: int = 100
    most: int = 500
    shortest: int = 10
    longest: int = 100
    nodes: int = LARGEST
    bandwidth: float = 240e9

    def __post_init__(self) -> None:
        require(self.profile in PROFILES, "profile", repr(self.profile), " or ".join(PROFILES))
        require(math.isfinite(self.sigma) and self.sigma >= 0.0, "sigma", self.sigma, "a number, 0 or more")
        require(0.0 <= self.load <= 1.0, "load", self.load, "a number from 0 to 1")
        require_range(self.fewest, self.most, ("fewest", "most"))
        require_range(self.shortest, self.longest, ("shortest", "longest"))
        require(1 <= self.nodes < 2**31, "nodes", self.nodes, "1 or more")
        require(math.isfinite(self.bandwidth) and self.bandwidth > 0.0, "bandwidth", self.bandwidth, "bytes/s above 0")
        if self.profile == "binormal":
            self.low_share()

    def low_share(self) -> float:
        """β of the binormal profile: β·E f_low + (1 − β)·E f_high = load."""
        low, high = (truncated_normal_mean(mean, self.sigma, 0.0, 1.0) for mean in (LOW, HIGH))
        if not low <= self.load <= high:
            raise InputError("load", f"{self.load} is out of range; expected {low:.3f} to {high:.3f} with binormal")
        return (high - self.load) / (high - low)


def mira(parameters: Mira, seed: int) -> Batch:
    """A batch; the same seed gives the same batch."""
    random = np.random.default_rng(seed)
    count = int(random.integers(parameters.fewest, parameters.most, endpoint=True))
    iterations = random.integers(parameters.shortest, parameters.longest, count, endpoint=True)
    sizes, times, places, chances = random.random((4, count))
    drawn = discrete_exponential(sizes, RATE, SMALLEST, LARGEST)
    nodes = np.minimum(drawn, parameters.nodes)
    seconds = median_seconds(nodes) * truncated_normal(times, 1.0, SPREAD, 0.0, math.inf)
    fractions, is_low = _fractions(parameters, places, chances)
    works = (1.0 - fractions) * seconds / iterations
    volumes = fractions * seconds * parameters.bandwidth * (nodes / parameters.nodes) / iterations
    platform = Platform(parameters.bandwidth, nodes=parameters.nodes)
    workload = batch(platform, names_of(is_low, count), works, volumes, iterations, nodes)
    low = None if is_low is None else int(is_low.sum())
    return Batch(workload, low, mean_nodes(), LARGEST, int(np.count_nonzero(drawn > parameters.nodes)))


def median_seconds(nodes: Integers) -> Floats:
    """The median time of jobs of those sizes."""
    return np.where(nodes < LONG_FROM, 1.0, np.where(nodes <= LONG_TO, 2.0, 0.5)) * HOUR


def mean_nodes() -> float:
    """The mean of the law of sizes: about 7,840 nodes."""
    sizes = np.arange(SMALLEST, LARGEST + 1)
    return float(np.average(sizes, weights=np.exp(-RATE * sizes)))


def _fractions(parameters: Mira, places: Floats, chances: Floats) -> tuple[Floats, NDArray[np.bool_] | None]:
    """f of each application, and which are of low I/O load (None if all are of one kind)."""
    if parameters.profile == "normal":
        return truncated_normal(chances, parameters.load, parameters.sigma, 0.0, 1.0), None
    is_low = low_ones(parameters.low_share(), places)
    low, high = (truncated_normal(chances, mean, parameters.sigma, 0.0, 1.0) for mean in (LOW, HIGH))
    return np.where(is_low, low, high), is_low
