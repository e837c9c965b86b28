"""Replaying a workload beside a burst buffer of a given size (004 §7)."""

from __future__ import annotations

from typing import Any

from penstock.engine.buffering import Buffering
from penstock.engine.result import Result
from penstock.engine.run import Run
from penstock.model import InputError, Workload
from penstock.policies.policy import Policy


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
    """Run the workload to its end beside a burst buffer, and until the buffer is drained.

    The buffer is divided into `shares`, bytes an application, or is one `pool` of so many bytes; without either, a pool of
    the size that the platform's buffer has. The `policy` shares the I/O system, which is one link here; best-effort is the
    equal sharing of 004 §7. The other options are those of `Buffering` and `Run`.
    """
    require_from_origin(workload)
    buffer = Buffering(pool, shares, threshold, capped)
    return Run(workload, policy, placement=False, buffer=buffer, to_the_end=True, trace=trace, check=check).finish()


def require_from_origin(workload: Workload) -> float:
    """The date that counts as 0, the begin of the window or 0 without one; nobody may be released before."""
    origin = workload.window[0] if workload.window else 0.0
    for index, application in enumerate(workload.applications):
        if application.release < origin:
            place = f"applications[{index}].release"
            raise InputError(place, f"{application.release} s is before the clock's 0; expected {origin} s or later")
    return origin
