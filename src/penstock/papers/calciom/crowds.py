"""Beyond the two applications that 003 measures: does the choice pay for more, as §III.A says it extends to them?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from penstock.engine import simulate
from penstock.model import Application, Platform, Workload
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import CLAIM_SAME
from penstock.papers.calciom.scenarios import CalciomScale
from penstock.papers.claims import ClaimCheck, Verdict
from penstock.policies.coordinating import METRICS

MEMBERS: Final = 6
RARELY: Final = 0.05
"""Part of the sets in which the choice may turn out worse: nobody knows who comes later."""
KINDS: Final = {"who fill the link": (1.0, 1.0), "who can use 0.2 to 1 of it": (0.2, 1.0)}


def crowds(count: int, caps: tuple[float, float]) -> Iterator[Workload]:
    """Sets of six applications of any size that write once, within a time in which the link carries less than they write."""
    random = np.random.default_rng(7)
    for _ in range(count):
        members = [
            Application.of(
                f"a{index}",
                [("write", float(random.uniform(0.2, 5.0)))],
                nodes=int(random.integers(1, 65)),
                release=float(random.uniform(0.0, MEMBERS)),
                bandwidth=float(random.uniform(*caps)),
            )
            for index in range(MEMBERS)
        ]
        yield Workload(Platform(1.0), tuple(members))


def metrics_of(workload: Workload, policy: str) -> Floats:
    """The metrics of the machine under a policy, in the order of METRICS."""
    members = workload.applications
    ends = [application.end for application in simulate(workload, policy).applications]
    times = np.array(ends, np.float64) - [member.release for member in members]
    factors = times / [member.seconds_alone(member.cap(workload.platform)) for member in members]
    nodes = np.array([member.nodes for member in members])
    return np.array([nodes @ times, factors.sum(), times.sum(), factors.max()])


def many(scale: CalciomScale) -> Verdict:
    """More than two applications."""
    checks = []
    for kind, caps in KINDS.items():
        sets = list(crowds(scale.pairs, caps))
        interfering = np.array([metrics_of(workload, "interfering") for workload in sets])
        for place, metric in enumerate(METRICS):
            chosen = np.array([metrics_of(workload, f"coordinating:metric={metric}")[place] for workload in sets])
            ratios = chosen / interfering[:, place]
            worse = int(np.count_nonzero(ratios > 1.0 + CLAIM_SAME))
            checks.append(
                ClaimCheck(
                    f"{MEMBERS} {kind}, {metric}: below interfering on average, above it in at most {RARELY:.0%} of sets",
                    f"{float(ratios.mean()):.3f} times; above in {worse} of {len(sets)}",
                    bool(ratios.mean() < 1.0 and worse <= RARELY * len(sets)),
                )
            )
    return Verdict("many", "§III.A", "the choice extends to more than two applications", tuple(checks))
