"""The four LANL applications of 004 §7.1 (Table 1) on a machine like Intrepid: 96,000 cores of 0.02 GB/s, B = 160 GB/s.

An application computes and writes a checkpoint of s bytes, again and again; a node of the platform is a core.

- 30 applications, each drawn with the frequencies of Table 1 (65 / 21 / 8 / 6 %).
- b_k = cores · 0.02 GB/s, written as the application's `bandwidth`. It may exceed B: three of the four do (004 §3.2).
- C = s / b_k; period P = √(2·C·µ / cores), µ the MTBF of one core in years of 365.25 days.
- Walltime T: the row printed in Table 1 (16 / 4 / 32 / 30 h), which repeats the row of cores and may be a misprint, or that
  of the APEX report (262.4 / 64 / 128 / 157.2 h).
- n = max(1, ⌊T / (P + C)⌋) iterations of work P · U[0.85, 1.15] and a write: P does not include C, the application begins
  with work and ends with a write. Its draws depend on the seed and its number alone.
- All wait from date 0 and start first in, first out, without backfilling, for as long as they take at full speed. The
  start is the `release`.
- I/O need: the largest sum over time of s / P of those that run, over B. Checkpoints are multiplied by
  (load / need)², since s / P grows as the square root of that factor; then periods, iterations and starts are computed
  again. That can move a start, so that other applications run together and the need reached is not always the load asked
  for. The result reports it; nothing is corrected.

GB are 10⁹ bytes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from penstock.model import Application, Phases, Platform, Workload
from penstock.model.application import WORK, WRITE
from penstock.workloads.first_fit import FreeNodes
from penstock.workloads.parameters import Floats, parameter, require

GB: Final = 1e9
HOUR: Final = 3600.0
YEAR: Final = 365.25 * 86_400.0
CORES: Final = 96_000
BANDWIDTH: Final = 160.0 * GB
CORE_BANDWIDTH: Final = 0.02 * GB
NAMES: Final = ("eap", "lap", "silverton", "vpic")
FREQUENCY: Final = (0.65, 0.21, 0.08, 0.06)
APPLICATION_CORES: Final = (16_000, 4_000, 32_000, 30_000)
CHECKPOINT: Final = (3_200.0 * GB, 2_000.0 * GB, 44_800.0 * GB, 3_750.0 * GB)
WALLTIMES: Final = MappingProxyType({"printed": (16.0, 4.0, 32.0, 30.0), "apex": (262.4, 64.0, 128.0, 157.2)})
"""Hours, by where they come from."""


@dataclass(frozen=True)
class Lanl:
    """The parameters of the checkpointing applications (004 §7.1)."""

    load: float = parameter("wanted I/O need: the largest bandwidth that checkpoints need at a time, over B")
    mtbf: float = parameter("mean time between failures of one core", 5.0, symbol="µ", unit="years")
    applications: int = parameter("how many applications", 30)
    walltimes: str = parameter("printed: the row of Table 1; or apex: that of the APEX report", "printed")
    variability: float = parameter("the work between two checkpoints varies by this part of it, 0 to 1", 0.15)

    def __post_init__(self) -> None:
        require(math.isfinite(self.load) and self.load > 0.0, "load", self.load, "a number above 0")
        require(math.isfinite(self.mtbf) and self.mtbf > 0.0, "mtbf", self.mtbf, "years, above 0")
        require(1 <= self.applications < 2**31, "applications", self.applications, "1 or more")
        require(self.walltimes in WALLTIMES, "walltimes", repr(self.walltimes), " or ".join(WALLTIMES))
        require(0.0 <= self.variability <= 1.0, "variability", self.variability, "a number from 0 to 1")


@dataclass(frozen=True)
class LanlDraw:
    """A set of applications that was drawn.

    Attributes:
        workload: The applications on their machine.
        need: The I/O need with the checkpoints of Table 1.
        factor: What multiplies those checkpoints.
        load: The I/O need that this gives.

    """

    workload: Workload
    need: float
    factor: float
    load: float

    def summary(self) -> str:
        """One line for a user."""
        scaled = f"checkpoints of Table 1 (I/O need {self.need:.3f}) times {self.factor:.4g}"
        return f"{scaled}: I/O need {self.load:.3f}"


@dataclass(frozen=True)
class _Checkpoints:
    """For each of the four applications: checkpoint s in bytes, its seconds C, period P in seconds, iterations n."""

    size: Floats
    seconds: Floats
    period: Floats
    count: list[int]

    @classmethod
    def of(cls, parameters: Lanl, factor: float) -> _Checkpoints:
        size, cores = factor * np.array(CHECKPOINT), np.array(APPLICATION_CORES)
        seconds = size / (cores * CORE_BANDWIDTH)
        period = np.sqrt(2.0 * seconds * parameters.mtbf * YEAR / cores)
        walltime = HOUR * np.array(WALLTIMES[parameters.walltimes])
        count = np.maximum(1.0, np.floor(walltime / (period + seconds)))
        return cls(size, seconds, period, count.astype(np.int64).tolist())


def lanl(parameters: Lanl, seed: int) -> LanlDraw:
    """Draw a set of applications (004 §7.1).

    Args:
        parameters: those of the set.
        seed: The same seed gives the same set.

    Returns:
        The workload, and how its checkpoints were scaled.

    Example:
        >>> drawn = lanl(Lanl(load=0.5, applications=4), seed=1)
        >>> len(drawn.workload.applications), drawn.load > 0.0
        (4, True)
    """
    kinds = np.random.default_rng(seed).choice(len(NAMES), parameters.applications, p=FREQUENCY).tolist()
    _, need = _scheduled(parameters, seed, kinds, 1.0)
    factor = (parameters.load / need) ** 2
    applications, load = _scheduled(parameters, seed, kinds, factor)
    workload = Workload(Platform(BANDWIDTH, CORE_BANDWIDTH, CORES), applications)
    return LanlDraw(workload, need, factor, load)


def _scheduled(parameters: Lanl, seed: int, kinds: list[int], factor: float) -> tuple[tuple[Application, ...], float]:
    """The applications with their starts, and their I/O need."""
    checkpoints = _Checkpoints.of(parameters, factor)
    free = FreeNodes(CORES)
    start = 0.0
    applications, changes = [], []
    for job, kind in enumerate(kinds):
        cores = APPLICATION_CORES[kind]
        phases = Phases(*_phases(checkpoints, kind, parameters.variability, seed, job))
        bandwidth = cores * CORE_BANDWIDTH
        seconds = float(phases.dedicated_seconds(bandwidth).sum())
        start = free.first_fit(cores, seconds, start)
        free.take(cores, start, start + seconds)
        applications.append(Application(f"{NAMES[kind]}-{job}", phases, cores, start, bandwidth=bandwidth))
        rate = float(checkpoints.size[kind] / checkpoints.period[kind])
        changes += [(start, rate), (start + seconds, -rate)]
    # At one date ends come first, as they make room for starts.
    need = np.cumsum([rate for _, rate in sorted(changes)]).max() / BANDWIDTH
    return tuple(applications), float(need)


def _phases(checkpoints: _Checkpoints, kind: int, variability: float, seed: int, job: int) -> tuple[np.ndarray, Floats]:
    """Kinds and amounts of the phases: work, write, work, write …"""
    count = checkpoints.count[kind]
    random = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(job,)))
    amounts = np.empty(2 * count)
    amounts[::2] = checkpoints.period[kind] * (1.0 + variability * random.uniform(-1.0, 1.0, count))
    amounts[1::2] = checkpoints.size[kind]
    return np.tile(np.array([WORK, WRITE], np.uint8), count), amounts
