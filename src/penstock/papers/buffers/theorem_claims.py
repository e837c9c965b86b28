"""B4 to B6 of 004: one application by construction and by program, averaged rates, and the hardness of a stretch above 1."""

from __future__ import annotations

from typing import Final

import numpy as np

from penstock.model import Application, Platform, Workload
from penstock.papers.claims import Check, Verdict
from penstock.planning.buffers.checking import check
from penstock.planning.buffers.dominant import averaged, wandering
from penstock.planning.buffers.hardness import reachable, split
from penstock.planning.buffers.plan import DYNAMIC, STATIC
from penstock.planning.buffers.replay import replay
from penstock.planning.buffers.single import alone, alone_by_program

EQUAL: Final = 1e-6
"""Relative difference of two sizes that are the same."""


def b4(instances: int) -> Verdict:
    """B4 (Section 5)."""
    random = np.random.default_rng(4)
    kinds = {"writes only": ("write",), "reads only": ("read",), "B ≥ B_r + B_w": ("read", "write")}
    checks = []
    for words, directions in kinds.items():
        apart = []
        for _ in range(instances):
            application = _application(random, directions)
            limits = random.uniform(1.0, 4.0, 2)
            whole = float(limits.sum() if len(directions) == 2 else limits.max())
            platform = Platform(whole, read_bandwidth=float(limits[0]), write_bandwidth=float(limits[1]))
            apart.append(_apart(alone(application, platform).peak, alone_by_program(application, platform)))
        checks.append(Check(f"{words}: construction and program agree to 1e-6", f"{max(apart):.1e}", max(apart) <= EQUAL))
    less = []
    for _ in range(instances):
        application, platform = _application(random, ("read", "write")), Platform(2.0)
        joint, apart_caps = alone_by_program(application, platform), alone(application, platform).peak
        if joint is not None and apart_caps is not None:
            less.append(joint - apart_caps)
    checks.append(
        Check(
            "a joint cap never takes less than separate caps of the same size",
            f"smallest difference {min(less, default=0.0):.2e} bytes in {len(less)} cases",
            min(less, default=0.0) >= -EQUAL * 100.0,
        )
    )
    return Verdict("B4", "§5", "peak for one application: by construction, and by program for a joint cap", tuple(checks))


def b5(instances: int) -> Verdict:
    """B5 (Theorem 1)."""
    random = np.random.default_rng(5)
    checks = []
    for mode in (STATIC, DYNAMIC):
        broken, grown, slowest = 0, 0.0, 1.0
        for seed in range(instances):
            applications = tuple(
                _application(random, ("write",), f"a{index}", release=float(random.uniform(0.0, 30.0))) for index in range(3)
            )
            plan = wandering(Workload(Platform(2.0), applications), mode, seed)
            smooth = averaged(plan)
            found = check(smooth)
            broken += not found.holds
            assert plan.size is not None
            grown = max(grown, found.size / plan.size - 1.0)
            slowest = max(slowest, replay(smooth).max_stretch)
        checks.append(
            Check(
                f"{mode}: with mean rates between events all constraints hold, no buffer is larger, the stretch stays 1",
                f"{broken} of {instances} broken; size {grown:+.1e}; stretch 1 + {slowest - 1.0:.1e}",
                broken == 0 and grown <= EQUAL and slowest <= 1.0 + EQUAL,
            )
        )
    return Verdict("B5", "Theorem 1", "averaging rates between events keeps stretch and buffer size", tuple(checks))


def b6(instances: int) -> Verdict:
    """B6 (Theorem 2)."""
    random = np.random.default_rng(6)
    agree, splittable = 0, 0
    for _ in range(instances):
        integers = _integers(random)
        groups = split(integers, 2) is not None
        splittable += groups
        agree += groups == reachable(integers, 2, 1.25)
    return Verdict(
        "B6",
        "Theorem 2",
        "the 3-PARTITION instance meets stretch ρ with no buffer exactly when the integers can be split",
        (
            Check(
                "groups of equal sums, or no schedule, for every instance (ρ = 1.25, two groups, all orders tried)",
                f"{agree} of {instances}; {splittable} can be split",
                agree == instances and 0 < splittable < instances,
            ),
        ),
    )


def _application(
    random: np.random.Generator, directions: tuple[str, ...], name: str = "a", release: float = 40.0
) -> Application:
    """An application of three iterations that is faster than the file system."""
    phases = [
        phase
        for _ in range(3)
        for phase in (
            *((("read", float(random.uniform(5.0, 40.0))),) if "read" in directions else ()),
            ("work", float(random.uniform(5.0, 30.0))),
            *((("write", float(random.uniform(5.0, 40.0))),) if "write" in directions else ()),
        )
    ]
    return Application.of(name, phases, bandwidth=float(random.uniform(3.0, 9.0)), release=release)


def _apart(one: float | None, other: float | None) -> float:
    """Relative difference; infinite if only one of them exists."""
    if one is None or other is None:
        return 0.0 if one is other else np.inf
    return abs(one - other) / max(one, other, 1.0)


def _integers(random: np.random.Generator) -> list[int]:
    """Five integers with an even sum, none above half of it: about half of such sets can be split in two."""
    while True:
        integers = random.integers(3, 12, 5).tolist()
        if sum(integers) % 2 == 0 and 2 * max(integers) <= sum(integers):
            return [int(integer) for integer in integers]
