"""What has misled other shims: each trap is a run of programs/traps.c, which checks its own results."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.live.server.running import Raw
from tests.naive.profiles import LONG
from tests.native.building import need
from tests.native.shimming import Site, compiled, functions, library, site
from tests.native.test_posix_live import served, wait_for

__all__ = ["site"]
SIZE = 100_000
"""Bytes that most traps write."""


OPENING = """open open64 openat openat64 creat creat64 mkstemp mkstemp64 mkstemps mkstemps64 mkostemp mkostemp64 mkostemps
mkostemps64 __open_2 __open64_2 __openat_2 __openat64_2 __open __open64 dup dup2 __dup2 dup3 fcntl fcntl64 __fcntl close
__close closefrom close_range"""
MOVING = """read write pread pread64 pwrite pwrite64 readv writev preadv preadv64 pwritev pwritev64 preadv2 preadv64v2
pwritev2 pwritev64v2 __read __write __pread64 __pwrite64 __read_chk __pread_chk __pread64_chk sendfile sendfile64
copy_file_range splice fsync fdatasync aio_read aio_read64 aio_write aio_write64 aio_return aio_return64 lio_listio
lio_listio64"""
STREAMS = """fopen fopen64 fdopen freopen freopen64 tmpfile tmpfile64 fclose fflush fflush_unlocked
fseek fseeko fseeko64 rewind fsetpos fsetpos64 putw getw fread fwrite
fread_unlocked fwrite_unlocked __fread_chk __fread_unlocked_chk fputs fputs_unlocked puts fputc putc putchar
fputc_unlocked putc_unlocked putchar_unlocked __overflow fgetc getc getchar fgetc_unlocked getc_unlocked
getchar_unlocked __uflow fgets fgets_unlocked __fgets_chk __fgets_unlocked_chk getline getdelim __getdelim
printf fprintf vprintf vfprintf dprintf vdprintf __printf_chk __fprintf_chk __vprintf_chk __vfprintf_chk
__dprintf_chk __vdprintf_chk __vfscanf scanf fscanf vscanf vfscanf __isoc99_scanf __isoc99_fscanf __isoc99_vscanf
__isoc99_vfscanf __isoc23_scanf __isoc23_fscanf __isoc23_vscanf __isoc23_vfscanf"""
LEAVING = """_Fork _exit _Exit execve execv execvp execvpe execl execlp execle execveat fexecve posix_spawn posix_spawnp mmap
mmap64 syscall io_setup io_queue_init io_uring_queue_init io_uring_queue_init_params"""


OLD = "fclose fdopen fflush fgets fopen fprintf fputs fread fsetpos fsetpos64 fwrite getline printf puts vfprintf vfscanf"
"""After `_IO_`: names that no header has had since glibc 2.1."""


def bare(name: str) -> str:
    """The function that a name is a form of: `pread` of `__pread64_chk`, `scanf` of `__isoc99_scanf`."""
    name = re.sub(r"^(isoc\d\d_|IO_)", "", name.lstrip("_"))
    return re.sub(r"(_unlocked|_chk|_2|64|v2)+$", "", name)


def test_no_form_of_a_function_is_missed() -> None:
    """The libc of this machine has no other name for a function that the library stands in for."""
    ours = functions(library())
    libc = next(line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "libc.so" in line)
    known = {bare(name) for name in ours} - {"exit"}  # which runs destructors, as _exit does not
    assert {name for name in functions(libc) - ours if bare(name) in known} <= {f"_IO_{name}" for name in OLD.split()}


def test_every_symbol_is_there() -> None:
    """Also the fortified aliases: one that is missed moves bytes unseen."""
    exported = functions(library())
    expected = set(f"{OPENING} {MOVING} {STREAMS} {LEAVING}".split())
    assert expected - exported == set()
    assert exported - expected == {"penstock_posix_layer", "penstock_posix_stand_aside", "_IO_getc", "_IO_putc"}


@pytest.mark.parametrize(
    ("trap", "read", "written"),
    [
        ("fortified", 3 * SIZE + 4096, SIZE + 7),
        ("streams_closed", 0, SIZE + 1025),
        ("streams_at_exit", 0, SIZE + 1025),
        ("streams_lost", 0, 98_304),  # whole blocks of 4,096 bytes; what is pending is lost, and not counted
        ("streams_read", SIZE + 1025, SIZE + 1025),
        ("formats", 9, 9),
        ("threads", 0, SIZE),
        ("children", 0, SIZE + 1),
        ("vfork", 0, SIZE + 5),
        ("duplicates", 0, 5000),
        ("vectors", 2 * SIZE, 3 * SIZE),
        ("asynchronous", 0, SIZE),
        ("copies", 4 * SIZE + 2 * 4096, 3 * SIZE + 4096),
        ("opened", 0, 600),
        ("aliases", 500, 400),  # of which a stream fetches all 300 bytes of the file
        ("closes_all", 0, SIZE),
        ("errors", 10_000, 60_000),
    ],
)
def test_traps(site: Site, trap: str, read: int, written: int) -> None:
    seen = site.trap(trap)
    assert (seen.bytes, seen.errors) == ((read, written), "")


def test_positions_and_files_without_names(site: Site) -> None:
    """A file without a name is watched by the folder it is in."""
    for folder, more in (("/nowhere", 0), ("/tmp", SIZE)):
        seen = site.trap("positions", PENSTOCK_MOUNTS=f"{site.mount}:{folder}")
        assert (seen.bytes, seen.errors) == ((1000, 1000 + more), "")


@pytest.mark.parametrize("policy", [None, "fcfs"], ids=["observed", "paced"])
def test_streams_are_counted_as_by_the_kernel(policy: str | None, tmp_path: Path) -> None:
    """Also what a seek fetches, which is all that a program reads that reads here and there."""
    with served(policy, bandwidth=100e6) if policy else nullcontext((None, Site(tmp_path))) as (_, site):
        seen = site.run(compiled("streams"), site.mount / "file", "1", "100" if LONG else "20", "40")
    assert (seen.code, seen.errors) == (0, "")


def test_children_that_leave_by_exit(site: Site) -> None:
    seen = site.trap("children")
    assert sorted(record.written for record in seen.records) == [1, *[SIZE // 4] * 4]


def test_a_process_that_is_killed(site: Site) -> None:
    seen = site.run(compiled("traps"), "killed", site.mount / "file")
    assert (seen.code, seen.bytes, seen.phases) == (-9, (0, SIZE), [(0, SIZE)])


def test_a_file_that_is_mapped(site: Site) -> None:
    seen = site.trap("mapped")
    assert [record.mapped for record in seen.records] == [1]
    assert seen.errors == "penstock: a watched file is mapped for writing; bytes written through memory are not seen\n"


def test_a_handler_that_writes(site: Site) -> None:
    seen = site.trap("signals")
    side = (site.mount / "file.side").stat().st_size
    assert seen.bytes == (0, 40 * SIZE + side)


def test_a_function_that_is_missing(site: Site) -> None:
    """A library without pwritev2: that call fails as the kernel would, and the others work."""
    other = compiled("other.so")
    seen = site.trap("missing", LD_PRELOAD=f"{other}:{library()}", WITHOUT="pwritev2")
    assert seen.bytes == (0, SIZE)


@pytest.mark.parametrize("first", [False, True], ids=["after ours", "before ours"])
def test_another_preloaded_library(site: Site, first: bool) -> None:
    other = compiled("other.so")
    both = f"{other}:{library()}" if first else f"{library()}:{other}"
    seen = site.trap("duplicates", LD_PRELOAD=both)
    assert seen.bytes == (0, 5000)
    assert seen.errors == "other: 6000\n" if first else int(seen.errors.removeprefix("other: ")) > 6000  # and our record


def test_a_task_prolog_of_slurm(site: Site) -> None:
    """What it prints is read by Slurm: nothing may be added to it."""
    seen = site.run("bash", "-c", "echo print hello; echo export X=1; echo log >> file")
    assert (seen.code, seen.out, seen.errors) == (0, "print hello\nexport X=1\n", "")


def test_no_mounts_no_action(site: Site) -> None:
    seen = site.run("bash", "-c", "echo 1 > file; cat file", PENSTOCK_MOUNTS="")
    assert (seen.out, seen.errors, seen.records) == ("1\n", "", [])


def test_phases_end_after_a_gap(site: Site) -> None:
    """Here the gap is so short that each of the programs' writes, which wait for each other, is a phase of its own."""
    process = site.start("bash", "-c", "while read -r a; do echo $a; sleep 0.05; done > file", PENSTOCK_GAP="0.01")
    seen = site.finish(process, b"1\n22\n333\n")
    (record,) = seen.records
    assert [phase.written for phase in record.phases] == [2, 3, 4]
    dates = [date for phase in record.phases for date in (phase.begin, phase.end)]
    assert dates == sorted(dates)
    assert record.begin <= dates[0]


@pytest.mark.skipif(os.getuid() != 0, reason="needs root, to make a small file system")
def test_a_full_disk_of_records(site: Site) -> None:
    """The program must not end with a SIGBUS; only its record is missing."""
    need("mount", "umount")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8k", "none", site.record], check=True)
    try:
        (site.record / "full").write_bytes(bytes(8192))
        seen = site.run(compiled("traps"), "threads", site.mount / "file")
    finally:
        subprocess.run(["umount", site.record], check=True)
    assert (seen.code, seen.errors, seen.records) == (0, "", [])
    assert (site.mount / "file").stat().st_size == SIZE


def test_hints_that_are_none() -> None:
    """A volume with a unit is no volume of 1 byte: then each call would ask for a turn of its own."""
    with served("fcfs") as (coordinator, site), Raw(coordinator.settings.socket) as first:
        first.register("first")
        first.send("inform", operation=1, volume=1e12)
        process = site.start(
            "bash", "-c", "echo 12345 > file", PENSTOCK_NAME="second", PENSTOCK_PHASE="volume=1GB,rounds=-2"
        )
        found = wait_for(coordinator, lambda found: bool(found.get("second", {}).get("pending")))
        assert (found["second"]["pending"]["volume"], found["second"]["pending"]["rounds"]) == (16 << 20, 1)
        first.send("release", operation=1)
        site.finish(process)


def test_records_are_private(site: Site) -> None:
    process = site.start("bash", "-c", "echo 1 > file; read -r a")
    (site.mount / "file").touch()
    while not list(site.record.glob("*.counters")):
        os.sched_yield()
    modes = {stat.S_IMODE(path.stat().st_mode) for path in site.record.iterdir()}
    site.finish(process, b"\n")
    assert modes == {0o600}
