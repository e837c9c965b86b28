"""What a site allows wins over what clients say: long turns end, pauses take effect, and nobody starves."""

from __future__ import annotations

import random

import pytest

from penstock.live.core.core import Core
from penstock.live.core.events import BeatEvent, InformEvent, JoinEvent, RegisterEvent, ReleaseEvent, ReportEvent, YieldEvent
from penstock.live.core.explaining import explain
from penstock.live.core.limits import Limits
from penstock.model import Application, Platform, Workload
from penstock.policies import REGISTRY
from penstock.policies.policy import EXCLUSIVE

B = 10.0
TURN = 5.0
CHAIN = [("work", 1.0), ("io", 10.0)] * 50
WORKLOAD = Workload(Platform(B), tuple(Application.of(name, CHAIN) for name in ("hog", "b", "c")))
"""For the policies that plan; hog comes first where the order is by index."""


class Site:
    """A core with its clients, which beat, keep to their grants at once and move what these allow."""

    def __init__(self, policy, limits, lease=10.0):
        self.core = Core(policy, B, lease=lease, limits=limits, workload=WORKLOAD)
        self.members = {}
        self.moved = {}
        self.speed = {}
        """Part of its grants that a client reaches."""
        self.forgotten = []
        self.warned = []
        self.most = 0.0

    def register(self, job, speed=1.0, **claims):
        self.members[job] = self.core.enter(self.core.now, RegisterEvent(job, **claims))
        self.moved[job], self.speed[job] = 0.0, speed
        return self.members[job]

    def post(self, job, volume, rounds=1000):
        member = self.members[job]
        self.moved[job] = 0.0
        self.core.enter(self.core.now, InformEvent(member, member.last_operation + 1, volume, rounds))

    def settle(self):
        while instructions := self.core.handle(self.core.now):
            self.forgotten += [forget.client.job for forget in instructions.forgets]
            self.warned += [warning.text for warning in instructions.warnings]
            for grant in instructions.grants:
                self.core.enter(self.core.now, YieldEvent(grant.client, grant.number))
            self.most = max(self.most, self.core.granted())

    def run(self, until, step=0.25):
        """Returns who had bandwidth, in order of their turns."""
        turns = []
        self.settle()
        while self.core.now < until - 1e-9:
            before, now = self.core.now, min(self.core.now + step, until)
            for job, member in self.members.items():
                if member.connected and member.number in self.core.registry.clients:
                    self.core.enter(now, BeatEvent(member))
                    if member.operation is not None and member.in_force > 0.0:
                        turns += [job] if not turns or turns[-1] != job else []
                        self.moved[job] += member.in_force * self.speed[job] * (now - before)
                        if self.moved[job] >= member.operation.volume - 1e-6:
                            self.core.enter(now, ReleaseEvent(member, member.operation.number))
                        else:
                            self.core.enter(now, ReportEvent(member, member.operation.number, self.moved[job]))
            self.core.advance(now)
            self.settle()
        return turns


@pytest.mark.parametrize("policy", REGISTRY)
def test_no_policy_lets_one_operation_hold_the_link(policy):
    """A huge volume and a byte now and then: whatever the policy, the others end within some turns."""
    site = Site(policy, Limits(longest_turn=TURN, longest_round=1.0))
    for job, speed in (("hog", 1e-3), ("b", 1.0), ("c", 1.0)):
        site.register(job, speed)
    site.core.advance(1.0)
    site.post("hog", 1e21)
    site.settle()
    site.post("b", 20.0)
    site.post("c", 20.0)
    site.run(1.0 + 4 * TURN + 20.0)
    ended = {operation.job for operation in site.core.registry.ended}
    assert ended == {"b", "c"}
    assert not site.forgotten  # it is set aside, and has its place
    assert site.members["hog"].in_force > 0.0  # and the link when nobody else wants it
    assert site.most <= B * (1 + 1e-12)


def test_turns_go_round():
    site = Site("fcfs", Limits(longest_turn=TURN))
    for job in ("one", "two", "three"):
        site.register(job)
        site.post(job, 1e9)
    turns = site.run(6 * TURN)
    assert turns == ["one", "two", "three"] * 2
    assert site.moved == pytest.approx({"one": 100.0, "two": 100.0, "three": 100.0})


def test_a_turn_lasts_as_long_as_nobody_waits():
    site = Site("fcfs", Limits(longest_turn=TURN))
    site.register("one")
    site.register("two")
    site.post("one", 1e9)
    site.run(4 * TURN)
    site.post("two", 30.0)
    assert site.run(5 * TURN - 1.0) == ["one"]
    assert site.run(6 * TURN + 3.0) == ["one", "two", "one"]  # a turn from when another waits, and back after it
    assert explain(site.core, site.members["one"])["reason"] == "'one' has all it can use, 10 bytes/s"


def test_one_who_comes_later_does_not_keep_the_first_aside():
    """Newcomers arrive all the time. The one that was set aside goes on after those that waited then."""
    site = Site("fcfs", Limits(longest_turn=TURN))
    site.register("long")
    site.post("long", 1e9)
    site.register("early")
    site.post("early", 20.0)
    turns = []
    for number in range(8):
        turns += site.run(TURN + 0.5 + number)
        site.register(f"late{number}")
        site.post(f"late{number}", 20.0)
    turns += site.run(4 * TURN)
    told = [job for before, job in zip([None, *turns], turns, strict=False) if job != before]
    assert told[:3] == ["long", "early", "long"]
    assert explain(site.core, site.members["late7"])["rate"] == 0.0


def test_bandwidth_that_the_others_cannot_use_goes_to_the_one_set_aside():
    site = Site("fcfs", Limits(longest_turn=TURN))
    site.register("wide")
    site.register("wide2")
    site.register("narrow", bandwidth=2.0)
    for job in ("wide", "wide2", "narrow"):
        site.post(job, 1e9)
    site.run(TURN + 0.5)
    assert {job: member.in_force for job, member in site.members.items()} == {"wide": 0.0, "wide2": 10.0, "narrow": 0.0}
    assert "has had its turn" in explain(site.core, site.members["wide"])["reason"]
    site.core.enter(site.core.now, ReleaseEvent(site.members["wide2"], 1))
    site.settle()
    assert {job: member.in_force for job, member in site.members.items()} == {"wide": 8.0, "wide2": 0.0, "narrow": 2.0}


def test_who_reaches_next_to_nothing_loses_its_turn_early():
    limits = Limits(longest_turn=1000.0, longest_round=2.0, least_reached=0.01)
    assert limits.watch(lease=3.0) == 5.0
    site = Site("fcfs", limits, lease=3.0)
    site.register("trickle", speed=1e-3)
    site.register("slow", speed=0.02)
    site.register("last")
    site.post("trickle", 1e21)
    site.post("slow", 1e21)
    site.post("last", 50.0)
    assert site.run(4.5) == ["trickle"]
    assert site.run(30.0) == ["trickle", "slow"]  # slow as it is, it keeps its turn
    assert site.members["slow"].in_force == B


def test_one_round_of_a_huge_volume_is_no_reason_not_to_yield():
    core = Core("interrupting", B, lease=3.0, limits=Limits(longest_round=2.0))
    hog, other = (core.enter(0.0, RegisterEvent(job)) for job in ("hog", "other"))
    core.enter(0.0, InformEvent(hog, 1, 1e21, rounds=1))
    core.handle(0.0)
    core.enter(1.0, InformEvent(other, 1, 50.0))
    assert {grant.client.job: grant.rate for grant in core.handle(1.0).grants} == {"hog": 0.0, "other": 0.0}
    assert core.next_date() <= 6.0
    for now in (2.0, 4.0, 5.9):
        for member in (hog, other):
            core.enter(now, BeatEvent(member))
        assert not core.handle(now).forgets
    (forget,) = core.handle(6.0).forgets  # a lease of 3 s and a round of 2 s after the pause
    assert (forget.client, forget.reason) == (hog, "it did not keep to grant 2 of 0 bytes/s in time")
    assert other.in_force == B


def test_claims_that_nobody_can_check_are_cut():
    core = Core("greedy-yield", B, limits=Limits(max_elapsed_claim=0.0, max_nodes=64))
    liar = core.enter(0.0, RegisterEvent("liar", nodes=2**53, elapsed=1e6, progress=0.0))
    honest = core.enter(0.0, RegisterEvent("honest", nodes=8))
    assert (liar.nodes, liar.release, liar.done) == (64, 0.0, 0.0)
    assert (honest.nodes, honest.release, honest.done) == (8, 0.0, 0.0)
    core.handle(10.0)
    assert core.yield_of(liar) == core.yield_of(honest) == 1.0


@pytest.mark.parametrize(
    ("elapsed", "progress", "counted"),
    [(50.0, None, (50.0, 50.0)), (50.0, 20.0, (50.0, 20.0)), (1e6, None, (100.0, 100.0)), (1e6, 1e6 - 30.0, (100.0, 70.0))],
)
def test_of_what_was_before_the_registration_the_last_while_counts(elapsed, progress, counted):
    core = Core("greedy-yield", B, limits=Limits(max_elapsed_claim=100.0), now=1000.0)
    member = core.enter(1000.0, RegisterEvent("late", elapsed=elapsed, progress=progress))
    assert (1000.0 - member.release, member.done) == pytest.approx(counted)


def targets(policy, *users, limits=None, caps=(), gids=(), groups=()):
    """What each of some operations would have; users are given by uid, in the order of posting."""
    core = Core(policy, B, lease=100.0, limits=limits or Limits(share_by="user"), workload=WORKLOAD)
    for number, uid in enumerate(users):
        cap = caps[number] if caps else None
        known = {"gid": gids[number] if gids else -1, "group": groups[number] if groups else ""}
        member = core.enter(0.0, RegisterEvent(f"{number}", uid=uid, bandwidth=cap, **known))
        core.enter(float(number), InformEvent(member, 1, 100.0))
    core.handle(float(len(users)))
    return [float(core.pending.column("target")[place]) for place in range(core.pending.size)]


def test_nine_identities_of_one_user_take_one_share():
    each = targets("fair-share", *[7] * 9, 8, limits=Limits())
    assert each == pytest.approx([1.0] * 10)
    by_user = targets("fair-share", *[7] * 9, 8)
    assert (sum(by_user[:9]), by_user[9]) == (5.0, 5.0)
    assert targets("interfering", *[7] * 9, 8)[9] == 5.0
    # The oldest operation of a user uses what it can, the next ones the rest.
    assert targets("fair-share", 7, 7, 7, 8, caps=[2.0, 2.0, 2.0, 10.0]) == pytest.approx([2.0, 1.75, 0.0, 6.25])


def test_the_site_gives_users_weights():
    """B = 10: under job-fair 3 + 3 + 1 parts; under user-fair 3 + 1, and the jobs of a user share its part."""
    site = Limits(weights={7: 3.0})
    assert targets("job-fair", 7, 7, 8, limits=site) == pytest.approx([30.0 / 7.0, 30.0 / 7.0, 10.0 / 7.0])
    assert targets("size-fair", 7, 8, limits=site) == pytest.approx([7.5, 2.5])
    assert targets("user-fair", 7, 7, 8, limits=site) == pytest.approx([3.75, 3.75, 2.5])
    assert targets("group-fair", 7, 8, limits=site) == pytest.approx([7.5, 2.5])
    assert targets("user-fair", 7, 7, 8, limits=Limits()) == pytest.approx([2.5, 2.5, 5.0])
    assert targets("fair-share", 7, 8, limits=site) == [5.0, 5.0]
    assert targets("user-fair", -1, 8, limits=Limits(weights={-1: 3.0, 8: 4.0})) == pytest.approx([2.0, 8.0])


def test_the_site_gives_groups_weights():
    """B = 10: under group-fair 3 parts for gid 500, which its users divide, and 1 for each user without a group."""
    site = Limits(group_weights={500: 3.0, 501: 1.0})
    assert targets("group-fair", 7, 8, 9, gids=(500, 500, -1), limits=site) == pytest.approx([3.75, 3.75, 2.5])
    assert targets("group-fair", 7, 7, 8, gids=(500, 501, -1), limits=site) == pytest.approx([6.0, 2.0, 2.0])
    # The weight of an application is that of its user times that of its group.
    both = Limits(group_weights={500: 3.0}, weights={7: 2.0, 9: 2.0})
    assert targets("group-fair", 7, 8, 9, gids=(500, 500, -1), limits=both) == pytest.approx([5.0, 2.5, 2.5])
    assert targets("job-fair", 7, 8, 9, gids=(500, 500, -1), limits=both) == pytest.approx([60 / 11, 30 / 11, 20 / 11])
    assert targets("fair-share", 7, 8, gids=(500, -1), limits=site) == [5.0, 5.0]


def test_a_claimed_group_gives_nothing_where_the_site_gives_groups_weights():
    """Two users: one claims a group with a weight that it does not belong to, another nine that do not exist."""
    site = Limits(group_weights={500: 3.0}, group_names={"climate": 500})
    invented = tuple(f"group {number}" for number in range(9))
    for claimed in (invented, ("climate",) * 9, ("",) * 9):
        found = targets("group-fair", *[7] * 9, 8, groups=(*claimed, "climate"), limits=site)
        assert (sum(found[:9]), found[9]) == pytest.approx((5.0, 5.0))
    # Nor does it take part in what the group has.
    found = targets("group-fair", 7, 8, groups=("climate", "climate"), gids=(-1, 500), limits=site)
    assert found == pytest.approx([2.5, 7.5])
    # Without weights of groups, groups are what clients say.
    found = targets("group-fair", *[7] * 9, 8, groups=(*invented, "climate"), limits=Limits())
    assert found == pytest.approx([1.0] * 10)


def test_over_tcp_nobody_has_the_number_of_a_group():
    """A claimed user's name is no group's number; users over TCP are what they say, as under user-fair."""
    site = Limits(group_weights={500: 3.0}, group_names={"climate": 500})
    core = Core("group-fair", B, limits=site)
    for number, (uid, gid) in enumerate(((7, 500), (-1, -1))):
        event = RegisterEvent(f"{number}", uid=uid, gid=gid, user="climate", group="climate")
        core.enter(float(number), InformEvent(core.enter(float(number), event), 1, 100.0))
    core.handle(2.0)
    assert [float(core.pending.column("target")[place]) for place in range(2)] == pytest.approx([7.5, 2.5])


@pytest.mark.parametrize(
    ("claim", "gids", "found"),
    [
        ("climate", (100, 500), 500),
        ("500", (500,), 500),
        ("climate", (100, 501), -1),
        ("climate", (), -1),
        ("physics", (100, 500), -1),  # it has no weight
        ("", (500, 501), 500),  # the group of its process
        ("", (100, 500), -1),
        ("", (), -1),
    ],
)
def test_a_group_is_proven_by_the_groups_of_the_process(claim, gids, found):
    site = Limits(group_weights={500: 3.0, 501: 1.0}, group_names={"climate": 500, "500": 500, "ocean": 501, "501": 501})
    assert site.proven_group(claim, gids) == found


def test_a_group_is_proven_again_when_a_client_comes_back():
    core = Core("group-fair", B, limits=Limits(group_weights={500: 3.0}))
    member = core.enter(0.0, RegisterEvent("member", uid=7))
    core.enter(0.0, JoinEvent(member, 0))
    assert member.gid == -1
    core.enter(0.0, JoinEvent(member, 0, 500))
    assert member.gid == 500
    core.enter(0.0, JoinEvent(member, 0))
    assert member.gid == 500


@pytest.mark.parametrize("policy", [name for name, policy in REGISTRY.items() if policy.planner is None])
def test_of_two_users_neither_gains_by_many_applications(policy):
    """Both post at once: however many operations a user has, the other one's first is as well off as against one."""
    alone = targets(policy, 8, 7)[0]
    assert targets(policy, 8, *[7] * 6)[0] == pytest.approx(alone)


def test_what_the_other_users_leave_goes_to_further_operations_of_a_user():
    assert targets("fcfs", 7, 7, 8, caps=[3.0, 3.0, 2.0]) == [3.0, 3.0, 2.0]
    assert targets("fair-share", 7, 7, caps=[3.0, 3.0]) == [3.0, 3.0]


@pytest.mark.parametrize("policy", [name for name, one in REGISTRY.items() if one.family == EXCLUSIVE and not one.planner])
def test_an_exclusive_policy_serves_one_at_a_time_whoever_counts(policy):
    assert sorted(targets(policy, 7, 7, 8, caps=[3.0, 3.0, 2.0]), reverse=True)[1:] == [0.0, 0.0]


def test_a_user_whose_operation_waits_behind_his_own_is_told_so():
    site = Site("fcfs", Limits(share_by="user"))
    for job in ("one", "two"):
        site.register(job, uid=7)
        site.post(job, 1e6)
    site.settle()
    told = explain(site.core, site.members["two"])["reason"]
    assert told == "'two' waits for other operations of its user, whose applications count as one"


@pytest.mark.parametrize("policy", [name for name, policy in REGISTRY.items() if policy.planner is None])
@pytest.mark.parametrize("seed", [30, 73, 103, 110, 122])
def test_no_claim_of_a_long_life_keeps_a_policy_from_deciding(policy, seed):
    """With these seeds rounding hid the best horizon from best-next-event, whose search did not end."""
    draw = random.Random(seed)
    longest = draw.choice([1e3, 1e6, 1e8, 1e10, 1e10])
    core = Core(policy, draw.choice([100.0, 1e9]), node_bandwidth=draw.choice([50.0, 1e8]))
    members = []
    for number in range(draw.randrange(2, 12)):
        elapsed = draw.choice([0.0, longest, longest, longest * draw.random()])
        progress = draw.choice([None, 0.0, elapsed * draw.random(), elapsed])
        claims = RegisterEvent(f"j{number}", nodes=draw.choice([1, 2, 64, 10**9]), elapsed=elapsed, progress=progress)
        members += core.handle(0.0, claims).registered
    for _ in range(60):
        now = core.now + draw.choice([0.0, 0.01, 1.0, 9.0])
        member = draw.choice(members)
        if member.number not in core.registry.clients:
            continue
        event = BeatEvent(member)
        if member.operation is None:
            volume, rounds = draw.choice([1e-6, 1.0, 1e3, 1e9, 1e21]), draw.choice([1, 100, 10**9])
            event = InformEvent(member, member.last_operation + 1, volume=volume, rounds=rounds)
        elif draw.random() < 0.5:
            event = ReleaseEvent(member, member.operation.number)
        grants = core.handle(now, event).grants
        while grants:
            for grant in grants:
                core.enter(core.now, YieldEvent(grant.client, grant.number))
            grants = core.handle(core.now).grants
        assert core.granted() <= core.bandwidth * (1.0 + 1e-9)
    assert core.decider.fault is None
