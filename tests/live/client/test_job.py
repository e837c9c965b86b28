"""A program that blocks, against a scripted coordinator on a real socket."""

import errno
import io
import os
import threading
import time
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from penstock.live.client import Job, UsageError
from penstock.live.protocol import Beat, Inform, Leave, Register, Release, Report, Yielded
from tests.live.client.scripted import SOON, Scripted, until


class Recorder:
    """A file that keeps what it is given, in pieces, with their times."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.times: list[float] = []

    def write(self, data: memoryview) -> int:
        self.pieces.append(bytes(data))
        self.times.append(time.monotonic())
        return len(data)

    def size(self) -> int:
        return sum(map(len, self.pieces))


def started(call: Any, *arguments: Any) -> threading.Thread:
    thread = threading.Thread(target=call, args=arguments, daemon=True)
    thread.start()
    return thread


def test_from_announcing_to_leaving(server: Scripted, tmp_path: Path) -> None:
    data = os.urandom(1000)
    with Job("climate", nodes=64, bandwidth=1e9, address=server.address) as job:
        with (tmp_path / "out").open("wb") as file, job.io(1000, rounds=4) as io:
            assert io.write(file, data) == 1000
            assert job.state.coordinated
            assert job.state.application == 7
            assert job.state.policy == "fair-share"
        with (tmp_path / "out").open("rb") as file, job.io(1000) as io:
            assert io.read(file, 5000) == data
            assert io.read(file, 10) == b""
        assert job.state.moved == 2000
        assert job.state.rate == float("inf")
    register = server.of(Register)[0]
    assert (register.seq, register.version, register.job, register.nodes) == (1, 2, "climate", 64)
    assert [(i.operation, i.volume, i.rounds) for i in server.of(Inform)] == [(1, 1000.0, 4), (2, 1000.0, 1)]
    assert [(r.operation, r.moved) for r in server.of(Release)] == [(1, 1000.0), (2, 1000.0)]
    assert len(server.of(Leave)) == 1
    assert [message.seq for _, message in server.heard] == list(range(1, len(server.heard) + 1))


def test_over_tcp_with_a_token(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    token.chmod(0o600)
    with Scripted(("127.0.0.1", 0)) as server:
        with Job("a", address=server.address, token_file=token) as job, job.io(10) as io:
            io.write(Recorder(), bytes(10))
        assert server.of(Register)[0].token == "secret"
        assert server.of(Release)[0].moved == 10.0


class Silent(Recorder):
    """One that does not say how much it has taken."""

    def write(self, data: memoryview) -> None:  # type: ignore[override]
        super().write(data)


@pytest.mark.parametrize("file", [Recorder(), Silent()], ids=["recorder", "silent"])
@pytest.mark.parametrize(
    ("volume", "rounds", "size"), [(100, 1, 250), (100, 10, 253), (100, 10, 300), (7, 3, 100), (1, 1, 3)]
)
def test_more_than_announced_may_be_moved(server: Scripted, file: Recorder, volume: int, rounds: int, size: int) -> None:
    file.pieces.clear()
    data = os.urandom(size)
    with Job("a", address=server.address) as job:
        with job.io(volume, rounds=rounds) as io:
            assert io.write(file, data) == size
        with job.io(volume, rounds=rounds) as io:
            source = BytesIO(data + bytes(1000))
            assert io.read(source, size) == data
            assert source.tell() == size
    assert b"".join(file.pieces) == data
    assert [release.moved for release in server.of(Release)] == [size, size]
    assert len(file.pieces) <= rounds + 1


def test_nothing_is_moved_without_a_turn(server: Scripted) -> None:
    """Neither waits it nor does it begin a round: a pause that comes then is answered at once."""
    server.rate = 0.0
    with Job("a", address=server.address) as job, closing(job.io(100, rounds=10)) as io:
        server.expect(Inform)
        assert io.write(Recorder(), b"") == 0
        assert io.read(BytesIO(b"data"), 0) == b""
        assert io.readinto(BytesIO(b"data"), bytearray()) == 0
        server.grant(1e12)
        assert io.write(Recorder(), bytes(10)) == 10
        assert io.write(Recorder(), b"") == 0
        number = server.grant(0.0)
        assert server.expect(Yielded).grant == number
        with pytest.raises(UsageError, match="size -1 is out of range"):
            io.read(BytesIO(b"data"), -1)


class Interrupted(Recorder):
    """Takes 700 bytes at once at the most; at some piece the coordinator wants a pause, and there is time to hear of it."""

    def __init__(self, server: Scripted, at: int, most: int) -> None:
        super().__init__()
        self.server, self.at, self.most = server, at, most

    def write(self, data: memoryview) -> int:
        count = super().write(data[: self.most])
        if len(self.pieces) == self.at:
            self.server.grant(0.0)
            time.sleep(0.2)
        return count


@pytest.mark.parametrize("most", [700, 1000, 10**6])
@pytest.mark.parametrize("by_round", [False, True])
def test_a_pause_is_kept_to_at_the_end_of_the_round_where_many_short_ones_follow(
    server: Scripted, most: int, by_round: bool
) -> None:
    data = os.urandom(1_000_000)
    file = Interrupted(server, 401, most)
    with Job("a", address=server.address) as job, job.io(len(data), rounds=1000) as io:

        def write() -> None:
            for first in range(0, len(data), 1000 if by_round else len(data)):
                io.write(file, data[first : first + (1000 if by_round else len(data))])

        writing = started(write)
        server.expect(Yielded)
        paused_at = file.size()
        assert paused_at == (201_000 if most == 700 else 401_000)
        assert server.of(Report)[-1].moved == paused_at
        time.sleep(0.1)
        assert file.size() == paused_at
        server.grant(1e12)
        writing.join(SOON)
    assert b"".join(file.pieces) == data
    assert server.expect(Release).moved == len(data)


def test_a_write_is_cut_at_the_ends_of_rounds(server: Scripted) -> None:
    file = Recorder()
    with Job("a", address=server.address) as job, job.io(100, rounds=3) as io:
        io.write(file, bytes(20))
        io.write(file, bytes(range(60)))
        io.write(file, bytes(50))  # 30 more than announced: all in the last round
    assert [len(piece) for piece in file.pieces] == [20, 13, 33, 14, 50]
    assert b"".join(file.pieces[1:4]) == bytes(range(60))
    assert server.expect(Release).moved == 130.0


def test_less_than_announced_is_released(server: Scripted) -> None:
    with Job("a", address=server.address) as job, job.io(100, rounds=4) as io:
        io.write(Recorder(), bytes(30))
    assert server.expect(Release).moved == 30.0


def test_descriptors_raw_files_and_buffers(server: Scripted, tmp_path: Path) -> None:
    data = os.urandom(300_000)
    with Job("a", address=server.address) as job, job.io(4 * len(data), rounds=7) as io:
        reading, writing = os.pipe()  # takes what it has room for, and gives what it has
        got: list[bytes] = []
        thread = started(lambda: got.append(io_read(reading, len(data))))
        assert io.write(writing, data) == len(data)
        thread.join(SOON)
        assert got == [data]
        os.close(reading)
        os.close(writing)
        with (tmp_path / "raw").open("wb", buffering=0) as file:
            io.write(file, data)
        number = os.open(tmp_path / "raw", os.O_RDONLY)
        try:
            assert io.read(number, 10) == data[:10]
            buffer = bytearray(len(data))
            assert io.readinto(number, buffer) == len(data) - 10
            assert bytes(buffer[: len(data) - 10]) == data[10:]
        finally:
            os.close(number)
        with (tmp_path / "raw").open("rb") as file:
            assert io.readinto(file, bytearray(100)) == 100
        assert io.write(Recorder(), b"") == 0
        assert io.read(0, 0) == b""


def io_read(number: int, size: int) -> bytes:
    parts = b""
    while len(parts) < size:
        parts += os.read(number, size - len(parts))
    return parts


def test_what_is_no_data_or_no_file(server: Scripted, tmp_path: Path) -> None:
    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> Any:
            return self.answer

    with Job("a", address=server.address) as job, job.io(100) as operation:
        with pytest.raises(TypeError, match="str is no data; expected bytes"):
            operation.write(Recorder(), "text")
        (tmp_path / "text").write_text("text")
        with (tmp_path / "text").open() as text, pytest.raises(TypeError, match="opened in binary mode"):
            operation.read(text, 4)
        full = Full()
        full.answer = None  # type: ignore[attr-defined]
        with pytest.raises(OSError, match="takes no data; expected one that blocks"):
            operation.write(full, b"data")
        full.answer = 0  # type: ignore[attr-defined]
        with pytest.raises(OSError, match="takes no data"):
            operation.write(full, b"data")
    assert server.expect(Release).moved == 0.0


def test_a_full_disk_is_the_applications_affair_and_the_operation_is_released(server: Scripted) -> None:
    class Disk(Recorder):
        def write(self, data: memoryview) -> int:
            if self.size() >= 50:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    with (
        Job("a", address=server.address) as job,
        pytest.raises(OSError, match="No space left"),
        job.io(100, rounds=4) as io,
    ):
        io.write(Disk(), bytes(100))
    assert server.expect(Release).moved == 50.0


def test_what_was_moved_is_counted_once_when_the_wait_is_interrupted(server: Scripted) -> None:
    class Pausing(Recorder):
        def write(self, data: memoryview) -> int:
            server.grant(0.0)
            until(lambda: job._link.session.operation.pausing)  # type: ignore[union-attr]
            return super().write(data)

    def interrupted(timeout: float) -> bool:
        raise KeyboardInterrupt

    with Job("a", address=server.address) as job, job.io(100, rounds=2) as io:
        io.write(Recorder(), bytes(10))
        job._link.changed.wait = interrupted  # type: ignore[assignment]
        with pytest.raises(KeyboardInterrupt):
            io.write(Pausing(), bytes(90))
    assert server.expect(Release).moved == 50.0


def test_it_waits_for_its_turn(server: Scripted) -> None:
    server.rate = 0.0
    file = Recorder()
    with Job("a", address=server.address) as job, closing(job.io(100)) as io:
        thread = started(io.write, file, bytes(100))
        server.expect(Inform)
        time.sleep(0.1)
        assert not file.pieces
        assert job.state.rate == 0.0
        server.grant(1e9)
        thread.join(SOON)
        assert file.size() == 100
        assert 0.05 < job.state.waited < SOON


def test_a_pause_begins_between_two_rounds_and_is_answered_there(server: Scripted) -> None:
    go = threading.Semaphore(0)

    class Stepped(Recorder):
        def write(self, data: memoryview) -> int:
            super().write(data)
            go.acquire()
            return len(data)

    file = Stepped()
    with Job("a", address=server.address) as job, job.io(100, rounds=4) as io:
        thread = started(io.write, file, bytes(100))
        until(lambda: file.pieces)
        pause = server.grant(0.0)
        until(lambda: job._link.session.operation.pausing)  # type: ignore[union-attr]
        assert not server.of(Yielded)
        go.release()
        assert server.expect(Yielded).grant == pause
        assert server.of(Report)[-1].moved == 25.0
        time.sleep(0.05)
        assert file.size() == 25
        server.grant(1e9)
        for _ in range(3):
            go.release()
        thread.join(SOON)
    assert file.size() == 100
    assert len(server.of(Yielded)) == 1


def test_less_is_kept_at_once_and_answered_at_once(server: Scripted) -> None:
    server.rate = 1e6
    file = Recorder()
    with Job("a", address=server.address) as job, job.io(10**6, rounds=1) as io:
        thread = started(io.write, file, bytes(10**6))
        until(lambda: file.pieces)
        number = server.grant(100e3)
        assert server.expect(Yielded).grant == number
        done, begun = file.size(), time.monotonic()
        assert done < 10**6
        time.sleep(0.3)
        assert file.size() - done <= 100e3 * (time.monotonic() - begun + 0.03) + 2 * 4096
        assert job.state.rate == 100e3
        server.grant(1e12)
        thread.join(SOON)
        assert file.size() == 10**6


def test_pacing_in_real_time(server: Scripted, tmp_path: Path) -> None:
    server.rate = rate = 40e6
    times = []
    with (tmp_path / "out").open("wb", buffering=0) as file, Job("a", address=server.address) as job:

        class Timed:
            def write(self, data: memoryview) -> int:
                count = file.write(data)
                times.append((time.monotonic(), count))
                return count

        with job.io(60_000_000, rounds=6) as io:
            io.write(Timed(), bytes(60_000_000))
    # The date of a slice is that of its end, which a loaded machine can put off: 5 % and one slice.
    for begin, _ in times:
        moved = sum(count for date, count in times if begin < date <= begin + 1.0)
        assert moved <= 1.05 * rate + 0.01 * rate
    assert times[-1][0] - times[0][0] < 3.0  # 1.5 s, if the machine lets it


def test_reports_and_beats_are_few(server: Scripted) -> None:
    server.lease, server.rate = 0.3, 1e6
    with Job("a", address=server.address) as job, job.io(500_000, rounds=100) as io:
        io.write(Recorder(), bytes(500_000))
    reports = server.of(Report)
    assert 2 <= len(reports) <= 5  # in half a second
    assert [report.moved for report in reports] == sorted(report.moved for report in reports)
    assert 2 <= len(server.of(Beat)) <= 5


def test_one_operation_at_a_time(server: Scripted) -> None:
    with Job("a", address=server.address) as job:
        with job.io(10) as io:
            with pytest.raises(UsageError, match=r"^io: an operation of this job is under way; expected its end first"):
                job.io(10)
            with pytest.raises(UsageError, match=r"^inform: an operation of this job is under way"):
                job.inform(volume=10)
        with pytest.raises(UsageError, match=r"^io: the operation is closed"):
            io.write(Recorder(), b"data")
        io.close()
        with job.io(10) as io:
            io.write(Recorder(), b"data")
    with pytest.raises(UsageError, match=r"^io: the job has left; expected a new Job"):
        job.io(10)
    job.leave()


def test_an_operation_that_is_closed_while_it_waits(server: Scripted) -> None:
    server.rate = 0.0
    with Job("a", address=server.address) as job:
        io, caught = job.io(10), []

        def write() -> None:
            with pytest.raises(UsageError, match="closed") as error:
                io.write(Recorder(), b"data")
            caught.append(error)

        thread = started(write)
        server.expect(Inform)
        io.close()
        server.tell(Beat(1))
        thread.join(SOON)
        assert caught


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"patience": -1.0}, "patience -1.0"),
        ({"patience": float("nan")}, "patience nan"),
        ({"patience": "a while"}, "patience 'a while' is out of range; expected a finite number of seconds, 0 or more"),
        ({"nodes": 0}, "nodes 0"),
        ({"address": "a:b"}, "no port"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(Exception, match=says):
        Job("a", **arguments)


def test_patience_in_the_environment(monkeypatch: pytest.MonkeyPatch, server: Scripted) -> None:
    monkeypatch.setenv("PENSTOCK_SOCKET", server.address)
    monkeypatch.setenv("PENSTOCK_PATIENCE", "0")
    server.mute = True
    with Job("a") as job, job.io(10) as io:
        io.write(Recorder(), bytes(10))
        server.expect(Register)
        assert job.state.waited == 0.0
