"""What the I/O looks like, on machines where it is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from penstock.advise.seen import IoSeen, modelled, period_of, stem
from penstock.model import Application, Platform, Workload
from penstock.planning.operation import MachineSettings, operate
from tests.advise.machines import colliding, peaceful, week


def seen(workload: Workload) -> IoSeen:
    return IoSeen(workload, operate(workload, MachineSettings("recorded")))


def test_pressure_is_what_jobs_ask_for() -> None:
    # Each job writes 1,800 bytes in 3,600 s alone: two ask for 1,800 + 1,800 in the 3,600 s after 0, a pressure of 1.
    found = seen(colliding())
    dates = np.array([row["date"] for row in found.over_time()])
    assert found.pressure[dates <= 3600.0] == pytest.approx(1.0)
    assert found.pressure[dates > 3600.0 + dates[0]] == pytest.approx(0.0)
    assert float(found.pressure.sum()) * dates[0] == pytest.approx(3600.0)


def test_what_contention_costs() -> None:
    # Of the 3,600 s of sharing half are lost: 0.5 h for each of two nodes.
    found = seen(colliding()).measures()
    assert found["delayed"] == pytest.approx(1.0)
    assert found["held_node_hours"] == pytest.approx(3.0)
    assert found["delayed_part"] == pytest.approx(1 / 3)
    assert found["nodes_lost"] == pytest.approx(2 / 3)  # 1 node-hour in 1.5 h
    assert found["jobs_delayed"] == 2
    assert seen(peaceful()).measures()["delayed"] == 0.0


def test_nodes_that_wait_add_up_to_what_is_lost() -> None:
    found = seen(week())
    rows = found.over_time()
    width = rows[0]["date"]
    waiting = sum(row["waiting_for_io"] for row in rows) * width * found.run.nodes / 3600.0
    assert waiting == pytest.approx(found.run.delayed, rel=1e-3, abs=1e-6)


def test_who_does_it() -> None:
    found = seen(week())
    users, applications = found.users(), found.applications()
    assert {row["user"] for row in users} == {"u0", "u1", "u2"}
    assert {row["application"] for row in applications} == {"flow", "heat"}
    for rows in (users, applications):
        assert sum(row["bytes"] for row in rows) == pytest.approx(found.measures()["bytes"])
        assert sum(row["delayed"] for row in rows) == pytest.approx(found.run.delayed)
        assert [row["bytes"] for row in rows] == sorted((row["bytes"] for row in rows), reverse=True)


def test_runs_of_an_application_have_one_name() -> None:
    assert stem("climate-17") == stem("climate-9") == "climate"
    assert stem("42") == "42"


def test_the_period_of_an_application() -> None:
    job = Application.of("a", [("work", 90.0), ("write", 10.0)] * 40)
    found = period_of(job, Workload(Platform(1.0), (job,)))
    assert found is not None
    assert found.seconds == pytest.approx(100.0, rel=0.02)


def test_what_rests_on_a_model() -> None:
    jobs = colliding().applications
    assert modelled(colliding()) == 0.0
    one = Workload(Platform(1.0, nodes=2), (replace(jobs[0], source="drawn"), replace(jobs[1], source="dxt")))
    assert modelled(one) == 0.5
