"""The search for a size or a stretch: what it finds is so, and the bounds are below it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.buffers.advice import (
    MORE,
    PRECISION,
    BufferStrategy,
    advise,
    parts_of,
    smallest_size,
    smallest_stretch,
    strategies,
)
from penstock.buffers.lower_bounds import size_bound, stretch_bound
from penstock.buffers.plan import DYNAMIC, STATIC
from penstock.buffers.sizing import size
from penstock.engine.scenarios import replay
from penstock.model import Application, InputError, Platform, Workload

FEW = strategies(policies=("best-effort", "fcfs"))
amounts = st.floats(min_value=1.0, max_value=20.0)


@st.composite
def writers(draw: st.DrawFn) -> Workload:
    """Two or three applications that write faster than the file system."""
    applications = []
    for index in range(draw(st.integers(2, 3))):
        phases = [
            phase for _ in range(draw(st.integers(1, 3))) for phase in (("work", draw(amounts)), ("write", draw(amounts)))
        ]
        release = draw(st.floats(min_value=0.0, max_value=10.0))
        applications.append(Application.of(f"a{index}", phases, bandwidth=draw(st.floats(1.0, 8.0)), release=release))
    return Workload(Platform(2.0), tuple(applications))


@settings(max_examples=15)
@given(workload=writers(), part=st.floats(min_value=0.0, max_value=1.2))
def test_what_is_found_for_a_size(workload: Workload, part: float) -> None:
    plan = size(workload, STATIC)
    assert plan.size is not None
    wanted = part * plan.size
    found = smallest_stretch(workload, wanted, parts_of(plan), FEW)
    assert [one.stretch for one in found] == pytest.approx(sorted(one.stretch for one in found), abs=2e-9)
    assert len(found) == len(FEW)
    assert found[0].stretch >= stretch_bound(workload, wanted) - 1e-6
    pool = next(one for one in found if one.strategy == BufferStrategy(DYNAMIC))
    assert pool.stretch == replay(workload, pool=wanted).max_stretch


@settings(max_examples=10)
@given(workload=writers(), stretch=st.floats(min_value=1.0, max_value=1.5))
def test_what_is_found_for_a_stretch(workload: Workload, stretch: float) -> None:
    plan = size(workload, STATIC)
    assert plan.size is not None
    found = smallest_size(workload, stretch, 3.0 * plan.size, parts_of(plan), FEW)
    assert [one.size for one in found] == sorted(one.size for one in found)
    for one in found:
        assert one.stretch <= stretch * (1.0 + 1e-9)
        assert one.size >= size_bound(workload, stretch) * (1.0 - 1e-6)


def one_burst() -> Workload:
    """One application: 10 s of work, then 40 bytes at 5 bytes/s on a file system of 2 bytes/s."""
    return Workload(Platform(2.0), (Application.of("a", [("work", 10.0), ("write", 40.0)], bandwidth=5.0),))


def test_one_burst_by_hand() -> None:
    """At full speed it takes 8 s, in which 16 bytes go through: S = 24. With a stretch of R it ends at 18·R, and
    2 · (18·R − 10) bytes have gone through by then.
    """
    advice = advise(one_burst())
    assert advice.plans[STATIC].size == pytest.approx(24.0)
    assert advice.plans[DYNAMIC].size == pytest.approx(24.0)
    shares = advice.shares()
    assert shares is not None
    assert shares.tolist() == pytest.approx([24.0])
    found = advise(one_burst(), stretch=1.2)
    assert found.found[0].size == pytest.approx(40.0 - 2.0 * (18.0 * 1.2 - 10.0), rel=2 * PRECISION)
    assert found.bound == pytest.approx(40.0 - 2.0 * (18.0 * 1.2 - 10.0))
    given_size = advise(one_burst(), size=10.0)
    assert given_size.found[0].stretch == pytest.approx((10.0 + 30.0 / 2.0) / 18.0)
    assert given_size.bound == pytest.approx((10.0 + 30.0 / 2.0) / 18.0, rel=1e-6)
    at, more = given_size.fair[STATIC]
    assert at.size == 10.0
    # A tenth more: with 11 bytes 29 are written at 2 bytes/s.
    assert more.size == pytest.approx(10.0 * (1.0 + MORE))
    assert more.stretch == pytest.approx((10.0 + 11.0 / 3.0 + (40.0 - 5.0 * 11.0 / 3.0) / 2.0) / 18.0)
    assert more.stretch == pytest.approx((10.0 + 29.0 / 2.0) / 18.0)


def test_a_stretch_of_1_is_the_sizing() -> None:
    assert advise(one_burst(), stretch=1.0).found == ()


def test_wrong_input() -> None:
    with pytest.raises(InputError, match="size: a stretch is given too; expected one of them"):
        advise(one_burst(), size=1.0, stretch=1.5)
    with pytest.raises(InputError, match=r"size: -1.0 is out of range"):
        advise(one_burst(), size=-1.0)
    with pytest.raises(InputError, match=r"stretch: 0.5 is no stretch; expected 1 or more"):
        advise(one_burst(), stretch=0.5)
    with pytest.raises(InputError, match="plan: it is dynamic and optimal; expected a static one"):
        parts_of(size(one_burst(), DYNAMIC))


def test_nobody_needs_a_buffer() -> None:
    idle = Workload(Platform(2.0), (Application.of("a", [("work", 5.0)]),))
    advice = advise(idle)
    shares = advice.shares()
    assert shares is not None
    assert not np.any(shares)
    assert advice.fair[STATIC][0].stretch == 1.0
