"""The event loop that carries out a plan; see `penstock.planning.buffers.replay` for the rules.

All rates are constant between events, so dates are computed and never stepped. One turn of the loop: begin the phases that
are due, find the rates, find the next date, move on to it. Time K an event for K applications.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np
from numba import types
from numpy.typing import NDArray

from penstock.model.phases import READ, WORK
from penstock.policies.compiled import kernel, part
from penstock.policies.view import Floats, Ints

UNBORN: Final = 0
WORKS: Final = 1
WRITES: Final = 2
READS: Final = 3
ENDED: Final = 4
FULL_SPEED: Final = 1e-9
"""A rate below full speed by no more than this part of it is a rounding error."""


class Jobs(NamedTuple):
    """The applications and what the plan wants; one entry an application unless said otherwise. Seconds and bytes."""

    kinds: NDArray[np.uint8]
    amounts: Floats
    ends: Floats
    """Of each phase the date at which it ends at full speed."""
    first: Ints
    """Phases of application k: kinds[first[k] : first[k + 1]]."""
    release: Floats
    lead: Floats
    write_speed: Floats
    read_speed: Floats
    write_cap: Floats
    read_cap: Floats
    room: Floats
    """What its share holds at most, slack included; infinite without shares."""
    share: Floats
    """What its share takes while it lives; NaN without shares."""
    write_first: Ints
    write_dates: Floats
    write_amounts: Floats
    """Bytes wanted in the file system: at write_dates[write_first[k] : write_first[k + 1]]."""
    read_first: Ints
    read_dates: Floats
    read_amounts: Floats


class Course(NamedTuple):
    """Where the applications are; one entry each. Seconds and bytes."""

    status: Ints
    cursor: Ints
    """The phase that comes next."""
    left: Floats
    """Bytes of the operation under way."""
    until: Floats
    """The date at which what it does now ends."""
    delay: Floats
    """Seconds by which it is behind full speed."""
    slowed: Ints
    """1 if the operation under way is slower than it could be."""
    out: Floats
    into: Floats
    """Moved to the file system, and from it."""
    held_out: Floats
    held_in: Floats
    """In the buffer, written and to be read."""
    out_rate: Floats
    in_rate: Floats
    emitted: Floats
    taken: Floats
    """Rates of the application itself."""
    dry_out: Floats
    dry_in: Floats
    full: Floats
    """Dates at which contents become 0, and at which the share is full."""
    write_next: Ints
    read_next: Ints
    """The next date of the plan."""
    end: Floats
    peaks: Floats


class Limits(NamedTuple):
    """Bytes/s of the file system, in all and by direction; bytes that count as none, and those that may be lent to a
    reader; seconds that do not count.
    """

    bandwidth: float
    write_limit: float
    read_limit: float
    nothing: float
    lent: float
    moment: float


_numbers, _dates = types.int64[::1], types.float64[::1]
_JOB_INTS: Final = {"first", "write_first", "read_first"}
_COURSE_INTS: Final = {"status", "cursor", "slowed", "write_next", "read_next"}
JOBS_TYPE: Final[Any] = types.NamedTuple(
    [types.uint8[::1] if name == "kinds" else _numbers if name in _JOB_INTS else _dates for name in Jobs._fields], Jobs
)
COURSE_TYPE: Final[Any] = types.NamedTuple([_numbers if name in _COURSE_INTS else _dates for name in Course._fields], Course)
LIMITS_TYPE: Final[Any] = types.NamedUniTuple(types.float64, len(Limits._fields), Limits)


@part
def _next_phase(jobs: Jobs, course: Course, k: int, now: float) -> None:
    """End what the application does, and begin what it does next."""
    if course.slowed[k] == 1:
        course.delay[k] = now - jobs.ends[course.cursor[k] - 1]
        course.slowed[k] = 0
    while course.cursor[k] < jobs.first[k + 1] and jobs.amounts[course.cursor[k]] == 0.0:
        course.cursor[k] += 1
    phase = course.cursor[k]
    course.cursor[k] += 1
    course.until[k] = np.inf
    if phase == jobs.first[k + 1]:
        course.status[k] = ENDED
        course.end[k] = now
    elif jobs.kinds[phase] == WORK:
        course.status[k] = WORKS
        course.until[k] = jobs.ends[phase] + course.delay[k]
    else:
        course.status[k] = READS if jobs.kinds[phase] == READ else WRITES
        course.left[k] = jobs.amounts[phase]


@part
def _is_over(course: Course, limits: Limits, k: int, now: float) -> bool:
    """Whether what the application does is over: its time has come, or no more than a rounding error is left of it."""
    moves = course.status[k] == WRITES or course.status[k] == READS
    return bool(course.until[k] <= now or (moves and course.left[k] <= limits.nothing))


@part
def _begin_due(jobs: Jobs, course: Course, limits: Limits, now: float) -> None:
    """Begin all phases that are due."""
    for k in range(len(jobs.release)):
        if course.status[k] == UNBORN and jobs.release[k] <= now:
            course.status[k] = WORKS
            course.until[k] = now + jobs.lead[k]
        while course.status[k] != ENDED and _is_over(course, limits, k, now):
            _next_phase(jobs, course, k, now)


@part
def _pass_dates(dates: Floats, places: Ints, last: int, k: int, now: float) -> None:
    """Go to the next date of the plan."""
    while places[k] < last and dates[places[k]] <= now:
        places[k] += 1


@part
def _wanted(dates: Floats, amounts: Floats, place: int, last: int, moved: float, cap: float, now: float) -> float:
    """The rate that brings `moved` to the next amount that the plan wants, at its date; the cap if no date is left."""
    if place == last:
        return cap
    return float(min(max((amounts[place] - moved) / (dates[place] - now), 0.0), cap))


@part
def _ask(jobs: Jobs, course: Course, limits: Limits, k: int, now: float) -> None:
    """What the file system would move for the application."""
    out_rate, in_rate = 0.0, 0.0
    last = jobs.write_first[k + 1]
    _pass_dates(jobs.write_dates, course.write_next, last, k, now)
    if course.status[k] == WRITES or course.held_out[k] > limits.nothing:
        place, moved, cap = course.write_next[k], course.out[k], jobs.write_cap[k]
        out_rate = _wanted(jobs.write_dates, jobs.write_amounts, place, last, moved, cap, now)
    if course.status[k] == WRITES and _is_full(jobs, course, limits, k):
        out_rate = jobs.write_cap[k]
    last = jobs.read_first[k + 1]
    _pass_dates(jobs.read_dates, course.read_next, last, k, now)
    if course.status[k] == READS and _is_dry(course, limits, k):
        in_rate = jobs.read_cap[k]
    elif course.read_next[k] < last:
        place, moved, cap = course.read_next[k], course.into[k], jobs.read_cap[k]
        in_rate = _wanted(jobs.read_dates, jobs.read_amounts, place, last, moved, cap, now)
    if course.status[k] != READS and _is_full(jobs, course, limits, k):
        in_rate = 0.0 if course.status[k] == WRITES else min(in_rate, out_rate)
    course.out_rate[k], course.in_rate[k] = out_rate, in_rate


@part
def _is_dry(course: Course, limits: Limits, k: int) -> bool:
    return bool(course.held_in[k] <= limits.nothing - limits.lent)


@part
def _is_full(jobs: Jobs, course: Course, limits: Limits, k: int) -> bool:
    return bool(course.held_out[k] + course.held_in[k] >= jobs.room[k] - limits.nothing)


@part
def _factor(total: float, limit: float) -> float:
    return limit / total if total > limit else 1.0


@part
def _share_bandwidth(course: Course, limits: Limits) -> None:
    """Lower rates in proportion where they add up to more than the file system moves."""
    out, into = course.out_rate.sum(), course.in_rate.sum()
    out_factor, in_factor = _factor(out, limits.write_limit), _factor(into, limits.read_limit)
    both = _factor(out_factor * out + in_factor * into, limits.bandwidth)
    for k in range(len(course.out_rate)):
        course.out_rate[k] *= out_factor * both
        course.in_rate[k] *= in_factor * both


@part
def _end_of_operation(jobs: Jobs, course: Course, k: int, rate: float, speed: float, now: float) -> float:
    """When the operation ends at this rate. At full speed it ends on the minute, else rounding errors would add up."""
    if rate < speed * (1.0 - FULL_SPEED):
        course.slowed[k] = 1
    if course.slowed[k] == 0:
        return float(jobs.ends[course.cursor[k] - 1] + course.delay[k])
    return float(now + course.left[k] / rate) if rate > 0.0 else np.inf


@part
def _foresee(jobs: Jobs, course: Course, limits: Limits, k: int, now: float) -> float:
    """What the application itself does, and when something of it will change; returns the first such date."""
    emitted, taken = 0.0, 0.0
    if course.status[k] == WRITES:
        emitted = course.out_rate[k] if _is_full(jobs, course, limits, k) else jobs.write_speed[k]
        course.until[k] = _end_of_operation(jobs, course, k, emitted, jobs.write_speed[k], now)
    elif course.status[k] == READS:
        taken = course.in_rate[k] if _is_dry(course, limits, k) else jobs.read_speed[k]
        course.until[k] = _end_of_operation(jobs, course, k, taken, jobs.read_speed[k], now)
    course.emitted[k], course.taken[k] = emitted, taken
    out, into = course.out_rate[k] - emitted, taken - course.in_rate[k]
    course.dry_out[k] = now + course.held_out[k] / out if out > 0.0 else np.inf
    dries = into > 0.0 and not _is_dry(course, limits, k)
    course.dry_in[k] = now + (course.held_in[k] + limits.lent) / into if dries else np.inf
    space = jobs.room[k] - course.held_out[k] - course.held_in[k]
    course.full[k] = now + space / -(out + into) if out + into < 0.0 and space > limits.nothing else np.inf
    first = min(course.dry_out[k], course.dry_in[k], course.full[k])
    first = min(first, jobs.release[k] if course.status[k] == UNBORN else course.until[k])
    if course.write_next[k] < jobs.write_first[k + 1]:
        first = min(first, jobs.write_dates[course.write_next[k]])
    if course.read_next[k] < jobs.read_first[k + 1]:
        first = min(first, jobs.read_dates[course.read_next[k]])
    return float(first)


@part
def _move(jobs: Jobs, course: Course, limits: Limits, k: int, now: float, then: float) -> None:
    """Move on to the next date. What falls on it happens exactly, whatever roundings leave over."""
    seconds = then - now
    course.out[k] += course.out_rate[k] * seconds
    course.into[k] += course.in_rate[k] * seconds
    course.held_out[k] = max(0.0, course.held_out[k] + (course.emitted[k] - course.out_rate[k]) * seconds)
    course.held_in[k] += (course.in_rate[k] - course.taken[k]) * seconds
    course.left[k] -= (course.emitted[k] + course.taken[k]) * seconds
    if course.dry_out[k] <= then:
        course.held_out[k] = 0.0
    if course.dry_in[k] <= then:
        course.held_in[k] = -limits.lent
    if course.full[k] <= then:
        course.held_out[k] = max(0.0, jobs.room[k] - course.held_in[k])
    course.peaks[k] = max(course.peaks[k], course.held_out[k] + course.held_in[k])


@part
def _filling(jobs: Jobs, course: Course) -> float:
    """What is taken of the buffer: the shares of the living, the contents of the others."""
    filling = 0.0
    for k in range(len(jobs.share)):
        alive = course.status[k] != UNBORN and course.status[k] != ENDED
        filling += jobs.share[k] if alive and jobs.share[k] >= 0.0 else course.held_out[k] + course.held_in[k]
    return filling


def _execute(jobs: Jobs, course: Course, limits: Limits, begin: float) -> tuple[float, float, int]:
    """Run to the end: the date at which all is in the file system, the most that was taken of the buffer, the events."""
    now, peak, events = begin, 0.0, 0
    while True:
        _begin_due(jobs, course, limits, now)
        for k in range(len(jobs.release)):
            _ask(jobs, course, limits, k, now)
        _share_bandwidth(course, limits)
        then = np.inf
        for k in range(len(jobs.release)):
            then = min(then, _foresee(jobs, course, limits, k, now))
        if then == np.inf:
            return now, peak, events
        before = _filling(jobs, course)
        for k in range(len(jobs.release)):
            _move(jobs, course, limits, k, now, then)
        if then - now > limits.moment:
            peak = max(peak, before, _filling(jobs, course))
        now = then
        events += 1


@cache
def compiled_execute() -> Callable[..., Any]:
    """`_execute`, compiled."""
    signature = types.Tuple([types.float64, types.float64, types.int64])(JOBS_TYPE, COURSE_TYPE, LIMITS_TYPE, types.float64)
    return kernel(_execute, signature, "the replay of buffers")
