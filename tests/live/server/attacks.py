"""The list of attacks on a running coordinator: what is promised, what is done against it, and what came of it.

    python -m tests.live.server.attacks [--only Places] [--json]

Each row is either an attack of `tests.live.server.attacking`, on a coordinator in a process of its own, or tests of that
promise. The command carries out all of them, prints the table, and ends with status 1 if a promise is not kept. In pytest
the attacks are the test `test_attacks.py`, and the tests run where they are.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree

from tests.live.server import attacking
from tests.live.server.serving import ROOT, environment

Doing = Callable[[Path], str]
HANGS, STALLS, BOOKS, PLACES, LIMITS = "Hangs", "Stalls", "Books", "Places", "Limits before identity"
LIES, CHOICE, LEVELS, BYPASS = "Lies pay", "The choice", "Levels", "Silent bypass"
APPLICATIONS, SEEN, OBSERVED = "Applications never fail", "What people see", "Before a site dares"


@dataclass(frozen=True)
class Row:
    """A promise and an attack on it: a function, or tests by their names below `tests`."""

    section: str
    promise: str
    attack: str
    doing: Doing | tuple[str, ...]


@dataclass(frozen=True)
class Result:
    """What came of a row."""

    section: str
    promise: str
    attack: str
    happened: str
    ok: bool
    seconds: float


def row(section: str, promise: str, attack: str, *doing: Doing | str) -> Row:
    """One row of the table."""
    tests = tuple(one for one in doing if isinstance(one, str))
    functions = [one for one in doing if not isinstance(one, str)]
    assert bool(tests) != bool(functions)
    return Row(section, promise, attack, tests or functions[0])


SERVER, CLIENT, CORE = "live/server/test_", "live/client/test_", "live/core/test_"
ROWS = (
    row(HANGS, "who hardly moves gives way", "volume 1e21, a byte now and then, under fcfs",
        SERVER + "site_limits.py::test_a_byte_now_and_then_does_not_hold_the_link"),
    row(HANGS, "a round has a longest time", "one round of 1e21 bytes, and beats all the time",
        SERVER + "site_limits.py::test_one_round_of_everything_is_no_reason_not_to_yield"),
    row(HANGS, "no policy lets one hold the link", "the same in virtual time, under every policy",
        CORE + "limits.py"),
    row(HANGS, "what has arrived counts", "200 release, leave and close without reading", attacking.last_words),
    row(HANGS, "being read slowly is no silence", "20,000 beats at once at a lease of 1 s", attacking.burst_of_beats),
    row(STALLS, "who beats is not forgotten", "SIGSTOP of the coordinator for longer than a lease",
        SERVER + "arrivals.py::TestStopped"),
    row(STALLS, "nobody waits longer than its patience", "the coordinator stops; leases 10 and 60 s, patience 2 s",
        attacking.dead_coordinator),
    row(STALLS, "without a coordinator nothing is waited for", "no socket, patience of an hour", attacking.no_coordinator),
    row(BOOKS, "numbers have ranges", "rounds 2^53, volume 1e30, release of 1e30, …", attacking.numbers_out_of_range),
    row(BOOKS, "only what grants allowed is credited", "join with operation 0, release of 1e15 unmoved",
        attacking.moved_nothing),
    row(BOOKS, "a liar changes its own rows only", "registrations, volumes and names that lie, then `ctl record`",
        SERVER + "site_limits.py::test_what_is_recorded_is_what_could_have_happened", CORE + "books.py"),
    row(PLACES, "planned names have an owner", "a stranger registers one", attacking.planned_name),
    row(PLACES, "a static order is nobody else's", "names taken, jobs started again, second jobs of a name",
        CORE + "planned_order.py"),
    row(PLACES, "a foreign job in the journal stops nothing", "restart with a static order", attacking.foreign_job),
    row(PLACES, "clients find the right socket", "another user's folder and link under one's own name",
        CLIENT + "address.py", SERVER + "ownership.py::TestLocks"),
    row(PLACES, "one coordinator for a socket", "a second one while the first is stopped",
        SERVER + "ownership.py::TestLocks::test_a_stopped_coordinator_keeps_its_socket_and_its_journal"),
    row(PLACES, "B is granted once", "journal deleted or replaced, then kill -9", SERVER + "ownership.py::TestJournalGone"),
    row(PLACES, "it starts on a full disk", "no file can grow", SERVER + "ownership.py::TestFullDisk"),
    row(LIMITS, "silence shuts nobody out", "300 silent connections over TCP", attacking.silent_connections),
    row(LIMITS, "refused messages slow nobody else down", "60 strangers of the same host", attacking.refused_beats),
    row(LIMITS, "guesses are limited per host", "150 guesses, a connection each", attacking.guesses),
    row(LIMITS, "the operator is answered", "all file descriptors taken",
        SERVER + "strangers.py::test_at_the_limit_of_files_the_operator_is_answered_and_nothing_spins",
        SERVER + "strangers.py::test_a_listener_that_gets_no_files_rests_and_says_so_once"),
    row(LIMITS, "HTTP delays no grant", "4 readers of /state, 201 applications", attacking.http_readers),
    row(LIMITS, "HTTP tells strangers little", "idle, foreign Host header, users", attacking.http_strangers),
    row(LIES, "the past cannot be claimed", "elapsed 1e6, progress 0 under greedy-yield", attacking.claimed_past),
    row(LIES, "nodes are capped", "2^53 and 10^9 nodes under interfering", attacking.claimed_nodes),
    row(LIES, "a user can count as one", "nine applications of one user", attacking.identities),
    row(LIES, "overruns are warned, lowered, barred", "reports of 1,000 times the grant", attacking.overruns),
    row(CHOICE, "never worse than interfering", "the scene of 003 with one round in A", attacking.never_worse),
    row(CHOICE, "… with any rounds, for every metric", "random applications", "policies/test_coordinating.py"),
    row(CHOICE, "what is reached counts", "100 MB/s granted and 0.005 reached, twelve rounds",
        SERVER + "reaching.py", CORE + "reached.py"),
    row(CHOICE, "B can be measured", "links that are wider, narrower, idle, disturbed", CORE + "measuring.py"),
    row(CHOICE, "far too little reached is said", "a thousandth of the grants", attacking.low_reach),
    row(LEVELS, "nothing announced is forgotten", "outer and inner `prepare`, `job.io` in a step",
        CLIENT + "levels.py", CLIENT + "calls.py"),
    row(LEVELS, "an application can ask first", "`job.ask`; values of `prepare` are sent", CLIENT + "version2.py"),
    row(BYPASS, "a block waits and counts", "`numpy.save` inside `job.io` while another has the link", attacking.bypass),
    row(BYPASS, "recipes for NumPy, h5py, PyTorch, zarr", "the programs of the page",
        CLIENT + "bypass.py", CLIENT + "page.py"),
    row(APPLICATIONS, "a wrong setting is one line", "token of 0644 or missing, patience abc, socket foo:bar",
        CLIENT + "environment.py"),
    row(APPLICATIONS, "arrays of any stride are written", "slices of every kind", CLIENT + "strided.py"),
    row(SEEN, "who comes and goes is logged", "a life in text, JSON and the audit log", SERVER + "logbook.py"),
    row(SEEN, "the live page shows what it saw", "opened late", SERVER + "page.py"),
    row(SEEN, "a user sees its own", "state and why of another user", SERVER + "snapshot.py", CORE + "explaining.py"),
    row(OBSERVED, "observing holds nobody back", "two writers under fcfs, then `ctl observed`", attacking.observing),
)  # fmt: skip


def chosen(only: str | None) -> list[Row]:
    """The rows of a section, or all."""
    return [one for one in ROWS if only is None or one.section == only]


def files_of(rows: Iterable[Row]) -> list[str]:
    """The tests of the rows, by their names below the root."""
    return [f"tests/{name}" for one in rows if isinstance(one.doing, tuple) for name in one.doing]


def run_tests(names: list[str]) -> dict[str, bool]:
    """Run tests; whether each has passed, by the dotted name of each."""
    with TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--tb=short",
            "-p",
            "no:cacheprovider",
            f"--junitxml={report}",
            *names,
        ]
        done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False)
        assert report.exists(), done.stdout[-2000:] + done.stderr[-2000:]
        if done.returncode:
            sys.stderr.write(done.stdout[-6000:])
        cases = ElementTree.parse(report).getroot().iter("testcase")
        return {f"{case.get('classname')}.{case.get('name')}": not list(case.iterfind("*")) for case in cases}


def carry_out(one: Row, doing: Doing) -> Result:
    """An attack in a folder of its own."""
    begun = time.monotonic()
    with TemporaryDirectory() as folder:
        try:
            happened, ok = doing(Path(folder)), True
        except Exception as error:  # whatever fails is a promise that was not seen to be kept
            happened, ok = f"{type(error).__name__}: {error}".splitlines()[0], False
    return Result(one.section, one.promise, one.attack, happened, ok, time.monotonic() - begun)


def of_tests(one: Row, passed: dict[str, bool]) -> Result:
    """What the tests of a row have shown."""
    prefixes = tuple(name.replace(".py", "").replace("/", ".").replace("::", ".") for name in files_of([one]))
    found = {name: well for name, well in passed.items() if name.startswith(prefixes)}
    wrong = [name for name, well in found.items() if not well]
    happened = f"not passed: {', '.join(wrong)}" if wrong else f"{len(found)} tests pass"
    return Result(one.section, one.promise, one.attack, happened, bool(found) and not wrong, 0.0)


def run(rows: list[Row]) -> Iterator[Result]:
    """Carry out all rows: the tests of all together first."""
    names = files_of(rows)
    sys.stderr.write(f"attacks: running {len(names)} modules and classes of tests …\n")
    passed = run_tests(names) if names else {}
    for one in rows:
        yield of_tests(one, passed) if isinstance(one.doing, tuple) else carry_out(one, one.doing)


def table(results: list[Result]) -> str:
    """For people, in Markdown."""
    cells = [(one.section, one.promise, one.attack, one.happened, "ok" if one.ok else "NOT OK") for one in results]
    lines = [f"| {' | '.join(line)} |" for line in [("", "promise", "attack", "what happened", "ok"), ("---",) * 5, *cells]]
    return "\n".join([*lines, f"{sum(one.ok for one in results)} of {len(results)} ok"])


def main() -> int:
    """The command; 1 if a promise is not kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.live.server.attacks", description="Attack a coordinator.")
    parser.add_argument("--only", choices=sorted({one.section for one in ROWS}), help="the rows of one section")
    parser.add_argument("--json", action="store_true", help="print the table as JSON")
    options = parser.parse_args()
    results = []
    for result in run(chosen(options.only)):
        sys.stderr.write("." if result.ok else "X")
        sys.stderr.flush()
        results.append(result)
    sys.stderr.write("\n")
    sys.stdout.write((json.dumps([asdict(one) for one in results], indent=1) if options.json else table(results)) + "\n")
    return int(not all(result.ok for result in results))


if __name__ == "__main__":
    sys.exit(main())
