"""The six calls of CALCioM."""

import threading
import time

import pytest

from penstock.live.client import Job, UsageError
from penstock.live.protocol import Inform, Release, Report, Yielded
from tests.live.client.scripted import SOON, Scripted, until


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


def test_inner_levels_override_outer_ones(server: Scripted) -> None:
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
    assert [(inform.volume, inform.rounds) for inform in server.of(Inform)] == [(40.0, 2), (100.0, 5)]
    assert [release.moved for release in server.of(Release)] == [40.0, 7.0]


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
        with pytest.raises(UsageError, match=r"^io: an operation of this job is under way"):
            job.io(5)
        with pytest.raises(UsageError, match=r"^moved -1 is out of range"):
            job.release(moved=-1)
    for call in (job.check, job.wait, job.release, job.prepare, job.inform, job.complete):
        with pytest.raises(UsageError, match="the job has left"):
            call()
    assert [release.moved for release in server.of(Release)] == [0.0]
