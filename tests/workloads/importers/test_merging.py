"""Operations are merged into phases by a gap that the data show, or cut into phases of a period."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.numeric.periodicity import Period
from penstock.workloads.importers import merging
from penstock.workloads.importers.merging import BINS, IoIntervals, IoStream, natural_gap, phases_of, synthesised
from tests.naive.profiles import examples

NOTHING = IoIntervals.joined([])


def spaced(pauses: list[float], length: float = 1.0) -> IoIntervals:
    """Operations of one length with these pauses between them."""
    starts = np.concatenate(([0.0], np.cumsum(np.array(pauses) + length)))
    return IoIntervals.of(starts, starts + length, np.ones(len(starts)))


@pytest.mark.parametrize(
    ("pauses", "seconds", "low", "high"),
    [
        ([0.5] * 9 + [60.0] + [0.6] * 9 + [70.0] + [0.4] * 9, 200.0, 0.6, 60.0),  # blocks of checkpoints
        ([10.0] * 9, 110.0, 0.11, 10.0),  # every pause separates phases
        ([0.001] * 50, 60.0, 0.001, 0.061),  # none does: they are below a thousandth of the run time
        ([2.0] * 5 + [900.0] + [2.0] * 5 + [800.0] + [2.0] * 5, 2000.0, 2.0, 800.0),
    ],
)
def test_the_gap_lies_in_the_widest_step_of_the_pauses(pauses: list[float], seconds: float, low: float, high: float) -> None:
    assert low <= natural_gap(spaced(pauses), NOTHING, seconds) < high
    assert natural_gap(NOTHING, spaced(pauses), seconds) == natural_gap(spaced(pauses), NOTHING, seconds)


def test_without_pauses_or_time_the_gap_is_the_floor() -> None:
    assert natural_gap(NOTHING, NOTHING, 500.0) == 0.5
    assert natural_gap(spaced([1.0]), NOTHING, 0.0) == 0.0


def test_busy_seconds_are_those_in_which_something_was_under_way() -> None:
    # From 0 to 4 and 2 to 6 together 6 s; then 1 s of 8 to 9; merged over the pause of 2 s.
    merged = IoIntervals.of([0.0, 2.0, 8.0], [4.0, 6.0, 9.0], [1.0, 2.0, 4.0]).merged(2.0)
    assert (merged.starts.tolist(), merged.ends.tolist()) == ([0.0], [9.0])
    assert (merged.volumes.tolist(), merged.busy.tolist()) == ([7.0], [7.0])


def test_reads_and_writes_stay_apart_and_empty_ones_are_none() -> None:
    phases = phases_of(IoIntervals.of([0.0, 5.0], [1.0, 6.0], [3.0, 0.0]), IoIntervals.of([0.5], [2.0], [4.0]))
    assert list(phases) == [(0.0, 1.0, 3.0, "read"), (0.5, 2.0, 4.0, "write")]


rows = st.lists(st.tuples(st.floats(0.0, 100.0), st.floats(0.0, 5.0), st.integers(1, 10**9)), min_size=1, max_size=60)


@given(rows, st.integers(1, 20))
@examples(100)
def test_a_stream_keeps_all_bytes_and_merges_what_overlaps(operations: list[tuple[float, float, int]], piece: int) -> None:
    stream = IoStream(0.0, 110.0)
    limit, merging.MOST_KEPT = merging.MOST_KEPT, 7
    try:
        for begin in range(0, len(operations), piece):
            starts, lengths, volumes = np.array(operations[begin : begin + piece]).T
            stream.add(IoIntervals.of(starts, starts + lengths, volumes))
    finally:
        merging.MOST_KEPT = limit
    starts, lengths, volumes = np.array(operations).T
    whole = IoIntervals.of(starts, starts + lengths, volumes).merged(0.0)
    found = stream.intervals()
    assert (found.starts.tolist(), found.ends.tolist()) == (whole.starts.tolist(), whole.ends.tolist())
    assert found.volumes.tolist() == whole.volumes.tolist()
    assert found.busy == pytest.approx(whole.busy)
    assert stream.bins.sum() == pytest.approx(volumes.sum())


def test_too_many_intervals_are_merged_at_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "MOST_KEPT", 16)
    stream = IoStream(0.5, 100.0)
    for begin in range(0, 100, 10):  # 10 operations of 0.1 s with pauses of 0.1 s, then a pause of 8 s
        starts = begin + 0.2 * np.arange(10)
        stream.add(IoIntervals.of(starts, starts + 0.1, np.full(10, 3.0)))
    kept = stream.intervals()
    assert len(kept) <= 20
    phases = kept.merged(1.0)
    assert phases.starts == pytest.approx(10.0 * np.arange(10))
    assert phases.ends == pytest.approx(10.0 * np.arange(10) + 1.9)
    assert phases.volumes.tolist() == [30.0] * 10


@given(st.floats(3.0, 40.0), st.floats(0.05, 0.6), st.integers(0, 100))
@examples(60)
def test_phases_of_a_period_hold_all_bytes(period: float, duty: float, seed: int) -> None:
    """Whatever the period is said to be, each phase has the bytes of its period, and the phases are in order."""
    random = np.random.default_rng(seed)
    bins = random.integers(0, 10**6, BINS).astype(float)
    bins[(np.arange(BINS) * 0.1) % 20.0 < 20.0 * duty] += 10**8
    made = synthesised(bins, 0.1, Period(period, 0.5, BINS * 0.1 / period))
    assert made.volumes.sum() == bins.sum()
    assert np.all(np.diff(made.starts) > 0.0)
    assert np.all(made.ends > made.starts)
    assert np.all(made.ends[:-1] <= made.starts[1:])
    assert np.diff(made.starts)[1:] == pytest.approx(period)
