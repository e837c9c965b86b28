"""Real programs with the shim: every byte that they read and write on the mount is counted, none is changed."""

from __future__ import annotations

import json
import sys

import pytest

from penstock.cli.main import main
from penstock.model.files import read
from penstock.native.libraries import LIBRARY_PATH
from tests.native.building import need
from tests.native.shimming import CASES, SIZE, Case, Site, library, prepare, run_case, site

__all__ = ["site"]
FIO = ("--name=t", "--size=1m", "--bs=64k", "--rw=write", "--output=/dev/null")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bytes_of_programs(site: Site, case: Case) -> None:
    prepare(site)
    seen = run_case(site, case)
    assert seen.bytes == (case.read, case.written)
    assert (sum(read for read, _ in seen.phases), sum(written for _, written in seen.phases)) == seen.bytes
    assert seen.errors == ""


def test_what_is_not_on_the_mount_is_not_seen(site: Site) -> None:
    prepare(site)
    site.run("bash", "-c", "cp in ../plain/in")
    seen = site.run("bash", "-c", "cp ../plain/in ../plain/out && cat ../plain/out | wc -c && echo ok > /dev/null")
    assert (seen.records, seen.out) == ([], f"{SIZE}\n")


def test_a_mount_by_way_of_a_link(site: Site) -> None:
    (site.folder / "link").symlink_to(site.mount)
    seen = site.run("bash", "-c", "echo 12345 > ../link/file", PENSTOCK_MOUNTS=str(site.folder / "link"))
    assert seen.bytes == (0, 6)


def test_sqlite(site: Site) -> None:
    need("sqlite3")
    seen = site.run("sqlite3", "base", "create table t(x); insert into t values('kept'); select x from t;")
    assert seen.out == "kept\n"
    (record,) = seen.records
    assert record.written >= (site.mount / "base").stat().st_size > 0


@pytest.mark.parametrize("engine", ["psync", "sync", "pvsync", "posixaio"])
@pytest.mark.parametrize("thread", [False, True], ids=["processes", "threads"])
def test_fio(site: Site, engine: str, thread: bool) -> None:
    need("fio")
    options = [
        "--name=t",
        "--size=1m",
        "--bs=64k",
        "--rw=write",
        f"--ioengine={engine}",
        "--numjobs=2",
        "--output=/dev/null",
    ]
    seen = site.run("fio", *options, *["--thread"][:thread])
    assert seen.code == 0, seen
    writers = [record for record in seen.records if record.written]
    assert (seen.bytes, len(writers)) == ((0, 2 << 20), 1 if thread else 2)


@pytest.mark.parametrize(
    ("engine", "kind", "written", "line"),
    [
        ("libaio", "submissions", 0, "penstock: this program uses libaio, whose I/O is not seen\n"),
        ("io_uring", "rings", 0, "penstock: this program uses io_uring, whose I/O is not seen\n"),
        (
            "mmap",
            "mapped",
            1 << 20,  # it fills the file by write first
            "penstock: a watched file is mapped for writing; bytes written through memory are not seen\n",
        ),
    ],
)
def test_what_fio_does_unseen_is_said_once(site: Site, engine: str, kind: str, written: int, line: str) -> None:
    need("fio")
    seen = site.run("fio", *FIO, f"--ioengine={engine}", "--thread")
    if seen.code and engine == "io_uring":
        pytest.skip("this kernel has no io_uring")
    assert (seen.bytes, seen.errors) == ((0, written), line)
    assert sum(getattr(record, kind) for record in seen.records) >= 1


def test_h5py(site: Site) -> None:
    pytest.importorskip("h5py")
    program = """
import h5py, numpy
with h5py.File("file", "w") as file:
    file["x"] = numpy.arange(100000.0)
with h5py.File("file") as file:
    print(file["x"][:].sum())
"""
    seen = site.run(sys.executable, "-c", program)
    assert (seen.code, seen.out.strip()) == (0, "4999950000.0"), seen
    assert 800_000 <= seen.bytes[1] < 810_000, "the data, and HDF5's own"
    assert seen.bytes[0] >= 800_000


def test_a_trace_is_a_workload(site: Site, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    prepare(site)
    monkeypatch.setenv(LIBRARY_PATH, str(library().parent))
    workload, summary = site.folder / "trace.json", site.folder / "summary.json"
    command = ["cp", str(site.mount / "in"), str(site.mount / "out")]
    assert main(["run", "--mount", str(site.mount), "--trace", str(workload), "--json", str(summary), "--", *command]) == 0
    assert capfd.readouterr().err == ""
    (application,) = read(workload).applications
    assert application.name == "cp"
    volumes = [(kind, amount) for kind, amount in application.phases if kind != "work"]
    assert volumes == [("read", float(SIZE)), ("write", float(SIZE))]
    told = json.loads(summary.read_text())
    assert (told["processes"], told["read"], told["written"], told["phases"]) == (1, SIZE, SIZE, 1)


def test_a_script_with_many_short_processes(site: Site) -> None:
    script = "for i in 1 2 3 4 5; do echo $i | sed s/x/y/ | tr a b | tee file.$i; done"
    seen = site.run("bash", "-c", script)
    assert (seen.out, seen.bytes, len(seen.records)) == ("1\n2\n3\n4\n5\n", (0, 10), 5)
