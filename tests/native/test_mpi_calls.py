"""MPI-IO with the library preloaded is as without: what each call returns, file pointers, every byte; and bytes count once.

The same programs run plain, with a library that only counts, and in rounds under a coordinator.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.native.building import need
from tests.native.mpi_jobs import BOTH, MPICH, OPEN_MPI, Mpi, family, moved, of_ranks, said
from tests.native.shimming import Seen, Site, functions
from tests.native.test_posix_live import served

each_mpi = pytest.mark.parametrize("mpi", BOTH, ids=family)
KINDS = {MPICH: "basiclvCp", OPEN_MPI: "basiclvp"}
"""All kinds of calls; Debian's Open MPI has none with large counts."""
ELEMENTS = 60_000
ROUNDS = {"PENSTOCK_PHASE": "volume=240000,rounds=4"}
"""Rounds of 60 kB of all ranks, a fraction of what a call moves."""


QUIET = """c2f f2c call_errhandler create_errhandler get_errhandler set_errhandler delete get_amode get_atomicity
get_byte_offset get_group get_info get_position get_type_extent get_type_extent_c get_view seek set_info"""
"""What the library leaves alone: it moves no data and writes to no file."""


@each_mpi
def test_no_call_is_missed(mpi: Mpi) -> None:
    """The MPI has no function of files, by either of its names, which the library should stand in for and does not."""
    need("ldd")
    linked = subprocess.run(["ldd", mpi.compiled("mpi_calls.c")], capture_output=True, text=True, check=True).stdout
    offered = set().union(*(functions(line.split()[2]) for line in linked.splitlines() if "libmpi" in line))
    theirs = {name for name in offered if name.startswith(("MPI_File_", "PMPI_File_"))}
    ours = functions(mpi.shim())
    assert {name.partition("File_")[2] for name in theirs - ours} <= set(QUIET.split())
    assert ours <= theirs


def plain(mpi: Mpi, folder: Path, *words: object) -> tuple[list[str], bytes]:
    """What the program prints, and the file that it writes, without the libraries."""
    folder.mkdir()
    site = Site(folder)
    seen = mpi.run(site, *words, LD_PRELOAD="")
    assert seen.code == 0, seen
    return seen.out.splitlines(), (site.mount / "file").read_bytes()


def same(seen: Seen, site: Site, expected: tuple[list[str], bytes]) -> None:
    assert seen.code == 0, seen
    lines, content = expected
    assert sorted(seen.out.splitlines()) == sorted(lines), "what the ranks print, in any order between ranks"
    found = (site.mount / "file").read_bytes()
    assert len(found) == len(content)
    assert [at for at in range(len(found)) if found[at] != content[at]][:5] == []


@each_mpi
def test_every_call(mpi: Mpi, tmp_path: Path) -> None:
    words = (mpi.compiled("mpi_calls.c"), "file", KINDS[mpi], ELEMENTS)
    expected = plain(mpi, tmp_path / "plain", *words)
    bytes_moved = moved("\n".join(expected[0]))
    assert {row["class"] for row in said("\n".join(expected[0]))} == {"0"}
    site = Site(tmp_path)
    observed = mpi.run(site, *words)
    same(observed, site, expected)
    assert of_ranks(observed, words[0]).bytes == bytes_moved
    with served("fcfs", **ROUNDS) as (_, site):
        steered = mpi.run(site, *words)
        same(steered, site, expected)
        ranks = of_ranks(steered, words[0])
        assert ranks.bytes == bytes_moved
        assert any(record.coordinated for record in ranks.records)


def test_wrong_calls_return_what_the_library_says(tmp_path: Path) -> None:
    """Open MPI ends such a program, with and without the library."""
    words = (MPICH.compiled("mpi_calls.c"), "file", "w", ELEMENTS)
    expected = plain(MPICH, tmp_path / "plain", *words)
    assert "0" not in {row["class"] for row in said("\n".join(expected[0])) if row["call"].startswith("wrong")}
    with served("fcfs", **ROUNDS) as (_, site):
        same(MPICH.run(site, *words), site, expected)


def test_ranks_that_end_with_a_file_open(tmp_path: Path) -> None:
    """One after the other, without MPI_Finalize: no rank waits for another one. Open MPI calls such an end a fault."""
    words = (MPICH.compiled("mpi_calls.c"), "file", "bcvx", ELEMENTS)
    expected = plain(MPICH, tmp_path / "plain", *words)
    with served("fcfs", **ROUNDS) as (_, site):
        steered = MPICH.run(site, *words)
        same(steered, site, expected)
        assert of_ranks(steered, words[0]).bytes == moved("\n".join(expected[0]))


@pytest.mark.parametrize("module", ["mpi", "mpi_f08"])
@each_mpi
def test_fortran(mpi: Mpi, module: str) -> None:
    """The program checks counts and data itself; rank r moves r + 1 parts by five writes and four reads."""
    options = ("-cpp", "-DF08") if module == "mpi_f08" else ("-cpp",)
    program, elements = mpi.compiled("mpi_fortran.f90", *options, compiler="mpifort"), 30_000
    each = 4 * (elements // 2 + elements)
    with served("fcfs", PENSTOCK_PHASE="volume=100000,rounds=2") as (_, site):
        seen = mpi.run(site, program, "file", elements)
        assert seen.code == 0, seen
        ranks = of_ranks(seen, program)
        assert ranks.bytes == (4 * each, 5 * each)
        assert len(ranks.records) == 2


@pytest.mark.parametrize("kind", ["collective", "independent"])
@each_mpi
def test_parallel_hdf5(mpi: Mpi, kind: str, tmp_path: Path) -> None:
    """The file is the same as without the libraries; what HDF5 writes besides the data is little."""
    program, rows = mpi.compiled("mpi_hdf5.c", compiler="h5pcc"), 100
    expected = plain(mpi, tmp_path / "plain", program, "file", rows, kind)
    with served("fcfs", PENSTOCK_PHASE="volume=1600000,rounds=4") as (_, site):
        seen = mpi.run(site, program, "file", rows, kind)
        same(seen, site, expected)
        read, written = of_ranks(seen, program).bytes
    data = 2 * rows * 1000 * 8
    assert read - data in range(10_000)
    assert written - data in range(10_000)


def test_a_program_of_another_mpi_is_left_alone(tmp_path: Path) -> None:
    """The library for MPICH, alone or before the one that fits, passes the calls of Open MPI's programs on."""
    words = (OPEN_MPI.compiled("mpi_calls.c"), "file", "bs", ELEMENTS)
    expected = plain(OPEN_MPI, tmp_path / "plain", *words)
    other, fits = MPICH.preloaded()["LD_PRELOAD"], OPEN_MPI.preloaded()["LD_PRELOAD"]
    for preloaded in (other, f"{MPICH.shim()}:{fits}"):
        site = Site(tmp_path)
        seen = OPEN_MPI.run(site, *words, LD_PRELOAD=preloaded)
        same(seen, site, expected)
        assert of_ranks(seen, words[0]).bytes[1] == moved("\n".join(expected[0]))[1]
        (site.mount / "file").unlink()
