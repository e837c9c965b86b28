"""Laws that every run obeys, whatever it is made of: volumes, limits, room, time and progress.

They look at plain rows and numbers, so that a run of the engine and one of its slow twin can be shown to them alike. Rates
are bytes/s and contents bytes; on I/O resources a store carries seconds of its time, and `unit` is what an application moves
in one of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from penstock.model import Application, Workload

SLACK = 1e-9
Row = tuple[int, float, float, float, int, str]
"""(application, begin, end, rate in bytes/s, store, "read" or "write")."""


def same(one: float, other: float, scale: float = 0.0) -> bool:
    return abs(one - other) <= SLACK * (1.0 + abs(one) + abs(other) + scale)


def at_most(one: float, other: float, scale: float = 0.0) -> bool:
    return one <= other or same(one, other, scale)


@dataclass(frozen=True)
class Bounds:
    """What a store carries and what an application can use of it, in units a second."""

    total: float
    write: float
    read: float
    unit: Sequence[float]
    """Bytes of a unit, for each application."""
    caps: Sequence[dict[str, float]]
    """For each application, by direction."""

    @classmethod
    def of(cls, workload: Workload, placement: Sequence[Sequence[int]] | None = None) -> Bounds:
        platform = workload.platform
        write, read = platform.write_limit, platform.read_limit
        if placement is None:
            caps = [
                {"write": min(a.write_speed(platform), write), "read": min(a.read_speed(platform), read)}
                for a in workload.applications
            ]
            return cls(platform.bandwidth, write, read, [1.0] * len(caps), caps)
        write, read = write / platform.bandwidth, read / platform.bandwidth
        pairs = zip(workload.applications, placement, strict=True)
        unit = [_bandwidth(application, len(uses)) / len(uses) for application, uses in pairs]
        return cls(1.0, write, read, unit, [{"write": write, "read": read}] * len(unit))


def _bandwidth(application: Application, count: int) -> float:
    assert application.curve is not None
    return float(application.curve.upto(count)[count - 1])


def assert_monotone(dates: Sequence[float], begin: float, end: float) -> None:
    """Time goes on, within the run."""
    assert all(earlier <= later for earlier, later in pairwise(dates)), "time goes back"
    assert all(begin <= date <= end for date in dates), "outside of the run"


def assert_volumes(posted: Sequence[float], moved: Sequence[float], remaining: Sequence[float]) -> None:
    """What an application asked for is moved or remains."""
    for index, (asked, done, left) in enumerate(zip(posted, moved, remaining, strict=True)):
        assert at_most(0.0, min(done, left)), f"application {index}: {done} moved, {left} left"
        assert same(asked, done + left), f"application {index}: {asked} posted, {done} moved, {left} left"


def assert_ways(application: Any) -> None:
    """What it wrote went to the I/O system, straight or by way of the buffer, or is in it; what it read came so.

    It has written, direct_written, drained and q, and read, direct_read, prefetched and p.
    """
    assert same(application.written, application.direct_written + application.drained + application.q), "written"
    assert same(application.direct_read + application.prefetched, application.read + application.p), "read"


def assert_rows_are_apart(rows: Iterable[Row], begin: float, end: float) -> None:
    """Segments have a length, lie within the run and do not overlap."""
    own: dict[tuple[int, int, str], list[tuple[float, float]]] = {}
    for application, since, until, rate, store, direction in rows:
        assert since < until, "a segment without length"
        assert at_most(begin, since), "before the run"
        assert at_most(until, end), "after the run"
        assert 0.0 <= rate < math.inf, "no rate"
        own.setdefault((application, store, direction), []).append((since, until))
    for whose, spans in own.items():
        spans.sort()
        assert all(first[1] <= second[0] + SLACK for first, second in pairwise(spans)), f"{whose}: segments overlap"


def assert_rows_add_up(rows: Iterable[Row], volumes: dict[tuple[int, str], float]) -> None:
    """Rates times seconds are the bytes that went to and came from the I/O system, by application and direction."""
    sums = dict.fromkeys(volumes, 0.0)
    for application, since, until, rate, _, direction in rows:
        sums[application, direction] = sums.get((application, direction), 0.0) + rate * (until - since)
    for whose, volume in sums.items():
        assert same(volume, volumes.get(whose, 0.0)), f"{whose}: {volume} in the trace, {volumes.get(whose)} in the books"


def assert_feasible(rows: Iterable[Row], bounds: Bounds, degradation: Callable[[int], float] | None = None) -> None:
    """In every store at every date: the sum of rates, in all and by direction, and each rate alone."""
    by_store: dict[int, list[Row]] = {}
    for row in rows:
        application, _, _, rate, store, direction = row
        cap = bounds.caps[application][direction]
        assert at_most(rate / bounds.unit[application], cap), f"application {application}: {rate} above its cap {cap}"
        by_store.setdefault(store, []).append(row)
    for store, own in by_store.items():
        dates = sorted({date for row in own for date in row[1:3]})
        for since, until in pairwise(dates):
            if until - since <= 1e-7:
                continue  # dates of one event, but for rounding
            middle = 0.5 * (since + until)
            there = [(rate / bounds.unit[who], direction) for who, b, e, rate, _, direction in own if b <= middle < e]
            for direction, limit in (("write", bounds.write), ("read", bounds.read)):
                sums = sum(rate for rate, way in there if way == direction)
                assert at_most(sums, limit), f"store {store} at {middle}: {sums} in direction {direction}, above {limit}"
            total = sum(rate for rate, _ in there)
            allowed = bounds.total
            if degradation is not None:
                allowed *= degradation(max(1, sum(rate > 0.0 for rate, _ in there)))
            assert at_most(total, allowed), f"store {store} at {middle}: {total} in all, above {allowed}"


def assert_room(
    outgoing: Sequence[Sequence[float]],
    incoming: Sequence[Sequence[float]],
    spaces: Sequence[tuple[float, Sequence[int]]],
) -> None:
    """Contents are never below 0, and those of a space never above its size.

    `outgoing` and `incoming` have a row for each date, the bytes of each application; `spaces` are (size, applications).
    """
    for written, fetched in zip(outgoing, incoming, strict=True):
        assert all(at_most(0.0, content) for content in [*written, *fetched]), "less than nothing in the buffer"
        for size, members in spaces:
            held = sum(written[index] + fetched[index] for index in members)
            assert at_most(held, size), f"{held} bytes in a space of {size}"


def assert_inflow(
    dates: Sequence[float],
    outgoing: Sequence[Sequence[float]],
    incoming: Sequence[Sequence[float]],
    bound: float,
) -> None:
    """Contents grow by no more than the buffer takes."""
    rows = list(zip(dates, outgoing, incoming, strict=True))
    for (since, out_before, in_before), (until, out_after, in_after) in pairwise(rows):
        pairs = [*zip(out_before, out_after, strict=True), *zip(in_before, in_after, strict=True)]
        grown = sum(max(0.0, after - before) for before, after in pairs)
        if math.isfinite(bound):
            assert at_most(grown, bound * (until - since)), f"{grown} bytes into the buffer from {since} to {until}"


def assert_progress(
    workload: Workload, progress: Sequence[float], ends: Sequence[float | None], end: float, worked: Sequence[float]
) -> None:
    """Nobody gets on faster than time, nor works more than it gets on."""
    for application, done, own_end, work in zip(workload.applications, progress, ends, worked, strict=True):
        start = workload.start(application)
        until = max(start, end if own_end is None else own_end)
        gained = done - workload.history(application)
        assert at_most(0.0, work), f"{application.name}: {work} worked"
        assert at_most(work, gained), f"{application.name}: {work} worked, {gained} gained"
        assert at_most(gained, until - start), f"{application.name}: {gained} s of progress in {until - start} s"
        assert at_most(done, max(0.0, until - application.release)), f"{application.name}: a yield above 1"
