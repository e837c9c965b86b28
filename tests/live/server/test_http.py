"""Metrics and the state over HTTP, from a real server with real connections."""

from __future__ import annotations

import json
import socket
import threading
import urllib.error
import urllib.request

import pytest

from penstock.live.server import http
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


def raw_get(address, path, host):
    """The answer to a request with this Host header."""
    name, port = address.rsplit(":", 1)
    with socket.create_connection((name, int(port)), timeout=20) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        return connection.makefile("rb").read().decode()


def test_only_expected_hosts_are_answered(tmp_path, address):
    port = address.rsplit(":", 1)[1]
    with running(tmp_path, http=address, http_hosts="io.example.org, Login1"):
        for host in (address, f"localhost:{port}", "localhost", f"[::1]:{port}", "login1:80", "IO.example.org"):
            assert raw_get(address, "/state", host).startswith("HTTP/1.1 200"), host
        for path in ("/state", "/metrics", "/", "/healthz"):
            answer = raw_get(address, path, "evil.example.org")
            assert answer.startswith("HTTP/1.1 421"), path
        assert "'evil.example.org' is not a name of this coordinator; expected one of 127.0.0.1, ::1, io." in answer


@pytest.mark.parametrize("users", [False, True])
def test_users_are_shown_only_where_the_settings_say_so(tmp_path, address, users):
    with running(tmp_path, http=address, http_users=users) as it, Raw(it.settings.socket) as peer:
        peer.register("job", user="somebody")
        (one,) = json.loads(get(address, "/state")[1])["applications"]
        assert ("user" in one, "uid" in one, one["job"]) == (users, users, "job")
        assert it.state()["applications"][0]["user"] == "somebody"


def test_connections_that_ask_nothing_are_closed(tmp_path, address, monkeypatch):
    """Silent ones, ones with half a request, and ones that stay after their answer."""
    monkeypatch.setattr(http, "IDLE_SECONDS", 0.2)
    name, port = address.rsplit(":", 1)
    whole = f"GET /healthz HTTP/1.1\r\nHost: {address}\r\n\r\n".encode()
    with running(tmp_path, http=address):
        for said in (b"", whole[:-2], whole, whole + b"G"):
            with socket.create_connection((name, int(port)), timeout=20) as connection:
                connection.sendall(said)
                answer = b""
                try:
                    while data := connection.recv(4096):
                        answer += data
                except ConnectionResetError:
                    pass
                assert answer.endswith(b"ok\n") == said.startswith(whole)


def test_many_readers_share_a_snapshot(tmp_path, address, monkeypatch):
    """Readers are served by a thread of their own, and cost the deciding loop one snapshot."""
    monkeypatch.setattr(http, "FRESH_SECONDS", 1000.0)
    with running(tmp_path, http=address) as it:
        threads = [thread.name for thread in threading.enumerate()]
        first = json.loads(get(address, "/state")[1])
        with Raw(it.settings.socket) as peer:
            peer.register()
            assert json.loads(get(address, "/state")[1]) == first
            assert len(it.state()["applications"]) == 1
    assert "penstock-http" in threads
