"""The backtest: its arithmetic by hand, and its verdict on machines whose run times are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.advise.backtest import FAR, IMPOSSIBLE, NEAR, Ratios, backtest, within
from penstock.model import Application, InputError, Platform, Workload
from penstock.planning.operation import MachineSettings
from tests.advise.machines import CHAIN, colliding


def test_the_arithmetic() -> None:
    found = Ratios.of(np.array([0.25, 1.0, 1.0, 4.0, 16.0]), 2.0)
    assert found.jobs == 5
    assert found.median == 1.0
    assert found.geometric_mean == pytest.approx(16.0**0.2)  # the product is 16
    assert found.within == pytest.approx(2 / 5)


def test_a_ratio_at_the_factor_is_within() -> None:
    ratios = np.array([0.5, 0.499, 2.0, 2.001, 1.0])
    assert within(ratios, 2.0).tolist() == [True, False, True, False, True]
    assert within(np.array([0.1, 10.0, 0.3 / 3.0]), 10.0).all()


@pytest.mark.parametrize(
    ("ratios", "near"),
    [
        ([1.0, 1.0, 1.0, 1.0], True),
        ([1.2, 1.2, 1.2, 1.2], True),
        ([1.3, 1.3, 1.3, 1.3], False),  # median and mean
        ([0.7, 0.7, 0.7, 0.7], False),
        ([1.0, 1.0, 1.0, 8.0], False),  # the geometric mean is 8^(1/4) = 1.68
        ([1.0, 1.0, 1.0, 1.5], True),  # three quarters are within
        ([1.0, 1.0, 1.5, 0.7], False),  # half are within
    ],
)
def test_near(ratios: list[float], near: bool) -> None:
    assert Ratios.of(np.array(ratios), 1.25).near(1.25) is near


def test_what_was_recorded_under_the_same_policy_comes_back() -> None:
    found, run = backtest(colliding(recorded=5400.0))
    assert run is not None
    assert found.predicted.tolist() == [5400.0, 5400.0]
    assert found.status == NEAR
    assert found.groups["all jobs"].median == 1.0
    assert found.made_from == 0  # alone they take 3,600 s
    assert found.caution() is None


def test_a_policy_that_the_machine_does_not_have() -> None:
    # fcfs lets a write first, and b then: 3,600 s and 5,400 s where both were recorded to take 5,400 s.
    found, _ = backtest(colliding(recorded=5400.0), MachineSettings(policy="fcfs"))
    assert found.ratios.tolist() == pytest.approx([2 / 3, 1.0])
    assert found.status == FAR


def test_far_off() -> None:
    found, _ = backtest(colliding(recorded=1000.0))
    assert found.status == FAR
    assert found.groups["all jobs"].geometric_mean == pytest.approx(5.4)
    assert found.sentence() == (
        "The model does not reproduce this machine: predicted run times are 5.40 times the recorded ones in the median, "
        "5.40 times in the geometric mean, and 0 % of 2 jobs are within a factor of 1.25"
    )
    assert backtest(colliding(recorded=1000.0), factor=5.5)[0].status == NEAR


def test_jobs_without_io_do_not_hide_those_with() -> None:
    # Ten jobs that only compute come back exactly; a and b, which write, take 5.4 times as long as recorded.
    idle = [Application.of(f"i{n}", [("work", 1000.0)], recorded=(0.0, 1000.0)) for n in range(10)]
    jobs = colliding(recorded=1000.0)
    both = replace(jobs, platform=replace(jobs.platform, nodes=12), applications=(*jobs.applications, *idle))
    found, _ = backtest(both)
    assert found.groups["all jobs"].within == pytest.approx(10 / 12)
    assert found.groups["all jobs"].median == 1.0
    assert found.groups["jobs with 10 % I/O or more"].jobs == 2
    assert found.status == FAR
    assert found.sentence().endswith("of jobs with 10 % I/O or more, 0 %")


def test_without_records_it_is_not_possible() -> None:
    found, run = backtest(colliding(recorded=None))
    assert (found.status, run) == (IMPOSSIBLE, None)
    assert "no recorded run times" in found.sentence()
    assert found.to_dict()["ratios"] == []


def test_times_alone_that_were_made_from_the_record_are_counted() -> None:
    jobs = Workload(Platform(1.0, nodes=2), tuple(Application.of(n, CHAIN, recorded=(0.0, 3600.0)) for n in "ab"))
    found, _ = backtest(jobs, factor=2.0)
    assert found.made_from == 2
    assert "100 % of these jobs" in str(found.caution())


def test_jobs_start_when_they_were_recorded_to() -> None:
    # Submitted at 0, recorded to start at 10 and at 20 on one node, where the first is still there: it is late.
    chain = [("work", 100.0)]
    starts = {"a": 10.0, "b": 20.0}
    jobs = tuple(Application.of(name, chain, submit=0.0, recorded=(start, 100.0)) for name, start in starts.items())
    found, run = backtest(Workload(Platform(1.0, nodes=1), jobs))
    assert run is not None
    assert run.jobs_run.start.tolist() == [10.0, 110.0]
    assert found.late == 1


def test_a_factor_below_1_is_refused() -> None:
    with pytest.raises(InputError, match=r"trust: 0\.5 is no factor; expected 1 or more"):
        backtest(colliding(), factor=0.5)
