"""Who an application is."""

import os
import sys
import time
from typing import Any

import pytest

from penstock.live.client import UsageError
from penstock.live.client.environment import MOST_RATE, MOST_SECONDS, identify
from penstock.live.protocol import MOST_NODES, decode_request, encode


def test_a_job_of_slurm() -> None:
    told = {
        "SLURM_JOB_ID": "4711",
        "SLURM_JOB_NAME": "climate",
        "SLURM_JOB_NUM_NODES": "64",
        "SLURM_NNODES": "3",
        "SLURM_JOB_USER": "ada",
        "SLURM_JOB_START_TIME": str(int(time.time()) - 100),
    }
    found = identify(environment=told)
    assert (found.job, found.nodes, found.user) == ("climate-4711", 64, "ada")
    assert 99.0 < found.elapsed < 130.0
    del told["SLURM_JOB_NUM_NODES"]
    assert identify(environment=told).nodes == 3
    mine = identify("mine", 2, bandwidth=1e9, lead=3.0, whole=50.0, environment=told)
    assert (mine.job, mine.nodes, mine.bandwidth, mine.lead, mine.whole) == ("mine", 2, 1e9, 3.0, 50.0)


def test_what_slurm_says_may_be_odd() -> None:
    told = {"SLURM_JOB_ID": "1", "SLURM_NNODES": "many", "SLURM_JOB_START_TIME": "soon"}
    found = identify(environment=told)
    assert (found.job, found.nodes, found.elapsed) == ("job-1", 1, 0.0)
    assert identify(environment={"SLURM_JOB_START_TIME": str(time.time() + 1e6)}).elapsed == 0.0
    assert identify(environment={"SLURM_JOB_START_TIME": "nan"}).elapsed == 0.0
    assert len(identify(environment={"SLURM_JOB_ID": "1", "SLURM_JOB_NAME": 300 * "n"}).job) == 200
    found = identify(environment={"SLURM_JOB_START_TIME": "-1e40", "SLURM_NNODES": 15 * "9"})
    assert (found.elapsed, found.nodes) == (MOST_SECONDS, MOST_NODES)


def test_elsewhere_it_is_the_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/opt/model/ocean.py", "-v"])
    found = identify(environment={})
    assert (found.job, found.nodes, found.elapsed) == (f"ocean-{os.getpid()}", 1, 0.0)
    assert found.user
    monkeypatch.setattr(sys, "argv", ["-c"])
    assert identify(environment={}).job.startswith("python")


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"name": ""}, "name '': 0 characters"),
        ({"nodes": 0}, "nodes 0 is out of range"),
        ({"nodes": True}, "nodes True"),
        ({"nodes": 1.5}, "nodes 1.5"),
        ({"nodes": 10**9 + 1}, "nodes 1000000001 is out of range; expected a whole number from 1 to 1000000000"),
        ({"bandwidth": -1.0}, "bandwidth -1.0"),
        ({"bandwidth": 2e18}, "bandwidth 2e\\+18 is out of range; expected a number from 0 to 1e\\+18"),
        ({"whole": 2e10}, "whole 2"),
        ({"lead": float("nan")}, "lead nan"),
        ({"whole": float("inf")}, "whole inf"),
    ],
)
def test_wrong_arguments(wrong: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        identify(**wrong, environment={})
    assert "expected" in str(caught.value)


def test_the_largest_numbers_can_be_sent() -> None:
    most = identify("a", MOST_NODES, bandwidth=MOST_RATE, lead=MOST_SECONDS, whole=MOST_SECONDS, environment={})
    for passed in (0.0, 2 * MOST_SECONDS):
        message = most.register(passed, "")(seq=1)
        assert decode_request(encode(message)) == message
