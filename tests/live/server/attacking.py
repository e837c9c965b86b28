"""Attacks on a `penstock serve` in a process of its own, each a function that gets a folder and says what happened.

An attack fails with an AssertionError if the coordinator does not keep its promise. Orders, bytes, rates and counts are
asserted; the times that it tells are those of this machine now. `tests.live.server.attacks` has the promises.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from penstock.live.server.admission import FREE_GUESSES, GUESSES_PER_SECOND, LONGEST_DELAY
from penstock.live.server.http import FRESH_SECONDS
from tests.live.server.running import ENOUGH, MB, Raw, wait_until
from tests.live.server.serving import ROOT, Serving, environment

B = 100 * MB
TOKEN = "a secret"
GONE_UNREAD, BURST, SILENT, GUESSED, IDENTITIES = 200, 20_000, 300, 150, 9
APPLICATION = """
import sys, time
from penstock.client import Job
data, begun = bytes(1_000_000), time.monotonic()
with Job("program") as job, open(sys.argv[1], "wb") as file:
    with job.io(len(data), rounds=10) as io:
        io.write(file, data)
    print(time.monotonic() - begun, job.state.coordinated)
"""
SAVING = """
import sys, numpy
from penstock.client import Job
with Job("program") as job:
    with job.io(8_000_128):
        numpy.save(sys.argv[1], numpy.arange(1_000_000))
"""


@contextlib.contextmanager
def site(folder: Path, *options: str, peers: int = 0) -> Iterator[tuple[Any, ...]]:
    """A coordinator with B and these options, and so many peers at its Unix socket."""
    with Serving(folder, "--bandwidth", "100 MB/s", *options) as it, contextlib.ExitStack() as stack:
        yield it, *[stack.enter_context(Raw(str(it.socket))) for _ in range(peers)]


def with_token(folder: Path) -> tuple[tuple[str, int], list[str]]:
    """A free TCP address, and the options of a coordinator that listens there."""
    token = folder / "token"
    token.touch(mode=0o600)
    token.write_text(TOKEN)
    host, port = free_address()
    return (host, port), ["--listen", f"{host}:{port}", "--token-file", str(token)]


def free_address() -> tuple[str, int]:
    """One that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        host, port = probe.getsockname()
    return host, port


def application(program: str, file: Path, **variables: str) -> subprocess.Popen[str]:
    """An application in a process of its own."""
    command = [sys.executable, "-c", program, str(file)]
    return subprocess.Popen(command, env=environment(**variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def penstock(*arguments: str) -> dict[str, Any]:
    """What a command prints as JSON."""
    command = [sys.executable, "-m", "penstock", *arguments, "--json"]
    found: dict[str, Any] = json.loads(
        subprocess.run(command, cwd=ROOT, env=environment(), check=True, capture_output=True, text=True).stdout
    )
    return found


def by_job(it: Serving) -> dict[str, dict[str, Any]]:
    """The applications that the coordinator knows."""
    return {one["job"]: one for one in it.state()["applications"]}


# Hangs


def last_words(folder: Path) -> str:
    """Release, leave and close, without having read one of the grants."""
    with site(folder, "--lease", "1000 s", peers=GONE_UNREAD) as (it, *peers):
        for number, peer in enumerate(peers):
            peer.register(f"job {number}", version=2)
            peer.send("inform", operation=1, volume=1e12)
        wait_until(lambda: all(one["pending"] for one in it.state()["applications"]), "all have announced")
        for peer in peers:
            peer.send("release", operation=1)
            peer.send("leave")
            peer.close()
        wait_until(lambda: it.state()["applications"] == [], "all have left")
        state = it.state()
    assert (state["completed"], state["granted"], state["refused_messages"]) == (GONE_UNREAD, 0.0, 0)
    return f"{state['completed']} of {GONE_UNREAD} releases counted, nobody is left, 0 bytes/s are granted"


def burst_of_beats(folder: Path) -> str:
    """More beats at once than are read in several leases."""
    beats = b"".join(b'{"type":"beat","seq":%d}\n' % seq for seq in range(4, BURST + 4))
    with site(folder, "--lease", "1 s", "--message-rate", "2000", peers=1) as (it, peer):
        peer.register(version=2)
        peer.send("inform", operation=1, volume=1e12)
        peer.granted(B)
        sender = threading.Thread(target=peer.send_bytes, args=[beats])
        sender.start()
        answers = [peer.receive() for _ in range(BURST)]
        sender.join()
        (one,) = it.state()["applications"]
    assert [answer["seq"] for answer in answers if answer] == list(range(4, BURST + 4))
    assert (one["state"], one["rate"]) == ("transferring", B)
    return f"{len(answers):,} answers in order; it has its lease, its place and its rate"


# Stalls


def dead_coordinator(folder: Path) -> str:
    """Leases of 10 and 60 s, patience of 2 s: who waits when the coordinator is stopped."""
    told = []
    for lease in (10, 60):
        own = folder / f"lease{lease}"
        own.mkdir()
        with site(own, "--policy", "fcfs", "--lease", f"{lease} s", peers=1) as (it, hog):
            hog.register("hog", version=2)
            hog.send("inform", operation=1, volume=1e12, rounds=10**6)
            hog.granted(B)
            waiting = application(APPLICATION, own / "file", PENSTOCK_SOCKET=str(it.socket), PENSTOCK_PATIENCE="2")
            wait_until(lambda it=it: by_job(it).get("program", {}).get("state") == "waiting", "it waits")
            assert not (own / "file").exists() or not (own / "file").stat().st_size
            os.kill(it.pid, signal.SIGSTOP)
            begun = time.monotonic()
            assert waiting.wait(ENOUGH) == 0
            told.append(f"{time.monotonic() - begun:.1f} s at a lease of {lease} s")
            assert (own / "file").stat().st_size == 1_000_000
            waiting.communicate()
            os.kill(it.pid, signal.SIGCONT)
    return f"with patience 2 s it went on and had written all after {' and '.join(told)}"


def no_coordinator(folder: Path) -> str:
    """With an hour of patience and nobody at the socket."""
    places = {"PENSTOCK_SOCKET": str(folder / "nobody"), "PENSTOCK_PATIENCE": "3600"}
    process = application(APPLICATION, folder / "file", **places)
    out, said = process.communicate(timeout=ENOUGH)
    seconds, coordinated = out.split()
    assert (process.returncode, coordinated) == (0, "False")
    assert (folder / "file").stat().st_size == 1_000_000
    assert said.count("\n") == 1
    return f"1 MB written, one line of warning, {float(seconds) * 1e3:.1f} ms from start to end"


# Books


def numbers_out_of_range(folder: Path) -> str:
    """Numbers that broke the books: they are refused, and `ctl record` works."""
    with site(folder, peers=2) as (it, liar, honest):
        liar.register("liar", version=2)
        honest.register("honest", version=2)
        codes = []
        for wrong in ({"rounds": 2**53}, {"volume": 1e30}, {"volume": -1.0}, {"moved": 1e30}, {"operation": 2**60}):
            liar.send("inform", **{"operation": 1, "volume": 1e9, **wrong})
            codes.append(liar.refused())
        liar.send("inform", operation=1, volume=1e21, rounds=10**9)
        honest.send("inform", operation=1, volume=1e6)
        for peer in (liar, honest):
            peer.granted(B / 2)
        liar.send("release", operation=1, moved=1e30)
        codes.append(liar.refused())
        honest.send("release", operation=1)
        for peer in (liar, honest):
            peer.send("leave")
            peer.until("left")
        output = folder / "run.json"
        command = [sys.executable, "-m", "penstock", "ctl", "--socket", str(it.socket), "record", "-o", str(output)]
        subprocess.run(command, check=True, cwd=ROOT, env=environment(), capture_output=True)
    rows = {one["name"]: one["phases"] for one in json.loads(output.read_text())["applications"]}
    assert set(codes) == {"malformed"}
    assert [amount for kind, amount in rows["honest"] if kind == "io"] == [1e6]
    return f"{len(codes)} of {len(codes)} refused as malformed; the honest row is recorded"


def moved_nothing(folder: Path) -> str:
    """Announce, vanish, come back with `operation` 0: that the operation has ended does not say it was moved."""
    with site(folder, "--policy", "fcfs", peers=2) as (it, hog, liar):
        for peer, name in ((hog, "hog"), (liar, "liar")):
            known = peer.register(name, version=2)
            peer.send("inform", operation=1, volume=1e15, rounds=10**6)
            peer.until("grant")
        liar.close()
        with Raw(str(it.socket)) as back:
            back.send("join", version=2, application=known["application"], key=known["key"], operation=0)
            back.until("registered")
            found = by_job(it)["liar"]
            assert (found["pending"], found["transferred"]) == (None, 0.0)
            begun = time.monotonic()
            back.send("inform", operation=2, volume=1e15)
            back.until("grant")
            back.send("release", operation=2, moved=1e15)
            back.send("beat")
            back.until("beat")
            found = by_job(it)["liar"]
    assert found["transferred"] <= 1.06 * B * (time.monotonic() - begun + 1.0)
    assert 0.0 <= found["yield"] <= 1.0
    return f"credited with {found['transferred']:,.0f} bytes of 2e15; yield {found['yield']:.3f}"


# Places


def planned_name(folder: Path) -> str:
    """A stranger registers a name of a static order."""
    plan = write_plan(folder)
    options = ("--policy", "periodic-fifo", "--workload", str(plan), "--planned-user", str(os.getuid() + 1))
    with site(folder, *options, peers=1) as (it, stranger):
        stranger.send("register", version=2, job="planned")
        refused = stranger.until("error")
        assert refused["code"] == "denied"
        assert it.state()["applications"] == []
    return f"refused: {refused['text']}"


def write_plan(folder: Path) -> Path:
    """A workload of one application."""
    plan = folder / "plan.json"
    applications = [{"name": "planned", "phases": [["work", 1.0], ["io", 1e8]]}]
    plan.write_text(json.dumps({"penstock": 1, "platform": {"bandwidth": B}, "applications": applications}))
    return plan


def foreign_job(folder: Path) -> str:
    """The journal knows a job that the workload of the static order lacks."""
    with site(folder, peers=1) as (_, foreign):
        foreign.register("foreign", version=2)
        foreign.send("inform", operation=1, volume=1e12)
        foreign.granted(B)
    options = ("--policy", "periodic-fifo", "--workload", str(write_plan(folder)))
    with site(folder, *options, peers=1) as (it, planned):
        planned.register("planned", version=2)
        planned.send("inform", operation=1, volume=1e8)
        assert planned.until("grant")["rate"] == 0.0
        state = it.state()
        assert (state["granted"], [one["job"] for one in state["applications"]]) == (B, ["foreign", "planned"])
    return "it starts; what the foreign job holds stays its own until the lease ends, the planned one waits for that"


# Limits before identity


def silent_connections(folder: Path) -> str:
    """More connections over TCP than strangers may have, and none of them says a word."""
    where, options = with_token(folder)
    with site(folder, *options) as (it,), contextlib.ExitStack() as stack:
        early = stack.enter_context(Raw(where))
        early.register("early", version=2, token=TOKEN)
        for _ in range(SILENT):
            stack.enter_context(Raw(where))
        late = stack.enter_context(Raw(where))
        late.register("late", version=2, token=TOKEN)
        for peer in (early, late):
            peer.send("beat")
            peer.until("beat")
        turned_away = it.state()["turned_away"]
    assert turned_away > 0
    return f"{SILENT} silent ones: the early and the late honest client are served, {turned_away} silent ones closed"


def refused_beats(folder: Path) -> str:
    """Strangers of the same host send messages that are refused, as many as the host may send."""
    where, options = with_token(folder)
    options += ["--message-rate", "10000", "--message-rate-per-user", "90"]
    with site(folder, *options) as (it,), contextlib.ExitStack() as stack:
        honest = stack.enter_context(Raw(where))
        honest.register("honest", version=2, token=TOKEN)
        flood, strangers = b"".join(b'{"type":"beat","seq":%d}\n' % seq for seq in range(1, 90)), 60
        for _ in range(strangers):
            stack.enter_context(Raw(where)).send_bytes(flood)
        for _ in range(50):
            honest.send("beat")
            honest.until("beat")
        refused = it.state()["refused_messages"]
    assert refused < 89 * strangers
    return f"50 beats of the honest one answered while {refused:,} of {89 * strangers:,} refused ones were read"


def guesses(folder: Path) -> str:
    """A connection for each guess, as fast as they go."""
    where, options = with_token(folder)
    with site(folder, *options) as (_,):
        begun, texts = time.monotonic(), []
        for guess in range(GUESSED):
            with Raw(where) as peer:
                peer.send("register", version=2, job="guess", token=f"guess {guess}")
                texts.append(peer.until("error")["text"])
        seconds = time.monotonic() - begun
        with Raw(where) as honest:
            honest.register("honest", version=2, token=TOKEN)
    looked_at = sum("the token is not right" in text for text in texts)
    assert looked_at <= FREE_GUESSES + GUESSES_PER_SECOND * (seconds + 1.0 + LONGEST_DELAY) + 1
    return f"{looked_at} of {GUESSED} looked at in {seconds:.1f} s, then the honest one is let in"


def http_readers(folder: Path) -> str:
    """Four readers of `/state` all the time, 200 applications, and one that announces and releases."""
    host, port = free_address()
    with site(folder, "--http", f"{host}:{port}", peers=201) as (_, writer, *others):
        for number, peer in enumerate([writer, *others]):
            peer.register(f"job {number}", version=2)
        alone = grant_times(writer, range(1, 101))
        seen: list[float] = []
        done, begun = threading.Event(), time.monotonic()
        readers = [threading.Thread(target=read_state, args=(host, port, seen, done)) for _ in range(4)]
        for reader in readers:
            reader.start()
        watched = grant_times(writer, range(101, 1101))
        done.set()
        for reader in readers:
            reader.join()
        seconds = time.monotonic() - begun
    assert len(set(seen)) <= seconds / FRESH_SECONDS + 2.0
    median = f"median time to a grant {alone:.1f} ms alone, {watched:.1f} ms read"
    return f"{len(seen):,} answers from {len(set(seen))} snapshots; {median}"


def grant_times(writer: Raw, operations: range) -> float:
    """The median time from announcing to the grant, in ms, over these operations."""
    times = []
    for operation in operations:
        begun = time.perf_counter()
        writer.send("inform", operation=operation, volume=1e6)
        writer.until("grant")
        times.append(time.perf_counter() - begun)
        writer.send("release", operation=operation)
    return statistics.median(times) * 1e3


def read_state(host: str, port: int, seen: list[float], done: threading.Event) -> None:
    """Read `/state` again and again; the dates that it shows."""
    while not done.is_set():
        seen.append(json.loads(get(host, port, f"{host}:{port}").split("\r\n\r\n", 1)[1])["now"])


def get(host: str, port: int, name: str) -> str:
    """The whole answer to a request of `/state` under a host's name."""
    with socket.create_connection((host, port), timeout=ENOUGH) as connection:
        connection.sendall(f"GET /state HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
        return connection.makefile("rb").read().decode()


def http_strangers(folder: Path) -> str:
    """A connection that asks nothing, a host's name that is not ours, and who the users are."""
    host, port = free_address()
    with site(folder, "--http", f"{host}:{port}", peers=1) as (_, peer):
        peer.register("job", version=2, user="somebody")
        with socket.create_connection((host, port), timeout=3 * ENOUGH) as idle:
            other = get(host, port, "evil.example.org")
            shown = get(host, port, f"{host}:{port}")
            assert idle.recv(100) == b""  # it is closed
    assert other.startswith("HTTP/1.1 421")
    assert '"job":"job"' in shown
    assert "somebody" not in shown
    assert '"uid"' not in shown
    return "the idle connection is closed, the foreign name gets 421, neither user nor uid is shown"


# Lies pay


def claimed_past(folder: Path) -> str:
    """Under greedy-yield, elapsed = 1e6 with progress 0: who has waited longer goes first all the same.

    The liar registers before the honest one and posts after it, so its true yield is higher however long anything takes.
    """
    with site(folder, "--policy", "greedy-yield", "--lease", "1 h", peers=3) as (it, first, honest, liar):
        first.register("first", version=2)
        liar.register("liar", version=2, elapsed=1e6, progress=0.0)
        honest.register("honest", version=2)
        first.send("inform", operation=1, volume=1e12, rounds=10)
        first.granted(B)
        honest.send("inform", operation=1, volume=1e9)

        def honest_is_next() -> bool:
            yields = {job: one["yield"] for job, one in by_job(it).items()}
            return bool(yields["honest"] < 0.9 * yields["first"])

        wait_until(honest_is_next, "the honest one waits, and its yield falls")
        liar.send("inform", operation=1, volume=1e9)
        assert liar.until("grant")["rate"] == 0.0
        pause = first.until("grant")
        first.send("yielded", grant=pause["number"])
        honest.granted(B)
        yields = {job: one["yield"] for job, one in by_job(it).items()}
    return f"the honest one goes first; yields {yields['honest']:.3f} and, of the liar, {yields['liar']:.3f}"


def claimed_nodes(folder: Path) -> str:
    """Under interfering, 2^53 nodes, and 10^9 of them."""
    with site(folder, "--policy", "interfering", "--max-nodes", "64", peers=2) as (it, honest, liar):
        honest.register("honest", version=2, nodes=64)
        liar.send("register", version=2, job="liar", nodes=2**53)
        assert liar.refused() == "malformed"
        liar.register("liar", version=2, nodes=10**9)
        for peer in (honest, liar):
            peer.send("inform", operation=1, volume=1e12)
        honest.granted(B / 2)
        liar.granted(B / 2)
        rates = [one["rate"] for one in by_job(it).values()]
    return f"2^53 refused; 10^9 counts as 64: {rates[0] / MB:.0f} and {rates[1] / MB:.0f} MB/s"


def identities(folder: Path) -> str:
    """Nine applications of one user beside one of others."""
    where, options = with_token(folder)
    with site(folder, "--share-by", "user", *options, peers=IDENTITIES) as (it, *own), Raw(where) as other:
        other.register("other", version=2, token=TOKEN)
        for number, peer in enumerate(own):
            peer.register(f"own {number}", version=2)
            peer.send("inform", operation=1, volume=1e12)
        own[0].granted(B)
        other.send("inform", operation=1, volume=1e12)
        own[0].granted(B / 2)
        other.granted(B / 2)
        rates = {job: one["rate"] for job, one in by_job(it).items()}
    assert sum(rate for job, rate in rates.items() if job != "other") == B / 2
    return f"all {IDENTITIES} together have {B / 2 / MB:.0f} MB/s, the other one {rates['other'] / MB:.0f} MB/s"


def overruns(folder: Path) -> str:
    """It reports a thousand times what it may move, again and again."""
    options = ("--lease", "0.5 s", "--lowered-after", "2", "--barred-after", "3", "--penalty", "1 h")
    kinds: list[str] = []
    with site(folder, *options, peers=1) as (it, peer):
        peer.register("fast", version=2)
        peer.send("inform", operation=1, volume=1e21, rounds=10**9)
        peer.granted(B)
        moved = 0.0
        while "forgotten" not in kinds:
            moved += 1e15
            with contextlib.suppress(BrokenPipeError):
                peer.send("report", operation=1, moved=moved)
            time.sleep(0.1)
            kinds += news(peer)
        (one,) = it.state()["applications"]
    assert kinds.index("warned") < kinds.index("lowered") < kinds.index("forgotten")
    assert (one["penalty"]["kind"], one["rate"]) == ("barred", 0.0)
    return f"after {one['overruns']} overruns: warned, then lowered, then barred"


def news(peer: Raw) -> list[str]:
    """What a peer is told now; a lower grant is answered."""
    peer.send("beat")
    kinds = []
    while (message := peer.receive()) is not None and message["type"] != "beat":
        if message["type"] == "grant":
            peer.send("yielded", grant=message["number"])
        kinds.append("lowered" if message["type"] == "grant" else message["type"])
        if message["type"] == "forgotten":
            break
    return kinds


# The choice


def never_worse(folder: Path) -> str:
    """The scene of paper 003 in which waiting costs 40 times the time where interfering costs 2."""
    metric, scene = "max-interference", ("--volume", "40GB", "1GB", "--rounds", "1", "0", "--points", "5", "--dt", "1", "39")
    found = penstock("delta", *scene, "--metric", metric)["strategies"]
    (chosen,) = (name for name in found if name.startswith("coordinating"))
    pairs = list(zip(found[chosen]["metric"], found["interfering"]["metric"], strict=True))
    assert all(one <= other * (1.0 + 1e-9) for one, other in pairs)
    return f"coordinating costs {max(one for one, _ in pairs):g}, interfering {max(other for _, other in pairs):g}"


def low_reach(folder: Path) -> str:
    """B is claimed to be 100 GB/s, and applications reach a thousandth of what they are granted."""
    with Serving(folder, "--bandwidth", "100 GB/s") as it, Raw(str(it.socket)) as peer:
        peer.register("slow", version=2)
        peer.send("inform", operation=1, volume=1e15)
        peer.until("grant")
        begun = time.monotonic()
        while it.state()["warning"] is None:
            peer.send("report", operation=1, moved=(time.monotonic() - begun) * B)
            assert time.monotonic() < begun + 3 * ENOUGH, "it is never warned of"
            time.sleep(0.05)
        return str(it.state()["warning"])


# Silent bypass


def bypass(folder: Path) -> str:
    """`with job.io(n): np.save(…)` while another one has the link."""
    with site(folder, "--policy", "fcfs", peers=1) as (it, hog):
        hog.register("hog", version=2)
        hog.send("inform", operation=1, volume=1e6)
        hog.granted(B)
        process = application(SAVING, folder / "array.npy", PENSTOCK_SOCKET=str(it.socket))
        wait_until(lambda: by_job(it).get("program", {}).get("state") == "waiting", "it waits")
        assert not (folder / "array.npy").exists()
        hog.send("release", operation=1)
        _, said = process.communicate(timeout=3 * ENOUGH)
        completed = it.state()["completed"]
    assert (process.returncode, completed) == (0, 2)
    assert (folder / "array.npy").stat().st_size == 8_000_128
    assert "nothing was moved through io" in said
    return "it waits for its turn, 8,000,128 bytes are saved then, and one line warns"


# Before a site dares


def observing(folder: Path) -> str:
    """Two that would have to take turns under fcfs are both granted all; the report says what that would have saved."""
    with site(folder, "--policy", "fcfs", "--observe", peers=2) as (it, *both):
        for number, peer in enumerate(both):
            peer.register(f"job {number}", version=2, bandwidth=B)
            peer.send("inform", operation=1, volume=1e7)
        for peer in both:
            peer.granted(B)
        withheld = [one["withheld"] for one in by_job(it).values()]
        for peer in both:
            peer.send("release", operation=1)
            peer.send("leave")
            peer.until("left")
        sentence = str(penstock("ctl", "--socket", str(it.socket), "observed")["sentence"])
    assert withheld == [B, 0.0]
    return f"both have all; it would have granted {B / MB:.0f} and 0 MB/s: {sentence}"
