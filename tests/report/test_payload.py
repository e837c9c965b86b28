import base64
import dataclasses
import json

import numpy as np
import pytest

from penstock.engine import Result, simulate
from penstock.model import Application, Platform, Workload
from penstock.report import html as module
from penstock.report.html import payload, rows_to_draw, to_json


def unpacked(text: str, dtype: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype)


def test_few_segments_are_there_as_they_are(workload: Workload, results: list[Result]) -> None:
    document = payload(workload, results)
    assert document["bins"] is None
    for policy, result in zip(document["policies"], results, strict=True):
        order = np.lexsort((result.trace.begin, result.trace.application))
        gantt = policy["gantt"]
        np.testing.assert_array_equal(unpacked(gantt["row"], "<u2"), result.trace.application[order])
        np.testing.assert_array_equal(unpacked(gantt["begin"], "<f8"), result.trace.begin[order])
        np.testing.assert_array_equal(unpacked(gantt["end"], "<f8"), result.trace.end[order])
        np.testing.assert_allclose(unpacked(gantt["rate"], "<f4"), result.trace.rate[order], rtol=1e-6)


def moved(policy: dict) -> float:
    return float(unpacked(policy["use"]["rate"], "<f4") @ np.diff(unpacked(policy["use"]["dates"], "<f8")))


@pytest.mark.parametrize("most", [0, 50_000])
def test_the_bandwidth_in_use_moves_what_the_applications_transferred(
    workload: Workload, results: list[Result], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(module, "MOST_SEGMENTS", most)
    for policy, result in zip(payload(workload, results)["policies"], results, strict=True):
        assert moved(policy) == pytest.approx(sum(a.transferred for a in result.applications), rel=1e-5)


def test_many_segments_become_means(workload: Workload, results: list[Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_SEGMENTS", 10)
    document = payload(workload, results)
    bins = document["bins"]
    assert bins["count"] * bins["seconds"] == pytest.approx(600.0)
    caps = np.array([application["cap"] for application in document["applications"]])
    for policy, result in zip(document["policies"], results, strict=True):
        steps = unpacked(policy["gantt"]["rate"], "<u1").reshape(len(caps), bins["count"]) / bins["steps"]
        volumes = (steps**2 * bins["largest"]["rate"]).sum(axis=1) * caps * bins["seconds"]
        np.testing.assert_allclose(volumes, [a.transferred for a in result.applications], rtol=0.02)
        steps = unpacked(policy["gantt"]["waiting"], "<u1").reshape(len(caps), bins["count"]) / bins["steps"]
        waited = (steps**2 * bins["largest"]["waiting"]).sum(axis=1) * bins["seconds"]
        np.testing.assert_allclose(waited, [a.waiting for a in result.applications], rtol=0.02, atol=0.5)


def crowd(count: int) -> Workload:
    applications = tuple(Application.of(f"a{i}", [("work", 1.0), ("io", 1.0 + i)] * 3) for i in range(count))
    return Workload(Platform(50.0), applications, (0.0, 200.0))


@pytest.mark.parametrize("most", [0, 50_000])
def test_of_many_applications_those_with_the_lowest_yields_are_drawn(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(module, "MOST_SEGMENTS", most)
    workload = crowd(130)
    result = simulate(workload, "fcfs", trace=True)
    document = payload(workload, [result])
    rows = document["rows"]
    assert len(rows) == 100
    assert rows == sorted(rows)
    left_out = sorted(set(range(130)) - set(rows))
    assert max(result.yields[rows]) <= min(result.yields[left_out])
    assert len(document["applications"]) == len(document["policies"][0]["yields"]) == 130
    assert moved(document["policies"][0]) == pytest.approx(sum(a.transferred for a in result.applications), rel=1e-5)


def test_few_applications_are_all_drawn(results: list[Result]) -> None:
    assert rows_to_draw(results[0]).tolist() == [0, 1, 2, 3, 4]


def test_a_run_that_takes_no_time_has_a_second_of_nothing() -> None:
    workload = Workload(Platform(1.0), (Application.of("a", [("work", 0.0)]),))
    document = payload(workload, [simulate(workload, "fcfs", trace=True)])
    assert document["end"] - document["begin"] == 1.0
    assert moved(document["policies"][0]) == 0.0


def test_a_result_without_trace_is_refused(workload: Workload, results: list[Result]) -> None:
    with pytest.raises(ValueError, match=r"the result of fcfs has no trace; expected one of simulate\(…, trace=True\)"):
        payload(workload, [results[0], dataclasses.replace(results[1], trace=None)])


def test_a_result_of_another_workload_is_refused(results: list[Result]) -> None:
    with pytest.raises(ValueError, match="fair-share is of other applications; expected those of the workload"):
        payload(crowd(5), results)


def test_the_text_cannot_end_its_element() -> None:
    document = {"name": "</script><!-- <script>"}
    assert "<" not in to_json(document)
    assert json.loads(to_json(document)) == document


def test_the_largest_drawing_of_nine_policies_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nine policies, 100 rows, 1,200 bins, two bytes each: 2.2 MB, 2.9 MB as base64."""
    monkeypatch.setattr(module, "MOST_SEGMENTS", 0)
    workload = crowd(100)
    assert len(to_json(payload(workload, [simulate(workload, "fcfs", trace=True)] * 9))) < 3.5e6


@pytest.mark.parametrize("most", [0, 50_000])
def test_on_several_resources_and_beside_a_buffer_an_application_has_one_row(
    placed: Workload, placed_results: list[Result], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(module, "MOST_SEGMENTS", most)
    document = payload(placed, placed_results)
    caps = np.array([application["cap"] for application in document["applications"]])
    assert document["bandwidth"] == caps.sum()
    for policy, result in zip(document["policies"], placed_results, strict=True):
        assert result.trace is not None
        assert moved(policy) == pytest.approx(float(result.trace.rate @ (result.trace.end - result.trace.begin)), rel=1e-5)
        if most == 0:
            continue
        row, begin, end = (
            unpacked(policy["gantt"][name], kind) for name, kind in (("row", "<u2"), ("begin", "<f8"), ("end", "<f8"))
        )
        rate = unpacked(policy["gantt"]["rate"], "<f4")
        assert np.all((row[1:] > row[:-1]) | (begin[1:] >= end[:-1]))
        assert np.all(rate <= caps[row] * (1 + 1e-6))
    if placed_results[0].buffer is None:
        np.testing.assert_allclose(caps, [6.0, 4.0, 7.0])
