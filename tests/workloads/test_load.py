"""I/O weight and I/O load against their definitions, summed phase by phase."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.model import Application, InputError, Platform, Workload
from penstock.workloads import Bicolored, Packs, bicolored, io_load, io_weight, uniform

amounts = st.floats(0.0, 1e6)
caps = st.floats(1e-3, 1e6)


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    phases = st.lists(st.tuples(st.sampled_from(["work", "io", "read", "write"]), amounts), min_size=1, max_size=6)
    applications = tuple(
        Application.of(
            f"a{i}", draw(phases), nodes=draw(st.integers(1, 64)), lead=draw(amounts), bandwidth=draw(st.none() | caps)
        )
        for i in range(draw(st.integers(1, 4)))
    )
    return Workload(Platform(draw(caps), draw(st.none() | caps), draw(st.integers(64, 10_000))), applications)


def slowly(workload: Workload) -> tuple[float, float]:
    """W and α (0 where the machine has no nodes), a phase at a time."""
    weight = link = node_seconds = 0.0
    for application in workload.applications:
        cap = application.cap(workload.platform)
        work, volume = application.lead, 0.0
        for kind, amount in application.phases:
            if kind == "work":
                work += amount
            else:
                volume += amount
        total = work + volume / cap
        weight += volume / cap / total if total else 0.0
        link += volume / workload.platform.bandwidth
        node_seconds += application.nodes * total
    nodes = workload.platform.nodes
    return weight, nodes * link / node_seconds if nodes and node_seconds else 0.0


def test_two_applications_by_hand() -> None:
    # B = 10; caps 4 and 10. a: 6 s of work and 8 bytes, 2 s; b: 1 s + 4 s of work and 50 bytes, 5 s.
    platform = Platform(10.0, 4.0, 8)
    a = Application.of("a", [("work", 6), ("io", 8)])
    b = Application.of("b", [("work", 4), ("read", 20), ("write", 30)], nodes=3, lead=1.0)
    workload = Workload(platform, (a, b))
    assert a.seconds_alone(4.0) == 8.0
    assert b.seconds_alone(10.0) == 10.0
    assert b.seconds_alone(5.0) == 15.0
    assert io_weight(workload) == pytest.approx(2 / 8 + 5 / 10)
    assert io_load(workload) == pytest.approx(8 * (58 / 10) / (1 * 8 + 3 * 10))


@settings(max_examples=60)
@given(workload=workloads())
def test_any_workload(workload: Workload) -> None:
    weight, load = slowly(workload)
    assert io_weight(workload) == pytest.approx(weight, rel=1e-9)
    assert 0.0 <= io_weight(workload) <= len(workload.applications) * (1.0 + 1e-12)
    if load > 0.0:
        assert io_load(workload) == pytest.approx(load, rel=1e-9)


def test_generated_workloads() -> None:
    for workload in (bicolored(Bicolored(noise=0.5), 4), uniform(Packs(2.0, most=30), 4).workload):
        weight, load = slowly(workload)
        assert io_weight(workload) == pytest.approx(weight, rel=1e-12)
        assert io_load(workload) == pytest.approx(load, rel=1e-12)


def test_applications_that_do_nothing() -> None:
    idle = Workload(Platform(1.0, nodes=2), (Application.of("a", [("work", 0), ("io", 0)]),))
    assert io_weight(idle) == 0.0
    with pytest.raises(InputError, match="applications: take no time at all; expected work or I/O, for the I/O load"):
        io_load(idle)


def test_a_platform_without_nodes_has_no_load() -> None:
    workload = Workload(Platform(1.0), (Application.of("a", [("io", 1)]),))
    with pytest.raises(InputError, match=r"platform\.nodes: is not given; expected the nodes of the machine"):
        io_load(workload)
