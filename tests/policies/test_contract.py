"""What every policy of the registry promises, on random views."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from penstock.numeric.compiled import JIT
from penstock.policies import REGISTRY, balance, find
from penstock.policies.policy import FILL, FIRST, HOLD, NEEDED_COLUMNS, STATIC, Need
from penstock.policies.view import View
from tests.naive.policies import TWINS, Active, Scene, by_posting, doubtful, greedy, set_number
from tests.naive.profiles import examples
from tests.naive.strategies import key_for, rates_for, rates_of, scenes, view_of

POLICIES = list(REGISTRY.values())
SLOW_TWINS = ("best-next-event", "coordinating")
"""Too slow for a crowd."""
every_policy = pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)


def test_every_policy_has_a_slow_twin():
    assert list(TWINS) == list(REGISTRY)


@every_policy
def test_it_describes_itself(policy):
    assert REGISTRY[policy.name] is policy
    assert policy.built_in
    assert policy.summary
    assert policy.reference.startswith(("000 §4", "beyond 000", "001 §II", "003 §III"))
    assert set(policy.needs) <= set(Need)


@every_policy
@examples(120)
@given(scenes())
def test_rates_are_feasible(policy, scene):
    rates = rates_of(policy, scene)
    for a in scene.active:
        assert 0.0 <= rates[a.index] <= a.cap
    assert sum(rates.values()) <= scene.bandwidth * (1.0 + 1e-12)
    assert policy.family == STATIC or any(rate > 0.0 for rate in rates.values())


@every_policy
@examples(100)
@given(scenes())
def test_no_bandwidth_is_idle_while_someone_could_use_it(policy, scene):
    if policy.idles:
        return
    rates = rates_of(policy, scene)
    full = sum(rates.values()) >= scene.bandwidth * (1.0 - 1e-9)
    assert full or all(rates[a.index] >= a.cap * (1.0 - 1e-9) for a in scene.active)


@every_policy
@examples(60)
@given(scenes(), st.randoms(use_true_random=False))
def test_the_order_of_the_entries_means_nothing(policy, scene, random):
    assume(not doubtful(policy.name, scene))
    rates = rates_of(policy, scene)
    assert rates_of(policy, scene) == rates, "asked twice"
    shuffled = dataclasses.replace(scene, active=random.sample(scene.active, len(scene.active)))
    assert rates_of(policy, shuffled) == pytest.approx(rates, rel=1e-9, abs=1e-12)


@every_policy
@examples(60)
@given(scenes(), st.data())
def test_it_knows_only_what_it_declares(policy, scene, data):
    """Columns that it does not declare to need can hold anything; posting and index may always break ties."""
    declared = {column for need in policy.needs for column in NEEDED_COLUMNS[need]}
    view = view_of(scene)
    always = {"application", "cap", "bandwidth", "posted", "scratch", "spare", "order"}
    always |= {"parameter"} if policy.parameter else set()
    hidden = [name for name in View._fields if name not in declared | always]
    number = st.floats(0.001, 1000.0)
    changed = {}
    for name in hidden:
        value = getattr(view, name)
        if isinstance(value, int):
            changed[name] = data.draw(st.integers(0, 9), label=name)
        elif isinstance(value, float):
            changed[name] = data.draw(number, label=name)
        else:
            column = np.array(data.draw(st.lists(number, min_size=len(value), max_size=len(value)), label=name))
            column.flags.writeable = False
            changed[name] = column
    assert rates_for(policy, view._replace(**changed)).tolist() == rates_for(policy, view).tolist()


def test_every_column_is_hidden_from_someone_or_free():
    """The test above covers all columns: only those that say so see them."""
    covered = {column for columns in NEEDED_COLUMNS.values() for column in columns}
    assert covered == set(View._fields) - {"application", "cap", "bandwidth", "scratch", "spare", "order", "parameter"}


@pytest.mark.parametrize(
    "policy", [p for p in POLICIES if not {Need.POSTING, Need.WAITING} & {*p.needs}], ids=lambda p: p.name
)
@examples(60)
@given(scenes(nice=False, most=4), st.data())
def test_posting_only_breaks_ties_for_who_does_not_declare_it(policy, scene, data):
    """Without ties, the posting times mean nothing to it."""
    keys = [a.progress / max(1e-9, scene.now - a.release) for a in scene.active]
    rests = [a.remaining / a.cap for a in scene.active]
    assume(len({round(k, 6) for k in keys}) == len(keys) and len({round(r, 6) for r in rests}) == len(rests))
    assume(len({a.rank for a in scene.active}) == len(scene.active))
    postings = [data.draw(st.floats(0.0, 5.0)) for _ in scene.active]
    other = [dataclasses.replace(a, posted=scene.now - p) for a, p in zip(scene.active, postings, strict=True)]
    assert rates_of(policy, dataclasses.replace(scene, active=other)) == pytest.approx(
        rates_of(policy, scene), rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("policy", [p for p in POLICIES if p.name != "best-next-event"], ids=lambda p: p.name)
@examples(200)
@given(scenes())
def test_it_equals_its_slow_twin(policy, scene):
    assume(not doubtful(policy.name, scene))
    assert rates_of(policy, scene) == pytest.approx(TWINS[policy.name](scene), rel=1e-9, abs=1e-12)


@every_policy
@pytest.mark.parametrize("count", [60, 500])
def test_many_applications(policy, count):
    """A crowd, all of it equal, or in order, or in reverse: the sorting of rare sizes and shapes."""
    if policy.name == "coordinating" and not JIT:
        count = min(count, 60)  # its time is cubic where all can share
    for sign in (0, 1, -1):
        active = [
            Active(i, 1.0 + 0.001 * sign * i / count, 0.05, 1e-3 * sign * i, 5.0 + 0.01 * sign * i / count, -10.0, 1, 10.0)
            for i in range(count)
        ]
        scene = Scene(active, 10.0, 1.0, 100.0)
        rates = rates_of(policy, scene)
        assert sum(rates.values()) <= 1.0 + 1e-9
        assert all(0.0 <= rate <= 0.05 for rate in rates.values())
        if policy.name not in SLOW_TWINS:
            assert rates == pytest.approx(TWINS[policy.name](scene), rel=1e-9, abs=1e-12)


# ------------------------------------------------------------------ orders

SERVES = {
    **dict.fromkeys(("fcfs", "greedy-com", "greedy-yield", "periodic-greedy-yield", "due-yield"), FILL),
    "interrupting": FIRST,
    **dict.fromkeys(("fifo", "lowest-id", "longest-io", "shortest-io"), HOLD),
    **dict.fromkeys(("shortest-remaining", "longest-remaining", "johnson"), HOLD),
}
ordered_policies = pytest.mark.parametrize("policy", [p for p in POLICIES if p.order], ids=lambda policy: policy.name)


def test_who_has_an_order():
    assert {policy.name: policy.order.serves for policy in POLICIES if policy.order} == SERVES
    by_yield = [policy.name for policy in POLICIES if policy.order and policy.order.grain]
    assert by_yield == ["greedy-yield", "periodic-greedy-yield", "due-yield"]


def served_in_order(policy, scene: Scene) -> dict[int, float]:
    """What the policy's order gives each application."""
    view = view_of(scene)
    keys = {a.index: key_for(policy, view, i) for i, a in enumerate(scene.active)}
    if policy.order.grain:
        elapsed = {a.index: max(1e-9, scene.now - a.release) for a in scene.active}
        keys = {index: round(key / elapsed[index] * policy.order.grain) for index, key in keys.items()}
    ordered = sorted(scene.active, key=lambda a: (keys[a.index], *by_posting(a)))
    if policy.order.serves == FILL:
        return greedy(ordered, scene.bandwidth)
    holders = [a for a in scene.active if a.rate > 0.0] if policy.order.serves == HOLD else []
    served = (holders or ordered)[0]
    return {a.index: a.cap if a is served else 0.0 for a in scene.active}


@ordered_policies
@examples(200)
@given(scenes())
def test_its_order_is_what_it_goes_by(policy, scene):
    if policy.order.grain:
        earliest = min(a.release for a in scene.active)
        scene = dataclasses.replace(scene, active=[dataclasses.replace(a, release=earliest) for a in scene.active])
    assume(not doubtful(policy.name, scene))
    assert rates_of(policy, scene) == pytest.approx(served_in_order(policy, scene), rel=1e-12, abs=1e-12)


@ordered_policies
@examples(60)
@given(scenes(), st.floats(0.0, 1e6), st.data())
def test_waiting_does_not_change_a_key(policy, scene, wait, data):
    """Neither the passage of time does, nor what happens to others, nor who holds the link."""
    place = data.draw(st.integers(0, len(scene.active) - 1))
    others = [a if i == place else dataclasses.replace(a, remaining=0.5 * a.remaining) for i, a in enumerate(scene.active)]
    later = dataclasses.replace(scene, active=others, now=scene.now + wait, completed=scene.completed + 1)
    for a in others:
        a.rate = 0.0
    assert key_for(policy, view_of(later), place) == key_for(policy, view_of(scene), place)


def test_a_policy_of_the_user_runs_as_written(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("from penstock.policies.fcfs import FCFS\nfrom penstock.policies.fair_share import FAIR_SHARE\n")
    assert find(f"{path}:FCFS").order is None
    assert not find(f"{path}:FAIR_SHARE").proportional


# ------------------------------------------------------------------ by hand


def active(index, remaining=1.0, cap=1.0, posted=0.0, progress=0.0, release=0.0, omega=0.0):
    return Active(index, remaining, cap, posted, progress, release, 1, omega)


def test_sets_by_the_length_of_an_iteration():
    # n = ⌊log10 ω + 0.5⌋: 3.16 s is in set 0 and 3.17 s in set 1, as √10 = 3.1623; 0.31 s in set −1 and 0.32 s in set 0.
    assert [set_number(active(0, omega=w)) for w in (0.0, 1.0, 3.16, 3.17, 10.0, 31.0, 0.31, 0.32)] == [
        0,
        0,
        0,
        1,
        1,
        1,
        -1,
        0,
    ]
    for omega, share in ((3.16, 0.0), (3.17, 10 / 11), (31.7, 100 / 101), (0.31, 1 / 11)):
        # Against a newcomer (set 0) that posted later: in one set it waits, else it has its share by priority.
        rates = rates_of(REGISTRY["set-10"], Scene([active(0, omega=omega), active(1, posted=1.0)], 2.0, 1.0))
        assert rates[1] == pytest.approx(share)


def test_set_10_repeats_until_no_set_is_limited():
    # Sets 0, 1, 2 with priorities 1, 1/10, 1/100 and caps 0.5, 0.2, 1. Shares of B = 1: 0.9009, 0.0901, 0.0090: set 0
    # is limited and gets 0.5. Of the 0.5 left set 1 gets 10/11 = 0.4545: limited by 0.2. Of the 0.3 left set 2 gets
    # all.
    scene = Scene([active(0, cap=0.5, omega=1.0), active(1, cap=0.2, omega=10.0), active(2, omega=100.0)], 1.0, 1.0)
    assert rates_of(REGISTRY["set-10"], scene) == pytest.approx({0: 0.5, 1: 0.2, 2: 0.3})
    assert rates_of(REGISTRY["set-10-basic"], scene) == pytest.approx({0: 0.5, 1: 10 / 111, 2: 1 / 111})


def test_yields_closer_than_their_grain_are_tied():
    # Yields 0.5 + 1e-14 and 0.5 round to the same: the earlier posting wins; 0.5 + 1e-11 does not.
    for extra, first in ((1e-13, 0), (1e-10, 1)):
        scene = Scene([active(0, posted=1.0, progress=5.0 + extra), active(1, posted=2.0, progress=5.0)], 10.0, 1.0)
        assert rates_of(REGISTRY["greedy-yield"], scene)[first] == 1.0


def test_remaining_times_closer_than_a_nanosecond_are_tied():
    for extra, first in ((1e-11, 0), (1e-8, 1)):
        scene = Scene([active(0, posted=1.0, remaining=2.0 + extra), active(1, posted=2.0, remaining=2.0)], 10.0, 1.0)
        assert rates_of(REGISTRY["greedy-com"], scene)[first] == 1.0


def test_greedy_com_measures_by_the_cap_of_each():
    # 1 byte at cap 1/4 takes 4 s, 2 bytes at cap 1 take 2 s: the second goes first and leaves nothing.
    scene = Scene([active(0, remaining=1.0, cap=0.25), active(1, remaining=2.0)], 1.0, 1.0)
    assert rates_of(REGISTRY["greedy-com"], scene) == {0: 0.0, 1: 1.0}


@given(st.floats(1e-300, 1e300))
def test_rough_logarithms_are_as_good_as_they_say(number):
    assert abs(balance.log2(np.float64(number)) - math.log2(number)) <= balance.LOG2_ERROR


def test_sets_on_the_border_of_two():
    """Around √10·10^n the rough logarithm leaves open which set it is."""
    for power in range(-6, 7):
        border = 10.0 ** (power + 0.5)
        for omega in (border * part for part in (0.9, 0.99, 1.0 - 1e-9, 1.0 + 1e-9, 1.01, 1.1)):
            scene = Scene([active(0, omega=omega), active(1, omega=border * 0.5), active(2, omega=border * 2.0)], 1.0, 1.0)
            assert rates_of(REGISTRY["set-10"], scene) == pytest.approx(TWINS["set-10"](scene))


def test_many_sets_of_many():
    """Thousands of applications in a few sets, some of them limited by their caps."""
    random = np.random.default_rng(1)
    crowd = [
        active(i, cap=float(cap), posted=float(posted), omega=float(omega))
        for i, (cap, posted, omega) in enumerate(
            zip(
                random.uniform(1e-4, 2e-3, 3000),
                random.uniform(0, 9, 3000),
                10.0 ** random.uniform(-2, 5, 3000),
                strict=True,
            )
        )
    ]
    scene = Scene(crowd, 10.0, 1.0)
    for name in ("set-10", "set-10-basic", "best-effort", "fcfs"):
        assert rates_of(REGISTRY[name], scene) == pytest.approx(TWINS[name](scene), rel=1e-9, abs=1e-12)


@examples(300)
@given(scenes(most=7), st.sampled_from(["full", "equal"]))
def test_look_ahead_without_an_order(scene, kind):
    """Where everyone can use the whole link, no order is made unless two candidates are nearly equal."""
    cap = [dataclasses.replace(a, cap=scene.bandwidth) for a in scene.active]
    if kind == "equal":
        cap = [dataclasses.replace(a, remaining=cap[0].remaining) for a in cap]
    scene = dataclasses.replace(scene, active=cap)
    assume(not doubtful("look-ahead-greedy-yield", scene))
    policy = REGISTRY["look-ahead-greedy-yield"]
    assert rates_of(policy, scene) == pytest.approx(TWINS[policy.name](scene), rel=1e-9, abs=1e-12)
