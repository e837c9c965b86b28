"""Programs × policies × conditions: the order is as the policy says, and every byte is as it must be.

`python -m tests.native.table [NAME…]` prints the table, of all programs or of those whose name has one of the words.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.live.server.process import Coordinator
from tests.live.server.running import Raw
from tests.native.building import need
from tests.native.mpi_jobs import MPICH, moved, of_ranks
from tests.native.shimming import CASES, Case, Obedient, Seen, Site, hub_of, prepare
from tests.native.test_posix_live import BANDWIDTH, PATIENT, applications, served, wait_for

POLICIES = ("fcfs", "fair-share", "due-yield", "coordinating")
FIRST_NEXT = {"fair-share": {BANDWIDTH / 2}, "due-yield": {0.0}, "coordinating": {0.0, BANDWIDTH / 2}}
"""What a long operation is granted when a short one of another job comes: it shares, or lets that pass; in bytes/s."""
CONDITIONS = ("second job", "dies", "stopped")
FIO_BYTES = 1 << 20


@dataclass(frozen=True)
class Program:
    """A program, as it is started at a site, and the check of what it has moved."""

    name: str
    start: Callable[[Site], subprocess.Popen[bytes]]
    check: Callable[[Site, Seen], None]


def _shell(name: str, command: str, check: Callable[[Site, Seen], None], *needs: str) -> Program:
    def start(site: Site) -> subprocess.Popen[bytes]:
        need("bash", *needs)
        return site.start("bash", "-c", command)

    return Program(name, start, check)


def _check_case(case: Case, site: Site, seen: Seen) -> None:
    assert seen.bytes == (case.read, case.written)
    for name in case.equal:
        assert (site.mount / name).read_bytes() == (site.mount / "in").read_bytes(), name


def _check_text(text: str, _: Site, seen: Seen) -> None:
    assert seen.out == text


def _check_fio(jobs: int, site: Site, seen: Seen) -> None:
    """It reads what it wrote and compares that itself."""
    assert seen.bytes == (jobs * FIO_BYTES, jobs * FIO_BYTES), seen
    assert len(list(site.mount.glob("t.*"))) == jobs


def _fio(engine: str, option: str) -> Program:
    job = f"--name=t --numjobs=2 --size={FIO_BYTES} --bs=64k --rw=write --ioengine={engine} {option}"
    words = f"{job} --verify=crc32c --verify_state_save=0 --output=/dev/null"
    return _shell(f"fio {engine}{option and ' threads'}", f"exec fio {words}", partial(_check_fio, 2), "fio")


def _check_ranks(program: Callable[[], Path], _: Site, seen: Seen) -> None:
    """The programs compare what they read themselves; here, that each byte counts once."""
    assert of_ranks(seen, program()).bytes == moved(seen.out)


def _mpi(name: str, program: Callable[[], Path], check: Callable[[Site, Seen], None], *words: object) -> Program:
    return Program(name, lambda site: MPICH.start(site, program(), "file", *words, PENSTOCK_PHASE=PHASE), check)


PHASE = "volume=400000,rounds=4"
"""Cuts the collective calls of the MPI programs into rounds."""
SQL = "create table t(x); insert into t values('kept'); select x from t; pragma integrity_check;"
H5PY = (
    "import h5py, numpy as np; a = np.arange(1e5); f = h5py.File('file', 'w'); f['x'] = a; f.close(); "
    "assert (h5py.File('file')['x'][:] == a).all()"
)


def _check_written(least: int, _: Site, seen: Seen) -> None:
    """The data, and what the library writes besides."""
    assert least <= seen.bytes[1] < 1.1 * least


def programs() -> Iterator[Program]:
    """All programs."""
    for case in CASES:
        yield _shell(case.name, case.command, partial(_check_case, case), *case.needs)
    yield _shell("sqlite3", f'sqlite3 base "{SQL}"', partial(_check_text, "kept\nok\n"), "sqlite3")
    yield from (_fio(engine, option) for engine in ("psync", "sync", "pvsync") for option in ("", "--thread"))
    yield _shell("h5py", f'{sys.executable} -c "{H5PY}"', partial(_check_written, 800_000))
    calls = partial(MPICH.compiled, "mpi_calls.c")
    yield _mpi("MPI in C", calls, partial(_check_ranks, calls), "basic", 60_000)
    fortran = partial(MPICH.compiled, "mpi_fortran.f90", "-cpp", "-DF08", compiler="mpifort")
    yield _mpi("MPI in Fortran", fortran, partial(_check_written, 5 * 4 * 3 * 15_000), 30_000)
    hdf5 = partial(MPICH.compiled, "mpi_hdf5.c", compiler="h5pcc")
    yield _mpi("parallel HDF5", hdf5, partial(_check_written, 2 * 100 * 1000 * 8), 100, "collective")


def _finish(program: Program, site: Site, process: subprocess.Popen[bytes], errors: str | None = "") -> None:
    seen = site.finish(process)
    assert seen.code == 0, seen
    program.check(site, seen)
    assert errors is None or seen.errors == errors


def beside_a_job(program: Program, policy: str) -> None:
    """A long operation of another job is under way when the program starts."""
    with served(policy) as (coordinator, site), hub_of(site), Raw(coordinator.settings.socket) as peer:
        prepare(site)
        if policy == "fcfs":  # it waits for the turn, with nothing moved, and has it after the first job
            peer.register("first")
            peer.send("inform", operation=1, volume=1e12, rounds=1000)
            assert peer.until("grant")["rate"] == BANDWIDTH
            process = program.start(site)
            found = wait_for(coordinator, lambda found: bool(found.get("job", {}).get("pending")))
            assert (found["job"]["rate"], found["job"]["transferred"]) == (0.0, 0.0)
            peer.send("release", operation=1)
            _finish(program, site, process)
            return
        first = Obedient(peer)
        _finish(program, site, program.start(site))
        assert applications(coordinator)["first"]["pending"] is not None
        assert first.rates[0] in FIRST_NEXT[policy]
        assert coordinator.server.core.overruns == 0
        first.leave()


def with_a_fault(program: Program, policy: str, number: signal.Signals) -> None:
    """The coordinator dies, or is stopped, while the program is under way. The hub says so, the program nothing."""
    with _coordinator(policy) as (coordinator, site), hub_of(site):
        prepare(site)
        process = program.start(site)
        wait_for(coordinator, lambda found: found.get("job", {}).get("operations", 0) > 0 or bool(_pending(found)))
        coordinator.process.send_signal(number)
        _finish(program, site, process)


def _pending(found: dict[str, dict[str, object]]) -> object:
    return found.get("job", {}).get("pending")


def without_a_coordinator(program: Program) -> None:
    with tempfile.TemporaryDirectory() as name:
        site = Site(Path(name), **PATIENT)
        with hub_of(site) as hub:
            prepare(site)
            _finish(program, site, program.start(site))
            assert not hub.coordinated


@contextmanager
def _coordinator(policy: str) -> Iterator[tuple[Coordinator, Site]]:
    """A process of its own, so slow that programs are in the middle of their I/O for a while."""
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PENSTOCK_PATIENCE", "0.1")
        coordinator = Coordinator(Path(name), "--bandwidth", "5 MB/s", "--policy", policy)
        try:
            yield coordinator, Site(Path(name), **PATIENT)
        finally:
            coordinator.process.send_signal(signal.SIGCONT)
            coordinator.kill()


def cell(program: Program, policy: str, condition: str) -> None:
    """One cell of the table; AssertionError if it does not hold."""
    if condition == "second job":
        beside_a_job(program, policy)
    else:
        with_a_fault(program, policy, signal.SIGKILL if condition == "dies" else signal.SIGSTOP)


def _result(make: Callable[[], None]) -> str:
    begun = time.monotonic()
    try:
        make()
    except AssertionError as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        return f"FAILS ({Path(at.filename).name}:{at.lineno}: {at.line})"
    except pytest.skip.Exception as error:
        return f"not run: {error}"
    return f"holds ({time.monotonic() - begun:.1f} s)"


def main(words: list[str]) -> int:
    """Print the table; how many cells fail."""
    failed = 0
    columns = ["program", "no coordinator", *(f"{policy}: {one}" for policy in POLICIES for one in CONDITIONS)]
    sys.stdout.write(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|\n")
    for program in programs():
        if words and not any(word in program.name for word in words):
            continue
        results = [_result(partial(without_a_coordinator, program))]
        results += [_result(partial(cell, program, policy, one)) for policy in POLICIES for one in CONDITIONS]
        failed += sum(result.startswith("FAILS") for result in results)
        sys.stdout.write(f"| {program.name} | {' | '.join(results)} |\n")
        sys.stdout.flush()
    return min(failed, os.EX_USAGE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
