"""Runs programs with libpenstock-posix preloaded, and reads what it saw of them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from penstock.native.hub import Hub
from penstock.native.libraries import POSIX
from penstock.native.records import ProcessRecord, read_records
from tests.live.server.running import Raw
from tests.native.building import NATIVE, make, need

PROGRAMS = Path(__file__).with_name("programs")
SOON = 60.0
"""Seconds after which what should have happened never will."""


@cache
def library() -> Path:
    """The library, built once."""
    need("make", "cc")
    make("posix")
    return NATIVE / "build" / POSIX


@cache
def compiled(name: str) -> Path:
    """A C program of this folder, or a library to preload if its name ends with .so."""
    library()
    stem = Path(name).stem
    source, output = PROGRAMS / f"{stem}.c", NATIVE / "build" / f"{name}-{os.getpid()}"
    kind = ["-shared", "-fPIC"] if name.endswith(".so") else []
    subprocess.run(
        ["cc", "-O2", "-D_FORTIFY_SOURCE=2", "-Wall", "-Werror", *kind, "-o", output, source, "-pthread"], check=True
    )
    return output


def functions(of: str | Path) -> set[str]:
    """The functions that a library offers to programs."""
    lines = subprocess.run(["nm", "-D", "--defined-only", of], capture_output=True, text=True, check=True).stdout
    words = [line.split() for line in lines.splitlines()]
    return {name.partition("@")[0] for _, kind, name in words if kind in "TWi" and "GLIBC_PRIVATE" not in name}


@dataclass(frozen=True)
class Seen:
    """What became of a program: its exit code, what it said, and the records of its processes."""

    code: int
    out: str
    errors: str
    records: list[ProcessRecord]

    @property
    def bytes(self) -> tuple[int, int]:
        """Bytes read and written by all processes."""
        return sum(record.read for record in self.records), sum(record.written for record in self.records)

    @property
    def phases(self) -> list[tuple[int, int]]:
        return [(phase.read, phase.written) for record in self.records for phase in record.phases]


class Site:
    """A folder whose `mount` is watched, beside one that is not; the shim observes, or follows the coordinator there."""

    def __init__(self, folder: Path, **variables: str) -> None:
        self.folder = folder
        self.mount, self.plain, self.record = (folder / name for name in ("mount", "plain", "record"))
        for made in (self.mount, self.plain, self.record):
            made.mkdir(exist_ok=True)
        self.variables = {"PENSTOCK_OBSERVE": "1"} | variables

    def environment(self, **more: str) -> dict[str, str]:
        told = {
            "LD_PRELOAD": str(library()),
            "PENSTOCK_MOUNTS": str(self.mount),
            "PENSTOCK_RECORD": str(self.record),
            "PENSTOCK_SOCKET": str(self.folder / "socket"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return os.environ | told | self.variables | more

    def start(self, *command: str | Path, **more: str) -> subprocess.Popen[bytes]:
        """Start a program whose standard input and outputs are pipes."""
        pipe = subprocess.PIPE
        return subprocess.Popen(
            command, cwd=self.mount, env=self.environment(**more), stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
        )

    def run(self, *command: str | Path, **more: str) -> Seen:
        """Run a program to its end."""
        return self.finish(self.start(*command, **more))

    def finish(self, process: subprocess.Popen[bytes], data: bytes = b"") -> Seen:
        """Give a program the rest of its input and wait for its end."""
        try:
            out, errors = process.communicate(data, timeout=SOON)
        finally:
            process.kill()
        records = read_records(self.record)
        for file in self.record.iterdir():
            file.unlink()
        return Seen(process.returncode, out.decode(), errors.decode(), records)

    def trap(self, what: str, **more: str) -> Seen:
        """Run one of the traps on the file `file`."""
        seen = self.run(compiled("traps"), what, self.mount / "file", **more)
        assert seen.code == 0, seen
        return seen


@contextmanager
def hub_of(site: Site, **more: int) -> Iterator[Hub]:
    """A hub for the processes of the site, as `penstock run` makes one."""
    path = site.folder / "hub"
    with Hub(path, "job", name="job", address=str(site.folder / "socket"), **more) as hub:
        site.variables["PENSTOCK_JOB_SOCKET"] = str(path)
        yield hub
    path.unlink(missing_ok=True)


class Obedient:
    """A job with one long operation, which keeps to each grant at once."""

    def __init__(self, first: Raw) -> None:
        first.register("first")
        first.send("inform", operation=1, volume=1e12, rounds=1_000_000)
        assert first.until("grant")["rate"] > 0.0
        self.rates: list[float] = []
        """The grants after its first one, in bytes/s."""
        self._first = first
        self._thread = threading.Thread(target=self._obey, daemon=True)
        self._thread.start()

    def _obey(self) -> None:
        with suppress(OSError):
            while (message := self._first.receive()) is not None:
                if message["type"] == "grant":
                    self.rates.append(message["rate"])
                    self._first.send("yielded", grant=message["number"])

    def leave(self) -> None:
        self._first.connection.shutdown(socket.SHUT_RDWR)
        self._thread.join(SOON)


@dataclass(frozen=True)
class Case:
    """A real program: what it needs, its shell command, the bytes it reads and writes, and files that are equal at the end.

    The mount has a file `in` of SIZE bytes.
    """

    name: str
    command: str
    read: int
    written: int
    equal: Sequence[str] = ()
    needs: Sequence[str] = ()


SIZE = 3_000_001
"""Bytes of the file `in`: odd, so that no buffer fits."""
BLOCKS = 10240 * ((SIZE + 512 + 1024 - 1) // 10240 + 1)
"""Bytes of a tar file of it: a header, the file and the end, in records of 10,240 bytes."""
PY = f"{sys.executable} -c "
CASES = (
    Case("dd", "dd if=in of=out bs=64k status=none", SIZE, SIZE, ("out",)),
    Case("dd, one call", "dd if=in of=out bs=8M iflag=fullblock status=none", SIZE, SIZE, ("out",)),
    Case("cp", "cp in out", SIZE, SIZE, ("out",)),
    Case("cat", "cat in > out", SIZE, SIZE, ("out",)),
    Case("cat pipeline", "cat in | cat | cat > out", SIZE, SIZE, ("out",)),
    Case("tar", "tar cf all.tar in && tar xOf all.tar > out", SIZE + BLOCKS, BLOCKS + SIZE, ("out",), ("tar",)),
    Case("rsync", "rsync -WI in out", SIZE, SIZE, ("out",), ("rsync",)),
    Case("head", "head -c 1000000 in > out && tail -c +1000001 in >> out", SIZE, SIZE, ("out",)),
    Case("tee", "tee out < in > /dev/null", SIZE, SIZE, ("out",)),
    Case("bash", "for i in {0..69}; do echo line $i; done > out; cmp lines out", 2 * 550, 550),
    Case("Python", f'{PY} \'open("out", "wb").write(open("in", "rb").read())\'', SIZE, SIZE, ("out",)),
    Case("shutil", f'{PY} \'import shutil; shutil.copyfile("in", "out")\'', SIZE, SIZE, ("out",)),
    Case(
        "NumPy",
        f'{PY} \'import numpy as np; a = np.fromfile("in", np.uint8); a.tofile("out"); '
        'np.save("a.npy", a); assert (np.load("a.npy") == a).all()\'',
        2 * SIZE + 128 + SIZE % 4096 + 4096 + 128,  # a seek to the end; the header of the second file, twice
        2 * SIZE + 128,
        ("out",),
    ),
)


def prepare(site: Site) -> None:
    """Put the files into the mount that the cases read."""
    (site.mount / "in").write_bytes(bytes(i % 251 for i in range(251)) * (SIZE // 251 + 1))
    with (site.mount / "in").open("r+b") as file:
        file.truncate(SIZE)
    (site.mount / "lines").write_text("".join(f"line {i}\n" for i in range(70)))


def run_case(site: Site, case: Case) -> Seen:
    """Run a program, compare its files and return what was seen."""
    need("bash", *case.needs)
    seen = site.run("bash", "-c", case.command)
    assert seen.code == 0, seen
    for name in case.equal:
        assert (site.mount / name).read_bytes() == (site.mount / "in").read_bytes(), case.name
    return seen


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """A site at which the shim only observes."""
    return Site(tmp_path)
