"""Replaying a workload beside a burst buffer of a given size (004 §7)."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from penstock.engine import loop
from penstock.engine.buffered.fill import Fill, joined, new_fill
from penstock.engine.buffered.loop import INVARIANT_ROOM, compiled_advance
from penstock.engine.buffered.state import (
    ROWS,
    Buffers,
    clock_origin,
    held_state,
    limits_of,
    new_buffers,
    seconds_alone,
)
from penstock.engine.dedicated import dedicated
from penstock.engine.faults import fault
from penstock.engine.loop import Terms
from penstock.engine.state import DECISIONS, EVENTS, FAULT_SLOT, FAULT_VALUE, NOW, State
from penstock.model import InputError, PolicyFault, Workload
from penstock.policies.naming import find
from penstock.policies.policy import STATIC, Policy
from penstock.policies.view import Floats

_ROWS: Final = 65_536


@dataclass(frozen=True)
class Replay:
    """What came of a replay; dates in seconds, arrays in the order of the workload.

    Dates count from `begin`, the clock's 0, where the stretch of eq. 3 divides them.
    """

    policy: str
    shares: Floats | None
    """S_k in bytes; None with a pool."""
    pool: float | None
    """S in bytes; None with shares."""
    threshold: float
    begin: float
    end: float
    """When the last byte was in the I/O system."""
    releases: Floats
    """r_k."""
    earliest: Floats
    """C_min: the end of each application if nothing slowed it down (004 eq. 2)."""
    ends: Floats
    """C_k: the end of each application."""
    direct_written: Floats
    """Bytes that went from the application straight to the I/O system."""
    drained: Floats
    """Bytes that went to the I/O system by way of the buffer."""
    direct_read: Floats
    """Bytes that came from the I/O system straight to the application."""
    prefetched: Floats
    """Bytes that came from the I/O system by way of the buffer."""
    peaks: Floats
    """The most bytes that each share held, or the pool."""
    events: int
    """Operations posted and completed, shares or pools full, thresholds reached, output drained, prefetched data used up,
    reads fetched ahead, periodic decisions.
    """
    decisions: int
    """How often the policy was asked."""
    seconds: float
    """Time spent in the engine."""
    fill: Fill | None = None

    @property
    def stretches(self) -> Floats:
        """C_k / C_min (004 eq. 3)."""
        return _ratio(self.ends - self.begin, self.earliest - self.begin)

    @property
    def duration_stretches(self) -> Floats:
        """(C_k − r_k) / (C_min − r_k)."""
        return _ratio(self.ends - self.releases, self.earliest - self.releases)

    @property
    def max_stretch(self) -> float:
        """The largest stretch, by dates."""
        return float(self.stretches.max())

    @property
    def mean_stretch(self) -> float:
        """The mean stretch, by dates."""
        return float(self.stretches.mean())

    @property
    def max_duration_stretch(self) -> float:
        """The largest stretch, by durations."""
        return float(self.duration_stretches.max())

    @property
    def mean_duration_stretch(self) -> float:
        """The mean stretch, by durations."""
        return float(self.duration_stretches.mean())


def _ratio(taken: Floats, alone: Floats) -> Floats:
    """taken / alone; 1 where both are 0."""
    nothing = alone <= 0.0
    return np.where(nothing, np.where(taken > 0.0, math.inf, 1.0), taken / np.where(nothing, 1.0, alone))


def replay(
    workload: Workload,
    shares: ArrayLike | None = None,
    pool: float | None = None,
    policy: Policy | str = "best-effort",
    threshold: float = 0.0,
    *,
    capped: bool = False,
    trace: bool = False,
    check: bool = False,
) -> Replay:
    """Run the workload to its end beside a burst buffer, and until the buffer is drained.

    The buffer is divided into `shares`, bytes an application, or is one `pool` of so many bytes; without either, a pool of
    the size that the platform's buffer has. Shares and pools may be 0 or infinite. The `policy` shares the I/O system;
    best-effort is the equal sharing of 004 §7. Draining begins when the output fills the part `threshold` of the share or
    pool. `capped` bounds the speeds b_w and b_r of the applications by B_w and B_r. `trace` records what is in the buffer,
    `check` the invariants after every event.
    """
    workload.require_plain_link("burst buffers")
    capacity = _capacity(workload, shares, pool)
    if not 0.0 <= threshold <= 1.0:
        raise InputError("threshold", f"{threshold!r} is no part of the buffer; expected 0 to 1")
    found = find(policy) if isinstance(policy, str) else policy
    if found.family == STATIC:
        raise InputError(f"policy {found.name}", "its order knows no buffer; expected a sharing or an exclusive policy")
    state = held_state(workload, found.plan(workload))
    buffers = new_buffers(workload, state, capacity, threshold, capped=capped)
    own = buffers.applications
    alone = np.array([seconds_alone(*pair) for pair in zip(workload.applications, own, strict=True)])
    state.whole[:] = alone
    terms = _terms(workload, found, check=check)
    fills, seconds = _run(workload, state, buffers, terms, found, trace=trace)
    return Replay(
        policy=found.name,
        shares=capacity if shares is not None else None,
        pool=float(capacity[0]) if shares is None else None,
        threshold=threshold,
        begin=clock_origin(workload),
        end=float(state.clock[NOW]),
        releases=state.release,
        earliest=state.release + alone,
        ends=state.end,
        direct_written=own.direct_written.copy(),
        drained=own.drained.copy(),
        direct_read=own.direct_read.copy(),
        prefetched=own.prefetched.copy(),
        peaks=buffers.spaces.peak.copy(),
        events=int(state.counts[EVENTS]),
        decisions=int(state.counts[DECISIONS]),
        seconds=seconds,
        fill=joined(fills) if trace else None,
    )


def _capacity(workload: Workload, shares: ArrayLike | None, pool: float | None) -> Floats:
    """The size of each space."""
    if shares is not None and pool is not None:
        raise InputError("pool", "there are shares as well; expected shares or a pool")
    if shares is None and pool is None:
        pool = workload.platform.buffer.size if workload.platform.buffer is not None else None
        if pool is None:
            raise InputError("platform.buffer.size", "not given; expected it, or shares, or a pool")
    capacity = np.array([pool] if shares is None else shares, np.float64)
    size = len(workload.applications)
    if shares is not None and capacity.shape != (size,):
        raise InputError("shares", f"{capacity.shape} values for {size} applications; expected one each")
    wrong = ~(capacity >= 0.0)
    if wrong.any():
        index = int(np.argmax(wrong))
        place = "pool" if shares is None else f"shares[{index}]"
        raise InputError(place, f"{capacity[index]} is not a size; expected bytes, 0 or more")
    return capacity


def _terms(workload: Workload, policy: Policy, *, check: bool) -> Terms:
    delta = 0.0
    if policy.periodic:
        delta = policy.delta or dedicated(replace(workload, window=None)).default_delta
    return Terms(
        bandwidth=workload.platform.bandwidth,
        window_end=math.inf,
        parameter=policy.value,
        limit=math.inf,
        delta=delta,
        origin=workload.begin,
        stop_at_end=False,
        check=check,
        grained=False,
        degrading=False,
    )


def _run(
    workload: Workload, state: State, buffers: Buffers, terms: Terms, policy: Policy, *, trace: bool
) -> tuple[list[Fill], float]:
    """The traces, one after the other, and the seconds in the engine."""
    fill = new_fill(max(_ROWS, 2 * len(workload.applications)) if trace else 0)
    function, limits, by_address = compiled_advance(), limits_of(workload), policy.compiled()
    fills: list[Fill] = []
    seconds = 0.0
    outcome = loop.TRACE_FULL
    while outcome == loop.TRACE_FULL:
        begun = time.perf_counter()
        outcome = function(state, buffers, terms, limits, fill, by_address)
        seconds += time.perf_counter() - begun
        fills.append(fill.rows(slice(int(buffers.sizes[ROWS]))))
        buffers.sizes[ROWS] = 0
    if outcome != loop.NOTHING_LEFT:
        raise _fault(outcome, workload, state, terms, policy)
    return fills, seconds


def _fault(outcome: int, workload: Workload, state: State, terms: Terms, policy: Policy) -> PolicyFault:
    value: Any = float(state.clock[FAULT_VALUE])
    if outcome == INVARIANT_ROOM:
        return PolicyFault(f"policy {policy.name}: at {float(state.clock[NOW])} s a share or pool holds {value} bytes")
    slot = int(state.counts[FAULT_SLOT])
    position = slot if outcome >= loop.INVARIANT_VOLUME else int(state.slot_index[slot]) // 2
    return fault(outcome, state, terms, policy, f"application {workload.applications[position].name!r}")
