"""Random small workloads that read and write beside a buffer."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock.model import Application, Buffer, Platform, Workload
from tests.naive.strategies import odd_floats
from tests.planning.instances import quarters


@st.composite
def workloads(draw, *, most: int = 4, reads: bool = True, inflow: bool = False):
    """Round numbers with many ties, or numbers without any; b below and above B; work before a first read, mostly."""
    number = odd_floats if draw(st.booleans()) else quarters
    bandwidth = draw(number(1, 4))
    options = {}
    if draw(st.booleans()):
        options["write_bandwidth"] = draw(number(1, 4))
    if reads and draw(st.booleans()):
        options["read_bandwidth"] = draw(number(1, 4))
    if inflow:
        options["buffer"] = Buffer(bandwidth=draw(number(1, 8)))
    kinds = ["write", "io", "read"] if reads else ["write", "io"]
    volume = st.one_of(st.just(0.0), *[number(0.25, 8)] * 3)
    applications = []
    for index in range(draw(st.integers(1, most))):
        phases = []
        for _ in range(draw(st.integers(1, 4))):
            if draw(st.integers(0, 4)):
                phases.append(("work", draw(number(0, 6))))
            phases.append((draw(st.sampled_from(kinds)), draw(volume)))
        speeds = {"write_bandwidth": draw(number(1, 6)), "read_bandwidth": draw(number(1, 6))}
        release, lead = draw(st.one_of(st.just(0.0), number(0, 10))), draw(st.sampled_from([0.0, 1.0, 4.0]))
        applications.append(Application.of(f"a{index}", phases, release=release, lead=lead, **speeds))
    return Workload(Platform(bandwidth, **options), tuple(applications))


def applications(*rows, **platform) -> Workload:
    """Applications a, b, c … from rows of phases and, where there are any, options; the platform's bandwidth is 2."""
    made = []
    for name, row in zip("abcdefgh", rows, strict=False):
        phases, options = (row, {}) if isinstance(row, list) else row
        made.append(Application.of(name, phases, **{"bandwidth": 4.0, **options}))
    return Workload(Platform(**{"bandwidth": 2.0, **platform}), tuple(made))
