"""Paper 003 again: figures, and claims that can fail."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock.cli.main import main
from penstock.model import Application, InputError, Platform, Workload
from penstock.papers.calciom import claims, experiments, live
from penstock.papers.calciom.experiments import (
    BANDWIDTH,
    COMMUNICATION,
    SCALES,
    CalciomScale,
    Collective,
    Graphs,
    crowd_trials,
    files,
    small,
    split,
)
from penstock.papers.calciom.figures import delayed
from penstock.papers.catalogue import CALCIOM
from penstock.papers.reproducing import Reproduction
from penstock.papers.trials import Experiment
from penstock.testbed.live_runs import LiveDelta
from penstock.theory.interference import Pair, Times, Writer, delta_graph
from tests.workloads.traces import line, write

TINY = CalciomScale(15, 3, 1)


def computed(experiment: Experiment[Any]) -> dict[Any, dict[str, Any]]:
    """The rows of an experiment, computed here."""
    return {trial: experiment.measure(trial) for trial in experiment.trials}


GRAPHS = Graphs(computed)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the trace of a machine on which one job runs, and another one beside it half of the time."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "swf").mkdir()
    write(folder / "swf" / "busy.swf", line(1, 0, 0, 100), line(2, 0, 50, 50))
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, data: Path):
    folder = tmp_path_factory.mktemp("calciom")
    verdicts = Reproduction(replace(CALCIOM, scales={"smoke": TINY}), folder, "smoke", progress=False, data=data).run()
    return folder, verdicts


def test_all_items_are_made(made) -> None:
    folder, verdicts = made
    page = (folder / "index.html").read_text()
    for item in CALCIOM.items[:-2]:  # but for live ones, which take a test bed, and the claims
        assert (folder / f"{item}.png").stat().st_size > 5_000
        assert f'id="{item}"' in page
    assert [verdict.id for verdict in verdicts] == ["C1", "C2", "C3", "C4", "C5", "C6", "C7", "many"]
    assert all(verdict.holds for verdict in verdicts[:5])
    # 1 − (0.5·0.95 + 0.5·0.95²) is far from one half.
    assert verdicts[5].word == "not measured"
    assert verdicts[5].checks[0].measured.endswith(" 7.4% with 1.5 jobs at once")


def test_c1_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "expected_interference", lambda pair, dt: Times(1.0, 1.0))
    assert claims.c1(TINY, GRAPHS).word == "in part"


@pytest.mark.parametrize("dt", [-1e-14, 0.0, 1e-14, 1e-6])
def test_dates_apart_by_rounding_are_one(dt: float) -> None:
    simulated = delta_graph(files(), [dt], ["interrupting"]).times["interrupting"][0]
    assert claims._in_turn(files(), dt, interrupting=True) == pytest.approx(tuple(simulated))
    assert (simulated[0] == pytest.approx(files().alone().a)) == (dt < 1e-9), "A, which is listed first, counts as first"


def test_c2_needs_what_a_process_can_use(monkeypatch: pytest.MonkeyPatch) -> None:
    # If 24 processes filled the file system alone, they would suffer a factor of 32.
    monkeypatch.setattr(claims, "split", lambda a, b: Pair(Writer(float(a), a), Writer(float(b), b)))
    verdict = claims.c2(TINY, GRAPHS)
    assert verdict.checks[0].measured == "32.00"
    assert not verdict.checks[0].holds


def test_c3_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "large", small)  # they leave room: serializing costs the second more
    assert [check.holds for check in claims.c3(TINY, GRAPHS).checks] == [True, False, True]


def test_c4_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "files", lambda: Pair(Writer(4.0, 3), Writer(1.0, 1)))  # CPU seconds of A are dearer
    assert not claims.c4(TINY, GRAPHS, {}).checks[0].holds


def test_c5_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "files", lambda rounds=None: files())  # a fine grain has no teeth
    assert [check.holds for check in claims.c5(TINY, GRAPHS).checks] == [True, False, False]


def test_many_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    # One at a time is worse than interfering for those who leave room.
    original = experiments.metrics_of
    serialized = {"interfering": "interfering"}
    monkeypatch.setattr(experiments, "metrics_of", lambda workload, name: original(workload, serialized.get(name, "fifo")))
    assert not any(check.holds for check in claims.many(computed(crowd_trials(TINY))).checks[4:])


def test_metrics_of_a_crowd() -> None:
    members = [Application.of("a", [("io", 4.0)], nodes=3), Application.of("b", [("io", 1.0)], nodes=2, release=2.0)]
    # Serialized: I/O times 4 and 3, alone 4 and 1.
    assert experiments.metrics_of(Workload(Platform(1.0), tuple(members)), "fifo").tolist() == pytest.approx(
        [18.0, 4.0, 7.0, 3.0]
    )


def test_c6_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    twenty, five = np.eye(21)[20], np.eye(6)[5]
    assert claims.c6({"ANL-Intrepid-2009-1": twenty}).holds
    assert not claims.c6({"ANL-Intrepid-2009-1": five}).holds
    beside = claims.c6({"other": five, "ANL-Intrepid-2009-1": twenty})
    assert beside.holds, "another trace does not decide"
    assert beside.checks[0].measured.endswith("; other 22.6% with 5.0 jobs at once")
    assert claims.c6({"other": twenty}).word == claims.c6({}).word == "not measured"
    assert claims.c6({}).checks[0].measured.startswith("the trace is not at hand; 19.9 concurrent jobs give that")
    monkeypatch.setattr(claims, "someone_in_io", lambda chances, share: 0.9)
    assert not claims.c6({}).checks[0].holds


def test_graphs_are_computed_once_and_are_those_of_the_theory() -> None:
    asked: list[int] = []

    def rows(experiment: Experiment[Any]) -> dict[Any, dict[str, Any]]:
        asked.append(len(experiment.trials))
        return {trial: json.loads(json.dumps(row)) for trial, row in computed(experiment).items()}

    pair, dts, strategies = files(), [-2.0, 0.0, 3.0], ["interfering", "coordinating"]
    graphs = Graphs(rows)
    kept = graphs.delta(pair, dts, strategies)
    assert graphs.delta(pair, dts, ["coordinating"]).times["coordinating"].tolist() == kept.times["coordinating"].tolist()
    assert asked == [2], "the second time nothing is computed"
    plain = delta_graph(pair, dts, strategies)
    assert {name: rows.tolist() for name, rows in kept.times.items()} == {n: r.tolist() for n, r in plain.times.items()}
    assert kept.changes == plain.changes


def test_what_was_calibrated() -> None:
    pair = split(336, 8)
    assert pair.io_times("interfering", 0.0).b / pair.alone().b == pytest.approx(6.0)


def test_communication_needs_no_bandwidth() -> None:
    both = Collective()
    times, writing = both.under("interfering", 0.0)
    # In step, all of the writing is at half the rate, and the communication as before.
    assert times.a == pytest.approx((2.0 - COMMUNICATION) * both.seconds)
    assert times.a - writing.a == pytest.approx(COMMUNICATION * both.seconds)
    assert both.under("interfering", 2.0 * both.seconds)[0] == pytest.approx(Times(both.seconds, both.seconds))
    assert both.serializing(0.25 * both.seconds) == pytest.approx(Times(both.seconds, 1.75 * both.seconds))
    assert both.serializing(-0.25 * both.seconds) == pytest.approx(Times(1.75 * both.seconds, both.seconds))


def test_delaying_lies_between_interfering_and_serializing() -> None:
    pair = small()
    alone = pair.alone().a
    sums = [sum(delayed(pair, 0.0, part * alone)) for part in (0.0, 0.5, 1.0)]
    assert sums[0] == pytest.approx(4.0 * pair.a.volume / BANDWIDTH)
    assert sums[2] == pytest.approx(3.0 * alone)
    assert sums[1] == pytest.approx(0.5 * (sums[0] + sums[2]))


def test_without_traces(tmp_path: Path) -> None:
    assert Reproduction(CALCIOM, tmp_path, "smoke", policies=("fair-share",)).run(["figure5"]) == []
    assert "fair-share" in (tmp_path / "figure5.svg").read_text(), "a user's policy is drawn beside the others"
    assert set(SCALES) == {"smoke", "quick", "paper"}


def test_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"^item figure13: unknown; expected one of figure1, figure2, figure"):
        Reproduction(CALCIOM, tmp_path, "smoke").run(["figure13"])
    with pytest.raises(InputError, match=r"^item figure1: there are no job traces; expected --data DIR with swf/\*\.swf$"):
        Reproduction(CALCIOM, tmp_path, "smoke").run(["figure1"])
    assert main(["reproduce", "calciom", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "has no swf/*.swf; expected the folder of job traces" in capsys.readouterr().err


def test_the_six_calls_work_between_processes() -> None:
    """A claim about real processes: it can fail only with them."""
    verdict = live.c7()
    assert verdict.holds, [check.measured for check in verdict.checks]


def test_accesses_at_the_same_time_are_seen() -> None:
    one = live.Calls(0.0, ((0.0, 1.0), (2.0, 3.0)), 0, True)
    other = live.Calls(0.0, ((0.5, 2.25),), 0, True)
    assert live._overlap(one, other) == pytest.approx(0.75)


def test_live_runs_need_a_test_bed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="item live: there is no test bed; expected --live DIR, after penstock testbed up"):
        Reproduction(CALCIOM, tmp_path, "smoke").run(["live"])
    with pytest.raises(InputError, match="no test bed"):
        Reproduction(CALCIOM, tmp_path, "smoke", live=tmp_path).run(["live"])
    with pytest.raises(SystemExit):
        main(["reproduce", "buffers", "--live", str(tmp_path)])
    assert "--live is for dash, calciom; leave it out" in capsys.readouterr().err


def test_live_runs_are_judged_by_their_geometric_mean() -> None:
    pair = Pair(Writer(8.0, 1, 2), Writer(4.0, 1, 1), 2.0)
    simulated = np.array([pair.io_times("interfering", dt) for dt in (0.0, 1.0)])

    def ran(factors: list[float]) -> LiveDelta:
        runs = simulated[:, None, :] * np.array(factors)[:, None, None]
        return LiveDelta(pair, np.array([0.0, 1.0]), {"interfering": runs}, {}, {"interfering": simulated})

    (near,) = live.as_simulated({"near": ran([0.8, 1.25])}).checks
    assert near.holds
    assert near.measured == "1.000 (0.80 – 1.25)"
    (far,) = live.as_simulated({"far": ran([1.2, 1.2])}).checks
    assert not far.holds
    figure = live.live_figure({"near": ran([0.8, 1.25]), "far": ran([1.2, 1.2])})
    assert [axes.get_title() for axes in figure.axes] == ["near", "far"]
