"""Limits before identity: whoever has not shown who it is takes nothing from those who have."""

from __future__ import annotations

import contextlib
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from penstock.live.client.link import ask_coordinator as ask
from penstock.live.server.admission import (
    FORGIVING_SECONDS,
    FREE_GUESSES,
    GUESSES_PER_SECOND,
    LONGEST_DELAY,
    MOST_HOSTS,
    MOST_WRONG,
    STRANGERS,
    Guesses,
)
from tests.live.server.running import ENOUGH, Raw, running, wait_until
from tests.live.server.serving import ROOT, environment

TOKEN = "a secret"


@pytest.fixture
def tcp(tmp_path):
    """Settings for a coordinator with a TCP port, and the address."""
    token = tmp_path / "token"
    token.write_text(TOKEN)
    token.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        where = probe.getsockname()
    return {"listen": f"{where[0]}:{where[1]}", "token_file": str(token)}, where


class TestConnections:
    def test_silent_connections_shut_nobody_out(self, tmp_path, tcp):
        values, where = tcp
        with running(tmp_path, max_applications_per_user=10, **values) as it, contextlib.ExitStack() as stack:
            honest = [stack.enter_context(Raw(where)) for _ in range(20)]  # more than a user's limit, with the token
            for peer in honest[:10]:
                peer.register(token=TOKEN)
            silent = [stack.enter_context(Raw(where)) for _ in range(STRANGERS + 40)]
            wait_until(lambda: it.state()["turned_away"] >= 40, "the oldest gave way")
            for peer in honest[:10]:
                peer.send("beat")
                peer.until("beat")
            with Raw(where) as late:
                assert late.register(token=TOKEN)["application"] > 0
            assert silent[0].until("error")["text"].startswith("too many connections say nothing")
            assert silent[0].receive() is None
            assert len(it.server.connections.peers) <= 10 + STRANGERS + 2

    def test_who_has_spoken_is_heard_before_it_gives_way(self, tmp_path, tcp):
        """The loop is busy while many connect: what they have sent is read before the oldest must go."""
        values, where = tcp
        with running(tmp_path, max_applications_per_user=10, **values) as it, contextlib.ExitStack() as stack:
            it.call(lambda: time.sleep(0.5))
            first = stack.enter_context(Raw(where))
            first.send("register", version=1, job="first", token=TOKEN)
            silent = [stack.enter_context(Raw(where)) for _ in range(2 * STRANGERS)]
            assert first.until("registered")["application"] == 1
            assert len(silent) > STRANGERS

    def test_refused_messages_of_a_stranger_slow_nobody_else_down(self, tmp_path, tcp):
        """The stranger uses up the messages of its host; an honest client of that host has its own."""
        values, where = tcp
        with running(tmp_path, message_rate=10_000, message_rate_per_user=90, **values) as it, Raw(where) as honest:
            honest.register(token=TOKEN)
            with contextlib.ExitStack() as stack:
                for _ in range(8):
                    stranger = stack.enter_context(Raw(where))
                    stranger.send_bytes(b"".join(b'{"type":"beat","seq":%d}\n' % seq for seq in range(1, 90)))
                wait_until(lambda: len(it.server.connections.slowed) == 7, "they are slowed down")
                for _ in range(20):
                    honest.send("beat")
                    assert honest.until("beat")["seq"] == honest.seq
                assert not any(peer.client is not None for peer in it.server.connections.slowed)

    def test_a_stranger_gains_nothing_by_connecting_again(self, tmp_path, tcp):
        """Each connection is heard once, and all of a host together as often as its messages allow."""
        values, where = tcp
        rate, count = 50, 30
        with running(tmp_path, message_rate_per_user=rate, **values) as it, contextlib.ExitStack() as stack:
            begun = time.monotonic()
            strangers = [stack.enter_context(Raw(where)) for _ in range(count)]
            for stranger in strangers:
                stranger.send_bytes(b"".join(b'{"type":"beat","seq":%d}\n' % seq for seq in range(1, 90)))
            assert [stranger.refused() for stranger in strangers] == ["unexpected"] * count
            refused = it.state()["refused_messages"]
            assert count <= refused <= rate * (1.0 + time.monotonic() - begun) + count
            with Raw(where) as honest:
                assert honest.register("honest", token=TOKEN)["application"] == 1


class TestTokens:
    def test_guesses_of_a_host_are_limited_over_all_its_connections(self, tmp_path, tcp):
        values, where = tcp
        with running(tmp_path, **values):
            begun, texts = time.monotonic(), []
            for guess in range(150):
                with Raw(where) as peer:
                    peer.send("register", version=1, job="guess", token=f"guess {guess}")
                    texts.append(peer.until("error")["text"])
                if len(texts) >= 60 and time.monotonic() - begun > 2.0:
                    break
            seconds = time.monotonic() - begun
            looked_at = sum("the token is not right" in text for text in texts)
            assert looked_at <= FREE_GUESSES + GUESSES_PER_SECOND * (seconds + 1.0 + LONGEST_DELAY) + 1
            assert looked_at < len(texts) or seconds > 60 / GUESSES_PER_SECOND - 2.0
            with Raw(where) as honest:  # of the same host, it waits a little at most
                assert honest.register("honest", token=TOKEN)["application"] == 1

    def test_the_memory_of_wrong_tokens(self):
        guesses = Guesses()
        for _ in range(FREE_GUESSES):
            assert guesses.delay("host", 0.0) == 0.0
            guesses.failed("host", 0.0)
        for _ in range(1000):
            guesses.failed("host", 0.0)
        burst = [guesses.delay("host", 0.0) for _ in range(int(GUESSES_PER_SECOND))]
        assert burst == [0.0] * int(GUESSES_PER_SECOND)
        waits = []
        while (wait := guesses.delay("host", 0.0)) is not None:
            waits.append(wait)
        assert waits == sorted(waits)
        assert len(waits) == LONGEST_DELAY * GUESSES_PER_SECOND
        assert guesses.delay("host", 0.0) is None  # and those that are refused cost the others nothing
        assert guesses.delay("another", 0.0) == 0.0
        assert guesses.delay("host", 1.0) == pytest.approx(waits[-1] + 0.1 - 1.0)
        assert guesses.delay("host", FORGIVING_SECONDS * MOST_WRONG) == 0.0

    def test_the_memory_has_an_end(self):
        guesses = Guesses()
        for host in range(2 * MOST_HOSTS):
            guesses.failed(str(host), 0.0)
        assert len(guesses._hosts) == MOST_HOSTS


def few_files():
    resource.setrlimit(resource.RLIMIT_NOFILE, (90, 90))


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100.0


def test_at_the_limit_of_files_the_operator_is_answered_and_nothing_spins(tmp_path, tcp):
    """A real process that may have 90 files: TCP clients with the token take all that there are."""
    values, where = tcp
    log = (tmp_path / "log").open("wb")
    options = ["--bandwidth", "1 MB/s", "--socket", str(tmp_path / "s"), "--journal", str(tmp_path / "j")]
    options += ["--listen", values["listen"], "--token-file", values["token_file"]]
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "penstock",
            "serve",
            *options,
            "--listen",
            values["listen"],
            "--token-file",
            values["token_file"],
        ],
        env=environment(),
        cwd=ROOT,
        stderr=log,
        preexec_fn=few_files,
    )
    try:
        wait_until((tmp_path / "s").exists, "it listens")
        wait_until(lambda: b"sharing" in (tmp_path / "log").read_bytes(), "it is ready")
        with contextlib.ExitStack() as stack:
            answers = []
            for _ in range(100):
                peer = stack.enter_context(Raw(where))
                with contextlib.suppress(OSError):
                    peer.send("register", version=1, job="job", token=TOKEN)
                answers.append(peer.receive())
            registered = [one for one in answers if one is not None and one["type"] == "registered"]
            refused = [one for one in answers if one is not None and one["type"] == "error"]
            assert registered
            assert len(registered) + len(refused) == len(answers)
            assert {one["text"] for one in refused} == {"too many connections are open; expected fewer"}
            before, begun = processor_seconds(process.pid), time.monotonic()
            time.sleep(1.0)
            assert processor_seconds(process.pid) - before < 0.5 * (time.monotonic() - begun)
            state = ask(tmp_path / "s", "state", timeout=ENOUGH)
            assert len(state["applications"]) == len(registered)
        assert (tmp_path / "log").read_bytes().count(b"\n") < 10
    finally:
        process.kill()
        process.wait()
        log.close()


def test_a_listener_that_gets_no_files_rests_and_says_so_once(tmp_path, caplog):
    """What the capacity does not foresee: the system itself has no file left."""
    with running(tmp_path) as it:
        listener = it.server.listener
        refusing = Refusing(listener._socket)
        it.call(lambda: setattr(listener, "_socket", refusing))
        with Raw(it.settings.socket) as peer:
            wait_until(lambda: refusing.calls >= 1, "it is tried")
            assert refusing.calls <= 3  # not all the time
            it.call(lambda: setattr(listener, "_socket", refusing.real))
            peer.register()
        assert caplog.text.count("cannot accept connections: Too many open files") == 1


class Refusing:
    """A listening socket whose `accept` fails."""

    def __init__(self, real):
        self.real = real
        self.calls = 0

    def fileno(self):
        return self.real.fileno()

    def accept(self):
        self.calls += 1
        raise OSError(24, "Too many open files")
