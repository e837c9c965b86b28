"""The jobs of a trace as a stream of applications, each released at its date on the machine of the trace.

A trace says when jobs came, how long they ran and on how many processors, and nothing about their I/O. The model is:

- nodes: the processors over the cores of a node, rounded up;
- the run time T is that of the job alone: work (1 − f)·T and volume f·T·cap, cap = min(nodes · b, B);
- the I/O fraction f is drawn for each job: N(mean, σ²) truncated to [0, most], by default N(0.1, 0.1²) on [0, 0.9];
- every job has the same number of iterations, each with the same work and the same volume;
- B = 1 unless given, so that volumes are seconds of the whole link; b = 4·B / nodes of the machine unless given, so that a
  quarter of the machine fills the link.

The fraction of a line depends on the seed and its place in the file, not on which jobs are taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from penstock.model import Application, InputError, Phases, Platform, Workload
from penstock.model.phases import IO, MOST_PHASES, WORK
from penstock.workloads.distributions import Floats, require, truncated_normal
from penstock.workloads.parameters import parameter
from penstock.workloads.swf import RELEASES, Choice, SwfJobs, jobs_of, moment, read_swf

SATURATING: Final = 0.25
"""The part of the nodes that fills the link, unless the bandwidth of a node is given."""


@dataclass(frozen=True)
class Swf(Choice):
    """What is taken from a trace, and the I/O of its jobs."""

    iterations: int = parameter("iterations of each job", 100)
    io_fraction: float = parameter("mean of f, the part of a job's run time that is I/O", 0.1)
    io_sigma: float = parameter("standard deviation of f", 0.1)
    io_most: float = parameter("largest f", 0.9)
    bandwidth: float = parameter(
        "bandwidth of the link", 1.0, symbol="B", unit="bytes/s", default_text="1: volumes are seconds of the link"
    )
    node_bandwidth: float = parameter(
        "bandwidth of one node",
        0.0,
        symbol="b",
        unit="bytes/s",
        default_text="4·B / nodes: a quarter of them fills the link",
    )

    def __post_init__(self) -> None:
        if self.since:
            moment(self.since)
        require(self.release in RELEASES, "release", repr(self.release), " or ".join(RELEASES))
        require(1 <= self.iterations < 2**31, "iterations", self.iterations, "1 or more")
        require(0.0 <= self.io_most <= 1.0, "io_most", self.io_most, "a number from 0 to 1")
        require(0.0 <= self.io_fraction <= self.io_most, "io_fraction", self.io_fraction, f"0 to io_most, {self.io_most}")
        require(math.isfinite(self.bandwidth) and self.bandwidth > 0.0, "bandwidth", self.bandwidth, "bytes/s above 0")
        for name in ("duration", "io_sigma", "node_bandwidth"):
            value = getattr(self, name)
            require(math.isfinite(value) and value >= 0.0, name, value, "a number, 0 or more")
        for name in ("nodes", "cores_per_node"):
            value = getattr(self, name)
            require(0 <= value < 2**31, name, value, "1 or more, or 0 for what the trace says")


@dataclass(frozen=True)
class Stream:
    """The workload, and the jobs that it was made from."""

    workload: Workload
    jobs: SwfJobs

    def summary(self) -> Iterator[str]:
        """Lines for a user: how many jobs were kept, left out and repaired, and why."""
        kept = len(self.jobs.names)
        yield f"{self.jobs.lines:,} lines: {kept:,} jobs kept, {self.jobs.lines - kept:,} left out"
        for what, counts in (("left out", self.jobs.left_out), ("kept", self.jobs.put_right)):
            for reason, count in counts.items():
                yield f"  {what}: {count:,} {reason}"


def stream(path: str, parameters: Swf, seed: int) -> Stream:
    """Make a stream from a trace. 24,000 jobs of 100 iterations take 1 s.

    Args:
        path: The trace, plain or ``.gz``.
        parameters: Which jobs are taken, and their I/O.
        seed: The same seed gives the same stream.

    Raises:
        InputError: The trace cannot be read, no job is left, or there are too many phases.

    """
    trace = read_swf(path)
    jobs = jobs_of(trace, parameters, path)
    if 2 * len(jobs.names) * parameters.iterations > MOST_PHASES:
        raise InputError(
            "iterations",
            f"{parameters.iterations} of {len(jobs.names):,} jobs make over {MOST_PHASES:,} phases; expected fewer",
        )
    chances = np.random.default_rng(seed).random(len(trace.columns))[jobs.places]
    fractions = truncated_normal(chances, parameters.io_fraction, parameters.io_sigma, 0.0, parameters.io_most)
    node_bandwidth = parameters.node_bandwidth or parameters.bandwidth / (SATURATING * jobs.nodes)
    platform = Platform(parameters.bandwidth, node_bandwidth, jobs.nodes)
    return Stream(Workload(platform, _applications(jobs, fractions, platform, parameters.iterations)), jobs)


def _applications(jobs: SwfJobs, fractions: Floats, platform: Platform, iterations: int) -> tuple[Application, ...]:
    """An application for each job; the chains are rows of one array."""
    caps = np.array([platform.cap(size) for size in jobs.sizes.tolist()])
    amounts = np.empty((len(fractions), 2 * iterations))
    amounts[:, 0::2] = ((1.0 - fractions) * jobs.seconds / iterations)[:, None]
    amounts[:, 1::2] = (fractions * jobs.seconds * caps / iterations)[:, None]
    kinds = np.tile(np.array([WORK, IO], np.uint8), iterations)
    kinds.flags.writeable = amounts.flags.writeable = False
    rows = zip(jobs.names, amounts, jobs.sizes.tolist(), jobs.releases.tolist(), strict=True)
    return tuple(Application(name, Phases(kinds, row), nodes=size, release=release) for name, row, size, release in rows)
