"""Claim C7: Prepare, Inform, Check, Wait, Release and Complete work between independently started applications."""

from pathlib import Path

import pytest

from tests.live.mpi.running import until

SHARE, STEPS = 200_000, 20


@pytest.mark.parametrize("policy", ["fcfs", "interrupting"])
def test_six_calls_between_two_mpi_jobs(mpi, coordinator, tmp_path, policy):
    serve = coordinator("--policy", policy)

    def known():
        return {application["job"]: application for application in serve.state()["applications"]}

    told = {"PENSTOCK_SOCKET": str(serve.socket), "PENSTOCK_PATIENCE": "20"}
    jobs = {name: mpi(2, "six_calls", tmp_path, name, SHARE, STEPS, **told) for name in ("first", "second")}
    until(lambda: known().keys() == jobs.keys())
    Path(tmp_path, "first.go").touch()
    until(lambda: known()["first"]["state"] == "transferring" and known()["first"]["pending"]["moved"] > 0.0)
    Path(tmp_path, "second.go").touch()
    waits = "second" if policy == "fcfs" else "first"
    until(lambda: known()[waits]["state"] == "waiting")
    said = {name: job.end()[0] for name, job in jobs.items()}
    steps = {name: [tuple(map(float, line.split()[1:])) for line in out.splitlines()] for name, out in said.items()}
    may = {name: [line[0] == "1" for line in out.splitlines()] for name, out in said.items()}
    begin, end = steps["second"][0][0], steps["second"][-1][1]
    before = [step for step in steps["first"] if step[1] <= begin]
    after = [step for step in steps["first"] if step[0] >= end]
    assert len(before) + len(after) == STEPS  # the other wrote alone
    assert (len(after) == 0) == (policy == "fcfs")
    may_have = may["second"][0] if policy == "fcfs" else may["first"][len(before)]
    assert not may_have  # `check` said so, and `wait` waited
    assert may["first"][-1]
    assert may["second"][-1]
    for name in jobs:
        assert (tmp_path / name).read_bytes() == b"".join(bytes([k + 1]) * SHARE for k in range(2 * STEPS))
