"""A plan as the source of rates (004 §6, claim B1): amounts that each application should have moved by given dates.

The link moves for an application what is missing to the next amount of the plan, at a constant rate until its date. Rates
taken from the plan would accumulate rounding errors; amounts do not. The link never moves data that are not there, never
more than min(b, B) for one application, and where all want more than B, B_w or B_r, all get less in proportion. An
application that is held up, by a full share in a write or by missing data in a read, gets as much as it can use. After the
last date the link moves what is left in the buffer.

Under a policy an application prefetches from its start, under a plan from the origin of the clock. Only strands with
something to move are in the tables: a prefetch of which the plan wants nothing leaves until its next date or event.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

import numpy as np
from numba import types

from penstock.engine.state import CHANGED, NOW, STALE, TRANSFER, Records, State
from penstock.engine.terms import Terms, same_date
from penstock.engine.tier import READING, WRITING, Tier, fetched, leave_place, mark_changed, see_room, strand_at
from penstock.engine.transfers import CAP
from penstock.model.application import READ
from penstock.numeric.arrays import Floats, Ints
from penstock.numeric.compiled import inlined_kernel
from penstock.numeric.tolerances import READ_MISSING
from penstock.policies.view import GIVEN


class Targets(NamedTuple):
    """Bytes wanted of application k: written at write_dates[write_first[k] : write_first[k + 1]], and read likewise.

    `next_write` and `next_read` are the next dates of each application, `dates` those of all in order,
    `owners` whose they are, and `place` how many of them are past: one run uses it up.
    """

    write_first: Ints
    write_dates: Floats
    write_amounts: Floats
    read_first: Ints
    read_dates: Floats
    read_amounts: Floats
    next_write: Ints
    next_read: Ints
    dates: Floats
    owners: Ints
    place: Ints

    @classmethod
    def of(
        cls, written: Sequence[tuple[Floats, Floats]], read: Sequence[tuple[Floats, Floats]], origin: float = 0.0
    ) -> Targets:
        """Collect the targets of all applications.

        Args:
            written: for each application, dates in seconds and the bytes that should have been written by then.
            read: the same for reads.
            origin: the date at which the clock starts, in seconds.
        """
        write_first, write_dates, write_amounts = _columns(written)
        read_first, read_dates, read_amounts = _columns(read)
        dates = np.concatenate([write_dates, read_dates])
        owners = np.repeat(np.tile(np.arange(len(written)), 2), [len(dates) for dates, _ in (*written, *read)])
        order = np.argsort(dates, kind="stable")
        return cls(
            write_first=write_first,
            write_dates=write_dates,
            write_amounts=write_amounts,
            read_first=read_first,
            read_dates=read_dates,
            read_amounts=read_amounts,
            next_write=write_first[:-1].copy(),
            next_read=read_first[:-1].copy(),
            dates=dates[order],
            owners=owners[order],
            place=np.array([np.count_nonzero(dates <= origin)]),
        )


def _columns(lines: Sequence[tuple[Floats, Floats]]) -> tuple[Ints, Floats, Floats]:
    """Where each line begins, and the dates and amounts of all."""
    first = np.array([*accumulate((len(dates) for dates, _ in lines), initial=0)], np.int64)
    dates, amounts = zip(*lines, strict=True)
    return first, np.concatenate(dates), np.concatenate(amounts)


_INTEGERS: Final = {"write_first", "read_first", "next_write", "next_read", "owners", "place"}
TARGETS_TYPE: Final[Any] = types.NamedTuple(
    [types.int64[::1] if name in _INTEGERS else types.float64[::1] for name in Targets._fields], Targets
)


def fetch_from_origin(state: State, tier: Tier, origin: float) -> None:
    """Start the clock of `state` at `origin`, and have every strand of `tier` fetch its first read from then on."""
    own, strands = state.own, tier.strands
    state.clock[NOW] = state.stores["since"][0] = origin
    reads = np.flatnonzero((state.kinds == READ) & (state.amounts > 0.0))
    first = np.append(reads, len(state.kinds))[np.searchsorted(reads, own["first"])]
    there = np.flatnonzero(first < own["last"])
    strands["ahead"][there] = first[there]
    strands["to_fetch"][there] = state.amounts[first[there]]
    strands["read_posted"][there] = origin
    strands["changed"][there] = 1
    strands["changed_strand"][: len(there)] = there
    state.counts[CHANGED] = len(there)


@inlined_kernel
def next_target(plan: Targets, terms: Terms, date: float) -> float:
    """The next date of the `plan`, or `date` if that is earlier; of two that count as equal under `terms`, the later one."""
    target = plan.dates[plan.place[0]] if plan.place[0] < len(plan.dates) else np.inf
    first, second = min(date, target), max(date, target)
    return float(second if second <= same_date(first, terms) else first)


@inlined_kernel
def pass_targets(state: State, terms: Terms, tier: Tier, plan: Targets) -> None:
    """Have new rates found for the strands of `tier` whose dates of the `plan` are past, by the clock of `state`.

    `terms` say which dates count as equal. On the link an application has one strand, of its own number.
    """
    latest = same_date(state.clock[NOW], terms)
    while plan.place[0] < len(plan.dates) and plan.dates[plan.place[0]] <= latest:
        strand = plan.owners[plan.place[0]]
        plan.place[0] += 1
        if state.transfers[strand].place >= 0 or state.transfers[strand + len(tier.strands)].place >= 0:
            state.counts[STALE] = 1
        if state.transfers[strand].place < 0 and _to_fetch(state, tier, plan, strand, latest) > 0.0:
            mark_changed(state, tier, strand)


@inlined_kernel
def _pass(dates: Floats, places: Ints, index: int, last: int, latest: float) -> int:
    """The place of the application's next date; `last` if there is none."""
    while places[index] < last and dates[places[index]] <= latest:
        places[index] += 1
    return int(places[index])


@inlined_kernel
def _to_fetch(state: State, tier: Tier, plan: Targets, strand: int, latest: float) -> float:
    """What the plan wants fetched for the strand by the next date; nothing after the last, nor without a read to come."""
    own = tier.strands[strand]
    last = plan.read_first[own.index + 1]
    place = _pass(plan.read_dates, plan.next_read, own.index, last, latest)
    if place == last or own.ahead == state.own[own.index].last:
        return 0.0
    missing = plan.read_amounts[place] - own.direct_read - own.prefetched - fetched(state, tier, strand)
    return float(missing) if missing > READ_MISSING * state.amounts[own.ahead] else 0.0


@inlined_kernel
def _to_write(state: State, terms: Terms, tier: Tier, plan: Targets, slot: int) -> float:
    """Rate of the write in this place: all it can use if its share is full in a write, or after the last date."""
    own, cap, now = strand_at(state, tier, slot), state.floats[CAP, slot], state.clock[NOW]
    see_room(tier.spaces[own.space])
    last = plan.write_first[own.index + 1]
    place = _pass(plan.write_dates, plan.next_write, own.index, last, same_date(now, terms))
    if place == last or (own.doing == WRITING and tier.spaces[own.space].full != 0):
        return float(cap)
    missing = plan.write_amounts[place] - own.direct_written - own.drained
    return float(min(max(0.0, missing / (plan.write_dates[place] - now)), cap))


@inlined_kernel
def _to_read(state: State, terms: Terms, tier: Tier, plan: Targets, slot: int) -> float:
    """Rate of the read in this place: all it can use if a read lacks data; into a full share, what leaves it."""
    own, cap, now = strand_at(state, tier, slot), state.floats[CAP, slot], state.clock[NOW]
    if own.doing == READING and own.drawing == 0:
        return float(cap)
    see_room(tier.spaces[own.space])
    missing = _to_fetch(state, tier, plan, state.integers[TRANSFER, slot], same_date(now, terms))
    if missing == 0.0:
        return 0.0
    rate = min(missing / (plan.read_dates[plan.next_read[own.index]] - now), cap)
    full = own.doing != READING and tier.spaces[own.space].full != 0
    return float(min(rate, _drains(state, tier, slot)) if full else rate)


@inlined_kernel
def _drains(state: State, tier: Tier, slot: int) -> float:
    """Rate at which the strand that reads in this place drains; 0 while it writes."""
    place = state.transfers[state.integers[TRANSFER, slot] + len(tier.strands)].place
    if place < 0 or strand_at(state, tier, slot).doing == WRITING:
        return 0.0
    return float(state.floats[GIVEN, place])


@inlined_kernel
def _want_writes(state: State, terms: Terms, trace: Records, tier: Tier, plan: Targets) -> float:
    """Give the writes what the plan wants; those with nothing to write leave. Returns the sum."""
    here, total = state.stores[0], 0.0
    for slot in range(here.middle - here.down, here.middle):
        own = strand_at(state, tier, slot)
        if own.doing != WRITING and own.outgoing == 0.0:
            leave_place(state, trace, tier, 0, slot)
        else:
            state.floats[GIVEN, slot] = _to_write(state, terms, tier, plan, slot)
            total += state.floats[GIVEN, slot]
    return total


@inlined_kernel
def _want_reads(state: State, terms: Terms, trace: Records, tier: Tier, plan: Targets) -> float:
    """Give the reads what the plan wants; prefetches of nothing leave. Returns the sum."""
    here, total = state.stores[0], 0.0
    for slot in range(here.middle + here.up - 1, here.middle - 1, -1):
        rate = _to_read(state, terms, tier, plan, slot)
        if rate == 0.0 and strand_at(state, tier, slot).doing != READING:
            leave_place(state, trace, tier, 0, slot)
        else:
            state.floats[GIVEN, slot] = rate
            total += rate
    return total


@inlined_kernel
def follow(state: State, terms: Terms, trace: Records, tier: Tier, plan: Targets) -> None:
    """Give every transfer of the link what the `plan` wants, less in proportion where that is more than the link carries.

    Rates go into the row GIVEN of `state`. Strands of `tier` with nothing to move leave their places; the `trace` gets the
    segments that end. `terms` say which dates count as equal.
    """
    written, read = _want_writes(state, terms, trace, tier, plan), _want_reads(state, terms, trace, tier, plan)
    here = state.stores[0]
    write_part, read_part = _part(written, here.write), _part(read, here.read)
    both = _part(write_part * written + read_part * read, here.total)
    for slot in range(here.middle - here.down, here.middle + here.up):
        state.floats[GIVEN, slot] *= both * (write_part if slot < here.middle else read_part)


@inlined_kernel
def _part(total: float, limit: float) -> float:
    """What is left of all rates where they add up to more than the limit."""
    return limit / total if total > limit else 1.0
