"""What the coordinator shows of itself, from a core in virtual time."""

from penstock.live.core.core import Core
from penstock.live.core.events import DisconnectEvent, InformEvent, RegisterEvent, ReportEvent
from penstock.live.server.snapshot import AWAY, TRANSFERRING, WAITING, WORKING, RecentGrant, Traffic, take_snapshot

TRAFFIC = Traffic({"register": 4}, (RecentGrant(1.0, 2, "b", 10.0),), 3, refused_messages=1, cut_off=2, journal_failure=None)


def four() -> Core:
    """On a link of 10 bytes/s at 3 s: a works, b moves 100 bytes since 1 s, c waits for b, d is away."""
    core = Core("fcfs", 10.0)
    _, b, c, d = core.handle(0.0, *(RegisterEvent(job) for job in "abcd")).registered
    core.handle(1.0, InformEvent(b, 1, 100.0))
    core.handle(2.0, InformEvent(c, 1, 50.0), DisconnectEvent(d), ReportEvent(b, 1, 8.0))
    core.handle(3.0)
    return core


def test_states_and_numbers() -> None:
    seen = take_snapshot(four(), TRAFFIC, applications=True)
    assert seen.states == {WORKING: 1, TRANSFERRING: 1, WAITING: 1, AWAY: 1}
    assert (seen.now, seen.granted, seen.bandwidth, seen.grants) == (3.0, 10.0, 10.0, 2)
    # c has worked for 2 of 3 s; b for 1 s, and has moved 8 bytes by its report and 10 since: 1.8 s of 10 bytes/s.
    assert seen.lowest_yield == 2.0 / 3.0
    _, b, c, _ = seen.applications
    assert (b["state"], b["rate"], b["pending"]["moved"], b["progress"]) == (TRANSFERRING, 10.0, 18.0, 2.8)
    assert (c["state"], c["rate"], c["pending"]["seconds"], c["yield"]) == (WAITING, 0.0, 1.0, 2.0 / 3.0)


def test_the_applications_are_described_only_when_asked_for() -> None:
    core = four()
    brief, full = (take_snapshot(core, TRAFFIC, applications=applications) for applications in (False, True))
    assert brief.as_dict() == {**full.as_dict(), "applications": []}
    assert full.as_dict()["recent"] == [{"now": 1.0, "application": 2, "job": "b", "rate": 10.0}]
