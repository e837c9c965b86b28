"""The books of an application: what a finished phase counts for (000 §3.3, §4.2), in simulation and live alike.

`own` is anything with the fields: a record of the engine, or a client of the coordinator.
"""

from __future__ import annotations

from typing import Any

from penstock.numeric.compiled import inlined_kernel


def end_work(own: Any, seconds: float) -> None:
    """Book a finished work phase of so many `seconds` in `own`."""
    own.done += seconds
    own.worked += seconds


def end_operation(own: Any, volume: float, alone: float, io_seconds: float) -> None:
    """Book a complete operation in `own`: `volume` moved, `alone` seconds by itself, `io_seconds` in fact."""
    own.done += alone
    own.moved += volume
    own.io_seconds += io_seconds
    # An operation before any work of the chain, v_i^(0), belongs to no iteration (000 §4.2).
    if own.iterations > 0 or own.since_operation > 0.0:
        own.in_iterations += own.since_operation + alone
        own.iterations += 1
    own.since_operation = 0.0
    own.operations += 1


def progress_during(done: float, volume: float, remaining: float, cap: float) -> float:
    """Progress in seconds within an operation (000 eq. 6).

    It is `done` seconds before the operation, and `volume` − `remaining` bytes of it at its `cap` in bytes/s.
    """
    return done + (volume - remaining) / cap


def mean_iteration(own: Any) -> float:
    """ω of `own` in seconds; 0 before the first finished iteration."""
    return float(own.in_iterations / own.iterations) if own.iterations > 0 else 0.0


def known_iteration(own: Any) -> float:
    """ω of `own` in seconds with the iterations that ended before its chain; 0 where none has ended."""
    ended = own.past_iterations + own.iterations
    return float((own.past_seconds + own.in_iterations) / ended) if ended > 0 else 0.0


compiled_end_work = inlined_kernel(end_work)
compiled_end_operation = inlined_kernel(end_operation)
compiled_progress_during = inlined_kernel(progress_during)
compiled_known_iteration = inlined_kernel(known_iteration)
