"""The synthetic traces of 000 §6.2: small, medium and big applications that can each saturate the link (b_i = B = 1).

Beyond the paper, applications may have several nodes, each of which can use only a part of the link.

`demo` is a small workload to look at: eight applications of three kinds in one hour of a busy machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from penstock.model import Application, InputError, Phases, Platform, Workload
from penstock.model.application import IO, MOST_PHASES, READ, WORK, WRITE
from penstock.workloads.parameters import parameter, require

MEANS = (1_000.0, 10_000.0, 100_000.0)
"""µ of small, medium and big applications, in seconds."""


@dataclass(frozen=True)
class Synthetic:
    """The parameters of 000 §6.2.1, with the paper's defaults.

    A third of the applications is medium, `small` of them are small (a third unless given) and the others are big.

    Not in the paper: `node_share` is b / B, and applications have 1, 2, 4 … nodes up to `largest`, each as likely. The
    volumes stay the same. With low caps I/O takes longer and the pressure is lower.

    Example:
        >>> Synthetic(pressure=0.8, applications=30).sizes
        (10, 10, 10)

    """

    pressure: float = parameter("I/O pressure", 1.0, symbol="W_GOAL", aliases=("w-goal",))
    small: int | None = parameter(
        "how many applications are small", None, symbol="n_small", aliases=("n-small",), default_text="a third of all"
    )
    sigma: float = parameter("spread of iteration lengths between applications, relative to their mean", 0.5, symbol="σ")
    noise: float = parameter("spread between the iterations of one application, 0 to 1", 0.5, symbol="ν", aliases=("nu",))
    horizon: float = parameter("length of the window", 2_000_000.0, symbol="h", unit="seconds")
    applications: int = parameter("how many applications", 60, symbol="m")
    node_share: float = parameter("the part of the link that one node can use", 1.0, symbol="b/B", added_later=True)
    largest: int = parameter("each application has 1, 2, 4 … nodes, up to this many", 1, added_later=True)

    def __post_init__(self) -> None:
        require(self.applications >= 1, "applications", self.applications, "1 or more")
        if self.small is None:
            object.__setattr__(self, "small", self.applications // 3)
        most = self.applications - self.applications // 3
        require(0 <= self.sizes[0] <= most, "small", self.small, f"0 to {most}")
        require(math.isfinite(self.pressure) and self.pressure > 0.0, "pressure", self.pressure, "a number above 0")
        require(math.isfinite(self.sigma) and self.sigma >= 0.0, "sigma", self.sigma, "a number, 0 or more")
        require(0.0 <= self.noise <= 1.0, "noise", self.noise, "a number from 0 to 1")
        require(math.isfinite(self.horizon) and self.horizon > 0.0, "horizon", self.horizon, "seconds above 0")
        require(0.0 < self.node_share <= 1.0, "node_share", self.node_share, "a number above 0, up to 1")
        require(1 <= self.largest < 2**31, "largest", self.largest, "1 or more nodes")

    @property
    def sizes(self) -> tuple[int, int, int]:
        """How many small, medium and big applications there are."""
        medium = self.applications // 3
        small = medium if self.small is None else self.small
        return small, medium, self.applications - medium - small


def synthetic(parameters: Synthetic, seed: int) -> Workload:
    """Draw a trace (000 §6.2.1).

    The window ends with the shortest dedicated run at full bandwidth. I/O fractions φ_i = u_i·W_GOAL / Σ u_k, u ~ U[0, 1],
    make the pressure W_GOAL on average. They are drawn again while one is 1 or more, which happens only with few
    applications.

    Args:
        parameters: The parameters of the trace.
        seed: The same seed gives the same trace.

    Returns:
        A workload on a link of bandwidth 1, so that volumes are seconds, with a window.

    Raises:
        InputError: The pressure needs more applications, or the horizon makes too many phases.

    Example:
        >>> workload = synthetic(Synthetic(pressure=0.8, horizon=50_000.0), seed=1)
        >>> len(workload.applications), workload.applications[0].name
        (60, 'small-0')

    """
    if parameters.pressure >= parameters.applications:
        raise InputError("pressure", f"{parameters.pressure} needs more than {parameters.applications} applications")
    random = np.random.default_rng(seed)
    iterations = _iteration_lengths(parameters, random)
    fractions = np.ones(1)
    while fractions.max() >= 1.0:
        drawn = random.uniform(size=parameters.applications)
        fractions = drawn * parameters.pressure / drawn.sum()
    if (2.0 * np.ceil(parameters.horizon / iterations)).sum() > MOST_PHASES:
        raise InputError("horizon", f"{parameters.horizon} s make over {MOST_PHASES:,} phases; expected a shorter horizon")
    applications = tuple(
        _application(f"{size}-{index}", parameters, float(iterations[index]), float(fractions[index]), random)
        for index, size in enumerate(np.repeat(["small", "medium", "big"], parameters.sizes))
    )
    end = min(application.lead + float(application.phases.amounts.sum()) for application in applications)
    if parameters.largest > 1:
        powers = random.integers(0, parameters.largest.bit_length(), parameters.applications)
        applications = tuple(
            replace(application, nodes=2**power) for application, power in zip(applications, powers.tolist(), strict=True)
        )
    nodes = sum(application.nodes for application in applications)
    platform = Platform(bandwidth=1.0, node_bandwidth=parameters.node_share, nodes=nodes)
    return Workload(platform, applications, (0.0, end))


def _iteration_lengths(parameters: Synthetic, random: np.random.Generator) -> np.ndarray:
    """ω_i ~ N(µ_i, µ_i·σ), drawn again until above 0."""
    means = np.repeat(MEANS, parameters.sizes)
    lengths = random.normal(means, parameters.sigma * means)
    while (again := lengths <= 0.0).any():
        lengths[again] = random.normal(means[again], parameters.sigma * means[again])
    return lengths


def _application(
    name: str, parameters: Synthetic, length: float, fraction: float, random: np.random.Generator
) -> Application:
    """⌈h / ω⌉ iterations of work (1 ± ν)·(1 − φ)·ω and I/O (1 ± ν)·φ·ω, after U[0, ω] of work."""
    lead = float(random.uniform(0.0, length))
    count = math.ceil(parameters.horizon / length)
    noise = 1.0 + random.uniform(-parameters.noise, parameters.noise, (count, 2))
    amounts = noise * np.array([(1.0 - fraction) * length, fraction * length])
    kinds = np.tile(np.array([WORK, IO], np.uint8), count)
    return Application(name, Phases(kinds, amounts.ravel()), lead=lead)


GB = 1e9
HOUR = 3600.0
KINDS = (
    # name, how many, nodes, mean work in seconds, mean volume in bytes
    ("checkpoint", 3, 512, 420.0, 6_000 * GB),
    ("analysis", 3, 64, 60.0, 250 * GB),
    ("ensemble", 2, 16, 12.0, 30 * GB),
)


def demo(seed: int = 1) -> Workload:
    """Make the demo: a machine of 2,048 nodes, 0.5 GB/s each, and a file system of 50 GB/s, at a pressure of about 0.9.

    Each application reads once and then alternates work and writes, both ± 30 %, beyond the end of the hour.

    Args:
        seed: The same seed gives the same workload.

    Example:
        >>> len(demo().applications)
        8

    """
    random = np.random.default_rng(seed)
    applications = []
    for name, count, nodes, work, volume in KINDS:
        for number in range(count):
            iterations = int(2 * HOUR / work) + 1
            noise = random.uniform(0.7, 1.3, (iterations, 2))
            amounts = np.concatenate([[0.2 * volume], (noise * np.array([work, volume])).ravel()])
            kinds = np.concatenate([[READ], np.tile([WORK, WRITE], iterations)]).astype(np.uint8)
            lead = float(random.uniform(0.0, work))
            applications.append(Application(f"{name}-{number}", Phases(kinds, amounts), nodes=nodes, lead=lead))
    return Workload(Platform(50 * GB, 0.5 * GB, 2048), tuple(applications), (0.0, HOUR))
