"""Random workloads for round trips: any value that the format can hold."""

import numpy as np
from hypothesis import strategies as st

from penstock.model import Application, Buffer, Curve, Degradation, Phases, Platform, Workload

amounts = st.floats(min_value=0.0, max_value=1e300)
positive = st.floats(min_value=1e-300, max_value=1e300)
dates = st.floats(min_value=-1e15, max_value=1e15)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)


@st.composite
def applications(draw: st.DrawFn, name: str, before: float, platform: Platform, divided: bool) -> Application:
    placements = (
        st.none() if platform.resources is None else st.none() | st.lists(st.integers(0, 7), min_size=1, unique=True)
    )
    size = platform.buffer.size if platform.buffer and divided else None
    phases = draw(st.lists(st.tuples(st.integers(0, 3), amounts), min_size=1, max_size=6))
    return Application(
        name,
        Phases(np.array([kind for kind, _ in phases], np.uint8), np.array([amount for _, amount in phases])),
        nodes=draw(st.integers(1, 64)),
        release=draw(dates.filter(lambda release: release < before)),
        lead=draw(amounts),
        bandwidth=draw(st.none() | positive),
        nominal=draw(st.none() | st.tuples(amounts, amounts)),
        read_bandwidth=draw(st.none() | positive),
        write_bandwidth=draw(st.none() | positive),
        curve=draw(st.none() | curves()),
        best_count=draw(st.none() | st.integers(1, 64)),
        directory=draw(st.none() | names),
        rounds=draw(st.none() | st.integers(1, 64)),
        placement=draw(placements),
        share=draw(st.none() if size is None else st.floats(min_value=0.0, max_value=size)),
        user=draw(st.none() | names),
        group=draw(st.none() | names),
        submit=draw(st.none() | dates.filter(lambda submit: submit < before)),
        requested=draw(st.none() | positive),
        weight=draw(st.none() | positive),
        past=draw(st.none() | st.tuples(st.integers(1, 1_000), amounts)),
        source=draw(st.none() | names),
        recorded=draw(st.none() | st.tuples(dates, amounts)),
    )


def curves() -> st.SearchStrategy[Curve]:
    return st.dictionaries(st.integers(2, 64), positive, max_size=4).flatmap(
        lambda points: positive.map(lambda first: Curve.of({1: first, **points}))
    )


def degradations() -> st.SearchStrategy[Degradation]:
    parts = st.floats(min_value=0.0, max_value=1.0, exclude_min=True)
    return st.dictionaries(st.integers(2, 64), parts, max_size=4).map(Degradation.of)


def buffers(resources: int | None) -> st.SearchStrategy[Buffer]:
    before = st.none() if resources is None else st.none() | st.permutations(range(resources))
    return st.builds(Buffer, size=st.none() | amounts, bandwidth=st.none() | positive, resources=before)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    window = draw(st.none() | st.tuples(dates, dates).filter(lambda dates: dates[0] < dates[1]))
    before = window[1] if window else np.inf
    resources = draw(st.none() | st.integers(8, 100))
    platform = Platform(
        draw(positive),
        draw(st.none() | positive),
        nodes=draw(st.none() | st.integers(64, 10_000)),
        resources=resources,
        read_bandwidth=draw(st.none() | positive),
        write_bandwidth=draw(st.none() | positive),
        buffer=draw(st.none() | buffers(resources)),
        degradation=draw(st.none() | degradations()),
    )
    unique = draw(st.lists(names, min_size=1, max_size=4, unique=True))
    divided = draw(st.booleans())
    return Workload(platform, tuple(draw(applications(name, before, platform, divided)) for name in unique), window)
