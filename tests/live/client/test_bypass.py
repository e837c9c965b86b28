"""I/O by other means inside a block of `job.io`: it waits for its turn, counts as one round, and is told about."""

import asyncio
import threading
from pathlib import Path

import numpy
import pytest

from penstock.live.client import AsyncJob, Job, UsageError
from penstock.live.protocol import Inform, Release, Report, Yielded
from tests.live.client.scripted import SOON, Scripted, until
from tests.live.client.test_failure import told
from tests.live.client.test_job import Recorder, started

WARNING = (
    "WARNING",
    "penstock: nothing was moved through io in a block of 100 bytes; counted as moved in one round"
    " (expected io.write, io.read or io.move, or io.done after I/O by other means)",
)


def test_the_block_waits_for_its_turn(server: Scripted) -> None:
    server.rate = 0.0
    inside = threading.Event()
    with Job("a", address=server.address) as job:

        def save() -> None:
            with job.io(100, rounds=4):
                inside.set()

        thread = started(save)
        server.expect(Inform)
        until(lambda: job.state.waited > 0.0)
        assert not inside.is_set()
        server.grant(1e9)
        thread.join(SOON)
        assert inside.is_set()


def test_it_counts_as_moved_and_warns_once_a_job(server: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    with Job("a", address=server.address) as job:
        for _ in range(2):
            with job.io(100):
                pass  # another library writes here
        assert job.state.moved == 200
        assert told(caplog) == [WARNING]
    assert [release.moved for release in server.of(Release)] == [100.0, 100.0]


def test_a_job_that_is_switched_off_does_not_warn(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("PENSTOCK_DISABLE", "1")
    with Job("a") as job:
        with job.io(100):
            pass
        assert job.state.moved == 100
    assert told(caplog) == []


def test_a_pause_takes_effect_at_the_end_of_the_block(server: Scripted) -> None:
    with Job("a", address=server.address) as job:
        with job.io(100, rounds=10):
            pause = server.grant(0.0)
            until(lambda: job._link.session.operation.pausing)  # type: ignore[union-attr]
            assert not server.of(Yielded)
        assert server.expect(Yielded).grant == pause
        assert server.expect(Release).moved == 100.0


def test_an_exception_counts_nothing(server: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    with Job("a", address=server.address) as job:
        with pytest.raises(ZeroDivisionError), job.io(100):
            raise ZeroDivisionError
        with job.io(0):
            pass
        with job.io(100) as io:
            io.write(Recorder(), b"")
        with job.io(100) as io:
            io.close()
        io = job.io(100)
        io.close()
        assert job.state.moved == 0
    assert [release.moved for release in server.of(Release)] == [0.0, 0.0, 0.0, 0.0]
    assert told(caplog) == []


def test_done_ends_a_round(server: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    """A pause takes effect there, the next part waits for its turn, and the last one for nothing."""
    parts: list[int] = []
    with Job("a", address=server.address) as job:

        def save() -> None:
            with job.io(90, rounds=3) as io:
                for size in (20, 40, 30):
                    parts.append(size)
                    if size == 20:
                        server.grant(0.0)
                        until(lambda: job._link.session.operation.pausing)  # type: ignore[union-attr]
                    if size == 30:
                        server.grant(0.0)
                        until(lambda: job._link.session.operation.pausing)  # type: ignore[union-attr]
                    io.done(size)

        thread = started(save)
        server.expect(Yielded)
        assert server.of(Report)[-1].moved == 20.0
        assert parts == [20]
        server.grant(0.0)  # a grant that comes while it waits is answered at once, as nothing moves
        server.grant(1e9)
        thread.join(SOON)
        assert parts == [20, 40, 30]
        assert job.state.moved == 90
    assert server.expect(Release).moved == 90.0
    assert told(caplog) == []


def test_the_rate_is_kept_on_average(server: Scripted) -> None:
    """What was moved too fast is owed: the next part may begin when the rate allows all that was moved."""
    server.rate = 1e6
    with Job("a", address=server.address) as job:
        with job.io(50_000, rounds=2) as io:
            io.done(10_000)
            gate = job._access.gate
            operation = job._link.session.operation
            assert operation is not None
            assert gate.onward(operation, 0, 0.0, 0.0, 1, False) == -1  # at the date 0, before it is due
            with pytest.raises(UsageError, match="size -1 is out of range"):
                io.done(-1)
        with pytest.raises(UsageError, match=r"^io: the operation is closed"):
            io.done(10)


def test_an_interrupted_wait_leaves_no_operation(server: Scripted) -> None:
    server.rate = 0.0

    def interrupted(timeout: float) -> bool:
        raise KeyboardInterrupt

    with Job("a", address=server.address) as job:
        io = job.io(100)
        server.expect(Inform)
        job._link.changed.wait = interrupted  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt), io:
            pytest.fail("it had no turn")
        del job._link.changed.wait
        server.rate = 1e9
        with job.io(50) as io:
            io.write(Recorder(), bytes(50))
    assert [release.moved for release in server.of(Release)] == [0.0, 50.0]


def test_asyncio(server: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    server.rate = 0.0
    order: list[str] = []

    async def save(job: AsyncJob) -> None:
        async with job.io(100):
            order.append("inside")

    async def main() -> None:
        async with AsyncJob("a", address=server.address) as job:
            saving = asyncio.create_task(save(job))
            while not server.of(Inform) or not job.state.waited:
                await asyncio.sleep(0.005)
            order.append("granted")
            server.grant(1e9)
            await saving
            server.rate = 1e9
            async with job.io(60, rounds=2) as io:
                await io.done(30)
                await io.done(30)
            server.rate = 0.0
            waiting = asyncio.create_task(save(job))
            while len(server.of(Inform)) < 3:
                await asyncio.sleep(0.005)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            server.rate = 1e9
            async with job.io(5) as io:
                await io.write(Recorder(), bytes(5))

    asyncio.run(main())
    assert order == ["granted", "inside"]
    assert [release.moved for release in server.of(Release)] == [100.0, 60.0, 0.0, 5.0]
    assert told(caplog) == [WARNING]


def test_numpy_saves_when_it_is_its_turn(server: Scripted, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    array = numpy.arange(1000.0)
    server.rate = 0.0
    with Job("a", address=server.address) as job:

        def save() -> None:
            with job.io(array.nbytes, rounds=1) as io:
                numpy.save(tmp_path / "array.npy", array)
                io.done(array.nbytes)

        thread = started(save)
        server.expect(Inform)
        until(lambda: job.state.waited > 0.0)
        assert not (tmp_path / "array.npy").exists()
        server.grant(1e9)
        thread.join(SOON)
    assert (numpy.load(tmp_path / "array.npy") == array).all()
    assert server.expect(Release).moved == array.nbytes
    assert told(caplog) == []
