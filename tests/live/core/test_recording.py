"""A live run as a workload: simulated under the policy it ran with, it is the run again."""

from __future__ import annotations

import pytest
from hypothesis import assume, given

from penstock.engine import simulate
from penstock.live.core.recording import CompletedOperation, as_workload
from penstock.model import InputError
from tests.live.core.virtual import VirtualTime
from tests.naive.machine import NaiveRun
from tests.naive.profiles import examples
from tests.naive.strategies import workloads

ONE = CompletedOperation(1, "climate", 4, 10.0, registered=5.0, posted=8.0, end=10.0, volume=20.0, rounds=4)


@pytest.mark.parametrize("policy", ["fair-share", "fcfs", "greedy-com"])
@examples(40)
@given(workloads(window=False))
def test_simulated_again_it_ends_as_it_ended(policy, workload):
    assume(any(application.phases.asks.any() for application in workload.applications))
    assume(not NaiveRun(workload, policy).run().doubtful)
    virtual = VirtualTime(workload, policy)
    virtual.run()
    recorded = as_workload(virtual.core.registry.ended, workload.platform.bandwidth)
    again = {application.name: application for application in simulate(recorded, policy).applications}
    first = min(client.known.registered for client in virtual.clients if client.name in again)
    for client in virtual.clients:
        if client.name in again:
            last = max(p.end for p in virtual.core.registry.ended if p.job == client.name)
            assert again[client.name].end + first == pytest.approx(last, rel=1e-6, abs=1e-6)


def test_the_chain_of_an_application():
    later = CompletedOperation(1, "climate", 4, 10.0, registered=5.0, posted=16.0, end=17.0, volume=5.0, rounds=4)
    left = CompletedOperation(1, "climate", 4, 10.0, registered=5.0, posted=18.0, end=18.0, volume=0.0, rounds=1)
    other = CompletedOperation(2, "other", 1, 3.0, registered=7.0, posted=7.0, end=9.0, volume=6.0, rounds=1)
    workload = as_workload([other, ONE, later, left], bandwidth=12.0)
    by_name = {application.name: application for application in workload.applications}
    climate = by_name["climate"]
    assert list(climate.phases) == [("work", 3.0), ("io", 20.0), ("work", 6.0), ("io", 5.0), ("work", 1.0)]
    assert (climate.release, climate.nodes, climate.bandwidth, climate.rounds) == (0.0, 4, 10.0, 4)
    assert (by_name["other"].release, by_name["other"].rounds) == (2.0, 1)
    assert workload.platform.bandwidth == 12.0


def test_the_last_while_only():
    early = CompletedOperation(1, "climate", 4, 10.0, registered=5.0, posted=6.0, end=7.0, volume=1.0, rounds=4)
    (application,) = as_workload([early, ONE], 12.0, since=7.5).applications
    assert list(application.phases) == [("work", 0.5), ("io", 20.0)]


def test_jobs_of_one_name_are_told_apart():
    again = CompletedOperation(2, "climate", 4, 10.0, registered=50.0, posted=58.0, end=60.0, volume=20.0, rounds=4)
    assert [a.name for a in as_workload([ONE, again], 12.0).applications] == ["climate (1)", "climate (2)"]


def test_nothing_recorded_is_one_line():
    with pytest.raises(InputError, match="recording: no operation has ended in that time; expected one at least"):
        as_workload([ONE], 12.0, since=9.0)
