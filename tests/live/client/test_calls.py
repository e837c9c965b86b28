"""The six calls of CALCioM."""

import threading
import time

import pytest

from penstock.live.client import Job, UsageError
from penstock.live.protocol import Inform, Release, Report, Yielded
from tests.live.client.scripted import SOON, Scripted, until
from tests.live.client.test_job import Recorder, started


def test_an_operation_in_steps(server: Scripted) -> None:
    with Job("a", address=server.address) as job:
        job.prepare(volume=100, rounds=4)
        for _ in range(4):
            job.inform()
            assert job.wait()
            assert job.check()
            job.release()
        job.complete()
        assert job.state.moved == 100
    (inform,) = server.of(Inform)
    assert (inform.volume, inform.rounds) == (100.0, 4)
    assert [release.moved for release in server.of(Release)] == [100.0]


def described(server: Scripted) -> list[tuple[float, int, float]]:
    return [(inform.volume, inform.rounds, inform.follows) for inform in server.of(Inform)]


def test_an_inner_level_is_a_part_of_the_outer_one(server: Scripted) -> None:
    with Job("a", address=server.address) as job:
        job.prepare(volume=100, files=5, title="output")
        job.prepare(volume=40)
        job.inform(rounds=2)
        assert job.wait()
        job.release(moved=40)
        job.complete()
        job.inform()
        assert job.wait()
        job.release(moved=7)
        job.complete()
    assert described(server) == [(40.0, 2, 60.0), (60.0, 3, 0.0)]
    assert [release.moved for release in server.of(Release)] == [40.0, 7.0]


def test_four_files_of_sixteen_rounds(server: Scripted) -> None:
    """Whether the library prepares each file or all of them at once, every byte is announced and moved once."""
    with Job("a", address=server.address) as job:
        for per_file in (True, False):
            job.prepare(volume=6400, files=4)
            for _ in range(4 if per_file else 1):
                job.prepare(rounds=16)
                for _ in range(16 if per_file else 64):
                    job.inform()
                    assert job.wait()
                    job.release()
                job.complete()
            job.complete()
        assert job.state.moved == 12_800
    assert described(server) == 2 * [(1600.0, 16, 4800.0), (1600.0, 16, 3200.0), (1600.0, 16, 1600.0), (1600.0, 16, 0.0)]
    assert [release.moved for release in server.of(Release)] == 8 * [1600.0]


def test_an_operation_of_io_is_a_part_of_what_is_prepared(server: Scripted) -> None:
    with Job("a", address=server.address) as job:
        job.prepare(files=3, volume=300, follows=50, bandwidth=2e9, store="scratch")
        for size in (100, 120, 80):
            with job.io(size, rounds=2) as io:
                io.write(Recorder(), bytes(size))
        job.complete()
    assert described(server) == [(100.0, 2, 250.0), (120.0, 2, 130.0), (80.0, 2, 50.0)]
    assert {(inform.bandwidth, inform.store) for inform in server.of(Inform)} == {(2e9, "scratch")}


def test_io_inside_a_step_is_part_of_its_operation(server: Scripted) -> None:
    """It is paced, a pause waits for the release of the step, and the bytes count once."""
    with Job("a", address=server.address) as job:
        job.prepare(volume=100, rounds=4)
        job.inform()
        with job.io(25) as io:
            assert io.write(Recorder(), bytes(10)) == 10
            pause = server.grant(0.0)
            until(lambda: job._link.session.operation.pausing)  # type: ignore[union-attr]
            assert io.write(Recorder(), bytes(15)) == 15
        with job.io(5, rounds=1) as io:
            assert io.write(Recorder(), bytes(5)) == 5
        assert not server.of(Yielded)
        assert not server.of(Release)
        job.release()
        assert server.expect(Yielded).grant == pause
        assert server.of(Report)[-1].moved == 30.0
        server.grant(1e9)
        job.inform()
        with job.io(20) as io:
            io.done(20)
        job.release(moved=25)  # 20 of them through io
        assert job.state.moved == 55
        job.complete()
    assert described(server) == [(100.0, 4, 0.0)]
    assert [release.moved for release in server.of(Release)] == [55.0]


def test_io_inside_a_step_waits_for_the_turn_of_the_step(server: Scripted) -> None:
    server.rate = 0.0
    file = Recorder()
    with Job("a", address=server.address) as job:
        job.inform(volume=100)
        io = job.io(100)
        with pytest.raises(UsageError, match=r"^io: an operation of this job is under way"):
            job.io(100)
        writing = started(io.write, file, bytes(100))
        server.expect(Inform)
        assert not file.pieces
        server.grant(1e9)
        writing.join(SOON)
        job.release()
        with pytest.raises(UsageError, match=r"^io: the operation is closed; expected job.io\(…\) anew$"):
            io.write(file, bytes(100))
        io.close()
    assert [release.moved for release in server.of(Release)] == [100.0]


def test_an_inner_level_leaves_the_operation_of_an_outer_one_alone(server: Scripted) -> None:
    with Job("a", address=server.address) as job:
        job.prepare(volume=100, rounds=2)
        job.inform()
        assert job.wait()
        job.release()
        job.prepare(files=1)
        job.inform()
        job.release()
        job.complete()
        assert not server.of(Release)
        job.complete()
    assert len(server.of(Inform)) == 1
    assert [release.moved for release in server.of(Release)] == [100.0]


def test_without_prepare_it_is_one_step(server: Scripted) -> None:
    with Job("a", address=server.address) as job:
        job.inform(volume=10**8)
        assert job.wait(timeout=SOON)
        job.release()
        assert server.expect(Release).moved == 1e8
        job.inform(volume=10)
        assert job.wait()
        job.release(moved=3)
        assert server.expect(Release, 2).moved == 3.0


def test_a_step_is_not_interrupted_and_the_pause_begins_with_its_release(server: Scripted) -> None:
    with Job("a", address=server.address) as job:
        job.prepare(volume=100, rounds=4)
        job.inform()
        assert job.wait()
        pause = server.grant(0.0)
        until(lambda: job._link.session.operation.pausing)  # type: ignore[union-attr]
        assert job.check()
        assert not server.of(Yielded)
        job.release()
        assert server.expect(Yielded).grant == pause
        assert server.of(Report)[-1].moved == 25.0
        job.inform()
        before = job.state.waited
        assert not job.check()
        time.sleep(0.05)
        assert job.state.waited - before < 0.04  # whoever only asks does not wait
        begun = time.monotonic()
        assert not job.wait(timeout=0.1)
        assert time.monotonic() - begun >= 0.1
        thread = threading.Timer(0.05, server.grant, [5.0])
        thread.start()
        assert job.wait()
        assert job.state.rate == 5.0
        assert job.state.waited >= 0.1
        job.release()
        job.complete()


def test_calls_out_of_order(server: Scripted) -> None:
    with Job("a", address=server.address) as job:
        for call in (job.check, job.wait, job.release):
            with pytest.raises(UsageError, match=f"^{call.__name__}: no step is informed of; expected inform\\(\\) first$"):
                call()
        with pytest.raises(UsageError, match=r"^complete: nothing is prepared"):
            job.complete()
        with pytest.raises(UsageError, match=r"^inform: no volume; expected prepare"):
            job.inform()
        with pytest.raises(UsageError, match=r"^rounds 0 is out of range"):
            job.prepare(volume=1, rounds=0)
        job.inform(volume=5)
        server.expect(Inform)
        with pytest.raises(UsageError, match=r"^inform: the step informed of before is not released"):
            job.inform()
        with pytest.raises(UsageError, match=r"^moved -1 is out of range"):
            job.release(moved=-1)
    for call in (job.check, job.wait, job.release, job.prepare, job.inform, job.complete):
        with pytest.raises(UsageError, match="the job has left"):
            call()
    assert [release.moved for release in server.of(Release)] == [0.0]
