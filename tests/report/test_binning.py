import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine import Trace
from penstock.report.binning import Bins, cut, means, total, united

ROWS = 3
WINDOW = (-50.0, 200.0)

segment = st.tuples(
    st.integers(0, ROWS - 1),
    st.floats(*WINDOW),
    st.floats(*WINDOW),
    st.one_of(st.just(0.0), st.floats(1e-3, 1e12)),
).filter(lambda s: s[1] != s[2])


def trace_of(segments: list[tuple[int, float, float, float]]) -> Trace:
    row, one, other, rate = (np.array(column) for column in zip(*segments, strict=True))
    return on_a_link(row.astype(np.int64), np.minimum(one, other), np.maximum(one, other), rate)


def on_a_link(application: np.ndarray, begin: np.ndarray, end: np.ndarray, rate: np.ndarray) -> Trace:
    rest = [np.zeros(len(rate), np.int64) for _ in Trace._fields[4:]]
    return Trace(application, begin, end, rate, *rest)


traces = st.lists(segment, min_size=1, max_size=30).map(trace_of)
all_bins = st.integers(1, 70).map(lambda count: Bins(*WINDOW, count))


def naive_means(trace: Trace, bins: Bins) -> tuple[np.ndarray, np.ndarray]:
    """The slow, obvious twin."""
    moved, waited = np.zeros((ROWS, bins.count)), np.zeros((ROWS, bins.count))
    for row, begin, end, rate in zip(*trace[:4], strict=True):
        for place in range(bins.count):
            low, high = bins.edges[place], bins.edges[place + 1]
            seconds = max(0.0, min(end, high) - max(begin, low))
            moved[row, place] += rate * seconds
            waited[row, place] += seconds if rate == 0.0 else 0.0
    return moved / bins.seconds, waited / bins.seconds


@given(traces, all_bins)
def test_the_integral_of_the_means_is_that_of_the_segments(trace: Trace, bins: Bins) -> None:
    rate, waiting = means(trace.application, ROWS, trace, bins)
    for row in range(ROWS):
        own = trace.application == row
        length = (trace.end - trace.begin)[own]
        np.testing.assert_allclose(rate[row].sum() * bins.seconds, trace.rate[own] @ length, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            waiting[row].sum() * bins.seconds, length[trace.rate[own] == 0.0].sum(), rtol=1e-9, atol=1e-9
        )


@given(traces, all_bins)
def test_the_means_are_those_of_the_obvious_twin(trace: Trace, bins: Bins) -> None:
    for fast, slow in zip(means(trace.application, ROWS, trace, bins), naive_means(trace, bins), strict=True):
        np.testing.assert_allclose(fast, slow, rtol=1e-9, atol=1e-9)


@given(traces, all_bins)
def test_no_piece_lies_outside_its_bin(trace: Trace, bins: Bins) -> None:
    pieces = cut(trace.begin, trace.end, bins)
    assert pieces.bin.min() >= 0
    assert pieces.bin.max() < bins.count
    assert np.all(pieces.seconds >= 0.0)
    assert np.all(pieces.seconds <= bins.seconds * (1 + 1e-9))


@given(traces)
def test_the_sum_of_the_rates_moves_what_the_segments_move(trace: Trace) -> None:
    dates, rate = total(trace, *WINDOW)
    assert (dates[0], dates[-1]) == WINDOW
    assert np.all(np.diff(dates) > 0.0)
    volume = trace.rate @ (trace.end - trace.begin)
    # A cumulated sum leaves a rounding of the largest rate in every step.
    np.testing.assert_allclose(rate @ np.diff(dates), volume, rtol=1e-9, atol=1e-12 * trace.rate.sum() * 250.0)


@given(traces, all_bins)
def test_united_segments_are_one_at_a_time_and_move_the_same(trace: Trace, bins: Bins) -> None:
    whole = united(trace)
    for row in range(ROWS):
        own = np.flatnonzero(whole.application == row)
        own = own[np.argsort(whole.begin[own])]
        assert np.all(whole.end[own] > whole.begin[own])
        assert np.all(whole.begin[own][1:] >= whole.end[own][:-1])
    before, after = (means(one.application, ROWS, one, bins)[0] for one in (trace, whole))
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9 * trace.rate.sum())


def test_who_moves_on_one_of_two_stores_does_not_wait() -> None:
    # 3 bytes/s from 0 to 4 beside waiting from 2 to 6; a gap; then two stores at once.
    trace = on_a_link(
        np.array([0, 0, 0, 0]),
        np.array([0.0, 2.0, 8.0, 8.0]),
        np.array([4.0, 6.0, 9.0, 9.0]),
        np.array([3.0, 0.0, 1.0, 2.0]),
    )
    whole = united(trace)
    np.testing.assert_array_equal(whole.begin, [0.0, 2.0, 4.0, 8.0])
    np.testing.assert_array_equal(whole.end, [2.0, 4.0, 6.0, 9.0])
    np.testing.assert_array_equal(whole.rate, [3.0, 3.0, 0.0, 3.0])


def test_a_case_by_hand() -> None:
    """Bins of 10 s. Row 0 moves 4 bytes/s from 5 to 15, so 20 bytes in each of two bins; row 1 waits from 18 to 20."""
    trace = on_a_link(np.array([0, 1]), np.array([5.0, 18.0]), np.array([15.0, 20.0]), np.array([4.0, 0.0]))
    rate, waiting = means(trace.application, 2, trace, Bins(0.0, 30.0, 3))
    np.testing.assert_array_equal(rate, [[2.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(waiting, [[0.0, 0.0, 0.0], [0.0, 0.2, 0.0]])
    dates, use = total(trace, 0.0, 30.0)
    np.testing.assert_array_equal(dates, [0.0, 5.0, 15.0, 18.0, 20.0, 30.0])
    np.testing.assert_array_equal(use, [0.0, 4.0, 0.0, 0.0, 0.0])
