"""Random small runs of every kind: link or I/O resources, rounds, degradation, windows with a history, periodic decisions,
burst buffers, limits of each direction, repetition, in any combination.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from penstock.model import Application, Curve, Phases, Workload
from penstock.policies import REGISTRY
from penstock.policies.policy import STATIC
from tests.naive.laws import (
    Bounds,
    assert_feasible,
    assert_inflow,
    assert_monotone,
    assert_progress,
    assert_room,
    assert_rows_add_up,
    assert_rows_are_apart,
    assert_volumes,
    assert_ways,
)
from tests.naive.machine import NaiveResult
from tests.naive.strategies import KINDS, amounts, odd_floats, suited, workloads

SLOW = "best-next-event"
"""Its twin searches; it is given little to do."""
LONGEST_REPEATED = 12.0
"""Seconds of a window in which chains repeat."""


@dataclass(frozen=True)
class Combination:
    """A workload, a policy and the options of a run."""

    workload: Workload
    policy: str
    delta: float | None = None
    placement: tuple[tuple[int, ...], ...] | None = None
    pool: float | None = None
    shares: tuple[float, ...] | None = None
    threshold: float = 0.0
    capped: bool = False
    repeat: bool = False
    to_the_end: bool = False

    @property
    def name(self) -> str:
        """The policy as the engine finds it."""
        return self.policy if self.delta is None else f"{self.policy}:delta={self.delta}"

    @property
    def options(self) -> dict[str, Any]:
        """For the slow twin."""
        names = ("delta", "placement", "pool", "shares", "threshold", "capped", "repeat", "to_the_end")
        return {name: getattr(self, name) for name in names}

    @property
    def spaces(self) -> list[tuple[float, tuple[int, ...]]]:
        """(size, applications) of the pool or of each share; none without a tier."""
        buffer, everybody = self.workload.platform.buffer, tuple(range(len(self.workload.applications)))
        if self.shares is not None:
            return [(size, (index,)) for index, size in enumerate(self.shares)]
        pool = self.pool if self.pool is not None or buffer is None else buffer.size
        return [] if pool is None else [(pool, everybody)]

    @property
    def tier(self) -> bool:
        return bool(self.spaces)


@st.composite
def combinations(
    draw,
    *,
    nice: bool | None = None,
    resources: bool | None = None,
    tier: bool | None = None,
    coarse: bool | None = None,
    limits: bool | None = None,
    repeat: bool | None = None,
    policies: tuple[str, ...] = tuple(REGISTRY),
    applications: int = 4,
    phases: int = 6,
):
    """Any of the features, or those that are asked for."""

    def choice(given: bool | None) -> bool:
        return draw(st.booleans()) if given is None else given

    nice, resources, tier, coarse = choice(nice), choice(resources), choice(tier), choice(coarse)
    limits, repeat = choice(limits), draw(st.integers(0, 2)) == 0 if repeat is None else repeat
    free = not (resources or tier or repeat)
    policy = draw(st.sampled_from([name for name in policies if free or REGISTRY[name].family != STATIC]))
    if policy == SLOW:
        applications, phases = min(applications, 2), min(phases, 3)
    workload = draw(
        workloads(nice=nice, applications=applications, phases=phases, window=True if repeat else None, coarse=coarse)
    )
    speeds = st.sampled_from([0.5, 1.0, 1.0, 2.0, 3.0, 4.0]) if nice else odd_floats(0.2, 8.0)
    platform = workload.platform
    if limits:
        parts = st.sampled_from([0.25, 0.5, 0.75, 1.0]) if nice else odd_floats(0.1, 1.0)
        some = st.one_of(st.none(), parts.map(lambda part: part * platform.bandwidth))
        platform = replace(platform, read_bandwidth=draw(some), write_bandwidth=draw(some))
    members = list(workload.applications)
    if len(members) == 1 and draw(st.booleans()):
        members.append(replace(members[0], name="b0"))
    members = [draw(with_directions(member, nice, speeds, limits, phases)) for member in members]
    if policy == SLOW:
        members = [replace(member, rounds=None) for member in members]
    window = workload.window
    if repeat and window is not None:
        window = (window[0], min(window[1], window[0] + LONGEST_REPEATED))
        last = window[0] + 0.75 * (window[1] - window[0])
        members = [replace(with_some_length(m), release=min(m.release, last)) for m in members]
    placement = None
    if resources:
        size = draw(st.integers(1, 3))
        platform = replace(platform, resources=size, node_bandwidth=None)
        counts = range(1, size + 1) if nice else sorted({1, *draw(st.sets(st.integers(2, 4)))})
        members = [replace(m, curve=Curve.of({count: draw(speeds) for count in counts})) for m in members]
        placement = tuple(tuple(draw(st.permutations(range(size))))[: draw(st.integers(1, size))] for _ in members)
    options: dict[str, Any] = {}
    if tier:
        options = draw(buffers(nice, len(members)))
        platform = replace(platform, buffer=options.pop("buffer"))
    workload = suited(policy, Workload(platform, tuple(members), window))
    return Combination(
        workload,
        policy,
        delta=draw(st.sampled_from([0.5, 1.0, 1.3, 7.0])) if REGISTRY[policy].periodic else None,
        placement=placement,
        repeat=repeat,
        to_the_end=window is not None and not repeat and draw(st.integers(0, 2)) == 0,
        **options,
    )


@st.composite
def with_directions(
    draw, member: Application, nice: bool, speeds: st.SearchStrategy[float], own: bool, phases: int
) -> Application:
    """The same application with reads and writes, and with `own` bandwidths of each now and then."""
    phase = st.tuples(st.sampled_from(["work", *KINDS, "read"]), amounts(nice))
    if draw(st.integers(0, 3)) > 0:
        member = replace(member, phases=Phases.of(draw(st.lists(phase, min_size=min(3, phases), max_size=phases))))
    if own:
        maybe = st.one_of(st.none(), st.none(), speeds)
        member = replace(member, read_bandwidth=draw(maybe), write_bandwidth=draw(maybe))
    return member


def with_some_length(member: Application) -> Application:
    """As it can be repeated: with a second of work where the chain is too short, and with reads that are not too small, as
    without end of room they are fetched without end.
    """
    chain = [(kind, amount + 0.5 if kind == "read" and 0.0 < amount < 0.5 else amount) for kind, amount in member.phases]
    if sum(amount / (1.0 if kind == "work" else 8.0) for kind, amount in chain) < 0.5:
        chain.append(("work", 1.0))
    return replace(member, phases=Phases.of(chain))


@st.composite
def buffers(draw, nice: bool, applications: int) -> dict[str, Any]:
    """Options of a tier: shares, a pool, or the size of the platform's buffer; none, small, large or boundless."""
    size = st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0, 40.0]) if nice else st.one_of(st.just(0.0), odd_floats(0.01, 30.0))
    any_size = st.one_of(size, size, st.just(math.inf))
    speed = st.sampled_from([0.5, 1.0, 2.0, 4.0]) if nice else odd_floats(0.1, 6.0)
    bandwidth = draw(st.one_of(st.none(), speed))
    options: dict[str, Any] = {"buffer": None if bandwidth is None else {"bandwidth": bandwidth}}
    kind = draw(st.sampled_from(["shares", "pool", "pool", "platform"]))
    if kind == "shares":
        options["shares"] = tuple(draw(any_size) for _ in range(applications))
    elif kind == "pool":
        options["pool"] = draw(any_size)
    else:
        options["buffer"] = {"size": draw(size), **(options["buffer"] or {})}
    options["threshold"] = draw(st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0]))
    options["capped"] = draw(st.booleans())
    return options


def assert_laws(combination: Combination, result: NaiveResult) -> None:
    """All laws, on a run of the slow twin or on one that is written down as it writes."""
    workload, begin, end = combination.workload, result.begin, result.end
    applications = result.applications
    assert_monotone([date for date, _ in result.history], begin, end)
    assert_volumes(*([getattr(a, name) for a in applications] for name in ("posted", "transferred", "remaining")))
    for application in applications:
        assert_ways(application)
    assert_rows_are_apart(result.trace, begin, end)
    volumes = {(i, "write"): a.direct_written + a.drained for i, a in enumerate(applications)}
    volumes |= {(i, "read"): a.direct_read + a.prefetched for i, a in enumerate(applications)}
    assert_rows_add_up(result.trace, volumes)
    given = workload.platform.degradation
    parts = given.upto(99).tolist() if given is not None else [1.0] * 99
    # What prefetches keep, that wait for room, may be more than is left when others join them.
    degradation = None if combination.tier else lambda count: parts[count - 1]
    assert_feasible(result.trace, Bounds.of(workload, combination.placement), degradation)
    dates = [date for date, _ in result.history]
    outgoing = [[content.q for content in rows] for _, rows in result.history]
    incoming = [[content.p for content in rows] for _, rows in result.history]
    assert_room(outgoing, incoming, combination.spaces)
    buffer = workload.platform.buffer
    bound = buffer.bandwidth if buffer is not None and buffer.bandwidth is not None else math.inf
    assert_inflow(dates, outgoing, incoming, bound)
    assert_progress(
        workload,
        [a.progress for a in applications],
        [a.end for a in applications],
        end,
        [a.worked for a in applications],
    )
