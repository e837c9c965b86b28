"""Two ways to run a workload that papers measure by: placed on I/O resources in a steady state, and beside a buffer.

**Placed applications (002 §III.C).** `simulate_placement` repeats the chains of all applications. Measures are taken on
the interval [0, T] from the start of the run. T is the horizon, or the end of the slowest first I/O operation if that is
later. An operation under way counts with its elapsed time and what it has moved. The paper's own interval ends with the
first application; it is meaningful only if all applications have completed an operation. Some policies can starve an
application: a run stops after `PATIENCE` times what equal sharing could take.

**Burst buffer (004 §7).** `replay` runs a workload to its end beside a buffer of a given size, and until it is drained.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from penstock.engine.machine import Buffering
from penstock.engine.result import Result
from penstock.engine.run import Run
from penstock.engine.setup import Chains
from penstock.engine.terms import ALL_TRANSFERRED, NEVER, ONE_ENDED
from penstock.model import InputError, Workload
from penstock.policies.policy import STATIC, Policy
from penstock.policies.registry import find

HORIZON: Final = 5000.0
"""Seconds that are measured at least (002 §V.C)."""
STEADY: Final = "steady"
FIRST_END: Final = "first-end"
INTERVALS: Final = (STEADY, FIRST_END)
MOST_OPERATIONS: Final = 1e9
PATIENCE: Final = 10.0
"""A run waits for the first operation of everyone this many times as long as the longest chain takes under equal sharing."""


def simulate_placement(
    workload: Workload,
    placement: Sequence[Sequence[int]],
    policy: Policy | str = "best-effort",
    *,
    horizon: float = HORIZON,
    interval: str = STEADY,
) -> Result:
    """Run applications on the I/O resources they are placed on, in a steady state (002 §III.C).

    Chains repeat. The run begins at T_begin, or without a window at the earliest release.

    Args:
        workload: applications with curves, on a platform of I/O resources.
        placement: for each application the resources it uses, numbered from 0.
        policy: how each resource is shared; best-effort, the paper's, gives everyone an equal part.
        horizon: seconds to measure at least.
        interval: "steady", or "first-end" for the paper's interval, which ends with the first application.

    Returns:
        The run, with slowdowns by allocation and by congestion.

    Raises:
        InputError: for a static policy, an unknown interval, or chains too short to repeat for so long.

    Example:
        Two applications transfer 8 bytes at 2 bytes/s again and again. On one resource each takes 8 s instead of 4 s.

        >>> from penstock import Application, Platform, Workload
        >>> members = tuple(Application.of(name, [("io", 8.0)], curve={1: 2.0}) for name in "ab")
        >>> workload = Workload(Platform(4.0, resources=2), members)
        >>> [simulate_placement(workload, used).mean_slowdown for used in ([[0], [0]], [[0], [1]])]
        [2.0, 1.0]
    """
    chosen = usable_policy(policy)
    require_measurable(horizon, interval)
    run = Run(workload, chosen, placement=placement, repeat=True, to_the_end=True, horizon=horizon)
    starts = np.array([workload.start(a) - workload.begin + a.lead for a in workload.applications])
    longest = float((starts + run.chains.cycle).max())
    _refuse_endless(run.chains, max(horizon, longest) if interval == STEADY else 0.0)
    if interval == FIRST_END:
        run.go(math.inf, ONE_ENDED)
    else:
        run.go(workload.begin + horizon, NEVER)
        sharing = int(np.bincount([resource for used in placement for resource in used]).max())
        run.go(workload.begin + PATIENCE * sharing * longest, ALL_TRANSFERRED)
    return run.result()


def usable_policy(policy: Policy | str) -> Policy:
    """The policy if it can share a resource; InputError for a static order."""
    chosen = find(policy) if isinstance(policy, str) else policy
    if chosen.family == STATIC:
        raise InputError(
            f"policy {chosen.name}", "chains repeat without end; expected a policy without an order of them all"
        )
    return chosen


def require_measurable(horizon: float, interval: str) -> None:
    """Refuse an unknown interval and a horizon that is not above 0."""
    if interval not in INTERVALS:
        raise InputError("interval", f"{interval!r} is unknown; expected {' or '.join(INTERVALS)}")
    if not 0.0 < horizon < math.inf:
        raise InputError("horizon", f"{horizon} s are no horizon; expected a finite number of seconds above 0")


def _refuse_endless(chains: Chains, seconds: float) -> None:
    """Refuse chains so short that they would repeat almost without end in so many seconds."""
    cycle = chains.cycle
    for index in np.flatnonzero(np.array(chains.lengths) * seconds > MOST_OPERATIONS * cycle).tolist():
        raise InputError(
            f"applications[{index}]",
            f"its chain of {cycle[index]:g} s is too short to be repeated for {seconds:g} s; expected a longer one",
        )


def replay(
    workload: Workload,
    shares: Any = None,
    pool: float | None = None,
    policy: Policy | str = "best-effort",
    threshold: float = 0.0,
    *,
    capped: bool = False,
    trace: bool = False,
    check: bool = False,
) -> Result:
    """Run a workload to its end beside a burst buffer, and until the buffer is drained (004 §7).

    Args:
        workload: what runs, on one link.
        shares: bytes of the buffer for each application.
        pool: bytes of the buffer as one pool. Without shares and pool, the size of the platform's buffer.
        policy: how the I/O system is shared; best-effort is the equal sharing of 004 §7.
        threshold: see `Buffering`.
        capped: see `Buffering`.
        trace: see `Run`.
        check: see `Run`.

    Raises:
        InputError: if an application is released before date 0 of the clock, or the buffer does not fit.
    """
    require_from_origin(workload)
    buffer = Buffering(pool, shares, threshold, capped)
    return Run(workload, policy, placement=False, buffer=buffer, to_the_end=True, trace=trace, check=check).finish()


def require_from_origin(workload: Workload) -> float:
    """The date that counts as 0: T_begin, or 0 without a window. Refuses a workload with an earlier release."""
    origin = workload.window[0] if workload.window else 0.0
    for index, application in enumerate(workload.applications):
        if application.release < origin:
            place = f"applications[{index}].release"
            raise InputError(place, f"{application.release} s is before the clock's 0; expected {origin} s or later")
    return origin
