"""What a buffer of a given size can do, and which size a given stretch takes, as far as a search finds (004 §3.3).

X-Stretch(S) and X-Buffer-Size(ρ) for ρ > 1 are NP-hard (004 Theorems 2, 3). The search runs strategies, each a way to divide
the buffer and a policy that shares the file system, and keeps the best: an upper bound. The lower bound of
`penstock.buffers.lower_bounds` is put beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from penstock.buffers.plan import DYNAMIC, STATIC, BufferPlan
from penstock.engine import Result
from penstock.engine.scenarios import replay
from penstock.model import InputError, Workload
from penstock.numeric.arrays import Floats
from penstock.numeric.tolerances import STRETCH_PRECISION

POLICIES: Final = ("best-effort", "fair-share", "fcfs", "set-10", "greedy-yield", "greedy-com", "due-yield")
"""What shares the file system in a search: the paper's fair sharing first."""
THRESHOLDS: Final = (0.0, 0.5)
PRECISION: Final = 0.01
"""A size is found to this part of it."""
DIGITS: Final = 9
"""Of a stretch: those behind the point that count when strategies are compared."""
STEPS: Final = 16
"""Sizes that are tried at first, from 0 to the largest; a stretch need not fall as the size grows."""


@dataclass(frozen=True)
class BufferStrategy:
    """`mode` is static, shares in proportion to given ones, or dynamic, one pool; `policy` shares the file system; output is
    drained once it fills the part `threshold` of its space.
    """

    mode: str
    policy: str = "best-effort"
    threshold: float = 0.0

    @property
    def label(self) -> str:
        """A short name: ``static, best-effort``, ``dynamic, fcfs, from 50 %``."""
        waiting = f", from {100.0 * self.threshold:g} %" if self.threshold else ""
        return f"{self.mode}, {self.policy}{waiting}"

    def run(self, workload: Workload, size: float, parts: Floats, *, capped: bool = False, trace: bool = False) -> Result:
        """The workload with a buffer of this size; `parts` are the shares of a buffer of size 1."""
        space: dict[str, Any] = {"shares": size * parts} if self.mode == STATIC else {"pool": size}
        return replay(workload, policy=self.policy, threshold=self.threshold, capped=capped, trace=trace, **space)


@dataclass(frozen=True)
class Found:
    """A strategy with a buffer of this size, and the largest stretch it has."""

    strategy: BufferStrategy
    size: float
    replay: Result

    @property
    def stretch(self) -> float:
        """The largest stretch, by dates."""
        return self.replay.max_stretch

    def to_dict(self) -> dict[str, Any]:
        """The finding as JSON has it."""
        return {
            "strategy": self.strategy.label,
            "mode": self.strategy.mode,
            "policy": self.strategy.policy,
            "threshold": self.strategy.threshold,
            "size": self.size,
            **measures(self.replay),
        }


def measures(one: Result) -> dict[str, float]:
    """The stretches of a replay: by dates, which the paper's claims are about, and by durations."""
    return {
        "max_stretch": one.max_stretch,
        "mean_stretch": one.mean_stretch,
        "max_duration_stretch": one.max_duration_stretch,
        "mean_duration_stretch": one.mean_duration_stretch,
    }


def strategies(
    modes: Sequence[str] = (STATIC, DYNAMIC),
    policies: Sequence[str] = POLICIES,
    thresholds: Sequence[float] = THRESHOLDS,
) -> tuple[BufferStrategy, ...]:
    """All combinations, those of the first threshold and policy first."""
    return tuple(
        BufferStrategy(mode, policy, threshold) for threshold in thresholds for policy in policies for mode in modes
    )


def parts_of(plan: BufferPlan) -> Floats:
    """The shares of a static plan as parts of its size; nothing for everyone where nobody needs a buffer."""
    if plan.shares is None or plan.size is None:
        raise InputError("plan", f"it is {plan.mode} and {plan.status}; expected a static one with shares")
    return plan.shares / plan.size if plan.size > 0.0 else np.zeros(len(plan.shares))


def smallest_stretch(
    workload: Workload,
    size: float,
    parts: Floats,
    tried: Iterable[BufferStrategy],
    *,
    capped: bool = False,
) -> list[Found]:
    """The strategies with a buffer of this size, the smallest stretch first; where only roundings differ, as tried."""
    found = [_found(workload, strategy, parts, capped, size) for strategy in tried]
    return sorted(found, key=lambda one: round(one.stretch, DIGITS))


def smallest_size(
    workload: Workload,
    stretch: float,
    largest: float,
    parts: Floats,
    tried: Iterable[BufferStrategy],
    *,
    capped: bool = False,
) -> list[Found]:
    """The strategies that reach the stretch with a buffer up to the `largest`, with the smallest size found, that one first.

    A few sizes from 0 on are tried, and the first one that does is made smaller by bisection towards the one before.
    """
    found = []
    for strategy in tried:
        run = partial(_found, workload, strategy, parts, capped)
        reached = _reached(run, stretch, largest)
        if reached is not None:
            found.append(reached)
    return sorted(found, key=lambda one: one.size)


def _found(workload: Workload, strategy: BufferStrategy, parts: Floats, capped: bool, size: float) -> Found:
    return Found(strategy, size, strategy.run(workload, size, parts, capped=capped))


def _reached(run: Callable[[float], Found], stretch: float, largest: float) -> Found | None:
    """The smallest size found with which the stretch is reached."""
    wanted = stretch * (1.0 + STRETCH_PRECISION)
    below = 0.0
    for size in np.linspace(0.0, largest, STEPS + 1):
        best = run(float(size))
        if best.stretch <= wanted:
            break
        below = float(size)
    else:
        return None
    while best.size - below > max(PRECISION * best.size, PRECISION * largest / STEPS):
        tried = run(0.5 * (below + best.size))
        if tried.stretch <= wanted:
            best = tried
        else:
            below = tried.size
    return best
