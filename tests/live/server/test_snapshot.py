"""What the coordinator shows of itself, from a core in virtual time."""

from penstock.live.core.core import Core
from penstock.live.core.events import DisconnectEvent, InformEvent, RegisterEvent, ReportEvent
from penstock.live.server.snapshot import AWAY, TRANSFERRING, WAITING, WORKING, RecentGrant, Traffic, take_snapshot

TRAFFIC = Traffic(
    {"register": 4}, (RecentGrant(1.0, 2, "b", 10.0),), 3, refused_messages=1, cut_off=2, turned_away=0, journal_failure=None
)


def four() -> Core:
    """On a link of 10 bytes/s at 3 s: a works, b moves 100 bytes since 1 s, c waits for b, d is away."""
    core = Core("fcfs", 10.0)
    _, b, c, d = core.handle(0.0, *(RegisterEvent(job) for job in "abcd")).registered
    core.handle(1.0, InformEvent(b, 1, 100.0))
    core.handle(2.0, InformEvent(c, 1, 50.0), DisconnectEvent(d), ReportEvent(b, 1, 8.0))
    core.handle(3.0)
    return core


def test_states_and_numbers() -> None:
    seen = take_snapshot(four(), TRAFFIC)
    assert seen.states == {WORKING: 1, TRANSFERRING: 1, WAITING: 1, AWAY: 1}
    assert (seen.now, seen.granted, seen.bandwidth, seen.grants) == (3.0, 10.0, 10.0, 2)
    # c has worked for 2 of 3 s; b for 1 s, and has moved 8 bytes by its report and 10 since: 1.8 s of 10 bytes/s.
    assert seen.lowest_yield == 2.0 / 3.0
    _, b, c, _ = seen.applications
    assert (b["state"], b["rate"], b["progress"]) == (TRANSFERRING, 10.0, 2.8)
    assert (b["transferred"], b["pending"]["moved"], b["pending"]["estimated"]) == (0.0, 8.0, 18.0)
    assert (c["state"], c["rate"], c["pending"]["seconds"], c["yield"]) == (WAITING, 0.0, 1.0, 2.0 / 3.0)


def test_a_user_sees_its_own_applications_and_all_totals() -> None:
    core = Core("fcfs", 10.0)
    core.handle(0.0, *(RegisterEvent(job, uid=uid) for job, uid in (("a", 7), ("b", 8), ("c", 7))))
    everything = take_snapshot(core, TRAFFIC)
    assert everything.as_dict()["recent"] == [{"now": 1.0, "application": 2, "job": "b", "rate": 10.0}]
    own = everything.of_user(7)
    assert [one["job"] for one in own.applications] == ["a", "c"]
    seven, eight = everything.as_dict()["users"]
    assert (seven["user"], seven["applications"], eight["user"]) == ("7", 2, "8")
    shown = {"applications": list(own.applications), "recent": [], "users": [seven]}
    assert own.as_dict() == {**everything.as_dict(), **shown}
    assert own.as_dict()["states"]["working"] == 3


def test_users_can_be_left_out() -> None:
    (one,) = take_snapshot(core_of_one(), TRAFFIC).without_users().applications
    assert not {"user", "uid"} & set(one)
    assert one["job"] == "a"


def core_of_one() -> Core:
    core = Core("fcfs", 10.0)
    core.handle(0.0, RegisterEvent("a", user="somebody", uid=7))
    return core
