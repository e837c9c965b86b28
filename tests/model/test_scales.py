"""Scales that do not match are questioned, and workloads without units never are."""

import doctest
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.campaign.sources import source
from penstock.cli.main import main
from penstock.model import Application, Curve, Platform, Workload, scales
from penstock.model.scales import YEAR, mismatch
from penstock.workloads import schedule, windows
from tests.workloads.traces import line, write

Capture = pytest.CaptureFixture[str]


def one(volume: float, platform: Platform, **options: Any) -> Workload:
    """An application with one operation after an hour of work."""
    return Workload(platform, (Application.of("a", [("work", 3600.0), ("write", volume)], **options),))


QUESTIONED = [
    # workload, place, value, factor
    (one(1e12, Platform(100.0)), "platform.bandwidth", 100.0, 1e9),  # 100 GB/s without its unit
    (one(10e9, Platform(100.0)), "platform.bandwidth", 100.0, 1e6),  # 3 years
    (one(1e15, Platform(200e3)), "platform.bandwidth", 200e3, 1e9),  # 158 years
    (one(100e6, Platform(100.0)), "platform.bandwidth", 100.0, 1e3),  # 11.6 days
    (one(1e12, Platform(1e11, 1.2), nodes=64), "platform.node_bandwidth", 1.2, 1e9),
    (one(1e12, Platform(1e11), bandwidth=5.0), "applications[0].bandwidth", 5.0, 1e9),
    (one(1e12, Platform(8.0, resources=2), curve=Curve((1, 2), (3.0, 4.0))), "applications[0].curve", 4.0, 1e9),
    (one(1e30, Platform(1.0)), "platform.bandwidth", 1.0, None),
    (one(1000.0, Platform(100e9)), "applications[0].phases", 1000.0, 1e6),  # 1 TB without its unit
    (one(5.0, Platform(1e9)), "applications[0].phases", 5.0, 1e6),
]


@pytest.mark.parametrize("number", range(len(QUESTIONED)))
def test_what_is_questioned(number: int) -> None:
    workload, place, value, factor = QUESTIONED[number]
    found = mismatch(workload)
    assert found is not None
    assert (found.place, found.value, found.factor) == (place, value, factor)


@pytest.mark.parametrize(
    "workload",
    [
        one(3e6, Platform(1.0)),  # volumes are seconds, and an operation takes a month
        one(1e-7, Platform(1.0)),
        one(0.0, Platform(1e11)),
        one(44.8e12, Platform(160e9)),
        one(4096.0, Platform(200e9), bandwidth=1e9),  # a page takes 4 µs
        one(1e9, Platform(200e3)),  # a slow link
    ],
)
def test_what_is_not(workload: Workload) -> None:
    assert mismatch(workload) is None


@settings(max_examples=200)
@given(st.lists(st.tuples(st.floats(0.0, 1e7), st.floats(0.0, 1e7)), min_size=1, max_size=5))
def test_a_link_of_bandwidth_1_and_volumes_in_seconds_are_never_questioned(chain: list[tuple[float, float]]) -> None:
    phases = [phase for work, volume in chain for phase in (("work", work), ("io", volume))]
    assert mismatch(Workload(Platform(1.0), (Application.of("a", phases),))) is None


KINDS: list[tuple[str, dict[str, Any]]] = [
    ("demo", {}),
    ("synthetic", {"pressure": 1.5}),
    ("synthetic", {"pressure": 0.1, "node_share": 1 / 16, "largest": 32, "horizon": 50_000.0}),
    ("bicolored", {"noise": 1.0}),
    ("bicolored", {"case": "uniform"}),
    ("jacobi", {}),
    ("packs", {"load": 10.0}),
    ("uniform", {"load": 0.2, "longest": 1100}),
    ("mira", {"load": 0.2}),
    ("mira", {"load": 0.8, "profile": "normal"}),
    ("distributed", {"load": 0.1}),
    ("distributed", {"load": 1.9, "curves": "osts"}),
    ("lanl", {"load": 0.2, "walltimes": "apex"}),
    ("lanl", {"load": 1.0, "mtbf": 50.0}),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("kind", "parameters"), KINDS, ids=lambda value: value if isinstance(value, str) else "")
def test_no_generated_workload_is_questioned(kind: str, parameters: dict[str, Any], seed: int) -> None:
    made = source(kind).make(source(kind).parse(parameters), seed)
    assert [mismatch(workload) for workload in made] == [None] * len(made)


@pytest.mark.parametrize(("workload", "machine"), [("nersc", "M_10"), ("trilab", "cielo")])
def test_no_window_of_apex_is_questioned(workload: str, machine: str) -> None:
    assert {mismatch(window) for window in windows(workload, machine, 1, 20)} == {None}
    assert schedule(workload, machine, 1).jobs


def test_no_trace_is_questioned(tmp_path: Path) -> None:
    path = write(tmp_path / "a.swf", *(line(number, 100 * number, run=10.0**number) for number in range(1, 6)))
    for parameters in ({}, {"iterations": 1}, {"bandwidth": "200 GB/s", "node_bandwidth": "1 GB/s"}):
        (workload,) = source("swf").make(source("swf").parse({"path": path, **parameters}), 1)
        assert mismatch(workload) is None


def written(folder: Path, bandwidth: object, volume: object) -> str:
    path = folder / "w.json"
    chain = [["work", "1 h"], ["write", volume]]
    document = {"penstock": 1, "platform": {"bandwidth": bandwidth, "nodes": 4}, "applications": [{"phases": chain}]}
    path.write_text(json.dumps(document))
    return str(path)


@pytest.mark.parametrize("command", ["simulate", "compare", "bound"])
def test_a_command_asks_in_one_line_and_goes_on(command: str, tmp_path: Path, capsys: Capture) -> None:
    assert main([command, written(tmp_path, 100, "1 TB"), "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)
    said = [text for text in captured.err.splitlines() if "compiling" not in text and "does not use" not in text]
    where = f"{tmp_path / 'w.json'}: " if command == "compare" else ""  # which may have several files
    (line_said,) = said
    expected = "platform.bandwidth: an operation of 1 TB takes 317 years at 100 B/s; did you mean 100 GB/s?"
    assert line_said == f"note: {where}{expected}"


@pytest.mark.parametrize(
    ("bandwidth", "volume", "question"),
    [
        ("100 GB/s", 1000, "applications[0].phases: an operation of 1 kB takes 0.01 µs at 100 GB/s; did you mean 1 GB?"),
        (100, "100 MB", "platform.bandwidth: an operation of 100 MB takes 11.6 d at 100 B/s; did you mean 100 kB/s?"),
        (1, 1e30, "platform.bandwidth: an operation of 1,000,000,000,000 EB takes"),
        ("100 GB/s", "1 TB", ""),
        (1, 1000, ""),
    ],
)
def test_the_question(bandwidth: object, volume: object, question: str, tmp_path: Path, capsys: Capture) -> None:
    assert main(["simulate", written(tmp_path, bandwidth, volume), "--json"]) == 0
    said = [text for text in capsys.readouterr().err.splitlines() if "compiling" not in text]
    assert len(said) == bool(question)
    assert question in "".join(said)


def test_the_example_is_true() -> None:
    assert doctest.testmod(scales).failed == 0
    assert YEAR == 31_557_600.0
