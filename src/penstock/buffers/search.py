"""Search for the stretch that a buffer of a given size allows, and for the size that a given stretch takes (004 §3.3).

X-Stretch(S) and X-Buffer-Size(ρ) for ρ > 1 are NP-hard (004 Theorems 2, 3). The search runs strategies, each a way to
divide the buffer and a policy that shares the file system, and keeps the best. The result is an upper bound;
`lower_bounds` has the bound on the other side.
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
from penstock.renamed import old_names

__getattr__ = old_names(__name__, Found="BufferTrial")

POLICIES: Final = ("best-effort", "fair-share", "fcfs", "set-10", "greedy-yield", "greedy-com", "due-yield")
"""Policies that share the file system in a search, the paper's fair sharing first."""
THRESHOLDS: Final = (0.0, 0.5)
"""Parts of its space that output fills before it is drained."""
PRECISION: Final = 0.01
"""Relative precision of a size."""
DIGITS: Final = 9
"""Decimals of a stretch that count when strategies are compared."""
STEPS: Final = 16
"""Sizes that are tried at first, from 0 to the largest: a stretch need not fall as the size grows."""


@dataclass(frozen=True)
class BufferStrategy:
    """How a buffer is divided and drained.

    Attributes:
        mode: `static` (shares in proportion to given ones) or `dynamic` (one pool).
        policy: The policy that shares the file system.
        threshold: Output is drained once it fills this part of its space.
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
        """Simulate the workload with a buffer of `size` bytes; `parts` are the shares of a buffer of size 1."""
        space: dict[str, Any] = {"shares": size * parts} if self.mode == STATIC else {"pool": size}
        return replay(workload, policy=self.policy, threshold=self.threshold, capped=capped, trace=trace, **space)


@dataclass(frozen=True)
class BufferTrial:
    """The run of a strategy with a buffer of `size` bytes."""

    strategy: BufferStrategy
    size: float
    replay: Result

    @property
    def stretch(self) -> float:
        """Largest stretch, by dates."""
        return self.replay.max_stretch

    def to_dict(self) -> dict[str, Any]:
        """The trial for JSON."""
        return {
            "strategy": self.strategy.label,
            "mode": self.strategy.mode,
            "policy": self.strategy.policy,
            "threshold": self.strategy.threshold,
            "size": self.size,
            **measures(self.replay),
        }


def measures(one: Result) -> dict[str, float]:
    """The stretches of a run: by dates, as in the paper's claims, and by durations."""
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
    """All combinations, those with the first threshold and policy first."""
    return tuple(
        BufferStrategy(mode, policy, threshold) for threshold in thresholds for policy in policies for mode in modes
    )


def parts_of(plan: BufferPlan) -> Floats:
    """The shares of a static plan as parts of its size; all 0 where no application needs a buffer."""
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
) -> list[BufferTrial]:
    """Run strategies with a buffer of a given size: X-Stretch(S) of 004 §3.3.

    Args:
        workload: Applications and platform.
        size: Bytes.
        parts: Shares of a buffer of size 1, one an application (see `parts_of`).
        tried: The strategies.
        capped: Take speeds as min(b_k, B).

    Returns:
        One trial a strategy, smallest stretch first; strategies whose stretches differ only by rounding stay in order.
    """
    found = [trial(workload, strategy, parts, capped, size) for strategy in tried]
    return sorted(found, key=lambda one: round(one.stretch, DIGITS))


def smallest_size(
    workload: Workload,
    stretch: float,
    largest: float,
    parts: Floats,
    tried: Iterable[BufferStrategy],
    *,
    capped: bool = False,
) -> list[BufferTrial]:
    """Find the smallest buffer with which each strategy reaches a stretch: X-Buffer-Size(ρ) of 004 §3.3.

    A few sizes from 0 to the largest are tried. Between the first that reaches the stretch and the one before it, bisection
    finds the size.

    Args:
        workload: Applications and platform.
        stretch: Largest stretch allowed, by dates.
        largest: Bytes of the largest buffer that is tried.
        parts: Shares of a buffer of size 1, one an application (see `parts_of`).
        tried: The strategies.
        capped: Take speeds as min(b_k, B).

    Returns:
        One trial for each strategy that reaches the stretch, smallest size first.

    Example:
        10 s of work, then 40 bytes at 5 bytes/s on a file system of 2 bytes/s: full speed takes 18 s and 24 bytes of
        buffer. With a stretch of 1.2 the application may end at 21.6 s, and 23.2 bytes have left by then.

        >>> from penstock.buffers import size
        >>> from penstock.model import Application, Platform, Workload
        >>> writer = Application.of("a", [("work", 10.0), ("write", 40.0)], bandwidth=5.0)
        >>> workload = Workload(Platform(2.0), (writer,))
        >>> plan = size(workload)
        >>> best = smallest_size(workload, 1.2, 2.0 * plan.size, parts_of(plan), [BufferStrategy("static")])[0]
        >>> best.strategy.label, 16.8 <= best.size <= 1.01 * 16.8
        ('static, best-effort', True)
    """
    runs = (partial(trial, workload, strategy, parts, capped) for strategy in tried)
    found = [reached for run in runs if (reached := _reached(run, stretch, largest)) is not None]
    return sorted(found, key=lambda one: one.size)


def trial(workload: Workload, strategy: BufferStrategy, parts: Floats, capped: bool, size: float) -> BufferTrial:
    """Run one strategy with a buffer of `size` bytes."""
    return BufferTrial(strategy, size, strategy.run(workload, size, parts, capped=capped))


def _reached(run: Callable[[float], BufferTrial], stretch: float, largest: float) -> BufferTrial | None:
    """The run with the smallest size found that reaches the stretch; None if none does."""
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
