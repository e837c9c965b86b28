"""What has arrived counts: before a connection ends, while it is read slowly, and after the coordinator was stopped."""

from __future__ import annotations

import signal
import socket
import threading
import time

from tests.live.server.running import ENOUGH, MB, Raw, running, wait_until, with_peers
from tests.live.server.serving import Serving


def beats(first, stop):
    return b"".join(b'{"type":"beat","seq":%d}\n' % seq for seq in range(first, stop))


def last_words(first):
    return b'{"type":"release","seq":%d,"operation":1}\n{"type":"leave","seq":%d}\n' % (first, first + 1)


class TestLastWords:
    def test_of_many_that_close_without_reading_none_is_lost(self, tmp_path):
        """Every release changes the grants of the others, which are gone by then: writing to them fails."""
        count = 200
        with running(tmp_path, lease=1000.0) as it:
            peers = [Raw(it.settings.socket) for _ in range(count)]
            for number, peer in enumerate(peers):
                peer.register(f"job {number}")
                peer.send("inform", operation=1, volume=1e12)
            wait_until(lambda: all(one["pending"] for one in it.state()["applications"]), "all have announced")
            for peer in peers:
                peer.send_bytes(last_words(3))
                peer.close()
            wait_until(lambda: it.state()["applications"] == [], "all have left")
            state = it.state()
            assert (state["completed"], state["granted"], state["refused_messages"]) == (count, 0.0, 0)

    def test_over_tcp_too(self, tmp_path):
        token = tmp_path / "token"
        token.write_text("secret")
        token.chmod(0o600)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        with running(tmp_path, lease=1000.0, listen=f"127.0.0.1:{port}", token_file=str(token)) as it:
            peers = [Raw(("127.0.0.1", port)) for _ in range(50)]
            for peer in peers:
                peer.register(token="secret")
                peer.send("inform", operation=1, volume=1e12)
            wait_until(lambda: all(one["pending"] for one in it.state()["applications"]), "all have announced")
            for peer in peers:
                peer.send_bytes(last_words(3))
                peer.close()
            wait_until(lambda: it.state()["applications"] == [], "all have left")
            assert it.state()["completed"] == 50

    def test_of_one_that_is_read_slowly(self, tmp_path):
        """It has sent its last words and is gone long before they are read."""
        with running(tmp_path, lease=1000.0, message_rate=40) as it:
            peer = Raw(it.settings.socket)
            peer.register()
            peer.send("inform", operation=1, volume=1e12)
            peer.until("grant")
            peer.send_bytes(beats(3, 60))
            wait_until(lambda: it.server.connections.slowed, "it is slowed down")
            peer.send_bytes(last_words(60))
            peer.close()
            wait_until(lambda: it.state()["applications"] == [], "it has left")
            state = it.state()
            assert (state["completed"], state["granted"], state["cut_off"]) == (1, 0.0, 0)

    def test_who_only_stops_sending_still_gets_its_answer(self, tmp_path):
        with with_peers(tmp_path, 1) as (_it, peer):
            peer.register()
            peer.send("leave")
            peer.connection.shutdown(1)
            assert peer.until("left")["seq"] == 2
            assert peer.receive() is None


def test_a_burst_costs_no_lease(tmp_path):
    """6,000 beats at 1,000 a second are read with pauses of more than a lease; each is answered, and nobody is forgotten."""
    count = 6_000
    last = b'{"type":"inform","seq":%d,"operation":1,"volume":1e12}\n' % (count + 2)
    with with_peers(tmp_path, 1, lease=1.0, message_rate=1_000) as (it, peer):
        peer.register()
        sender = threading.Thread(target=peer.send_bytes, args=[beats(2, count + 2) + last])
        sender.start()
        answers = [peer.receive() for _ in range(count + 1)]
        sender.join()
        assert [one.get("seq") for one in answers[:-1]] == list(range(2, count + 2))
        assert answers[-1] == {"type": "grant", "operation": 1, "number": 1, "rate": 100 * MB}
        assert it.state()["cut_off"] == 0


class TestStopped:
    def test_what_arrived_meanwhile_is_read_before_leases_are_judged(self, tmp_path):
        """A real SIGSTOP longer than a lease; the client gives its signs of life all along."""
        with Serving(tmp_path, "--bandwidth", "100 MB/s", "--policy", "fcfs", "--lease", "2 s") as serving:
            with Raw(str(serving.socket)) as one, Raw(str(serving.socket)) as two:
                for peer in (one, two):
                    peer.register()
                    peer.send("inform", operation=1, volume=1e12)
                    peer.until("grant")
                serving.process.send_signal(signal.SIGSTOP)
                for _ in range(16):
                    time.sleep(0.2)
                    one.send("beat")
                    two.send("beat")
                one.send("release", operation=1, moved=5e6)
                two.send("report", operation=1, moved=0.0)
                serving.process.send_signal(signal.SIGCONT)
                two.connection.settimeout(0.1)
                wait_until(lambda: granted(two) == 100 * MB, "two has its turn")
                one.send("leave")
                assert one.until("left")["seq"] == one.seq
                state = serving.state()
                assert (state["completed"], [a["state"] for a in state["applications"]]) == (1, ["transferring"])
            assert "did not run for" in serving.log.read_text()

    def test_nobody_is_sent_away_for_a_lease_and_then_whoever_is_silent(self, tmp_path):
        with with_peers(tmp_path, 1, lease=1000.0) as (it, peer):
            peer.register()
            server = it.server
            asked = threading.Event()

            def stop_for(seconds, *, unnoticed):
                """Let the clock jump, as it does for a process that was stopped."""
                server.clock._offset += seconds
                if unnoticed:
                    server._awake_at += seconds
                server._wake()
                asked.set()

            it.call(lambda: stop_for(5000.0, unnoticed=False))
            assert asked.wait(ENOUGH)
            peer.send("beat")
            peer.until("beat")
            assert it.state()["applications"][0]["state"] == "working"
            it.call(lambda: stop_for(1001.0, unnoticed=True))
            assert "no sign of life for 1000 s" in peer.until("forgotten")["reason"]


def granted(peer):
    """The rate that a peer is told next; it gives a sign of life if there is none."""
    try:
        return peer.until("grant")["rate"]
    except TimeoutError:
        peer._stream = peer.connection.makefile("rb")
        peer.send("beat")
        return None
