"""Metrics and the state over HTTP, from a real server with real connections."""

from __future__ import annotations

import json
import socket
import urllib.error
import urllib.request

import pytest

from penstock.model import InputError
from tests.live.server.running import Raw, running


@pytest.fixture
def address():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return f"127.0.0.1:{probe.getsockname()[1]}"


def get(address, path):
    with urllib.request.urlopen(f"http://{address}{path}", timeout=20) as answer:
        return answer.headers["content-type"], answer.read().decode()


def metrics(address):
    kind, text = get(address, "/metrics")
    assert kind.startswith("text/plain; version=0.0.4")
    return {line.rsplit(" ", 1)[0]: float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if not line.startswith("#")}


def test_state_and_metrics(tmp_path, address):
    with running(tmp_path, http=address) as it, Raw(it.settings.socket) as one, Raw(it.settings.socket) as two:
        one.register("one")
        one.send("inform", operation=1, volume=1e12)
        one.until("grant")
        two.register("two")
        kind, text = get(address, "/state")
        state = json.loads(text)
        assert kind == "application/json"
        assert {a["job"]: a["state"] for a in state["applications"]} == {"one": "transferring", "two": "working"}
        found = metrics(address)
        assert found['penstock_applications{state="transferring"}'] == 1.0
        assert found["penstock_granted_bytes_per_second"] == found["penstock_bandwidth_bytes_per_second"] == 1e8
        assert found['penstock_messages_total{kind="register"}'] == 2.0
        assert get(address, "/healthz")[1] == "ok\n"
        with pytest.raises(urllib.error.HTTPError, match="404"):
            get(address, "/etc/passwd")


def test_the_number_of_series_does_not_grow_with_applications(tmp_path, address):
    with running(tmp_path, http=address) as it:
        peers = [Raw(it.settings.socket) for _ in range(2)]
        for number, peer in enumerate(peers):
            peer.register(f"first {number}")
        before = set(metrics(address))
        more = [Raw(it.settings.socket) for _ in range(40)]
        for number, peer in enumerate(more):
            peer.register(f"more {number}", user=f"user {number}")
        assert set(metrics(address)) == before
        for peer in (*peers, *more):
            peer.close()


def test_a_port_that_is_taken_is_one_line(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        message = f"http {where}: cannot be listened on: Address already in use"
        with pytest.raises(InputError, match=message), running(tmp_path, http=where):
            pass
