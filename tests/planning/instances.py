"""Random small batches of jobs: round numbers with many ties, exact in binary, and numbers without any."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from penstock.model import Application, Platform, Workload
from penstock.planning.jobs import Jobs, Machine
from tests.naive.strategies import odd_floats

SENSIBILITIES = (0.25, 0.5, 1.0, 2.0, float("inf"))


def quarters(low: float, high: float) -> st.SearchStrategy[float]:
    return st.integers(int(4 * low), int(4 * high)).map(lambda i: i / 4)


@st.composite
def batches(draw, *, most: int = 8, nice: bool | None = None, released: bool = True):
    """A workload of periodic jobs on a platform with nodes, some without I/O, some that take no time."""
    nice = draw(st.booleans()) if nice is None else nice
    number = quarters if nice else odd_floats
    nodes = draw(st.integers(1, 9))
    bandwidth = draw(st.sampled_from([1.0, 2.0, 4.0]) if nice else odd_floats(0.3, 5.0))
    applications = []
    for index in range(draw(st.integers(1, most))):
        work = draw(st.one_of(st.just(0.0), number(0, 6), number(0, 6), number(0, 6)))
        volume = draw(st.one_of(st.just(0.0), number(0, 6), number(0, 6), number(0, 6)))
        phases = [("work", work), ("io", volume)] * draw(st.integers(1, 3))
        options = {"nodes": draw(st.integers(1, nodes)), "lead": draw(st.sampled_from([0.0, 0.0, 1.0]))}
        if released and draw(st.booleans()):
            options["release"] = draw(number(0, 20))
        applications.append(Application.of(f"j{index}", phases, **options))
    return Workload(Platform(bandwidth, nodes=nodes), tuple(applications))


@st.composite
def job_tables(draw, *, most: int = 9):
    """Jobs as a planner sees them, and a machine of one I/O node; V ≤ b · T as always."""
    nice = draw(st.booleans())
    number = quarters if nice else odd_floats
    nodes = draw(st.integers(1, 9))
    bandwidth = draw(st.sampled_from([1.0, 2.0]) if nice else odd_floats(0.3, 5.0))
    size = draw(st.integers(1, most))
    rows = []
    for _ in range(size):
        seconds = draw(st.one_of(st.just(0.0), number(1, 8), number(1, 8), number(1, 8)))
        share = draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]) if nice else odd_floats(0.0, 1.0))
        iteration = seconds / draw(st.integers(1, 4))
        rows.append((draw(st.integers(1, nodes)), seconds, share * seconds * bandwidth, iteration, draw(number(0, 9))))
    return table(rows, bandwidth), Machine(nodes, bandwidth)


def table(rows, bandwidth: float = 1.0) -> Jobs:
    """Jobs that share the bandwidth from rows of nodes, seconds, volume, iteration, release; what is missing is 0."""
    full = [(*row, *[0.0] * (5 - len(row))) for row in rows]
    nodes, seconds, volume, iteration, release = (np.array(column) for column in zip(*full, strict=True))
    operations = (volume > 0).astype(np.int64)
    names = tuple(f"j{index}" for index in range(len(rows)))
    floats = (np.asarray(column, np.float64) for column in (seconds, volume, iteration))
    return Jobs(
        names, nodes.astype(np.int64), *floats, operations, np.asarray(release, np.float64), np.asarray(volume) / bandwidth
    )


def batch(*rows, bandwidth: float = 1.0, nodes: int = 4) -> Workload:
    """Jobs from rows of nodes, phases and, where it is not 0, release, named a, b, c …"""
    return Workload(
        Platform(bandwidth, nodes=nodes),
        tuple(
            Application.of("abcdefghij"[index], row[1], nodes=row[0], release=row[2] if len(row) > 2 else 0.0)
            for index, row in enumerate(rows)
        ),
    )


def work(seconds: float):
    return [("work", seconds)]
