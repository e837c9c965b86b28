"""First fit against a twin that tries every start."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from penstock.workloads.first_fit import FreeNodes

MACHINE = 10
REQUESTS = st.lists(st.tuples(st.integers(1, MACHINE), st.integers(1, 8)), max_size=40)


class Diary:
    """The free nodes of each second."""

    def __init__(self) -> None:
        self.free = [MACHINE] * 1000

    def first_fit(self, nodes: int, seconds: int) -> int:
        return next(start for start in itertools.count() if min(self.free[start : start + seconds]) >= nodes)

    def take(self, nodes: int, start: int, end: int) -> None:
        for second in range(start, end):
            self.free[second] -= nodes


@given(REQUESTS)
def test_every_start_is_tried(requests: list[tuple[int, int]]) -> None:
    free, diary = FreeNodes(MACHINE), Diary()
    for nodes, seconds in requests:
        start = free.first_fit(nodes, float(seconds))
        assert start == diary.first_fit(nodes, seconds)
        free.take(nodes, start, start + seconds)
        diary.take(nodes, int(start), int(start) + seconds)


@given(REQUESTS, REQUESTS)
def test_an_answer_bounds_later_requests_that_are_no_smaller(
    before: list[tuple[int, int]], after: list[tuple[int, int]]
) -> None:
    free = FreeNodes(MACHINE)
    for nodes, seconds in before:
        start = free.first_fit(nodes, seconds)
        free.take(nodes, start, start + seconds)
    since = free.first_fit(3, 2)
    for nodes, seconds in after:
        start = free.first_fit(nodes, seconds)
        if nodes >= 3 and seconds >= 2:
            assert free.first_fit(nodes, seconds, since) == start
        free.take(nodes, start, start + seconds)


def test_as_many_steps_as_it_takes() -> None:
    # Job k of ten ends k seconds after its round began, so each of the 200 rounds lasts ten seconds and makes ten steps.
    free = FreeNodes(MACHINE)
    for round_ in range(200):
        begin = free.first_fit(MACHINE, 1.0)
        assert begin == 10.0 * round_
        for k in range(1, 11):
            free.take(1, begin, begin + k)
    assert free.first_fit(1, 1.0) == 1.0
    assert free.first_fit(1, 1.0, since=1995.0) == 1995.0
    assert free.first_fit(MACHINE, 1.0) == 2000.0
