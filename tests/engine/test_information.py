"""Runs on what is learned, on the means of a class, and on nothing: slow twins, laws, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import penstock
from penstock.engine import Run
from penstock.engine import information as information_module
from penstock.engine.information import AHEAD, CLASS, INFORMATION, NONE, PREDICTED, TRUE, class_of
from penstock.model import Application, InputError, Workload
from penstock.policies import REGISTRY, Need, Policy
from penstock.policies.policy import STATIC
from tests.naive.compare import assert_feasible, assert_placed_twins, assert_same_rates, assert_twins
from tests.naive.informed import Blind, Classified, Learned
from tests.naive.profiles import examples
from tests.naive.strategies import cyclic_workloads, odd_floats, placed_workloads, workloads

CHANGED = [n for n, p in REGISTRY.items() if set(p.needs) & AHEAD and p.family != STATIC and not p.periodic]
"""Policies for which it matters what they are told."""
PLAIN = [name for name in CHANGED if name != "best-next-event"]
OTHER = (PREDICTED, CLASS, NONE)


TWINS = {PREDICTED: Learned, CLASS: Classified, NONE: Blind}


def alike(workload: Workload) -> Workload:
    """With two classes: names that differ in a number."""
    members = [replace(one, name=f"{'ab'[place % 2]}-{place}") for place, one in enumerate(workload.applications)]
    return replace(workload, applications=tuple(members))


@pytest.mark.parametrize("information", OTHER)
@pytest.mark.parametrize("name", PLAIN)
@examples(24)
@given(workloads())
def test_equals_the_slow_twin(name, information, workload):
    workload = alike(workload)
    twin = TWINS[information](workload, name).run()
    result = Run(workload, name, information=information, trace=True, check=True).finish()
    assert_feasible(workload, result)
    assume(not twin.doubtful)
    assert_twins(result, twin)
    assert_same_rates(result, twin)


@pytest.mark.parametrize("information", OTHER)
@pytest.mark.parametrize("name", ["greedy-com", "set-10", "due-yield", "coordinating"])
@examples(24)
@given(workloads(coarse=True))
def test_with_rounds_and_degradation_too(name, information, workload):
    workload = alike(workload)
    twin = TWINS[information](workload, name).run()
    result = Run(workload, name, information=information, trace=True, check=True).finish()
    assume(not twin.doubtful)
    assert_twins(result, twin)


@pytest.mark.parametrize("information", OTHER)
@pytest.mark.parametrize("name", ["greedy-com", "set-10", "longest-io", "johnson"])
@examples(24)
@given(placed_workloads())
def test_on_resources_too(name, information, drawn):
    workload, placement = alike(drawn[0]), drawn[1]
    twin = TWINS[information](workload, name, placement=placement).run()
    result = Run(workload, name, information=information, placement=placement, check=True).finish()
    assume(not twin.doubtful)
    assert_placed_twins(result, twin)


@pytest.mark.parametrize("name", [name for name, policy in REGISTRY.items() if not set(policy.needs) & AHEAD])
@examples(10)
@given(workloads(), st.sampled_from(OTHER))
def test_a_policy_that_needs_nothing_of_it_runs_as_on_the_truth(name, workload, information):
    truth, other = (Run(workload, name, information=told).finish() for told in (TRUE, information))
    assert [one.end for one in truth.applications] == [one.end for one in other.applications]
    assert (list(truth.yields), truth.events) == (list(other.yields), other.events)


@pytest.mark.parametrize("name", ["set-10", "set-10-basic", "johnson"])
@examples(72)
@given(cyclic_workloads())
def test_equals_the_slow_twin_where_operations_make_phases(name, workload):
    twin = Learned(workload, name).run()
    result = Run(workload, name, information=PREDICTED, trace=True, check=True).finish()
    assume(not twin.doubtful)
    assert_twins(result, twin)
    assert_same_rates(result, twin)


# Exactly periodic applications.

PERIODS = st.lists(st.tuples(odd_floats(0.1, 9.0), st.integers(2, 6)), min_size=1, max_size=4)


def right_volume(view, rates):
    """An eighth of its cap to who is shown the volume 1, 8, 27, … that it has; a sixteenth to the others."""
    for i in range(len(rates)):
        right = view.volume[i] == (1.0 + view.application[i]) ** 3 and view.remaining[i] <= view.volume[i]
        rates[i] = view.cap[i] / 8.0 if right else view.cap[i] / 16.0


@examples(40)
@given(PERIODS)
def test_from_the_second_phase_on_a_periodic_application_is_shown_the_truth_to_the_last_bit(periods):
    """Each first operation takes 16 times as long as alone, each later one 8 times."""
    members = [
        Application.of(f"a{place}", [("work", work), ("io", (1.0 + place) ** 3)] * times)
        for place, (work, times) in enumerate(periods)
    ]
    result = penstock.simulate(Workload(penstock.Platform(128.0), tuple(members)), right_volume, information=PREDICTED)
    for place, (work, times) in enumerate(periods):
        seconds = (1.0 + place) ** 3 / 128.0 * (16.0 + 8.0 * (times - 1))
        assert result.applications[place].io_seconds == pytest.approx(seconds, rel=1e-12)
        assert result.applications[place].end == pytest.approx(work * times + seconds, rel=1e-12)


@pytest.mark.parametrize("name", ["set-10", "greedy-com", "johnson"])
@examples(40)
@given(PERIODS)
def test_means_of_equal_values_are_these_values(name, periods):
    members = [
        Application.of(f"a{place}", [("work", work), ("io", work / 3.0)] * times)
        for place, (work, times) in enumerate(periods)
    ]
    run = Run(Workload(penstock.Platform(3.0), tuple(members)), name, information=PREDICTED)
    run.finish()
    assert run._beliefs is not None
    known = run._beliefs.known[:-1]
    assert known["operations"].tolist() == [times for _, times in periods]
    assert known["volume"].tolist() == [work / 3.0 for work, _ in periods]
    assert known["work"].tolist() == [work for work, _ in periods]
    assert known["alone"].tolist() == [work / 3.0 / 3.0 for work, _ in periods]


PHASE_OF_THREE = [("work", 29.0), ("io", 1.0), ("work", 2.0), ("io", 1.0), ("work", 2.0), ("io", 1.0)]
"""Three operations, 3 s apart, every 36 s: the mean iteration is 12 s."""


def test_an_iteration_has_all_operations_of_a_phase():
    """The period is found after five loops: the first 15 operations take twice as long as the later ones."""

    def rates_of(view, rates):
        for i in range(len(rates)):
            rates[i] = view.cap[i] if view.mean_iteration[i] > 30.0 else view.cap[i] / 2.0

    workload = Workload(penstock.Platform(1.0), (Application.of("a", PHASE_OF_THREE * 12),))
    for information, slow in ((TRUE, 36), (PREDICTED, 15)):
        result = penstock.simulate(workload, rates_of, information=information)
        assert result.applications[0].io_seconds == pytest.approx(36.0 + slow)


def test_a_search_that_fails_ends_the_run(monkeypatch):
    """What goes wrong in Python is not lost on its way through compiled code."""

    def fail(rows):
        raise MemoryError(f"{len(rows)} rows")

    monkeypatch.setattr(information_module, "period_of_latest", fail)
    workload = Workload(penstock.Platform(1.0), (Application.of("a", PHASE_OF_THREE * 4),))
    with pytest.raises(MemoryError, match=r"^8 rows$"):
        Run(workload, "set-10", information=PREDICTED).finish()


def test_set_10_puts_it_into_the_set_of_its_phases():
    """Both have iterations of 36 s: set 2. By the mean of 12 s the one is in set 1, and the sets share the link 10 to 1."""
    members = (Application.of("three", PHASE_OF_THREE * 12), Application.of("one", [("work", 29.0), ("io", 7.0)] * 12))
    rates = {}
    for information in (TRUE, PREDICTED):
        run = Run(Workload(penstock.Platform(1.0), members), "set-10", information=information, trace=True)
        trace = run.finish().trace
        assert trace is not None
        rates[information] = sorted({round(rate, 6) for rate in trace.rate[trace.begin > 250.0].tolist()})
    assert rates == {TRUE: [0.090909, 0.909091, 1.0], PREDICTED: [0.0, 1.0]}


# Small cases.


def two(*volumes: float) -> Workload:
    """Two that post at once: a repeats what it did alone, b does what it never did."""
    a = Application.of("a", [("work", 1.0), ("io", 2.0), ("work", 7.0), ("io", volumes[0])])
    b = Application.of("b", [("work", 4.0), ("io", 1.0), ("work", 5.0), ("io", volumes[1])])
    return Workload(penstock.Platform(1.0), (a, b))


def ends(workload: Workload, policy: str, information: str) -> list[float | None]:
    return [one.end for one in penstock.simulate(workload, policy, information=information).applications]


def test_greedy_com_serves_who_was_short_before():
    """Both post at 10 s: a 1 byte, b 3. By the past b is the shorter (1 byte, a 2): 13 and 14 s instead of 11 and 14."""
    assert ends(two(1.0, 3.0), "greedy-com", TRUE) == [11.0, 14.0]
    assert ends(two(1.0, 3.0), "greedy-com", PREDICTED) == [14.0, 13.0]


def test_without_information_the_first_posted_is_served():
    """Nothing tells them apart, so a is served first as the one listed first."""
    assert ends(two(3.0, 1.0), "greedy-com", TRUE) == [14.0, 11.0]
    assert ends(two(3.0, 1.0), "greedy-com", NONE) == [13.0, 14.0]


def test_classes_are_users_and_names_without_numbers():
    names = ["EAP-12", "job-7_3", "job-7-run2", "low-0", "3", "a3", "lammps-123.batch", "solo"]
    classes = [class_of(Application.of(name, [("work", 1.0)]))[1] for name in names]
    assert classes == ["EAP", "job", "job", "low", "3", "a", "lammps-123.batch", "solo"]
    assert class_of(Application.of("a1", [("work", 1.0)], user="ann")) == ("ann", "a")


def test_a_class_of_one_has_the_truth():
    """One member, equal operations: its class says what is true of it."""
    workload = Workload(
        penstock.Platform(1.0),
        tuple(Application.of(name, [("work", w), ("io", v)] * 4) for name, w, v in (("x", 2.0, 3.0), ("y", 1.0, 4.0))),
    )
    for name in ("greedy-com", "shortest-remaining", "johnson", "due-yield"):
        assert ends(workload, name, CLASS) == ends(workload, name, TRUE)


# What is refused.


@pytest.mark.parametrize("information", OTHER)
@pytest.mark.parametrize("name", [name for name, policy in REGISTRY.items() if policy.family == STATIC])
def test_static_orders_are_made_of_the_truth(name, information):
    with pytest.raises(InputError) as error:
        Run(two(1.0, 1.0), name, information=information)
    assert str(error.value) == (
        f"policy {name}: it fixes the order of all operations at the start, from the workload; on {information} information "
        "it has none; expected information true"
    )


def test_an_unknown_word_is_refused():
    with pytest.raises(InputError, match=r"^information: 'predict' is unknown; .*predicted"):
        Run(two(1.0, 1.0), "set-10", information="predict")


def test_beside_a_buffer_it_has_no_meaning():
    buffered = replace(two(1.0, 1.0), platform=penstock.Platform(1.0, buffer={"size": 2.0}))
    with pytest.raises(InputError, match="information: predicted beside a buffer has no meaning"):
        Run(buffered, "greedy-com", information=PREDICTED)
    assert Run(buffered, "fair-share", information=PREDICTED).finish().makespan is not None


def test_a_planner_of_ones_own_cannot_learn():
    johnson = REGISTRY["johnson"]
    mine = Policy("mine", johnson.rates, "as johnson", needs=(Need.NOMINAL,), planner=johnson.planner, built_in=False)
    with pytest.raises(InputError, match="policy mine: its planner orders applications before anything is learned"):
        Run(two(1.0, 1.0), mine, information=PREDICTED)
    assert Run(two(1.0, 1.0), mine, information=CLASS).finish().makespan is not None


def test_the_words_are_those_of_the_table():
    assert INFORMATION == ("true", "predicted", "class", "none")
