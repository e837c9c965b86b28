"""MPI programs under a real coordinator: one rank speaks for all, turns as the policy says, and faults."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.live.mpi.running import missing
from tests.live.server.running import Raw
from tests.native.mpi_jobs import ANYWHERE, BOTH, MPICH, Mpi, family, moved, of_ranks
from tests.native.shimming import SOON, Obedient, Seen, Site, library
from tests.native.test_posix_live import BANDWIDTH, HASTY, PATIENT, applications, served, served_apart, wait_for

each_mpi = pytest.mark.parametrize("mpi", BOTH, ids=family)
ELEMENTS = 24_000
"""Of each rank at most: the collective calls of two ranks move 48,000 bytes each."""
VOLUME = 4 * ELEMENTS // 2
"""Bytes of the first collective call of the program: rank 0 has half of the elements, rank 1 none."""
ROUNDS = {"PENSTOCK_PHASE": f"volume={VOLUME},rounds=4"}


def words(mpi: Mpi, kinds: str = "b") -> tuple[object, ...]:
    return mpi.compiled("mpi_calls.c"), "file", kinds, ELEMENTS


def bytes_in(site: Site) -> int:
    file = site.mount / "file"
    return file.stat().st_size if file.exists() else 0


@each_mpi
def test_one_rank_speaks_for_all(mpi: Mpi) -> None:
    """While the first job has its turn, the call waits as one operation of all ranks, with nothing written."""
    with served("fcfs", **ROUNDS) as (coordinator, site), Raw(coordinator.settings.socket) as first:
        first.register("first")
        first.send("inform", operation=1, volume=1e12, rounds=1000)
        assert first.until("grant")["rate"] > 0.0
        process = mpi.start(site, *words(mpi), PENSTOCK_NAME="ranks")
        found = wait_for(coordinator, lambda found: bool(found.get("ranks", {}).get("pending")))
        pending = found["ranks"]["pending"]
        assert (pending["volume"], pending["rounds"], found["ranks"]["rate"]) == (VOLUME, 4, 0.0)
        assert (found["ranks"]["nodes"], bytes_in(site)) == (1, 0)
        first.send("release", operation=1)
        seen = site.finish(process)
        assert seen.code == 0, seen
        ranks = of_ranks(seen, mpi.compiled("mpi_calls.c"))
        assert ranks.bytes == moved(seen.out)
        assert sorted(record.coordinated for record in ranks.records) == [False, True]


@each_mpi
def test_hints_of_the_program(mpi: Mpi) -> None:
    with served("fcfs") as (coordinator, site), Raw(coordinator.settings.socket) as first:
        first.register("first")
        first.send("inform", operation=1, volume=1e12)
        first.until("grant")
        process = mpi.start(site, *words(mpi), 5, PENSTOCK_NAME="ranks")
        found = wait_for(coordinator, lambda found: bool(found.get("ranks", {}).get("pending")))
        assert (found["ranks"]["pending"]["volume"], found["ranks"]["pending"]["rounds"]) == (VOLUME, 5)
        first.send("release", operation=1)
        seen = site.finish(process)
        assert (seen.code, of_ranks(seen, mpi.compiled("mpi_calls.c")).bytes) == (0, moved(seen.out))


@pytest.mark.parametrize(
    ("policy", "rates"),
    [("fair-share", {BANDWIDTH / 2}), ("due-yield", {0.0}), ("coordinating", {0.0, BANDWIDTH / 2})],
    ids=["fair-share", "due-yield", "coordinating"],
)
@each_mpi
def test_turns_are_those_of_the_policy(mpi: Mpi, policy: str, rates: set[float]) -> None:
    """The ranks end while a long operation of another job is pending: it shares with them, or lets the short one pass.

    `coordinating` (003 §III.D) does either, whichever costs less.
    """
    with served(policy, **ROUNDS) as (coordinator, site), Raw(coordinator.settings.socket) as peer:
        first = Obedient(peer)
        seen = mpi.run(site, *words(mpi, "l"), PENSTOCK_NAME="ranks")
        assert seen.code == 0, seen
        assert of_ranks(seen, mpi.compiled("mpi_calls.c")).bytes == moved(seen.out)
        assert applications(coordinator)["first"]["pending"] is not None
        assert first.rates[0] in rates
        assert coordinator.server.core.overruns == 0
        first.leave()


@each_mpi
def test_two_programs_take_turns(mpi: Mpi) -> None:
    """Under `fcfs` each operation waits for the one before, of whichever program; all bytes are as without the other."""
    with served("fcfs", bandwidth=4e6, **ROUNDS) as (coordinator, site):
        (site.folder / "other").mkdir()
        other = Site(site.folder / "other", **site.variables | {"PENSTOCK_SOCKET": str(site.folder / "socket")})
        jobs = [(one, mpi.start(one, *words(mpi, "bs"), PENSTOCK_NAME=name)) for one, name in ((site, "a"), (other, "b"))]
        seen = [one.finish(process) for one, process in jobs]
        assert [one.code for one in seen] == [0, 0], seen
        assert seen[0].out == seen[1].out
        assert (site.mount / "file").read_bytes() == (other.mount / "file").read_bytes()
        assert coordinator.server.core.overruns == 0


def test_a_rank_that_writes_alone_has_one_node() -> None:
    """Rank 0 speaks for the job with its nodes; rank 1 registers when it writes on its own. Both stay until they end."""
    with served("fcfs", bandwidth=200_000.0, **ROUNDS) as (coordinator, site):
        process = MPICH.start(site, *words(MPICH, "v"), PENSTOCK_NAME="ranks", PENSTOCK_NODES="6")

        def nodes(_: object) -> bool:
            return sorted(one["nodes"] for one in coordinator.state()["applications"] if one["job"] == "ranks") == [1, 6]

        wait_for(coordinator, nodes)
        assert site.finish(process).code == 0


@each_mpi
def test_a_rank_that_waits_for_others_keeps_no_turn(mpi: Mpi) -> None:
    """Rank 0 has just written alone and is in a call of all ranks; rank 1 needs a turn of its own to come there."""
    with served("fcfs", PENSTOCK_PHASE="volume=1000000000,rounds=1000") as (_, site):
        seen = mpi.run(site, *words(mpi, "v"))
        assert seen.code == 0, seen
        assert of_ranks(seen, mpi.compiled("mpi_calls.c")).bytes == moved(seen.out)


@each_mpi
def test_no_coordinator(mpi: Mpi, tmp_path: Path) -> None:
    site = Site(tmp_path, **PATIENT)
    seen = mpi.run(site, *words(mpi, "basc"))
    assert (seen.code, seen.errors) == (0, "")
    ranks = of_ranks(seen, mpi.compiled("mpi_calls.c"))
    assert ranks.bytes == moved(seen.out)
    assert not any(record.coordinated for record in ranks.records)


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
@each_mpi
def test_a_coordinator_lost_before_the_start(mpi: Mpi, fault: signal.Signals) -> None:
    with served_apart(**HASTY | ROUNDS) as (coordinator, site):
        coordinator.process.send_signal(fault)
        if fault == signal.SIGKILL:
            coordinator.process.wait(SOON)
        seen = mpi.run(site, *words(mpi))
        assert seen.code == 0, seen
        assert of_ranks(seen, mpi.compiled("mpi_calls.c")).bytes == moved(seen.out)


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "stopped"])
@each_mpi
def test_a_coordinator_lost_while_the_ranks_wait(mpi: Mpi, fault: signal.Signals) -> None:
    """All ranks go on when the patience of the one that speaks has ended."""
    with served_apart(**ROUNDS, PENSTOCK_PATIENCE="2") as (coordinator, site), Raw(str(site.folder / "socket")) as first:
        first.register("first")
        first.send("inform", operation=1, volume=1e12, rounds=1000)
        first.until("grant")
        process = mpi.start(site, *words(mpi), PENSTOCK_NAME="ranks")
        wait_for(coordinator, lambda found: bool(found.get("ranks", {}).get("pending")))
        coordinator.process.send_signal(fault)
        if fault == signal.SIGKILL:
            coordinator.process.wait(SOON)
        seen = site.finish(process)
        assert seen.code == 0, seen
        assert of_ranks(seen, mpi.compiled("mpi_calls.c")).bytes == moved(seen.out)


def test_killed_ranks_harm_nobody() -> None:
    """A job that is killed while its operation is under way leaves, and the next one has its turn."""
    with served("fcfs", lease=1.0, bandwidth=20_000.0, **ROUNDS) as (coordinator, site):
        process = MPICH.start(site, *words(MPICH), PENSTOCK_NAME="ranks")
        wait_for(coordinator, lambda found: found.get("ranks", {}).get("rate", 0.0) > 0.0)
        program = MPICH.compiled("mpi_calls.c")
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if (folder / "exe").readlink() == program:
                    os.kill(int(folder.name), signal.SIGKILL)
        assert site.finish(process).code != 0
        with Raw(coordinator.settings.socket) as next_one:
            next_one.register("next")
            next_one.send("inform", operation=1, volume=1000.0)
            while next_one.until("grant")["rate"] == 0.0:
                pass


def run_mpi4py(site: Site, source: str) -> Seen:
    """Run a program on two ranks of the wheels' MPICH, with the libraries preloaded."""
    reason = missing()
    if reason is not None:
        if "PENSTOCK_REQUIRE_ALL" in os.environ:
            pytest.fail(reason)
        pytest.skip(reason)
    command = (str(Path(sys.executable).with_name("mpiexec")), "-n", "2", sys.executable, "-c", source)
    return site.run(*command, **ANYWHERE, LD_PRELOAD=f"{MPICH.shim()}:{library()}")


def test_mpi4py() -> None:
    """mpi4py loads its MPI out of sight of others and makes calls with large counts."""
    source = (
        "from mpi4py import MPI; import numpy as np; c = MPI.COMM_WORLD; r = c.Get_rank(); "
        "f = MPI.File.Open(c, 'file', MPI.MODE_CREATE | MPI.MODE_RDWR); a = np.arange(25_000) + r; b = np.zeros_like(a); "
        "f.Write_at_all(r * a.nbytes, a); f.Read_at_all(r * a.nbytes, b); f.Close(); assert (a == b).all()"
    )
    with served("fcfs", **ROUNDS) as (coordinator, site):
        seen = run_mpi4py(site, source)
        assert (seen.code, seen.bytes) == (0, (400_000, 400_000)), seen
        assert sorted(record.coordinated for record in seen.records if record.written) == [False, True]
        assert coordinator.server.core.overruns == 0


def test_a_program_that_uses_penstock_mpi() -> None:
    """Its own rounds count, together and alone; the libraries only count bytes. Else it would wait for itself."""
    source = (
        "from mpi4py import MPI; from penstock.mpi import File; import numpy as np; c = MPI.COMM_WORLD; r = c.Get_rank(); "
        "f = File.Open(c, 'file', MPI.MODE_CREATE | MPI.MODE_RDWR); a = np.arange(25_000) + r; b = np.zeros_like(a); "
        "f.Write_at_all(r * a.nbytes, a); f.Write_at((2 + r) * a.nbytes, a); f.Read_at((2 + r) * a.nbytes, b); f.Close(); "
        "assert (a == b).all()"
    )
    with served("fcfs", **ROUNDS) as (coordinator, site):
        seen = run_mpi4py(site, source)
        assert (seen.code, seen.bytes) == (0, (400_000, 800_000)), seen
        assert not any(record.coordinated for record in seen.records)
        assert coordinator.server.core.overruns == 0
