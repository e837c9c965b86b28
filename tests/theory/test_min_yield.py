"""The bound on the minimum yield against all intervals, and in closed form."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model import Application, Platform, Workload
from penstock.numeric.tolerances import YIELD_PRECISION
from penstock.theory.bounds import min_yield_bound
from penstock.theory.link_demand import link_demand
from tests.naive.profiles import examples
from tests.naive.strategies import workloads
from tests.theory import intervals
from tests.theory.small import crowds


def bound(workload, pieces=8):
    return min_yield_bound(link_demand(workload, pieces))


@pytest.mark.parametrize("pieces", [1, 2, 8])
@examples(120)
@given(st.one_of(crowds(5, 4, caps=True), workloads()))
def test_it_is_what_all_intervals_say(pieces, workload):
    # One bisection to 1e-9 from above, one to the last bit.
    twin = intervals.min_yield_bound(workload, pieces)
    assert twin - 1e-12 <= bound(workload, pieces) <= twin + YIELD_PRECISION + 1e-12


@examples(150)
@given(st.one_of(crowds(5, 4, caps=True), workloads()))
def test_more_pieces_say_more(workload):
    values = [bound(workload, pieces) for pieces in (1, 2, 8, 32)]
    for fewer, more in pairwise(values):
        assert more <= fewer + YIELD_PRECISION


def posting_at_once(count, volume, window, **options):
    """Applications that post one operation at date 0 on a link of bandwidth 1."""
    return Workload(Platform(1.0), tuple(Application.of(f"a{i}", [("io", volume)], **options) for i in range(count)), window)


@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize(("volume", "window"), [(1.0, None), (1.0, (0.0, 100.0)), (9.0, (0.0, 9.0)), (100.0, (0.0, 10.0))])
def test_equal_operations_at_once(count, volume, window):
    # All must share: at the end of the window each has 1/m of it; where all can end, the last one takes m times as long.
    assert bound(posting_at_once(count, volume, window)) == pytest.approx(1.0 / count, abs=1e-8)


def test_caps_leave_room_for_others():
    # Caps of half the link: two are never in each other's way, three have 2/3 each: 3 · 5y bytes in 10 s.
    for pieces in (1, 8):
        assert bound(posting_at_once(2, 5.0, (0.0, 10.0), bandwidth=0.5), pieces) == 1.0
        assert bound(posting_at_once(3, 5.0, (0.0, 10.0), bandwidth=0.5), pieces) == pytest.approx(2.0 / 3.0, abs=1e-8)


def test_pieces_see_what_must_be_early():
    # In a window of 10 s, a0 has 4 bytes at cap 1/2, 8 s, and then works; a1 works for 2 s, then has 6 bytes at 1, 6 s. For
    # a yield of y < 4/5 both are still at their operations at 10, with 5y and 10y − 2 bytes moved. In one piece, all that is
    # seen is 15y − 2 ≤ 10.
    a0 = Application.of("a0", [("io", 4.0), ("work", 2.0)], bandwidth=0.5)
    a1 = Application.of("a1", [("work", 2.0), ("io", 6.0), ("work", 2.0)])
    pair = Workload(Platform(1.0), (a0, a1), (0.0, 10.0))
    assert bound(pair, 1) == pytest.approx(0.8, abs=1e-8)
    # But a0 cannot have moved more than 1 byte at 2. Cut where 2 s of it are done, at the end of the second of eight pieces,
    # 5y − 1 bytes are left to be moved between 2 and 10: 15y − 3 ≤ 8. A cut elsewhere comes close.
    assert bound(pair, 8) == pytest.approx(11.0 / 15.0, abs=1e-8)
    assert 11.0 / 15.0 < bound(pair, 7) < 0.8


def test_histories_and_releases_count():
    # Both post 10 bytes at 0 in a window of 10 s. a0 has done 5 of 10 s before, a1 is just released.
    # (5 + z) / 20 = (10 − z) / 10 at z = 5: y = 1/2.
    a0 = Application.of("a0", [("io", 10.0)], release=-10.0, progress=5.0)
    a1 = Application.of("a1", [("io", 10.0)])
    assert bound(Workload(Platform(1.0), (a0, a1), (0.0, 10.0))) == pytest.approx(0.5, abs=1e-8)


def test_what_is_lost_before_the_window_is_lost():
    # 4 of 10 s done before the window, and 10 s alone in it: 14 / 20.
    slow = Application.of("a0", [("io", 10.0)], release=-10.0, progress=4.0)
    assert bound(Workload(Platform(1.0), (slow,), (0.0, 10.0))) == pytest.approx(0.7, abs=1e-8)
    # Nothing left to do: it ends as the window begins, with 4 / 10.
    ended = Application.of("a0", [("work", 0.0)], release=-10.0, progress=4.0)
    assert bound(Workload(Platform(1.0), (ended,), (0.0, 10.0))) == pytest.approx(0.4, abs=1e-8)
