"""A small workload to look at: eight applications of three kinds in one hour of a busy machine."""

from __future__ import annotations

import numpy as np

from penstock.model import Application, Phases, Platform, Workload
from penstock.model.phases import READ, WORK, WRITE

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
