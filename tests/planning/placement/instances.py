"""Random applications on I/O resources."""

from hypothesis import strategies as st

from penstock.model import Application, Curve, Platform, Workload

amounts = st.floats(min_value=0.1, max_value=100.0)
bandwidths = st.floats(min_value=0.5, max_value=20.0)


@st.composite
def curves(draw: st.DrawFn, most: int = 8) -> Curve:
    counts = draw(st.sets(st.integers(2, most), max_size=4))
    return Curve.of({count: draw(bandwidths) for count in {1, *counts}})


@st.composite
def placeable(draw: st.DrawFn, most_applications: int = 5, most_resources: int = 8) -> Workload:
    """Applications with curves, some without I/O or without work, on some resources."""
    size = draw(st.integers(1, most_applications))
    applications = []
    for index in range(size):
        work = draw(amounts | st.just(0.0))
        volume = draw(amounts | st.just(0.0)) if work else draw(amounts)
        nodes = draw(st.integers(1, 20))
        phases = [("work", work), ("io", volume)] * draw(st.integers(1, 3))
        applications.append(Application.of(f"a{index}", phases, nodes=nodes, curve=draw(curves())))
    resources = draw(st.integers(1, most_resources))
    machine = draw(st.none() | st.integers(sum(a.nodes for a in applications), 200))
    return Workload(Platform(100.0, nodes=machine, resources=resources), tuple(applications))
