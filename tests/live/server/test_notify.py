"""A word to systemd, on a real socket of its kind."""

from __future__ import annotations

import os
import socket

import pytest

from penstock.live.server.listening import notify, watchdog_seconds


@pytest.mark.parametrize("abstract", [False, True])
def test_it_is_heard(tmp_path, abstract):
    path = f"@penstock-test-{os.getpid()}" if abstract else str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind("\0" + path[1:] if abstract else path)
        systemd.settimeout(5.0)
        assert notify("READY=1", {"NOTIFY_SOCKET": path})
        assert systemd.recv(100) == b"READY=1"


def test_where_nobody_listens_nothing_happens(tmp_path):
    assert not notify("READY=1", {})
    assert not notify("READY=1", {"NOTIFY_SOCKET": str(tmp_path / "gone")})
    assert not notify("READY=1", {"NOTIFY_SOCKET": "vsock:1"})


def test_the_watchdog():
    mine = str(os.getpid())
    assert watchdog_seconds({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": mine}) == 3.0
    assert watchdog_seconds({"WATCHDOG_USEC": "3000000"}) == 3.0
    assert watchdog_seconds({"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"}) == 0.0
    assert watchdog_seconds({}) == 0.0
