"""What the libraries write about a run, read back: counters, phases, and the workload that they make."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest

from penstock.engine import simulate
from penstock.model import InputError
from penstock.native.records import Phase, as_workload, job_name, largest_rate, read_records, summary

NS = 10**9


def counters(folder: Path, pid: int, begin: float, *, phases: str = "", program: bytes = b"dd", **numbers: int) -> Path:
    """Write the files of a process as the library does, field by field after the layout in the documentation."""
    names = ("read", "written", "reads", "writes", "phases", "waited", "mapped", "rings", "submissions", "outages")
    values = [numbers.get(name, 0) for name in (*names, "open_begin", "open_read", "open_written", "last")]
    path = folder / f"{pid}-{int(begin * NS)}.counters"
    head = b"PENSTOCK" + struct.pack("=IIII", 1, pid, 1, numbers.get("flags", 0))
    content = head + struct.pack("=15Q", int(begin * NS), *values) + program
    path.write_bytes(content.ljust(4096, b"\0"))
    if phases:
        path.with_suffix(".phases").write_text(phases)
    return path


def test_counters_and_phases(tmp_path: Path) -> None:
    counters(tmp_path, 7, 102.0, program=b"cp", read=5, reads=1, phases="102.5 103 5 0 0\n")
    counters(
        tmp_path, 8, 100.0, flags=1, written=300, writes=3, waited=2 * NS, mapped=1, rings=2, submissions=3, outages=4,
        phases="101.000000 102.000000 0 200 1.5\n", open_begin=105 * NS, open_written=100, last=106 * NS,
    )  # fmt: skip
    first, second = read_records(tmp_path)
    assert (first.pid, first.parent, first.program, first.begin, first.coordinated) == (8, 1, "dd", 100.0, True)
    assert (first.written, first.write_calls, first.waited, first.outages) == (300, 3, 2.0, 4)
    assert (first.mapped, first.rings, first.submissions) == (1, 2, 3)
    assert first.phases == (Phase(101.0, 102.0, 0, 200, 1.5), Phase(105.0, 106.0, 0, 100))
    assert (second.program, second.coordinated, second.phases) == ("cp", False, (Phase(102.5, 103.0, 5, 0),))
    assert largest_rate([first, second]) == 200.0
    told = summary([first, second])
    assert (told["processes"], told["coordinated"], told["read"], told["written"]) == (2, 1, 5, 300)
    assert told["unseen"] == {"mapped": 1, "io_uring": 2, "libaio": 3}
    rows = [(one["program"], one["phases"], one["begin"], one["end"]) for one in told["programs"]]
    assert rows == [("dd", 2, 101.0, 106.0), ("cp", 1, 102.5, 103.0)]


def test_what_is_no_record_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "1-1.counters").write_bytes(b"short")
    (tmp_path / "2-2.counters").write_bytes(b"x" * 4096)
    other = counters(tmp_path, 3, 1.0)
    other.write_bytes(other.read_bytes()[:8] + struct.pack("=I", 2) + other.read_bytes()[12:])
    (tmp_path / "4-4.counters").mkdir()
    assert read_records(tmp_path) == []


def test_a_line_that_was_cut_off(tmp_path: Path) -> None:
    counters(tmp_path, 1, 1.0, written=10, phases="1.0 2.0 0 10 0\n3.0 4.0 0")
    assert read_records(tmp_path)[0].phases == (Phase(1.0, 2.0, 0, 10),)


def test_a_workload(tmp_path: Path) -> None:
    """Two writers one after the other and beside each other: alone, the run takes what was recorded."""
    counters(tmp_path, 1, 10.0, written=40, phases="12 14 0 20 0\n17 19 0 20 0\n")
    counters(tmp_path, 2, 11.0, read=10, written=10, program=b"cat", phases="13 15 10 10 0\n")
    workload = as_workload(read_records(tmp_path), 10.0, nodes=4)
    dd, cat = workload.applications
    assert (dd.name, dd.nodes, dd.release, cat.name, cat.release) == ("dd", 4, 0.0, "cat", 1.0)
    assert [tuple(phase) for phase in dd.phases] == [("work", 2.0), ("write", 20.0), ("work", 3.0), ("write", 20.0)]
    assert [tuple(phase) for phase in cat.phases] == [("work", 2.0), ("read", 10.0), ("write", 10.0)]
    alone = as_workload(read_records(tmp_path)[:1], 10.0)
    assert simulate(alone, "fcfs").makespan == pytest.approx(9.0)


def test_processes_of_one_program_are_told_apart(tmp_path: Path) -> None:
    for pid in (1, 2):
        counters(tmp_path, pid, 10.0 + pid, written=1, phases=f"{20 + pid} {21 + pid} 0 1 0\n")
    assert [one.name for one in as_workload(read_records(tmp_path), 1.0).applications] == ["dd-1", "dd-2"]


def test_the_ranks_of_a_program_are_one_application(tmp_path: Path) -> None:
    """Rank 9 moves 3 s later than rank 8, and their first phases overlap; dd is an application of its own."""
    counters(tmp_path, 8, 100.0, program=b"solver", flags=3, phases="101 103 0 200 1\n110 111 0 20 0\n")
    counters(tmp_path, 9, 99.0, program=b"solver", flags=2, phases="102 104 7 100 0.5\n")
    counters(tmp_path, 7, 98.0, program=b"dd", phases="102 103 0 5 0\n")
    workload = as_workload(read_records(tmp_path), 100.0)
    assert [application.name for application in workload.applications] == ["dd", "solver"]
    assert workload == as_workload(
        [
            replace(record, rank=False, phases=(Phase(101.0, 104.0, 7, 300, 1.5), Phase(110.0, 111.0, 0, 20)))
            if record.pid == 9
            else record
            for record in read_records(tmp_path)
            if record.pid != 8
        ],
        100.0,
    )


def test_all_processes_are_one_application(tmp_path: Path) -> None:
    """Two writers whose phases overlap: 1 to 4 s together, with 30 bytes; B is what they reach in that."""
    counters(tmp_path, 1, 0.5, phases="1 3 0 20 0\n")
    counters(tmp_path, 2, 0.0, program=b"cat", phases="2 4 0 10 0\n8 9 5 0 0\n")
    records = read_records(tmp_path)
    assert (job_name(records, "/bin/bash"), job_name(records[:1], "/bin/bash")) == ("bash", "cat")
    assert (largest_rate(records), largest_rate(records, together=True)) == (10.0, 10.0)
    (application,) = as_workload(records, 10.0, job="script").applications
    assert application.name == "script"
    phases = [tuple(phase) for phase in application.phases]
    assert phases == [("work", 1.0), ("write", 30.0), ("work", 4.0), ("read", 5.0)]


def test_nothing_to_make_a_workload_of(tmp_path: Path) -> None:
    counters(tmp_path, 1, 1.0)
    with pytest.raises(InputError, match="no program read or wrote a watched file; expected --mount DIR"):
        as_workload(read_records(tmp_path), 1.0)
