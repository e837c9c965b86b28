"""What a policy sees and what it writes.

At every event the engine (or the live coordinator) shows a policy the active applications, those with an I/O operation
posted and not complete (000 §4), and asks for a rate for each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numba import types
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


class View(NamedTuple):
    """The active applications at an event, one entry each in every array; the order of the entries means nothing."""

    application: Ints
    """Position in the workload; the last resort to break ties."""
    remaining: Floats
    """V_i: bytes of the pending operation that are still to move."""
    cap: Floats
    """b_i: the most the application can use, in bytes/s; never above `bandwidth`."""
    posted: Floats
    """R_i: when the pending operation was posted, in seconds, to the nanosecond."""
    progress: Floats
    """Work done plus volume moved over cap since release, in seconds: the numerator of the yield (000 eq. 6)."""
    release: Floats
    """τ_i, in seconds."""
    nodes: Floats
    """p_i."""
    mean_iteration: Floats
    """ω_i: mean seconds of work and dedicated I/O of the finished iterations; 0 before the first one."""
    volume: Floats
    """Bytes of the pending operation when it was posted."""
    rate: Floats
    """Bytes/s that it had until now: above 0 for who holds the link."""
    transferring: Floats
    """Seconds with some bandwidth so far, over all its operations in this run."""
    whole: Floats
    """Its progress, in seconds, when it will have ended: minus `progress` it is the work and I/O left at full bandwidth."""
    rank: Floats
    """Its place in the order that the policy has planned for the workload; 0 without a plan."""
    turn: Ints
    """Place of the pending operation in the planned order of all operations, from 0; −1 without such a plan."""
    degradation: Floats
    """Parts of `bandwidth` that 1, 2, … n transfers have together; rates are given as if all were 1."""
    scratch: Floats
    """Room for one number an application; its contents mean nothing and may be overwritten."""
    order: Ints
    """Room for one index an application, likewise."""
    now: float
    """t, in seconds."""
    bandwidth: float
    """B: what the link carries, in bytes/s."""
    window_end: float
    """T_end, in seconds; infinite without a window."""
    parameter: float
    """What the policy's parameter is set to; 0 if it has none."""
    completed: int
    """Operations completed so far, of all applications."""


RatesFunction: TypeAlias = Callable[[View, Floats], None]
"""A policy: reads the view, writes ``rates[i]`` in bytes/s for every i; keeps no state and draws no random number."""

_column: Final = types.Array(types.float64, 1, "C", readonly=True)
_indices: Final = types.Array(types.int64, 1, "C", readonly=True)
VIEW_TYPE: Final[Any] = types.NamedTuple(
    [_indices, *[_column] * 12, _indices, _column, types.float64[::1], types.int64[::1], *[types.float64] * 4, types.int64],
    View,
)
RATES_SIGNATURE: Final[Any] = types.void(VIEW_TYPE, types.float64[::1])
