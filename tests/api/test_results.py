"""Every function gives what its command prints; results are also data frames and tables of a notebook."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import penstock
from penstock import InputError
from penstock.api.results import MOST_ROWS, Tables, data_frame, flat, html_table
from tests.api.conftest import Printed


def without_times(document: Any) -> Any:
    """The document without the only numbers that differ between two runs, those of the clock."""
    if isinstance(document, dict):
        return {key: without_times(value) for key, value in document.items() if not key.endswith("seconds")}
    if isinstance(document, list):
        return [without_times(value) for value in document]
    return document


def same(result: Tables, document: dict[str, Any]) -> bool:
    return bool(without_times(result.to_dict()) == without_times(document))


def test_simulate(demo: Path, printed: Printed) -> None:
    result = penstock.simulate(demo, "greedy-yield", check=True)
    assert same(result, printed("simulate", demo, "--policy", "greedy-yield", "--check"))
    assert same(penstock.simulate(demo), printed("simulate", demo))
    assert penstock.simulate(penstock.read(demo), "greedy-yield").yields.tolist() == result.yields.tolist()
    frame = result.to_pandas()
    assert frame["yield"].tolist() == result.yields.tolist()
    assert result.to_pandas("run")["min_yield"].item() == result.min_yield
    assert isinstance(result, penstock.Result)


def test_the_placement_is_told(curved: str, printed: Printed) -> None:
    assert same(penstock.simulate(curved, "fcfs"), printed("simulate", curved, "--policy", "fcfs"))
    options = ("--allocation", "n-sys", "--placement", "random")
    chosen = penstock.simulate(curved, "fcfs", allocation="n-sys", placement="random")
    assert same(chosen, printed("simulate", curved, "--policy", "fcfs", *options))
    listed = penstock.simulate(curved, "fcfs", placement=[[0], [1], [2, 3]])
    assert listed.to_dict()["placement"] == {"source": "given", "allocation": None, "placement": None}
    assert listed.placed is not None
    assert listed.placed.text == "as given"
    assert "placement" not in penstock.simulate(curved, "fcfs", placement=False).to_dict()
    assert listed.to_pandas()["resources"].tolist() == [[0], [1], [2, 3]]
    assert same(penstock.bounds(curved), printed("bound", curved))


def test_bounds(demo: Path, printed: Printed) -> None:
    assert same(penstock.bounds(demo), printed("bound", demo))
    assert same(penstock.bounds(demo, pieces=2), printed("bound", demo, "--pieces", 2))
    assert penstock.bounds(demo).to_pandas().columns.tolist() == ["min_yield", "efficiency", "seconds"]


def test_compare(demo: Path, printed: Printed) -> None:
    names = ["fcfs", "exclusive"]
    result = penstock.compare(demo, names)
    assert same(result, printed("compare", demo, "--policy", *names))
    frame = result.to_pandas()
    assert frame["policy"].tolist() == list(result.policies)
    assert frame["gap_min_yield"].tolist() == [result.bounds.min_yield - run.min_yield for run in result.runs]
    assert len(result.to_pandas("applications")) == len(result.runs) * len(result.workload.applications)
    assert result["fcfs"].policy == "fcfs"
    with pytest.raises(KeyError, match="'fair-share' was not run; expected one of fcfs"):
        result["fair-share"]
    assert same(penstock.compare(demo, "fcfs", bound=False), printed("compare", demo, "--policy", "fcfs", "--no-bound"))


def test_compare_several(demo: Path, tmp_path: Path, printed: Printed) -> None:
    workload = penstock.read(demo)
    other = tmp_path / "other.json"
    penstock.write(penstock.Workload(workload.platform, workload.applications[:5], workload.window), other)
    series = penstock.compare([demo, other], ["fcfs", "fair-share"])
    assert same(series, printed("compare", demo, other, "--policy", "fcfs", "fair-share"))
    assert same(series, printed("compare", "--policy", "fcfs", "fair-share", demo, other))
    assert same(series, printed("compare", demo, "--policy", "fcfs", "fair-share", other))
    assert same(series[1], printed("compare", other, "--policy", "fcfs", "fair-share"))
    first, second = (comparison["fcfs"].min_yield for comparison in series.comparisons)
    row = series.summary()[0]
    assert (row["policy"], row["workloads"], row["min_yield_count"]) == ("fcfs", 2, 2)
    assert row["min_yield_mean"] == pytest.approx((first + second) / 2)
    # Of two values the deviation is their distance over the root of 2, its error half of the distance.
    assert row["min_yield_std"] == pytest.approx(abs(first - second) / 2**0.5)
    assert row["min_yield_se"] == pytest.approx(abs(first - second) / 2)
    frame = series.to_pandas()
    assert frame["workload"].tolist() == [str(demo)] * 2 + [str(other)] * 2
    assert len(series.to_pandas("summary")) == len(series) == 2
    with pytest.raises(InputError, match="workload: there is none; expected one or more"):
        penstock.compare([])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, []),
        (
            {"mapping": "list", "backfill": True, "depth": 5, "policy": "fcfs"},
            ["--mapping", "list", "--backfill", "--depth", "5", "--policy", "fcfs"],
        ),
        ({"compare": True, "io_nodes": 2, "nodes": 4}, ["--compare", "--io-nodes", 2, "--nodes", 4]),
        ({"sensibility": "alpha", "order": "char"}, ["--sensibility", "alpha", "--order", "char"]),
    ],
)
def test_pack(jobs: str, printed: Printed, options: dict[str, Any], words: list[Any]) -> None:
    result = penstock.pack(jobs, **options)
    assert same(result, printed("pack", jobs, *words))
    table = "strategies" if "compare" in options else "jobs"
    assert len(result.to_pandas()) == len(result.to_pandas(table)) == (6 if table == "jobs" else len(result.schedules))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"compare": True, "mapping": "list"}, "mapping: is for one strategy, and compare runs all of them; leave one out"),
        ({"depth": 3}, "depth: is how far backfilling looks; expected backfill too"),
        ({"mapping": "list", "order": "max"}, "order: is for packs, and a list goes by release; leave one out"),
        ({"mapping": "first-fit", "sensibility": 1}, "sensibility: first-fit ignores I/O and has none; leave it out, or"),
    ],
)
def test_settings_of_pack_that_have_no_effect(jobs: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        penstock.pack(jobs, **options)
    assert str(caught.value).startswith(message)


def test_place(curved: str, printed: Printed) -> None:
    result = penstock.place(curved, objective="idle-time", oracle=True)
    assert same(result, printed("place", curved, "--objective", "idle-time", "--oracle"))
    some = penstock.place(curved, allocation="mckp", resources=3, knows="curves", seed=2)
    words = ("--allocation", "mckp", "--resources", 3, "--knows", "curves", "--seed", 2)
    assert same(some, printed("place", curved, *words))
    frame = result.to_pandas()
    assert frame["heuristic"][frame["chosen"]].item() == result.chosen.name
    assert result.to_pandas("applications")["resources"].tolist() == [list(used) for used in result.chosen.placement]
    assert result.chosen.result is not None
    assert result.to_pandas("resources")["occupancy"].tolist() == list(result.chosen.result.occupancy)
    assert result.to_csv().splitlines()[0] == "job,count,resources"
    assert result.to_setstripe().startswith("lfs setstripe -c ")
    with pytest.raises(InputError, match="knows: 'all' is unknown; expected one of nodes, totals, best, curves"):
        penstock.place(curved, knows="all")


def test_buffer(writers: str, printed: Printed) -> None:
    result = penstock.buffer(writers)
    assert same(result, printed("buffer", writers))
    searched = penstock.buffer(writers, size="50 GB", dynamic=True, policy=["best-effort", "static"], threshold=0.5)
    words = ("--size", "50 GB", "--dynamic", "--policy", "best-effort", "static", "--threshold", 0.5)
    assert same(searched, printed("buffer", writers, *words))
    assert result.to_pandas()["mode"].tolist() == ["static", "dynamic"]
    assert result.to_pandas("shares")["share"].tolist() == result.to_dict()["shares"]
    assert set(searched.to_pandas("found")["policy"]) <= {"best-effort", "plan"}
    assert "#DW" in result.to_directives()
    assert list(result.plan_document()["plans"]) == ["static", "dynamic"]
    with pytest.raises(InputError, match="there is no static buffer to divide"):
        searched.to_directives()
    with pytest.raises(InputError, match="threshold: is for a search; expected a size or a stretch too"):
        penstock.buffer(writers, threshold=0.5)
    with pytest.raises(InputError, match="static: the buffer is to be dynamic too"):
        penstock.buffer(writers, static=True, dynamic=True)


def test_delta(printed: Printed) -> None:
    result = penstock.delta(volume=("4 GB", "1 GB"), dt=(0, 4), points=5, metric="io-time", rounds=(4, 0))
    words = ("--volume", "4GB", "1GB", "--dt", 0, 4, "--points", 5, "--metric", "io-time", "--rounds", 4, 0)
    assert same(result, printed("delta", *words))
    options = {"nodes": (744, 24), "cap": (50, 20), "bandwidth": 56, "node_bandwidth": 1, "degradation": 0.9, "points": 3}
    words = ("--nodes", 744, 24, "--cap", 50, 20, "--bandwidth", 56, "--node-bandwidth", 1, "--degradation", 0.9)
    both = penstock.delta(**options, volume=24, strategy=["fcfs", "calciom"])
    assert same(both, printed("delta", *words, "--points", 3, "--volume", 24, 24, "--strategy", "fcfs", "calciom"))
    frame = result.to_pandas()
    assert len(frame) == 4 * 5 * 2
    serial = frame[(frame["strategy"] == "serializing") & (frame["application"] == "B")]
    assert serial["io_time"].tolist() == [5.0, 4.0, 3.0, 2.0, 1.0]
    assert {"strategy", "dt", "before", "after"} == set(result.to_pandas("changes"))
    with pytest.raises(InputError, match="volume: 3 values; expected one, or one for A and one for B"):
        penstock.delta(volume=(1, 2, 3))


def test_a_note_book_shows_a_table(demo: Path, jobs: str) -> None:
    page = penstock.compare(demo, ["fcfs", "fair-share"])._repr_html_()
    assert page.count("<tr>") == 3
    assert "gap_min_yield" in page
    assert "<td" in penstock.pack(jobs)._repr_html_()
    assert "&lt;b&gt;" in html_table([{"name": "<b>", "value": None, "list": [1, 2.5]}], "x")
    many = html_table([{"x": float(index)} for index in range(MOST_ROWS + 1)], "rows")
    assert f"rows, the first {MOST_ROWS} of {MOST_ROWS + 1}" in many
    assert many.count("<tr>") == 1 + MOST_ROWS


def test_an_unknown_table_is_refused(demo: Path) -> None:
    with pytest.raises(InputError, match="table: 'jobs' is unknown; expected one of applications, run"):
        penstock.simulate(demo).to_pandas("jobs")


def test_without_pandas_an_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(data_frame([{"a": 1}]), pd.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError) as caught:
        data_frame([{"a": 1}])
    assert str(caught.value) == "pandas is not installed; expected it from pip install 'penstock[pandas]'"


def test_what_is_nested_becomes_columns() -> None:
    assert flat({"a": 1, "b": {"c": 2, "d": {"e": 3}}}) == {"a": 1, "b_c": 2, "b_d_e": 3}


def test_errors_name_the_file(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    file.write_text(
        '{"penstock": 1, "platform": {"bandwidth": 1, "resources": 2}, "applications": [{"phases": [["io", 1]]}]}'
    )
    with pytest.raises(InputError, match=rf"^{file}: applications: applications\[0\] has no"):
        penstock.place(file, knows="curves")


LIGHT = """
import sys, penstock
assert not {"numpy", "numba", "pandas", "matplotlib", "rich", "pyarrow"} & set(sys.modules)
assert set(penstock.__all__) == set(dir(penstock))
for name in penstock.__all__:
    assert getattr(penstock, name) is not None
assert "pandas" not in sys.modules and "matplotlib.pyplot" not in sys.modules
import penstock.campaign
assert callable(penstock.campaign) and penstock.campaign.grid
"""


def test_names_are_imported_when_they_are_used() -> None:
    subprocess.run([sys.executable, "-c", LIGHT], check=True, timeout=300)
    with pytest.raises(AttributeError, match="module 'penstock' has no attribute 'flow'"):
        penstock.flow  # noqa: B018


def test_jobs_on_a_machine_are_compared_with_fair_sharing() -> None:
    """Two jobs of two nodes each post at 1800 s: sharing, each takes 3600 s instead of 1800; in turn, one of them waits.

    Under fair sharing 2 · 2 · 0.5 = 2 node-hours are lost, under fcfs 2 · 0.5 = 1.
    """
    chain = [("work", 1800.0), ("io", 1800.0)]
    jobs = tuple(penstock.Application.of(name, chain, nodes=2) for name in "ab")
    workload = penstock.Workload(penstock.Platform(1.0, nodes=4), jobs)
    found = penstock.compare(workload, "fcfs", bound=False)
    assert found.policies == ("fcfs",)
    assert found.baseline is not None
    assert (found.baseline.policy, found.baseline.lost_node_hours) == ("fair-share", pytest.approx(2.0))
    assert found.recommendation == (
        "fcfs loses 1.00 node-hours to I/O where fair-share, the baseline, loses 2.00: the lowest yield is 0.6667 and not "
        "0.6667; this assumes that every application starts at its release, whatever the policy"
    )
    usual = penstock.compare(workload, "fair-share", bound=False)
    assert usual.baseline is usual["fair-share"]
    assert "nothing that was tried loses less" in (usual.recommendation or "")
    without = penstock.compare(replace(workload, platform=penstock.Platform(1.0)), "fcfs", bound=False)
    assert (without.baseline, without.recommendation) == (None, None)
    assert not {"baseline", "recommendation"} & set(without.to_dict())


def test_over_several_workloads_the_recommendation_has_intervals() -> None:
    """fcfs loses 1 and 2 node-hours, fair sharing 2 and 4: means 1.5 and 3, and half-widths 12.706 · 0.5 and 12.706 · 1."""
    workloads = []
    for nodes in (2, 4):
        chain = [("work", 1800.0), ("io", 1800.0)]
        jobs = tuple(penstock.Application.of(name, chain, nodes=nodes) for name in "ab")
        workloads.append(penstock.Workload(penstock.Platform(1.0, nodes=8), jobs))
    said = penstock.compare(workloads, "fcfs", bound=False).recommendation
    assert said is not None
    assert said.startswith("fcfs loses 1.50 ± 6.35 node-hours to I/O where fair-share, the baseline, loses 3.00 ± 12.71: ")
