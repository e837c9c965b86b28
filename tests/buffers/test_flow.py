"""Broken lines: pipes that are too narrow, and what must be sent ahead."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.buffers.timeline import Flow
from tests.naive.profiles import examples
from tests.planning.instances import quarters


@st.composite
def flows(draw):
    """Lines that begin at 0 and rise or stay level."""
    steps = draw(st.lists(st.tuples(quarters(0.25, 4), quarters(0, 8)), min_size=1, max_size=6))
    dates, amounts = np.cumsum([0.0, *(s for s, _ in steps)]), np.cumsum([0.0, *(a for _, a in steps)])
    return Flow(dates, amounts)


def test_as_soon_as_possible_by_hand():
    # 8 bytes from 1 to 3, 2 more from 6 to 7; at 2 bytes/s the first 8 are through at 5, the others with them.
    line = Flow(np.array([0.0, 1.0, 3.0, 6.0, 7.0]), np.array([0.0, 0.0, 8.0, 8.0, 10.0]))
    through = line.throttled(2.0)
    assert through.dates.tolist() == [0.0, 1.0, 3.0, 5.0, 6.0, 7.0]
    assert through.amounts.tolist() == [0.0, 0.0, 4.0, 8.0, 8.0, 10.0]
    slow = line.throttled(1.0)  # the last one waits: 6 are through at 7, and all at 11
    assert slow.dates.tolist() == [0.0, 1.0, 3.0, 6.0, 7.0, 11.0]
    assert slow.amounts.tolist() == [0.0, 0.0, 2.0, 5.0, 6.0, 10.0]


def test_as_late_as_possible_by_hand():
    line = Flow(np.array([0.0, 4.0, 6.0]), np.array([0.0, 0.0, 8.0]))
    ahead = line.in_advance(2.0)
    assert ahead.dates.tolist() == [0.0, 2.0, 4.0, 6.0]
    assert ahead.amounts.tolist() == [0.0, 0.0, 4.0, 8.0]
    assert line.in_advance(1.0).dates.tolist() == [-2.0, 0.0, 4.0, 6.0]  # too late


def test_clipped_by_hand():
    line = Flow(np.array([0.0, 2.0, 3.0, 5.0]), np.array([-2.0, 2.0, 2.0, 6.0]))
    cut = line.clipped(0.0, 3.0)
    assert cut.dates.tolist() == [0.0, 1.0, 2.0, 3.0, 3.5, 5.0]
    assert cut.amounts.tolist() == [0.0, 0.0, 2.0, 2.0, 3.0, 3.0]


@examples(200)
@given(flows(), quarters(0.25, 4))
def test_lines_against_their_definitions(line, rate):
    """min over u ≤ t of line(u) + rate · (t − u), and max over u ≥ t of line(u) − rate · (u − t), at corners and between."""
    end = line.dates[-1] + line.total / rate
    dates = np.union1d(np.linspace(0.0, end, 40), line.dates)
    soon, late = line.throttled(rate), line.in_advance(rate)
    for t in dates:
        before = np.append(line.dates[line.dates <= t], t)
        assert soon.at(np.array([t]))[0] == pytest.approx(np.min(line.at(before) + rate * (t - before)), abs=1e-9)
        after = np.append(line.dates[line.dates >= t], t)
        assert late.at(np.array([t]))[0] == pytest.approx(np.max(line.at(after) - rate * (after - t)), abs=1e-9)
    assert soon.total == late.total == pytest.approx(line.total)
    for found in (soon, late):
        assert (np.diff(found.dates) > 0.0).all()
        assert (found.rates <= rate * (1.0 + 1e-9)).all()
