"""The terms of a run: its limits and options, the reasons for which the kernel returns, and which dates count as equal."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, get_type_hints

import numba
import numpy as np

from penstock.numeric.compiled import inlined_kernel
from penstock.numeric.tolerances import DATES_KNOWN_TO

# Why the kernel returned.
GOES_ON: Final = 0
LIMIT: Final = 14
STOPPED: Final = 1
"""The run reached what it was to stop at."""
NOTHING_LEFT: Final = 2
TRACE_FULL: Final = 3
TURNS_MADE: Final = 4
"""The kernel made its number of turns: the caller can notice an interruption or report progress, and go on."""
RATE_NOT_A_NUMBER: Final = 5
RATE_NEGATIVE: Final = 6
RATE_ABOVE_CAP: Final = 7
RATES_ABOVE_BANDWIDTH: Final = 8
STARVED: Final = 9
"""Applications are active, none has a rate, and nothing else will ever happen."""
INVARIANT_VOLUME: Final = 10
INVARIANT_PROGRESS: Final = 11
INVARIANT_TIME: Final = 12
INVARIANT_ROOM: Final = 13

# What a run stops at, beside its limit.
NEVER: Final = 0
ONE_ENDED: Final = 1
"""The end of an application, or of its chain."""
ALL_TRANSFERRED: Final = 2
"""Every application that does I/O has completed an operation."""


class Terms(NamedTuple):
    """The limits and options of a run, as the kernel reads them; seconds and bytes."""

    limit: float
    """Date to stop at."""
    delta: float
    """δ, seconds between periodic decisions; 0 for none."""
    origin: float
    """Date from which periodic decisions count."""
    grain: float
    """`penstock.policies.policy.Order.grain` of a kept order."""
    common_release: float
    """τ of all applications, for a kept order."""
    lent: float
    """Bytes that an application may read before they are in the buffer, under a plan."""
    serves: int
    """`penstock.policies.policy.Order.serves` of a kept order."""
    stop: int
    """What the run stops at beside its limit: NEVER, ONE_ENDED or ALL_TRANSFERRED."""
    turns: int
    """Turns after which the kernel returns with TURNS_MADE."""
    check: bool
    """Check the invariants after every event."""
    has_rounds: bool
    """Some applications can be interrupted only between rounds."""
    degrading: bool
    """Transfers that share a store lose some of it."""
    by_direction: bool
    """Reads and writes have limits of their own."""
    several_stores: bool
    """Some applications use several stores."""
    repeats: bool
    """Chains begin anew at their ends."""
    shows: bool
    """The policy reads what applications have done so far; with buffers, this is brought up to date for it."""


_KINDS: Final[dict[Any, Any]] = {float: np.float64, int: np.int64, bool: np.bool_}
_TERMS: Final = np.dtype([(name, _KINDS[kind]) for name, kind in get_type_hints(Terms).items()], align=True)
TERMS_TYPE: Final[Any] = numba.from_dtype(_TERMS)[::1]


def record_of(terms: Terms) -> Any:
    """The terms as a record, which the kernel passes on by address."""
    return np.array([tuple(terms)], _TERMS).view(np.recarray)


@inlined_kernel
def same_date(now: float, terms: Terms) -> float:
    """The latest date that counts as `now` under `terms`; at the limit, no later one does."""
    if now >= terms.limit:
        return now
    return float(now + DATES_KNOWN_TO * (abs(now) + abs(terms.origin)))


def tick_date(origin: float, delta: float, ticks: float) -> float:
    """The date of the next periodic decision after `ticks` of them, every `delta` seconds from `origin` on."""
    return float(origin + (ticks + 1.0) * delta)


compiled_tick_date = inlined_kernel(tick_date)


@inlined_kernel
def next_tick(ticks: float, terms: Terms) -> float:
    """The date of the next periodic decision after `ticks` of them, under `terms`."""
    return compiled_tick_date(terms.origin, terms.delta, ticks)
