"""Chains of 001 that alternate work and I/O on a link of bandwidth B = 1, a node each, so that volumes are seconds. All
jobs are released at 0 and run to their ends.

Bi-colored chains (§II.D.2, Table II.1): m jobs J_i = (a_i, b_i)^(n_i), a_i seconds of work and b_i of I/O, n_i times.

- general: m ~ U{2 … 15}, a_i ~ U(1, 20), b_i ~ U(0.1, 1) · a_i, n_i ~ U{5 … 150};
- uniform, the training of networks of the machine-learning use case: one (a, b) for all jobs, n_i ~ U{100 … 200}.

Noise ν multiplies each phase by a number of its own from U(1 − ν, 1 + ν). Other laws are options (§II.D.3 names them, and
expects the uniform one to be the worst): normal, cut at 0, gamma and lognormal, all of mean 1 and of the same standard
deviation, ν/√3. Every job draws its noise from the seed and its number alone. So noise changes neither the couples nor the
counts, and the draws of a law are the same for every ν. Jobs carry their couple as `nominal`: orders that are fixed
beforehand know it, and not the noise.

The five Jacobi applications (§III.D.1, Table III.1) have the same total load, iterations · (work + I/O): 10,500 s per
batch of iterations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from penstock.model import Application, Platform, Workload
from penstock.model.application import MOST_PHASES
from penstock.workloads.batches import alternating, batch
from penstock.workloads.parameters import Floats, parameter, require, require_range

ITERATIONS: Final = MappingProxyType({"general": (5, 150), "uniform": (100, 200)})
"""The least and the largest n_i of each case."""
WORK_SECONDS: Final = (1.0, 20.0)
"""The range of a_i."""
RATIO: Final = (0.1, 1.0)
"""The range of b_i / a_i."""
UNIFORM: Final = "uniform"
LAWS: Final = (UNIFORM, "normal", "gamma", "lognormal")


@dataclass(frozen=True)
class Bicolored:
    """The parameters of the bi-colored chains (001 Table II.1)."""

    case: str = parameter("general, or uniform: all jobs have the same work and I/O, 100 to 200 times", "general")
    noise: float = parameter("each phase is multiplied by a draw from 1 − ν to 1 + ν", 0.0, symbol="ν", aliases=("nu",))
    fewest: int = parameter("smallest number of jobs", 2, symbol="m")
    most: int = parameter("largest number of jobs; the number is drawn between the two", 15)
    law: str = parameter("the law of the noise: uniform, normal, gamma or lognormal, of one standard deviation", UNIFORM)

    def __post_init__(self) -> None:
        require(self.case in ITERATIONS, "case", repr(self.case), " or ".join(ITERATIONS))
        require(0.0 <= self.noise <= 1.0, "noise", self.noise, "a number from 0 to 1")
        require(self.law in LAWS, "law", repr(self.law), " or ".join(LAWS))
        require_range(self.fewest, self.most, ("fewest", "most"))


def bicolored(parameters: Bicolored, seed: int) -> Workload:
    """Draw an instance of 001 Table II.1.

    Args:
        parameters: those of the chains.
        seed: The same seed gives the same jobs, with or without noise.

    Returns:
        Jobs of one node each on a link of bandwidth 1, so that volumes are seconds.

    Example:
        >>> workload = bicolored(Bicolored(fewest=3, most=3), seed=1)
        >>> [application.name for application in workload.applications]
        ['job-0', 'job-1', 'job-2']
    """
    random = np.random.default_rng(seed)
    jobs = int(random.integers(parameters.fewest, parameters.most, endpoint=True))
    couples = 1 if parameters.case == "uniform" else jobs
    works = np.resize(random.uniform(*WORK_SECONDS, couples), jobs)
    volumes = np.resize(random.uniform(*RATIO, couples), jobs) * works
    iterations = random.integers(*ITERATIONS[parameters.case], jobs, endpoint=True)
    rows = zip(works.tolist(), volumes.tolist(), iterations.tolist(), strict=True)
    applications = (
        Application(
            f"job-{job}",
            alternating((_noise(parameters, seed, job, count) * (work, volume)).ravel()),
            nominal=(work, volume),
        )
        for job, (work, volume, count) in enumerate(rows)
    )
    return Workload(Platform(bandwidth=1.0, nodes=jobs), tuple(applications))


def _noise(parameters: Bicolored, seed: int, job: int, iterations: int) -> Floats:
    """The factors of the job's phases, one row per iteration: work, I/O."""
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(job,)))
    shape, deviation = (iterations, 2), parameters.noise / math.sqrt(3.0)
    if parameters.law == UNIFORM or deviation == 0.0:
        return 1.0 + parameters.noise * random.uniform(-1.0, 1.0, shape)
    if parameters.law == "normal":
        return np.maximum(0.0, 1.0 + deviation * random.standard_normal(shape))
    if parameters.law == "gamma":
        return random.gamma(deviation**-2, deviation**2, shape)
    spread = math.sqrt(math.log1p(deviation**2))
    return np.exp(spread * random.standard_normal(shape) - spread**2 / 2.0)


TABLE: Final = ((32.0, 10.0, 250), (16.0, 5.0, 500), (8.0, 2.5, 1000), (8.0, 2.5, 1000), (16.0, 5.0, 500))
"""For each application: seconds of work and of I/O in an iteration, and the number of iterations."""


@dataclass(frozen=True)
class Jacobi:
    """The parameter of the Jacobi applications. Iterations are rounded, to 1 at least."""

    batches: float = parameter("multiplies the iterations: 2 doubles them, 0.1 takes a tenth", 1.0)

    def __post_init__(self) -> None:
        most = MOST_PHASES // 2 // sum(iterations for _, _, iterations in TABLE)
        require(0.0 < self.batches <= most, "batches", self.batches, f"a number above 0, up to {most:,}")


def jacobi(parameters: Jacobi) -> Workload:
    """Make the five Jacobi applications (001 Table III.1); nothing in them is random.

    Args:
        parameters: how many iterations.

    Returns:
        Jobs of one node each on a link of bandwidth 1, so that volumes are seconds.

    Example:
        >>> [application.phases.operations for application in jacobi(Jacobi(batches=0.1)).applications]
        [25, 50, 100, 100, 50]
    """
    works, volumes, iterations = np.array(TABLE).T
    counts = np.maximum(1, np.rint(iterations * parameters.batches)).astype(np.int64)
    names = [f"jacobi-{index}" for index in range(1, len(TABLE) + 1)]
    return batch(Platform(1.0, nodes=len(TABLE)), names, works, volumes, counts, np.ones(len(TABLE), np.int64))
