"""The server, over real sockets: what peers may do, what they may not, and what outlives them."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import sqlite3
import time
from dataclasses import replace

import pytest

from penstock.live.client.errors import AddressError
from penstock.live.server import journal
from penstock.live.server.server import Server
from penstock.model import InputError
from tests.live.server.running import ENOUGH, MB, Raw, Running, running, settings, wait_until, with_peers


def only(state):
    (one,) = state["applications"]
    return one


class TestOperations:
    def test_one_application_alone_gets_all_it_can_use(self, tmp_path):
        with with_peers(tmp_path, 1) as (it, peer):
            answer = peer.register("solver", nodes=4, bandwidth=40 * MB)
            assert (answer["application"], answer["lease"], answer["policy"]) == (1, 10.0, "fair-share")
            peer.send("inform", operation=1, volume=1e12, rounds=10)
            assert peer.until("grant") == {"type": "grant", "operation": 1, "number": 1, "rate": 40 * MB}
            peer.send("report", operation=1, moved=5e11)
            peer.send("release", operation=1)
            peer.send("leave")
            peer.until("left")
            assert peer.receive() is None
            assert it.state()["applications"] == []
            assert it.state()["completed"] == 1

    def test_a_newcomer_gets_its_share_only_when_it_is_yielded(self, tmp_path):
        with with_peers(tmp_path, 2) as (it, first, second):
            first.register("first")
            second.register("second")
            first.send("inform", operation=1, volume=1e12)
            assert first.until("grant")["rate"] == 100 * MB
            second.send("inform", operation=1, volume=1e12)
            assert second.until("grant")["rate"] == 0.0  # nothing is free yet
            lower = first.until("grant")
            assert lower["rate"] == 50 * MB
            assert it.state()["granted"] == 100 * MB
            first.send("yielded", grant=lower["number"])
            assert second.until("grant")["rate"] == 50 * MB
            assert it.state()["granted"] == 100 * MB
            second.send("release", operation=1)
            assert first.until("grant")["rate"] == 100 * MB

    def test_exclusive_access_waits_for_the_round_to_end(self, tmp_path):
        """first has a cap below B: what it leaves idle is not for second while first still writes."""
        with with_peers(tmp_path, 2, policy="fifo") as (it, first, second):
            first.register("first", bandwidth=30 * MB)
            second.register("second", bandwidth=30 * MB)
            first.send("inform", operation=1, volume=1e12)
            assert first.until("grant")["rate"] == 30 * MB
            second.send("inform", operation=1, volume=1e3)
            assert second.until("grant")["rate"] == 0.0  # not preempted: 001's operations run to their end
            it.ask("policy", "greedy-com")
            assert second.until("grant")["rate"] == 30 * MB

    def test_the_policy_can_change_while_it_runs(self, tmp_path):
        with with_peers(tmp_path, 2) as (it, first, second):
            for peer, name in ((first, "first"), (second, "second")):
                peer.register(name)
                peer.send("inform", operation=1, volume=1e12)
            first.until("grant")
            first.send("yielded", grant=first.until("grant")["number"])
            while second.until("grant")["rate"] != 50 * MB:
                pass
            assert it.ask("policy", "fcfs") == {"policy": "fcfs", "fault": None}
            lower = second.until("grant")
            assert lower["rate"] == 0.0
            second.send("yielded", grant=lower["number"])
            assert first.until("grant")["rate"] == 100 * MB

    def test_a_policy_that_needs_to_know_what_comes_is_refused(self, tmp_path):
        with running(tmp_path) as it:
            with pytest.raises(Exception, match="it plans for applications known ahead; expected a workload file"):
                it.ask("policy", "periodic-johnson")
            with pytest.raises(Exception, match="policy nobody: unknown; expected one of fair-share"):
                it.ask("policy", "nobody")
            assert it.ask("policy")["policy"] == "fair-share"

    def test_a_policy_of_ones_own_that_fails_is_replaced(self, tmp_path):
        mine = tmp_path / "mine.py"
        mine.write_text(
            "def greedy(view, rates):\n    for i in range(len(rates)):\n        rates[i] = 2.0 * view.bandwidth\n"
        )
        with with_peers(tmp_path, 1, policy=f"{mine}:greedy") as (it, peer):
            peer.register()
            peer.send("inform", operation=1, volume=1e12)
            assert peer.until("grant")["rate"] == 100 * MB
            state = it.state()
            assert state["policy"] == "fair-share"
            assert "going on with fair-share" in state["fault"]


class TestSafety:
    def test_nobody_speaks_before_it_is_known(self, tmp_path):
        with with_peers(tmp_path, 1) as (it, peer):
            peer.send("inform", operation=1, volume=1e9)
            assert peer.refused() == "unexpected"
            peer.send("beat")
            assert peer.refused() == "unexpected"
            assert it.state()["applications"] == []

    def test_one_application_cannot_speak_for_another(self, tmp_path):
        with with_peers(tmp_path, 2) as (it, victim, thief):
            number = victim.register("victim")["application"]
            for key in ("", "0" * 32, "x"):
                thief.send("join", version=1, application=number, key=key)
                assert thief.refused() == "unknown"
            thief.register("thief")
            thief.send("join", version=1, application=number, key="")
            assert thief.refused() == "unexpected"
            victim.send("inform", operation=1, volume=1e9)
            assert victim.until("grant")["rate"] == 100 * MB
            thief.send("release", operation=1)
            assert thief.refused() == "unexpected"
            assert next(a for a in it.state()["applications"] if a["job"] == "victim")["state"] == "transferring"

    def test_replayed_and_disordered_messages_change_nothing(self, tmp_path):
        with with_peers(tmp_path, 1) as (it, peer):
            peer.register()
            peer.send("inform", operation=3, volume=1e9)
            peer.until("grant")
            before = only(it.state())["pending"]["operation"]
            peer.send_bytes(b'{"type":"release","seq":2,"operation":3}\n')
            assert peer.refused() == "out-of-order"
            peer.send("inform", operation=2, volume=1e9)
            assert peer.refused() == "out-of-order"
            peer.send("yielded", grant=77)
            assert peer.refused() == "invalid"
            peer.send("report", operation=9, moved=1.0)
            assert peer.refused() == "unexpected"
            assert only(it.state())["pending"]["operation"] == before == 3

    @pytest.mark.parametrize(
        "line",
        [
            *(b"", b"{}", b"[]", b"nonsense", b"\xff\xfe", b'{"type":"inform"}', b'{"type":"grant","rate":1}', b"[" * 9000),
            b'{"type":"inform","seq":2,"operation":1,"volume":-1}',
            b'{"type":"inform","seq":2,"operation":1,"volume":1e400}',
        ],
    )
    def test_what_is_no_message_gets_an_error(self, tmp_path, line):
        with with_peers(tmp_path, 1) as (_it, peer):
            peer.register()
            peer.send_bytes(line + b"\n")
            error = peer.until("error")
            assert error["code"] == "malformed"
            # Where the number can be read, the error carries it and it is used up.
            assert error.get("seq", 0) == (2 if b'"seq":2' in line else 0)
            peer.seq = max(peer.seq, error.get("seq", 0))
            peer.send("beat")
            assert peer.until("beat")["seq"] == peer.seq

    def test_the_number_of_a_malformed_message_is_used_up(self, tmp_path):
        with with_peers(tmp_path, 1) as (_it, peer):
            peer.register()
            peer.send_bytes(b'{"type":"beat","seq":7,"seq":"x"}\n{"type":"dance","seq":9}\n')
            assert peer.until("error").get("seq", 0) == 0
            assert peer.until("error")["seq"] == 9
            peer.send("beat")
            assert (peer.until("error")["code"], peer.seq) == ("out-of-order", 2)

    def test_too_long_a_message_ends_the_connection(self, tmp_path):
        with with_peers(tmp_path, 1) as (it, peer):
            peer.register()
            peer.send_bytes(b'{"type":"beat","seq":2,"pad":"' + b"x" * 20_000)
            assert peer.refused() == "oversized"
            assert peer.receive() is None
            wait_until(lambda: only(it.state())["state"] == "away", "it is away")

    def test_other_versions_are_refused(self, tmp_path):
        with with_peers(tmp_path, 1) as (_it, peer):
            peer.send("register", version=99, job="newer")
            assert peer.refused() == "version"

    def test_who_does_not_read_is_cut_off(self, tmp_path):
        with with_peers(tmp_path, 1, message_rate=10**6, message_rate_per_user=10**6) as (it, peer):
            peer.register()
            peer.connection.settimeout(0.5)
            with pytest.raises((TimeoutError, ConnectionError)):
                peer.send_bytes(b"".join(b'{"type":"beat","seq":%d}\n' % seq for seq in range(2, 10**6)))
            wait_until(lambda: it.state()["cut_off"] == 1, "it is cut off")

    def test_who_sends_too_fast_is_slowed_down_and_loses_nothing(self, tmp_path):
        with with_peers(tmp_path, 1, message_rate=50) as (_it, peer):
            peer.register()
            begun = time.monotonic()
            peer.send_bytes(b"".join(b'{"type":"beat","seq":%d}\n' % seq for seq in range(2, 152)))
            peer.seq = 151
            peer.until("beat")
            peer.send("beat")
            for _ in range(150):
                peer.until("beat")
            assert time.monotonic() - begun >= (150 - 50) / 50 - 0.1

    def test_no_user_can_have_all_the_places(self, tmp_path):
        with with_peers(tmp_path, 3, max_applications_per_user=2) as (it, one, two, three):
            one.register("one")
            two.register("two")
            three.send("register", version=1, job="three")
            assert three.refused() == "too-many"
            two.close()
            wait_until(lambda: [a["state"] for a in it.state()["applications"]].count("away") == 1, "two is away")
            three.register("three")
            assert [a["job"] for a in it.state()["applications"]] == ["one", "three"]

    def test_tcp_needs_the_token(self, tmp_path):
        token = tmp_path / "token"
        token.write_text("a secret\n")
        token.chmod(0o644)
        with pytest.raises(AddressError, match="others may use it"):
            Server(settings(tmp_path, token_file=str(token)))
        token.chmod(0o600)
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        with running(tmp_path, listen=f"127.0.0.1:{port}", token_file=str(token)) as it:
            with Raw(("127.0.0.1", port)) as peer:
                for wrong in ("", "a secre", "a secret "):
                    peer.send("register", version=1, job="far", token=wrong)
                    assert peer.refused() == "denied"
                peer.send("control", version=1, command="stop")
                assert peer.refused() == "denied"
                peer.register("far", token="a secret")
            assert only(it.state())["uid"] == -1

    def test_tcp_without_a_token_is_not_offered(self, tmp_path):
        with pytest.raises(InputError, match="over TCP the token says who may come"):
            Server(settings(tmp_path, listen="127.0.0.1:7000"))

    @pytest.mark.parametrize("name", ["a\x1b[2J", "\0", "two\nlines", "\u202e"])
    def test_names_that_terminals_obey_are_refused(self, tmp_path, name):
        with with_peers(tmp_path, 1) as (it, peer):
            for fields in ({"job": name}, {"job": "fine", "user": name}):
                peer.send("register", version=1, **fields)
                assert peer.refused() == "invalid"
            assert it.state()["applications"] == []

    def test_who_is_refused_drives_nobody_out(self, tmp_path):
        with with_peers(tmp_path, 2, max_applications_per_user=1) as (it, first, second):
            first.register("first")
            first.close()
            wait_until(lambda: only(it.state())["state"] == "away", "it is away")
            second.send("register", version=1, job="second", bandwidth=0.0)
            assert second.refused() == "invalid"
            assert only(it.state())["job"] == "first"

    def test_who_errs_too_often_and_does_not_read_is_gone_soon(self, tmp_path):
        with with_peers(tmp_path, 1, message_rate=10**6) as (it, peer):
            peer.register()
            peer.send_bytes(b"".join(b'{"type":"beat","seq":%d}\n' % seq for seq in range(2, 1500)))
            peer.send_bytes(b"nonsense\n" * 100)
            wait_until(lambda: only(it.state())["state"] == "away", "it is cut off")
            wait_until(lambda: len(it.server.connections.peers) == 1, "only who asks is connected")

    def test_an_unknown_command_is_refused(self, tmp_path):
        with running(tmp_path) as it, pytest.raises(Exception, match="unknown command 'dance'; expected one of state"):
            it.ask("dance")


class TestLeases:
    def test_the_turn_of_a_dead_application_goes_on_after_its_lease(self, tmp_path):
        with with_peers(tmp_path, 1, policy="fcfs", lease=0.5) as (it, next_one):
            dead = Raw(it.settings.socket)
            dead.register("dead")
            dead.send("inform", operation=1, volume=1e12)
            assert dead.until("grant")["rate"] == 100 * MB
            next_one.register("next")
            next_one.send("inform", operation=1, volume=1e9)
            assert next_one.until("grant")["rate"] == 0.0
            dead.close()
            next_one.connection.settimeout(0.1)
            while True:  # a living application gives signs of life
                next_one.send("beat")
                try:
                    message = next_one.until("grant")
                    break
                except TimeoutError:
                    next_one._stream = next_one.connection.makefile("rb")
            assert message["rate"] == 100 * MB

    def test_an_application_that_never_yields_loses_its_place(self, tmp_path):
        with with_peers(tmp_path, 2, lease=0.4) as (_it, stubborn, other):
            stubborn.register("stubborn")
            stubborn.send("inform", operation=1, volume=1e12, rounds=1000)
            stubborn.until("grant")
            other.register("other")
            other.send("inform", operation=1, volume=1e12)
            rates = []
            deadline = time.monotonic() + ENOUGH
            while 100 * MB not in rates and time.monotonic() < deadline:
                for peer in (stubborn, other):
                    with contextlib.suppress(OSError):  # the stubborn one is cut off in the end
                        peer.send("beat")
                message = other.receive()
                if message["type"] == "grant":
                    rates.append(message["rate"])
            assert 100 * MB in rates
            assert "did not keep to grant 2" in stubborn.until("forgotten")["reason"]

    def test_silence_is_told(self, tmp_path):
        with with_peers(tmp_path, 1, lease=0.3) as (it, peer):
            peer.register()
            assert "no sign of life for 0.3 s" in peer.until("forgotten")["reason"]
            assert only(it.state())["state"] == "away"

    def test_books_are_kept_for_a_while(self, tmp_path):
        with with_peers(tmp_path, 1, lease=0.2, keep=0.2) as (it, peer):
            peer.register()
            peer.until("forgotten")
            wait_until(lambda: it.state()["applications"] == [], "its books are gone")


class TestRestart:
    def test_it_knows_its_applications_and_what_they_may_be_using(self, tmp_path):
        with running(tmp_path, max_elapsed_claim=math.inf) as it:
            first = Raw(it.settings.socket)
            known = first.register("first", nodes=3, elapsed=1000.0, progress=600.0)
            first.send("inform", operation=1, volume=1e12)
            first.until("grant")
            first.send("report", operation=1, moved=4e7)
            it.ask("policy", "fcfs")
            wait_until(lambda: only(it.state())["pending"]["moved"] >= 4e7, "the report is entered")
            before = only(it.state())
        first.close()
        with with_peers(tmp_path, 2) as (it, back, new):
            state = it.state()
            after = only(state)
            assert state["policy"] == "fcfs"
            assert after["state"] == "away"
            assert after["yield"] == pytest.approx(before["yield"], rel=0.02)
            assert after["pending"]["moved"] >= 4e7
            assert after["elapsed"] >= before["elapsed"]
            new.register("new")
            new.send("inform", operation=1, volume=1e9)
            assert new.until("grant")["rate"] == 0.0  # first may still be using it all
            back.send("join", version=1, application=known["application"], key=known["key"], operation=1)
            assert back.until("registered")["application"] == known["application"]
            back.send("inform", operation=1, volume=1e12, moved=5e7)
            assert back.until("grant")["rate"] == 100 * MB
            back.send("release", operation=1)
            assert new.until("grant")["rate"] == 100 * MB

    def test_an_operation_that_ended_meanwhile_is_over(self, tmp_path):
        with running(tmp_path) as it:
            peer = Raw(it.settings.socket)
            known = peer.register()
            peer.send("inform", operation=1, volume=1e9)
            peer.until("grant")
            peer.close()
            with Raw(it.settings.socket) as back:
                back.send("join", version=1, application=known["application"], key=known["key"])
                back.until("registered")
                state = it.state()
                assert (state["granted"], only(state)["operations"], only(state)["state"]) == (0.0, 1, "working")

    def test_two_coordinators_cannot_have_one_journal(self, tmp_path):
        with (
            running(tmp_path),
            pytest.raises(InputError, match=rf"another coordinator \(pid {os.getpid()}\) uses this journal"),
        ):
            Running(settings(tmp_path)).__enter__()

    def test_a_file_that_is_no_journal_is_refused(self, tmp_path):
        (tmp_path / "journal").write_text("not a database, but long enough to be taken for one" * 40)
        with pytest.raises(InputError, match="cannot be used as a journal"), running(tmp_path):
            pass

    def test_a_journal_of_another_format_is_refused(self, tmp_path):
        with sqlite3.connect(tmp_path / "journal") as database:
            database.execute("PRAGMA user_version=9")
        database.close()
        with pytest.raises(InputError, match="its format is 9, not 2"), running(tmp_path):
            pass

    def test_the_journal_and_its_socket_are_private(self, tmp_path):
        with running(tmp_path):
            for name in ("journal", "journal-wal", "journal.lock"):
                assert (tmp_path / name).stat().st_mode & 0o077 == 0
        assert not (tmp_path / "socket").exists()

    def test_who_had_lost_its_place_has_none_after_a_restart(self, tmp_path):
        with with_peers(tmp_path, 1, lease=0.3) as (_it, peer):
            peer.register("silent")
            peer.send("inform", operation=1, volume=1e12)
            peer.until("forgotten")
        with with_peers(tmp_path, 1, policy="fcfs") as (_it, peer):
            peer.register("next")
            peer.send("inform", operation=1, volume=1e9)
            assert peer.until("grant")["rate"] == 100 * MB

    def test_a_policy_that_failed_is_tried_again(self, tmp_path):
        mine = tmp_path / "mine.py"
        mine.write_text(
            "def greedy(view, rates):\n    for i in range(len(rates)):\n        rates[i] = 2.0 * view.bandwidth\n"
        )
        for _ in range(2):
            with with_peers(tmp_path, 1, policy=f"{mine}:greedy") as (it, peer):
                peer.register()
                peer.send("inform", operation=1, volume=1e12)
                assert peer.until("grant")["rate"] == 100 * MB
                assert "going on with fair-share" in it.state()["fault"]
                peer.send("leave")
                peer.until("left")

    def test_a_policy_that_cannot_be_had_any_more_gives_way(self, tmp_path):
        mine = tmp_path / "mine.py"
        mine.write_text("def nothing(view, rates):\n    for i in range(len(rates)):\n        rates[i] = 0.0\n")
        with running(tmp_path) as it:
            assert it.ask("policy", f"{mine}:nothing")["policy"].endswith("nothing")
        mine.unlink()
        with running(tmp_path) as it:
            assert it.ask("policy")["policy"] == "fair-share"

    def test_the_log_of_the_journal_is_folded_while_it_is_written(self, tmp_path, monkeypatch):
        monkeypatch.setattr(journal, "FOLD_SECONDS", 0.02)
        monkeypatch.setattr(journal, "FOLD_BYTES", 100_000)
        log, sizes = tmp_path / "journal-wal", []
        with with_peers(tmp_path, 1, message_rate=10**6) as (_it, peer):
            peer.register()
            deadline = time.monotonic() + ENOUGH
            while not (sizes and max(sizes) > log.stat().st_size) and time.monotonic() < deadline:
                sizes.append(log.stat().st_size)
                peer.send("inform", operation=len(sizes), volume=1e9)
                peer.until("grant")
                peer.send("release", operation=len(sizes))
            assert max(sizes) > log.stat().st_size


class TestSocket:
    def test_it_is_not_taken_from_a_coordinator_that_lives(self, tmp_path):
        with running(tmp_path) as it:
            other = settings(tmp_path, bandwidth=1.0)
            with pytest.raises(InputError, match=rf"another coordinator \(pid {os.getpid()}\) listens there"):
                Running(replace(other, journal=str(tmp_path / "other"))).__enter__()
            assert it.state()["bandwidth"] == 100 * MB

    def test_one_that_is_left_over_is_replaced(self, tmp_path):
        with socket.socket(socket.AF_UNIX) as dead:
            dead.bind(str(tmp_path / "socket"))
        with running(tmp_path) as it:
            assert it.state()["applications"] == []

    def test_one_that_is_another_by_now_is_left_alone(self, tmp_path):
        with running(tmp_path):
            (tmp_path / "socket").unlink()
            (tmp_path / "socket").write_text("somebody else's")
        assert (tmp_path / "socket").read_text() == "somebody else's"
