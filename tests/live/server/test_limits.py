"""Token buckets: in any stretch of time no more than the tokens of one second and those that come in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.live.server.admission import Bucket
from tests.naive.profiles import examples


def test_a_second_is_there_at_once_and_then_as_it_comes():
    bucket = Bucket(10.0, now=0.0)
    assert bucket.take(10, now=0.0) == 0.0
    assert bucket.take(5, now=0.0) == 0.5
    assert bucket.take(0, now=0.5) == 0.0
    assert bucket.take(1, now=0.5) == 0.1


@examples(100)
@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.integers(0, 40)), max_size=30))
def test_who_waits_as_told_never_passes_the_rate(steps):
    bucket, now, taken = Bucket(10.0, now=0.0), 0.0, 0
    for pause, count in steps:
        now += pause
        now += bucket.take(count, now)
        taken += count
        assert taken <= 10.0 * (now + 1.0) + 1e-9
