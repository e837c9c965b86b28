"""Small machines whose right answers are known by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.model import Application, Platform, Workload

HALF_AN_HOUR = 1800.0
CHAIN = [("work", HALF_AN_HOUR), ("write", HALF_AN_HOUR)]
"""An hour alone, on a link of 1 byte/s."""


def colliding(recorded: float | None = 5400.0, count: int = 2, **options: Any) -> Workload:
    """Jobs a, b, … of one node that are there at 0 and write at the same time on a link that one of them fills.

    Alone each takes 3,600 s. Two share the link for 3,600 s after 1,800 s of work, and end at 5,400 s.
    """
    record = None if recorded is None else (0.0, recorded)
    jobs = [Application.of(name, CHAIN, recorded=record, user=f"u{name}", **options) for name in "abcdefg"[:count]]
    return Workload(Platform(1.0, nodes=count), tuple(jobs))


def peaceful() -> Workload:
    """Two jobs that need half of the link each, so that nobody ever waits for I/O."""
    jobs = [Application.of(name, CHAIN, bandwidth=0.5, recorded=(0.0, 5400.0)) for name in "ab"]
    return Workload(Platform(1.0, nodes=2), tuple(jobs))


def week(resources: int | None = None, seed: int = 5, jobs: int = 40) -> Workload:
    """Jobs of some days, at random dates, of three users; each was recorded to take its time alone."""
    random = np.random.default_rng(seed)
    platform = Platform(10e9, node_bandwidth=1e9, nodes=64, resources=resources)
    members = []
    for number in range(jobs):
        nodes = int(random.integers(1, 17))
        volume = float(random.uniform(0.05, 0.4)) * 600.0 * min(nodes * 1e9, 10e9)
        chain = [("work", float(random.uniform(300.0, 900.0))), ("write", volume)] * 4
        start = float(random.uniform(0.0, 6.0 * 86400.0))
        plain = Application.of(f"{'flow' if number % 2 else 'heat'}-{number}", chain, nodes=nodes, user=f"u{number % 3}")
        seconds = plain.seconds_alone(plain.cap(platform))
        members.append(
            Application.of(
                plain.name, chain, nodes=nodes, user=plain.user, submit=start, release=start, recorded=(start, seconds)
            )
        )
    return Workload(platform, tuple(members))
