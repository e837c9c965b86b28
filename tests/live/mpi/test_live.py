"""Separately started MPI jobs under one coordinator: order, pauses, pace and failure, from outside and from their notes."""

import signal
from pathlib import Path

import pytest

from penstock.live.client.link import ask_coordinator as ask
from tests.live.mpi.running import until

SHARE, ROUNDS = 4_000_000, 20
PIECE = 1000
RATE, SLACK = 8e6, 0.03
"""bytes/s of the coordinator, and the seconds that one who is late may make up for, with what a clock and a call take."""


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


def tell(folder, name, *words):
    for word in words:
        Path(folder, f"{name}.{word}").touch()


@pytest.fixture
def start(mpi, tmp_path):
    """Starts a writer that has opened its file and is known to the coordinator, but waits to be told."""

    def begin(serve, ranks, name, patience="20", rounds=ROUNDS):
        told = {"PENSTOCK_SOCKET": str(serve.socket), "PENSTOCK_PATIENCE": patience}
        job = mpi(ranks, "writer", tmp_path, name, SHARE, rounds, **told)
        until(lambda: name in by_name(serve))
        return job

    return begin


@pytest.mark.parametrize("policy", ["fcfs", "interrupting"])
def test_two_jobs_take_turns_between_rounds(start, coordinator, tmp_path, policy):
    serve = coordinator("--policy", policy)
    sizes = {"first": 3, "second": 2}
    jobs = [start(serve, ranks, name) for name, ranks in sizes.items()]
    assert by_name(serve)["first"]["nodes"] == 3
    for name in sizes:
        tell(tmp_path, name, "end")
    tell(tmp_path, "first", "go")
    until(lambda: moving(serve, "first"))
    tell(tmp_path, "second", "go")
    waits, moves = ("second", "first") if policy == "fcfs" else ("first", "second")

    def turns():
        assert jobs[0].process.poll() is None
        state = by_name(serve)
        return (state[waits]["state"], state[moves]["state"]) == ("waiting", "transferring")

    until(turns)
    for job, ranks in zip(jobs, sizes.values(), strict=True):
        assert job.end()[0].count("done") == ranks
    for name, ranks in sizes.items():
        assert (tmp_path / name).read_bytes() == expected(ranks)
    writes = {name: rounds(tmp_path, name, ranks) for name, ranks in sizes.items()}
    for name, ranks in sizes.items():
        bounds = [0, *(to for _, to, _, _ in writes[name])]
        assert bounds == [k * ranks * SHARE // ROUNDS for k in range(ROUNDS + 1)]
    # A round begins after its grant and before the yield that lets another one begin, so begins are ordered whatever the
    # load; an end may be noted late.
    first, last = writes["second"][0][2], writes["second"][-1][2]
    before = [one for one in writes["first"] if one[2] < first]
    after = [one for one in writes["first"] if one[2] > last]
    assert len(before) + len(after) == ROUNDS  # none while the other wrote
    assert len(before) >= 1
    assert (len(after) == 0) == (policy == "fcfs")


def test_all_ranks_together_keep_to_the_rate(start, coordinator, tmp_path):
    serve = coordinator()
    job = start(serve, 2, "paced")
    tell(tmp_path, "paced", "go", "read")
    job.end()
    until(lambda: serve.state()["applications"] == [])
    for doing in ("write", "read"):
        seen = rounds(tmp_path, "paced", 2, doing)
        assert len(seen) == ROUNDS
        for (_, first, begin, _), *later in (seen[k:] for k in range(ROUNDS)):
            for _, to, then, _ in later:
                assert to - first <= RATE * (then - begin + SLACK) + 2 * SHARE / ROUNDS  # a round goes at once


def test_a_rank_by_itself_is_an_application_by_itself(mpi, coordinator, tmp_path):
    serve = coordinator("--policy", "fcfs")
    job = mpi(3, "alone", tmp_path, PENSTOCK_SOCKET=str(serve.socket), PENSTOCK_PATIENCE="20")
    until(lambda: by_name(serve).keys() == {"alone", "alone.1", "alone.2"})
    seconds = sorted(map(float, job.end()[0].split()))
    assert (tmp_path / "alone").read_bytes() == b"".join(bytes([rank]) * 3_000_000 for rank in (1, 2, 3))
    assert seconds[-1] >= 0.9 * 3 * 3e6 / RATE  # one after the other


def test_a_killed_coordinator_is_survived(start, coordinator, tmp_path):
    serve = coordinator()
    job = start(serve, 2, "survivor", patience="2")
    tell(tmp_path, "survivor", "go", "read")
    until(lambda: moving(serve, "survivor"))
    serve.end(signal.SIGKILL)
    out, err = job.end()
    assert out.count("done") == 2
    assert err.count("\n") == 1
    assert err.startswith(f"penstock: no coordinator at {serve.socket} (")
    assert (tmp_path / "survivor").read_bytes() == expected(2)
    for doing in ("write", "read"):
        assert len(rounds(tmp_path, "survivor", 2, doing)) == ROUNDS


def test_an_order_reaches_all_ranks(start, coordinator, tmp_path):
    """A second job that waits goes on beside the first when the policy is changed."""
    serve = coordinator("--policy", "fcfs")
    jobs = {name: start(serve, 2, name, rounds=4 * ROUNDS) for name in ("first", "second")}
    for name in jobs:
        tell(tmp_path, name, "go", "end")
        until(lambda name=name: by_name(serve)[name]["pending"])
    until(lambda: moving(serve, "first"))
    assert by_name(serve)["second"]["state"] == "waiting"
    ask(serve.socket, "policy", "fair-share")
    for job in jobs.values():
        job.end()
    first, second = (rounds(tmp_path, name, 2) for name in jobs)
    assert first[0][2] < second[0][2] < first[-1][2]
