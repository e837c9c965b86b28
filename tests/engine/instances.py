"""Random small workloads beside a burst buffer: read and write speeds on both sides of B, all sizes of buffer."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from penstock.model import Application, Platform, Workload
from tests.naive.strategies import amounts, odd_floats, workloads


@dataclass(frozen=True)
class Case:
    """A workload and the options of a replay of it."""

    workload: Workload
    options: dict[str, Any]


@st.composite
def cases(draw, *, applications: int = 4, phases: int = 8, kinds: tuple[str, ...] = ("work", "read", "write", "io")):
    """Round numbers with many ties, or numbers without any."""
    nice = draw(st.booleans())
    speed = st.sampled_from([0.5, 1.0, 2.0, 3.0, 4.0, 8.0]) if nice else odd_floats(0.1, 12.0)
    date = st.sampled_from([0.0, 0.0, 1.0, 2.5, 4.0]) if nice else odd_floats(0.0, 8.0)
    maybe = st.one_of(st.none(), st.none(), speed)
    platform = Platform(
        draw(st.sampled_from([1.0, 2.0, 4.0]) if nice else odd_floats(0.3, 6.0)),
        read_bandwidth=draw(maybe),
        write_bandwidth=draw(maybe),
        buffer=draw(st.one_of(st.none(), speed.map(lambda bandwidth: {"bandwidth": bandwidth}))),
    )
    chain = st.lists(st.tuples(st.sampled_from(kinds), amounts(nice)), min_size=1, max_size=phases)
    members = tuple(
        Application.of(
            f"a{index}",
            draw(chain),
            nodes=draw(st.integers(1, 8)),
            release=draw(date),
            lead=draw(st.one_of(st.just(0.0), amounts(nice))),
            bandwidth=draw(speed),
            read_bandwidth=draw(maybe),
        )
        for index in range(draw(st.integers(1, applications)))
    )
    size = st.sampled_from([0.0, 0.5, 1.0, 2.0, 5.0, 40.0]) if nice else st.one_of(st.just(0.0), odd_floats(0.01, 30.0))
    size = st.one_of(size, size, st.just(math.inf))
    options: dict[str, Any] = {"threshold": draw(st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0])), "capped": draw(st.booleans())}
    if draw(st.booleans()):
        options["shares"] = [draw(size) for _ in members]
    else:
        options["pool"] = draw(size)
    return Case(Workload(platform, members), options)


@st.composite
def from_date_0(draw):
    """Workloads as the engine runs them, moved to where no release is before date 0."""
    workload = draw(workloads(window=False))
    members = tuple(replace(application, release=application.release + 10.0) for application in workload.applications)
    return replace(workload, applications=members)
