"""Small cases with exact numbers; each is worked out in words beside the assertion."""

from __future__ import annotations

import math

import pytest

from penstock.engine import simulate
from penstock.model import Application, Platform, Workload
from penstock.policies import REGISTRY


def workload(*chains, bandwidth=1.0, window=None, **common):
    """Applications a0, a1, … on a link of bandwidth 1, from (phases, options) or phases alone."""
    members = []
    for index, chain in enumerate(chains):
        phases, options = chain if isinstance(chain, tuple) else (chain, {})
        members.append(Application.of(f"a{index}", phases, **{**common, **options}))
    return Workload(Platform(bandwidth), tuple(members), window)


def ends(result):
    return [a.end for a in result.applications]


# ------------------------------------------------------------------ one application


@pytest.mark.parametrize("policy", list(REGISTRY))
def test_alone_it_never_waits(policy):
    # 1 s of lead, 2 s of work, 3 bytes at 0.5 bytes/s = 6 s, 1 s of work: ends at 10 with yield 1.
    w = workload(([("work", 2), ("io", 3), ("work", 1)], {"lead": 1.0, "bandwidth": 0.5}), window=(0.0, 20.0))
    result = simulate(w, policy, check=True)
    a = result.applications[0]
    assert (a.end, a.yield_, a.stretch, a.progress, a.worked, a.transferred) == (10.0, 1.0, 1.0, 10.0, 4.0, 3.0)
    assert (a.waiting, a.transferring, a.operations) == (0.0, 6.0, 1)
    assert result.ended_early == ("a0",)
    # Eq. 9 and 10 over the whole window of 20 s, although the application ended at 10: 4 / 20 and 10 / 20.
    assert (result.utilization, result.efficiency) == (0.2, 0.5)
    # Dedicated: 3 bytes of the 20 that the link could carry.
    assert result.pressure == pytest.approx(3.0 / 20.0)
    assert result.makespan == 10.0


@pytest.mark.parametrize("policy", [name for name, policy in REGISTRY.items() if not policy.periodic])
def test_nothing_to_transfer(policy):
    # Operations of volume 0 never ask for the link: no event, no decision; work follows work.
    result = simulate(workload([("io", 0), ("work", 1), ("read", 0), ("work", 2), ("write", 0)]), policy, check=True)
    assert (result.events, result.decisions, result.makespan, result.pressure) == (0, 0, 3.0, 0.0)
    assert result.applications[0].operations == 0


@pytest.mark.parametrize("policy", [name for name, policy in REGISTRY.items() if not policy.periodic])
def test_an_application_of_no_length(policy):
    # It ends the moment it is released; at the release the yield is 1.
    result = simulate(workload([("work", 0), ("io", 0)]), policy, check=True)
    a = result.applications[0]
    assert (a.end, a.yield_, a.stretch, result.min_yield, result.makespan) == (0.0, 1.0, 1.0, 1.0, 0.0)


# ------------------------------------------------------------------ sharing


def test_two_equal_applications_under_fair_share():
    # Both move 1 byte at rate 1/2: done at 2 with progress 1, yield 1/2; then 1 s of work: progress 2 at 3.
    result = simulate(workload([("io", 1), ("work", 1)], [("io", 1), ("work", 1)]), "fair-share", check=True)
    assert ends(result) == [3.0, 3.0]
    assert list(result.yields) == pytest.approx([2 / 3, 2 / 3])
    assert result.efficiency == pytest.approx(2 / 3)
    assert result.utilization == pytest.approx(1 / 3)
    # Two postings, two completions; the policy is asked once: at the completions nobody is left.
    assert (result.events, result.decisions) == (4, 1)


def test_fair_share_is_in_proportion_to_caps():
    # Caps 1 and 1/2 ask for 3/2 of B: everyone gets 2/3 of its cap, 2/3 and 1/3. Volumes 2 and 1 end together at 3.
    w = workload(([("io", 2)], {"bandwidth": 1.0}), ([("io", 1)], {"bandwidth": 0.5}))
    assert ends(simulate(w, "fair-share", check=True)) == pytest.approx([3.0, 3.0])


def test_fair_share_below_the_bandwidth_gives_everyone_its_cap():
    # Caps 1/4 and 1/2 of B = 1: volumes 1 and 1 take 4 s and 2 s, as if alone.
    w = workload(([("io", 1)], {"bandwidth": 0.25}), ([("io", 1)], {"bandwidth": 0.5}))
    result = simulate(w, "fair-share", check=True)
    assert ends(result) == [4.0, 2.0]
    assert list(result.yields) == [1.0, 1.0]


def test_fcfs_with_caps_below_the_bandwidth():
    # Posted at 0, 1/4 and 1/2 with caps 1/2, 3/4, 1/2. The first gets 1/2 and the second what is left, 1/2; the third waits.
    # First: 1 byte at 1/2, ends at 2. Second: from 1/4 to 2 at 1/2 moves 7/8; then its cap 3/4 is free: 9/8 more take 3/2,
    # ends at 7/2. Third: from 2 on what is left beside 3/4, 1/4, until 7/2: 3/8; then 1/2: 5/8 more take 5/4, ends at 19/4.
    w = workload(
        ([("io", 1)], {"bandwidth": 0.5}),
        ([("io", 2)], {"bandwidth": 0.75, "lead": 0.25}),
        ([("io", 1)], {"bandwidth": 0.5, "lead": 0.5}),
    )
    result = simulate(w, "fcfs", check=True)
    assert ends(result) == [2.0, 3.5, 4.75]
    third = result.applications[2]
    assert (third.waiting, third.transferring) == (1.5, 2.75)


@pytest.mark.parametrize("policy", ["fcfs", "greedy-yield", "look-ahead-greedy-yield", "greedy-com"])
def test_ties_go_to_the_lower_index(policy):
    # Two equal applications that can each use the whole link: the first is served, then the second.
    assert ends(simulate(workload([("io", 1)], [("io", 1)]), policy, check=True)) == [1.0, 2.0]


def test_a_completion_and_a_posting_at_one_date_are_one_decision():
    # a0 completes at 1 just when a1 posts: the policy never sees both, and is asked at 0 and at 1 only.
    result = simulate(workload([("io", 1), ("work", 5)], ([("io", 1)], {"lead": 1.0})), "fair-share", check=True)
    assert ends(result) == [6.0, 2.0]
    assert (result.events, result.decisions) == (4, 2)


def test_greedy_com_serves_the_shortest_rest_first():
    # Rests of 3, 1, 2 s: served in the order a1, a2, a0; a1 ends at 1, a2 at 3, a0 at 6.
    assert ends(simulate(workload([("io", 3)], [("io", 1)], [("io", 2)]), "greedy-com")) == [6.0, 1.0, 3.0]


def test_greedy_com_lets_a_shorter_one_pass():
    # a0 (3 s) runs alone until a1 (1 s) is posted at 1, when a0 has 2 s left: a1 ends at 2, a0 at 4.
    assert ends(simulate(workload([("io", 3)], ([("io", 1)], {"lead": 1.0})), "greedy-com")) == [4.0, 2.0]


# ------------------------------------------------------------------ yields


def test_greedy_yield_serves_the_lowest_yield_first():
    # Released at −4 with 1 s and 3 s of progress: yields 1/4 and 3/4 at 0. a0 moves its 2 bytes first and ends at 2 with
    # (1 + 2) / 6 = 1/2; a1 waits from 0 to 2 and ends at 3 with (3 + 1) / 7.
    w = workload(([("io", 2)], {"progress": 1.0}), ([("io", 1)], {"progress": 3.0}), window=(0.0, 10.0), release=-4.0)
    result = simulate(w, "greedy-yield", check=True)
    assert ends(result) == [2.0, 3.0]
    assert list(result.yields) == pytest.approx([3 / 6, 4 / 7])


def test_the_yield_at_the_release_is_one():
    # a1 is released and posts at 1, with yield 1 by definition; a0 has waited for nothing and has yield 1 too. The
    # tie goes to the earlier posting: a0 goes on until 2. Were the yield of a1 0, it would be served first.
    w = workload([("io", 2)], ([("io", 1)], {"release": 1.0}))
    assert ends(simulate(w, "greedy-yield", check=True)) == [2.0, 3.0]


def test_a_history_enters_the_yield_and_not_the_efficiency():
    # Released 10 s before the window of 10 s; 5 s done then, 10 s done within: yield 15 / 20, efficiency 10 / 10.
    w = workload(([("work", 20)], {"release": -10.0, "progress": 5.0}), window=(0.0, 10.0))
    result = simulate(w, "fair-share", check=True)
    assert (result.min_yield, result.efficiency, result.utilization) == (0.75, 1.0, 1.0)
    assert (result.applications[0].progress, result.applications[0].end) == (15.0, None)


def test_without_a_word_the_history_is_perfect():
    # 10 s before the window, by default all of them progress; inside, it waits 0 s: yield 1.
    w = workload(([("work", 20)], {"release": -10.0}), window=(0.0, 10.0))
    assert simulate(w, "fcfs").min_yield == 1.0


def test_a_release_inside_the_window():
    # Released at 4 of [0, 10]: 6 s of work; yield 1, but eq. 9 divides by the whole window: 6 / 10.
    w = workload(([("work", 20)], {"release": 4.0}), window=(0.0, 10.0))
    result = simulate(w, "fcfs")
    assert (result.min_yield, result.efficiency, result.utilization) == (1.0, 0.6, 0.6)


def test_weights_are_nodes():
    # 3 nodes work 4 of 4 s; 1 node waits from 0 to 4 behind nobody: it moves 4 bytes. Utilization 12 / 16, efficiency
    # 16 / 16.
    w = workload(([("work", 9)], {"nodes": 3}), ([("io", 9)], {"nodes": 1}), window=(0.0, 4.0))
    result = simulate(w, "fcfs")
    assert (result.utilization, result.efficiency) == (0.75, 1.0)


def test_look_ahead_where_it_differs_from_greedy_yield():
    # At 0: a0 released at −10 with 5 done (yield 1/2) and 10 bytes to move; a1 released at −10 with 5.5 done (yield
    # 0.55) and 1 byte. With a0 in front the first completion is at 10: a0 has 15/20 and a1 5.5/20 = 0.275. With a1 in
    # front it is at 1: a1 has 6.5/11 and a0 5/11 = 0.4545. So look-ahead serves a1 first, greedy-yield a0.
    w = workload(([("io", 10)], {"progress": 5.0}), ([("io", 1)], {"progress": 5.5}), window=(0.0, 30.0), release=-10.0)
    assert ends(simulate(w, "greedy-yield")) == [10.0, 11.0]
    assert ends(simulate(w, "look-ahead-greedy-yield", check=True)) == [11.0, 1.0]


def test_a_periodic_tick_changes_the_choice():
    # Both released at −4 and post at 0 with 8 bytes each: yields 0 and 1/4. a0 is served. At t it has t / (4 + t) and
    # a1 1 / (4 + t): at the tick t = 2 a0 is ahead, 2/6 against 1/6, and a1 takes over; at 4: a0 2/8, a1 3/8: a0
    # again, until the window ends at 6: a0 4/10, a1 3/10. Without ticks a0 has it all: 6/10 and 1/10.
    w = workload(([("io", 8)], {"progress": 0.0}), ([("io", 8)], {"progress": 1.0}), window=(0.0, 6.0), release=-4.0)
    assert list(simulate(w, "greedy-yield").yields) == pytest.approx([0.6, 0.1])
    periodic = simulate(w, "periodic-greedy-yield:delta=2", check=True)
    assert list(periodic.yields) == pytest.approx([0.4, 0.3])
    # Two postings, and the ticks at 2, 4 and (deciding nothing any more) 6.
    assert periodic.events - 2 in (2, 3)
    assert periodic.decisions == 3


# ------------------------------------------------------------------ set-10


def _with_iterations(length, volume):
    """One iteration of this length (work, then 1 byte at cap 1), a second that ends with an operation of this volume."""
    return [("work", length - 1), ("io", 1), ("work", length - 1), ("io", volume)]


def test_two_sets_share_ten_to_one():
    # a0 has iterations of 10 s (set 1, priority 1/10); a1 of 1 s (set 0, priority 1): it works 0.5 s, moves 0.5
    # bytes, and is set to post its second operation at 19, as a0 does. At 19 shares are 1/11 and 10/11 of B = 1. a1
    # moves its 10 bytes at 10/11 in 11 s, until 30; meanwhile a0 has moved 1, has 1 left, and ends at 31.
    w = workload(_with_iterations(10, 2), [("work", 0.5), ("io", 0.5), ("work", 18), ("io", 10)])
    result = simulate(w, "set-10", check=True)
    assert ends(result) == pytest.approx([31.0, 30.0])
    assert ends(simulate(w, "set-10-basic", check=True)) == pytest.approx([31.0, 30.0])


def test_a_set_limited_by_its_caps_leaves_the_rest_to_the_others():
    # As above, but a1 has cap 1/2: its set could have 10/11 and can use 1/2 only; the extension gives a0 the other
    # 1/2, the basic strategy leaves it with 1/11. a1 moves 10 bytes at 1/2 from 19 to 39. Extension: a0 needs 2 bytes
    # at 1/2, ends at 23. Basic: 2 bytes at 1/11 take 22 s, until 41; but at 39 a1 is gone with 20/11 moved, and the
    # last 2/11 go at 1: 39 + 2/11.
    fast = ([("work", 0.5), ("io", 0.25), ("work", 18), ("io", 10)], {"bandwidth": 0.5})
    w = workload(_with_iterations(10, 2), fast)
    assert ends(simulate(w, "set-10", check=True)) == pytest.approx([23.0, 39.0])
    assert ends(simulate(w, "set-10-basic", check=True)) == pytest.approx([39 + 2 / 11, 39.0])


def test_within_a_set_the_extension_fills_in_order_of_posting():
    # Nobody has finished an iteration: all in set 0. Caps of 1/2: the first two are served, the third after one of
    # them ends.
    w = workload([("io", 1)], [("io", 1)], [("io", 1)], bandwidth=1.0)
    capped = Workload(Platform(1.0, 0.5), w.applications)
    assert ends(simulate(capped, "set-10", check=True)) == [2.0, 2.0, 4.0]
    assert ends(simulate(capped, "set-10-basic", check=True)) == [2.0, 4.0, 6.0]


def _first_decision_in_set(chain, **options):
    """The set, 0 or 1, in which the application's last operation, posted at 100, is served.

    A newcomer of set 0 posts 10 bytes at 100, too; beside set 1 it gets 10/11, in the same set it waits for its turn.
    """
    w = workload((chain, options), ([("io", 10)], {"release": 100.0}), window=(0.0, 101.0))
    moved = simulate(w, "set-10").applications[1].transferred
    return {0.0: 0, 10 / 11: 1}[round(moved * 11) / 11]


def test_the_first_iteration_decides_the_set():
    # Work of 9 s and 1 byte: an iteration of 10 s, set 1. Posts at 9 + 1 + 90 = 100 again.
    assert _first_decision_in_set([("work", 9), ("io", 1), ("work", 90), ("io", 10)]) == 1


def test_the_operation_before_any_work_is_no_iteration():
    # v⁽⁰⁾ of 10 bytes = 10 s would be set 1; it does not count, so there is no iteration at 100: set 0.
    assert _first_decision_in_set([("io", 10), ("work", 90), ("io", 10)]) == 0


def test_operations_before_any_work_are_no_iterations():
    # Two of them, 5 s each: neither has work before it. Counted, the second would be an iteration of 5 s, set 1.
    assert _first_decision_in_set([("io", 5), ("io", 5), ("work", 90), ("io", 10)]) == 0


def test_an_operation_of_no_volume_in_front_changes_nothing():
    # The same chain as in test_the_first_iteration_decides_the_set, after an operation that never asks for the link.
    assert _first_decision_in_set([("io", 0), ("work", 9), ("io", 1), ("work", 90), ("io", 10)]) == 1


def test_the_lead_belongs_to_no_iteration():
    # Lead 9, then work 0.5 and 0.5 bytes: an iteration of 1 s, set 0 (with the lead it would be 10 s, set 1). 9 + 1 +
    # 90 = 100.
    assert _first_decision_in_set([("work", 0.5), ("io", 0.5), ("work", 90), ("io", 10)], lead=9.0) == 0


# ------------------------------------------------------------------ best-next-event


def test_best_next_event_on_two_applications_by_hand():
    # Both released at −4, B = b = 1; a0 has 0 done and 8 bytes, a1 2 done and 2 bytes; the window is long. If a1
    # completes after h: it moves 2, a0 moves h − 2: yields (h − 2) / (4 + h) and (2 + 2) / (4 + h). The first rises
    # with h, the second falls; they meet at h = 6: 4/10. If a0 completes after h ≥ 8, a1 has at most 4 / (4 + h) ≤
    # 4/12, which is less. So h = 6: a0 gets 4/6, a1 2/6, both have 2/5 at 6. Then a0 is alone with 4 bytes: ends at
    # 10.
    w = workload(
        ([("io", 8)], {"progress": 0.0}), ([("io", 2), ("work", 100)], {"progress": 2.0}), window=(0.0, 50.0), release=-4.0
    )
    result = simulate(w, "best-next-event", trace=True, check=True)
    at_0 = result.trace.begin == 0.0
    assert result.trace.application[at_0].tolist() == [0, 1]
    assert result.trace.rate[at_0].tolist() == pytest.approx([4 / 6, 2 / 6])
    assert result.applications[0].end == pytest.approx(10.0)
    assert result.applications[0].waiting == pytest.approx(0.0)


def test_best_next_event_looks_to_the_end_of_the_window():
    # As before, but the window ends at 3: nobody needs to complete. Water-filling of 3 bytes over 0 and 2 done: a0
    # gets 2 to draw level and then both 1/2: yields 2.5 / 7 each.
    w = workload(
        ([("io", 8)], {"progress": 0.0}), ([("io", 2), ("work", 100)], {"progress": 2.0}), window=(0.0, 3.0), release=-4.0
    )
    assert list(simulate(w, "best-next-event", check=True).yields) == pytest.approx([2.5 / 7, 2.5 / 7])


# ------------------------------------------------------------------ 000 §5, Example 2


def example_2(m, epsilon=1e-3):
    alpha = epsilon / (m / 2 - 1)
    category_a = [("io", 2 / m), ("work", 1)]
    category_b = [("io", 2 / m), ("work", alpha), ("io", 1)]
    return workload(*([category_b] * (m // 2) + [category_a] * (m // 2)), window=(0.0, 1.0))


@pytest.mark.parametrize("m", [4, 6, 8, 20])
def test_example_2_of_000(m):
    # m operations of 2/m bytes at 0: fair-share moves 1/m of each until 1, none completes: yield 1/m, and that of all
    # is the same.
    fair = simulate(example_2(m), "fair-share", check=True)
    assert fair.min_yield == pytest.approx(1 / m)
    assert fair.utilization == 0.0
    assert fair.efficiency == pytest.approx(1 / m)
    # One after the other, at most m/2 are served by 1; the others have moved nothing.
    for policy in ("fcfs", "greedy-com", "set-10"):
        assert simulate(example_2(m), policy, check=True).min_yield == 0.0
    # Category B comes first: it alone works, α each but for the last (which completes at 1): utilization ε / m.
    assert simulate(example_2(m), "fcfs").utilization == pytest.approx(1e-3 / m)


def test_example_2_best_next_event_and_periodic():
    # Both share: best-next-event keeps all yields equal until 1, as fair-share does. Periodic with a short δ comes near it.
    assert simulate(example_2(8), "best-next-event", check=True).min_yield == pytest.approx(1 / 8)
    assert simulate(example_2(8), "periodic-greedy-yield:delta=0.001", check=True).min_yield == pytest.approx(
        1 / 8, abs=2e-3
    )


# ------------------------------------------------------------------ edges of the window and of numbers


def test_a_completion_on_the_end_of_the_window_counts():
    result = simulate(workload([("io", 4), ("work", 1)], window=(0.0, 4.0)), "fcfs", check=True)
    assert (result.applications[0].operations, result.applications[0].end, result.ended_early) == (1, None, ())


def test_an_end_on_the_end_of_the_window_is_not_early():
    result = simulate(workload([("io", 4)], window=(0.0, 4.0)), "fcfs", check=True)
    assert (result.applications[0].end, result.ended_early, result.makespan) == (4.0, (), 4.0)


def test_nothing_done_is_an_infinite_stretch():
    w = workload([("io", 4)], [("io", 4)], window=(0.0, 1.0))
    second = simulate(w, "fcfs").applications[1]
    assert (second.yield_, second.stretch) == (0.0, math.inf)
    assert second.to_dict()["stretch"] is None


def test_tiny_operations_at_late_dates():
    # At 1e9 s a double resolves 1.2e-7 s; operations of 1e-9 bytes complete all the same, and the run ends.
    w = workload(*[[("io", 1e-9), ("work", 1e-9)] * 50 + [("work", 1)]] * 3, window=(1e9, 1e9 + 10.0), release=1e9)
    for policy in REGISTRY:
        result = simulate(w, policy, check=True)
        assert [a.operations for a in result.applications] == [50, 50, 50]


def test_invariants_hold_shortly_after_the_release():
    # a0 moves 1e6 bytes at 1 byte/s, a1 posts after 10 µs: what a0 has moved is known to 1e-10 bytes, the rounding of
    # its volume, which is no breach of "progress ≤ elapsed".
    for lead in (1e-5, 3e-5, 7e-6, 1.3e-5):
        result = simulate(workload([("io", 1e6)], ([("io", 1)], {"lead": lead})), "fcfs", check=True)
        assert [a.end for a in result.applications] == [1e6, 1e6 + 1.0]


def test_iterations_before_the_chain_count_in_its_mean():
    # Two iterations of 10 s before the chain: set 1 at once, with no iteration of its own. With 20 of 1 s, set 0 although
    # the first of its own takes 10 s: (20 · 1 + 10) / 21 < √10.
    assert _first_decision_in_set([("work", 100), ("io", 10)], past=(2, 10.0)) == 1
    assert _first_decision_in_set([("work", 100), ("io", 10)]) == 0
    chain = [("work", 9), ("io", 1), ("work", 90), ("io", 10)]
    assert _first_decision_in_set(chain, past=(20, 1.0)) == 0
    assert _first_decision_in_set(chain, past=(1, 1.0)) == 1


def test_a_past_does_not_make_the_first_operation_an_iteration():
    # The operation before any work would be an iteration of 1 s.
    chain = [("io", 1), ("work", 99), ("io", 10)]
    assert _first_decision_in_set(chain, past=(1, 5.0)) == 1  # with it (5 + 1) / 2 = 3 < √10
