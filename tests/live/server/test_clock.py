"""The coordinator's own time: never stepped, going on over restarts."""

from __future__ import annotations

import time

import pytest

from penstock.live.server.journal import Clock, Mark, boot_id


def test_it_begins_at_zero_and_goes_on():
    clock = Clock()
    first = clock.now()
    assert 0.0 <= first < 5.0
    assert clock.now() >= first


def test_it_goes_on_over_a_restart():
    mark = Clock().mark()
    assert Clock(Mark(1e6, mark.monotonic - 60.0, mark.wall, mark.boot)).now() == pytest.approx(1e6 + 60.0, abs=5.0)


def test_a_step_of_the_wall_clock_is_not_seen(monkeypatch):
    clock = Clock()
    before = clock.mark()
    monkeypatch.setattr(time, "time", lambda: before.wall - 1e6)
    assert clock.now() >= before.now
    restarted = Clock(before)
    assert restarted.now() == pytest.approx(clock.now(), abs=1.0)


@pytest.mark.parametrize(("slept", "expected"), [(100.0, 1100.0), (-50.0, 1000.0)])
def test_over_a_start_of_the_machine_the_wall_clock_tells(slept, expected):
    """The wall clock may have been set back meanwhile; time does not go back."""
    mark = Mark(1000.0, time.monotonic() + 1e7, time.time() - slept, "another boot")
    assert Clock(mark).now() == pytest.approx(expected, abs=5.0)


def test_the_boot_has_a_name():
    assert boot_id() == boot_id()
