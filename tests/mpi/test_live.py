"""Separately started MPI jobs under one coordinator: order, pauses, pace and failure, from outside and from their notes."""

import signal
from itertools import pairwise
from pathlib import Path

import pytest

from penstock.client.control import ask
from tests.mpi.running import until

SHARE, ROUNDS = 4_000_000, 20
PIECE = 1000


def expected(ranks):
    return b"".join(bytes([piece % 251]) * PIECE for piece in range(ranks * SHARE // PIECE))


def rounds(folder, name, ranks, doing="write"):
    """(from, to, begin, end) of each round, which all ranks were told alike."""
    noted = []
    for rank in range(ranks):
        lines = [line.split() for line in Path(folder, f"{name}.{rank}").read_text().splitlines()]
        noted.append([tuple(map(float, line[1:])) for line in lines if line[0] == doing])
    places = [[one[:2] for one in of_rank] for of_rank in noted]
    assert all(of_rank == places[0] for of_rank in places)
    begins = [min(of_rank[k][2] for of_rank in noted) for k in range(len(places[0]))]
    ends = [max(of_rank[k][3] for of_rank in noted) for k in range(len(places[0]))]
    return [(*place, begin, end) for place, begin, end in zip(places[0], begins, ends, strict=True)]


def by_name(coordinator):
    return {application["job"]: application for application in coordinator.state()["applications"]}


def moving(coordinator, name):
    """Whether it has an operation of which something is moved, but not most."""
    pending = by_name(coordinator).get(name, {}).get("pending")
    return pending and 0.05 < pending["moved"] / pending["volume"] < 0.6


@pytest.mark.parametrize("policy", ["fcfs", "interrupting"])
def test_two_jobs_take_turns_between_rounds(mpi, coordinator, tmp_path, policy):
    serve = coordinator("--policy", policy)
    told = {"PENSTOCK_SOCKET": str(serve.socket), "PENSTOCK_PATIENCE": "20"}
    sizes = {"first": 3, "second": 2}
    first = mpi(3, "writer", tmp_path, "first", SHARE, ROUNDS, **told)
    until(lambda: moving(serve, "first"))
    assert by_name(serve)["first"]["nodes"] == 3
    second = mpi(2, "writer", tmp_path, "second", SHARE, ROUNDS, **told)
    waits, moves = ("second", "first") if policy == "fcfs" else ("first", "second")

    def turns():
        state = by_name(serve)
        return state.keys() >= sizes.keys() and (state[waits]["state"], state[moves]["state"]) == ("waiting", "transferring")

    until(turns)
    for job, ranks in ((first, 3), (second, 2)):
        assert job.end()[0].count("done") == ranks
    for name, ranks in sizes.items():
        assert (tmp_path / name).read_bytes() == expected(ranks)
    writes = {name: rounds(tmp_path, name, ranks) for name, ranks in sizes.items()}
    for name, ranks in sizes.items():
        bounds = [0, *(to for _, to, _, _ in writes[name])]
        assert bounds == [k * ranks * SHARE // ROUNDS for k in range(ROUNDS + 1)]
    if policy == "fcfs":
        assert writes["first"][-1][3] <= writes["second"][0][2]
        return
    begin, end = writes["second"][0][2], writes["second"][-1][3]
    before = [one for one in writes["first"] if one[3] <= begin]
    after = [one for one in writes["first"] if one[2] >= end]
    assert before
    assert after
    assert len(before) + len(after) == ROUNDS  # none while the other wrote


def test_all_ranks_together_keep_to_the_rate(mpi, coordinator, tmp_path):
    serve = coordinator()
    mpi(2, "writer", tmp_path, "paced", SHARE, ROUNDS, PENSTOCK_SOCKET=str(serve.socket)).end()
    assert serve.state()["applications"] == []
    for doing in ("write", "read"):
        seen = rounds(tmp_path, "paced", 2, doing)
        for start, (_, _, begin, _) in enumerate(seen):
            for _, to, later, _ in seen[start + 1 :]:
                moved = to - seen[start][1]  # one round may go at once
                assert moved <= 20e6 * (later - begin + 0.03)
        assert all(a[1] == b[0] for a, b in pairwise(seen))


def test_a_rank_by_itself_is_an_application_by_itself(mpi, coordinator, tmp_path):
    serve = coordinator("--policy", "fcfs")
    job = mpi(3, "alone", tmp_path, PENSTOCK_SOCKET=str(serve.socket), PENSTOCK_PATIENCE="20")
    until(lambda: by_name(serve).keys() == {"alone", "alone.1", "alone.2"})
    seconds = sorted(map(float, job.end()[0].split()))
    assert (tmp_path / "alone").read_bytes() == b"".join(bytes([rank]) * 5_000_000 for rank in (1, 2, 3))
    for place, own in enumerate(seconds, 1):
        assert own > 0.9 * place * 5e6 / 20e6 - 0.1  # one after the other, and they began within a moment


def test_a_killed_coordinator_is_survived(mpi, coordinator, tmp_path):
    serve = coordinator()
    job = mpi(2, "writer", tmp_path, "survivor", SHARE, ROUNDS, PENSTOCK_SOCKET=str(serve.socket), PENSTOCK_PATIENCE="0.3")
    until(lambda: moving(serve, "survivor"))
    serve.end(signal.SIGKILL)
    out, err = job.end()
    assert out.count("done") == 2
    assert err.count("\n") == 1
    assert err.startswith(f"penstock: no coordinator at {serve.socket} (")
    assert (tmp_path / "survivor").read_bytes() == expected(2)
    assert len(rounds(tmp_path, "survivor", 2)) == ROUNDS


def test_a_policy_is_changed_while_a_job_waits(mpi, coordinator, tmp_path):
    """What `penstock ctl` orders reaches all ranks: the second job goes on beside the first."""
    serve = coordinator("--policy", "fcfs")
    told = {"PENSTOCK_SOCKET": str(serve.socket), "PENSTOCK_PATIENCE": "20"}
    first = mpi(2, "writer", tmp_path, "first", 5 * SHARE, 5 * ROUNDS, **told)
    until(lambda: moving(serve, "first"))
    second = mpi(2, "writer", tmp_path, "second", SHARE, ROUNDS, **told)
    until(lambda: by_name(serve).get("second", {}).get("state") == "waiting")
    ask(serve.socket, "policy", "fair-share")
    second.end()
    first.end()
    writes = {name: rounds(tmp_path, name, 2) for name in ("first", "second")}
    assert writes["second"][0][2] < writes["first"][-1][2]
