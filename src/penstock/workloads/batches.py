"""Batches of periodic applications (001 §III.B.2, §IV.B.2): each repeats work of a seconds and I/O of b bytes n times,
and all are released at 0.

There is no window: every application runs to its end. A batch scheduler decides when each starts. 001 has two protocols.

Independent parameters (`Uniform`, §IV.B.4, and `Packs`, §III.D.2.b). An I/O node of bandwidth b = 1 serves P = 2048
nodes. For a wanted I/O load α_gen:

- n applications, n ~ U{25 … 100} (§III.D.2.b) or U{100 … 500} (§IV.B.4), of n_i ~ U{250 … 1000} or U{1000 … 10000}
  iterations of work a_i ~ U(10, 100);
- binormal: a share β ~ U(0, 1) of them has a low I/O load, b_i / a_i ~ N(0.1, 0.1), the others a high one, N(0.9, 0.1),
  both truncated to [0, 1]. 0.1 is the variance: so the means become 0.289 and 0.711, as §IV.B.4 prints;
- normal (§IV.B.4 alone): b_i / a_i ~ N(α_gen, 0.1), truncated alike;
- sizes 2^j, j ~ Binomial(11, Q̄^(1/11) − 1), of mean Q̄ = P·µ / (α_gen · (1 + µ)), where µ = β·0.1 + (1 − β)·0.9, or
  α_gen for normal.

A share β of n applications means β·n of them, rounded, in random places. µ is that of the normals before truncation, as
printed. Q̄ above 2^11 is cut to it, and sizes above P to P. So the I/O load differs from α_gen: measure it
(`penstock.model.workload`).

After the jobs of Mira (`Mira`, §IV.B.3). 49,152 nodes and 240 GB/s, as one I/O node of bandwidth b with P nodes:

- Nodes Q: discrete exponential, λ = 1.35e-4, on 512 … 49,152 (chances in proportion to exp(−λ·Q)).
- Time T: 1 h below 4096 nodes, 2 h from there to 16,384 ("more than 2 hours" in 001), 0.5 h above; each times a draw
  from N(1, 0.1²), truncated to positive values.
- Iterations ~ U{10 … 100}.
- I/O fraction f of T, truncated to [0, 1]: normal (MN), N(α_gen, σ²); binormal (MB), N(0.1, σ²) for a share β of the
  applications and N(0.9, σ²) for the others, with β such that the mean of f is α_gen. σ = 0.1 is a standard deviation.
- Work (1 − f)·T, volume f·T·b·Q/P.

001 computes "the total I/O volume by weighting with the requested number of processors". Here the weight is Q/P: f of
the time T at the nodes' share b·Q/P of the bandwidth. So applications that fill the machine ask for f of the link.
Without a weight, or with Q over its mean, each would ask for f of the link, and about six of them fill the machine: an
I/O load of about 6·f, far above the 0.2 to 0.8 that 001 studies. Alone, an application reaches b and not its share, and
takes (1 − f)·T + f·T·Q/P, less than T. So the I/O load of eq. III.5 is above the mean f, up to f / (1 − f). α_gen is the
mean f; measure the I/O load.

001 does not say how many applications there are; here as many as in §IV.B.4, U{100 … 500}.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.model import Application, InputError, Phases, Platform, Workload
from penstock.model.application import IO, MOST_PHASES, WORK
from penstock.workloads.parameters import (
    LARGEST_POWER,
    Floats,
    Integers,
    discrete_exponential,
    parameter,
    powers_of_two,
    require,
    require_range,
    truncated_normal,
    truncated_normal_mean,
)


@dataclass(frozen=True)
class Batch:
    """A batch that was drawn.

    Attributes:
        workload: The applications on their machine.
        low: How many applications have a low I/O load; None where all are of one kind.
        asked_nodes: The mean that the distribution of sizes should have, in nodes.
        largest: The largest size of the distribution, in nodes.
        clipped: How many applications were cut to the nodes of the machine.

    """

    workload: Workload
    low: int | None
    asked_nodes: float
    largest: int
    clipped: int

    def summary(self) -> str:
        """One line for a user."""
        nodes = [application.nodes for application in self.workload.applications]
        kinds = "" if self.low is None else f" ({self.low} of low I/O load)"
        beyond = f", at most {self.largest} possible" if self.asked_nodes > self.largest else ""
        sizes = f"{np.mean(nodes):.1f} nodes on average (asked for {self.asked_nodes:.1f}{beyond})"
        return f"{len(nodes)} applications{kinds}, {sizes}, {self.clipped} clipped to the machine"


def periodic(work: float, volume: float, iterations: int) -> Phases:
    """`iterations` times `work` seconds and an I/O operation of `volume` bytes."""
    return alternating(np.tile((work, volume), iterations))


def alternating(amounts: Floats) -> Phases:
    """Phases that alternate work and I/O of these `amounts`. The array is kept, not copied, and becomes read-only."""
    kinds = np.tile(np.array([WORK, IO], np.uint8), len(amounts) // 2)
    kinds.flags.writeable = amounts.flags.writeable = False
    return Phases(kinds, amounts)


def batch(
    platform: Platform, names: Sequence[str], works: Floats, volumes: Floats, iterations: Integers, nodes: Integers
) -> Workload:
    """A workload of periodic applications; entry i of each sequence belongs to application i.

    Args:
        platform: their machine.
        names: their names.
        works: seconds of work in an iteration.
        volumes: bytes of I/O in an iteration.
        iterations: how many iterations.
        nodes: how many nodes.
    """
    rows = zip(names, works.tolist(), volumes.tolist(), iterations.tolist(), nodes.tolist(), strict=True)
    applications = (Application(name, periodic(work, volume, count), nodes=size) for name, work, volume, count, size in rows)
    return Workload(platform, tuple(applications))


def low_ones(share: float, uniforms: Floats) -> NDArray[np.bool_]:
    """Which applications have a low I/O load: the part `share` of them, rounded, those with the lowest `uniforms`."""
    chosen = np.zeros(len(uniforms), np.bool_)
    chosen[np.argsort(uniforms)[: round(share * len(uniforms))]] = True
    return chosen


def names_of(is_low: NDArray[np.bool_] | None, count: int) -> list[str]:
    """Names of `count` applications: low-0, high-1 … as `is_low` says, or job-0, job-1 … where that is None."""
    if is_low is None:
        return [f"job-{index}" for index in range(count)]
    return [f"{'low' if low else 'high'}-{index}" for index, low in enumerate(is_low.tolist())]


PROFILES: Final = ("binormal", "normal")
LOW, HIGH = 0.1, 0.9
"""µ_1 and µ_2: mean b_i / a_i, or mean part of the time that is I/O, of applications with a low and a high I/O load."""
WORK_SECONDS: Final = (10.0, 100.0)
"""The range of a_i."""


@dataclass(frozen=True)
class Uniform:
    """The parameters of the batches of 001 §IV.B.4: BU (binormal) and NU (normal)."""

    load: float = parameter("wanted I/O load", symbol="α_gen", aliases=("alpha-gen",))
    profile: str = parameter("binormal: some applications have a low and some a high I/O load; or normal", "binormal")
    variance: float = parameter("variance of the ratio of I/O to work", 0.1)
    fewest: int = parameter("smallest number of applications", 100)
    most: int = parameter("largest number of applications; the number is drawn between the two", 500)
    shortest: int = parameter("smallest number of iterations of an application", 1000)
    longest: int = parameter("largest number of iterations of an application", 10_000)
    nodes: int = parameter("nodes of the machine; larger applications are cut to it", 2048, symbol="P")

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
    """The same parameters with the ranges of 001 §III.D.2.b."""

    fewest: int = 25
    most: int = 100
    shortest: int = 250
    longest: int = 1000


def uniform(parameters: Uniform, seed: int) -> Batch:
    """Draw a batch of 001 §IV.B.4 or §III.D.2.b.

    Args:
        parameters: those of the batch.
        seed: The same seed gives the same batch.

    Returns:
        The workload, and how it was drawn.

    Example:
        >>> drawn = uniform(Packs(load=2.0), seed=1)
        >>> 25 <= len(drawn.workload.applications) <= 100
        True
    """
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


RATE: Final = 1.35e-4
SMALLEST, LARGEST = 512, 49_152
HOUR: Final = 3600.0
LONG_FROM, LONG_TO = 4096, 16_384
"""Jobs of this range of nodes take 2 h; smaller ones 1 h, larger ones 0.5 h."""
SPREAD: Final = 0.1
"""Standard deviation of the time, relative to its median."""


@dataclass(frozen=True)
class Mira:
    """The parameters of the batches of 001 §IV.B.3: MB (binormal) and MN (normal)."""

    load: float = parameter(
        "mean of f, the part of the time that is I/O; the I/O load α is above it", symbol="α_gen", aliases=("alpha-gen",)
    )
    profile: str = parameter("binormal: some applications have a low and some a high I/O load; or normal", "binormal")
    sigma: float = parameter("standard deviation of f", 0.1, symbol="σ")
    fewest: int = parameter("smallest number of applications", 100)
    most: int = parameter("largest number of applications; the number is drawn between the two", 500)
    shortest: int = parameter("smallest number of iterations of an application", 10)
    longest: int = parameter("largest number of iterations of an application", 100)
    nodes: int = parameter("nodes of the machine; larger applications are cut to it", LARGEST, symbol="P")
    bandwidth: float = parameter("bandwidth that all nodes share", 240e9, symbol="b", unit="bytes/s")

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
    """Draw a batch of 001 §IV.B.3.

    Args:
        parameters: those of the batch.
        seed: The same seed gives the same batch.

    Returns:
        The workload, and how it was drawn.

    Example:
        >>> mira(Mira(load=0.4), seed=1).workload.platform.bandwidth
        240000000000.0
    """
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
    """The median time, in seconds, of jobs of so many `nodes`."""
    return np.where(nodes < LONG_FROM, 1.0, np.where(nodes <= LONG_TO, 2.0, 0.5)) * HOUR


def mean_nodes() -> float:
    """The mean of the distribution of sizes: about 7,840 nodes."""
    sizes = np.arange(SMALLEST, LARGEST + 1)
    return float(np.average(sizes, weights=np.exp(-RATE * sizes)))


def _fractions(parameters: Mira, places: Floats, chances: Floats) -> tuple[Floats, NDArray[np.bool_] | None]:
    """f of each application, and which have a low I/O load (None if all are of one kind)."""
    if parameters.profile == "normal":
        return truncated_normal(chances, parameters.load, parameters.sigma, 0.0, 1.0), None
    is_low = low_ones(parameters.low_share(), places)
    low, high = (truncated_normal(chances, mean, parameters.sigma, 0.0, 1.0) for mean in (LOW, HIGH))
    return np.where(is_low, low, high), is_low
