"""Gains by the bootstrap, against closed forms and a slow twin."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from penstock.advise.gains import Clusters, Gain, best_of
from penstock.planning.node_hours import Hours
from penstock.planning.operation import MachineSettings, operate
from tests.advise.machines import colliding, week


def test_the_interval_of_many_clusters_is_that_of_the_normal_distribution() -> None:
    # A sum of n draws with replacement has the mean of the sum and the variance n · σ², σ² that of the clusters.
    random = np.random.default_rng(1)
    values = random.normal(3.0, 2.0, 400)
    gain = Clusters(np.arange(400), 400, "jobs").gain(values)
    half = 1.96 * math.sqrt(400.0) * float(values.std())
    assert gain.mean == pytest.approx(float(values.sum()))
    assert gain.interval is not None
    assert gain.interval[0] == pytest.approx(gain.mean - half, abs=0.1 * half)
    assert gain.interval[1] == pytest.approx(gain.mean + half, abs=0.1 * half)


def test_jobs_of_a_cluster_are_drawn_together() -> None:
    member = np.repeat(np.arange(8), 5)
    values = np.random.default_rng(2).normal(0.0, 1.0, 40)
    together = Clusters(member, 8, "days").gain(values)
    sums = np.array([values[member == day].sum() for day in range(8)])
    assert together.interval == Clusters(np.arange(8), 8, "days").gain(sums).interval


def test_a_slow_twin() -> None:
    values = np.array([5.0, -1.0, 2.0, 0.5, 9.0, 1.0])
    random = np.random.default_rng(7)
    sums = sorted(sum(values[int(random.integers(6))] for _ in range(6)) for _ in range(4000))
    gain = Clusters(np.arange(6), 6, "users").gain(values)
    assert gain.interval is not None
    for end, place in zip(gain.interval, (100, 3900), strict=True):
        assert end == pytest.approx(sums[place], abs=2.0)


def test_too_few_clusters_have_no_interval() -> None:
    gain = Clusters(np.arange(4), 4, "jobs").gain(np.ones(4))
    assert gain == Gain(4.0)
    assert gain.text == "4.00"


def test_clusters_are_days_then_users_then_jobs() -> None:
    jobs = operate(week(), MachineSettings("recorded")).jobs_run
    days = np.floor((jobs.start - jobs.start.min()) / 86400.0)
    found = Clusters.of(jobs)
    assert (found.word, found.count) == ("days", len(np.unique(days)))
    shorter = replace(jobs, start=0.1 * jobs.start, users=tuple(f"u{number % 6}" for number in range(len(jobs))))
    assert (Clusters.of(shorter).word, Clusters.of(shorter).count) == ("users", 6)
    few = operate(colliding()).jobs_run
    assert (Clusters.of(few).word, Clusters.of(few).count) == ("jobs", 2)


def test_a_gain_is_sure_if_its_interval_is_above_0() -> None:
    assert Gain(1.0).sure
    assert not Gain(0.0).sure
    assert Gain(5.0, (0.1, 9.0)).sure
    assert not Gain(5.0, (-0.1, 9.0)).sure


def test_a_gain_of_hours() -> None:
    assert Gain.of_hours(Hours(3.0), "starts") == Gain(3.0)
    assert Gain.of_hours(Hours(3.0, 1.0), "starts") == Gain(3.0, (2.0, 4.0), "starts")
    assert Gain(3.0, (2.0, 4.0), "starts").to_dict() == {"mean": 3.0, "interval": [2.0, 4.0], "over": "starts"}


def test_the_best_gain() -> None:
    assert best_of([]) is None
    assert best_of([Gain(-2.0), Gain(-1.0)]) == 1
