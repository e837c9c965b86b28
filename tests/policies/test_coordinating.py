"""Waiting, interfering or interrupting: closed forms for two applications, the slow twin for more."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.engine import simulate
from penstock.model import Application, InputError, Platform, Workload
from penstock.policies import REGISTRY, find
from penstock.policies.coordinating import METRICS
from tests.naive.coordinating import coordinating, decisions
from tests.naive.policies import Active, Scene
from tests.naive.profiles import examples
from tests.naive.strategies import rates_of, scenes

POLICY = REGISTRY["coordinating"]


def io_times(policy, *members, degradation=None):
    """I/O times of applications (posting date, volume, options) on a link of bandwidth 1."""
    applications = [
        Application.of(f"a{index}", [("io", volume)], release=date, **options)
        for index, (date, volume, options) in enumerate(members)
    ]
    workload = Workload(Platform(1.0, degradation=degradation), tuple(applications))
    result = simulate(workload, policy, check=True)
    return [a.end - b.release for a, b in zip(result.applications, applications, strict=True)]


@pytest.mark.parametrize("dt", [0.5, 1.0, 2.0, 2.999, 3.0, 3.001, 3.5])
def test_a_quarter_of_the_data_interrupts_before_three_quarters_are_written(dt):
    # 003 §IV.D: N_A = N_B, T_A = 4, T_B = 1. Waiting: f = N(2·T_A + T_B − dt); interrupting: f = N(T_A + 2·T_B), which is
    # better exactly when dt < T_A − T_B = 3; at 3 they are equal, and B waits.
    expected = [5.0, 1.0] if dt < 3.0 else [4.0, 5.0 - dt]
    assert io_times("coordinating", (0.0, 4.0, {}), (dt, 1.0, {})) == pytest.approx(expected)


@pytest.mark.parametrize("dt", [0.25, 1.0])
def test_a_large_one_waits_for_a_small_one(dt):
    # B, 1 s, posts first; A, 4 s, posts dt later: A waits.
    assert io_times("coordinating", (0.0, 1.0, {}), (dt, 4.0, {})) == pytest.approx([1.0, 5.0 - dt])


def test_nodes_decide_what_cpu_time_is_worth():
    # A posts at 0, 4 s on 1 node; B at 1, 6 s. To wait costs B 3 s, to be interrupted costs A 6 s. With 3 nodes for B it is
    # 9 against 6, and B goes first; with 2 it is equal, and B waits; the sum of I/O times is blind to nodes.
    for nodes, metric, expected in [
        (3, "cpu-seconds", [10.0, 6.0]),
        (2, "cpu-seconds", [4.0, 9.0]),
        (3, "io-time", [4.0, 9.0]),
    ]:
        members = ((0.0, 4.0, {}), (1.0, 6.0, {"nodes": nodes}))
        assert io_times(f"coordinating:metric={metric}", *members) == pytest.approx(expected)


def test_interference_factors_favour_the_short():
    # A posts at 0, 4 s; B at 2, 1 s on a tenth of the nodes. CPU time: B waits 2 s, which costs 2·1 against 1·10 for A.
    # Sum of factors: waiting 1 + 3, interrupting 5/4 + 1. Largest: 3 against 5/4.
    members = ((0.0, 4.0, {"nodes": 10}), (2.0, 1.0, {"nodes": 1}))
    assert io_times("coordinating", *members) == pytest.approx([4.0, 3.0])
    for metric in ("interference", "max-interference"):
        assert io_times(f"coordinating:metric={metric}", *members) == pytest.approx([5.0, 1.0])


def test_those_who_leave_room_interfere():
    # Caps of 0.6 on a link of 1, 3 bytes each, 5 s alone. Together 0.5 each from 1 on: A has 2.4 left, 4.8 s, ends at 5.8;
    # B has then 0.6 left, 1 s, ends at 6.8: I/O times 5.8 + 5.8 = 11.6. Waiting: 5 + 9; interrupting: 10 + 5.
    members = ((0.0, 3.0, {"bandwidth": 0.6}), (1.0, 3.0, {"bandwidth": 0.6}))
    assert io_times("coordinating", *members) == pytest.approx([5.8, 5.8])


def test_a_link_that_degrades_is_not_shared():
    # As before, but two together have 0.6 of the link: 0.3 each. A ends at 1 + 2.4 / 0.3 = 9, B 1 s later: 18 > 14.
    members = ((0.0, 3.0, {"bandwidth": 0.6}), (1.0, 3.0, {"bandwidth": 0.6}))
    assert io_times("coordinating", *members, degradation={2: 0.6}) == pytest.approx([5.0, 9.0])
    # At 0.9 they have 0.45 each: A ends at 1 + 2.4 / 0.45 = 6.333, B 1 s later: 12.67 < 14.
    assert io_times("coordinating", *members, degradation={2: 0.9}) == pytest.approx([19 / 3, 19 / 3])


def test_a_place_in_the_queue():
    # While A (4 s) has 3 s to go, B (5 s) posts and waits; then C (4 s), longer than what A has left, goes before B.
    assert io_times("coordinating", (0.0, 4.0, {}), (1.0, 5.0, {}), (1.5, 4.0, {})) == pytest.approx([4.0, 12.0, 6.5])


def test_interrupting_resumes_last_in_first_out():
    # a0 for 1 s, a1 for 1 s, a2 to its end at 4; then a1's last 1 s, then a0's 3 s.
    members = ((0.0, 4.0, {}), (1.0, 2.0, {}), (2.0, 2.0, {}))
    assert io_times("interrupting", *members) == pytest.approx([8.0, 4.0, 2.0])


def test_serializing_is_fifo_and_calciom_is_coordinating():
    assert find("serializing") is REGISTRY["fifo"]
    assert find("calciom:metric=io-time").value == 2.0


def test_interfering_is_in_proportion_to_nodes_up_to_caps():
    # 1 and 3 nodes, and 4 that can use only 0.2: of the 0.8 left a quarter and three quarters.
    scene = Scene(
        [Active(i, 1.0, cap, 0.0, 0.0, 0.0, nodes, 0.0) for i, (cap, nodes) in enumerate([(1, 1), (1, 3), (0.2, 4)])], 0, 1
    )
    assert rates_of(REGISTRY["interfering"], scene) == pytest.approx({0: 0.2, 1: 0.6, 2: 0.2})


@examples(300)
@given(scenes(most=5), st.data())
def test_groups_and_degradation_equal_the_slow_twin(scene, data):
    """Several that move at once, and a link that loses by it."""
    for a in scene.active:
        a.rate = data.draw(st.sampled_from([0.0, 0.1]))
    degradation = data.draw(st.sampled_from([None, [1.0, 0.9, 0.8, 0.7, 0.6], [1.0, 0.5, 0.5, 0.5, 0.5]]))
    scene = dataclasses.replace(scene, degradation=degradation, parameter=float(data.draw(st.integers(0, 3))))
    assume(not decisions(scene)[1])
    assert rates_of(POLICY, scene) == pytest.approx(coordinating(scene), rel=1e-9, abs=1e-12)


numbers = st.integers(1, 40).map(lambda i: i / 8)
pairs = st.tuples(numbers, numbers, st.integers(1, 8), st.integers(1, 8), numbers, st.sampled_from([0.25, 0.5, 0.75, 1.0]))


@pytest.mark.parametrize("metric", METRICS)
@examples(60)
@given(pairs)
def test_two_applications_have_the_best_of_three(metric, pair):
    first, second, nodes, others, dt, cap = pair
    members = ((0.0, first, {"nodes": nodes}), (dt, second, {"nodes": others, "bandwidth": cap}))
    alone = (first, second / cap)

    def value(policy):
        times = io_times(policy, *members)
        factors = [time / least for time, least in zip(times, alone, strict=True)]
        cpu = nodes * times[0] + others * times[1]
        return {"cpu-seconds": cpu, "interference": sum(factors), "io-time": sum(times), "max-interference": max(factors)}

    best = min(value(name)[metric] for name in ("serializing", "interfering", "interrupting"))
    assert value(f"coordinating:metric={metric}")[metric] == pytest.approx(best, rel=1e-9)


def metric_of(metric, members, times):
    """The metric of applications (posting date, volume, options) with these I/O times on a link of bandwidth 1."""
    nodes = [options.get("nodes", 1) for _, _, options in members]
    alone = [volume / options.get("bandwidth", 1.0) for _, volume, options in members]
    factors = [time / least for time, least in zip(times, alone, strict=True)]
    cpu = sum(count * time for count, time in zip(nodes, times, strict=True))
    values = {"cpu-seconds": cpu, "interference": sum(factors), "io-time": sum(times), "max-interference": max(factors)}
    return values[metric]


def test_it_does_not_wait_for_a_round_that_never_ends_in_time():
    # A writes 40 s in one round, so that it cannot be interrupted; B, 1 s, comes at 1. Waiting takes B 40 times its time.
    # Together each has half of the link: B ends after 2 s, and A, 1 s later than alone, at 41.
    members = ((0.0, 40.0, {"rounds": 1}), (1.0, 1.0, {}))
    assert io_times("coordinating:metric=max-interference", *members) == pytest.approx([41.0, 2.0])


@pytest.mark.parametrize(
    ("rounds", "dt", "expected"),
    [
        # A has 4 s in 4 rounds, B 1 s. Interrupting at the end of the round costs B the rest of the round and A 1 s.
        (4, 0.5, [5.0, 1.5]),
        # At 2.25 in the third round: A pauses at 3; interrupted: 5 + 1.75 = 6.75; B waits: 4 + 2.75 = 6.75, a tie, so it
        # waits; sharing: B ends at 4.25, A at 5: 5 + 2.
        (4, 2.25, [4.0, 2.75]),
        # In one round an interruption comes too late. Sharing from 0.5: B ends at 2.5, A at 5: 5 + 2 < 4 + 4.5.
        (1, 0.5, [5.0, 2.0]),
        # Two rounds: A pauses at 2 and B ends at 3: 5 + 2.5 > 5 + 2.
        (2, 0.5, [5.0, 2.0]),
    ],
)
def test_an_interruption_takes_effect_at_the_end_of_a_round(rounds, dt, expected):
    assert io_times("coordinating", (0.0, 4.0, {"rounds": rounds}), (dt, 1.0, {})) == pytest.approx(expected)


rounds_of_one = st.sampled_from([None, None, 1, 2, 3, 4, 7, 50])
members_of_any_kind = st.tuples(
    numbers,
    st.integers(1, 8),
    st.sampled_from([0.25, 0.5, 0.75, 1.0]),
    rounds_of_one,
    st.integers(0, 40).map(lambda i: i / 8),
).map(lambda m: (m[4], m[0], {"nodes": m[1], "bandwidth": m[2], **({"rounds": m[3]} if m[3] else {})}))
losses = st.sampled_from([None, None, {2: 0.5}, {2: 0.9, 3: 0.6}])


@pytest.mark.parametrize("metric", METRICS)
@examples(150)
@given(st.tuples(members_of_any_kind, members_of_any_kind), losses)
def test_two_are_never_worse_off_than_interfering(metric, members, degradation):
    """Whatever the rounds, caps, nodes, dates and losses: the metric that it makes small."""
    chosen, interfering = (
        metric_of(metric, members, io_times(policy, *members, degradation=degradation))
        for policy in (f"coordinating:metric={metric}", "interfering")
    )
    assert chosen <= interfering * (1.0 + 1e-9)


@pytest.mark.parametrize("metric", METRICS)
@examples(60)
@given(st.tuples(*[members_of_any_kind] * 3), losses)
def test_three_at_once_are_never_worse_off_than_interfering(metric, members, degradation):
    """With one posting date for all, so that nothing is decided before the last one is there."""
    members = [(0.0, *rest) for _, *rest in members]
    chosen, interfering = (
        metric_of(metric, members, io_times(policy, *members, degradation=degradation))
        for policy in (f"coordinating:metric={metric}", "interfering")
    )
    assert chosen <= interfering * (1.0 + 1e-9)


@pytest.mark.parametrize("metric", METRICS)
@examples(60)
@given(st.tuples(*[members_of_any_kind] * 3), losses)
def test_from_the_last_posting_on_three_are_never_worse_off_than_interfering(metric, members, degradation):
    """What was chosen before cannot be undone; from the last posting on, all could share the link, and are no better off."""
    policy, last = f"coordinating:metric={metric}", max(date for date, *_ in members)
    applications = [
        Application.of(str(index), [("io", volume)], release=date, **options)
        for index, (date, volume, options) in enumerate(members)
    ]
    platform = Platform(1.0, degradation=degradation)
    earlier = tuple(application for application in applications if application.release < last)
    moved = dict.fromkeys("012", 0.0)
    if earlier:
        before = simulate(Workload(platform, earlier, (0.0, last)), policy)
        moved |= {done.name: done.transferred for done in before.applications}
    left = [(last, volume - moved[str(index)], options) for index, (_, volume, options) in enumerate(members)]
    assume(all(rest > 1e-6 for _, rest, _ in left))
    shared = [
        last - date + seconds
        for (date, *_), seconds in zip(members, io_times("interfering", *left, degradation=degradation), strict=True)
    ]
    chosen = io_times(policy, *members, degradation=degradation)
    assert metric_of(metric, members, chosen) <= metric_of(metric, members, shared) * (1.0 + 1e-9)


def test_metrics_have_names():
    assert find("coordinating").value == 0.0
    assert [find(f"coordinating:metric={name}").value for name in METRICS] == [0.0, 1.0, 2.0, 3.0]
    expected = (
        r"^policy coordinating: metric: 'fair' is unknown; expected one of cpu-seconds, interference, io-time, max-interf"
    )
    with pytest.raises(InputError, match=expected):
        find("coordinating:metric=fair")
