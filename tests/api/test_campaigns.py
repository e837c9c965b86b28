"""Campaigns as a function, and their summaries by parameter."""

import csv
import io
import json
import statistics as exact
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import penstock
from penstock import InputError
from penstock.campaign.rows import statistics
from penstock.cli.main import main
from tests.api.conftest import Printed

FILE = """
campaign: tiny
workload: synthetic
parameters: {pressure: [0.5, 0.9], applications: 4, small: 1, horizon: 2e4}
seeds: {first: 0, count: 3}
policies: [fair-share, fcfs]
"""
Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("campaign")
    (path / "tiny.yaml").write_text(FILE)
    penstock.campaign(path / "tiny.yaml", path / "out", workers=1)
    return path


@pytest.fixture
def result(folder: Path) -> "penstock.api.campaigns.CampaignResult":
    return penstock.campaign(folder / "tiny.yaml", folder / "out")


def test_the_function_gives_what_the_command_prints(folder: Path, result, printed: Printed) -> None:
    document = printed("campaign", folder / "tiny.yaml", "--out", folder / "out")
    assert result.to_dict() == document
    assert document["cells"] == 12
    described = penstock.campaign.read(folder / "tiny.yaml")
    assert penstock.campaign(described, folder / "out").to_dict() == document
    with pytest.raises(InputError, match="allocation: the campaign is made already; expected it in its cells"):
        penstock.campaign(described, folder / "out", allocation="tcpu")


def test_the_rows_as_a_data_frame(folder: Path, result) -> None:
    frame = result.to_pandas()
    assert frame["min_yield"].tolist() == pq.read_table(folder / "out" / "results.parquet")["min_yield"].to_pylist()
    assert set(frame["parameters.pressure"]) == {0.5, 0.9}
    assert result.to_pandas("policies")["policy"].tolist() == ["fair-share", "fcfs"]
    assert len(result.to_pandas("failures")) == 0
    assert "fair-share" in result._repr_html_()


def test_a_summary_by_parameter(result) -> None:
    summary = result.summary(by="pressure,policy")
    assert summary.rows == result.summary(by=["pressure", "policy"]).rows == result.summary().rows
    assert [(row["pressure"], row["policy"]) for row in summary.rows] == [
        (0.5, "fair-share"),
        (0.5, "fcfs"),
        (0.9, "fair-share"),
        (0.9, "fcfs"),
    ]
    frame = result.to_pandas()
    for row in summary.rows:
        inside = frame[(frame["parameters.pressure"] == row["pressure"]) & (frame["policy"] == row["policy"])]
        values = inside["min_yield"].tolist()
        assert row["rows"] == row["min_yield_count"] == 3
        assert row["failed"] == 0
        assert row["min_yield_mean"] == pytest.approx(exact.mean(values), rel=1e-15)
        assert row["min_yield_std"] == pytest.approx(exact.stdev(values), rel=1e-12)
        assert row["min_yield_se"] == pytest.approx(exact.stdev(values) / 3**0.5, rel=1e-12)
    by_seed = result.summary(by="seed", measures="events,makespan")
    assert [row["seed"] for row in by_seed.rows] == [0, 1, 2]
    assert by_seed.rows[0]["makespan_count"] == 0
    assert by_seed.rows[0]["makespan_mean"] is None
    assert summary.to_pandas()["min_yield_mean"].tolist() == [row["min_yield_mean"] for row in summary.rows]


def test_statistics() -> None:
    assert statistics([]) == {"mean": None, "std": None, "se": None, "count": 0}
    assert statistics([2.0, None]) == {"mean": 2.0, "std": None, "se": None, "count": 1}
    # 2, 4, 4, 4, 5, 5, 7, 9 have the mean 5 and the sum of squares 32: a deviation of √(32/7).
    found = statistics([2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0])
    assert found == {"mean": 5.0, "std": (32 / 7) ** 0.5, "se": (32 / 7) ** 0.5 / 8**0.5, "count": 8}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "pressure,colour"}, "summary by: 'colour' is unknown; expected one of applications, "),
        ({"measures": "yields"}, "measures: 'yields' is unknown; expected one of seed, window, min_yield, "),
    ],
)
def test_unknown_names_are_refused(result, options: dict[str, str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        result.summary(**options)
    assert str(caught.value).startswith(message)


def test_the_command_writes_the_summary(folder: Path, result, tmp_path: Path, capsys: Capture) -> None:
    table, picture = tmp_path / "s.csv", tmp_path / "s.svg"
    command = ["campaign", str(folder / "tiny.yaml"), "--out", str(folder / "out")]
    assert main([*command, "--summary-by", "pressure,policy", "--csv", str(table), "--plot", str(picture)]) == 0
    captured = capsys.readouterr()
    assert "± min_yield" in captured.out
    assert captured.err == f"plot: {picture}\n"
    assert table.read_text() == result.summary(by="pressure,policy").to_csv()
    rows = list(csv.DictReader(io.StringIO(table.read_text())))
    assert [float(row["min_yield_mean"]) for row in rows] == [row["min_yield_mean"] for row in result.summary().rows]
    assert picture.read_text().startswith("<?xml")
    assert main([*command, "--summary-by", "policy", "--measures", "events", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document.pop("summary") == result.summary("policy", "events").to_dict()
    assert document == result.to_dict()
    assert main([*command, "--csv", "-"]) == 0
    assert capsys.readouterr().out == result.summary().to_csv()
    for path in ("s.html", "s.png"):
        result.summary("policy").write_plot(tmp_path / path)
        assert (tmp_path / path).stat().st_size > 5_000
    result.summary().write_csv(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == table.read_text()


def test_one_thing_goes_to_standard_output(folder: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit):
        main(["campaign", str(folder / "tiny.yaml"), "--out", str(folder / "out"), "--csv", "-", "--json"])
    assert "only one thing can go to standard output; expected a file for --csv" in capsys.readouterr().err
