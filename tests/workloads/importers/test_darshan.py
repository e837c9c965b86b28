"""Logs with known contents, written by the test itself, come back as their phases; real logs keep the law of bytes."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.campaign.workers import LocalPool
from penstock.model import InputError, PenstockError
from penstock.workloads.importers import merging
from penstock.workloads.importers.darshan import DarshanChoice, lost_reason, read_log, record_or_reason
from penstock.workloads.importers.job_records import JobRecord, application_of
from tests.data import real
from tests.naive.profiles import examples
from tests.workloads.importers.logs import NUMBER, Log, backend

backend()  # skips the module without PyDarshan
GB = 10**9


def phases(path: Path, **choice: object) -> list[tuple[float, float, float, str]]:
    return list(read_log(str(path), DarshanChoice(**choice)).phases)  # type: ignore[arg-type]


def in_a_process(path: Path) -> JobRecord | str:
    """What a worker finds, or the reason if the log ends it."""
    with LocalPool(1, attempts=1) as pool:
        ((_, found),) = pool.mapped(partial(record_or_reason, choice=DarshanChoice()), [str(path)], lost_reason)
    return found


def checkpoints(begins: Sequence[float], ranks: int = 4) -> Log:
    """From each of the dates on every process writes 10 blocks of 10 MB in 1 s each, a little after one another."""
    log = Log(ranks=ranks, seconds=400.0)
    for rank in range(ranks):
        rows = [
            (begin + 0.1 * rank + 1.05 * block, begin + 0.1 * rank + 1.05 * block + 1.0, 10**7)
            for begin in begins
            for block in range(10)
        ]
        log.dxt.append(("DXT_POSIX", f"/scratch/out.{rank}", rank, f"n{rank // 2}", rows, []))
    log.counters = [("POSIX", f"/scratch/out.{rank}", rank, {"BYTES_WRITTEN": 10**8 * len(begins)}) for rank in range(ranks)]
    return log


def test_single_operations_come_back_as_the_phases_they_are(tmp_path: Path) -> None:
    log = checkpoints([20.0, 120.0, 250.0])
    log.dxt.append(("DXT_POSIX", "/scratch/in", 0, "n0", [], [(1.0, 3.0, GB), (2.0, 4.0, GB)]))
    log.counters.append(("POSIX", "/scratch/in", 0, {"BYTES_READ": 2 * GB}))
    record = read_log(str(log.write(tmp_path / "a.darshan")), DarshanChoice())
    # The last block of a checkpoint ends 9 · 1.05 + 0.3 + 1 s after the first begins; pauses are 0 or about 90 s.
    assert list(record.phases) == [
        (1.0, 4.0, 2.0 * GB, "read"),
        *((begin, pytest.approx(begin + 10.75), 4e8, "write") for begin in (20.0, 120.0, 250.0)),
    ]
    assert (record.source, record.nodes, record.ranks, record.job_id) == ("dxt", 2, 4, "7")
    assert record.phases.total() == record.source_bytes == record.counted == (2.0 * GB, 1.2 * GB)
    assert (record.start, record.end - record.start) == (1_600_000_000.0, 400.0)
    assert record.program == "/home/alice/solver --fast"


def test_the_gap_can_be_given(tmp_path: Path) -> None:
    path = checkpoints([20.0, 120.0], ranks=1).write(tmp_path / "a.darshan")
    assert len(phases(path, gap=0.01)) == 20
    assert len(phases(path, gap=0.06)) == 2
    assert len(phases(path, gap=100.0)) == 1


def test_a_heatmap_gives_the_phases_within_a_bin(tmp_path: Path) -> None:
    # Written from 12 to 31 s and from 74 to 88 s, read from 3 to 9 s, in bins of 5 s, by two processes.
    writes, reads = np.zeros(20, int), np.zeros(20, int)
    for second in (*range(12, 31), *range(74, 88)):
        writes[second // 5] += 10**6
    for second in range(3, 9):
        reads[second // 5] += 10**7
    log = Log(heat=[("POSIX", rank, 5.0, writes.tolist(), reads.tolist()) for rank in (0, 1)])
    log.heat.append(("MPIIO", 0, 5.0, (7 * writes).tolist(), reads.tolist()))  # the same bytes, one layer above
    log.counters = [("POSIX", "/scratch/a", -1, {"BYTES_READ": 12 * 10**7, "BYTES_WRITTEN": 66 * 10**6 + 3})]
    record = read_log(str(log.write(tmp_path / "a.darshan")), DarshanChoice())
    assert record.source == "heatmap"
    known = [(3.0, 9.0, 12e7, "read"), (12.0, 31.0, 38e6, "write"), (74.0, 88.0, 28e6, "write")]
    for found, (start, end, volume, way) in zip(record.phases, known, strict=True):
        assert found[2:] == (volume, way)
        assert start - 5.0 < found[0] <= start
        assert end <= found[1] < end + 5.0
    assert record.source_bytes == record.phases.total() == (12e7, 66e6)
    assert record.counted == (12e7, 66e6 + 3)  # the heatmap of Darshan may round


def test_counters_give_one_phase_for_each_direction(tmp_path: Path) -> None:
    def times(first: float, last: float, inside: float) -> dict[str, float]:
        return {"F_WRITE_START_TIMESTAMP": first, "F_WRITE_END_TIMESTAMP": last, "F_WRITE_TIME": inside}

    log = Log(
        counters=[
            ("POSIX", "/scratch/a", 0, {"BYTES_WRITTEN": 5 * GB, **times(10.0, 20.0, 4.0)}),
            ("POSIX", "/scratch/b", 1, {"BYTES_WRITTEN": 3 * GB, **times(60.0, 70.0, 8.0)}),
            ("POSIX", "/scratch/c", -1, {"BYTES_READ": GB, "F_OPEN_START_TIMESTAMP": 1.0, "F_CLOSE_END_TIMESTAMP": 9.0}),
        ]
    )
    path = log.write(tmp_path / "a.darshan")
    assert phases(path) == [(1.0, 9.0, 1.0 * GB, "read"), (10.0, 70.0, 8.0 * GB, "write")]
    record = read_log(str(path), DarshanChoice())
    assert record.source == "counters"
    assert record.phases.seconds.tolist() == [8.0, 8.0]  # the process that was in calls for longest
    assert phases(path, by_file=True) == [
        (1.0, 9.0, 1.0 * GB, "read"),
        (10.0, 20.0, 5.0 * GB, "write"),
        (60.0, 70.0, 3.0 * GB, "write"),
    ]


@pytest.mark.parametrize("inside", [-2662.7, -math.inf, math.inf, math.nan])
def test_seconds_in_calls_that_cannot_be_count_as_the_seconds_of_use(tmp_path: Path, inside: float) -> None:
    """A clock that ran back in a process: the example log of Darshan has −2662.7 s of writing to the terminal's errors."""

    def times(first: float, last: float, inside: float) -> dict[str, float]:
        return {"F_WRITE_START_TIMESTAMP": first, "F_WRITE_END_TIMESTAMP": last, "F_WRITE_TIME": inside}

    for rank in (1, -1):
        wrong = ("POSIX", "/scratch/b", rank, {"BYTES_WRITTEN": 3 * GB, **times(20.0, 25.0, inside)})
        right = ("POSIX", "/scratch/a", 0, {"BYTES_WRITTEN": 5 * GB, **times(10.0, 20.0, 4.0)})
        record = read_log(str(Log(counters=[right, wrong]).write(tmp_path / "a.darshan")), DarshanChoice())
        assert record.phases.total() == (0.0, 8.0 * GB)
        assert record.phases.seconds.tolist() == [5.0 if rank > 0 else 9.0]


@pytest.mark.parametrize("last", [1e77, math.inf, math.nan, -5.0])
@pytest.mark.parametrize("names", [("READ_START", "READ_END"), ("OPEN_START", "CLOSE_END")])
def test_dates_of_counters_that_cannot_be_count_as_the_whole_job(
    tmp_path: Path, names: tuple[str, str], last: float
) -> None:
    times = dict(zip([f"F_{name}_TIMESTAMP" for name in names], [1.0, last], strict=True))
    path = Log(counters=[("POSIX", "/a", 0, {"BYTES_READ": 5, **times})]).write(tmp_path / "a.darshan")
    assert phases(path) == [(0.0, 100.0, 5.0, "read")]


def test_one_layer_only(tmp_path: Path) -> None:
    log = Log(
        dxt=[
            ("DXT_POSIX", "/scratch/a", 0, "n0", [(1.0, 2.0, 8 * GB)], []),
            ("DXT_MPIIO", "/scratch/a", 0, "n0", [(0.9, 2.1, 2 * GB)], []),
        ],
        counters=[
            ("POSIX", "/scratch/a", 0, {"BYTES_WRITTEN": 8 * GB}),
            ("MPI-IO", "/scratch/a", 0, {"BYTES_WRITTEN": 2 * GB}),
        ],
    )
    path = log.write(tmp_path / "a.darshan")
    assert phases(path) == [(1.0, 2.0, 8.0 * GB, "write")]
    assert phases(path, layer="mpiio") == [(0.9, 2.1, 2.0 * GB, "write")]
    assert read_log(str(path), DarshanChoice()).volumes == {"POSIX": (0.0, 8.0 * GB), "MPI-IO": (0.0, 2.0 * GB)}


def test_stdio_is_added_where_posix_does_not_contain_it(tmp_path: Path) -> None:
    span = {"F_WRITE_START_TIMESTAMP": 40.0, "F_WRITE_END_TIMESTAMP": 41.0}
    log = Log(
        dxt=[("DXT_POSIX", "/scratch/a", 0, "n0", [(1.0, 2.0, 100)], [])],
        counters=[
            ("POSIX", "/scratch/a", 0, {"BYTES_WRITTEN": 100}),
            ("STDIO", "/scratch/a", 0, {"BYTES_WRITTEN": 100, **span}),  # POSIX has these
            ("STDIO", "/scratch/log", 0, {"BYTES_WRITTEN": 30, **span}),
            ("STDIO", "<STDOUT>", 0, {"BYTES_WRITTEN": 4, **span}),  # the terminal
        ],
    )
    path = log.write(tmp_path / "a.darshan")
    assert phases(path) == [(1.0, 2.0, 100.0, "write"), (40.0, 41.0, 30.0, "write")]
    assert read_log(str(path), DarshanChoice()).counted == (0.0, 130.0)
    assert phases(path, layer="stdio") == [(40.0, 41.0, 134.0, "write")]


def test_only_files_below_the_mount_points(tmp_path: Path) -> None:
    log = Log(
        dxt=[
            ("DXT_POSIX", "/scratch/a", 0, "n0", [(1.0, 2.0, 100)], []),
            ("DXT_POSIX", "/scratch2/b", 0, "n0", [(5.0, 6.0, 50)], []),
            ("DXT_POSIX", "/home/c", 1, "n1", [(9.0, 10.0, 7)], []),
        ],
        counters=[
            ("POSIX", f, 0, {"BYTES_WRITTEN": n}) for f, n in (("/scratch/a", 100), ("/scratch2/b", 50), ("/home/c", 7))
        ],
    )
    path = log.write(tmp_path / "a.darshan")
    assert phases(path, mounts=("/scratch",)) == [(1.0, 2.0, 100.0, "write")]
    assert phases(path, mounts=("/scratch/", "/home")) == [(1.0, 2.0, 100.0, "write"), (9.0, 10.0, 7.0, "write")]
    assert read_log(str(path), DarshanChoice(mounts=("/scratch",))).counted == (0.0, 100.0)
    assert read_log(str(path), DarshanChoice(mounts=("/nowhere",))).source == "none"


def test_a_heatmap_does_not_know_mount_points(tmp_path: Path) -> None:
    log = Log(heat=[("POSIX", 0, 1.0, [5, 5], [0, 0])], counters=[("POSIX", "/scratch/a", 0, {"BYTES_WRITTEN": 10})])
    record = read_log(str(log.write(tmp_path / "a.darshan")), DarshanChoice(mounts=("/scratch",)))
    assert record.source == "counters"
    assert any("mount points" in note for note in record.notes)


def test_io_without_gaps_has_phases_of_its_period(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    bins = random.integers(10**6, 2 * 10**6, 200)  # something is always written
    bins[np.arange(200) % 10 < 3] += 3 * 10**7  # and much in 3 of 10 bins of 2 s
    log = Log(seconds=400.0, heat=[("POSIX", 0, 2.0, bins.tolist(), [0] * 200)])
    path = log.write(tmp_path / "a.darshan")
    assert len(phases(path)) == 1
    assert any("period of 20 s" in note and "--period" in note for note in read_log(str(path), DarshanChoice()).notes)
    record = read_log(str(path), DarshanChoice(period=True))
    assert record.phases.total() == record.source_bytes == (0.0, float(bins.sum()))
    assert len(record.phases) == 20
    assert np.diff(record.phases.starts) == pytest.approx(20.0, abs=0.3)
    assert (record.phases.ends - record.phases.starts) == pytest.approx(6.0, abs=0.7)


def test_nodes_come_from_hosts_or_processes_per_node(tmp_path: Path) -> None:
    few = checkpoints([20.0], ranks=4)
    few.ranks = 64  # DXT knows 4 of them, on 2 hosts
    record = read_log(str(few.write(tmp_path / "few.darshan")), DarshanChoice())
    assert record.nodes == 2
    assert any("4 of 64 processes" in note for note in record.notes)
    assert read_log(str(tmp_path / "few.darshan"), DarshanChoice(ranks_per_node=16)).nodes == 4
    unknown = Log(ranks=33, counters=[("POSIX", "/scratch/a", 0, {"BYTES_WRITTEN": 1})]).write(tmp_path / "b.darshan")
    assert read_log(str(unknown), DarshanChoice()).nodes is None
    assert read_log(str(unknown), DarshanChoice(ranks_per_node=16)).nodes == 3


def test_a_source_can_be_asked_for(tmp_path: Path) -> None:
    log = checkpoints([20.0])
    log.heat = [("POSIX", 0, 10.0, [0, 0, 4 * 10**8, 0], [0] * 4)]
    path = log.write(tmp_path / "a.darshan")
    sources = {source: read_log(str(path), DarshanChoice(source=source)) for source in ("dxt", "heatmap", "counters")}
    assert {source: (record.source, record.source_bytes) for source, record in sources.items()} == {
        source: (source, (0.0, 4e8)) for source in sources
    }
    missing = Log(counters=[("POSIX", "/a", 0, {"BYTES_READ": 5})]).write(tmp_path / "b.darshan")
    record = read_log(str(missing), DarshanChoice(source="dxt"))
    assert (record.source, record.phases.total(), record.counted) == ("none", (0.0, 0.0), (5.0, 0.0))


def test_what_is_partial_is_said(tmp_path: Path) -> None:
    log = Log(counters=[("POSIX", "/scratch/a", 0, {"BYTES_WRITTEN": 100})])
    assert read_log(str(log.write(tmp_path / "a.darshan")), DarshanChoice()).notes == ()
    log.partial = 1 << NUMBER["POSIX"]
    (note,) = read_log(str(log.write(tmp_path / "b.darshan")), DarshanChoice()).notes
    assert note == "partial: Darshan had no room for all records of POSIX"


def test_a_log_that_was_cut_is_refused_or_says_so(tmp_path: Path) -> None:
    """Wherever it is cut; a cut that makes the library end the process is for the test of folders."""
    whole = checkpoints([20.0, 120.0]).write(tmp_path / "a.darshan").read_bytes()
    cut = tmp_path / "cut.darshan"
    reasons = set()
    for size in (9, 100, len(whole) // 2, len(whole) - 40):
        cut.write_bytes(whole[:size])
        found = in_a_process(cut)
        reasons.add(found if isinstance(found, str) else next(note for note in found.notes if "to its end" in note))
    assert all(reasons)


@pytest.mark.parametrize(
    "log",
    [
        Log(dxt=[("DXT_POSIX", "/a", 0, "n0", [(1.0, 1e77, 5)], [])]),
        Log(dxt=[("DXT_POSIX", "/a", 0, "n0", [(1.0, float("nan"), 5)], [])]),
        Log(dxt=[("DXT_POSIX", "/a", 0, "n0", [(1.0, 2.0, 1 << 60)], [])]),
        Log(heat=[("POSIX", 0, 1.0, [1 << 60], [0])]),
        Log(heat=[("POSIX", 0, 1e9, [5], [0])]),
        Log(counters=[("POSIX", "/a", 0, {"BYTES_READ": 1 << 62})]),
    ],
)
def test_contents_that_only_a_broken_log_has_are_refused(tmp_path: Path, log: Log) -> None:
    reason = record_or_reason(str(log.write(tmp_path / "a.darshan")), DarshanChoice())
    assert isinstance(reason, str)
    assert reason.endswith("the log is broken")


def test_bytes_changed_at_random_never_end_in_a_traceback(tmp_path: Path) -> None:
    log = checkpoints([20.0, 120.0])
    log.heat = [("POSIX", 0, 1.0, [1, 2, 3, 4] * 25, [0] * 100)]
    whole = log.write(tmp_path / "a.darshan").read_bytes()
    random = np.random.default_rng(5)
    paths = []
    for number in range(24):
        content = bytearray(whole)
        for at in random.integers(0, len(whole) if number % 2 else 1360, 3):
            content[at] = random.integers(0, 256)
        paths.append(str(tmp_path / f"{number}.darshan"))
        Path(paths[-1]).write_bytes(content)
    with LocalPool(2, attempts=1) as pool:
        found = dict(pool.mapped(partial(record_or_reason, choice=DarshanChoice()), paths, lost_reason))
    assert set(found) == set(paths)
    for one in found.values():
        assert one if isinstance(one, str) else one.phases.total() == one.source_bytes


def test_without_pydarshan_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "darshan.backend", None)
    with pytest.raises(
        PenstockError, match=r"^PyDarshan is not installed; expected it from pip install 'penstock\[darshan\]'$"
    ):
        read_log("any.darshan", DarshanChoice())


@pytest.mark.parametrize("content", [b"", b"no log at all, but longer than the header of one" * 20])
def test_what_is_no_log_is_refused_in_a_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x.darshan").write_bytes(content)
    with pytest.raises(InputError, match="expected a Darshan log of format 3") as refused:
        read_log(str(tmp_path / "x.darshan"), DarshanChoice())
    assert "\n" not in str(refused.value)


def test_another_version_is_refused(tmp_path: Path) -> None:
    path = checkpoints([20.0]).write(tmp_path / "a.darshan")
    path.write_bytes(b"2.06\0\0\0\0" + path.read_bytes()[8:])
    with pytest.raises(InputError, match="expected"):
        read_log(str(path), DarshanChoice())
    later = checkpoints([20.0])
    later.versions = {"DXT_POSIX": 99}
    record = read_log(str(later.write(tmp_path / "b.darshan")), DarshanChoice())
    assert any("DXT_POSIX cannot be read" in note for note in record.notes)
    assert (record.source, record.source_bytes) == ("counters", (0.0, 4e8))


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"layer": "posx"}, "layer: 'posx' is unknown; expected one of posix, mpiio, stdio; did you mean posix?"),
        ({"source": "heat"}, "source: 'heat' is unknown"),
        ({"gap": -1.0}, "gap: -1.0 is out of range"),
        ({"ranks_per_node": 0}, "ranks_per_node: 0 is out of range"),
        ({"source": "heatmap", "mounts": ("/a",)}, "source: a heatmap does not tell files apart"),
        ({"source": "dxt", "layer": "stdio"}, "source: DXT does not trace STDIO"),
    ],
)
def test_wrong_choices_are_refused(choice: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message.replace("?", r"\?")):
        DarshanChoice(**choice)  # type: ignore[arg-type]


operations = st.lists(
    st.tuples(st.floats(0.0, 90.0), st.floats(0.0, 10.0), st.integers(1, 10**12), st.booleans(), st.integers(0, 3)),
    min_size=1,
    max_size=40,
)


@given(operations, st.floats(0.0, 20.0))
@examples(100)
def test_phases_are_what_a_slow_twin_finds(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[float, float, int, bool, int]], gap: float
) -> None:
    log = Log(seconds=100.0)
    for rank in range(4):
        ways = [[(s, s + d, v) for s, d, v, writes, r in rows if r == rank and writes is way] for way in (True, False)]
        if any(ways):
            log.dxt.append(("DXT_POSIX", "/scratch/a", rank, "n0", ways[0], ways[1]))
    record = read_log(str(log.write(tmp_path_factory.mktemp("log") / "a.darshan")), DarshanChoice(gap=gap))
    known = []
    for way in (False, True):
        ordered = sorted((s, s + d, v) for s, d, v, writes, _ in rows if writes is way)
        mine: list[list[float]] = []
        for start, end, volume in ordered:
            if mine and start - mine[-1][1] <= gap:
                mine[-1][1] = max(mine[-1][1], end)
                mine[-1][2] += volume
            else:
                mine.append([start, end, volume])
        known += [(*one, "write" if way else "read") for one in mine]
    assert sorted(record.phases) == sorted(known)
    assert record.phases.total() == record.source_bytes


def test_many_operations_are_a_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = checkpoints([20.0, 120.0, 250.0], ranks=16)
    path = log.write(tmp_path / "a.darshan")
    whole = read_log(str(path), DarshanChoice())
    monkeypatch.setattr(merging, "MOST_KEPT", 8)
    monkeypatch.setattr("penstock.workloads.importers.darshan.SLICE", 5)
    streamed = read_log(str(path), DarshanChoice())
    assert list(streamed.phases) == list(whole.phases)
    assert streamed.phases.total() == whole.source_bytes


REAL = {
    "dxt.darshan": "dxt",
    "e3sm_io_heatmap_only.darshan": "heatmap",
    "example.darshan": "counters",
    "ior_hdf5_example.darshan": "dxt",
    "mpi-io-test-x86_64-3.5.0.darshan": "heatmap",
    "noposix.darshan": "counters",
    "sample-badost.darshan": "counters",
}


@pytest.mark.parametrize("name", REAL)
def test_real_logs_keep_the_law(name: str) -> None:
    record = read_log(real(f"darshan/{name}"), DarshanChoice())
    assert record.source == REAL[name]
    assert record.phases.total() == record.source_bytes
    assert record.counted is not None
    assert record.source_bytes == pytest.approx(record.counted, abs=100)


@pytest.mark.parametrize("choice", [DarshanChoice(layer="mpiio"), DarshanChoice(layer="stdio"), DarshanChoice(by_file=True)])
@pytest.mark.parametrize("name", REAL)
def test_real_logs_become_applications_whatever_is_asked_of_them(name: str, choice: DarshanChoice) -> None:
    record = read_log(real(f"darshan/{name}"), choice)
    assert record.phases.total() == record.source_bytes
    assert (record.phases.seconds >= 0.0).all()
    application = application_of(record, record.start)
    assert application.bandwidth is None or application.bandwidth > 0.0


def test_e3sm_has_a_period_where_gaps_separate_nothing() -> None:
    path = real("darshan/e3sm_io_heatmap_only.darshan")
    record = read_log(path, DarshanChoice())
    assert record.source_bytes[1] == 304_663_273_053.0  # and not the 77 GB of MPI-IO as well
    assert max(record.phases.ends - record.phases.starts) > 690.0  # one phase of 108 bins of 6.4 s
    assert any("period of 36.6 s" in note for note in record.notes)
    periodic = read_log(path, DarshanChoice(period=True))
    assert periodic.phases.total() == record.source_bytes
    assert 18 <= np.count_nonzero(periodic.phases.writes) <= 20


def package_logs() -> list[Path]:
    import darshan

    return sorted(Path(darshan.__file__).parent.rglob("*.darshan"))


@pytest.mark.parametrize("path", package_logs(), ids=lambda path: path.stem[-40:])
def test_the_logs_of_the_package_keep_the_law(path: Path) -> None:
    record = read_log(str(path), DarshanChoice())
    assert record.phases.total() == record.source_bytes
    assert record.counted is not None
