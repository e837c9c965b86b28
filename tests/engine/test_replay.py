"""Replays by hand, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penstock.engine.scenarios import replay
from penstock.model import Application, InputError, Platform, PolicyFault, Workload
from penstock.policies import Policy


def workload(*chains, bandwidth=1.0, speeds=(), releases=(), **platform) -> Workload:
    applications = []
    for index, chain in enumerate(chains):
        speed = speeds[index] if speeds else None
        release = releases[index] if releases else 0.0
        applications.append(Application.of(f"a{index}", chain, bandwidth=speed, release=release))
    return Workload(Platform(bandwidth, **platform), tuple(applications))


BURST = workload([("work", 1.0), ("write", 100.0)], bandwidth=10.0, speeds=[50.0])


@pytest.mark.parametrize("size", [0.0, 10.0, 50.0, 79.0, 80.0, 81.0, 1e6, math.inf])
def test_one_burst(size):
    # By the end, W bytes are written: S in the buffer at most, the rest to the I/O system at B. Or at full speed all along.
    found = replay(BURST, [size], trace=True, check=True)
    seconds = max(100.0 / 50.0, (100.0 - size) / 10.0)
    assert found.ends[0] == pytest.approx(1.0 + seconds, rel=1e-12)
    assert found.end == pytest.approx(11.0, rel=1e-12)
    kept = min(size, 80.0)
    assert (found.buffer.drained[0], found.buffer.direct_written[0]) == pytest.approx((kept, 100.0 - kept))
    assert found.buffer.peaks[0] == pytest.approx(kept)
    assert replay(BURST, pool=size).ends[0] == found.ends[0]


@pytest.mark.parametrize("size", [0.0, 2.0, 30.0, 40.0, 100.0, math.inf])
def test_one_read_with_prefetching(size):
    # Prefetching at B from the release on: 40 bytes by date 4 if there is room. In the read the buffer gives b − B beside B.
    found = replay(workload([("work", 3.0), ("read", 100.0)], bandwidth=10.0, speeds=[50.0], releases=[1.0]), [size])
    prefetched = min(size, 30.0)
    seconds = max(100.0 / 50.0, (100.0 - prefetched) / 10.0)
    assert found.ends[0] == pytest.approx(4.0 + seconds, rel=1e-12)
    assert (found.buffer.prefetched[0], found.buffer.direct_read[0]) == pytest.approx((prefetched, 100.0 - prefetched))


def test_the_lead_is_time_to_prefetch_in():
    alone = Application.of("a", [("read", 4.0)], lead=2.0, bandwidth=4.0)
    found = replay(Workload(Platform(1.0), (alone,)), [10.0], check=True)
    # 2 bytes by date 2; then 4 bytes a second until these are used up, at 2 + 2/3 with 4/3 left, which come at B.
    assert found.ends[0] == pytest.approx(2.0 + 2.0 / 3.0 + 4.0 / 3.0)


def test_the_bandwidth_of_the_buffer_bounds_what_goes_in():
    slow = workload(
        [("write", 12.0)], [("write", 12.0)], bandwidth=2.0, speeds=[10.0, 10.0], buffer={"size": 100.0, "bandwidth": 4.0}
    )
    # Each writes 1 byte/s directly and half of the 4 bytes/s into the buffer.
    assert list(replay(slow, check=True).ends) == pytest.approx([4.0, 4.0])


def test_writers_share_what_falls_free_in_a_full_pool():
    # a0 writes 6 in [0, 1] at 6: 3 to the I/O system, 3 into the pool, full at 1. From then on a0 drains; a1 and a2 write,
    # and all three have 1 byte/s of the I/O system. What a0 frees goes to the writers, 1/2 each: 3/2 bytes/s, 3 in 2 s.
    three = workload(
        [("write", 6.0), ("work", 9.0)],
        [("work", 1.0), ("write", 3.0)],
        [("work", 1.0), ("write", 3.0)],
        bandwidth=3.0,
        speeds=[6.0, 6.0, 6.0],
    )
    found = replay(three, pool=3.0, trace=True, check=True)
    assert list(found.ends) == pytest.approx([10.0, 3.0, 3.0])
    assert found.buffer.fill.total(np.array([0.5, 1.0, 2.0, 3.0, 3.5])) == pytest.approx([1.5, 3.0, 3.0, 3.0, 1.5])
    # Shares are not lent: with all of the buffer at a0, the others have only their part of the I/O system.
    assert list(replay(three, [3.0, 0.0, 0.0], check=True).ends) == pytest.approx([10.0, 4.0, 4.0])


def test_an_application_drains_after_its_end_and_keeps_its_part():
    # a0 ends at 1 with 5 bytes in the buffer, and has half of the I/O system until they are drained at 1 + 10 s; a1 writes
    # its 5 bytes in that time.
    two = workload([("write", 6.0)], [("work", 1.0), ("write", 5.0)], speeds=[6.0, 1.0])
    found = replay(two, [10.0, 0.0], check=True)
    assert list(found.ends) == pytest.approx([1.0, 11.0])
    assert found.end == pytest.approx(11.0)


def test_draining_waits_for_the_threshold():
    chain = [("write", 4.0), ("work", 2.0), ("write", 4.0), ("work", 20.0)]
    one = workload(chain, speeds=[4.0])
    # Each write of 1 s leaves 3 bytes in the buffer. At once: from 1 to 3 two are drained; from 4 on the other 4, to 8.
    at_once = replay(one, [8.0], trace=True).buffer.fill
    assert at_once.content(0, np.array([1.0, 3.0, 4.0, 8.0])) == pytest.approx([3, 1, 4, 0])
    # Half of 8 is reached in the second write: 6 bytes from 4 on, to 10.
    held = replay(one, [8.0], threshold=0.5, trace=True, check=True)
    assert held.buffer.fill.content(0, np.array([1.0, 3.0, 4.0, 10.0])) == pytest.approx([3, 3, 6, 0])
    # Never reached: flushed after the end, at 24.
    flushed = replay(one, [8.0], threshold=1.0, trace=True, check=True)
    assert flushed.buffer.fill.content(0, np.array([4.0, 24.0, 30.0])) == pytest.approx([6, 6, 0])
    assert flushed.end == pytest.approx(30.0)


def test_a_pool_drains_when_all_output_in_it_reaches_the_threshold():
    # a0 leaves 3 bytes in the pool at 1 and works; a1 begins to write at 2 and adds 3 bytes/s: 4 bytes, half of the pool, at
    # 2 + 1/3. From then on both are active with half of B each, and a1 sends 3.5 bytes/s into the pool.
    two = workload([("write", 4.0), ("work", 50.0)], [("work", 2.0), ("write", 4.0)], speeds=[4.0, 4.0])
    found = replay(two, pool=8.0, threshold=0.5, trace=True, check=True)
    assert list(found.ends) == pytest.approx([51.0, 3.0])
    outgoing = 3.0 - 0.5 * 2.0 / 3.0
    assert found.buffer.fill.content(0, np.array([2.3, 3.0])) == pytest.approx([3.0, outgoing])
    # The 4 bytes there and the 8/3 that a1 has still to write then take B until 2 + 1/3 + 20/3.
    assert found.buffer.fill.total(np.array([8.0, 9.0])) == pytest.approx([1.0, 0.0])


def test_directions_have_their_own_limits():
    # B = 3, B_r = 1: equal parts would give 1.5 to the read; it has 1, and the write the other 2.
    both = workload([("read", 4.0)], [("write", 4.0)], bandwidth=3.0, read_bandwidth=1.0)
    assert list(replay(both, pool=0.0, check=True).ends) == pytest.approx([4.0, 2.0])
    # With B_r + B_w < B neither is in the other's way.
    both = workload([("read", 4.0)], [("write", 4.0)], bandwidth=3.0, read_bandwidth=1.0, write_bandwidth=1.5)
    assert list(replay(both, pool=0.0, check=True).ends) == pytest.approx([4.0, 4.0 / 1.5])


def test_a_full_share_takes_no_prefetch_in_a_write_and_no_more_than_drains_after_it():
    chain = [("work", 1.0), ("write", 4.0), ("work", 9.0), ("read", 8.0)]
    one = Workload(Platform(2.0), (Application.of("a", chain, write_bandwidth=1.0, read_bandwidth=4.0, bandwidth=1.0),))
    # Prefetched: 2 bytes by date 1, which fill the share. The write then has no room, and goes straight at b_w = 1.
    found = replay(one, [2.0], trace=True, check=True)
    assert found.buffer.fill.content(0, np.array([1.0, 3.0, 5.0, 14.0])) == pytest.approx([2, 2, 2, 2])
    # At 14 the read of 8 bytes at 4/s draws 2 from the buffer beside 2 from the I/O system: 1 s, and 4 bytes are left, at 2.
    assert found.ends[0] == pytest.approx(14.0 + 1.0 + 2.0)


def test_prefetches_that_wait_for_room_leave_the_bandwidth_to_others():
    # Six flows have 1 byte/s each until 2: a0's write, beside which 1/2 byte/s goes into its share, its prefetch, and four
    # others. At 2 its share of 3 bytes is full, with 1 byte to drain, at its speed 3/2. Equal parts would give 9/4 to its
    # prefetch and to a1's write, but the prefetch has only the 3/2 that falls free, and a1 the other 3. At 2 + 2/3 all is
    # drained, the share is full of prefetched data, and a1 has all of B = 6 for its last 2 bytes.
    a0 = Application.of("a0", [("write", 3.0), ("work", 90.0), ("read", 9.0)], bandwidth=1.5, read_bandwidth=6.0)
    a1 = Application.of("a1", [("work", 2.0), ("write", 4.0)])
    others = [Application.of(f"b{i}", [("write", 2.0)]) for i in range(4)]
    found = replay(Workload(Platform(6.0), (a0, a1, *others)), [3.0, 0.0, 0.0, 0.0, 0.0, 0.0], trace=True, check=True)
    assert list(found.ends[1:]) == pytest.approx([3.0, 2.0, 2.0, 2.0, 2.0])
    assert found.buffer.fill.content(0, np.array([1.0, 2.0, 2.5, 3.0])) == pytest.approx([1.5, 3.0, 3.0, 3.0])


def test_stretch_by_dates_and_by_durations():
    # Both write 4 bytes at half of B = 1, 8 s instead of 4; dates count from the begin of the window where there is one.
    two = workload([("write", 4.0)], [("write", 4.0)], releases=[6.0, 6.0])
    found = replay(two, pool=0.0)
    assert list(found.stretches) == pytest.approx([1.4, 1.4])
    assert list(found.duration_stretches) == pytest.approx([2.0, 2.0])
    assert (found.max_stretch, found.mean_stretch) == pytest.approx((1.4, 1.4))
    assert (found.max_duration_stretch, found.mean_duration_stretch) == pytest.approx((2.0, 2.0))
    windowed = Workload(two.platform, two.applications, (4.0, 7.0))
    assert list(replay(windowed, pool=0.0).stretches) == pytest.approx([10.0 / 6.0] * 2)
    assert list(replay(windowed, pool=0.0).ends) == list(found.ends)


def test_an_application_without_length_has_stretch_1():
    assert replay(workload([("work", 0.0), ("write", 0.0)]), pool=1.0, trace=True).max_stretch == 1.0


def test_a_long_trace_comes_in_pieces(monkeypatch):
    chain = [("work", 0.5), ("write", 1.0), ("read", 0.5)] * 20
    many = workload(chain, chain[1:], speeds=[2.0, 3.0])
    whole = replay(many, pool=0.25, trace=True).buffer.fill
    monkeypatch.setattr("penstock.engine.run._TRACE_ROWS", 0)
    for left, right in zip(whole, replay(many, pool=0.25, trace=True).buffer.fill, strict=True):
        assert left.tolist() == right.tolist()


def test_without_shares_or_pool_the_buffer_is_the_platform_s():
    with_buffer = Workload(Platform(10.0, buffer={"size": 50.0}), BURST.applications)
    found = replay(with_buffer)
    assert (found.buffer.pool, found.buffer.shares) == (50.0, None)
    assert found.ends[0] == pytest.approx(6.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "platform.buffer.size: not given; expected it, or shares, or a pool"),
        ({"pool": 1.0, "shares": [1.0]}, "pool: there are shares as well; expected shares or a pool"),
        ({"pool": -1.0}, "pool: -1.0 is not a size; expected bytes, 0 or more"),
        ({"shares": [math.nan]}, "shares[0]: nan is not a size; expected bytes, 0 or more"),
        ({"shares": [1.0, 2.0]}, "shares: (2,) values for 1 applications; expected one each"),
        ({"pool": 1.0, "threshold": 1.5}, "threshold: 1.5 is no part of the buffer; expected 0 to 1"),
        (
            {"pool": 1.0, "policy": "periodic-fifo"},
            "policy periodic-fifo: its order knows no buffer; expected a sharing or an exclusive policy",
        ),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(InputError) as caught:
        replay(BURST, **options)
    assert str(caught.value) == message


def test_a_share_is_a_part_of_the_buffer():
    with_buffer = Workload(Platform(10.0, buffer={"size": 50.0}), BURST.applications)
    with pytest.raises(
        InputError, match=r"^shares\[0\]: 51\.0 bytes are more than the buffer's 50\.0; expected a part of it$"
    ):
        replay(with_buffer, shares=[51.0])
    assert replay(with_buffer, shares=[50.0]).ends[0] == pytest.approx(6.0)


def test_releases_before_the_clock_s_0_are_refused():
    early = workload([("write", 1.0)], releases=[-2.0])
    with pytest.raises(
        InputError, match=r"^applications\[0\]\.release: -2\.0 s is before the clock's 0; expected 0\.0 s or"
    ):
        replay(early, pool=0.0)
    windowed = Workload(early.platform, workload([("write", 1.0)], releases=[2.0]).applications, (3.0, 5.0))
    with pytest.raises(InputError, match=r"2\.0 s is before the clock's 0; expected 3\.0 s or later$"):
        replay(windowed, pool=0.0)


def test_a_policy_that_breaks_its_contract_is_named():
    def greedy(view, rates):
        for i in range(len(rates)):
            rates[i] = view.cap[i]

    def idle(view, rates):
        for i in range(len(rates)):
            rates[i] = 0.0

    two = workload([("write", 4.0)], [("write", 4.0)])
    with pytest.raises(
        PolicyFault, match=r"^policy greedy: at 0\.0 s its rates add up to 2\.0; expected at most the bandwidth 1\.0$"
    ):
        replay(two, pool=0.0, policy=Policy("greedy", greedy, "too much", built_in=False))
    with pytest.raises(
        PolicyFault, match=r"^policy idle: at 0\.0 s it gives no bandwidth to anyone and nothing else will happen"
    ):
        replay(two, pool=0.0, policy=Policy("idle", idle, "nothing", built_in=False))
