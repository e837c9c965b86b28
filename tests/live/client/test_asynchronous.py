"""asyncio programs, against a scripted coordinator on a real socket."""

import asyncio
import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.live.client import AsyncJob, UsageError
from penstock.live.protocol import Inform, Leave, Release, Yielded
from tests.live.client.scripted import SOON, Scripted
from tests.live.client.test_job import Recorder


async def until(holds: Callable[[], object]) -> None:
    async with asyncio.timeout(SOON):
        while not holds():
            await asyncio.sleep(0.005)


def test_from_announcing_to_leaving(server: Scripted, tmp_path: Path) -> None:
    data = os.urandom(1000)

    async def main() -> None:
        async with AsyncJob("climate", nodes=64, address=server.address) as job:
            with (tmp_path / "out").open("wb") as file:
                async with job.io(1000, rounds=4) as io:
                    assert await io.write(file, data) == 1000
                    assert job.state.coordinated
            with (tmp_path / "out").open("rb") as file:
                async with job.io(1500) as io:
                    assert await io.read(file, 5000) == data
                    file.seek(0)
                    buffer = bytearray(2000)
                    assert await io.readinto(file, buffer) == 1000
                    assert bytes(buffer[:1000]) == data
            await job.leave()

    asyncio.run(main())
    assert [(inform.volume, inform.rounds) for inform in server.of(Inform)] == [(1000.0, 4), (1500.0, 1)]
    assert [release.moved for release in server.of(Release)] == [1000.0, 2000.0]
    assert len(server.of(Leave)) == 1


def test_the_loop_stays_free_while_it_waits_and_writes(server: Scripted) -> None:
    server.rate = 0.0
    file = Recorder()

    class Slow(Recorder):
        def write(self, data: memoryview) -> int:
            time.sleep(0.1)
            return super().write(data)

    async def main() -> None:
        nonlocal file
        file = Slow()
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.01)

        async with AsyncJob("a", address=server.address) as job:
            io = job.io(100, rounds=2)
            ticking = asyncio.create_task(tick())
            writing = asyncio.create_task(io.write(file, bytes(100)))
            await until(lambda: server.of(Inform))
            await asyncio.sleep(0.1)
            assert not file.pieces
            before = ticks
            server.grant(1e9)
            assert await writing == 100
            assert ticks - before >= 5  # 0.2 s of writes
            assert job.state.waited >= 0.09
            ticking.cancel()

    asyncio.run(main())
    assert [len(piece) for piece in file.pieces] == [50, 50]


def test_pacing(server: Scripted) -> None:
    server.rate = 1e6

    async def main() -> float:
        async with AsyncJob("a", address=server.address) as job, job.io(500_000) as io:
            begun = time.monotonic()
            await io.write(Recorder(), bytes(500_000))
            return time.monotonic() - begun

    assert 0.46 <= asyncio.run(main()) < 3.0


@pytest.mark.parametrize("rate", [0.0, 1e4])
def test_who_is_cancelled_releases_and_leaves(server: Scripted, rate: float) -> None:
    server.rate = rate
    file = Recorder()

    async def work() -> None:
        async with AsyncJob("a", address=server.address) as job, job.io(10**6) as io:
            await io.write(file, bytes(10**6))

    async def main() -> None:
        task = asyncio.create_task(work())
        await until(lambda: server.of(Inform) and (file.pieces or not rate))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert server.expect(Release).moved == file.size()
    assert server.expect(Leave)


def test_a_slice_on_its_way_is_waited_for_and_counted(server: Scripted) -> None:
    class Slow(Recorder):
        def write(self, data: memoryview) -> int:
            time.sleep(0.2)
            return super().write(data)

    file = Slow()

    async def main() -> None:
        async with AsyncJob("a", address=server.address) as job, job.io(100, rounds=2) as io:
            task = asyncio.create_task(io.write(file, bytes(100)))
            await until(lambda: job._link.session.operation.in_round)  # type: ignore[union-attr]
            await asyncio.sleep(0.05)
            task.cancel()
            await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert file.size() == 50

    asyncio.run(main())
    assert server.expect(Release).moved == 50.0


def test_errors_of_files_pass(server: Scripted) -> None:
    class Full:
        def write(self, data: memoryview) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    async def main() -> None:
        async with AsyncJob("a", address=server.address) as job, job.io(100) as io:
            await io.write(Full(), bytes(100))

    with pytest.raises(OSError, match="No space left"):
        asyncio.run(main())
    assert server.expect(Release).moved == 0.0


def test_the_six_calls(server: Scripted) -> None:
    async def main() -> None:
        async with AsyncJob("a", address=server.address) as job:
            with pytest.raises(UsageError, match=r"^wait: no step is informed of"):
                await job.wait()
            job.prepare(volume=100, rounds=2)
            job.inform()
            assert await job.wait()
            server.grant(0.0)
            await until(lambda: job._link.session.operation.pausing)  # type: ignore[union-attr]
            job.release()
            await until(lambda: server.of(Yielded))
            job.inform()
            assert not await job.wait(timeout=0.05)
            asyncio.get_running_loop().call_later(0.05, server.grant, 5.0)
            assert await job.wait()
            job.release()
            job.complete()

    asyncio.run(main())
    assert server.expect(Release).moved == 100.0


def test_io_inside_a_step(server: Scripted) -> None:
    async def main() -> None:
        async with AsyncJob("a", address=server.address) as job:
            job.prepare(volume=100, rounds=2)
            job.inform()
            async with job.io(50) as io:
                assert await io.write(Recorder(), bytes(50)) == 50
                server.grant(0.0)
                await until(lambda: job._link.session.operation.pausing)  # type: ignore[union-attr]
                assert not server.of(Yielded)
            job.release()
            await until(lambda: server.of(Yielded))
            job.complete()

    asyncio.run(main())
    assert [inform.volume for inform in server.of(Inform)] == [100.0]
    assert server.expect(Release).moved == 50.0


def test_many_wait_while_one_writes(server: Scripted) -> None:
    """Those who wait hold no thread, so that whoever has its turn finds one."""
    server.answers[Inform] = lambda message: []
    written = Recorder()

    async def waiting(number: int) -> None:
        async with AsyncJob(f"w{number}", address=server.address, patience=60.0) as job, job.io(10) as io:
            await io.write(Recorder(), bytes(10))

    async def main() -> None:
        tasks = [asyncio.create_task(waiting(number)) for number in range(40)]
        await until(lambda: len(server.of(Inform)) == 40)
        del server.answers[Inform]
        async with AsyncJob("a", address=server.address) as job, job.io(10) as io:
            await io.write(written, bytes(10))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
    assert written.size() == 10


def test_nobody_there(place: Path) -> None:
    async def main() -> None:
        async with AsyncJob("a", address=place, patience=3600.0) as job, job.io(10) as io:
            assert await io.write(Recorder(), bytes(10)) == 10

    asyncio.run(main())


def test_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENSTOCK_DISABLE", "yes")

    async def main() -> None:
        async with AsyncJob("a") as job, job.io(10) as io:
            assert await io.write(Recorder(), bytes(10)) == 10

    asyncio.run(main())
