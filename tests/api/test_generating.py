"""`penstock.generate` makes what ``penstock generate`` writes, by the same words."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock
from penstock import InputError
from penstock.cli.main import main
from penstock.workloads import demo
from tests.workloads.traces import line, write

KINDS: list[tuple[str, list[str], dict[str, Any]]] = [
    ("demo", [], {}),
    ("synthetic", ["--w-goal=0.8", "--applications=12", "--horizon=2 h", "--seed=3"], {"w_goal": 0.8, "applications": 12}),
    ("bicolored", ["--case", "uniform", "--fewest=3", "--most=4"], {"case": "uniform", "fewest": 3, "most": np.int64(4)}),
    ("jacobi", ["--batches", "0.5"], {"batches": 0.5}),
    ("mira", ["--alpha-gen=0.4", "--bandwidth=1 TB/s"], {"alpha_gen": 0.4, "bandwidth": "1 TB/s"}),
    ("distributed", ["--load=0.5", "--resources=8"], {"load": 0.5, "resources": 8}),
]


@pytest.mark.parametrize(("kind", "words", "parameters"), KINDS, ids=[kind for kind, _, _ in KINDS])
def test_the_function_and_the_command_make_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str, words: list[str], parameters: dict[str, Any]
) -> None:
    assert main(["generate", kind, *words, "-o", str(tmp_path / "w.parquet")]) == 0
    more = {"horizon": 7200.0, "seed": np.int64(3)} if kind == "synthetic" else {}
    said: list[str] = []
    made = penstock.generate(kind, say=said.append, **parameters, **more)
    assert made == penstock.read(tmp_path / "w.parquet")
    assert said == capsys.readouterr().err.splitlines()


def test_a_seed_is_that_of_the_generator() -> None:
    assert penstock.generate("demo") == demo()
    assert penstock.generate("demo", seed=7) == demo(7) != demo()


def test_apex_makes_several() -> None:
    windows = penstock.generate("apex", workload="nersc", machine="M_5", count=2)
    assert isinstance(windows, tuple)
    assert [isinstance(window, penstock.Workload) for window in windows] == [True, True]


def test_a_trace_by_its_path(tmp_path: Path) -> None:
    trace = Path(write(tmp_path / "a.swf", line(1, 0), line(2, 3600)))
    made = penstock.generate("swf", path=trace, **{"from": "1h"})
    assert [application.name for application in made.applications] == ["job-2"]
    assert made == penstock.generate("swf", path=str(trace), since="1h")


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (
            "sinthetic",
            {},
            "kind: 'sinthetic' is unknown; expected one of demo, synthetic, apex, bicolored, jacobi, packs, uniform, mira, "
            "distributed, lanl, swf; did you mean synthetic?",
        ),
        (3, {}, "kind: 3 is unknown; expected one of demo, synthetic"),
        ("jacobi", {"batch": 2}, "batch: unknown; expected one of batches; did you mean batches?"),
        ("demo", {"pressure": 2}, "pressure: unknown; expected no parameter"),
        ("mira", {}, "load: is missing; expected a value"),
        ("mira", {"load": 0.4, "alpha_gen": 0.4}, "alpha_gen: load is given twice; expected it once"),
        ("mira", {"load": 0.05}, "load: 0.05 is out of range; expected 0.129 to 0.871 with binormal"),
        ("mira", {"load": 0.4, "bandwidth": "1 GB"}, "bandwidth: '1 GB' has the unknown unit 'GB'; expected one of B/s"),
        ("synthetic", {"applications": 3.5}, "applications: 3.5 is not a whole number; expected one"),
        ("demo", {"seed": -1}, "seed: -1 is no seed; expected a whole number, 0 or more"),
        ("demo", {"seed": 1.5}, "seed: 1.5 is no seed; expected a whole number, 0 or more"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(kind: Any, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        penstock.generate(kind, **parameters)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
