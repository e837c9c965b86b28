"""Over real sockets: what peers reach, a measured bandwidth, degradation, and a coordinator that observes."""

from __future__ import annotations

import time

import pytest

from penstock.live.core.measuring import UNLIMITED
from penstock.live.core.pending import prepare
from penstock.live.server.server import Server
from penstock.model import InputError
from penstock.policies import find
from tests.live.server.running import ENOUGH, MB, settings, with_peers


def report_until(peers, done, step):
    """All peers report `step` bytes more, again and again, until what is awaited is there; returns how much each did."""
    moved, deadline = 0.0, time.monotonic() + ENOUGH
    while not done():
        assert time.monotonic() < deadline, "it never comes"
        moved += step
        for peer in peers:
            peer.send("report", operation=1, moved=moved)
        time.sleep(0.02)
    return moved


def test_nobody_waits_for_one_that_reaches_a_part_of_its_grant(tmp_path):
    """A is granted 100 MB/s and moves some kB/s of its 12 rounds; B must not wait until A has moved all."""
    prepare(find("coordinating:metric=io-time"))  # compiled before the server has to be ready
    with with_peers(tmp_path, 2, policy="coordinating:metric=io-time") as (it, first, second):
        first.register("first")
        second.register("second")
        first.send("inform", operation=1, volume=12 * MB, rounds=12)
        assert first.until("grant")["rate"] == 100 * MB
        second.send("inform", operation=1, volume=1200 * MB, rounds=12)
        assert second.until("grant")["rate"] == 0.0

        def begins():
            return any(one["job"] == "first" and one["rate"] < 100 * MB for one in it.state()["recent"])

        moved = report_until([first], begins, step=100.0)
        lower = first.until("grant")
        assert 0.0 < lower["rate"] < 50 * MB
        first.send("yielded", grant=lower["number"])
        assert second.until("grant")["rate"] > 50 * MB
        assert moved < 1 * MB  # A is still in its first round


def test_a_bandwidth_is_measured_written_down_and_told(tmp_path, caplog):
    with with_peers(tmp_path, 1, bandwidth=float("inf")) as (it, peer):
        assert it.state()["measured"]
        assert it.state()["bandwidth"] == UNLIMITED
        peer.register("writer")
        peer.send("inform", operation=1, volume=1e15)
        assert peer.until("grant")["rate"] == UNLIMITED
        report_until([peer], lambda: it.state()["bandwidth"] < UNLIMITED, step=1 * MB)
        found = it.state()["bandwidth"]
        assert 1 * MB <= found < 1e12
        assert it.state()["applications"][0]["bandwidth"] == found
    assert "bandwidth: measured" in caplog.text
    with with_peers(tmp_path, 0, bandwidth=float("inf")) as (it,):
        assert it.state()["bandwidth"] == found


def test_degradation_is_a_part_of_a_known_bandwidth(tmp_path):
    expected = "degradation: it is a part of a known bandwidth; expected --bandwidth RATE instead of auto"
    with pytest.raises(InputError, match=expected):
        Server(settings(tmp_path, bandwidth=float("inf"), degradation='{"2": 0.5}'))


def test_a_link_that_degrades_is_shared_by_what_is_left(tmp_path):
    with with_peers(tmp_path, 2, degradation='{"2": 0.8}') as (_, first, second):
        first.register("first")
        second.register("second")
        first.send("inform", operation=1, volume=1e12)
        assert first.until("grant")["rate"] == 100 * MB
        second.send("inform", operation=1, volume=1e12)
        assert second.until("grant")["rate"] == 0.0
        lower = first.until("grant")
        assert lower["rate"] == 40 * MB
        first.send("yielded", grant=lower["number"])
        assert second.until("grant")["rate"] == 40 * MB


def test_a_coordinator_that_observes_holds_nobody_back(tmp_path):
    with with_peers(tmp_path, 2, policy="fcfs", observe=True) as (it, first, second):
        for peer, name in ((first, "first"), (second, "second")):
            assert peer.register(name, bandwidth=80 * MB)["observing"] is True
        for peer in (first, second):
            peer.send("inform", operation=1, volume=1e6)
            assert peer.until("grant")["rate"] == 80 * MB
        state = it.state()
        assert state["observing"] is True
        assert [one["withheld"] for one in state["applications"]] == [80 * MB, 20 * MB]
        first.send("release", operation=1)
        first.send("leave")
        first.until("left")
        state = it.state()
        assert [one["withheld"] for one in state["applications"]] == [80 * MB]
        assert [(one["job"], one["rate"]) for one in state["recent"]] == [
            ("first", 80 * MB),
            ("second", 20 * MB),
            ("second", 80 * MB),
        ]
