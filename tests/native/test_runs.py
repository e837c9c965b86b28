"""Programs in C against a real coordinator, and without one: the order, the bytes, what is said."""

from __future__ import annotations

import math
import os
import signal
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.live.conversing import SOON, Coordinator, converse
from tests.native.conftest import Serve, Start
from tests.native.driving import Driver
from tests.native.shimming import compiled
from tests.native.test_vectors import NativeApplication

MB = 1_000_000


def expected(size: int) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + SOON
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def states(coordinator: Any) -> dict[str, str]:
    return {found["job"]: found["state"] for found in coordinator.state()["applications"]}


def opened(program: Driver, name: str, patience: float = SOON) -> Driver:
    assert program.call("open", name, 1, patience) == 0
    return program


@pytest.mark.parametrize("kind", ["", "asan", "tsan"])
def test_two_writers_are_served_in_order(serve: Serve, start: Start, folder: Path, kind: str) -> None:
    coordinator = serve()
    first, second = opened(start("a", kind), "first"), opened(start("b", kind), "second")
    assert first.call("begin", 8 * MB, 8) == 0
    assert first.call("write", 3 * MB + 1) == 3 * MB + 1
    assert second.call("begin", 5 * MB, 5) == 0
    second.begin("write", 5 * MB)
    until(lambda: states(coordinator) == {"first": "transferring", "second": "waiting"})
    assert first.call("write", 5 * MB - 1) == 5 * MB - 1
    assert second.waits()
    assert (folder / "b").read_bytes() == b""
    assert first.state()["coordinated"]
    assert first.call("end") == 0
    assert second.answer() == str(5 * MB)
    state = second.state()
    assert (state["coordinated"], state["rate"], state["moved"], state["policy"]) == (True, 1e9, 5 * MB, "fcfs")
    assert second.call("end") == second.call("close") == first.call("close") == 0
    assert states(coordinator) == {}
    for name, program, size in (("a", first, 8 * MB), ("b", second, 5 * MB)):
        assert program.errors() == ""
        assert (folder / name).read_bytes() == expected(size)


def test_every_way_to_move_bytes(serve: Serve, start: Start, folder: Path) -> None:
    serve()
    program = opened(start(), "mover")
    assert program.call("write", MB) == MB  # an operation of its own
    assert program.call("begin", 4 * MB, 0) == 0
    assert program.call("try_write", MB) == MB
    assert program.call("write_at", MB, 2 * MB) == MB
    assert program.call("rewind") == 0
    assert program.call("read", 4 * MB) == 3 * MB  # the file ends there
    assert program.call("read_at", MB, 2 * MB) == MB
    assert program.call("end") == 0
    assert program.state()["moved"] == 7 * MB
    assert (folder / "file").read_bytes() == expected(3 * MB)


def test_the_six_calls(serve: Serve, start: Start) -> None:
    coordinator = serve()
    program, other = opened(start(), "stepping"), opened(start("other"), "other")
    assert program.call("prepare", 4000, 4) == 0
    assert other.call("prepare", 100, 1) == 0
    for step in range(4):
        assert program.call("inform", -1) == 0
        assert program.call("wait", SOON) == 1
        if step == 0:
            assert other.call("inform", -1) == 0
            until(lambda: states(coordinator) == {"stepping": "transferring", "other": "waiting"})
            assert other.call("check") == 0
            assert other.call("wait", 0.01) == 0
            other.begin("wait", -1)
        assert program.call("release", -1) == 0
    assert other.waits()
    assert program.state()["moved"] == 4000
    assert program.call("complete") == 0
    assert other.answer() == "1"
    assert other.call("release", 100) == 0
    assert other.call("complete") == 0


@pytest.mark.parametrize(
    ("calls", "error"),
    [
        (["release 5"], "-4007 no step is informed of; expected penstock_inform first"),
        (["check"], "-4007 no step is informed of; expected penstock_inform first"),
        (["wait 0"], "-4007 no step is informed of; expected penstock_inform first"),
        (["inform 5", "inform 5"], "-4008 the step informed of before is not released; expected penstock_release first"),
        (["inform -1"], "-4009 no volume; expected one in penstock_prepare or penstock_inform"),
        (["complete"], "-4010 nothing is prepared; expected penstock_prepare first"),
        (["begin 5 1", "begin 5 1"], "-4004 an operation of this job is under way; expected its end first, or another job"),
        (["begin 5 1", "inform 5"], "-4004 an operation of this job is under way; expected its end first, or another job"),
        (["inform 5", "write 5"], "-4004 an operation of this job is under way; expected its end first, or another job"),
        (["end"], "-4005 no operation is under way; expected penstock_begin first"),
        (["try_write 5"], "-4005 no operation is under way; expected penstock_begin first"),
        (["begin 1e16 1"], "-4001 an argument is out of range"),
        (["prepare 5 0"], "-4001 an argument is out of range"),
        (["prepare 5 1"] * 33, "-4011 the stack of penstock_prepare is full; expected at most 32 levels"),
        (["write_at 5 -3"], "-4001 an argument is out of range"),
    ],
)
def test_calls_out_of_order_are_refused(start: Start, calls: list[str], error: str) -> None:
    program = opened(start(PENSTOCK_DISABLE="1"), "wrong")
    for call in calls[:-1]:
        assert program.call(call) >= 0
    program.begin(calls[-1])
    assert program.answer() == error


def test_an_error_of_the_file_is_returned(start: Start) -> None:
    program = opened(start("/dev/full", PENSTOCK_DISABLE="1"), "full")
    program.begin("write", 100)
    assert program.answer() == "-28 No space left on device"


def test_none_there(start: Start, folder: Path) -> None:
    program = opened(start(), "alone", patience=3600.0)  # which it does not wait for
    assert program.call("begin", MB, 4) == 0
    assert program.call("write", MB) == MB
    assert program.state() | {"waited": 0.0} == {
        "coordinated": False,
        "rate": math.inf,
        "waited": 0.0,
        "moved": MB,
        "application": -1,
        "policy": "",
    }
    assert program.call("end") == program.call("close") == 0
    place = folder / "socket"
    assert program.errors() == f"penstock: no coordinator at {place} (no such file or directory); going on uncoordinated\n"
    assert (folder / "file").read_bytes() == expected(MB)


def test_a_socket_that_nobody_listens_on_is_not_waited_for(start: Start, folder: Path) -> None:
    place = folder / "socket"
    with socket.socket(socket.AF_UNIX) as left_behind:
        left_behind.bind(str(place))
    program = opened(start(), "alone", patience=3600.0)
    assert program.call("write", MB) == MB
    assert program.call("close") == 0
    assert program.errors() == f"penstock: no coordinator at {place} (connection refused); going on uncoordinated\n"


@pytest.mark.parametrize("runtime", [True, False])
def test_where_it_looks_by_default(start: Start, folder: Path, runtime: bool) -> None:
    if Path("/run/penstock/penstock.sock").exists() or Path(f"/tmp/penstock-{os.getuid()}").exists():
        pytest.skip("this machine has a coordinator")
    own = folder if runtime else Path(f"/tmp/penstock-{os.getuid()}")
    program = opened(start(PENSTOCK_SOCKET="", XDG_RUNTIME_DIR=str(folder) if runtime else ""), "alone")
    assert program.call("write", 10) == program.call("write", 10) == 10
    said = f"penstock: no coordinator at {own}/penstock.sock (no such file or directory); going on uncoordinated\n"
    assert program.errors() == said


def test_disabled_it_is_plain_io(serve: Serve, start: Start, folder: Path) -> None:
    coordinator = serve()
    program = opened(start(PENSTOCK_DISABLE="1", PENSTOCK_PATIENCE="nonsense"), "off")
    threads = Path(f"/proc/{program.process.pid}/task")
    assert len(list(threads.iterdir())) == 1
    assert program.call("write", MB) == MB
    assert program.call("inform", 5) == 0
    assert program.call("check") == program.call("wait", -1) == 1
    assert program.call("release", -1) == 0
    assert states(coordinator) == {}
    assert program.state()["moved"] == MB + 5
    assert program.call("close") == 0
    assert program.errors() == ""
    assert (folder / "file").read_bytes() == expected(MB)


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        (
            {"PENSTOCK_SOCKET": "foo:bar"},
            "PENSTOCK_SOCKET: the address is none; expected a path of at most 107 bytes, or host:port",
        ),
        (
            {"PENSTOCK_SOCKET": "/" + 200 * "x"},
            "PENSTOCK_SOCKET: the address is none; expected a path of at most 107 bytes, or host:port",
        ),
        (
            {"PENSTOCK_SOCKET": "localhost:7000", "PENSTOCK_TOKEN_FILE": "/nonexistent"},
            "PENSTOCK_TOKEN_FILE: the token file cannot be used; expected one line of at most 512 characters, mode 0600",
        ),
    ],
)
def test_a_wrong_environment_never_makes_it_fail(start: Start, environment: dict[str, str], said: str) -> None:
    program = opened(start(**environment), "wrong")
    assert program.call("write", 10) == 10
    assert program.call("close") == 0
    assert program.errors() == f"penstock: {said}; going on uncoordinated\n"


def test_a_patience_that_is_no_number_is_named(start: Start, serve: Serve) -> None:
    serve()
    program = start(PENSTOCK_PATIENCE="abc")
    assert program.call("open", "patient", 1, -1) == 0
    assert program.call("write", 10) == 10
    assert program.call("close") == 0
    assert program.errors() == "penstock: PENSTOCK_PATIENCE 'abc' is no number of seconds, 0 or more; waiting for 5 s\n"


@pytest.mark.parametrize("kind", ["", "tsan"])
def test_the_coordinator_dies_and_comes_back(serve: Serve, start: Start, folder: Path, kind: str) -> None:
    coordinator = serve()
    program = opened(start("file", kind), "survivor", patience=0.2)
    assert program.call("begin", 4 * MB, 4) == 0
    assert program.call("write", MB) == MB
    coordinator.end(signal.SIGKILL)
    assert program.call("write", MB) == MB
    until(lambda: program.state()["rate"] == math.inf)
    assert program.call("write", MB) == MB
    again = serve()
    until(lambda: states(again) == {"survivor": "transferring"})
    until(lambda: program.state()["coordinated"])
    assert program.call("write", MB) == MB
    assert program.call("end") == 0
    assert program.call("close") == 0
    assert states(again) == {}
    place = folder / "socket"
    (said,) = program.errors().splitlines()
    assert said.startswith(f"penstock: no coordinator at {place} (")
    assert said.endswith("); going on uncoordinated")
    assert (folder / "file").read_bytes() == expected(4 * MB)


def test_a_coordinator_that_is_stopped_is_waited_for_as_long_as_patience(serve: Serve, start: Start, folder: Path) -> None:
    coordinator = serve()  # its lease is an hour: it is the announcement that is not answered
    program = opened(start(), "patient", patience=0.5)
    until(lambda: states(coordinator) == {"patient": "working"})
    os.kill(coordinator.process.pid, signal.SIGSTOP)
    try:
        assert program.call("begin", MB, 4) == 0
        assert program.call("write", MB) == MB
        assert float(str(program.state()["waited"])) >= 0.4
        assert program.call("end") == 0
    finally:
        os.kill(coordinator.process.pid, signal.SIGCONT)
    assert program.call("close") == 0
    place = folder / "socket"
    assert program.errors() == f"penstock: no coordinator at {place} (no answer for 0.5 s); going on uncoordinated\n"


def test_a_coordinator_that_stops_during_a_pause_holds_nobody_beyond_patience(
    serve: Serve, start: Start, folder: Path
) -> None:
    coordinator = serve()  # its lease is an hour: the client asks for signs of life by its patience
    holder, program = opened(start("a"), "holder"), opened(start("b"), "held", patience=0.5)
    assert holder.call("begin", MB, 1) == 0
    until(lambda: states(coordinator).get("holder") == "transferring")
    assert program.call("begin", MB, 1) == 0
    program.begin("write", MB)
    until(lambda: states(coordinator).get("held") == "waiting")
    os.kill(coordinator.process.pid, signal.SIGSTOP)
    try:
        assert program.answer() == str(MB)
    finally:
        os.kill(coordinator.process.pid, signal.SIGCONT)
    assert program.call("end") == program.call("close") == 0
    assert (folder / "b").read_bytes() == expected(MB)


def test_a_program_that_just_ends_has_left(serve: Serve, start: Start) -> None:
    coordinator = serve()
    program = opened(start(), "careless")
    assert program.call("begin", MB, 4) == 0
    assert program.errors() == ""
    until(lambda: states(coordinator) == {})


def test_who_does_io_while_the_program_ends_does_not_wait(serve: Serve, start: Start, folder: Path) -> None:
    """A program whose destructors run after that of the library, which has left by then."""
    coordinator = serve()
    holder, program = opened(start("a"), "holder"), opened(start("b", program="driver-static"), "late")
    assert holder.call("begin", MB, 1) == 0
    until(lambda: states(coordinator).get("holder") == "transferring")
    assert program.call("begin", 100, 1) == 0
    until(lambda: states(coordinator).get("late") == "waiting")
    assert program.call("write_at_exit", 100) == 0
    assert program.errors() == ""
    assert (folder / "b").read_bytes() == expected(100)


def test_a_forked_child_is_uncoordinated_and_harms_nobody(serve: Serve, start: Start, folder: Path) -> None:
    coordinator = serve()
    holder, program = opened(start("a"), "holder"), opened(start("b"), "parent")
    assert holder.call("begin", MB, 1) == 0
    until(lambda: states(coordinator).get("holder") == "transferring")
    assert program.call("begin", 99, 1) == 0
    until(lambda: states(coordinator) == {"holder": "transferring", "parent": "waiting"})
    assert program.call("fork", "write", 50) == 50  # the child does not wait
    assert states(coordinator) == {"holder": "transferring", "parent": "waiting"}
    program.begin("write", 49)
    assert holder.call("end") == 0
    assert program.answer() == "49"
    assert program.call("end") == 0
    assert program.errors() == holder.errors() == ""


def test_descriptors_are_high_and_not_inherited(serve: Serve, start: Start) -> None:
    coordinator = serve()
    program = opened(start(), "quiet")
    until(lambda: states(coordinator) == {"quiet": "working"})
    numbers = sorted(int(path.name) for path in Path(f"/proc/{program.process.pid}/fd").iterdir())
    assert [number for number in numbers if 3 < number < 500] == []
    ours = [number for number in numbers if number >= 500]
    assert len(ours) == 3
    for number in ours:
        flags = Path(f"/proc/{program.process.pid}/fdinfo/{number}").read_text().split("flags:\t")[1].split()[0]
        assert int(flags, 8) & os.O_CLOEXEC


def test_it_survives_an_application_that_closes_its_descriptors(serve: Serve, start: Start, folder: Path) -> None:
    coordinator = serve()
    program = opened(start(), "tidy")
    assert program.call("begin", 2 * MB, 2) == 0
    assert program.call("write", MB) == MB
    assert program.call("closefrom", 4) == 0
    until(lambda: states(coordinator) == {"tidy": "transferring"} and program.state()["coordinated"])
    assert program.call("write", MB) == MB
    assert program.call("end") == program.call("close") == 0
    assert (folder / "file").read_bytes() == expected(2 * MB)
    assert states(coordinator) == {}


REGISTERED = {
    "type": "registered",
    "seq": "$seq",
    "application": 1,
    "key": "k",
    "lease": 10.0,
    "policy": "fcfs",
    "version": 2,
}


def test_the_descriptor_is_readable_when_a_grant_comes(folder: Path) -> None:
    steps: list[dict[str, Any]] = [
        {"call": "open", "job": "loop"},
        {"receives": {"type": "register"}},
        {"sends": REGISTERED | {"lease": 0.3}},
        {"call": "begin", "volume": 1000, "rounds": 2},
        {"receives": {"type": "inform"}},
        {"sends": {"type": "grant", "operation": 1, "number": 1, "rate": 0.0}},
        {"settles": True},
        {"call": "ready", "bytes": 1000},  # empties the descriptor, too
        {"returns": 0},
        {"call": "poll", "milliseconds": 60_000},
        {"sends": {"type": "grant", "operation": 1, "number": 2, "rate": 1e12}},
        {"returns": 1},
        {"call": "ready", "bytes": 1000},
        {"returns": 500},
        {"call": "moved", "bytes": 300},
        {"returns": 0},
        {"sends": {"type": "grant", "operation": 1, "number": 3, "rate": 0.0}},
        {"settles": True},
        {"call": "ready", "bytes": 700},
        {"returns": 200},  # to the end of the round
        {"call": "moved", "bytes": 200},
        {"receives": {"type": "yielded", "grant": 3}},
        {"call": "ready", "bytes": 500},
        {"returns": 0},
    ]
    converse(steps, Coordinator(folder / "socket"), NativeApplication(folder / "socket"))


def test_whole_rounds_are_one_call_each(start: Start, folder: Path) -> None:
    program = opened(start(PENSTOCK_DISABLE="1"), "collective")
    assert program.call("begin", 1000, 3) == 0
    assert program.call("move", 1000) == 3
    assert program.call("end") == 0
    assert (folder / "file").read_bytes() == expected(1000)


def test_paced_calls_allocate_nothing(serve: Serve, start: Start) -> None:
    """200 operations of five paced writes each need as many allocations as 20, connection included."""
    serve("--message-rate", "100000")
    counts = []
    for operations in (20, 200):
        program = opened(start("file", LD_PRELOAD=str(compiled("allocations.so"))), "writer")
        for _ in range(operations):
            assert program.call("begin", 5 * 4096, 5) == 0
            for _ in range(5):
                assert program.call("write", 4096) == 4096
            assert program.call("end") == 0
        counts.append(program.errors())
    assert counts[0] == counts[1] != "allocations: 0\n"


def test_a_program_can_take_the_notices(start: Start, folder: Path) -> None:
    program = opened(start(), "noting")
    assert program.call("close") == 0
    place = folder / "socket"
    line = f"penstock: no coordinator at {place} (no such file or directory); going on uncoordinated"
    assert program.errors() == f"[2] {line}\n"


def test_a_coordinator_cuts_a_long_round(folder: Path) -> None:
    """A round of 100 s at the granted rate; a pause must take effect within a second."""
    steps: list[dict[str, Any]] = [
        {"call": "open", "job": "long"},
        {"receives": {"type": "register"}},
        {"sends": REGISTERED | {"longest_round": 1.0}},
        {"call": "begin", "volume": 100 * MB, "rounds": 1},
        {"receives": {"type": "inform"}},
        {"sends": {"type": "grant", "operation": 1, "number": 1, "rate": 1e6}},
        {"call": "write", "bytes": 100 * MB},
        {"receives": {"type": "report"}},
        {"sends": {"type": "grant", "operation": 1, "number": 2, "rate": 0.0}},
        {"receives": {"type": "yielded", "grant": 2}},
        {"waits": True},
        {"sends": {"type": "grant", "operation": 1, "number": 3, "rate": 1e12}},
        {"returns": 100 * MB},
        {"call": "end"},
        {"receives": {"type": "release", "operation": 1, "moved": 100 * MB}},
    ]
    converse(steps, Coordinator(folder / "socket"), NativeApplication(folder / "socket"))


def test_it_is_named_and_sized_as_slurm_says(serve: Serve, start: Start) -> None:
    coordinator = serve()
    slurm = {"SLURM_JOB_ID": "17", "SLURM_JOB_NAME": "climate", "SLURM_JOB_NUM_NODES": "64", "SLURM_JOB_USER": "ada"}
    program = start(**slurm)
    program.begin("open_by_env")
    assert program.answer() == "0"
    until(lambda: states(coordinator) == {"climate-17": "working"})
    (found,) = coordinator.state()["applications"]
    assert (found["nodes"], found["user"]) == (64, "ada")


def test_a_tcp_coordinator_needs_its_token(serve: Serve, start: Start, folder: Path) -> None:
    token = folder / "token"
    token.write_text("open sesame\n")
    token.chmod(0o600)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    coordinator = serve("--listen", f"127.0.0.1:{port}", "--token-file", str(token))
    program = opened(start(PENSTOCK_SOCKET=f"127.0.0.1:{port}", PENSTOCK_TOKEN_FILE=str(token)), "remote")
    assert program.call("begin", MB, 4) == 0
    assert program.call("write", MB) == MB
    assert program.state()["coordinated"]
    assert states(coordinator) == {"remote": "transferring"}
