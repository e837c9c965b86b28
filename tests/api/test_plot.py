"""Drawings take the axes they are given, and return them."""

from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import penstock
from penstock import InputError, plot


@pytest.fixture(autouse=True)
def agg() -> Iterator[None]:
    mpl.use("Agg")
    yield
    plt.close("all")


@pytest.fixture
def axes() -> Axes:
    return plt.subplots()[1]


def labels(axes: Axes) -> list[str]:
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_a_comparison(demo: Path, axes: Axes) -> None:
    found = penstock.compare(demo, ["fcfs", "greedy-yield"], trace=True)
    assert plot.comparison(found, ax=axes) is axes
    heights = [patch.get_height() for patch in axes.patches]
    assert heights[:2] == [found["fcfs"].min_yield, found["greedy-yield"].min_yield]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["fcfs", "greedy-yield"]
    assert axes.lines[0].get_ydata()[0] == found.bounds.min_yield
    assert labels(plot.yields(found)) == ["fcfs", "greedy-yield"]
    assert labels(plot.yields(found["fcfs"])) == ["fcfs"]
    assert len(labels(plot.rates(found["fcfs"]))) == len(found.workload.applications)
    one = plot.comparison(found, ["mean_slowdown"])
    assert one is not axes
    assert labels(one) == ["mean slowdown"]


def test_rates_need_a_trace(demo: Path) -> None:
    with pytest.raises(InputError, match=r"trace: the run has none; expected penstock.simulate\(…, trace=True\)"):
        plot.rates(penstock.simulate(demo))


def test_many_applications_share_a_colour(axes: Axes) -> None:
    applications = tuple(penstock.Application.of(f"a{i}", [("work", i), ("io", 1.0 + i)]) for i in range(25))
    result = penstock.simulate(penstock.Workload(penstock.Platform(5.0, 1.0), applications), "fcfs", trace=True)
    plot.rates(result, ax=axes)
    assert labels(axes) == [*(f"a{i}" for i in range(5, 25)), "others"]


def test_plans(jobs: str, curved: str, writers: str, axes: Axes) -> None:
    packed = penstock.pack(jobs, io_nodes=2)
    assert plot.gantt(packed, ax=axes) is axes
    assert plot.gantt(packed, io_node=1).get_ylabel() == "nodes of\nI/O node 2"
    placed = penstock.place(curved)
    assert labels(plot.occupancy(placed)) == ["occupancy in the run", *(f"[b]{name}$x$" for name in "abc")]
    sized = penstock.buffer(writers)
    assert "dynamic: content" in labels(plot.filling(sized))
    assert labels(plot.stretches(sized)) == ["static, largest", "static, mean", "dynamic, largest", "dynamic, mean"]


def test_advice_and_groups(axes: Axes) -> None:
    chain = [("work", 3000.0), ("write", 600.0)]
    jobs = tuple(penstock.Application.of(name, chain, nodes=1, recorded=(0.0, 3600.0)) for name in "a$b")
    workload = penstock.Workload(penstock.Platform(bandwidth=1.0, nodes=3), jobs)
    advice = penstock.advise(workload)
    assert plot.advice(advice, ax=axes) is axes
    answers = [row for row in advice.tables()["answers"] if row["gain"] is not None]
    assert [patch.get_width() for patch in axes.patches] == [row["gain"] for row in answers]
    assert [text.get_text() for text in axes.get_yticklabels()] == [f"{row['question']}\n{row['answer']}" for row in answers]
    ends = [line.get_xdata().tolist() for line in axes.lines]
    assert ends == [[row["low"], row["high"]] for row in answers if row["low"] is not None]
    found = penstock.groups(workload)
    drawn = plot.groups(found)
    assert drawn is not axes
    assert [patch.get_width() for patch in drawn.patches] == [row["lost_node_hours"] for row in found.tables()["ways"]]


def test_a_delta_graph(axes: Axes) -> None:
    found = penstock.delta(volume=("4 GB", "1 GB"), points=9, strategy=["fcfs", "serializing"])
    assert plot.delta(found, ax=axes) is axes
    assert axes.get_ylabel() == "I/O time, s"
    assert axes.lines[0].get_ydata().tolist() == found.graph.times["fcfs"][:, 0].tolist()
    factors = plot.delta(found, "interference")
    assert factors.lines[1].get_ydata().tolist() == found.graph.factors["fcfs"][:, 1].tolist()
    with pytest.raises(InputError, match="value: 'cost' is unknown; expected io_time or interference"):
        plot.delta(found, "cost")


def test_a_summary(tmp_path: Path, axes: Axes) -> None:
    grid = {"pressure": [0.5, 0.9], "applications": 4, "small": 1, "horizon": 2e4}
    document = {"campaign": "c", "workload": "synthetic", "parameters": grid, "seeds": [0, 1], "policies": ["fcfs"]}
    found = penstock.campaign(document, tmp_path / "out", workers=1)
    assert plot.summary(found, ax=axes) is axes
    assert axes.get_xlabel() == "pressure"
    bars = plot.summary(found.summary("policy", "efficiency"), "efficiency")
    assert bars.patches[0].get_height() == found.summary("policy").rows[0]["efficiency_mean"]
    with pytest.raises(InputError, match="measure: 'makespan' is not in the summary; expected one of min_yield"):
        plot.summary(found.summary(), "makespan")
