"""Paper 002 again: figures, rows and claims that can fail."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from penstock.cli.main import main
from penstock.engine.scenarios import simulate_placement
from penstock.model import InputError
from penstock.papers.catalogue import DISTRIBUTED, PROFILES
from penstock.papers.distributed import claims, experiments, figures
from penstock.papers.distributed.claims import ALLOCATIONS
from penstock.papers.distributed.experiments import (
    BUILT_IN,
    COMPARED,
    IN_TURN,
    DistributedScale,
    PlacementTrial,
    Sets,
    measure,
    with_policy,
)
from penstock.papers.distributed.figures import name_of
from penstock.papers.reproducing import Reproduction
from penstock.planning.placement.allocation import Characteristics
from penstock.workloads.curves import IoNodes
from penstock.workloads.distributed import Distributed, distributed

TINY = DistributedScale((0.4, 1.4), 3, few=2, small_sets=1)
TEXT = """scenario,mean_MBps_1ion,mean_MBps_2ion,mean_MBps_4ion,mean_MBps_8ion
up,100,200,400,700
down,300,200,150,100
peak,100,300,200,150
flat,100,110,105,102
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of measured profiles, of which there are four."""
    folder = tmp_path_factory.mktemp("data")
    path = folder / PROFILES
    path.parent.mkdir()
    path.write_text(TEXT)
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, data: Path):
    folder = tmp_path_factory.mktemp("distributed")
    paper = replace(DISTRIBUTED, scales={"smoke": TINY})
    verdicts = Reproduction(paper, folder, "smoke", progress=False, data=data).run()
    return folder, verdicts


def test_all_items_are_made(made) -> None:
    folder, verdicts = made
    page = (folder / "index.html").read_text()
    for item in DISTRIBUTED.figures:
        assert (folder / f"{item}.png").stat().st_size > 5_000
        assert f'id="{item}"' in page
    assert 'id="figure5-built-in"' in page
    assert [verdict.id for verdict in verdicts] == ["S1", "S2", "S3", "S4", "S5", "S6", "S7", "interval", "oracle"]
    assert verdicts[0].holds
    assert all(check.measured for verdict in verdicts for check in verdict.checks)


def test_a_row_is_what_the_engine_gives() -> None:
    row = measure(PlacementTrial(BUILT_IN, 40, 0.9, 7))
    workload = distributed(Distributed(0.9, 40, 20), IoNodes(), 7)
    known = Characteristics.of(workload)
    result = simulate_placement(workload, COMPARED.place(known))
    assert row["runs"][COMPARED.name]["mean_slowdown"] == result.mean_slowdown
    assert row["runs"][COMPARED.name]["idle_time"] == result.idle_time
    assert row["load"] == known.io_load(known.least_stress)
    assert len(row["runs"]) == 16


def test_a_users_policy_shares_each_resource(tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text(
        "from penstock.policies.order import fill\n\n\ndef mine(view, rates):\n    fill(view, view.remaining, rates)\n"
    )
    policies = ("fcfs", f"{own}:mine", "best-effort")
    paper = replace(DISTRIBUTED, scales={"smoke": DistributedScale((0.4,), 8)})
    run = Reproduction(paper, tmp_path / "out", "smoke", policies=policies, progress=False)
    assert run.run(["figure5", "figure10"]) == []
    for item in ("figure5", "figure10"):
        assert "best-bdw, fcfs" in (tmp_path / "out" / f"{item}.svg").read_text()
        assert "best-bdw, mine.py:mine" in (tmp_path / "out" / f"{item}.svg").read_text()
    (sets,) = run.get("kinds")
    assert sets.policies == policies[:2], "the paper's own is there already"
    workload = distributed(Distributed(0.4, 40, 20), IoNodes(), 1)
    result = simulate_placement(workload, COMPARED.place(Characteristics.of(workload)), "fcfs")
    name = with_policy(COMPARED.name, "fcfs")
    assert sets.of(name, "mean_slowdown")[1] == result.mean_slowdown != sets.of(COMPARED.name, "mean_slowdown")[1]
    with pytest.raises(InputError, match=r"^policy periodic-fifo: chains repeat without end; expected a policy without an"):
        Reproduction(paper, tmp_path / "out", "smoke", policies=("periodic-fifo",)).run(["figure5"])


def sets_with(slowdowns: dict[str, float], applications: int = 40, **more: float) -> Sets:
    """Sets at rising loads; `slowdowns` are by allocation, in proportion to the load where they are not small."""
    mckp = "mckp" if applications <= 20 else "mckp-shared"
    rows = []
    for load in np.linspace(0.05, 1.95, 60):
        runs = {}
        for allocation in (*ALLOCATIONS, mckp):
            for placement, factor in (("greedy-clairvoyant", 1.0), (IN_TURN, 1.001), ("random", 1.5)):
                slope = slowdowns.get(allocation, 9.0)
                lost = slope * load if slope > 0.5 else slope
                runs[name_of(allocation, placement)] = {
                    "mean_slowdown": (1.0 + lost) * factor,
                    "mean_allocation_slowdown": 1.0,
                    "mean_congestion_slowdown": lost,
                    "max_slowdown": 5.0,
                    "spread": factor,
                    "idle_time": 0.1 * slope,
                    **more,
                }
        rows.append({"load": float(load), "runs": runs, "believed": runs, "more_than_best": 0, "first_end": None})
    return Sets("made up", tuple(rows), applications)


def test_a_claim_follows_the_figures() -> None:
    good = sets_with({"best-bdw": 1.0, "n-sys": 0.3, "tcpu": 0.2, "static": 0.9, "mckp": 50.0}, applications=20)
    assert claims.s4([good]).holds
    assert claims.s3([good]).holds
    steeper = sets_with({"best-bdw": 1.0, "n-sys": 1.1, "tcpu": 0.2, "static": 0.9, "mckp": 50.0}, applications=20)
    assert [check.holds for check in claims.s4([steeper]).checks] == [True, True, False, True]
    assert not claims.s3([sets_with({}, spread=0.5)]).holds
    assert not claims.s6([_worse(good)]).holds
    assert claims.s6([good]).holds
    assert not claims.s1([_more_than_best(good)]).holds
    assert claims.s1([good]).holds
    assert not claims.interval([good]).holds, "no set has the paper's interval"


def test_mckp_is_judged_where_it_is_defined() -> None:
    """With more applications than resources there is only our form of it, which decides nothing."""
    slowdowns = {"best-bdw": 1.0, "n-sys": 0.3, "tcpu": 0.2, "static": 0.9}
    for applications, mckp, outcome in ((20, 50.0, True), (20, 0.5, False), (40, 50.0, None)):
        names = {"mckp": mckp, "mckp-shared": mckp}
        (check,) = [
            check
            for check in claims.s4([sets_with({**slowdowns, **names}, applications)]).checks
            if "mckp has the largest" in check.expected
        ]
        assert check.holds is outcome


def test_missing_data_decide_nothing() -> None:
    for size in (10, 40):
        none = [Sets("none", (), size)]
        verdicts = [judge(none) for judge in (claims.s1, claims.s2, claims.s3, claims.s4, claims.s5, claims.s6)]
        verdicts += [claims.s7(none, none[0]), claims.interval(none), claims.oracle([])]
        assert {verdict.word for verdict in verdicts} == {"not measured"}


def test_where_one_passes_the_other() -> None:
    rows = []
    for load in np.linspace(0.05, 1.95, 200):
        runs = {name_of("best-bdw"): {"mean_slowdown": load}, name_of("n-sys"): {"mean_slowdown": 1.0}}
        rows.append({"load": float(load), "runs": runs})
    assert claims.crossing(Sets("", tuple(rows)), "n-sys") == pytest.approx(1.05)
    assert claims.crossing(Sets("", tuple(rows[:90])), "n-sys") is None


def test_names_stand_once_below_boxes() -> None:
    keys = [key for _, key, _ in figures.drawn(Sets("", ()))]
    runs = {key: {"mean_slowdown": 2.0, "max_slowdown": 3.0} for key in keys}
    sets = Sets("", tuple({"load": load, "runs": runs} for load in (0.3, 0.9)))
    for panel in figures.figure_8(sets).axes:
        assert panel.get_xticks().tolist() == list(range(1, len(keys) + 1))


def _worse(sets: Sets) -> Sets:
    """The same with schedulers that are misled."""
    rows = json.loads(json.dumps(sets.rows))
    for row in rows:
        for run in row["believed"].values():
            run["mean_slowdown"] *= 1.05
    return Sets(sets.label, tuple(rows))


def _more_than_best(sets: Sets) -> Sets:
    return Sets(sets.label, ({**sets.rows[0], "more_than_best": 1}, *sets.rows[1:]))


def test_wrong_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match=r"has no ionode-profiles/derived-mn4-189-profiles.csv; expected the folder"):
        Reproduction(DISTRIBUTED, tmp_path, "smoke", data=tmp_path).run()
    with pytest.raises(SystemExit):
        main(["reproduce", "dash", "--data", str(tmp_path)])
    assert "--data is for distributed, calciom; leave it out" in capsys.readouterr().err


def test_scales_stay_where_the_generator_can_follow() -> None:
    for scale in experiments.SCALES.values():
        for load in scale.loads:
            assert Distributed(load, experiments.APPLICATIONS, experiments.RESOURCES).mean_stress < 1.0
