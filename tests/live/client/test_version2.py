"""What version 2 of the protocol tells a client: an outlook, limits of rounds, warnings, further addresses."""

import asyncio
import logging
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock.live.client import AsyncJob, Job, Outlook, UsageError, outstanding
from penstock.live.client.transfer import PAGE, Gate
from penstock.live.protocol import (
    Ask,
    Error,
    Grant,
    Inform,
    Join,
    Register,
    Registered,
    Release,
    Reply,
    Report,
    Request,
    Warned,
    Yielded,
)
from tests.live.client.scripted import Scripted, until
from tests.live.client.test_failure import told
from tests.live.client.test_job import Recorder
from tests.live.client.test_session import fresh, moving, registered


def registering(server: Scripted, **more: Any) -> None:
    """Let the server tell this to whoever registers or joins."""

    def answer(message: Request) -> list[Reply]:
        assert isinstance(message, Register | Join)
        return [Registered(message.seq, 7, "key-7", server.lease, "fair-share", **more)]

    server.answers[Register] = server.answers[Join] = answer


def outlook(message: Request) -> list[Reply]:
    return [Outlook(message.seq, 1e9, 2, 3, wait=4.5, seconds=6.0)]


# ask


def test_who_does_io_and_how_long_it_would_wait(server: Scripted) -> None:
    server.answers[Ask] = outlook
    with Job("a", address=server.address) as job:
        found = job.ask(volume=5000, rounds=4)
        assert found is not None
        assert (found.bandwidth, found.moving, found.waiting, found.wait, found.seconds) == (1e9, 2, 3, 4.5, 6.0)
        with job.io(10) as io:
            assert job.ask() == Outlook(4, 1e9, 2, 3, 4.5, 6.0)
            io.write(Recorder(), bytes(10))
        with pytest.raises(UsageError, match="rounds 0 is out of range"):
            job.ask(rounds=0)
    assert [(ask.volume, ask.rounds) for ask in server.of(Ask)] == [(5000.0, 4), (0.0, 1)]
    with pytest.raises(UsageError, match=r"^ask: the job has left"):
        job.ask()


def test_asyncio_asks_too(server: Scripted) -> None:
    server.answers[Ask] = outlook

    async def main() -> None:
        async with AsyncJob("a", address=server.address) as job:
            found = await job.ask(100)
            assert found is not None
            assert found.wait == 4.5
            server.answers[Ask] = lambda message: [Error("unexpected", "what?", message.seq)]
            assert await job.ask(100) is None

    asyncio.run(main())
    assert len(server.of(Ask)) == 2


@pytest.mark.parametrize("reply", ["none", "error", "cut"])
def test_nobody_can_tell(server: Scripted, reply: str) -> None:
    def answer(message: Request) -> list[Reply]:
        if reply == "cut":
            server.cut()
        return [Error("unexpected", "what?", message.seq)] if reply == "error" else []

    server.answers[Ask] = answer
    with Job("a", address=server.address, patience=1.0 if reply == "none" else 3600.0) as job:
        until(lambda: job.state.coordinated)
        assert job.ask(100) is None
        assert len(server.of(Ask)) == 1


def test_version_1_is_not_asked(server: Scripted, place: Path) -> None:
    registering(server, version=1)
    with Job("a", address=server.address, patience=3600.0) as job:
        assert job.ask(100) is None
        until(lambda: job.state.coordinated)
    assert not server.of(Ask)
    with Job("a", address=place.with_name("none"), patience=3600.0) as job:
        assert job.ask(100) is None


# longest_round


@pytest.mark.parametrize(
    ("rate", "rounds", "expected"),
    [(1e6, 1, 500_000), (1e6, 4, 500_000), (1e6, 100, 100_000), (1e3, 1, PAGE), (1e9, 1, float("inf"))],
)
def test_rounds_are_cut_where_they_would_take_too_long(rate: float, rounds: int, expected: float) -> None:
    """10 MB at the granted rate; half a second a round at most, and a page at least."""
    session = registered()
    session.longest_round = 0.5
    operation = session.begin(10**7, rounds, 1.0)
    session.send(1.0)
    session.receive(Grant(1, 1, rate), 1.0)
    gate = Gate(session)
    assert gate.delay(2.0) <= 0.0
    assert operation.boundary == min(expected, 10**7 // rounds if rounds > 1 else float("inf"), max(PAGE, rate / 2))
    session.receive(Grant(1, 2, 2 * rate), 2.0)
    gate.delay(2.0)
    assert operation.boundary == min(10**7 // rounds if rounds > 1 else float("inf"), max(PAGE, rate))


def test_a_round_is_cut_when_the_rate_falls() -> None:
    session = registered()
    session.longest_round = 1.0
    operation = session.begin(10**9, 1, 1.0)
    session.send(1.0)
    session.receive(Grant(1, 1, 1e6), 1.0)
    gate = Gate(session)
    gate.delay(2.0)
    gate.onward(operation, 600_000, 2.0, 2.6, 10**9, False)
    session.receive(Grant(1, 2, 8e5), 2.6)
    gate.delay(2.6)
    assert operation.boundary == 800_000  # 0.6 s are over, and 200,000 bytes take 0.25 s
    session.receive(Grant(1, 3, 1e5), 2.6)
    gate.delay(2.6)
    assert operation.boundary == 600_000 + PAGE  # the second is over
    operation.advance(PAGE)
    assert operation.between_rounds
    assert operation.boundary == 600_000 + PAGE + 100_000


def test_bytes_beyond_the_volume_are_cut_too() -> None:
    session = registered()
    session.longest_round = 1.0
    operation = session.begin(1000, 10, 1.0)
    session.send(1.0)
    session.receive(Grant(1, 1, 1e6), 1.0)
    gate = Gate(session)
    gate.delay(2.0)
    operation.advance(1000)
    assert operation.boundary == 1000 + 10**6
    operation.advance(10**6)
    assert operation.between_rounds


def test_a_pause_takes_effect_within_the_longest_round(server: Scripted) -> None:
    registering(server, longest_round=0.01)
    server.rate = 1e6
    answered: list[tuple[int, int]] = []

    class Pausing(Recorder):
        def write(self, data: memoryview) -> int:
            answered.append((self.size(), len(server.of(Yielded))))
            if len(answered) == 1:
                server.grant(0.0)
                until(lambda: job._link.session.operation.pausing)  # type: ignore[union-attr]
            return super().write(data)

    file = Pausing()
    with Job("a", address=server.address) as job, job.io(30_000, rounds=1) as io:
        server.answers[Yielded] = lambda message: [Grant(1, 50, 1e12)]
        io.write(file, bytes(30_000))
    assert answered[:3] == [(0, 0), (8192, 0), (10_000, 1)]  # after 10 ms at 1 MB/s, of a round of 30 ms
    assert server.of(Report)[0].moved == 10_000.0
    assert server.expect(Release).moved == 30_000.0


# warned, observing


def test_a_warning_is_logged(server: Scripted, caplog: pytest.LogCaptureFixture) -> None:
    with Job("a", address=server.address) as job:
        until(lambda: job.state.coordinated)
        server.tell(Warned("100 MB/s reported,\n40 MB/s granted"))
        until(lambda: told(caplog))
        assert job.state.coordinated
    assert told(caplog) == [
        ("WARNING", f"penstock: the coordinator at {server.address} warns: 100 MB/s reported, 40 MB/s granted")
    ]


def test_a_coordinator_that_observes_is_shown(server: Scripted) -> None:
    with Job("a", address=server.address) as job:
        until(lambda: job.state.coordinated)
        assert not job.state.observing
        registering(server, observing=True)
        server.cut()
        until(lambda: job.state.observing)


# addresses


def test_further_addresses_are_tried_in_order_and_the_first_again(place: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    second, third = place.with_name("second"), place.with_name("third")
    first = Scripted(place)
    registering(first, addresses=(str(second), "no:address", str(third)))
    with Job("a", address=place, patience=3600.0) as job:
        until(lambda: job.state.coordinated)
        io = job.io(100, rounds=2)
        io.write(Recorder(), bytes(50))
        other = Scripted(third)
        registering(other, addresses=(str(second), str(third)))
        first.die()
        join = other.expect(Join)
        assert (join.application, join.key, join.operation) == (7, "key-7", 1)
        assert other.expect(Inform).moved == 50.0
        assert io.write(Recorder(), bytes(50)) == 50
        with Scripted(place) as again:
            other.die()
            again.expect(Join)
            io.close()
            assert again.expect(Release).moved == 100.0
            job.leave()
    assert told(caplog) == []


def test_a_further_address_is_tried_when_the_first_falls_silent(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outstanding, "DEAD_SECONDS", 0.1)
    second = place.with_name("second")
    with Scripted(place) as first, Scripted(second) as other:
        registering(first, addresses=(str(second),))
        with Job("a", address=place, patience=0.5) as job, closing(job.io(100)) as io:
            first.expect(Inform)
            until(lambda: job.state.coordinated)
            first.mute = True
            assert other.expect(Join).operation == 1
            other.expect(Inform)
            until(lambda: job.state.coordinated)
            io.write(Recorder(), bytes(100))
            io.close()
            assert other.expect(Release).moved == 100.0


def test_a_token_for_each_address() -> None:
    session = fresh()
    session.look_at("there:1", "another")
    session.connect(1.0)
    (register,) = session.send(1.0)
    assert isinstance(register, Register)
    assert register.token == "another"


def test_what_is_prepared_is_sent() -> None:
    session = registered()
    session.begin(100, 2, 1.0, follows=300, bandwidth=1e9, store="scratch")
    assert session.send(1.0) == [Inform(2, 1, 100.0, 2, bandwidth=1e9, follows=300.0, store="scratch")]
    assert moving().send(1.0) == []
