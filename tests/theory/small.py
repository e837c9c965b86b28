"""Small workloads for exact optima: the applications get in each other's way, which those drawn at random seldom do."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from penstock.model import Application, Platform, Workload
from tests.naive.strategies import workloads


def same_caps(workload: Workload) -> Workload:
    """The workload with every cap equal to B."""
    members = [Application(a.name, a.phases, a.nodes, a.release, a.lead, progress=a.progress) for a in workload.applications]
    return Workload(Platform(workload.platform.bandwidth), tuple(members), workload.window)


def crowd(seed: int, applications: int, operations: int, caps: bool) -> Workload:
    """Chains of about 10 s with I/O for 2 to 15 s of the link, that begin about the same time; half of them in half seconds.

    In a window of 4 to 14 s, which some outlive, or to the ends; some with a lead, released late, or slow before the window.
    """
    random = np.random.default_rng(seed)
    grain = random.choice([0.5, 1e-6])
    windowed = random.random() < 0.7
    bandwidth = float(random.choice([1.0, 2.0, 0.7]))
    count = int(random.integers(2, applications + 1))
    load = random.uniform(2.0, 15.0) / count

    def rounded(value: float) -> float:
        return float(round(value / grain) * grain)

    members = []
    for index in range(count):
        size = int(random.integers(1, operations + 1))
        volumes = random.dirichlet(np.ones(size)) * load * random.uniform(0.5, 1.5)
        gaps = random.dirichlet(np.ones(size + 1)) * max(1.0, 10.0 - load)
        phases = [("work", rounded(gaps[0]))]
        for volume, gap in zip(volumes, gaps[1:], strict=True):
            phases += [("io", rounded(volume) * bandwidth), ("work", rounded(gap))]
        options = {"nodes": int(random.integers(1, 9)), "release": rounded(random.uniform(-6.0, 3.0))}
        if random.random() < 0.3:
            options["lead"] = rounded(random.uniform(0.0, 3.0))
        if windowed and options["release"] < 0.0 and random.random() < 0.4:
            options["progress"] = -options["release"] * random.random()
        if caps and random.random() < 0.7:
            options["bandwidth"] = bandwidth * float(random.choice([0.25, 0.5, 0.6, 0.9]))
        members.append(Application.of(f"a{index}", phases, **options))
    window = (0.0, rounded(random.uniform(4.0, 14.0))) if windowed else None
    return Workload(Platform(bandwidth), tuple(members), window)


def crowds(applications: int, operations: int, *, caps: bool = False) -> st.SearchStrategy[Workload]:
    """Workloads of 2 applications or more; without `caps` every cap is B."""
    return st.integers(0, 2**32 - 1).map(lambda seed: crowd(seed, applications, operations, caps))


def small(applications: int = 4, phases: int = 4) -> st.SearchStrategy[Workload]:
    """Crowds, and workloads of any shape; every cap is B."""
    return st.one_of(crowds(applications, 3), workloads(applications=applications, phases=phases).map(same_caps))


def tiny(*, caps: bool) -> st.SearchStrategy[Workload]:
    """Workloads of no more than four operations, for linear programs."""
    shapes = [crowds(2, 2, caps=caps), crowds(3, 1, caps=caps)]
    any_shape = [workloads(applications=2, phases=3), workloads(applications=3, phases=2)]
    shapes += any_shape if caps else [shape.map(same_caps) for shape in any_shape]
    return st.one_of(shapes).filter(lambda w: sum(a.phases.operations for a in w.applications) <= 4)
